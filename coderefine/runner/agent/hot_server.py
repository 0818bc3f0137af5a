"""The hot server: it has collected the tests, and forks children that replace changed functions and run tests."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
import types
from types import CodeType
from typing import Any, Callable, Container, Dict, FrozenSet, Iterator, List, Optional, Set, Tuple

from . import (
    agent_channel,
    call_probe,
    child,
    code_diff,
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
from .loaded_modules import LoadedModules, loaded
from .server_plugin import ServerPlugin
from .working_tree import WorkingTree, decoded, ours

WALL = 4.0
"""Limit of wall time for answers, as a multiple of their CPU time: calls may wait, and processors may be busy."""
AGAIN = "again"
"""Key of the answers that the unchanged program gives in a second run."""
WATCHED = 0.8
"""Share of the CPU time of a child for running the watched tests; the rest is for reporting the records."""
SHOWN = 60
"""Maximum number of calls that are reported as text, with the answers of the candidates that they distinguish."""
Message = Dict[str, Any]
Files = Dict[str, Optional[bytes]]


def serve(fd: int, channel: AgentChannel, job: Message) -> None:
    """Collect the tests as pytest does, then process messages until the parent closes the socket."""
    channel.take_over()
    ran = ExecutedCode(job["top"])
    ran.start()
    run = ServerPlugin(lambda run: HotServer(fd, channel, job, run, ran).serve(), job["files"])
    code = server_plugin.pytest_main(job, run)
    channel.send("failed", code=code, broken=run.broken, fault=run.fault)
    while agent_channel.read(fd) is not None:
        pass


class HotServer:
    """Processes messages inside pytest's loop over the items."""

    def __init__(self, fd: int, channel: AgentChannel, job: Message, run: ServerPlugin, ran: ExecutedCode) -> None:
        ran.stop()
        self._fd = fd
        self._channel = channel
        self._job = job
        self._run = run
        self._ran = ran
        self._tree = WorkingTree(job["top"])
        self._board = child.Board(len(run.items))
        self._sources: Dict[str, SourceFile] = {}
        self._functions = LiveFunctions(job["top"], ran)
        self._rewritten = rewritten(run)
        self._modules = modules_of(job["top"], self._rewritten)
        self._reach: Dict[int, FrozenSet[Key]] = {}
        self._entering: Dict[Key, Set[int]] = {}
        self._threads = threading.active_count()
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
                codes = self._probe(message)
                self._channel.send("probed", codes=codes, cpu=sum(os.times()[:4]) - began)
            else:
                self._channel.send("judged", **self._judge(message))

    def _judge(self, message: Message) -> Message:
        files = decoded(message["files"])
        try:
            edit = self._edit(files, rough=message["rough"])
        except NotHotError as reason:
            return {"number": message["number"], "slow": str(reason)}
        numbers = sorted(message["tests"])
        if message["reach"]:
            numbers = self._reaching(numbers, edit)
        if message["direct"] and not self._way.trusted.isdisjoint(numbers):
            return self._called(message, edit, numbers, files)
        return self._run_with_files(message, edit, numbers, files)

    def _called(self, message: Message, edit: "CodeEdit", numbers: List[int], files: Files) -> Message:
        """Call tests directly; if this does not reject the candidate, run them by pytest's protocol."""
        quick = self._run_with_files(message, edit, numbers, files, directly=True)
        results = bytes.fromhex(quick["results"])
        sure = not quick["died"] and quick["result"]["sure"]
        if quick["hung"] or (sure and self._way.settled(numbers, results, message["known"])):
            return quick
        answer = self._run_with_files(message, edit, numbers, files)
        retracted = self._way.learn(numbers, results, bytes.fromhex(answer["results"]))
        spent = {name: answer[name] + quick[name] for name in ("cpu", "wall", "changed")}
        return {**answer, **spent, "retracted": retracted}

    def _run_with_files(
        self, message: Message, edit: "CodeEdit", numbers: List[int], files: Files, *, directly: bool = False
    ) -> Message:
        """Return the answer of a forked child; `files` are on disk while it runs."""
        self._tree.put(files)
        try:
            answer = self._fork(message, edit, numbers, directly=directly)
        finally:
            self._tree.restore(files)
            self._tree.sweep(self._job["scratch"])
        return {**answer, "changed": self._tree.changed}

    def _reaching(self, numbers: List[int], edit: "CodeEdit") -> List[int]:
        """Return the tests of `numbers` that entered an edited function, or whose entered functions are unknown.

        If `edit.files_unseen` is set, return all of `numbers`.
        """
        if edit.files_unseen:
            return numbers
        reached = set().union(*(self._entering.get(function, ()) for function in edit.changed))
        return [number for number in numbers if number in reached or number not in self._reach]

    def _edit(self, files: Dict[str, Optional[bytes]], *, rough: bool = False) -> "CodeEdit":
        """Return the functions to change for `files`. Raises NotHotError if only a fresh import can apply the change.

        `rough`: change also functions that ran during the import, although the effects of their old code stay; see
        `CodeEdit.rough`.
        """
        if self._threads > 1:
            raise NotHotError("threads are alive after the import")
        edit = CodeEdit()
        try:
            return self._filled(edit, files, self._ran)
        except RanAtImportError as reason:
            if not rough:
                raise
            edit = CodeEdit()
            edit.rough = str(reason)
            return self._filled(edit, files, lambda _: False)

    def _filled(
        self, edit: "CodeEdit", files: Dict[str, Optional[bytes]], ran: Callable[[CodeType], bool]
    ) -> "CodeEdit":
        edit.paths = list(files)
        for path, data in files.items():
            self._add(edit, self._tree.full(path), path, data, ran)
        return edit

    def _add(
        self, edit: "CodeEdit", full: str, path: str, data: Optional[bytes], ran: Callable[[CodeType], bool]
    ) -> None:
        if data is None or not path.endswith(".py"):
            raise NotHotError("%s is no module to change in place" % path)
        filename = self._modules.get(os.path.realpath(full))
        if filename is None:
            edit.files_unseen = True
            return
        if filename == "":
            raise NotHotError("%s was not imported in the usual way" % path)
        if path not in self._sources:
            self._sources[path] = SourceFile(filename, self._tree.original(path).data or b"")
        source = self._sources[path]
        for old, new in source.pairs(data):
            pairs = code_diff.swaps(old, new, ran)
            edit.targets += self._functions.targets(pairs, source)
            edit.changed.update(key(code) for code, _ in pairs)

    def _fork(self, message: Message, edit: "CodeEdit", numbers: List[int], *, directly: bool) -> Message:
        self._board.clear()
        limits = self._limits._replace(cpu=message["limit"])
        live = self._live_directly if directly else self._live
        ended = child.fork(lambda tell: tell(live(message, edit, numbers)), limits)
        if directly or not ended.ok:
            pytest_internals.empty_capture(self._run.config)  # it still contains the output of direct calls
        return {
            "number": message["number"],
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

    def _live(self, message: Message, edit: "CodeEdit", numbers: List[int]) -> bytes:
        """Apply the edit and run the tests (in the child)."""
        edit.make()
        known, keep_going = frozenset(message["known"]), message["keep_going"]
        if message["watch"] is None:
            fine = self._run.run(numbers, self._board, known=known, keep_going=keep_going)
            if edit.paths and fine:
                self._run.check(edit.paths, lazy=edit.files_unseen or self._job["origin"] != self._job["top"])
            return json.dumps({"void": self._run.void}).encode("ascii")
        watch = self._open_watch(message)
        seconds, followed = message["seconds"], message["followed"]
        done = self._run.watch(numbers, self._board, watch, followed=followed, seconds=seconds)
        found = test_coverage.packed(numbers, done.hits, done.unsure, self._job["top"], watch.steps)
        return json.dumps({"reach": found, "patterns": child.patterns()}).encode("ascii")

    def _open_watch(self, message: Message) -> test_coverage.Watch:
        """Open a Watch for the request `message`.

        Key "watch": the functions to trace (empty: all). Key "lines": whether executed lines are recorded, too.
        """
        wanted = {(self._tree.full(path), line, name) for path, line, name in message["watch"]}
        if message["followed"]:
            message["followed"] = os.path.join(self._job["scratch"], "followed")
            test_coverage.follow_programs(message["followed"], self._job["top"])
        watch = test_coverage.open_watch(
            lambda path: ours(path, self._job["top"]) and path not in self._rewritten,
            wanted or None,
            lines=message["lines"],
            stepped=frozenset(message["stepped"]),
            tests=self._rewritten.__contains__,
        )
        pytest_internals.describe_inside(watch.ignoring)
        return watch

    def _live_directly(self, message: Message, edit: "CodeEdit", numbers: List[int]) -> bytes:
        """Apply the edit and run the tests as `_live` does, but by direct calls if these are trusted (in the child).

        Return whether the results are certain.
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
        order = {"number": 0, "known": places, "keep_going": True, "limit": message["patience"]}
        answer = self._run_with_files(order, CodeEdit(), places, {}, directly=True)
        self._way.on_trial = False
        self._way.adopt(places, bytes.fromhex(answer["results"]), bytes.fromhex(message["statuses"]))

    def _probe(self, message: Message) -> Dict[str, List[str]]:
        """Return, by candidate number, the codes of the results of the tests' calls; "" is the unchanged program.

        Further keys: "?": labels of the calls; "^": their kinds (see Call.kind); "@", "$", "%" and "=N": see `_shown`.
        Candidates that the hot server cannot run are left out. The result is empty if the child crashes.
        """
        edits = {}
        for number, files in message["candidates"].items():
            with contextlib.suppress(NotHotError):
                edits[number] = self._edit(decoded(files), rough=message.get("rough", False))
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
        codes: Dict[str, List[str]] = json.loads(ended.extra) if ended.extra else {}
        return {**codes, **trace}

    def _compare(self, message: Message, edits: "Dict[str, CodeEdit]") -> bytes:
        """Record calls while the tests run, then execute them, and variants, with every candidate (in the child)."""
        seconds = message["seconds"] / 2
        recorded = self._recorded(message, edits, seconds)
        if "other" in message:
            files = {self._tree.full(path): data for path, data in decoded(message["other"]).items()}
            return json.dumps(version_comparison.compared(recorded, files, message["seconds"])).encode("ascii")
        labelled = call_probe.near(recorded, message.get("near", call_probe.NEAR), seconds)
        labelled, answers = self._answered(labelled, edits, message["seconds"])
        calls = [call for _, call in labelled]
        reply = {"?": [label for label, _ in labelled], "^": call_probe.kinds(calls, answers)}
        reply.update({number: row.codes for number, row in answers.items()})
        self._add_examples(reply, {number: edits.get(number, CodeEdit()) for number in answers}, message["seconds"])
        return json.dumps({**_shown(calls, answers), **reply}).encode("ascii")

    def _recorded(self, message: Message, edits: "Dict[str, CodeEdit]", seconds: float) -> List[Call]:
        """Run the tests for 2 * `seconds` of CPU time, at most half of it for copying arguments; return their calls.

        Tests that hang or crash run first, with an edit applied that repairs them: "repaired" in `message` lists
        pairs (key of the edit in `edits`, numbers of the tests).
        """
        failing = frozenset(message.get("failing", ()))
        repaired = [(edits[number], tests) for number, tests in message.get("repaired", ()) if number in edits]
        targets = [target for edit in edits.values() for target in edit.targets]
        known = {id(code): function for function, code in targets}
        codes = [function.__code__ for function, _ in (*targets, *self._watched(message))]
        edited = {id(code): code for code in codes}  # code objects of two modules may be equal

        def running(code: types.CodeType) -> Optional[types.FunctionType]:
            return known.get(id(code)) or self._functions.running(code)

        recorder = call_probe.CallRecorder(
            running,
            lambda path: path in self._rewritten,
            lambda: self._board.running in failing,
            edited=frozenset((*edited, *known)),
            most=message.get("most", call_probe.CALLS),
            seconds=seconds,
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

    def _add_examples(self, reply: Dict[str, List[str]], edits: "Dict[str, CodeEdit]", seconds: float) -> None:
        """Add the codes of docstring examples to the rows of `reply`, and their kind EXAMPLE to its row of kinds."""
        examples = self._examples(edits, seconds)
        if examples:
            reply["^"] = [*reply["^"][: len(reply[""])], *[call_probe.EXAMPLE] * len(examples[""])]
        for number, codes in examples.items():
            reply[number] = [*reply[number], *codes]

    def _examples(self, edits: "Dict[str, CodeEdit]", seconds: float) -> Dict[str, List[str]]:
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

            def work(tell: child.Tell, edit: "CodeEdit" = edit) -> None:
                edit.make()
                codes = docstring_examples.codes(tests, time.monotonic() + seconds / len(edits))
                tell(json.dumps(codes).encode("ascii"))

            ended = child.fork(work, self._limits._replace(cpu=seconds))
            found[number] = json.loads(ended.extra) if ended.ok else docstring_examples.broken(tests)
        return found

    def _watched(self, message: Message) -> "List[Tuple[types.FunctionType, str]]":
        """Return the functions to watch, with the names of their units."""
        return [
            (function, unit)
            for path, line, name, unit in message.get("watched", ())
            for function in self._functions.at((self._tree.full(path), line, name))
        ]

    def _traced(self, message: Message) -> Dict[str, List[str]]:
        """Run all tests in a child, then again in another, and record the watched functions (see unit_trace.py).

        The keys "trace" and "trace2" have one JSON text each: results and lines by unit, values by module before and
        after the tests (only before them if their time was over). If a text is missing, "untraced" has the reason.
        """
        watched = self._watched(message)

        def work(tell: child.Tell) -> None:
            try:
                report = [self._trace(message, watched), ""]
            except Exception as error:  # raised by our code, or by an object of the project that was encoded
                report = ["", "%s: %s" % (type(error).__name__, error)]
            tell(json.dumps(report).encode("ascii"))

        found: Dict[str, List[str]] = {}
        for name in ("trace", "trace2"):
            ended = child.fork(work, self._limits._replace(cpu=message["limit"]))
            text, failed = json.loads(ended.extra) if ended.ok else ("", ended.died)
            found.update({"untraced": [failed]} if failed else {name: [text]})
        return found

    def _trace(self, message: Message, watched: "List[Tuple[types.FunctionType, str]]") -> str:
        """Run the tests; return the records of the watched functions (in the child)."""
        trace = unit_trace.UnitTrace(watched)
        before = self._values(message["modules"])
        trace.start()
        whole = self._run.run_within(message["tests"], self._board, WATCHED * message["limit"])
        trace.stop()
        after = self._values(message["modules"]) if whole else {}
        lines = {unit: sorted(lines) for unit, lines in trace.lines.items()}
        return json.dumps({"results": trace.results, "lines": lines, "values": [before, after]})

    def _values(self, paths: List[str]) -> Dict[str, Dict[str, str]]:
        """Return the values of the attributes of the loaded modules at `paths`, by path and by the attribute's name.

        A value is given as a code: a text for comparing values, see `unit_trace.module_values`.
        """
        return {
            path: unit_trace.module_values(vars(module), module.__name__)
            for path in paths
            for module in version_comparison.modules(self._tree.full(path))
        }

    def _answered(
        self, labelled: "List[Tuple[str, Call]]", edits: "Dict[str, CodeEdit]", seconds: float
    ) -> "Tuple[List[Tuple[str, Call]], Dict[str, Answers]]":
        """Return the calls that were compared, and their results by program: "" (unchanged) and each candidate.

        Each program runs in a separate process, so that side effects of calls, in a cache or a counter, do not affect
        other programs. The unchanged program runs twice, as "" and as AGAIN, to find unstable results. Programs that
        crash are left out. The compared calls are `labelled` without calls of functions that wait. `seconds`: CPU time
        for all programs together; with wall time, a busy machine would change which calls are compared.
        """
        found: Dict[str, Answers] = {}
        asked = {"": CodeEdit(), **edits, AGAIN: CodeEdit()}
        until = time.monotonic() + WALL * seconds
        for left, (number, edit) in zip(range(len(asked), 0, -1), asked.items()):  # noqa: B905 - Python 3.9
            share = max(0.0, seconds) / left
            end = time.monotonic() + max(0.0, until - time.monotonic()) / left
            calls = [call for _, call in labelled]

            def work(
                tell: child.Tell,
                edit: "CodeEdit" = edit,
                calls: List[Call] = calls,
                share: float = share,
                end: float = end,
            ) -> None:
                edit.make()
                unchanged = not edit.targets
                answers = call_probe.answers(calls, end, seconds=share, describe=True, unchanged=unchanged)
                tell(json.dumps(answers).encode("ascii"))

            ended = child.fork(work, self._limits._replace(cpu=share + 1.0))
            seconds -= min(ended.cpu, share)
            if ended.ok:
                row = Answers(*json.loads(ended.extra))
                if not number:
                    labelled, row = call_probe.without(row.waiting, labelled), row.without_waiting()
                found[number] = row
        return labelled, call_probe.comparable(found, AGAIN)

    def _learn(self, packed: Message) -> None:
        """Store which functions each test entered; tests whose record is unreliable are left out."""
        table = [(self._tree.full(path), line, name) for path, line, name, _ in packed["table"]]
        for number, rows in zip(packed["places"], packed["tests"]):  # noqa: B905 - Python 3.9
            self._reach[number] = frozenset(table[row] for row in rows)
        for number in packed["unsure"]:
            self._reach.pop(number, None)
        self._entering.clear()
        for number, functions in self._reach.items():
            for function in functions:
                self._entering.setdefault(function, set()).add(number)


def _shown(calls: List[Call], answers: "Dict[str, Answers]") -> Dict[str, List[str]]:
    """Return the calls on which candidates differ: "@" indices, "$" texts, "%" modules, "=N" results of candidate N."""
    places = call_probe.distinguishing({number: row.codes for number, row in answers.items()}, SHOWN)
    describe = short_repr.Describer()
    shown: Dict[str, List[str]] = {"@": [str(place) for place in places], "$": []}
    shown.update({"=" + number: [] for number in answers})
    for place in places:
        texts = {number: row.texts[place] if place < len(row.texts) else "" for number, row in answers.items()}
        source, texts = call_probe.asked(calls[place], texts, describe)
        shown["$"].append(source)
        for number, text in texts.items():
            shown["=" + number].append(text)
    shown["%"] = [calls[place].function.__module__ for place in places]
    return shown


class CodeEdit:
    """The changes of a candidate: functions and their new code, and the keys of the old code objects.

    `files_unseen`: whether the candidate changes a module that is not imported yet, so that the tests that reach this
    module are unknown. `rough`: why a fresh import may do more than the change of these functions; "" if it cannot.
    """

    def __init__(self) -> None:
        self.targets: List[Target] = []
        self.changed: Set[Key] = set()
        self.files_unseen = False
        self.rough = ""
        self.paths: List[str] = []

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


def modules_of(top: str, tests: Container[str]) -> Dict[str, str]:
    """Map the real path of each loaded project module to the file name in its code objects; "" for unusual loaders.

    The loader that rewrites assertions is a usual one, except for `tests`.
    """
    from importlib.machinery import SourceFileLoader

    found: Dict[str, str] = {}
    for _, module in loaded():
        path = getattr(module, "__file__", None)
        if not ours(path, top):
            continue
        spec = getattr(module, "__spec__", None)
        usual = type(getattr(spec, "loader", None)) is SourceFileLoader or (_rewrites(spec) and path not in tests)
        real = os.path.realpath(str(path))
        found[real] = str(path) if usual and found.get(real, str(path)) == str(path) else ""
    return found


def rewritten(run: ServerPlugin) -> Set[str]:
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
