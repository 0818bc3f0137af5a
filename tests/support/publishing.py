"""A run in a repository, from the snapshot to the outcome, as the loop would make it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from coderefine.core import Attempt, Check, Cost, Evidence, Finding, Outcome, Patch, Stop
from coderefine.git import Repository
from coderefine.git.changes import hidden, known
from coderefine.journal import Journal, Meta
from coderefine.publishers import Snapshot
from tests.support.repo import git


@dataclass(frozen=True)
class Stage:
    """What a publisher is given."""

    snapshot: Snapshot
    outcome: Outcome

    @property
    def journal(self) -> Journal:
        return self.snapshot.journal

    @property
    def run(self) -> str:
        return self.snapshot.journal.run


def stage(
    top: Path, files: Mapping[str, str | bytes | None], summary: str = "swap the bounds", *, head: bool = False
) -> Stage:
    """A run at `top` whose best patch is `files`, the snapshot taken now. `head`: HEAD was judged, not the files."""
    repository = Repository.open(top)
    patch = Patch({path: data.encode() if isinstance(data, str) else data for path, data in files.items()}, "search")
    patch = Patch(patch.files, "search", summary)
    originals = {path: (top / path).read_bytes() if (top / path).is_file() else None for path in files}
    baseline = Attempt(0, Patch(), (Check("pytest", (Finding("pytest", "failed", "src/a.py", "no"),)),))
    best = Attempt(1, patch, (Check("pytest"),))
    outcome = Outcome(
        best,
        baseline,
        Stop.CLEAN,
        evidence=Evidence(flipped=("t::a",), kept=41, covered=(2, 2)),
        attempts=(baseline, best),
        cost=Cost(2, 1000, 234, 0.0123),
    )
    under = hidden(top, known(top, "HEAD")) if head else {}
    journal = replace(Journal.create(repository, Meta(("fix",), head=repository.head().sha)), under=under)
    return Stage(Snapshot(journal, repository.head(), originals, under), outcome)


def state(top: Path, without: Iterable[str] = ()) -> dict[str, str]:
    """Everything a user could lose: every file's bytes and mode, HEAD, refs, index and stash."""
    skipped = {top / path for path in without}
    files = {
        path.relative_to(top).as_posix(): f"{path.lstat().st_mode:o} {_digest(path)}"
        for path in sorted(top.rglob("*"))
        if ".git" not in path.relative_to(top).parts and path not in skipped
    }
    folder = Path(git(top, "rev-parse", "--absolute-git-dir"))
    inside = {name: _digest(folder / name) for name in ("index", "HEAD", "index.lock")}
    return {**files, **inside, "refs": git(top, "for-each-ref", "refs/heads", "refs/stash", "refs/tags")}


def _digest(path: Path) -> str:
    if path.is_symlink():
        return f"-> {path.readlink()}"
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
