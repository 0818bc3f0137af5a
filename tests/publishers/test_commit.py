"""`--commit`: exactly HEAD plus the patch, with the user's hooks, and none of the user's work."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from coderefine.errors import CoderefineError, PublishError
from coderefine.publishers import Commit, Wording, undo
from tests.support import publishing
from tests.support.publishing import state
from tests.support.repo import git, make_repo, write

stage = partial(publishing.stage, head=True)
TEN = "".join(f"line{n} = {n}\n" for n in range(10))


@pytest.fixture
def ten(repo: Path) -> Path:
    write(repo, {"src/a.py": TEN})
    git(repo, "commit", "-q", "-am", "ten lines")
    return repo


def hook(repo: Path, name: str, body: str) -> None:
    path = repo / ".git/hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def test_the_commit_holds_the_patch_and_the_evidence(repo: Path) -> None:
    prepared = stage(repo, {"src/a.py": "one = 10\ntwo = 2\n", "src/b.py": None, "src/c.py": "new = 1\n"})
    before = state(repo)
    wording = Wording("repair: {summary} {literally}", "Bot Ä <bot@example.com>")
    line = Commit(prepared.snapshot, wording).publish(prepared.outcome)
    assert line.startswith(f"committed {git(repo, 'rev-parse', 'HEAD')[:10]}: src/a.py +1 −1")
    assert git(repo, "status", "--porcelain") == ""
    assert git(repo, "show", "--format=", "--name-status").split("\n") == ["M\tsrc/a.py", "D\tsrc/b.py", "A\tsrc/c.py"]
    assert git(repo, "log", "-1", "--format=%an <%ae>|%cn") == "Bot Ä <bot@example.com>|A U Thor"
    assert git(repo, "log", "-1", "--format=%B") == (
        "repair: swap the bounds {literally}\n\n"
        "Coderefine-Checks: pytest 1 -> 0\n"
        "Coderefine-Evidence: 1 test flipped, 41 kept, 0 lost; patched lines covered 2/2\n"
        "Coderefine-Confidence: proved\n"
        "Coderefine-Attempts: 1\n"
        "Coderefine-Cost: 2 requests, 1,234 tokens, $0.0123\n"
        f"Coderefine-Run: {prepared.run}"
    )
    assert git(repo, "log", "-1", "--format=%(trailers:key=Coderefine-Attempts,valueonly)").strip() == "1"
    assert "is gone from main" in undo(prepared.journal)
    assert {**state(repo), "index": ""} == {**before, "index": ""}
    assert git(repo, "status", "--porcelain") == ""


def test_dirty_and_staged_work_elsewhere_is_not_committed(repo: Path) -> None:
    write(repo, {"notes.txt": "staged\n", "src/b.py": "dirty = 1\n", "stranger.py": "untracked\n"})
    git(repo, "add", "notes.txt")
    write(repo, {"notes.txt": "staged, then dirty\n"})
    before = git(repo, "status", "--porcelain")
    index = git(repo, "ls-files", "-s", "notes.txt", "src/b.py", "run.sh")
    prepared = stage(repo, {"src/a.py": "one = 10\ntwo = 2\n"})
    Commit(prepared.snapshot).publish(prepared.outcome)
    assert git(repo, "show", "--format=", "--name-only") == "src/a.py"
    assert git(repo, "status", "--porcelain") == before
    assert git(repo, "ls-files", "-s", "notes.txt", "src/b.py", "run.sh") == index
    undo(prepared.journal)
    assert git(repo, "status", "--porcelain") == before
    assert (repo / "notes.txt").read_text() == "staged, then dirty\n"


@pytest.mark.parametrize("staged", [(), ("src/a.py",)], ids=["dirty", "staged"])
def test_dirty_work_in_the_patched_file_stays_the_users(ten: Path, staged: tuple[str, ...]) -> None:
    mine = TEN.replace("line9 = 9", "line9 = 'mine'")
    write(ten, {"src/a.py": mine})
    if staged:
        git(ten, "add", *staged)
    before = git(ten, "diff", "HEAD", "--", "src/a.py").splitlines()[-5:]
    status = git(ten, "status", "--porcelain")
    prepared = stage(ten, {"src/a.py": TEN.replace("line0 = 0", "line0 = 'fixed'")})
    Commit(prepared.snapshot).publish(prepared.outcome)
    assert git(ten, "show", "HEAD:src/a.py") + "\n" == TEN.replace("line0 = 0", "line0 = 'fixed'")
    assert (ten / "src/a.py").read_text() == mine.replace("line0 = 0", "line0 = 'fixed'")
    assert git(ten, "diff", "HEAD", "--", "src/a.py").splitlines()[-5:] == before
    assert git(ten, "status", "--porcelain") == status
    undo(prepared.journal)
    assert (ten / "src/a.py").read_text() == mine
    assert git(ten, "status", "--porcelain") == status


def test_an_edit_of_the_same_second_and_size_as_the_index_stays_an_edit(repo: Path) -> None:
    """git knows it by reading the file as long as the index is no younger; so a copy of the index must not be."""
    write(repo, {"src/b.py": "x = 1\n"})
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "--allow-empty", "-m", "again")
    write(repo, {"src/b.py": "x = 2\n"})
    prepared = stage(repo, {"src/a.py": "one = 10\ntwo = 2\n"})
    time.sleep(1.1)
    Commit(prepared.snapshot).publish(prepared.outcome)
    assert git(repo, "status", "--porcelain") == "M src/b.py"


def test_a_patch_that_was_proved_on_other_files_than_heads_is_not_committed(repo: Path) -> None:
    """What git shows as differing from HEAD was in front of the tests, and the commit would not have it."""
    write(repo, {"src/b.py": "dirty = 1\n"})
    prepared = publishing.stage(repo, {"src/a.py": "one = 10\ntwo = 2\n"})
    before = state(repo)
    with pytest.raises(PublishError, match=r"proved with src/b.py as it is in the working tree, which is not in HEAD"):
        Commit(prepared.snapshot).publish(prepared.outcome)
    assert state(repo) == before


@pytest.mark.parametrize(("flag", "tag"), [("assume-unchanged", "h"), ("skip-worktree", "S")])
def test_an_edit_that_a_flag_hides_from_git_was_in_the_proof_and_not_in_the_commit(
    ten: Path, flag: str, tag: str
) -> None:
    """The proof ran with the edit of b.py, which HEAD does not have, and the flag of the committed file was lost."""
    git(ten, "update-index", f"--{flag}", "src/a.py", "src/b.py")
    edited = TEN.replace("line9 = 9", "line9 = 'mine'")
    write(ten, {"src/a.py": edited, "src/b.py": "x = 'mine'\n"})
    prepared = stage(ten, {"src/a.py": TEN.replace("line0 = 0", "line0 = 1")})
    assert prepared.snapshot.under == {"src/a.py": TEN.encode(), "src/b.py": b"x = 1\n"}
    before = state(ten)
    Commit(prepared.snapshot).publish(prepared.outcome)
    assert git(ten, "show", "HEAD:src/a.py") + "\n" == TEN.replace("line0 = 0", "line0 = 1")
    assert (ten / "src/a.py").read_text() == edited.replace("line0 = 0", "line0 = 1")
    assert git(ten, "show", "--format=", "--name-only") == "src/a.py"
    flagged = git(ten, "ls-files", "-v", "src")
    assert flagged.split("\n") == [f"{tag} src/a.py", f"{tag} src/b.py"]
    undo(prepared.journal)
    assert git(ten, "ls-files", "-v", "src") == flagged
    assert {**state(ten), "index": ""} == {**before, "index": ""}


def test_a_file_that_a_sparse_checkout_leaves_out_is_not_missing(ten: Path) -> None:
    git(ten, "sparse-checkout", "set", "--no-cone", "/src/a.py")
    assert not (ten / "src/b.py").exists()
    prepared = stage(ten, {"src/a.py": TEN.replace("line0 = 0", "line0 = 1")})
    assert prepared.snapshot.under == {}
    Commit(prepared.snapshot).publish(prepared.outcome)
    assert git(ten, "show", "--format=", "--name-only") == "src/a.py"
    assert git(ten, "ls-files", "-v", "src") == "H src/a.py\nS src/b.py"


def test_a_patch_of_which_git_stores_nothing_became_an_empty_commit(repo: Path) -> None:
    """It changed line ends alone, which git normalises: the report said "committed", the commit was empty."""
    write(repo, {".gitattributes": "* text=auto\n", "src/a.py": "one = 1\r\ntwo = 2\r\n"})
    git(repo, "add", ".gitattributes")
    git(repo, "commit", "-q", "-m", "attributes")
    prepared = publishing.stage(repo, {"src/a.py": "one = 1\ntwo = 2\n"})
    before = state(repo)
    with pytest.raises(PublishError, match=r"git stores nothing of the patch of src/a\.py.*no --commit"):
        Commit(prepared.snapshot).publish(prepared.outcome)
    assert state(repo) == before


def test_partly_staged_work_is_kept_apart(ten: Path) -> None:
    write(ten, {"src/a.py": TEN.replace("line9 = 9", "line9 = 'staged'")})
    git(ten, "add", "src/a.py")
    mine = TEN.replace("line9 = 9", "line9 = 'staged'").replace("line5 = 5", "line5 = 'dirty'")
    write(ten, {"src/a.py": mine})
    prepared = stage(ten, {"src/a.py": TEN.replace("line0 = 0", "line0 = 'fixed'")})
    Commit(prepared.snapshot).publish(prepared.outcome)
    assert (
        git(ten, "diff", "HEAD^", "HEAD", "--stat").splitlines()[-1].strip().startswith("1 file changed, 1 insertion")
    )
    added = [line for line in git(ten, "diff", "--cached").splitlines() if line.startswith("+l")]
    assert added == ["+line9 = 'staged'"]
    assert [line for line in git(ten, "diff").splitlines() if line.startswith("+l")] == ["+line5 = 'dirty'"]


@pytest.mark.parametrize(
    ("mine", "patched"),
    [
        ({"src/a.py": "one = 5\ntwo = 2\n"}, {"src/a.py": "one = 6\ntwo = 2\n"}),
        ({"stranger.py": "x = 1\n"}, {"stranger.py": "x = 2\n"}),
        ({"src/a.py": "one = 5\n"}, {"src/a.py": None}),
    ],
    ids=["overlap", "untracked", "deleted"],
)
def test_work_that_overlaps_is_refused(repo: Path, mine: dict[str, str], patched: dict[str, str | None]) -> None:
    write(repo, mine)
    prepared = stage(repo, patched)
    before = state(repo)
    with pytest.raises(PublishError, match=r"uncommitted work that overlaps the patch.*--branch"):
        Commit(prepared.snapshot).publish(prepared.outcome)
    assert state(repo) == before


def test_the_message_was_labelled_with_another_encoding_than_its_own(repo: Path) -> None:
    """It is written in UTF-8: with i18n.commitEncoding=ISO-8859-1, `git log` showed other characters."""
    git(repo, "config", "i18n.commitEncoding", "ISO-8859-1")
    prepared = stage(repo, {"src/a.py": "one = 10\ntwo = 2\n"})
    Commit(prepared.snapshot, Wording("Préis: {summary}")).publish(prepared.outcome)
    assert git(repo, "-c", "i18n.logOutputEncoding=UTF-8", "log", "-1", "--format=%s") == "Préis: swap the bounds"


def test_a_hook_that_reads_its_input_does_not_take_the_message(repo: Path) -> None:
    hook(repo, "pre-commit", "cat > input")
    prepared = stage(repo, {"src/a.py": "one = 10\ntwo = 2\n"})
    Commit(prepared.snapshot).publish(prepared.outcome)
    assert (repo / "input").read_text() == ""
    assert git(repo, "log", "-1", "--format=%s") == "fix: swap the bounds"


def test_hooks_that_agree_run_in_order_and_see_the_repaired_file(repo: Path) -> None:
    log = repo.parent / "log"
    for name in ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"):
        hook(repo, name, f'echo "{name} $(cat src/a.py | head -1) $(git show :src/a.py | head -1)" >> "{log}"')
    prepared = stage(repo, {"src/a.py": "one = 10\ntwo = 2\n"})
    Commit(prepared.snapshot).publish(prepared.outcome)
    seen = "one = 10 one = 10"
    assert log.read_text().splitlines() == [
        f"{name} {seen}" for name in ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit")
    ]


@pytest.mark.parametrize("name", ["pre-commit", "commit-msg", "prepare-commit-msg"])
def test_a_hook_that_refuses_changes_nothing(repo: Path, name: str) -> None:
    write(repo, {"notes.txt": "staged\n"})
    git(repo, "add", "notes.txt")
    hook(repo, name, "echo 'not on my watch'; exit 1")
    prepared = stage(repo, {"src/a.py": "one = 10\ntwo = 2\n", "src/b.py": None})
    before = state(repo)
    with pytest.raises(PublishError, match="nothing was committed:\n  not on my watch"):
        Commit(prepared.snapshot).publish(prepared.outcome)
    assert state(repo) == before
    assert prepared.journal.publication() is None


def test_a_hook_that_stages_its_format_and_refuses_changes_nothing(repo: Path) -> None:
    hook(repo, "pre-commit", "echo '# formatted' >> src/a.py; git add src/a.py; exit 1")
    prepared = stage(repo, {"src/a.py": "one = 10\ntwo = 2\n"})
    before = state(repo)
    with pytest.raises(PublishError, match="as your hooks left it is kept in ") as refused:
        Commit(prepared.snapshot).publish(prepared.outcome)
    assert state(repo) == before
    assert Path(str(refused.value).rpartition(" kept in ")[2]).read_text() == "one = 10\ntwo = 2\n# formatted\n"


def test_an_edit_made_while_a_hook_ran_stays_when_the_hook_refuses(repo: Path) -> None:
    """The edit was taken for the hook's and removed; the only copy was in the journal, and its path was not printed."""
    hook(repo, "pre-commit", "echo '# precious' >> src/a.py; echo no; exit 1")
    prepared = stage(repo, {"src/a.py": "one = 10\ntwo = 2\n", "src/b.py": "x = 2\n"})
    with pytest.raises(PublishError, match=r"no\n  src/a\.py was changed meanwhile: this change stays"):
        Commit(prepared.snapshot).publish(prepared.outcome)
    assert (repo / "src/a.py").read_text() == "one = 1\ntwo = 2\n# precious\n"
    assert git(repo, "status", "--porcelain") == "M src/a.py"


