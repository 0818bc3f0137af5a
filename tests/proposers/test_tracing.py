"""What a trace of the failing tests says about the project's lines."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from coderefine.config import Config
from coderefine.core import Case, Check, Failure, Frame, Patch, Status, Step, Views
from coderefine.project import Place, Protection, interpreter, locate
from coderefine.proposers.model.tracing import Tracer, cold_tracer, trace_seconds, traced
from coderefine.workspace import open_views
from tests.support.repo import make_repo

FILES = {
    "shop.py": b"def total(x):\n    return x + 1\n\n\ndef tax(x):\n    return x * 2\n",
    "lazy.py": b"import os\n\n\nclass Late:\n    def name(self):\n        return os.sep\n",
    "test_shop.py": b"def test_total():\n    assert tax(1) == 2\n    assert total(1) == 1\n",
}
FAILED = Case(
    "test_shop.py::test_total",
    Status.FAILED,
    0.1,
    "test_shop.py",
    1,
    Failure("assert 2 == 1", "AssertionError", "", (Frame("test_shop.py", 3, "test_total"),)),
)


def test_lines_that_ran_only_at_the_first_import_are_not_suspicious() -> None:
    lines = {"shop.py": frozenset({2, 6}), "lazy.py": frozenset({1, 4, 5})}

    def tracer(_: Patch, __: Sequence[Case], ___: Sequence[str]) -> Check:
        return Check("pytest", coverage={FAILED.id: lines})

    found = traced(tracer, Patch(), {FAILED.id: FAILED}, FILES.get, lambda path: path in ("shop.py", "lazy.py"))
    assert found is not None
    assert set(found.weights) == {"shop.py"}
    assert "lazy.py" not in {path for path, ran in found.ran.items() if ran}


def test_code_executed_by_the_failing_line_of_a_test_is_the_most_suspicious() -> None:
    def step(line: int, of_shop: int) -> Step:
        return Step("test_shop.py", line, frozenset({("shop.py", of_shop)}), frozenset())

    def tracer(_: Patch, __: Sequence[Case], ___: Sequence[str]) -> Check:
        steps = {FAILED.id: (step(2, 6), step(3, 2))}
        return Check("pytest", coverage={FAILED.id: {"shop.py": frozenset({2, 6})}}, steps=steps)

    found = traced(tracer, Patch(), {FAILED.id: FAILED}, FILES.get, lambda path: path == "shop.py")
    assert found is not None
    weights = found.weights["shop.py"]
    assert weights[2] > 2 * weights.get(6, 0.0)


def test_on_a_slow_machine_a_trace_may_take_longer() -> None:
    assert trace_seconds(None) == trace_seconds(Check("pytest", seconds=1.0)) == 30
    assert trace_seconds(Check("pytest", seconds=90.0)) == 180


def traced_tests(*passing: Case) -> Sequence[str]:
    """The passing tests that the tracer is asked for."""
    asked: list[str] = []

    def tracer(_: Patch, __: Sequence[Case], ids: Sequence[str]) -> Check:
        asked.extend(ids)
        return Check("pytest")

    traced(tracer, Patch(), {case.id: case for case in (FAILED, *passing)}, FILES.get, lambda _: True)
    return asked


def passed(file: str, number: int, seconds: float) -> Case:
    return Case(f"{file}::test_{number}", Status.PASSED, seconds, file, number)


@pytest.mark.parametrize(("seconds", "number"), [(0.001, 40), (1.0, 20)])
def test_more_passing_tests_are_traced_where_they_are_quick(seconds: float, number: int) -> None:
    near = [passed("test_shop.py", n, seconds) for n in range(200)]
    assert len(traced_tests(*near, passed("test_other.py", 1, 20.0))) == number


def test_slow_passing_tests_are_not_traced_beside_fast_ones() -> None:
    """sqlparse: one of 0.3 seconds took ten, before the first request."""
    tests = [passed("test_shop.py", n, 0.3 if n % 2 else 0.01) for n in range(40)]
    assert all(int(name.rpartition("_")[2]) % 2 == 0 for name in traced_tests(*tests))


def test_code_that_runs_once_in_a_process_is_not_suspicious() -> None:
    """A passing test of the same file, and one of another file, run before the failing ones."""
    near = [passed("test_shop.py", n, 1.0) for n in range(3)]
    far = [passed(f"test_{n}.py", n, 0.001) for n in range(30)]
    asked = traced_tests(*near, *far)
    assert [name.split("::")[0] == "test_shop.py" for name in asked] == [True, False, True, True, *[False] * 9]


PROGRAM = {
    "shop.py": "def total(x):\n    return x + 1\n\n\nif __name__ == '__main__':\n    print(total(1))\n",
    "test_shop.py": "import subprocess\nimport sys\n\n\ndef test_total():\n"
    "    assert subprocess.check_output([sys.executable, 'shop.py'], text=True) == '1\\n'\n",
}


def tracer_of(views: Views, place: Place, config: Config) -> Tracer:
    python = interpreter(place, config, dict(os.environ))
    return cold_tracer(views, place, python, config, seconds=30.0, is_test=Protection.of(place, config).is_test)


DOCUMENTED = {
    "shop.py": 'def total(x):\n    """Add one.\n\n    >>> total(1)\n    2\n    """\n    return x + 2\n',
    "pytest.ini": "[pytest]\naddopts = --doctest-modules\n",
}


def test_the_lines_of_a_module_with_a_failing_example_are_traced(tmp_path: Path) -> None:
    """humanize: the module of a failing docstring was taken for a test; the request held no line of it."""
    top = make_repo(tmp_path / "p", DOCUMENTED)
    config, place = Config(), locate([top], top)
    case = replace(FAILED, id="shop.py::shop.total", path="shop.py")
    with open_views(place) as views:
        check = tracer_of(views, place, config)(Patch(), [case], [])
    assert check.coverage is not None
    assert 7 in check.coverage[case.id]["shop.py"]


def test_failures_of_one_kind_do_not_take_the_place_of_another_failure() -> None:
    """humanize: twelve tests without their fixture were traced, and not the test of the fault."""
    lost = Failure("fixture 'benchmark' not found", "FixtureLookupError")
    cases = [Case(f"test_speed.py::test_{n}", Status.ERROR, path="test_speed.py", failure=lost) for n in range(20)]
    same = [replace(FAILED, id=f"test_many.py::test_{n}", path="test_many.py") for n in range(20)]
    wrong = replace(FAILED, failure=Failure("'x'", "KeyError", "", (Frame("shop.py", 2, "total"),)))
    asked: list[Case] = []

    def tracer(_: Patch, failing: Sequence[Case], __: Sequence[str]) -> Check:
        asked.extend(failing)
        return Check("pytest")

    traced(tracer, Patch(), {case.id: case for case in (*cases, *same, wrong)}, FILES.get, lambda _: True)
    assert [case.id for case in asked[:2]] == ["test_many.py::test_0", wrong.id]
    assert not any(case.path == "test_speed.py" for case in asked)


def test_programs_that_failing_tests_start_are_traced(tmp_path: Path) -> None:
    """tabulate: the request held the tests of its command line and not one line of the program."""
    top = make_repo(tmp_path / "p", PROGRAM)
    config, place = Config(), locate([top], top)
    with open_views(place) as views:
        trace = tracer_of(views, place, config)
        case = replace(FAILED, path="test_shop.py")
        check = trace(Patch(), [case], [])
    assert check.coverage is not None
    assert 2 in check.coverage[FAILED.id]["shop.py"]
