"""Candidates of the search on a real scheduler and real workers: the same verdicts, whatever happens to a worker."""

from __future__ import annotations

import itertools
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from coderefine.cluster.candidates import SpreadPool
from coderefine.cluster.client import Cluster, connect
from coderefine.config import Config
from coderefine.core import Ask, Attempt, Event, Freedom, Patch, Status
from coderefine.critics.pytest import Pytest
from coderefine.loop.critique import critique
from coderefine.loop.strength import Strength
from coderefine.project import interpreter, locate
from coderefine.runner.candidates import Candidate, Judged, Plan
from coderefine.runner.pool import Pool
from coderefine.workspace import open_views
from tests.support.dask import Dask, open_cluster
from tests.support.repo import make_repo

pytestmark = [pytest.mark.thorough, pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot fork")]

FILES = {
    "limit.py": "LIMIT = 7\n\n\ndef low(n):\n    return n < 3\n",
    "test_limit.py": "import limit\n\n\ndef test_low():\n    assert limit.low(40)\n\n\n"
    "def test_high():\n    assert not limit.low(50)\n",
}
FAILING, OTHER = "test_limit.py::test_low", "test_limit.py::test_high"
PLAN = Plan(first=(FAILING,), many=True)


ONLY_THERE = "import os\n\n\ndef low(n):\n    return n < 50 and 'ON_WORKER' in os.environ\n"


def bound(number: int) -> Candidate:
    """Return a candidate that repairs the failing test from 41 on, and breaks the other one from 51 on."""
    text = FILES["limit.py"].replace("n < 3", f"n < {number}")
    return Candidate(number, {"limit.py": text.encode()})


@dataclass
class Spread:
    """A pool whose candidates run on `dask`, and the notes that it made."""

    dask: Dask
    pool: Pool
    notes: list[str]

    @property
    def spread(self) -> SpreadPool:
        assert self.pool.elsewhere
        return self.pool.elsewhere.__self__  # type: ignore[attr-defined,no-any-return]

    def judge(self, enough: Callable[[], bool]) -> dict[int, Judged]:
        """Judge candidates 1 to 59 once, and then others that repair nothing until it is `enough`."""
        wrong = itertools.takewhile(lambda _: not enough(), itertools.count(1000))
        candidates = itertools.chain(map(bound, range(1, 60)), (replace(bound(1), number=number) for number in wrong))
        judged = {one.candidate.number: one for one in self.pool.judge(candidates, PLAN)}
        assert set(range(1, 60)) <= judged.keys()
        return judged


@pytest.fixture
def spread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Spread]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "client"))
    top = make_repo(tmp_path / "limit", FILES)
    place, config, notes = locate([top], top), Config(python=sys.executable), []
    python = interpreter(place, config, os.environ)

    def listen(event: Event) -> None:
        notes.append(event.text)

    with ExitStack() as stack:
        dask = stack.enter_context(open_cluster(tmp_path / "dask", settings={"ON_WORKER": "1"}))
        cluster = Cluster.of(stack.enter_context(connect(dask.address)), place, python, config, listen)
        cluster.check()
        views = stack.enter_context(open_views(place))
        pool = stack.enter_context(
            cluster.open_pool(
                views,
                place,
                python,
                config,
                patch=Patch(),
                expected={FAILING: Status.FAILED, OTHER: Status.PASSED},
                seconds={FAILING: 0.01, OTHER: 0.01},
                deadly=frozenset(),
                files=None,
                freedom=Freedom(),
                within=60.0,
                workers=1,
            )
        )
        assert isinstance(pool, Pool)
        pool.observe([FAILING], [OTHER])
        yield Spread(dask, pool, notes)


def test_the_verdicts_of_workers_are_those_of_this_machine(spread: Spread) -> None:
    list(spread.judge(lambda: spread.spread.away > 0))  # until workers are ready
    before = spread.spread.away
    there = spread.judge(lambda: True)
    assert spread.spread.away >= before + 40  # those that repair something are judged here
    here = {one.candidate.number: one for one in spread.pool.judge(map(bound, range(1, 60)), replace(PLAN, many=False))}
    assert {number: one.plausible for number, one in there.items()} == {
        number: one.plausible for number, one in here.items()
    }
    assert [number for number, one in there.items() if one.plausible and number not in range(41, 51)] == []
    assert {number: one.statuses for number, one in there.items()} == {
        number: one.statuses for number, one in here.items()
    }
    assert there[7].candidate == bound(7)


def test_a_lost_worker_loses_no_candidate(spread: Spread) -> None:
    list(spread.judge(lambda: spread.spread.away > 0))
    for name in ("one", "two"):
        spread.dask.stop(name)
    judged = spread.judge(lambda: True)
    assert sorted(number for number, one in judged.items() if one.plausible) == list(range(41, 51))
    assert any("no candidates run on worker" in note for note in spread.notes)


def test_candidates_that_pass_on_workers_only_are_refused(spread: Spread) -> None:
    list(spread.judge(lambda: spread.spread.away > 0))
    candidates = [Candidate(number, {"limit.py": ONLY_THERE.encode()}) for number in range(8)]
    assert [one.plausible for one in spread.pool.judge(candidates, PLAN)] == [False] * 8


