"""The docs gate: public definitions without a docstring, and docstrings that describe arguments which do not exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from coderefine.config import Config
from coderefine.core import Ask, Check, Finding, Listen, Span, View
from coderefine.critics.source_files import sources
from coderefine.project import Interpreter, Place, Protection
from coderefine.source import Definition, Function, definitions, last_line, syntax

PARAMETER = re.compile(r"^\s*:(?:param|arg|parameter)(?: [^:\n]+?)? \*{0,2}(\w+)\s*:", re.MULTILINE)
"""Sphinx: `:param int count: …`."""
SECTION = re.compile(r"^( *)(?:Args|Arguments|Parameters):\s*\n((?:\1 +.*\n?|\s*\n)+)", re.MULTILINE)
"""Google: a section heading with its entries, which are indented below the heading."""
ENTRY = re.compile(r"^( +)\*{0,2}(\w+)(?: \([^)]*\))?:", re.MULTILINE)


class Docs:
    """Checks the files in scope that are not tests.

    Private definitions (`_name`) and definitions inside functions are left out.
    """

    name = "docs"
    gate = True

    def __init__(self, place: Place, _interpreter: Interpreter, config: Config, _listen: Listen) -> None:
        self._place = place
        self._protection = Protection.of(place, config)

    def check(self, view: View, ask: Ask) -> Check:
        texts = sources(view, self._place, ask.scope, self._protection.is_test)
        findings = tuple(finding for path, text in texts for finding in _findings(path, text))
        return Check(self.name, findings)


def _findings(path: str, text: str) -> Iterator[Finding]:
    tree = syntax(text)
    if tree is None:
        return
    if tree.body and not ast.get_docstring(tree):
        yield _finding("missing-docstring", path, "the module has no docstring", Span(1, 1), "")
    functions: set[str] = set()
    for name, node in definitions(tree):
        if isinstance(node, Function):
            functions.add(name)
        private = any(part.startswith("_") for part in name.split("."))
        if not private and name.rpartition(".")[0] not in functions:
            yield from _of(path, name, node)


def _of(path: str, name: str, node: Definition) -> Iterator[Finding]:
    span = Span(node.lineno, last_line(node))
    text = ast.get_docstring(node)
    # Overloads, setters and overrides are documented at the definition they belong to.
    decorators = " ".join(map(ast.unparse, node.decorator_list))
    if text is None:
        if not any(word in decorators for word in ("overload", ".setter", ".deleter", "override")):
            yield _finding("missing-docstring", path, f"{name} has no docstring", span, name)
    elif isinstance(node, Function) and not node.args.kwarg:  # `**kwargs` takes any argument
        args = node.args
        taken = (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg)
        for argument in sorted(described(text) - {item.arg for item in taken if item}):
            yield _finding("unknown-argument", path, f"{name} describes {argument}, which it does not take", span, name)


def described(text: str) -> set[str]:
    """Return the arguments that a docstring describes, in the style of Sphinx or Google."""
    found = set(PARAMETER.findall(text))
    for section in SECTION.finditer(f"{text}\n"):
        entries = ENTRY.findall(section[2])
        least = min((len(margin) for margin, _ in entries), default=0)
        found |= {name for margin, name in entries if len(margin) == least}
    return found


def _finding(rule: str, path: str, message: str, span: Span, symbol: str) -> Finding:
    instruction = "write a docstring" if rule == "missing-docstring" else "describe only arguments that exist"
    return Finding("docs", rule, path, message, span, symbol, instruction=instruction)
