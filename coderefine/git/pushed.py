"""Which commits a push would publish, as git tells its pre-push hook."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from coderefine.errors import GitError
from coderefine.git import process
from coderefine.git.changes import EMPTY_TREE

NOTHING = frozenset("0")
"""An object id of nothing but this stands for no commit."""


def pushed(top: Path, environ: Mapping[str, str], lines: str) -> tuple[tuple[str, str], ...]:
    """(since, commit) for each ref that is pushed: what pre-commit names, else git's `lines`, else the newest commit.

    A line is `LOCAL-REF LOCAL-ID REMOTE-REF REMOTE-ID` (githooks(5)); a ref that is deleted publishes nothing. What a
    remote has already is no part of a push: then the commit is compared with the last one that it has.
    """
    since, commit = environ.get("PRE_COMMIT_FROM_REF", ""), environ.get("PRE_COMMIT_TO_REF", "")
    if since or commit:
        return _ranges(top, [(commit or "HEAD", since)])
    told = [fields for line in lines.splitlines() if len(fields := line.split()) == 4]
    if not told:
        return (("HEAD~1", "HEAD"),)
    return _ranges(top, [(fields[1], fields[3]) for fields in told])


def _ranges(top: Path, told: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """`told`: pairs of what is pushed and what the remote has."""
    found: dict[tuple[str, str], None] = {}
    for local, remote in told:
        commit = "" if NOTHING.issuperset(local) else _commit(top, local)
        since = _since(top, remote, commit) if commit else ""
        if since:
            found[since, commit] = None
    return tuple(found)


def _since(top: Path, remote: str, commit: str) -> str:
    """What `commit` is compared with; "" when a remote has it already.

    A new branch, or one whose remote end is not known here, begins where it left what the remotes have.
    """
    if not NOTHING.issuperset(remote) and (known := _commit(top, remote)):
        return known
    new = _said(top, "rev-list", "--topo-order", "--reverse", commit, "--not", "--remotes").split()
    if not new:
        return ""
    return _commit(top, f"{new[0]}^") or EMPTY_TREE


def _commit(top: Path, name: str) -> str:
    """The commit that `name` (a commit, a tag of one) means; "" for none."""
    try:
        return _said(top, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    except GitError:
        return ""


def _said(top: Path, *args: str) -> str:
    result = process.run(args, cwd=top)
    if result.returncode:
        raise process.complaint(result, top)
    return result.text.strip()
