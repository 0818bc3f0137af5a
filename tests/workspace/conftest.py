"""Both kinds of views, on repositories with everything that is awkward about real ones."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from coderefine.project import locate
from coderefine.workspace import describe
from tests.support.repo import git, make_repo, write


@contextlib.contextmanager
def author() -> Iterator[None]:
    """For fixtures of the session, which run before HOME is sealed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        for who in ("AUTHOR", "COMMITTER"):
            patch.setenv(f"GIT_{who}_NAME", "A U Thor")
            patch.setenv(f"GIT_{who}_EMAIL", "author@example.com")
        yield


@pytest.fixture(scope="session")
def overlay_works(tmp_path_factory: pytest.TempPathFactory) -> bool:
    with author():
        top = make_repo(tmp_path_factory.mktemp("probe"), {"a": "b"})
    return describe(locate([], top)).kind == "overlay"


@pytest.fixture(params=["overlay", "copy", "bare copy"])
def kind(request: pytest.FixtureRequest, overlay_works: bool, refuse: Callable[[str], None]) -> str:
    """The value of `open_views(kind=…)`; a bare copy is one on a system without namespaces."""
    if request.param != "bare copy" and not overlay_works:
        pytest.skip("this system refuses namespaces (see coderefine doctor)")
    if request.param == "bare copy":
        refuse("unshare")
    return str(request.param).removeprefix("bare ")


@pytest.fixture
def refuse(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Put a program that only says no in front of the real one."""

    def put(name: str) -> None:
        folder = tmp_path_factory.mktemp("refusing")
        (folder / name).write_text("#!/bin/sh\necho 'Operation not permitted' >&2; exit 1\n", "utf-8")
        (folder / name).chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    return put


@pytest.fixture
def top(tmp_path: Path, model_tree: Path) -> Path:
    """A repository with dirty, untracked, ignored, linked and oddly named files."""
    top = Path(shutil.copytree(model_tree, tmp_path / "ré, po:1 \\x", symlinks=True))
    (top / "absolute").symlink_to(top / "src" / "pkg")
    return top


@pytest.fixture(scope="session")
def model_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with author():
        return _model_tree(tmp_path_factory.mktemp("model") / "repo")


def _model_tree(top: Path) -> Path:
    make_repo(
        top,
        {
            ".gitignore": "_version.py\n.venv/\n*.dat\n",
            "pyproject.toml": "",
            "src/pkg/__init__.py": "VALUE = 'committed'\n",
            "src/pkg/a b é.py": "x = 1\n",
            "run.sh": "#!/bin/sh\necho ran\n",
            "gone.txt": "deleted in the working tree\n",
        },
    )
    (top / "run.sh").chmod(0o755)
    git(top, "commit", "-qam", "mode")
    write(top, {"src/pkg/__init__.py": "VALUE = 'dirty'\n", "untracked.py": "u = 1\n"})
    write(top, {"src/pkg/_version.py": "v = 1\n", "big.dat": b"\0" * 5000, ".venv/bin/tool": "t"})
    (top / "gone.txt").unlink()
    (top / "link").symlink_to("src/pkg")
    return top
