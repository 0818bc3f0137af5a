from __future__ import annotations

from pathlib import Path

from coderefine.project.place import locate
from coderefine.proposers.model.code_lookup import PrivateFiles
from tests.support.repo import git, write


def test_a_project_in_a_folder_that_an_outer_repository_ignores_is_readable(tmp_path: Path) -> None:
    """Each file was "ignored by git", so the model was told none that it asked for."""
    git(tmp_path, "init", "-q")
    ignored = {"out/app/pyproject.toml": "", "out/app/a.py": "", "local.py": ""}
    write(tmp_path, {".gitignore": "out/\nlocal.py\n", **ignored})
    private = PrivateFiles(locate([tmp_path / "out" / "app"], tmp_path))
    assert private.reason("out/app/a.py") is None
    assert private.reason("local.py") == "local.py is ignored by git"
    assert private.reason("out/app/.env") == "out/app/.env is hidden"
    assert PrivateFiles(locate([tmp_path], tmp_path)).reason("out/app/a.py") == "out/app/a.py is ignored by git"


def test_the_links_of_a_path_are_followed_once(tmp_path: Path) -> None:
    """They were followed at every read: 2,000 times for each name that a reply mentions."""
    git(tmp_path, "init", "-q")
    write(tmp_path, {".env": "KEY=1\n", "a.py": ""})
    (tmp_path / "link.py").symlink_to(".env")
    private = PrivateFiles(locate([tmp_path], tmp_path))
    assert private.reason("link.py") == "link.py is hidden"
    (tmp_path / "link.py").unlink()
    (tmp_path / "link.py").symlink_to("a.py")
    assert private.reason("link.py") == "link.py is hidden"
    assert private.reason("a.py") is None
