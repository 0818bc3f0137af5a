"""Criteria of reviews: those of the configuration, and built-in sets, each a file of lines `- name: text`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from importlib.resources import files

from coderefine.config import Criterion

ENTRY = re.compile(r"^- ([\w-]+): (.+)$", re.MULTILINE)


def expanded(criteria: Iterable[Criterion]) -> tuple[Criterion, ...]:
    """Return `criteria`, with the criteria of a built-in set in place of its name.

    For example `readability` is replaced by `readability/naming` and others.
    """
    return tuple(dict.fromkeys(one for criterion in criteria for one in _members(criterion)))


def _members(criterion: Criterion) -> Iterator[Criterion]:
    if criterion.text:
        yield criterion
        return
    for name, text in built_in(criterion.name):
        yield replace(criterion, name=f"{criterion.name}/{name}", text=text)


@cache
def built_in(name: str) -> tuple[tuple[str, str], ...]:
    """Return (name, text) of each criterion in the built-in set `name`."""
    text = (files(__package__) / f"{name}.md").read_text("utf-8")
    return tuple((entry[1], entry[2]) for entry in ENTRY.finditer(text))
