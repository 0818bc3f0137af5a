"""Find functions outside the test files that assert on behalf of tests: no patch may change them.

A library function may raise AssertionError too, and tests may call it. Only such a function counts as a helper:

- it asserts (`assert`, `raise AssertionError`, `pytest.fail`, a call of `assert…`), and does nothing else: it returns
  no value, stores nothing outside and raises nothing but AssertionError (if its name begins with `assert`, it need
  only assert; a context manager may have a `yield` without a value);
- a test file calls it as a statement, or as a context manager in a `with` statement, and no test file expects an
  AssertionError from it (that would be a test of it);
- no other code of the project calls it.

Private functions and constants of the same module that only helpers use count as well. Fixtures, hooks of pytest and
methods of a `…TestCase` are always helpers.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from coderefine.import_graph import walk
from coderefine.source import Function, last_name, outer_functions, syntax

NAMED = re.compile(r"_*assert(_|[A-Z]|$)")
ASSERTS = re.compile(r"_*assert([A-Z_]|$)|fail$|fail_")
RAISES = re.compile(r"raises|assertRaises(Regex)?|assert_raises\w*")
HOOK = re.compile(r"pytest_[a-z]\w*")
MANAGERS = ("contextmanager", "asynccontextmanager")
CASE = re.compile(r"\w*TestCase")


@dataclass(frozen=True, slots=True)
class Uses:
    """The names of functions that one file calls.

    `stated`: called as a whole statement, or as a context manager; `expected`: called where an AssertionError is
    expected.
    """

    called: frozenset[str] = frozenset()
    stated: frozenset[str] = frozenset()
    expected: frozenset[str] = frozenset()


@dataclass(slots=True)
class AssertionHelpers:
    """Finds helpers in the project at `top`; each file is read once, when it is first needed."""

    top: Path
    is_test: Callable[[str], bool]
    _texts: dict[str, bytes] = field(default_factory=dict, init=False)
    _uses: dict[str, Uses] = field(default_factory=dict, init=False)
    _known: dict[tuple[str, bytes], frozenset[str]] = field(default_factory=dict, init=False)

    def names(self, path: str, data: bytes | None) -> frozenset[str]:
        """Return the names of the helpers in the file at `path` (content: `data`), and of constants that they read.

        Names of functions are qualified.
        """
        if data is None or not path.endswith(".py"):
            return frozenset()
        if (path, data) not in self._known:
            self._known[path, data] = frozenset(self._found(path, data))
        return self._known[path, data]

    def _found(self, path: str, data: bytes) -> Iterator[str]:
        tree = syntax(data)
        if tree is None:
            return
        defined = dict(outer_functions(tree))
        helpers = set(_framework(tree, defined))
        likely = {name: node for name, node in defined.items() if name not in helpers and _asserting(node)}
        outside = _called_outside(tree, likely.values())
        helpers |= {name for name, node in likely.items() if node.name not in outside and self._serves(path, node.name)}
        yield from helpers
        yield from _only_used_by(helpers, tree, defined)

    def _serves(self, path: str, name: str) -> bool:
        """Return whether tests call the function `name` of `path` as a helper, and no other file calls it.

        A call must be a whole statement or a context manager, unless the name matches NAMED. Return False if a test
        calls the function where an AssertionError is expected.
        """
        serving = False
        for other in self.mentioning(name):
            if other == path:
                continue
            use, is_test = self._use(other), self.is_test(other)
            if name in (use.expected if is_test else use.called):
                return False
            serving = serving or (is_test and name in (use.called if NAMED.match(name) else use.stated))
        return serving

    def mentioning(self, name: str) -> Iterator[str]:
        """Return the paths of the project's files that contain `name`."""
        if not self._texts:
            self._texts.update((file, self.read(file)) for file in walk(str(self.top)))
        wanted = name.encode()
        return (file for file, data in self._texts.items() if wanted in data)

    def read(self, path: str) -> bytes:
        """Return the content of a file of the project; empty if it cannot be read."""
        try:
            return (self.top / path).read_bytes()
        except OSError:
            return b""

    def _use(self, path: str) -> Uses:
        if path not in self._uses:
            self._uses[path] = _uses(syntax(self._texts[path]))
        return self._uses[path]


def _uses(tree: ast.Module | None) -> Uses:
    nodes = list(ast.walk(tree)) if tree else []
    stated = {_called(node.value) for node in nodes if isinstance(node, ast.Expr)}
    stated |= {_called(node.context_expr) for node in nodes if isinstance(node, ast.withitem)}
    expected = {name for node in nodes for name in _expected(node)}
    return Uses(frozenset(map(_called, nodes)), frozenset(stated), frozenset(expected))


