"""The hot server: it has collected the tests, and forks children that replace changed functions and run tests."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import threading
import time
import types
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

from . import (
    agent_channel,
    call_probe,
    child,
    code_diff,
    generated_calls,
    pytest_internals,
    server_plugin,
    short_repr,
    test_coverage,
    unit_trace,
    version_comparison,
)
from .agent_channel import AgentChannel
from .call_probe import Answers, Call
from .code_diff import NotHotError, RanAtImportError, SourceFile
from .direct_calls import DirectCalls
from .live_functions import ExecutedCode, Key, LiveFunctions, Target, key
from .loaded_modules import LoadedModules, import_files, loaded
from .server_plugin import ServerPlugin
from .working_tree import WorkingTree, decoded, ours

WALL = 4.0
"""Limit of wall time for answers, as a multiple of their CPU time: calls may wait, and processors may be busy."""
AGAIN = "again"
"""Key of the answers that the unchanged program gives in a second run."""
WATCHED = 0.8
"""Share of the CPU time of a child for running the watched tests; the rest is for reporting the records."""
Message = dict[str, Any]
Files = dict[str, bytes | None]


def serve(fd: int, channel: AgentChannel, job: Message) -> None:
    """Collect the tests as pytest does, then process messages until the parent closes the socket."""
    channel.take_over()
    ran = ExecutedCode(job["top"])
    ran.start()
    run = ServerPlugin(lambda run: HotServer(fd, channel, job, run, ran).serve(), job["files"])
    code = server_plugin.pytest_main(job, run)
    channel.send("failed", code=code, fault=run.fault)
    while agent_channel.read(fd) is not None:
        pass


class HotServer:
    """Processes messages inside pytest's loop over the items."""

    def __init__(self, fd: int, channel: AgentChannel, job: Message, run: ServerPlugin, ran: ExecutedCode) -> None:
        import_files(job["imports"], job["top"])
        ran.stop()
        self._fd = fd
        self._channel = channel
        self._job = job
        self._run = run
        self._ran = ran
        self._tree = WorkingTree(job["top"])
        self._board = child.Board(len(run.items))
        self._sources: dict[str, SourceFile] = {}
        self._functions = LiveFunctions(job["top"], ran)
        self._rewritten = rewritten(run)
        self._modules = modules_of(job["top"], self._rewritten)
        self._reach: dict[int, frozenset[Key]] = {}
        self._entering: dict[Key, set[int]] = {}
        self._threads = threading.active_count() - run.threads
        self._loaded = LoadedModules(job)
        self._way = DirectCalls(run.session, run)
        pytest_internals.skip_rendering(run.config)
        run.prepare()

    def serve(self) -> None:
        child.no_bytecode()
        child.settle()
        self._limits = child.usual_limits()
        self._channel.send(
            "ready",
            tests=[item.nodeid for item in self._run.items],
            broken=self._run.broken,
            preload=preloadable(self._job["top"]),
            cpu=time.process_time(),
            foreign=self._loaded.fault(()),
        )
        while True:
            message = agent_channel.read(self._fd)
            if message is None:
                os._exit(0)
            if message["kind"] == "learn":
                self._learn(message)
                child.warm_up(message["patterns"], pytest_internals.LOADED_LATE)
                child.settle()
                self._try_directly(message)
            elif message["kind"] == "probe":
                began = sum(os.times()[:4])
                results = self._probe(message)
                self._channel.send("probed", results=results, cpu=sum(os.times()[:4]) - began)
            else:
                self._channel.send("judged", **self._judge(message))

    def _judge(self, message: Message) -> Message:
        files = decoded(message["files"])
        try:
            edit = self._edit(files, rough=message["rough"])
        except NotHotError as reason:
            return {"slow": str(reason)}
        numbers = sorted(message["tests"])
        if message.get("reach"):
            numbers = self._reaching(numbers, edit)
        if message.get("direct") and not self._way.trusted.isdisjoint(numbers):
            # Call tests directly; if this does not reject the candidate, run them by pytest's protocol.
            quick = self._run_with_files(message, edit, numbers, files, directly=True)
            results = bytes.fromhex(quick["results"])
            sure = not quick["died"] and quick["result"]["sure"]
            if quick["hung"] or (sure and self._way.settled(numbers, results, message["known"])):
                return quick
            answer = self._run_with_files(message, edit, numbers, files)
            self._way.learn(numbers, results, bytes.fromhex(answer["results"]))
            spent = {name: answer[name] + quick[name] for name in ("cpu", "wall", "changed")}
            return {**answer, **spent}
        return self._run_with_files(message, edit, numbers, files)

    def _run_with_files(
        self, message: Message, edit: CodeEdit, numbers: list[int], files: Files, *, directly: bool = False
    ) -> Message:
        """Return the answer of a forked child; `files` are on disk while it runs."""
        self._tree.put(files)
        try:
            answer = self._fork(message, edit, numbers, directly=directly)
        finally:
            self._tree.restore(files)
            self._tree.sweep(self._job["scratch"])
        return {**answer, "changed": self._tree.changed}

    def _reaching(self, numbers: list[int], edit: CodeEdit) -> list[int]:
        """Return the tests of `numbers` that entered an edited function, or whose entered functions are unknown.

        If `edit.files_unseen` is set, return all of `numbers`.
        """
        if edit.files_unseen:
            return numbers
        reached = set().union(*(self._entering.get(function, ()) for function in edit.changed))
        return [number for number in numbers if number in reached or number not in self._reach]

    def _edit(self, files: Files, *, rough: bool = False) -> CodeEdit:
        """Return the functions to change for `files`. Raises NotHotError if only a fresh import can apply the change.

        `rough`: change also functions that ran during the import, although the effects of their old code stay; see
        `CodeEdit.rough`.
        """
        if self._threads > 0:
            raise NotHotError("threads are alive after the import")
        try:
            return self._edit_of(files, self._ran)
        except RanAtImportError as reason:
            if not rough:
                raise
            return self._edit_of(files, lambda _: False, str(reason))

    def _edit_of(self, files: Files, ran: Callable[[CodeType], bool], rough: str = "") -> CodeEdit:
        edit = CodeEdit(paths=list(files), rough=rough)
        for path, data in files.items():
            self._add(edit, path, data, ran)
        return edit

    def _add(self, edit: CodeEdit, path: str, data: bytes | None, ran: Callable[[CodeType], bool]) -> None:
        if data is None or not path.endswith(".py"):
            raise NotHotError(f"{path} is no module to change in place")
        filename = self._modules.get(os.path.realpath(self._tree.full(path)))
        if filename is None:
            edit.files_unseen = True
            return
        if filename == "":
            raise NotHotError(f"{path} was not imported in the usual way")
        if path not in self._sources:
            self._sources[path] = SourceFile(filename, self._tree.original(path).data or b"")
        source = self._sources[path]
        pairs = code_diff.swaps(*source.pair(data), ran)
        edit.targets += self._functions.targets(pairs, source)
        edit.changed.update(key(code) for code, _ in pairs)

    def _fork(self, message: Message, edit: CodeEdit, numbers: list[int], *, directly: bool) -> Message:
        self._board.clear()
        limits = self._limits._replace(cpu=message["limit"])
        live = self._live_directly if directly else self._live
        ended = child.fork(lambda tell: tell(live(message, edit, numbers)), limits)
        if directly or not ended.ok:
            pytest_internals.empty_capture(self._run.config)  # it still contains the output of direct calls
        return {
            "asked": numbers,
            "results": self._board.results.hex(),
            "running": self._board.running,
            "result": json.loads(ended.extra) if ended.extra else {},
            "cpu": ended.cpu,
            "wall": ended.wall,
            "idle": ended.idle,
            "died": ended.died,
            "hung": ended.hung,
            "speed": "hot",
            "rough": edit.rough,
        }

    def _live(self, message: Message, edit: CodeEdit, numbers: list[int]) -> bytes:
        """Apply the edit and run the tests (in the child), writing their statuses to the board.

        Return JSON: with "watch" in `message`, the code that the tests reached; otherwise "void", the reason why the
        statuses are invalid ("" if they are valid).
        """
        edit.make()
        known, keep_going = frozenset(message["known"]), message["keep_going"]
        if message.get("watch") is None:
            fine = self._run.run(numbers, self._board, known=known, keep_going=keep_going)
            if edit.paths and fine:
                self._run.check(edit.paths, lazy=edit.files_unseen or self._job["origin"] != self._job["top"])
            return json.dumps({"void": self._run.void}).encode("ascii")
        followed = os.path.join(self._job["scratch"], "followed") if message["lines"] else ""
        watch = self._open_watch(message, followed)
        done = self._run.watch(numbers, self._board, watch, followed=followed, seconds=message["seconds"])
        found = test_coverage.packed(numbers, done.hits, done.unsure, self._job["top"], watch.steps)
        return json.dumps({"reach": found, "patterns": child.patterns()}).encode("ascii")

    def _open_watch(self, message: Message, followed: str) -> test_coverage.Watch:
        """Open a Watch for the functions in `message` (none: all), and for the lines of tests if it has "lines".

        `followed`: the folder for the records of the programs that the tests start; "" if they are not recorded.
        """
        wanted = {(self._tree.full(path), line, name) for path, line, name in message["watch"]}
        if followed:
            test_coverage.follow_programs(followed, self._job["top"])
        watch = test_coverage.open_watch(
            lambda path: ours(path, self._job["top"]) and path not in self._rewritten,
            wanted or None,
            lines=message["lines"],
            stepped=frozenset(message["tests"] if message["lines"] else ()),
            tests=self._rewritten.__contains__,
        )
        pytest_internals.describe_inside(watch.ignoring)
        return watch

    def _live_directly(self, message: Message, edit: CodeEdit, numbers: list[int]) -> bytes:
        """Apply the edit and run the tests as `_live` does, but by direct calls if these are trusted (in the child).

        Return JSON with the key "sure": whether the results are certain.
        """
        edit.make()
        sure = self._run.run_directly(
            numbers, self._board, known=message["known"], keep_going=message["keep_going"], way=self._way
        )
        return b'{"sure":true}' if sure else b'{"sure":false}'

    def _try_directly(self, message: Message) -> None:
        """Find the tests that can be called directly: those whose direct call has the same result as the baseline.

        If the child exceeds its time limit, only the tests that it ran are considered.
        """
        places = self._way.possible(message["quick"])
        if not places:
            return
        self._way.trusted, self._way.on_trial = frozenset(places), True
        order = {"known": places, "keep_going": True, "limit": message["patience"]}
        answer = self._run_with_files(order, CodeEdit(), places, {}, directly=True)
        self._way.on_trial = False
        self._way.adopt(places, bytes.fromhex(answer["results"]), bytes.fromhex(message["statuses"]))

    def _probe(self, message: Message) -> Message:
        """Return the results of `_compare`, and those of `_traced` if functions are to be watched.

        Candidates that the hot server cannot run are left out, also those that change a module which is not loaded: the
        calls would run its old code. If a child crashes, its results are missing.
        """
        edits = {}
        for number, files in message["candidates"].items():
            with contextlib.suppress(NotHotError):
                edit = self._edit(decoded(files), rough=message.get("rough", False))
                if not edit.files_unseen:
                    edits[number] = edit
        self._board.clear()
        self._tree.put({})
        limits = self._limits._replace(cpu=message["limit"])
        try:
            trace = self._traced(message) if "watched" in message else {}
            ended = child.fork(lambda tell: tell(self._compare(message, edits)), limits)
        finally:
            self._tree.restore({})
            self._tree.sweep(self._job["scratch"])
        if not ended.ok:
            pytest_internals.empty_capture(self._run.config)
        return {**(json.loads(ended.extra) if ended.extra else {}), **trace}

    def _compare(self, message: Message, edits: dict[str, CodeEdit]) -> bytes:
        """Record calls while the tests run; then execute these calls and variants of them with every candidate.

        This runs in the child. Return JSON with these keys. "labels": one for each call. "kinds": one letter for each
        call (see `call_probe.kinds`), then EXAMPLE for each docstring example. "codes": for each candidate, the codes
        of the results of the calls and examples; the key "" stands for the unchanged program. "asked": see `_shown`. If
        `message` has the key "other", return the result of `version_comparison.compared` instead.
        """
        seconds = message["seconds"] / 2
        recorded = self._recorded(message, edits, seconds)
        if "other" in message:
            files = {self._tree.full(path): data for path, data in decoded(message["other"]).items()}
            return json.dumps(version_comparison.compared(recorded, files, message["seconds"])).encode("ascii")
        labelled = call_probe.near(recorded, message.get("near", call_probe.NEAR), seconds)
        labelled, answers = self._answered(labelled, edits, message["seconds"])
        calls = [call for _, call in labelled]
        kinds = call_probe.kinds(calls, answers)
        examples = self._examples({number: edits.get(number, CodeEdit()) for number in answers}, message["seconds"])
        if examples:
            kinds = [*kinds[: len(answers[""].codes)], *[call_probe.EXAMPLE] * len(examples[""])]
        results = {
            "labels": [label for label, _ in labelled],
            "kinds": "".join(kinds),
            "codes": {number: [*row.codes, *examples.get(number, ())] for number, row in answers.items()},
            "asked": self._shown(calls, answers, edits, message["seconds"] / 2),
            "generated": self._generated(message, recorded),
        }
        return json.dumps(results).encode("ascii")

    def _recorded(self, message: Message, edits: dict[str, CodeEdit], seconds: float) -> list[Call]:
        """Run the tests and return their calls of the project's functions.

        The tests run for 2 * `seconds` of CPU time, of which at most half is for copying arguments. Tests that hang or
        crash run first, with an edit applied that repairs them: "repaired" in `message` lists pairs (key of the edit in
        `edits`, numbers of the tests).
        """
        failing = frozenset(message.get("failing", ()))
        repaired = [(edits[number], tests) for number, tests in message.get("repaired", ()) if number in edits]
        targets = [target for edit in edits.values() for target in edit.targets]
        known = {id(code): function for function, code in targets}
        codes = [function.__code__ for function, _ in (*targets, *self._watched(message))]
        edited = {id(code): code for code in codes}  # code objects of two modules may be equal

        def running(code: types.CodeType) -> types.FunctionType | None:
            return known.get(id(code)) or self._functions.running(code)

        recorder = call_probe.CallRecorder(
            running,
            lambda path: path in self._rewritten,
            lambda: self._board.running in failing,
            edited=frozenset((*edited, *known)),
            most=message.get("most", call_probe.CALLS),
            seconds=seconds,
            sharing="watched" not in message,
        )

        def wanted(test: int) -> bool:
            reached = self._reach.get(test)
            entered = (code for code in edited.values() if reached is None or key(code) in reached)
            return recorder.wants(entered, failing=test in failing)

        recorder.start()
        for edit, tests in repaired:
            with edit.made():
                self._run.run_within(tests, self._board, 2 * seconds)
        self._run.run_within(message["tests"], self._board, 2 * seconds, wanted)
        recorder.stop()
        return recorder.calls

    def _examples(self, edits: dict[str, CodeEdit], seconds: float) -> dict[str, list[str]]:
        """Return a code for each docstring example of the edited modules, by key of `edits`; {} if there is none."""
        paths = (path for edit in edits.values() for path in edit.paths)
        if not any(b">>>" in (self._tree.original(path).data or b"") for path in paths):
            return {}
        from . import docstring_examples  # takes time: it loads pdb

        tests = docstring_examples.examples_of(
            {target.__module__ for edit in edits.values() for target, _ in edit.targets}
        )
        found = {}
        for number, edit in edits.items():

            def work(tell: child.Tell, edit: CodeEdit = edit) -> None:
                edit.make()
                codes = docstring_examples.codes(tests, time.monotonic() + seconds / len(edits))
                tell(json.dumps(codes).encode("ascii"))

            ended = child.fork(work, self._limits._replace(cpu=seconds))
            found[number] = json.loads(ended.extra) if ended.ok else docstring_examples.broken(tests)
        return found

    def _watched(self, message: Message) -> list[tuple[types.FunctionType, str]]:
        """Return the functions to watch, with the names of their units."""
        return [
            (function, unit)
            for path, line, name, unit in message.get("watched", ())
            for function in self._functions.at((self._tree.full(path), line, name))
        ]

    def _traced(self, message: Message) -> Message:
        """Run all tests in a child, then again in another, and record the watched functions (see unit_trace.py).

        Return "traces", the records of the children that did not fail, and "untraced", the reason of the last failure
        ("" if none failed).
        """
        watched = self._watched(message)

        def work(tell: child.Tell) -> None:
            trace: Message = {}
            failed = ""
            try:
                trace = self._trace(message, watched)
            except Exception as error:  # raised by our code, or by an object of the project that was encoded
                failed = f"{type(error).__name__}: {error}"
            tell(json.dumps([trace, failed]).encode("ascii"))

        traces, failed = [], ""
        for _ in range(2):
            ended = child.fork(work, self._limits._replace(cpu=message["limit"]))
            trace, why = json.loads(ended.extra) if ended.ok else ({}, ended.died)
            failed = why or failed
            traces += [] if why else [trace]
        return {"traces": traces, "untraced": failed}

    def _trace(self, message: Message, watched: list[tuple[types.FunctionType, str]]) -> Message:
        """Run the tests; return the records of the watched functions (in the child).

        The keys are "results" and "lines" (both by unit), and "values": the values by module before the tests, and
        after them. The values after the tests are empty if the time was over before the tests ended.
        """
        trace = unit_trace.UnitTrace(watched)
        before = self._values(message["modules"])
        trace.start()
        whole = self._run.run_within(message["tests"], self._board, WATCHED * message["limit"])
        trace.stop()
        after = self._values(message["modules"]) if whole else {}
        lines = {unit: sorted(lines) for unit, lines in trace.lines.items()}
        return {"results": trace.results, "lines": lines, "values": [before, after]}

    def _values(self, paths: list[str]) -> dict[str, dict[str, str]]:
        """Return the values of the attributes of the loaded modules at `paths`, by path and by the attribute's name.

        A value is given as a code: a text for comparing values, see `unit_trace.module_values`.
        """
        return {
            path: unit_trace.module_values(vars(module), module.__name__)
            for path in paths
            for module in version_comparison.modules(self._tree.full(path))
        }

    def _answered(
        self, labelled: list[tuple[str, Call]], edits: dict[str, CodeEdit], seconds: float
    ) -> tuple[list[tuple[str, Call]], dict[str, Answers]]:
        """Return the compared calls, and the answers of each program, by "" (unchanged) and the keys of `edits`.

        The unchanged program runs twice, as "" and as AGAIN, to find unstable results; AGAIN is not in the result. If
        one of these two runs crashes, no answers are returned. Other programs that crash are left out. Each program
        runs in its own process, so that the calls of one do not affect another. The compared calls are `labelled`
        without those of functions that wait (see `Answers.waiting`). `seconds`: CPU time for all programs together,
        because wall time would depend on the load of the machine.
        """
        found: dict[str, Answers] = {}
        waiting = set[int]()
        asked = {"": CodeEdit(), **edits, AGAIN: CodeEdit()}
        until = time.monotonic() + WALL * seconds
        for left, (number, edit) in zip(range(len(asked), 0, -1), asked.items(), strict=False):
            share = max(0.0, seconds) / left
            end = time.monotonic() + max(0.0, until - time.monotonic()) / left
            row, cpu = self._executed([call for _, call in labelled], edit, share, end)
            seconds -= min(cpu, share)
            if row is not None:
                if not number:
                    labelled, row = call_probe.without(row.waiting, labelled), row.without(row.waiting)
                else:
                    waiting.update(row.waiting)
                found[number] = row
        found = {number: row.without(waiting) for number, row in found.items()}
        return call_probe.without(waiting, labelled), call_probe.comparable(found, AGAIN)

    def _shown(
        self, calls: list[Call], answers: dict[str, Answers], edits: dict[str, CodeEdit], seconds: float
    ) -> list[list[Any]]:
        """Return rows for calls on which programs differ: index, source text, module, and result texts by program.

        Texts take longer than codes. Therefore only these calls are executed once more, for `seconds` of CPU time in
        all programs together.
        """
        places = call_probe.distinguishing({number: row.codes for number, row in answers.items()})
        if not places:
            return []
        chosen, share = [calls[place] for place in places], seconds / len(answers)
        texts = {
            number: self._texts(chosen, edits.get(number, CodeEdit()), [row.codes[place] for place in places], share)
            for number, row in answers.items()
        }
        describe, rows = short_repr.Describer(), []
        for at, (place, call) in enumerate(zip(places, chosen, strict=True)):
            source, shown = call_probe.asked(call, {number: row[at] for number, row in texts.items()}, describe)
            rows.append([place, source, call.function.__module__, shown])
        return rows

    def _texts(self, calls: list[Call], edit: CodeEdit, codes: list[str], seconds: float) -> list[str]:
        """Return the texts of the results of `calls`; "" if there is no time, or if a result is not as in `codes`."""
        found, _ = self._executed(calls, edit, seconds, time.monotonic() + WALL * seconds, describe=True)
        again = found or Answers([], [])
        rows = itertools.zip_longest(codes, again.codes, again.texts)
        return [text if code == before else "" for before, code, text in rows]

    def _executed(
        self, calls: list[Call], edit: CodeEdit, seconds: float, until: float, *, describe: bool = False
    ) -> tuple[Answers | None, float]:
        """Execute `calls` with `edit` in a child; return the answers, None if it crashed, and the CPU seconds.

        For the parameters, see `call_probe.answers`.
        """

        def work(tell: child.Tell) -> None:
            edit.make()
            unchanged = not edit.targets
            found = call_probe.answers(calls, until, seconds=seconds, describe=describe, unchanged=unchanged)
            tell(json.dumps(found).encode("ascii"))

        ended = child.fork(work, self._limits._replace(cpu=seconds + 1.0))
        return Answers(*json.loads(ended.extra)) if ended.ok else None, ended.cpu

    def _generated(self, message: Message, recorded: list[Call]) -> dict[str, str]:
        """Return the codes of the results of generated calls of the watched functions, by label of the call.

        They are executed in two children, and results that differ between these are left out. If a child crashes, the
        other results are not affected, and the generated calls have none.
        """
        functions = [function for function, _ in self._watched(message)]

        def work(tell: child.Tell) -> None:
            tell(json.dumps(generated_calls.codes(functions, recorded)).encode("ascii"))

        limits = self._limits._replace(cpu=generated_calls.MOST_SECONDS)
        ended = [child.fork(work, limits) for _ in range(2 if functions else 0)]
        first, again = (json.loads(one.extra) if one.ok else {} for one in ended) if ended else ({}, {})
        return {label: code for label, code in first.items() if again.get(label) == code}

    def _learn(self, packed: Message) -> None:
        """Store which functions each test entered; tests whose record is unreliable are left out."""
        table = [(self._tree.full(path), line, name) for path, line, name, _ in packed["table"]]
        for number, rows in zip(packed["places"], packed["tests"], strict=False):
            self._reach[number] = frozenset(table[row] for row in rows)
        for number in packed["unsure"]:
            self._reach.pop(number, None)
        self._entering.clear()
        for number, functions in self._reach.items():
            for function in functions:
                self._entering.setdefault(function, set()).add(number)


