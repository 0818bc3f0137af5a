"""Detect statements at module level of a test file that act on other tests: replaced functions, calls of any effect."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from coderefine.judge.change import name_set, own_nodes
from coderefine.judge.main_guard import main_guard
from coderefine.judge.name_resolution import bindings, dotted
from coderefine.source import Definition, Function, blocks, last_name

REPLACING = name_set("setattr delattr setitem delitem __setattr__ __delattr__ exec eval globals locals")
MOCKS = name_set("mock mocker unittest")
PATCHES = ("patch", "_patch")
MUTATING = name_set("update setdefault pop popitem clear __setitem__ __delitem__ __ior__")
NAMESPACES = name_set("vars globals locals")
MOCKED = ("unittest.mock.patch", "mock.patch")
STARTING = name_set("start __enter__ enter_context")
HARMLESS = name_set(
    "importorskip filterwarnings simplefilter resetwarnings basicConfig disable seed manual_seed use setup main skip "
    "set_printoptions set_option setrecursionlimit load_dotenv register_assert_rewrite print getLogger setLevel"
)
"""Functions that test files call at module level, with an effect that no test depends on, or that hides none."""
PLACES = ("path", "environ")
"""Objects that test files may change: `sys.path.insert`, `os.environ.setdefault`."""


def acting_statements(old: ast.Module, new: ast.Module) -> Iterator[ast.stmt]:
    """Yield the statements that run at import of `new` and change other objects, or call functions of any effect.

    Calls whose result is assigned do not count, unless they replace something or start a mock. What `new` creates, and
    `old` does not, may be changed.
    """
    known = {ast.dump(node) for node in executed(old)}
    guarded, functions = main_guard(new), _functions(new)
    own = set(_created(new)).difference(_created(old), _functions(old))
    for node in executed(new):
        acts = _changes(node, own) or _mocks(node, new) or _unknown(node, own, functions)
        if acts and node.lineno not in guarded and ast.dump(node) not in known:
            yield node


def executed(node: ast.AST) -> Iterator[ast.stmt]:
    """Yield the statements of a module that run at its import: also those in its classes, but not in functions."""
    for child in blocks(node):
        if isinstance(child, ast.stmt):
            yield child
        if not isinstance(child, Function):
            yield from executed(child)


def replaces(node: ast.stmt) -> bool:
    """Return whether a statement, without those inside it, changes an attribute or item of another object."""
    return any(map(_replaces, own_nodes(node)))


def _replaces(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
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
    """Return whether `node` changes an object that is not in `own`."""
    parts = list(own_nodes(node))
    stored = [one for one in parts if _is_target(one) and _replaces(one)]
    if any(_root(one) not in own for one in stored):
        return True
    return any(_replaces(one) for one in parts if not _is_target(one))


def _is_target(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load)


def _functions(tree: ast.Module) -> Mapping[str, ast.AST]:
    """Return the functions and lambdas of the file by name."""
    found: dict[str, ast.AST] = {}
    for node in executed(tree):
        if isinstance(node, Function):
            found[node.name] = node
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
            found.update({last_name(target): node.value for target in node.targets})
    return found


def _created(tree: ast.Module) -> Iterator[str]:
    """Yield the names of what the file itself creates: classes, literals, and instances of classes."""
    for node in executed(tree):
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and _creates(node.value):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))


def _creates(value: ast.expr) -> bool:
    literals = ast.Dict | ast.List | ast.Set | ast.Constant | ast.DictComp | ast.ListComp | ast.SetComp
    return isinstance(value, literals) or (isinstance(value, ast.Call) and last_name(value.func)[:1].isupper())


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


def _unknown(node: ast.stmt, own: set[str], functions: Mapping[str, ast.AST]) -> bool:
    """Return whether `node` calls a function whose effect is unknown and ignores its result, or one that replaces."""
    calls = [one for one in (*own_nodes(node), *_decorators(node)) if isinstance(one, ast.Call)]
    if any(_calls_replacing(one, functions) for one in calls):
        return True
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and last_name(call.func) not in functions and not _harmless(call, own)


def _decorators(node: ast.stmt) -> Iterator[ast.AST]:
    for one in node.decorator_list if isinstance(node, Definition) else ():
        yield from ast.walk(one)


def _calls_replacing(call: ast.Call, functions: Mapping[str, ast.AST]) -> bool:
    """Return whether `call` calls a function or lambda of the file that changes another object."""
    function = functions.get(call.func.id) if isinstance(call.func, ast.Name) else call.func
    code = function if isinstance(function, Function | ast.Lambda) else None
    return code is not None and any(map(_replaces, ast.walk(code)))


def _harmless(call: ast.Call, own: set[str]) -> bool:
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    return last_name(call.func) in HARMLESS or last_name(owner) in PLACES or _root(owner) in own
