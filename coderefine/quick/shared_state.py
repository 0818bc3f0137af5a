"""Which tests of a run may leave state behind that later tests of the same run use, according to what they executed.

A function may leave state if it changes an object that it did not make itself (one bound outside the function, a
parameter, an attribute of a class), or if it has a decorator that is not known to keep nothing. Methods that change
`self` count if an instance may outlive a test: if the class, or a class derived from it, is named in a call at module
level, or in one that an import or a test that leaves state executed. A test that imports a module while it runs leaves
state too. This finds the usual ways to keep state, by their form; it cannot find all.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from coderefine.quick.reach import outermost
from coderefine.source import Definition, Function, syntax

MUTATING = frozenset((
    "add", "append", "appendleft", "clear", "connect", "discard", "extend", "extendleft", "insert", "move", "pop",
    "popitem", "popleft", "push", "put", "register", "remove", "reverse", "rotate", "save", "send", "set", "setdefault",
    "sort", "store", "subscribe", "seed", "subtract", "update", "difference_update", "intersection_update",
    "symmetric_difference_update", "__delitem__", "__setattr__", "__setitem__", "__delattr__", "__next__",
))  # fmt: skip
"""Methods (or first words of their names) that change an object."""
ON_FIRST = frozenset(("setattr", "delattr", "next", "heappush", "heappop", "shuffle"))
"""Functions that change their first argument."""
UNDONE = frozenset(("setattr", "delattr"))
"""Methods (of pytest's monkeypatch) whose changes end with the test."""
LOGGING = frozenset(("debug", "info", "warning", "warn", "error", "exception", "critical", "log"))
STATELESS = frozenset((
    "property", "staticmethod", "classmethod", "setter", "getter", "deleter", "abstractmethod", "overload", "override",
    "final", "wraps", "contextmanager", "asynccontextmanager", "dataclass", "total_ordering", "runtime_checkable",
    "unique", "fixture", "cached_property", "parametrize", "patch", "skip", "skipIf", "skipUnless",
))  # fmt: skip
"""Decorators that keep nothing (a cached property: only in its instance)."""
MAKING = frozenset(("__init__", "__new__", "__post_init__", "__setstate__"))
NEW = (
    ast.Constant, ast.Tuple, ast.List, ast.Dict, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp,
    ast.JoinedStr, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Lambda,
)  # fmt: skip
"""Expressions whose value is a new object, or one that cannot be changed."""
IMMUTABLE = (ast.Constant, ast.JoinedStr, ast.BinOp, ast.UnaryOp)
"""Values that `+=` adds to numbers and texts, not to a list; there is no certainty about other values."""
KEPT = "*"
"""In place of a class: an object that outlives the test."""


@dataclass(frozen=True, slots=True)
class FunctionState:
    """`changes`: classes of the instances that an outermost function changes, or KEPT. `calls`: names in its calls."""

    changes: frozenset[str]
    calls: frozenset[str]


@dataclass(frozen=True, slots=True)
class FileState:
    """The outermost functions of a file; names in calls at its module level; its classes with the names of bases."""

    functions: tuple[FunctionState, ...]
    calls: frozenset[str]
    bases: Mapping[str, frozenset[str]]


Executed = Mapping[str, Iterable[int]]
"""Path -> indices of the executed outermost functions; -1 is the module level."""


def carrying(states: Mapping[str, FileState], imported: Executed, tests: Mapping[str, Executed]) -> set[str]:
    """Return those of `tests` (by id) that may leave state behind. A file that is not in `states` may leave any."""
    ran = {test: _together(states, executed) for test, executed in tests.items()}
    found = set(filter(lambda test: _imports(states, test, tests[test]), tests))
    kept = {KEPT}.union(_together(states, imported).calls, *(one.calls for one in states.values()))
    size = 0
    while size < len(found) + len(kept):
        size = len(found) + len(kept)
        found |= {test for test, one in ran.items() if not kept.isdisjoint(one.changes)}
        kept = kept.union(*(ran[test].calls for test in found))
        kept = kept.union(*(one.bases[name] for one in states.values() for name in one.bases.keys() & kept))
    return found


def _together(states: Mapping[str, FileState], executed: Executed) -> FunctionState:
    """Return the state of all executed functions as if they were one."""
    numbered = ((path, number) for path in executed.keys() & states for number in executed[path] if number >= 0)
    every = [states[path].functions[number] for path, number in numbered]
    calls = frozenset[str]().union(*(one.calls for one in every))
    return FunctionState(frozenset[str]().union(*(one.changes for one in every)), calls)


def _imports(states: Mapping[str, FileState], test: str, executed: Executed) -> bool:
    """Return whether a test executed the module level of another file, or code that is not known."""
    own = test.partition("::")[0]
    return any(path not in states or (path != own and -1 in numbers) for path, numbers in executed.items())


def parse(text: str) -> FileState | None:
    """Return the state of a source file; None if it is not Python."""
    tree = syntax(text)
    if tree is None:
        return None
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    owners = {statement: one for one in classes for statement in one.body}
    functions, level = list(outermost(tree)), _level(tree)
    states = tuple(_state(function, owners, level) for function in functions)
    for function in functions:
        function.body = []
    bases = {one.name: frozenset(map(_last, one.bases)) for one in classes}
    return FileState(states, _names_in_calls(ast.walk(tree)), bases)


def _level(tree: ast.Module) -> set[str]:
    """Return the names that are assigned at module level."""
    statements = (one for one in tree.body if not isinstance(one, Definition))
    return {name.id for one in statements for name in _stored(ast.walk(one))}


def _state(function: Function, owners: Mapping[ast.stmt, ast.ClassDef], level: set[str]) -> FunctionState:
    nodes = list(ast.walk(function))
    changes: set[str] = set()
    decorators = list(owners[function].decorator_list) if function in owners else []
    for one in nodes:
        if isinstance(one, Function):
            changes.update(_changes(one, owners.get(one), level))
            decorators += one.decorator_list
    if any(map(_keeps, decorators)) or any(isinstance(node, ast.Global | ast.Nonlocal) for node in nodes):
        changes.add(KEPT)
    return FunctionState(frozenset(changes), _names_in_calls(nodes))


def _names_in_calls(nodes: Iterable[ast.AST]) -> frozenset[str]:
    inside = (part for node in nodes if isinstance(node, ast.Call) for part in ast.walk(node))
    return frozenset(_last(part) for part in inside if isinstance(part, ast.Name | ast.Attribute))


def _keeps(decorator: ast.expr) -> bool:
    """Return whether a decorator may keep what the function made."""
    if isinstance(decorator, ast.Call) and any(one.arg in {"scope", None} for one in decorator.keywords):
        return True
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return _last(decorator) not in STATELESS and not ast.unparse(called).startswith("pytest.mark.")


def _changes(function: Function, owner: ast.ClassDef | None, level: set[str]) -> Iterator[str]:
    """Yield what a function, without those in it, changes: KEPT, or the name of the class `owner` of a method."""
    nodes = list(_without_functions(function.body))
    new = _new_names(nodes).difference(node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg))
    for first, base in (_origin(changed) for node in nodes for changed in _changed(node, level)):
        if owner and _last(base) in {"self", "super"}:
            yield from _changes_of_instance(first, _last(base), function.name, owner)
        elif not _is_new(base) and _last(base) not in new:
            yield KEPT