@dataclass
class CodeEdit:
    """The changes of a candidate: functions and their new code, and the keys of the old code objects.

    `files_unseen`: whether the candidate changes a module that is not imported yet, so that the tests that reach this
    module are unknown. `rough`: why a fresh import may do more than the change of these functions; "" if it cannot.
    """

    targets: list[Target] = field(default_factory=list)
    changed: set[Key] = field(default_factory=set)
    files_unseen: bool = False
    rough: str = ""
    paths: list[str] = field(default_factory=list)

    def make(self) -> None:
        for function, code in self.targets:
            function.__code__ = code

    @contextlib.contextmanager
    def made(self) -> Iterator[None]:
        """Apply the edit until the end of the block."""
        before = [(function, function.__code__) for function, _ in self.targets]
        self.make()
        try:
            yield
        finally:
            for function, code in before:
                function.__code__ = code


def modules_of(top: str, tests: Container[str]) -> dict[str, str]:
    """Map the real path of each loaded project module to the file name in its code objects; "" for unusual loaders.

    The loader that rewrites assertions is a usual one, except for `tests`. A module without a loader, which a program
    has made (such as bottle.ext), does not matter if another module was loaded from its file.
    """
    found: dict[str, str] = {}
    made: dict[str, str] = {}
    for _, module in loaded():
        path = getattr(module, "__file__", None)
        if not ours(path, top):
            continue
        spec = getattr(module, "__spec__", None)
        loader = getattr(spec, "loader", None)
        real = os.path.realpath(str(path))
        if loader is None:
            made[real] = ""
            continue
        usual = _compiles_as_usual(loader) or (_rewrites(spec) and path not in tests)
        found[real] = str(path) if usual and found.get(real, str(path)) == str(path) else ""
    return {**made, **found}


