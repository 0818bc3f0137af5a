"""Asks the model: recalls, redacts, reserves, sends, tries again, remembers — in this order."""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import TracebackType
from typing import TYPE_CHECKING

from coderefine.config import Config, masked
from coderefine.core import Cost, Event, Limits, Listen, Verdict
from coderefine.errors import ModelError, ReplayMissError
from coderefine.llm import prices
from coderefine.llm.access import configured, known_secrets
from coderefine.llm.budget import Budget
from coderefine.llm.failures import Target, TransientError, UnsupportedError, check_filter
from coderefine.llm.redact import Redactor
from coderefine.llm.request import Answer, Memory, Message, Request

if TYPE_CHECKING:
    from coderefine.llm.wire import Wire

LONGEST_WAIT = 60.0
"""Seconds: a server that asks for a longer pause is told goodbye."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Transport retries: `tries` in all, pauses of `base`·2ⁿ seconds with full jitter, at most `ceiling`."""

    tries: int = 4
    base: float = 0.5
    ceiling: float = 20.0

    def pause(self, failed: int, asked: float | None) -> float:
        """Seconds before the next try, after `failed` of them; what the server asked for comes first."""
        if asked is not None:
            return asked
        return random.uniform(0.5, 1.0) * min(self.ceiling, self.base * 2.0 ** (failed - 1))


Price = Callable[[str, str | None, int, int, int], float | None]


