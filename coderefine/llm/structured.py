"""Request answers as JSON, with a schema if the server supports schemas; parse and validate the answers in any case."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from coderefine.errors import ReplyError
from coderefine.llm.client import Client
from coderefine.llm.model_request import CUT, Message, ModelRequest, Schema
from coderefine.llm.reasoning import without_reasoning

KINDS: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


def record(name: str, **fields: Mapping[str, Any]) -> Schema:
    """Return the schema of an object with exactly `fields`, in the form that strict servers require."""
    body = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    return Schema(name, body)


def ask_json(client: Client, request: ModelRequest) -> Mapping[str, Any]:
    """Return the answer to `request` as an object that satisfies the schema; if the first one does not, ask again.

    Raises ReplyError if the second answer is invalid too, and the errors of `Client.ask`.
    """
    answer = client.ask(request)
    try:
        return read(answer.text, request.schema)
    except ReplyError as fault:
        reply = Message("assistant", answer.text[:2000] or "(nothing)")
        again = (*request.messages, reply, Message("user", f"{fault} Answer with the JSON object alone."))
        second = replace(request, purpose="again", messages=again, longer=answer.finish == CUT)
        return read(client.ask(second).text, request.schema)


def read(text: str, schema: Schema | None) -> Mapping[str, Any]:
    """Parse the JSON object in `text`, ignoring surrounding prose and fences. Raises ReplyError with the faults."""
    value = _object(without_reasoning(text))
    faults = list(_faults(value, schema.body, "the object")) if schema else []
    if faults:
        raise ReplyError(f"The JSON does not fit: {'; '.join(faults[:5])}.")
    return value


def _object(text: str) -> dict[str, Any]:
    decoder = json.JSONDecoder()
    for match in re.finditer(r"\{", text):
        with suppress(ValueError, RecursionError):
            value, _ = decoder.raw_decode(text, match.start())
            if isinstance(value, dict):
                return value
    raise ReplyError("The reply holds no JSON object.")


def _faults(value: object, schema: Mapping[str, Any], where: str) -> Iterator[str]:
    """Yield violations of the schema in `value`: types, required fields, enums, items."""
    kind = schema.get("type", "object")
    if not isinstance(value, KINDS[kind]) or (isinstance(value, bool) and kind != "boolean"):
        yield f"{where} must be {kind}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where} must be one of {', '.join(map(str, schema['enum']))}"
    if isinstance(value, dict):
        yield from _object_faults(value, schema, where)
    if isinstance(value, list) and "items" in schema:
        for number, item in enumerate(value):
            yield from _faults(item, schema["items"], f"{where} item {number}")


def _object_faults(value: Mapping[str, Any], schema: Mapping[str, Any], where: str) -> Iterator[str]:
    yield from (f"{where} lacks {name!r}" for name in schema.get("required", ()) if name not in value)
    for name, inner in schema.get("properties", {}).items():
        if name in value:
            yield from _faults(value[name], inner, repr(name))
