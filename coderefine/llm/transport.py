"""Send one request through the openai package; no other module uses this package."""

from __future__ import annotations

import contextlib
import math
import os
import re
import ssl
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from coderefine.config import masked
from coderefine.errors import BudgetError, ModelError
from coderefine.llm.budget import OPENAI
from coderefine.llm.failures import (
    CAPS,
    LateAnswerError,
    OutOfTimeError,
    Target,
    TransientError,
    classify,
    error_in_answer,
    short_line,
)
from coderefine.llm.model_request import Answer, ModelRequest, encodable, estimated_tokens

if TYPE_CHECKING:
    from openai import OpenAI, Stream
    from openai.types.chat import ChatCompletion, ChatCompletionChunk


@dataclass(frozen=True, slots=True)
class Server:
    """The address of a server and how to reach it.

    `timeout`: seconds without data after which a request is ended; reasoning models may send nothing for minutes.
    """

    base_url: str | None
    key: str
    headers: Mapping[str, str]
    timeout: float = 600.0


CONNECT = 15.0
"""Maximum number of seconds for opening a connection."""
PRINTABLE = re.compile(r"[\t -~]*")

REFUSES = "NO REPAIR: it refuses: "
"""Beginning of the text of a refusal, so that `reply.refused` finds it."""
LONGEST = 500_000
"""Characters after which a stream counts as endless."""


