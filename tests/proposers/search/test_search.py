"""The engine on small real projects, through real servers."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from coderefine.config import load
from coderefine.core import Ask, Attempt, Event, Offer, Patch, Situation, Status, Verdict, Views
from coderefine.critics.pytest import Pytest
from coderefine.project import Protection, interpreter, locate
from coderefine.proposers.search import Search
from coderefine.reports.progress import ProgressState
from coderefine.runner.cold_pool import AnyPool, open_any_pool
from coderefine.workspace import open_views
from tests.support.repo import git, make_repo, write

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="candidates are judged in forks")

Repair = Callable[..., tuple[list[Patch], Search, list[Event]]]


@dataclass(frozen=True)
class Begun:
    """A search about to begin on the tree as it lies there."""

    search: Search
    situation: Situation
    views: Views
    events: list[Event]

    @property
    def base(self) -> Attempt:
        return self.situation.best


@contextlib.contextmanager
def begun(
    tmp_path: Path,
    files: Mapping[str, str | bytes],
    seconds: float,
    *,
    timeout: float = 600.0,
    fork: bool = True,
    open_pool: Callable[..., AbstractContextManager[AnyPool]] = open_any_pool,
    changed: Callable[[Path], object] = lambda _: None,
) -> Iterator[Begun]:
    top = make_repo(tmp_path / "p", files)
    changed(top)
    place = locate([top], top)
    config = replace(load(place.root, {}), search_time=seconds)
    python = interpreter(place, config, dict(os.environ))
    events: list[Event] = []
    with open_views(place) as views:
        with views.open() as view:
            check = Pytest(place, python, config, events.append).check(view, Ask(seed=0, timeout=timeout))
        base = Attempt(0, Patch(), (check,))
        protection = Protection.of(place, config)
        search = Search(place, python, config, protection, events.append, fork=fork, open_pool=open_pool)
        yield Begun(search, Situation(base, base, (base,), check.findings, (".",)), views, events)


@pytest.fixture
def repair(tmp_path: Path) -> Repair:
    def run(files: Mapping[str, str | bytes], seconds: float = 300.0) -> tuple[list[Patch], Search, list[Event]]:
        with begun(tmp_path, files, seconds) as it:
            proposals = it.search.propose(it.situation, it.views)
            first = list(itertools.islice(proposals, 1))
            others = itertools.islice(proposals, max(0, len(it.search.chosen.repairs) - 1))  # of the first search
            return [*first, *others], it.search, it.events

    return run


TESTS = """
from shop import price

def test_none():
    assert price(0) == 0

def test_few():
    assert price(5) == 5

def test_limit():
    assert price(10) == 9

def test_more():
    assert price(20) == 18
