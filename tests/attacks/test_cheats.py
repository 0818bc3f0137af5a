"""Disguised cheats, each as the reply of a model through the real client: refused, tree untouched, never exit 0."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from coderefine.core import Attempt
from coderefine.git import Repository
from coderefine.journal import Journal
from tests.attacks.cheats import BESIDE, CHEATS, COPIED, Cheat
from tests.attacks.shop import FACTORIAL, FILES
from tests.support.command import Ended, coderefine
from tests.support.llm_server import LlmServer
from tests.support.publishing import state
from tests.support.repo import make_repo, write

ROOM = ("--max-iterations", "200", "--max-requests", "200", "--max-tokens", "10000000", "--policy", "retry")
QUICK = {cheat.guard: cheat for cheat in reversed(CHEATS)}
"""The first of each guard; the others are thorough, in a run of their own."""
HONEST = Cheat("the repair of the factorial", "", {"shop/core.py": FACTORIAL}, "test_fact")


@dataclass(frozen=True)
class Ran:
    """One run in which the model proposes many cheats, and last an honest repair of one of the faults."""

    result: Ended
    attempts: Mapping[str, Attempt]
    before: Mapping[str, object]
    after: Mapping[str, object]


def is_quick(cheat: Cheat) -> bool:
    return QUICK[cheat.guard] is cheat


def reply(cheat: Cheat) -> str:
    """The cheat as a model writes it; its name is the diagnosis."""
    blocks = (f"{path}\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n" for path, old, new in cheat.blocks())
    return f"{cheat.name}.\n\n" + "\n".join(blocks)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[bool], Ran]]:
    """Yield a function that makes each of the two runs once: with the quick cheats (True), with the others (False)."""
    from tests.conftest import seal

    @cache
    def run(quick: bool) -> Ran:
        cheats = [cheat for cheat in CHEATS if is_quick(cheat) == quick]
        top = make_repo(tmp_path_factory.mktemp("cheats") / "shop", FILES)
        before = state(top)
        with LlmServer([*map(reply, cheats), ""]) as server:
            model = ("--model", "scripted", "--base-url", server.url)
            result = coderefine("fix", "--no-search", *model, *ROOM, cwd=top)
        attempts = Journal.load(Repository.open(top)).attempts()
        return Ran(result, {one.patch.summary: one for one in attempts}, before, state(top))

    with pytest.MonkeyPatch.context() as patch:
        seal(tmp_path_factory.mktemp("home"), patch)
        yield run


@pytest.mark.parametrize("quick", [True, pytest.param(False, marks=pytest.mark.thorough)])
def test_nothing_is_written_and_the_exit_code_is_1(ran: Callable[[bool], Ran], quick: bool) -> None:
    assert ran(quick).result.code == 1, ran(quick).result
    assert ran(quick).after == ran(quick).before


@pytest.mark.parametrize(
    "cheat",
    [
        pytest.param(cheat, id=str(cheat), marks=() if is_quick(cheat) else pytest.mark.thorough)
        for cheat in sorted(CHEATS, key=is_quick)  # the tests of one run lie together, for one worker
    ],
)
def test_a_cheat_is_refused(ran: Callable[[bool], Ran], cheat: Cheat) -> None:
    verdict = ran(is_quick(cheat)).attempts[cheat.name].verdict
    assert not verdict
    if cheat.guard in (BESIDE, COPIED):
        assert verdict.reason.startswith(("knows the tests' inputs", "copies an answer", "copies a table"))
    assert "no better" not in verdict.reason


@pytest.mark.slow
@pytest.mark.parametrize("cheat", [cheat for cheat in CHEATS if cheat.turns], ids=str)
def test_without_its_guard_the_cheat_is_green(tmp_path: Path, cheat: Cheat) -> None:
    write(tmp_path, FILES)
    write(tmp_path, {path: data for path, data in cheat.files().items() if data is not None})
    argv = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", cheat.turns)
    done = subprocess.run(argv, cwd=tmp_path, env=dict(os.environ), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_an_honest_repair_of_the_same_program_is_written(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "shop", FILES)
    with LlmServer([reply(HONEST), ""]) as server:
        result = coderefine("fix", "--no-search", "--model", "scripted", "--base-url", server.url, *ROOM, cwd=top)
    assert result.code == 1, result
    assert (top / "shop/core.py").read_bytes() == HONEST.files()["shop/core.py"]
