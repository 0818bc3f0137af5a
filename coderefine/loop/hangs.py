"""Confirm, beside the search, that a test which was ended early would indeed not end."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

from coderefine import proc
from coderefine.core import Ask, Case, Check, Critic, Patch, Views
from coderefine.errors import CriticError
from coderefine.loop.critique import critique
from coderefine.runner.cold import HANG

SUSPECT, CONFIRMED = 3.0, 10.0
"""CPU seconds after which a test is taken to hang, and after which that is certain enough to repair it."""


class Hangs:
    """Nothing to confirm, unless `begin` was called."""

    def __init__(self) -> None:
        self._threads: ThreadPoolExecutor | None = None
        self._found: Future[tuple[Check, ...]] | None = None
        self.real = True
        """False once a test that was ended early has been seen to end."""

    def begin(self, views: Views, critic: Critic, baseline: Check, ask: Ask) -> None:
        """Run one of the tests that hung at `baseline` once more, alone and for longer: one is enough to know.

        It is the one whose end took the least time, for those after the first are ended sooner.
        """
        hung = sorted((case for case in baseline.cases.values() if is_hung(case)), key=lambda case: -case.seconds)
        if hung:
            self._threads = ThreadPoolExecutor(1)
            alone = replace(ask, tests=(hung[0].id,), rich=False, computing=CONFIRMED)
            self._found = self._threads.submit(critique, views, (critic,), Patch(), alone)

    def settled(self) -> Sequence[Case]:
        """The tests that ended after all, as they ended; waits for them. Nothing when the hang was real."""
        if self._found is None:
            return ()
        found, self._found = self._found, None
        try:
            (check,) = found.result()
        except CriticError:
            return ()
        ended = [case for case in check.cases.values() if not is_hung(case)]
        self.real = not ended
        return ended

    def close(self) -> None:
        """End what still runs."""
        if self._threads is not None:
            if self._found is not None and not self._found.done():
                with proc.stopped():
                    self._threads.shutdown(cancel_futures=True)
            self._threads.shutdown()


def is_hung(case: Case) -> bool:
    return case.failure is not None and case.failure.exception == HANG
