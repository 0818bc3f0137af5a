"""Coloured reports, using rich; imported only for a terminal."""

from __future__ import annotations

import io
from collections.abc import Sequence

from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from coderefine.reports.rows import Row
from coderefine.reports.terminal import plain

LABELS = {
    "left": "yellow",
    "refused": "dim",
    "note": "dim",
    "also": "magenta",
    "wrote": "bold green",
    "evidence": "cyan",
    "spent": "dim",
}
PASSED = ("all checks pass", "with the patch all checks pass")
WORDS = (
    (r"\b\d+ (?:failed|error)\b", "red"),
    (r"\b\d+ passed\b", "green"),
    (r"\bproved\b", "green"),
    (r"\bnot proved\b", "yellow"),
    (r"[█]+", "green"),
    (r"[░]+", "red"),
    (r"^\S+?:\d+(?:-\d+)?(?= )", "bold"),
    (r"`[^`]+`", "cyan"),
)


def paint(lines: Sequence[str | Row], width: int) -> str:
    """Render `lines` with ANSI colours, in the same layout as plain text."""
    console = _console(width)
    for line in lines:
        text = Text(plain(line, width, cut=True), no_wrap=True)
        for pattern, style in WORDS:
            text.highlight_regex(pattern, style)
        if isinstance(line, Row) and line.label:
            text.stylize(LABELS.get(line.label, "bold"), 0, len(line.label))
        elif isinstance(line, str) and line.startswith("    "):
            text.stylize("dim")
        elif isinstance(line, Row):
            text.stylize("bold green" if line.text in PASSED else "bold yellow")
        console.print(text, soft_wrap=True)
    return _value(console)


def paint_diff(diff: str, width: int) -> str:
    """Render a unified diff with colours; bytes that could not be decoded are shown as "?"."""
    console = _console(width)
    shown = diff.encode("utf-8", "replace").decode("utf-8")
    coloured = Syntax("", "diff", theme="ansi_dark", background_color="default").highlight(shown.rstrip("\n"))
    coloured.rstrip()
    console.print(coloured, soft_wrap=True)  # the terminal folds long lines, so that they stay one line when copied
    console.print()
    return _value(console)


def _console(width: int) -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=width, highlight=False, markup=False, emoji=False)


def _value(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()
