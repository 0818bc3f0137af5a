"""One file before and after a patch, parsed once for all rules."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from coderefine.core import Patch
from coderefine.judge.normal import PYTHON, normal, parse
from coderefine.source import decode


@dataclass(frozen=True, slots=True)
class Side:
    """One state of a file that can be read; `tree` is None when it is no Python, or does not parse."""

    path: str
    text: str
    tree: ast.Module | None


@dataclass(frozen=True, slots=True)
class Change:
    """`before`/`after` as bytes (None: no such file), as text and as syntax trees (None: not to be had)."""

    path: str
    before: bytes | None
    after: bytes | None
    old_text: str | None
    new_text: str | None
    old: ast.Module | None
    new: ast.Module | None

    @property
    def python(self) -> bool:
        return self.path.endswith(PYTHON)

    @property
    def was(self) -> Side | None:
        return None if self.old_text is None else Side(self.path, self.old_text, self.old)

    @property
    def now(self) -> Side | None:
        return None if self.new_text is None else Side(self.path, self.new_text, self.new)

    @property
    def created(self) -> bool:
        return self.before is None

    @property
    def deleted(self) -> bool:
        return self.after is None

    @property
    def cosmetic(self) -> bool:
        """True when only layout or comments differ."""
        return normal(self.path, self.before) == normal(self.path, self.after)


def changes(patch: Patch, originals: Mapping[str, bytes | None]) -> tuple[Change, ...]:
    """What `patch` really changes, in the order of paths."""
    pairs = ((path, originals.get(path), patch.files[path]) for path in sorted(patch.files))
    return tuple(_change(path, before, after) for path, before, after in pairs if before != after)


def _change(path: str, before: bytes | None, after: bytes | None) -> Change:
    python = path.endswith(PYTHON)
    old = parse(before) if python else None
    new = parse(after) if python else None
    return Change(path, before, after, _text(before), _text(after), old, new)


def _text(data: bytes | None) -> str | None:
    source = decode(data) if data is not None else None
    return source.text if source else None
