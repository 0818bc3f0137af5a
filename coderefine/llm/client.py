"""Send requests to the model.

The steps of a request: remove secrets; use a recorded answer if there is one; else reserve budget, send the request
(again after a temporary failure), and record the answer.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from coderefine.config import Config, masked
from coderefine.core import Cost, Event, Limits, Listen, Verdict
from coderefine.errors import BudgetError, ModelError, ReplayMissError, TooLongError
from coderefine.llm.availability import configured, known_secrets, model_key
from coderefine.llm.budget import OPENAI, Budget, Grant, price
from coderefine.llm.failures import (
    CAPS,
    LateAnswerError,
    OutOfTimeError,
    Target,
    TransientError,
    UnsupportedError,
)
from coderefine.llm.model_request import CUT, MORE, TRACES, Answer, Memory, ModelRequest, encodable
from coderefine.llm.reasoning import without_reasoning
from coderefine.llm.redact import Redactor

if TYPE_CHECKING:
    from concurrent.futures import Future

    from coderefine.llm.transport import OpenAITransport

LONGEST_WAIT = 60.0
"""Maximum pause in seconds before the next try; if the server asks for a longer pause, the request fails at once."""
TOO_LONG = "too long"
"""`Answer.finish` for a request that was too long for the model; recorded, so that no run sends the request again."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Limits on sending a request again: at most `tries` tries in total, with pauses between them.

    Pause number n lasts `base`·2ⁿ⁻¹ seconds, at most `ceiling`, times a random factor from 0.5 to 1.
    """

    tries: int = 4
    base: float = 0.5
    ceiling: float = 20.0

    def pause(self, failed: int, asked: float | None) -> float:
        """Return the seconds to wait after `failed` tries: those that the server `asked` for, else a random number."""
        if asked is not None:
            return asked
        return random.uniform(0.5, 1.0) * min(self.ceiling, self.base * 2.0 ** (failed - 1))


Given = TypeVar("Given")
Result = TypeVar("Result")

Price = Callable[[str, str | None, int, int, int], float | None]


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A redacted request, its model, and the key under which the answer is recorded."""

    request: ModelRequest
    model: str
    key: str


