from __future__ import annotations

import importlib
import json
import time
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime

import pytest

from coderefine.config import Config
from coderefine.core import Event, Limits
from coderefine.errors import BudgetError, CoderefineError, ModelError, ReplayMissError, TooLongError
from coderefine.llm.availability import configured
from coderefine.llm.client import Backoff, Client
from coderefine.llm.model_request import Message, ModelRequest
from coderefine.llm.reply import refused
from coderefine.llm.structured import record
from tests.support.cases import every
from tests.support.clients import Line, Notebook, line
from tests.support.llm_server import LlmServer, Reply, Seen, error

ASKED = ModelRequest("edit", (Message("system", "You repair."), Message("user", "Repair é this.")))
STREAMS = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


@STREAMS
def test_answer_usage_and_events(stream: bool) -> None:
    with line([Reply("héllo", usage=(12, 3))], Config(stream=stream)) as it:
        answer = it.client.ask(ASKED)
        assert (answer.text, answer.finish, answer.prompt_tokens, answer.completion_tokens) == ("héllo", "stop", 12, 3)
        assert (it.client.spent.requests, it.client.spent.tokens, it.client.spent.usd) == (1, 15, None)
        assert [event.kind for event in it.events] == ["note", "request", "spent"]
        assert it.events[-1].cost == it.client.spent
        seen = it.server.requests[0]
        assert seen.messages == (("system", "You repair."), ("user", "Repair é this."))
        assert seen.body.get("stream", False) is stream
        assert seen.body["model"] == "m1"
        assert seen.body["temperature"] == 0.2


