"""Insert missing statements: copied from elsewhere in the file, or small generated updates."""

from __future__ import annotations

import ast
import itertools
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from coderefine.proposers.search import emit
from coderefine.proposers.search.index import Piece
from coderefine.proposers.search.operators import produced
from coderefine.proposers.search.operators.names import likeness
from coderefine.proposers.search.site import Site
from coderefine.proposers.search.syntax import DEFINITIONS, JUMPS, LOOPS, Edit
from coderefine.proposers.search.value_kinds import dotted, fits

ENOUGH = 400
"""Maximum number of statements copied from elsewhere."""
EMPTY = {"list": "[]", "str": "''", "": "None"}
LEAVING = ("return", "raise", "break", "continue")
"""First keywords of jump statements."""
UPDATED = re.compile(r"([\w.]+?)(?: [-+]?= |\[|\.(?:append|extend|add)\()")
"""Pattern of a statement that updates a variable or attribute; the group is its name."""
IDLE = 2.0
"""Bonus of a statement that updates a name which is read, but otherwise keeps its empty initial value."""
HOLE = 1.5
"""Bonus of a statement that replaces `pass`, because `pass` may stand for an omitted statement."""


def from_here(site: Site) -> Iterator[Edit]:
    """Insert a statement from elsewhere in the file: unchanged, under a condition, or with one name replaced."""
    for text, weight in _ingredients(site).items():
        yield from _around(site, text, weight)


def invented(site: Site) -> Iterator[Edit]:
    """Insert a small statement: the update of a counter, a collection or an attribute, a jump, or a method call.

    At `pass`, also insert assignments of constants: `name = 0`.
    """
    unchanged = idle(site)
    for text, weight in _updates(site):
        updated = UPDATED.match(text)
        boost = IDLE if updated and updated[1] in unchanged else 0.0
        yield from (replace(edit, boost=edit.boost + boost) for edit in _around(site, text, weight))


def flushed(site: Site) -> Iterator[Edit]:
    """Store the last group after a loop that stores each group when the next one begins: `groups.append(group)`."""
    loop = site.stmt
    if not isinstance(loop, LOOPS):
        return
    begun = {dotted(target) for node in ast.walk(loop) if isinstance(node, ast.Assign) for target in node.targets}
    for node in ast.walk(loop):
        match node.value if isinstance(node, ast.Expr) else None:
            case (
                ast.Call(func=ast.Attribute(attr="append" | "add"), args=[ast.Name(id=name)])
                | ast.Yield(value=ast.Name(id=name))
            ) if name in begun:
                for text in (f"if {name}:\n{site.module.step}{site.code(node)}", site.code(node)):
                    yield from emit.insertion(site.module, loop, text, after=True)


def defined(site: Site) -> Iterator[Edit]:
    """Insert the initialisation of a name that is undefined in a failing test."""
    if site.hints.undefined and not isinstance(site.stmt, DEFINITIONS):
        for at, text in enumerate(produced.defined(site)):
            yield from _around(site, text, 1.0 / (1 + 0.1 * at))


def _around(site: Site, text: str, weight: float) -> Iterator[Edit]:
    if _there_already(site, text) or _out_of_place(site, text):
        return
    if isinstance(site.stmt, ast.Pass) and site.module.alone(site.stmt):
        yield replace(emit.statement(site.module, site.stmt, text, weight), boost=HOLE)
        return
    if not text.startswith(LEAVING):
        yield from emit.insertion(site.module, site.stmt, text, weight=weight)
    last = site.siblings[-1] is site.stmt
    if not isinstance(site.stmt, JUMPS) and (last or not text.startswith(LEAVING)):
        yield from emit.insertion(site.module, site.stmt, text, after=True, weight=weight * (1.0 if last else 0.5))


def _there_already(site: Site, text: str) -> bool:
    index = site.siblings.index(site.stmt) if site.stmt in site.siblings else 0
    return any(site.code(near) == text for near in site.siblings[max(index - 1, 0) : index + 2])


