"""Which tests of a run may leave state behind that later tests of the same run use, according to what they executed.

A function may leave state if it changes an object that it did not make itself (one bound outside the function, a
parameter, an attribute of a class), or if it has a decorator other than those known to keep nothing (STATELESS). A test
that imports a module while it runs leaves state too. A method that changes `self` counts if an instance may outlive a
test. This is assumed if the class, or a class derived from it, is named in a call at module level, or in a call that
was executed during an import or by a test that leaves state. This finds the usual ways to keep state; it cannot find
all.
"""

from __future__ import annotations

import ast
import builtins
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from coderefine.quick.reach import outermost

Function = ast.FunctionDef | ast.AsyncFunctionDef
MUTATING = frozenset((
    "add", "append", "appendleft", "clear", "connect", "discard", "extend", "extendleft", "insert", "move", "pop",
    "popitem", "popleft", "push", "put", "register", "remove", "reverse", "rotate", "save", "send", "set", "setdefault",
    "sort", "store", "subscribe", "seed", "subtract", "update", "difference_update", "intersection_update",
    "symmetric_difference_update", "__delitem__", "__setattr__", "__setitem__", "__delattr__", "__next__",
))  # fmt: skip
"""Methods (or first words of their names) that change an object."""
ON_FIRST = frozenset(("setattr", "delattr", "next", "heappush", "heappop", "shuffle"))
"""Functions that change their first argument."""
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
MUTABLE = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp, ast.Call)


@dataclass(frozen=True, slots=True)
class FunctionState:
    """A function. `carries`: whether it may leave state behind.

    `changes`: classes of the instances that it changes. `calls`: names in its calls.
    """

    carries: bool
    changes: frozenset[str]
    calls: frozenset[str]


@dataclass(frozen=True, slots=True)
class FileState:
    """The outermost functions of a file; names in calls at its module level; its classes with the names of bases."""

    functions: tuple[FunctionState, ...]
    calls: frozenset[str]
    bases: Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Owner:
    """A class with its methods. `attributes`: the attributes that its instances do not share."""

    name: str
    methods: list[Function]
    attributes: frozenset[str]
    decorators: list[ast.expr]

    @classmethod
    def of(cls, node: ast.ClassDef) -> Owner:
        methods = [one for one in node.body if isinstance(one, Function)]
        return cls(node.name, methods, _made_by(node), node.decorator_list)


Executed = Mapping[str, Iterable[int]]
"""Path -> indices of the executed outermost functions; -1 is the module level."""


def carrying(states: Mapping[str, FileState], imported: Executed, tests: Mapping[str, Executed]) -> set[str]:
    """Return the tests of `tests` (by id) that may leave state behind.

    A test that executes code of a file that is not in `states` is returned in any case.
    """
    bases = [one for state in states.values() for one in state.bases.items()]
    named = _named(states, imported).union(*(state.calls for state in states.values()))
    found: set[str] = set()
    while more := _more(states, tests, _with_bases(named, bases)) - found:
        found |= more
        named = named.union(*(_named(states, tests[test]) for test in more))
    return found


def _more(states: Mapping[str, FileState], tests: Mapping[str, Executed], kept: set[str]) -> set[str]:
    return {test for test, executed in tests.items() if _carries(states, test, executed, kept)}


def _carries(states: Mapping[str, FileState], test: str, executed: Executed, kept: set[str]) -> bool:
    own = test.partition("::")[0]
    if any(path not in states or (path != own and -1 in numbers) for path, numbers in executed.items()):
        return True
    return any(one.carries or not kept.isdisjoint(one.changes) for one in _functions(states, executed))


def _functions(states: Mapping[str, FileState], executed: Executed) -> Iterator[FunctionState]:
    for path, numbers in executed.items():
        if path in states:
            yield from (states[path].functions[number] for number in numbers if number >= 0)


def _named(states: Mapping[str, FileState], executed: Executed) -> set[str]:
    return {name for one in _functions(states, executed) for name in one.calls}


def _with_bases(named: set[str], bases: list[tuple[str, frozenset[str]]]) -> set[str]:
    found = set(named)
    while more := {base for name, above in bases if name in found for base in above} - found:
        found |= more
    return found


