"""Propose existing patches: all patches of a recorded run, or a patch that the user has chosen or made elsewhere."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace

from coderefine.core import (
    PLAUSIBLE,
    Alternative,
    Attempt,
    Cost,
    Offer,
    Patch,
    Proposals,
    Proposer,
    Searcher,
    Situation,
    Views,
)
from coderefine.errors import ReplayMissError


class RecordedProposer(Searcher):
    """Proposes the patches of a recorded run, in their order.

    A patch of the model is made again from the recorded answers, and must equal the recorded patch. All other patches
    are taken from the record, because their search depends on time.

    `offer` is set if the recorded run considered the patch only plausible and did not apply it. It is the recorded
    offer for this patch, or a new offer for the same tests if the run dropped the offer later.
    """

    name = "replay"

    def __init__(self, attempts: Sequence[Attempt], offers: Sequence[Offer], model: Proposer) -> None:
        self._start = next((attempt for attempt in attempts if not attempt.number), None)
        self._attempts = tuple(attempt for attempt in attempts if attempt.number)
        self._offers = tuple(offers)
        self._model = model

    @property
    def spent(self) -> Cost:
        return self._model.spent

    def _offer(self, attempt: Attempt) -> Offer | None:
        """Return the offer for a plausible attempt; None for any other attempt.

        This is the recorded offer whose first alternative is this attempt; if there is none, a new offer for the tests
        that the attempt repaired.
        """
        why = attempt.verdict.reason
        if not why.startswith(PLAUSIBLE):
            return None
        for offer in self._offers:
            if dict(offer.alternatives[0].patch.files) == dict(attempt.patch.files):
                return offer
        bad = {id_ for id_, case in self._start.cases.items() if case.status.bad} if self._start else set()
        repaired = frozenset(id_ for id_ in bad if id_ not in attempt.cases or not attempt.cases[id_].status.bad)
        return Offer((Alternative(attempt.patch),), repaired, why.removeprefix(f"{PLAUSIBLE}: "))

    def propose(self, situation: Situation, views: Views) -> Proposals:
        """Yield the patch of each recorded attempt.

        Raises ReplayMissError if the model's answers lead to another patch.
        """
        with contextlib.ExitStack() as closing:
            asking: Proposals | None = None
            for attempt in self._attempts:
                patch = attempt.patch
                if patch.origin == self._model.name:
                    if asking is None:
                        asking = closing.enter_context(contextlib.closing(self._model.propose(situation, views)))
                        made = next(asking, None)
                    else:
                        made = _sent(asking, situation)
                    if made is None or made.files != attempt.patch.files:
                        raise ReplayMissError(
                            f"the replay made another attempt {attempt.number} than the recorded run: "
                            "coderefine, its configuration or an ignored file has changed"
                        )
                    patch = made
                self.proposed = patch
                self.offer = self._offer(attempt)
                situation = yield patch


def _sent(asking: Proposals, situation: Situation) -> Patch | None:
    try:
        return asking.send(situation)
    except StopIteration:
        return None


class Given(Searcher):
    """Proposes one given patch.

    `name`: the origin of the patch. `doubt`: why passing tests do not prove the patch, so that it is only offered; ""
    if they do.
    """

    def __init__(self, alternative: Alternative, name: str, doubt: str = "") -> None:
        self.name = name
        self._patch = replace(alternative.patch, origin=name)
        self.changed = alternative.changed
        self.offer = Offer((replace(alternative, patch=self._patch),), why=doubt) if doubt else None

    @property
    def spent(self) -> Cost:
        return Cost()

    def propose(self, situation: Situation, views: Views) -> Proposals:  # noqa: ARG002 - as Proposer.propose
        """Yield the patch, once."""
        self.proposed = self._patch
        yield self._patch
