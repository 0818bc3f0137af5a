"""Tests drafted by a model from what is asked for, before and apart from what is then written."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import PurePosixPath

from coderefine.core import Read, Task
from coderefine.llm.client import Client
from coderefine.llm.context import fenced, mark
from coderefine.llm.outline import parsed
from coderefine.llm.prompts import render
from coderefine.llm.reply import THOUGHT
from coderefine.llm.request import Message, Request
from coderefine.llm.task import given

BLOCK = re.compile(r"^```[\w-]*[ \t]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


def draft(client: Client, task: Task, prefix: str, read: Read) -> str:
    """A test module for `task.wanted[0]` as `read` has it at the start; "" when the model has none to offer.

    Raises what `Client.ask` raises.
    """
    path = task.wanted[0]
    before = read(path)
    shown = fenced("file", path, before, mark((before,))) if before else ""
    code = "\n".join(part for part in (given(task, read), shown) if part)
    system = render("drafter", module=module_of(path, prefix))
    user = render("drafts", code=code, path=path, goal=task.goal)
    messages = (Message("system", system), Message("user", user))
    return _tests(client.ask(Request("draft", messages, 0.2, reply_tokens=2048)).text)


def module_of(path: str, prefix: str) -> str:
    """The dotted name of the module at `path` in the project at `prefix` (".": the top)."""
    inner = path.removeprefix(f"{prefix}/").removeprefix("src/")
    parts = PurePosixPath(inner).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _tests(reply: str) -> str:
    """The first code block that holds tests."""
    found = (block for block in BLOCK.findall(THOUGHT.sub("", reply)) if _any(parsed(block), _is_test))
    return next(found, "")


def _any(tree: ast.Module | None, wanted: Callable[[ast.AST], bool]) -> bool:
    return tree is not None and any(wanted(node) for node in ast.walk(tree))


def _is_test(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test")
