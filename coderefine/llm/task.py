"""What a task adds to what a model is told."""

from __future__ import annotations

from coderefine.core import Read, Task
from coderefine.llm.context import fenced, mark
from coderefine.llm.normalize import cut
from coderefine.llm.prompts import render

GIVEN = 10_000
"""Characters of each given file that are shown."""


def system(task: Task) -> str:
    """The system message of an edit."""
    return render("system", role=task.role or render("role"), task=told(task))


def told(task: Task) -> str:
    """The task in words, on lines of their own; empty when it has none."""
    lines = [f"\nThe task: {task.goal}"] if task.goal else []
    return "".join((*lines, *(f"\n- {rule}" for rule in task.rules)))


def given(task: Task, read: Read) -> str:
    """The files the task gives, fenced: to be read, not to be changed."""
    texts = {path: text for path in task.given if (text := read(path))}
    sign = mark(texts.values())
    return "\n".join(fenced("given", path, cut(text, GIVEN), sign) for path, text in texts.items())
