"""Interface to ruff: its binary, its diagnostics for a view, and its fixes as exact edits."""

from __future__ import annotations

import itertools
import json
import os
import re
import sys
import sysconfig
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coderefine.config import toml
from coderefine.core import Finished, View
from coderefine.core.views import relative_to_top
from coderefine.errors import ConfigError, CriticError

if TYPE_CHECKING:
    from coderefine.config import Config
    from coderefine.project import Interpreter, Place
    from coderefine.source import Source

BATCH = 400
"""Maximum number of paths per command line, far below the system's limit."""
SYNTAX = "invalid-syntax"
_OLD_SYNTAX = frozenset({None, "E999", "syntax-error"})


@dataclass(frozen=True, slots=True)
class TextEdit:
    """Replacement of the text from `start` to `end` (row, column; 1-based, columns in characters) by `content`."""

    start: tuple[int, int]
    end: tuple[int, int]
    content: str


@dataclass(frozen=True, slots=True)
class Fix:
    """ruff's fix for a diagnostic. `safe`: whether it preserves the meaning, according to ruff."""

    message: str
    safe: bool
    edits: tuple[TextEdit, ...]

    @property
    def plain(self) -> Fix:
        """Return this fix with `\\n` as its only line end, for texts with normalised line ends."""
        edits = (replace(edit, content=re.sub(r"\r\n?", "\n", edit.content)) for edit in self.edits)
        return replace(self, edits=tuple(edits))


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One diagnostic of ruff; `path` is repo-relative, rows are 1-based and inclusive."""

    path: str
    rule: str
    message: str
    first: int
    last: int
    column: int
    fix: Fix | None = None


def among(remarks: Iterable[Diagnostic], chosen: Collection[tuple[str, str, int]] | None) -> list[Diagnostic]:
    """Return the diagnostics whose path, rule and line are in `chosen` (None: all), see `Situation.chosen`."""
    return [one for one in remarks if chosen is None or (one.path, one.rule, one.first) in chosen]


@dataclass(frozen=True, slots=True)
class Linter:
    """A ruff binary and the arguments the user chose for it."""

    binary: Path
    root: str
    options: tuple[str, ...]
    version: str = ""

    @classmethod
    def of(cls, place: Place, interpreter: Interpreter | None, config: Config) -> Linter:
        """Create a linter with the project's own ruff if it has one, else ours. Raises CriticError if there is none."""
        binary = _theirs(interpreter) or _ours()
        rules = (("--select", config.select), ("--ignore", config.ignore))
        options = tuple(word for flag, names in rules if names for word in (flag, ",".join(names)))
        return cls(binary, place.prefix, options, _version(binary))

    def remarks(self, view: View, paths: Iterable[str] | None = None, *, timeout: float = 600.0) -> list[Diagnostic]:
        """Return ruff's diagnostics for `paths` (repo-relative files; None: the whole project), in ruff's order.

        Raises CriticError if ruff fails: broken configuration, unknown rule, crash, timeout.
        """
        batches = self._batches(paths)
        return [remark for batch in batches for remark in self._reported(view, ("--", *batch), timeout)]

    def fix(self, view: View, paths: Iterable[str], rules: Sequence[str] = (), *, timeout: float = 600.0) -> None:
        """Let ruff apply its safe fixes to `paths` inside `view`; if `rules` are given, only the fixes of these."""
        only = ("--select", ",".join(rules)) if rules else ()
        for batch in self._batches(paths):
            argv = (*self.argv, *only, "--fix-only", "--no-unsafe-fixes", "--exit-zero", "--quiet", "--", *batch)
            _check_exit(view, view.run(argv, cwd=self.root, timeout=timeout))

    def remarks_of(self, view: View, path: str, data: bytes) -> list[Diagnostic]:
        """Return ruff's diagnostics for the file `path` with the content `data`. Raises CriticError if ruff fails."""
        name = os.path.relpath(path, self.root)
        return list(self._reported(view, ("--stdin-filename", name, "-"), 60.0, stdin=data))

    def formatted(self, view: View, path: str, data: bytes, options: Iterable[str] = ()) -> bytes | None:
        """Return `data` as ruff formats the file `path` with further `options`; None if ruff cannot format it."""
        name = os.path.relpath(path, self.root)
        argv = (str(self.binary), "format", "--no-cache", "--quiet", "--stdin-filename", name)
        done = view.run((*argv, *options, "-"), cwd=self.root, stdin=data)
        return done.stdout if done.returncode == 0 and not done.timed_out else None

    @property
    def argv(self) -> tuple[str, ...]:
        """Return ruff's command line without output options and paths."""
        # No cache: it would save 5% of the time if there are findings, and views are temporary.
        return (str(self.binary), "check", "--no-cache", "--force-exclude", *self.options)

    def _reported(
        self, view: View, words: Sequence[str], timeout: float, *, stdin: bytes = b""
    ) -> Iterator[Diagnostic]:
        # Through a file: the report for a large project exceeds the limit for captured output.
        handle, name = tempfile.mkstemp(".json", "ruff-", view.temp)
        os.close(handle)
        argv = (*self.argv, "--no-fix", "--no-fix-only", "--output-format", "json", "-o", name, *words)
        _check_exit(view, view.run(argv, cwd=self.root, timeout=timeout, stdin=stdin))
        report = Path(name)
        try:
            entries = json.loads(report.read_bytes() or b"null")
        except (OSError, ValueError) as error:
            raise CriticError(f"ruff left no readable report: {error}") from error
        if not isinstance(entries, list):
            raise CriticError("ruff left no report")
        for entry in entries:
            yield _remark(entry, view)

    def _batches(self, paths: Iterable[str] | None) -> Iterator[Sequence[str]]:
        if paths is None:
            yield (".",)
            return
        ordered = sorted(os.path.relpath(path, self.root) for path in paths)
        for start in range(0, len(ordered), BATCH):
            yield ordered[start : start + BATCH]


