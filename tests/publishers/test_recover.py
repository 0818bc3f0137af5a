"""Killed at any instant, a publication is afterwards all old or all new, and nothing of ours is left lying about."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from coderefine.errors import JournalError, PublishError
from coderefine.git import Repository
from coderefine.journal import Journal, prune
from coderefine.publishers import recover, undo
from tests.publishers.test_commit import hook
from tests.support.cases import every
from tests.support.publishing import stage, state
from tests.support.repo import git, make_repo, write

ROOT = Path(__file__).parents[2]
FILES = 30

CHILD = """
import sys
from pathlib import Path
import git
from coderefine.publishers import Commit, Files, undo
from tests.support.publishing import stage
top, how = Path(sys.argv[1]), sys.argv[2]
files = {f"m{n}.py": f"new = {n}\\n" for n in range(FILES)} | {"m1.py": None, "fresh/x.py": "x = 1\\n"}
prepared = stage(top, files, head="commit" in how)
print("ready", flush=True)
sys.stdin.readline()
publisher = Files(prepared.snapshot) if "files" in how else Commit(prepared.snapshot)
if "undo" in how:
    publisher.publish(prepared.outcome)
    print("published", flush=True)
    sys.stdin.readline()
    undo(prepared.journal)
else:
    publisher.publish(prepared.outcome)
print("done", flush=True)
""".replace("FILES", str(FILES))


def killed(top: Path, how: str, after: float, number: signal.Signals = signal.SIGKILL) -> bool:
    """Publish in a child and kill it `after` seconds into it; whether it had finished by then."""
    child = subprocess.Popen(
        (sys.executable, "-c", CHILD, str(top), how),
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert child.stdin
    assert child.stdout
    with child.stdin, child.stdout:
        for _ in range(2 if "undo" in how else 1):
            child.stdout.readline()
            child.stdin.write(b"go\n")
            child.stdin.flush()
        time.sleep(after)
        child.send_signal(number)
        child.wait()
        return b"done" in child.stdout.read()


def wholly(top: Path) -> str:
    """old, new, or a picture of the mixture."""
    texts = {f"m{n}.py": (top / f"m{n}.py").read_text() if (top / f"m{n}.py").exists() else None for n in range(FILES)}
    if texts == {f"m{n}.py": f"old = {n}\n" for n in range(FILES)} and not (top / "fresh").exists():
        return "old"
    new = {f"m{n}.py": f"new = {n}\n" for n in range(FILES)} | {"m1.py": None}
    return "new" if texts == new and (top / "fresh/x.py").exists() else str(texts)


def prepared_repo(tmp_path: Path) -> Path:
    top = make_repo(tmp_path / "repo", {f"m{n}.py": f"old = {n}\n" for n in range(FILES)} | {"notes.txt": "n\n"})
    write(top, {"notes.txt": "staged\n"})
    git(top, "add", "notes.txt")
    write(top, {"notes.txt": "dirty\n", "stranger.py": "s\n"})
    return top


@pytest.mark.parametrize(
    ("how", "longest", "times"),
    [
        ("files", 0.12, 3),
        ("commit", 0.35, 3),
        pytest.param("files", 0.12, 12, marks=pytest.mark.thorough),
        pytest.param("commit", 0.35, 12, marks=pytest.mark.thorough),
        pytest.param("undo files", 0.12, 9, marks=pytest.mark.thorough),
        pytest.param("undo commit", 0.3, 8, marks=pytest.mark.thorough),
    ],
)
def test_killed_at_random_instants(tmp_path: Path, how: str, longest: float, times: int) -> None:
    top = prepared_repo(tmp_path)
    repository = Repository.open(top)
    chance = random.Random(f"{how} {times}")
    for _ in range(times):
        start, status = git(top, "rev-parse", "HEAD"), git(top, "status", "--porcelain")
        killed(top, how, chance.random() * longest)
        recover(repository)
        found, head = wholly(top), git(top, "rev-parse", "HEAD")
        assert found in ("old", "new")
        assert not list(top.rglob(".coderefine-*"))
        assert not (top / ".git/index.lock").exists()
        if "commit" in how:
            assert (found == "new") == (head != start)
            assert git(top, "status", "--porcelain") == status
        else:
            assert head == start
        assert recover(repository) is None
        journal = Journal.load(repository)
        assert (journal.publication() is not None) == (found == "new")
        if found == "new":
            undo(journal)
        assert wholly(top) == "old"
        assert git(top, "rev-parse", "HEAD") == start
        assert git(top, "status", "--porcelain") == status


@pytest.mark.parametrize("how", every(2, ["commit", "files"]))
def test_after_an_interrupt_from_the_keyboard_nothing_is_left_to_recover(tmp_path: Path, how: str) -> None:
    top = prepared_repo(tmp_path)
    repository = Repository.open(top)
    chance = random.Random(how)
    for _ in range(4):
        start, status = git(top, "rev-parse", "HEAD"), git(top, "status", "--porcelain")
        finished = killed(top, how, chance.random() * 0.2, signal.SIGINT)
        found = wholly(top)
        assert found in (("new",) if finished else ("old", "new"))
        assert not (top / ".git/index.lock").exists()
        assert not list(top.rglob(".coderefine-*"))
        if how == "commit":
            assert (found == "new") == (git(top, "rev-parse", "HEAD") != start)
            assert git(top, "status", "--porcelain") == status
        recover(repository)
        assert wholly(top) == found
        if found == "new":
            undo(Journal.load(repository))


EVERY_LINE = """
import os, signal, sys
from pathlib import Path
import git
from coderefine.publishers import Commit, Files
from tests.support.publishing import stage
top, how, line = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
prepared = stage(top, {"m0.py": "new = 0\\n", "m1.py": None, "fresh/x.py": "x = 1\\n"})
publisher = Files(prepared.snapshot) if how == "files" else Commit(prepared.snapshot)
def watch(frame, event, _):
    global line
    if not any(part in frame.f_code.co_filename for part in ("coderefine/publishers", "coderefine/journal")):
        return None
    line -= event == "line"
    if line == 0 and event == "line":
        os.kill(os.getpid(), signal.SIGINT)
    return watch
