"""Proposes one patch that is given: picked among the plausible ones of an earlier run, or made by somebody else."""

from __future__ import annotations

from dataclasses import replace

from coderefine.core import Alternative, Cost, Offer, Patch, Proposals, Situation, Views


class Given:
    """`name`: the origin of the patch. `doubt`: why tests alone did not decide ("": they do); its evidence says so."""

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
        """The patch, once."""
        self.proposed = self._patch
        yield self._patch
