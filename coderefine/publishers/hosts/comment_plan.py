"""Compute what to change on a pull request so that it shows the bundle, and nothing twice."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from coderefine.errors import PublishError
from coderefine.publishers.hosts.bundle import Suggestion

MOST = 30
"""Maximum number of inline suggestions on one pull request."""


class MovedError(PublishError):
    """The pull request was closed or has a new head: nothing may be posted on it."""


@dataclass(frozen=True, slots=True)
class Posted:
    """A comment of ours that was posted before.

    `replied`: somebody answered, so it must not be deleted. `outdated`: its lines changed, so the host no longer lets
    anybody accept it.
    """

    id: str
    fingerprint: str
    thread: str = ""
    replied: bool = False
    resolved: bool = False
    outdated: bool = False

    @property
    def stands(self) -> bool:
        """Return whether the comment is still valid: it can be accepted, or it was resolved."""
        return self.resolved or not self.outdated


@dataclass(frozen=True, slots=True)
class CommentPlan:
    """What to do: `post` new comments; of the `stale` ones `remove` those without an answer, `resolve` the others."""

    post: tuple[Suggestion, ...] = ()
    stale: tuple[Posted, ...] = ()

    @property
    def remove(self) -> tuple[Posted, ...]:
        return tuple(remark for remark in self.stale if not remark.replied)

    @property
    def resolve(self) -> tuple[Posted, ...]:
        return tuple(remark for remark in self.stale if remark.replied and not remark.resolved)

    def __bool__(self) -> bool:
        return bool(self.post or self.remove or self.resolve)


def plan(wanted: Iterable[Suggestion], posted: Iterable[Posted]) -> CommentPlan:
    """Compare by fingerprint.

    Of two equal comments the older one stays; a resolved one is not posted again.
    """
    wishes = {suggestion.fingerprint: suggestion for suggestion in wanted}
    standing: set[str] = set()
    stale = []
    for remark in posted:
        if remark.stands and remark.fingerprint in wishes.keys() - standing:
            standing.add(remark.fingerprint)
        else:
            stale.append(remark)
    fresh = [wish for mark, wish in wishes.items() if mark not in standing]
    return CommentPlan(tuple(fresh[: max(0, MOST - len(standing))]), tuple(stale))


def inline(wanted: Iterable[Suggestion]) -> int:
    """Return how many comments there will be after `plan` is carried out."""
    return min(MOST, len({one.fingerprint for one in wanted}))