def _compiles_as_usual(loader: Any) -> bool:
    """Return whether `loader` compiles a file as SourceFileLoader does.

    For instance, the loader of meson-python's editable installs does.
    """
    from importlib.machinery import SourceFileLoader

    methods = ("get_code", "source_to_code", "get_data", "exec_module")
    derived = isinstance(loader, SourceFileLoader)
    return derived and all(getattr(type(loader), name) is getattr(SourceFileLoader, name) for name in methods)


def rewritten(run: ServerPlugin) -> set[str]:
    """Return the files of tests: those whose assertions pytest rewrote.

    pytest also rewrites all modules of packages that are installed as plug-ins. If the project is such a package, they
    are the code under test, except conftest files and modules with tests.
    """
    installed = run.config.pluginmanager.list_plugin_distinfo()
    packages = {getattr(plugin, "__name__", "").partition(".")[0] for plugin, _ in installed}
    collected = {os.path.realpath(str(getattr(item, "path", None) or item.fspath)) for item in run.items}
    found = set()
    for name, module in loaded():
        if _rewrites(getattr(module, "__spec__", None)):
            path = str(module.__file__)
            tests = os.path.basename(path) == "conftest.py" or os.path.realpath(path) in collected
            if tests or name.partition(".")[0] not in packages:
                found.add(path)
    return found


def _rewrites(spec: Any) -> bool:
    return type(getattr(spec, "loader", None)).__name__ == "AssertionRewritingHook"


def preloadable(top: str) -> Message:
    """Return the names of loaded third-party modules, oldest first, and which of these pytest rewrote."""
    names, special = [], []
    for name, module in loaded():
        spec = getattr(module, "__spec__", None)
        if spec is None or spec.name != name or name.split(".")[0] in ("_coderefine_agent", "__main__"):
            continue
        if spec.origin and spec.has_location and not ours(spec.origin, top):
            names.append(name)
            if _rewrites(spec):
                special.append(name)
    return {"modules": names, "rewritten": special}
