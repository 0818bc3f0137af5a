"""Edits that the failure itself suggests.

The failure may show two compared values, a division by zero, an object of another type, a name that was not found, or
another object in place of a class.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from coderefine.proposers.search import emit
from coderefine.proposers.search.site import Site
from coderefine.proposers.search.syntax import DEFINITIONS, Edit, Replacement

DIVISIONS = (ast.Div, ast.FloorDiv, ast.Mod)
COMPARISONS = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")
PART = -2.0
"""Boost of an operation that is applied to a part of the returned value, or to a value that is not returned."""
LONGEST = 100
"""Maximum length of a conditional expression; if it would be longer, only a statement before the division is tried."""
NEAREST = 3.0
"""Log odds of the first suggestion; high, because the error message itself names the misspelt identifier."""


def difference(site: Site) -> Iterator[Edit]:
    """Apply to a value the operation that turns the actual value of a failure into the expected one."""
    whole = site.stmt.value if isinstance(site.stmt, ast.Return) else None
    for shape, share in site.hints.operations.items():
        for node in site.values:
            if isinstance(node, ast.Constant | ast.Compare | ast.BoolOp | ast.Lambda):
                continue
            inner = site.code(node) if "({})" in shape or "({}," in shape else site.tight(node)
            yield from site.swap(node, shape.format(inner), share, 0.0 if node is whole else PART)


def zero_divisor(site: Site) -> Iterator[Edit]:
    """Use 0 or None in place of a division by zero, or return 0 or None before the division."""
    if "ZeroDivisionError" not in site.raised or site.local.function is None:
        return
    for node in site.exprs:
        if isinstance(node, ast.BinOp) and isinstance(node.op, DIVISIONS):
            condition = _nonzero(site, node.right)
            for value, weight in (("0.0" if isinstance(node.op, ast.Div) else "0", 3.0), ("0", 1.0), ("None", 0.5)):
                text = f"{site.code(node)} if {condition} else {value}"
                yield from site.swap(node, text, weight) if len(text) < LONGEST else ()
                code = f"if not {condition}:\n{site.module.step}return {value}"
                yield from emit.insertion(site.module, site.stmt, code, weight=weight / 2)


def _nonzero(site: Site, divisor: ast.expr) -> str:
    """Return the condition that a divisor is not 0: for `len(x)` it is `x`."""
    if isinstance(divisor, ast.Call) and isinstance(divisor.func, ast.Name) and divisor.func.id == "len":
        return site.tight(divisor.args[0]) if divisor.args else site.code(divisor)
    return site.tight(divisor)


def other_type(site: Site) -> Iterator[Edit]:
    """Let a comparison with an object of another type return NotImplemented, or False."""
    function = site.local.function
    if function is None or function.name not in COMPARISONS or not site.first or "AttributeError" not in site.raised:
        return
    owner = site.module.owner(function)
    if owner is None:
        return
    for name in site.local.parameters[1:2]:
        for value, weight in (("NotImplemented", 2.0), ("False", 1.0)):
            code = f"if not isinstance({name}, {owner.name}):\n{site.module.step}return {value}"
            yield from emit.insertion(site.module, site.stmt, code, weight=weight)


def nearest(site: Site) -> Iterator[Edit]:
    """Replace a name that was not found by a similar existing name, here only or at all places with the same mistake.

    Swap the arguments of `isinstance` or `issubclass` if the call raised because the second argument is no class.
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
    match node:
        case (
            ast.Attribute(attr=str(name))
            | ast.Name(id=name)
            | ast.keyword(arg=str(name))
            | ast.alias(name=name)
            | ast.Constant(value=str(name))
        ):
            return name
    return ""


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
        if isinstance(node, DEFINITIONS) and node.name == name:
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
    """Yield the replacement of the name within `node`.

    Yield nothing if the text at the node's position does not contain the name (in some f-strings before Python 3.12),
    or if a string contains the name several times.
    """
    start, end = site.module.start(node), site.module.end(node)
    text = site.module.text[start:end]
    at = text.rfind(wrong) if isinstance(node, ast.Attribute) else text.find(wrong)
    if at >= 0 and (text.count(wrong) == 1 or not isinstance(node, ast.Constant)):
        yield Replacement(start + at, start + at + len(wrong), name)
