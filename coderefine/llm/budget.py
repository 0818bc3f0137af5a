"""Limits on requests, tokens, money and time, checked before a request is sent; and the cost of a request."""

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
"""Minimum number of reply tokens for a request: a shorter reply could not contain an edit."""


@dataclass(frozen=True, slots=True)
class Grant:
    """Permission to send one request with at most `samples` answers of `reply_tokens` tokens each.

    `usd`: maximum cost of the request in dollars; None if the price is unknown.
    """

    prompt_tokens: int
    reply_tokens: int
    samples: int = 1
    usd: float | None = 0.0

    @property
    def worst(self) -> Cost:
        """Return the maximum cost of the request; `usd` is None if the price is unknown."""
        return Cost(1, self.prompt_tokens, self.reply_tokens * self.samples, self.usd)


class Budget:
    """The budget of one run for requests to models. `spent`: the cost of the requests that have ended.

    Call `reserve` before each request, and `settle`, `lose` or `release` after it. Pending requests count with their
    maximum cost, so that parallel requests cannot exceed a limit together. `clock` returns seconds.
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
        """Return the seconds until the time limit; None if there is no time limit."""
        return None if self.limits.seconds is None else self.limits.seconds - (self._clock() - self._began)

    def reserve(
        self,
        prompt_tokens: int,
        reply_tokens: int,
        price: Callable[[int, int], float | None],
        *,
        samples: int = 1,
    ) -> Grant:
        """Return permission to send a request; reply length and samples are reduced to what the limits allow.

        `price` returns the dollars for (prompt tokens, reply tokens), None if unknown. The grant counts as spent until
        `settle`, `lose` or `release` is called with it.
        Raises BudgetError with the limit that the request could exceed.
        """
        with self._lock:
            limit = self.limits.requests
            if limit is not None and self._used.requests >= limit:
                raise BudgetError("requests", f"{self._used.requests} of {limit} requests are used (--max-requests)")
            left = self.seconds_left
            if left is not None and left <= 0:
                raise BudgetError("seconds", f"the {self.limits.seconds:g} s of --timeout are used up")
            grant = self._granted(prompt_tokens, reply_tokens, price, samples)
            self._held.append(grant)
            return grant

    @property
    def used(self) -> Cost:
        """Return the cost so far, including the maximum cost of pending requests."""
        with self._lock:
            return self._used

    def settle(self, cost: Cost, grant: Grant | None = None) -> None:
        """Record the actual cost of a request in place of its grant."""
        with self._lock:
            self.spent = self.spent + cost
            self._held = [held for held in self._held if held is not grant]

    def lose(self, grant: Grant) -> None:
        """Record the maximum cost of a request whose answer was lost: the server may bill all of it."""
        self.settle(grant.worst, grant)

    def release(self, grant: Grant) -> None:
        """Record no cost for a request that the server did not answer, or answered with an error."""
        self.settle(Cost(), grant)

    def _granted(
        self, prompt_tokens: int, reply_tokens: int, price: Callable[[int, int], float | None], samples: int
    ) -> Grant:
        """Return a grant of as many samples as the limits allow. Raises BudgetError if the limits allow none."""
        room = self._room(prompt_tokens, reply_tokens)
        least = min(reply_tokens, LEAST_REPLY)
        samples = max(1, samples if room is None else min(samples, room // max(1, least)))
        for number in range(samples, 0, -1):
            cap = reply_tokens if room is None else min(reply_tokens, room // number)
            usd = price(prompt_tokens, cap * number)
            limit = self.limits.usd
            if limit is None or usd is None or (self._used.usd or 0.0) + usd <= limit:
                return Grant(prompt_tokens, cap, number, usd)
        spent = self._used.usd or 0.0
        raise BudgetError(
            "cost",
            f"${spent:.4f} of ${self.limits.usd:.2f} is used and the next request may cost ${usd:.4f} (--max-cost)",
        )

    @property
    def _used(self) -> Cost:
        """Return the cost so far, including the maximum cost of pending requests. The caller must hold the lock."""
        return sum((grant.worst for grant in self._held), self.spent)

    def pause(self, seconds: float) -> None:
        """Raise BudgetError if a pause of `seconds` would exceed the time limit."""
        left = self.seconds_left
        if left is not None and seconds >= left:
            raise BudgetError(
                "seconds", f"a pause of {seconds:.1f} s is needed, {max(left, 0):.0f} s are left (--timeout)"
            )

    def _room(self, prompt_tokens: int, reply_tokens: int) -> int | None:
        """Return the tokens left for answers; None if there is no limit. Raises BudgetError if too few are left."""
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


def price(model: str, base_url: str | None, prompt: int, completion: int, cached: int = 0) -> float | None:
    """Return the price in dollars of `prompt` tokens (`cached` of them from a cache) and `completion` tokens.

    None if the server or the model is not in the price list. The name of the model is not enough, because a local
    server may give its model any name.
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