def settings(root: Path) -> dict[str, Any]:
    """Return ruff's settings in the folder `root`; ruff's own file has priority over pyproject.toml."""
    try:
        for name in (".ruff.toml", "ruff.toml"):
            if (root / name).exists():
                return toml(root / name)
        found = toml(root / "pyproject.toml").get("tool", {}).get("ruff", {})
    except (ConfigError, AttributeError):  # AttributeError: `tool` is not a table
        return {}
    return found if isinstance(found, dict) else {}


def apply(text: str, edits: Sequence[TextEdit]) -> str | None:
    """Apply `edits` to `text`; return None if they overlap or are outside the text."""
    starts = [0, *(match.end() for match in re.finditer(r"\r\n|\r|\n", text))]
    try:
        spans = sorted((_offset(starts, edit.start), _offset(starts, edit.end), edit.content) for edit in edits)
    except IndexError:
        return None
    done, reached = [], 0
    for start, end, content in spans:
        if start < reached or end < start or end > len(text):
            return None
        done += [text[reached:start], content]
        reached = end
    return "".join((*done, text[reached:]))


def apart(some: Sequence[TextEdit], others: Sequence[TextEdit]) -> bool:
    """Return whether no edit of `some` touches an edit of `others`."""
    return not any(one.start <= other.end and other.start <= one.end for one in some for other in others)


def safe_edits(remarks: Iterable[Diagnostic], source: Source) -> list[TextEdit]:
    """Return the edits of ruff's safe fixes in `remarks`, for `source.text`; leave out fixes that touch earlier fixes.

    ruff writes the file's line ends into its edits. They are normalised as in `source.text`; `source.encode` restores
    them.
    """
    edits: list[TextEdit] = []
    for fix in (remark.fix for remark in remarks if remark.fix and remark.fix.safe):
        new = fix.plain.edits if source.newline else fix.edits
        edits += new if apart(new, edits) else ()
    return edits


