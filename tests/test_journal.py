"""The record of runs: what is written is read back the same, whatever happened in between."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from coderefine.core import (
    Attempt,
    Case,
    Check,
    Cost,
    Evidence,
    Executed,
    Failure,
    Finding,
    Frame,
    Mutation,
    Outcome,
    Patch,
    Severity,
    Span,
    Status,
    Stop,
    Verdict,
)
from coderefine.errors import JournalError
from coderefine.git import Repository
from coderefine.journal import Journal, Meta, lock, prune, running, runs
from tests.support.repo import git, make_repo, write

CASE = Case(
    "tests/t.py::test[é-\ud800]",
    Status.FAILED,
    0.25,
    "tests/t.py",
    7,
    Failure("no", "ValueError", "assert 1 == 2", (Frame("src/a.py", 3, "f", {"x": "1"}),), "out"),
)
CHECK = Check(
    "pytest",
    (Finding("pytest", "failed", "src/a.py", "no", Span(1, 3), "f", severity=Severity.SOFT, weight=2.5),),
    {CASE.id: CASE},
    seconds=1.5,
    complete=False,
    tool="pytest 9",
    notes=("slow",),
)
BASELINE = Attempt(0, Patch(), (CHECK,))
FIRST = Attempt(
    1,
    Patch({"src/a.py": b"x = 2\r\n", "gone.py": None, "new/\u00e9.bin": bytes(range(256))}, "search", "swap"),
    (CHECK, Check("ruff")),
    Verdict(ok=False, reason="no better"),
    Cost(1, 2, 3, None, 0.5, 4),
)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    top = make_repo(tmp_path / "repo", {"src/a.py": "x = 1\n", "gone.py": "g = 1\n"})
    return Repository.open(top)


@pytest.fixture
def journal(repository: Repository) -> Journal:
    return Journal.create(repository, Meta(("fix", "src"), {"model": None, "max": 3}, "abc", ("src",)))


def lines(journal: Journal) -> Path:
    return journal.folder / "journal.jsonl"


def test_everything_comes_back(repository: Repository, journal: Journal) -> None:
    journal.attempt(BASELINE)
    journal.attempt(FIRST)
    executed, survived = (Executed("m.py", Span(1, 2), ("a",), 3),), (Mutation("m.py", 2, "a > 1", "a >= 1"),)
    evidence = Evidence(
        ("a",), 41, (), ("f",), (2, 2), None, "overlay", (FIRST.patch,), ("n",), executed=executed, survived=survived
    )
    outcome = Outcome(FIRST, BASELINE, Stop.BUDGET, "tokens", evidence, CHECK.findings, (BASELINE, FIRST), Cost(3))
    journal.finish(outcome)
    again = Journal.load(repository, journal.run)
    assert again.attempts() == (BASELINE, FIRST)
    assert again.outcome() == outcome
    assert again.meta.argv == ("fix", "src")
    assert again.meta.config == {"model": None, "max": 3}
    assert again.meta.created > 0


def test_attempts_are_commits_on_the_users_tree(repository: Repository, journal: Journal) -> None:
    top = repository.top
    write(top, {"src/a.py": "x = 'dirty'\n", "stranger.py": "s = 1\n", ".gitignore": "*.log\n", "a.log": "l\n"})
    write(top, {"big.bin": b"0" * 5_000_001, "staged.py": "t = 1\n"})
    git(top, "add", "staged.py")
    index = (top / ".git/index").read_bytes()
    journal.attempt(BASELINE)
    assert git(top, "for-each-ref", "refs/coderefine") == ""
    journal.attempt(FIRST)
    base, tip = (f"refs/coderefine/{journal.run}/{n}" for n in (0, 1))
    assert git(top, "ls-tree", "-r", "--name-only", base).split("\n") == [
        "gone.py",
        "src/a.py",
        "staged.py",
    ]
    assert journal.untracked() == {".gitignore": b"*.log\n", "stranger.py": b"s = 1\n"}
    assert git(top, "show", f"{base}:src/a.py") == "x = 'dirty'"
    assert git(top, "-c", "core.quotePath=false", "diff", "--name-status", base, tip).split("\n") == [
        "D\tgone.py",
        "A\tnew/é.bin",
        "M\tsrc/a.py",
    ]
    assert git(top, "rev-parse", f"{tip}^", f"{base}^").split() == [git(top, "rev-parse", n) for n in (base, "HEAD")]
    assert git(top, "log", "-1", "--format=%an|%B", tip) == "coderefine|search: swap\n\nrefused: no better"
    assert (top / ".git/index").read_bytes() == index
    assert git(top, "stash", "list") == ""


def test_a_resumed_run_begins_again_with_the_tree_as_it_is_then(repository: Repository, journal: Journal) -> None:
    """Edits made between counted as part of the patch, and attempts of the killed part stayed among the new ones."""
    top, refs = repository.top, f"refs/coderefine/{journal.run}"
    write(top, {"notes.txt": "then\n"})
    for attempt in (BASELINE, FIRST, replace(FIRST, number=2)):
        journal.attempt(attempt)
    journal.finish(Outcome(replace(FIRST, number=2), BASELINE, Stop.INTERRUPTED))
    write(top, {"src/a.py": "x = 'edited'\n"})
    (top / "notes.txt").unlink()

    resumed = Journal.load(repository, journal.run).resumed()
    assert len(resumed.attempts()) == 3, "their verdicts can be used again, until the start is judged"
    resumed.attempt(BASELINE)
    assert resumed.attempts() == (BASELINE,)
    assert git(top, "for-each-ref", "refs/coderefine") == ""
    assert (resumed.ending(), resumed.outcome()) == (None, None)
    resumed.attempt(FIRST)
    resumed.attempt(BASELINE)  # with more checks
    assert Journal.load(repository, journal.run).attempts() == (BASELINE, FIRST)
    assert git(top, "show", f"{refs}/0:src/a.py") == "x = 'edited'"
    assert git(top, "for-each-ref", "--format=%(refname)", "refs/coderefine").split() == [f"{refs}/0", f"{refs}/1"]
    assert resumed.untracked() == {}
    again = Journal.load(repository, journal.run).resumed()
    again.attempt(BASELINE)
    assert again.attempts() == (BASELINE,)


@pytest.mark.parametrize(
    "path", ["../out.py", "/etc/x", ".git/hooks/pre-commit", "a/../../b", "src/.GIT/config", "x" * 300, "\ud800"]
)
def test_a_refused_path_is_recorded_but_never_laid_out(journal: Journal, path: str) -> None:
    attempt = Attempt(1, Patch({path: b"x"}), verdict=Verdict(ok=False, reason="outside"))
    journal.attempt(attempt)
    assert journal.attempts() == (attempt,)
    assert journal.commit(1) is None


def test_a_torn_last_line_is_ignored_and_the_next_record_begins_a_new_one(journal: Journal) -> None:
    journal.attempt(BASELINE)
    whole = lines(journal).read_bytes()
    for cut in (1, 9, len(whole) // 2, len(whole) - 1):
        lines(journal).write_bytes(whole + whole[:cut])
        assert journal.attempts() == (BASELINE,)
        journal.attempt(FIRST)
        assert journal.attempts() == (BASELINE, FIRST)
        lines(journal).write_bytes(whole)


def test_any_other_damage_is_an_error(journal: Journal) -> None:
    journal.attempt(BASELINE)
    journal.attempt(FIRST)
    whole = bytearray(lines(journal).read_bytes())
    for place in (0, 12, len(whole) // 3):
        damaged = bytes(whole[:place]) + bytes([whole[place] ^ 1]) + bytes(whole[place + 1 :])
        lines(journal).write_bytes(damaged)
        with pytest.raises(JournalError, match="line 1 is damaged"):
            journal.attempts()
    assert next(found.trouble for found in runs(journal.repository))


def test_a_missing_content_is_an_error(journal: Journal) -> None:
    journal.attempt(FIRST)
    for blob in (journal.folder / "blobs").iterdir():
        blob.write_bytes(b"other")
    with pytest.raises(JournalError, match="recorded content is damaged"):
        journal.attempts()


def test_answers_are_remembered(repository: Repository, journal: Journal) -> None:
    assert journal.recall("key") is None
    for key, value in (("key", "answer é \ud800\x00"), ("../../escape", "x"), ("k" * 10_000, "")):
        journal.remember(key, value)
        assert Journal.load(repository, journal.run).recall(key) == value
    journal.remember("key", "newer")
    assert journal.recall("key") == "newer"
    assert all(
        path.parent == journal.folder / "answers" for path in journal.folder.rglob("*.json") if path.name != "run.json"
    )
    for path in (journal.folder / "answers").iterdir():
        path.write_text('{"key": "key", "value": "forged", "sha256": ""}')
    with pytest.raises(JournalError, match="damaged"):
        journal.recall("key")


def test_a_forged_answer_is_not_shown(journal: Journal) -> None:
    journal.remember("key", "answer")
    assert list(journal.answers()) == ["answer"]
    (path,) = (journal.folder / "answers").iterdir()
    path.write_text(path.read_text().replace("answer", "forged"))
    with pytest.raises(JournalError, match="damaged"):
        list(journal.answers())


def test_runs_are_listed_newest_first_and_found_by_part_of_their_name(repository: Repository) -> None:
    made = [Journal.create(repository, Meta((str(n),))) for n in range(3)]
    assert [found.meta.argv for found in runs(repository)] == [("2",), ("1",), ("0",)] or len(
        {journal.run[:16] for journal in made}
    ) < 3
    assert Journal.load(repository).run == max(journal.run for journal in made)
    assert Journal.load(repository, made[0].run[-5:]).run == made[0].run
    with pytest.raises(JournalError, match="no run 'nothing'"):
        Journal.load(repository, "nothing")
    with pytest.raises(JournalError, match="fits several runs"):
        Journal.load(repository, made[0].run[:6])


def test_no_run_yet_and_a_newer_format(repository: Repository) -> None:
    assert list(runs(repository)) == []
    with pytest.raises(JournalError, match="no run is recorded"):
        Journal.load(repository)
    journal = Journal.create(repository, Meta())
    path = journal.folder / "run.json"
    path.write_text(path.read_text().replace('"format": 1', '"format": 2'))
    with pytest.raises(JournalError, match=r"recorded by another coderefine .* upgrade"):
        _ = journal.meta


def test_old_runs_go_with_their_refs(repository: Repository) -> None:
    made = [Journal.create(repository, Meta()) for _ in range(4)]
    for journal in made:
        journal.attempt(FIRST)
    names = sorted(journal.run for journal in made)
    assert sorted(prune(repository, 2)) == names[:2]
    assert sorted(found.run for found in runs(repository)) == names[2:]
    assert {ref.split("/")[2] for ref in repository.refs("refs/coderefine/")} == set(names[2:])
    assert prune(repository, 2) == ()


def test_the_record_of_a_run_in_progress_was_removed_by_another_worktree(repository: Repository) -> None:
    """After 50 runs in a linked worktree, the run that was still going on in this one had no record any more."""
    old, new = sorted((Journal.create(repository, Meta()) for _ in range(2)), key=lambda journal: journal.run)
    with running(old):
        assert prune(repository, 1) == ()
        assert [found.running for found in runs(repository)] == [False, True]
        with pytest.raises(JournalError, match=rf"run {old.run} has not ended \(process {os.getpid()}\)"), running(old):
            pass
    assert prune(repository, 1) == (old.run,)
    assert not new.folder.joinpath("lock").exists()


def test_one_run_at_a_time(repository: Repository) -> None:
    script = (
        "import sys; from pathlib import Path\n"
        "from coderefine.git import Repository; from coderefine.journal import lock\n"
        "with lock(Repository.open(Path(sys.argv[1]))): print('held', flush=True); input()"
    )
    argv = (sys.executable, "-c", script, str(repository.top))
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout
        child.stdout.readline()
        result = rf"another coderefine is running in .* \(process {child.pid}\)"
        with pytest.raises(JournalError, match=result), lock(repository):
            pass
        child.kill()
    with lock(repository):
        pass


def test_a_linked_worktree_shares_the_runs_not_the_lock(repository: Repository) -> None:
    linked = repository.top.parent / "linked"
    git(repository.top, "worktree", "add", "-q", "-b", "side", str(linked))
    there = Repository.open(linked)
    journal = Journal.create(there, Meta())
    journal.attempt(FIRST)
    assert Journal.load(repository, journal.run).attempts() == (FIRST,)
    with lock(repository), lock(there):
        pass


@pytest.mark.skipif(os.getuid() == 0 and not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_is_reported_in_one_line(journal: Journal) -> None:
    lines(journal).symlink_to("/dev/full")
    with pytest.raises(JournalError, match=r"cannot be written .*No space left on device"):
        journal.attempt(BASELINE)


def test_killed_while_writing_loses_at_most_the_last_record(repository: Repository) -> None:
    script = (
        "import sys; from pathlib import Path; from coderefine.core import *; from coderefine.git import Repository\n"
        "from coderefine.journal import Journal, Meta\n"
        "j = Journal.create(Repository.open(Path(sys.argv[1])), Meta())\n"
        "for n in range(10**6):\n"
        "    j.attempt(Attempt(n, Patch())); j.remember(str(n), 'x' * 5000); print(n, flush=True)\n"
    )
    for patience in (3, 11, 26):
        argv = (sys.executable, "-c", script, str(repository.top))
        with subprocess.Popen(argv, stdout=subprocess.PIPE) as child:
            assert child.stdout
            for _ in range(patience):
                child.stdout.readline()
            child.kill()
            result = child.stdout.read().split()
        last = int(result[-1]) if result else patience - 1
        journal = Journal.load(repository)
        numbers = [attempt.number for attempt in journal.attempts()]
        assert numbers == list(range(len(numbers)))
        assert len(numbers) in (last + 1, last + 2)
        assert journal.recall(str(last)) == "x" * 5000
