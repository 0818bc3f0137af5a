"""Broken surroundings: each is reported in one line, ends with the documented exit code, and changes nothing."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.cases import few
from tests.support.command import LINT, Ended, coderefine
from tests.support.repo import git
from tests.support.trees import photograph

Spoil = Callable[[Path], None]


def write(name: str, content: str | bytes) -> Spoil:
    """Leave `content` in file `name`, uncommitted."""

    def spoil(top: Path) -> None:
        (top / name).write_bytes(content if isinstance(content, bytes) else content.encode())

    return spoil


def without_git(top: Path) -> None:
    shutil.rmtree(top / ".git")


def without_tests(top: Path) -> None:
    (top / "test_order.py").unlink()


def renamed_tests(top: Path) -> None:
    (top / "test_order.py").rename(top / "tests.py")


def unborn(top: Path) -> None:
    shutil.rmtree(top / ".git")
    git(top, "init", "-q")


def nameless(top: Path) -> None:
    git(top, "config", "user.name", "")


def detached(top: Path) -> None:
    git(top, "checkout", "-q", "--detach")


def merging(top: Path) -> None:
    for branch in ("theirs", "ours"):
        git(top, "checkout", "-q", "-b", branch, "main")
        (top / "notes").write_text(branch)
        git(top, "add", "notes")
        git(top, "commit", "-q", "-m", branch)
    with pytest.raises(Exception, match="merge"):
        git(top, "merge", "theirs")


def no_pytest(top: Path) -> None:
    python = top / "env" / "python"
    python.parent.mkdir()
    python.write_text('#!/bin/sh\nexec "$REAL_PYTHON" -S "$@"\n')
    python.chmod(0o755)


def broken_ruff(top: Path) -> None:
    (top / "ruff.toml").write_text("line-length = 'wide'\n")


def both(*spoils: Spoil) -> Spoil:
    def spoil(top: Path) -> None:
        for one in spoils:
            one(top)

    return spoil


def nothing(top: Path) -> None:
    """The project as it is."""


@dataclass(frozen=True)
class Case:
    """`spoil` the project, run `argv`: it ends with `code`, and its output contains `says`."""

    name: str
    argv: Sequence[str]
    code: int
    says: str
    spoil: Spoil = nothing

    def __str__(self) -> str:
        return self.name


SYNTAX = "def broken(:\n"
OFFLINE = ("--no-model", "--no-search")
FIX = ("fix", *OFFLINE)

REFUSED = (
    Case("no git", FIX, 2, "git init", without_git),
    Case("missing path", ("check", "nowhere"), 2, "nowhere"),
    Case("missing path, fix", ("fix", "nowhere", *OFFLINE), 2, "nowhere"),
    Case("path outside", (*FIX, ".."), 2, "outside this repository"),
    Case("two repositories", (*FIX, ".", ".."), 2, "one repository"),
    Case("broken pyproject", ("check",), 2, "pyproject.toml", write("pyproject.toml", "[tool\n")),
    Case("broken pyproject, fix", FIX, 2, "pyproject.toml", write("pyproject.toml", "[tool\n")),
    Case("pyproject not UTF-8", ("check",), 2, "pyproject.toml", write("pyproject.toml", b"a = '\xff'\n")),
    Case("unknown key", ("check",), 2, "max-complexity", write("pyproject.toml", "[tool.coderefine]\nmax-complex=3\n")),
    Case(
        "wrong type",
        ("check",),
        2,
        "max-complexity",
        write("pyproject.toml", "[tool.coderefine]\nmax-complexity='a'\n"),
    ),
    Case("unknown gate", ("check", "--gate", "pytes"), 2, "did you mean 'pytest'"),
    Case("bad addopts", ("check",), 2, "--nonsense", write("pytest.ini", "[pytest]\naddopts = --nonsense\n")),
    Case("bad addopts, fix", FIX, 2, "--nonsense", write("pytest.ini", "[pytest]\naddopts = --nonsense\n")),
    Case("bad pytest.ini", ("check",), 2, "pytest.ini", write("pytest.ini", "pytest\n")),
    Case("bad ruff.toml", ("check",), 2, "ruff", broken_ruff),
    Case("bad ruff.toml, fix", FIX, 2, "ruff", broken_ruff),
    Case("unknown ruff rule", ("check", "--select", "NOPE"), 2, "NOPE"),
    Case("interpreter missing", ("check", "--python", "nowhere/python"), 2, "nowhere/python"),
    Case("interpreter no program", ("check", "--python", "order.py"), 2, "order.py"),
    Case("interpreter without pytest", ("check", "--python", "env/python"), 2, "pytest", no_pytest),
    Case("no run yet, show", ("show",), 2, "no run"),
    Case("no run yet, undo", ("undo",), 2, "no run"),
    Case("no run yet, resume", ("resume",), 2, "no run"),
    Case("unknown run", ("show", "nope"), 2, "nope"),
    Case("log without git", ("log",), 2, "git", without_git),
    Case("bad branch name", (*FIX, "--branch", "a..b"), 2, "a..b", write("order.py", LINT)),
    Case("branch below a branch", (*FIX, "--branch", "main/x"), 2, "the branch main exists", write("order.py", LINT)),
    Case(
        "patch file in no folder", (*FIX, "--patch", "no/where.patch"), 2, "no is not a folder", write("order.py", LINT)
    ),
    Case("patch file is a file of the user", (*FIX, "--patch", "test_order.py"), 2, "test_order.py exists"),
    Case("bad author", (*FIX, "--commit", "--author", "me"), 2, "me", write("order.py", LINT)),
    Case("no commit yet", (*FIX, "--commit"), 2, "there is no commit yet", unborn),
    Case("unborn, branch", (*FIX, "--branch", "side"), 2, "there is no commit yet", unborn),
    Case("no identity", (*FIX, "--commit"), 2, "git does not know who you are", nameless),
    Case("merge in progress", (*FIX, "--commit"), 2, "merge", merging),
)

JUDGED = (
    Case("no git, check", ("check",), 1, "test_discount_from_one_hundred_on", without_git),
    Case("no tests", ("check",), 0, "pytest: no tests", without_tests),
    Case("tests.py", ("check",), 0, "pytest collects no tests.py by default", renamed_tests),
    Case("syntax error in a source", ("check",), 1, "order.py:1", write("order.py", SYNTAX)),
    Case("syntax error in a test", ("check",), 1, "test_order.py:1", write("test_order.py", SYNTAX)),
    Case("syntax error, fix", FIX, 1, "order.py:1", write("order.py", SYNTAX)),
    Case("binary source", ("check",), 1, "blob.py", write("blob.py", bytes(range(256)))),
    Case("not UTF-8", ("check",), 1, "latin.py", write("latin.py", b"# caf\xe9\nNAME = 'caf\xe9'\n")),
    Case("unborn", FIX, 1, "1 finding", unborn),
    Case("detached", ("check",), 1, "1 failed", detached),
)


@pytest.mark.parametrize(
    "case", few(REFUSED, *(str(case) for case in REFUSED if case.argv[0] != "fix" or "," not in str(case)))
)
def test_refused_in_one_line_and_nothing_changed(repo: Path, case: Case) -> None:
    case.spoil(repo)
    before = photographed(repo)
    result = run(case, repo)
    assert result.code == case.code, result
    assert "Traceback" not in result.err, result.err
    message = result.lines or [line for line in result.err.splitlines() if line.startswith("Error: ")]
    assert len(message) == 1, result
    assert case.says in message[0], message
    assert result.out == ""
    assert photographed(repo) == before


@pytest.mark.parametrize("case", few(JUDGED, *(str(case) for case in JUDGED if "," not in str(case))))
def test_reported_as_findings_and_nothing_changed(repo: Path, case: Case) -> None:
    case.spoil(repo)
    before = photographed(repo)
    result = run(case, repo)
    assert result.code == case.code, result
    assert "Traceback" not in result.err, result.err
    assert case.says in result.out, result
    assert not result.lines, result
    assert photographed(repo) == before


def run(case: Case, top: Path) -> Ended:
    import sys

    return coderefine(*case.argv, cwd=top, env={"REAL_PYTHON": sys.executable})


def photographed(top: Path) -> dict[str, object]:
    """Every file but our own records inside .git."""
    return {
        name: (mode, content)
        for name, (mode, _, content) in photograph(top).items()
        if not name.startswith((".git/coderefine", ".git/refs/coderefine", ".git/objects", ".git/logs"))
    }
