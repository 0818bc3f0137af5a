"""The hook takes projects and their configuration from what is committed or pushed, not from the working tree."""

from __future__ import annotations

from pathlib import Path

import pytest

from coderefine.quick import ticket
from tests.hooks.test_commits import EDITED, FILES, WRONG, commit, hook
from tests.hooks.test_exact_tree import push
from tests.support.repo import git, make_repo, write

BRANCHED = '"""M."""\n\n\ndef f(x):\n    """F."""\n    return 1 if x else 2\n'
STRICT = "[tool.coderefine]\nmax-complexity = 1\n"
LAX = "[tool.coderefine]\nmax-complexity = 9\n"
PLAIN = '"""M."""\n'


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """Two projects, and a folder that belongs to neither."""
    files = {
        "a/pyproject.toml": STRICT,
        "b/pyproject.toml": FILES["pyproject.toml"],
        "b/pkg/__init__.py": "",
        "b/pkg/a.py": FILES["pkg/a.py"],
        "b/tests/test_a.py": FILES["tests/test_a.py"],
        ".gitignore": FILES[".gitignore"],
        **dict.fromkeys(("a/m.py", "tools/m.py"), PLAIN),
    }
    top = make_repo(tmp_path / "my project", files)
    assert hook(top, "install", "--push").code == 0
    return top


def stage(top: Path, files: dict[str, str]) -> None:
    write(top, files)
    git(top, "add", *files)


def test_a_commit_in_two_projects_is_judged_in_each(repo: Path) -> None:
    """No commit in two projects could pass: "the paths are in several projects"."""
    stage(repo, {"a/m.py": '"""N."""\n', "b/pkg/a.py": EDITED, "tools/m.py": BRANCHED})
    done = commit(repo)
    assert done.returncode == 0, done.stderr
    stage(repo, {"a/m.py": BRANCHED, "b/pkg/a.py": FILES["pkg/a.py"]})
    assert commit(repo).returncode == 1
    stage(repo, {"a/m.py": PLAIN, "b/pkg/a.py": WRONG})
    assert commit(repo).returncode == 1


def test_a_module_that_another_project_loses_is_missed_there(repo: Path) -> None:
    git(repo, "rm", "-q", "b/pkg/a.py")
    stage(repo, {"a/m.py": '"""N."""\n'})
    assert commit(repo).returncode == 1
    git(repo, "rm", "-q", "b/tests/test_a.py")
    done = commit(repo)
    assert done.returncode == 0, done.stderr


def test_unstaged_configuration_is_not_that_of_the_commit(tmp_path: Path) -> None:
    """The hook read pyproject.toml from the tree: with unstaged `gates`, a wrong commit passed."""
    strict, lax = (FILES["pyproject.toml"] + table for table in (STRICT, LAX))
    top = make_repo(tmp_path / "my project", {**FILES, "pyproject.toml": strict})
    assert hook(top, "install").code == 0
    stage(top, {"pkg/m.py": BRANCHED})
    write(top, {"pyproject.toml": lax})
    assert commit(top).returncode == 1
    assert not ticket.read(f"{top}/.git", str(top))
    git(top, "add", "pyproject.toml")
    done = commit(top)
    assert done.returncode == 0, done.stderr


def test_a_project_that_is_not_checked_out_is_judged_by_its_configuration(repo: Path, tmp_path: Path) -> None:
    """The push of a branch that is not checked out was judged as if its new project did not exist."""
    bare = tmp_path / "bare.git"
    git(tmp_path, "init", "-q", "--bare", str(bare))
    git(repo, "remote", "add", "origin", str(bare))
    git(repo, "push", "-q", "--no-verify", "origin", "main")
    git(repo, "checkout", "-q", "-b", "feature")
    new = {f"new/{name.replace('pkg', 'core')}": text.replace("pkg", "core") for name, text in FILES.items()}
    stage(repo, {**new, "a/pyproject.toml": LAX, "a/m.py": BRANCHED})
    for text, code in ((FILES["pkg/a.py"], 0), (BRANCHED, 1), (WRONG, 1)):
        stage(repo, {"new/core/a.py": text, "new/pyproject.toml": FILES["pyproject.toml"] + STRICT})
        git(repo, "commit", "-qm", "change", "--no-verify")
        git(repo, "checkout", "-q", "main")
        done = push(repo, "feature")
        assert done.returncode == code, done.stdout + done.stderr
        assert "bug in coderefine" not in done.stderr
        git(repo, "checkout", "-q", "feature")
