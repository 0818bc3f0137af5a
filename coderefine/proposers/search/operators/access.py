"""Access to parts of a value: slices, indices, keys, dotted chains, and copies instead of shared objects."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from coderefine.proposers.search.kinds import SIZED, dotted
from coderefine.proposers.search.site import Site
from coderefine.proposers.search.syntax import Edit


def slices(site: Site) -> Iterator[Edit]:
    """A slice's bound added, dropped or turned round; an index turned round or made a slice."""
    for node in site.exprs:
        if not isinstance(node, ast.Subscript):
            continue
        base, piece = site.code(node.value), node.slice
        if isinstance(piece, ast.Slice):
            low, high, step = (site.code(part) if part else "" for part in (piece.lower, piece.upper, piece.step))
            tail = f":{step}" if step else ""
            options = {
                f"{low or 1}:{tail}" if low else f"1:{high}{tail}": 1.0,
                f":{high or -1}{tail}": 1.0,
                f"{high}:{low}{tail}": 0.5,
                f"{low}:{high}:2": 0.1,
                f"{low}:{high}:-1": 0.4,
                f"{low}:{high}": 1.0,
                f"{high}:{tail}": 0.7,
                f":{low}{tail}": 0.7,
                f"{low}:{high or '-1'}{tail}": 0.7,
                f"-{low}:{high}{tail}": 0.5 if low else 0.0,
            }
            for path in site.paths:
                if site.kinds.name(path) == "int":
                    options[f"{low}:{path}{tail}"] = options[f"{path}:{high}{tail}"] = 0.7
                    options[f"{low}:{low}+{path}{tail}" if low else f"{path}::{step}"] = 0.3
            for text, weight in options.items():
                yield from site.swap(node, f"{base}[{text}]", weight)
        else:
            index = site.code(piece)
            for text, weight in (
                (f"-{index}", 0.7),
                (f"{index}:", 0.5),
                (f":{index}", 0.5),
                ("0", 0.7),
                ("-1", 0.7),
                (f"-{index} - 1", 0.2),
                (f"{index}:{index} + 1", 0.1),
                (f"{index} % len({base})", 0.4),
            ):
                yield from site.swap(node, f"{base}[{text}]", weight)


def key_access(site: Site) -> Iterator[Edit]:
    """`d[k]` for `d.get(k)` and back, with a default where one is missing; `setdefault` for a plain read."""
    for node in site.exprs:
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice):
            base, key = site.code(node.value), site.code(node.slice)
            boost = 3.0 if "KeyError" in site.raised else 1.0
            for tail, weight in (
                ("", 1.0),
                (", 0", 1.0),
                (", []", 0.6),
                (', ""', 0.5),
                (", {}", 0.3),
                (", None", 0.0),
                (", False", 0.2),
                (", set()", 0.2),
                (f", {key}", 0.3),
            ):
                yield from site.swap(node, f"{base}.get({key}{tail})", weight * boost)
            for empty in ("[]", "{}", "set()", "0"):
                yield from site.swap(node, f"{base}.setdefault({key}, {empty})", 0.4 * boost)
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("get", "setdefault")
            and node.args
        ):
            yield from site.swap(node, f"{site.code(node.func.value)}[{site.code(node.args[0])}]", 1.0)


def copies(site: Site) -> Iterator[Edit]:
    """A missing copy where a collection is stored, returned, passed on or looped over while it changes."""
    for node in site.exprs:
        kind = site.kinds.of(node)
        if (
            isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call)
            and (not kind or kind in SIZED - {"str", "bytes"})
            and _kept(site, node)
        ):
            for shape, weight in (
                (("list({})", 1.5), ("{}[:]", 1.0), ("{}.copy()", 1.5))
                if kind == "list"
                else (("dict({})", 1.5), ("{}.copy()", 1.0))
                if kind == "dict"
                else (("{}.copy()", 1.0), ("list({})", 1.0), ("dict({})", 0.4), ("set({})", 0.4))
            ):
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
    """`[[0] * n] * m` makes m names of one row; the comprehension makes m rows."""
    rows, count = (node.left, node.right) if isinstance(node.left, ast.List) else (node.right, node.left)
    if isinstance(rows, ast.List) and len(rows.elts) == 1 and not isinstance(rows.elts[0], ast.Constant):
        yield from site.swap(node, f"[{site.code(rows.elts[0])} for _ in range({site.code(count)})]", 5.0)


def renamed_copy(site: Site) -> Iterator[Edit]:
    """A dotted chain shortened or prolonged by one step that the file uses elsewhere."""
    chains = sorted(site.module.index.chains)
    for node in site.exprs:
        name = dotted(node) if isinstance(node, ast.Attribute) else ""
        if name and not isinstance(site.module.parents.get(node), ast.Attribute):
            tail = name.rsplit(".", 1)[-1]
            for chain in chains:
                step = chain.endswith("." + tail) or re.match(rf"{re.escape(name)}\.\w+$", chain)
                if step and chain.split(".")[0] in site.known:
                    yield from site.swap(node, chain, 1.0)
