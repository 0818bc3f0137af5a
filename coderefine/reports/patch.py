"""Report only the patch, for `git apply`; empty if there is none."""

from __future__ import annotations

from collections.abc import Sequence

from coderefine.core import Check
from coderefine.reports.formats import RunReport


def checks(gates: Sequence[Check]) -> str:  # noqa: ARG001 - one of the formats
    """Return "", because a check makes no patch."""
    return ""


def outcome(report: RunReport) -> str:
    """Return the unified diff; bytes that cannot be decoded are surrogates."""
    return report.diff.decode("utf-8", "surrogateescape")
