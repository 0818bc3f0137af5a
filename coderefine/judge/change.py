"""A patch as the rules see it: each changed file before and after, parsed once; and digests of the whole patch."""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import UnionType

from coderefine.core import Patch
from coderefine.source import Definition, Function, blocks, definitions, owners, syntax, text_of

PYTHON = (".py", ".pyi")
UNREADABLE = "does not parse with Python {}.{}, which runs coderefine".format(*sys.version_info)
TREES = 256
"""Number of cached syntax trees: a lint fix touches dozens of files, and each is parsed again at every attempt."""


@dataclass(frozen=True, slots=True)
class FileVersion:
    """One version of a text file; `tree` is None if the file is not Python, or does not parse."""

    path: str
    text: str
    tree: ast.Module | None


@dataclass(frozen=True, slots=True)
class Change:
    """A changed file before and after the patch: bytes (None: no such file), text and tree (None: not available)."""

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
    def was(self) -> FileVersion | None:
        return None if self.old_text is None else FileVersion(self.path, self.old_text, self.old)

    @property
    def now(self) -> FileVersion | None:
        return None if self.new_text is None else FileVersion(self.path, self.new_text, self.new)


def changes(patch: Patch, originals: Mapping[str, bytes | None]) -> tuple[Change, ...]:
    """Return the files whose content `patch` changes, sorted by path."""
    found = []
    for path, after in sorted(patch.files.items()):
        before = originals.get(path)
        if before != after:
            old, new = (parse(data) if path.endswith(PYTHON) else None for data in (before, after))
            found.append(Change(path, before, after, text_of(before), text_of(after), old, new))
    return tuple(found)


def name_set(names: str) -> frozenset[str]:
    """Return the set of the space-separated names in a text."""
    return frozenset(names.split())


@lru_cache(maxsize=TREES)
def parse(data: bytes | None) -> ast.Module | None:
    """Return the syntax tree of `data`; None if there is none (no file, no Python, nested too deeply).

    Trees are shared between callers, which must not change them.
    """
    return None if data is None else syntax(data)


def unreadable(path: str, data: bytes | None) -> str:
    """Return a reason if the file is Python without a syntax tree, so that no rule can judge it; "" if not."""
    return f"{path} {UNREADABLE}" if path.endswith(PYTHON) and data is not None and parse(data) is None else ""


@lru_cache(maxsize=TREES)
def nodes(tree: ast.Module) -> tuple[ast.AST, ...]:
    """Return all nodes of `tree`, parents first; cached, because every rule needs them."""
    return tuple(ast.walk(tree))


def statements(node: ast.AST, closed: UnionType = Definition) -> Iterator[ast.stmt]:
    """Yield the statements in a module, class or statement, including those under `if`, `for`, `try` and `with`.

    `closed`: the kinds of statements whose inside is left out. With `Function`, yield the statements that run at
    import, also those in classes.
    """
    for child in blocks(node):
        if isinstance(child, ast.stmt):
            yield child
        if not isinstance(child, closed):
            yield from statements(child, closed)


def own_nodes(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yield the nodes below a statement, without those of statements inside it; nothing for a definition."""
    for child in ast.iter_child_nodes(statement) if not isinstance(statement, Definition) else ():
        if not isinstance(child, ast.stmt | ast.ExceptHandler):
            yield from ast.walk(child)


def bound(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement itself binds or deletes.

    Names that its comprehensions, patterns and exception handlers bind are left out.
    """
    if isinstance(statement, Definition):
        yield statement.name
    elif isinstance(statement, ast.Import | ast.ImportFrom):
        yield from (alias.asname or alias.name.partition(".")[0] for alias in statement.names)
    else:
        names = [node for node in own_nodes(statement) if isinstance(node, ast.Name)]
        inner = _comprehended(own_nodes(statement))
        yield from (node.id for node in names if not isinstance(node.ctx, ast.Load) and node not in inner)


def _comprehended(found: Iterable[ast.AST]) -> set[ast.AST]:
    """Return the nodes of the targets of comprehensions, which are not visible outside of them."""
    return {node for one in found if isinstance(one, ast.comprehension) for node in ast.walk(one.target)}


def positional(function: Function) -> list[str]:
    """Return the names of the positional parameters of a function."""
    return [item.arg for item in (*function.args.posonlyargs, *function.args.args)]


@lru_cache(maxsize=TREES)
def functions(tree: ast.Module | None) -> Mapping[str, Function]:
    """Return the functions by qualified name; of two with the same name, the last."""
    return {name: node for name, node in definitions(tree) if isinstance(node, Function)}


@lru_cache(maxsize=TREES)
def scopes(tree: ast.Module | None) -> Mapping[int, str]:
    """Return line -> qualified name of the innermost function or class that contains the line; see `owners`."""
    return owners(tree)


def normal(path: str, data: bytes | None) -> bytes:
    """Return a key for comparing contents: valid Python without its formatting and comments, other data as it is.

    Docstrings are kept: `help()` shows them, and they may contain doctests.
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
    """Return the SHA-256 of the changes of `patch` to `originals`; files whose content stays equal do not count.

    `exact`: compare bytes instead of `normal` keys, for findings about layout and comments (line too long, imports not
    sorted). Store both digests of an attempt, because either may be needed.
    """
    total = hashlib.sha256(b"exact" if exact else b"normal")
    for path in sorted(patch.files):
        # Without a suffix no file counts as Python, so `normal` leaves the bytes as they are.
        before, after = (normal("" if exact else path, data) for data in (originals.get(path), patch.files[path]))
        if before != after:
            total.update(f"{path}\0{len(after)}\0".encode("utf-8", "surrogatepass") + after)
    return total.hexdigest()


def digests(patch: Patch, originals: Mapping[str, bytes | None]) -> frozenset[str]:
    """Return both digests of `patch`, by which a later patch with the same changes is recognised."""
    return frozenset({digest(patch, originals), digest(patch, originals, exact=True)})