@STREAMS
def test_a_server_without_usage_is_estimated(stream: bool) -> None:
    with line([Reply("x" * 350, silent=True)], Config(stream=stream)) as it:
        answer = it.client.ask(ASKED)
        assert not answer.counted
        assert answer.completion_tokens >= 100
        assert it.client.spent.tokens == answer.prompt_tokens + answer.completion_tokens


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        ({"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 1135}, (32, 1103)),
        ({"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 41}, (32, 9)),
        ({"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": None}, (32, 9)),
        ({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, (ASKED.tokens, 101)),
    ],
    ids=["xAI", "OpenAI", "no total", "zeros"],
)
def test_reasoning_that_only_the_total_contains_is_counted(usage: dict[str, int], counted: tuple[int, int]) -> None:
    """An answer of 1,103 tokens counted as 9; a usage of zeros counted as nothing."""
    message = {"choices": [{"message": {"content": "x" * 350}, "finish_reason": "stop"}], "usage": usage}
    with line([Reply(raw=json.dumps(message))]) as it:
        it.client.ask(ASKED)
        assert spent(it) == (1, *counted)


def test_text_that_is_not_ascii_is_not_underestimated() -> None:
    """7,201 Chinese characters were estimated as 2,065 tokens, and a limit of 4,000 tokens was exceeded."""
    chinese = "修复失败的测试并且不要改变其他行为。" * 400
    assert ModelRequest("edit", (Message("user", chinese),)).tokens >= len(chinese)
    assert ModelRequest("edit", (Message("user", "x" * 350),)).tokens == 100 + 8
    with line([Reply(chinese, silent=True)]) as it:
        assert it.client.ask(ASKED).completion_tokens >= len(chinese)


@STREAMS
def test_text_that_utf_8_cannot_hold_is_replaced(stream: bool) -> None:
    """Requests with the name of a file that is no UTF-8 were never sent, but counted; half an emoji was an error."""
    asked = ModelRequest("edit", (Message("user", "caf\udce9 😀 is missing"),))
    halves = Reply("half \ud83d, both \ud83d\ude00", chunk=1, more=("\ud83d", "fine"))
    with line([halves], Config(stream=stream)) as it:
        answers = [answer.text for answer in it.client.sample(asked, 3)]
        assert it.server.requests[0].prompt == "caf\ufffd 😀 is missing"
        assert answers == ["half \ufffd, both 😀", "\ufffd", "fine"]
        assert it.client.spent.requests == 1


TRANSIENT = {
    "429": error(429, "slow down"),
    "500": error(500),
    "503": error(503, "<html>busy</html>"),
    "408": error(408),
    "malformed JSON": Reply(raw='{"choices": [{"mess'),
    "HTML": Reply(raw="<html>hi</html>", headers={"Content-Type": "text/html"}),
    "no choices": Reply(raw='{"choices": []}'),
    "null": Reply(raw="null"),
    "a list": Reply(raw="[1]"),
    "wrong shape": Reply(raw='{"choices": [{"message": 3}]}'),
    "cut": Reply("a long answer " * 9, cut=60),
    "cut before the first byte": Reply("a long answer", cut=0),
}


@pytest.mark.parametrize("name", TRANSIENT)
def test_transient_failures_are_tried_again(name: str) -> None:
    with line([TRANSIENT[name], "fine"]) as it:
        assert it.client.ask(ASKED).text == "fine"
        assert len(it.server.requests) == 2
        assert "try 2 of 3" in it.notes


@pytest.mark.parametrize(
    "reply",
    [
        Reply("a long answer " * 9, cut=30),
        Reply("a long answer", finish=None),
        error(503),
        Reply("x", cut=0),
    ],
    ids=["cut", "no finish", "503", "nothing"],
)
def test_a_cut_stream_is_tried_again(reply: Reply) -> None:
    with line([reply, "fine"], Config(stream=True)) as it:
        assert it.client.ask(ASKED).text == "fine"


@pytest.mark.parametrize(
    "event",
    [
        '{"choices": [{"delta": null}]}',
        '{"choices": "x"}',
        '{"choices": {"a": 1}}',
        "null",
        "[]",
        "{oops",
        '"text"',
        "3",
    ],
)
def test_a_garbled_stream_is_tried_again(event: str) -> None:
    garbled = Reply(raw=f"data: {event}\n\ndata: [DONE]\n\n", headers={"Content-Type": "text/event-stream"})
    with line([garbled, "fine"], Config(stream=True)) as it:
        assert it.client.ask(ASKED).text == "fine"
        assert len(it.server.requests) == 2


def test_an_error_inside_a_stream_is_tried_again() -> None:
    broken = Reply(raw='data: {"error": {"message": "overloaded"}}\n\n', headers={"Content-Type": "text/event-stream"})
    with line([broken, "fine"], Config(stream=True)) as it:
        assert it.client.ask(ASKED).text == "fine"
        assert "overloaded" in it.notes


@pytest.mark.parametrize("code", [402, "402", "insufficient_quota", None])
def test_an_error_inside_a_stream_that_is_final_is_not_repeated_and_costs_nothing(code: object) -> None:
    """It was tried four times, and each try counted with its maximum cost."""
    event = json.dumps({"error": {"message": "Insufficient credits", "code": code}})
    refused = Reply(raw=f"data: {event}\n\ndata: [DONE]\n\n", headers={"Content-Type": "text/event-stream"})
    with line([refused], Config(stream=True)) as it:
        with pytest.raises(ModelError, match=r"no credit left .*Insufficient credits"):
            it.client.ask(ASKED)
        assert len(it.server.requests) == 1
        assert spent(it) == (0, 0, 0)


def test_a_part_that_is_refused_inside_a_stream_is_left_out() -> None:
    """The stream counted as broken, and each further request had the part again."""
    event = json.dumps({"error": {"message": "temperature is not supported", "code": "400"}})
    refused = Reply(raw=f"data: {event}\n\n", headers={"Content-Type": "text/event-stream"})
    with line(lambda seen: refused if "temperature" in seen.body else Reply("fine"), Config(stream=True)) as it:
        assert it.client.ask(ASKED).text == "fine"
        assert spent(it)[0] == 1


def test_an_error_inside_a_stream_that_is_temporary_counts_with_its_maximum_cost() -> None:
    event = json.dumps({"error": {"message": "overloaded", "code": 502}})
    broken = Reply(raw=f"data: {event}\n\n", headers={"Content-Type": "text/event-stream"})
    with line([broken, Reply("fine", usage=(7, 3))], Config(stream=True)) as it:
        assert it.client.ask(SMALL).text == "fine"
        assert spent(it) == (2, SMALL.tokens + 7, CAP + 3)
        assert "answered 502: overloaded" in it.notes


def test_content_in_parts_is_joined() -> None:
    content = [{"type": "text", "text": "fi"}, {"type": "text", "text": "ne"}]
    raw = json.dumps({"choices": [{"message": {"content": content}, "finish_reason": "stop"}]})
    with line([Reply(raw=raw)]) as it:
        assert it.client.ask(ASKED).text == "fine"


def test_a_cut_stream_is_booked_as_a_request_but_a_429_is_not() -> None:
    with line([error(429), Reply("a long answer " * 9, cut=30), "fine"], Config(stream=True)) as it:
        it.client.ask(ASKED)
        assert it.client.spent.requests == 2
        assert it.client.sent == 3


def test_transport_budget_is_bounded() -> None:
    with line([error(500, "kaput")]) as it, pytest.raises(ModelError, match=r"500: kaput; gave up after 3 tries"):
        it.client.ask(ASKED)
    assert len(it.server.requests) == 3


def test_connection_refused_names_the_address() -> None:
    with LlmServer(["x"]) as server:
        url = server.url
    with (
        Client(Config(model="m", base_url=url), environ={}, backoff=Backoff(2, 0.001)) as client,
        pytest.raises(ModelError, match=f"no connection to {url}"),
    ):
        client.ask(ASKED)


def test_retry_after_is_honoured_in_seconds() -> None:
    with line([error(429, retry_after=0.15), "fine"]) as it:
        began = time.monotonic()
        it.client.ask(ASKED)
        assert time.monotonic() - began >= 0.15


def test_retry_after_as_a_date() -> None:
    soon = format_datetime(datetime.now(timezone.utc) + timedelta(seconds=1.2), usegmt=True)
    with line([error(429, retry_after=soon), "fine"]) as it:
        it.client.ask(ASKED)
        assert "in 0." in it.notes or "in 1." in it.notes


def test_a_very_long_retry_after_ends_it() -> None:
    with line([error(429, retry_after=3600)]) as it, pytest.raises(ModelError, match="wait 3600 s"):
        it.client.ask(ASKED)


def test_a_wait_beyond_the_time_limit_is_refused_before_it_starts() -> None:
    with line([error(429, retry_after=30)], limits=Limits(seconds=5)) as it:
        with pytest.raises(BudgetError) as caught:
            it.client.ask(ASKED)
        assert caught.value.which == "seconds"


FINAL = {
    "401": (error(401, "Incorrect API key provided: sk-secret-key"), "401.*MY_KEY"),
    "403": (error(403, "no access"), "may not use model 'm1'"),
    "404": (error(404, "model not found"), "knows no model 'm1'"),
    "402": (error(402, "pay"), "no credit"),
    "quota": (error(429, "You exceeded your quota", code="insufficient_quota"), "no credit"),
    "context code": (error(400, "too big", code="context_length_exceeded"), "larger context"),
    "context words": (error(400, "This model's maximum context length is 4096 tokens"), "larger context"),
    "413": (error(413, "payload"), "larger context"),
    "filter": (error(400, "flagged", code="content_filter"), "content filter"),
    "filtered answer": (Reply("half", finish="content_filter"), "content filter"),
    "other 400": (error(400, "you\nmade\x1b[31m an error"), "refused the request.*you made"),
}


@pytest.mark.parametrize("name", FINAL)
@STREAMS
def test_final_refusals_are_distinguished_and_never_repeated(name: str, stream: bool) -> None:
    reply, words = FINAL[name]
    config = Config(stream=stream, api_key_env="MY_KEY")
    with line([reply], config, environ={"MY_KEY": "sk-secret-key"}) as it:
        with pytest.raises(ModelError, match=words) as caught:
            it.client.ask(ASKED)
        assert len(it.server.requests) == 1
        assert "\n" not in str(caught.value)
        assert "\x1b" not in str(caught.value)
        assert "sk-secret-key" not in str(caught.value)


@pytest.mark.parametrize(
    ("problem", "says", "tries"),
    [
        ({"message": "Provider returned error: busy", "code": 502}, "answered 502: Provider returned error: busy", 3),
        ({"message": "Provider returned error: busy"}, "answered 500: Provider returned error: busy", 3),
        ({"message": "Insufficient credits", "code": 402}, "no credit left .402.: Insufficient credits", 1),
        ({"message": "pay", "code": "402"}, "no credit left .402.: pay", 1),
        ({"message": "Insufficient credits"}, "no credit left .500.: Insufficient credits", 1),
        ({"message": "Insufficient balance", "code": 400}, "no credit left .400.: Insufficient balance", 1),
        ("overloaded", "answered 500: overloaded", 3),
        (["odd"], "answered 500: no reason given", 3),
    ],
)
def test_an_error_with_status_200_is_named_and_costs_nothing(problem: object, says: str, tries: int) -> None:
    """OpenRouter reports errors of providers so; the reason was hidden, and each try counted with its maximum cost."""
    with line([Reply(raw=json.dumps({"error": problem}))]) as it:
        with pytest.raises(ModelError, match=says):
            it.client.ask(ASKED)
        assert len(it.server.requests) == tries
        assert spent(it) == (0, 0, 0)


EXTRA = {"type": "extra_forbidden", "loc": ["body", "temperature"], "msg": "Extra inputs are not permitted"}


@pytest.mark.parametrize(
    "body",
    [{"detail": [EXTRA]}, {"object": "error", "message": {"detail": [EXTRA]}}, {"detail": "no temperature here"}],
    ids=["FastAPI", "Mistral", "text"],
)
def test_the_detail_of_a_refusal_is_read(body: dict[str, object]) -> None:
    """The run ended with "no reason given", although leaving out the temperature was enough."""

    def answer(seen: Seen) -> Reply:
        return Reply(status=422, raw=json.dumps(body)) if "temperature" in seen.body else Reply("fine")

    with line(answer) as it:
        assert it.client.ask(ASKED).text == "fine"
        assert "does not support temperature" in it.notes
    other = {"detail": [{"loc": ["body", "messages", 0, "content"], "msg": "must be short"}, 3, {"loc": 3}]}
    says = r"\(422\): messages\.0\.content: must be short"
    with line([Reply(status=422, raw=json.dumps(other))]) as it, pytest.raises(ModelError, match=says):
        it.client.ask(ASKED)


def test_the_key_goes_to_the_server_and_nowhere_else() -> None:
    notebook = Notebook()
    request_with_key = ModelRequest("edit", (Message("user", "the key is sk-secret-key"),))
    with line(
        [error(500, "bad sk-secret-key"), "ok sk-secret-key"],
        Config(api_key_env="MY_KEY"),
        environ={"MY_KEY": "sk-secret-key"},
        memory=notebook,
    ) as it:
        it.client.ask(request_with_key)
        seen = it.server.requests[0]
    assert seen.headers["authorization"] == "Bearer sk-secret-key"
    assert "sk-secret-key" not in json.dumps(seen.body)
    assert "sk-secret-key" not in "".join(event.text for event in it.events)


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n", " "])
def test_a_key_that_ends_in_a_line_break_is_sent_without_it_and_never_shown(end: str) -> None:
    """An environment file with CRLF: each request failed, and the reason, which was printed, contained the key."""
    config = Config(api_key_env="MY_KEY", extra_headers={"X-Api-Key": f"header-key-123456{end}"})
    with line(
        [error(500, "bad sk-secret-key header-key-123456"), "ok"], config, environ={"MY_KEY": f"sk-secret-key{end}"}
    ) as it:
        assert it.client.ask(ASKED).text == "ok"
        headers = it.server.requests[0].headers
        assert (headers["authorization"], headers["x-api-key"]) == ("Bearer sk-secret-key", "header-key-123456")
        assert "bad [key] [key]" in it.notes


@pytest.mark.parametrize(
    ("key", "headers", "says"),
    [
        ("sk-secret\r-key", {}, "the key in MY_KEY contains"),
        ("sk-secret–key", {}, "the key in MY_KEY contains"),
        ("sk-secret-key", {"X-Api-Key": "header\nkey-123456"}, "extra-headers: X-Api-Key contains"),
        ("sk-secret-key", {"X Api": "header-key-123456"}, "`extra-headers`"),
        ("sk-secret-key", {"X–Api": "header-key-123456"}, "extra-headers"),
    ],
)
def test_what_no_header_may_hold_is_not_sent_not_repeated_and_costs_nothing(
    key: str, headers: dict[str, str], says: str
) -> None:
    """Four requests that were never sent were counted as paid, and the key was in the message."""
    config = Config(api_key_env="MY_KEY", extra_headers=headers)
    with line(["never"], config, environ={"MY_KEY": key}) as it:
        with pytest.raises(ModelError, match=says) as caught:
            it.client.ask(ASKED)
        assert it.client.sent <= 1
        assert it.server.requests == []
        assert spent(it) == (0, 0, 0)
        assert "secret" not in f"{caught.value}{it.notes}"
        assert "123456" not in f"{caught.value}{it.notes}"


OPENAIS = {
    "OPENAI_ORG_ID": "org-mine",
    "OPENAI_PROJECT_ID": "project-mine",
    "OPENAI_CUSTOM_HEADERS": "X-Gateway-Key: gateway-123456\nAuthorization: Bearer OTHER",
}


def test_variables_of_openai_do_not_go_to_other_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server that base-url named got the credentials of OpenAI's gateway, and one of them replaced the key."""
    for name, value in OPENAIS.items():
        monkeypatch.setenv(name, value)
    config = Config(extra_headers={"X-Title": "coderefine"})
    with line(["x"], config, environ={"OPENAI_API_KEY": "sk-right"}) as it:
        it.client.ask(ASKED)
        it.client.models()
        for seen in (*it.server.requests, *it.server.listings):
            assert (seen.headers["authorization"], seen.headers["x-title"]) == ("Bearer sk-right", "coderefine")
            assert not {"x-gateway-key", "openai-organization", "openai-project"} & seen.headers.keys()


def test_variables_of_openai_go_to_the_server_that_they_name_and_their_values_are_secrets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in OPENAIS.items():
        monkeypatch.setenv(name, value)
    with LlmServer([error(500, "bad gateway-123456"), "x"]) as server:
        environ = {**OPENAIS, "OPENAI_BASE_URL": server.url}
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        events: list[Event] = []
        config = Config(model="m", base_url=server.url)
        with Client(config, environ=environ, listen=events.append, backoff=Backoff(2, 0.001)) as client:
            client.ask(ASKED)
        headers = server.requests[0].headers
    assert (headers["x-gateway-key"], headers["openai-organization"]) == ("gateway-123456", "org-mine")
    assert "bad [key]" in "".join(event.text for event in events)


def test_extra_headers_are_sent() -> None:
    with line(["x"], Config(extra_headers={"X-Title": "coderefine"})) as it:
        it.client.ask(ASKED)
        assert it.server.requests[0].headers["x-title"] == "coderefine"


@pytest.mark.parametrize(
    ("part", "present", "config"),
    [
        ("temperature", "temperature", Config()),
        ("stream_options", "stream_options", Config(stream=True)),
        ("response_format", "response_format", Config()),
    ],
)
def test_a_part_the_server_does_not_know_is_left_out_from_then_on(part: str, present: str, config: Config) -> None:
    def answer(seen: Seen) -> Reply:
        if present in seen.body:
            return error(400, f"Unsupported value: {part}", param=part)
        return Reply("{}")

    asked = ModelRequest("edit", (Message("user", "x"),), schema=record("thing"))
    with line(answer, config) as it:
        it.client.ask(asked)
        it.client.ask(asked)
        assert len(it.server.requests) == 3
        assert it.client.spent.requests == 2
        assert f"does not support {part}" in it.notes


@pytest.mark.parametrize("names", [("max_tokens",), ("max_tokens", "max_completion_tokens")], ids=["one", "both"])
def test_the_cap_goes_by_the_name_the_server_knows(names: tuple[str, ...]) -> None:
    def answer(seen: Seen) -> Reply:
        bad = next((name for name in names if name in seen.body), None)
        return error(400, f"{bad}: use max_completion_tokens instead", param=bad) if bad else Reply("fine")

    with line(answer, limits=Limits(tokens=None, usd=None)) as it:
        assert it.client.ask(ASKED).text == "fine"
        assert len(it.server.requests) == 1 + len(names)


LARGE = {
    "OpenAI": "max_tokens is too large: 8192. This model supports at most 4096 completion tokens, not 8192.",
    "Groq": "`max_tokens` must be less than or equal to `4096`, the maximum value for `max_tokens`",
    "Anthropic": "max_tokens: 8192 > 4096, which is the maximum allowed number of output tokens for m1",
    "DeepSeek": "Invalid max_tokens value, the valid range of max_tokens is [1, 4096]",
}


@pytest.mark.parametrize("name", LARGE)
def test_a_cap_that_is_too_large_for_the_model_becomes_its_limit(name: str) -> None:
    """The name of the parameter counted as refused: the next request had no cap, and max-tokens was exceeded."""

    def answer(seen: Seen) -> Reply:
        cap = seen.body.get("max_tokens", seen.body.get("max_completion_tokens", 0))
        return Reply("fine") if 0 < cap <= 4096 else error(400, LARGE[name], param="max_tokens")

    with line(answer) as it:
        assert [it.client.ask(ASKED).text, it.client.ask(ASKED).text] == ["fine", "fine"]
        assert [seen.body.get("max_tokens") for seen in it.server.requests] == [8192, 4096, 4096]
        assert "at most 4096 tokens" in it.notes


@pytest.mark.parametrize(
    ("words", "most"),
    [
        ("max_tokens must be at least 1 and at most 4,096", 4096),
        ("max_tokens must be >= 1 and <= 4_096", 4096),
        ("max_tokens must be greater than or equal to 1000 and less than or equal to 4096.", 4096),
        ("Input should be greater than or equal to 1: max_tokens", None),
        ("n must be less than or equal to 1 if max_tokens is given", None),
        ("n must be less than or equal to 2048, unlike max_tokens", None),
        ("max_tokens is given, so n must be at most 1", None),
    ],
)
def test_only_a_maximum_of_the_cap_itself_becomes_its_limit(words: str, most: int | None) -> None:
    """From "at most 4,096" on, answers had 4 tokens; a message about `n` limited them to 1."""

    def answer(seen: Seen) -> Reply:
        return error(400, words) if len(it.server.requests) == 1 else Reply("fine")

    with line(answer) as it:
        assert it.client.ask(ASKED).text == "fine"
        body = it.server.requests[1].body
        assert [body[cap] for cap in ("max_tokens", "max_completion_tokens") if cap in body] == [most or 8192]


def test_a_model_that_refuses_every_cap_it_is_given_is_not_asked_for_ever() -> None:
    with line([error(400, LARGE["Groq"], param="max_tokens")]) as it:
        with pytest.raises(ModelError):
            it.client.ask(ASKED)
        assert len(it.server.requests) < 6


def test_without_any_cap_nothing_is_sent_as_long_as_tokens_are_limited() -> None:
    """The answer to the third request, which had no cap, cost three times the limit."""

    def answer(seen: Seen) -> Reply:
        bad = next((name for name in ("max_tokens", "max_completion_tokens") if name in seen.body), None)
        return error(400, f"Unrecognized request argument: {bad}", param=bad) if bad else Reply("x", usage=(9, 60_000))

    for limits in (Limits(tokens=20_000, usd=None), Limits(tokens=None, usd=1.0)):
        with line(answer, limits=limits) as it:
            with pytest.raises(ModelError, match="max-tokens and max-cost"):
                it.client.ask(ASKED)
            assert len(it.server.requests) == 2
            assert spent(it) == (0, 0, 0)


def test_an_endless_stream_is_given_up() -> None:
    wild = Reply("x" * 600_000, chunk=100_000)
    with (
        line([wild], Config(stream=True), backoff=Backoff(1)) as it,
        pytest.raises(ModelError, match="does not end"),
    ):
        it.client.ask(ASKED)


def test_structured_output_is_requested() -> None:
    with line(["{}"]) as it:
        it.client.ask(ModelRequest("critique", (Message("user", "x"),), schema=record("thing", a={"type": "string"})))
        sent = it.server.requests[0].body["response_format"]
    assert sent["type"] == "json_schema"
    assert sent["json_schema"]["strict"] is True
    assert sent["json_schema"]["schema"]["required"] == ["a"]


def test_a_slow_server_times_out_within_the_runs_time() -> None:
    with line([Reply("x", delay=5)], limits=Limits(seconds=0.4)) as it:
        began = time.monotonic()
        with pytest.raises(CoderefineError):
            it.client.ask(ASKED)
        assert time.monotonic() - began < 3


@STREAMS
def test_a_dripping_answer_ends_with_the_runs_time(stream: bool) -> None:
    reply = Reply("x" * 400, chunk=1, pause=0.02)
    with line([reply], Config(stream=stream), limits=Limits(seconds=0.5)) as it:
        began = time.monotonic()
        with pytest.raises(BudgetError):
            it.client.ask(ASKED)
        assert time.monotonic() - began < 7, "all of it takes eight seconds"


@pytest.mark.parametrize(
    ("config", "limits", "failure"),
    [
        (Config(), Limits(seconds=3), BudgetError),  # importing openai counts, too
        (Config(request_timeout=0.3), Limits(seconds=60), ModelError),
    ],
    ids=["timeout", "request-timeout"],
)
def test_a_stream_of_comments_ends_with_the_time(config: Config, limits: Limits, failure: type[Exception]) -> None:
    """Comments that kept the connection alive also kept the run waiting, whatever the limits were."""
    reply = Reply("late", comments=80, pause=0.1)
    with line([reply, "fine"], replace(config, stream=True), limits=limits) as it:
        it.client.preload().join()
        began = time.monotonic()
        with pytest.raises(failure, match=r"time limit|--timeout|request-timeout allows more"):
            it.client.ask(SMALL)
        assert time.monotonic() - began < 6, "all of it takes eight seconds"
        assert spent(it) == (1, SMALL.tokens, CAP)
        if failure is ModelError:
            assert it.client.ask(SMALL).text == "fine"


def test_remembered_before_used_and_recalled_for_free() -> None:
    notebook = Notebook()
    with line(["one", "two"], memory=notebook) as first:
        assert [first.client.ask(ASKED).text, first.client.ask(ASKED).text] == ["one", "two"]
        spent = first.client.spent
    assert len(notebook.answers) == 2
    with line(["never"], memory=notebook) as second:
        assert [second.client.ask(ASKED).text, second.client.ask(ASKED).text] == ["one", "two"]
        assert second.server.requests == []
        assert second.client.sent == 0
        assert second.client.spent == spent


def test_replay_never_sends() -> None:
    notebook = Notebook()
    with line(["one"], memory=notebook) as first:
        first.client.ask(ASKED)
    with line(["live"], memory=notebook, replay=True) as second:
        assert second.client.ask(ASKED).text == "one"
        with pytest.raises(ReplayMissError, match="never recorded"):
            second.client.ask(ASKED)
        assert second.server.requests == []


def test_the_key_depends_on_everything_that_affects_the_answer() -> None:
    variants = (
        ASKED,
        replace(ASKED, temperature=0.3),
        replace(ASKED, messages=ASKED.messages[1:]),
        replace(ASKED, schema=record("a")),
    )
    keys = {request.key("m", 0) for request in variants}
    keys |= {ASKED.key("other", 0), ASKED.key("m", 1)}
    assert len(keys) == 6
    assert replace(ASKED, purpose="again", reply_tokens=5, parts=(("a", 1),)).key("m", 0) == ASKED.key("m", 0)


@pytest.mark.parametrize(
    ("limits", "which"),
    [
        (Limits(requests=0), "requests"),
        (Limits(tokens=100), "tokens"),
        (Limits(usd=0.0001), "cost"),
        (Limits(seconds=0.0), "seconds"),
    ],
)
def test_over_budget_nothing_leaves(limits: Limits, which: str) -> None:
    with line(["x"], limits=limits, price=lambda *_: 0.001) as it:
        with pytest.raises(BudgetError) as caught:
            it.client.ask(ASKED)
        assert caught.value.which == which
        assert it.server.requests == []


def test_limits_hold_over_several_requests_and_retries() -> None:
    with line([Reply("x", cut=0)], limits=Limits(requests=2)) as it:
        with pytest.raises(BudgetError, match="2 of 2 requests"):
            it.client.ask(ASKED)
        assert len(it.server.requests) == 2


def test_a_limit_that_ends_the_tries_concealed_why_they_failed() -> None:
    with line([Reply(raw="<html>")], limits=Limits(requests=2)) as it:
        with pytest.raises(BudgetError, match=r"2 of 2 requests are used.*; the server sent malformed JSON"):
            it.client.ask(ASKED)
        assert len(it.server.requests) == 2


@STREAMS
@pytest.mark.parametrize("status", every(2, [307, 302]))
def test_a_redirection_took_the_code_to_another_server(status: int, stream: bool) -> None:
    with LlmServer(["stolen"]) as other:
        to = f"{other.url.replace('127.0.0.1', '127.0.0.2')}/chat/completions"
        with line([Reply(raw="", status=status, headers={"Location": to})], Config(stream=stream)) as it:
            with pytest.raises(ModelError, match=f"{it.server.url} redirects to {to}"):
                it.client.ask(ASKED)
            assert len(it.server.requests) == 1
        assert (other.requests, other.listings) == ([], [])


@STREAMS
def test_a_refusal_was_taken_for_a_reply_without_edits(stream: bool) -> None:
    parts = [{"refusal": "I cannot "}, {"refusal": "help."}] if stream else [{"refusal": "I cannot help."}]
    kind = "delta" if stream else "message"
    choices: list[dict[str, object]] = [{"index": 0, kind: part, "finish_reason": None} for part in parts]
    choices[-1]["finish_reason"] = "stop"
    texts = [json.dumps({"choices": [choice]}) for choice in choices]
    raw = "".join(f"data: {text}\n\n" for text in [*texts, "[DONE]"]) if stream else texts[0]
    headers = {"Content-Type": "text/event-stream"} if stream else {}
    with line([Reply(raw=raw, headers=headers)], Config(stream=stream)) as it:
        assert refused(it.client.ask(ASKED).text) == "it refuses: I cannot help."


def test_the_reply_cap_shrinks_with_the_tokens_left() -> None:
    with line([Reply("x", usage=(50, 50))], limits=Limits(tokens=2000)) as it:
        it.client.ask(ASKED)
        it.client.ask(ASKED)
        caps = [seen.body["max_tokens"] for seen in it.server.requests]
        assert caps[0] < 2000
        assert caps[1] == caps[0] - 100


def test_known_prices_are_summed_and_an_unknown_one_is_reported_once() -> None:
    limits = Limits(usd=None)
    with line([Reply("x", usage=(100, 10))], limits=limits, price=lambda m, u, p, c, k: p * 0.01 + c * 0.1) as it:
        it.client.ask(ASKED)
        it.client.ask(ASKED)
        assert it.client.spent.usd == pytest.approx(4.0)
        assert it.notes == ""
    with line(["x"]) as it:
        it.client.ask(ASKED)
        it.client.ask(ASKED)
        assert it.notes.count("price of 'm1' is unknown") == 1


@pytest.mark.parametrize("thought", ["", "<think>If this were"])
def test_a_model_that_only_reasoned_is_asked_again_with_more_tokens_and_this_is_remembered(thought: str) -> None:
    """It was asked again with the same limit, which its reasoning used up again: three paid answers without text."""

    def answer(seen: Seen) -> Reply:
        return Reply("fine") if seen.body["max_tokens"] > CAP else Reply(thought, finish="length", usage=(10, CAP))

    notebook = Notebook()
    with line(answer, memory=notebook) as it:
        assert [it.client.ask(SMALL).text, it.client.ask(SMALL).text] == ["fine", "fine"]
        assert [seen.body["max_tokens"] for seen in it.server.requests] == [CAP, 4 * CAP, 4 * CAP]
        assert it.notes.count("m1 used all tokens of its answer to reason") == 1
        paid = it.client.spent
    with line(["never"], memory=notebook, replay=True) as it:
        assert [it.client.ask(SMALL).text, it.client.ask(SMALL).text] == ["fine", "fine"]
        assert (it.server.requests, it.client.spent) == ([], paid)


def test_a_model_that_always_only_reasons_is_asked_twice_and_named() -> None:
    with line([Reply("", finish="length")]) as it:
        assert it.client.ask(SMALL).text == ""
        assert len(it.server.requests) == 2
        assert it.client.ask(SMALL).text == ""
        assert len(it.server.requests) == 3
        assert "use a model that reasons less" in it.notes


CONTEXT = "This model's maximum context length is 32768 tokens"
NO_ROOM = {
    "vLLM": (f"'max_tokens' is too large: {{cap}}. {CONTEXT} and your request has 3000 input tokens.", 29768),
    "OpenRouter": (f"{CONTEXT}. However, you requested (3000 of text input, {{cap}} in the output).", 29768),
    "new vLLM": (f"{CONTEXT}. However, your prompt contains at least 1 input tokens.", 8192),
    "no number": ("max_tokens is too large: {cap}", 8192),
    "Groq": (
        "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the "
        "`context_window` for this model",
        8192,
    ),
}


@pytest.mark.parametrize("name", NO_ROOM)
def test_a_raised_cap_that_is_too_large_for_the_model_does_not_make_each_later_request_too_long(name: str) -> None:
    """After one answer that was only reasoning, each request asked for 32,768 tokens, and failed as too long."""
    words, accepted = NO_ROOM[name]

    def answer(seen: Seen) -> Reply:
        if seen.body["max_tokens"] > accepted:
            return error(400, words.format(cap=seen.body["max_tokens"]))
        return Reply("", finish="length") if len(it.server.requests) == 1 else Reply("fine")

    with line(answer) as it:
        assert [it.client.ask(ASKED).text for _ in range(3)] == ["fine"] * 3
        caps = [seen.body["max_tokens"] for seen in it.server.requests]
        assert caps[:3] == [8192, 32768, accepted]
        assert set(caps[3:]) <= {32768, accepted}
        assert spent(it)[0] == 4


def test_a_cap_for_which_one_long_prompt_leaves_no_room_is_lowered_for_this_request_alone() -> None:
    """The request failed as too long, although its prompt left thousands of tokens for the answer."""
    long = replace(ASKED, messages=(Message("user", "long"),))

    def answer(seen: Seen) -> Reply:
        cap, used = seen.body["max_tokens"], 30_000 if seen.prompt == "long" else 100
        says = f"'max_tokens' is too large: {cap}. {CONTEXT} and your request has {used} input tokens"
        return error(400, says) if cap + used > 32768 else Reply("fine")

    with line(answer) as it:
        assert [it.client.ask(asked).text for asked in (long, ASKED)] == ["fine", "fine"]
        assert [seen.body["max_tokens"] for seen in it.server.requests] == [8192, 2768, 8192]
    full = error(400, f"'max_tokens' is too large: 8192. {CONTEXT} and your request has 32700 input tokens")
    with line([full]) as it, pytest.raises(TooLongError):
        it.client.ask(ASKED)


def test_an_answer_that_is_cut_in_its_text_is_not_asked_for_again() -> None:
    with line([Reply("half", finish="length"), "never"]) as it:
        assert it.client.ask(SMALL).text == "half"
        assert len(it.server.requests) == 1


def test_models_are_listed_for_doctor() -> None:
    with line(["x"]) as it:
        assert it.client.models() == ("scripted",)


def test_show_gets_the_sent_request() -> None:
    seen: list[ModelRequest] = []
    with line(["x"], show=seen.append) as it:
        it.client.ask(ASKED)
        assert tuple((m.role, m.text) for m in seen[0].messages) == it.server.requests[0].messages


def test_preload_hides_the_import() -> None:
    with line(["x"]) as it:
        it.client.preload().join()
        began = time.process_time()
        it.client.ask(ASKED)
        assert time.process_time() - began < 0.5


@pytest.mark.parametrize(
    ("config", "environ", "ok"),
    [
        (Config(), {"OPENAI_API_KEY": "k"}, False),
        (Config(model="m"), {}, False),
        (Config(model="m"), {"OPENAI_API_KEY": "k"}, True),
        (Config(model="m", api_key_env="OTHER"), {"OPENAI_API_KEY": "k"}, False),
        (Config(model="m", base_url="http://localhost:11434/v1"), {}, True),
        (Config(model="m", base_url="http://192.168.1.7:8000/v1"), {}, True),
        (Config(model="m", base_url="http://gpu-box:8000/v1"), {}, True),
        (Config(model="m", base_url="https://openrouter.ai/api/v1"), {}, False),
        (Config(model="m", base_url="localhost:11434/v1"), {"OPENAI_API_KEY": "k"}, False),
        (Config(model="m", base_url="http://localhost:abc/v1"), {"OPENAI_API_KEY": "k"}, False),
        (Config(model="m", base_url="http://localhost:99999/v1"), {"OPENAI_API_KEY": "k"}, False),
        (Config(model="m", base_url="http://[::1/v1"), {"OPENAI_API_KEY": "k"}, False),
        (Config(model="m", base_url="https://"), {"OPENAI_API_KEY": "k"}, False),
        (Config(model="m", base_url="https://x.azure.com/v1", extra_headers={"api-key": "k"}), {}, True),
    ],
)
def test_configured(config: Config, environ: dict[str, str], ok: bool) -> None:
    verdict = configured(config, environ)
    assert verdict.ok is ok
    assert ok or "set" in verdict.reason


def test_a_key_that_the_user_has_not_allowed_is_not_sent_and_the_reason_is_given() -> None:
    config = Config(key_refusal="it is not allowed")
    with line([error(401)], config, environ={"OPENAI_API_KEY": "sk-secret-key"}) as it:
        with pytest.raises(ModelError, match=r"wants a key \(401\), but it is not allowed"):
            it.client.ask(ASKED)
        assert "sk-secret-key" not in it.server.requests[0].headers["authorization"]
    verdict = configured(replace(config, model="m"), {"OPENAI_API_KEY": "sk-secret-key"})
    assert verdict.reason == "model 'm' needs a key, but it is not allowed"


@pytest.mark.parametrize(
    ("base_url", "variable", "proxy"),
    [
        ("http://127.0.0.1:9/v1", "ALL_PROXY", "socks5h://user:hidden@127.0.0.1:9"),
        ("http://127.0.0.1:9/v1", "HTTP_PROXY", "ftp://user:hidden@127.0.0.1:9"),
        ("http://exa\tmple/v1", "HTTP_PROXY", ""),
    ],
)
def test_a_setting_with_which_no_connection_can_be_made_is_named(
    monkeypatch: pytest.MonkeyPatch, base_url: str, variable: str, proxy: str
) -> None:
    """It ended as "a bug in coderefine", and the request that was never sent was counted."""
    monkeypatch.setenv(variable, proxy)
    with Client(Config(model="m", base_url=base_url), environ={}) as client:
        client.preload().join()
        with pytest.raises(ModelError, match="check base-url and the proxy variables") as caught:
            client.ask(ASKED)
        assert client.spent.requests == 0
        assert "hidden" not in str(caught.value)


def test_a_missing_configuration_is_reported_before_anything_is_imported() -> None:
    events: list[Event] = []
    with Client(Config(model="m"), environ={}, listen=events.append) as client, pytest.raises(ModelError, match="key"):
        client.ask(ASKED)


CAP = 200
SMALL = replace(ASKED, reply_tokens=CAP)


def spent(it: Line) -> tuple[int, int, int]:
    cost = it.client.spent
    return cost.requests, cost.prompt_tokens, cost.completion_tokens


def test_a_broken_stream_costs_the_whole_answer_it_may_have_been() -> None:
    with line([Reply("half an answer", cut=5), Reply("x", usage=(7, 3))], Config(stream=True), price=dear) as it:
        it.client.ask(SMALL)
        assert spent(it) == (2, SMALL.tokens + 7, CAP + 3)
        assert it.client.spent.usd == pytest.approx((SMALL.tokens + CAP + 7 + 3) / 10_000)


def test_an_answer_that_did_not_come_in_time_costs_the_whole_answer_it_may_be() -> None:
    with line([Reply("late", delay=5.0)], limits=Limits(seconds=0.6), price=dear) as it:
        with pytest.raises((BudgetError, ModelError)):
            it.client.ask(SMALL)
        assert spent(it) == (1, SMALL.tokens, CAP)


def test_a_server_that_is_not_there_and_one_that_refuses_cost_nothing() -> None:
    with line([error(429), error(500), error(401)]) as it:
        with pytest.raises(ModelError):
            it.client.ask(SMALL)
        assert spent(it) == (0, 0, 0)
    with line(["x"]) as it:
        it.server.__exit__(None, None, None)
        with pytest.raises(ModelError, match="no connection"):
            it.client.ask(SMALL)
        assert spent(it) == (0, 0, 0)


def test_samples_under_way_cost_their_ceiling_until_they_are_here() -> None:
    """The iterator is closed after the first answer; the second is not waited for, but it is paid."""
    script = [Reply("first", usage=(10, 5)), Reply("second", usage=(10, 5)), Reply("third", usage=(10, 5), delay=3.0)]
    with line(script, price=dear) as it:
        answers = it.client.sample(SMALL, 3)
        assert next(answers).text == "first"
        assert next(answers).text in ("second", "third")
        answers.close()
        requests, _, completion = spent(it)
        assert requests == 3
        assert completion in (5 + 5 + CAP, 5 + CAP + CAP, 15)


def dear(_model: str, _url: str | None, prompt: int, completion: int, _cached: int) -> float | None:
    return (prompt + completion) / 10_000


@STREAMS
def test_a_slow_model_gets_time_and_no_second_request(stream: bool) -> None:
    config = Config(stream=stream, request_timeout=0.3)
    with line([Reply("late", delay=1.0)], config) as it:
        with pytest.raises(ModelError, match=r"did not answer within 0\.3 s; request-timeout allows more"):
            it.client.ask(ASKED)
        assert len(it.server.requests) == 1
    assert Config().request_timeout >= 600


def test_the_runs_own_limit_ends_a_slow_answer_as_a_limit() -> None:
    importlib.import_module("openai")  # on a busy machine, the first import takes longer than the limit
    with (
        line([Reply("late", delay=1.5)], Config(), limits=Limits(seconds=0.4)) as it,
        pytest.raises(BudgetError),
    ):
        it.client.ask(ASKED)
    assert len(it.server.requests) == 1
