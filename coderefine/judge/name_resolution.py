"""Name resolution: the object that a name in a file refers to, through imports, aliases, getattr and the like."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from coderefine.judge.change import TREES, name_set, nodes
from coderefine.judge.constant_folding import NONE, Names, NotLiteralError, constants, fold
from coderefine.judge.name_scopes import BUILT_INS, NameScope, name_scopes
from coderefine.source import last_name

OWN, ANY = "<own>", "<any>"
"""First part of the names that the file itself binds, and first part of the attributes of unknown values."""
POWERFUL = name_set("os sys posix nt builtins _thread gc ctypes importlib inspect _imp _ctypes")
"""Modules that are recognised as an attribute of any value."""
IN_LIBRARIES = POWERFUL | name_set("unittest doctest warnings atexit")
"""Modules of Python that are recognised as an attribute of another library.

Others are more often modules of that library itself: `scipy.signal`, `django.contrib.admin.site`.
"""
BUILT_IN = name_set("getattr setattr delattr vars print exec eval compile __import__ globals len")
"""Built-in functions whose aliases are followed."""
ROUNDS = 3
"""Number of chained aliases that are resolved."""
DICT = frozenset(dir({}))
IMPORTS = (
    *("__import__", "importlib.import_module", "importlib.__import__", "pkgutil.resolve_name"),
    *("pydoc.locate", "pydoc.resolve", "pydoc.safeimport"),
)
GETTERS = ("operator.attrgetter", "operator.methodcaller")


@dataclass(frozen=True, slots=True)
class Bindings:
    """The objects to which the names of a file refer.

    `scopes`: the scope of each node. `origins`: (scope, local name) -> dotted origin, for imports and aliases of them;
    a name that the file defines itself is mapped to `<own>.name`. `constants`: the expressions of names that are bound
    once.
    """

    scopes: Mapping[ast.AST, NameScope]
    origins: Mapping[tuple[NameScope | None, str], str]
    constants: Names

    def origin(self, name: str, scope: NameScope) -> str:
        """Return the dotted origin of what `name` refers to in `scope`; `name` itself if the file does not bind it."""
        return self.origins.get((scope.home(name), name), name)

    def scope(self, node: ast.AST) -> NameScope:
        """Return the scope of `node`; that of the module for a node outside the tree, as in a quoted annotation."""
        return self.scopes[node] if node in self.scopes else next(iter(self.scopes.values())).root

    def text(self, node: ast.AST) -> str | None:
        """Return the string that `node` evaluates to, using constants of the file; None for anything else."""
        return text(node, self.constants)

    def value(self, node: ast.AST) -> object:
        """Return the value of `node`, using constants of the file; None if it is not made of literals."""
        try:
            return fold(node, self.constants)
        except NotLiteralError:
            return None


@lru_cache(maxsize=TREES)
def bindings(tree: ast.Module) -> Bindings:
    """Resolve the names of `tree`; if a name has several origins in one scope, the one that may do most counts."""
    scopes = name_scopes(tree)
    found: dict[tuple[NameScope | None, str], str] = {}
    names = Bindings(scopes, found, constants(tree))
    for scope in set(scopes.values()):
        found.update({(scope, name): f"{OWN}.{name}" for name in scope.bound})

    def learn(node: ast.AST, name: str, origin: str) -> None:
        home = scopes[node].home(name)
        if _power(origin) > _power(found.get((home, name), OWN if home else name)):
            found[home, name] = origin

    for node in nodes(tree):
        for name, origin in _imported(node):
            learn(node, name, origin)
    pairs = [(node, *pair) for node in nodes(tree) for pair in _assigned(node)]
    for _ in range(ROUNDS):
        for node, name, value in pairs:
            if _foreign(origin := dotted(value, names)):
                learn(node, name, origin)
    return names


def _foreign(name: str) -> bool:
    return name.partition(".")[0] in sys.stdlib_module_names or name in BUILT_IN


def _power(origin: str) -> int:
    """Return how much an object of this origin may do: modules of POWERFUL most, the file's own names least."""
    module = origin.partition(".")[0]
    return 3 if module in POWERFUL else 2 if _foreign(origin) or origin in BUILT_INS else int(module != OWN)