sys.settrace(watch)
publisher.publish(prepared.outcome)
print("done" if line > 0 else "late")
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", ["files", "commit"])
def test_interrupted_at_any_line_of_ours_the_tree_is_whole(tmp_path: Path, how: str) -> None:
    top = make_repo(tmp_path / "repo", {"m0.py": "old = 0\n", "m1.py": "old = 1\n"})
    repository = Repository.open(top)
    start = git(top, "rev-parse", "HEAD")
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    for line in range(1, 3000, 5):
        argv = (sys.executable, "-c", EVERY_LINE, str(top), how, str(line))
        result = subprocess.run(argv, cwd=ROOT, env=env, stdout=subprocess.PIPE, check=False).stdout
        new = (top / "m0.py").read_text() == "new = 0\n"
        assert (top / "fresh/x.py").exists() == new != (top / "m1.py").exists(), line
        assert not list(top.rglob(".coderefine-*")), line
        assert not (top / ".git/index.lock").exists(), line
        assert (git(top, "rev-parse", "HEAD") != start) == (how == "commit" and new), line
        recover(repository)
        assert ((top / "m0.py").read_text() == "new = 0\n") == new, line
        if new:
            undo(Journal.load(repository))
        if b"done" in result:
            return
    raise AssertionError("never ended")


def test_nothing_to_recover_costs_nothing(tmp_path: Path) -> None:
    top = prepared_repo(tmp_path)
    before = state(top)
    repository = Repository.open(top)
    took = []
    for _ in range(9):
        began = time.perf_counter()
        assert recover(repository) is None
        took.append(time.perf_counter() - began)
    assert min(took) < 0.01
    assert state(top) == before


