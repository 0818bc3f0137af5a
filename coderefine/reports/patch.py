"""The patch itself, for `git apply`; nothing when there is none."""

from __future__ import annotations

from collections.abc import Sequence

from coderefine.core import Check
from coderefine.reports.told import Told


def checks(said: Sequence[Check]) -> str:  # noqa: ARG001 - one of the formats
    """A check changes nothing."""
    return ""


def outcome(told: Told) -> str:
    """The unified diff; undecodable bytes as surrogates."""
    return told.diff.decode("utf-8", "surrogateescape")
