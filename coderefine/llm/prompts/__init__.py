"""Prompts as files: one Markdown file each, `$name` fields filled strictly."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from coderefine.core import Task

FIELD = re.compile(r"\$([a-z_]+)")


@cache
def _text(name: str) -> str:
    return (files(__package__) / f"{name}.md").read_text("utf-8").rstrip("\n")


def fields(name: str) -> frozenset[str]:
    """The fields that prompt `name` needs."""
    return frozenset(FIELD.findall(_text(name)))


def names() -> tuple[str, ...]:
    """Every prompt there is."""
    return tuple(sorted(path.name[:-3] for path in files(__package__).iterdir() if path.name.endswith(".md")))


def render(name: str, **values: str) -> str:
    """Prompt `name` with its fields filled; values are put in as they are, never read again.

    Raises KeyError for a field without a value, or a value without a field: both are our bugs.
    """
    wanted = fields(name)
    if wanted != values.keys():
        raise KeyError(f"prompt {name!r} has the fields {sorted(wanted)}, not {sorted(values)}")
    return FIELD.sub(lambda match: values[match[1]], _text(name))


def system_message(task: Task) -> str:
    """The system message of a request for edits."""
    return render("system", role=task.role or render("role"), task=task_text(task))


def task_text(task: Task) -> str:
    """The task in words, on lines of their own; empty when it has none."""
    lines = [f"\nThe task: {task.goal}"] if task.goal else []
    return "".join((*lines, *(f"\n- {rule}" for rule in task.rules)))
