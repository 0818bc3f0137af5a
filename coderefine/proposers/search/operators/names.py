"""Variables, attributes, methods and functions replaced by others that are in scope and fit."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from coderefine.proposers.search.ingredients import BUILTINS
from coderefine.proposers.search.kinds import dotted, fits
from coderefine.proposers.search.site import Site
from coderefine.proposers.search.syntax import Edit, Function

CONFUSED = (
    {"min", "max"},
    {"any", "all"},
    {"sorted", "reversed", "list", "set", "tuple"},
    {"int", "float", "round"},
    {"str", "repr"},
    {"startswith", "endswith"},
    {"lower", "upper", "casefold", "capitalize", "title", "swapcase"},
    {"strip", "lstrip", "rstrip"},
    {"split", "rsplit", "splitlines", "partition", "rpartition"},
    {"find", "rfind", "index", "rindex", "count"},
    {"keys", "values", "items"},
    {"append", "extend", "insert", "add", "appendleft"},
    {"pop", "popleft", "remove", "discard", "popitem"},
    {"add", "discard", "remove", "update"},
    {"union", "intersection", "difference", "symmetric_difference"},
    {"floor", "ceil", "trunc"},
    {"isdigit", "isalpha", "isalnum", "isnumeric", "isdecimal", "isspace"},
    {"ljust", "rjust", "center", "zfill"},
    {"get", "pop", "setdefault"},
    {"update", "append", "extend"},
    {"match", "search", "fullmatch", "findall", "finditer"},
    {"removeprefix", "removesuffix"},
    {"encode", "decode"},
    {"load", "loads"},
    {"dump", "dumps"},
    {"read", "readline", "readlines"},
    {"write", "writelines"},
    {"isupper", "islower", "istitle"},
    {"copy", "deepcopy"},
    {"issubset", "issuperset", "isdisjoint"},
    {"weekday", "isoweekday"},
    {"heappush", "heappop", "heapify", "heappushpop"},
    {"sin", "cos", "tan"},
    {"days", "seconds", "total_seconds"},
    {"day", "month", "year"},
    {"hour", "minute", "second", "microsecond"},
    {"bisect_left", "bisect_right", "bisect"},
    {"map", "filter"},
    {"sum", "len", "max", "min"},
    {"enumerate", "zip", "range"},
    {"chr", "ord"},
    {"bin", "hex", "oct"},
    {"start", "end", "stop", "span"},
    {"group", "groups", "groupdict"},
    {"isinstance", "issubclass"},
    {"getattr", "hasattr", "setattr"},
    {"list", "dict", "set", "tuple"},
    {"dirname", "basename"},
    {"name", "stem", "suffix"},
    {"accumulate", "chain"},
    {"permutations", "combinations", "product"},
    {"mean", "median"},
    {"rotate", "reverse"},
    {"lower", "strip"},
    {"exists", "is_file", "is_dir"},
    {"put", "get"},
    {"acquire", "release"},
    {"enter", "exit"},
    {"left", "right"},
    {"first", "last"},
)
"""Names that are taken for each other."""


@lru_cache(maxsize=20_000)
def likeness(one: str, other: str) -> float:
    """How easily one name is written for another: shared parts, shared letters, 0..1."""
    parts, others = set(one.lower().split("_")), set(other.lower().split("_"))
    shared = len(parts & others) / max(len(parts | others), 1)
    same = sum(1 for a, b in zip(one, other, strict=False) if a == b) / max(len(one), len(other))
    return max(shared, 0.8 * same, 0.3 if abs(len(one) - len(other)) <= 1 and len(one) <= 2 else 0.0)


def variables(site: Site) -> Iterator[Edit]:
    """A variable replaced by another local one, or by an attribute of `self`, that fits."""
    for node in site.exprs:
        if isinstance(node, ast.Name) and not _called(site, node):
            for path, weight in _instead(site, node, node.id):
                yield from site.swap(node, path, weight)
        elif isinstance(node, ast.Attribute) and dotted(node) and not _called(site, node):
            for path, weight in _instead(site, node, dotted(node)):
                if "." not in path:
                    yield from site.swap(node, path, weight * 0.4)


def _called(site: Site, node: ast.AST) -> bool:
    parent = site.module.parents.get(node)
    return isinstance(parent, ast.Call) and parent.func is node


def _instead(site: Site, node: ast.expr, name: str) -> Iterator[tuple[str, float]]:
    kind = site.kinds.of(node)
    near = {inner.id for inner in site.nodes if isinstance(inner, ast.Name)}
    parent = site.module.parents.get(node)
    for path in site.paths:
        other = site.kinds.name(path)
        if path == name or not fits(kind, other) or (isinstance(parent, ast.Attribute) and path.startswith(name + ".")):
            continue
        weight = (
            1.0
            + 2.0 * likeness(name.rsplit(".", 1)[-1], path.rsplit(".", 1)[-1])
            + (1.0 if kind and kind == other else 0.0)
        )
        if path in near:
            weight *= 0.8
        yield path, weight * (0.6 if "." in path else 1.0)


def everywhere(site: Site) -> Iterator[Edit]:
    """All uses of a variable in the statement replaced by another one at once."""
    uses: dict[str, list[ast.Name]] = {}
    for node in site.exprs:
        if isinstance(node, ast.Name):
            uses.setdefault(node.id, []).append(node)
    for name, nodes in uses.items():
        if len(nodes) > 1 and name not in BUILTINS:
            for path, weight in _instead(site, nodes[0], name):
                yield Edit(
                    tuple(part for node in nodes for edit in site.swap(node, path) for part in edit.parts), weight
                )


def attributes(site: Site) -> Iterator[Edit]:
    """An attribute replaced by another that objects of this name have, or by one it is taken for."""
    for node in site.exprs:
        if isinstance(node, ast.Attribute):
            for other, weight in attribute_options(site, node).items():
                yield from site.swap(node, f"{site.code(node.value)}.{other}", weight)


def attribute_options(site: Site, node: ast.Attribute) -> dict[str, float]:
    options: dict[str, float] = {}
    called = _called(site, node)
    if dotted(node.value) in ("self", "cls"):
        pool = site.local.methods if called else (*site.local.fields, *site.local.methods)
        options |= {name: 1.0 + 2.0 * likeness(node.attr, name) for name in pool if not name.startswith("__") or called}
    for group in CONFUSED:
        if node.attr in group:
            options |= dict.fromkeys(group, 4.0)
    for name in _used_on(site, dotted(node.value), called=called):
        options.setdefault(name, 1.0 + 2.0 * likeness(node.attr, name))
    if called and node.attr in site.world.methods:
        for name in site.world.methods:
            options.setdefault(name, 0.6 + likeness(node.attr, name))
    for name in _like(site, node.attr):
        options.setdefault(name, 0.5)
    options.pop(node.attr, None)
    return options


def _used_on(site: Site, base: str, *, called: bool) -> set[str]:
    return (
        site.module.index.attributes[base]["called" if called else "read"]
        if base in site.module.index.attributes
        else set()
    )


def _like(site: Site, name: str) -> list[str]:
    return sorted(other for other in site.module.index.all_attributes if likeness(name, other) >= 0.5)


def functions(site: Site) -> Iterator[Edit]:
    """A called function replaced by another of this file, or by a built-in it is taken for."""
    here = [node.name for node in site.module.tree.body if isinstance(node, Function)]
    for node in site.exprs:
        if isinstance(node, ast.Name) and _called(site, node):
            options = {
                name: 4.0
                for group in CONFUSED
                if node.id in group
                for name in group
                if name in BUILTINS or name in site.local.globals
            }
            if node.id in here:
                options |= {name: 1.0 + 2.0 * likeness(node.id, name) for name in here}
            elif node.id in site.local.globals:
                options |= {name: 0.5 + 2.0 * likeness(node.id, name) for name in site.local.globals}
            for other, weight in options.items():
                if other != node.id:
                    yield from site.swap(node, other, weight)
        elif isinstance(node, ast.Name) and node.id in BUILTINS:
            for other in {name for group in CONFUSED if node.id in group for name in group if name in BUILTINS} - {
                node.id
            }:
                yield from site.swap(node, other, 0.7)


def globals_(site: Site) -> Iterator[Edit]:
    """A name of the module replaced by another one that is spelled much alike or is also a constant."""
    constants = [name for name in site.local.globals if name.isupper()]
    for node in site.exprs:
        if isinstance(node, ast.Name) and node.id in site.local.globals and not _called(site, node):
            pool = constants if node.id.isupper() else site.local.globals
            for name in pool:
                if name != node.id:
                    yield from site.swap(node, name, 0.3 + 2.0 * likeness(node.id, name))


def receiver(site: Site) -> Iterator[Edit]:
    """A missing or superfluous `self.` (or `cls.`)."""
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


def field_of(site: Site) -> Iterator[Edit]:
    """A missing or superfluous attribute, index or key after a value, as this file writes it elsewhere."""
    for node in site.exprs:
        base = node.value if isinstance(node, ast.Attribute | ast.Subscript) else None
        if base and not isinstance(base, ast.Call) and not _called(site, node) and dotted(base) not in ("self", "cls"):
            yield from site.swap(node, site.code(base), 1.0)
        if (
            isinstance(node, ast.Name)
            and not isinstance(site.module.parents.get(node), ast.Attribute)
            and node.id not in BUILTINS
        ):
            for tail, weight in _tails(site, node.id).items():
                yield from site.swap(node, node.id + tail, weight)


def _tails(site: Site, name: str) -> dict[str, float]:
    """What follows `name` elsewhere in the function or file: `.next`, `[0]`, `.items()`."""
    index = site.module.index
    known = index.attributes.get(name, {})
    tails = {f".{attr}": 2.0 for attr in known.get("read", ())} | {f".{attr}()": 2.0 for attr in known.get("bare", ())}
    for base, inside, function in index.slices:
        if function is site.local.function:
            tails.setdefault(f"[{inside}]", 2.0 if base == name else 0.4)
    if site.kinds.name(name) in ("list", "tuple", "str"):
        for text, weight in (("[0]", 0.7), ("[-1]", 0.7), ("[1]", 0.4), ("[::-1]", 0.6), ("[1:]", 0.6), ("[:-1]", 0.6)):
            tails.setdefault(text, weight)
    return tails


def targets(site: Site) -> Iterator[Edit]:
    """The target of an assignment replaced by another variable or attribute, or the targets exchanged."""
    for node in site.nodes:
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store) and dotted(node):
            for path in site.paths:
                if path != dotted(node):
                    yield from site.swap(
                        node, path, 0.5 + 2.0 * likeness(dotted(node).rsplit(".", 1)[-1], path.rsplit(".", 1)[-1])
                    )
        elif isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Store) and len(node.elts) == 2:
            one, two = (site.code(element) for element in node.elts)
            yield Edit(
                (
                    *(part for edit in site.swap(node.elts[0], two) for part in edit.parts),
                    *(part for edit in site.swap(node.elts[1], one) for part in edit.parts),
                ),
                2.0,
            )
