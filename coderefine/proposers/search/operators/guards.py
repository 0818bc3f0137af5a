"""Insert guards, base cases and early exits."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from coderefine.proposers.search import emit
from coderefine.proposers.search.ingredients import EXCEPTIONS
from coderefine.proposers.search.operators.atoms import atoms
from coderefine.proposers.search.site import Site
from coderefine.proposers.search.syntax import Edit
from coderefine.proposers.search.value_kinds import EMPTY_VALUES, names_of

MOST_VALUES, MOST_ERRORS, ELSEWHERE = 6, 3, 60
"""Maximum numbers: of returned values and of exceptions that are tried with each condition, and of conditions that are
tried elsewhere than at the start of a function."""
PLAIN = (
    ("None", 1.0),
    ("[]", 0.7),
    ("False", 0.8),
    ("0", 0.7),
    ("True", 0.6),
    ('""', 0.4),
    ("{}", 0.3),
    ("-1", 0.2),
    ("1", 0.3),
    ("set()", 0.1),
    ("0.0", 0.1),
)
"""Values that functions often return, with weights."""


def early_return(site: Site) -> Iterator[Edit]:
    """Insert a base case: `if condition: return value` before a statement."""
    if site.local.function is None:
        return
    values = sorted(_values(site).items(), key=lambda item: -item[1])[:MOST_VALUES]
    for atom, weight in _some(site):
        for value, share in values:
            code = f"if {atom}:\n{site.module.step}return {value}".rstrip()
            yield from emit.insertion(site.module, site.stmt, code, weight=weight * share * _place(site))


def _some(site: Site) -> list[tuple[str, float]]:
    """Return conditions for a guard: all conditions at the start of a function, elsewhere only the likeliest."""
    found = sorted(atoms(site).items(), key=lambda item: -item[1])
    return found if site.first else found[:ELSEWHERE]


def _place(site: Site) -> float:
    return 2.0 if site.first else (0.6 if isinstance(site.stmt, ast.Return | ast.For | ast.While) else 0.25)


def _values(site: Site) -> dict[str, float]:
    """Return values for a `return`, with weights.

    These are the values that the function returns elsewhere, empty values of the same types, the values in PLAIN, and
    the parameters. A generator gets only a bare `return`.
    """
    if site.local.yields:
        return {"": 1.0}
    nodes = ast.walk(site.local.function) if site.local.function else ()
    found = _returned(site, [node.value for node in nodes if isinstance(node, ast.Return) and node.value is not None])
    for value, share in PLAIN:
        found.setdefault(value, share * 0.5)
    for name in site.local.parameters:
        if name not in ("self", "cls"):
            found.setdefault(name, 0.4)
    return found


def _returned(site: Site, values: list[ast.expr]) -> dict[str, float]:
    """Return the text and weight of those `values` whose names are in scope, and of empty values of the same types."""
    readable = set(site.names) | set(site.local.globals) | {"self", "cls", "len", "list", "set", "str"}
    found: dict[str, float] = {}
    kinds: set[str] = set()
    for value in values:
        kinds.add(site.kinds.of(value))
        if readable.issuperset(names_of(value)) and len(site.code(value)) < 60:
            found[site.code(value)] = 0.8
    return found | {EMPTY_VALUES[kind]: 1.5 for kind in kinds if kind in EMPTY_VALUES}


def early_raise(site: Site) -> Iterator[Edit]:
    """Insert a check: `if condition: raise Error` before a statement, with a common exception or one of this file."""
    if site.local.function is None:
        return
    errors = sorted(_errors(site).items(), key=lambda item: -item[1])[:MOST_ERRORS]
    for atom, weight in _some(site):
        for error, share in errors:
            code = f"if {atom}:\n{site.module.step}raise {error}"
            yield from emit.insertion(site.module, site.stmt, code, weight=weight * share * _place(site))


def _errors(site: Site) -> dict[str, float]:
    """Return exceptions of this file and common ones, with weights: the highest for those in `Site.raised`."""
    found: dict[str, float] = {}
    for name in sorted(site.module.index.errors):
        found[f'{name}("invalid value")' if name in EXCEPTIONS else name] = 1.0
    for name in site.raised:
        if name in EXCEPTIONS or name in site.local.globals:
            found[f'{name}("invalid value")'] = 2.0
    for name, share in (("ValueError", 0.7), ("TypeError", 0.3), ("KeyError", 0.2), ("IndexError", 0.2)):
        found.setdefault(f'{name}("invalid value")', share)
    return found


def early_jump(site: Site) -> Iterator[Edit]:
    """Insert `continue` or `break` under an atomic condition inside a loop."""
    if site.loop is None:
        return
    first = site.siblings and site.siblings[0] is site.stmt
    for atom, weight in atoms(site).items():
        for word in ("continue", "break"):
            code = f"if {atom}:\n{site.module.step}{word}"
            yield from emit.insertion(site.module, site.stmt, code, weight=weight * (1.0 if first else 0.5))


def default_value(site: Site) -> Iterator[Edit]:
    """Insert a default at the start of a function: `if x is None: x = []`."""
    if not site.first or site.local.function is None:
        return
    for name in site.local.parameters:
        if name in ("self", "cls"):
            continue
        for value in ("[]", "{}", "0", '""', "set()", "1"):
            code = f"if {name} is None:\n{site.module.step}{name} = {value}"
            yield from emit.insertion(site.module, site.stmt, code)
