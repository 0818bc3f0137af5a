"""From the records of agent/cold_plugin.py to our nouns; parsed once, here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from coderefine.core import Case, Failure, Frame, Status
from coderefine.errors import RunnerError


def case(record: Mapping[str, Any]) -> Case:
    """A plugin's CaseRecord as Case. Raises RunnerError when it is not one."""
    try:
        return Case(
            str(record["id"]),
            Status(record["status"]),
            float(record["seconds"]),
            str(record["path"]),
            int(record["line"]),
            failure(record["failure"]) if record["failure"] else None,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise RunnerError(f"the test process sent a broken record: {error!r}") from error


def failure(record: Mapping[str, Any]) -> Failure:
    """A FailureRecord as Failure."""
    return Failure(
        record["message"],
        record["exception"],
        record["assertion"],
        tuple(
            Frame(path, line, function, values, tuple(span)) for path, line, function, values, span in record["frames"]
        ),
        record["output"],
        str(record.get("wrong", "")),
        tuple(map(str, record.get("nearest", ()))),
    )


def lines(record: Mapping[str, list[int]]) -> dict[str, frozenset[int]]:
    """The executed lines of one test, by path."""
    return {path: frozenset(numbers) for path, numbers in record.items()}
