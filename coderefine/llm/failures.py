"""Classify errors of the server: try again, change the request, or stop with a message of one line."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from coderefine.config import masked
from coderefine.errors import BudgetError, ModelError, TooLongError
from coderefine.llm.budget import LEAST_REPLY
from coderefine.sensitive import shortened

if TYPE_CHECKING:
    from openai import APIStatusError

CAPS = ("max_completion_tokens", "max_tokens")
"""Names of the parameter that limits a reply.

OpenAI's reasoning models refuse `max_tokens`; most other servers know only `max_tokens`.
"""
OPTIONAL = ("temperature", *CAPS[::-1], "stream_options", "response_format", "n")
"""Parts of a request that some servers do not support; each is left out once a server has refused it."""
CONTEXT = re.compile(r"context.?(length|window|size)|maximum context|too many tokens|prompt is too long", re.IGNORECASE)
QUOTA = re.compile(r"insufficient.?(quota|credit|balance)|billing|out of credits", re.IGNORECASE)
FILTER = re.compile(r"content.?(filter|policy|management)", re.IGNORECASE)
MOST = re.compile(
    r"(?:at most|(?<!greater than )or equal to|no more than|up to|<=?|\d >=?|\[\d+,)\W{0,3}"
    r"(\d{1,3}(?:[,._]\d{3})+|\d{1,9})"
)
"""The maximum that a server names when it refuses the value of one of CAPS."""
SHARED = re.compile(
    r"maximum context length is (\d+) tokens.*?(?<!at least )\b(\d+) (?:input tokens|of text input|in the messages)"
)
"""Matches a refusal with two numbers of tokens: the limit for prompt and answer together, and the prompt's length."""
UNSENT = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout", "ProxyError", "UnsupportedProtocol"})
"""Exceptions that httpx raises before the server gets a request; after others, the request may be billed."""
TRANSIENT = frozenset({408, 409, 425, 429})


class TransientError(Exception):
    """A temporary failure. `after`: seconds the server asks to wait; `billed`: whether the request may be billed."""

    def __init__(self, reason: str, after: float | None = None, *, billed: bool = False) -> None:
        super().__init__(reason)
        self.after = after
        self.billed = billed


class LateAnswerError(ModelError):
    """A request was sent but not answered in time; it may be billed."""


class OutOfTimeError(BudgetError):
    """The run's time limit was reached before a sent request was answered; the request may be billed."""


class UnsupportedError(Exception):
    """The server does not support this optional part of the request, or only values up to `most`.

    `once`: whether `most` holds for this request only, because it depends on the length of the prompt.
    """

    def __init__(self, part: str, most: int | None = None, *, once: bool = False) -> None:
        super().__init__(part)
        self.part = part
        self.most = most
        self.once = once


@dataclass(frozen=True, slots=True)
class Target:
    """The server and model of a request, for messages. `key_refusal`: why the key in `key_name` is not sent."""

    model: str
    url: str
    key_name: str
    key_refusal: str = ""


def classify(error: Exception, target: Target, sent: Mapping[str, Any]) -> Exception:
    """Convert `error`, raised by openai or httpx, to a TransientError, UnsupportedError or ModelError.

    `sent`: the parameters of the request, by name.
    """
    import openai

    cause = error.__cause__
    if type(cause).__name__ == "LocalProtocolError" or isinstance(error, UnicodeEncodeError):
        # Their text may contain the key.
        return ModelError(
            "the request cannot be sent: the model's name or a header has characters that HTTP forbids; check `model` "
            "and `extra-headers`"
        )
    if isinstance(error, openai.APIConnectionError):
        billed = type(cause).__name__ not in UNSENT
        return TransientError(f"no connection to {target.url}: {short_line(str(cause or error))}", billed=billed)
    if isinstance(error, openai.APIStatusError):
        return _by_response(error, target, sent)
    if isinstance(error, (json.JSONDecodeError, UnicodeDecodeError, openai.APIResponseValidationError)):
        return TransientError("the server sent malformed JSON", billed=True)
    if isinstance(error, openai.APIError) and error.body is not None:
        inside = error_in_answer(error.body, target, sent)
        if isinstance(inside, TransientError):
            inside.billed = True  # a part of the answer may have been made before
        return inside
    return TransientError(f"the server broke the stream: {short_line(str(error))}", billed=True)


def _by_response(error: APIStatusError, target: Target, sent: Mapping[str, Any]) -> Exception:
    """Convert the error for a response that is no success. Redirections are not followed (see `transport`)."""
    if error.response.has_redirect_location:
        place = short_line(masked(error.response.headers["location"]))
        return ModelError(f"{target.url} redirects to {place}, where nothing is sent; give its base-url instead")
    return _by_status(_Refusal.of(error.status_code, error.body, error.response.headers), target, sent)


def error_in_answer(body: object, target: Target, sent: Mapping[str, Any]) -> Exception:
    """Convert the error that a server sent with status 200, as `classify` does.

    The code in `body` counts as the status; without one, the status is 500.
    """
    code = str(body.get("code")) if isinstance(body, dict) else ""
    status = int(code) if re.fullmatch("[45][0-9]{2}", code) else 500
    return _by_status(_Refusal.of(status, body, {}), target, sent)


