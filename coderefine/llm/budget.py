"""Limits on requests, tokens, money and time, checked before a request leaves; and what a request costs."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

from coderefine.core import Cost, Limits
from coderefine.errors import BudgetError

OPENAI = "https://api.openai.com/v1"

LEAST_REPLY = 512
"""Tokens below which a reply could not hold an edit: not worth a request."""


@dataclass(frozen=True, slots=True)
class Grant:
    """Leave to send one request with at most `samples` answers of `reply_tokens` tokens each.

    `usd`: what it may cost at most, None when the price is unknown.
    """

    prompt_tokens: int
    reply_tokens: int
    samples: int = 1
    usd: float | None = 0.0

    @property
    def worst(self) -> Cost:
        """What the request may cost at most; its price stays unknown where it is."""
        return Cost(1, self.prompt_tokens, self.reply_tokens * self.samples, self.usd)


class Budget:
    """What one run may still spend on its model. `spent` grows as requests are settled.

    `reserve` → send → `settle`; nothing else lets a request out. What is under way counts at its worst, so that
    requests side by side cannot cross a limit together. `clock` gives seconds.
    """

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self.limits = limits
        self.spent = Cost()
        self._clock = clock
        self._began = clock()
        self._held: list[Grant] = []
        self._lock = threading.Lock()

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the time limit; None without one."""
        return None if self.limits.seconds is None else self.limits.seconds - (self._clock() - self._began)

    def reserve(
        self,
        prompt_tokens: int,
        reply_tokens: int,
        price: Callable[[int, int], float | None],
        *,
        samples: int = 1,
    ) -> Grant:
        """Leave to send, the reply's cap (and the number of samples) lowered to what the limits leave.

        `price` says what (prompt tokens, reply tokens) would cost in dollars, None when unknown. The grant
        counts as spent until `settle`, `lose` or `release` is called with it.
        Raises BudgetError naming the limit that the request could cross.
        """
        with self._lock:
            self._check_requests()
            self._check_seconds()
            grant = self._granted(prompt_tokens, reply_tokens, price, samples)
            self._held.append(grant)
            return grant

    @property
    def used(self) -> Cost:
        """Spent, and what is under way at its worst: an unanswered request costs its ceiling until more is known."""
        with self._lock:
            return self._used

    def settle(self, cost: Cost, grant: Grant | None = None) -> None:
        """Book what a request really cost, in place of what it was granted."""
        with self._lock:
            self.spent = self.spent + cost
            self._held = [held for held in self._held if held is not grant]

    def lose(self, grant: Grant) -> None:
        """Book a request whose answer was lost: the server may have written all of it."""
        self.settle(grant.worst, grant)

    def release(self, grant: Grant) -> None:
        """The request came to nothing: the server did not answer it, or answered with an error."""
        self.settle(Cost(), grant)

    def _granted(
        self, prompt_tokens: int, reply_tokens: int, price: Callable[[int, int], float | None], samples: int
    ) -> Grant:
        """As many samples as fit, at least one."""
        room = self._room(prompt_tokens, reply_tokens)
        least = min(reply_tokens, LEAST_REPLY)
        samples = max(1, samples if room is None else min(samples, room // max(1, least)))
        for number in range(samples, 0, -1):
            cap = reply_tokens if room is None else min(reply_tokens, room // number)
            usd = price(prompt_tokens, cap * number)
            if number == 1:
                self._check_usd(usd)
            elif self._too_dear(usd):
                continue
            return Grant(prompt_tokens, cap, number, usd)
        raise AssertionError("the last number returns or raises")

    @property
    def _used(self) -> Cost:
        """Spent, or under way at its worst."""
        return sum((grant.worst for grant in self._held), self.spent)

    def pause(self, seconds: float) -> None:
        """Raises BudgetError when a wait of `seconds` would outlast the time limit."""
        left = self.seconds_left
        if left is not None and seconds >= left:
            raise BudgetError(
                "seconds", f"a pause of {seconds:.1f} s is needed, {max(left, 0):.0f} s are left (--timeout)"
            )

    def _check_requests(self) -> None:
        limit = self.limits.requests
        if limit is not None and self._used.requests >= limit:
            raise BudgetError("requests", f"{self._used.requests} of {limit} requests are used (--max-requests)")

    def _check_seconds(self) -> None:
        left = self.seconds_left
        if left is not None and left <= 0:
            raise BudgetError("seconds", f"the {self.limits.seconds:g} s of --timeout are used up")

    def _room(self, prompt_tokens: int, reply_tokens: int) -> int | None:
        """Tokens left for answers; None without a limit."""
        limit = self.limits.tokens
        if limit is None:
            return None
        used = self._used.tokens
        room = limit - used - prompt_tokens
        if room < min(reply_tokens, LEAST_REPLY):
            raise BudgetError(
                "tokens",
                f"{used} of {limit} tokens are used and the next request needs about "
                f"{prompt_tokens + min(reply_tokens, LEAST_REPLY)} (--max-tokens)",
            )
        return room

    def _too_dear(self, price: float | None) -> bool:
        limit = self.limits.usd
        return limit is not None and price is not None and (self._used.usd or 0.0) + price > limit

    def _check_usd(self, price: float | None) -> None:
        if self._too_dear(price):
            spent = self._used.usd or 0.0
            raise BudgetError(
                "cost",
                f"${spent:.4f} of ${self.limits.usd:.2f} is used and the next request may cost ${price:.4f} "
                "(--max-cost)",
            )


def price(model: str, base_url: str | None, prompt: int, completion: int, cached: int = 0) -> float | None:
    """Dollars for `prompt` tokens (of which `cached` came from the provider's cache) and `completion` tokens.

    None when the list does not know the server or the model: the name alone proves nothing, since a local
    server may use any name.
    """
    from genai_prices import Usage, calc_price

    usage = Usage(input_tokens=prompt, output_tokens=completion, cache_read_tokens=min(cached, prompt))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = calc_price(usage, model, provider_api_url=base_url or OPENAI)
    except (LookupError, ValueError):
        return None
    return float(found.total_price)
