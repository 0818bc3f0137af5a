"""Examples in docstrings are tests too: a patch may add some, but not change or lose those there are."""

from __future__ import annotations

import ast
import doctest
from collections import Counter
from collections.abc import Iterator

from coderefine.judge.change import Change

DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
Example = tuple[str, str]


def edited(change: Change) -> Iterator[str]:
    """Reasons, one per documented object that lost an example although it is still there."""
    was, now = _examples(change.old), _examples(change.new)
    for name, examples in was.items():
        if name in now and examples - now[name]:
            yield f"changes the examples in the docstring of {name or change.path}"
    fresh = set[Example]().union(*now.values()).difference(*was.values())
    if any("+SKIP" in source.upper() for source, _ in fresh):
        yield f"skips a docstring example in {change.path}"


def _examples(tree: ast.Module | None) -> dict[str, Counter[Example]]:
    found: dict[str, Counter[Example]] = {}
    _visit(tree, "", found)
    return found


def _visit(node: ast.AST | None, name: str, found: dict[str, Counter[Example]]) -> None:
    if isinstance(node, DOCUMENTED):
        found[name] = Counter(_parsed(ast.get_docstring(node) or ""))
        for child in node.body:
            inner = getattr(child, "name", "")
            _visit(child, f"{name}.{inner}" if name else inner, found)


def _parsed(text: str) -> Iterator[Example]:
    if ">>>" not in text:
        return
    try:
        examples = doctest.DocTestParser().get_examples(text)
    except ValueError:
        examples = []
    for example in examples:
        yield " ".join(example.source.split()), " ".join(example.want.split())
