"""The pytest plugin of the servers: collects like any pytest run, then runs chosen items in forked children."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import pytest

from . import addopts, canary, cold_plugin, loaded_modules, test_coverage
from .child import Board, TimeOverError

STATUSES = ("", "passed", "failed", "error", "skipped", "xfailed", "xpassed")
"""Statuses by their byte in the shared memory (child.Board)."""
BAD = (2, 3)
AGAIN = 0.2
"""CPU seconds after which TimeOverError is raised again in a test that has caught it and still runs."""


class WatchRecord(NamedTuple):
    """For each test that ran, in order: its coverage (`hits`), and whether this may be incomplete (`unsure`)."""

    hits: list[Any]
    unsure: list[bool]


class ServerPlugin:
    """A pytest plugin that calls `work(plugin)` in place of pytest's own loop over the items.

    `files`: test files to collect, relative to pytest's root (None: all).
    """

    def __init__(self, work: Callable[[ServerPlugin], None], files: Sequence[str] | None = None) -> None:
        self._work = work
        self.choice = cold_plugin.TestChoice(files)
        self._reports: dict[str, list[Any]] = {}
        self.items: list[Any] = []
        self.broken: dict[str, str] = {}
        self.fault = ""
        self.config: Any = None
        self.session: Any = None
        self.job: dict[str, Any] = {}
        self.threads = 1
        """Number of threads before the collection: the main thread, and those of plug-ins, which no test needs."""
        self._canary: Any = None
        self._may_end = False
        """Whether the running code is that of a test."""
        self.void = ""
        """Why the results of this process are invalid; "" if they are valid."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        self.threads = threading.active_count()

    def pytest_ignore_collect(self, collection_path: Any, config: Any) -> bool | None:
        root = str(getattr(config, "rootpath", None) or config.rootdir)
        return None if self.choice.wants_file(root, str(collection_path)) else True

    def pytest_collectreport(self, report: Any) -> None:
        if report.outcome == "failed":
            self.broken[report.nodeid] = str(report.longrepr)[:2000]

    def pytest_internalerror(self, excinfo: Any) -> None:
        self.fault = excinfo.exconly()[:500]

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector: Any) -> Any:
        """Report SystemExit during the import of a module as an error of the module; otherwise it would end pytest."""
        outcome = yield
        if outcome.excinfo and isinstance(outcome.excinfo[1], SystemExit):
            outcome.force_result(pytest.CollectReport(collector.nodeid, "failed", "SystemExit at import", []))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: Any) -> bool:
        self.items = list(session.items)
        self.config = session.config
        self.session = session
        self._work(self)
        return True

    def pytest_runtest_logreport(self, report: Any) -> None:
        self._reports.setdefault(report.nodeid, []).append(report)

    def run(
        self, numbers: Sequence[int], board: Board, *, known: frozenset[int] = frozenset(), keep_going: bool = True
    ) -> bool:
        """Run the items `numbers` in this order by pytest's protocol, and write their statuses to `board`.

        Return whether no test outside `known` failed. Without `keep_going`, end the run at the first such failure.
        """
        fine = True
        for number, status in self._statuses(numbers, board):
            fine = fine and (status not in BAD or number in known)
            if not (fine or keep_going):
                break
        return fine

    def run_within(
        self, numbers: Sequence[int], board: Board, seconds: float, wanted: Callable[[int], bool] = lambda _: True
    ) -> bool:
        """Run the items `numbers` as `run` does, for `seconds` of CPU time; return whether this time was enough.

        `wanted` returns whether an item still has to run. It is called before the preceding item runs, because pytest
        then ends fixtures that the next item does not use.
        """
        over = self._timed(seconds)
        for _ in self._statuses(filter(wanted, numbers), board):
            if over:
                break
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        return not over

    def watch(
        self, numbers: Sequence[int], board: Board, watch: test_coverage.Watch, *, followed: str, seconds: float
    ) -> WatchRecord:
        """Run the items `numbers` as `run_within` does, and record the code that they execute.

        `followed`: the folder where Python programs that the tests start store which lines they executed. `seconds`:
        CPU time after which the run ends; the test that is then running gets no status, and the code that it executed
        is recorded only if it is the first test.
        """
        done = WatchRecord([], [])
        over = self._timed(seconds)
        for number, item, following in self._items(numbers):
            board.begin(number)
            watch.begin(number)
            status = self._protocol(item, following)
            if over and done.hits:
                break
            if followed:
                watch.add(test_coverage.collect_followed(followed))
            hits, unsure = watch.end()
            done.hits.append(hits)
            done.unsure.append(unsure)
            if over:
                break  # we have ended the test, so `status` is not the test's own
            board.note(number, status)
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        return done

    def _statuses(self, numbers: Iterable[int], board: Board) -> Iterator[tuple[int, int]]:
        for number, item, following in self._items(numbers):
            board.begin(number)
            status = self._protocol(item, following)
            board.note(number, status)
            yield number, status

    def _items(self, numbers: Iterable[int]) -> Iterator[tuple[int, Any, Any]]:
        """Yield each of `numbers` with its item and the item that runs next (None after the last)."""
        left = iter(numbers)
        number = next(left, None)
        while number is not None:
            following = next(left, None)
            yield number, self.items[number], None if following is None else self.items[following]
            number = following

    def _timed(self, seconds: float) -> list[int]:
        """End the running test after `seconds` of CPU time; return a list that is not empty from then on."""
        over: list[int] = []

        def end(number: int, _: Any) -> None:
            over.append(number)
            if self._may_end:
                raise TimeOverError

        signal.signal(signal.SIGPROF, end)
        signal.setitimer(signal.ITIMER_PROF, max(seconds, AGAIN), AGAIN)
        return over

    def prepare(self) -> None:
        """Create the canary tests; there are none if this version of pytest is not supported."""
        folder = os.path.join(self.job["scratch"], "canary")
        try:
            self._canary = canary.Canary(self.session, folder, (), self.job["top"])
        except (ImportError, AttributeError, TypeError, LookupError, OSError):
            self._canary = None

    def check(self, patched: Sequence[str], *, lazy: bool = True) -> None:
        """Check, after all tests passed, that a test could fail and that the patched code was loaded.

        If not, set `void` to the reason. `patched`: paths relative to the top. `lazy`: the project's modules may have
        been imported after the server started, so the loaded files are checked too.
        """
        if self._canary is not None and self.items:
            self._canary.patched = canary.full(self.job["top"], patched)
            secret = os.urandom(8).hex()
            name = self.items[int(secret, 16) % len(self.items)].nodeid
            self._canary.run([name], secret, "after", None)
            status = self._status(name)
            if status and STATUSES[status] != "failed":  # without a report nothing is known; the cold proof decides
                self.void = f"a test of ours that must fail ended as {STATUSES[status]}: pytest is disarmed"
        if lazy and not self.void:
            self.void = loaded_modules.LoadedModules(self.job).fault(patched)

    def run_directly(
        self, numbers: Sequence[int], board: Board, *, known: frozenset[int], keep_going: bool, way: Any
    ) -> bool:
        """Run the items as `run` does, but call tests directly if `way` (DirectCalls) trusts them.

        Return False if a result is uncertain, which ends the run; True otherwise.
        """
        way.watch()
        for number, _, following in self._items(numbers):
            board.begin(number)
            status = way.run(number, following, self._protocol)
            board.note(number, status)
            if status == 0 and not way.on_trial:
                return False
            if status in BAD and number not in known and not keep_going:
                break
        return True

    def _protocol(self, item: Any, following: Any) -> int:
        self._may_end = True
        with contextlib.suppress(TimeOverError):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        self._may_end = False
        return self._status(item.nodeid)

    def _status(self, name: str) -> int:
        reports = self._reports.pop(name, None)
        return STATUSES.index(cold_plugin.status_of(reports)) if reports else 0


def silence() -> None:
    """Redirect the standard streams to /dev/null.

    A large output then costs nothing, and a test that closes a stream does no harm.
    """
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    if null > 2:
        os.close(null)
    sys.stdout.flush()


def pytest_main(job: dict[str, Any], run: ServerPlugin) -> int:
    """Run pytest with the plugin `run` and the options of the cold runner; return its exit code.

    A server returns from here only when the work of `run` has ended.
    """
    run.job = job
    kept, _ = addopts.split_options(job["extra"])
    sys.argv = [sys.argv[0], *job["args"], *kept]
    own = ["--basetemp", os.path.join(job["scratch"], "pytest")]
    return int(pytest.main(sys.argv[1:] + own, [addopts.AddoptsFilter(Quiet()), run]))


class Quiet:
    """A channel that drops the reports of AddoptsFilter, because the cold baseline has sent them already."""

    def send(self, kind: str, **fields: Any) -> None:
        pass

    queue = send
