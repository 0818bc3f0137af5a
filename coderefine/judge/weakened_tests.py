"""Detect weakened tests in product files.

These are changed assertion helpers, and examples in docstrings that are changed, removed or skipped.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator

from coderefine.judge.change import Change, bound, statements
from coderefine.source import Function, docstring_examples

Helpers = Callable[[str, "bytes | None"], frozenset[str]]
"""Returns the qualified names of assertion helpers in a file, given its path and bytes (Protection.helpers)."""
Statement = tuple[str, ast.stmt]
"""The qualified name of the class that contains a statement ("": none), and the statement."""
Binding = tuple[str, str]
"""A name and its binding as text: the statement for a value, the origin for an import, "defined" for a definition."""
Example = tuple[str, str]
"""The source of a docstring example and its expected output, with normalised white space."""


def no_helpers(_path: str, _data: bytes | None) -> frozenset[str]:
    """Return no helpers; used for trees without tests."""
    return frozenset()


def weakened(change: Change, helpers: frozenset[str]) -> Iterator[str]:
    """Yield a reason for each assertion helper that is changed, or that reads a name whose binding is changed.

    `helpers`: the qualified names of the assertion helpers in the file.
    """
    if not helpers:
        return
    was, now = (list(_statements(tree or ast.Module([], []), "")) for tree in (change.old, change.new))
    for name in sorted(helpers):
        if _definition(was, name) != _definition(now, name):
            yield f"changes {name} in {change.path}, which asserts on behalf of the tests"


def _definition(statements: list[Statement], name: str) -> tuple[list[str], list[Binding]]:
    """Return all definitions of the qualified name `name`, and the module's bindings of the names that they read."""
    owner, _, plain = name.rpartition(".")
    own = [statement for prefix, statement in statements if prefix == owner]
    helpers = ast.Module([one for one in own if isinstance(one, Function) and one.name == plain], [])
    read = {node.id for node in ast.walk(helpers) if isinstance(node, ast.Name)}
    return [body for one in own for body in _bodies(one, plain)], list(_surroundings(statements, read))


def _bodies(statement: ast.stmt, name: str) -> list[str]:
    if isinstance(statement, Function) and statement.name == name:
        return [ast.dump(statement)]
    return [what for bound, what in _bindings(statement) if bound == name]


def _surroundings(statements: list[Statement], read: set[str]) -> Iterator[Binding]:
    for prefix, statement in statements:
        yield from (binding for binding in _bindings(statement) if not prefix and binding[0] in read)


def _statements(tree: ast.Module | ast.ClassDef, prefix: str) -> Iterator[Statement]:
    """Yield all statements outside functions. `prefix`: the qualified name of the class `tree`, "" for a module."""
    for statement in statements(tree):
        yield prefix, statement
        if isinstance(statement, ast.ClassDef):
            yield from _statements(statement, f"{prefix}.{statement.name}".strip("."))


def _bindings(statement: ast.stmt) -> Iterator[Binding]:
    if isinstance(statement, Function | ast.ClassDef):
        yield statement.name, "defined"
    elif isinstance(statement, ast.Import | ast.ImportFrom):
        module = getattr(statement, "module", "")
        for alias in statement.names:
            yield alias.asname or alias.name.partition(".")[0], f"{module} {alias.name}"
    else:
        yield from ((name, ast.dump(statement)) for part in _with_body(statement) for name in bound(part))


def _with_body(statement: ast.stmt) -> Iterator[ast.stmt]:
    """Yield the statement and, if it is a loop, all statements in it.

    The names that statements in a loop bind depend on the whole loop.
    """
    yield statement
    if isinstance(statement, ast.For | ast.AsyncFor | ast.While):
        yield from statements(statement)


def changed_examples(change: Change) -> Iterator[str]:
    """Yield a reason for each remaining module, class or function that loses a docstring example.

    Yield a reason, too, if a new example is skipped.
    """
    was, now = dict(_examples(change.old, "")), dict(_examples(change.new, ""))
    for name, examples in was.items():
        if name in now and examples - now[name]:
            yield f"changes the examples in the docstring of {name or change.path}"
    fresh = set[Example]().union(*now.values()).difference(*was.values())
    if any("+SKIP" in source.upper() for source, _ in fresh):
        yield f"skips a docstring example in {change.path}"


def _examples(node: ast.AST | None, name: str) -> Iterator[tuple[str, Counter[Example]]]:
    """Yield (qualified name, docstring examples) of the module, class or function `node` and of those inside it.

    The name of the module is "".
    """
    if isinstance(node, ast.Module | ast.ClassDef | Function):
        yield name, examples_in(ast.get_docstring(node) or "")
        for child in node.body:
            inner = getattr(child, "name", "")
            yield from _examples(child, f"{name}.{inner}" if name else inner)


def examples_in(text: str) -> Counter[Example]:
    """Count the doctest examples in a docstring or a text file."""
    found = docstring_examples(text) or ()
    return Counter((" ".join(one.source.split()), " ".join(one.want.split())) for one in found)
