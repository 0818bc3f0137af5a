"""The bundle: a file with the results of the run that executes the pull request's code, for the run that posts them.

Its content is not trusted, because code of the pull request ran in the job that wrote the file.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import TypeVar

from coderefine.errors import PublishError
from coderefine.project.protection import protected_name
from coderefine.publishers.hosts.patch_text import paths_of

VERSION = 2
NAME = "suggest.json"
PATCH = "coderefine.patch"
LARGEST = 2_000_000
"""Maximum size of the file in bytes."""
SUGGESTIONS, NOTES, LINES, RULES = 30, 300, 400, 50
LINE, WORDS, LONGEST_PATCH = 2_000, 500, 1_000_000
ROWS = 60
VERDICT = "coderefine verdict"
"""The name of the check with the verdict on the pull request itself."""
PROVED, UNPROVED, WORSE = "proved", "unproved", "worse"
"""Verdicts on the pull request itself; "unproved": nothing gets worse, but nothing shows that it helps."""
HIGHEST = 10_000_000
"""Largest line number that is accepted."""
SHA = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
CONTROL = re.compile(r"[\x00-\x1f\x7f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Control characters and those that change the direction of text: what is shown must be what is applied."""
DIFFLIKE = re.compile(r"diff |Index: |--- .|\+\+\+ |@@ |GIT binary patch|Content-Transfer-Encoding: [^8]")
"""Lines at which `git apply` would start to read a diff, or would read other bytes than are shown."""
END = "-- \ncoderefine\n"
Item = TypeVar("Item")
Object = dict[str, object]


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A suggestion: lines `first`..`last` of `path` at the head are `old` and should be `new` (without line ends).

    `rules`: the findings that it repairs (`pytest/failed`, `ruff/F401`); `why`: a text about them for the reader.
    """

    path: str
    first: int
    last: int
    old: tuple[str, ...]
    new: tuple[str, ...]
    rules: tuple[str, ...]
    why: str

    @property
    def fingerprint(self) -> str:
        """Return an identity without line numbers and with reduced white space, so that moving lines keeps it equal."""
        parts = (self.path, " ".join(sorted(set(self.rules))), _squeezed(self.old), _squeezed(self.new))
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Note:
    """A remaining finding, for an annotation."""

    path: str
    first: int
    last: int
    rule: str
    text: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on the pull request itself: PROVED, UNPROVED or WORSE, in one line, and the rows of its evidence."""

    found: str
    decision: str
    rows: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Bundle:
    """Everything to post.

    `head`: the commit on which the patch was proved. `patch`: the whole patch as a unified diff, "" for none.
    `behaviour`: it repairs more than style. `evidence` and `summary`: one line each. `judgement`: None if it was not
    asked for.
    """

    head: str
    base: str
    summary: str = ""
    evidence: str = ""
    patch: str = ""
    behaviour: bool = False
    suggestions: tuple[Suggestion, ...] = ()
    notes: tuple[Note, ...] = ()
    judgement: Judgement | None = None

    def has_content(self, *, style: bool) -> bool:
        """Return whether there is something to post: a patch, which repairs more than style unless `style` is set."""
        return bool(self.patch) and (self.behaviour or style)

    def offered(self, *, style: bool) -> tuple[Suggestion, ...]:
        """Return the suggestions, if there is something to post."""
        return self.suggestions if self.has_content(style=style) else ()

    @property
    def digest(self) -> str:
        return hashlib.sha256(repr(self).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _squeezed(lines: tuple[str, ...]) -> str:
    return "\n".join(" ".join(line.split()) for line in lines)


def dump(bundle: Bundle) -> str:
    """Write the bundle as JSON, ASCII only."""
    return json.dumps({"version": VERSION, **asdict(bundle)}, indent=1) + "\n"


def read(folder: Path) -> Bundle:
    """Read the bundle in `folder`.

    Raises PublishError that names the fault.
    """
    return load(_bytes(folder / NAME))


def load(data: bytes) -> Bundle:
    """Parse a bundle.

    Raises PublishError for anything that `dump` would not have written.
    """
    if len(data) > LARGEST:
        raise _bad(f"is larger than {LARGEST} bytes")
    try:
        found = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise _bad("is no JSON") from error
    body = _object(found, {"version", *Bundle.__slots__}, "the whole")
    if body["version"] != VERSION:
        raise _bad(f"has version {body['version']!r:.20}, this coderefine reads {VERSION}")
    return Bundle(
        head=_sha(body, "head"),
        base=_sha(body, "base"),
        summary=_line(body, "summary", WORDS),
        evidence=_line(body, "evidence", WORDS),
        patch=_patch(body),
        behaviour=_flag(body, "behaviour"),
        suggestions=_list(body, "suggestions", SUGGESTIONS, _suggestion),
        notes=_list(body, "notes", NOTES, _note),
        judgement=None if body["judgement"] is None else _judgement(body["judgement"]),
    )


def _bytes(path: Path) -> bytes:
    """Return the content of a regular file, at most the allowed size; follow no link and open no pipe."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        raise _bad(f"cannot be read ({error.strerror})") from error
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise _bad("is not a regular file")
        with os.fdopen(os.dup(handle), "rb") as stream:
            return stream.read(LARGEST + 1)
    finally:
        os.close(handle)


def _suggestion(found: object) -> Suggestion:
    body = _object(found, set(Suggestion.__slots__), "a suggestion")
    first, last = _span(body)
    old = _list(body, "old", LINES, _code)
    if len(old) != last - first + 1:
        raise _bad("has a suggestion whose lines do not fit its range")
    return Suggestion(
        path=_path(body),
        first=first,
        last=last,
        old=old,
        new=_list(body, "new", LINES, _code),
        rules=_list(body, "rules", RULES, _word),
        why=_line(body, "why", WORDS),
    )


def _note(found: object) -> Note:
    body = _object(found, set(Note.__slots__), "a note")
    return Note(_path(body), *_span(body), rule=_line(body, "rule", WORDS), text=_line(body, "text", WORDS))


def _judgement(found: object) -> Judgement:
    body = _object(found, set(Judgement.__slots__), "the judgement")
    if body["found"] not in (PROVED, UNPROVED, WORSE):
        raise _bad("has a verdict other than proved, unproved and worse")
    return Judgement(str(body["found"]), _line(body, "decision", WORDS), _list(body, "rows", ROWS, _word))


def _object(found: object, keys: set[str], what: str) -> Object:
    if not isinstance(found, dict) or set(found) != keys:
        raise _bad(f"has missing or unknown keys in {what}")
    return found


def _list(body: Object, key: str, most: int, each: Callable[[object], Item]) -> tuple[Item, ...]:
    found = body[key]
    if not isinstance(found, list) or len(found) > most:
        raise _bad(f"has {key} that are not a list of at most {most} items")
    return tuple(each(item) for item in found)


def _text(body: Object, key: str, most: int) -> str:
    found = body[key]
    if not isinstance(found, str) or len(found) > most or re.search("[\ud800-\udfff]", found):
        raise _bad(f"has {key} that is not a text of at most {most} characters")
    return found


def _line(body: Object, key: str, most: int) -> str:
    found = _text(body, key, most)
    if CONTROL.search(found):
        raise _bad(f"has control characters in {key}")
    return found


def _word(found: object) -> str:
    return _line({"rules": found}, "rules", WORDS)


def _code(found: object) -> str:
    text = _text({"lines": found}, "lines", LINE)
    if CONTROL.search(text.replace("\t", " ").replace("\f", " ")):
        raise _bad("has control characters in a line of code")
    return text


def _sha(body: Object, key: str) -> str:
    found = body[key]
    if not isinstance(found, str) or not SHA.fullmatch(found):
        raise _bad(f"has {key} that is not the SHA of a commit")
    return found


def _flag(body: Object, key: str) -> bool:
    found = body[key]
    if not isinstance(found, bool):
        raise _bad(f"has {key} that is neither true nor false")
    return found


def _span(body: Object) -> tuple[int, int]:
    first, last = body["first"], body["last"]
    if not (type(first) is int and type(last) is int and 1 <= first <= last <= HIGHEST):
        raise _bad("has an invalid range of lines")
    return first, last


def _patch(body: Object) -> str:
    """Return the whole patch.

    Raises PublishError if it contains more than a diff, or changes files that coderefine may not change.
    """
    found = _text(body, "patch", LONGEST_PATCH)
    try:
        for path in paths_of(found) if found else ():
            _path({"path": path})
    except ValueError as error:
        raise _bad(f"has an invalid patch: {error}") from error
    return found


def checked_file(folder: Path, patch: str) -> str:
    """Return the SHA-256 of the patch file in `folder` if `git apply` would read exactly `patch` from it, else "".

    The file is a mail (git/patch_format.py): headers, a message, a diffstat, then the diff. Nothing before the diff may
    look like the beginning of another one, and nothing may follow it.
    """
    try:
        data = _bytes(folder / PATCH)
        text = data.decode("utf-8")
    except (PublishError, UnicodeDecodeError):
        return ""
    before = text.removesuffix(END)
    if len(data) > LARGEST or before == text or not patch or not before.endswith(f"\n{patch}"):
        return ""
    rows = before.removesuffix(patch).split("\n")
    return "" if any(map(DIFFLIKE.match, rows)) else hashlib.sha256(data).hexdigest()


def _path(body: Object) -> str:
    found = _line(body, "path", 1_000)
    if why := protected_name(found):
        raise _bad(f"is about {found[:60]!r}, which {why}")
    parts = PurePosixPath(found).parts
    plain = bool(parts) and found == "/".join(parts) and not found.startswith("/") and "\\" not in found
    if not plain or any(part == ".." or part.lower().rstrip(". ") == ".git" for part in parts):
        raise _bad(f"names a path that is not a plain path in a repository ({found[:60]!r})")
    return found


def _bad(what: str) -> PublishError:
    return PublishError(f"the artifact {what}: nothing was posted")
