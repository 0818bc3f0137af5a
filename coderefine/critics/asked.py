"""The seed of a task that begins with nothing: what is asked for is a finding until it is there."""

from __future__ import annotations

import ast
import time
from collections.abc import Iterator, Mapping

from coderefine.core import Ask, Check, Finding, Span, Task, View
from coderefine.critics.symbols import Function, definitions, parse, without_docstrings
from coderefine.llm.context import text_of

STUB = "write this function: as it stands it says what is wanted and does nothing"
NO_PROOF = "no test of yours judges what is written: nothing is proved but that the gates are content"


class Asked:
    """Looks at `task.wanted` alone. Whether what has been written is right is for other gates to say.

    The first tree it sees is the start, with which it compares the others.
    """

    name = "asked"
    gate = True

    def __init__(self, task: Task) -> None:
        self._task = task
        self._start: Mapping[str, str | None] = {}

    def check(self, view: View, ask: Ask) -> Check:
        """Findings in any of the wanted files: they are what was asked about."""
        del ask
        began = time.monotonic()
        texts = {path: text_of(view.read(path)) for path in self._task.wanted}
        self._start = self._start or texts
        findings = tuple(one for path, text in texts.items() for one in self._missing(path, text))
        code = any(path.endswith(".py") for path in texts)
        notes = (NO_PROOF,) if code and not self._task.judged else ()
        return Check(self.name, findings, seconds=time.monotonic() - began, notes=notes)

    def _missing(self, path: str, text: str | None) -> Iterator[Finding]:
        """Stubs that are not written; without any at the start, the file itself as long as nothing new is in it."""
        before = self._start[path]
        asked = {name for name, _ in stubs(before)}
        if not asked and (text is None or not text.strip() or not _more(path, before, text)):
            message = f"{path} does not hold what is asked for"
            yield Finding(self.name, "request", path, message, instruction="write it, as the task says")
            return
        known = _names(before) - asked
        yield from (_stub(path, name, span) for name, span in stubs(text) if name not in known)


def _more(path: str, before: str | None, text: str) -> bool:
    """Whether there is other code (docstrings and comments aside) than at the start."""
    if not path.endswith(".py") or before is None:
        return before != text
    return _code(before) != _code(text)


def _names(text: str | None) -> set[str]:
    tree = parse(text) if text else None
    return {name for name, _ in definitions(tree)} if tree else set()


def stubs(text: str | None) -> Iterator[tuple[str, Span]]:
    """Functions of `text` that hold nothing but a docstring, `...`, `pass` or NotImplementedError.

    Abstract methods, overloads and the methods of a Protocol are meant to be so.
    """
    tree = parse(text) if text else None
    meant = _meant(tree) if tree else frozenset()
    for name, node in definitions(tree) if tree else ():
        if isinstance(node, Function) and _empty(node) and node.lineno not in meant:
            yield name, Span(node.lineno, node.end_lineno or node.lineno)


def _meant(tree: ast.Module) -> frozenset[int]:
    """Lines of the functions that may be empty."""
    found = frozenset(
        inner.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and any("Protocol" in ast.unparse(base) for base in node.bases)
        for inner in ast.walk(node)
        if isinstance(inner, Function)
    )
    return found | {node.lineno for node in ast.walk(tree) if isinstance(node, Function) and _marked(node)}


def _marked(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    marks = " ".join(ast.unparse(item) for item in node.decorator_list)
    return "abstract" in marks or "overload" in marks


def _empty(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return all(_nothing(statement) for statement in node.body)


def _nothing(node: ast.stmt) -> bool:
    if isinstance(node, ast.Raise):
        return node.exc is not None and "NotImplementedError" in ast.unparse(node.exc)
    return isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def _code(text: str) -> str:
    """`text` as a tree without docstrings; as it is when it does not parse."""
    tree = parse(text)
    return text if tree is None else ast.dump(without_docstrings(tree))


def _stub(path: str, name: str, span: Span) -> Finding:
    return Finding("asked", "stub", path, f"{name} is a stub", span, name, instruction=STUB)
