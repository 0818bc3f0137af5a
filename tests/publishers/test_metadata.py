"""A patched file keeps what it is besides its bytes: its other names, its attributes, its access list."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from coderefine.errors import PublishError
from coderefine.git import Repository
from coderefine.journal import Journal
from coderefine.publishers import Commit, Files, file_io, recover, undo
from tests.support.publishing import stage, state
from tests.support.repo import git

ROOT = Path(__file__).parents[2]
ACL = struct.pack("<I", 2) + b"".join(
    struct.pack("<HHI", *entry)
    for entry in ((1, 6, 2**32 - 1), (2, 6, 12345), (4, 4, 2**32 - 1), (16, 6, 2**32 - 1), (32, 0, 2**32 - 1))
)
"""u::rw, user 12345:rw, g::r, mask rw, others none, as the kernel keeps it (linux/posix_acl_xattr.h)."""
NEW = "one = 10\ntwo = 2\n"


def attributed(path: Path, name: str, value: bytes) -> None:
    try:
        os.setxattr(path, name, value)
    except (OSError, AttributeError) as error:
        pytest.skip(f"no {name} here: {error}")


@pytest.mark.parametrize("how", ["files", "commit"])
def test_the_other_names_of_a_file_have_the_patch_too(repo: Path, how: str) -> None:
    other = repo.parent / "other name.py"
    other.hardlink_to(repo / "src/a.py")
    prepared = stage(repo, {"src/a.py": NEW, "src/b.py": "x = 2\n"}, head=how == "commit")
    publisher = Files(prepared.snapshot) if how == "files" else Commit(prepared.snapshot)
    publisher.publish(prepared.outcome)
    assert other.read_text() == NEW
    assert other.samefile(repo / "src/a.py")
    undo(prepared.journal)
    assert other.read_text() == "one = 1\ntwo = 2\n"
    assert other.samefile(repo / "src/a.py")
    assert not list(repo.rglob(".coderefine-*"))


def test_a_refused_commit_gives_every_name_its_content_back(repo: Path) -> None:
    other = repo.parent / "other"
    other.hardlink_to(repo / "src/a.py")
    hook = repo / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\necho '# formatted' >> src/a.py; git add src/a.py; exit 1\n")
    hook.chmod(0o755)
    prepared = stage(repo, {"src/a.py": NEW}, head=True)
    before = state(repo)
    with pytest.raises(PublishError):
        Commit(prepared.snapshot).publish(prepared.outcome)
    assert state(repo) == before
    assert other.samefile(repo / "src/a.py")


KILLED = """
import os, signal, sys
from pathlib import Path
from coderefine.publishers import Files, file_io
from tests.support.publishing import stage
def torn(file, data):
    file.seek(0)
    file.write(data[:int(sys.argv[2])])
    os.kill(os.getpid(), signal.SIGKILL)
prepared = stage(Path(sys.argv[1]), {"src/a.py": "one = 1000\\nthree\\n", "src/b.py": "x = 2\\n"})
file_io._fill = torn
Files(prepared.snapshot).publish(prepared.outcome)
"""


@pytest.mark.parametrize("after", [0, 3, 8, 11, 17])
def test_killed_in_the_middle_of_writing_in_place(repo: Path, after: int) -> None:
    other = repo.parent / "other"
    other.hardlink_to(repo / "src/a.py")
    before = state(repo)
    argv = (sys.executable, "-c", KILLED, str(repo), str(after))
    done = subprocess.run(argv, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False)
    assert done.returncode == -signal.SIGKILL
    result = recover(Repository.open(repo))
    assert result
    assert result.endswith("everything is as it was before")
    assert state(repo) == before
    assert other.samefile(repo / "src/a.py")
    assert Journal.load(Repository.open(repo)).publication() is None


@pytest.mark.parametrize("found", ["one", "three = 3", "", "two = 2", "one = 1x"])
def test_content_written_by_the_user_is_not_taken_for_torn(found: str) -> None:
    assert not file_io.is_torn(found.encode(), b"one = 1", b"two = 2") or found in ("two = 2",)


def test_extended_attributes_stay(repo: Path) -> None:
    attributed(repo / "src/a.py", "user.reviewed", b"yes")
    prepared = stage(repo, {"src/a.py": NEW})
    Files(prepared.snapshot).publish(prepared.outcome)
    assert os.getxattr(repo / "src/a.py", "user.reviewed") == b"yes"
    undo(prepared.journal)
    assert os.getxattr(repo / "src/a.py", "user.reviewed") == b"yes"


def test_an_access_list_stays_and_the_folders_default_is_not_added(repo: Path) -> None:
    attributed(repo / "src/a.py", "system.posix_acl_access", ACL)
    attributed(repo / "src", "system.posix_acl_default", ACL)
    prepared = stage(repo, {"src/a.py": NEW, "src/b.py": "x = 2\n"})
    mode = (repo / "src/b.py").stat().st_mode
    Files(prepared.snapshot).publish(prepared.outcome)
    assert os.getxattr(repo / "src/a.py", "system.posix_acl_access") == ACL
    assert "system.posix_acl_access" not in os.listxattr(repo / "src/b.py")
    assert (repo / "src/b.py").stat().st_mode == mode
    assert git(repo, "status", "--porcelain").split() == ["M", "src/a.py", "M", "src/b.py"]
