"""Run all tests of a proof in several processes on this machine, if the user or the project's own settings say so.

The tests are divided by their files, as for the workers of a cluster (shards.py). Whether tests of one file affect
those of another can never be found out completely, since the patch itself may connect them (by a cache, for example).
So this is a weaker proof, and only a project whose own settings run its tests in parallel (pytest-xdist) gets it
without being asked. The tests must at least end as those of the unchanged tree, which run in one process: each test as
it did there, except that tests pass which failed there, also alone. Otherwise one process decides.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace

from coderefine.cluster.shards import divide, file_of, merged, parts
from coderefine.config import Config
from coderefine.core import Ask, Case, Check, Event, Listen, Patch, Status, View, Views
from coderefine.core.plurals import counted
from coderefine.errors import CriticError, RunnerError, WorkspaceError
from coderefine.project import Interpreter, Place, Protection
from coderefine.runner.cold import RunOptions, run_tests


@dataclass(slots=True)
class Processes:
    """Processes for the tests of one run of coderefine; the method `run_tests` replaces `runner.cold.run_tests`.

    `views`: makes the private view of each process. `most`: maximum number of processes at a time. `protection`: tells
    which files are tests. `base`: the patch of the unchanged tree, the first tree on which all tests run. `before`: the
    result of all tests there. `alone`: the tests that failed there without the others.
    """

    views: Views
    most: int
    protection: Protection
    base: Patch | None = None
    before: Check | None = None
    alone: set[str] = field(default_factory=set)

    def run_tests(  # noqa: PLR0917 - as the runner's
        self,
        view: View,
        place: Place,
        interpreter: Interpreter,
        config: Config,
        ask: Ask,
        listen: Listen = lambda _: None,
        options: RunOptions = RunOptions(),
    ) -> Check:
        """Run the project's tests; see `runner.cold.run_tests`. Only a proof with all tests is divided."""

        def run(view: View, config: Config, ask: Ask, listen: Listen) -> Check:
            return run_tests(view, place, interpreter, config, ask, listen, options)

        whole = ask.tests is None and ask.files is None
        shards = self._shards(view, ask) if ask.proof and whole else []
        if len(shards) < 2:
            check = run(view, config, ask, listen)
            self._learn(view, check, whole=whole)
            return check
        began = time.monotonic()
        divided = self._divided(view, list(parts(config, ask, shards)), listen, run)
        took = time.monotonic() - began
        if divided and self._is_as_before(divided):
            note = f"{counted(len(divided.cases), 'test')} ran in {len(shards)} processes at a time"
            return replace(divided, notes=(*divided.notes, note))
        check = run(view, config, replace(ask, timeout=max(1.0, ask.timeout - took)), listen)
        note = f"all tests ran again in one process: {len(shards)} processes at a time gave other results than before"
        return replace(check, seconds=check.seconds + took, notes=(*check.notes, note))

    def _learn(self, view: View, check: Check, *, whole: bool) -> None:
        """Store what `check` shows about the unchanged tree."""
        if whole and self.base is None:
            self.base = view.patch
        if view.patch != self.base:
            return
        if whole:
            self.before = check
        else:
            self.alone.update(check.failing)

    def _shards(self, view: View, ask: Ask) -> list[tuple[str, ...]]:
        """Return the shards for a proof; at most one if it must run in one process, or if shards save little time.

        The tests must be those of the unchanged tree.
        """
        before, base = self.before, self.base
        if before is None or base is None or not before.complete or not _is_separate(view, ask):
            return []
        changed = view.patch.files.keys() - base.files.keys()
        known = all("::" in name for name in before.failing) and not any(map(self.protection.is_test, changed))
        return _shards(before, self.most) if known else []

    def _divided(
        self,
        view: View,
        jobs: Sequence[tuple[Config, Ask]],
        listen: Listen,
        run: Callable[[View, Config, Ask, Listen], Check],
    ) -> Check | None:
        """Return the merged result of `jobs`, each in a new view, so that `view` itself stays clean.

        Return None if a run in one process must decide: if pytest failed, a test ran twice, or a test changed the files
        of tests.
        """

        def one(job: tuple[Config, Ask], tell: Listen) -> Check | None:
            with suppress(CriticError, RunnerError, WorkspaceError), self.views.open(view.patch) as own:
                check = run(own, *job, tell)
                paths = {case.path for case in check.cases.values() if case.path}
                return check if all(own.read(path) == view.read(path) for path in paths) else None
            return None

        with ThreadPoolExecutor(len(jobs)) as threads:
            found = [check for check in threads.map(one, jobs, _added_up(listen, len(jobs))) if check is not None]
        if len(found) < len(jobs):
            return None
        check = merged(found)
        return check if len(check.cases) == sum(len(one.cases) for one in found) else None

    def _is_as_before(self, check: Check) -> bool:
        """Return whether each test ended as on the unchanged tree, or passes now and failed there alone, too.

        A test that fails only because another test ran before it would pass in a shard without any repair. A test that
        fails as before may need a test of another shard.
        """
        before = self.before.cases if self.before else {}

        def fits(then: Case, now: Case) -> bool:
            if then.status.bad:
                return now.id in self.alone and now.status is Status.PASSED
            return now.status is then.status

        cases = check.cases
        return check.complete and cases.keys() == before.keys() and all(fits(before[id], cases[id]) for id in cases)


def _is_separate(view: View, ask: Ask) -> bool:
    """Return whether two processes share neither files nor a network: in overlays, without access to other files."""
    needs = ask.freedom.needs if ask.freedom else None
    return view.isolation == "overlay, network off" and not (needs and (needs.write or needs.sockets))


def _shards(before: Check, most: int) -> list[tuple[str, ...]]:
    """Divide the test files into at most `most` shards; all files with failing tests are in the first one.

    One of these tests may fail because of another one. Of these files only the first is named, since the first shard
    runs all files that no shard names (see `parts`).
    """
    bad = [file_of(before.cases[name]) for name in before.failing]
    seconds: defaultdict[str, float] = defaultdict(float)
    for case in before.cases.values():
        seconds[bad[0] if file_of(case) in bad else file_of(case)] += case.seconds
    return sorted(divide(seconds, most), key=lambda shard: not bad or bad[0] not in shard)


def _added_up(listen: Listen, number: int) -> Iterator[Listen]:
    """Yield a listener for each of `number` processes; the numbers of tests that they report are added up."""
    turn = threading.Lock()
    counts: dict[int, tuple[int, int]] = {}  # index of the process -> tests done, all its tests

    def listener(index: int) -> Listen:
        def tell(event: Event) -> None:
            with turn:
                if event.kind == "tests":
                    counts[index] = (event.done, event.total or 0)
                    done, total = map(sum, zip(*counts.values(), strict=True))
                    event = replace(event, done=done, total=total)
                listen(event)

        return tell

    return map(listener, range(number))


__all__ = ["Processes"]