class Client:
    """One run's access to its models.

    `memory` keeps answers between runs; with `replay` nothing is ever sent. `show` sees every request as it
    leaves, secrets already replaced. `price` and `backoff` are for tests and special contracts.
    """

    def __init__(
        self,
        config: Config,
        *,
        memory: Memory | None = None,
        listen: Listen = lambda _: None,
        limits: Limits | None = None,
        environ: Mapping[str, str] | None = None,
        replay: bool = False,
        backoff: Backoff | None = None,
        price: Price = prices.price,
        show: Callable[[Request], None] | None = None,
    ) -> None:
        environ = os.environ if environ is None else environ
        self._config = config
        self._memory = memory
        self._listen = listen
        self._replay = replay
        self._backoff = backoff or Backoff()
        self._price = price
        self._show = show
        self._key = environ.get(config.api_key_env, "")
        self._redactor = Redactor(known_secrets(config, environ))
        self._asked: Counter[str] = Counter()
        self._wire: Wire | None = None
        self._lock = threading.Lock()
        self._priceless: set[str] = set()
        self.budget = Budget(limits or config.limits)
        self.sent = 0

    @property
    def spent(self) -> Cost:
        """What the run has cost so far; answers recalled from an interrupted run count as paid then."""
        return self.budget.spent

    @property
    def ready(self) -> Verdict:
        return Verdict(ok=True) if self._replay else configured(self._config, {self._config.api_key_env: self._key})

    def preload(self) -> threading.Thread:
        """Import openai and open the client in a thread (about 0.7 s), behind whatever runs meanwhile."""
        thread = threading.Thread(target=self._connected, name="preload-openai", daemon=True)
        if self.ready and not self._replay:
            thread.start()
        return thread

    def ask(self, request: Request) -> Answer:
        """The model's answer, placeholders already turned back into what they stand for.

        Raises BudgetError before a limit is crossed, ModelError for a final no, ReplayMissError when only
        recorded answers are allowed and this one was never recorded.
        """
        model = request.model or self._config.model or ""
        clean = replace(request, messages=tuple(self._clean(message) for message in request.messages))
        same = clean.key(model, 0)
        key = clean.key(model, self._asked[same])
        self._asked[same] += 1
        if self._show:
            self._show(clean)
        answer = self._recalled(key, clean, model) or self._send(key, clean, model)
        check_filter(answer.finish)
        return replace(answer, text=self._redactor.restore(answer.text))

    def redact(self, text: str) -> str:
        """`text` with secrets replaced: for what the model said and people will read."""
        return self._redactor.clean(text)

    def models(self) -> tuple[str, ...]:
        """Names of the models that the server offers (for `doctor`). Raises ModelError with the reason."""
        try:
            return self._connected().models()
        except TransientError as error:
            raise ModelError(self._redactor.scrub(str(error))) from None

    def close(self) -> None:
        with self._lock:
            if self._wire:
                self._wire.close()
            self._wire = None

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _clean(self, message: Message) -> Message:
        return replace(message, text=self._redactor.clean(message.text))

    def _recalled(self, key: str, request: Request, model: str) -> Answer | None:
        value = self._memory.recall(key) if self._memory else None
        if value is None:
            return None
        answer = Answer.load(value)
        self._settle(answer, f"{request.purpose} · {model} · recalled")
        return answer

    def _send(self, key: str, request: Request, model: str) -> Answer:
        if self._replay:
            raise ReplayMissError(f"the replay asks for an answer that was never recorded ({request.purpose})")
        ready = self.ready
        if not ready:
            raise ModelError(ready.reason)
        answer = self._persist(request, model)
        if self._memory:
            self._memory.remember(key, answer.dump())
        self._settle(answer, f"{request.purpose} · {model}")
        return answer

    def _persist(self, request: Request, model: str) -> Answer:
        """Try until it is answered, the transport budget is used up, or the failure is final."""
        failed = 0
        while True:
            outcome = self._outcome(request, model)
            if isinstance(outcome, Answer):
                return outcome
            if isinstance(outcome, UnsupportedError):
                self._connected().leave_out(outcome.part)
                self._note(f"the server does not take {outcome.part}; sent without")
                continue
            failed += 1
            self._wait(outcome, failed, request, model)

    def _outcome(self, request: Request, model: str) -> Answer | UnsupportedError | TransientError:
        try:
            return self._try(request, model)
        except (UnsupportedError, TransientError) as error:
            return error
        except ModelError as error:
            raise ModelError(self._redactor.scrub(str(error))) from None

    def _try(self, request: Request, model: str) -> Answer:
        grant = self.budget.reserve(request.tokens, request.reply_tokens, lambda p, c: self._cost(model, p, c))
        self._listen(Event("request", _describe(request, model)))
        wire = self._connected()
        self.sent += 1
        answer = wire.send(request, model, grant.reply_tokens, self.budget.seconds_left)
        usd = self._cost(model, answer.prompt_tokens, answer.completion_tokens, answer.cached_tokens)
        return replace(answer, usd=usd)

    def _wait(self, error: TransientError, failed: int, request: Request, model: str) -> None:
        """Book what a broken answer may have cost, then pause. Raises ModelError when it has to be the end."""
        said = self._redactor.scrub(str(error))
        if error.billed:
            usd = self._cost(model, request.tokens, 0)
            self._book(Cost(requests=1, prompt_tokens=request.tokens, usd=usd), "answer lost")
        pause = self._backoff.pause(failed, error.after)
        if failed >= self._backoff.tries:
            raise ModelError(f"{said}; gave up after {failed} tries") from None
        if pause > LONGEST_WAIT:
            raise ModelError(f"{said}; it asks to wait {pause:.0f} s: try again later") from None
        self.budget.pause(pause)
        self._note(f"{said}; try {failed + 1} of {self._backoff.tries} in {pause:.1f} s")
        time.sleep(pause)

    def _cost(self, model: str, prompt: int, completion: int, cached: int = 0) -> float | None:
        usd = self._price(model, self._config.base_url, prompt, completion, cached)
        if usd is None and model not in self._priceless:
            self._priceless.add(model)
            self._note(f"the price of {model!r} is unknown: max-cost cannot be watched, max-tokens is")
        return usd

    def _settle(self, answer: Answer, text: str) -> None:
        self._book(Cost(1, answer.prompt_tokens, answer.completion_tokens, answer.usd), text)

    def _book(self, cost: Cost, text: str) -> None:
        self.budget.settle(cost)
        self._listen(Event("spent", text, cost=self.spent))

    def _note(self, text: str) -> None:
        self._listen(Event("note", text))

    def _connected(self) -> Wire:
        from coderefine.llm.wire import Server, Wire

        with self._lock:
            if self._wire is None:
                config = self._config
                whom = Target(config.model or "", masked(config.base_url or prices.OPENAI), config.api_key_env)
                server = Server(config.base_url, self._key, config.extra_headers)
                self._wire = Wire(server, whom, stream=config.stream)
            return self._wire


def _describe(request: Request, model: str) -> str:
    """One line for people: what is asked of whom, how long it is, and what it is made of."""
    parts = ", ".join(f"{name} {size}" for name, size in request.parts)
    return f"{request.purpose} · {model} · {request.chars} characters{f' ({parts})' if parts else ''}"
