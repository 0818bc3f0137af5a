"""Distinguish changes that only add to tests from changes that may weaken them.

Whether a changed test demands as much as before cannot be decided in general. A change counts as an addition if every
statement of the old file is still there, in its place: a table of cases may get more rows, a test more assertions, and
a file more of everything.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from coderefine.core import Attempt, Case, Status
from coderefine.judge.change import PYTHON, parse
from coderefine.judge.score import gone
from coderefine.source import Function, last_name

ASSERTING = re.compile(r"_*assert([A-Z_]|$)|raises$|warns$|approx$")
IGNORED = frozenset({"returns", "annotation", "type_comment", "type_params", "ctx"})
"""Fields of syntax nodes that do not change what a test demands."""
HOOK = re.compile(r"pytest_\w+|collect_ignore(_glob)?")
DODGED = {Status.SKIPPED: "skipped", Status.XFAILED: "expected to fail"}


def dodged_tests(was: Attempt, alone: Attempt, last: Attempt, flaky: frozenset[str]) -> Iterator[str]:
    """Yield a text for each test that a patch deletes or skips, or changes so that it passes without the patch's code.

    `was`: the tree without the patch; `alone`: with the patch's tests, but without its code; `last`: with all of it.
    """
    yield from (f"{id} is deleted" for id in gone(last, was))
    for id, case in was.cases.items():
        if id not in flaky and (how := _dodged(case.status, last.cases.get(id), alone.cases.get(id))):
            yield f"{id} {how}"


def _dodged(before: Status, last: Case | None, alone: Case | None) -> str:
    if last and last.status in DODGED and before not in DODGED:
        return f"is {DODGED[last.status]}"
    passes = alone is not None and alone.status is Status.PASSED
    return "failed, and passes without the patch's code" if before.bad and passes else ""


def changed_tests(path: str, before: bytes | None, after: bytes | None) -> Iterator[str]:
    """Yield a text for each alteration (other than an addition) of a test file: `tests/test_a.py::test_x is changed`.

    Deleted tests are not reported here: `dodged_tests` finds them by their ids. Files that are not Python, or do not
    parse, are not compared.
    """
    old, new = (parse(data) if path.endswith(PYTHON) else None for data in (before, after))
    if new is None:
        return
    old = old or ast.Module([], [])
    yield from (f"{path}::{name} is changed, not only added to" for name in _altered(old, new, ""))
    if PurePosixPath(path).name == "conftest.py":
        added = set(_acting_on_all(new)).difference(dict(_named(old)))
        yield from (f"{path} adds {name}, which acts on every test" for name in sorted(added))


def _altered(old: ast.Module | ast.ClassDef, new: ast.Module | ast.ClassDef, prefix: str) -> Iterator[str]:
    """Yield the names of old definitions, and of imported or assigned names, that mean something else in `new`."""
    there = dict(_named(new))
    for name, node in _named(old):
        now = there.get(name)
        if isinstance(node, ast.ClassDef) and isinstance(now, ast.ClassDef):
            if not _same(node.bases, now.bases) or not _same(node.decorator_list, now.decorator_list):
                yield prefix + name
            yield from _altered(node, now, f"{prefix}{name}::")
        elif now is not None and not _extends(node, now):
            yield prefix + name


def _named(tree: ast.Module | ast.ClassDef) -> Iterator[tuple[str, ast.AST]]:
    """Yield the names that the statements of a module or class bind, each with the node that defines it."""
    for node in tree.body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name, node
            case ast.Import() | ast.ImportFrom():
                module = getattr(node, "module", "")
                yield from ((one.asname or one.name, ast.Constant(f"{module} {one.name}")) for one in node.names)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.expr() as value):
                yield name, value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value


def _acting_on_all(tree: ast.Module) -> Iterator[str]:
    """Yield the hooks and automatic fixtures of a conftest.py."""
    for name, node in _named(tree):
        decorators = node.decorator_list if isinstance(node, Function) else []
        if HOOK.fullmatch(name) or any("autouse" in ast.dump(one) for one in decorators):
            yield name


def _same(old: list[ast.expr], new: list[ast.expr]) -> bool:
    return [ast.dump(one) for one in old] == [ast.dump(one) for one in new]


def _extends(old: ast.AST, new: ast.AST, *, grow: bool = True) -> bool:
    """Return whether `new` is `old` with nothing but additions. `grow`: whether literals may have more elements."""
    if type(old) is not type(new) or isinstance(old, ast.Assert):
        return ast.dump(old) == ast.dump(new)
    if isinstance(old, Function) and isinstance(new, Function):
        return _extends_function(old, new, grow=grow)
    if grow and isinstance(old, ast.List | ast.Tuple | ast.Set):
        return _contained(old.elts, getattr(new, "elts", []))
    grow = grow and not isinstance(old, ast.Compare | ast.BoolOp | ast.With | ast.AsyncWith)
    fields = set(old._fields) - IGNORED
    return all(_fits(getattr(old, one), getattr(new, one), grow) for one in fields)


def _extends_function(old: Function, new: Function, *, grow: bool) -> bool:
    names = {node.id for node in ast.walk(old) if isinstance(node, ast.Name)}
    decorated = _fits(old.decorator_list, new.decorator_list, grow)
    return decorated and _fits(old.args, new.args, grow) and _follows(_body(old), _body(new), names)


def _fits(old: object, new: object, grow: bool) -> bool:  # noqa: FBT001 - passed on to `_extends`
    if isinstance(old, ast.AST) and isinstance(new, ast.AST):
        return _extends(old, new, grow=grow)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(_fits(*pair, grow) for pair in zip(old, new, strict=True))
    return old == new


def _contained(old: list[ast.expr], new: list[ast.expr]) -> bool:
    """Return whether the elements `old` are among `new`, in their order."""
    left = iter(new)
    return all(any(_extends(one, other) for other in left) for one in old)


def _follows(old: list[ast.stmt], new: list[ast.stmt], names: set[str]) -> bool:
    """Return whether the statements `old` are all in `new`, in order, and the other ones of `new` only check more.

    `names`: the names that the old test uses.
    """
    left = list(old)
    for statement in new:
        if left and _extends(left[0], statement):
            left.pop(0)
        elif not _only_checks(statement, names):
            return False
    return not left


def _body(function: Function) -> list[ast.stmt]:
    return function.body[1:] if ast.get_docstring(function) is not None else function.body


def _only_checks(statement: ast.stmt, names: set[str]) -> bool:
    """Return whether `statement` only asserts, or only assigns to names that are not in `names` (see `_follows`)."""
    if isinstance(statement, ast.Assign):
        return all(isinstance(target, ast.Name) and target.id not in names for target in statement.targets)
    if isinstance(statement, ast.With):
        return all(_asserts(item.context_expr) for item in statement.items)
    if isinstance(statement, ast.For):
        return all(_only_checks(one, names) for one in statement.body)
    return isinstance(statement, ast.Assert) or (isinstance(statement, ast.Expr) and _asserts(statement.value))


def _asserts(node: ast.expr) -> bool:
    called = node.func if isinstance(node, ast.Call) else None
    return bool(ASSERTING.match(last_name(called)))
