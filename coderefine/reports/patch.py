"""Report only the patch, for `git apply`; empty when there is none."""

from __future__ import annotations

from collections.abc import Sequence

from coderefine.core import Check
from coderefine.reports.run_report import RunReport


def checks(said: Sequence[Check]) -> str:  # noqa: ARG001 - one of the formats
    """Return "": a check makes no patch."""
    return ""


def outcome(told: RunReport) -> str:
    """Return the unified diff; undecodable bytes are surrogates."""
    return told.diff.decode("utf-8", "surrogateescape")
