"""One test's result and why it failed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class Status(str, Enum):
    """The outcome of one test, in pytest's words."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"
    XFAILED = "xfailed"
    XPASSED = "xpassed"

    @property
    def bad(self) -> bool:
        return self in (Status.FAILED, Status.ERROR)


@dataclass(frozen=True, slots=True)
class Frame:
    """One traceback frame; `path` repo-relative when inside the repository, absolute otherwise.

    `span`: line, column, last line, end column (columns in UTF-8 bytes, as `ast` counts) of the expression that was
    running; empty before Python 3.11.
    """

    path: str
    line: int
    function: str
    locals: Mapping[str, str] = field(default_factory=dict)
    span: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a test failed: innermost frame last, values as short reprs, output already cut.

    `wrong`: an attribute, name, key or keyword that was asked for and is not there; `nearest`: the most alike of those
    that are, on the very object.
    """

    message: str
    exception: str = ""
    assertion: str = ""
    frames: tuple[Frame, ...] = ()
    output: str = ""
    wrong: str = ""
    nearest: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """All that pytest says about it."""
        return f"{self.message}\n{self.assertion}"


@dataclass(frozen=True, slots=True)
class Case:
    """One test's result. `seconds` covers set-up, call and tear-down."""

    id: str
    status: Status
    seconds: float = 0.0
    path: str = ""
    line: int = 0
    failure: Failure | None = None


Coverage = Mapping[str, Mapping[str, frozenset[int]]]
"""Executed lines: test id -> repo-relative path -> line numbers. Key "" holds import-time lines."""
