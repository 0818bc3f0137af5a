"""The pytest plugin of the servers: collects like any pytest run, then runs chosen items in forked children."""

from __future__ import annotations

import math
import os
import sys
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence

import pytest

from . import addopts, canary, cold_plugin, loaded_modules, test_coverage
from .child import Board

STATUSES = ("", "passed", "failed", "error", "skipped", "xfailed", "xpassed")
"""Statuses by their byte in the shared memory (child.Board)."""
BAD = (2, 3)


class RunRecord(NamedTuple):
    """What was recorded in a run, one item for each test that ran, in order.

    `hits`: its coverage. `unsure`: whether the coverage may be incomplete. `fine`: False if it failed and was not in
    `known`.
    """

    hits: List[Any]
    unsure: List[bool]
    fine: List[bool]


class ServerPlugin:
    """A pytest plugin that calls `work(session)` in place of pytest's own loop over the items.

    `files`: test files to collect, relative to pytest's root (None: all).
    """

    def __init__(self, work: Callable[["ServerPlugin"], None], files: Optional[Sequence[str]] = None) -> None:
        self._work = work
        self.choice = cold_plugin.TestChoice(files)
        self._reports: Dict[str, List[Any]] = {}
        self.items: List[Any] = []
        self.broken: Dict[str, str] = {}
        self.fault = ""
        self.config: Any = None
        self.session: Any = None
        self.job: Dict[str, Any] = {}
        self._canary: Any = None
        self.void = ""
        """Why the results of this process are invalid; "" if they are not."""

    def pytest_ignore_collect(self, collection_path: Any, config: Any) -> Optional[bool]:
        root = str(getattr(config, "rootpath", None) or config.rootdir)
        return None if self.choice.wants_file(root, str(collection_path)) else True

    def pytest_collectreport(self, report: Any) -> None:
        if report.outcome == "failed":
            self.broken[report.nodeid] = str(report.longrepr)[:2000]

    def pytest_internalerror(self, excinfo: Any) -> None:
        self.fault = str(excinfo.value)[:500]

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector: Any) -> Any:
        """Report SystemExit during the import of a module as its error; otherwise it would end pytest."""
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
        self,
        numbers: Sequence[int],
        board: Board,
        *,
        known: "frozenset[int]",
        keep_going: bool,
        watch: Any = None,
        followed: str = "",
        until: float = math.inf,
    ) -> RunRecord:
        """Run the items `numbers` in this order by pytest's protocol, and write their statuses to `board`.

        Without `keep_going` the first failure of a test outside `known` ends the run. `followed`: the folder where
        Python programs that the tests start store which lines they executed. `until`: time (monotonic) after which no
        further item is run.
        """
        done = RunRecord([], [], [])
        for place, number in enumerate(numbers):
            following = self.items[numbers[place + 1]] if place + 1 < len(numbers) else None
            item = self.items[number]
            board.begin(number)
            if watch is not None:
                watch.begin(number)
            status = self._protocol(item, following)
            if watch is not None:
                if followed:
                    watch.add(test_coverage.collect_followed(followed))
                hits, unsure = watch.end()
                done.hits.append(hits)
                done.unsure.append(unsure)
            board.note(number, status)
            done.fine.append(status not in BAD or number in known)
            if (not done.fine[-1] and not keep_going) or time.monotonic() > until:
                break
        return done

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
            if status and STATUSES[status] != "failed":  # no report at all: the cold proof decides
                self.void = "a test of ours that must fail ended as %s: pytest is disarmed" % STATUSES[status]
        if lazy and not self.void:
            self.void = loaded_modules.LoadedModules(self.job).fault(patched)

    def run_directly(
        self, numbers: Sequence[int], board: Board, *, known: "frozenset[int]", keep_going: bool, way: Any
    ) -> bool:
        """Like `run`, but call tests directly if `way` (DirectCalls) trusts them; False if a result is uncertain."""
        way.watch()
        for place, number in enumerate(numbers):
            following = self.items[numbers[place + 1]] if place + 1 < len(numbers) else None
            board.begin(number)
            status = way.run(number, following, self._protocol)
            board.note(number, status)
            if status == 0 and not way.on_trial:
                return False
            if status in BAD and number not in known and not keep_going:
                break
        return True

    def _protocol(self, item: Any, following: Any) -> int:
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
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


def pytest_main(job: Dict[str, Any], run: ServerPlugin) -> int:
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
