"""The command gate: any program whose output names files and lines can be a gate.

Its output is read by a regex line by line, as JSON of the usual shapes, or as SARIF 2.1.0.

    [[tool.coderefine.commands]]
    name = "mypy"
    run = ["mypy", "--no-error-summary", "--show-error-codes", "src"]
    regex = '^(?P<path>[^:\\n]+):(?P<line>\\d+): error: (?P<message>.*?)(?:  \\[(?P<rule>[\\w-]+)\\])?$'

    [[tool.coderefine.commands]]
    name = "pyright"
    run = ["pyright", "--outputjson"]
    format = "json"

    [[tool.coderefine.commands]]
    name = "bandit"
    run = ["bandit", "-q", "-r", "src", "-f", "sarif"]        # needs bandit[sarif]
    format = "sarif"

    [[tool.coderefine.commands]]
    name = "vulture"
    run = ["vulture", "src"]
    findings-exit = [3]        # exit codes that mean "ran, with findings"; without it [1]

A program is looked for in the project's own environment first, then on PATH. It may run code of the project (plug-ins
of a type checker, a Makefile), so it is confined from the start, on the untouched tree too.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from coderefine import proc
from coderefine.config import Command, Config
from coderefine.core import Ask, Check, Event, Finding, Finished, Listen, Severity, Span, View
from coderefine.core.views import relative_to_top
from coderefine.critics.sandboxed import Run, Sandboxed, last_line_of
from coderefine.critics.source_files import Texts, weighed
from coderefine.errors import ConfigError, CriticError, ProcessError
from coderefine.project import Interpreter, Place

NOT_STARTED = (126, 127)
"""Exit codes of a shell that cannot start a program."""

LISTS = ("generalDiagnostics", "results", "issues", "diagnostics", "messages", "findings", "errors")
"""Possible keys of the list of findings in a JSON report; the first three are those of pyright, bandit and semgrep."""
PATHS = ("path", "file", "filename", "file_path", "uri")
LINES = ("line", "line_number", "lineno", "row", "startLine")
RULES = ("rule", "code", "rule_id", "ruleId", "check_id", "test_id", "symbol", "message-id")
MESSAGES = ("message", "text", "issue_text", "description")
SOFT = frozenset({"note", "information", "info", "hint", "none"})


class CommandGate:
    """Runs one configured program over the whole project, in the project's root, and reads the findings it prints."""

    gate = True

    def __init__(
        self, place: Place, interpreter: Interpreter, config: Config, listen: Listen, command: Command
    ) -> None:
        if not command.run:
            raise ConfigError(f"command {command.name!r}: run is empty; give the program and its arguments")
        self._place = place
        self._interpreter = interpreter
        self._command = command
        self._listen = listen
        self._read = _reader(command)
        self._box = Sandboxed(config)

    @property
    def name(self) -> str:
        return self._command.name

    def check(self, view: View, ask: Ask) -> Check:
        """Run the program on the whole project: a type checker's findings in one file depend on the other files.

        Raises CriticError if the program cannot start, times out, or ends with an exit code other than 0 and those of
        `findings-exit`; also if its output cannot be parsed, or has no finding in the repository although the exit code
        is not 0.
        """
        self._listen(Event("critic", self.name))
        timeout = min(ask.timeout, self._command.timeout)
        found = self._box.fitting(
            lambda run: list(self._diagnostics(view, self._run(run, view, timeout))), loosen=ask.freedom is None
        )
        texts = Texts(view)
        findings = weighed((self._finding(one, texts) for one in found), ask.scope)
        tool = Path(self._command.run[0]).name
        return Check(self.name, findings, tool=tool, confined=self._box.words)

    def _run(self, run: Run, view: View, timeout: float) -> Finished:
        argv = (self._program(), *self._command.run[1:])
        try:
            result = run(
                view,
                argv,
                cwd=self._place.prefix,
                env={"PATH": proc.search_path(self._interpreter.path)},
                timeout=timeout,
            )
        except ProcessError as error:
            raise CriticError(self._missing() or f"{self.name}: {error}") from error
        if result.timed_out:
            raise CriticError(f"{self.name} did not end within {timeout:g} s (its key timeout allows more)")
        if result.returncode in NOT_STARTED and (missing := self._missing()):
            raise CriticError(missing)
        if result.returncode not in (0, *self._command.findings_exit):
            raise CriticError(
                f"{self.name} exited {result.returncode}: {last_line_of(result)} "
                f"(if that means findings: findings-exit = [{result.returncode}])"
            )
        return result

    def _missing(self) -> str:
        """Describe how to install the program if it is missing; "" if it exists."""
        program = self._program()
        if os.sep in program or shutil.which(program, path=proc.search_path(self._interpreter.path)):
            return ""
        other = ", or choose pyright ([tool.pyright] in pyproject.toml)" if program == "mypy" else ""
        python = self._interpreter.path
        return f"{program} is not installed for {python}: {python} -m pip install {program}{other}"

    def _program(self) -> str:
        """Return the project's own program if its environment has one, else the configured name or path."""
        program = self._command.run[0]
        own = self._interpreter.path.parent / program
        return str(own) if os.sep not in program and own.is_file() else program

    def _diagnostics(self, view: View, result: Finished) -> Iterator[CommandDiagnostic]:
        found = list(self._read(result.stdout or result.stderr))
        inside = [(path, one) for one in found if (path := self._relative(view, one.path)) is not None]
        yield from (replace(one, path=path) for path, one in inside)
        if result.returncode != 0 and found and not inside:
            raise CriticError(
                f"{self.name} exited {result.returncode} but reports only files outside this repository: "
                f"{found[0].path}: {found[0].message}"
            )
        if result.returncode != 0 and not found:
            raise CriticError(
                f"{self.name} exited {result.returncode} but none of its output could be read as a finding "
                f"(check format and regex): {last_line_of(result)}"
            )

    def _relative(self, view: View, path: str) -> str | None:
        """Return `path` (absolute, or relative to the project's root) relative to the repository; None if outside."""
        full = os.path.normpath(view.top / self._place.prefix / path.removeprefix("file://"))
        return relative_to_top(view, Path(full))

    def _finding(self, found: CommandDiagnostic, texts: Texts) -> Finding:
        return Finding(
            critic=self.name,
            rule=found.rule or self.name,
            path=found.path,
            message=found.message,
            span=Span(found.line, max(found.line, found.last)) if found.line else None,
            symbol=texts.symbol(found.path, found.line),
            evidence=texts.line(found.path, found.line),
            severity=Severity.SOFT if found.soft else Severity.HARD,
        )


