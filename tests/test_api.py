"""`from coderefine import …`: the loop as functions."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import subprocess
import sys
import time
from pathlib import Path
from typing import get_type_hints

import pytest

import coderefine
from coderefine import Event, Finding, Outcome, Stop, Task, acheck, arefine, check, refine, watch
from coderefine.api import Settings, Table, Texts
from coderefine.config import GATES, NO_KEYS, Command, Config, Criterion, Performance
from coderefine.core import Read
from coderefine.errors import ConfigError, SurroundingsError, UsageError
from tests.support.command import GREEN, LINT, ORDER, RIGHT, ROOT, TESTS
from tests.support.command import coderefine as command
from tests.support.llm_server import LlmServer
from tests.support.publishing import state
from tests.support.repo import make_repo, write

FILES = {"order.py": LINT, "test_order.py": TESTS}


@pytest.fixture
def untidy(tmp_path: Path) -> Path:
    return make_repo(tmp_path / "tidy", FILES)


def test_importing_it_imports_nothing(tmp_path: Path) -> None:
    code = "import sys; before = set(sys.modules); import coderefine; print(*sorted(set(sys.modules) - before))"
    result = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, check=True, timeout=60)
    assert result.stdout.split() == ["coderefine"]


def test_a_small_fix_imports_neither_libcst_nor_doctest_nor_the_client_of_a_model(tmp_path: Path) -> None:
    """LibCST took an eighth of the processor time of a small fix, the others a seventh of the start of each command."""
    (tmp_path / "order.py").write_text(LINT)
    code = "import sys, coderefine; found = coderefine.refine(gates=('ruff',)); print(found.best.number, *sys.modules)"
    result = subprocess.run((sys.executable, "-c", code), cwd=tmp_path, capture_output=True, text=True, check=False)
    number, *modules = result.stdout.split() or [result.stderr]
    assert number == "1", result
    assert {"libcst", "doctest", "coderefine.llm.client"}.isdisjoint(modules)


@pytest.mark.parametrize("name", coderefine.__all__)
def test_every_public_name_exists_and_has_a_docstring(name: str) -> None:
    assert inspect.getdoc(getattr(coderefine, name))


def test_a_missing_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="refined"):
        coderefine.refined  # noqa: B018


def test_check_returns_the_results_of_the_gates(untidy: Path) -> None:
    before = state(untidy)
    found = {one.critic: one for one in check(cwd=untidy)}
    assert [finding.rule for finding in found["ruff"].findings] == ["F401"]
    assert found["pytest"].clean
    assert state(untidy) == before


def test_refine_writes_nothing_by_default(untidy: Path) -> None:
    outcome = refine("order.py", cwd=untidy, search=False)
    assert (outcome.stop, outcome.best.patch.files) == (Stop.CLEAN, {"order.py": GREEN.encode()})
    assert (untidy / "order.py").read_text() == LINT
    assert "clean" in command("log", cwd=untidy).out


def test_refine_writes_with_write_and_that_can_be_undone(untidy: Path) -> None:
    outcome = refine(cwd=untidy, gates=["ruff"], write=True)
    assert outcome.clean
    assert (untidy / "order.py").read_text() == GREEN
    assert command("undo", cwd=untidy).code == 0
    assert (untidy / "order.py").read_text() == LINT


def test_outside_git_it_refines_and_does_not_write(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    assert refine(cwd=tmp_path, gates=["ruff"]).best.patch.files == {"order.py": GREEN.encode()}
    with pytest.raises(SurroundingsError, match="git init"):
        refine(cwd=tmp_path, gates=["ruff"], write=True)


def test_a_named_model_is_used(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "order", {"order.py": ORDER, "test_order.py": TESTS})
    with LlmServer([RIGHT]) as server:
        outcome = refine(cwd=top, search=False, model="scripted", base_url=server.url)
    assert (outcome.clean, outcome.cost.requests) == (True, 1)


def test_tables_are_settings_too(untidy: Path) -> None:
    never = {"name": "never", "run": ["sh", "-c", "echo order.py:1: no; exit 1"]}
    settings = {"commands": [never], "criteria": {"mine": "Short."}, "extra_headers": {"x-key": "hidden"}}
    outcome = refine(cwd=untidy, gates=["ruff", "never"], model="", **settings)  # type: ignore[arg-type]
    assert [finding.critic for finding in outcome.remaining] == ["never"]
    assert "hidden" not in "".join(file.read_text() for file in untidy.glob(".git/coderefine/runs/*/run.json"))


def test_every_key_of_the_configuration_is_a_setting_of_its_type() -> None:
    written = {  # how a caller writes what the configuration holds in types of its own
        tuple[str, ...]: Texts,
        tuple[Command, ...]: list[Table],
        tuple[Criterion, ...]: Texts | Table,
        Performance: str | Table,
    }
    expected = {name: written.get(kind, kind) | None for name, kind in get_type_hints(Config).items()}
    expected["extra_headers"] = dict[str, str] | None
    apart = {"task", *NO_KEYS}  # the task is a parameter of its own
    assert get_type_hints(Settings) == {name: kind for name, kind in expected.items() if name not in apart}
    assert len(expected) == len(dataclasses.fields(Config))


CALLER = """\
from coderefine import refine

