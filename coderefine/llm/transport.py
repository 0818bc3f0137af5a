"""One round trip through the openai package: the only module that touches it."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from coderefine.errors import BudgetError
from coderefine.llm import prices
from coderefine.llm.failures import LateAnswerError, OutOfTimeError, Target, TransientError, classify
from coderefine.llm.request import CHARS_PER_TOKEN, Answer, Request

if TYPE_CHECKING:
    from openai import DefaultHttpxClient, OpenAI, Stream
    from openai.types.chat import ChatCompletion, ChatCompletionChunk


@dataclass(frozen=True, slots=True)
class Server:
    """How to reach it. `timeout`: seconds of silence that end a request; reasoning models are silent for minutes."""

    base_url: str | None
    key: str
    headers: Mapping[str, str]
    timeout: float = 600.0


CONNECT = 15.0
"""Seconds that a connection may take."""

CAPS = ("max_completion_tokens", "max_tokens")
"""Names of the reply's cap: OpenAI's reasoning models refuse the second, most other servers know only that."""

LONGEST = 500_000
"""Characters after which a stream is taken to have run wild."""


class OpenAITransport:
    """An open connection to one server; remembers which optional parts of a request it refused."""

    def __init__(self, server: Server, target: Target, *, stream: bool) -> None:
        self._target = target
        self._stream = stream
        self._client = _connect(server)
        self._timeout = server.timeout
        self._caps = CAPS if _is_openai(server.base_url) else CAPS[::-1]
        self._left_out: set[str] = set()

    def send(self, request: Request, model: str, reply_tokens: int, seconds: float | None, samples: int = 1) -> Answer:
        """The answer to one request. Raises what `failures.classify` makes of an error.

        `seconds`: what is left of the run's time. `samples`: answers wanted; fewer may come.
        """
        import openai

        arguments = self._arguments(request, model, reply_tokens, samples)
        patience = self._timeout if seconds is None else max(0.1, min(self._timeout, seconds))
        arguments["timeout"] = openai.Timeout(patience, connect=min(CONNECT, patience))
        try:
            with self._ending(seconds):
                result = self._client.chat.completions.create(**arguments)
            if self._stream:
                return _gather(cast("Stream[ChatCompletionChunk]", result), request, seconds)
            return _read(cast("ChatCompletion", result), request)
        except openai.APITimeoutError as error:
            raise _too_late(error, patience, self._timeout) from error
        except (openai.OpenAIError, ValueError) as error:
            raise classify(error, replace(self._target, model=model), frozenset(arguments)) from error
        except RuntimeError as error:
            # httpx says so when `_ending` hung up before the request left.
            raise BudgetError("seconds", "the time limit passed before the request left") from error

    @contextlib.contextmanager
    def _ending(self, seconds: float | None) -> Iterator[None]:
        """Hang up after `seconds`: a read timeout alone never ends an answer that drips byte by byte."""
        if seconds is None:
            yield
            return
        timer = threading.Timer(seconds, self._client.close)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def leave_out(self, part: str) -> None:
        """Never send this optional part to this server again."""
        self._left_out.add(part)

    def models(self) -> tuple[str, ...]:
        """Names of the models that the server offers, none when it keeps no list.

        Raises what `failures.classify` makes of an error.
        """
        import openai

        try:
            return tuple(model.id for model in self._client.with_options(timeout=5.0).models.list())
        except openai.NotFoundError:
            return ()
        except (openai.OpenAIError, ValueError) as error:
            raise classify(error, self._target, frozenset()) from error

    def close(self) -> None:
        self._client.close()

    def _arguments(self, request: Request, model: str, reply_tokens: int, samples: int) -> dict[str, Any]:
        cap = next((name for name in self._caps if name not in self._left_out), CAPS[0])
        given: dict[str, Any] = {
            "model": model,
            "messages": [{"role": message.role, "content": message.text} for message in request.messages],
            "temperature": request.temperature,
            cap: reply_tokens,
        }
        if samples > 1:
            given["n"] = samples
        if request.schema:
            schema = {"name": request.schema.name, "schema": request.schema.body, "strict": True}
            given["response_format"] = {"type": "json_schema", "json_schema": schema}
        if self._stream:
            given |= {"stream": True, "stream_options": {"include_usage": True}}
        return {name: value for name, value in given.items() if name not in self._left_out}


def _too_late(error: Exception, waited: float, timeout: float) -> Exception:
    """A connection that was not made may be tried again; a request that is being answered is not sent twice."""
    if type(error.__cause__).__name__ in ("ConnectTimeout", "PoolTimeout"):
        return TransientError("the server could not be reached in time")
    if waited < timeout:
        return OutOfTimeError("seconds", "the time limit passed before the answer came")
    return LateAnswerError(f"the server did not answer within {waited:g} s; request-timeout allows more")


def _is_openai(base_url: str | None) -> bool:
    host = urlsplit(base_url or prices.OPENAI).hostname or ""
    return host.endswith((".openai.com", ".azure.com"))


def _connect(server: Server) -> OpenAI:
    import openai

    url = server.base_url or prices.OPENAI
    return openai.OpenAI(
        api_key=server.key or "none",
        base_url=url,
        default_headers=dict(server.headers),
        max_retries=0,
        http_client=_plain() if urlsplit(url).scheme == "http" else None,
    )


def _plain() -> DefaultHttpxClient:
    """A transport for http:// that loads no certificates (70 ms); one redirected to https:// trusts nobody."""
    import ssl

    import openai

    return openai.DefaultHttpxClient(verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))