def parse(text: str) -> FileState:
    """Return what `carrying` must know about a source file. Raises SyntaxError or ValueError if it is not Python."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(text)
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    owners = {function: one for one in map(Owner.of, classes) for function in one.methods}
    level, functions = _bound_at(tree.body), list(outermost(tree))
    states = tuple(_state(function, owners, level) for function in functions)
    for function in functions:
        function.body = []
    bases = {one.name: frozenset(map(_last, one.bases)) for one in classes}
    return FileState(states, _names_in_calls(ast.walk(tree)), bases)


def _bound_at(body: Iterable[ast.stmt]) -> frozenset[str]:
    """Return the names that are assigned at module level."""
    inside = (node for one in body if not isinstance(one, Function | ast.ClassDef) for node in ast.walk(one))
    return frozenset(name.id for name in _stored(inside))


def _names_in_calls(nodes: Iterable[ast.AST]) -> frozenset[str]:
    inside = (part for node in nodes if isinstance(node, ast.Call) for part in ast.walk(node))
    return frozenset(_last(part) for part in inside if isinstance(part, ast.Name | ast.Attribute))


def _last(node: ast.AST) -> str:
    """Return the last name of a dotted name, or of what is called or subscribed."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=inner) | ast.Subscript(value=inner):
            return _last(inner)
    return ""


def _state(function: Function, owners: Mapping[Function, Owner], level: frozenset[str]) -> FunctionState:
    nodes = list(ast.walk(function))
    functions = [node for node in nodes if isinstance(node, Function)]
    scopes = [Scope(one, owners.get(one), level) for one in functions]
    carries = (
        any(isinstance(node, ast.Global | ast.Nonlocal) for node in nodes)
        or any(map(_keeps, _decorators(functions, owners.get(function))))
        or any(scope.carries for scope in scopes)
    )
    return FunctionState(carries, frozenset(scope.changes for scope in scopes) - {""}, _names_in_calls(nodes))


def _decorators(functions: list[Function], owner: Owner | None) -> list[ast.expr]:
    return [*(line for one in functions for line in one.decorator_list), *(owner.decorators if owner else ())]


def _keeps(decorator: ast.expr) -> bool:
    """Return whether a decorator may keep what the function made."""
    if isinstance(decorator, ast.Call) and any(one.arg in {"scope", None} for one in decorator.keywords):
        return True
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return _last(decorator) not in STATELESS and not ast.unparse(called).startswith("pytest.mark.")


class Scope:
    """A function without its nested functions. `carries`: whether it may leave state behind.

    `changes`: the class of the method's instance if the function changes this instance, else "".
    """

    def __init__(self, function: Function, owner: Owner | None, level: frozenset[str]) -> None:
        """Find the changes that `function` makes. `owner`: the class of a method, else None.

        `level`: names that are assigned at module level.
        """
        self._owner, self._level = owner, level
        self._self = _instance(function) if owner else ""
        self._making = function.name in MAKING
        self._attributes = owner.attributes if owner else frozenset()
        nodes = [*_without_functions(function.body)]
        self._defaults = _defaults(function.args)
        parameters = {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
        self._new = _new_names(nodes) - parameters
        self.carries, self.changes = False, ""
        for node in nodes:
            for changed in _changed(node):
                self._note(*_chain(changed))
            self.carries = self.carries or self._augmented(node) or self._for_effect(node)

    def _note(self, chain: list[str], base: ast.expr) -> None:
        """Record the change of an object that is reached from `base` by the attributes `chain`."""
        name = base.id if isinstance(base, ast.Name) else ""
        if name in self._new or _is_new(base):
            self._note_instance(changes=_last(base) == "super")
        elif name and name == self._self:
            self._note_instance(changes=not self._making)
            self.carries = self.carries or not self._attributes.issuperset(chain[:1])  # perhaps of the class
        else:
            self.carries = True

    def _note_instance(self, *, changes: bool) -> None:
        if changes and self._owner:
            self.changes = self._owner.name

    def _augmented(self, node: ast.AST) -> bool:
        """Return whether `node` is an augmented assignment that may change a list or the like in place."""
        if not isinstance(node, ast.AugAssign) or not isinstance(node.target, ast.Name):
            return False
        name = node.target.id
        return name not in self._new and (name in self._defaults or isinstance(node.value, MUTABLE))

    def _for_effect(self, node: ast.AST) -> bool:
        """Return whether `node` calls a method of an object of the module, and ignores the result."""
        match node:
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=method) as called)) if method not in LOGGING:
                base = _chain(called)[1]
                return isinstance(base, ast.Name) and (base.id in self._level or base.id.isupper())
        return False


