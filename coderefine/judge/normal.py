"""What a patch amounts to once layout and comments are set aside, and a digest of it."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Mapping
from functools import lru_cache

from coderefine.core import Patch
from coderefine.source import syntax

PYTHON = (".py", ".pyi")
TREES = 256
"""Syntax trees kept: a patch of a linter touches dozens of files, and each is asked for again at every attempt."""
Function = ast.FunctionDef | ast.AsyncFunctionDef


@lru_cache(maxsize=TREES)
def parse(data: bytes | None) -> ast.Module | None:
    """The syntax tree of `data`; None when there is none (no file, no Python, nested beyond reason).

    Trees are shared between callers, who must not change them.
    """
    return None if data is None else syntax(data)


@lru_cache(maxsize=TREES)
def nodes(tree: ast.Module) -> tuple[ast.AST, ...]:
    """All nodes of `tree`, parents first; every rule walks them, so they are collected once."""
    return tuple(ast.walk(tree))


def normal(path: str, data: bytes | None) -> bytes:
    """`data` without formatting and comments if it is Python that parses, else as it is.

    Docstrings stay: they are what `help()` says, and doctests live in them.
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
    """sha256 of what `patch` changes in `originals`; files it leaves equal do not count.

    `exact` compares bytes, for the times when layout and comments are what is asked for (a line too long,
    imports out of order). Remember both digests of an attempt, so that either question can be answered.
    """
    total = hashlib.sha256(b"exact" if exact else b"normal")
    for path in sorted(patch.files):
        before, after = originals.get(path), patch.files[path]
        if before == after:
            continue
        new = _form(path, after, exact=exact)
        if new != _form(path, before, exact=exact):
            total.update(f"{path}\0{len(new)}\0".encode("utf-8", "surrogatepass") + new)
    return total.hexdigest()


def _form(path: str, data: bytes | None, *, exact: bool) -> bytes:
    if exact:
        return b"absent" if data is None else b"bytes:" + data
    return normal(path, data)


def digests(patch: Patch, originals: Mapping[str, bytes | None]) -> frozenset[str]:
    """Both digests of `patch`: what goes into the set of things already seen."""
    return frozenset({digest(patch, originals), digest(patch, originals, exact=True)})