class Client:
    """Access of one run to its models.

    `memory`: stores answers between runs. `replay`: use recorded answers only. `show`: is called with every redacted
    request. `preview`: send nothing, because requests are only shown. `price`: the function that returns the price of
    a request in dollars.
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
        price: Price = price,
        show: Callable[[ModelRequest], None] | None = None,
        preview: bool = False,
    ) -> None:
        environ = os.environ if environ is None else environ
        self._config = config
        self._memory = memory
        self._listen = listen
        self._replay = replay
        self._backoff = backoff or Backoff()
        self._price = price
        self._show = show
        self._preview = preview
        self._key = model_key(config, environ)
        self._redactor = Redactor(known_secrets(config, environ))
        self._asked: Counter[str] = Counter()
        self._transport: OpenAITransport | None = None
        self._lock = threading.Lock()
        self._priceless: set[str] = set()
        self._single: set[str] = set()
        self._reasoning: set[str] = set()
        self._raised: set[str] = set()
        self._closed = False
        self.budget = Budget(limits or config.limits)
        self.sent = 0

    @property
    def spent(self) -> Cost:
        """Return the cost so far. Recorded answers count again; pending requests count with their maximum cost."""
        return self.budget.used

    @property
    def ready(self) -> Verdict:
        return Verdict(ok=True) if self._replay else configured(self._config, {self._config.api_key_env: self._key})

    def preload(self) -> threading.Thread:
        """Import openai and create its client in a background thread (about 0.7 s), if requests can be sent."""
        thread = threading.Thread(target=self._warm_up, name="preload-openai", daemon=True)
        if self.ready and not self._replay:
            thread.start()
        return thread

    def _warm_up(self) -> None:
        with suppress(ModelError):  # the first request raises it again
            self._connected()

    def ask(self, request: ModelRequest) -> Answer:
        """Return the model's answer, with placeholders replaced by the original secrets.

        Raises BudgetError before a limit is exceeded, ModelError for a permanent failure (TooLongError if a shorter
        request may succeed), ReplayMissError if only recorded answers are allowed and none is recorded.

        A model that used all tokens of its answer to reason is asked again, once, and gets more tokens from then on.
        """
        answer = self._fulfil(self._prepared(request))
        model = self._named(request.model)
        if any(one.finish != CUT or without_reasoning(one.text).strip() for one in answer.each):
            return answer
        if model in self._reasoning:
            self._note(f"{model} used all tokens of its answer to reason again: use a model that reasons less")
            return answer
        self._reasoning.add(model)
        self._raised.add(model)
        self._note(f"{model} used all tokens of its answer to reason: from now on it gets {MORE} times as many")
        return self.ask(request)

    def _named(self, model: str | None) -> str:
        """Return `model`, or the configured model for None."""
        return model or self._config.model or ""

    def gives_one(self, model: str | None) -> bool:
        """Return whether `model` (None: the configured one) has ever given fewer answers than a request asked for."""
        return self._named(model) in self._single

    def sample(self, request: ModelRequest, number: int, *, fill: bool = True) -> Generator[Answer, None, None]:
        """Yield up to `number` answers to the same request, in a deterministic order.

        If the server can give several answers, this is one request, whose prompt is paid once. With `fill`, each
        missing answer is requested separately, in parallel; closing the iterator does not wait for pending requests.
        Raises the same errors as `ask`.
        """
        model = self._named(request.model)
        together = 1 if model in self._single else number
        first = self.ask(replace(request, samples=together)).each
        if len(first) < together:
            self._single.add(model)
        yield from first[:number]
        if fill and len(first) < number:
            yield from self._side_by_side([self._prepared(request) for _ in range(number - len(first))])

    def _side_by_side(self, wanted: list[_Prepared]) -> Iterator[Answer]:
        from concurrent.futures import wait

        asked = [run_in_thread(self._fulfil, one) for one in wanted]
        for future, one in zip(asked, wanted, strict=True):
            try:
                answer = future.result()
            except BudgetError:
                # The other requests counted with their maximum cost: once they are settled, there may be budget left.
                wait(asked)
                answer = self._fulfil(one)
            yield answer

    def _prepared(self, request: ModelRequest) -> _Prepared:
        """Redact `request` and compute the key of its recorded answer."""
        model = self._named(request.model)
        clean_text = self._redactor.clean
        texts = (replace(message, text=clean_text(encodable(message.text))) for message in request.messages)
        clean = replace(request, messages=tuple(texts))
        same = clean.key(model, 0)
        key = clean.key(model, self._asked[same])
        self._asked[same] += 1
        return _Prepared(clean, model, key)

    def _fulfil(self, asked: _Prepared) -> Answer:
        if self._show:
            self._show(asked.request)
        answer = self._recalled(asked) or self._send(asked)
        if answer.finish == TOO_LONG:
            raise TooLongError(answer.text)
        if answer.finish == "content_filter":
            raise ModelError("the provider's content filter stopped the answer; use another model or a narrower path")
        restore = self._redactor.restore
        others = tuple((restore(text), finish) for text, finish in answer.others)
        return replace(answer, text=restore(answer.text), others=others)

    def recall_trace(self, key: str) -> str | None:
        """Return the recorded trace of failing tests under `key`, or None. It makes a repeated run's requests equal."""
        return self._memory.recall(key, TRACES) if self._memory else None

    def remember_trace(self, key: str, trace: str) -> None:
        """Record a trace of failing tests, from which requests are made. A replay records nothing."""
        if self._memory and not self._replay:
            self._memory.remember(key, trace, TRACES)

    def redact(self, text: str) -> str:
        """Replace secrets in `text`, a reply of the model that will be displayed."""
        return self._redactor.clean(text)

    def models(self) -> tuple[str, ...]:
        """Return the names of the server's models (for `doctor`). Raises ModelError with the reason."""
        try:
            return self._connected().models()
        except TransientError as error:
            raise ModelError(self._redactor.scrub(str(error))) from None

    def close(self) -> None:
        self._closed = True
        with self._lock:
            if self._transport:
                self._transport.close()
            self._transport = None

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _recalled(self, asked: _Prepared) -> Answer | None:
        value = self._memory.recall(asked.key) if self._memory else None
        if value is None:
            return None
        answer = Answer.load(value)
        if answer.finish != TOO_LONG:
            self._settle(answer, f"{asked.request.purpose} · {asked.model} · recalled")
        return answer

    def _send(self, asked: _Prepared) -> Answer:
        if self._replay:
            raise ReplayMissError(
                f"the replay needs an answer that was never recorded ({asked.request.purpose}, key {asked.key[:12]}): "
                "the tree, the configuration or coderefine differs from the recorded run's"
            )
        if self._preview:
            raise BudgetError("requests", "prompts are shown only, nothing is sent")
        if not (ready := self.ready):
            raise ModelError(ready.reason)
        try:
            answer, grant = self._persist(asked.request, asked.model)
        except TooLongError as error:
            answer, grant = Answer(str(error), TOO_LONG), None
        if self._memory:
            self._memory.remember(asked.key, answer.dump(replace(asked.request, model=asked.model)))
        if grant:
            self._settle(answer, f"{asked.request.purpose} · {asked.model}", grant)
        return answer

    def _persist(self, request: ModelRequest, model: str) -> tuple[Answer, Grant]:
        """Send `request` until it is answered. Raises ModelError if the failure is permanent, or no try is left.

        If `request` asks for a longer answer, or the model used a whole answer to reason, the limit of the answer is
        increased. If the server refuses this, the usual limit is used; later answers of the model then get an increased
        limit only if the request asks for it.
        """
        if not request.longer and model not in self._raised:
            return self._repeat(request, model)
        try:
            return self._repeat(replace(request, reply_tokens=MORE * request.reply_tokens), model, raised=True)
        except TooLongError:
            answered = self._repeat(request, model)
        self._raised.discard(model)
        self._note(f"the server refuses {MORE} times as many tokens for an answer: {model} gets as many as before")
        return answered

    def _repeat(self, request: ModelRequest, model: str, *, raised: bool = False) -> tuple[Answer, Grant]:
        """Send `request` again after each temporary failure, until it is answered.

        `raised`: whether the limit of the answer was increased. Raises TooLongError if the server refuses this limit
        and names no lower one, and ModelError if the failure is permanent, or no try is left.
        """
        failed, fault = 0, ""
        while True:
            try:
                return self._try(request, model)
            except UnsupportedError as refused:  # noqa: PERF203 - a try is a request
                if raised and refused.part in CAPS and refused.most is None:
                    raise TooLongError(f"the server refuses this {refused.part}") from None
                if refused.once and refused.most:
                    request = replace(request, reply_tokens=refused.most)
                else:
                    self._adapt(refused, model)
            except TransientError as error:
                failed, fault = failed + 1, self._redactor.scrub(str(error))
                self._wait(error, failed)
            except (BudgetError, ModelError) as error:
                raise self._explained(error, fault) from None

    def _explained(self, error: BudgetError | ModelError, fault: str) -> BudgetError | ModelError:
        """Return `error` without secrets; to a BudgetError, add `fault`, the text of the last failure."""
        if isinstance(error, BudgetError):
            return type(error)(error.which, "; ".join(filter(None, (str(error), fault))))
        return type(error)(self._redactor.scrub(str(error)))

    def _adapt(self, refused: UnsupportedError, model: str) -> None:
        """Let all further requests respect the limit that `refused` names, or omit the part that it names."""
        if refused.most is not None:
            self._connected().limit_reply(model, refused.most)
            self._note(f"{model} gives answers of at most {refused.most} tokens")
        else:
            self._connected().leave_out(refused.part)
            self._note(f"the server does not support {refused.part}; sent without it")

    def _try(self, request: ModelRequest, model: str) -> tuple[Answer, Grant]:
        transport = self._connected()
        limits = self.budget.limits
        if not transport.limits_replies and (limits.tokens is not None or limits.usd is not None):
            raise ModelError(
                "the server accepts no limit on the length of an answer, so max-tokens and max-cost cannot be kept: "
                "use another server"
            )
        grant = self.budget.reserve(
            request.tokens,
            request.reply_tokens,
            lambda p, c: self._cost(model, p, c),
            samples=request.samples,
        )
        try:
            made_of = ", ".join(f"{name} {size}" for name, size in request.parts)
            sizes = f"{request.chars} characters{f' ({made_of})' if made_of else ''}"
            self._listen(Event("request", f"{request.purpose} · {model} · {sizes}"))
            self.sent += 1
            answer = transport.send(request, model, grant.reply_tokens, self.budget.seconds_left, grant.samples)
        except BaseException as error:
            self._unanswered(error, grant)
            raise
        usd = self._cost(model, answer.prompt_tokens, answer.completion_tokens, answer.cached_tokens)
        return replace(answer, usd=usd), grant

    def _unanswered(self, error: BaseException, grant: Grant) -> None:
        """Record the cost of a failed request: its maximum cost if the server may bill the request, else none."""
        late = isinstance(error, (LateAnswerError, OutOfTimeError))
        refused = isinstance(error, (UnsupportedError, ModelError, BudgetError)) and not late
        if refused or (isinstance(error, TransientError) and not error.billed):
            self.budget.release(grant)
        else:
            self.budget.lose(grant)
            self._listen(Event("spent", "answer lost", cost=self.spent))

    def _wait(self, error: TransientError, failed: int) -> None:
        """Pause before the next try. Raises ModelError if no further try is allowed, BudgetError if no time is left."""
        reason = self._redactor.scrub(str(error))
        pause = self._backoff.pause(failed, error.after)
        if self._closed:
            raise ModelError("the run is over")
        if failed >= self._backoff.tries:
            raise ModelError(f"{reason}; gave up after {failed} tries") from None
        if pause > LONGEST_WAIT:
            raise ModelError(f"{reason}; it asks to wait {pause:.0f} s: try again later") from None
        self.budget.pause(pause)
        self._note(f"{reason}; try {failed + 1} of {self._backoff.tries} in {pause:.1f} s")
        time.sleep(pause)

    def _cost(self, model: str, prompt: int, completion: int, cached: int = 0) -> float | None:
        usd = self._price(model, self._config.base_url, prompt, completion, cached)
        if usd is None and model not in self._priceless:
            self._priceless.add(model)
            self._note(f"the price of {model!r} is unknown: max-cost cannot be checked, but the other limits are")
        return usd

    def _settle(self, answer: Answer, text: str, grant: Grant | None = None) -> None:
        self.budget.settle(Cost(1, answer.prompt_tokens, answer.completion_tokens, answer.usd), grant)
        self._listen(Event("spent", text, cost=self.spent))

    def _note(self, text: str) -> None:
        self._listen(Event("note", text))

    def _connected(self) -> OpenAITransport:
        from coderefine.llm.transport import OpenAITransport, Server

        with self._lock:
            if self._transport is None:
                config = self._config
                url = masked(config.base_url or OPENAI)
                target = Target(config.model or "", url, config.api_key_env, config.key_refusal)
                server = Server(config.base_url, self._key, config.extra_headers, config.request_timeout)
                self._transport = OpenAITransport(server, target, stream=config.stream)
            return self._transport


def run_in_thread(call: Callable[[Given], Result], given: Given) -> Future[Result]:
    """Start `call(given)` in a daemon thread, so that the program can end before the call does.

    With an executor, the program would wait for the answer of the server.
    """
    from concurrent.futures import Future

    future: Future[Result] = Future()

    def run() -> None:
        try:
            future.set_result(call(given))
        except BaseException as error:  # any error is raised again where the result is read
            future.set_exception(error)

    threading.Thread(target=run, name="sample", daemon=True).start()
    return future
