"""Surroundings that the file system makes: permissions (as an ordinary user), full disks, locks, links."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.conftest import seal
from tests.support.cases import few
from tests.support.command import GREEN, LINT, TESTS, Ended, coderefine, end, start
from tests.support.publishing import state
from tests.support.repo import git, make_repo

FIX = ("fix", "--no-model", "--no-search")
FIX_LINT = (*FIX, "--gate", "ruff")
"""Where the tests are not the point: a run of them is three starts of Python."""
NOBODY = 65534


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that other users may enter: each pytest that starts closes the folder of all temporary folders."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def untidy(place: Path) -> Path:
    """Green tests, one lint finding."""
    return make_repo(place / "tidy", {"order.py": LINT, "test_order.py": TESTS, "data/x.txt": "x"})


@pytest.fixture
def user(untidy: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sequence[str]]:
    """What to put in front of a command to run it as an ordinary user who owns the project."""
    if os.getuid() != 0:
        yield ()
        return
    if not shutil.which("setpriv"):
        pytest.skip("root, and no setpriv to become another user")
    (place / "home").mkdir()
    seal(place / "home", monkeypatch)
    subprocess.run(("chown", "-R", f"{NOBODY}:{NOBODY}", place), check=True)
    as_nobody = (*_reachable(), "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--")
    again = "import subprocess, sys; sys.exit(subprocess.call([sys.executable, '-c', 'import pytest']))"
    if subprocess.run((*as_nobody, sys.executable, "-c", again), check=False).returncode:
        pytest.skip("an ordinary user cannot reach our interpreter")
    yield as_nobody
    subprocess.run(("chmod", "-R", "u+rwX", untidy), check=True)


def _reachable() -> Sequence[str]:
    """Where our interpreter lives in root's own folder: a mount namespace in which anybody may pass there."""
    home = Path(sys.base_prefix)
    closed = next((parent for parent in reversed(home.parents) if not parent.stat().st_mode & 0o001), None)
    if closed is None:
        return ()
    steps = 'mount --bind "$1" /mnt && mount -t tmpfs -o mode=755 none "$2" && mkdir -p "$1"'
    script = f'{steps} && mount --bind /mnt "$1" && shift 2 && exec "$@"'
    return ("unshare", "-m", "sh", "-c", script, "sh", str(home), str(closed))


def refused(result: Ended, *words: str, code: int = 2) -> None:
    assert result.code == code, result
    assert "Traceback" not in result.err, result.err
    assert len(result.lines) == 1, result
    assert all(word in result.lines[0] for word in words), result.lines


class TestPermissions:
    def test_an_unreadable_source_is_reported(self, untidy: Path, user: Sequence[str]) -> None:
        (untidy / "order.py").chmod(0)
        result = coderefine("check", cwd=untidy, wrap=user)
        assert result.code in (1, 2), result
        assert "Traceback" not in result.err
        assert "order.py" in result.out + result.err

    def test_an_unreadable_folder_next_to_it_does_no_harm(self, untidy: Path, user: Sequence[str]) -> None:
        (untidy / "data").chmod(0)
        result = coderefine("check", cwd=untidy, wrap=user)
        (untidy / "data").chmod(0o755)
        assert result.code == 1, result
        assert "F401" in result.out
        assert "Traceback" not in result.err

    def test_a_read_only_tree_can_be_checked_and_is_not_written(self, untidy: Path, user: Sequence[str]) -> None:
        before = state(untidy)
        modes = {path: path.stat().st_mode for path in (untidy, *untidy.glob("*.py"))}
        for path in modes:
            path.chmod(path.stat().st_mode & ~0o222)
        try:
            assert coderefine("check", "-q", cwd=untidy, wrap=user).code == 1
            result = coderefine(*FIX_LINT, cwd=untidy, wrap=user)
        finally:
            for path, mode in modes.items():
                path.chmod(mode)
        assert result.code == 1, result
        assert "order.py is read-only" in result.err
        assert state(untidy) == before

    def test_a_git_directory_that_cannot_be_written_is_reported(self, untidy: Path, user: Sequence[str]) -> None:
        before = state(untidy)
        (untidy / ".git").chmod(0o555)
        result = coderefine(*FIX, cwd=untidy, wrap=user)
        (untidy / ".git").chmod(0o755)
        refused(result, ".git")
        assert state(untidy) == before


