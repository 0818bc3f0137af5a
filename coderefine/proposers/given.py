"""Proposes one patch that a person picked among the plausible ones of an earlier run."""

from __future__ import annotations

from dataclasses import replace

from coderefine.core import Alternative, Cost, Offer, Patch, Proposals, Situation, Views


class Given:
    """`why`: how the patch came to be picked; its evidence says so, because tests alone did not decide."""

    name = "pick"

    def __init__(self, alternative: Alternative, why: str) -> None:
        self._patch = replace(alternative.patch, origin=self.name)
        self.changed = alternative.changed
        self.offer: Offer | None = Offer((replace(alternative, patch=self._patch),), why=why)
        self.alternatives: tuple[Patch, ...] = ()
        self.proposed: Patch | None = None
        self.first_candidate: float | None = None
        self.hindrance = ""

    @property
    def spent(self) -> Cost:
        return Cost()

    def propose(self, situation: Situation, views: Views) -> Proposals:  # noqa: ARG002 - as Proposer.propose
        """The patch, once."""
        self.proposed = self._patch
        yield self._patch