def _out_of_place(site: Site, text: str) -> bool:
    """Return whether `text` cannot be inserted here: `break` or `continue` outside a loop, or code next to a `def`."""
    if site.loop is None and text in ("break", "continue"):
        return True
    return isinstance(site.stmt, DEFINITIONS) and site.local.function is site.stmt


def _ingredients(site: Site) -> dict[str, float]:
    found: dict[str, float] = {}
    for weight, piece in nearest(site, site.module.index.statements):
        if piece.node is site.stmt or _fruitless(piece.node):
            continue
        for text, share in _variants(site, piece):
            found.setdefault(text, weight * share)
        if len(found) > ENOUGH:
            break
    return found


def _fruitless(node: ast.AST) -> bool:
    return isinstance(node, ast.Raise) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def _variants(site: Site, piece: Piece) -> Iterator[tuple[str, float]]:
    """Yield a piece unchanged, under a condition, or with one name replaced; each with a factor for its weight."""
    missing = piece.names - site.known
    if not missing:
        yield piece.text, 1.0
        for name in sorted(piece.names & set(site.names)) if "\n" not in piece.text else ():
            yield f"if {name}:\n{site.module.step}{piece.text}", 0.3
    yield from ((variant, 0.4) for variant in _adapted(site, piece.text, piece.names, missing))


def nearest(site: Site, pieces: list[Piece]) -> list[tuple[float, Piece]]:
    """Return `pieces` with weights, nearest first: of this function, of this class, then of the rest of the file."""
    local = site.local
    weighed = [
        (2.0 if piece.function is local.function else 1.0 if local.owner and piece.owner is local.owner else 0.5, piece)
        for piece in pieces
    ]
    return sorted(weighed, key=lambda item: -item[0])


def _adapted(site: Site, text: str, free: frozenset[str], missing: frozenset[str]) -> Iterator[str]:
    """Yield `text` with one of its names replaced by a name in scope.

    `free`: the names in `text`. `missing`: those of them that are not in scope. If one name is missing, it is replaced;
    if several are missing, yield nothing.
    """
    if len(missing) > 1:
        return
    for old in missing or free & set(site.names):
        for new in site.names[:8]:
            if new != old and fits(site.kinds.name(old), site.kinds.name(new)):
                yield re.sub(rf"(?<![\w.]){re.escape(old)}\b", new, text)


def _updates(site: Site) -> Iterator[tuple[str, float]]:
    names, me = site.names[:10], site.local.receiver
    for path in site.paths:
        yield from _of_path(site, path, names)
    yield from _of_object(site, me, names)
    if isinstance(site.stmt, ast.Pass):
        yield from ((f"{name} = {value}", 0.7) for name in names for value in ("0", "[]", '""', "None", "{}", "1"))
    yield from (("continue", 1.0), ("break", 1.0))
    yield from ((f"return {path}", 1.0) for path in site.paths[:12])
    yield from (
        ("return", 0.5),
        ("return True", 0.7),
        ("return False", 0.7),
        ("return None", 0.3),
        ("return self", 0.7 if me else 0.0),
    )


def idle(site: Site) -> set[str]:
    """Return the function's names, and its class's attributes, that begin with an empty value and never change."""
    function, owner = site.local.function, site.local.owner
    found = _unchanged(function, "") if function else set()
    return found | (_unchanged(owner, f"{site.local.receiver}.") if owner and site.local.receiver else set())


def _unchanged(tree: ast.AST, prefix: str) -> set[str]:
    """Return the names with the prefix `prefix` that `tree` reads, and assigns only once, to an empty value.

    Names that are changed in another way are left out: by `+=`, an assignment to an item, a call of a method with
    arguments, a loop, `with` or unpacking. `prefix`: "" for all names, `self.` for attributes.
    """
    nodes = list(ast.walk(tree))
    bound = [(dotted(target), node.value) for node in nodes if isinstance(node, ast.Assign) for target in node.targets]
    times = Counter(name for name, _ in bound)
    read = {dotted(node) for node in nodes if isinstance(getattr(node, "ctx", None), ast.Load)}
    touched = set(itertools.chain.from_iterable(map(_touched, nodes)))
    empty = {name for name, value in bound if times[name] == 1 and is_empty(value)}
    return set(filter(re.compile(re.escape(prefix)).match, (empty & read) - touched))