class TestLocks:
    def test_a_held_index_lock_refuses_the_commit(self, untidy: Path) -> None:
        (untidy / ".git/index.lock").write_bytes(b"")
        before = state(untidy)
        result = coderefine(*FIX_LINT, "--commit", cwd=untidy)
        refused(result, "index.lock", code=1)
        assert state(untidy) == before

    def test_two_runs_at_once(self, untidy: Path) -> None:
        first, second = (start(*FIX, cwd=untidy) for _ in range(2))
        result = [end(first), end(second)]
        codes = sorted(one.code for one in result)
        assert codes == [0, 2], result
        refused(next(one for one in result if one.code == 2), "another coderefine")
        assert (untidy / "order.py").read_text().strip() == GREEN.strip()


class TestFullDisk:
    @pytest.mark.parametrize("size", ["64k", pytest.param("400k", marks=pytest.mark.thorough)])
    def test_no_room_for_temporary_files(self, untidy: Path, tmp_path: Path, size: str) -> None:
        before = state(untidy)
        small = tmp_path / "small"
        small.mkdir()
        script = f'mount -t tmpfs -o size={size} none "{small}" && exec "$@"'
        wrap = ("unshare", "-rm", "sh", "-c", script, "sh")
        if subprocess.run((*wrap, "true"), check=False, capture_output=True).returncode:
            pytest.skip("no mounts here")
        result = coderefine(*FIX, "--view", "copy", cwd=untidy, env={"TMPDIR": str(small)}, wrap=wrap)
        assert result.code in (0, 1, 2), result
        assert "Traceback" not in result.err, result.err
        if result.code == 2:
            refused(result, "free some space")
        if result.code:
            assert state(untidy) == before

    def test_no_room_in_the_repository(self, untidy: Path) -> None:
        before = state(untidy)
        script = (
            "import resource, os, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (40, 40)); "
            "os.execvp(sys.argv[1], sys.argv[1:])"
        )
        result = coderefine(*FIX, cwd=untidy, wrap=(sys.executable, "-c", script))
        assert result.code == 2, result
        assert "Traceback" not in result.err, result.err
        refused(result)
        assert state(untidy) == before


class TestOutput:
    @pytest.mark.parametrize("closed", few((">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"), ">&-"))
    def test_the_patch_was_written_and_then_came_a_traceback_because_a_stream_is_closed(
        self, untidy: Path, closed: str
    ) -> None:
        result = coderefine(*FIX_LINT, cwd=untidy, wrap=("sh", "-c", f'exec "$@" {closed}', "sh"))
        assert (result.code, "Traceback" in result.err) == (0, False), result
        assert (untidy / "order.py").read_text().strip() == GREEN.strip()

    def test_a_full_output_read_as_if_there_was_no_space_for_the_patch(self, untidy: Path) -> None:
        result = coderefine(*FIX_LINT, cwd=untidy, wrap=("sh", "-c", 'exec "$@" >/dev/full', "sh"))
        words = ("could not be printed: No space left", "; the patch was written; undo: coderefine undo ")
        refused(result, *words)
        assert (untidy / "order.py").read_text().strip() == GREEN.strip()

    @pytest.mark.thorough
    @pytest.mark.parametrize("command", [("check", "--gate", "ruff"), ("log",), ("--help",)])
    def test_a_full_output_is_the_reason_in_other_commands(self, untidy: Path, command: Sequence[str]) -> None:
        result = coderefine(*command, cwd=untidy, wrap=("sh", "-c", 'exec "$@" >/dev/full', "sh"))
        if command != ("log",):  # which prints nothing here
            refused(result, "No space left", "and output")
        assert "the patch was written" not in result.err

    def test_a_full_stderr_ended_like_findings(self, untidy: Path) -> None:
        result = coderefine("show", cwd=untidy, wrap=("sh", "-c", 'exec "$@" 2>/dev/full', "sh"))
        assert result.code == 2, result

    def test_an_unexpected_error_after_the_patch_was_written_denied_it(self, untidy: Path) -> None:
        result = coderefine(*FIX_LINT, cwd=untidy, env={"PYTHONIOENCODING": "ascii"})
        assert (result.code, len(result.lines)) == (3, 1), result
        assert "bug in coderefine" in result.lines[0]
        assert "; the patch was written; undo: coderefine undo " in result.lines[0]
        assert (untidy / "order.py").read_text().strip() == GREEN.strip()


