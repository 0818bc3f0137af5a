"""Replace None by a call that may be missing, and initialise undefined names."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from coderefine.proposers.search.operators.names import likeness
from coderefine.proposers.search.operators.wrapping import own_functions, own_methods
from coderefine.proposers.search.site import Site
from coderefine.proposers.search.syntax import Edit
from coderefine.proposers.search.value_kinds import METHODS, RESULTS, dotted, is_none, names_of

HOLES = (ast.Call, ast.Assign, ast.AnnAssign, ast.Return, ast.keyword, ast.Tuple, ast.List, ast.BinOp, ast.IfExp)
"""Parents of a None that may stand for a missing call."""
ANY_NONE, THIS_NONE = 1.5, 4.0
"""Bonus for replacing a None that is assigned or returned: ANY_NONE if tests fail because some value is None, THIS_NONE
if they fail because this value is None."""
MOST_PATHS, MOST_NESTED, MOST_TEXTS = 10, 14, 12
OF_TEXT = (
    ("{}.strip()", "strip", 0.5),
    ("{}.split()", "split", 0.6),
    ("{}.lower()", "lower", 0.5),
    ("{}.upper()", "upper", 0.3),
    ("{}.splitlines()", "splitlines", 0.3),
    ("len({})", "len", 0.4),
    ("list({})", "list", 0.3),
    ("int({})", "int", 0.3),
)
OF_ANY = (
    ("len({})", "len", 0.4),
    ("list({})", "list", 0.4),
    ("str({})", "str", 0.3),
    ("iter({})", "iter", 0.2),
    ("sorted({})", "sorted", 0.3),
)
"""OF_TEXT, OF_ANY: calls on a str, and on any value: text ({} is the value), name of the function or method, weight."""
ASKING = ("search", "match", "get", "split", "index")
"""Lookup methods, see `_lookup_methods`."""
CUTTING = ("split", "rsplit", "partition")
"""Methods of str with a short str as argument."""


def produced(site: Site) -> Iterator[Edit]:
    """Replace None by the result of a call on a name in scope: `f(x)`, `f(g(x))`, `x.split(",")`."""
    for node in site.exprs:
        parent = site.module.parents.get(node)
        if is_none(node) and isinstance(parent, HOLES):
            boost = _none_bonus(site, parent)
            for text, weight in products(site, _wanted_by(site, parent)).items():
                yield from site.swap(node, text, weight, boost)


def _none_bonus(site: Site, parent: ast.AST | None) -> float:
    """Return the bonus for replacing a None in `parent`, see ANY_NONE; 0 if no test failed because of a None."""
    if not site.hints.none or not isinstance(parent, ast.Assign | ast.Return):
        return 0.0
    known = site.module.index.attributes.get(_wanted_by(site, parent), {})
    asked = {name for names in known.values() for name in names}
    return THIS_NONE if asked & set(site.hints.lacking) else ANY_NONE


def _wanted_by(site: Site, parent: ast.AST | None) -> str:
    """Return the name of the value in `parent`: the assignment target, the keyword, or the function that returns it.

    Return "" if the value has no name.
    """
    if isinstance(parent, ast.Assign):
        return dotted(parent.targets[0])
    if isinstance(parent, ast.keyword):
        return parent.arg or ""
    return site.local.function.name if isinstance(parent, ast.Return) and site.local.function else ""


def products(site: Site, wanted: str) -> dict[str, float]:
    """Return calls on the names in scope, with weights: higher if the call resembles `wanted` in name or kind."""
    found: dict[str, float] = {}
    last, kind = wanted.rsplit(".", 1)[-1], site.kinds.name(wanted)
    for text, weight, name in (*_of_functions(site), *_of_methods(site), *_of_patterns(site)):
        found.setdefault(text, weight * (1.0 + 2.0 * likeness(name, last)) * _suits(name, kind))
    return found


def _suits(name: str, kind: str) -> float:
    """Return a weight factor for a well-known call: higher if its result is of the expected `kind`."""
    result = METHODS.get(name) or RESULTS.get(name, "")
    return 1.0 if not result or not kind else 3.0 if result == kind else 0.3


def _given(site: Site) -> list[tuple[str, float]]:
    """Return the names that can be passed as an argument here, with weights: parameters first.

    Names bound by this statement are excluded.
    """
    paths = [path for path in site.readable if "__" not in path]
    parameters = [path for path in paths if path in site.local.parameters]
    ordered = list(dict.fromkeys([*parameters, *paths]))[:MOST_PATHS]
    return [(path, 1.0 / (1 + 0.25 * at)) for at, path in enumerate(ordered)]


def _functions(site: Site) -> list[str]:
    return [name for name in own_functions(site) if name not in site.module.index.errors]


def _of_functions(site: Site) -> Iterator[tuple[str, float, str]]:
    functions, me = _functions(site), site.local.receiver
    for path, near in _given(site):
        yield from ((f"{name}({path})", near, name) for name in functions if name != path)
        pairs = itertools.permutations(functions[:MOST_NESTED], 2)
        yield from ((f"{outer}({inner}({path}))", 0.12 * near, outer) for outer, inner in pairs)
        yield from (
            (f"{name}({path})", 1.5 * near, name) for name in site.local.callables if name not in ("self", path)
        )
        if me and not path.startswith(f"{me}."):
            yield from ((f"{me}.{name}({path})", 0.5 * near, name) for name in own_methods(site))


def _of_methods(site: Site) -> Iterator[tuple[str, float, str]]:
    """Yield calls on names in scope: of their methods, and of common functions such as `len`.

    Each is (text, weight, name of the method or function). A method gets the arguments of one of its calls in this
    file, or a short string of the file, or no argument (see OF_TEXT).
    """
    tails, cuts = _tails(site), _cuts(site)
    for path, near in _given(site):
        kind = site.kinds.name(path)
        shapes = OF_TEXT if kind == "str" else OF_ANY
        yield from ((f"{path}{tail}", 0.5 * near, name) for tail, name in tails)
        yield from ((shape.format(path), weight * near, name) for shape, name, weight in shapes)
        yield from ((f"{path}{tail}", 0.25 * near, name) for tail, name in cuts if kind in ("str", ""))


def _cuts(site: Site) -> list[tuple[str, str]]:
    """Return calls that split a str at a short string of this file as (text, name of the method): `.split(",")`."""
    texts = [text for text in site.module.index.texts if 0 < len(text) <= 2 and not text.isalnum()][:MOST_TEXTS]
    return [(f".{name}({text!r})", name) for name in CUTTING for text in texts]


def _tails(site: Site) -> list[tuple[str, str]]:
    """Return the method calls of this file as (text after the receiver, name of the method)."""
    found: dict[str, str] = {}
    for piece in site.module.index.expressions:
        node = piece.node
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _readable(site, node):
            base = site.code(node.func.value)
            found.setdefault(site.code(node)[len(base) :], node.func.attr)
    return list(found.items())[:40]


def _readable(site: Site, node: ast.Call) -> bool:
    """Return whether all names in the arguments are in scope."""
    given = (*node.args, *(keyword.value for keyword in node.keywords))
    return site.known.issuperset(name for item in given for name in names_of(item))


def _of_patterns(site: Site) -> Iterator[tuple[str, float, str]]:
    """Yield method calls on attributes of `self` with a name in scope as argument: `self.pattern.search(text)`.

    Each is (text, weight, name of the attribute).
    """
    me = site.local.receiver
    fields = [name for name in site.local.fields if site.kinds.name(f"{me}.{name}") in ("", "dict")] if me else []
    for field, name in itertools.product(fields, _lookup_methods(site)):
        yield from ((f"{me}.{field}.{name}({path})", 0.3 * near, field) for path, near in _given(site)[:3])


def _lookup_methods(site: Site) -> list[str]:
    """Return the lookup methods that this file calls (on patterns, dicts, lists); the common ones if it calls none."""
    called = {name for known in site.module.index.attributes.values() for name in known["called"]}
    return [name for name in ASKING if name in called] or list(ASKING[:3])


def defined(site: Site) -> Iterator[str]:
    """Yield statements that initialise a name which is undefined in a failing test."""
    for name in site.hints.undefined:
        yield from (f"{name} = {value}" for value in ("0", "[]", '""', "None", "{}", "False", "1", "set()"))
        yield from (f"{name} = {path}" for path, _ in _given(site) if path != name)
        best = sorted(products(site, name).items(), key=lambda item: -item[1])[:150]
        yield from (f"{name} = {text}" for text, _ in best if name not in text.split("(")[-1])