def test_an_edit_of_the_patched_lines_while_a_hook_ran_is_left_alone(repo: Path) -> None:
    """It cannot be separated from the patch, and was removed."""
    hook(repo, "pre-commit", "echo 'one = 11' > src/a.py; echo '# mine' >> src/c.py; rm src/b.py; exit 1")
    prepared = stage(repo, {"src/a.py": "one = 10\ntwo = 2\n", "src/b.py": "x = 2\n", "src/c.py": "new = 1\n"})
    with pytest.raises(PublishError, match=r"src/a\.py was changed meanwhile, .* stays as it is") as refused:
        Commit(prepared.snapshot).publish(prepared.outcome)
    assert (repo / "src/a.py").read_text() == "one = 11\n"
    assert (repo / "src/c.py").read_text() == "new = 1\n# mine\n"
    assert not (repo / "src/b.py").exists()
    first = str(refused.value).splitlines()[-3]
    assert Path(first.rpartition(" is in ")[2]).read_text() == "one = 1\ntwo = 2\n"


def test_undo_does_not_lose_an_edit_made_while_a_hook_ran(repo: Path) -> None:
    """The content of the tree after the hooks was recorded as written by the run, so undo removed the edit."""
    hook(repo, "pre-commit", "echo '# precious' >> src/a.py")
    prepared = stage(repo, {"src/a.py": "one = 10\ntwo = 2\n"})
    Commit(prepared.snapshot).publish(prepared.outcome)
    before = state(repo)
    with pytest.raises(PublishError, match=r"src/a\.py was changed after run"):
        undo(prepared.journal)
    assert state(repo) == before


