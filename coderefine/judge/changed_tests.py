"""Distinguish changes that only add to tests from changes that may weaken them.

Whether a changed test demands as much as before cannot be decided in general. A change counts as an addition if every
statement of the old file is still there, in its place: a table of cases may get more rows, a test more assertions, and
a file more definitions. Additions that act on old tests (hooks, preparations, replaced functions, hidden names) are
reported, too.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from coderefine.core import Attempt, Case, Status
from coderefine.judge.acting import acting_statements, replaces
from coderefine.judge.change import PYTHON, bound, name_set, own_nodes, parse, statements
from coderefine.judge.changed_data import grown
from coderefine.judge.score import gone
from coderefine.source import Definition, Function, bound_names, last_name

ASSERTING = re.compile(r"_*assert([A-Z_]|$)|raises$|warns$|approx$")
IGNORED = frozenset({"returns", "annotation", "type_comment", "type_params", "ctx"})
"""Fields of syntax nodes that do not change what a test demands."""
DODGED = {Status.SKIPPED: "skipped", Status.XFAILED: "expected to fail"}
HOOK = re.compile(r"pytest_\w+|collect_ignore(_glob)?")
ACTING_MARK = re.compile("usefixtures|filterwarnings|flaky")
FIXTURE_NAME = re.compile(r"keyword\(arg='name', value=Constant\(value='(\w+)'")
"""Matches the name that a decorator, as text of `ast.dump`, gives to a fixture."""
SETUP = re.compile(r"(async)?(set_?up|tear_?down)(_?(class|method|module|function))?|run|__\w+__", re.IGNORECASE)
"""Names of functions that run for every test of a module or class."""
PREPARING = name_set("addCleanup seed super setUp setUpClass tearDown tearDownClass asyncSetUp asyncTearDown")
"""Functions that may be called to prepare every test."""
Module = ast.Module | ast.ClassDef


def dodged_tests(was: Attempt, alone: Attempt, last: Attempt, flaky: frozenset[str]) -> Iterator[str]:
    """Yield a text for each test that a patch deletes or skips, or changes so that it passes without the patch's code.

    `was`: the tree without the patch; `alone`: with the patch's tests, but without its code; `last`: with the whole
    patch.
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
    """Yield a text for each alteration of a test file (`tests/test_a.py::test_x is changed`).

    Additions are reported only if they act on other tests. Deleted tests are not reported here: `dodged_tests` finds
    them by their ids. If the new text of a Python file does not parse, nothing is reported.
    """
    if not path.endswith(PYTHON):
        yield from _changed_data(path, before, after)
        return
    old, new = map(parse, (before, after))
    if new is None:
        return
    old = old or ast.Module([], [])
    yield from (f"{path}::{name} is changed, not only added to" for name in _altered(old, new, ""))
    shared = PurePosixPath(path).name == "conftest.py"
    whom = "every test" if shared else "old tests" if old.body else "other tests"
    yield from (f"{path} adds {what}, which acts on {whom}" for what in acting_additions(old, new, shared=shared))


def _changed_data(path: str, before: bytes | None, after: bytes | None) -> Iterator[str]:
    if before is not None and not grown(path, before, after):
        yield f"{path} is {'deleted' if after is None else 'changed, not only added to'}"


def _altered(old: ast.Module | ast.ClassDef, new: ast.Module | ast.ClassDef, prefix: str) -> Iterator[str]:
    """Yield the names of old definitions, and imported or assigned names, that mean something else in `new`.

    `prefix`: text to put before each name.
    """
    was, there, expected = _grouped(old), _grouped(new, _rebound(new) - _rebound(old)), _expected(old)
    for name, before in was.items():
        now = there.get(name, [])
        same = len(before) == len(now)
        for node, after in zip(before, now, strict=False):
            if isinstance(node, ast.ClassDef) and isinstance(after, ast.ClassDef):
                same = same and _same(node.bases, after.bases) and _same(node.decorator_list, after.decorator_list)
                yield from _altered(node, after, f"{prefix}{name}::")
            else:
                same = same and _extends(node, after, grow=name not in expected)
        if now and not same:
            yield prefix + name


