"""Replace variables, attributes, methods and functions by others that are in scope and of a suitable kind."""

from __future__ import annotations

import ast
import bisect
import builtins
import datetime
import importlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from pathlib import Path, PurePath

from coderefine.proposers.search import emit
from coderefine.proposers.search.ingredients import BUILTINS, parameter_names
from coderefine.proposers.search.operators import tested_names
from coderefine.proposers.search.site import Site
from coderefine.proposers.search.syntax import Edit, Function
from coderefine.proposers.search.value_kinds import METHODS, RECEIVERS, dotted, fits, names_of
from coderefine.source import Comprehension, last_name

CONFUSED = tuple(tuple(group.split()) for group in (
    "min max", "any all", "sorted reversed list set tuple", "int float round", "str repr", "startswith endswith",
    "lower upper casefold capitalize title swapcase", "strip lstrip rstrip",
    "split rsplit splitlines partition rpartition", "find rfind index rindex count", "keys values items",
    "append extend insert add appendleft", "pop popleft remove discard popitem", "add discard remove update",
    "union intersection difference symmetric_difference", "floor ceil trunc",
    "isdigit isalpha isalnum isnumeric isdecimal isspace", "ljust rjust center zfill", "get pop setdefault",
    "update append extend", "match search fullmatch findall finditer", "removeprefix removesuffix", "encode decode",
    "load loads", "dump dumps", "read readline readlines", "write writelines", "isupper islower istitle",
    "copy deepcopy", "issubset issuperset isdisjoint", "weekday isoweekday", "heappush heappop heapify heappushpop",
    "sin cos tan", "degrees radians", "nlargest nsmallest", "days seconds total_seconds", "day month year",
    "hour minute second microsecond", "bisect_left bisect_right bisect", "map filter", "sum len max min",
    "enumerate zip range", "chr ord", "bin hex oct", "start end stop span", "group groups groupdict",
    "isinstance issubclass", "getattr hasattr setattr", "list dict set tuple", "dirname basename", "name stem suffix",
    "accumulate chain", "permutations combinations product", "mean median", "rotate reverse", "lower strip",
    "exists is_file is_dir", "put get", "acquire release", "enter exit", "left right", "first last", "date time",
    "now utcnow today",
))  # fmt: skip
"""Groups of names that are often confused with each other."""
LIBRARIES = frozenset(
    ("re", "math", "json", "itertools", "operator", "string", "textwrap", "random", "heapq", "bisect")
)
"""Small modules of the standard library, whose functions may be confused."""
COUNTERPARTS = {
    one: other
    for pair in (
        "min max", "any all", "startswith endswith", "lower upper", "lstrip rstrip", "ljust rjust", "split rsplit",
        "partition rpartition", "find rfind", "index rindex", "append appendleft", "pop popleft", "floor ceil",
        "union intersection", "issubset issuperset", "removeprefix removesuffix", "degrees radians",
        "nlargest nsmallest",
        "bisect_left bisect_right", "add discard", "left right", "first last", "encode decode", "append extend",
        "keys values", "weekday isoweekday", "seconds total_seconds",
    )
    for one, other in (pair.split(), pair.split()[::-1])
}  # fmt: skip
USUAL_METHODS = tuple(dict.fromkeys((*METHODS, *RECEIVERS, "get", "pop", "copy", "update")))
"""Methods of builtin types that are called often."""
BUILTIN_METHODS = frozenset(name for type_ in (list, dict, set, str) for name in vars(type_)) - {
    "center", "count", "format", "index", "items", "keys", "title", "values",
}  # fmt: skip
"""Methods of builtin types, without names that other objects often have for data."""
LIBRARY_TYPES = (datetime.datetime, datetime.date, datetime.timedelta, Decimal, PurePath, Path, re.Match, re.Pattern)
SIMILAR = 0.5
"""Least likeness of a name that may stand for another one, see `likeness`."""
OPPOSITE = 1.0
"""Boost of the counterpart of a name: the opposite (`min`, `max`), or the same from the other side (`find`,
`rfind`)."""
ABSENT = 2.0
"""Boost of attributes that replace an attribute which the object does not have, as the error message says."""
CONDITIONS = ast.If | ast.While | ast.IfExp | ast.BoolOp | ast.UnaryOp | ast.comprehension
"""Nodes in which a call is most likely a condition."""


