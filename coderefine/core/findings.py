"""One actionable remark, and what makes two the same."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Severity(str, Enum):
    """HARD findings block; SOFT ones inform."""

    HARD = "hard"
    SOFT = "soft"


@dataclass(frozen=True, slots=True)
class Span:
    """Lines `first`..`last` of a file, 1-based and inclusive."""

    first: int
    last: int

    def __str__(self) -> str:
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


Identity = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class Finding:
    """One actionable remark.

    `path` is relative to the top of the repository, POSIX separators. `symbol` is the qualified name of
    the enclosing function or class, or a test id. `weight` is the critic's number (complexity, say).
    """

    critic: str
    rule: str
    path: str
    message: str
    span: Span | None = None
    symbol: str = ""
    evidence: str = ""
    instruction: str = ""
    severity: Severity = Severity.HARD
    weight: float = 1.0

    @property
    def identity(self) -> Identity:
        """What makes two findings the same: never the line or the message, because both drift."""
        return (self.critic, self.path, self.rule, self.symbol)

    @property
    def where(self) -> str:
        """`path:line`, or the path alone."""
        return f"{self.path}:{self.span.first}" if self.span else self.path