def test_a_hook_that_reformats_and_stages_is_committed(repo: Path) -> None:
    hook(repo, "pre-commit", "echo '# formatted' >> src/a.py; echo 1 > VERSION; git add src/a.py VERSION")
    write(repo, {"notes.txt": "staged\n"})
    git(repo, "add", "notes.txt")
    prepared = stage(repo, {"src/a.py": "one = 10\ntwo = 2\n"})
    Commit(prepared.snapshot).publish(prepared.outcome)
    assert git(repo, "show", "HEAD:src/a.py") == "one = 10\ntwo = 2\n# formatted"
    assert git(repo, "status", "--porcelain") == "M  notes.txt"


def test_a_hook_that_stages_everything_commits_none_of_our_temporary_files(repo: Path) -> None:
    hook(repo, "pre-commit", "git add -A")
    prepared = stage(repo, {"src/a.py": "one = 10\ntwo = 2\n"})
    Commit(prepared.snapshot).publish(prepared.outcome)
    assert git(repo, "show", "--format=", "--name-only") == "src/a.py"
    assert git(repo, "status", "--porcelain") == ""


def test_undo_names_what_hooks_added_to_the_commit(repo: Path) -> None:
    """The commit was gone, and the hook's change remained in the tree, without a word.

    It is not replaced: with `git add -u`, a hook commits the user's work, too.
    """
    hook(repo, "pre-commit", "echo 1 > run.sh; echo 1 > VERSION; git add -u; git add VERSION")
    write(repo, {"notes.txt": "my work\n"})
    prepared = stage(repo, {"src/a.py": "one = 10\ntwo = 2\n"})
    Commit(prepared.snapshot).publish(prepared.outcome)
    assert git(repo, "status", "--porcelain") == ""
    line = undo(prepared.journal)
    assert line.endswith("; your hooks committed more, which stays in the tree: notes.txt, run.sh, VERSION")
    assert (repo / "notes.txt").read_text() == "my work\n"
    assert git(repo, "status", "--porcelain").split("\n") == ["M notes.txt", " M run.sh", "?? VERSION"]


