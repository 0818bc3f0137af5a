"""What a patch changes besides what was asked: allowed when the gates agree, but not unsaid."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from coderefine.core import Attempt, Coverage, Finding
from coderefine.judge.normal import PYTHON, Function, parse
from coderefine.judge.score import TESTS, collected, flipped


@dataclass(frozen=True, slots=True)
class _Part:
    """A function: what it does (docstring and nested names included in the dump), and its lines."""

    does: str
    lines: range


def beside(
    candidate: Attempt,
    baseline: Attempt,
    findings: Iterable[Finding],
    originals: Mapping[str, bytes | None],
) -> tuple[str, ...]:
    """`path: function` of each function that existed, now does something else, and that nobody asked about.

    Asked about is what a finding names, what lies in a file that a finding names as a whole, and what a repaired
    test runs. Nothing is claimed without coverage of the candidate's tests.
    """
    if candidate.coverage is None:
        return ()
    ran = _ran(candidate.coverage, flipped(candidate, baseline))
    named = {(item.path, item.symbol) for item in findings if item.critic != TESTS}
    return tuple(
        f"{path}: {name}"
        for path, after in candidate.patch.files.items()
        for name, part in _changed(path, originals.get(path), after)
        if not _asked(path, name, named) and ran(path).isdisjoint(part.lines[1:])
    )


def _ran(coverage: Coverage, tests: Iterable[str]) -> Callable[[str], frozenset[int]]:
    """By path, the lines that one of `tests` ran. (A function's first line is run by its definition.)"""
    files = [lines for test, lines in coverage.items() if _within(test, tests)]
    return cache(lambda path: frozenset[int]().union(*(lines.get(path, ()) for lines in files)))


def _within(test: str, repaired: Iterable[str]) -> bool:
    """Whether `test` is one of `repaired`, or collected from a module that could not be collected before."""
    return any(test == one or collected(test, one) for one in repaired)


def _asked(path: str, name: str, named: Iterable[tuple[str, str]]) -> bool:
    return any(
        where == path and (not symbol or symbol == name or _inside(name, symbol) or _inside(symbol, name))
        for where, symbol in named
    )


def _inside(inner: str, outer: str) -> bool:
    return inner.startswith(f"{outer}.")


def _changed(path: str, before: bytes | None, after: bytes | None) -> Iterator[tuple[str, _Part]]:
    """Functions of both texts that do something else in the second."""
    old, new = (parse(data) if path.endswith(PYTHON) else None for data in (before, after))
    if old is None or new is None:
        return
    was = dict(_parts(old, ""))
    for name, part in _parts(new, ""):
        if name in was and was[name].does != part.does:
            yield name, part


def _parts(node: ast.AST, prefix: str) -> Iterator[tuple[str, _Part]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function):
            yield prefix + child.name, _Part(_does(child), range(child.lineno, (child.end_lineno or child.lineno) + 1))
        elif isinstance(child, ast.ClassDef):
            yield from _parts(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.If | ast.Try):
            yield from _parts(child, prefix)


def _does(node: Function) -> str:
    """The function without its docstring: that says, it does not do."""
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    return "".join(ast.dump(part) for part in (node.args, *node.decorator_list, *body))