WRONG_KIND = frozenset({"TypeError", "AttributeError", "NameError", "UnboundLocalError"})
"""Exceptions that a value of the wrong kind causes."""


@lru_cache(maxsize=20_000)
def likeness(one: str, other: str) -> float:
    """Return the similarity of two names, 0..1, by common words and by equal letters at the same positions."""
    if not one or not other:
        return 0.0
    parts, others = set(one.lower().split("_")), set(other.lower().split("_"))
    shared = len(parts & others) / max(len(parts | others), 1)
    same = sum(1 for a, b in zip(one, other, strict=False) if a == b) / max(len(one), len(other))
    return max(shared, 0.8 * same, 0.3 if abs(len(one) - len(other)) <= 1 and len(one) <= 2 else 0.0)


DISTANCES = (1, 2, 4, 8, 16, 40)
FADING = (1.55, 1.1, 1.0, 0.7, 0.5, 0.4, 0.2)
"""Factors of the weight of a name by the number of lines since it was last mentioned: at most 1, 2, 4 ..., over 40.

These factors, LOOPED, UNBOUND and READ_HERE are likelihood ratios in real code: how often the variable that is read has
the property, divided by how often the other variables in scope have it (tests/bench/repair/variables.py).
"""
LOOPED, UNBOUND, READ_HERE = 2.3, 0.35, 0.4
"""Factors of the variable of the innermost loop; of a variable that is bound only by this statement or after it; of a
variable that the statement also reads."""
INVARIANT = -3.0
"""Added to the score of a name with which a condition inside a loop no longer depends on the loop."""
DOTTED = 0.25
"""Factor of an attribute in place of a variable: there are many attributes."""
OF_VARIABLES, OF_CALLS = (-1.0, 0.3, 2.5), (0.0, 1.5, 2.5)
"""Log odds of a variable, and of a called function, if its name shares no word, some words, or all words with the name
that its value gets (of a parameter, a keyword, or the target of an assignment). In real code, 71 % of the variables in
such places share all words, and 3 % of the other variables in scope (tests/bench/repair/variables.py). Of called
methods, 5 % share all words (other methods of the object: 0.3 %), and 13 % some words (other methods: 2 %)."""
VERBS = frozenset(("get", "set", "is", "has", "to", "make", ""))
"""Words of names that do not tell what the value is."""


def variables(site: Site) -> Iterator[Edit]:
    """Replace a variable by another local variable or an attribute, and an attribute by a local variable."""
    for node in site.values:
        if site.module.is_called(node):
            continue
        if isinstance(node, ast.Name):
            bound = _bound_by_loop(site, node)
            wanted = _wanted(site, node)
            concerned, odds = tested_names.concerned(site, node)
            for path, weight in _instead(site, node, node.id):
                steady = bool(bound) and path.split(".", maxsplit=1)[0] not in bound
                accord = _accord(wanted, node.id, path, OF_VARIABLES)
                accord += odds[path in concerned] - odds[node.id in concerned]
                yield from site.swap(node, path, weight, INVARIANT * steady + accord)
        elif isinstance(node, ast.Attribute) and dotted(node):
            for path, weight in _instead(site, node, dotted(node)):
                if "." not in path:
                    yield from site.swap(node, path, weight * 0.4)


