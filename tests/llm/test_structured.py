from __future__ import annotations

import pytest

from coderefine.errors import ReplyError
from coderefine.llm.model_request import Message, ModelRequest
from coderefine.llm.structured import ask_json, read, record
from tests.support.clients import line
from tests.support.llm_server import Reply, Seen, error

SCHEMA = record(
    "review",
    score={"type": "integer"},
    kind={"type": "string", "enum": ["good", "bad"]},
    points={"type": "array", "items": {"type": "string"}},
)
GOOD = '{"score": 3, "kind": "good", "points": ["a"]}'


@pytest.mark.parametrize(
    "text",
    [GOOD, f"Sure:\n```json\n{GOOD}\n```\nBye {{}}", f"<think>{{no}}</think>{GOOD}", "{not json} " + GOOD],
)
def test_json_is_found_inside_other_text(text: str) -> None:
    assert read(text, SCHEMA) == {"score": 3, "kind": "good", "points": ["a"]}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("no json", "holds no JSON object"),
        ("[1]", "holds no JSON object"),
        ('{"score": 3, "kind": "good"}', "lacks 'points'"),
        (GOOD.replace("3", '"3"'), "'score' must be integer"),
        (GOOD.replace("3", "true"), "'score' must be integer"),
        (GOOD.replace("good", "ugly"), "'kind' must be one of good, bad"),
        (GOOD.replace('"a"', "1"), "'points' item 0 must be string"),
        ("{" * 2000, "holds no JSON object"),
    ],
)
def test_violations_of_the_schema_are_reported(text: str, words: str) -> None:
    with pytest.raises(ReplyError, match=words):
        read(text, SCHEMA)


def test_an_object_that_was_cut_off_gets_more_tokens() -> None:
    """The second request had the limit at which the first answer was cut off."""
    request = ModelRequest("critique", (Message("user", "review"),), schema=SCHEMA, reply_tokens=100)
    with line([Reply(GOOD[:20], finish="length"), GOOD]) as it:
        assert ask_json(it.client, request)["score"] == 3
        assert [seen.body["max_tokens"] for seen in it.server.requests] == [100, 400]


def test_an_object_that_is_cut_off_after_reasoning_does_not_get_more_tokens_twice() -> None:
    """The third request had 16 times the limit: the client and then this module had multiplied it."""
    request = ModelRequest("critique", (Message("user", "review"),), schema=SCHEMA, reply_tokens=100)
    with line([Reply("", finish="length"), Reply(GOOD[:20], finish="length"), GOOD]) as it:
        assert ask_json(it.client, request)["score"] == 3
        assert [seen.body["max_tokens"] for seen in it.server.requests] == [100, 400, 400]


def test_an_object_that_was_cut_off_is_asked_for_again_if_the_server_gives_no_more_tokens() -> None:
    """The second request, with four times the limit, failed as too long."""
    request = ModelRequest("critique", (Message("user", "review"),), schema=SCHEMA, reply_tokens=100)

    def answer(seen: Seen) -> Reply:
        if seen.body["max_tokens"] > 100:
            return error(400, "max_tokens exceeds the context window")
        return Reply(GOOD[:20], finish="length") if len(it.server.requests) == 1 else Reply(GOOD)

    with line(answer) as it:
        assert ask_json(it.client, request)["score"] == 3
        assert [seen.body["max_tokens"] for seen in it.server.requests] == [100, 400, 100]


def test_an_invalid_answer_is_requested_exactly_once_more() -> None:
    request = ModelRequest("critique", (Message("user", "review"),), schema=SCHEMA)
    with line(["rubbish", GOOD]) as it:
        assert ask_json(it.client, request)["score"] == 3
        assert len(it.server.requests) == 2
        assert "no JSON object" in it.server.requests[1].prompt
    with line(["rubbish"]) as it:
        with pytest.raises(ReplyError):
            ask_json(it.client, request)
        assert len(it.server.requests) == 2
