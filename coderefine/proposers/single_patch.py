"""Propose one given patch: a plausible one of an earlier run that the user picked, or one made outside coderefine."""

from __future__ import annotations

from dataclasses import replace

from coderefine.core import Alternative, Cost, Offer, Patch, Proposals, Situation, Views


class Given:
    """Proposes one patch, which it is given.

    `name`: its origin. `doubt`: why tests alone do not prove it, for the report; "" if they do.
    """

    def __init__(self, alternative: Alternative, name: str, doubt: str = "") -> None:
        self.name = name
        self._patch = replace(alternative.patch, origin=name)
        self.changed = alternative.changed
        self.offer = Offer((replace(alternative, patch=self._patch),), why=doubt) if doubt else None
        self.alternatives: tuple[Patch, ...] = ()
        self.proposed: Patch | None = None
        self.first_candidate: float | None = None
        self.hindrance = ""

    @property
    def spent(self) -> Cost:
        return Cost()

    def propose(self, situation: Situation, views: Views) -> Proposals:  # noqa: ARG002 - as Proposer.propose
        """Yield the patch, once."""
        self.proposed = self._patch
        yield self._patch
