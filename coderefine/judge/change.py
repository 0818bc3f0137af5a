"""A patch as the rules see it: each changed file before and after, parsed once, and a digest that ignores layout."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath

from coderefine.core import Patch
from coderefine.source import decode, syntax

PYTHON = (".py", ".pyi")
TREES = 256
"""Syntax trees kept: a linter's patch touches dozens of files, and each is read again at every attempt."""
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Side:
    """One readable state of a file; `tree` is None when it is not Python, or does not parse."""

    path: str
    text: str
    tree: ast.Module | None


@dataclass(frozen=True, slots=True)
class Change:
    """`before` and `after` as bytes (None: no such file), as text and as syntax trees (None: not available)."""

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


def changes(patch: Patch, originals: Mapping[str, bytes | None]) -> tuple[Change, ...]:
    """The files whose content `patch` changes, in the order of their paths."""
    found = []
    for path, after in sorted(patch.files.items()):
        before = originals.get(path)
        if before != after:
            old, new = (parse(data) if path.endswith(PYTHON) else None for data in (before, after))
            sources = [decode(data) if data is not None else None for data in (before, after)]
            old_text, new_text = (source.text if source else None for source in sources)
            found.append(Change(path, before, after, old_text, new_text, old, new))
    return tuple(found)


def name_set(names: str) -> frozenset[str]:
    """The set of the names in a text, separated by spaces."""
    return frozenset(names.split())


def within(path: str, scope: Sequence[str]) -> bool:
    """Whether `path` is one of the files or lies in one of the folders of `scope` ("." is everything)."""
    parts = PurePosixPath(path).parts
    return any(parts[: len(PurePosixPath(item).parts)] == PurePosixPath(item).parts for item in scope)


@lru_cache(maxsize=TREES)
def parse(data: bytes | None) -> ast.Module | None:
    """The syntax tree of `data`; None when there is none (no file, no Python, nested too deeply).

    Trees are shared between callers, who must not change them.
    """
    return None if data is None else syntax(data)


@lru_cache(maxsize=TREES)
def nodes(tree: ast.Module) -> tuple[ast.AST, ...]:
    """All nodes of `tree`, parents first; every rule walks them, so they are collected once."""
    return tuple(ast.walk(tree))


@lru_cache(maxsize=TREES)
def functions(tree: ast.Module | None) -> Mapping[str, Function]:
    """Every function by qualified name; of two with the same name, the last."""
    return {name: node for name, node in _definitions(tree, "") if isinstance(node, Function)}


@lru_cache(maxsize=TREES)
def scopes(tree: ast.Module | None) -> Mapping[int, str]:
    """Line -> qualified name of the innermost function or class on it."""
    found: dict[int, str] = {}
    for name, node in _definitions(tree, ""):  # outer definitions come first, so inner ones overwrite them
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        found.update(dict.fromkeys(range(first, (node.end_lineno or first) + 1), name))
    return found


def _definitions(node: ast.AST | None, prefix: str) -> Iterator[tuple[str, Function | ast.ClassDef]]:
    for child in ast.iter_child_nodes(node) if node else ():
        inner = prefix
        if isinstance(child, Function | ast.ClassDef):
            yield prefix + child.name, child
            inner = f"{prefix}{child.name}."
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield from _definitions(child, inner)


def normal(path: str, data: bytes | None) -> bytes:
    """`data` without formatting and comments if it is Python that parses, else unchanged.

    Docstrings stay: `help()` shows them, and doctests are written in them.
    """
    if data is None:
        return b"absent"
    dumped = _dumped(data) if path.endswith(PYTHON) else None
    return b"bytes:" + data if dumped is None else b"tree:" + dumped


@lru_cache(maxsize=TREES)
def _dumped(data: bytes) -> bytes | None:
    tree = parse(data)
    try:
        return None if tree is None else ast.dump(tree).encode("utf-8", "surrogatepass")
    except RecursionError:
        return None


def digest(patch: Patch, originals: Mapping[str, bytes | None], *, exact: bool = False) -> str:
    """sha256 of what `patch` changes in `originals`; files whose content stays equal do not count.

    `exact` compares bytes, for requests about layout and comments (a line too long, imports out of order). Keep both
    digests of an attempt, so that either question can be answered.
    """
    total = hashlib.sha256(b"exact" if exact else b"normal")
    for path in sorted(patch.files):
        # Without its ending no file counts as Python, so `normal` leaves the bytes as they are.
        before, after = (normal("" if exact else path, data) for data in (originals.get(path), patch.files[path]))
        if before != after:
            total.update(f"{path}\0{len(after)}\0".encode("utf-8", "surrogatepass") + after)
    return total.hexdigest()


def digests(patch: Patch, originals: Mapping[str, bytes | None]) -> frozenset[str]:
    """Both digests of `patch`, to be remembered among the attempts seen."""
    return frozenset({digest(patch, originals), digest(patch, originals, exact=True)})
