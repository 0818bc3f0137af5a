"""Repair what the interpreter's message names: a name that was not found, swapped arguments of `isinstance`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from coderefine.proposers.search import emit
from coderefine.proposers.search.site import Site
from coderefine.proposers.search.syntax import Edit, Replacement

NEAREST = 3.0
"""Log odds of the first suggestion; high, because the error message itself names the misspelt identifier."""


def nearest(site: Site) -> Iterator[Edit]:
    """Replace a name that was not found by a similar existing one, here only or at all places with the same mistake.

    Swap the arguments of `isinstance` or `issubclass` that raised because one is no class.
    """
    if site.hints.class_wanted:
        yield from _classes_last(site)
    for wrong, names in site.hints.slips:
        for node in site.nodes:
            if _name(node) == wrong:
                everywhere = list(_same_slips(site, node, wrong))
                for place, name in enumerate(names):
                    boost = NEAREST - place
                    if len(everywhere) > 1:
                        yield from _replaced(site, everywhere, (wrong, name), boost + 0.5)
                    yield from _replaced(site, [node], (wrong, name), boost)


def _classes_last(site: Site) -> Iterator[Edit]:
    for node in site.nodes:
        match node:
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[one, two], keywords=[]):
                yield emit.exchanged(site.module, one, two, 1.0)


def _name(node: ast.AST) -> str:
    """Return the name that `node` looks up; "" for other nodes."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.keyword):
        return node.arg or ""
    if isinstance(node, ast.alias):
        return node.name
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _same_slips(site: Site, node: ast.AST, wrong: str) -> Iterator[ast.AST]:
    """Return the nodes of the same type that look up `wrong`.

    String keys, and names that the file itself defines, are searched in the same function only.
    """
    whole = site.module.tree
    within: ast.AST = site.local.function or whole if isinstance(node, ast.Constant) else whole
    if _defined(whole, wrong) and not isinstance(node, ast.Constant):
        within = site.local.function or whole
    return (one for one in ast.walk(within) if type(one) is type(node) and _name(one) == wrong)


def _defined(tree: ast.Module, name: str) -> bool:
    """Return whether the file defines or assigns `name`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == name:
            return True
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store) and _name(node) == name:
            return True
        if isinstance(node, ast.arg) and node.arg == name:
            return True
    return False


def _replaced(site: Site, nodes: Iterable[ast.AST], names: tuple[str, str], boost: float) -> Iterator[Edit]:
    parts = [part for node in nodes for part in _part(site, node, *names)]
    if parts:
        yield Edit(tuple(sorted(parts, key=lambda part: part.start)), 1.0, boost)


def _part(site: Site, node: ast.AST, wrong: str, name: str) -> Iterator[Replacement]:
    """Yield the replacement of the name within `node`; none if its position is unreliable (old f-strings)."""
    start, end = site.module.start(node), site.module.end(node)
    text = site.module.text[start:end]
    at = text.rfind(wrong) if isinstance(node, ast.Attribute) else text.find(wrong)
    if at >= 0 and (text.count(wrong) == 1 or not isinstance(node, ast.Constant)):
        yield Replacement(start + at, start + at + len(wrong), name)
