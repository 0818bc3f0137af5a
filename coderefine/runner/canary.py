"""Check what became of the tests of ours that ran beside the project's (agent/canary.py)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from coderefine.errors import VoidError

FEWEST = 2
"""Tests of ours each time."""


def check_canary(records: Sequence[Mapping[str, Any]] | None, secret: str, when: str) -> None:
    """Raise VoidError unless the `records` of our tests are as `secret` decides. `when`: "before" or "after" others."""
    if records is None or len(records) < FEWEST:
        raise VoidError(f"no result counts: the tests that must fail did not run {when} the project's")
    for number, record in enumerate(records):
        mark = token(secret, when, number)
        wanted = "failed" if number == 0 or int(mark, 16) % 2 == 0 else "passed"
        if record["status"] != wanted:
            what = wanted.removesuffix("ed")
            word = f"a test of ours that must {what} ended as {record['status']}"
            raise VoidError(f"no result counts: {word}; the code under test disarms pytest")
        if wanted == "failed":
            _check_words(record, mark)


def _check_words(record: Mapping[str, Any], mark: str) -> None:
    message = str((record["failure"] or {}).get("message", ""))
    _, found, rest = message.partition(f"{mark}[")
    ways, end, _ = rest.partition("]")
    if not found or not end:
        raise VoidError("no result counts: a test that must fail did not say what it must")
    if ways:
        raise VoidError(f"no result counts: {ways} does not fail when it must; the code under test disarms pytest")


def token(secret: str, when: str, number: int) -> str:
    """As agent/canary.py has it."""
    return hashlib.sha256(f"{secret} {when} {number}".encode("ascii")).hexdigest()[:32]


__all__ = ["check_canary"]