"""


def test_what_the_failing_tests_import_late_is_imported_by_the_servers(tmp_path: Path) -> None:
    """pygments: lexers are imported late; each candidate ran 5,000 tests, and candidates could not be compared."""
    late = "def price(n):\n    if n > 10:\n        return n * 9 // 10\n    return n\n"
    files = {
        "shop/__init__.py": "def price(n):\n    from shop.late import price\n\n    return price(n)\n",
        "shop/late.py": late,
        "test_shop.py": TESTS,
    }
    imports: list[Sequence[str]] = []

    def opened(*parts: Any, **given: Any) -> AbstractContextManager[AnyPool]:
        imports.append(given["imports"])
        return open_any_pool(*parts, **given)

    lines = {"test_shop.py": frozenset({10}), "shop/__init__.py": frozenset({2}), "shop/late.py": frozenset({2, 4})}
    with begun(tmp_path, files, 60.0, open_pool=opened) as it:
        trace = {"test_shop.py::test_limit": lines}
        patch = next(it.search.propose(replace(it.situation, trace=trace), it.views))
    assert patch is not None
    assert patch.files == {"shop/late.py": late.replace(">", ">=").encode()}
    assert imports[0] == ["shop/__init__.py", "shop/late.py"], "no test file"
    compared = it.search.chosen.sets[0].groups[0].changed
    assert compared is not None
    assert compared[1] > 0, "calls of the passing tests are compared"


def test_finds_the_slip_and_keeps_the_file_as_it_is(repair: Repair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHON_CPU_COUNT", "2")  # most tests have one worker: see tests/conftest.py
    faulty = (
        b"def price(n):\r\n    # ten and more are cheaper\r\n    if n > 10:\r\n"
        b"        return n * 9 // 10\r\n    return n\r\n"
    )
    patches, search, events = repair({"shop.py": faulty, "test_shop.py": TESTS})
    assert patches[0].files == {"shop.py": faulty.replace(b"n > 10", b"n >= 10")}
    assert patches[0].origin == "search"
    assert patches[0].summary == "shop.py:3 `>` → `>=`"
    assert search.failed_again == {"test_shop.py::test_limit"}
    assert search.traces[0][1]["test_shop.py::test_few"]["shop.py"] >= {3, 5}
    assert search.spent.test_runs > 0
    assert search.spent.seconds > 0
    assert any(event.kind == "search" for event in events) or search.spent.test_runs < 20


@pytest.mark.thorough
def test_a_slow_machine_hides_no_rival_of_the_first_repair(repair: Repair) -> None:
    """The first repair passed as the only one, where the second came more than 1.5 s after it."""
    faulty = "BULK = 10\n\ndef price(n):\n    if n < BULK:\n        return n * 9 // 10\n    return n\n"
    tests = (
        "import time\nfrom shop import price\n\ndef test_few():\n    time.sleep(0.9)\n    assert price(5) == 5\n\n"
        "def test_many():\n    time.sleep(0.9)\n    assert price(20) == 18\n"
    )
    patches, _, _ = repair({"shop.py": faulty, "test_shop.py": tests})
    assert {"shop.py:4 `n < BULK` → `not n < BULK`", "shop.py:4 `<` → `>`"} <= {one.summary for one in patches}


def test_the_progress_says_how_far_each_step_of_the_search_is(repair: Repair) -> None:
    faulty = "def price(n):\n    if n > 10:\n        return n * 9 // 10\n    return n\n"
    _, _, events = repair({"shop.py": faulty, "test_shop.py": TESTS})
    states = list(itertools.accumulate(events, ProgressState.after, initial=ProgressState()))
    lines = {re.sub(r"\d+", "n", state.line) for state in states}
    assert lines >= {
        "search: loading n failing test and those near · servers n/n",
        "search: watching n failing test and those near · tests n/n",
        "search: comparing n repairs · seconds n/n",
        "search: strength of the likeliest repair · mutants n/n",
    }
    assert all(state.total is None or state.done <= state.total for state in states)


def test_comparing_repairs_takes_no_longer_than_the_run_may_take(tmp_path: Path) -> None:
    faulty = "def price(n):\n    if n > 10:\n        return n * 9 // 10\n    return n\n"
    with begun(tmp_path, {"shop.py": faulty, "test_shop.py": TESTS}, 300.0) as it:

        class Ending(Situation):
            """Its time is over as soon as the search has candidates."""

            @property
            def seconds_left(self) -> float:
                return -1.0 if any(event.text.startswith("search in ") for event in it.events) else 300.0

        start = it.situation.best
        patch = next(it.search.propose(Ending(start, start, (start,), start.findings, (".",)), it.views))
        assert patch.summary == "shop.py:2 `>` → `>=`"
        assert it.search.changed is None, "the repairs were compared"


@pytest.mark.thorough
def test_both_exchanged_parts_are_named(repair: Repair) -> None:
    faulty = "def has_name(value):\n    return hasattr('name', value)\n"
    tests = (
        "from names import has_name\n\nclass Named:\n    name = 1\n\n"
        "def test_named():\n    assert has_name(Named())\n\ndef test_nameless():\n    assert not has_name(1)\n"
    )
    patches, _, _ = repair({"names.py": faulty, "test_names.py": tests})
    assert patches[0].summary == "names.py:2 `'name'` ↔ `value`"


@pytest.mark.thorough
def test_tests_without_their_fixture_do_not_hide_the_one_that_can_be_repaired(repair: Repair) -> None:
    """Three tests that fail in their set-up were run first on each of 1,000 candidates; the others never were."""
    tests = (
        "from shop import most\n\ndef test_most():\n    assert [most(n) for n in (1, 2, 3)] == [3, 3, 4]\n\n"
        + "".join(f"def test_speed{number}(benchmark):\n    benchmark(most, 1)\n\n" for number in range(4))
    )
    patches, _, _ = repair({"shop.py": "def most(n):\n    return max(n - 1, 3)\n", "test_shop.py": tests})
    assert patches[0].files == {"shop.py": b"def most(n):\n    return max(n + 1, 3)\n"}


@pytest.mark.thorough
def test_code_that_runs_at_import(repair: Repair) -> None:
    faulty = (
        "RATES = {'a': 3}\nTABLE = {name: rate + 1 for name, rate in RATES.items()}\n\n"
        "def rate(name):\n    return TABLE[name]\n"
    )
    tests = "from rates import rate\n\ndef test_rate():\n    assert rate('a') == 2\n"
    patches, _, _ = repair({"rates.py": faulty, "test_rates.py": tests})
    assert patches


@pytest.mark.thorough
def test_a_wrong_constant_in_a_module_without_functions(repair: Repair) -> None:
    """Only files of which a function ran were searched: the repair was sought where the constant is read."""
    files = {
        "limits.py": "import enum\n\n\nclass Size(enum.IntEnum):\n    SMALL = 10\n    LARGE = 101\n",
        "parcel.py": (
            "from limits import Size\n\ndef price(weight):\n    return 3 if weight <= Size.SMALL else "
            "7 if weight <= Size.LARGE else 12\n\ndef fits(weight):\n    return weight < Size.LARGE\n"
        ),
        "test_parcel.py": (
            "from parcel import fits, price\n\ndef test_parcels():\n"
            "    assert [price(n) for n in (1, 10, 11, 100, 101)] == [3, 3, 7, 7, 12]\n"
            "    assert [fits(n) for n in (1, 99, 100, 101)] == [True, True, False, False]\n"
        ),
    }
    patches, _, _ = repair(files)
    assert patches[0].files == {"limits.py": files["limits.py"].replace("101", "100").encode()}


@pytest.mark.thorough
def test_a_fault_that_only_runs_while_the_test_module_is_imported(repair: Repair) -> None:
    """The search reported that no line of the program is known to run in a failing test."""
    faulty = (
        "from collections import namedtuple\n\n\n"
        "def record(name, text):\n    fields = text.split(',')\n    return namedtuple(name, fields[0:-1])\n"
    )
    tests = (
        "from record import record\n\nPoint = record('Point', 'x,y,z')\n\n\n"
        "def test_fields():\n    assert Point._fields == ('x', 'y', 'z')\n"
    )
    patches, _, _ = repair({"record.py": faulty, "test_record.py": tests})
    assert patches


@pytest.mark.thorough
def test_a_fault_in_a_function_that_had_returned_before_the_test_module_failed_to_import(repair: Repair) -> None:
    """Only functions in the traceback were searched: `words` is not among them."""
    files = {
        "words.py": "def words(text):\n    found = text.split()\n    return found[2:]\n",
        "rules.py": (
            "from words import words\n\ndef parse(text):\n    left = words(text)\n    if left[0] != 'rule':\n"
            "        raise ValueError(left[0])\n    return left[1:]\n"
        ),
        "test_rules.py": (
            "from rules import parse\n\nRULE = parse('1 rule a b')\n\ndef test_rule():\n    assert RULE == ['a', 'b']\n"
            "\ndef test_longer():\n    assert parse('2 rule a b c') == ['a', 'b', 'c']\n"
        ),
    }
    patches, _, _ = repair(files)
    assert patches[0].files == {"words.py": files["words.py"].replace("2", "1").encode()}


@pytest.mark.thorough
def test_a_method_that_lost_its_staticmethod(repair: Repair) -> None:
    faulty = (
        b"class Box:\n    def width(text):\n        return len(text)\n\n"
        b"    def __len__(self):\n        return self.width('abc')\n"
    )
    test = "from box import Box\n\n\ndef test_len():\n    assert len(Box()) == 3\n    assert Box.width('ab') == 2\n"
    patches, _, _ = repair({"box.py": faulty, "test_box.py": test})
    assert patches[0].files == {"box.py": faulty.replace(b"    def width", b"    @staticmethod\n    def width")}


def test_nothing_failing_nothing_done(repair: Repair) -> None:
    patches, search, _ = repair(
        {"shop.py": "def price(n):\n    return n if n < 10 else n * 9 // 10\n", "test_shop.py": TESTS}
    )
    assert patches == []
    assert search.spent.test_runs == 0


def test_tests_are_never_edited(repair: Repair) -> None:
    tests = "LIMIT = 3\n\ndef helper(n):\n    return n < LIMIT\n\ndef test_helper():\n    assert helper(3)\n"
    patches, _, _ = repair({"test_only.py": tests, "shop.py": "x = 1\n"})
    assert patches == []


@pytest.mark.thorough
def test_two_faults_of_different_tests(repair: Repair) -> None:
    faulty = "def add(a, b):\n    return a - b\n\ndef small(a):\n    return a > 3\n"
    tests = (
        "from two import add, small\n\ndef test_add():\n    assert add(1, 2) == 3\n    assert add(0, 5) == 5\n\n"
        "def test_small():\n    assert small(1) and small(2) and small(-4)\n"
        "    assert not small(3)\n    assert not small(9)\n"
    )
    toml = '[tool.coderefine]\naccept = "plausible"\n'  # in doubt about a part, the parts would be proposed one by one
    patches, _, _ = repair({"two.py": faulty, "test_two.py": tests, "pyproject.toml": toml})
    right = faulty.replace("a - b", "a + b").replace("a > 3", "a < 3").encode()
    assert patches[0].files["two.py"] == right
    assert ";" in patches[0].summary


@pytest.mark.thorough
def test_a_hanging_program(repair: Repair) -> None:
    faulty = "def down(n):\n    steps = 0\n    while n > 0:\n        n += 1\n        steps += 1\n    return steps\n"
    tests = "from loop import down\n\ndef test_down():\n    assert down(3) == 3\n    assert down(0) == 0\n"
    toml = "[tool.coderefine]\ntest-timeout = 5.0\n"
    patches, _, _ = repair({"loop.py": faulty, "test_loop.py": tests, "pyproject.toml": toml})
    assert patches
    assert b"n -= 1" in (patches[0].files["loop.py"] or b"")


@pytest.mark.thorough
def test_where_nothing_can_be_forked_cold_processes_judge(tmp_path: Path) -> None:
    faulty = "def price(n):\n    if n > 10:\n        return n * 9 // 10\n    return n\n"
    with begun(tmp_path, {"shop.py": faulty, "test_shop.py": TESTS}, 300.0, fork=False) as it:
        patch = next(it.search.propose(it.situation, it.views))
    assert patch.files == {"shop.py": faulty.replace("n > 10", "n >= 10").encode()}


@pytest.mark.thorough
def test_where_not_even_conftest_can_be_imported_cold_processes_judge(tmp_path: Path) -> None:
    files = {
        "shop.py": "FIRST = {'a': 1}['aX']\n",
        "conftest.py": "import shop\n",
        "test_shop.py": "import shop\ndef test_it():\n    assert shop.FIRST == 1\n",
    }
    with begun(tmp_path, files, 300.0) as it:
        patch = next(it.search.propose(it.situation, it.views))
    assert set(patch.files) == {"shop.py"}
    assert any("every candidate is a cold run" in event.text for event in it.events)


@pytest.mark.thorough
def test_a_cold_run_that_contradicts_the_fork_is_recorded(tmp_path: Path) -> None:
    """As if the attempt's cold run had failed: its record is that of the unrepaired tree."""
    faulty = "def price(n):\n    if n > 10:\n        return n * 8 // 10\n    return n\n"
    with begun(tmp_path, {"shop.py": faulty, "test_shop.py": TESTS}, 300.0) as it:
        proposals = it.search.propose(it.situation, it.views)
        patch = next(proposals)
        refused = Attempt(1, patch, it.base.checks, Verdict(ok=False, reason="still fails"))
        with contextlib.suppress(StopIteration):
            proposals.send(replace(it.situation, attempts=(it.base, refused)))
    events = [event.text for event in it.events]
    assert "search: test_shop.py::test_more passed in a fork of the warm tests and fails cold" in events


