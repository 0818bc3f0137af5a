"""Which code was tested: the patched one, however the project is installed, or the result is void."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from coderefine.config import Config
from coderefine.core import Ask, Patch, Status
from coderefine.errors import RunnerError, VoidError
from coderefine.project import Interpreter, interpreter, locate
from coderefine.runner.candidates import Candidate, Plan
from coderefine.runner.cold import run_tests
from coderefine.runner.pool import open_pool
from coderefine.workspace import open_views
from tests.support.repo import make_repo, write
from tests.workspace.installs import CORE, PATCHED, TEST, Install, Installed, install, project

__all__ = ["install", "project"]

PLANS = (Plan(("tests/test_shelf.py::test_f",)), Plan(("tests/test_shelf.py::test_f",), fastest="warm"))


@pytest.mark.parametrize("kind", ["overlay", pytest.param("copy", marks=pytest.mark.thorough)])
def test_the_patched_code_is_tested_at_every_speed(
    install: Install, project: Installed, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    if install.pythonpath:
        monkeypatch.setenv("PYTHONPATH", str(project.top / install.pythonpath))
    place, config = locate([], project.top), Config()
    python = interpreter(place, replace(config, python=str(project.python)), os.environ)
    patch = Patch({install.core: PATCHED})
    with open_views(place, kind=kind) as views:
        with views.open(patch) as view:
            check = run_tests(view, place, python, config, Ask(timeout=60))
        assert {case.status for case in check.cases.values()} == {Status.PASSED}, check
        with open_pool(views, place, python, config, workers=1) as pool:
            assert set(pool.baseline().values()) == {Status.FAILED}
            for number, plan in enumerate(PLANS, 1):
                (judged,) = pool.judge([Candidate(number, patch.files)], plan)
                assert judged.plausible, judged


FILES = {"src/shelf/__init__.py": "", "src/shelf/core.py": CORE, "tests/test_shelf.py": TEST}
PATCH = Patch({"src/shelf/core.py": PATCHED})
FINDER = """
import importlib.abc, importlib.util, sys


class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "shelf.core":
            return importlib.util.spec_from_file_location(name, "{top}/src/shelf/core.py")


sys.meta_path.insert(0, Finder())
"""
REWRITES = """
import pathlib


def test_itself():
    import shelf.core

    assert shelf.core.f() == "patched"
    pathlib.Path(shelf.core.__file__).write_text("def f():\\n    return 'rewritten'\\n")
"""


@pytest.mark.parametrize(
    ("kind", "files", "words"),
    [
        ("overlay", {"away/site-packages/shelf/__init__.py": "", "away/site-packages/shelf/core.py": CORE}, "editable"),
        ("copy", {"conftest.py": FINDER}, "imported from the original tree"),
        ("overlay", {"tests/test_rewrites.py": REWRITES}, "has other content than in the patch"),
    ],
    ids=["a plain install is imported", "a finder leads to the original", "a test rewrites the patched file"],
)
def test_tests_of_unpatched_code_give_no_result(  # noqa: PLR0917
    tmp_path: Path,
    this_python: Interpreter,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    files: dict[str, str],
    words: str,
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    top = make_repo(tmp_path / "shelf", FILES)
    write(top, {name: text.replace("{top}", str(top)) for name, text in files.items()})
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, (top / "away/site-packages", top / "src"))))
    with open_views(locate([], top), kind=kind) as views, views.open(PATCH) as view:
        with pytest.raises(VoidError, match=words) as found:
            run_tests(view, locate([], top), this_python, Config(), Ask(timeout=60))
        assert found.value.elsewhere


def test_a_finder_that_leads_to_the_original_is_found_before_a_candidate_is_judged(
    tmp_path: Path, this_python: Interpreter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    top = make_repo(tmp_path / "shelf", FILES)
    write(top, {"conftest.py": FINDER.replace("{top}", str(top)), "pytest.ini": "[pytest]\npythonpath = src\n"})
    place = locate([], top)
    with (
        open_views(place, kind="copy") as views,
        pytest.raises(RunnerError, match="imported from the original tree"),
        open_pool(views, place, this_python, Config(), workers=1),
    ):
        pass
