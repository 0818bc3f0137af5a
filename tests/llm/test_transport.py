"""The connection itself."""

from __future__ import annotations

import pytest

from coderefine.errors import BudgetError
from coderefine.llm.failures import Target
from coderefine.llm.model_request import Message, ModelRequest
from coderefine.llm.transport import OpenAITransport, Server
from tests.support.llm_server import LlmServer


def test_time_that_is_over_before_the_request_is_sent_is_not_a_bug() -> None:
    with LlmServer(["never"]) as server:
        transport = OpenAITransport(Server(server.url, "", {}), Target("m", server.url, "KEY"), stream=False)
        transport.close()
        with pytest.raises(BudgetError, match="time limit"):
            transport.send(ModelRequest("fix", (Message("user", "hello"),)), "m", 10, 5.0)
        assert server.requests == []
