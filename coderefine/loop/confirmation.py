"""Confirm, beside the search, what the baseline shows of its failing tests: that they always fail."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

from coderefine import proc
from coderefine.core import Ask, Critic, Views
from coderefine.loop.flaky import OTHER_SEED, unsteady

SUSPECT, SLOW = 2.0, 3.0
"""CPU seconds after which a test is taken to hang: on the untouched tree (see runner/suspect.py), and on others."""
FAILED = 1
"""How often a test has failed alone when it comes here."""


class Confirmation:
    """Nothing to confirm, unless `begin` was called."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(1)
        self._steady: Future[frozenset[str]] | None = None

    def begin(self, views: Views, critic: Critic, steady: tuple[str, ...], ask: Ask) -> None:
        """Run `steady`, tests that have failed alone once, until they have failed often enough."""
        if steady:
            ask = replace(ask, seed=OTHER_SEED)
            self._steady = self._threads.submit(unsteady, views, critic, steady, ask, failed=FAILED)

    def flaky(self) -> frozenset[str]:
        """Tests that pass now and then after all; none from the second time on. Waits for them."""
        if self._steady is None:
            return frozenset()
        found, self._steady = self._steady.result(), None
        return found

    def close(self) -> None:
        """End what still runs."""
        if self._steady is not None and not self._steady.done():
            with proc.stopped():
                self._threads.shutdown(cancel_futures=True)
        self._threads.shutdown()