def _touched(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node updates, or binds in another way than by an assignment."""
    match node:
        case ast.Assign(targets=targets):
            yield from (dotted(target.value) for target in targets if isinstance(target, ast.Subscript))
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target) | ast.For(target=target):
            yield from map(dotted, ast.walk(target))
        case ast.Call(func=ast.Attribute(value=base), args=[_, *_]):
            yield dotted(base)
        case ast.Tuple(ctx=ast.Store()) | ast.comprehension() | ast.withitem() | ast.NamedExpr():
            yield from map(dotted, ast.walk(node))


def is_empty(value: ast.expr) -> bool:
    match value:
        case ast.Constant(value=None | 0 | "" | False):
            return True
        case ast.List(elts=[]) | ast.Dict(keys=[]) | ast.Call(func=ast.Name(id="set" | "list" | "dict"), args=[]):
            return True
    return False


def _of_path(site: Site, path: str, names: list[str]) -> Iterator[tuple[str, float]]:
    """Yield updates of a variable or attribute: increment, extend, clear, assign."""
    kind = site.kinds.name(path)
    if kind in ("int", "float"):
        yield from ((f"{path} += 1", 1.5), (f"{path} -= 1", 1.0), (f"{path} = 0", 0.5))
    yield from _grown(site, path, kind, names)
    if kind in EMPTY and path in site.local.bound:
        yield f"{path} = {EMPTY[kind]}", 0.5
    for other in names[:6]:
        if other != path and fits(kind, site.kinds.name(other)) and "." not in other:
            yield f"{path} = {other}", 0.3 + likeness(path, other)


def _of_object(site: Site, me: str, names: list[str]) -> Iterator[tuple[str, float]]:
    """Yield statements about the object `me`, with weights; nothing if `me` is "".

    Some assign a parameter to the attribute of the same name. Some call a method of the class whose name does not begin
    with `__`, without argument or with one of the first four `names`. If the class has bases, some call the current
    method of `super()`, with its parameters or without.
    """
    if me:
        for name in site.local.parameters[1:]:
            yield f"{me}.{name} = {name}", 2.0 if name not in site.local.fields else 0.8
        for name in site.local.methods:
            if not name.startswith("__"):
                yield f"{me}.{name}()", 0.7
                yield from ((f"{me}.{name}({argument})", 0.5) for argument in names[:4])
        if site.local.function is not None and site.local.owner is not None and site.local.owner.bases:
            arguments = ", ".join(site.local.parameters[1:])
            yield f"super().{site.local.function.name}({arguments})", 1.0
            yield f"super().{site.local.function.name}()", 1.0


def _grown(site: Site, path: str, kind: str, names: list[str]) -> Iterator[tuple[str, float]]:
    others = [other for other in names if other != path]
    if kind == "list":
        lists = [other for other in others if site.kinds.name(other) in ("list", "")]
        yield from _list_grown(path, others, lists)
    elif kind == "set":
        yield from _set_grown(path, others)
    elif kind == "dict":
        yield from _dict_grown(path, others, names[:5])


def _dict_grown(path: str, others: list[str], names: list[str]) -> Iterator[tuple[str, float]]:
    keys = [name for name in names if name != path]
    yield from ((f"{path}[{key}] = {value}", 0.5) for key, value in itertools.permutations(keys, 2))
    yield from ((f"{path}.pop({key}, None)", 0.3) for key in others)
    yield from ((f"del {path}[{key}]", 0.3) for key in others)


def _list_grown(path: str, others: list[str], lists: list[str]) -> Iterator[tuple[str, float]]:
    yield from ((f"{path}.append({other})", 1.2) for other in others)
    yield from ((f"{path}.{call}()", 0.5) for call in ("sort", "reverse", "pop", "clear"))
    yield from ((f"{path}.extend({other})", 0.5) for other in lists)


def _set_grown(path: str, others: list[str]) -> Iterator[tuple[str, float]]:
    yield from ((f"{path}.add({other})", 1.5) for other in others)
    yield from ((f"{path}.{call}({other})", 0.4) for call in ("discard", "remove") for other in others)