class OpenAITransport:
    """An open connection to one server; stores which optional parts of requests the server refuses."""

    def __init__(self, server: Server, target: Target, *, stream: bool) -> None:
        self._target = target
        self._stream = stream
        self._client = _connect(server, target)
        self._timeout = server.timeout
        host = urlsplit(server.base_url or OPENAI).hostname or ""
        self._caps = CAPS if host.endswith((".openai.com", ".azure.com")) else CAPS[::-1]
        self._left_out: set[str] = set()
        self._most: dict[str, int] = {}

    def send(
        self, request: ModelRequest, model: str, reply_tokens: int, seconds: float | None, samples: int = 1
    ) -> Answer:
        """Return the answer to one request.

        `seconds`: remaining time of the run. `samples`: number of requested answers; the server may give fewer.
        Raises the errors that `failures.classify` returns; after a timeout, LateAnswerError, BudgetError or, if there
        was no connection, TransientError.
        """
        import openai

        arguments = self._arguments(request, model, reply_tokens, samples)
        patience = self._timeout if seconds is None else max(0.1, min(self._timeout, seconds))
        arguments["timeout"] = openai.Timeout(patience, connect=min(CONNECT, patience))
        end = math.inf if seconds is None else time.monotonic() + seconds
        try:
            with self._ending(seconds):
                result = self._client.chat.completions.create(**arguments)
            if self._stream:
                return _gather(_TimedStream(cast("Stream[ChatCompletionChunk]", result), end, patience), request)
            if not getattr(result, "choices", None) and (problem := getattr(result, "error", None)):
                raise error_in_answer(problem, replace(self._target, model=model), arguments)
            return _read(cast("ChatCompletion", result), request)
        except openai.APITimeoutError as error:
            raise _too_late(error, patience, self._timeout) from error
        except (openai.OpenAIError, ValueError) as error:
            raise classify(error, replace(self._target, model=model), arguments) from error
        except RuntimeError as error:
            # httpx raises this if `_ending` closed the connection before the request was sent.
            raise BudgetError("seconds", "the time limit passed before the request left") from error

    @contextlib.contextmanager
    def _ending(self, seconds: float | None) -> Iterator[None]:
        """Close the connection after `seconds`; a read timeout alone does not end an answer that comes very slowly."""
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
        """Omit this optional part from all further requests to this server."""
        self._left_out.add(part)

    def limit_reply(self, model: str, most: int) -> None:
        """Request at most `most` tokens in all further answers of `model`."""
        self._most[model] = most

    @property
    def limits_replies(self) -> bool:
        """Return whether requests limit the length of answers; they do not if the server has refused all of CAPS."""
        return not self._left_out.issuperset(CAPS)

    def models(self) -> tuple[str, ...]:
        """Return the names of the server's models; () if the server cannot list them.

        Raises the errors of `failures.classify`.
        """
        import openai

        try:
            return tuple(model.id for model in self._client.models.list(timeout=5.0))
        except openai.NotFoundError:
            return ()
        except (openai.OpenAIError, ValueError) as error:
            raise classify(error, self._target, {}) from error

    def close(self) -> None:
        self._client.close()

    def _arguments(self, request: ModelRequest, model: str, reply_tokens: int, samples: int) -> dict[str, Any]:
        cap = next((name for name in self._caps if name not in self._left_out), CAPS[0])
        given: dict[str, Any] = {
            "model": model,
            "messages": [{"role": message.role, "content": message.text} for message in request.messages],
            "temperature": request.temperature,
            cap: min(reply_tokens, self._most.get(model, reply_tokens)),
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
    """Return the error for a timeout; it is temporary only if there was no connection.

    Otherwise the request was sent and may be billed, so that it is not repeated.
    """
    if type(error.__cause__).__name__ in ("ConnectTimeout", "PoolTimeout"):
        return TransientError("the server could not be reached in time")
    if waited < timeout:
        return OutOfTimeError("seconds", "the time limit passed before the answer came")
    return _late(waited)


def _late(waited: float) -> LateAnswerError:
    return LateAnswerError(f"the server did not answer within {waited:g} s; request-timeout allows more")


def _connect(server: Server, target: Target) -> OpenAI:
    """Return openai's client for `server`. Raises ModelError if a setting cannot be used."""
    import openai

    url = server.base_url or OPENAI
    headers = {name: _sendable(value, f"extra-headers: {name}") for name, value in server.headers.items()}
    key = _sendable(server.key, f"the key in {target.key_name}") or "none"
    try:
        plain = None
        if urlsplit(url).scheme == "http":
            # No certificates are needed, and loading them takes 70 ms.
            plain = openai.DefaultHttpxClient(verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
        client = openai.OpenAI(api_key=key, base_url=url, default_headers=headers, max_retries=0, http_client=plain)
        client._client.follow_redirects = False  # another server would get the code; see `failures.classify`
    except Exception as error:  # of several types, for an address, a proxy or its protocol that httpx does not know
        raise ModelError(
            f"no connection to {target.url} can be made: {short_line(masked(str(error)))}; "
            "check base-url and the proxy variables, such as ALL_PROXY"
        ) from error
    if not ((urlsplit(url).hostname or "").endswith(".openai.com") or url == os.environ.get("OPENAI_BASE_URL")):
        # openai reads OPENAI_ORG_ID, OPENAI_PROJECT_ID and OPENAI_CUSTOM_HEADERS for every server.
        client.organization = client.project = None
        client._custom_headers = headers
    return client


def _sendable(value: str, name: str) -> str:
    """Return the value of a header without blanks at its ends. Raises ModelError if HTTP forbids one of its characters.

    `name`: the name of the value, for the message.
    """
    if not PRINTABLE.fullmatch(plain := value.strip()):
        raise ModelError(f"{name} contains characters that no HTTP header may have: write it on one line, in ASCII")
    return plain


def _read(result: ChatCompletion, request: ModelRequest) -> Answer:
    """Convert a complete answer; its structure is checked here, because openai does not check it."""
    with _checked():
        texts = [(_text(choice.message), str(choice.finish_reason or "stop")) for choice in result.choices]
        return _counted(texts, getattr(result, "usage", None), request)


class _TimedStream:
    """The chunks of `stream`, which is closed at the time `end`, or when no chunk arrives for `patience` seconds.

    A read timeout is not enough: a server may send comments that keep the connection alive, but are no chunks.
    """

    def __init__(self, stream: Stream[ChatCompletionChunk], end: float, patience: float) -> None:
        self._stream = stream
        self._end = end
        self._patience = patience
        self._until = time.monotonic() + patience
        self._read = threading.Event()
        self._closed: Exception | None = None

    def __iter__(self) -> Iterator[ChatCompletionChunk]:
        """Yield the chunks. Raises OutOfTimeError at the time `end`, LateAnswerError if no chunk arrives in time."""
        threading.Thread(target=self._close_in_time, name="stream-timer", daemon=True).start()
        try:
            with self._stream:
                for chunk in self._stream:
                    self._until = time.monotonic() + self._patience
                    yield chunk
        except Exception as error:
            if self._closed:
                raise self._closed from error
            raise
        finally:
            self._read.set()
        if self._closed:
            raise self._closed

    def _close_in_time(self) -> None:
        while not self._read.wait(min(min(self._end, self._until) - time.monotonic(), threading.TIMEOUT_MAX)):
            now = time.monotonic()
            if now >= self._end:
                self._closed = OutOfTimeError("seconds", "the time limit passed while the answer was streaming")
            elif now >= self._until:
                self._closed = _late(self._patience)
            if self._closed:
                self._stream.close()
                return


def _gather(stream: _TimedStream, request: ModelRequest) -> Answer:
    """Collect a streamed answer. Raises TransientError if a finish reason is missing: then the answer was cut off."""
    texts: dict[int, str] = {}
    finished: dict[int, str] = {}
    usage = None
    with _checked():
        for chunk in stream:
            for choice in getattr(chunk, "choices", None) or ():  # usage and keep-alive events have none
                number = choice.index or 0
                texts[number] = _text(choice.delta, texts.get(number, ""))
                finished |= {number: choice.finish_reason} if choice.finish_reason else {}
            usage = getattr(chunk, "usage", None) or usage
            _check_length(texts.values())
    if not finished or len(finished) < len(texts):
        raise TransientError("the stream was cut", billed=True)
    return _counted([(texts[number], finished[number]) for number in sorted(finished)], usage, request)


def _check_length(texts: Iterable[str]) -> None:
    if sum(map(len, texts)) > LONGEST:
        raise TransientError("the answer does not end", billed=True)


@contextlib.contextmanager
def _checked() -> Iterator[None]:
    """Raise TransientError for data without the structure of a chat completion."""
    try:
        yield
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise TransientError("the server sent no chat completion", billed=True) from error


def _text(message: Any, before: str = "") -> str:
    """Return `before` plus the text of a message or delta; the text may be a list of parts, or a refusal."""
    content = message.content
    if isinstance(content, list):
        content = "".join(part["text"] for part in content if isinstance(part, dict) and "text" in part)
    if not content and (refusal := getattr(message, "refusal", None)):
        return f"{before or REFUSES}{refusal}"
    return f"{before}{content or ''}"


def _counted(texts: Sequence[tuple[str, str]], usage: Any, request: ModelRequest) -> Answer:
    """Combine the samples (text, finish reason) into one answer. Raises IndexError if there are none."""
    encoded = tuple((encodable(text), finish) for text, finish in texts)
    (text, finish), others = encoded[0], encoded[1:]
    prompt, completion = getattr(usage, "prompt_tokens", None), getattr(usage, "completion_tokens", None)
    if not isinstance(prompt, int) or not isinstance(completion, int) or not prompt + completion:
        estimate = sum(int(estimated_tokens(part)) + 1 for part, _ in texts)
        return Answer(text, finish, request.tokens, estimate, counted=False, others=others)
    total = getattr(usage, "total_tokens", None)
    if isinstance(total, int):  # some servers count reasoning only there
        completion = max(completion, total - prompt)
    cached = getattr(getattr(usage, "prompt_tokens_details", None), "cached_tokens", None)
    return Answer(text, finish, prompt, completion, cached if isinstance(cached, int) else 0, others=others)
