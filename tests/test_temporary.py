"""Throw-away folders: private, gone at the end, and swept once their owner was killed long enough ago."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from coderefine.temporary import AGE, KINDS, folder, sweep

OWNER = """
import sys
from coderefine import temporary
with temporary.folder("git") as path:
    (path / "files").mkdir()
    print(path, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def _own_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)


def _aged(path: Path, seconds: float) -> Path:
    path.mkdir(exist_ok=True)
    os.utime(path, (1, time.time() - seconds))
    return path


def test_a_folder_is_private_and_gone_at_the_end(tmp_path: Path) -> None:
    with folder("git") as path:
        assert path.parent == tmp_path.resolve()
        assert path.stat().st_mode & 0o777 == 0o700
        (path / "deep").mkdir()
        (path / "deep" / "file").write_text("x")
        (path / "deep").chmod(0)
    assert not list(tmp_path.iterdir())


def test_folders_of_killed_owners_are_removed_and_those_of_running_ones_kept(tmp_path: Path) -> None:
    with subprocess.Popen((sys.executable, "-c", OWNER), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        path = _aged(Path(owner.stdout.readline().decode().strip()), 2 * AGE)
        assert sweep() == 0
        owner.kill()
        owner.wait()
    assert path.exists()
    seen: list[Path] = []
    assert sweep(seen.append) == 1
    assert [place.name for place in seen] == [path.name]
    assert not path.exists()


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_new_folder_may_not_be_locked_yet(tmp_path: Path, kind: str) -> None:
    young = _aged(tmp_path / f"coderefine-{kind}-young", AGE - 20)
    old = _aged(tmp_path / f"coderefine-{kind}-old", AGE + 20)
    assert sweep() == 1
    assert young.exists()
    assert not old.exists()


@pytest.mark.parametrize("name", ["coderefine-demo-x", "coderefine-bench-x", "coderefine-git", "other-git-x"])
def test_other_folders_stay(tmp_path: Path, name: str) -> None:
    kept = _aged(tmp_path / name, 9 * AGE)
    assert sweep() == 0
    assert kept.exists()


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    kept = _aged(tmp_path / "precious", 9 * AGE)
    link = tmp_path / "coderefine-git-link"
    link.symlink_to(kept)
    os.utime(link, (1, 1), follow_symlinks=False)
    assert sweep() == 0
    assert kept.exists()
