"""What has to change on a pull request so that it says what the bundle says, and nothing twice."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from coderefine.errors import PublishError
from coderefine.publishers.hosts.bundle import Suggestion

MOST = 30
"""Inline remarks on one pull request."""


class MovedError(PublishError):
    """Somebody pushed, or closed the pull request: nothing may be said on it."""


@dataclass(frozen=True, slots=True)
class Posted:
    """A remark of ours that is there already. `replied`: somebody answered, so it is not ours alone.

    `outdated`: its lines changed, so the host no longer lets anybody accept it.
    """

    id: str
    fingerprint: str
    thread: str = ""
    replied: bool = False
    resolved: bool = False
    outdated: bool = False

    @property
    def stands(self) -> bool:
        """Whether it still says what it said: it can be accepted, or somebody has settled it."""
        return self.resolved or not self.outdated


@dataclass(frozen=True, slots=True)
class Plan:
    """`post` anew; of what is `stale`, `remove` what nobody answered and `resolve` the others."""

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


def plan(wanted: Iterable[Suggestion], posted: Iterable[Posted]) -> Plan:
    """Compare by fingerprint. Of two equal remarks the older stays; a resolved one is not posted again."""
    wishes = {suggestion.fingerprint: suggestion for suggestion in wanted}
    standing: set[str] = set()
    stale = []
    for remark in posted:
        if remark.stands and remark.fingerprint in wishes.keys() - standing:
            standing.add(remark.fingerprint)
        else:
            stale.append(remark)
    fresh = [wish for mark, wish in wishes.items() if mark not in standing]
    return Plan(tuple(fresh[: max(0, MOST - len(standing))]), tuple(stale))


def inline(wanted: Iterable[Suggestion]) -> int:
    """How many remarks there will be once `plan` is carried out."""
    return min(MOST, len({one.fingerprint for one in wanted}))
