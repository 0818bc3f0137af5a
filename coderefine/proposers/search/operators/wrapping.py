"""Wrap a value in a call or remove such a call: conversions, sizes, normalisation, copies."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from coderefine.proposers.search.site import Site
from coderefine.proposers.search.syntax import Edit, Function, Replacement
from coderefine.proposers.search.value_kinds import dotted, is_none
from coderefine.source import last_name

WRAPS: dict[str, tuple[tuple[str, float], ...]] = {
    "int": (
        ("str({})", 2),
        ("abs({})", 1.5),
        ("range({})", 1),
        ("float({})", 0.6),
        ("chr({})", 1),
        ("max(0, {})", 0.8),
        ("bool({})", 0.3),
        ("[{}]", 0.3),
        ("round({})", 0.2),
        ("reversed(range({}))", 0.1),
    ),
    "float": (
        ("int({})", 2),
        ("round({})", 1.5),
        ("round({}, 2)", 1),
        ("abs({})", 1.2),
        ("str({})", 0.6),
        ("max(0, {})", 0.6),
        ("math.floor({})", 0.4),
        ("math.ceil({})", 0.4),
    ),
    "str": (
        ("{}.strip()", 2),
        ("{}.lower()", 2),
        ("int({})", 2),
        ("len({})", 1.5),
        ("{}.upper()", 1),
        ("{}.split()", 1),
        ("list({})", 0.6),
        ("float({})", 1),
        ("reversed({})", 0.5),
        ("{}.rstrip()", 0.8),
        ("{}.lstrip()", 0.6),
        ("sorted({})", 1.0),
        ("ord({})", 1),
        ("repr({})", 0.4),
        ("{}.encode()", 0.2),
        ("set({})", 0.5),
        ('"".join({})', 0.3),
        ("{}.title()", 0.3),
        ("{}.capitalize()", 0.4),
        ("{}.casefold()", 0.3),
        ('{}.rstrip("\\n")', 0.2),
        ("{}.splitlines()", 0.4),
        ("[{}]", 0.3),
        ('"".join(sorted({}))', 0.6),
    ),
    "list": (
        ("len({})", 2),
        ("sorted({})", 2),
        ("list({})", 1.5),
        ("set({})", 1.5),
        ("sum({})", 1),
        ("reversed({})", 1),
        ("tuple({})", 1.2),
        ("max({})", 0.7),
        ("min({})", 0.7),
        ("enumerate({})", 1),
        ("range(len({}))", 0.6),
        ("{}.copy()", 1),
        ('"".join({})', 1),
        ('" ".join({})', 0.5),
        ("{}[::-1]", 0.5),
        ("any({})", 0.4),
        ("all({})", 0.4),
        ("deepcopy({})", 0.1),
        ("[{}]", 0.3),
        ("iter({})", 0.2),
        ("sorted(set({}))", 0.3),
        ("str({})", 0.3),
    ),
    "tuple": (
        ("len({})", 1),
        ("list({})", 1.5),
        ("sorted({})", 1),
        ("set({})", 0.7),
        ("sum({})", 0.7),
        ("max({})", 0.5),
        ("min({})", 0.5),
        ("[{}]", 0.3),
    ),
    "set": (
        ("sorted({})", 2),
        ("list({})", 2),
        ("len({})", 1.5),
        ("frozenset({})", 0.7),
        ("set({})", 1),
        ("{}.copy()", 0.5),
        ("tuple({})", 0.5),
    ),
    "dict": (
        ("{}.items()", 2),
        ("{}.values()", 2),
        ("list({})", 1),
        ("len({})", 1),
        ("dict({})", 1.5),
        ("{}.copy()", 1.5),
        ("sorted({})", 1.2),
        ("{}.keys()", 0.5),
        ("list({}.items())", 0.6),
        ("list({}.values())", 0.4),
        ("sorted({}.items())", 0.5),
    ),
    "iter": (
        ("list({})", 2.5),
        ("sorted({})", 1.5),
        ("tuple({})", 1),
        ("set({})", 1),
        ("sum({})", 1),
        ("dict({})", 0.7),
        ("any({})", 0.7),
        ("all({})", 0.7),
        ("max({})", 0.6),
        ("min({})", 0.6),
        ("enumerate({})", 0.6),
        ("reversed({})", 0.6),
        ('"".join({})', 0.8),
        ('", ".join({})', 0.3),
        ("iter({})", 0.3),
        ("next({})", 0.3),
        ("len(list({}))", 0.3),
        ("len({})", 0.3),
    ),
    "bool": (("int({})", 1), ("bool({})", 0.5), ("str({})", 0.5)),
    "bytes": (("{}.decode()", 2), ("len({})", 1), ("bytes({})", 0.5), ("bytearray({})", 0.3)),
    "": (
        ("len({})", 1.2),
        ("str({})", 1.2),
        ("int({})", 1),
        ("list({})", 1.2),
        ("abs({})", 0.8),
        ("sorted({})", 0.9),
        ("float({})", 0.6),
        ("set({})", 0.6),
        ("range({})", 0.8),
        ("{}.strip()", 0.7),
        ("{}.lower()", 0.7),
        ("{}.upper()", 0.3),
        ("tuple({})", 0.7),
        ("round({})", 0.4),
        ("bool({})", 0.4),
        ("reversed({})", 0.5),
        ("sum({})", 0.4),
        ("enumerate({})", 0.4),
        ("{}.copy()", 0.6),
        ("{}.items()", 0.5),
        ("{}.values()", 0.4),
        ("chr({})", 0.3),
        ("ord({})", 0.4),
        ("dict({})", 0.4),
        ("max(0, {})", 0.2),
        ("repr({})", 0.4),
        ("any({})", 0.3),
        ("all({})", 0.3),
        ("max({})", 0.3),
        ("min({})", 0.3),
        ("{}()", 0.5),
        ("range(len({}))", 0.3),
        ("type({})", 0.2),
        ("iter({})", 0.2),
        ("frozenset({})", 0.2),
        ("next({})", 0.2),
        ("id({})", 0.05),
        ("[{}]", 0.3),
        ("{}[::-1]", 0.2),
        ('"".join({})', 0.3),
    ),
}
"""Wrappers of values by kind, with weights; {} is the value."""

CONVERSIONS = ("str({})", "int({})", "float({})", "set({})", "list({})", "tuple({})")
"""Wrappers that are also applied to literals."""

NAMESAKE = 6.0
"""Weight of a function that is called by other functions with the name of the current one, for example by the same
method of other classes."""


def wrap(site: Site) -> Iterator[Edit]:
    """Wrap a value in a call suitable for its kind: a conversion, its size, normalisation."""
    for node in site.values:
        if isinstance(node, ast.Compare | ast.BoolOp | ast.Lambda | ast.Starred) or _no_value(site, node):
            continue
        if is_none(node):
            continue
        plain = not _is_literal(node)
        for shape, weight in WRAPS.get(site.kinds.of(node), WRAPS[""]):
            if plain or shape in CONVERSIONS:
                yield from _shaped(site, node, shape, weight * (1.0 if plain else 0.2))


def _is_literal(node: ast.expr) -> bool:
    """Return whether the node is a literal, or a number with a sign."""
    return isinstance(node.operand if isinstance(node, ast.UnaryOp) else node, ast.Constant)


def _inside(site: Site, node: ast.expr, shape: str) -> str:
    """Return the node's text for insertion into `shape`; a generator needs no parentheses of its own in a call."""
    if "({})" not in shape and "[{}]" not in shape:
        return site.tight(node)
    bare = isinstance(node, ast.GeneratorExp) and "({})" in shape
    return site.code(node).removeprefix("(").removesuffix(")") if bare else site.code(node)


