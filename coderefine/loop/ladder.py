"""A sequence of proposers, cheapest first; after an accepted patch, the cheaper proposers start again."""

from __future__ import annotations

from collections.abc import Sequence

from coderefine.core import KEEPING, Cost, Patch, Proposals, Proposer, Situation, Views


class Ladder:
    """Gets each patch from the cheapest proposer that still has a patch.

    After an accepted patch the cheaper proposers start again on the improved tree (a model's repair may leave lint
    findings that ruff fixes at no cost), while the more expensive proposers keep their state. While tests fail, changes
    that must keep behaviour come last: they can take minutes, and the user waits for the tests to pass.
    """

    def __init__(self, proposers: Sequence[Proposer], views: Views) -> None:
        self._proposers = tuple(proposers)
        self._views = views
        self._running: dict[str, Proposals | None] = {}
        """The running generator of each proposer, by its name; None: the proposer has no further patch."""
        self._last = 0
        """Index of the proposer that was asked last."""
        self._paid = Cost()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(proposer.name for proposer in self._proposers)

    @property
    def reason(self) -> str:
        """Return why a proposer proposes nothing; "" if no proposer gives a reason."""
        return next((reason for one in self._proposers if (reason := getattr(one, "reason", ""))), "")

    @property
    def coming(self) -> Sequence[Patch]:
        """Return the patches that the last proposer will propose next, unless the situation changes."""
        return getattr(self._proposers[self._last], "coming", ())

    @property
    def spent(self) -> Cost:
        return sum((proposer.spent for proposer in self._proposers), Cost())

    @property
    def last_cost(self) -> Cost:
        """Return the cost since the last read of this property."""
        now, before = self.spent, self._paid
        self._paid = now
        usd = None if now.usd is None or before.usd is None else now.usd - before.usd
        return Cost(
            now.requests - before.requests,
            now.prompt_tokens - before.prompt_tokens,
            now.completion_tokens - before.completion_tokens,
            usd,
            test_runs=now.test_runs - before.test_runs,
        )

    def next(self, situation: Situation) -> Patch | None:
        """Return the next patch, or None if no proposer has one. Raises the errors of the proposers."""
        failing = any(finding.symbol in situation.best.cases for finding in situation.findings)
        order = sorted(enumerate(self._proposers), key=lambda item: failing and item[1].name in KEEPING)
        for index, proposer in order:
            self._last = index
            if (patch := self._ask(proposer, situation)) is not None:
                return patch
            self._running[proposer.name] = None
        return None

    def close(self) -> None:
        """Close every running proposer, with its servers, threads and files."""
        for running in self._running.values():
            if running is not None:
                running.close()

    def climbed(self) -> None:
        """Restart the cheaper proposers, because the last patch was accepted."""
        for proposer in self._proposers[: self._last]:
            if (running := self._running.pop(proposer.name, None)) is not None:
                running.close()

    def _ask(self, proposer: Proposer, situation: Situation) -> Patch | None:
        if proposer.name not in self._running:
            started = self._running[proposer.name] = proposer.propose(situation, self._views)
            return next(started, None)
        running = self._running[proposer.name]
        try:
            return running.send(situation) if running else None
        except StopIteration:
            return None