@dataclass(frozen=True, slots=True)
class _Refusal:
    """An error that the server sent. `reason`: its message in one short line; `after`: seconds it asks to wait."""

    status: int
    code: str
    param: str | None
    reason: str
    after: float | None

    @classmethod
    def of(cls, status: int, body: object, headers: object) -> _Refusal:
        table = body if isinstance(body, dict) else {}
        return cls(status, str(table.get("code")), table.get("param"), _server_message(body), retry_after(headers))


def _by_status(error: _Refusal, target: Target, sent: Mapping[str, Any]) -> Exception:
    status, reason = error.status, error.reason
    if final := _final(error, target):
        return ModelError(final)
    if lower := _lower_cap(error, sent):
        return lower
    if status == 413 or (status in (400, 422) and CONTEXT.search(f"{error.code} {reason}")):
        return TooLongError(
            f"the request is longer than {target.model!r} can read; choose a model with a larger context: {reason}"
        )
    if status in TRANSIENT or status >= 500:
        return TransientError(f"the server answered {status}: {reason}", error.after)
    if part := _unsupported_part(error, sent):
        return UnsupportedError(part)
    return ModelError(f"the model's server refused the request ({status}): {reason}")


def _final(error: _Refusal, target: Target) -> str | None:
    """Return the message for a permanent failure; None for any other failure."""
    status, reason, model = error.status, error.reason, target.model
    whole = f"{error.code} {reason}"
    lines = (
        (status == 401 and bool(target.key_refusal), f"the model's server wants a key (401), but {target.key_refusal}"),
        (
            status == 401,
            f"the model's server refused the key (401); set {target.key_name} to one valid at {target.url}",
        ),
        (
            status == 402 or bool(QUOTA.search(whole)),
            f"the account behind {target.key_name} has no credit left ({status}): {reason}",
        ),
        (
            status in (400, 403, 422) and bool(FILTER.search(whole)),
            f"the provider's content filter refused the request ({status}): {reason}",
        ),
        (status == 403, f"the key in {target.key_name} may not use model {model!r} (403): {reason}"),
        (status == 404, f"{target.url} knows no model {model!r} (404); check --model and base-url: {reason}"),
    )
    return next((line for holds, line in lines if holds), None)


def _lower_cap(error: _Refusal, sent: Mapping[str, Any]) -> UnsupportedError | None:
    """Return an UnsupportedError with the largest answer length that the server accepts, in tokens.

    Return None if the error names no such length, or if this length is below LEAST_REPLY or not below the requested
    one.
    """
    if error.status not in (400, 422):
        return None
    shared = SHARED.search(error.reason)
    most = int(shared[1]) - int(shared[2]) if shared else _maximum(error)
    cap = next((cap for cap in CAPS if LEAST_REPLY <= most < sent.get(cap, 0)), None)
    return UnsupportedError(cap, most, once=bool(shared)) if cap else None


def _maximum(error: _Refusal) -> int:
    """Return the number of tokens to which the server limits answers; 0 if it names none."""
    named = re.search("|".join(CAPS), error.reason)
    most = MOST.search(error.reason, named.end() if named else 0) if named or error.param in CAPS else None
    return int(re.sub(r"\D", "", most[1])) if most else 0


def _unsupported_part(error: _Refusal, sent: Mapping[str, Any]) -> str | None:
    reason = error.reason
    if error.status not in (400, 422):
        return None
    named = [part for part in OPTIONAL if part in sent and (part == error.param or re.search(rf"\b{part}\b", reason))]
    if named:
        return error.param if error.param in named else named[0]
    if "response_format" in sent and re.search(r"json_schema|structured|response.?format", reason):
        return "response_format"
    return None


def _server_message(body: object) -> str:
    """Return the server's message in one short line. FastAPI sends a list of faults, with their places, as `detail`."""
    message = body.get("message") or body.get("detail") if isinstance(body, dict) else body
    if isinstance(message, dict):
        message = message.get("detail")
    if isinstance(message, list):
        message = "; ".join(filter(None, map(_fault, message)))
    if isinstance(message, str) and message and not message.lstrip().startswith("<"):
        return short_line(message)
    return "no reason given"


def _fault(item: object) -> str:
    if not isinstance(item, dict) or "msg" not in item:
        return ""
    place = item.get("loc")
    names = place[1:] if isinstance(place, list) else ()
    return f"{'.'.join(map(str, names))}: {item['msg']}"


def short_line(text: str) -> str:
    return shortened(" ".join("".join(char if char.isprintable() else " " for char in text).split()), 200)


def retry_after(headers: object) -> float | None:
    """Return the seconds to wait according to `retry-after-ms` or `Retry-After`; None if unknown.

    `Retry-After` is a number of seconds or an HTTP date (RFC 9110 section 10.2.3).
    """
    get = getattr(headers, "get", lambda _: None)
    precise, plain = get("retry-after-ms"), get("retry-after")
    try:
        if precise:
            return max(0.0, float(precise) / 1000)
        if plain:
            return max(0.0, float(plain))
    except ValueError:
        from email.utils import parsedate_to_datetime

        try:
            return max(0.0, parsedate_to_datetime(str(plain)).timestamp() - time.time())
        except (TypeError, ValueError):
            return None
    return None