PROGRAM = {
    "pkg/__init__.py": "",
    "pkg/calc.py": "def total(values):\n    result = 0\n    for value in values:\n        result -= value\n"
    "    return result\n",
    "pkg/__main__.py": "import sys\n\nfrom pkg.calc import total\n\nprint(total(map(int, sys.argv[1:])))\n",
    "test_program.py": "import subprocess\nimport sys\n\n\ndef run(*words):\n"
    "    return subprocess.check_output([sys.executable, '-m', 'pkg', *words], text=True)\n\n\n"
    "def test_total():\n    assert run('1', '2') == '3\\n'\n\n\ndef test_nothing():\n    assert run() == '0\\n'\n",
}


LIMIT = {
    **PROGRAM,
    "pkg/calc.py": "def scaled(n):\n    if n > 10:\n        return n * 2\n    return n\n",
    "pkg/__main__.py": "import sys\nimport time\n\nfrom pkg.calc import scaled\n\ntime.sleep(0.15)\n"
    "print(scaled(int(sys.argv[1])))\n",
    "test_limit.py": "from pkg.calc import scaled\n\n\ndef test_limit():\n    assert scaled(10) == 20\n"
    + "".join(f"\n\ndef test_{n}():\n    assert scaled({n}) == {n}\n" for n in range(5)),
    "test_program.py": PROGRAM["test_program.py"].partition("def test_total")[0]
    + "".join(f"def test_{n}():\n    assert run('{n}') == '{n}\\n'\n\n\n" for n in range(5, 10)),
}


