"""Bytecode of the untouched tree serves later views; no patch is hidden by it, and none leaves any."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from coderefine.core import Patch, View, Views
from coderefine.errors import WorkspaceError
from coderefine.project import locate
from coderefine.workspace import open_views
from coderefine.workspace.isolation import compiled
from tests.support.repo import make_repo

FILES = {"pkg/__init__.py": "", "pkg/one.py": "VALUE = 1\n", "pkg/two.py": "VALUE = 2\n"}
SHOW = "import pkg.one, pkg.two; print(pkg.one.VALUE, pkg.two.VALUE, pkg.one.__cached__)"


@pytest.fixture
def views(tmp_path: Path) -> Iterator[Views]:
    place = locate([], make_repo(tmp_path / "p", FILES))
    with open_views(place, kind="overlay") as opened:
        try:
            with opened.open():
                pass
        except WorkspaceError as error:
            pytest.skip(str(error))
        yield opened


def imported(view: View) -> str:
    """What a process prints that imports both modules, and may write bytecode."""
    return view.run((sys.executable, "-c", SHOW), env={"PYTHONDONTWRITEBYTECODE": ""}).text


def cached(view: View) -> set[str]:
    """Modules whose bytecode is in the view."""
    folder = view.host_path / "pkg/__pycache__"
    return {path.name.partition(".")[0] for path in folder.iterdir()} if folder.exists() else set()


def test_a_view_begins_with_what_an_earlier_one_compiled(views: Views) -> None:
    with views.open() as view:
        assert cached(view) == set()
        imported(view)
    with views.open() as view:
        assert cached(view) == {"__init__", "one", "two"}


def test_a_patched_file_has_no_bytecode_and_runs(views: Views) -> None:
    with views.open() as view:
        imported(view)
    with views.open(Patch({"pkg/one.py": b"VALUE = 3\n"})) as view:
        assert cached(view) == {"__init__", "two"}
        assert imported(view).startswith("3 2 ")


def test_bytecode_of_a_patched_tree_is_not_kept(views: Views) -> None:
    with views.open(Patch({"pkg/one.py": b"VALUE = 3\n"})) as view:
        imported(view)
        assert cached(view) == {"__init__", "one", "two"}
    with views.open() as view:
        assert cached(view) == set()
        assert imported(view).startswith("1 2 ")


def test_links_in_a_cache_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("key")
    cache = tmp_path / "top/pkg/__pycache__"
    cache.mkdir(parents=True)
    (cache / "one.pyc").symlink_to(tmp_path / "secret")
    (cache / "two.pyc").write_bytes(b"code")
    assert compiled(tmp_path / "top") == {"pkg/__pycache__/two.pyc": b"code"}
