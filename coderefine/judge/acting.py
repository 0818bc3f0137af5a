"""Detect statements at module level of a test file that may affect other tests, such as replaced functions."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TypeGuard

from coderefine.judge.change import name_set, own_nodes, statements
from coderefine.judge.main_guard import main_guard
from coderefine.judge.name_resolution import bindings, dotted
from coderefine.source import Definition, Function, bound_names, last_name

Code = Function | ast.Lambda
Target = ast.Attribute | ast.Subscript

REPLACING = name_set("setattr delattr setitem delitem __setattr__ __delattr__ exec eval globals locals")
MOCKS = name_set("mock mocker unittest")
PATCHES = ("patch", "_patch")
MUTATING = name_set("update setdefault pop popitem clear __setitem__ __delitem__ __ior__")
NAMESPACES = name_set("vars globals locals")
MOCKED = ("unittest.mock.patch", "mock.patch")
STARTING = name_set("start __enter__ enter_context")
HARMLESS = name_set(
    "importorskip filterwarnings simplefilter resetwarnings basicConfig disable seed manual_seed use setup main skip "
    "set_printoptions set_option setrecursionlimit load_dotenv register_assert_rewrite print getLogger setLevel "
    "register_profile enable tzset setlocale shuffle"
)
"""Functions that test files may call at module level: their effect does not matter to other tests, and hides none."""
PLACES = ("path", "environ")
"""Objects that test files may change: `sys.path.insert`, `os.environ.setdefault`."""
CREATING = name_set("dict list set bytearray defaultdict deque zeros ones empty full array arange eye zeros_like")
"""Functions that return a new object; so do classes, whose names begin with a capital letter."""
COPYING = name_set("copy deepcopy")
"""Functions that return a new object if their argument has items (a copied class is the class itself)."""


def acting_statements(old: ast.Module, new: ast.Module) -> Iterator[ast.stmt]:
    """Yield the new statements that run at import of `new` and change objects, or call functions of unknown effect.

    Objects that only `new` creates may be changed. Calls whose result is assigned do not count, unless they replace
    something or start a mock.
    """
    known = {ast.dump(node) for node in statements(old, Function)}
    guarded, defined = main_guard(new), _defined(new)
    own = set(_created(new)).difference(_created(old), _defined(old))
    for node in statements(new, Function):
        acts = _changes(node, own) or _mocks(node, new) or _unknown(node, own, defined)
        if acts and node.lineno not in guarded and ast.dump(node) not in known:
            yield node


def replaces(node: ast.stmt) -> bool:
    """Return whether a statement may change an attribute or item of an object other than `self` and `os.environ`.

    Statements inside it do not count. Calls such as `setattr`, `exec` or `mock.patch` count.
    """
    return any(map(_replaces, own_nodes(node)))


def _replaces(node: ast.AST) -> bool:
    if _is_target(node):
        return last_name(node.value) not in ("self", "environ")
    if isinstance(node, ast.Attribute) and node.attr == "patch":
        return last_name(node.value) in MOCKS  # not `client.patch(url)`
    return last_name(node) in REPLACING or _starts_patch(node) or _changes_namespace(node)


def _starts_patch(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(value=ast.Call(func=function), attr="start" | "__enter__"):
            return last_name(function) in PATCHES or last_name(getattr(function, "value", None)) == "patch"
    return False


def _changes_namespace(node: ast.AST) -> bool:
    """Return whether `node` is a method that changes the names of a module: `module.__dict__.update`."""
    match node:
        case ast.Attribute(value=ast.Attribute(attr="__dict__"), attr=name):
            return name in MUTATING
        case ast.Attribute(value=ast.Call(func=ast.Name(id=function)), attr=name):
            return name in MUTATING and function in NAMESPACES
    return False


def _changes(node: ast.stmt, own: set[str]) -> bool:
    """Return whether `node` changes an object whose name is not in `own`."""
    return _affects(list(own_nodes(node)), lambda target: _root(target) in own)


def _affects(parts: Sequence[ast.AST], may_store: Callable[[Target], bool]) -> bool:
    """Return whether one of `parts` replaces something, or is a target for which `may_store` returns False.

    Targets are attributes and items that are set or deleted. Settings (see `_is_setting`) do not count.
    """
    stored = (one for one in parts if _is_target(one) and not _is_setting(one))
    return not all(map(may_store, stored)) or any(_replaces(one) for one in parts if not _is_target(one))


def _is_target(node: ast.AST) -> TypeGuard[Target]:
    """Return whether `node` is an attribute or item that is set or deleted."""
    return isinstance(node, Target) and not isinstance(node.ctx, ast.Load)


def _defined(tree: ast.Module) -> Mapping[str, list[Code]]:
    """Return, by name, the functions and lambdas of the file that a call of this name may run.

    The keys are `f` for a function or class, and `.f` for a method. A call of a class runs its special methods
    (`__init__`, `__enter__`…), and those of its bases in the file.
    """
    found: dict[str, list[Code]] = {}
    methods: set[ast.stmt] = set()
    for node in statements(tree, Function):
        if isinstance(node, ast.ClassDef):
            methods.update(statements(node))
            found.setdefault(node.name, []).extend(_constructing(node, found))
        elif isinstance(node, Function):
            found.setdefault("." * (node in methods) + node.name, []).append(node)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
            for target in node.targets:
                found.setdefault(last_name(target), []).append(node.value)
    return found


def _constructing(node: ast.ClassDef, defined: Mapping[str, list[Code]]) -> Iterator[Code]:
    """Yield the special methods of a class, and those of its bases in the file."""
    yield from (one for one in statements(node) if isinstance(one, Function) and one.name.startswith("__"))
    for base in node.bases:
        yield from defined.get(last_name(base), ())


def _created(tree: ast.Module) -> Iterator[str]:
    """Yield the names of the objects that the file itself creates: classes, literals, and instances of classes."""
    for node in statements(tree, Function):
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and _creates(node.value):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))


def _creates(value: ast.expr) -> bool:
    literals = ast.Dict | ast.List | ast.Set | ast.Constant | ast.DictComp | ast.ListComp | ast.SetComp
    if isinstance(value, ast.BinOp):
        return _creates(value.left) or _creates(value.right)
    name = last_name(value.func) if isinstance(value, ast.Call) else ""
    return isinstance(value, literals) or name[:1].isupper() or name in CREATING


def _root(node: ast.AST | None) -> str:
    """Return the name with which an expression begins: `a` of `a.b[0].c()`; "" if it begins with something else."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _mocks(node: ast.stmt, tree: ast.Module) -> bool:
    """Return whether `node` starts a mock, under whatever name `patch` was imported."""
    names = bindings(tree)
    parts = list(own_nodes(node))
    mocked = any(dotted(one, names).startswith(MOCKED) for one in parts if isinstance(one, ast.Name | ast.Attribute))
    return mocked and any(last_name(one) in STARTING for one in parts)