@pytest.mark.thorough
def test_repairs_that_break_slow_tests_of_a_program_are_dropped_at_the_end_of_the_search(tmp_path: Path) -> None:
    """tabulate: these tests ran on every partial repair, which took most of the search."""
    with begun(tmp_path, LIMIT, 300.0) as it:
        patch = next(it.search.propose(it.situation, it.views))
        best = sorted(it.search.chosen.repairs, key=lambda repair: -repair.proposed.scored.score)[:8]
    for text in [patch.files["pkg/calc.py"] or b"", *(repair.files["pkg/calc.py"] for repair in best)]:
        names: dict[str, Callable[[int], int]] = {}
        exec(text, names)
        assert [names["scaled"](n) for n in range(5, 10)] == [5, 6, 7, 8, 9], text


@pytest.mark.thorough
def test_a_repair_beside_one_that_was_only_offered_is_not_sure(tmp_path: Path) -> None:
    """The second search did not know the test whose repair was offered, and a lucky edit was written."""
    tests = TESTS + "\n\ndef test_other_fault():\n    assert price(3) == 'three'\n"
    faulty = "def price(n):\n    if n > 10:\n        return n * 9 // 10\n    return n\n"
    with begun(tmp_path, {"shop.py": faulty, "test_shop.py": tests}, 300.0) as it:
        next(it.search.propose(it.situation, it.views))
        assert it.search.offer is not None, "no edit repairs both"
        offer = Offer((), frozenset({"test_shop.py::test_other_fault"}))
        next(it.search.propose(replace(it.situation, offers=(offer,)), it.views))
        assert it.search.offer is not None
        assert "another failing test runs the same code" in it.search.offer.why