def _instance(method: Function) -> str:
    """Return the name of the parameter `self` of a method, or ""."""
    static = {"staticmethod", "classmethod"}.intersection(map(_last, method.decorator_list))
    listed = [*method.args.posonlyargs, *method.args.args]
    if static or not listed or listed[0].arg == "cls" or method.name in {"__new__", "__init_subclass__"}:
        return ""
    return listed[0].arg


def _made_by(owner: ast.ClassDef) -> frozenset[str]:
    """Return the attributes that instances of a class do not share: methods assign them, or they are fields."""
    fields = (node for node in owner.body if isinstance(node, ast.AnnAssign))
    named = (_last(node.target) for node in fields if node.value is None or _last(node.value) == "field")
    return frozenset((*named, *_assigned_attributes(owner)))


def _assigned_attributes(owner: ast.ClassDef) -> list[str]:
    stored = (node for node in ast.walk(owner) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store))
    return [node.attr for node in stored if isinstance(node.value, ast.Name) and node.value.id == "self"]


def _defaults(arguments: ast.arguments) -> set[str]:
    """Return the parameters whose default may be mutable."""
    listed = [*arguments.posonlyargs, *arguments.args]
    pairs = [*zip(reversed(listed), reversed(arguments.defaults), strict=False)]
    named = [(one, value) for one, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value]
    return {one.arg for one, value in (*pairs, *named) if not isinstance(value, ast.Constant | ast.Tuple)}


def _without_functions(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    left = list(body)
    while left:
        node = left.pop()
        if not isinstance(node, Function):
            yield node
            left.extend(ast.iter_child_nodes(node))


def _new_names(nodes: list[ast.AST]) -> set[str]:
    """Return the local names to which only new objects are assigned."""
    augmented = {node.target for node in nodes if isinstance(node, ast.AugAssign)}
    new = {target for node in nodes for target, value in _assigned(node) if _is_new(value)}
    other = {name.id for name in _stored(nodes) if name not in new | augmented}
    return {name.id for name in _stored(nodes) if name in new} - other


def _stored(nodes: Iterable[ast.AST]) -> list[ast.Name]:
    return [node for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]


def _assigned(node: ast.AST) -> list[tuple[ast.expr, ast.expr]]:
    match node:
        case ast.Assign(targets=targets, value=value):
            return [(target, value) for target in targets]
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            return [(target, value)]
    return []


def _is_new(value: ast.AST) -> bool:
    """Return whether an expression makes a new object; calls of built-in functions and of classes count, too."""
    match value:
        case ast.Call(func=ast.Name(id=name)):
            return (
                hasattr(builtins, name) and name not in {"getattr", "globals", "next", "type", "vars"}
            ) or _is_class(name)
    return isinstance(value, NEW)


def _is_class(name: str) -> bool:
    return name.lstrip("_")[:1].isupper() and not name.isupper()


def _changed(node: ast.AST) -> list[ast.expr]:
    """Return the objects that `node` changes, each as an expression for one of its attributes or items."""
    match node:
        case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
            return [node]
        case ast.Call(func=ast.Attribute(value=changed, attr=method)) if _mutates(method):
            return [ast.Attribute(changed, "", ast.Load())]
        case ast.Call(func=function, args=[first, *_]) if _last(function) in ON_FIRST and not _undone(function):
            return [ast.Attribute(first, "", ast.Load())]
    return []


def _undone(function: ast.expr) -> bool:
    """Return whether `function` is a method such as monkeypatch.setattr, whose changes end with the test."""
    return isinstance(function, ast.Attribute) and function.attr.endswith("attr")


def _mutates(method: str) -> bool:
    return method in MUTATING or method.partition("_")[0] in MUTATING


def _chain(node: ast.expr) -> tuple[list[str], ast.expr]:
    """Return the names of attributes, and the base expression, that lead to the object of which `node` is a part.

    `node` is an attribute or an item of this object.
    """
    names: list[str] = []
    inner = node.value if isinstance(node, ast.Attribute | ast.Subscript) else node
    while True:
        match inner:
            case ast.Attribute(value=value, attr=name):
                names.insert(0, name)
                inner = value
            case ast.Subscript(value=value) | ast.Call(func=ast.Attribute(value=value)):
                inner = value
            case _:
                return names, inner