def _shaped(site: Site, node: ast.expr, shape: str, weight: float) -> Iterator[Edit]:
    call, inner = site.module.parents.get(node), _inside(site, node, shape)
    if isinstance(node, ast.GeneratorExp) and isinstance(call, ast.Call) and len(call.args) == 1:
        # a generator as the only argument shares the call's parentheses: keep them, and put the wrapper inside
        text = f"({shape.format(inner)})"
        yield Edit((Replacement(site.module.start(node), site.module.end(node), text),), weight)
    else:
        yield from site.swap(node, shape.format(inner), weight)


def _no_value(site: Site, node: ast.AST) -> bool:
    """Return whether `node` must not be wrapped: it is a called function, or a global name or `self` before a dot."""
    dot = isinstance(site.module.parents.get(node), ast.Attribute)
    return site.module.is_called(node) or (dot and dotted(node) in (*site.local.globals, "self", "cls"))


def own_wrap(site: Site) -> Iterator[Edit]:
    """Pass a value through a function or method of this project with one argument."""
    functions, methods, likely = own_functions(site), own_methods(site), _called_by_namesakes(site)
    for node in site.values:
        if _no_value(site, node) or _is_literal(node) or isinstance(node, ast.Compare | ast.BoolOp):
            continue
        for name in functions:
            yield from site.swap(node, f"{name}({site.code(node)})", NAMESAKE if name in likely else 1.0)
        for name in methods:
            yield from site.swap(node, f"{site.local.receiver}.{name}({site.code(node)})", 0.7)


