"""Writing to the working tree: all files or none, and only over what was there at the snapshot."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from coderefine.errors import PublishError
from coderefine.publishers import Commit, Files, recover, undo
from coderefine.publishers.file_io import refused
from tests.support.publishing import stage, state
from tests.support.repo import git, make_repo, write

NEW = {"src/a.py": "one = 10\ntwo = 2\n", "src/b.py": None, "src/new/deep/c.py": "fresh = 1\n"}


def test_writes_deletes_creates_and_undoes(repo: Path) -> None:
    write(repo, {"notes.txt": "dirty\n", "stranger.txt": "untracked\n"})
    git(repo, "add", "notes.txt")
    before = state(repo)
    prepared = stage(repo, NEW)

    line = Files(prepared.snapshot).publish(prepared.outcome)

    assert line == "wrote src/a.py +1 −1, src/b.py +0 −1, src/new/deep/c.py +1 −0; undo: coderefine undo"
    assert (repo / "src/a.py").read_text() == NEW["src/a.py"]
    assert not (repo / "src/b.py").exists()
    after = state(repo)
    assert {name for name in before if before[name] != after.get(name)} == {"src/a.py", "src/b.py"}
    assert after["index"] == before["index"]
    assert not list(repo.rglob(".coderefine-*"))
    assert undo(prepared.journal).startswith("undone: src/a.py")
    assert state(repo) == before
    with pytest.raises(PublishError, match="is undone already"):
        undo(prepared.journal)


@pytest.mark.parametrize("path", ["src/a.py", "src/b.py", "src/new/deep/c.py"])
def test_a_file_that_changed_since_is_not_overwritten(repo: Path, path: str) -> None:
    prepared = stage(repo, NEW)
    write(repo, {path: "mine now\n"})
    before = state(repo)
    with pytest.raises(PublishError, match=f"{path} changed since the run began, so nothing was written"):
        Files(prepared.snapshot).publish(prepared.outcome)
    assert state(repo) == before
    assert recover(prepared.snapshot.repository) is None


def test_a_file_that_became_read_only_was_written_by_root(repo: Path) -> None:
    prepared = stage(repo, NEW)
    (repo / "src/a.py").chmod(0o444)
    before = state(repo)
    with pytest.raises(PublishError, match=r"src/a\.py.*[Pp]ermission"):
        Files(prepared.snapshot).publish(prepared.outcome)
    assert state(repo) == before


def test_a_head_that_moved_stops_it(repo: Path) -> None:
    prepared = stage(repo, NEW)
    git(repo, "commit", "-q", "--allow-empty", "-m", "meanwhile")
    before = state(repo)
    with pytest.raises(PublishError, match="HEAD moved"):
        Files(prepared.snapshot).publish(prepared.outcome)
    assert state(repo) == before


def test_undo_refuses_once_the_file_was_edited(repo: Path) -> None:
    prepared = stage(repo, NEW)
    Files(prepared.snapshot).publish(prepared.outcome)
    write(repo, {"src/a.py": "edited since\n"})
    before = state(repo)
    with pytest.raises(PublishError, match=r"src/a\.py was changed after run .* nothing was undone"):
        undo(prepared.journal)
    assert state(repo) == before
    assert prepared.journal.publication()


SAVED_MEANWHILE = """
import os, sys
from pathlib import Path
from coderefine.errors import PublishError
from coderefine.publishers import Files
from tests.support.publishing import stage
top, saves, saving = Path(sys.argv[1]), int(sys.argv[2]), False
def save(event, args):
    global saves, saving
    # What Python tells just before the file is exchanged (the look-up of renameat2), renamed or removed.
    last = event == "ctypes.dlsym" and args[1] == "renameat2"
    last = last or event in ("os.rename", "os.remove") and str(top / "src/a.py") in map(str, args)
    if last and saves and not saving:
        saving = True
        saves -= 1
        aside = top / "src/a.py~"
        aside.write_bytes(b"# precious %d\\n" % saves)
        os.rename(aside, top / "src/a.py")
        saving = False
prepared = stage(top, {"src/a.py": None if "remove" in sys.argv else "one = 10\\ntwo = 2\\n"})
sys.addaudithook(save)
try:
    Files(prepared.snapshot).publish(prepared.outcome)
except PublishError as error:
    print(error)
