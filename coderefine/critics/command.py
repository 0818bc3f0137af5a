"""The command gate: any program whose output names files and lines is a critic.

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

A program is looked for in the project's own environment first, then on PATH.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from coderefine.core import Ask, Check, Event, Finding, Finished, Listen, Severity, Span, View
from coderefine.critics.output import Said, readers
from coderefine.critics.scope import weighed
from coderefine.critics.texts import Texts
from coderefine.errors import ConfigError, CriticError, ProcessError

if TYPE_CHECKING:
    from coderefine.config import Command
    from coderefine.project import Interpreter, Place


NOT_STARTED = (126, 127)
"""Exit codes of a shell that cannot start a program."""


class CommandGate:
    """Runs one configured program over the whole project, in its root, and reads what it says."""

    gate = True

    def __init__(self, place: Place, interpreter: Interpreter, listen: Listen, command: Command) -> None:
        if not command.run:
            raise ConfigError(f"command {command.name!r}: run is empty; give the program and its arguments")
        self._place = place
        self._interpreter = interpreter
        self._command = command
        self._listen = listen
        self._read = readers(command)

    @property
    def name(self) -> str:
        return self._command.name

    def check(self, view: View, ask: Ask) -> Check:
        """Always looks at the whole project: a type checker's verdict on one file depends on the others.

        Raises CriticError when the program cannot start, runs out of time, ends with a code that is neither 0 nor
        one of `findings_exit`, or reports findings that cannot be read.
        """
        began = time.monotonic()
        self._listen(Event("critic", self.name))
        result = self._run(view, min(ask.timeout, self._command.timeout))
        texts = Texts(view)
        findings = weighed((self._finding(said, texts) for said in self._said(view, result)), ask.scope)
        return Check(self.name, findings, seconds=time.monotonic() - began, tool=Path(self._command.run[0]).name)

    def _run(self, view: View, timeout: float) -> Finished:
        environment = {"PATH": os.pathsep.join((str(self._interpreter.path.parent), os.environ.get("PATH", "")))}
        argv = (self._program(), *self._command.run[1:])
        try:
            result = view.run(argv, cwd=self._place.prefix, env=environment, timeout=timeout)
        except ProcessError as error:
            raise CriticError(self._missing() or f"{self.name}: {error}") from error
        if result.timed_out:
            raise CriticError(f"{self.name} did not end within {timeout:g} s (its key timeout allows more)")
        if result.returncode in NOT_STARTED and (missing := self._missing()):
            raise CriticError(missing)
        if result.returncode not in (0, *self._command.findings_exit):
            raise CriticError(f"{self.name} exited {result.returncode}: {_complaint(result)}")
        return result

    def _missing(self) -> str:
        """Say how to install the program where there is none of that name; "" where there is one."""
        program = self._program()
        path = os.pathsep.join((str(self._interpreter.path.parent), os.environ.get("PATH", "")))
        if os.sep in program or shutil.which(program, path=path):
            return ""
        other = ", or choose pyright ([tool.pyright] in pyproject.toml)" if program == "mypy" else ""
        python = self._interpreter.path
        return f"{program} is not installed for {python}: {python} -m pip install {program}{other}"

    def _program(self) -> str:
        """The project's own program of that name if its environment has one; a path stays a path."""
        program = self._command.run[0]
        own = self._interpreter.path.parent / program
        return str(own) if os.sep not in program and own.is_file() else program

    def _said(self, view: View, result: Finished) -> Iterator[Said]:
        spoke = False
        for said in self._read(result.stdout or result.stderr):
            spoke = True
            path = self._relative(view, said.path)
            if path is not None:
                yield replace(said, path=path)
        if result.returncode != 0 and not spoke:
            raise CriticError(
                f"{self.name} exited {result.returncode} but none of its output could be read as a finding "
                f"(check format and regex): {_complaint(result)}"
            )

    def _relative(self, view: View, path: str) -> str | None:
        """`path` (absolute, or relative to the project's root) from the repository's top; None when outside."""
        for top in (view.top, view.top.resolve()):
            full = os.path.normpath(top / self._place.prefix / path.removeprefix("file://"))
            if full.startswith(f"{top}{os.sep}"):
                return Path(full).relative_to(top).as_posix()
        return None

    def _finding(self, said: Said, texts: Texts) -> Finding:
        return Finding(
            critic=self.name,
            rule=said.rule or self.name,
            path=said.path,
            message=said.message,
            span=Span(said.line, max(said.line, said.last)) if said.line else None,
            symbol=texts.symbol(said.path, said.line),
            evidence=texts.line(said.path, said.line),
            severity=Severity.SOFT if said.soft else Severity.HARD,
        )


def _complaint(result: Finished) -> str:
    said = (result.stderr.strip() or result.stdout.strip()).decode("utf-8", "replace")
    return said.splitlines()[-1][:300] if said else "it printed nothing"