def _called_by_namesakes(site: Site) -> set[str]:
    """Return the names of functions called, in this file, by other functions with the name of the current function."""
    me = site.local.function
    if me is None:
        return set()
    functions = (stmt for stmt in site.module.statements if isinstance(stmt, Function) and stmt is not me)
    calls = (node for other in functions if other.name == me.name for node in ast.walk(other))
    return {last_name(node.func) for node in calls if isinstance(node, ast.Call)}


def own_functions(site: Site) -> list[str]:
    """Return functions that can take one argument, or are called with one argument in this file.

    Add the imports and private functions in lower case that the file never uses. The function that contains the
    statement is left out.
    """
    reachable, index = site.local.globals, site.module.index
    known = site.world.signatures
    here = [name for name in known if name in reachable and any(_takes(one, 1) for one in known[name])]
    used = sorted(name for name in index.one_argument if name.split(".")[0] in reachable)
    idle = filter(str.islower, index.idle & set(reachable))
    me = site.local.function.name if site.local.function else None
    return [name for name in dict.fromkeys((*here, *used, *sorted(idle))) if name != me]


def own_methods(site: Site) -> list[str]:
    if not site.local.receiver:
        return []
    return [
        name
        for name in site.local.methods
        if not name.startswith("__") and any(_takes(arguments, 2) for arguments in site.world.signatures[name])
    ]


def _takes(arguments: ast.arguments, count: int) -> bool:
    total = len(arguments.posonlyargs) + len(arguments.args)
    return total >= count and total - len(arguments.defaults) <= count


def unwrap(site: Site) -> Iterator[Edit]:
    """Replace a call by one of its arguments, by its receiver, or by the function itself if there is no argument."""
    for node in site.exprs:
        if isinstance(node, ast.Call):
            yield from _argument_alone(site, node)
            yield from _callee_alone(site, node)


def _argument_alone(site: Site, node: ast.Call) -> Iterator[Edit]:
    if node.args and not isinstance(node.args[0], ast.Starred):
        yield from site.swap(node, site.code(node.args[0]), 1.0 if len(node.args) == 1 else 0.4)
        if len(node.args) > 1 and not isinstance(node.args[-1], ast.Starred):
            yield from site.swap(node, site.code(node.args[-1]), 0.4)


def _callee_alone(site: Site, node: ast.Call) -> Iterator[Edit]:
    if isinstance(node.func, ast.Attribute) and dotted(node.func.value) not in ("self", "cls", *site.local.globals):
        yield from site.swap(node, site.code(node.func.value), 1.0 if not node.args else 0.5)
    if not node.args and not node.keywords:
        yield from site.swap(node, site.code(node.func), 0.5)
