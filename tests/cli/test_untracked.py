"""What the user does not track stays where it is: no ref leads to it, and what needs it is kept in the journal."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.command import GREEN, LINT, ORDER, TESTS, coderefine
from tests.support.repo import git, make_repo, write

SECRET = "the-token-of-the-production-server"


def mirrored(top: Path) -> str:
    """Everything that `git push --mirror` publishes, as text."""
    bare = top.parent / "mirror.git"
    git(top.parent, "init", "-q", "--bare", str(bare))
    git(top, "push", "-q", "--mirror", str(bare))
    listing = git(bare, "cat-file", "--batch-all-objects", "--batch-check=%(objecttype) %(objectname)")
    blobs = [line.split()[1] for line in listing.splitlines() if line.startswith("blob")]
    result = subprocess.run(
        ("git", "cat-file", "--batch"), cwd=bare, input="\n".join(blobs).encode(), capture_output=True, check=True
    )
    return result.stdout.decode("utf-8", "replace")


def test_a_push_of_everything_publishes_nothing_untracked(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "order", {"order.py": LINT, "test_order.py": TESTS, ".gitignore": "__pycache__/\n"})
    write(top, {"notes.txt": SECRET, "deep/down/settings.py": f"TOKEN = {SECRET!r}\n"})
    assert coderefine("fix", "order.py", "--no-model", cwd=top).code == 0
    assert git(top, "for-each-ref", "refs/coderefine")
    published = mirrored(top)
    assert f" blob {len(GREEN)}\n{GREEN}" in published
    assert SECRET not in published


@pytest.mark.thorough
def test_a_patch_of_an_untracked_file_is_shown_replayed_and_undone_and_not_published(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "order", {"test_order.py": TESTS, ".gitignore": "__pycache__/\n"})
    mine = f"TOKEN = {SECRET!r}\n{ORDER}"
    write(top, {"order.py": mine})
    assert coderefine("fix", "order.py", "--no-model", "--gate", "pytest", cwd=top).code == 0
    assert (top / "order.py").read_text() == mine.replace("> 100", ">= 100")
    shown = coderefine("show", "--diff", cwd=top)
    assert "+    return total * 0.1 if total >= 100 else 0" in shown.out
    assert SECRET not in mirrored(top)
    replayed = coderefine("replay", cwd=top)
    assert replayed.code == 0, replayed
    assert coderefine("undo", cwd=top).code == 0
    assert (top / "order.py").read_text() == mine


@pytest.mark.thorough
def test_a_replay_has_the_untracked_files_that_the_run_had(tmp_path: Path) -> None:
    needs = ORDER.replace("total * 0.1", "percent(total)").replace(
        'order."""\n', 'order."""\n\nfrom helper import percent\n'
    )
    top = make_repo(tmp_path / "order", {"order.py": needs, "test_order.py": TESTS, ".gitignore": "__pycache__/\n"})
    write(top, {"helper.py": "def percent(total):\n    return total * 0.1\n"})
    assert coderefine("fix", "order.py", "--no-model", cwd=top).code == 0
    (top / "helper.py").unlink()
    write(top, {"later.py": "import nothing_that_exists\n"})
    replayed = coderefine("replay", cwd=top)
    assert replayed.code == 0, replayed
    assert not (top / "helper.py").exists()
