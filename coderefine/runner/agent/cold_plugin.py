"""The pytest plugin of a cold run: reports what is collected, which test runs, and how it ended."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

from . import canary
from .agent_channel import AgentChannel
from .failure_details import FailureRecord, ProjectPaths, failure
from .loaded_modules import LoadedModules
from .short_repr import cut

CaseRecord = dict[str, Any]
"""id, status (a core.Status value), seconds, path (repo-relative), line, failure (FailureRecord or None)."""

LAST = 4
"""Offset in the shared status file of the byte that makes the running test the last one; see runner/process_run.py."""
MARK = "_coderefine_failure"
"""Attribute of a report that contains its FailureRecord; the record is plain data, to survive serialisation."""


def attach(paths: ProjectPaths, report: Any, error: BaseException, *, rich: bool) -> None:
    """Attach a FailureRecord about the exception `error` to `report`, if the report is that of a failure."""
    if report.outcome == "failed":
        setattr(report, MARK, failure(paths, error, list(report.sections), rich=rich))


def from_text(text: str) -> FailureRecord:
    """Return a FailureRecord for a failure without exception (strict xpass, a hook's report, a crashed process)."""
    lines = text.strip().splitlines() or [""]
    return {
        "message": cut(lines[0].strip(), 300),
        "exception": "",
        "assertion": cut(text.strip(), 2000) if len(lines) > 1 else "",
        "frames": [],
        "output": "",
    }


def fold(paths: ProjectPaths, reports: Sequence[Any], seconds: float = 0.0) -> CaseRecord:
    """Combine all `reports` of a test (phases, subtests, re-runs), which took `seconds`, into one result.

    Reports before a re-run (pytest-rerunfailures) are ignored.
    """
    reports = _since_rerun(reports)
    first = reports[0]
    decisive = _decisive(reports)
    path, line, _ = first.location
    found = getattr(decisive, MARK, None)
    if found is None and decisive.outcome == "failed":
        found = from_text(str(decisive.longrepr or "failed without a reason"))
    return {
        "id": first.nodeid,
        "status": _status(decisive),
        "seconds": seconds,
        "path": paths.relative(first.nodeid.split("::", 1)[0]),
        "line": (line or 0) + 1 if paths.relative(path) == paths.relative(first.nodeid.split("::", 1)[0]) else 0,
        "failure": _subtests(reports, found) if found else None,
    }


def status_of(reports: Sequence[Any]) -> str:
    """Return the status that `fold` gives to a test with these reports."""
    return _status(_decisive(_since_rerun(reports)))


def _since_rerun(reports: Sequence[Any]) -> Sequence[Any]:
    last = max((index for index, report in enumerate(reports) if report.outcome == "rerun"), default=-1)
    return reports[last + 1 :] or reports[-1:]


def _decisive(reports: Sequence[Any]) -> Any:
    """Return the report that decides a test's status: a failed call, else another failure, else a skip, else a pass."""
    failed = [report for report in reports if report.outcome == "failed"]
    calls = [report for report in failed if report.when == "call"]
    own = [report for report in calls if getattr(report, MARK, None)]
    return (own or calls or failed or _unfailed(reports))[0]


def _unfailed(reports: Sequence[Any]) -> Sequence[Any]:
    whole = [report for report in reports if not hasattr(report, "context")]
    skipped = [report for report in whole if report.outcome == "skipped"]
    return skipped or [report for report in whole if report.when == "call"] or reports


def _status(report: Any) -> str:
    if report.outcome == "failed":
        return "failed" if report.when == "call" else "error"
    if hasattr(report, "wasxfail"):
        return "xfailed" if report.outcome == "skipped" else "xpassed"
    return "skipped" if report.outcome == "skipped" else "passed"


def _subtests(reports: Sequence[Any], found: FailureRecord) -> FailureRecord:
    """Return `found` with the name of the first failing subtest, and the number of others, in its message."""
    failed = [report for report in reports if hasattr(report, "context") and report.outcome == "failed"]
    if not failed:
        return found
    context = failed[0].context
    values = ", ".join(f"{key}={value}" for key, value in dict(getattr(context, "kwargs", {})).items())
    name = " ".join(part for part in (getattr(context, "msg", None), values) if part)
    more = f", and {len(failed) - 1} more" if len(failed) > 1 else ""
    return {**found, "message": cut(f"subtest ({name}){more}: {found['message']}", 300)}


class TestChoice:
    """Selects the tests to run, and their order.

    `only`: ids of the tests to run, in this order (None: all). `first`: ids of tests to run before the others. `done`:
    ids of tests that have a result already. `avoid`: files that are not imported. `files`: the files whose tests run
    (None: all), if `only` is None.
    """

    def __init__(
        self,
        only: Sequence[str] | None,
        first: Sequence[str] = (),
        done: Iterable[str] = (),
        avoid: Iterable[str] = (),
        files: Iterable[str] | None = None,
    ) -> None:
        wanted = files if only is None else only
        self._only = None if only is None else {name: index for index, name in enumerate(only)}
        self._first = {name: index for index, name in enumerate(first)}
        self._done = frozenset(done)
        self._avoid = frozenset(avoid)
        self._names = None if wanted is None else frozenset(name.split("::", 1)[0] for name in wanted)
        self._files: frozenset[str] | None = None

    def wants_file(self, root: str, path: str) -> bool:
        """Return False if a test file (or folder) need not be imported: it has no requested test, or is in `avoid`."""
        if self._avoid and os.path.relpath(path, root).replace(os.sep, "/") in self._avoid:
            return False
        if self._names is None or os.path.basename(path) in ("__init__.py", "conftest.py"):
            return True
        if self._files is None:
            self._files = frozenset(os.path.normpath(os.path.join(root, name)) for name in self._names)
        return path in self._files or any(item.startswith(path + os.sep) for item in self._files)

    def arrange(self, items: list[Any]) -> list[Any]:
        """Return the requested `items`: those in `first` first, the others in the order of `only` or of collection."""
        kept = [item for item in items if item.nodeid not in self._done]
        if self._only is not None:
            only = self._only
            kept = sorted((item for item in kept if item.nodeid in only), key=lambda item: only[item.nodeid])
        if self._first:
            last = len(self._first)
            kept.sort(key=lambda item: self._first.get(item.nodeid, last))
        return kept


class Canaries:
    """Runs the canary tests (canary.py) before and after the project's tests, and sends their results."""

    def __init__(self, channel: AgentChannel, paths: ProjectPaths, job: dict[str, Any]) -> None:
        self._channel = channel
        self._paths = paths
        self._job = job
        self._canary: Any = None
        self._chosen: list[str] = []
        self._records: list[CaseRecord] = []
        self.running = False

    def open(self, session: Any, patched: Sequence[str]) -> None:
        """Prepare the canary tests after collection; if this version of pytest is not supported, report the error."""
        self._chosen = [item.nodeid for item in session.items]
        if not self._chosen or not self._job["secret"]:
            return
        folder = os.path.join(self._job["temp"], "canary")
        try:
            self._canary = canary.Canary(session, folder, patched, self._job["top"])
        except (ImportError, AttributeError, TypeError, LookupError, OSError) as error:
            self._channel.queue("silent", why=repr(error))

    def run(self, when: str, following: Any) -> None:
        if self._canary is None:
            self._channel.send("canary", when=when, records=())
            return
        secret, self._records, self.running = self._job["secret"], [], True
        try:
            names = list(canary.names(secret, when, self._job["doubted"], self._chosen))
            self._canary.run(names, secret, when, following)
        except Exception as error:
            self._channel.queue("silent", why=repr(error))
        finally:
            self.running = False
        self._channel.send("canary", when=when, records=self._records)  # at once: the next test may end the process

    def add(self, reports: Sequence[Any]) -> None:
        """Add all reports of one canary test."""
        if reports:
            self._records.append(fold(self._paths, reports))


class ColdPlugin:
    """The plugin; it is registered as an object, not imported by name, so that the project cannot shadow it."""

    def __init__(
        self, channel: AgentChannel, paths: ProjectPaths, choice: TestChoice, job: dict[str, Any], lines: Any = None
    ) -> None:
        self._channel = channel
        self._paths = paths
        self._choice = choice
        self._rich = bool(job["rich"])
        self._known = frozenset(job["known"]) if job["stop_early"] else None
        self._broken: dict[str, CaseRecord] = {}
        self._reports: dict[str, list[Any]] = {}
        self._lines = lines
        self._watched = False
        self._session: Any = None
        self._board = int(job["board"])
        self._numbers: dict[str, int] = {}
        self._running = False
        self._finished = 0
        self._canaries = Canaries(channel, paths, job)
        self._loaded = LoadedModules(job)
        self._patched = tuple(job["patched"])
        self.compiled: Callable[[], dict[str, list[str]]] = dict
        """Returns the digests of the compiled sources; see compiled_sources.py."""
        # Tests that replace the clock (freezegun) change the durations of pytest's reports, and the functions of `time`
        # in all modules, but not this reference.
        self._clock = time.perf_counter
        self._began = 0.0

    # -- start and collection -------------------------------------------------------------------------

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self) -> Any:
        """Report a conftest.py that cannot be imported as a collection error, not as a usage error."""
        outcome = yield
        error = outcome.excinfo[1] if outcome.excinfo else None
        if isinstance(error, Exception) and not isinstance(error, pytest.UsageError):
            path = str(getattr(error, "path", "") or "conftest.py")
            self._collection_error(self._paths.relative(path), failure(self._paths, error, [], rich=self._rich))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(self, session: Any) -> None:
        self._session = session
        config = session.config
        self._paths.root = str(getattr(config, "rootpath", None) or config.rootdir)
        prefix = self._paths.relative(self._paths.root + os.sep + "x")[:-1]
        self._channel.send("began", pytest=pytest.__version__, prefix=prefix)

    def pytest_ignore_collect(self, collection_path: Any) -> bool | None:
        return None if self._choice.wants_file(self._paths.root, str(collection_path)) else True

    def pytest_collectstart(self, collector: Any) -> None:
        """Report each module before its import, so that the parent knows which one crashed the process."""
        if isinstance(collector, pytest.Module):
            self._channel.send("collecting", id=collector.nodeid)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_make_collect_report(self, collector: Any) -> Any:
        """Report SystemExit during the import of a module as an error of the module; otherwise it would end pytest."""
        outcome = yield
        if outcome.excinfo and isinstance(outcome.excinfo[1], SystemExit):
            error = outcome.excinfo[1]
            text = f"SystemExit: {error.code} at import"
            report = pytest.CollectReport(collector.nodeid, "failed", text, [])
            setattr(report, MARK, failure(self._paths, error, [], rich=self._rich))
            outcome.force_result(report)
            return
        report = outcome.get_result()
        call = getattr(report, "call", None)
        if report.outcome == "failed" and call is not None and call.excinfo is not None:
            attach(self._paths, report, call.excinfo.value, rich=self._rich)

    def pytest_collectreport(self, report: Any) -> None:
        if report.outcome == "failed":
            found = getattr(report, MARK, None) or from_text(str(report.longrepr))
            self._collection_error(report.nodeid, found)

    def _collection_error(self, name: str, found: FailureRecord) -> None:
        path = self._paths.relative(name.split("::", 1)[0])
        frames = [frame for frame in found["frames"] if frame[0] == path]
        record = {"id": name, "status": "error", "seconds": 0.0, "path": path, "failure": found}
        record["line"] = frames[-1][1] if frames else 0
        self._broken[name] = record
        self._channel.send("broken", case=record)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> Any:
        outcome = yield
        outcome.get_result()
        collected = [item.nodeid for item in items]
        items[:] = self._choice.arrange(items)
        chosen = [item.nodeid for item in items]
        self._numbers = {name: number for number, name in enumerate(chosen, 1)}
        lines = [(item.location[1] or 0) + 1 for item in items]
        self._channel.send("collected", ids=collected, chosen=chosen, lines=lines)

    def pytest_collection_finish(self, session: Any) -> None:
        if self._lines is not None:
            self._channel.queue("lines", lines=self._lines.end())
        self._report_loaded()
        if self._known is not None and not self._known.issuperset(self._broken):
            session.items[:] = []
            self._stop("a module that could be collected no longer can")

    def _stop(self, why: str) -> None:
        self._session.shouldstop = why
        self._channel.queue("stopped")

    # -- running --------------------------------------------------------------------------------------

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: Any) -> Any:
        self._canaries.open(session, self._patched)
        self._canaries.run("before", session.items[0] if session.items else None)
        outcome = yield
        if self._lines is not None:
            self._lines.pause()
        if outcome.excinfo is None:  # otherwise some tests did not run, which makes the results incomplete anyway
            self._canaries.run("after", None)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        if self._canaries.running:
            return
        self._channel.flush_if_due()
        self._running, self._began = True, self._clock()
        self._note(self._numbers.get(nodeid, 0))
        self._watched = self._lines is not None and self._lines.begin(nodeid)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, call: Any) -> Any:
        outcome = yield
        if call.excinfo is not None:
            rich = self._rich and not self._canaries.running
            with self._lines.ignoring() if self._lines is not None else contextlib.nullcontext():
                attach(self._paths, outcome.get_result(), call.excinfo.value, rich=rich)

    def pytest_runtest_logreport(self, report: Any) -> None:
        self._reports.setdefault(report.nodeid, []).append(report)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        reports = self._reports.pop(nodeid, None)
        if self._canaries.running:
            self._canaries.add(reports or ())
            return
        self._running = False
        self._finished += 1
        if not reports:
            return
        record = fold(self._paths, reports, self._clock() - self._began)
        if self._watched:
            record["lines"] = self._lines.end()
            record["followed"] = self._lines.followed
            record["steps"] = self._lines.steps
        self._channel.queue("case", case=record)
        if self._known is not None and record["status"] in ("failed", "error") and nodeid not in self._known:
            self._stop("a test failed that did not fail before")
        if os.pread(self._board, 1, LAST) == b"\1":
            self._stop("the other tests run in another process")

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Send the last results before session fixtures and other plugins can crash the process."""
        if not self._running and self._finished == len(self._numbers):
            self._note(0)
        self._report_loaded()
        self._channel.send("finishing")

    def _report_loaded(self) -> None:
        self._channel.queue("loaded", **self._loaded.report(self._patched))
        self._channel.queue("compiled", digests=self.compiled())

    def _note(self, number: int) -> None:
        """Write the number of the running test to the shared status file, in case the process crashes."""
        os.pwrite(self._board, number.to_bytes(4, "big"), 0)
