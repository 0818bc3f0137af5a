"""Edits of accesses to parts of a value: slices, indices, keys, attributes, and copies of shared objects."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import PurePath

from coderefine.proposers.search import emit
from coderefine.proposers.search.class_members import declared, methods
from coderefine.proposers.search.site import Site
from coderefine.proposers.search.syntax import Edit
from coderefine.proposers.search.value_kinds import SIZED, dotted

SHARED = (SIZED - {"str", "bytes"}) | {""}
"""Kinds of mutable values, which may be shared, and the unknown kind."""
COPIES: dict[str, tuple[tuple[str, float], ...]] = {
    "list": (("list({})", 1.5), ("{}[:]", 1.0), ("{}.copy()", 1.5)),
    "dict": (("dict({})", 1.5), ("{}.copy()", 1.0)),
}
OTHER_COPIES = (("{}.copy()", 1.0), ("list({})", 1.0), ("dict({})", 0.4), ("set({})", 0.4))


def slices(site: Site) -> Iterator[Edit]:
    """Change the bounds or the step of a slice; change an index, or convert it to a slice.

    Also pass `x[1:]` for the second `x` in `f(x, x)`.
    """
    for node in site.exprs:
        if isinstance(node, ast.Subscript):
            base, piece = site.code(node.value), node.slice
            options = _sliced(site, piece) if isinstance(piece, ast.Slice) else _indexed(base, site.code(piece))
            for text, weight in (*options, *_shortened(site, node)):
                yield from site.swap(node, f"{base}[{text}]", weight)
        elif isinstance(node, ast.Call) and len(node.args) == 2 and isinstance(node.args[1], ast.Name | ast.Attribute):
            first, second = map(site.code, node.args)
            if first == second:
                yield from site.swap(node.args[1], f"{second}[1:]", 3.0)


def _shortened(site: Site, node: ast.Subscript) -> Iterator[tuple[str, float]]:
    """Yield the bounds of a slice that leaves room for the text added behind it: `name[: most - 3] + "..."`."""
    parent, piece = site.module.parents.get(node), node.slice
    if isinstance(piece, ast.Slice) and piece.upper and not piece.step and isinstance(parent, ast.BinOp):
        behind = parent.right.value if isinstance(parent.right, ast.Constant) else ""
        if isinstance(behind, str) and behind and isinstance(parent.op, ast.Add):
            low = site.code(piece.lower) if piece.lower else ""
            yield f"{low}:{site.tight(piece.upper)} - {len(behind)}", 2.0


def _sliced(site: Site, piece: ast.Slice) -> Iterable[tuple[str, float]]:
    low, high, step = (site.code(part) if part else "" for part in (piece.lower, piece.upper, piece.step))
    tail = f":{step}" if step else ""
    options = _other_bounds(low, high, tail)
    for path in site.paths:
        if site.kinds.name(path) == "int":
            options[f"{low}:{path}{tail}"] = options[f"{path}:{high}{tail}"] = 0.7
            options[f"{low}:{low}+{path}{tail}" if low else f"{path}::{step}"] = 0.3
    return options.items()


def _other_bounds(low: str, high: str, tail: str) -> dict[str, float]:
    return {
        f"{low}:{tail}" if low else f"1:{high}{tail}": 1.0,
        f":{high or -1}{tail}": 1.0,
        f"{high}:{low}{tail}": 0.5,
        f"{low}:{high}:2": 0.1,
        f"{low}:{high}:-1": 0.4,
        f"{low}:{high}": 1.0,
        f"{high}:{tail}": 0.7,
        f":{low}{tail}": 0.7 if low else 0.2,
        f"{low}:{high or '-1'}{tail}": 0.7,
        f"-{low}:{high}{tail}": 0.5 if low else 0.0,
    }


def _indexed(base: str, index: str) -> Iterable[tuple[str, float]]:
    return (
        (f"-{index}", 0.7),
        (f"{index}:", 0.5),
        (f":{index}", 0.5),
        ("0", 0.7),
        ("-1", 0.7),
        (f"-{index} - 1", 0.2),
        (f"{index}:{index} + 1", 0.1),
        (f"{index} % len({base})", 0.4),
    )


def around(site: Site) -> Iterator[Edit]:
    """Continue at the first element after the last one: `names[(at + 1) % len(names)]`."""
    for node in site.exprs:
        match node:
            case ast.Subscript(value=base, slice=ast.Name() | ast.BinOp() as at) if site.kinds.of(at) in ("int", ""):
                yield from site.swap(at, f"{site.tight(at)} % len({site.code(base)})")


def index_order(site: Site) -> Iterator[Edit]:
    """Exchange two indices: `rows[y][x]` for `rows[x][y]`."""
    for node in site.nodes:
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Subscript):
            yield emit.exchanged(site.module, node.value.slice, node.slice, 1.0)


def key_access(site: Site) -> Iterator[Edit]:
    """Replace `d[k]` by `d.get(k)`, with or without a default, or by `d.setdefault(k, …)`; or vice versa."""
    for node in site.exprs:
        match node:
            case ast.Subscript(value=base, slice=key) if not isinstance(key, ast.Slice):
                for text, weight in _by_call(site.code(base), site.code(key)):
                    yield from site.swap(node, text, weight * (3.0 if "KeyError" in site.raised else 1.0))
            case ast.Call(func=ast.Attribute(value=base, attr="get" | "setdefault"), args=[key, *_]):
                yield from site.swap(node, f"{site.code(base)}[{site.code(key)}]", 1.0)


def _by_call(base: str, key: str) -> Iterator[tuple[str, float]]:
    for tail, weight in (
        ("", 1.0),
        (", 0", 1.0),
        (", []", 0.6),
        (', ""', 0.5),
        (", {}", 0.3),
        (", False", 0.2),
        (", set()", 0.2),
        (f", {key}", 0.3),
    ):
        yield f"{base}.get({key}{tail})", weight
    for empty in ("[]", "{}", "set()", "0"):
        yield f"{base}.setdefault({key}, {empty})", 0.4


def copies(site: Site) -> Iterator[Edit]:
    """Copy a collection that is stored, returned, passed or looped over, and may be changed elsewhere.

    Also create separate rows in place of `[row] * m`, which has m references to one row.
    """
    for node in site.exprs:
        kind = site.kinds.of(node)
        if (
            isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call)
            and kind in SHARED
            and _kept(site, node)
        ):
            for shape, weight in COPIES.get(kind, OTHER_COPIES):
                yield from site.swap(node, shape.format(site.code(node)), weight)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            yield from _unshared(site, node)


def _kept(site: Site, node: ast.AST) -> bool:
    parent = site.module.parents.get(node)
    if isinstance(parent, ast.Call) and parent.func is not node:
        return isinstance(parent.func, ast.Attribute)
    return isinstance(
        parent, ast.Assign | ast.Return | ast.Yield | ast.For | ast.AnnAssign | ast.keyword | ast.Dict | ast.Tuple
    )


def _unshared(site: Site, node: ast.BinOp) -> Iterator[Edit]:
    """Replace `[[0] * n] * m`, which has m references to one list, by a comprehension with m lists."""
    rows, count = (node.left, node.right) if isinstance(node.left, ast.List) else (node.right, node.left)
    if isinstance(rows, ast.List) and len(rows.elts) == 1 and not isinstance(rows.elts[0], ast.Constant):
        yield from site.swap(node, f"[{site.code(rows.elts[0])} for _ in range({site.code(count)})]", 5.0)


def other_chain(site: Site) -> Iterator[Edit]:
    """Replace an attribute chain by another chain of the file: with the same last attribute, or with one more."""
    chains = sorted(site.module.index.chains)
    for node in site.exprs:
        name = dotted(node) if isinstance(node, ast.Attribute) else ""
        if name and not isinstance(site.module.parents.get(node), ast.Attribute):
            tail = name.rsplit(".", 1)[-1]
            for chain in chains:
                step = chain.endswith("." + tail) or re.match(rf"{re.escape(name)}\.\w+$", chain)
                if step and chain.split(".")[0] in site.known:
                    yield from site.swap(node, chain, 1.0)


def receiver(site: Site) -> Iterator[Edit]:
    """Add or remove `self.` (or `cls.`)."""
    me = site.local.receiver
    for node in site.nodes:
        if isinstance(node, ast.Name) and me and node.id in (*site.local.fields, *site.local.methods):
            yield from site.swap(node, f"{me}.{node.id}", 3.0)
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == me
            and node.attr in (*site.local.bound, *site.local.globals)
        ):
            yield from site.swap(node, node.attr, 1.0)


def qualified(site: Site) -> Iterator[Edit]:
    """Read an undefined name from a class or module of this file's globals that has it: `NONE` → `Style.NONE`."""
    for node in site.exprs:
        if isinstance(node, ast.Name) and node.id in site.hints.undefined and node.id not in site.local.bound:
            for owner in _owners(site, node.id):
                yield from site.swap(node, f"{owner}.{node.id}", 1.0)


def _owners(site: Site, name: str) -> Iterator[str]:
    """Yield the file's globals that name a class with the member `name`, or a module that binds `name`."""
    for module in site.world.modules.values():
        classes = [node for node in module.tree.body if isinstance(node, ast.ClassDef)]
        owners = {node.name for node in classes if name in (*declared(node), *methods(node))}
        if name in module.index.globals:
            owners.add(PurePath(module.path).stem)
        yield from sorted(owners.intersection(site.local.globals))
