"""Check that the results of a test process are valid: it loaded the patched code, and its tests were able to fail."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from coderefine.core import View
from coderefine.errors import VoidError
from coderefine.runner.client_channel import Message

FEWEST = 2
"""Minimum number of canary tests before the project's tests, and minimum number after them."""


def patched(view: View) -> Mapping[str, str]:
    """Return the digests of the patched files of `view`, by path; "" for deleted ones."""
    files = view.patch.files.items()
    return {path: hashlib.sha256(data).hexdigest() if data is not None else "" for path, data in files}


def check_loaded(report: Message | None, expected: Mapping[str, str]) -> None:
    """Raise VoidError unless `report` has the `expected` digests of the patched files, and no fault."""
    if report is None:
        raise VoidError("the test process did not report which files it had loaded")
    if fault := str(report["fault"]):
        raise VoidError(f"not the patched code was tested: {fault}", elsewhere=True)
    found = report["digests"]
    wrong = next((path for path, digest in expected.items() if found.get(path) != digest), "")
    if wrong:
        raise VoidError(f"not the patched code was tested: {wrong} has other content than in the patch", elsewhere=True)


def check_canary(records: Sequence[Mapping[str, Any]] | None, secret: str, when: str) -> None:
    """Raise VoidError unless the canary tests' `records` have the outcomes that follow from `secret`.

    `when`: "before" or "after" the project's tests.
    """
    if records is None or len(records) < FEWEST:
        raise VoidError(f"no result counts: the tests that must fail did not run {when} the project's")
    for number, record in enumerate(records):
        mark = token(secret, when, number)
        wanted = "failed" if number == 0 or int(mark, 16) % 2 == 0 else "passed"
        if record["status"] != wanted:
            what = wanted.removesuffix("ed")
            detail = f"a test of ours that must {what} ended as {record['status']}"
            raise VoidError(f"no result counts: {detail}; the code under test disarms pytest")
        if wanted == "failed":
            _check_message(record, mark)


def _check_message(record: Mapping[str, Any], mark: str) -> None:
    message = str((record["failure"] or {}).get("message", ""))
    _, found, rest = message.partition(f"{mark}[")
    ways, end, _ = rest.partition("]")
    if not found or not end:
        raise VoidError("no result counts: a test that must fail did not fail with our message")
    if ways:
        raise VoidError(f"no result counts: {ways} does not fail when it must; the code under test disarms pytest")


def token(secret: str, when: str, number: int) -> str:
    """Return the token of a canary test, computed as in agent/canary.py."""
    return hashlib.sha256(f"{secret} {when} {number}".encode("ascii")).hexdigest()[:32]
