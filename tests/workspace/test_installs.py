"""However a project is installed, what runs in a view imports the view's files, not the original's."""

from __future__ import annotations

import pytest

from coderefine.core import Patch
from coderefine.project import locate
from coderefine.workspace import open_views
from tests.workspace.installs import PATCHED, Install, Installed, install, project

__all__ = ["install", "project"]

SAY = "import shelf.core; print(shelf.core.f(), shelf.core.__file__)"


@pytest.mark.parametrize("kind", [pytest.param("overlay", marks=pytest.mark.thorough), "copy"])
def test_programs_import_the_patched_files(
    install: Install, project: Installed, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "conftest" in install.name:
        pytest.skip("only pytest reads it")
    if install.pythonpath:
        monkeypatch.setenv("PYTHONPATH", str(project.top / install.pythonpath))
    with open_views(locate([], project.top), kind=kind) as views:
        for content, wanted in ((None, "original"), (PATCHED, "patched")):
            patch = Patch({install.core: content} if content else {})
            with views.open(patch) as view:
                result = view.run((str(project.python), "-c", SAY), cwd="tests").text.split()
                assert result, view.run((str(project.python), "-c", SAY), cwd="tests").stderr
                assert result[0] == wanted
                assert result[1].startswith(str(view.top))