def test_a_live_publication_is_not_disturbed(tmp_path: Path) -> None:
    top = prepared_repo(tmp_path)
    repository = Repository.open(top)
    marker = top / ".git/coderefine/pending"
    marker.parent.mkdir()
    script = f"import fcntl, sys; f = open({str(marker)!r}, 'w'); fcntl.flock(f, 2); print('held', flush=True); input()"
    with subprocess.Popen((sys.executable, "-c", script), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout
        child.stdout.readline()
        with pytest.raises(PublishError, match="another coderefine, or a hook"):
            recover(repository, patience=0.1)
        child.kill()
    assert recover(repository) is None
    assert not marker.exists()


@pytest.mark.parametrize("damage", ["missing", "line"])
def test_a_lost_record_of_an_interrupted_run_blocked_every_command(tmp_path: Path, damage: str) -> None:
    """Even `log` said "no run '260101-…': `coderefine log` lists them"; nothing named the file to remove."""
    top = make_repo(tmp_path / "repo", {"m0.py": "old = 0\n"})
    run = stage(top, {"m0.py": "new = 0\n"}).journal
    marker = top / ".git/coderefine/pending"
    marker.write_text(run.run)
    if damage == "missing":
        shutil.rmtree(run.folder)
    else:
        (run.folder / "journal.jsonl").write_text("torn\n")
    before = state(top)
    repository = Repository.open(top)
    advice = rf"`git status`.*\.coderefine-{run.run}-\*\.old.*remove {re.escape(str(marker))}"
    for _ in range(2):
        with pytest.raises(JournalError, match=advice):
            recover(repository)
    assert state(top) == before
    marker.unlink()
    assert recover(repository) is None


def test_an_interrupted_run_was_removed_by_another_worktree(tmp_path: Path) -> None:
    """A run is removed when 50 newer ones exist; the mark of an interrupted publication then named no run."""
    top = make_repo(tmp_path / "repo", {"m0.py": "old = 0\n"})
    linked = tmp_path / "linked"
    git(top, "worktree", "add", "-q", "-b", "side", str(linked))
    for place in (top, linked):
        run = stage(place, {"m0.py": "new = 0\n"}).journal
        marker = run.repository.git_dir / "coderefine/pending"
        marker.parent.mkdir(exist_ok=True)
        marker.write_text(run.run)
    assert prune(Repository.open(linked), 0) == ()
    for place in (top, linked):
        assert recover(Repository.open(place)) is None
    assert len(prune(Repository.open(top), 0)) == 2


KILLED_IN = """
import os, signal, sys
from pathlib import Path
from coderefine.git import Repository
from coderefine.publishers import Commit, recover
from tests.support.publishing import stage
top, names = Path(sys.argv[1]), sys.argv[2:]
prepared = None if (top / ".git/coderefine/pending").exists() else stage(top, {"m0.py": "new = 0\\n"})
def watch(frame, event, _):
    if frame.f_code.co_name in names and "coderefine" in frame.f_code.co_filename:
        os.kill(os.getpid(), signal.SIGKILL)
sys.settrace(watch)
Commit(prepared.snapshot).publish(prepared.outcome) if prepared else recover(Repository.open(top))
"""


@pytest.mark.parametrize("where", every(3, ["replace_lock", "commit", "tidy", "settle", "published", "clean"]))
def test_killed_after_a_commit_whose_hook_formats_it_is_complete(tmp_path: Path, where: str) -> None:
    top = make_repo(tmp_path / "repo", {"m0.py": "old = 0\n"})
    hook(top, "pre-commit", "echo '# formatted' >> m0.py; git add m0.py")
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    for _ in range(2):  # publishing, then mending
        argv = (sys.executable, "-c", KILLED_IN, str(top), where)
        subprocess.run(argv, cwd=ROOT, env=env, check=False, stderr=subprocess.DEVNULL)
        if not (top / ".git/coderefine/pending").exists():
            break
    recover(Repository.open(top))
    whole = "new = 0\n# formatted"
    assert git(top, "show", "HEAD:m0.py") == (top / "m0.py").read_text().strip() == whole
    assert git(top, "status", "--porcelain") == ""
    assert not (top / ".git/index.lock").exists()
    publication = Journal.load(Repository.open(top)).publication()
    assert publication is not None
    undo(Journal.load(Repository.open(top)))
    assert (top / "m0.py").read_text() == "old = 0\n"


HALF = """
import os, signal, sys
from pathlib import Path
from coderefine.publishers import Files
from tests.support.publishing import stage
prepared = stage(Path(sys.argv[1]), {"m0.py": "new = 0\\n", "m1.py": "new = 1\\n"})
left = 2
def watch(frame, event, _):
    global left
    left -= frame.f_code.co_name == "install" and "file_io" in frame.f_code.co_filename
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
sys.settrace(watch)
Files(prepared.snapshot).publish(prepared.outcome)
"""


@pytest.mark.parametrize("edit", ["", "# mine\n"], ids=["as it was written", "edited"])
def test_a_half_written_patch_that_the_user_has_committed_stays(tmp_path: Path, edit: str) -> None:
    """The file was reverted in the tree, although the user's commit has it."""
    top = make_repo(tmp_path / "repo", {"m0.py": "old = 0\n", "m1.py": "old = 1\n"})
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run((sys.executable, "-c", HALF, str(top)), cwd=ROOT, env=env, check=False)
    assert git(top, "diff", "--name-only") == "m0.py"
    write(top, {"m0.py": f"new = 0\n{edit}"})
    git(top, "commit", "-qam", "my work")
    assert "m0.py stays as it is in HEAD" in (recover(Repository.open(top)) or "")
    assert git(top, "status", "--porcelain") == ""


FULL = """
import errno, os, sys
from pathlib import Path
from coderefine.publishers import Commit, Files, undo
from tests.support.publishing import stage
top, how = Path(sys.argv[1]), sys.argv[2]
record = 3 if "hook" in how else 2
def full(event, args):
    global record
    if event == "open" and str(args[0]).endswith("journal.jsonl") and args[2] & os.O_APPEND:
        record -= 1
        if record <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
prepared = stage(top, {"m0.py": "new = 0\\n", "m1.py": None}, head="commit" in how)
publisher = Commit(prepared.snapshot) if "commit" in how else Files(prepared.snapshot)
if "undo" in how:
    publisher.publish(prepared.outcome)
sys.addaudithook(full)
try:
    undo(prepared.journal) if "undo" in how else publisher.publish(prepared.outcome)
except Exception as error:
    print(error)
"""


@pytest.mark.parametrize("how", ["files", "commit", "commit, hook", "undo files", "undo commit"])
def test_a_full_disk_at_the_last_record_is_told_truly(tmp_path: Path, how: str) -> None:
    """The error said that the run could not be recorded; the patch was written, and an old file lay beside it."""
    top = make_repo(tmp_path / "repo", {"m0.py": "old = 0\n", "m1.py": "old = 1\n"})
    if "hook" in how:
        hook(top, "pre-commit", "echo '# formatted' >> m0.py; git add m0.py")
    argv = (sys.executable, "-c", FULL, str(top), how)
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    said = subprocess.run(argv, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True, check=True).stdout
    assert "No space left" in said
    kept, done = "commit" in how, how.startswith("commit")
    assert ("is done, but" in said and "free some space, then run `coderefine log`" in said) == kept
    new = done or how == "undo files"
    assert (top / "m0.py").read_text().startswith("new = 0\n") == new == (not (top / "m1.py").exists())
    assert git(top, "rev-list", "--count", "HEAD") == ("2" if done else "1")
    assert sorted(path.name for path in top.iterdir() if path.name != ".git") == ["m0.py", "m1.py"][: 2 - new]
    result = recover(Repository.open(top))
    assert result
    assert ("it is complete now" in result) == kept
    assert (Journal.load(Repository.open(top)).publication() is not None) == new
    assert git(top, "status", "--porcelain") == ("" if kept or not new else "M m0.py\n D m1.py")


UNRESTORED = """
import errno, sys
from pathlib import Path
from coderefine.publishers import Commit
from tests.support.publishing import stage
top = Path(sys.argv[1])
def full(event, args):
    if event == "open" and str(args[0]).endswith("-0.new") and (top / ".git/refused").exists():
        raise OSError(errno.ENOSPC, "No space left on device")
prepared = stage(top, {"m0.py": "new = 0\\n", "m1.py": "new = 1\\n"}, head=True)
sys.addaudithook(full)
try:
    Commit(prepared.snapshot).publish(prepared.outcome)
except Exception as error:
    print(error)
"""


def test_a_file_that_cannot_be_restored_does_not_keep_the_others_patched(tmp_path: Path) -> None:
    """A hook refused on a full disk: all files stayed patched, and what the hook said was lost."""
    top = make_repo(tmp_path / "repo", {"m0.py": "old = 0\n", "m1.py": "old = 1\n"})
    hook(top, "pre-commit", "touch .git/refused; echo 'not on my watch'; exit 1")
    argv = (sys.executable, "-c", UNRESTORED, str(top))
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    said = subprocess.run(argv, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True, check=True).stdout
    assert "not on my watch" in said
    assert "m0.py stays as it is: no space left on device" in said
    assert git(top, "status", "--porcelain") == "M m0.py"
    assert recover(Repository.open(top))
    assert git(top, "status", "--porcelain") == ""
