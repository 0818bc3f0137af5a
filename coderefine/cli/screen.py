"""The output of a command: progress on stderr, the report on stdout; and its exit code."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from coderefine.core import Check, Event, Listen, Outcome, Severity, Stop
from coderefine.core.plurals import counted, printable
from coderefine.reports.progress import choose
from coderefine.reports.terminal import colour, columns

if TYPE_CHECKING:
    from coderefine.app.run import RunResult
    from coderefine.llm.model_request import ModelRequest


@dataclass(frozen=True, slots=True)
class Screen:
    """Prints reports in `format_`, one of `reports.formats.NAMES`.

    `diff`: include the patch in the report of a run.
    """

    listen: Listen
    format_: str
    quiet: bool
    diff: bool = False

    def name_root(self, root: Path) -> None:
        """Name the folder to which the paths of reports are relative, if it is not the current one."""
        if root != Path.cwd():
            self.listen(Event("note", f"paths are relative to {root}"))

    def checks(self, checks: Sequence[Check], decided: str = "", *, root: Path | None = None) -> None:
        """Print the findings of the gates.

        `decided`: an additional last line in text reports. `root`: the folder to which paths are relative, for JSON.
        """
        from coderefine.reports import terminal
        from coderefine.reports.formats import named

        if self.format_ == "json":
            from coderefine.reports import json

            _write_raw(json.checks(checks, root))
        elif self.format_ != "text":
            _write_raw(named(self.format_).checks(checks))
        elif not self.quiet:
            sys.stdout.write(terminal.checks(checks, coloured=_coloured(sys.stdout), width=columns(os.environ)))
            sys.stdout.write(f"{decided}\n" if decided else "")

    def result(self, result: RunResult, decided: str = "", *, pipe: bool = False) -> None:
        """Print the report of a run; with `pipe` print the patch to stdout and the report to stderr.

        `decided`: the last line of a text report if "all checks pass" would not be true of the user's own tree.
        """
        from coderefine.reports import terminal
        from coderefine.reports.formats import RunReport, named

        outcome, before = result.outcome, result.before
        lines = (result.published.line,) if result.published.line else ()
        diff = result.diff.decode("utf-8", "replace")
        if self.format_ != "text":
            _write_raw(named(self.format_).outcome(RunReport(outcome, lines, result.run, result.diff, before)))
            return
        width = columns(os.environ)
        if pipe and _coloured(sys.stdout):
            from coderefine.reports.paint import paint_diff

            sys.stdout.write(paint_diff(diff, width))
        elif pipe:
            _write_raw(result.diff)
        if not self.quiet:
            stream = sys.stderr if pipe else sys.stdout
            coloured, shown = _coloured(stream), diff if self.diff else ""
            stream.write(
                terminal.outcome(
                    outcome, lines, diff=shown, decided=decided, before=before, coloured=coloured, width=width
                )
            )
            stream.flush()  # an error is raised here, where it is known whether the patch was written

    def prompt(self, request: ModelRequest) -> None:
        """Print one request as it is sent, with the size of its parts."""
        print(prompt_text(request), file=sys.stderr)


def prompt_text(request: ModelRequest) -> str:
    """Return one request as text, with the size of its parts."""
    sizes = ", ".join(f"{name} {size}" for name, size in request.parts)
    head = f"--- {request.purpose}: {request.chars} characters ({sizes})"
    return "\n".join([head, *(f"[{message.role}]\n{message.text}" for message in request.messages)])


@contextlib.contextmanager
def screen(*, quiet: bool, format_: str, diff: bool = False) -> Iterator[Screen]:
    """Open the output of one command; the progress line is removed when the block ends."""
    with choose(sys.stderr, os.environ, quiet=quiet or format_ != "text") as listen:
        yield Screen(listen, format_, quiet, diff)


def note(event: Event) -> None:
    """Print the event's text to stderr; for commands without a report."""
    print(f"note: {printable(event.text)}", file=sys.stderr)


def failures(checks: Iterable[Check]) -> str:
    """Return the numbers of failing tests and of other hard findings: `2 tests fail, 1 ruff finding`; "" for none."""
    parts = []
    for check in checks:
        hard = [finding for finding in check.findings if finding.severity is Severity.HARD]
        failing = sum(finding.symbol in check.cases for finding in hard)
        if failing:
            parts.append(f"{counted(failing, 'test')} fail{'s' * (failing == 1)}")
        if len(hard) > failing:
            parts.append(counted(len(hard) - failing, f"{check.critic} finding"))
    return ", ".join(parts)


def exit_code(outcome: Outcome) -> int:
    """Return 2 for a broken environment and 130 for an interrupted run; else 0 if no HARD finding is left, else 1."""
    return {Stop.ENVIRONMENT: 2, Stop.INTERRUPTED: 130}.get(outcome.stop, 0 if outcome.clean else 1)


def proof_exit_code(outcome: Outcome) -> int:
    """Return 0 if a given patch is proved, 1 if not; for a run that ended early, see `exit_code`."""
    if outcome.stop in (Stop.ENVIRONMENT, Stop.INTERRUPTED):
        return exit_code(outcome)
    return 0 if outcome.proof and outcome.proof.verdict else 1


def _coloured(stream: TextIO) -> bool:
    return colour(stream, os.environ)


def _write_raw(text: str | bytes) -> None:
    """Write `text` to stdout unchanged: a patch may contain any bytes."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()
