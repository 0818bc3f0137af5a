"""What has to change on a pull request so that it says what the bundle says, and nothing twice."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from coderefine.publishers.hosts.bundle import Suggestion

MOST = 30
"""Inline remarks on one pull request."""


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


@dataclass(frozen=True, slots=True)
class Plan:
    """`post` anew, `remove` what nobody answered, `resolve` the others."""

    post: tuple[Suggestion, ...] = ()
    remove: tuple[Posted, ...] = ()
    resolve: tuple[Posted, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.post or self.remove or self.resolve)


def plan(wanted: Iterable[Suggestion], posted: Iterable[Posted]) -> Plan:
    """Compare by fingerprint. Of two equal remarks the older stays; a resolved one is not posted again."""
    wishes = {suggestion.fingerprint: suggestion for suggestion in wanted}
    there: set[str] = set()
    stale = []
    for remark in posted:
        if remark.fingerprint in wishes.keys() - there and (remark.resolved or not remark.outdated):
            there.add(remark.fingerprint)
        else:
            stale.append(remark)
    fresh = [suggestion for mark, suggestion in wishes.items() if mark not in there]
    return Plan(
        tuple(fresh[: max(0, MOST - len(there))]),
        tuple(remark for remark in stale if not remark.replied),
        tuple(remark for remark in stale if remark.replied and not remark.resolved),
    )
