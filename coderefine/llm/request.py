"""What is asked of a model and what comes back: frozen values, keyed by content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

from coderefine.errors import JournalError

CHARS_PER_TOKEN = 3.5
"""Characters of English prose and code per token, low on purpose: an estimate must not fall short."""


@dataclass(frozen=True, slots=True)
class Message:
    """`role` is system, user or assistant."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Schema:
    """A JSON schema the answer must satisfy; `name` is what servers call it."""

    name: str
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """One question. `purpose` is for people (edit, again, critique); `parts` are (name, characters) for them too.

    `reply_tokens` caps each answer; `samples` is how many different answers are wanted (the prompt is paid once).
    """

    purpose: str
    messages: tuple[Message, ...]
    temperature: float = 0.2
    model: str | None = None
    schema: Schema | None = None
    reply_tokens: int = 8192
    parts: tuple[tuple[str, int], ...] = ()
    samples: int = 1

    @property
    def chars(self) -> int:
        return sum(len(message.text) for message in self.messages)

    @property
    def tokens(self) -> int:
        """Estimated prompt tokens, a few per message for its frame included."""
        return int(self.chars / CHARS_PER_TOKEN) + 8 * len(self.messages)

    def key(self, model: str, ordinal: int) -> str:
        """sha256 over what decides the answer; `ordinal` counts identical requests of one run from 0."""
        schema = [self.schema.name, self.schema.body] if self.schema else None
        messages = [[message.role, message.text] for message in self.messages]
        samples = [self.samples] if self.samples > 1 else []
        decides = [model, messages, self.temperature, schema, ordinal, *samples]
        whole = json.dumps(decides, sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(whole.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Answer:
    """The reply of the model. `finish` is the reason that the server gives: stop, length, content_filter …

    Token counts are the server's own, or estimates when it sent none (`counted` is then False).
    `others` are further samples of the same request, each (text, finish); the counts cover them all.
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
        """Every sample as an answer of its own; the first one carries the counts."""
        return (replace(self, others=()), *(Answer(text, finish) for text, finish in self.others))

    def dump(self, request: Request | None = None) -> str:
        """For the journal, with the request as it was sent."""
        asked = {"asked": asdict(request)} if request else {}
        return json.dumps({**asdict(self), **asked}, sort_keys=True)

    @classmethod
    def load(cls, text: str) -> Answer:
        """The way back from `dump`. Raises JournalError when the record is damaged."""
        try:
            given = json.loads(text)
            given.pop("asked", None)
            others = tuple((str(sample), str(finish)) for sample, finish in given.pop("others", ()))
            return cls(**given, others=others)
        except (ValueError, TypeError, AttributeError) as error:
            raise JournalError(f"a recorded answer is damaged ({error}); start a new run") from error


def sent(text: str) -> Request | None:
    """The request in a record that `Answer.dump` made, None when it has none. Raises JournalError when damaged."""
    try:
        asked = json.loads(text).get("asked")
        if asked is None:
            return None
        messages = tuple(Message(**message) for message in asked.pop("messages"))
        schema = asked.pop("schema")
        parts = tuple((str(name), int(size)) for name, size in asked.pop("parts"))
        return Request(messages=messages, schema=Schema(**schema) if schema else None, parts=parts, **asked)
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise JournalError(f"a recorded request is damaged ({error})") from error


class Memory(Protocol):
    """Where answers are kept between runs; the journal is one."""

    def recall(self, key: str) -> str | None: ...
    def remember(self, key: str, value: str) -> None: ...
