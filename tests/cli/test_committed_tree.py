"""`--commit` and `--branch`: the tree that is proved is the tree that the commit holds, whatever lies beside it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cases import every
from tests.support.command import GREEN, LINT, ORDER, TESTS, Ended, coderefine
from tests.support.repo import git, make_repo, write

SHOP = "def rate():\n    return 2\n"
SHOP_TESTS = "from shop import rate\n\n\ndef test_rate():\n    assert rate() == 1\n"
SHOP_FIXED = SHOP.replace("2", "1")
LONG = ORDER + "".join(f"\n\ndef part{n}():\n    return {n}\n" for n in range(3))


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """Two modules, both faulty; the user has mended `shop.py` and not committed it."""
    files = {"order.py": ORDER, "test_order.py": TESTS, "shop.py": SHOP, "test_shop.py": SHOP_TESTS}
    top = make_repo(tmp_path / "two", {**files, ".gitignore": "__pycache__/\n"})
    write(top, {"shop.py": SHOP_FIXED})
    return top


def fixed(top: Path, *args: str) -> Ended:
    return coderefine("fix", "order.py", "--no-model", *args, cwd=top)


def failing(top: Path, commit: str) -> int:
    """How many tests fail in a clone at `commit`."""
    clone = top.parent / f"clone-{commit.replace('/', '-')}"
    git(top.parent, "clone", "-q", str(top), str(clone))
    git(clone, "checkout", "-q", git(top, "rev-parse", commit))
    argv = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    result = subprocess.run(argv, cwd=clone, capture_output=True, text=True, check=False).stdout
    last = result.strip().splitlines()[-1]
    return int(last.split(" failed")[0].split()[-1]) if "failed" in last else 0


def checks(top: Path, commit: str) -> str:
    return git(top, "log", "-1", "--format=%(trailers:key=Coderefine-Checks,valueonly)", commit).split(",")[0]


@pytest.mark.thorough
@pytest.mark.parametrize("how", every(2, ["commit", "branch"]))
def test_an_uncommitted_fix_is_not_credited_to_the_commit(two: Path, how: str) -> None:
    result = fixed(two, *({"commit": ("--commit",), "branch": ("--branch", "side")}[how]))
    commit = "HEAD" if how == "commit" else "side"
    assert git(two, "rev-list", "--count", commit) == "2", result
    assert checks(two, commit) == "pytest 2 -> 1"
    assert failing(two, commit) == 1
    assert "your working tree differs from HEAD in shop.py" in result.err
    assert (two / "shop.py").read_text() == SHOP_FIXED
    assert git(two, "status", "--porcelain") == "M shop.py"


@pytest.mark.thorough
def test_a_patch_that_needs_an_untracked_file_is_not_committed(tmp_path: Path) -> None:
    """In HEAD alone no test can be imported, so nothing can be proved; it was green only in front of the user."""
    needs = ORDER.replace('order."""\n', 'order."""\n\nfrom helper import percent\n').replace(
        "total * 0.1", "percent(total)"
    )
    top = make_repo(tmp_path / "order", {"order.py": needs, "test_order.py": TESTS, ".gitignore": "__pycache__/\n"})
    write(top, {"helper.py": "def percent(total):\n    return total * 0.1\n"})
    result = fixed(top, "--commit")
    assert result.code == 1, result
    assert git(top, "rev-list", "--count", "HEAD") == "1"
    assert "helper.py (untracked)" in result.err
    assert fixed(top).code == 0


@pytest.mark.thorough
def test_dirty_work_in_the_very_file_stays_and_is_not_committed(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "order", {"order.py": LONG, "test_order.py": TESTS, ".gitignore": "__pycache__/\n"})
    write(top, {"order.py": LONG.replace("return 2", "return 'mine'")})
    result = fixed(top, "--commit")
    assert result.code == 0, result
    assert git(top, "show", "HEAD:order.py") + "\n" == LONG.replace("> 100", ">= 100")
    assert (top / "order.py").read_text() == LONG.replace("> 100", ">= 100").replace("return 2", "return 'mine'")
    assert git(top, "status", "--porcelain") == "M order.py"
    diff = coderefine("show", "--diff", cwd=top)
    assert "mine" not in diff.out
    replayed = coderefine("replay", cwd=top)
    assert replayed.code == 0, replayed
    assert coderefine("undo", cwd=top).code == 0
    assert (top / "order.py").read_text() == LONG.replace("return 2", "return 'mine'")


@pytest.mark.thorough
def test_work_that_overlaps_the_patch_is_refused_and_a_branch_is_not(tmp_path: Path) -> None:
    """The commit would have to change the lines that the user is changing; a branch touches no file."""
    top = make_repo(tmp_path / "order", {"order.py": ORDER, "test_order.py": TESTS, ".gitignore": "__pycache__/\n"})
    mine = ORDER.replace("> 100", "> 1000")
    write(top, {"order.py": mine})
    result = fixed(top, "--commit")
    assert result.code == 1, result
    assert "order.py has uncommitted work that overlaps the patch" in result.err
    assert git(top, "rev-list", "--count", "HEAD") == "1"
    assert fixed(top, "--branch", "side").code == 0
    assert failing(top, "side") == 0
    assert (top / "order.py").read_text() == mine


def test_a_file_that_head_does_not_have_cannot_be_committed_repaired(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "order", {"test_order.py": TESTS, ".gitignore": "__pycache__/\n"})
    write(top, {"order.py": ORDER})
    result = fixed(top, "--commit")
    assert (result.code, len(result.lines)) == (2, 1)
    assert "order.py is not in HEAD" in result.lines[0]


@pytest.mark.thorough
def test_an_edit_made_while_it_was_proved_is_not_in_the_proof(two: Path) -> None:
    """The views show the files that lie there: one that was as in HEAD when the run began and is not any more."""
    git(two, "checkout", "-q", "--", "shop.py")
    slow = TESTS + "\n\ndef test_edit():\n    import time\n\n    time.sleep(1.5)\n"
    write(two, {"test_order.py": slow})
    git(two, "commit", "-qam", "slow")
    from tests.support.command import end, start

    process = start("fix", "order.py", "--no-model", "--commit", cwd=two)
    import time

    time.sleep(2.5)
    write(two, {"shop.py": SHOP_FIXED})
    result = end(process)
    if git(two, "rev-list", "--count", "HEAD") == "3":
        assert checks(two, "HEAD") == "pytest 2 -> 1"
    else:
        assert "run again" in result.err


@pytest.mark.thorough
def test_a_mail_proved_on_uncommitted_work_is_marked(two: Path) -> None:
    mail = two.parent / "out.patch"
    result = fixed(two, "--patch", str(mail))
    assert result.code == 0, result
    assert f"git apply {mail}" in result.out
    assert "proved on uncommitted work in shop.py" in result.out


def test_lint_in_a_file_that_git_assumes_unchanged_became_an_empty_commit(tmp_path: Path) -> None:
    """The report said "committed …: order.py +0 −1", the commit was empty and the file's flag was lost."""
    top = make_repo(tmp_path / "order", {"order.py": GREEN, "test_order.py": TESTS, ".gitignore": "__pycache__/\n"})
    git(top, "update-index", "--assume-unchanged", "order.py")
    write(top, {"order.py": LINT})
    result = fixed(top, "--commit", "--gate", "ruff")
    assert result.code == 0, result
    assert "your working tree differs from HEAD in order.py: HEAD is what is proved" in result.err
    assert git(top, "rev-list", "--count", "HEAD") == "1"
    assert git(top, "ls-files", "-v", "order.py") == "h order.py"
    assert (top / "order.py").read_text() == LINT