refine("src", max_cost=0.1, gates=["ruff"], criteria={"short": "Short."}, commands=[{"name": "x", "run": ["true"]}])
refine(max_cots=0.1)
refine(max_requests="3")
"""


@pytest.mark.thorough
def test_a_type_checker_finds_a_wrong_key_and_a_wrong_type(tmp_path: Path) -> None:
    (tmp_path / "caller.py").write_text(CALLER)
    argv = (sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(tmp_path / "caller.py"))
    found = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    wrong, unfit = (line.partition(": error: ") for line in found.stdout.splitlines() if ": error: " in line)
    assert [Path(line[0]).name for line in (wrong, unfit)] == ["caller.py:4", "caller.py:5"]
    assert 'Unexpected keyword argument "max_cots"' in wrong[2]
    assert '"max_requests"' in unfit[2]
    assert "[arg-type]" in unfit[2]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_request": 3}, "did you mean 'max-requests'?"),
        ({"max_requests": "3"}, "max-requests must be a whole number"),
        ({"task": "fixx"}, "did you mean 'fix'?"),
    ],
)
def test_a_wrong_setting_is_named(untidy: Path, settings: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        refine(cwd=untidy, **settings)  # type: ignore[arg-type]
    assert message in str(caught.value)


def test_a_path_that_is_not_there_is_named(untidy: Path) -> None:
    with pytest.raises(UsageError, match="nowhere"):
        check("nowhere", cwd=untidy)


def test_a_task_of_functions_is_a_gate_and_its_exception_is_reported(untidy: Path) -> None:
    def odd(read: Read) -> list[Finding]:
        return [Finding("", "odd", "order.py", "odd")] if "os" in (read("order.py") or "") else []

    def broken(read: Read) -> list[Finding]:
        raise ZeroDivisionError("by zero")

    outcome = refine(cwd=untidy, search=False, task=Task("odd", checks=(odd,)))
    assert [check.critic for check in outcome.baseline.checks] == [*GATES, "odd"]
    assert outcome.clean
    with pytest.raises(coderefine.CoderefineError, match="broken failed: ZeroDivisionError: by zero"):
        check(cwd=untidy, task=Task("broken", checks=(broken,)))


def test_async_does_not_block_the_loop_and_delivers_events_in_it(untidy: Path) -> None:
    async def both() -> tuple[Outcome, int, list[Event]]:
        events: list[Event] = []
        run = asyncio.ensure_future(arefine(cwd=untidy, search=False, listen=events.append))
        turns = 0
        while not run.done():
            await asyncio.sleep(0.01)
            turns += 1
        return await run, turns, events

    outcome, turns, events = asyncio.run(both())
    assert outcome.clean
    assert turns > 5
    assert {"stage", "attempt", "verdict"} <= {event.kind for event in events}


def test_watching_gives_events_and_the_outcome_last(untidy: Path) -> None:
    async def watched() -> list[Event | Outcome]:
        return [item async for item in watch(cwd=untidy, gates=["ruff"])]

    *events, last = asyncio.run(watched())
    assert isinstance(last, Outcome)
    assert last.clean
    assert all(isinstance(event, Event) for event in events)


def test_who_stops_watching_stops_the_run(tmp_path: Path) -> None:
    slow = TESTS + "\n\ndef test_slow():\n    import time\n\n    time.sleep(1)\n"
    top = make_repo(tmp_path / "slow", {"order.py": LINT, "test_order.py": slow})

    async def first() -> Event | Outcome:
        running = watch(cwd=top, search=False, write=True)
        try:
            return await anext(running)
        finally:
            await running.aclose()

    assert isinstance(asyncio.run(first()), Event)
    assert (top / "order.py").read_text() == LINT


def test_acheck(untidy: Path) -> None:
    (ruff,) = asyncio.run(acheck(cwd=untidy, gates=["ruff"]))
    assert not ruff.clean


def test_a_cancelled_run_stops_and_writes_nothing(tmp_path: Path) -> None:
    slow = TESTS + "\n\ndef test_slow():\n    import time\n\n    time.sleep(1)\n"
    top = make_repo(tmp_path / "slow", {"order.py": LINT, "test_order.py": slow})

    async def cancelled() -> None:
        run = asyncio.ensure_future(arefine(cwd=top, search=False, write=True))
        await asyncio.sleep(0.5)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    began = time.monotonic()
    asyncio.run(cancelled())
    assert time.monotonic() - began < 20
    assert (top / "order.py").read_text() == LINT
