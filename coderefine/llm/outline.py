"""A Python file as a model needs it: the relevant functions in full, the others as signatures."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeGuard

from coderefine.source import syntax

SHORT = 3
"""Body lines up to which leaving a function out would save nothing."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Part:
    """A function: qualified name, lines `first`..`last` with decorators, and the line its body starts at."""

    name: str
    first: int
    body: int
    last: int


@lru_cache(maxsize=8)
def functions(text: str) -> tuple[Part, ...]:
    """The functions and methods of `text`, nested ones within their outer one; empty when it does not parse."""
    tree = parsed(text)
    return tuple(_parts(tree, "")) if tree else ()


def parsed(text: str) -> ast.Module | None:
    """The syntax tree of `text`, None when Python cannot read it."""
    return syntax(text)


def _parts(node: ast.AST, prefix: str) -> Iterator[Part]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function):
            first = min([child.lineno, *(item.lineno for item in child.decorator_list)])
            yield Part(prefix + child.name, first, child.body[0].lineno, child.end_lineno or child.lineno)
        elif isinstance(child, ast.ClassDef):
            yield from _parts(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.If | ast.Try | ast.With):
            yield from _parts(child, prefix)


def outline(text: str, keep: Collection[str]) -> str:
    """`text` with the bodies of all functions but `keep` (qualified names) left out; kept lines are verbatim."""
    lines = text.split("\n")
    for part in sorted(functions(text), key=lambda part: -part.first):
        count = part.last - part.body + 1
        if part.name not in keep and count > SHORT and part.body > part.first:
            line = lines[part.body - 1]
            indent = line[: len(line) - len(line.lstrip())]
            lines[part.body - 1 : part.last] = [f"{indent}... {count} lines"]
    return "\n".join(lines)


def narrow(text: str, keep: Collection[str]) -> str:
    """For a very long `text`: imports, the functions `keep` and the heads of their classes, nothing else."""
    tree = parsed(text)
    if tree is None:
        return text
    chosen = frozenset[int]().union(*_wanted(tree, text, keep))
    return "\n".join(_with_gaps(text.split("\n"), chosen))


def _wanted(tree: ast.Module, text: str, keep: Collection[str]) -> Iterator[range]:
    """Ranges of 1-based line numbers: imports, the functions `keep`, and the first lines of their classes."""
    yield from (range(part.first, part.last + 1) for part in functions(text) if part.name in keep)
    yield from (_numbers(node) for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom))
    classes = {part for name in keep for part in name.split(".")[:-1]}
    yield from (range(node.lineno, node.lineno + 1) for node in ast.walk(tree) if _is_class(node, classes))


def _is_class(node: ast.AST, names: Collection[str]) -> TypeGuard[ast.ClassDef]:
    return isinstance(node, ast.ClassDef) and node.name in names


def _numbers(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _with_gaps(lines: Sequence[str], chosen: Collection[int]) -> Iterator[str]:
    """The `chosen` 1-based lines, and for each run of others how many they are."""
    missing = 0
    for number, line in enumerate(lines, 1):
        if number not in chosen:
            missing += 1
            continue
        if missing:
            yield f"... {missing} lines"
        missing = 0
        yield line
    if missing:
        yield f"... {missing} lines"


def at_lines(text: str, wanted: Collection[int]) -> frozenset[str]:
    """Names of the functions that hold any of the 1-based lines `wanted`."""
    return frozenset(part.name for part in functions(text) if any(part.first <= line <= part.last for line in wanted))


def called(text: str, names: Collection[str]) -> frozenset[str]:
    """Names of the functions of `text` whose last part is in `names`; a class's name brings its methods."""
    return frozenset(
        part.name
        for part in functions(text)
        if names & frozenset(part.name.split("."))  # type: ignore[operator]
    )


def used(source: str) -> frozenset[str]:
    """Every name and attribute that occurs in `source`; empty when it does not parse."""
    tree = parsed(source)
    if tree is None:
        return frozenset()
    return frozenset(
        node.id if isinstance(node, ast.Name) else node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Name | ast.Attribute)
    )
