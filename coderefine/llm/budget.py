"""Limits on requests, tokens, money and time, checked before a request leaves."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from coderefine.core import Cost, Limits
from coderefine.errors import BudgetError

LEAST_REPLY = 512
"""Tokens below which a reply could not hold an edit: not worth a request."""


@dataclass(frozen=True, slots=True)
class Grant:
    """Leave to send one request whose answer may have `reply_tokens` tokens."""

    prompt_tokens: int
    reply_tokens: int


class Budget:
    """What one run may still spend on its model. `spent` grows as requests are settled.

    `reserve` → send → `settle`; nothing else lets a request out. `clock` gives seconds.
    """

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self.limits = limits
        self.spent = Cost()
        self._clock = clock
        self._began = clock()

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the time limit; None without one."""
        return None if self.limits.seconds is None else self.limits.seconds - (self._clock() - self._began)

    def reserve(self, prompt_tokens: int, reply_tokens: int, price: Callable[[int, int], float | None]) -> Grant:
        """Leave to send, the reply's cap lowered to what the tokens left allow.

        `price` says what (prompt tokens, reply tokens) would cost in dollars, None when unknown.
        Raises BudgetError naming the limit that the request could cross.
        """
        self._check_requests()
        self._check_seconds()
        grant = Grant(prompt_tokens, self._reply_cap(prompt_tokens, reply_tokens))
        self._check_usd(price(grant.prompt_tokens, grant.reply_tokens))
        return grant

    def settle(self, cost: Cost) -> None:
        """Book what a request really cost."""
        self.spent = self.spent + cost

    def pause(self, seconds: float) -> None:
        """Raises BudgetError when a wait of `seconds` would outlast the time limit."""
        left = self.seconds_left
        if left is not None and seconds >= left:
            raise BudgetError(
                "seconds", f"a pause of {seconds:.1f} s is needed, {max(left, 0):.0f} s are left (--timeout)"
            )

    def _check_requests(self) -> None:
        limit = self.limits.requests
        if limit is not None and self.spent.requests >= limit:
            raise BudgetError("requests", f"{self.spent.requests} of {limit} requests are used (--max-requests)")

    def _check_seconds(self) -> None:
        left = self.seconds_left
        if left is not None and left <= 0:
            raise BudgetError("seconds", f"the {self.limits.seconds:.0f} s are over (--timeout)")

    def _reply_cap(self, prompt_tokens: int, reply_tokens: int) -> int:
        limit = self.limits.tokens
        if limit is None:
            return reply_tokens
        room = limit - self.spent.tokens - prompt_tokens
        if room < min(reply_tokens, LEAST_REPLY):
            raise BudgetError(
                "tokens",
                f"{self.spent.tokens} of {limit} tokens are used and the next request needs about "
                f"{prompt_tokens + min(reply_tokens, LEAST_REPLY)} (--max-tokens)",
            )
        return min(reply_tokens, room)

    def _check_usd(self, price: float | None) -> None:
        limit = self.limits.usd
        if limit is None or price is None:
            return
        spent = self.spent.usd or 0.0
        if spent + price > limit:
            raise BudgetError(
                "cost", f"${spent:.4f} of ${limit:.2f} is used and the next request may cost ${price:.4f} (--max-cost)"
            )