def test_a_failing_post_commit_does_not_matter(repo: Path) -> None:
    hook(repo, "post-commit", "exit 1")
    prepared = stage(repo, {"src/a.py": "one = 10\ntwo = 2\n"})
    assert Commit(prepared.snapshot).publish(prepared.outcome).startswith("committed")


def test_a_commit_is_taken_back_when_the_index_cannot_follow(repo: Path) -> None:
    hook(repo, "post-commit", "rm .git/index.lock")
    write(repo, {"notes.txt": "staged\n"})
    git(repo, "add", "notes.txt")
    prepared = stage(repo, {"src/a.py": "one = 10\ntwo = 2\n"})
    before = state(repo)
    with pytest.raises(PublishError, match="the index cannot be written"):
        Commit(prepared.snapshot).publish(prepared.outcome)
    assert state(repo) == before


def test_an_undo_is_taken_back_when_the_index_cannot_follow(repo: Path) -> None:
    """HEAD stayed at the commit before, while the files went back to the patch."""
    prepared = stage(repo, {"src/a.py": "one = 10\ntwo = 2\n"})
    Commit(prepared.snapshot).publish(prepared.outcome)
    hook(repo, "reference-transaction", "rm -f .git/index.lock")
    before = state(repo)
    with pytest.raises(PublishError, match="the index cannot be written"):
        undo(prepared.journal)
    assert state(repo) == before
    assert prepared.journal.publication()


