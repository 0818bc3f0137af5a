"""The critics that a task adds: they look for requested code, call the task's functions, and judge by its tests."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TypeVar

from coderefine.core import Ask, Check, Finding, Look, Read, Severity, Span, Task, View, WrappedTests
from coderefine.core.views import inside
from coderefine.critics.source_files import weighed
from coderefine.errors import CriticError
from coderefine.source import Definition, definitions, last_line, syntax, text_of, without_docstrings

STUB = "write this function: it is only a stub"
NO_PROOF = "none of your tests checks the new code: it is only proved that the gates pass"
Result = TypeVar("Result")


class RequestedCode:
    """Reports files and functions of `task.wanted` that are not written yet; other gates check their correctness.

    The first tree that is checked is the baseline with which later trees are compared.
    """

    name = "asked"
    gate = True

    def __init__(self, task: Task) -> None:
        self._task = task
        self._start: Mapping[str, str | None] = {}

    def check(self, view: View, ask: Ask) -> Check:
        """Return findings in all wanted files. All are hard, also outside the scope: the files were requested."""
        del ask
        texts = {path: text_of(view.read(path)) for path in self._task.wanted}
        self._start = self._start or texts
        findings = tuple(one for path, text in texts.items() for one in self._missing(path, text))
        code = any(path.endswith(".py") for path in texts)
        notes = (NO_PROOF,) if code and not self._task.judged else ()
        return Check(self.name, findings, notes=notes)

    def _missing(self, path: str, text: str | None) -> Iterator[Finding]:
        """Yield a finding for each stub that is still to be written.

        If the file had no stubs at the start, yield one for the file until its code has changed.
        """
        before = self._start[path]
        asked = {name for name, _ in stubs(before)}
        if not asked and (text is None or not text.strip() or _code(path, before) == _code(path, text)):
            message = f"{path} does not contain the requested code"
            yield Finding(self.name, "request", path, message, instruction="write it according to the task")
            return
        known = {name for name, _ in _definitions(before)} - asked
        for name, span in stubs(text):
            if name not in known:
                yield Finding(self.name, "stub", path, f"{name} is a stub", span, name, instruction=STUB)


def _definitions(text: str | None) -> Iterator[tuple[str, Definition]]:
    tree = syntax(text) if text else None
    yield from definitions(tree) if tree else ()


def _code(path: str, text: str | None) -> str | None:
    """Return Python code as a tree dump without docstrings and comments; return any other or invalid text unchanged."""
    tree = syntax(text) if text is not None and path.endswith(".py") else None
    return text if tree is None else ast.dump(without_docstrings(tree))


def stubs(text: str | None) -> Iterator[tuple[str, Span]]:
    """Yield functions of `text` that contain only a docstring, `...`, `pass` or NotImplementedError.

    Abstract methods, overloads and methods of a Protocol are left out.
    """
    protocols: set[ast.AST] = set()
    for name, node in _definitions(text):
        words = " ".join(map(ast.unparse, node.bases if isinstance(node, ast.ClassDef) else node.decorator_list))
        if isinstance(node, ast.ClassDef):
            protocols.update(ast.walk(node) if "Protocol" in words else ())
        elif node not in protocols and not re.search("abstract|overload", words) and all(map(_is_empty, node.body)):
            yield name, Span(node.lineno, last_line(node))


def _is_empty(node: ast.stmt) -> bool:
    if isinstance(node, ast.Raise):
        return node.exc is not None and "NotImplementedError" in ast.unparse(node.exc)
    return isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


@dataclass(frozen=True)
class AcceptanceTests(WrappedTests):
    """Makes the findings of tests outside `task.judged` soft: these tests may fail, but must not get worse."""

    task: Task

    def check(self, view: View, ask: Ask) -> Check:
        """Run the critic, and make the findings outside `task.judged` soft. Raises the errors of the critic."""
        check = self.critic.check(view, ask)
        findings = (
            one if inside(one.path, self.task.judged) else replace(one, severity=Severity.SOFT)
            for one in check.findings
        )
        return replace(check, findings=tuple(findings))


class FunctionGate:
    """A gate that calls a function of the task with a reader of the tree; the function yields findings."""

    gate = True

    def __init__(self, look: Look) -> None:
        self._look = look
        self.name = _name(look)

    def check(self, view: View, ask: Ask) -> Check:
        """Return the findings of the task's function. Raises CriticError if it fails, or gives anything else."""
        findings = []
        for one in _called(self.name, lambda: _all_of(self._look(reader(view)))):
            if not isinstance(one, Finding):
                raise CriticError(
                    f"{self.name} gave {one!r} instead of findings: yield coderefine.core.Finding objects"
                )
            if one.path.startswith(("/", "~")) or ".." in PurePosixPath(one.path).parts:
                raise CriticError(f"{self.name} gave a finding in {one.path!r}, which is outside this repository")
            findings.append(replace(one, critic=self.name))
        return Check(self.name, weighed(findings, ask.scope))


class Rewarded:
    """An adviser whose score is the result of `task.reward`.

    It has a finding, unless `task.enough` is a number and the score is at least that number.
    """

    gate = False

    def __init__(self, task: Task) -> None:
        self._task = task
        self.name = _name(task.reward)

    def check(self, view: View, ask: Ask) -> Check:
        """Score the tree with the task's reward function. Raises CriticError if it fails, or returns no number."""
        reward, enough = self._task.reward, self._task.enough
        assert reward is not None, "only made for tasks that have one"
        result = _called(self.name, lambda: reward(reader(view)))
        score, advice = result if isinstance(result, tuple) else (result, "")
        if not isinstance(score, int | float):
            raise CriticError(f"{self.name} gave {score!r} instead of a number")
        check = Check(self.name, gate=False, total=float(score), notes=(f"scored {score:g}",))
        wanted = ""
        if isinstance(enough, float | int):
            if score >= enough:
                return check
            wanted = f" ({enough:g} is enough)"
        path = next(iter((*self._task.wanted, *self._task.files, *ask.scope)))
        message = f"scores {score:g}{wanted}"
        remark = Finding(self.name, "score", path, message, instruction=advice, severity=Severity.SOFT)
        return replace(check, findings=(remark,))


def reader(view: View) -> Read:
    """Return a function that reads the files of a tree as text, by repo-relative path."""
    return lambda path: text_of(view.read(path))


def _all_of(found: object) -> tuple[object, ...]:
    """Convert the result of a gate's function to a tuple; a string counts as a single item."""
    return tuple(found) if isinstance(found, Iterable) and not isinstance(found, str | bytes) else (found,)


def _name(function: object) -> str:
    return getattr(function, "__name__", type(function).__name__).strip("_<>").replace("_", "-") or "check"


def _called(name: str, function: Callable[[], Result]) -> Result:
    try:
        return function()
    except Exception as error:  # foreign code may raise anything: it then gives no verdict
        raise CriticError(f"{name} failed: {type(error).__name__}: {error}") from error