def _wanted(site: Site, node: ast.AST) -> str:
    """Return the name that the value of `node` gets: of a parameter, a keyword or a target; "" if it gets none.

    For the index of an item of `self`, return the name of the function. For the collection of a loop, return the plural
    of the loop's variable. For `*x` and `**x` in a call, return the parameter of the current function that has the same
    number of stars.
    """
    match parent := site.module.parents.get(node):
        case ast.keyword(arg=str(name)):
            return name
        case ast.keyword() | ast.Starred() if site.local.function:
            own = site.local.function.args
            return getattr(own.vararg if isinstance(parent, ast.Starred) else own.kwarg, "arg", "")
        case ast.Call():
            return _parameter(site, parent, node)
        case ast.Subscript(value=ast.Name(id="self"), slice=index) if index is node:
            return getattr(site.local.function, "name", "")
        case ast.For(target=ast.Name(id=name), iter=value) | ast.comprehension(target=ast.Name(id=name), iter=value):
            return f"{name}s" if value is node else ""
        case ast.Assign(targets=[target], value=value) | ast.AnnAssign(target=target, value=value):
            return last_name(target) if value is node else ""
    return ""


def _parameter(site: Site, call: ast.Call, argument: ast.AST) -> str:
    """Return the name of the parameter that gets the positional `argument`; "" if it is unknown.

    Also return "" if the current function calls itself with its own parameters, unchanged: one of them has to change.
    """
    for arguments in site.world.signatures.get(last_name(call.func), ())[:1]:
        pairs = list(zip(call.args, parameter_names(arguments), strict=False))
        function = site.local.function
        repeats = function is not None and last_name(call.func) == function.name and not call.keywords
        if repeats and all(dotted(one) == name for one, name in pairs):
            return ""
        return next((name for one, name in pairs if one is argument), "")
    return ""


def _accord(wanted: str, old: str, new: str, odds: Sequence[float]) -> float:
    """Return the log odds of the name `new` in place of `old` for a value that gets the name `wanted`.

    `odds`: log odds of a name that shares no word, some words, or all words with `wanted`, see OF_VARIABLES.
    """
    if not wanted:
        return 0.0
    words, before, after = ({*_last(name).lower().split("_")} - VERBS for name in (wanted, old, new))
    return odds[(words == after) + bool(words & after)] - odds[(words == before) + bool(words & before)]


def unlike_others(site: Site) -> Iterator[Edit]:
    """Give a call the argument that all other calls of the same function in the statement have at this position."""
    given: dict[tuple[str, int], list[ast.expr]] = {}
    for node in site.exprs:
        if isinstance(node, ast.Call):
            for place, argument in enumerate(node.args):
                given.setdefault((dotted(node.func), place), []).append(argument)
    for arguments in given.values():
        names = Counter(map(dotted, arguments))
        usual, times = names.most_common(1)[0]
        if usual and times > 1 == len(arguments) - times:
            (odd,) = (argument for argument in arguments if dotted(argument) != usual)
            yield from site.swap(odd, usual, 1.0)


def _instead(site: Site, node: ast.expr, name: str) -> Iterator[tuple[str, float]]:
    read = {inner.id for inner in site.nodes if isinstance(inner, ast.Name)}
    guarded = tested_names.guarded(site, node)
    for path, fit in _fitting(site, node, name):
        weight = fit * (1.0 + 2.0 * likeness(_last(name), _last(path)) + (1.0 if fit > 1.0 else 0.0))
        if path in guarded:
            weight = max(weight, 1.0) * tested_names.GUARDED
        elif path in read:
            weight *= READ_HERE
        yield path, weight * (DOTTED if "." in path else _nearness(site, path))


def _nearness(site: Site, name: str) -> float:
    """Return the factor of a local name by where it was bound and last mentioned before the statement."""
    if name in site.loop_names:
        return LOOPED
    before = [line for line in site.local.mentions.get(name, ()) if line < site.stmt.lineno]
    if not before:
        return 1.0 if name in site.local.parameters else UNBOUND
    return FADING[bisect.bisect_left(DISTANCES, site.stmt.lineno - before[-1])]


def _bound_by_loop(site: Site, node: ast.expr) -> frozenset[str]:
    """Return the names that a loop binds, if `node` is the only one of them that a condition of the loop reads.

    Conditions are the filters of a comprehension, and tests of `if` and `while` in the body of a `for`. Return no names
    in other cases.
    """
    test, loop = _condition(site, node)
    while not isinstance(loop, ast.For | Comprehension | Function | None):
        loop = site.module.parents.get(loop)
    if not isinstance(loop, ast.For | Comprehension):
        return frozenset()
    bound = frozenset(names_of(loop, ast.Store))
    read = [one for one in ast.walk(test) if isinstance(one, ast.Name) and one.id in bound]
    return bound if read == [node] else frozenset()