class TestPlaces:
    def test_inside_git(self, untidy: Path) -> None:
        for command in (("check",), FIX):
            refused(coderefine(*command, cwd=untidy / ".git"), ".git")

    def test_a_bare_repository(self, untidy: Path) -> None:
        git(untidy, "clone", "-q", "--bare", ".", "../bare.git")
        result = coderefine(*FIX, cwd=untidy.parent / "bare.git")
        refused(result)

    def test_a_link_to_the_project(self, untidy: Path, tmp_path: Path) -> None:
        (tmp_path / "link").symlink_to(untidy)
        result = coderefine(*FIX, cwd=tmp_path / "link")
        assert result.code == 0, result
        assert (untidy / "order.py").read_text().strip() == GREEN.strip()

    def test_a_file_as_path(self, untidy: Path) -> None:
        result = coderefine(*FIX, "order.py", cwd=untidy)
        assert result.code == 0, result

    def test_a_folder_that_is_gone(self, untidy: Path) -> None:
        script = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"'
        refused(coderefine("check", cwd=untidy, wrap=("sh", "-c", script, "sh")))

    def test_no_git_program(self, untidy: Path, tmp_path: Path) -> None:
        tools = tmp_path / "bin"
        tools.mkdir()
        for name in ("sh", "unshare", "nsenter", "setpriv"):
            if found := shutil.which(name):
                (tools / name).symlink_to(found)
        refused(coderefine(*FIX, cwd=untidy, env={"PATH": str(tools)}), "git")

    def test_a_repository_of_another_user(self, untidy: Path, sealed: Path) -> None:
        if os.getuid() != 0:
            pytest.skip("needs root to give the repository away")
        (sealed / ".gitconfig").write_text("[user]\n\tname = A\n\temail = a@example.com\n")
        subprocess.run(("chown", "-R", f"{NOBODY}:{NOBODY}", untidy), check=True)
        refused(coderefine(*FIX, cwd=untidy), "safe.directory")


def test_a_repository_with_sha_256_was_refused_only_after_the_proof(tmp_path: Path) -> None:
    """After the proof came "git update-ref failed: 0000…: not a valid old SHA1"; the tests had run for nothing."""
    top = tmp_path / "long"
    top.mkdir()
    git(top, "init", "-q", "--object-format=sha256")
    make_repo(top, {"order.py": LINT, "test_order.py": TESTS})
    refused(coderefine(*FIX_LINT, cwd=top), str(top), "SHA-256", "`coderefine check` works")
    assert not (top / ".git/coderefine").exists()
    result = coderefine("check", "--gate", "ruff", cwd=top)
    assert result.code == 1, result
    assert "F401" in result.out


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="no /dev/shm")
@pytest.mark.parametrize("what", ["repository", "temporary folder"])
def test_what_lies_in_shared_memory_is_not_hidden_by_the_view(untidy: Path, what: str) -> None:
    """Views have a /dev/shm of their own: ruff could not enter its folder, and pytest did not start."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        top = make_repo(Path(folder) / "tidy", {"order.py": LINT, "test_order.py": TESTS}) if what[0] == "r" else untidy
        result = coderefine(*FIX, "--gate", "pytest", "--gate", "ruff", cwd=top, env={"TMPDIR": folder})
        assert result.code == 0, result
        assert "all checks pass" in result.out