@pytest.mark.thorough
def test_a_repair_in_a_busy_function_beside_one_that_was_only_offered_knows_of_it(tmp_path: Path) -> None:
    """sqlparse: a wrong repair of one test was written while the other one of the same fault had only an offer."""
    faulty = "def price(n):\n    total = n * 2\n    if n == 300:\n        total = 'y'\n    elif n > 50:\n"
    faulty += "        total = total - 4\n    return total\n"
    tests = "import pytest\n\nfrom shop import price\n\n\n@pytest.mark.parametrize('n', range(50))\n"
    tests += "def test_few(n):\n    assert price(n) == n * 2\n\n\ndef test_other():\n    assert price(300) == 1 / 3\n"
    tests += "".join(f"\n\ndef test_more_{n}():\n    assert price({n}) == {n * 2 - 5}\n" for n in (51, 60, 75))
    with begun(tmp_path, {"shop.py": faulty, "test_shop.py": tests}, 300.0) as it:
        next(it.search.propose(it.situation, it.views))
        offer = Offer((), frozenset({"test_shop.py::test_other"}))
        next(it.search.propose(replace(it.situation, offers=(offer,)), it.views))
        (rivals,) = it.search.chosen.sets
        assert rivals.groups[0].features.unexplained


SEVERAL = """
class Stock:
    def __init__(self):
        self.items = {}

    def add(self, name, count):
        if name in self.items:
            self.items[name] = count
        else:
            self.items[name] = count

    def remove(self, name, count):
        if self.items[name] <= count:
            raise ValueError(name)
        self.items[name] -= count

    def total(self):
        return max(self.items.values())

    def label(self, name):
        return name.upper() + ": " + str(self.items[name] - 1)

    def ratio(self, name):
        return self.items[name] / sum(self.items.values())
"""
ABOUT_SEVERAL = """
import pytest
from stock import Stock

@pytest.fixture
def stock():
    stock = Stock()
    stock.add("nut", 10)
    stock.add("bolt", 4)
    return stock

def test_items(stock):
    assert stock.items == {"nut": 10, "bolt": 4}

def test_add_twice(stock):
    stock.add("nut", 5)
    assert stock.items["nut"] == 15

def test_remove(stock):
    stock.remove("nut", 3)
    assert stock.items["nut"] == 7

def test_remove_all(stock):
    stock.remove("bolt", 4)
    assert stock.items["bolt"] == 0

def test_remove_too_many(stock):
    with pytest.raises(ValueError):
        stock.remove("bolt", 5)

def test_total(stock):
    assert stock.total() == 14

def test_label(stock):
    assert stock.label("nut") == "NUT: 10"

def test_ratio_of_nothing():
    stock = Stock()
    stock.items["nut"] = 0
    assert stock.ratio("nut") == 0
"""
FIVE = frozenset(
    f"test_stock.py::test_{name}" for name in ("add_twice", "remove_all", "total", "label", "ratio_of_nothing")
)


@pytest.mark.thorough
def test_one_search_repairs_several_faults_and_each_patch_builds_on_the_last(tmp_path: Path) -> None:
    """Only three failing tests ran on a candidate, so that repairs of the others were not seen; each took a search."""
    with begun(tmp_path, {"stock.py": SEVERAL, "test_stock.py": ABOUT_SEVERAL}, 300.0) as it:
        proposals = it.search.propose(it.situation, it.views)
        first = next(proposals)
        found = {repair.fixed for repair in it.search.chosen.repairs}
        assert frozenset().union(*found) == FIVE
        tried = it.search.spent.test_runs
        fixed = next(repair.fixed for repair in it.search.chosen.repairs if repair.files == first.files)
        cases = {name: case for name, case in it.base.cases.items() if name not in fixed}
        check = replace(it.base.checks[0], cases=cases)
        second = proposals.send(replace(it.situation, best=Attempt(1, first, (check,), Verdict(ok=True))))
        assert it.search.spent.test_runs == tried, "no other search was needed"
    before = {*SEVERAL.splitlines()}
    once, twice = ({*(patch.files["stock.py"] or b"").decode().splitlines()} - before for patch in (first, second))
    assert once < twice