def take(edits: Sequence[TextEdit], taken: dict[TextEdit, None]) -> bool:
    """Add the `edits` of a change to `taken`, the edits of earlier changes, if they fit; return whether they fit.

    They fit if no new edit touches an edit in `taken`. The same insertion, such as a new import, may be in both. The
    same replacement may be in both only if all `edits` are in `taken`: two changes that agree in one place may not
    agree in other places.
    """
    new = [edit for edit in edits if edit not in taken]
    shared = [edit for edit in edits if edit in taken]
    fits = not new or (all(one.start == one.end for one in shared) and apart(new, list(taken)))
    taken.update(dict.fromkeys(new if fits else ()))
    return fits


def _offset(starts: Sequence[int], place: tuple[int, int]) -> int:
    row, column = place
    return starts[row - 1] + column - 1


def _theirs(interpreter: Interpreter | None) -> Path | None:
    if interpreter is None:
        return None
    folder, suffix = ("Scripts", ".exe") if sys.platform == "win32" else ("bin", "")
    binary = Path(interpreter.prefix) / folder / f"ruff{suffix}"
    return binary if binary.is_file() else None


def _ours() -> Path:
    own = Path(sysconfig.get_path("scripts")) / ("ruff.exe" if sys.platform == "win32" else "ruff")
    if own.is_file():
        return own
    try:
        from ruff import find_ruff_bin  # type: ignore[import-untyped]

        return Path(find_ruff_bin())
    except (ImportError, FileNotFoundError) as error:
        raise CriticError(
            f"ruff is not installed: pip install ruff, or leave the gate out (gates = …): {error}"
        ) from error


def _version(binary: Path) -> str:
    """Return ruff's version, from the name of its dist-info folder, without starting a process; "" if unknown."""
    roots = (binary.parent.parent.glob(f"{lib}/site-packages") for lib in ("lib/python*", "lib64/python*", "Lib"))
    found = sorted(info for root in itertools.chain.from_iterable(roots) for info in root.glob("ruff-*.dist-info"))
    return found[-1].name.removeprefix("ruff-").removesuffix(".dist-info") if found else ""


def _check_exit(view: View, result: Finished) -> None:
    """Raise CriticError unless ruff ended with exit code 0 (clean) or 1 (findings)."""
    if result.timed_out:
        raise CriticError(f"ruff was stopped after {result.seconds:.0f} s without a verdict")
    if result.returncode not in (0, 1):
        raise CriticError(f"ruff exited {result.returncode}: {_complaint(view, result.stderr)}")


def _complaint(view: View, stderr: bytes) -> str:
    output = stderr.decode("utf-8", "replace").replace(f"{view.top}/", "")
    lines = [line.strip(" |").removeprefix("Cause: ") for line in output.splitlines()]
    kept = [line for line in lines if line.strip(" ^") and line != "ruff failed"]
    return "; ".join(kept)[:400] or "it printed nothing"


def _remark(entry: dict[str, Any], view: View) -> Diagnostic:
    """Convert an entry of ruff's JSON output (of ruff 0.1 to 0.17). Raises CriticError for another structure."""
    try:
        first, column = _position(entry["location"])
        end, end_column = _position(entry["end_location"])
        # An end in column 1 is the line break of the row before.
        last = max(first, end - 1 if end_column == 1 else end)
        rule = SYNTAX if entry["code"] in _OLD_SYNTAX else entry["code"]
        file = Path(entry["filename"])
        path = relative_to_top(view, file) or file.as_posix()
        return Diagnostic(path, rule, entry["message"], first, last, column, _fix(entry["fix"]))
    except (KeyError, TypeError, ValueError) as error:
        raise CriticError(f"ruff's report has an unknown structure ({error!r}): update ruff or coderefine") from error


def _fix(entry: dict[str, Any] | None) -> Fix | None:
    if not entry:
        return None
    edits = tuple(
        TextEdit(_position(edit["location"]), _position(edit["end_location"]), edit["content"] or "")
        for edit in entry["edits"]
    )
    return Fix(entry["message"] or "", entry["applicability"] in ("safe", "always", "automatic"), edits)


def _position(entry: dict[str, int]) -> tuple[int, int]:
    return entry["row"], entry["column"]
