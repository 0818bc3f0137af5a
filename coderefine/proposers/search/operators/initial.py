"""Insert the initial value of an attribute."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from coderefine.proposers.search import emit
from coderefine.proposers.search.operators.inserted import is_empty
from coderefine.proposers.search.site import Site
from coderefine.proposers.search.syntax import Edit
from coderefine.proposers.search.value_kinds import EMPTY_VALUES, dotted

LACKED = 4.0
"""Bonus of the initial value of an attribute that an object lacks."""


def initialised(site: Site) -> Iterator[Edit]:
    """Initialise an attribute that `self` lacks in a failing test, after assignments to other attributes of `self`."""
    owner, me = site.local.owner, site.local.receiver
    if not site.hints.absent or owner is None or me != "self" or not _ends_series(site):
        return
    for name in sorted(site.hints.absent.keys() & _own_attributes(owner)):
        for value, weight in _initial_values(site, name, owner).items():
            text = f"{me}.{name} = {value}"
            yield from emit.insertion(site.module, site.stmt, text, after=True, weight=weight, boost=LACKED)


def _own_attributes(owner: ast.ClassDef) -> set[str]:
    found = (node for node in ast.walk(owner) if isinstance(node, ast.Attribute) and dotted(node.value) == "self")
    return {node.attr for node in found}


def _ends_series(site: Site) -> bool:
    """Return whether the statement assigns an attribute of `self`, and the next statement does not."""
    at = site.siblings.index(site.stmt)
    return [_sets_attribute(stmt) for stmt in site.siblings[at : at + 2]] in ([True], [True, False])


def _sets_attribute(stmt: ast.stmt) -> bool:
    if not isinstance(stmt, ast.Assign | ast.AnnAssign):
        return False
    targets = stmt.targets if isinstance(stmt, ast.Assign) else [stmt.target]
    return any(isinstance(one, ast.Attribute) and dotted(one.value) == "self" for one in targets)


def _initial_values(site: Site, name: str, owner: ast.ClassDef) -> dict[str, float]:
    """Return initial values of the attribute `name`, with weights.

    A constant or empty value that the statement at the site stores has a higher weight. What the class stores in the
    attribute determines the values with the highest weight: the empty value of each kind, or the stored value if its
    kind has none.
    """
    found = dict.fromkeys(("None", "False", "0", "[]", "{}", '""'), 1.0)
    value = getattr(site.stmt, "value", None)
    if value is not None and (isinstance(value, ast.Constant) or is_empty(value)):
        found[site.code(value)] = 2.0
    for node in ast.walk(owner):
        if isinstance(node, ast.Assign) and any(getattr(target, "attr", "") == name for target in node.targets):
            kind = site.kinds.of(node.value)
            found[EMPTY_VALUES.get(kind, site.code(node.value))] = 3.0
    return found