"""


@pytest.mark.parametrize("how", ["1", "2", "1 remove"])
def test_an_editor_that_saves_by_rename_at_the_last_moment_is_noticed(repo: Path, how: str) -> None:
    """The file that the editor had replaced was compared, not the one that it saved; so what it saved was lost."""
    argv = (sys.executable, "-c", SAVED_MEANWHILE, str(repo), *how.split())
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(argv, cwd=repo, env=env, capture_output=True, text=True, check=True)
    assert "src/a.py was changed by another program at this moment" in done.stdout
    assert (repo / "src/a.py").read_text() == "# precious 0\n"
    assert sorted(path.name for path in (repo / "src").iterdir()) == ["a.py", "b.py"]


WITHOUT_EXCHANGE = """
import sys
from pathlib import Path
from coderefine.publishers import Files, undo
from tests.support.publishing import stage
def refuse(event, args):
    if event == "ctypes.dlsym" and args[1] == "renameat2":
        raise AttributeError
sys.addaudithook(refuse)
prepared = stage(Path(sys.argv[1]), {"src/a.py": "one = 10\\ntwo = 2\\n"})
Files(prepared.snapshot).publish(prepared.outcome)
print((prepared.snapshot.top / "src/a.py").read_text())
undo(prepared.journal)
"""


def test_a_system_that_cannot_exchange_two_files_renames_one(repo: Path) -> None:
    before = state(repo)
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    argv = (sys.executable, "-c", WITHOUT_EXCHANGE, str(repo))
    done = subprocess.run(argv, cwd=repo, env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "one = 10\ntwo = 2\n\n"
    assert state(repo) == before


def test_mode_and_line_ends_are_kept(repo: Path) -> None:
    (repo / "run.sh").chmod(0o750)
    write(repo, {"src/b.py": b"x = 1\r\ny = 2\r\n"})
    prepared = stage(repo, {"run.sh": "#!/bin/sh\nexit 1\n", "src/b.py": b"x = 2\r\ny = 2\r\n"})
    Files(prepared.snapshot).publish(prepared.outcome)
    assert (repo / "run.sh").stat().st_mode & 0o777 == 0o750
    assert (repo / "src/b.py").read_bytes() == b"x = 2\r\ny = 2\r\n"
    undo(prepared.journal)
    assert (repo / "run.sh").stat().st_mode & 0o777 == 0o750


@pytest.mark.parametrize("how", ["files", "commit"])
def test_undo_keeps_the_mode_that_the_user_has_set_since(repo: Path, how: str) -> None:
    """Undo gave the file its mode of before the run."""
    prepared = stage(repo, {"src/a.py": "one = 10\n", "src/b.py": None}, head=how == "commit")
    (repo / "src/b.py").chmod(0o640)
    publisher = Files(prepared.snapshot) if how == "files" else Commit(prepared.snapshot)
    publisher.publish(prepared.outcome)
    (repo / "src/a.py").chmod(0o755)
    undo(prepared.journal)
    assert (repo / "src/a.py").read_text() == "one = 1\ntwo = 2\n"
    assert (repo / "src/a.py").stat().st_mode & 0o777 == 0o755
    assert (repo / "src/b.py").stat().st_mode & 0o777 == 0o640


def test_a_new_file_follows_the_umask(repo: Path) -> None:
    old = os.umask(0o027)
    try:
        prepared = stage(repo, {"made.py": "x = 1\n"})
        Files(prepared.snapshot).publish(prepared.outcome)
    finally:
        os.umask(old)
    assert (repo / "made.py").stat().st_mode & 0o777 == 0o640


def test_a_link_stays_a_link_and_its_target_is_written(repo: Path) -> None:
    (repo / "alias.py").symlink_to("src/a.py")
    prepared = stage(repo, {"alias.py": "one = 9\n"})
    Files(prepared.snapshot).publish(prepared.outcome)
    assert (repo / "alias.py").readlink() == Path("src/a.py")
    assert (repo / "src/a.py").read_text() == "one = 9\n"


@pytest.mark.parametrize(
    ("path", "link", "message"),
    [
        ("out.py", "../outside.py", "leads outside the repository"),
        ("dir/x.py", None, "leads outside the repository"),
        ("../x.py", None, "leads outside the repository"),
        (".git/hooks/pre-commit", None, "leads into a git directory"),
        ("dangling.py", "nowhere.py", "link to nothing"),
    ],
)
def test_nothing_is_written_outside(repo: Path, path: str, link: str | None, message: str) -> None:
    (repo.parent / "outside.py").write_text("theirs\n")
    (repo / "dir").symlink_to(repo.parent)
    if link:
        (repo / path).symlink_to(link)
    prepared = stage(repo, {path: "owned\n"})
    with pytest.raises(PublishError, match=message):
        Files(prepared.snapshot).publish(prepared.outcome)
    assert (repo.parent / "outside.py").read_text() == "theirs\n"
    assert not (repo.parent / "x.py").exists()
    assert not (repo / ".git/hooks/pre-commit").exists()


def test_works_in_a_linked_worktree_and_a_submodule(repo: Path) -> None:
    linked = repo.parent / "linked"
    git(repo, "worktree", "add", "-q", "-b", "side", str(linked))
    library = make_repo(repo.parent / "library", {"lib.py": "x = 1\n"})
    git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "vendored")
    for top, path in ((linked, "src/a.py"), (repo / "vendored", "lib.py"), (repo, "vendored/lib.py")):
        prepared = stage(top, {path: "new = 1\n"})
        Files(prepared.snapshot).publish(prepared.outcome)
        assert (top / path).read_text() == "new = 1\n"
        undo(prepared.journal)
        assert (top / path).read_text() != "new = 1\n"


def test_works_before_the_first_commit_and_detached(tmp_path: Path, repo: Path) -> None:
    unborn = tmp_path / "unborn"
    unborn.mkdir()
    git(unborn, "init", "-q")
    write(unborn, {"a.py": "x = 1\n"})
    git(repo, "checkout", "-q", "--detach")
    for top, path in ((unborn, "a.py"), (repo, "src/a.py")):
        prepared = stage(top, {path: "x = 2\n"})
        Files(prepared.snapshot).publish(prepared.outcome)
        assert (top / path).read_text() == "x = 2\n"
        undo(prepared.journal)


def test_a_hooks_environment_is_not_believed(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = stage(repo, NEW)
    before = state(repo)["index"]
    monkeypatch.setenv("GIT_INDEX_FILE", str(repo / "src/index.fake"))
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    Files(prepared.snapshot).publish(prepared.outcome)
    monkeypatch.delenv("GIT_INDEX_FILE")
    monkeypatch.delenv("GIT_DIR")
    assert state(repo)["index"] == before
    assert not (repo / "src/index.fake").exists()


SCRIPT = """
import resource, sys
from pathlib import Path
from coderefine.errors import CoderefineError
from coderefine.publishers import Files
from tests.support.publishing import stage
top, size = Path(sys.argv[1]), int(sys.argv[2])
prepared = stage(top, {"src/a.py": "small = 1\\n", "src/b.py": "x" * 200_000, "src/z.py": "new = 1\\n"})
if size:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
try:
    print(Files(prepared.snapshot).publish(prepared.outcome))
