"""ColdPool, a pool without forks (for Windows, or if tests cannot be collected), and the choice of the pool."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace

from coderefine import proc
from coderefine.config import Config
from coderefine.core import Ask, Check, Coverage, Freedom, Listen, Patch, Status, Steps, Views
from coderefine.errors import CriticError, RunnerError
from coderefine.project import Interpreter, Place
from coderefine.runner.candidates import Candidate, Codes, Comparison, Judged, Plan
from coderefine.runner.cold import RunOptions, is_hung, run_tests
from coderefine.runner.pool import Pool, open_pool
from coderefine.runner.test_selection import nearest

ROOM, LEAST = 10.0, 20.0
"""Time limit of a candidate's tests: ROOM times their usual duration, but at least LEAST wall seconds."""
MOST_NEAR = 100
"""Maximum number of tests, passing at the baseline, that a candidate must also pass."""


@dataclass(slots=True)
class ColdPool:
    """Judges candidates like `Pool`, but each in a cold pytest process.

    `expected`: statuses of the cold baseline. `usual`: seconds that the baseline took. `why`: why nothing can
    be forked. For the other fields, see `Pool`.
    """

    views: Views
    place: Place
    interpreter: Interpreter
    config: Config
    patch: Patch
    workers: int
    expected: Mapping[str, Status]
    usual: float
    unfit: frozenset[str] = frozenset()
    broken: Mapping[str, str] = field(default_factory=dict)
    confined: tuple[str, ...] = ()
    steps: Steps = field(default_factory=dict)
    why: str = "nothing is forked here"
    freedom: Freedom = Freedom()
    _near: tuple[str, ...] = ()

    @property
    def costly(self) -> Mapping[str, float]:
        """Return no tests, because `observe` limits the tests that a candidate has to pass."""
        return {}

    @property
    def tests(self) -> tuple[str, ...]:
        """Return the ids of the tests that ran at the baseline."""
        return tuple(name for name in self.baseline() if "::" in name)

    def observe_rest(self, *_: object) -> Mapping[str, float]:
        """Run nothing: cold runs of more tests would take too long."""
        return {}

    def baseline(self) -> Mapping[str, Status]:
        """Return the statuses on the unchanged tree."""
        return self.expected

    def observe(self, failing: Sequence[str], others: Sequence[str] | None, *_: object) -> Coverage:
        """Choose the tests of `others` (None: of all tests) that candidates must pass, besides those of their plan.

        These are the tests nearest to `failing` that pass at the baseline. Return no executed lines: cold runs record
        them.
        """
        fine = [name for name in (self.tests if others is None else others) if not self.baseline()[name].bad]
        self._near = tuple(nearest(failing, fine)[:MOST_NEAR])
        return {}

    def probe(self, *_: object, **__: object) -> Comparison:
        """Return an empty comparison: behaviour beyond the tests cannot be observed without a fork."""
        return Comparison()

    def answers(self, *_: object) -> Mapping[str, Codes]:
        """Return no answers: behaviour beyond the tests cannot be observed without a fork."""
        return {}

    def judge(self, candidates: Iterable[Candidate], plan: Plan) -> Iterator[Judged]:
        """Judge `candidates`, and yield the verdicts in any order; request the next candidate when a worker is free."""
        source = iter(candidates)
        with ThreadPoolExecutor(self.workers) as threads:
            running: set[Future[Judged]] = set()
            more = True
            while (more or running) and time.monotonic() < plan.ends:
                while more and len(running) < self.workers:
                    candidate = next(source, None)
                    more = candidate is not None
                    if candidate is not None:
                        running.add(threads.submit(self._judge, candidate, plan))
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()

    def _judge(self, candidate: Candidate, plan: Plan) -> Judged:
        """Judge one candidate (in a thread), in the two stages of `plan`."""
        began = time.monotonic()
        statuses: dict[str, Status] = {}
        reason, hung = "", False
        for ask in self._asks(candidate, plan):
            try:
                check = self._run(candidate, ask)
            except CriticError as error:
                reason = str(error)
                break
            statuses.update({name: case.status for name, case in check.cases.items()})
            reason = self._reason(check, ask, plan)
            hung = any(map(is_hung, check.cases.values()))
            if reason:
                break
        seconds = time.monotonic() - began
        return Judged(candidate, statuses, "cold", not reason, 0.0, seconds, reason, self.why, hung)

    def _asks(self, candidate: Candidate, plan: Plan) -> Iterator[Ask]:
        patience = max(LEAST, ROOM * self.usual)
        every = Ask(known=plan.known, rich=False, seed=0, timeout=patience, freedom=self.freedom)
        first = tuple(name for name in candidate.first or plan.first if "::" in name)
        if not first:  # tests that could not be collected have no ids: collect all
            yield every
            return
        yield replace(every, tests=first, stop_early=not plan.keep_going)
        then = plan.then(candidate) if callable(plan.then) else plan.then
        if then := self._near if then is None else tuple(then):
            yield replace(every, tests=then, stop_early=True)

    def _reason(self, check: Check, ask: Ask, plan: Plan) -> str:
        """Return why the candidate is not plausible; "" if it is."""
        wanted = ask.tests if ask.tests is not None else self.tests
        wrong = [case for case in check.cases.values() if case.status.bad and case.id not in plan.known]
        bad = [f"{case.id} {case.status.value}" for case in wrong]
        gone = [f"{name} did not run" for name in wanted if name not in check.cases]
        return next(iter((*bad, *gone)), "")

    def _run(self, candidate: Candidate, ask: Ask) -> Check:
        patch = replace(self.patch, files={**self.patch.files, **candidate.files}) if candidate.files else self.patch
        with self.views.open(patch) as view:
            options = RunOptions(limit=max(2.0, ask.timeout / 4))
            return run_tests(view, self.place, self.interpreter, self.config, ask, options=options)


AnyPool = Pool | ColdPool


@contextmanager
def open_any_pool(
    views: Views,
    place: Place,
    interpreter: Interpreter,
    config: Config,
    *,
    patch: Patch,
    expected: Mapping[str, Status],
    seconds: Mapping[str, float],
    deadly: frozenset[str] = frozenset(),
    files: Sequence[str] | None = None,
    imports: Sequence[str] = (),
    freedom: Freedom = Freedom(),
    within: float = math.inf,
    workers: int | None = None,
    fork: bool = sys.platform != "win32",
    or_cold: bool = False,
    listen: Listen = lambda _: None,
) -> Iterator[AnyPool]:
    """Open a Pool, or a ColdPool if `fork` is False. For the other parameters see pool.open_pool.

    `or_cold`: also open a ColdPool if the tests cannot be collected, for example because conftest.py imports broken
    code; otherwise RunnerError is raised.
    """
    parts = (views, place, interpreter, config)
    cold = ColdPool(*parts, patch, workers or proc.processors(), expected, sum(seconds.values()), freedom=freedom)
    forks = open_pool(
        *parts,
        patch=patch,
        expected=expected,
        seconds=seconds,
        deadly=deadly,
        files=files,
        imports=imports,
        freedom=freedom,
        within=within,
        workers=workers,
        listen=listen,
    )
    with ExitStack() as stack:
        pool: AnyPool = cold
        try:
            pool = stack.enter_context(forks) if fork else cold
        except RunnerError as error:
            if not or_cold:
                raise
            cold.why = str(error)
        yield pool
