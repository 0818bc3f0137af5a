"""Several answers to one question: one request where the server can, side by side where it cannot."""

from __future__ import annotations

import pytest

from coderefine.config import Config
from coderefine.core import Cost, Limits
from coderefine.errors import BudgetError, ReplayMissError, TooLongError
from coderefine.llm.budget import Budget
from coderefine.llm.model_request import Answer, Message, ModelRequest
from tests.support.cases import every
from tests.support.clients import Notebook, line
from tests.support.llm_server import Reply, Seen, error

ASKED = ModelRequest("edit", (Message("user", "Repair this."),), reply_tokens=1000)


@pytest.mark.parametrize("stream", [False, True])
def test_one_request_brings_all_answers_and_the_prompt_is_paid_once(stream: bool) -> None:
    with line([Reply("one", more=("two", "three"))], Config(stream=stream)) as it:
        result = [answer.text for answer in it.client.sample(ASKED, 3)]
        assert result == ["one", "two", "three"]
        assert [seen.body["n"] for seen in it.server.requests] == [3]
        assert it.client.spent.requests == 1


@pytest.mark.parametrize("refuses", every(2, [True, False]))
def test_a_server_that_gives_one_answer_gets_parallel_requests_and_this_is_remembered(refuses: bool) -> None:
    asked: list[float] = []
    first = 2 if refuses else 1
    """Which of the requests for one is the first of the four that are sent together."""

    def script(seen: Seen) -> Reply:
        if "n" in seen.body:
            return error(400, "'n' : number must be at most 1", param="n") if refuses else Reply("first")
        asked.append(seen.at)
        return Reply("another", delay=2.0 if len(asked) == first else 0.0)

    with line(script) as it:
        assert len(list(it.client.sample(ASKED, 5))) == 5
        assert asked[first] - asked[first - 1] < 2.0, "one after the other"
        before = len(it.server.requests)
        assert len(list(it.client.sample(ASKED, 3))) == 3
        assert all("n" not in seen.body for seen in it.server.requests[before:])


def test_answers_that_are_no_longer_needed_are_not_requested() -> None:
    with line([Reply("one", more=())]) as it:
        for _ in it.client.sample(ASKED, 4):
            break
        assert len(it.server.requests) == 1


def test_samples_are_recalled_in_order_and_a_missing_one_is_an_error() -> None:
    notebook = Notebook()
    with line([Reply("one", more=("two",))], memory=notebook) as it:
        first = [answer.text for answer in it.client.sample(ASKED, 2)]
    with line(["never"], memory=notebook, replay=True) as it:
        assert [answer.text for answer in it.client.sample(ASKED, 2)] == first
        with pytest.raises(ReplayMissError, match="never recorded"):
            list(it.client.sample(ASKED, 2))
        assert it.server.requests == []


def test_requests_side_by_side_do_not_cross_a_limit_together() -> None:
    with line(lambda seen: Reply("one", delay=0.05), limits=Limits(requests=3)) as it:
        with pytest.raises(BudgetError):
            list(it.client.sample(ASKED, 6))
        assert len(it.server.requests) == 3
        assert it.client.spent.requests == 3


def test_fewer_samples_are_granted_when_the_budget_is_short() -> None:
    budget = Budget(Limits(tokens=2000))
    budget.settle(Cost(prompt_tokens=700))
    grant = budget.reserve(100, 8192, lambda p, c: None, samples=4)
    assert (grant.samples, grant.reply_tokens) == (2, 600)
    dear = Budget(Limits(usd=1.0, tokens=None))
    assert dear.reserve(10, 100, lambda p, c: c * 0.004, samples=5).samples == 2


def test_a_request_that_is_too_long_is_remembered_as_such() -> None:
    notebook = Notebook()
    refusal = error(400, "This model's maximum context length is 8192 tokens", code="context_length_exceeded")
    with line([refusal], memory=notebook) as it:
        with pytest.raises(TooLongError, match="larger context"):
            it.client.ask(ASKED)
        assert it.client.spent.requests == 0
    with line(["never"], memory=notebook, replay=True) as it, pytest.raises(TooLongError):
        it.client.ask(ASKED)


def test_an_answer_with_others_comes_back_from_the_journal() -> None:
    answer = Answer("a", others=(("b", "stop"), ("c", "length")))
    assert Answer.load(answer.dump()) == answer
    assert [one.finish for one in answer.each] == ["stop", "stop", "length"]


def test_one_sample_has_the_key_it_always_had() -> None:
    assert ASKED.key("m", 0) == ModelRequest("x", ASKED.messages, samples=1).key("m", 0)
    assert ASKED.key("m", 0) != ModelRequest("x", ASKED.messages, samples=2).key("m", 0)