def _imported(node: ast.AST) -> Iterator[tuple[str, str]]:
    for alias in node.names if isinstance(node, ast.Import | ast.ImportFrom) else ():
        if isinstance(node, ast.ImportFrom):
            yield alias.asname or alias.name, canonical(f"{'.' * node.level}{node.module or ''}.{alias.name}")
        elif alias.asname:
            yield alias.asname, canonical(alias.name)
        else:
            top = alias.name.partition(".")[0]
            yield top, top


def _assigned(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names that `node` binds, each with the expression of its value."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _unpacked(target, node.value)
    elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
        yield from _unpacked(node.target, node.value)
    elif isinstance(node, ast.For | ast.comprehension) and isinstance(node.iter, ast.Tuple | ast.List | ast.Set):
        for item in node.iter.elts:
            yield from _unpacked(node.target, item)
    elif isinstance(node, ast.Match):
        yield from _matched(node)
    elif isinstance(node, ast.arguments):
        yield from defaults(node)


def positional_defaults(args: ast.arguments) -> Iterator[tuple[str, ast.expr]]:
    """Yield the positional parameters that have a default, each with its default."""
    last_first = zip(reversed([*args.posonlyargs, *args.args]), reversed(args.defaults), strict=False)
    yield from ((parameter.arg, default) for parameter, default in last_first)


def defaults(args: ast.arguments) -> Iterator[tuple[str, ast.expr]]:
    """Yield all parameters that have a default, with the default."""
    yield from positional_defaults(args)
    named = zip(args.kwonlyargs, args.kw_defaults, strict=True)
    yield from ((parameter.arg, default) for parameter, default in named if default)


def _unpacked(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple | ast.List) and isinstance(value, ast.Tuple | ast.List):
        for one, inner in zip(target.elts, value.elts, strict=False):
            yield from _unpacked(one, inner)


def _matched(node: ast.Match) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names that the patterns of `node` bind, each with the expression of its value, where it is known."""
    for case in node.cases:
        yield from _captured(case.pattern, node.subject)


def _captured(pattern: ast.pattern, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names that `pattern` binds to `value`, or to items of it if it is a tuple or list."""
    match pattern, value:
        case ast.MatchAs(pattern=inner, name=name), _:
            yield from ((name, value),) if name else ()
            yield from _captured(inner, value) if inner else ()
        case ast.MatchOr(patterns=inner), _:
            yield from (pair for one in inner for pair in _captured(one, value))
        case ast.MatchSequence(patterns=inner), ast.Tuple(elts=items) | ast.List(elts=items):
            yield from (pair for one, item in zip(inner, items, strict=False) for pair in _captured(one, item))


def canonical(name: str) -> str:
    """Return `name` without the parts before its last module: `os.sys.modules` becomes `sys.modules`.

    `print.__self__` becomes `builtins`. An attribute of an object may have the name of a module (`self.os`). Therefore
    a name that begins with `<own>` or `<any>` is shortened only before a module of POWERFUL, and only if an attribute
    of that module follows. A name that begins with another library is shortened only before a module of IN_LIBRARIES.
    """
    parts = name.split(".")
    if len(parts) == 2 and parts[0] == parts[1]:  # a function called like its module: `timeit.timeit`
        return name
    unknown = parts[0] in (OWN, ANY)
    modules = POWERFUL if unknown else sys.stdlib_module_names if _is_python(parts[0]) else IN_LIBRARIES
    for place in range(len(parts) - 1, 0, -1):
        if parts[place] == "__self__":
            return ".".join(("builtins", *parts[place + 1 :]))
        if parts[place] in modules and not (unknown and place == len(parts) - 1):
            return ".".join(parts[place:])
    return name


def _is_python(module: str) -> bool:
    """Return whether a module is Python's own, or unknown because it is named relative to its package."""
    return module in sys.stdlib_module_names or not module


def dotted(node: ast.AST, names: Bindings) -> str:
    """Return the resolved dotted name: `os._exit` also for `getattr(os, "_exit")` and aliases; "" if there is none."""
    if isinstance(node, ast.Name):
        return names.origin(node.id, names.scope(node))
    if isinstance(node, ast.NamedExpr):
        return dotted(node.value, names)
    if isinstance(node, ast.Attribute):
        return _joined(dotted(node.value, names), node.attr)
    if isinstance(node, ast.Call):
        return _called(node, names)
    if isinstance(node, ast.Subscript):
        return _subscripted(node, names)
    return ""


def _joined(base: str, attribute: str) -> str:
    """Return the name of an attribute of `base`; a `base` of "" is an unknown value."""
    if base.endswith(".__dict__"):
        owner = base.removesuffix(".__dict__")
        return f"{base}.{attribute}" if attribute in DICT else _joined(owner, attribute)
    return canonical(f"{base or ANY}.{attribute}")


def _called(node: ast.Call, names: Bindings) -> str:
    looked_up = attribute_lookup(node, names)
    if looked_up is not None:
        base, attribute = looked_up
        spelled = names.text(attribute)
        return _joined(dotted(base, names) if base else ANY, spelled) if spelled else ""
    function = dotted(node.func, names).removeprefix("builtins.")
    if function == "vars" and node.args:
        return _joined(dotted(node.args[0], names), "__dict__")
    return canonical(_module_named(node, names).replace(":", ".")) if function in IMPORTS else _found_class(node, names)


def _found_class(node: ast.Call, names: Bindings) -> str:
    """Return the name that `pickle.Unpickler(…).find_class(module, name)` finds; "" for other calls."""
    found = [names.text(item) for item in node.args] if last_name(node.func) == "find_class" else []
    return canonical(".".join(filter(None, found))) if len(found) == 2 and all(found) else ""


def _module_named(node: ast.Call, names: Bindings) -> str:
    """Return the name that `node`, a call of a function in IMPORTS, imports; "" if the name is computed."""
    named = {item.arg: item.value for item in node.keywords}
    places = (next(iter(node.args), named.get("name")), next(iter(node.args[1:]), named.get("package")))
    name, package = (names.text(place) if place else None for place in places)
    return f"{package}{name}" if package and name and name.startswith(".") else name or ""


def attribute_lookup(node: ast.Call, names: Bindings) -> tuple[ast.expr | None, ast.expr] | None:
    """Return (object, attribute name) of a lookup by `getattr` or a similar function; None for any other call.

    The object is None if the call creates a function that gets it later (`operator.attrgetter`).
    """
    function = dotted(node.func, names).removeprefix("builtins.")
    match node:
        case ast.Call(args=[base, name, *_]) if function in ("getattr", "inspect.getattr_static"):
            return base, name
        case ast.Call(args=[name, *_]) if function in GETTERS:
            return None, name
        case ast.Call(func=ast.Call(func=getter, args=[name, *_]), args=[base, *_]) if dotted(getter, names) in GETTERS:
            return base, name
        case ast.Call(func=ast.Attribute(attr="__getattribute__" | "__getattr__"), args=[base, name]):
            return base, name
        case ast.Call(func=ast.Attribute(value=base, attr="__getattribute__" | "__getattr__"), args=[name]):
            return base, name
    return None


def _subscripted(node: ast.Subscript, names: Bindings) -> str:
    key = names.text(node.slice)
    if key is None:
        return ""
    base = dotted(node.value, names)
    if base == "sys.modules":
        return canonical(key)
    if base.endswith(".__dict__"):
        return _joined(base.removesuffix(".__dict__"), key)
    inner = node.value
    if isinstance(inner, ast.Call) and dotted(inner.func, names) in ("globals", "locals"):
        return names.origin(key, names.scopes[node].root)
    return ""


def text(node: ast.AST, names: Names = NONE) -> str | None:
    """Return the string that `node` evaluates to if it is made of literals; None for anything else."""
    try:
        found = fold(node, names)
    except NotLiteralError:
        return None
    return found if isinstance(found, str) else None
