"""Edits that the failure itself suggests: by its two values, a division by zero, or an object of another type."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from coderefine.proposers.search import emit
from coderefine.proposers.search.operators.conditions import unit
from coderefine.proposers.search.site import Site
from coderefine.proposers.search.syntax import Edit

DIVISIONS = (ast.Div, ast.FloorDiv, ast.Mod)
COMPARISONS = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")
PART = -2.0
"""Boost of an operation that is applied to a part of what is returned, or elsewhere in the function."""
LONGEST = 100
"""Maximum length of a line that becomes a conditional expression; a longer one gets a statement before it."""


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
    """Return 0, or what the failure expects, in place of a division by zero."""
    if "ZeroDivisionError" not in site.raised or site.local.function is None:
        return
    for node in site.exprs:
        if isinstance(node, ast.BinOp) and isinstance(node.op, DIVISIONS):
            condition = _nonzero(site, node.right)
            for value, weight in (("0.0" if isinstance(node.op, ast.Div) else "0", 3.0), ("0", 1.0), ("None", 0.5)):
                text = f"{site.code(node)} if {condition} else {value}"
                yield from site.swap(node, text, weight) if len(text) < LONGEST else ()
                code = f"if not {condition}:\n{unit(site)}return {value}"
                yield from filter(None, [emit.insertion(site.module, site.stmt, code, weight=weight / 2)])


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
            code = f"if not isinstance({name}, {owner.name}):\n{unit(site)}return {value}"
            if edit := emit.insertion(site.module, site.stmt, code, weight=weight):
                yield edit