def test_a_plan_whose_time_is_over_gives_up_the_workers_candidates(spread: Spread) -> None:
    list(spread.judge(lambda: spread.spread.away > 0))
    many = [replace(bound(1), number=number) for number in range(5000)]
    judged = list(spread.pool.judge(many, replace(PLAN, ends=time.monotonic() + 0.3)))
    assert len(judged) < len(many)
    assert not any(worker.batches for worker in spread.spread.team.values())


def test_workers_do_not_wait_for_a_candidate_that_is_slow_here(spread: Spread) -> None:
    list(spread.judge(lambda: spread.spread.away > 0))
    slow = "import os\nimport time\n\n\ndef low(n):\n    if 'ON_WORKER' not in os.environ:\n        time.sleep(6)\n"
    began, ended = [time.monotonic()], list[int]()

    def candidates() -> Iterator[Candidate]:
        yield Candidate(0, {"limit.py": f"{slow}    return n < 50\n".encode()})
        for number in itertools.takewhile(
            lambda _: not ended and time.monotonic() < began[0] + 90.0, itertools.count(1)
        ):
            began.append(time.monotonic())
            yield replace(bound(1), number=number)

    for one in spread.pool.judge(candidates(), PLAN):
        ended += [0] * (one.candidate.number == 0)
    assert ended == [0]
    assert began[-1] - began[0] > 5.0
    assert max(after - before for before, after in itertools.pairwise(began)) < 4.0


def test_candidates_that_hang_on_workers_take_no_time_here(spread: Spread) -> None:
    list(spread.judge(lambda: spread.spread.away > 0))
    before = spread.spread.away
    hanging = FILES["limit.py"].replace("return n < 3", "while True:\n        pass").encode()
    judged = list(spread.pool.judge([Candidate(number, {"limit.py": hanging}) for number in range(6)], PLAN))
    assert [one.hung for one in judged] == [True] * 6
    assert max(one.cpu for one in judged) > 10 * min(one.cpu for one in judged)  # one, at least, was run longer
    assert spread.spread.away == before + 6


def test_longer_runs_are_counted_over_all_plans(spread: Spread) -> None:
    """A search has many short plans, and each allowed one longer run."""
    list(spread.judge(lambda: spread.spread.away > 0))
    seldom = replace(PLAN, retry=0.001)  # of the time that a slow machine needs, too, less than a second longer run
    hanging = FILES["limit.py"].replace("return n < 3", "while True:\n        pass").encode()
    plans = [list(spread.pool.judge([Candidate(number, {"limit.py": hanging})], seldom)) for number in range(6)]
    longer = [one.cpu > 10 * spread.pool.least for (one,) in plans]
    assert not all(longer)


def test_repairs_slower_than_the_limit_are_found_once_a_worker_lets_one_end(spread: Spread) -> None:
    list(spread.judge(lambda: spread.spread.away > 0))
    body = "import time\n    end = time.process_time() + 0.25\n    while time.process_time() < end:\n        pass\n"
    slow = FILES["limit.py"].replace("return n < 3", f"{body}    return n < 50").encode()
    candidates = [Candidate(number, {"limit.py": slow}) for number in range(5)]
    assert [one.plausible for one in spread.pool.judge(candidates, PLAN)] == [True] * 5
    assert spread.pool.least > 0.25


def test_slow_mutants_are_judged_on_the_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "client"))
    slow = "import time\nimport limit\n\n\ndef test_low():\n    time.sleep(2)\n"
    test = slow + "    assert [limit.low(n) for n in (6, 7, 8)] == [True, False, False]\n"
    code = "def low(n):\n    small = n + 1 < 8\n    return small and n < 20 and n > -5\n"
    top = make_repo(tmp_path / "limit", {"limit.py": code, "test_limit.py": test})
    place, config, notes = locate([top], top), Config(python=sys.executable), list[str]()
    python, patch = interpreter(place, config, os.environ), Patch({"limit.py": code.encode()})
    with open_cluster(tmp_path / "dask") as dask, connect(dask.address) as client, open_views(place) as views:
        cluster = Cluster.of(client, place, python, config, lambda event: notes.append(event.text))
        cluster.check()
        ask = Ask(coverage=True, cover=frozenset(patch.files))
        gate = Pytest(place, python, config, lambda _: None)
        attempt = Attempt(1, patch, critique(views, (gate,), patch, ask))
        strength = Strength(place, python, config, cluster.open_pool)
        found = strength.measure(views, attempt, {"limit.py": FILES["limit.py"].encode()}, seconds=90.0)
    assert found.noticed is not None
    assert found.noticed[1] >= 10
    assert any("ran on the cluster" in note for note in notes)


def test_the_search_of_a_fix_uses_the_workers(tmp_path: Path) -> None:
    code = "def total(prices):\n" + "    prices = prices[1:]\n" * 8 + "    return prices\n"
    test = "import time\nimport shop\n\n\ndef test_total():\n    time.sleep(0.3)\n    assert shop.total('') == 7\n"
    top = make_repo(tmp_path / "shop", {"shop.py": code, "test_shop.py": test})
    with open_cluster(tmp_path / "dask") as dask:
        said = dask.fix(top)
    assert said.code == 1, said.err
    assert "candidates ran on the cluster" in said.out + said.err
