"""The ten defects of the reference systems (Self-Refine, Instructor, DSPy), one test for each, on the whole loop.

Real repository, real pytest and ruff, a scripted model over real HTTP.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from coderefine.config import Config, Criterion
from coderefine.core import Limits, Outcome, Stop
from coderefine.critics.review import Review
from coderefine.llm import prompts
from coderefine.llm.client import Backoff, Client
from coderefine.llm.prompts import fields, render
from coderefine.project import Protection, locate
from coderefine.proposers.model import Model
from tests.support.cases import every
from tests.support.llm_server import LlmServer, Script, Seen, error
from tests.support.loop import run
from tests.support.repo import make_repo

FAULT = "    return sum(items[1:])"
RIGHT = "    return sum(items)"
SHOP = f"""def total(items):
{FAULT}


def fibonacci(n):
    if n <= 0:
        return [0]
    return [0, 1]
"""
TESTS = """\
from shop import fibonacci, total


def test_all():
    assert total([1, 2, 3]) == 6


def test_fibonacci():
    assert fibonacci(2) == [0, 1]
"""


def edit(new: str, old: str = FAULT, path: str = "shop.py") -> str:
    return f"The first item is left out.\n\n{path}\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n"


def wrong(number: int) -> str:
    return edit(f"    return sum(items) + {number}")


@dataclass
class Table:
    """A project, and the model beside it."""

    top: Path
    server: LlmServer
    config: Config
    model: Model
    client: Client

    def refined(self, limits: Limits = Limits(), *, criteria: Sequence[Criterion] = ()) -> Outcome:
        place = locate([self.top], self.top)
        config = replace(self.config, criteria=tuple(criteria))
        advice = (Review(place, config, self.client, Protection.of(place, config)),) if criteria else ()
        return run(self.top, self.model, limits=limits, advice=advice).outcome

    @property
    def edits(self) -> list[Seen]:
        return [seen for seen in self.server.requests if "response_format" not in seen.body]


@contextmanager
def laid(top: Path, script: Script, *, shop: str = SHOP, tests: str = TESTS, **settings: object) -> Iterator[Table]:
    make_repo(top, {"shop.py": shop, "test_shop.py": tests})
    with LlmServer(script) as server:
        config = Config(model="scripted", base_url=server.url, **settings)  # type: ignore[arg-type]
        place = locate([top], top)
        with Client(config, environ={}, backoff=Backoff(3, 0.001, 0.002)) as client:
            model = Model(place, config, client, Protection.of(place, config))
            yield Table(top, server, config, model, client)


@pytest.mark.parametrize("name", sorted(path.stem for path in Path(prompts.__file__).parent.glob("*.md")))
def test_1_every_prompt_can_be_filled_in_and_a_missing_field_is_not_hidden(name: str) -> None:
    text = render(name, **{field: f"<{field}>" for field in fields(name)})
    assert all(f"<{field}>" in text for field in fields(name))
    if fields(name):
        with pytest.raises(KeyError, match=name):
            render(name)


@pytest.mark.thorough
@pytest.mark.parametrize("policy", every(4, ["coderefine", "retry", "warming", "self-refine"]))
def test_2_success_ends_the_run_and_is_returned(policy: str, tmp_path: Path) -> None:
    with laid(tmp_path / "shop", [edit(RIGHT), wrong(1)], policy=policy) as table:
        outcome = table.refined()
        assert (outcome.stop, len(table.server.requests)) == (Stop.CLEAN, 1)
        assert outcome.best.patch.files == {"shop.py": SHOP.replace(FAULT, RIGHT).encode()}


def test_3_going_in_circles_is_noticed_and_costs_no_test_run(tmp_path: Path) -> None:
    circle = [wrong(1), edit("    return sum(items) + 2"), wrong(1), edit(FAULT), wrong(1), wrong(1)]
    with laid(tmp_path / "shop", circle) as table:
        outcome = table.refined()
        ran = [attempt for attempt in outcome.attempts[1:] if attempt.checks]
        assert len(ran) <= 2
        assert outcome.best.number == 0
        assert outcome.stop in (Stop.CYCLE, Stop.NO_PROGRESS)
        assert len(table.server.requests) <= 9


def test_4_a_patch_that_holds_under_one_hash_seed_only_is_refused(tmp_path: Path) -> None:
    """Every attempt is judged under another hash seed than the start: that seed is what a model cannot fit to."""
    held_out = "\n\ndef test_held_out():\n    import os\n\n    from shop import SEEDS\n\n"
    held_out += "    assert os.environ['PYTHONHASHSEED'] in SEEDS\n"
    shop = 'SEEDS = "0123"\n\n\n' + SHOP
    overfitted = edit('SEEDS = "01"', 'SEEDS = "0123"') + edit(RIGHT).split("\n\n", 1)[1]
    with laid(tmp_path / "shop", [overfitted], shop=shop, tests=TESTS + held_out) as table:
        outcome = table.refined()
        assert outcome.best.number == 0
        assert "test_held_out" in outcome.attempts[1].verdict.reason
        prompt = table.server.requests[0].prompt
        assert "FAILED test_shop.py::test_held_out" not in prompt
        assert "PYTHONHASHSEED" not in prompt, "it is named among the passing tests, and nowhere else"


def test_5_totals_are_ours_and_a_missing_score_breaks_nothing(tmp_path: Path) -> None:
    result = json.dumps({"scores": [{"criterion": "names", "score": 4}], "findings": [], "total": 99}) + " Total: 10/10"
    criteria = (Criterion("names", "Names are clear."), Criterion("units", "Units are named."))
    with laid(tmp_path / "shop", [result], shop=SHOP.replace(FAULT, RIGHT)) as table:
        outcome = table.refined(criteria=criteria)
        review = outcome.best.check("review")
        assert review is not None
        assert (review.total, dict(review.scores)) == (4.0, {"names": 4.0})
        assert "not scored, and not counted: units" in review.notes
        assert outcome.stop is Stop.CLEAN


def test_6_a_reply_that_cannot_be_read_repeats_one_call_and_not_the_run(tmp_path: Path) -> None:
    unreadable = edit(RIGHT).replace(">>>>>>> REPLACE", "")
    with laid(tmp_path / "shop", [wrong(1), unreadable, edit(RIGHT)]) as table:
        outcome = table.refined()
        assert outcome.stop is Stop.CLEAN
        assert len(table.server.requests) == 3
        assert [len(seen.messages) for seen in table.server.requests] == [2, 2, 4]
        assert [attempt.number for attempt in outcome.attempts] == [0, 1, 2]
        assert outcome.best.cost.requests == 2


@pytest.mark.thorough
def test_7_a_refused_key_is_not_tried_again_while_an_overload_is(tmp_path: Path) -> None:
    with laid(tmp_path / "one", [error(401)]) as table:
        outcome = table.refined()
        assert (outcome.stop, len(table.server.requests)) == (Stop.ENVIRONMENT, 1)
        assert "401" in outcome.why
    with laid(tmp_path / "two", [error(503), error(429, retry_after=0), edit(RIGHT)]) as table:
        outcome = table.refined(Limits(iterations=1))
        assert (outcome.stop, len(table.server.requests)) == (Stop.CLEAN, 3)
        assert outcome.cost.requests == 1


@pytest.mark.thorough
def test_8_unrequested_changes_are_pointed_out(tmp_path: Path) -> None:
    """The Instructor recipe's own example turns fibonacci(-1) from [0] into []: green, and not the same."""
    both = edit(RIGHT) + edit("        return []", "        return [0]")
    with laid(tmp_path / "shop", [both]) as table:
        outcome = table.refined()
        assert outcome.stop is Stop.CLEAN
        assert "changed besides what was asked, look at it: shop.py: fibonacci" in outcome.evidence.notes
    with laid(tmp_path / "other", [edit(RIGHT)]) as table:
        assert table.refined().evidence.notes == ()


