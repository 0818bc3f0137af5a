"""Confirm, beside the search, what the baseline said of its failing tests: that they always fail, and never end."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

from coderefine import proc
from coderefine.core import Ask, Case, Check, Critic, Patch, Views
from coderefine.errors import CriticError
from coderefine.loop.critique import critique
from coderefine.loop.flaky import OTHER_SEED, is_hung, unsteady

SUSPECT, CONFIRMED = 3.0, 10.0
"""CPU seconds after which a test is taken to hang, and after which that is certain enough to repair it."""
FAILED = 1
"""How often a test has failed alone when it comes here."""


@dataclass(frozen=True, slots=True)
class Confirmed:
    """`flaky`: tests that pass now and then after all. `slow`: a test that was ended, and ends by itself."""

    flaky: frozenset[str] = frozenset()
    slow: str = ""


class Confirmation:
    """Nothing to confirm, unless `begin` was called."""

    def __init__(self) -> None:
        self._threads: ThreadPoolExecutor | None = None
        self._found: Future[Confirmed] | None = None
        self.patient = False
        """True once a test that was ended early has been seen to end."""

    def begin(self, views: Views, critic: Critic, baseline: Check, steady: tuple[str, ...], ask: Ask) -> None:
        """Run `steady`, tests that have failed twice, until they have failed often enough.

        Then one of the tests that hung at `baseline`, alone and for longer: one is enough to know.
        """
        hung = [case for case in baseline.cases.values() if is_hung(case)]
        if hung or steady:
            self._threads = ThreadPoolExecutor(1)
            self._found = self._threads.submit(_confirmed, views, critic, hung, steady, ask)

    def settled(self) -> Confirmed:
        """What came of it, once; waits for it."""
        if self._found is None:
            return Confirmed()
        found, self._found = self._found.result(), None
        self.patient = bool(found.slow)
        return found

    def close(self) -> None:
        """End what still runs."""
        if self._threads is not None:
            if self._found is not None and not self._found.done():
                with proc.stopped():
                    self._threads.shutdown(cancel_futures=True)
            self._threads.shutdown()


def _confirmed(views: Views, critic: Critic, hung: list[Case], steady: tuple[str, ...], ask: Ask) -> Confirmed:
    """The tests that hung are tried by the one that was ended last: those after the first are ended sooner."""
    slow = ""
    if hung:
        case = max(hung, key=lambda one: one.seconds)
        try:
            alone = replace(ask, tests=(case.id,), rich=False, computing=CONFIRMED)
            (check,) = critique(views, (critic,), Patch(), alone)
            slow = "" if any(map(is_hung, check.cases.values())) else case.id
        except CriticError:
            slow = ""
    return Confirmed(unsteady(views, critic, steady, replace(ask, seed=OTHER_SEED), failed=FAILED), slow)