def _read(result: ChatCompletion, request: Request) -> Answer:
    """A whole answer. openai hands over whatever came, so its shape is checked here."""
    try:
        said = [(_text(choice.message), str(choice.finish_reason or "stop")) for choice in result.choices]
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise TransientError("the server sent no chat completion", billed=True) from error
    return _counted(said, getattr(result, "usage", None), request)


def _gather(stream: Stream[ChatCompletionChunk], request: Request, seconds: float | None) -> Answer:
    """A streamed answer. Without a finish reason it was cut, however politely the connection ended."""
    said, usage = _heard(stream, None if seconds is None else time.monotonic() + seconds)
    whole = [(text, finish) for _, (text, finish) in sorted(said.items()) if finish is not None]
    if not whole or len(whole) < len(said):
        raise TransientError("the stream was cut", billed=True)
    return _counted(whole, usage, request)


def _heard(
    stream: Stream[ChatCompletionChunk], deadline: float | None
) -> tuple[dict[int, tuple[str, str | None]], Any]:
    """Text and finish reason of each answer by its number, and the usage, once the stream has ended."""
    said: dict[int, tuple[str, str | None]] = {}
    usage = None
    with stream:
        for chunk in stream:
            for number, piece, ended in _pieces(chunk):
                text, finish = said.get(number, ("", None))
                said[number] = text + piece, ended or finish
            usage = getattr(chunk, "usage", None) or usage
            _check_end(sum(len(text) for text, _ in said.values()), deadline)
    return said, usage


def _pieces(chunk: ChatCompletionChunk) -> list[tuple[int, str, str | None]]:
    """(which answer, text, finish reason) in one event; usage and keep-alive events have none."""
    choices = getattr(chunk, "choices", None) or ()
    try:
        return [(choice.index or 0, _text(choice.delta), choice.finish_reason) for choice in choices]
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise TransientError("the server sent no chat completion", billed=True) from error


def _text(message: Any) -> str:
    """What a message or a delta says; some servers send a list of parts. A refusal is text like any other."""
    content = message.content
    if isinstance(content, list):
        return "".join(part["text"] for part in content if isinstance(part, dict) and "text" in part)
    return str(content or getattr(message, "refusal", None) or "")


def _check_end(length: int, deadline: float | None) -> None:
    if deadline is not None and time.monotonic() > deadline:
        raise TransientError("the time limit passed while the answer was streaming", billed=True)
    if length > LONGEST:
        raise TransientError("the answer does not end", billed=True)


def _counted(said: Sequence[tuple[str, str]], usage: Any, request: Request) -> Answer:
    """The samples as one answer. Raises TransientError when there is none."""
    if not said:
        raise TransientError("the server sent no chat completion", billed=True)
    (text, finish), others = said[0], tuple(said[1:])
    prompt, completion = getattr(usage, "prompt_tokens", None), getattr(usage, "completion_tokens", None)
    if not isinstance(prompt, int) or not isinstance(completion, int):
        estimate = sum(int(len(part) / CHARS_PER_TOKEN) + 1 for part, _ in said)
        return Answer(text, finish, request.tokens, estimate, counted=False, others=others)
    details = getattr(usage, "prompt_tokens_details", None)
    cached = getattr(details, "cached_tokens", None)
    return Answer(text, finish, prompt, completion, cached if isinstance(cached, int) else 0, others=others)