@pytest.mark.thorough
def test_9_a_run_is_a_value_that_leaves_nothing_behind(tmp_path: Path) -> None:
    environment = dict(os.environ)
    runs = []
    for name in ("here", "there"):
        with laid(tmp_path / name, [wrong(1), wrong(2), "Nothing to say."]) as table:
            outcome = table.refined()
            patches = [dict(one.patch.files) for one in outcome.attempts]
            runs.append((outcome.stop, outcome.why, patches, [seen.body for seen in table.server.requests]))
    assert runs[0] == runs[1]
    assert dict(os.environ) == environment


@pytest.mark.parametrize(
    ("script", "limits", "stop"),
    every(
        4,
        [
            (["I cannot help with that."], Limits(), Stop.NO_PROGRESS),
            ([wrong(1)], Limits(), Stop.NO_PROGRESS),
            ([wrong(1)], Limits(iterations=1), Stop.ITERATIONS),
            ([error(404)], Limits(), Stop.ENVIRONMENT),
        ],
    ),
)
def test_10_an_outcome_always_has_an_end_and_a_reason(
    script: Script, limits: Limits, stop: Stop, tmp_path: Path
) -> None:
    with laid(tmp_path / "shop", script) as table:
        outcome = table.refined(limits)
        assert outcome.why
        assert outcome.best is not None
        assert (outcome.best.number, outcome.best.patch.files) == (0, {})
        assert [finding.symbol for finding in outcome.remaining] == ["test_shop.py::test_all"]
        assert outcome.stop in (stop, Stop.CYCLE)
        assert outcome.cost.requests == (0 if stop is Stop.ENVIRONMENT else len(table.server.requests))
