"""What a run has spent and what it may spend."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cost:
    """What was spent. `usd` is None once any part of it has an unknown price."""

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float | None = 0.0
    seconds: float = 0.0
    test_runs: int = 0

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Cost) -> Cost:
        usd = None if self.usd is None or other.usd is None else self.usd + other.usd
        return Cost(
            self.requests + other.requests,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            usd,
            self.seconds + other.seconds,
            self.test_runs + other.test_runs,
        )


NOTHING = Cost()
"""What a run starts with."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Ceilings, each checked before it is spent; None is unlimited. `usd` in dollars, `seconds` wall time."""

    iterations: int | None = 6
    requests: int | None = 12
    tokens: int | None = 200_000
    usd: float | None = 1.0
    seconds: float | None = 600.0
    test_runs: int | None = None
