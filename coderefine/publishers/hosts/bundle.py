"""The bundle: a file with the results of the run that executes the pull request's code, for the run that posts them.

Its content is not trusted, because code of the pull request ran in the job that wrote the file.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Annotated

from annotated_types import Ge, Le, MaxLen, Predicate

from coderefine.errors import PublishError
from coderefine.project.protection import protected_name

VERSION = 2
NAME = "suggest.json"
PATCH = "coderefine.patch"
LARGEST = 2_000_000
"""Maximum size of the file in bytes."""
SUGGESTIONS, NOTES, LINES = 30, 300, 400
LINE, WORDS, ROWS = 2_000, 500, 60
VERDICT = "coderefine verdict"
"""The name of the check with the verdict on the pull request itself."""
PROVED, UNPROVED, WORSE = "proved", "unproved", "worse"
"""Verdicts on the pull request itself; UNPROVED: nothing gets worse, but nothing shows an improvement."""
SHA = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
CONTROL = re.compile(r"[\x00-\x1f\x7f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Control characters and those that change the direction of text: what is shown must be what is applied."""
DIFFLIKE = re.compile(r"diff |Index: |--- .|\+\+\+ |@@ |GIT binary patch|Content-Transfer-Encoding: [^8]")
"""Lines at which `git apply` would start to read a diff, or would read other bytes than are shown."""
END = "-- \ncoderefine\n"
HUNK = re.compile(r"@@ -(\d{1,7})(?:,(\d{1,7}))? \+(\d{1,7})(?:,(\d{1,7}))? @@( .*)?")
EXTENDED = re.compile(
    r"index [0-9a-f]{7,64}\.\.[0-9a-f]{7,64}( 100(644|755))?|(new file|deleted file) mode 100(644|755)"
    r"|(dis)?similarity index \d{1,3}%"
)
"""Header lines of git that change no modes and make no links, submodules or binary files."""
HEADERS = ("--- ", "+++ ", "rename from ", "rename to ")
ESCAPE = re.compile(r'\\([0-7]{3}|[abfnrtv"\\])')
ESCAPED = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, '"': 34, "\\": 92}
LOSSY = "\r"
"""Suffix that marks a patch whose bytes are not UTF-8 (see app/suggest): such a patch is never shown."""


def is_line(text: str) -> bool:
    """Return whether `text` has no control characters."""
    return not CONTROL.search(text)


def is_code(text: str) -> bool:
    """Return whether `text` can be a line of code: tabs and form feeds are allowed."""
    return is_line(text.replace("\t", " ").replace("\f", " "))


def is_path(path: str) -> bool:
    """Return whether `path` is a plain path in a repository, of a file that coderefine may change."""
    parts = PurePosixPath(path).parts
    plain = bool(parts) and path == "/".join(parts) and not path.startswith("/") and "\\" not in path
    inside = not any(part == ".." or part.lower().rstrip(". ") == ".git" for part in parts)
    return is_line(path) and plain and inside and not protected_name(path)


def is_patch(text: str) -> bool:
    """Return whether `text` is empty, or nothing but a diff of files that coderefine may change."""
    try:
        return all(map(is_path, paths_of(text))) if text else True
    except ValueError:
        return False