SLOW_TREE = """
import os, signal, sys
from pathlib import Path
from coderefine.publishers import Commit
from coderefine.quick.ending import interrupt_on_signals
from tests.support.publishing import stage
interrupt_on_signals()
top, trouble = Path(sys.argv[1]), sys.argv[2]
def refresh(event, args):
    if event == "subprocess.Popen" and "--refresh" in list(args[1]):
        if trouble == "SIGALRM":
            signal.raise_signal(signal.SIGALRM)
        else:
            raise OSError("git cannot be started")
sys.addaudithook(refresh)
prepared = stage(top, {"src/a.py": "one = 10\\ntwo = 2\\n"}, head=True)
try:
    print(Commit(prepared.snapshot).publish(prepared.outcome))
finally:
    assert prepared.journal.publication()
"""


@pytest.mark.parametrize("trouble", ["SIGALRM", "no git"])
def test_a_commit_whose_index_cannot_be_refreshed_is_complete(repo: Path, trouble: str) -> None:
    """HEAD and the files went back to the state before, while the patch stayed staged.

    SIGALRM repeats an interrupt that Python ignored.
    """
    argv = (sys.executable, "-c", SLOW_TREE, str(repo), trouble)
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(argv, cwd=repo, env=env, capture_output=True, text=True, check=False)
    assert "AssertionError" not in done.stderr
    assert ("KeyboardInterrupt" in done.stderr) == (trouble == "SIGALRM")
    assert git(repo, "show", "HEAD:src/a.py") == "one = 10\ntwo = 2"
    assert git(repo, "status", "--porcelain") == ""


