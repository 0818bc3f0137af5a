"""What a failing test may have missed in the private view: the network, a variable that looks like a secret."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from coderefine import proc
from coderefine.core import Check, Failure, View

if TYPE_CHECKING:
    from coderefine.config import Config

NETWORK = re.compile(
    r"Network is unreachable|Connection ?refused|ConnectionRefusedError|getaddrinfo failed|Failed to resolve|"
    r"name resolution|Name or service not known|nodename nor servname|No route to host",
    re.IGNORECASE,
)
"""How an absent network sounds (errno(3), gai_strerror(3), urllib3)."""


def denied(check: Check, view: View, config: Config) -> Iterator[str]:
    """One sentence for each thing that a failure asks for and that the view keeps from tests."""
    said = [_said(case.failure) for case in check.cases.values() if case.failure and case.status.bad]
    if "network off" in view.isolation and any(NETWORK.search(text) for text in said):
        yield "a failing test wants the network, which is off: `--network` (network = true) lets tests use it"
    for name in sorted(proc.withheld(os.environ, config.pass_env) - {config.api_key_env}):
        if any(re.search(rf"\b{re.escape(name)}\b", text) for text in said):
            yield f'a failing test wants {name}, kept from tests as a secret: pass-env = ["{name}"] lets them see it'


def _said(failure: Failure) -> str:
    return "\n".join((failure.exception, failure.message, failure.assertion, failure.output))