def _condition(site: Site, node: ast.expr) -> tuple[ast.expr, ast.AST | None]:
    """Return the outermost expression around `node`, and the `if`, `while` or comprehension whose condition it is.

    The second value is None if the expression is no condition.
    """
    test, parents = node, site.module.parents
    while isinstance(parent := parents.get(test), ast.expr) and not isinstance(parent, ast.Lambda | Comprehension):
        test = parent
    if isinstance(parent, ast.comprehension):
        return test, parents.get(parent) if test in parent.ifs else None
    return test, parent if isinstance(parent, ast.If | ast.While) else None


def _fitting(site: Site, node: ast.expr, name: str) -> Iterator[tuple[str, float]]:
    """Yield variables and attributes that may replace `name`, with weights: more than 1 for those of the same kind.

    Those of another kind get a low weight, but not 0, because the kind of `name` may be inferred wrongly. A value of
    any kind may be tested, but Boolean ones most often are.
    """
    kind, misfit = site.kinds.of(node), 0.5 if site.raised & WRONG_KIND else 0.15
    tested = tested_names.is_tested(site, node)
    prolonged = isinstance(site.module.parents.get(node), ast.Attribute)
    for path in site.paths:
        if path == name or (prolonged and path.startswith(name + ".")):
            continue
        other = site.kinds.name(path)
        fitting = tested_names.fit(other) if tested else 1.0 if fits(kind, other) else misfit
        yield path, max(fitting, 1.01 if kind and kind == other else 0.0)


def _last(path: str) -> str:
    return path.rsplit(".", 1)[-1]


def everywhere(site: Site) -> Iterator[Edit]:
    """Replace all uses of a variable in the statement by another variable or attribute."""
    uses: dict[str, list[ast.Name]] = {}
    for node in site.values:
        if isinstance(node, ast.Name):
            uses.setdefault(node.id, []).append(node)
    for name, nodes in uses.items():
        if len(nodes) > 1 and name not in BUILTINS:
            for path, weight in _instead(site, nodes[0], name):
                yield Edit(
                    tuple(part for node in nodes for edit in site.swap(node, path) for part in edit.parts), weight
                )


def attributes(site: Site) -> Iterator[Edit]:
    """Replace an attribute by another one that the object may have, or by one that it is often confused with."""
    for node in site.exprs:
        if isinstance(node, ast.Attribute):
            absent = ABSENT * (node.attr in site.hints.absent)
            called = site.module.is_called(node)
            odds, value = (OF_CALLS, site.module.parents[node]) if called else (OF_VARIABLES, node)
            wanted = _wanted(site, value)
            for other, weight in attribute_options(site, node, called=called).items():
                opposite = OPPOSITE * (COUNTERPARTS.get(node.attr) == other)
                boost = absent + opposite + _accord(wanted, node.attr, other, odds)
                yield from site.swap(node, f"{site.code(node.value)}.{other}", weight, boost)


def attribute_options(site: Site, node: ast.Attribute, *, called: bool) -> dict[str, float]:
    """Return attributes that may replace the attribute `node`, with weights. `called`: whether `node` is called."""
    options = _of_own_class(site, node, called=called)
    for group in CONFUSED:
        if node.attr in group:
            options |= dict.fromkeys(group, 4.0)
    methods = site.world.classes.methods if called else ()
    used = site.module.index.attributes.get(dotted(node.value), {}).get("called" if called else "read", set())
    rows = (
        (sorted(used), 1.0, 2.0),
        (_of_like_objects(site, node, called=called), 0.7, 1.4),
        (methods if node.attr in methods else (), 0.6, 1.0),
        (_of_library(site, node, called=called), 0.5, 1.0),
        (_of_builtin(site, node) if called else (), 0.4, 1.0),
        (_like(site, node.attr), 0.5, 0.0),
    )
    for names, least, factor in rows:
        for name in names:
            options.setdefault(name, least + factor * likeness(node.attr, name))
    options = dict(_of_object(site, node, called=called)) | options
    options.pop(node.attr, None)
    return options


