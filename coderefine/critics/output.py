"""What programs print, as remarks: lines by a regex, JSON of the usual shapes, SARIF 2.1.0."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from coderefine.config import Command
from coderefine.errors import ConfigError, CriticError

LISTS = ("generalDiagnostics", "results", "issues", "diagnostics", "messages", "findings", "errors")
"""Where JSON reports keep their remarks: pyright, bandit and semgrep, and others."""
PATHS = ("path", "file", "filename", "file_path", "uri")
LINES = ("line", "line_number", "lineno", "row", "startLine")
RULES = ("rule", "code", "rule_id", "ruleId", "check_id", "test_id", "symbol", "message-id")
MESSAGES = ("message", "text", "issue_text", "description")
SOFT = frozenset({"note", "information", "info", "hint", "none"})


@dataclass(frozen=True, slots=True)
class Said:
    """One remark as printed; `path` as the program wrote it, `line` 1-based and 0 when unknown."""

    path: str
    line: int
    message: str
    rule: str = ""
    last: int = 0
    soft: bool = False


Reader = Callable[[bytes], Iterable[Said]]


def readers(command: Command) -> Reader:
    """The reader for `command.format`. Raises ConfigError for an unknown format or a regex that cannot work."""
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
    return lambda data: (_said(match.groupdict()) for match in pattern.finditer(_text(data)))


def _text(data: bytes) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", data.decode("utf-8", "replace").replace("\r\n", "\n"))


def _said(groups: dict[str, str | None]) -> Said:
    line = groups.get("line") or ""
    return Said(
        groups["path"] or "",
        int(line) if line.isdecimal() else 0,
        (groups["message"] or "").strip(),
        groups.get("rule") or "",
    )


def _loaded(data: bytes, name: str) -> Any:
    if not data.strip():
        return []
    try:
        return json.loads(data)
    except ValueError as error:
        raise CriticError(f"{name} printed no JSON: {error}") from error


def _json(report: Any) -> Iterator[Said]:
    """A list of objects, or an object that holds one (also by file, as eslint-like tools print it)."""
    if isinstance(report, dict):
        report = next((report[key] for key in LISTS if isinstance(report.get(key), list)), [])
    for entry in report if isinstance(report, list) else ():
        if isinstance(entry, dict):
            yield from _entry(entry)


def _entry(entry: dict[str, Any]) -> Iterator[Said]:
    path = _first(entry, PATHS)
    nested = next((entry[key] for key in LISTS if isinstance(entry.get(key), list)), None)
    if nested is not None and path:
        yield from _json([{**item, "path": path} for item in nested if isinstance(item, dict)])
    elif path:
        level = str(entry.get("severity", entry.get("type", ""))).lower()
        yield Said(path, _line(entry), _first(entry, MESSAGES), _first(entry, RULES), soft=level in SOFT)


def _first(entry: dict[str, Any], keys: Iterable[str]) -> str:
    return next((str(entry[key]) for key in keys if isinstance(entry.get(key), str | int)), "")


def _line(entry: dict[str, Any]) -> int:
    """A line number of its own, or pyright's zero-based, language-server-like range."""
    for key in LINES:
        if isinstance(entry.get(key), int):
            return int(entry[key])
    start = entry.get("range", {})
    start = start.get("start", {}) if isinstance(start, dict) else {}
    if isinstance(start, dict) and isinstance(start.get("line"), int):
        return int(start["line"]) + 1
    location = entry.get("location", entry.get("start"))
    return _line(location) if isinstance(location, dict) else 0


def _sarif(report: Any, name: str) -> Iterator[Said]:
    try:
        for run in report["runs"] if report else ():
            for result in run.get("results") or ():
                yield from _result(result)
    except (KeyError, TypeError, AttributeError) as error:
        raise CriticError(f"{name} printed no SARIF 2.1.0: {error!r}") from error


def _result(result: dict[str, Any]) -> Iterator[Said]:
    if result.get("suppressions"):
        return
    for location in (result.get("locations") or [])[:1]:
        physical = location["physicalLocation"]
        region = physical.get("region", {})
        line = int(region.get("startLine", 0))
        yield Said(
            unquote(physical["artifactLocation"]["uri"]),
            line,
            result["message"].get("text", ""),
            result.get("ruleId", ""),
            int(region.get("endLine", line)),
            soft=result.get("level") in SOFT,
        )
