"""Sequence of proposers, cheapest first; after an accepted patch the cheaper ones start again."""

from __future__ import annotations

from collections.abc import Sequence

from coderefine.core import Cost, Patch, Proposals, Proposer, Situation, Views


class Ladder:
    """Gets patches from the cheapest proposer that still has one.

    After an accepted patch the cheaper proposers start again on the improved tree (a model's repair may leave lint
    findings that ruff fixes at no cost), while the more expensive ones keep their state.
    """

    def __init__(self, proposers: Sequence[Proposer], views: Views) -> None:
        self._proposers = tuple(proposers)
        self._views = views
        self._running: dict[int, Proposals | None] = {}
        self._at = 0
        self._paid = Cost()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(proposer.name for proposer in self._proposers)

    @property
    def reason(self) -> str:
        """Return the reason that a proposer gives for proposing nothing; "" if none does."""
        return next((reason for one in self._proposers if (reason := getattr(one, "reason", ""))), "")

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
        while self._at < len(self._proposers):
            patch = self._ask(situation)
            if patch is not None:
                return patch
            self._running[self._at] = None
            self._at += 1
        return None

    def close(self) -> None:
        """Close every running proposer, with its servers, threads and files."""
        for running in self._running.values():
            if running is not None:
                running.close()

    def climbed(self) -> None:
        """Restart the cheaper proposers, because the last patch was accepted."""
        for rung in range(self._at):
            if (running := self._running.pop(rung, None)) is not None:
                running.close()
        self._at = 0

    def _ask(self, situation: Situation) -> Patch | None:
        if self._at not in self._running:
            self._running[self._at] = self._proposers[self._at].propose(situation, self._views)
            return next(self._generator, None)
        if self._running[self._at] is None:
            return None
        try:
            return self._generator.send(situation)
        except StopIteration:
            return None

    @property
    def _generator(self) -> Proposals:
        running = self._running[self._at]
        assert running is not None, "only asked for a rung that runs"
        return running
