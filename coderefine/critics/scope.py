"""Whose findings block: those inside the asked paths."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from coderefine.core import Finding, Severity


def inside(path: str, scope: tuple[str, ...]) -> bool:
    """Whether `path` is one of `scope`'s files or lies in one of its folders ("." is the whole repository)."""
    return any(part in ("", ".") or path == part or path.startswith(f"{part.rstrip('/')}/") for part in scope)


def weighed(findings: Iterable[Finding], scope: tuple[str, ...]) -> tuple[Finding, ...]:
    """`findings` by path and line; those outside `scope` are soft: compared all the same, but they do not block."""
    ordered = sorted(findings, key=lambda item: (item.path, item.span.first if item.span else 0))
    return tuple(item if inside(item.path, scope) else replace(item, severity=Severity.SOFT) for item in ordered)