def _of_object(site: Site, node: ast.Attribute, *, called: bool) -> Iterator[tuple[str, float]]:
    """Yield the attributes of the object that lacks the attribute `node` in a failing test, with weights.

    If `node` is called in a condition, methods that do not return a bool get a lower weight. If `node` is not called,
    methods of builtin types are left out.
    """
    test = called and isinstance(site.module.parents.get(site.module.parents[node]), CONDITIONS)
    for name in site.hints.absent.get(node.attr, ()):
        if not called and name in BUILTIN_METHODS:
            continue
        unfit = test and METHODS.get(name, "bool") != "bool"
        yield name, (0.7 + 1.4 * likeness(node.attr, name)) * (0.4 if unfit else 1.0)


def _of_own_class(site: Site, node: ast.Attribute, *, called: bool) -> dict[str, float]:
    if dotted(node.value) not in ("self", "cls"):
        return {}
    pool = site.local.methods if called else (*site.local.fields, *site.local.properties)
    if not called and node.attr in site.local.methods:  # it may be a callback
        pool = (*pool, *site.local.methods)
    return {name: 1.0 + 2.0 * likeness(node.attr, name) for name in pool if not name.startswith("__") or called}


def _of_like_objects(site: Site, node: ast.Attribute, *, called: bool) -> Iterator[str]:
    """Yield attributes used on variables of the same name in the project, then attributes of the likely classes.

    In seven packages, these cover 8 % and 10 % of the attributes of variables. Another 71 % are used on the same
    variable elsewhere in the same file.
    """
    base = dotted(node.value)
    if base and base not in ("self", "cls"):
        yield from sorted(site.world.uses[base][called])
        known = site.module.index.attributes[base]
        used = frozenset(known["called"] | known["read"]) - {node.attr}
        yield from site.world.classes.of_likely(used or frozenset({node.attr}), called=called)


def _of_library(site: Site, node: ast.Attribute, *, called: bool) -> list[str]:
    """Return the functions (if `called`), or the classes and other values, of the module that `node` is read from.

    Return [] if `node` is not read from a module in LIBRARIES.
    """
    base = node.value.id if isinstance(node.value, ast.Name) else ""
    if base not in LIBRARIES or base not in site.local.globals or base in site.local.bound:
        return []
    library = importlib.import_module(base)
    values = ((name, getattr(library, name)) for name in getattr(library, "__all__", dir(library)))
    return [name for name, value in values if name[0] != "_" and _is_plain(value) is called]


def _of_builtin(site: Site, node: ast.Attribute) -> list[str]:
    """Return the usual methods of the builtin type that the object has.

    If this type is unknown, or does not have the method `node`, add methods with similar names: those of the types in
    LIBRARY_TYPES that have it.
    """
    type_ = getattr(builtins, site.kinds.of(node.value) or "?", None)
    usual = [name for name in USUAL_METHODS if hasattr(type_, name)]
    return usual if usual and hasattr(type_, node.attr) else [*usual, *_of_library_types(node.attr)]


def _of_library_types(method: str) -> list[str]:
    names = {name for one in LIBRARY_TYPES if hasattr(one, method) for name in vars(one) if name[0] != "_"}
    return sorted(name for name in names if likeness(method, name) >= SIMILAR)


def _is_plain(value: object) -> bool:
    return callable(value) and not isinstance(value, type)


def _like(site: Site, name: str) -> list[str]:
    return sorted(other for other in site.module.index.all_attributes if likeness(name, other) >= SIMILAR)


