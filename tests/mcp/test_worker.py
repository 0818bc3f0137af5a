"""Jobs of the server, in this process."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from coderefine.core import Event
from coderefine.errors import PublishError
from coderefine.mcp.worker import JOBS
from tests.support.command import GREEN, LINT
from tests.support.repo import git, make_repo, write

CRLF = LINT.replace("\n", "\r\n").encode()


def listen(_event: Event) -> None:
    """Ignore the event."""


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One finding, judged by ruff alone."""
    files = {"order.py": LINT, "pyproject.toml": '[tool.coderefine]\ngates = ["ruff"]\npython = "../python"\n'}
    write(tmp_path, {"python": f'#!/bin/sh\nexec "{sys.executable}" "$@"\n'})
    (tmp_path / "python").chmod(0o755)
    top = make_repo(tmp_path / "order", {**files, ".gitattributes": "* text=auto\n"})
    monkeypatch.chdir(top)
    return top


def fixed(top: Path) -> object:
    """The run that proved a patch."""
    found = JOBS["fix"]({"paths": [str(top)], "seconds": 0, "model": False}, listen)
    assert found["verdict"] == "proved", found
    return found["run"]


def test_a_patch_is_applied_to_a_file_with_other_line_ends_than_git_stores(top: Path) -> None:
    """The file counted as changed since then."""
    write(top, {"order.py": CRLF})
    git(top, "add", "order.py")
    assert git(top, "status", "--porcelain") == ""
    applied = JOBS["apply"]({"run": fixed(top), "number": 0}, listen)
    assert str(applied["wrote"]).startswith("wrote order.py +0 −"), applied
    assert (top / "order.py").read_bytes().endswith(GREEN.replace("\n", "\r\n").encode())


def test_an_edit_made_after_the_file_was_read_is_not_lost(top: Path) -> None:
    """The patch was applied to the file as it was before; the edit disappeared, and the call reported success."""
    run, python = fixed(top), top.parent / "python"
    # The user saves while the interpreter is inspected, which follows the reading.
    python.write_text(python.read_text().replace("exec", f"echo '# precious' >> '{top}/order.py'\nexec", 1))
    with pytest.raises(PublishError, match=r"^order.py changed after it was read, so nothing was written: run again$"):
        JOBS["apply"]({"run": run, "number": 0}, listen)
    assert "# precious" in (top / "order.py").read_text()
