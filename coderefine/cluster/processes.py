"""Run the tests of a proof in several processes on this machine, where this gives the same results as one process.

The tests are divided by their files, as for the workers of a cluster (shards.py). That they do not depend on each other
is found, not assumed: the unchanged tree runs in one process, and the proof of a patch in several. The proof counts if
each test ends as before, except that a test passes now that failed, also alone. Otherwise it runs once more in one
process, which decides; if the results then differ from those of the shards, the tests depend on each other, and are not
divided again until one of them, their data or a setting changes.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from coderefine.cluster.shards import SuiteRecord, merged, parts, same
from coderefine.config import Config
from coderefine.core import Ask, Case, Check, Event, Listen, Patch, View, Views
from coderefine.core.plurals import counted
from coderefine.errors import CriticError, JournalError, RunnerError, WorkspaceError
from coderefine.project import Interpreter, Place, Protection
from coderefine.project.protection import protected_name
from coderefine.runner.cold import RunOptions, run_tests
from coderefine.workspace.originals import Originals

RECORD = "coderefine/dependent-tests"
"""The file in the git directory with the digest of tests that depend on each other."""


@dataclass(slots=True)
class Processes:
    """Processes for the tests of one run of coderefine; the method `run_tests` replaces `runner.cold.run_tests`.

    `views`: makes the private view of each process. `most`: maximum number of processes at a time. `base`: the patch of
    the unchanged tree. `before`: the result of all tests there. `alone`: the tests that failed there without the
    others.
    """

    views: Views
    most: int
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

        whole = _is_whole(ask)
        if ask.proof and whole and (shards := self._shards(view, place, config)):
            began = time.monotonic()
            divided = self._divided(view, list(parts(config, ask, place.prefix, shards)), listen, run)
            if divided and self._is_as_before(divided):
                note = f"{counted(len(divided.cases), 'test')} ran in {len(shards)} processes at a time"
                return replace(divided, notes=(*divided.notes, note))
            check = run(view, config, ask, listen)
            if divided and divided.complete and not same(divided, check):
                _record(place, _digest(view, place, config))
            return replace(check, seconds=time.monotonic() - began)
        check = run(view, config, ask, listen)
        self._learn(view, check, whole=whole)
        return check

    def _learn(self, view: View, check: Check, *, whole: bool) -> None:
        """Store what `check` shows about the unchanged tree, which is the first tree on which all tests ran."""
        if whole and self.base is None:
            self.base = view.patch
        if view.patch != self.base:
            return
        if whole:
            self.before = check
        else:
            self.alone.update(check.failing)

    def _shards(self, view: View, place: Place, config: Config) -> list[tuple[str, ...]]:
        """Return the shards for a proof; none if it must run in one process, or if shards would save little time.

        Two processes must share neither files nor a network; views that are overlays guarantee this.
        """
        before = self.before
        if before is None or not before.complete or view.top != place.top or "network off" not in view.isolation:
            return []
        found = _shards(before, self.most)
        return found if len(found) > 1 and _recorded(place) != _digest(view, place, config) else []

    def _divided(
        self,
        view: View,
        jobs: Sequence[tuple[Config, Ask]],
        listen: Listen,
        run: Callable[[View, Config, Ask, Listen], Check],
    ) -> Check | None:
        """Return the merged result of `jobs`, each in a new view, so that `view` itself stays clean.

        Return None if a run in one process must decide: if pytest failed, or a test changed the files of tests.
        """

        def one(job: tuple[Config, Ask], tell: Listen) -> Check | None:
            with suppress(CriticError, RunnerError, WorkspaceError), self.views.open(view.patch) as own:
                check = run(own, *job, tell)
                paths = {case.path for case in check.cases.values() if case.path}
                return check if all(own.read(path) == view.read(path) for path in paths) else None
            return None

        with ThreadPoolExecutor(len(jobs)) as threads:
            found = [check for check in threads.map(one, jobs, _added_up(listen, len(jobs))) if check is not None]
        return merged(found) if len(found) == len(jobs) else None

    def _is_as_before(self, check: Check) -> bool:
        """Return whether each test ended as on the unchanged tree, or passes now and failed there alone, too.

        A test that fails only because another test ran before it would pass in a shard without any repair.
        """
        before = self.before.cases if self.before else {}

        def fits(then: Case, now: Case) -> bool:
            return now.status == then.status or (now.id in self.alone and not now.status.bad)

        cases = check.cases
        return check.complete and cases.keys() == before.keys() and all(fits(before[id], cases[id]) for id in cases)


def _is_whole(ask: Ask) -> bool:
    return ask.tests is None and ask.files is None and not ask.stop_early


def _shards(before: Check, most: int) -> list[tuple[str, ...]]:
    """Divide the test files into at most `most` shards; all files with failing tests are in the first one.

    One of these tests may fail because of another one. Of these files only the first is named, since the first shard
    runs all files that no shard names (see `parts`).
    """
    bad = [before.cases[name].path for name in before.failing]
    seconds: defaultdict[str, float] = defaultdict(float)
    for case in before.cases.values():
        seconds[bad[0] if case.path in bad else case.path] += case.seconds
    return sorted(SuiteRecord(seconds).shards(most), key=lambda shard: not bad or bad[0] not in shard)


def _digest(view: View, place: Place, config: Config) -> str:
    """Return a digest of the tests in `view`, their data, the configuration and the options of pytest."""
    protection = Protection.of(place, config)
    kept = [path for path in Originals(place.top) if protection.is_test(path) or protected_name(path)]
    found = [(path, hashlib.sha256(view.read(path) or b"").hexdigest()) for path in sorted(kept)]
    return hashlib.sha256(json.dumps([found, config.pytest_args]).encode()).hexdigest()


def _file(place: Place) -> Path:
    return (place.worktree_dir or place.top / ".git") / RECORD


def _recorded(place: Place) -> str:
    with suppress(OSError, ValueError):
        return _file(place).read_text("utf-8")
    return ""


def _record(place: Place, digest: str) -> None:
    from coderefine.journal import storage  # takes 20 ms, and only a proof needs it

    with suppress(JournalError, OSError):
        storage.make_folder(_file(place).parent)
        storage.write(_file(place), digest.encode())


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
