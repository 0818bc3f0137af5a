"""The cold runner inside the real private views: nothing reaches the user's tree, and everything still works."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from coderefine.config import Config
from coderefine.core import Ask, Check, Patch, Status
from coderefine.project import Interpreter, Place, locate
from coderefine.runner.cold import RunOptions, run_tests
from coderefine.workspace import open_views
from tests.support.cases import every
from tests.support.repo import git, make_repo

FILES = {
    "app/src/lib.py": "def f():\n    return 1\n",
    "app/pytest.ini": "[pytest]\npythonpath = src\n",
    "app/tests/test_x.py": "import lib, os, signal, pathlib\n"
    "def test_a():\n    pathlib.Path('written').write_text('x')\n    assert lib.f() == 2\n"
    "def test_b(): os.kill(os.getpid(), signal.SIGSEGV)\n"
    "def test_c():\n    while True:\n        pass\n"
    "def test_d(): pass\n",
}

Kind = Literal["overlay", "copy"]


@pytest.mark.parametrize("kind", every(2, ["overlay", "copy"]))
def test_crashes_and_hangs_in_a_real_view(
    tmp_path: Path, kind: Kind, this_python: Interpreter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    top = make_repo(tmp_path / "re po", FILES)
    place = locate((), top / "app")
    place = Place(place.top, top / "app", place.git_dir, (".",), place.worktree_dir)
    fixed = Patch({"app/src/lib.py": b"def f():\n    return 2\n"})
    with open_views(place, kind=kind) as views:
        for patch, first in ((Patch(), Status.FAILED), (fixed, Status.PASSED)):
            with views.open(patch) as view:
                check = run_tests(view, place, this_python, Config(), Ask(timeout=60), options=RunOptions(1.0))
            _as_expected(check, first)
    assert git(top, "status", "--porcelain") == ""


def _as_expected(check: Check, first: Status) -> None:
    cases = {name.rpartition("::")[2]: case for name, case in check.cases.items()}
    assert [case.status for case in cases.values()] == [first, Status.ERROR, Status.ERROR, Status.PASSED]
    assert {case.path for case in cases.values()} == {"app/tests/test_x.py"}
    crash, hang = cases["test_b"].failure, cases["test_c"].failure
    assert crash is not None
    assert "SIGSEGV" in crash.message
    assert [(frame.path, frame.line) for frame in crash.frames] == [("app/tests/test_x.py", 5)]
    assert hang is not None
    assert "still running" in hang.message
    assert {frame.path for frame in hang.frames} == {"app/tests/test_x.py"}