def _unknown(node: ast.stmt, own: set[str], defined: Mapping[str, list[Code]]) -> bool:
    """Return whether `node` calls a function of unknown effect and ignores its result.

    Return True, too, if `node` runs a function of the file that changes objects made elsewhere (see `_disturbs`).
    `own`: the names of the objects that the file creates. `defined`: the result of `_defined`.
    """
    reached = _reached([*own_nodes(node), *_decorators(node)], defined)
    methods = {code for name, codes in defined.items() if name.startswith(".") for code in codes}
    if any(_disturbs(code, own, is_method=code in methods) for code in reached):
        return True
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and not _is_own_function(call.func, defined) and not _harmless(call, own)


def _is_own_function(function: ast.expr, defined: Mapping[str, list[Code]]) -> bool:
    return isinstance(function, ast.Lambda) or (isinstance(function, ast.Name) and function.id in defined)


def _decorators(node: ast.stmt) -> Iterator[ast.AST]:
    for one in node.decorator_list if isinstance(node, Definition) else ():
        yield from ast.walk(one)


def _reached(nodes: Iterable[ast.AST], defined: Mapping[str, list[Code]]) -> Iterator[Code]:
    """Yield the functions and lambdas of the file that calls in `nodes` may run, directly or through each other.

    `defined`: the result of `_defined`.
    """
    seen: set[Code] = set()
    left = [code for node in nodes for code in _called(node, defined)]
    while left:
        code = left.pop()
        if code not in seen:
            seen.add(code)
            yield code
            left += [other for node in ast.walk(code) for other in _called(node, defined)]


