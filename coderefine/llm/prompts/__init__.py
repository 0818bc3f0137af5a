"""The texts of the prompts, each in a Markdown file with fields `$name`; and the built-in criteria of reviews."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from importlib.resources import files

from coderefine.config import Criterion
from coderefine.core import Task

FIELD = re.compile(r"\$([a-z_]+)")
CRITERION = re.compile(r"^- ([\w-]+): (.+)$", re.MULTILINE)
"""Matches a criterion of a built-in set, which is a file of lines `- name: text`."""


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


def expanded(criteria: Iterable[Criterion]) -> tuple[Criterion, ...]:
    """Return `criteria`, with the criteria of a built-in set in place of its name.

    For example `readability` is replaced by `readability/naming` and others.
    """
    found: list[Criterion] = []
    for one in criteria:
        members = () if one.text else CRITERION.findall(_text(f"criteria/{one.name}"))
        found += [replace(one, name=f"{one.name}/{name}", text=text) for name, text in members] or [one]
    return tuple(dict.fromkeys(found))
