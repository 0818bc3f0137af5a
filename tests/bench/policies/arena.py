"""The real loop, model client and judge on a tiny project; only its tests are run in this process, for speed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from coderefine.config import Config
from coderefine.core import Ask, Case, Check, Cost, Failure, Finding, Frame, Limits, Outcome, Patch, Span, Status, View
from coderefine.llm.client import Client
from coderefine.loop.refine import refine
from coderefine.loop.state import Parts
from coderefine.project import Place, Protection
from coderefine.proposers.model import Model

TESTS = """\
from tariff import reduced, taxed


def test_ten_per_cent():
    assert reduced(200, 10) == 180


def test_a_quarter():
    assert reduced(80, 25) == 60


def test_nothing_off():
    assert reduced(50, 0) == 50


def test_tax():
    assert taxed(100, 19) == 119
"""


def module(others: int) -> str:
    """A module with the fault and so many other functions of six lines each."""
    head = '"""What things cost."""\n\n\n'
    fault = (
        'def reduced(amount, percent):\n    """`amount` with `percent` per cent off."""\n    return amount - percent\n'
    )
    tax = '\n\ndef taxed(amount, percent):\n    """`amount` with tax."""\n    return amount + amount * percent // 100\n'
    return head + fault + tax + "".join(f"\n\n{_other(number)}" for number in range(others))


def _other(number: int) -> str:
    return (
        f'def rate_{number}(weight, zone):\n    """Postage of class {number}."""\n'
        f"    base = weight * {number + 3}\n    if zone > {number % 5}:\n        base += {number * 7 + 2}\n"
        "    return base\n"
    )


@dataclass(frozen=True)
class Ended:
    outcome: Outcome
    spent: Cost

    @property
    def solved(self) -> bool:
        return self.outcome.clean and self.outcome.best.number > 0


@dataclass(frozen=True)
class Arena:
    """A project in `top`, whose model is at `url`."""

    top: Path
    url: str
    files: Mapping[str, str]

    def play(self, model: str, policy: str, tokens: int | None, *, iterations: int | None = None) -> Ended:
        """One run with `policy`, ended by success, `tokens` or `iterations`."""
        place = Place(self.top, self.top)
        config = Config(model=model, base_url=self.url, policy=policy)
        limits = Limits(iterations, None, tokens, None, None)
        protection = Protection.of(place, config)
        sources = {path: text.encode() for path, text in self.files.items()}
        with Client(config, limits=limits, environ={}) as client:
            parts = Parts(
                views=cast("Any", Trees(sources)),
                critics=(Tests(),),
                proposers=(Model(place, config, client, protection),),
                original=sources.get,
                reason=protection.reason,
                limits=limits,
            )
            return Ended(refine(parts), client.spent)


@dataclass(frozen=True)
class Trees:
    """Views in memory."""

    files: Mapping[str, bytes]

    @contextlib.contextmanager
    def open(self, patch: Patch = Patch()) -> Iterator[Tree]:
        yield Tree({**self.files, **patch.files})


@dataclass(frozen=True)
class Tree:
    files: Mapping[str, bytes | None]
    isolation: str = "memory"

    def read(self, path: str) -> bytes | None:
        return self.files.get(path)


@dataclass(frozen=True)
class Tests:
    """Runs the test functions of test_tariff.py in this process."""

    name: str = "pytest"
    gate: bool = True

    def check(self, view: View, ask: Ask) -> Check:
        source, tests = (view.read(path) or b"" for path in ("tariff.py", "test_tariff.py"))
        cases = {case.id: case for case in _run(source.decode(), tests.decode(), ask.tests)}
        findings = tuple(
            Finding("pytest", "failed", "test_tariff.py", case.failure.message, Span(case.line, case.line), case.id)
            for case in cases.values()
            if case.failure
        )
        return Check("pytest", findings, cases, complete=ask.tests is None)


def _run(source: str, tests: str, only: Sequence[str] | None) -> Iterator[Case]:
    space: dict[str, Any] = {}
    exec(compile(source, "tariff.py", "exec"), space)
    exec(compile(tests.split("\n", 1)[1], "test_tariff.py", "exec"), space)
    line = source[: source.index("def reduced")].count("\n") + 3
    for name in [name for name in space if name.startswith("test_")]:
        test = f"test_tariff.py::{name}"
        if only is None or test in only:
            try:
                space[name]()
            except AssertionError:
                said = tests[tests.index(f"def {name}") :].split("\n")[1].strip()
                failure = Failure(said, "AssertionError", "", (Frame("tariff.py", line, "reduced"),))
                yield Case(test, Status.FAILED, 0.01, "test_tariff.py", 1, failure)
            else:
                yield Case(test, Status.PASSED, 0.01, "test_tariff.py", 1)
