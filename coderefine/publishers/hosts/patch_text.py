"""Parse an untrusted patch line by line, and refuse it if `git apply` would do more than change the named files."""

from __future__ import annotations

import re
from collections.abc import Sequence

from coderefine.project.protection import protected_name

HUNK = re.compile(r"@@ -(\d{1,7})(?:,(\d{1,7}))? \+(\d{1,7})(?:,(\d{1,7}))? @@( .*)?")
EXTENDED = re.compile(
    r"index [0-9a-f]{7,64}\.\.[0-9a-f]{7,64}( 100(644|755))?|(new file|deleted file) mode 100(644|755)"
    r"|(dis)?similarity index \d{1,3}%"
)
"""Header lines of git that change no modes and make no links, submodules or binary files."""
NAMES = ("--- ", "+++ ", "rename from ", "rename to ")
ESCAPE = re.compile(r'\\([0-7]{3}|[abfnrtv"\\])')
ESCAPED = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, '"': 34, "\\": 92}
LOSSY = "\r"
"""Suffix that marks a patch whose bytes are not UTF-8 (see app/suggest): such a patch is never shown."""


def paths_of(text: str) -> tuple[str, ...]:
    """Return the paths that the unified diff `text` changes.

    Raises ValueError for any line that is not part of a diff.
    """
    rows = text.removesuffix(LOSSY).removesuffix("\n").split("\n")
    found: dict[str, None] = {}
    at = 0
    while at < len(rows):
        if not rows[at].startswith("diff --git "):
            raise ValueError("it has lines outside of any file")
        first = rows[at]
        at, headers = _headers(rows, at + 1)
        found.update(dict.fromkeys(_touched(first, headers)))
        at = _hunks(rows, at)
    for path in found:
        if why := protected_name(path):
            raise ValueError(f"{path} {why}, which coderefine never changes")
    return tuple(found)


def _touched(first: str, headers: Sequence[str]) -> list[str]:
    """Return the paths in one file's `headers`, or in its `first` line. Raises ValueError if there are none."""
    touched = [path for path in map(_path, headers) if path]
    if touched:
        return touched
    named = re.findall(r'"?[ab]/.*?"?(?= "?b/|$)', first.removeprefix("diff --git "))
    paths = list({_stripped(name) for name in named})
    if len(paths) != 1:
        raise ValueError("it names no file")
    return paths  # of an empty file, which only the first line names


def _headers(rows: Sequence[str], at: int) -> tuple[int, list[str]]:
    """Return where a file's hunks begin, and the header lines that name paths."""
    named = []
    while at < len(rows) and not rows[at].startswith(("@@ ", "diff --git ")):
        if rows[at].startswith(NAMES):
            named.append(rows[at])
        elif not EXTENDED.fullmatch(rows[at]):
            raise ValueError(f"it has a header that coderefine never writes ({rows[at][:40]!r})")
        at += 1
    return at, named


def _hunks(rows: Sequence[str], at: int) -> int:
    """Return where the next file begins.

    Raises ValueError unless every hunk has as many lines as its header counts.
    """
    while at < len(rows) and not rows[at].startswith("diff --git "):
        head = HUNK.fullmatch(rows[at])
        if head is None:
            raise ValueError("it has lines outside of any hunk")
        at = _end(rows, at + 1, int(head[2] or 1), int(head[4] or 1))
        while at < len(rows) and rows[at].startswith("\\ "):
            at += 1
    return at


def _end(rows: Sequence[str], at: int, old: int, new: int) -> int:
    """Return where a hunk ends whose header counts `old` and `new` lines."""
    while old > 0 or new > 0:
        row = rows[at] if at < len(rows) else ""
        if row[:1] not in (" ", "+", "-", "\\"):
            raise ValueError("it has a hunk that ends too early")
        old -= row[0] in " -"
        new -= row[0] in " +"
        at += 1
    if old or new:
        raise ValueError("a hunk has other lines than its header counts")
    return at


def _path(header: str) -> str:
    """Return the path in a header; "" for /dev/null."""
    name = next(header.removeprefix(start) for start in NAMES if header.startswith(start)).removesuffix("\t")
    if name == "/dev/null":
        return ""
    return _unquoted(name) if header.startswith("rename") else _stripped(name)


def _stripped(name: str) -> str:
    """Return the path without git's a/ or b/."""
    plain = _unquoted(name)
    if not plain.startswith(("a/", "b/")):
        raise ValueError(f"it names a path without a/ or b/ ({plain[:60]!r})")
    return plain[2:]


def _unquoted(name: str) -> str:
    """Return a path that git has written in quotes (core.quotePath)."""
    if not (name.startswith('"') and name.endswith('"') and len(name) > 1):
        return name
    data = ESCAPE.sub(lambda found: chr(ESCAPED.get(found[1]) or int(found[1], 8)), name[1:-1])
    try:
        return data.encode("latin-1").decode("utf-8")
    except (UnicodeEncodeError, UnicodeDecodeError) as error:
        raise ValueError("it names a path that is no text") from error