def _changes_of_instance(first: str, base: str, method: str, owner: ast.ClassDef) -> Iterator[str]:
    if base == "super" or method not in MAKING:
        yield owner.name
    if first and first not in _own_attributes(owner):  # perhaps an object of the class
        yield KEPT


def _own_attributes(owner: ast.ClassDef) -> set[str]:
    """Return attributes that instances of a class do not share: methods assign them, or fields make them."""
    found: set[str] = set()
    for node in ast.walk(owner):
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                found.add(name)
            case ast.AnnAssign(target=ast.Name(id=name), value=value) if value is None or _last(value) == "field":
                found.add(name)
    return found


def _without_functions(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    left = list(body)
    while left:
        node = left.pop()
        if not isinstance(node, Function):
            yield node
            left.extend(ast.iter_child_nodes(node))


def _new_names(nodes: list[ast.AST]) -> set[str]:
    """Return the local names to which only new objects are assigned."""
    new: set[ast.expr] = set()
    for node in nodes:
        match node:
            case ast.Assign(targets=targets, value=value) if _is_new(value):
                new.update(targets)
            case ast.AnnAssign(target=target, value=ast.expr() as value) if _is_new(value):
                new.add(target)
            case ast.AugAssign(target=target):
                new.add(target)
    stored = _stored(nodes)
    return {name.id for name in stored} - {name.id for name in stored if name not in new}


def _stored(nodes: Iterable[ast.AST]) -> list[ast.Name]:
    return [node for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]


def _is_new(value: ast.AST) -> bool:
    """Return whether an expression makes an object; so do calls of built-in functions and of classes."""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Name):
        return isinstance(value, NEW)
    name = value.func.id
    built_in = hasattr(builtins, name) and name not in {"getattr", "globals", "next", "type", "vars"}
    return built_in or (name.lstrip("_")[:1].isupper() and not name.isupper())


def _changed(node: ast.AST, level: set[str]) -> list[ast.expr]:
    """Return the objects that `node` changes. `level`: names that are assigned at module level."""
    match node:
        case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
            return [node.value]
        case ast.AugAssign(target=ast.Name() as target, value=value) if not isinstance(value, IMMUTABLE):
            return [target]
        case ast.Call(func=ast.Attribute(value=changed, attr=method)) if {method, method.partition("_")[0]} & MUTATING:
            return [changed]
        case ast.Call(func=ast.Name(id=name), args=[first, *_]) if name in ON_FIRST:
            return [first]
        case ast.Call(func=ast.Attribute(attr=name), args=[first, *_]) if name in ON_FIRST - UNDONE:
            return [first]
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=changed, attr=name))) if name not in LOGGING:
            base = _origin(changed)[1]  # an object of the module whose method is called only for its effect
            return [changed] if isinstance(base, ast.Name) and (base.id in level or base.id.isupper()) else []
    return []


def _origin(inner: ast.expr) -> tuple[str, ast.expr]:
    """Return the expression from which attributes, items and methods lead to an object, and the first attribute."""
    first = ""
    while True:
        match inner:
            case ast.Attribute(value=value, attr=first):
                inner = value
            case ast.Subscript(value=value) | ast.Call(func=ast.Attribute(value=value)):
                inner = value
            case _:
                return first, inner


def _last(node: ast.AST) -> str:
    """Return the last name of a dotted name, or of what is called or subscribed."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=inner) | ast.Subscript(value=inner):
            return _last(inner)
    return ""
