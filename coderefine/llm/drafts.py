"""Let a model draft tests from the request, before and independently of the implementation."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection
from pathlib import PurePosixPath
from typing import TypeGuard

from coderefine.core import Read, Task
from coderefine.llm.client import Client
from coderefine.llm.context import given_files
from coderefine.llm.model_request import Message, ModelRequest
from coderefine.llm.normalize import fenced, mark
from coderefine.llm.prompts import render
from coderefine.llm.reply import THOUGHT
from coderefine.source import syntax

BLOCK = re.compile(r"^```[\w-]*[ \t]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


def draft(client: Client, task: Task, prefix: str, read: Read) -> str:
    """Return a test module for `task.wanted[0]`, which `read` reads; "" if the model's answer has none.

    Raises the errors of `Client.ask`.
    """
    path = task.wanted[0]
    before = read(path)
    shown = fenced("file", path, before, mark((before,))) if before else ""
    code = "\n".join(part for part in (given_files(task, read), shown) if part)
    system = render("drafter", module=module_of(path, prefix))
    user = render("drafts", code=code, path=path, goal=task.goal)
    messages = (Message("system", system), Message("user", user))
    return _tests(client.ask(ModelRequest("draft", messages, 0.2, reply_tokens=2048)).text)


def module_of(path: str, prefix: str) -> str:
    """Return the dotted name of the module at `path` in the project at `prefix` (".": the top)."""
    inner = path.removeprefix(f"{prefix}/").removeprefix("src/")
    parts = PurePosixPath(inner).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _tests(reply: str) -> str:
    """Return the first code block with tests."""
    return next((block for block in BLOCK.findall(THOUGHT.sub("", reply)) if tests_in(block)), "")


def tests_in(text: str) -> frozenset[str]:
    """Return the names of the test functions in `text`; none if it does not parse."""
    tree = syntax(text)
    return frozenset(node.name for node in ast.walk(tree) if _is_test(node)) if tree else frozenset()


def without(text: str, names: Collection[str]) -> str:
    """Remove the test functions `names` from `text`, and imports that are then unused."""
    tree = syntax(text)
    gone = [node for node in ast.walk(tree) if _is_test(node) and node.name in names] if tree else []
    left = _cut(text, gone)
    return _cut(left, _idle(left))


def _idle(text: str) -> list[ast.stmt]:
    """Return the unused imports of `text`."""
    tree = syntax(text)
    if tree is None:
        return []
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom) and not _brings(node) & used]


def _brings(node: ast.Import | ast.ImportFrom) -> set[str]:
    return {alias.asname or alias.name.partition(".")[0] for alias in node.names}


def _cut(text: str, gone: Collection[ast.stmt]) -> str:
    """Remove the statements `gone`, their decorators, and the blank lines above them from `text`."""
    lines = text.split("\n")
    for node in sorted(gone, key=lambda node: node.lineno, reverse=True):
        first = min((node.lineno, *(item.lineno for item in getattr(node, "decorator_list", ())))) - 1
        while first and not lines[first - 1].strip():
            first -= 1
        del lines[first : node.end_lineno]
    return "\n".join(lines).lstrip("\n")


def _is_test(node: ast.AST) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef]:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test")
