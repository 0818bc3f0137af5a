"""One run of every kind of event, as values."""

from __future__ import annotations

from dataclasses import replace

import pytest

from coderefine.core import (
    Attempt,
    Case,
    Check,
    Cost,
    Evidence,
    Executed,
    Finding,
    Mutation,
    Outcome,
    Patch,
    Severity,
    Span,
    Status,
    Stop,
    Verdict,
)

MUTABLE = Finding(
    "ruff", "B006", "src/cart.py", "mutable default", Span(12, 12), "Cart.add", "def add(self, to=[]):", "use None"
)
TEST = Finding(
    "pytest",
    "failed",
    "tests/test_cart.py",
    "assert 3 == 4\nmore",
    Span(7, 7),
    "tests/test_cart.py::test_total[a]",
    "assert total([1, 2]) == 4\nsrc/cart.py:41 in total: return sum(x)\n    x = [1, 2]",
)


def tests(failing: int, passing: int) -> Check:
    cases = [Case(f"tests/test_cart.py::bad{n}", Status.FAILED, 0.1) for n in range(failing)]
    cases += [Case(f"tests/test_cart.py::good{n}", Status.PASSED, 0.01) for n in range(passing)]
    findings = (TEST,) * failing
    return Check("pytest", findings, {case.id: case for case in cases}, seconds=1.2, tool="pytest 9.2.0")


def lint(*findings: Finding) -> Check:
    return Check("ruff", findings, seconds=0.1, tool="ruff 0.17.5")


@pytest.fixture
def checks() -> tuple[Check, ...]:
    soft = Finding("ruff", "F401", "lib/x.py", "unused", Span(1, 1), severity=Severity.SOFT)
    return tests(3, 41), lint(MUTABLE, MUTABLE, soft), Check("radon", tool="radon 6.0.1")


@pytest.fixture
def outcome(checks: tuple[Check, ...]) -> Outcome:
    baseline = Attempt(0, Patch(), checks)
    fixed = Patch({"src/cart.py": b"x = 1\n"}, "autofix", "src/cart.py:1 F401 remove unused import: `os`")
    first = Attempt(1, fixed, (checks[0], lint(MUTABLE)), cost=Cost(seconds=0.4))
    bad = Attempt(
        2, Patch({"tests/test_cart.py": b""}, "model", "edit"), (), Verdict(False, "protected"), Cost(1, 9, 9)
    )
    mended = Patch({"src/cart.py": b"x = 2\n", "src/odd.py": b"\xff"}, "search", "src/cart.py:41 `>` → `>=`")
    best = Attempt(3, mended, (tests(0, 44), lint(MUTABLE)), cost=Cost(seconds=1.9))
    proof = Evidence(("t1", "t2", "t3"), 41, (), (), (2, 2), (7, 8), "overlay", (Patch({}, "search", "`<` → `<=`"),))
    ran, left = Executed("src/cart.py", Span(1, 1), ("t1", "t2"), 2), Mutation("src/cart.py", 1, "2", "3")
    proof = replace(proof, executed=(ran,), survived=(left,))
    return Outcome(
        best,
        baseline,
        Stop.NO_PROGRESS,
        "no further proposal",
        proof,
        (MUTABLE,),
        (baseline, first, bad, best),
        Cost(2, 3000, 411, 0.0021, 4.0, 5),
    )
