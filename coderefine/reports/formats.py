"""Report formats by name: each is a module with functions `checks` and `outcome` that return the whole text.

Undecodable bytes of a patch are surrogates in it: write the text with `surrogateescape`.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Protocol, cast

from coderefine.core import Check
from coderefine.reports.run_report import RunReport

MODULES = {
    "sarif": "coderefine.reports.sarif",
    "rdjson": "coderefine.reports.rdjson",
    "gitlab": "coderefine.reports.gitlab",
    "junit": "coderefine.reports.junit",
    "github": "coderefine.reports.github",
    "patch": "coderefine.reports.patch",
}
NAMES = ("text", "json", *MODULES)


class Format(Protocol):
    """Interface of a format's module."""

    def checks(self, said: Sequence[Check]) -> str: ...

    def outcome(self, told: RunReport) -> str: ...


def named(name: str) -> Format:
    """Return the format `name`, one of MODULES."""
    return cast(Format, importlib.import_module(MODULES[name]))
