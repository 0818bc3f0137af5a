"""Find additions to a test file that act on its old tests: hooks, preparations, replaced functions, hidden names."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator

from coderefine.judge.change import name_set, own_nodes, statements
from coderefine.source import Function, bound_names, last_name

HOOK = re.compile(r"pytest_\w+|collect_ignore(_glob)?")
SETUP = re.compile(r"(async)?(set_?up|tear_?down)(_?(class|method|module|function))?|run|__\w+__", re.IGNORECASE)
"""Names of functions that run for every test of a module or class."""
REPLACING = name_set("setattr delattr setitem delitem __setattr__ __delattr__ exec eval globals locals")
MOCKS = name_set("mock mocker unittest")
PATCHES = ("patch", "_patch")
PREPARING = name_set("addCleanup seed super setUp setUpClass tearDown tearDownClass asyncSetUp asyncTearDown")
"""Functions that may be called to prepare every test."""
Module = ast.Module | ast.ClassDef


def acting_additions(old: ast.Module, new: ast.Module, *, shared: bool) -> Iterator[str]:
    """Yield the names of new definitions, and new statements, that act on old tests.

    `shared`: whether the file acts on tests of other files (conftest.py); a new file of tests acts on none.
    """
    if not shared and not old.body:
        return
    known = {ast.dump(node) for node in statements(old)}
    for node in statements(new):
        if replaces(node) and ast.dump(node) not in known:
            yield repr(ast.unparse(node)[:60])
    yield from sorted(set(_acting(old, new, shared=shared)))


def named(tree: Module) -> Iterator[tuple[str, ast.AST]]:
    """Yield the names that the statements of a module or class bind, each with the node that defines it."""
    for node in statements(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name, node
            case ast.Import() | ast.ImportFrom():
                module = getattr(node, "module", "")
                yield from _imported(node.names, module)
            case ast.Assign(targets=targets, value=value):
                yield from ((name, value) for target in targets for name in _stored(target))
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value


def _imported(names: list[ast.alias], module: str) -> Iterator[tuple[str, ast.AST]]:
    for one in names:
        yield one.asname or one.name, ast.Constant(f"{module} {one.name}")


def _stored(target: ast.expr) -> list[str]:
    return [node.id for node in ast.walk(target) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]


def replaces(node: ast.stmt) -> bool:
    """Return whether a statement, without those inside it, changes an attribute or item of another object."""
    return any(map(_replaces, own_nodes(node)))


def _replaces(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
        return last_name(node.value) not in ("self", "environ")
    if isinstance(node, ast.Attribute) and node.attr == "patch":
        return last_name(node.value) in MOCKS  # not `client.patch(url)`
    return last_name(node) in REPLACING or _starts_patch(node)


def _starts_patch(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(value=ast.Call(func=function), attr="start"):
            return last_name(function) in PATCHES or last_name(getattr(function, "value", None)) == "patch"
    return False


def _acting(old: Module, new: Module, *, shared: bool) -> Iterator[str]:
    was, free, asked = dict(named(old)), _free_names(old), _parameters(old)
    for name, node in named(new):
        before = was.get(name)
        if isinstance(before, ast.ClassDef) and isinstance(node, ast.ClassDef):
            yield from (f"{name}.{inner}" for inner in _acting(before, node, shared=False))
        elif name not in was and (name in free or _acts(name, node, asked, shared=shared)):
            yield "import *" if name == "*" else name


def _acts(name: str, node: ast.AST, asked: set[str], *, shared: bool) -> bool:
    """Return whether a new definition runs for old tests. `asked`: the parameters of old tests, which name fixtures."""
    if name == "pytestmark":
        return "usefixtures" in ast.dump(node)
    if not isinstance(node, Function) or HOOK.fullmatch(name):
        return name == "*" or bool(HOOK.fullmatch(name))
    decorators = " ".join(map(ast.dump, node.decorator_list))
    if "autouse" in decorators or SETUP.fullmatch(name):
        return shared or not _only_prepares(node)
    return "fixture" in decorators and name in asked


def _only_prepares(function: Function) -> bool:
    """Return whether a function only stores attributes of the test and local variables."""
    calls = (node for node in ast.walk(function) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call))
    known = all(last_name(call.value.func) in PREPARING for call in calls)  # type: ignore[attr-defined]
    return known and not any(map(replaces, statements(ast.Module(function.body, []))))


def _free_names(tree: Module) -> set[str]:
    """Return the built-in names that are read but not bound in `tree`, and the attributes read from `self`."""
    every = list(ast.walk(tree))
    read = {node.id for node in every if isinstance(node, ast.Name)}.intersection(dir(builtins))
    read = read.difference(*map(bound_names, every))
    if isinstance(tree, ast.ClassDef):
        read |= {node.attr for node in every if isinstance(node, ast.Attribute) and last_name(node.value) == "self"}
    return read


def _parameters(tree: Module) -> set[str]:
    return {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)} - {"self", "cls"}