def _expected(node: ast.AST) -> Iterator[str]:
    """Yield names of functions that are called, or passed to `raises`, where AssertionError is expected."""
    if isinstance(node, ast.With | ast.AsyncWith) and _expects(node):
        yield from (_called(inner) for item in node.body for inner in ast.walk(item))
    yield from map(last_name, _handed(node))


def _expects(node: ast.With | ast.AsyncWith) -> bool:
    calls = (item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call))
    return any(RAISES.fullmatch(last_name(call.func)) and any(map(_assertion, call.args)) for call in calls)


def _handed(node: ast.AST) -> list[ast.expr]:
    """Return the callable passed to `raises(AssertionError, helper, …)`, as a list; empty for other nodes."""
    raising = isinstance(node, ast.Call) and RAISES.fullmatch(last_name(node.func)) and len(node.args) > 1
    return node.args[1:2] if isinstance(node, ast.Call) and raising and _assertion(node.args[0]) else []


def _assertion(kind: ast.expr) -> bool:
    return any(
        last_name(node) == "AssertionError" for node in ast.walk(kind) if isinstance(node, ast.Name | ast.Attribute)
    )


def _framework(tree: ast.Module, defined: Mapping[str, Function]) -> Iterator[str]:
    """Yield fixtures, hooks of pytest, and methods of test cases."""
    classes = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    cases = {node.name for node in classes if any(CASE.fullmatch(last_name(base)) for base in node.bases)}
    for name, node in defined.items():
        if _fixture(node) or HOOK.fullmatch(name) or name.rpartition(".")[0] in cases:
            yield name


def _fixture(function: Function) -> bool:
    return any("fixture" in last_name(getattr(item, "func", item)) for item in function.decorator_list)


def _asserting(function: Function) -> bool:
    """Return whether the function asserts, and does nothing else or has a name that begins with `assert`."""
    inner = [node for item in function.body for node in ast.walk(item)]
    if any(last_name(item) in MANAGERS for item in function.decorator_list):
        inner = [node for node in inner if not isinstance(node, ast.Yield) or node.value is not None]
    return any(map(_asserts, inner)) and (bool(NAMED.match(function.name)) or not any(map(_works, inner)))


def _asserts(node: ast.AST) -> bool:
    if isinstance(node, ast.Raise) and node.exc is not None:
        return _assertion(node.exc)
    return isinstance(node, ast.Assert) or bool(ASSERTS.match(_called(node)))


def _works(node: ast.AST) -> bool:
    """Return whether a node has an effect outside the function: a returned value, a change, another exception."""
    if isinstance(node, ast.Return):
        return node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None)
    if isinstance(node, ast.Raise):
        return node.exc is not None and not _assertion(node.exc)
    stores = isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load)
    return stores or isinstance(node, ast.Yield | ast.YieldFrom | ast.Global | ast.Nonlocal | ast.Await)


def _called_outside(tree: ast.Module, likely: Iterable[Function]) -> set[str]:
    """Return the names that the module calls outside the functions `likely`, which probably assert."""
    allowed = {id(inner) for one in likely for inner in ast.walk(one)}
    return {_called(node) for node in ast.walk(tree) if id(node) not in allowed}


def _only_used_by(helpers: set[str], tree: ast.Module, defined: Mapping[str, Function]) -> Iterator[str]:
    """Yield private functions that are named only in helpers or in each other.

    Also yield the constants of the module that the helpers and these functions read.
    """
    private = {name: node for name, node in defined.items() if node.name.startswith("_")}
    ours, before = set(helpers), 0
    while len(ours) > before:
        before = len(ours)
        only = _only_named_in([defined[one] for one in ours], tree)
        ours |= {name for name, node in private.items() if node.name in only}
    yield from ours - helpers
    named = {last_name(node) for one in ours for node in ast.walk(defined[one])} - {""}
    yield from named.intersection(_constants(tree))


def _only_named_in(functions: list[Function], tree: ast.Module) -> set[str]:
    within = {id(inner): inner for one in functions for inner in ast.walk(one)}
    return {*map(last_name, within.values())} - {last_name(node) for node in ast.walk(tree) if id(node) not in within}


def _constants(tree: ast.Module) -> Iterator[str]:
    """Yield the names that statements at module level bind."""
    for statement in tree.body:
        yield from map(last_name, _targets(statement))


def _targets(statement: ast.stmt) -> list[ast.expr]:
    if isinstance(statement, ast.Assign):
        return statement.targets
    return [statement.target] if isinstance(statement, ast.AnnAssign | ast.AugAssign) else []


def _called(node: ast.AST) -> str:
    """Return the last part of the name that `node` calls; "" if it is not a call."""
    inner = node.value if isinstance(node, ast.Await) else node
    return last_name(inner.func) if isinstance(inner, ast.Call) else ""