def test_a_hook_may_commit_more_on_top(repo: Path) -> None:
    again = "[ -e .git/once ] && exit; touch .git/once; echo 2 > VERSION; git add VERSION; git commit -q -m bump"
    hook(repo, "post-commit", again)
    write(repo, {"notes.txt": "staged\n"})
    git(repo, "add", "notes.txt")
    prepared = stage(repo, {"src/a.py": "one = 10\ntwo = 2\n"})
    line = Commit(prepared.snapshot).publish(prepared.outcome)
    assert line.startswith(f"committed {git(repo, 'rev-parse', 'HEAD^')[:10]}")
    assert git(repo, "log", "--format=%s").split("\n") == ["bump", "fix: swap the bounds", "start"]
    assert git(repo, "status", "--porcelain") == "M  notes.txt"


def test_detached_and_linked(repo: Path) -> None:
    git(repo, "checkout", "-q", "--detach")
    linked = repo.parent / "linked"
    git(repo, "worktree", "add", "-q", "-b", "side", str(linked))
    for top in (repo, linked):
        before = git(top, "rev-parse", "HEAD")
        prepared = stage(top, {"src/a.py": "one = 10\ntwo = 2\n"})
        Commit(prepared.snapshot).publish(prepared.outcome)
        assert git(top, "rev-parse", "HEAD^") == before
        assert git(top, "status", "--porcelain") == ""
        undo(prepared.journal)
        assert git(top, "rev-parse", "HEAD") == before
        assert git(top, "status", "--porcelain") == ""
    assert git(repo, "rev-parse", "main") == git(repo, "rev-parse", "HEAD")


def test_before_the_first_commit(tmp_path: Path) -> None:
    top = tmp_path / "unborn"
    top.mkdir()
    git(top, "init", "-q", "-b", "main")
    write(top, {"mine.txt": "mine\n"})
    git(top, "add", "mine.txt")
    prepared = stage(top, {"a.py": "x = 1\n"})
    Commit(prepared.snapshot).publish(prepared.outcome)
    assert git(top, "ls-tree", "--name-only", "HEAD") == "a.py"
    assert git(top, "status", "--porcelain") == "A  mine.txt"
    undo(prepared.journal)
    assert git(top, "status", "--porcelain") == "A  mine.txt"


def test_line_ends_names_and_modes(repo: Path) -> None:
    git(repo, "config", "core.autocrlf", "true")
    (repo / "run.sh").chmod(0o755)
    write(repo, {"src/naïve name.py": b"x = 1\r\ny = 1\r\n"})
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "crlf")
    assert git(repo, "cat-file", "-s", "HEAD:src/naïve name.py") == "12"
    prepared = stage(repo, {"src/naïve name.py": "x = 2\r\ny = 1\r\n", "run.sh": "#!/bin/sh\r\nexit\r\n"})
    Commit(prepared.snapshot).publish(prepared.outcome)
    assert git(repo, "cat-file", "-s", "HEAD:src/naïve name.py") == "12"
    assert git(repo, "diff", "HEAD^", "HEAD", "--numstat", "-z", "--", "src") == "1\t1\tsrc/naïve name.py\0"
    assert git(repo, "ls-tree", "HEAD", "run.sh").startswith("100755")
    assert git(repo, "status", "--porcelain") == ""


