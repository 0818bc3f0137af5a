"""The ladder of proposers, cheapest first; a climb sends the cheaper ones round again."""

from __future__ import annotations

from collections.abc import Sequence

from coderefine.core import Cost, Patch, Proposals, Proposer, Situation, Views


class Ladder:
    """Asks the cheapest proposer that still has an idea.

    After an accepted patch the cheaper rungs start afresh on the better tree (a model's repair may leave lint that
    ruff fixes for nothing), while the dearer ones keep their thread.
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
        """Why a proposer gave up, in its own words; empty when none says so."""
        return next((reason for one in self._proposers if (reason := getattr(one, "reason", ""))), "")

    @property
    def spent(self) -> Cost:
        return sum((proposer.spent for proposer in self._proposers), Cost())

    @property
    def last_cost(self) -> Cost:
        """What was spent since this was last asked."""
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
        """The next patch, or None when no rung has one. Raises what a proposer raises."""
        while self._at < len(self._proposers):
            patch = self._ask(situation)
            if patch is not None:
                return patch
            self._running[self._at] = None
            self._at += 1
        return None

    def close(self) -> None:
        """End every proposer that still runs: servers, threads and files of theirs go with it."""
        for running in self._running.values():
            if running is not None:
                running.close()

    def climbed(self) -> None:
        """The last patch was accepted: cheaper rungs look again."""
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