except CoderefineError as error:
    print("refused:", error)
"""


def publish_in_child(repo: Path, size: int, *prefix: str) -> str:
    done = subprocess.run(
        (*prefix, sys.executable, "-c", SCRIPT, str(repo), str(size)),
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout.strip()


def test_a_full_disk_changes_nothing(repo: Path) -> None:
    before = state(repo)
    assert publish_in_child(repo, 100_000).startswith("refused: ")
    assert state(repo) == before
    assert not list(repo.rglob(".coderefine-*"))


@pytest.mark.parametrize(
    ("number", "code"), [(errno.ENOSPC, 2), (errno.EDQUOT, 2), (errno.EROFS, 2), (errno.EACCES, 1), (errno.EFBIG, 1)]
)
def test_a_full_disk_had_two_exit_codes(number: int, code: int) -> None:
    """2 with less than 16 KB free, and 1 with 64 KB free."""
    with pytest.raises(PublishError) as error, refused("a.py"):
        raise OSError(number, os.strerror(number))
    assert error.value.exit_code == code


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to become another user")
@pytest.mark.parametrize("locked", ["src", "src/b.py", ".git"])
def test_without_permission_nothing_changes(tmp_path_factory: pytest.TempPathFactory, locked: str) -> None:
    import pwd
    import tempfile

    try:
        tester = pwd.getpwnam("tester")
    except KeyError:
        pytest.skip("no user called tester")
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="coderefine-perm-") as name:
        Path(name).chmod(0o755)
        repo = make_repo(Path(name) / "repo", {"src/a.py": "one = 1\n", "src/b.py": "x = 1\n"})
        subprocess.run(("chown", "-R", "tester", str(repo)), check=True)
        subprocess.run(("chown", "root", str(repo / locked)), check=True)
        (repo / locked).chmod(0o755 if (repo / locked).is_dir() else 0o644)
        before = state(repo)
        drop = f"import os; os.setgid({tester.pw_gid}); os.setuid({tester.pw_uid}); os.environ['HOME'] = '/tmp'\n"
        script = SCRIPT.replace("top, size", drop + "top, size", 1)
        done = subprocess.run(
            (sys.executable, "-c", script, str(repo), "0"),
            cwd="/",
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        result = done.stdout + done.stderr
        assert "denied" in result or "another user owns it" in result
        assert state(repo) == before
        assert not list(repo.rglob(".coderefine-*"))