def functions(site: Site) -> Iterator[Edit]:
    """Replace a called function by another function or import of this file, or by a name often confused with it.

    Also replace builtins that are used as values (`map(min, rows)`) by builtins often confused with them.
    """
    here = [node.name for node in site.module.tree.body if isinstance(node, Function)]
    for node in site.exprs:
        if not isinstance(node, ast.Name):
            continue
        if site.module.is_called(node):
            wanted = _wanted(site, site.module.parents[node])
            for other, weight in _other_functions(site, node.id, here).items():
                boost = OPPOSITE * (COUNTERPARTS.get(node.id) == other) + _accord(wanted, node.id, other, OF_CALLS)
                yield from site.swap(node, other, weight, boost)
        elif node.id in BUILTINS:
            for other in _confused_builtins(node.id):
                yield from site.swap(node, other, 0.7)


def _other_functions(site: Site, called: str, here: list[str]) -> dict[str, float]:
    """Return functions that may be called instead, with weights; `here`: the functions of the file."""
    reachable = site.local.globals
    options = {
        name: 4.0 for group in CONFUSED if called in group for name in group if name in BUILTINS or name in reachable
    }
    if called in here:
        options |= {name: 1.0 + 2.0 * likeness(called, name) for name in here}
    elif called in reachable:
        options |= {name: 0.5 + 2.0 * likeness(called, name) for name in reachable}
    return options | _builtins_within(site, called)


def _builtins_within(site: Site, called: str) -> dict[str, float]:
    """Return the builtins that an undefined name contains: it may be `xrange`, `_unichr` or `raw_input` of Python 2."""
    undefined = called if called in site.hints.undefined else ""
    return {name: 3.0 for name in BUILTINS if name.islower() and len(name) >= 3 and name in undefined}


def _confused_builtins(name: str) -> list[str]:
    others = dict.fromkeys(other for group in CONFUSED if name in group for other in group if other in BUILTINS)
    return [other for other in others if other != name]


def globals_(site: Site) -> Iterator[Edit]:
    """Replace a global name by another one, preferably with a similar spelling, or a constant by another constant."""
    constants = [name for name in site.local.globals if name.isupper()]
    for node in site.exprs:
        if isinstance(node, ast.Name) and node.id in site.local.globals and not site.module.is_called(node):
            pool = constants if node.id.isupper() else site.local.globals
            for name in pool:
                if name != node.id:
                    yield from site.swap(node, name, 0.3 + 2.0 * likeness(node.id, name))


def field_of(site: Site) -> Iterator[Edit]:
    """Add to a variable an attribute, index or key that the file uses elsewhere, or remove one from a value."""
    for node in site.values:
        if isinstance(node, ast.Attribute | ast.Subscript) and _superfluous(site, node, node.value):
            yield from site.swap(node, site.code(node.value), 1.0)
        elif isinstance(node, ast.Name) and _alone(site, node):
            for tail, weight in _tails(site, node.id).items():
                yield from site.swap(node, node.id + tail, weight)


def _alone(site: Site, node: ast.Name) -> bool:
    """Return whether `node` is neither a builtin nor followed by an attribute."""
    return node.id not in BUILTINS and not isinstance(site.module.parents.get(node), ast.Attribute)


def _superfluous(site: Site, node: ast.expr, base: ast.expr) -> bool:
    """Return whether `base` may have been intended in place of `node`, which is an attribute or item of it."""
    return not isinstance(base, ast.Call) and not site.module.is_called(node) and dotted(base) not in ("self", "cls")


def _tails(site: Site, name: str) -> dict[str, float]:
    """Return suffixes for the variable `name`, with weights: `.next`, `[0]`, `.items()`.

    These are its attributes in the file, all indices in the function, and common indices if it is a sequence.
    """
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
    """Replace the target of an assignment by another variable or attribute, or swap two targets."""
    for node in site.nodes:
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store) and dotted(node):
            yield from _other_targets(site, node, dotted(node))
        elif isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Store) and len(node.elts) == 2:
            one, two = node.elts
            if site.code(one) != site.code(two):
                yield emit.exchanged(site.module, one, two, 2.0)


def _other_targets(site: Site, node: ast.expr, name: str) -> Iterator[Edit]:
    for path in site.paths:
        if path != name:
            yield from site.swap(node, path, 0.5 + 2.0 * likeness(_last(name), _last(path)))
