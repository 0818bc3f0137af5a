"""The expression that raised, as a place within its statement."""

from __future__ import annotations

import sys

import pytest

from coderefine.core import Case, Failure, Frame, Status
from coderefine.proposers.search.localise import running
from coderefine.proposers.search.syntax import Module

TEXT = "def f(row):\n    return (row['é'] +\n            row['b'].strip())\n"
MODULE = Module.of("m.py", TEXT.encode())


def spans(*frames: Frame) -> list[str]:
    assert MODULE is not None
    case = Case("t.py::t", Status.FAILED, 0.0, "t.py", 1, Failure("KeyError", frames=frames))
    found = running({"m.py": MODULE}, [case])
    return [TEXT[start:end] for places in found.values() for start, end in places]


def test_the_innermost_frame_of_the_program_counts() -> None:
    outer = Frame("m.py", 2, "f", {}, (2, 12, 2, 21))
    inner = Frame("m.py", 3, "f", {}, (3, 12, 3, 20))
    library = Frame("/usr/lib/x.py", 1, "g", {}, (1, 0, 1, 1))
    assert spans(outer, inner, library) == ["row['b']"]
    assert spans(outer) == ["row['é']"]


def test_nothing_is_known_before_python_3_11() -> None:
    assert spans(Frame("m.py", 2, "f")) == []
    assert spans() == []


@pytest.mark.skipif(sys.version_info < (3, 11), reason="instructions have no columns")
def test_the_runner_sees_it(cold_failure: Failure) -> None:
    frame = cold_failure.frames[-1]
    line, column, last, end = frame.span
    assert (line, last, frame.line) == (2, 2, 2)
    assert "    return row['a'] + row['b']"[column:end] == "row['b']"


@pytest.fixture
def cold_failure(tmp_path_factory: pytest.TempPathFactory) -> Failure:
    """Of a real run."""
    import os

    from coderefine.config import load
    from coderefine.core import Ask
    from coderefine.project import interpreter, locate
    from coderefine.runner.cold import run_tests
    from coderefine.workspace import open_views
    from tests.support.repo import make_repo

    files = {
        "m.py": "def f(row):\n    return row['a'] + row['b']\n",
        "test_m.py": "from m import f\ndef test_f():\n    assert f({'a': 1}) == 1\n",
    }
    top = make_repo(tmp_path_factory.mktemp("p") / "p", files)
    place = locate([top], top)
    config = load(place.root, {})
    with open_views(place) as views, views.open() as view:
        check = run_tests(view, place, interpreter(place, config, dict(os.environ)), config, Ask(), lambda _: None)
    failure = check.cases["test_m.py::test_f"].failure
    assert failure is not None
    return failure
