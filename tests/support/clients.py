"""A model client wired to a scripted server, which keeps its events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from coderefine.config import Config
from coderefine.core import Event
from coderefine.llm.client import Backoff, Client
from tests.support.llm_server import LlmServer, Script

QUICK = Backoff(tries=3, base=0.001, ceiling=0.002)


@dataclass
class Notebook:
    """A memory that lasts as long as the test."""

    answers: dict[str, str] = field(default_factory=dict)

    def recall(self, key: str) -> str | None:
        return self.answers.get(key)

    def remember(self, key: str, value: str) -> None:
        self.answers[key] = value


@dataclass(frozen=True)
class Line:
    """A client, the server at the other end, and the events in between."""

    client: Client
    server: LlmServer
    events: list[Event]

    @property
    def notes(self) -> str:
        return "\n".join(event.text for event in self.events if event.kind == "note")


@contextmanager
def line(
    script: Script,
    config: Config | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    **more: Any,
) -> Iterator[Line]:
    """An open line to a server that answers from `script`; `more` goes to the Client."""
    events: list[Event] = []
    with LlmServer(script) as server:
        chosen = replace(config or Config(), model=(config.model if config else None) or "m1", base_url=server.url)
        more.setdefault("backoff", QUICK)
        with Client(chosen, environ=environ or {}, listen=events.append, **more) as client:
            yield Line(client, server, events)