@dataclass(frozen=True, slots=True)
class CommandDiagnostic:
    """A finding as the program printed it.

    `line`, `last`: its first and last line, 1-based; 0 if unknown. `soft`: whether the program calls it a note.
    """

    path: str
    line: int
    message: str
    rule: str = ""
    last: int = 0
    soft: bool = False


Reader = Callable[[bytes], Iterable[CommandDiagnostic]]


def _reader(command: Command) -> Reader:
    """Return the parser for `command.format`. Raises ConfigError for an unknown format or an invalid regex."""
    if command.format == "lines":
        return _lines(command)
    if command.format == "json":
        return lambda data: _json(_loaded(data, command.name))
    if command.format == "sarif":
        return lambda data: _sarif(_loaded(data, command.name), command.name)
    raise ConfigError(f"command {command.name!r}: format must be lines, json or sarif, not {command.format!r}")


def _lines(command: Command) -> Reader:
    try:
        pattern = re.compile(command.regex, re.MULTILINE)
    except re.error as error:
        raise ConfigError(f"command {command.name!r}: regex is broken: {error}") from error
    missing = {"path", "message"} - set(pattern.groupindex)
    if missing:
        raise ConfigError(f"command {command.name!r}: regex has no group named {' or '.join(sorted(missing))}")

    def read(data: bytes) -> Iterable[CommandDiagnostic]:
        plain = re.sub(r"\x1b\[[0-9;]*m", "", data.decode("utf-8", "replace").replace("\r\n", "\n"))
        return map(_matched, pattern.finditer(plain))

    return read


def _matched(match: re.Match[str]) -> CommandDiagnostic:
    groups = {name: text or "" for name, text in match.groupdict().items()}
    line = groups.get("line", "")
    number = int(line) if line.isdecimal() else 0
    soft = groups.get("severity", "").lower() in SOFT
    return CommandDiagnostic(groups["path"], number, groups["message"].strip(), groups.get("rule", ""), soft=soft)


def _loaded(data: bytes, name: str) -> Any:
    if not data.strip():
        return []
    try:
        return json.loads(data)
    except ValueError as error:
        raise CriticError(f"{name} printed no JSON: {error}") from error


def _json(report: Any) -> Iterator[CommandDiagnostic]:
    """Parse a list of findings, or an object that contains one; findings may be grouped by file (eslint does this)."""
    if isinstance(report, dict):
        report = next((report[key] for key in LISTS if isinstance(report.get(key), list)), [])
    for entry in report if isinstance(report, list) else ():
        if isinstance(entry, dict):
            yield from _entry(entry)


def _entry(entry: dict[str, Any]) -> Iterator[CommandDiagnostic]:
    path = _first(entry, PATHS)
    nested = next((entry[key] for key in LISTS if isinstance(entry.get(key), list)), None)
    if nested is not None and path:
        yield from _json([{**item, "path": path} for item in nested if isinstance(item, dict)])
    elif path:
        level = str(entry.get("severity", entry.get("type", ""))).lower()
        yield CommandDiagnostic(path, _line(entry), _first(entry, MESSAGES), _first(entry, RULES), soft=level in SOFT)


def _first(entry: dict[str, Any], keys: Iterable[str]) -> str:
    return next((str(entry[key]) for key in keys if isinstance(entry.get(key), str | int)), "")


def _line(entry: dict[str, Any]) -> int:
    """Return the line number of an entry, counted from 1; 0 if there is none.

    The lines of a `range`, as in the output of pyright, are counted from 0.
    """
    for key in LINES:
        if isinstance(entry.get(key), int):
            return int(entry[key])
    start = entry.get("range", {})
    start = start.get("start", {}) if isinstance(start, dict) else {}
    if isinstance(start, dict) and isinstance(start.get("line"), int):
        return int(start["line"]) + 1
    location = entry.get("location", entry.get("start"))
    return _line(location) if isinstance(location, dict) else 0


def _sarif(report: Any, name: str) -> Iterator[CommandDiagnostic]:
    try:
        for run in report["runs"] if report else ():
            for result in run.get("results") or ():
                yield from _result(result)
    except (KeyError, TypeError, AttributeError) as error:
        raise CriticError(f"{name} printed no SARIF 2.1.0: {error!r}") from error


def _result(result: dict[str, Any]) -> Iterator[CommandDiagnostic]:
    if result.get("suppressions"):
        return
    for location in (result.get("locations") or [])[:1]:
        physical = location["physicalLocation"]
        region = physical.get("region", {})
        line = int(region.get("startLine", 0))
        yield CommandDiagnostic(
            unquote(physical["artifactLocation"]["uri"]),
            line,
            result["message"].get("text", ""),
            result.get("ruleId", ""),
            int(region.get("endLine", line)),
            soft=result.get("level") in SOFT,
        )
