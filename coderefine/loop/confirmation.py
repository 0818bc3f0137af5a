"""Confirm, beside the search, what the baseline said of its failing tests: that they always fail, and never end."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

from coderefine import proc
from coderefine.core import Ask, Check, Critic, Patch, Views
from coderefine.errors import CriticError
from coderefine.loop.critique import critique
from coderefine.loop.flaky import OTHER_SEED, is_hung, unsteady

SUSPECT, CONFIRMED = 3.0, 10.0
"""CPU seconds after which a test is taken to hang, and after which that is certain enough to repair it."""
FAILED = 1
"""How often a test has failed alone when it comes here."""


class Confirmation:
    """Nothing to confirm, unless `begin_hanging` or `begin_steady` was called."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(2)
        self._hanging: Future[str] | None = None
        self._steady: Future[frozenset[str]] | None = None
        self.patient = False
        """True once a test that was ended early has been seen to end."""

    def begin_hanging(self, views: Views, critic: Critic, baseline: Check, ask: Ask) -> None:
        """Run one of the tests that hung at `baseline` alone and for longer: one is enough to know.

        It is the one that was ended last: those after the first are ended sooner.
        """
        hung = [case for case in baseline.cases.values() if is_hung(case)]
        if hung:
            case = max(hung, key=lambda one: one.seconds)
            alone = replace(ask, tests=(case.id,), rich=False, computing=CONFIRMED)
            self._hanging = self._threads.submit(_slow, views, critic, case.id, alone)

    def begin_steady(self, views: Views, critic: Critic, steady: tuple[str, ...], ask: Ask) -> None:
        """Run `steady`, tests that have failed alone once, until they have failed often enough."""
        if steady:
            ask = replace(ask, seed=OTHER_SEED)
            self._steady = self._threads.submit(unsteady, views, critic, steady, ask, failed=FAILED)

    def slow(self) -> str:
        """A test that was ended, and ends by itself; "" for none, and from the second time on. Waits for it."""
        if self._hanging is None:
            return ""
        found, self._hanging = self._hanging.result(), None
        self.patient = bool(found)
        return found

    def flaky(self) -> frozenset[str]:
        """Tests that pass now and then after all; none from the second time on. Waits for them."""
        if self._steady is None:
            return frozenset()
        found, self._steady = self._steady.result(), None
        return found

    def close(self) -> None:
        """End what still runs."""
        if any(one is not None and not one.done() for one in (self._hanging, self._steady)):
            with proc.stopped():
                self._threads.shutdown(cancel_futures=True)
        self._threads.shutdown()


def _slow(views: Views, critic: Critic, name: str, ask: Ask) -> str:
    """`name` when it ends by itself."""
    try:
        (check,) = critique(views, (critic,), Patch(), ask)
    except CriticError:
        return ""
    return "" if any(map(is_hung, check.cases.values())) else name
