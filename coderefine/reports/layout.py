"""Lay out report rows as lines of text."""

from __future__ import annotations

from coderefine.reports.rows import Row


def plain(line: str | Row, width: int, *, cut: bool = False) -> str:
    """Lay out a row: `label` in ten columns, the text, then verdict and seconds at the right edge.

    With `cut`, text that is too long is shortened.
    """
    if isinstance(line, str):
        return line.rstrip()
    start = f"{line.label:<10}{line.text}" if line.label else line.text
    end = " ".join(part for part in (line.verdict, seconds(line)) if part)
    if cut and end and len(start) + 1 + len(end) > width > 40:
        start = start[: width - len(end) - 2] + "…"
    room = max(1, width - len(start) - len(end)) if end else 0
    return f"{start}{' ' * room}{end}".rstrip()


def seconds(row: Row) -> str:
    return "" if row.seconds is None else f"{row.seconds:5.1f} s"
