"""`coderefine fleet`: one command in many repositories, each run in a process of its own.

The folder of a fleet contains the record (one JSON object a line), the clones, the patches, and each run's report and
page.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from coderefine import config, proc
from coderefine.app.clones import Clones
from coderefine.app.history import recorded_report
from coderefine.config import masked
from coderefine.core.plurals import counted
from coderefine.errors import CoderefineError, GitError, SurroundingsError, UsageError
from coderefine.git import Repository
from coderefine.journal import Journal, storage
from coderefine.journal.journal import run_names
from coderefine.publishers.hosts import hosted
from coderefine.reports import fleet as reports
from coderefine.reports import html
from coderefine.reports.fleet import FAILED, INTERRUPTED, FleetResult

COMMANDS = ("check", "fix", "write", "prove")
PROGRAM = "import sys; sys.path[:] = filter(None, sys.path); from coderefine.cli import main; main()"
"""Used instead of `-m coderefine`, which could import modules of the repository, because that is the working folder."""
REMOTE = re.compile(r"[\w+.-]+://|[\w.-]+@[\w.-]+:")
QUERY = re.compile(rf"({hosted.GITHUB}|{hosted.GITLAB}):(?!//)")
END = 20.0
"""Maximum number of seconds that an interrupted run may take to end."""


@dataclass(frozen=True, slots=True)
class FleetRequest:
    """The command to run in every repository.

    `command`: its name and arguments. `jobs`: number of runs at a time. `max_cost`: dollars for all runs together.
    `timeout`: seconds after which a run is killed.
    """

    command: tuple[str, ...]
    jobs: int = 1
    max_cost: float | None = None
    timeout: float = 3600.0

    def __post_init__(self) -> None:
        name = self.command[0]
        if name not in COMMANDS:
            raise UsageError(f"a fleet runs {', '.join(COMMANDS)}; not {name!r}")
        given = {word.partition("=")[0] for word in self.command}
        if "--format" in given:
            raise UsageError("a fleet reads the reports of its runs as json: leave out --format")
        if self.max_cost is not None and "--max-cost" in given:
            raise UsageError("--max-cost of the fleet is divided among its runs: give it once, before `--`")


def read_list(file: Path) -> tuple[str, ...]:
    """Return the repositories that `file` lists: a path, a URL or a query per line; `#` begins a comment.

    Paths are relative to the folder of `file`; for queries see `hosted.repositories`. Raises UsageError, PublishError.
    """
    try:
        lines = [re.sub(r"(^|\s)#.*", "", line).strip() for line in file.read_text("utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read: {error}") from error
    places: list[str] = []
    for line in filter(None, lines):
        if QUERY.match(line):
            places += hosted.repositories(line)
        else:
            places.append(line if REMOTE.match(line) else str((file.parent / line).resolve()))
    if not places:
        raise UsageError(f"{file} lists no repository: write one path, URL or query per line")
    return tuple(dict.fromkeys(places))


@dataclass(frozen=True, slots=True)
class FleetRecord:
    """The record of a fleet in `folder`: the command, and the result of each repository once it has ended."""

    folder: Path

    @property
    def file(self) -> Path:
        return self.folder / "record.jsonl"

    def open(self, command: Sequence[str], *, resume: bool, only_failed: bool) -> None:
        """Begin a new record, and rename an earlier one; with `resume` or `only_failed`, continue the earlier record.

        Raises UsageError if there is no record to continue, or if `resume` is given with another command.
        """
        words = [masked(word) for word in command]
        if not (resume or only_failed):
            storage.make_folder(self.folder)
            if self.file.exists():
                self.file.replace(self.file.with_suffix(".old.jsonl"))
            self._add({"command": words})
        recorded = next((line["command"] for line in self._lines() if "command" in line), None)
        if recorded is None:
            raise UsageError(f"{self.folder} has no record of a fleet: begin one without --resume and --only-failed")
        if resume and recorded != words:
            raise UsageError(f"{self.folder} is a fleet of `{' '.join(recorded)}`: --resume continues only that")

    def add(self, result: FleetResult) -> None:
        self._add(asdict(result))

    def results(self) -> Iterator[FleetResult]:
        """Yield the recorded results, oldest first; if a location has several results, the last one counts."""
        return (FleetResult(**line) for line in self._lines() if "location" in line)

    def to_run(self, locations: Iterable[str], *, resume: bool, only_failed: bool) -> Iterator[FleetResult]:
        """Yield a result for each repository to process: an empty one, or that of an interrupted run to resume.

        `resume`: the repositories without a finished run. `only_failed`: those whose run failed. Without both, all.
        """
        past = {result.location: result for result in self.results()}
        for location in locations:
            last = past.get(location, FleetResult(location, INTERRUPTED))
            if last.status == INTERRUPTED:
                if resume or not only_failed:
                    yield last
            elif last.status == FAILED and only_failed:
                yield FleetResult(location)

    def write_page(self, results: Sequence[FleetResult]) -> Path:
        """Write the page about `results`, with links to the page of each run, and return its path."""
        page = self.folder / "index.html"
        page.write_text(reports.page(results, {one.name for one in results if self.page_of(one).exists()}), "utf-8")
        return page

    def page_of(self, result: FleetResult) -> Path:
        return self.folder / "pages" / f"{result.name}.html"

    def _lines(self) -> Iterator[dict[str, Any]]:
        text = self.file.read_text("utf-8") if self.file.exists() else ""
        for line in text.splitlines():
            with suppress(ValueError):  # a line cut off by a crash
                yield json.loads(line)

    def _add(self, body: Mapping[str, object]) -> None:
        storage.append(self.file, json.dumps(body).encode() + b"\n")


@dataclass(slots=True)
class Fleet:
    """Runs the command in all repositories and divides the money among these runs."""

    record: FleetRecord
    request: FleetRequest
    spent: float = 0.0
    """Dollars spent, including those that unfinished runs may still spend."""
    _stopping: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _children: set[subprocess.Popen[bytes]] = field(default_factory=set)
    _clones: Clones = field(init=False)

    def __post_init__(self) -> None:
        self._clones = Clones(self.record.folder / "repositories")

    def run(self, begun: Iterable[FleetResult], listen: Callable[[FleetResult], None]) -> None:
        """Run the command in each repository of `begun`; record each result at once, and pass it to `listen`.

        If a result in `begun` names an interrupted run, this run is resumed.
        """
        with ThreadPoolExecutor(self.request.jobs) as pool:
            futures = [pool.submit(self._run, result) for result in begun]
            recorded = set()
            try:
                for future in as_completed(futures):
                    self.record.add(future.result())
                    recorded.add(future)
                    listen(future.result())
            except BaseException:
                with self._lock:
                    self._stopping = True
                    children = tuple(self._children)
                for child in children:
                    child.terminate()
                for child in children:
                    proc.ends(child, END)
                with proc.stopped():
                    pool.shutdown(cancel_futures=True)
                for future in futures:
                    if not future.cancelled() and future not in recorded:
                        self.record.add(future.result())  # its cost counts, and its run can be resumed
                raise

    def _run(self, result: FleetResult) -> FleetResult:
        """Run the command in one repository; an error is returned as a result."""
        began, share, ready = time.monotonic(), 0.0, False
        try:
            top = self._clone(result) if REMOTE.match(result.location) else Path(result.location)
            if not top.is_dir():
                raise SurroundingsError(f"{top} is not a folder")
            share = self._reserve(top)
            ready = True
            result = self._judged(replace(result, usd=share), top)
        except (CoderefineError, OSError) as error:
            early = self._stopping and not ready
            detail = "interrupted before the run began" if early else masked(str(error))
            result = replace(result, status=FAILED, detail=detail, usd=share, code=2)
        except Exception as error:  # an error in one repository must not end the fleet
            result = replace(result, status=FAILED, detail=f"a bug in coderefine: {error!r}", code=3, usd=share)
        with self._lock:
            self.spent += result.usd - share
        status = INTERRUPTED if self._stopping and result.code not in (0, 1) else result.status
        return replace(result, status=status, seconds=round(time.monotonic() - began, 1))

    def _clone(self, result: FleetResult) -> Path:
        if result.run:
            return self._clones.resumed(result.name, result.run)
        return self._clones.fetched(result.name, result.location)

    def _reserve(self, top: Path) -> float:
        """Reserve the dollars that the run in `top` may spend, and return them."""
        if self.request.max_cost is None or self.request.command[0] == "check":
            return 0.0
        own, budget = config.load(top).max_cost, self.request.max_cost
        with self._lock:
            share = max(0.0, min(own, budget - self.spent, budget / self.request.jobs))
            self.spent += share
        return share

    def _judged(self, result: FleetResult, top: Path) -> FleetResult:
        """Run the command in `top`, read its report, and return `result` with what the report says."""
        folder, names = self.record.folder, _runs_of(top)
        earlier = names()
        report, errors = folder / "reports" / f"{result.name}.json", folder / "reports" / f"{result.name}.err"
        storage.make_folder(report.parent)
        with report.open("wb") as out, errors.open("wb") as err:
            argv = (sys.executable, "-c", PROGRAM, *self._arguments(result))
            code, killed = self._ended(argv, top, out.fileno(), err.fileno())
        complaint, last = _complaint(errors.read_text("utf-8", "replace"))
        # If a run was interrupted early, or killed, no report names it; its name is needed to resume it.
        run = [result.run, *sorted(set(names()) - set(earlier))][-1]
        if killed:
            return replace(result, status=FAILED, detail=masked(killed), code=code, run=run)
        try:
            found = json.loads(report.read_bytes())
        except ValueError:
            detail = complaint or last or f"exit {code}, and no report"
            usd = result.usd if run else 0.0  # a run that was refused at once has spent nothing
            return replace(result, status=FAILED, detail=masked(detail), code=code or 3, usd=usd, run=run)
        usd = found.get("cost", {}).get("usd", 0.0)
        status, detail = read_report(found, code, complaint)
        result = replace(result, code=code, status=status, detail=masked(detail), run=found.get("run") or run)
        return self._kept(replace(result, usd=result.usd if usd is None else usd), top, found.get("diff") or "")

    def _arguments(self, result: FleetResult) -> list[str]:
        """Return the arguments of a run; if the fleet has a limit in dollars, add the run's share, or `--no-model`.

        No limit is added for `check` and `resume`.
        """
        name, *more = ("resume", result.run) if result.run else self.request.command
        if self.request.max_cost is not None and name not in ("check", "resume"):
            more = ["--max-cost", f"{result.usd:.6f}", *more] if result.usd else ["--no-model", *more]
        return [name, "--format", "json", *more]

    def _kept(self, result: FleetResult, top: Path, diff: str) -> FleetResult:
        """Store the patch of a run, and the page about it, in the fleet's folder; add the patch's path to `result`."""
        if diff:
            patch = self.record.folder / "patches" / f"{result.name}.patch"
            _write(patch, diff)
            result = replace(result, patch=str(patch))
        if result.run:
            with suppress(CoderefineError):
                report = recorded_report(Journal.load(Repository.open(top), result.run))
                _write(self.record.page_of(result), html.outcome(report))
        return result

    def _ended(self, argv: tuple[str, ...], top: Path, out: int, err: int) -> tuple[int, str]:
        """Run `argv` in `top` to its end; return its exit code, and why it was killed ("" if it was not)."""
        with self._lock:
            if self._stopping:
                return 2, "the fleet is being stopped"
            child = proc.start(argv, cwd=top, env=proc.clean_env(secrets=True), stdout=out, stderr=err)
            self._children.add(child)
        try:
            if proc.ends(child, self.request.timeout):
                return child.returncode, ""
            child.terminate()
            proc.ends(child, END)
            return 2, f"still running after {self.request.timeout:g} s: killed (--repo-timeout)"
        finally:
            proc.kill(child)
            with self._lock:
                self._children.discard(child)


def _complaint(stderr: str) -> tuple[str, str]:
    """Return the last error that a run printed, and the last line that it printed; "" for none."""
    lines = ["", *stderr.strip().splitlines()]
    found = [line.removeprefix("coderefine: ") for line in lines if line.startswith("coderefine: ")]
    return ["", *found][-1], lines[-1]


def _runs_of(top: Path) -> Callable[[], list[str]]:
    """Return a function that lists the names of the runs recorded in `top`; [] if there is no repository.

    The returned function does not start git, which would be killed while the fleet is being stopped.
    """
    try:
        repository = Repository.open(top)
    except GitError:
        return list
    return lambda: run_names(repository)


def _write(path: Path, text: str) -> None:
    storage.make_folder(path.parent)
    path.write_text(text, "utf-8")


def read_report(found: Mapping[str, Any], code: int, complaint: str) -> tuple[str, str]:
    """Return status and detail of a run from its JSON report, its exit code and the error that it printed."""
    if complaint or code not in (0, 1):
        return "refused" if code == 1 else FAILED, complaint or found.get("why") or f"exit {code}"
    if found["kind"] == "check":
        counts = (f"{one['critic']} {len(one['findings'])}" for one in found["checks"] if not one["clean"])
        return ("findings" if code else "clean"), ", ".join(counts)
    return _read_outcome(found, code)


def _read_outcome(found: Mapping[str, Any], code: int) -> tuple[str, str]:
    if proof := found["proof"]:
        return ("proved" if proof["proved"] else "refused"), proof["reason"]
    left = sum(one["severity"] == "hard" for one in found["remaining"])
    remain = f"{counted(left, 'finding')} remain{'s' * (left == 1)}" if left else ""
    if found["best"]["number"]:
        return _read_patch(found, code, remain)
    if found["offers"]:
        offered = sum(len(one["alternatives"]) for one in found["offers"])
        return "offered", f"{counted(offered, 'alternative')}; {remain}"
    return ("refused", found["why"] or remain) if code else ("clean", "")


def _read_patch(found: Mapping[str, Any], code: int, remain: str) -> tuple[str, str]:
    paths = ", ".join(one["path"] for one in found["patch"])
    status = "plausible" if found["evidence"]["doubts"] else "partly" if code else "fixed"
    elsewhere = next((line for line in found["wrote"] if not line.startswith("wrote ")), paths)
    return status, f"{elsewhere}; {remain}" if remain else elsewhere


def exit_code(results: Iterable[FleetResult]) -> int:
    """Return 2 if a run failed, else 1 if the exit code of a run is not 0, else 0."""
    found = tuple(results)
    return 2 if any(one.status == FAILED for one in found) else int(any(one.code for one in found))