def test_the_search_continues_with_other_edits_after_all_repairs_were_refused(tmp_path: Path) -> None:
    """Cold runs refused the first repairs of a small library: the search ended with time left and offered nothing."""
    faulty = "def price(n):\n    if n > 10:\n        return n * 9 // 10\n    return n\n"
    tests = "from shop import price\n\n\ndef test_limit():\n    assert price(10) == 9\n"
    with begun(tmp_path, {"shop.py": faulty, "test_shop.py": tests}, 300.0) as it:
        proposals = it.search.propose(it.situation, it.views)
        patch, found = next(proposals), 0
        first = {repair.proposed.key for repair in it.search.chosen.repairs}
        second = first
        situation = it.situation
        while second == first:
            found += 1
            refused = Attempt(found, patch, it.base.checks, Verdict(ok=False, reason="refused"))
            situation = replace(situation, attempts=(*situation.attempts, refused))
            patch = proposals.send(situation)
            second = {repair.proposed.key for repair in it.search.chosen.repairs}
    assert first.isdisjoint(second)
    assert second


def test_a_repair_that_broke_a_test_is_no_longer_a_rival(tmp_path: Path) -> None:
    """In click, the right repair was only offered: the patch that had just broken two tests counted as its rival."""
    faulty = "def price(n):\n    if n > 10:\n        return n * 9 // 10\n    return n\n"
    tests = "from shop import price\n\n\ndef test_limit():\n    assert price(10) == 9\n\n\n"
    tests += "def test_small():\n    assert price(3) == 3\n"
    with begun(tmp_path, {"shop.py": faulty, "test_shop.py": tests}, 300.0) as it:
        proposals = it.search.propose(it.situation, it.views)
        patch = next(proposals)
        before = it.search.chosen
        (check,) = it.base.checks
        name = "test_shop.py::test_small"
        cases = {**check.cases, name: replace(check.cases[name], status=Status.FAILED)}
        refused = Attempt(1, patch, (replace(check, cases=cases),), Verdict(ok=False, reason="breaks test_small"))
        proposals.send(replace(it.situation, attempts=(it.base, refused)))
        after = it.search.chosen
    first = before.repairs[0]
    assert after.repairs == before.repairs[1:], "the others pass the broken test"
    (rivals,) = after.sets
    assert not any(first in group.repairs for group in rivals.groups)
    assert sum(group.features.share for group in rivals.groups) == pytest.approx(1.0)
    assert rivals.groups[0].features.wrong > 0, "its mutants are judged, now that it is the first"


@pytest.mark.thorough
def test_repairs_of_two_faults_in_the_statements_of_both_tests_are_found_in_any_order(tmp_path: Path) -> None:
    """The repair of the boundary came first and was held back; the other one was never tried together with it."""
    faulty = 'def shorten(text, width=20):\n    """Cut a text."""\n    if len(text) < width:\n        return text\n'
    faulty += '    return text[:width] + "..."\n'
    tests = "from words import shorten\n\n\ndef test_long():\n    assert shorten('abcdefghij', 8) == 'abcde...'\n"
    tests += "\n\ndef test_exactly():\n    assert shorten('abcd', 4) == 'abcd'\n"
    tests += "\n\ndef test_short():\n    assert shorten('abc', 8) == 'abc'\n"
    with begun(tmp_path, {"words.py": faulty, "test_words.py": tests}, 300.0) as it:
        next(it.search.propose(it.situation, it.views))
        texts = [(repair.files["words.py"] or b"").decode() for repair in it.search.chosen.repairs]
    assert any("len(text) <= width" in text for text in texts)
    assert any("text[:width - 3]" in text for text in texts)


@pytest.mark.thorough
def test_a_test_that_fails_only_after_others_is_not_repaired_by_every_candidate(tmp_path: Path) -> None:
    """Alone in its process it passed, with whatever candidate, and each was refused by a cold run of its own."""
    program = "class Account:\n    def __init__(self, log=[]):\n        self.log = log\n"
    program += "\n    def add(self, entry):\n        self.log.append(entry)\n        return len(self.log)\n"
    tests = "from bank import Account\n" + "".join(
        f"\n\ndef test_{name}():\n    assert Account().add(1) == 1\n" for name in ("first", "second", "third")
    )
    with begun(tmp_path, {"bank.py": program, "test_bank.py": tests}, 300.0) as it:
        next(it.search.propose(it.situation, it.views))
        repairs = it.search.chosen.repairs
    assert repairs
    for repair in repairs:
        names: dict[str, Callable[..., object]] = {}
        exec(repair.files["bank.py"], names)
        counts = [names["Account"]().add(1) for _ in range(3)]  # type: ignore[attr-defined]
        assert counts == [1, 1, 1], repair.files