def _grouped(tree: Module, rebound: Iterable[str] = ()) -> Mapping[str, list[ast.AST]]:
    """Return the nodes that define each name.

    For a name in `rebound`, `tree` itself is added, so that the number of definitions shows that the name is rebound.
    """
    found: dict[str, list[ast.AST]] = {}
    for name, node in (*named(tree), *((name, tree) for name in rebound)):
        found.setdefault(name, []).append(node)
    return found


def _rebound(tree: Module) -> set[str]:
    """Return the names that loops, `with`, `del`, `:=`, patterns or handlers bind, or that functions declare global."""
    found = {name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names}
    for node in statements(tree):
        inner = [*own_nodes(node), *getattr(node, "handlers", ())]
        captures = (one.name for one in inner if isinstance(one, ast.ExceptHandler | ast.MatchAs | ast.MatchStar))
        found |= set(filter(None, captures))
        found |= {one.target.id for one in inner if isinstance(one, ast.NamedExpr)}
        if not isinstance(node, ast.Import | ast.ImportFrom | ast.Assign | ast.AnnAssign | ast.AugAssign | Definition):
            found |= set(bound(node))
    return found


def _expected(tree: ast.AST) -> set[str]:
    """Return the names that are compared, or passed to an assertion.

    These may be expected results, which must not get more elements. Tables of cases may.
    """
    sides = (side for node in ast.walk(tree) for side in _sides(node))
    return {side.id for side in sides if isinstance(side, ast.Name)}