Line = Annotated[str, MaxLen(WORDS), Predicate(is_line)]
Code = Annotated[str, MaxLen(LINE), Predicate(is_code)]
RepositoryPath = Annotated[str, MaxLen(1_000), Predicate(is_path)]
Sha = Annotated[str, Predicate(lambda text: bool(SHA.fullmatch(text)))]
Number = Annotated[int, Ge(1), Le(10_000_000)]
"""The number of a line."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A suggestion: lines `first`..`last` of `path` at the head are `old` and should be `new` (without line ends).

    `rules`: the findings that it repairs (`pytest/failed`, `ruff/F401`); `why`: a text about them for the reader.
    """

    path: RepositoryPath
    first: Number
    last: Number
    old: Annotated[tuple[Code, ...], MaxLen(LINES)]
    new: Annotated[tuple[Code, ...], MaxLen(LINES)]
    rules: Annotated[tuple[Line, ...], MaxLen(50)]
    why: Line

    @property
    def fingerprint(self) -> str:
        """Return a digest without line numbers, so that it stays equal if lines move."""
        parts = (self.path, " ".join(sorted(set(self.rules))), "\n".join(self.old), "\n".join(self.new))
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Note:
    """A remaining finding, for an annotation."""

    path: RepositoryPath
    first: Number
    last: Number
    rule: Line
    text: Line


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on the pull request itself: PROVED, UNPROVED or WORSE, in one line, and the rows of its evidence."""

    found: Annotated[str, Predicate(lambda found: found in (PROVED, UNPROVED, WORSE))]
    decision: Line
    rows: Annotated[tuple[Line, ...], MaxLen(ROWS)] = ()


@dataclass(frozen=True, slots=True)
class Bundle:
    """Everything to post.

    `head`: the commit on which the patch was proved. `patch`: the whole patch as a unified diff, "" for none.
    `behaviour`: whether the patch repairs more than style. `evidence` and `summary`: one line each. `judgement`: the
    verdict on the pull request itself; None if none was requested.
    """

    head: Sha
    base: Sha
    summary: Line = ""
    evidence: Line = ""
    patch: Annotated[str, MaxLen(1_000_000), Predicate(is_patch)] = ""
    behaviour: bool = False
    suggestions: Annotated[tuple[Suggestion, ...], MaxLen(SUGGESTIONS)] = ()
    notes: Annotated[tuple[Note, ...], MaxLen(NOTES)] = ()
    judgement: Judgement | None = None

    def has_content(self, *, style: bool) -> bool:
        """Return whether there is something to post: a patch, which repairs more than style unless `style` is set."""
        return bool(self.patch) and (self.behaviour or style)

    def offered(self, *, style: bool) -> tuple[Suggestion, ...]:
        """Return the suggestions; () if there is nothing to post. `style`: see `has_content`."""
        return self.suggestions if self.has_content(style=style) else ()

    @property
    def digest(self) -> str:
        """Return a digest without the evidence, whose measured values may differ in another run of the same patch."""
        return hashlib.sha256(repr(replace(self, evidence="")).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def dump(bundle: Bundle) -> str:
    """Return the bundle as JSON in ASCII."""
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
    from pydantic import TypeAdapter, ValidationError  # 0.1 s that only `suggest --from` needs

    try:
        body = json.loads(data.decode("utf-8"))
        version = body.pop("version")
    except (ValueError, RecursionError, AttributeError, TypeError, KeyError) as error:
        raise _bad("is no JSON object with a version") from error
    if version != VERSION:
        raise _bad(f"has version {version!r:.20}, this coderefine reads {VERSION}")
    try:
        bundle = TypeAdapter(Bundle).validate_json(json.dumps(body), strict=True)
    except ValidationError as error:
        raise _bad(f"is not what coderefine writes at {'.'.join(map(str, error.errors()[0]['loc']))}") from error
    fitting = all(len(one.old) == one.last - one.first + 1 for one in bundle.suggestions)
    ordered = all(note.first <= note.last for note in bundle.notes)
    if not (fitting and ordered and json.loads(dump(bundle)) == {"version": VERSION, **body}):
        raise _bad("has other keys, or other ranges of lines, than coderefine writes")
    return bundle


def _bytes(path: Path) -> bytes:
    """Return the first LARGEST + 1 bytes of a regular file. Raises PublishError for a link, a pipe or no file."""
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


def checked_file(folder: Path, patch: str) -> str:
    """Return the SHA-256 of the patch file in `folder` if `git apply` would read exactly `patch` from it, else "".

    The file is a mail (git/patch_format.py): headers, a message, a diffstat, then the diff. Nothing before the diff may
    look like the beginning of another diff, and nothing may follow it.
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


def _bad(what: str) -> PublishError:
    return PublishError(f"the artifact {what}: nothing was posted")


def paths_of(text: str) -> tuple[str, ...]:
    """Return the paths that the unified diff `text`, which is not trusted, changes.

    Raises ValueError for any line that is not part of a diff, or with which `git apply` would do more than change these
    files.
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
    """Return the index of the row after a file's headers, which begin at `at`, and the headers that name paths.

    Raises ValueError for a header that coderefine never writes.
    """
    named = []
    while at < len(rows) and not rows[at].startswith(("@@ ", "diff --git ")):
        if rows[at].startswith(HEADERS):
            named.append(rows[at])
        elif not EXTENDED.fullmatch(rows[at]):
            raise ValueError(f"it has a header that coderefine never writes ({rows[at][:40]!r})")
        at += 1
    return at, named


def _hunks(rows: Sequence[str], at: int) -> int:
    """Return the index of the row after a file's hunks, which begin at `at`.

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
    """Return the index of the row after a hunk that begins at `at`, and whose header counts `old` and `new` lines.

    Raises ValueError if the hunk has other numbers of lines.
    """
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
    name = next(header.removeprefix(start) for start in HEADERS if header.startswith(start)).removesuffix("\t")
    if name == "/dev/null":
        return ""
    return _unquoted(name) if header.startswith("rename") else _stripped(name)


def _stripped(name: str) -> str:
    """Return the path without git's a/ or b/. Raises ValueError if it has neither."""
    plain = _unquoted(name)
    if not plain.startswith(("a/", "b/")):
        raise ValueError(f"it names a path without a/ or b/ ({plain[:60]!r})")
    return plain[2:]


def _unquoted(name: str) -> str:
    """Return the path `name`; if it is in quotes (see core.quotePath of git), without quotes and escapes."""
    if not (name.startswith('"') and name.endswith('"') and len(name) > 1):
        return name
    data = ESCAPE.sub(lambda found: chr(ESCAPED.get(found[1]) or int(found[1], 8)), name[1:-1])
    try:
        return data.encode("latin-1").decode("utf-8")
    except (UnicodeEncodeError, UnicodeDecodeError) as error:
        raise ValueError("it names a path that is no text") from error
