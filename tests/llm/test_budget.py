from __future__ import annotations

import pytest

from coderefine.core import Cost, Limits
from coderefine.errors import BudgetError
from coderefine.llm.budget import Budget


def free(prompt: int, completion: int) -> float | None:
    return None


def test_without_limits_everything_goes() -> None:
    budget = Budget(Limits(None, None, None, None, None))
    assert budget.reserve(10**9, 8192, free).reply_tokens == 8192
    assert budget.seconds_left is None


def test_requests_are_counted_before_they_leave() -> None:
    budget = Budget(Limits(requests=2))
    for _ in range(2):
        budget.settle(Cost(requests=1), budget.reserve(10, 10, free))
    with pytest.raises(BudgetError, match="2 of 2 requests are used") as caught:
        budget.reserve(10, 10, free)
    assert (caught.value.which, caught.value.exit_code) == ("requests", 1)


@pytest.mark.parametrize(
    ("used", "prompt", "reply", "granted"),
    [(0, 100, 500, 500), (0, 500, 8192, 500), (400, 88, 8192, 512), (0, 990, 10, 10)],
)
def test_the_reply_is_limited_to_the_remaining_tokens(used: int, prompt: int, reply: int, granted: int) -> None:
    budget = Budget(Limits(tokens=1000))
    budget.settle(Cost(prompt_tokens=used))
    if granted < 512 and reply > 512:
        with pytest.raises(BudgetError) as caught:
            budget.reserve(prompt, reply, free)
        assert caught.value.which == "tokens"
    else:
        assert budget.reserve(prompt, reply, free).reply_tokens == granted


def test_money_counts_the_worst_case_of_the_next_request() -> None:
    budget = Budget(Limits(usd=1.0))
    budget.settle(Cost(requests=1, usd=0.7))
    budget.release(budget.reserve(10, 10, lambda p, c: 0.3))
    with pytest.raises(
        BudgetError, match=r"\$0.7000 of \$1.00 is used and the next request may cost \$0.3100"
    ) as caught:
        budget.reserve(10, 10, lambda p, c: 0.31)
    assert caught.value.which == "cost"


def test_an_unknown_price_leaves_the_token_cap_alone() -> None:
    budget = Budget(Limits(usd=0.0, tokens=2000))
    assert budget.reserve(10, 600, free).reply_tokens == 600


def test_time_runs_out() -> None:
    now = [100.0]
    budget = Budget(Limits(seconds=10), clock=lambda: now[0])
    budget.reserve(1, 1, free)
    budget.pause(9.9)
    now[0] = 105.0
    assert budget.seconds_left == 5.0
    with pytest.raises(BudgetError, match=r"a pause of 6\.0 s is needed, 5 s are left"):
        budget.pause(6)
    now[0] = 110.0
    with pytest.raises(BudgetError, match="the 10 s of --timeout are used up") as caught:
        budget.reserve(1, 1, free)
    assert caught.value.which == "seconds"
