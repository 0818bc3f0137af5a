"""Ask a model for the names and summaries of new functions. The model changes nothing else, and moves no statements."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from typing import Any

from coderefine.core import Event, Listen
from coderefine.errors import CoderefineError
from coderefine.llm.client import Client
from coderefine.llm.model_request import Message, ModelRequest
from coderefine.llm.normalize import fenced, mark
from coderefine.llm.prompts import render
from coderefine.llm.structured import ask_json, record
from coderefine.proposers.refactorings.blocks import Extraction
from coderefine.proposers.refactorings.extraction import NewFunction, summary_of
from coderefine.proposers.refactorings.names import Named, is_possible, name_for
from coderefine.proposers.refactorings.sequence import Draft
from coderefine.proposers.refactorings.trees import Unit

TEXT = {"type": "string"}
SCHEMA = record(
    "names",
    functions={
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"function": TEXT, "name": TEXT, "summary": TEXT},
            "required": ["function", "name", "summary"],
            "additionalProperties": False,
        },
    },
)
NAME = re.compile(r"_[a-z][a-z0-9_]*[a-z0-9]")
REPLY = 1024
"""Maximum number of tokens of an answer."""
SHARE = 0.5
"""Share of the requests of a run that may ask for names; the other requests are for repairs."""


PLACEHOLDER, CHEAP = "_part_", 0.2
"""Beginning of temporary names that say nothing; maximum cost of a temporary name, which the model will replace."""


def name_for_now(found: Extraction) -> Named:
    """Return a temporary name for a new function, and its cost, at most CHEAP. Later, the model gives the real name."""
    named = name_for(found)
    if named is not None:
        return named[0], min(named[1], CHEAP)
    names = (f"{PLACEHOLDER}{number}" for number in count(1))
    return next(name for name in names if name not in found.block.unit.reserved), CHEAP


class ModelNames:
    """Renames the new functions of drafts, with one request for each draft, until a request fails."""

    def __init__(self, client: Client, listen: Listen) -> None:
        self._client, self._listen = client, listen
        self._failed = False

    @property
    def ready(self) -> bool:
        """Return whether another request is allowed: no request has failed, and SHARE is not exceeded."""
        most = self._client.budget.limits.requests
        return not self._failed and (most is None or self._client.budget.used.requests + 1 <= SHARE * most)

    def __call__(self, draft: Draft) -> Draft | None:
        """Return the draft with the names of the model.

        Return None if the request fails, or if a name is missing, not allowed, or makes a line too long.
        """
        try:
            answer = ask_json(self._client, _request(draft))
        except CoderefineError as error:
            self._failed = True
            self._listen(Event("note", f"new functions have the names that follow from their code: {error}"))
            return None
        given = {one["function"]: one for one in answer["functions"]}
        for function in draft.added:
            found = given.get(function.name)
            if found is None or not _is_good(found["name"], function.name, draft):
                return None
            draft = _renamed(draft, function.name, found)
        return draft if _fits(draft) else None


def _is_good(name: str, old: str, draft: Draft) -> bool:
    """Return whether the function `old` may get the name `name`; it may keep its own name if this is no placeholder."""
    if name == old:
        return not name.startswith(PLACEHOLDER)
    return NAME.fullmatch(name) is not None and is_possible(name, draft.unit)


def _request(draft: Draft) -> ModelRequest:
    text = "\n".join((draft.unit.text, *(one.text for one in draft.added)))
    code = fenced("code", "", text, mark((text,)))
    named = render("named", code=code, functions=", ".join(one.name for one in draft.added))
    messages = (Message("system", render("names")), Message("user", named))
    return ModelRequest("names", messages, schema=SCHEMA, reply_tokens=REPLY, parts=(("code", len(code)),))


def _renamed(draft: Draft, old: str, given: Mapping[str, Any]) -> Draft:
    """Return the draft with the new function `old` renamed; in the draft, the word `old` has no other meaning.

    `given`: the model's answer for this function, with the keys `name` and `summary`.
    """
    word, new = re.compile(rf"\b{re.escape(old)}\b"), given["name"]
    unit = replace(draft.unit.with_text(word.sub(new, draft.unit.text)), taken=draft.unit.taken | {new})
    added = (replace(one, text=word.sub(new, one.text)) for one in draft.added)
    named = (_with_summary(one, new, given, unit) if one.name == old else one for one in added)
    return replace(draft, unit=unit, added=tuple(named))


def _with_summary(function: NewFunction, name: str, given: Mapping[str, Any], unit: Unit) -> NewFunction:
    """Return the function with the name `name`; its docstring, if any, becomes the summary in `given`.

    If this summary cannot be used, the docstring is made from `name`.
    """
    if not unit.documented:
        return replace(function, name=name)
    docstring = ast.parse(function.text).body[0].body[0]  # type: ignore[attr-defined]
    rows = function.text.split("\n")
    rows[docstring.lineno - 1] = f'{unit.indent}"""{_sentence(given["summary"], unit) or summary_of(name)}"""'
    return replace(function, name=name, text="\n".join(rows))


def _sentence(summary: str, unit: Unit) -> str:
    """Return a summary as a sentence; "" if it is no plain text, or does not fit in a row of a method."""
    plain = " ".join(summary.split()).rstrip(".")
    plain = f"{plain}." if plain else ""
    fits = len(plain) + 2 * len(unit.indent) + 2 * len('"""') <= unit.width
    return plain if fits and plain.isprintable() and '"' not in plain and "\\" not in plain else ""


def _fits(draft: Draft) -> bool:
    """Return whether all lines with a new name are short enough."""
    names = [one.name for one in draft.added]
    margin = len(draft.unit.indent) if draft.unit.owner else 0
    lines = "\n".join((draft.unit.text, *(one.text for one in draft.added))).split("\n")
    return all(len(line) + margin <= draft.unit.width for line in lines if any(name in line for name in names))
