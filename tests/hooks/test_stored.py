"""What an earlier run of the hook stored lets no commit pass that a full run would refuse."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from coderefine.quick import ticket
from tests.hooks.test_commits import EDITED, FILES, WRONG, commit, hook
from tests.support.repo import git, make_repo, write

UNTIDY = "import os\n" + FILES["pkg/a.py"]
BRANCHED = '"""Sub."""\n\n\ndef f(x):\n    """F."""\n    return 1 if x else 2\n'


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """Of this project the hook has judged a commit, so that the next one may be quick."""
    top = make_repo(tmp_path / "my project", FILES)
    assert hook(top, "install").code == 0
    stage(top, {"lonely.py": '"""Alone."""\n'})
    assert commit(top).returncode == 0
    assert ticket.read(f"{top}/.git", str(top))
    return top


def stage(top: Path, files: dict[str, str]) -> None:
    write(top, files)
    git(top, "add", *files)


def test_a_run_with_weaker_flags_does_not_weaken_the_next_commit(repo: Path) -> None:
    """The ticket stored the flags of a manual run, and plain hooks used them from then on."""
    stage(repo, {"pkg/a.py": UNTIDY})
    assert hook(repo, "run", "--ignore", "F401,I001", "--no-fix").code == 0
    assert commit(repo).returncode == 1


@pytest.mark.parametrize(
    "how",
    ["renamed", pytest.param("deleted, and another file edited", marks=pytest.mark.thorough)],
)
def test_a_deletion_that_was_refused_is_refused_again(repo: Path, how: str) -> None:
    """The first refusal stored the set of files without the deleted one, and the same commit passed."""
    if how == "renamed":
        git(repo, "mv", "pkg/a.py", "pkg/z.py")
    else:
        git(repo, "rm", "-q", "pkg/b.py")
        stage(repo, {"pkg/a.py": EDITED})
    for _ in range(2):
        assert commit(repo).returncode == 1


@pytest.mark.parametrize("flag", ["assume-unchanged", "skip-worktree"])
def test_a_commit_that_needs_an_edit_that_git_does_not_report_is_refused(repo: Path, flag: str) -> None:
    """git's status lacks the edits of such a file, so the quick hook took the tests' word, and they had the edit."""
    git(repo, "update-index", f"--{flag}", "pkg/b.py")
    write(repo, {"pkg/b.py": FILES["pkg/b.py"] + "\n\nMORE = 0\n"})
    needs = "from pkg.b import MORE\n\n\ndef add(a, b):\n    return a + b + MORE\n"
    stage(repo, {"pkg/a.py": needs})
    assert commit(repo).returncode == 1
    git(repo, "update-index", f"--no-{flag}", "pkg/b.py")
    stage(repo, {"pkg/b.py": FILES["pkg/b.py"] + "\n\nMORE = 0\n"})
    done = commit(repo)
    assert done.returncode == 0, done.stderr


def test_a_nested_project_is_judged_by_its_own_configuration(repo: Path) -> None:
    """The quick hook used the ticket of the top for all files."""
    settings = "[tool.coderefine]\nmax-complexity = 1\n"
    stage(repo, {"sub/pyproject.toml": settings, "sub/deep/m.py": '"""Deep."""\n'})
    git(repo, "commit", "-qm", "a nested project", "--no-verify")
    stage(repo, {"lonely.py": '"""Very much alone."""\n'})
    assert commit(repo).returncode == 0
    stage(repo, {"sub/deep/m.py": BRANCHED})
    assert commit(repo).returncode == 1


def test_pytest_that_is_installed_later_is_used_from_then_on(tmp_path: Path) -> None:
    """The ticket said "no pytest", and no folder that an installation changes made it void."""
    bare = tmp_path / "bare"
    subprocess.run((sys.executable, "-m", "venv", "--without-pip", str(bare)), check=True)
    settings = f'{FILES["pyproject.toml"]}[tool.coderefine]\npython = "{bare}"\n'
    top = make_repo(tmp_path / "my project", {**FILES, "pyproject.toml": settings})
    for text in (EDITED, WRONG):
        stage(top, {"pkg/a.py": text})
        done = hook(top, "run")
        assert (done.code, "has no pytest" in done.err) == (0, True)
    [packages] = bare.glob("lib/*/site-packages")
    (packages / "pytest.pth").write_text(sysconfig.get_path("purelib") + "\n")
    assert hook(top, "run").code == 1
    stage(top, {"pkg/a.py": EDITED})
    assert hook(top, "run").code == 0
    assert ticket.read(f"{top}/.git", str(top))
    (bare / "bin/ruff").symlink_to(Path(sysconfig.get_path("scripts")) / "ruff")
    assert not ticket.read(f"{top}/.git", str(top))


@pytest.mark.parametrize(
    "added",
    ["-ra -q", pytest.param("-qq", marks=pytest.mark.thorough), pytest.param("-vv", marks=pytest.mark.thorough)],
)
def test_the_next_commit_is_quick_whatever_pytest_prints(tmp_path: Path, added: str) -> None:
    """With a second `-q`, pytest printed no summary, so the tests ran again in a full check of each commit."""
    settings = f'{FILES["pyproject.toml"]}addopts = "{added}"\n'
    top = make_repo(tmp_path / "my project", {**FILES, "pyproject.toml": settings})
    assert hook(top, "install").code == 0
    for text, stages in ((EDITED, True), (EDITED + "\n\nX = 1\n", False)):
        stage(top, {"pkg/a.py": text, "README.md": text})  # other files: without the coverage map
        done = commit(top)
        assert (done.returncode, "stage:" in done.stderr) == (0, stages), done.stderr
