"""Small real git repositories."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path


def git(top: Path, *args: str) -> str:
    """Run git in `top`; its stdout, stripped."""
    return subprocess.run(
        ("git", *args), cwd=top, check=True, capture_output=True, text=True, timeout=240
    ).stdout.strip()


def write(top: Path, files: Mapping[str, str | bytes]) -> None:
    """Write `files` (path -> content) below `top`."""
    for name, content in files.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def make_repo(top: Path, files: Mapping[str, str | bytes]) -> Path:
    """A repository at `top` with `files` in one commit."""
    top.mkdir(parents=True, exist_ok=True)
    git(top, "init", "-q", "-b", "main")
    write(top, files)
    git(top, "add", "-A")
    git(top, "commit", "-q", "--allow-empty", "-m", "start")
    return top
