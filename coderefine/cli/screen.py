"""Everything that a command prints: progress on stderr, the report on stdout."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

from coderefine.core import EMPTY, Check, Listen, Outcome
from coderefine.reports.progress import choose
from coderefine.reports.terminal import colour, columns

if TYPE_CHECKING:
    from coderefine.errors import PublishError
    from coderefine.llm.request import Request


@dataclass(frozen=True, slots=True)
class Delivered:
    """What became of the patch: `line` says it, `diff` is the patch.

    `pipe`: print the diff itself to stdout. `refused`: why the patch could not be written. `before`: what the patched
    files held when the run began. `decided`: the last line of the report, where "all checks pass" would not be about
    the user's tree.
    """

    line: str = ""
    diff: bytes = b""
    pipe: bool = False
    refused: PublishError | None = None
    before: Mapping[str, bytes | None] = field(default_factory=lambda: EMPTY)
    decided: str = ""


@dataclass(frozen=True, slots=True)
class Screen:
    """Print reports in `format_`: text, json or one of reports.formats.

    `diff`: include the patch in the report of a run.
    """

    listen: Listen
    format_: str
    quiet: bool
    diff: bool = False

    def checks(self, checks: Sequence[Check], decided: str = "") -> None:
        """Report what the gates found; `decided` is an additional last line for people."""
        from coderefine.reports import json, terminal

        if self.format_ == "json":
            sys.stdout.write(json.checks(checks))
        elif self.format_ != "text":
            from coderefine.reports.formats import named

            _raw(named(self.format_).checks(checks))
        elif not self.quiet:
            sys.stdout.write(terminal.checks(checks, coloured=_coloured(sys.stdout), width=columns(os.environ)))
            sys.stdout.write(f"{decided}\n" if decided else "")

    def outcome(self, outcome: Outcome, delivered: Delivered, run: str) -> None:
        """Print the report; with `pipe` print the patch to stdout and the report to stderr."""
        from coderefine.reports import json

        lines = (delivered.line,) if delivered.line else ()
        if self.format_ == "json":
            text = delivered.diff.decode("utf-8", "replace")
            sys.stdout.write(json.outcome(outcome, lines, run=run, diff=text))
            return
        if self.format_ != "text":
            from coderefine.reports.formats import RunReport, named

            _raw(named(self.format_).outcome(RunReport(outcome, lines, run, delivered.diff, delivered.before)))
            return
        if delivered.pipe:
            self._pipe(delivered)
        self._report(outcome, lines, delivered)

    def prompt(self, request: Request) -> None:
        """Print one request as it is sent, with the size of its parts."""
        print(prompt_text(request), file=sys.stderr)

    def _pipe(self, delivered: Delivered) -> None:
        if _coloured(sys.stdout):
            from coderefine.reports.paint import paint_diff

            sys.stdout.write(paint_diff(delivered.diff.decode("utf-8", "replace"), columns(os.environ)))
            return
        sys.stdout.flush()
        sys.stdout.buffer.write(delivered.diff)
        sys.stdout.buffer.flush()

    def _report(self, outcome: Outcome, lines: Sequence[str], delivered: Delivered) -> None:
        from coderefine.reports import terminal

        if self.quiet:
            return
        stream = sys.stderr if delivered.pipe else sys.stdout
        shown = delivered.diff.decode("utf-8", "replace") if self.diff else ""
        stream.write(
            terminal.outcome(
                outcome,
                lines,
                diff=shown,
                decided=delivered.decided,
                before=delivered.before,
                coloured=_coloured(stream),
                width=columns(os.environ),
            )
        )


def prompt_text(request: Request) -> str:
    """Return one request in full, with the size of its parts."""
    sizes = ", ".join(f"{name} {size}" for name, size in request.parts)
    head = f"--- {request.purpose}: {request.chars} characters ({sizes})"
    return "\n".join([head, *(f"[{message.role}]\n{message.text}" for message in request.messages)])


@contextlib.contextmanager
def screen(*, quiet: bool, format_: str, diff: bool = False) -> Iterator[Screen]:
    """Open the output of one command; the progress line is removed when the block ends."""
    with choose(sys.stderr, os.environ, quiet=quiet or format_ != "text") as listen:
        yield Screen(listen, format_, quiet, diff)


def _coloured(stream: TextIO) -> bool:
    return colour(stream, os.environ)


def _raw(text: str) -> None:
    """Write `text` to stdout unchanged: a patch may hold any bytes."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()
