"""Requests to a model, and its answers, as immutable values; a request has a key computed from its content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

from coderefine.errors import JournalError

CHARS_PER_TOKEN = 3.5
"""ASCII characters of prose and code per token; intentionally low, so that estimates are not too small."""
CUT = "length"
"""`Answer.finish` of an answer that was cut off because it was too long."""
MORE = 4
"""Factor of the token limit of a second request, which is sent if the first answer was cut off before it was useful."""


def estimated_tokens(text: str) -> float:
    """Return the estimated number of tokens of `text`; a character that is not ASCII counts as one token."""
    others = 0 if text.isascii() else sum(not char.isascii() for char in text)
    return (len(text) - others) / CHARS_PER_TOKEN + others


@dataclass(frozen=True, slots=True)
class Message:
    """A message. `role`: system, user or assistant."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Schema:
    """A JSON schema that the answer must satisfy; `name`: its name in the request."""

    name: str
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request. `purpose` (edit, again, critique) and `parts` (name, characters) are for display only.

    `reply_tokens`: maximum length of each answer; `samples`: number of different answers (the prompt is paid once);
    `longer`: whether an answer gets MORE times `reply_tokens`, if the server allows it.
    """

    purpose: str
    messages: tuple[Message, ...]
    temperature: float = 0.2
    model: str | None = None
    schema: Schema | None = None
    reply_tokens: int = 8192
    parts: tuple[tuple[str, int], ...] = ()
    samples: int = 1
    longer: bool = False

    @property
    def chars(self) -> int:
        return sum(len(message.text) for message in self.messages)

    @property
    def tokens(self) -> int:
        """Return the estimated number of prompt tokens; it includes 8 extra tokens for each message."""
        return int(sum(estimated_tokens(message.text) for message in self.messages)) + 8 * len(self.messages)

    def key(self, model: str, ordinal: int) -> str:
        """Return the SHA-256 of everything that affects the answer; `ordinal`: number of earlier equal requests."""
        schema = [self.schema.name, self.schema.body] if self.schema else None
        messages = [[message.role, message.text] for message in self.messages]
        samples = [self.samples] if self.samples > 1 else []
        decides = [model, messages, self.temperature, schema, ordinal, *samples]
        whole = json.dumps(decides, sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(whole.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Answer:
    """The reply of the model. `finish`: why the answer ended, as the server calls it: stop, length, content_filter …

    Token counts are those of the server, or estimates if the server sent none (`counted` is then False). `others`:
    further samples for the same request, each (text, finish); the counts include them.
    """

    text: str
    finish: str = "stop"
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    counted: bool = True
    usd: float | None = None
    others: tuple[tuple[str, str], ...] = ()

    @property
    def each(self) -> tuple[Answer, ...]:
        """Return every sample as a separate answer; only the first one has the token counts."""
        return (replace(self, others=()), *(Answer(text, finish) for text, finish in self.others))

    def dump(self, request: ModelRequest | None = None) -> str:
        """Serialise the answer for the journal, with its `request` if given."""
        asked = {"asked": asdict(request)} if request else {}
        return json.dumps({**asdict(self), **asked}, sort_keys=True)

    @classmethod
    def load(cls, text: str) -> Answer:
        """Deserialise `text`, a result of `dump`. Raises JournalError if `text` is damaged."""
        try:
            given = json.loads(text)
            given.pop("asked", None)
            others = tuple((str(sample), str(finish)) for sample, finish in given.pop("others", ()))
            return cls(**given, others=others)
        except (ValueError, TypeError, AttributeError) as error:
            raise JournalError(f"a recorded answer is damaged ({error}); start a new run") from error


def encodable(text: str) -> str:
    """Return `text` in a form that UTF-8 can encode: surrogates are joined to pairs, single ones are replaced."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def sent(text: str) -> ModelRequest | None:
    """Return the request that is stored in `text`, a result of `Answer.dump`; None if it stores no request.

    Raises JournalError if `text` is damaged.
    """
    try:
        asked = json.loads(text).get("asked")
        if asked is None:
            return None
        messages = tuple(Message(**message) for message in asked.pop("messages"))
        schema = asked.pop("schema")
        parts = tuple((str(name), int(size)) for name, size in asked.pop("parts"))
        return ModelRequest(messages=messages, schema=Schema(**schema) if schema else None, parts=parts, **asked)
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise JournalError(f"a recorded request is damaged ({error})") from error


ANSWERS, TRACES = "answers", "traces"
"""Kinds of texts in a Memory: answers of models, and traces of failing tests, from which requests are made."""


class Memory(Protocol):
    """A store of texts between runs, such as the journal. `kind`: ANSWERS or TRACES."""

    def recall(self, key: str, kind: str = ANSWERS) -> str | None: ...
    def remember(self, key: str, value: str, kind: str = ANSWERS) -> None: ...