def _called(node: ast.AST, defined: Mapping[str, list[Code]]) -> Sequence[Code]:
    match node:
        case ast.Call(func=ast.Name(id=name)):
            return defined.get(name, ())
        case ast.Call(func=ast.Attribute(attr=name)):
            return defined.get(f".{name}", ())
        case ast.Call(func=ast.Lambda() as function):
            return [function]
    return ()


def _disturbs(code: Code, own: set[str], *, is_method: bool) -> bool:
    """Return whether a function changes an object that was created neither by the function nor by the file.

    `own`: the names of the objects that the file creates.
    """
    parts = list(ast.walk(code))
    free, made = own.difference(*map(bound_names, parts)), _Made.by(code, is_method=is_method)
    return _affects(parts, lambda target: _root(target) in free or made.may_store(target))


@dataclass(frozen=True, slots=True)
class _Made:
    """The objects that a function itself creates, as source texts (`a`, `self.a`) that are bound to nothing else.

    `objects`: new objects, whose attributes and items may be changed. `copies`: copied objects, whose items may be
    changed. `literals`: literals without names in them, so that items of their items may be changed, too.
    """

    objects: Set[str]
    copies: Set[str]
    literals: Set[str]

    @classmethod
    def by(cls, code: Code, *, is_method: bool) -> _Made:
        parts = list(ast.walk(code))
        bound = Counter(name for node in parts if not isinstance(node, ast.keyword) for name in bound_names(node))
        bound.update(ast.unparse(node) for node in parts if _is_target(node))
        given = [*_instances(code, is_method=is_method), *([code.args.kwarg.arg] if code.args.kwarg else [])]
        kinds = [*given, *_assigned(code, _creates)], [*_assigned(code, _copies)], [*_assigned(code, _is_literal)]
        return cls(*({one for one in kind if bound[one] == kind.count(one)} for kind in kinds))

    def may_store(self, target: Target) -> bool:
        """Return whether the function may change `target`, because it belongs to these objects; see the class."""
        holder = ast.unparse(target.value)
        if holder in self.objects:
            return True
        return isinstance(target, ast.Subscript) and (holder in self.copies or _root(target) in self.literals)


def _instances(code: Code, *, is_method: bool) -> Iterator[str]:
    """Yield the name of the first parameter (`self`) of `code` if it is a method, and of each method inside `code`."""
    inside = (one for node in ast.walk(code) if isinstance(node, ast.ClassDef) for one in node.body)
    for one in ([code] if is_method else []) + [one for one in inside if isinstance(one, Function)]:
        yield from (parameter.arg for parameter in one.args.args[:1])


def _assigned(code: Code, creates: Callable[[ast.expr], bool]) -> Iterator[str]:
    """Yield, as source texts, the targets to which `code` assigns a value for which `creates` returns True."""
    for node in ast.walk(code):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and creates(node.value):
            yield from map(ast.unparse, node.targets if isinstance(node, ast.Assign) else [node.target])


def _copies(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and last_name(value.func) in COPYING


def _is_literal(value: ast.expr) -> bool:
    return not any(isinstance(one, ast.Name) for one in ast.walk(value))


def _is_setting(target: Target) -> bool:
    """Return whether a changed attribute or item configures the program, its environment or the interpreter."""
    match target:
        case ast.Subscript(value=ast.Attribute(attr="config" | "dependency_overrides")):
            return True
        case ast.Attribute(value=ast.Name(id="sys"), attr="dont_write_bytecode"):
            return True
        case ast.Subscript(value=holder) | ast.Attribute(value=holder):
            return last_name(holder) == "environ"
    return False


def _harmless(call: ast.Call, own: set[str]) -> bool:
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    return last_name(call.func) in HARMLESS or last_name(owner) in PLACES or _root(owner) in own