@pytest.mark.thorough
def test_an_offered_test_that_passes_with_a_later_repair_is_not_held_against_it(tmp_path: Path) -> None:
    """iniconfig: the right repair was only offered, "another failing test stays failing"; that test passed with it."""
    faulty = "def price(n):\n    total = n * 3\n    return total\n"
    tests = "from shop import price\n\n\ndef test_two():\n    assert price(2) == 4\n\n\n"
    tests += "def test_ten():\n    assert price(10) == 20\n\n\ndef test_other():\n    assert price(300) == 600\n"
    with begun(tmp_path, {"shop.py": faulty, "test_shop.py": tests}, 300.0) as it:
        next(it.search.propose(it.situation, it.views))
        offer = Offer((), frozenset({"test_shop.py::test_other"}))
        next(it.search.propose(replace(it.situation, offers=(offer,)), it.views))
        (rivals,) = it.search.chosen.sets
        assert not rivals.groups[0].features.unexplained


@pytest.mark.thorough
@pytest.mark.parametrize("asked", ["with the code", "the same day", "later", "not committed"])
def test_a_test_that_is_newer_than_the_code_is_evidence_against_its_repair(tmp_path: Path, asked: str) -> None:
    """parse: a new test of rounding got `1000001` for `1000000`; between two releases most tests ask for new things."""
    test = "from shop import price\n\n\ndef test_one():\n    assert price(9) == 18\n"
    files = {"shop.py": "def price(n):\n    return n * 3\n", "test_shop.py": test}

    def asking(top: Path) -> None:
        if asked not in ("with the code", "the same day"):
            git(top, "commit", "-q", "--amend", "--no-edit", "--date", "2020-01-01T00:00:00")
        if asked != "with the code":
            write(top, {"test_shop.py": test.replace("9", "8").replace("18", "16")})
        if asked == "later":
            git(top, "commit", "-qam", "Ask for more")

    with begun(tmp_path, files, 300.0, changed=asking) as it:
        next(it.search.propose(it.situation, it.views))
        (rivals,) = it.search.chosen.sets
        assert rivals.groups[0].features.anew is (asked in ("later", "not committed"))


@pytest.mark.thorough
def test_a_test_that_fails_for_another_reason_does_not_hide_the_repair_of_many(tmp_path: Path) -> None:
    """A test that fails for the version of a dependency runs the faulty line, too: nothing was found for the others."""
    faulty = "def price(n):\n    return n * 9\n"
    bulk = "".join(f"\n\ndef test_bulk_{n}():\n    assert price({n}) == {n * 8}\n" for n in (20, 30, 40, 110))
    stale = "\n\ndef test_stale():\n    assert (price(20), 'old') == (160, 'new')\n"
    tests = "from shop import price\n" + bulk + stale
    with begun(tmp_path, {"shop.py": faulty, "test_shop.py": tests}, 300.0) as it:
        patch = next(it.search.propose(it.situation, it.views))
    assert patch.files == {"shop.py": faulty.replace("n * 9", "n * 8").encode()}
    assert it.search.offer is not None, "the other test may fail for the same reason"
    assert "another failing test runs the same code" in it.search.offer.why


@pytest.mark.thorough
def test_a_repair_is_offered_although_a_test_with_another_fault_needs_it_too(tmp_path: Path) -> None:
    """Nothing was found where one test needs two repairs, of which one repairs other tests alone."""
    faulty = "def area(w, h):\n    return w + h\n\n\ndef volume(w, h, d):\n    return area(w, h) + d - 1\n"
    tests = "from box import area, volume\n\n\ndef test_small():\n    assert area(2, 5) == 10\n"
    tests += "\n\ndef test_large():\n    assert area(31, 47) == 1457\n"
    tests += "\n\ndef test_volume():\n    assert volume(2, 5, 3) == 30\n"
    with begun(tmp_path, {"box.py": faulty, "test_box.py": tests}, 8.0) as it:
        patch = next(it.search.propose(it.situation, it.views))
    assert patch.files == {"box.py": faulty.replace("w + h", "w * h").encode()}
    assert it.search.offer is not None
    assert "another failing test runs the same code" in it.search.offer.why


