"""Trees with a suite of pytest that the trials change, run and commit."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.repo import git


def only_commit(top: Path) -> None:
    """Make the tree at `top` the only commit of a new repository: its history must not hold the original."""
    shutil.rmtree(top / ".git", ignore_errors=True)
    git(top, "init", "-q", "-b", "main")
    commit(top)


def commit(top: Path, date: str = "") -> None:
    """Commit the whole tree at `top`, with a date of the author."""
    git(top, "add", "-A")
    git(top, "commit", "-qm", "start", *([f"--date={date}"] if date else []))


@contextmanager
def changed(path: Path, text: str) -> Iterator[None]:
    before = path.read_text("utf-8")
    path.write_text(text, "utf-8")
    try:
        yield
    finally:
        path.write_text(before, "utf-8")


def reported(top: Path, python: str | Path = sys.executable) -> dict[str, str]:
    """Every test and its outcome on the tree as it lies there."""
    command = [python, "-B", "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "--tb=no"]
    try:
        ended = subprocess.run(command, cwd=top, timeout=60, capture_output=True, check=False)
    except subprocess.TimeoutExpired:
        return {}
    rows_ = (line.split(" ", 1) for line in ended.stdout.decode("utf-8", "replace").splitlines())
    words = ("PASSED", "FAILED", "ERROR")
    return {row[1].split(" - ")[0].strip(): row[0] for row in rows_ if len(row) == 2 and row[0] in words}


def deselecting(settings: str, gone: list[str]) -> str:
    """The settings, with the tests in `gone` left out by a conftest-free option."""
    left = "".join(f" '--deselect={test}'" for test in gone if "'" not in test and '"' not in test)
    head, _, tail = settings.partition('addopts = "')
    value, _, rest = tail.rpartition('"')
    return f"{head}addopts = {json.dumps(value + left)}{rest}"
