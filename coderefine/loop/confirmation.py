"""Confirm, in parallel with the first proof, that the baseline's failing tests always fail."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

from coderefine import proc
from coderefine.core import Ask, Critic, Views
from coderefine.loop.flaky import OTHER_SEED, unsteady

FAILED = 1
"""Number of times that each test has already failed alone before it is confirmed."""


class Confirmation:
    """Reruns failing tests in a background thread; does nothing until `begin` is called."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(1)
        self._steady: Future[frozenset[str]] | None = None

    def begin(self, views: Views, critic: Critic, steady: tuple[str, ...], ask: Ask) -> None:
        """Start to rerun the tests `steady`, which have failed twice, until it is certain that they always fail."""
        if steady:
            ask = replace(ask, seed=OTHER_SEED)
            self._steady = self._threads.submit(unsteady, views, critic, steady, ask, failed=FAILED)

    def flaky(self) -> frozenset[str]:
        """Wait for the reruns and return the tests that passed in some of them; empty from the second call on."""
        if self._steady is None:
            return frozenset()
        found, self._steady = self._steady.result(), None
        return found

    def close(self) -> None:
        """Stop the reruns that are still running."""
        if self._steady is not None and not self._steady.done():
            with proc.stopped():
                self._threads.shutdown(cancel_futures=True)
        self._threads.shutdown()
