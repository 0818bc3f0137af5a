"""What a run's record is made of, beside the nouns of core."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from coderefine.core import Cost, Evidence, Finding, Offer, Stop


@dataclass(frozen=True, slots=True)
class Meta:
    """How a run was started. `config` is plain JSON; `head` the commit or None; `created` is Unix time."""

    argv: tuple[str, ...] = ()
    config: Mapping[str, object] = field(default_factory=dict)
    head: str | None = None
    scope: tuple[str, ...] = (".",)
    top: str = ""
    created: float = 0.0
    version: str = ""


@dataclass(frozen=True, slots=True)
class Ending:
    """An Outcome whose attempts are recorded elsewhere: they are named by number."""

    best: int
    baseline: int
    stop: Stop
    why: str = ""
    evidence: Evidence = Evidence()
    remaining: tuple[Finding, ...] = ()
    cost: Cost = Cost()
    offers: tuple[Offer, ...] = ()


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file of the working tree going from `before` to `after`; None is absent. `mode` is for a new file."""

    path: str
    before: bytes | None
    after: bytes | None
    mode: int | None = None


@dataclass(frozen=True, slots=True)
class IndexChange:
    """One index entry going from `before` to `after`, each `MODE BLOB` or None."""

    path: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Publication:
    """What was, or is about to be, written. `how` is files, commit, branch or undo.

    `head` is HEAD's commit before; `ref` the branch that moved (None: detached); `commit` and `tree` what it
    moved to; `temps` files prepared beside the real ones; `folders` those made for new files; `lock` the sha256
    of the index we hold ready in index.lock.
    """

    how: str
    top: str
    changes: tuple[FileChange, ...] = ()
    head: str | None = None
    ref: str | None = None
    commit: str | None = None
    tree: str | None = None
    staged: tuple[IndexChange, ...] = ()
    temps: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    lock: str | None = None