def test_a_file_committed_with_crlf_keeps_it(repo: Path) -> None:
    write(repo, {"src/w.py": b"x = 1\r\ny = 1\r\n"})
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "crlf inside")
    git(repo, "config", "core.autocrlf", "true")
    prepared = stage(repo, {"src/w.py": "x = 2\r\ny = 1\r\n"})
    Commit(prepared.snapshot).publish(prepared.outcome)
    assert git(repo, "diff", "HEAD^", "HEAD", "--numstat") == "1\t1\tsrc/w.py"


@pytest.mark.parametrize("held", ["index.lock", "MERGE_HEAD"])
def test_a_repository_at_work_is_left_alone(repo: Path, held: str) -> None:
    prepared = stage(repo, {"src/a.py": "one = 10\ntwo = 2\n"})
    (repo / ".git" / held).write_text(git(repo, "rev-parse", "HEAD") + "\n")
    before = state(repo)
    with pytest.raises(PublishError, match=r"another git process|a merge is under way"):
        Commit(prepared.snapshot).publish(prepared.outcome)
    assert state(repo) == before
    assert (repo / ".git" / held).exists()


def test_a_patch_inside_a_submodule_is_refused(repo: Path) -> None:
    library = make_repo(repo.parent / "library", {"lib.py": "x = 1\n"})
    git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "vendored")
    git(repo, "commit", "-q", "-m", "vendor")
    prepared = stage(repo, {"vendored/lib.py": "x = 2\n"})
    with pytest.raises(PublishError, match="in the submodule vendored"):
        Commit(prepared.snapshot).publish(prepared.outcome)


def test_undo_after_more_work(repo: Path) -> None:
    prepared = stage(repo, {"src/a.py": "one = 10\ntwo = 2\n"})
    Commit(prepared.snapshot).publish(prepared.outcome)
    commit = git(repo, "rev-parse", "HEAD")
    git(repo, "commit", "-q", "--allow-empty", "-m", "more")
    with pytest.raises(PublishError, match=f"git revert {commit[:10]}"):
        undo(prepared.journal)
    git(repo, "update-ref", "HEAD", commit)
    git(repo, "update-ref", "refs/remotes/origin/main", commit)
    with pytest.raises(PublishError, match="was pushed already"):
        undo(prepared.journal)


def test_git_knows_no_identity(repo: Path, sealed: Path) -> None:
    (sealed / ".gitconfig").write_text("[user]\n\tuseConfigOnly = true\n[safe]\n\tdirectory = *\n")
    prepared = stage(repo, {"src/a.py": "one = 10\ntwo = 2\n"})
    before = state(repo)
    with pytest.raises(CoderefineError, match="git does not know who you are"):
        Commit(prepared.snapshot).publish(prepared.outcome)
    assert state(repo) == before


def test_an_identity_in_variables_was_unknown_after_the_proof(
    repo: Path, sealed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CI gives it by GIT_CONFIG_COUNT; `git commit` worked there, `--commit` ended: git does not know who you are."""
    (sealed / ".gitconfig").write_text("[user]\n\tuseConfigOnly = true\n[safe]\n\tdirectory = *\n")
    prepared = stage(repo, {"src/a.py": "one = 10\ntwo = 2\n"})
    monkeypatch.setenv("GIT_CONFIG_COUNT", "2")
    for number, (name, value) in enumerate({"user.name": "Ada", "user.email": "ada@example.com"}.items()):
        monkeypatch.setenv(f"GIT_CONFIG_KEY_{number}", name)
        monkeypatch.setenv(f"GIT_CONFIG_VALUE_{number}", value)
    Commit(prepared.snapshot).publish(prepared.outcome)
    assert git(repo, "log", "-1", "--format=%an <%ae>|%cn <%ce>") == "Ada <ada@example.com>|Ada <ada@example.com>"


def test_the_environment_of_a_hook_is_not_believed(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = stage(repo, {"src/a.py": "one = 10\ntwo = 2\n"})
    with monkeypatch.context() as hooked:
        hooked.setenv("GIT_INDEX_FILE", "/nowhere/index")
        hooked.setenv("GIT_DIR", "/nowhere")
        Commit(prepared.snapshot).publish(prepared.outcome)
    assert git(repo, "status", "--porcelain") == ""