@pytest.mark.thorough
def test_a_test_that_comes_past_the_statement_where_another_crashes_does_not_hide_its_repair(tmp_path: Path) -> None:
    program = "def label(name, width):\n    text = name - '_repr'\n    return text.ljust(width)\n"
    program += "\n\ndef count(number):\n    return number - 1\n"
    tests = (
        "from names import label\n\n\nclass Text(str):\n"
        "    def __sub__(self, other):\n        return Text(self + other)\n"
        "\n\ndef test_label():\n    assert label('a', 8) == 'a_repr  '\n"
        "\n\ndef test_of_a_newer_dependency():\n    assert label(Text('a'), 2) == 'b_repr'\n"
    )
    with begun(tmp_path, {"names.py": program, "test_names.py": tests}, 300.0) as it:
        patch = next(it.search.propose(it.situation, it.views))
    assert patch.files["names.py"] == program.replace("name - '_repr'", "name + '_repr'").encode()
    assert it.search.chosen.repairs[0].fixed == {"test_names.py::test_label"}


@pytest.mark.thorough
def test_a_fault_in_a_program_that_the_test_starts(repair: Repair) -> None:
    (patch, *_), search, _ = repair(PROGRAM)
    assert set(patch.files) <= {"pkg/calc.py", "pkg/__main__.py"}, "-total(...) where it is printed is right, too"
    assert search.first_candidate is not None


def test_a_search_that_could_judge_nothing_reports_the_reason(repair: Repair) -> None:
    files = {"shop.py": "def price(n):\n    return n\n", "test_shop.py": "def test_it():\n    assert False\n"}
    patches, search, events = repair(files)
    assert not patches
    assert search.hindrance.startswith(
        "search could judge no candidate: no line of the program is known to run in a failing test: if the tests start"
    )
    assert any(event.text.startswith("search: no line of the program") for event in events)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("sandbox", "failed"), [("off", {"test_shop.py::test_price"}), ("auto", set())], ids=["at once", "started anew"]
)
def test_a_test_that_passes_in_the_fork_has_not_failed_again(repair: Repair, sandbox: str, failed: set[str]) -> None:
    """Where the servers are started anew because of it, others may have passed before: none has."""
    tests = (
        "import tempfile\nfrom shop import price\n\ndef test_price():\n    assert price(1) == 2\n\n"
        "def test_luck():\n    assert 'coderefine-worker' in tempfile.gettempdir() and price(1)\n"
    )
    settings = f'[tool.coderefine]\nsandbox = "{sandbox}"\n'
    _, search, _ = repair(
        {"shop.py": "def price(n):\n    return n\n", "test_shop.py": tests, "pyproject.toml": settings}
    )
    assert search.failed_again == failed


ASSERTING = {
    "pkg/__init__.py": "",
    "pkg/near.py": "def check_close(found, wanted):\n    assert round(found) == round(wanted)\n",
    "pkg/half.py": "def half(n):\n    return n // 2 + 1\n",
    "test_half.py": "from pkg.half import half\nfrom pkg.near import check_close\n\n\n"
    "def test_half():\n    check_close(half(4), 2)\n\n\ndef test_more():\n    check_close(half(8), 4)\n",
}


@pytest.mark.thorough
def test_functions_that_assert_for_the_tests_are_not_edited(repair: Repair) -> None:
    patches, search, _ = repair(ASSERTING)
    assert patches
    assert {path for patch in (*patches, *search.alternatives) for path in patch.files} == {"pkg/half.py"}


SLIPS = (
    b"class Basket:\n    def __init__(self):\n        self.items = []\n\n"
    b"    def add(self, item, amount=1):\n        self.items.extend([item] * amount)\n\n\n"
    b"def total(basket, prices):\n    if not basket.itmes:\n        return 0\n"
    b"    return sum(prices[item] for item in basket.itmes)\n"
)


def test_a_missing_name_is_repaired_at_all_places_in_the_file(repair: Repair) -> None:
    tests = (
        "from basket import Basket, total\n\n\ndef test_total():\n    basket = Basket()\n"
        "    basket.add('tea', 2)\n    assert total(basket, {'tea': 3}) == 6\n"
    )
    patches, search, _ = repair({"basket.py": SLIPS, "test_basket.py": tests})
    assert patches[0].files == {"basket.py": SLIPS.replace(b"itmes", b"items")}
    assert search.spent.test_runs < 2000


def test_code_of_an_earlier_commit_is_preferred_to_code_that_only_passes(tmp_path: Path) -> None:
    right = "BULK = 10\n\ndef price(n):\n    if n >= BULK:\n        return n * 9 // 10\n    return n\n"
    tests = "from shop import price\n\ndef test_both():\n    assert (price(5), price(20)) == (5, 18)\n"
    make_repo(tmp_path / "p", {"shop.py": right, "test_shop.py": tests})
    with begun(tmp_path, {"shop.py": right.replace(">=", "<")}, 300.0) as it:
        patch = next(it.search.propose(it.situation, it.views))
        assert patch.summary.startswith("shop.py:4 `<` → `>=` (as before ")
        assert it.search.offer is None, it.search.offer