def _sides(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    return node.args if isinstance(node, ast.Call) and _asserts(node) else []


def _same(old: list[ast.expr], new: list[ast.expr]) -> bool:
    return [ast.dump(one) for one in old] == [ast.dump(one) for one in new]


def _extends(old: ast.AST, new: ast.AST, *, grow: bool = True) -> bool:
    """Return whether `new` is `old` with nothing but additions. `grow`: whether literals may have more elements."""
    if type(old) is not type(new) or isinstance(old, ast.Assert):
        return ast.dump(old) == ast.dump(new)
    if isinstance(old, Function) and isinstance(new, Function):
        return _extends_function(old, new)
    if grow and isinstance(old, ast.List | ast.Tuple | ast.Set):
        return _contained(old.elts, getattr(new, "elts", []))
    fields = set(old._fields) - IGNORED
    return all(_fits(getattr(old, one), getattr(new, one), grow=_grows(old, one, grow=grow)) for one in fields)


def _grows(node: ast.AST, name: str, *, grow: bool) -> bool:
    """Return whether literals in the field `name` of `node` may have more elements."""
    if isinstance(node, ast.For):
        return name == "iter"
    return grow and not isinstance(node, ast.Compare | ast.BoolOp | ast.With | ast.AsyncWith)


def _extends_function(old: Function, new: Function) -> bool:
    names = {node.id for node in ast.walk(old) if isinstance(node, ast.Name)}
    decorated = _fits(old.decorator_list, new.decorator_list, grow=True)
    same = decorated and _fits(old.args, new.args, grow=False)
    return same and _follows(_body(old), _body(new), names, _expected(old))


def _fits(old: object, new: object, *, grow: bool) -> bool:
    if isinstance(old, ast.AST) and isinstance(new, ast.AST):
        return _extends(old, new, grow=grow)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(_fits(*pair, grow=grow) for pair in zip(old, new, strict=True))
    return old == new


def _contained(old: list[ast.expr], new: list[ast.expr]) -> bool:
    """Return whether the elements `old` are among `new`, in their order."""
    left = iter(new)
    return all(any(_extends(one, other, grow=False) for other in left) for one in old)


def _follows(old: list[ast.stmt], new: list[ast.stmt], names: set[str], expected: set[str]) -> bool:
    """Return whether the statements `old` are all in `new`, in order, and the other ones of `new` only check more.

    `names`: the names that the old test uses. `expected`: those of them whose values must not get more elements.
    """
    left = list(old)
    for statement in new:
        if left and _extends(left[0], statement, grow=_is_table(left[0], expected)):
            left.pop(0)
        elif not _only_checks(statement, names):
            return False
    return not left


def _is_table(statement: ast.stmt, expected: set[str]) -> bool:
    """Return whether `statement` assigns literals that may have more elements."""
    return isinstance(statement, ast.Assign) and expected.isdisjoint(map(last_name, statement.targets))


def _body(function: Function) -> list[ast.stmt]:
    return function.body[1:] if ast.get_docstring(function) is not None else function.body


def _only_checks(statement: ast.stmt, names: set[str]) -> bool:
    """Return whether `statement` only asserts, or only assigns to names that are not in `names` (see `_follows`)."""
    if any(map(replaces, [statement, *statements(statement)])):
        return False
    match statement:
        case ast.Assign(targets=targets):
            return all(isinstance(target, ast.Name) and target.id not in names for target in targets)
        case ast.With(items=items):
            return all(_asserts(item.context_expr) for item in items)
        case ast.For(body=body):
            return all(_only_checks(one, names) for one in body)
        case ast.Expr(value=value):
            return _asserts(value)
    return isinstance(statement, ast.Assert)


def _asserts(node: ast.expr) -> bool:
    called = node.func if isinstance(node, ast.Call) else None
    return bool(ASSERTING.match(last_name(called)))


def acting_additions(old: ast.Module, new: ast.Module, *, shared: bool) -> Iterator[str]:
    """Yield the names of new definitions, and new statements, that act on old tests.

    `shared`: whether the file acts on tests of other files, as conftest.py does. If not, and if the file is new, only
    its statements are examined.
    """
    yield from (repr(ast.unparse(node)[:60]) for node in acting_statements(old, new))
    if shared or old.body:
        yield from sorted(set(_acting(old, new, shared=shared)))


def named(tree: Module) -> Iterator[tuple[str, ast.AST]]:
    """Yield the names that the statements of a module or class bind, each with the node that defines it."""
    for node in statements(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name, node
            case ast.Import() | ast.ImportFrom():
                module = getattr(node, "module", "")
                for one in node.names:
                    yield one.asname or one.name, ast.Constant(f"{module} {one.name}")
            case ast.Assign(targets=targets, value=value):
                yield from ((name, value) for target in targets for name in _stored(target))
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value


def _stored(target: ast.expr) -> list[str]:
    return [node.id for node in ast.walk(target) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]


def _acting(old: Module, new: Module, *, shared: bool) -> Iterator[str]:
    was, free, asked = dict(named(old)), _free_names(old), _parameters(old)
    for name, node in named(new):
        before = was.get(name)
        if isinstance(before, ast.ClassDef) and isinstance(node, ast.ClassDef):
            yield from (f"{name}.{inner}" for inner in _acting(before, node, shared=False))
        elif name not in was and (name in free or _acts(name, node, asked, shared=shared)):
            yield "import *" if name == "*" else name


def _acts(name: str, node: ast.AST, asked: set[str], *, shared: bool) -> bool:
    """Return whether a new definition runs for old tests. `asked`: the parameters of old tests, which name fixtures.

    `shared`: as in `acting_additions`.
    """
    if name == "pytestmark":
        return bool(ACTING_MARK.search(ast.dump(node)))
    if name == "*" or HOOK.fullmatch(name):
        return True
    made = " ".join(map(ast.dump, node.decorator_list if isinstance(node, Function) else [node]))
    if isinstance(node, Function) and ("autouse" in made or SETUP.fullmatch(name)):
        return shared or not _only_prepares(node)
    return "fixture" in made and not asked.isdisjoint([name, *FIXTURE_NAME.findall(made)])


def _only_prepares(function: Function) -> bool:
    """Return whether a function only sets attributes of the test and variables, and calls functions in PREPARING."""
    calls = (node for node in ast.walk(function) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call))
    known = all(last_name(call.value.func) in PREPARING for call in calls)  # type: ignore[attr-defined]
    return known and not any(map(replaces, statements(ast.Module(function.body, []))))


def _free_names(tree: Module) -> set[str]:
    """Return the built-in names that `tree` uses and does not bind; for a class, also the attributes of `self`."""
    every = list(ast.walk(tree))
    read = {node.id for node in every if isinstance(node, ast.Name)}.intersection(dir(builtins))
    read = read.difference(*map(bound_names, every))
    if isinstance(tree, ast.ClassDef):
        read |= {node.attr for node in every if isinstance(node, ast.Attribute) and last_name(node.value) == "self"}
    return read


def _parameters(tree: Module) -> set[str]:
    return {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)} - {"self", "cls"}
