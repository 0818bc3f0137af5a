"""The texts of the prompts, each in a Markdown file with fields `$name`; a missing or unknown field is an error."""

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
    """Return the names of the fields (`$name`) in the text of prompt `name`."""
    return frozenset(FIELD.findall(_text(name)))


def render(name: str, **values: str) -> str:
    """Return prompt `name` with its fields replaced by `values`, whose texts are not searched for fields.

    Raises KeyError for a field without a value, or a value without a field.
    """
    wanted = fields(name)
    if wanted != values.keys():
        raise KeyError(f"prompt {name!r} has the fields {sorted(wanted)}, not {sorted(values)}")
    return FIELD.sub(lambda match: values[match[1]], _text(name))


def system_message(task: Task) -> str:
    """Return the system message of a request for edits."""
    return render("system", role=task.role or render("role"), task=task_text(task))


def task_text(task: Task) -> str:
    """Return the goal and the rules of the task, each on a line; "" if the task has none."""
    lines = [f"\nThe task: {task.goal}"] if task.goal else []
    return "".join((*lines, *(f"\n- {rule}" for rule in task.rules)))
