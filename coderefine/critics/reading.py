"""Measurable aspects of readability: names, comments, size, and needlessly extracted functions.

This is advice: the score is used to compare attempts, and findings lead to further attempts, but no patch is blocked.
The metrics are those of Self-Refine (Madaan et al. 2023: meaningful names, comments, units of code), with an additional
penalty for splitting, because the number of units alone rewards too many small functions.
"""

from __future__ import annotations

import ast
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from coderefine.config import Config
from coderefine.core import Ask, Check, Finding, Listen, Severity, Span, View
from coderefine.critics.source_files import sources
from coderefine.project import Interpreter, Place, Protection
from coderefine.source import Function, definitions, last_line, syntax

LONGEST, DEEPEST, WIDEST = 40, 4, 6
"""Maxima that cause no finding: lines of a function, nesting depth of its blocks, number of its arguments."""
SILENT = 15
"""Maximum number of lines of a function without docstring and comments that causes no finding."""
FRAGMENT = 2
"""A private function that is called once is a fragment if it has at most this many statements."""
USUAL = frozenset("ijkxyzn_") | {"fn", "id", "db", "os", "re", "io", "ok", "to", "by", "at", "up", "is", "in", "go"}
BEST, COST = 5.0, {"name": 0.25, "long": 0.5, "deep": 0.5, "wide": 0.25, "silent": 0.25, "fragment": 0.5}
"""Score of code without findings, and penalty of each finding by rule."""
BLOCKS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.Match)


class Reading:
    """Checks the files in scope that are neither tests nor protected."""

    name = "reading"
    gate = False

    def __init__(self, place: Place, _interpreter: Interpreter, config: Config, _listen: Listen) -> None:
        self._place = place
        self._protection = Protection.of(place, config)

    def check(self, view: View, ask: Ask) -> Check:
        """Check the files; `total` is 5 minus the penalties of the findings, at least 1."""
        began = time.monotonic()
        is_test, reason = self._protection.is_test, self._protection.reason
        texts = sources(view, self._place, ask.scope, lambda path: is_test(path) or reason(path) is not None)
        findings = tuple(remark for path, text in texts for remark in remarks(path, text))
        total = max(1.0, BEST - sum(COST[finding.rule] for finding in findings))
        seconds = time.monotonic() - began
        counted = Counter(finding.rule for finding in findings)
        note = f"{total:g} of 5" + (f": {', '.join(f'{rule} ×{n}' for rule, n in counted.items())}" if counted else "")
        return Check(self.name, findings, seconds=seconds, gate=False, total=total, notes=(note,))


def remarks(path: str, text: str) -> Iterator[Finding]:
    """Yield the findings on the code at `path`, function by function; none if it does not parse."""
    tree = syntax(text)
    lines = text.splitlines()
    uses = _uses(tree) if tree else {}
    for name, node in definitions(tree) if tree else ():
        if isinstance(node, Function):
            span = Span(node.lineno, last_line(node))
            for rule, message, instruction in _remarks(name, node, lines, uses):
                yield Finding("reading", rule, path, message, span, name, "", instruction, Severity.SOFT)


Remark = tuple[str, str, str]
"""Rule, message, instruction."""


def _remarks(
    name: str, node: ast.FunctionDef | ast.AsyncFunctionDef, lines: list[str], uses: Mapping[str, int]
) -> Iterator[Remark]:
    length = last_line(node) - node.lineno + 1
    yield from _sizes(name, node, length)
    if short := _short(node):
        yield "name", f"{name} uses {', '.join(short)}", "name them after their content"
    commented = any("#" in line for line in lines[node.lineno - 1 : node.end_lineno])
    if length > SILENT and not ast.get_docstring(node) and not commented:
        yield "silent", f"{name}: {length} lines without docstring or comment", "describe its purpose or its reasons"
    if _fragment(node) and uses.get(node.name) == 1:
        yield "fragment", f"{name} is called once and does little", "inline it"


def _sizes(name: str, node: ast.FunctionDef | ast.AsyncFunctionDef, length: int) -> Iterator[Remark]:
    if length > LONGEST:
        yield "long", f"{name} has {length} lines", "extract a part that makes sense alone"
    if (depth := _depth(node)) > DEEPEST:
        yield "deep", f"{name} nests {depth} blocks", "return early, or combine nested conditions"
    if (width := len(node.args.args) + len(node.args.kwonlyargs)) > WIDEST:
        yield "wide", f"{name} takes {width} arguments", "group those that belong together"


def _depth(node: ast.AST) -> int:
    inner = (child for child in ast.iter_child_nodes(node) if not isinstance(child, Function | ast.ClassDef))
    return max((_depth(child) + isinstance(child, BLOCKS) for child in inner), default=0)


def _short(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """Return the names of one or two letters that a function of more than three lines binds, except usual ones."""
    if last_line(node) - node.lineno <= 2:
        return []
    inner = [item for statement in node.body for item in ast.walk(statement)]
    bound = {item.arg for item in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
    bound |= _names(item for item in inner if isinstance(getattr(item, "ctx", None), ast.Store))
    return sorted(name for name in bound - _brief(inner) - USUAL if len(name) < 3)


def _brief(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that comprehensions bind."""
    targets = (node.target for node in nodes if isinstance(node, ast.comprehension))
    return {name for target in targets for name in _names(ast.walk(target))}


def _names(nodes: Iterable[ast.AST]) -> set[str]:
    return {node.id for node in nodes if isinstance(node, ast.Name)}


def _fragment(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether the function is private, has at most FRAGMENT statements, and none of these is one of BLOCKS."""
    body = node.body[1:] if ast.get_docstring(node) else node.body
    simple = all(not isinstance(statement, BLOCKS) for statement in body)
    return node.name.startswith("_") and not node.name.startswith("__") and simple and len(body) <= FRAGMENT


def _uses(tree: ast.Module) -> Mapping[str, int]:
    """Count the uses of each name, calls and references alike."""
    names: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            names[node.id] += 1
        elif isinstance(node, ast.Attribute):
            names[node.attr] += 1
    return names
