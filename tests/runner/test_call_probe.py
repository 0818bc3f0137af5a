"""Programs that the tests cannot distinguish are distinguished by calls near those of the tests."""

from __future__ import annotations

import itertools
import math
import os
import random
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType
from typing import Any, Optional, TypeVar, cast

import pytest

from coderefine.config import Config
from coderefine.errors import RunnerError
from coderefine.project import interpreter, locate
from coderefine.runner.agent.call_probe import Answers, Call, answers, comparable, fits, label, near
from coderefine.runner.agent.copies import copied_or_shared
from coderefine.runner.agent.short_repr import Describer
from coderefine.runner.agent.value_codes import code_of
from coderefine.runner.agent.value_variants import at_limits, variants
from coderefine.runner.agent.version_comparison import compared
from coderefine.runner.candidates import ENDLESS, Comparison
from coderefine.runner.pool import Candidate, Plan, Pool, open_pool
from coderefine.workspace import open_views
from tests.support.repo import make_repo

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot fork")

MEDIAN = '''
import datetime
import functools
import time

def median(values):
    """
    >>> median([5, 4, 6])
    5
    >>> median([1, 2,
    ...         3])
    2
    >>> median([])
    Traceback (most recent call last):
    IndexError: list index out of range
    """
    ordered = list(values)
    return ordered[len(ordered) // 2]


class Counter:
    def __init__(self):
        self.counts = {}

    def add(self, word, by=1):
        self.counts[word] = self.counts.get(word, 0) + by
        return self


def ticks(n):
    while n:
        yield n
        n -= 1


class Pages:
    def __init__(self, items, size):
        self.items, self.size = items, size

    @property
    def count(self):
        return -(-len(self.items) // self.size)


def long(text):
    return _weight(text) > 100


def _weight(text) -> int:
    return len(text) * 2


@functools.lru_cache
def cached(number):
    return number + 1


def now():
    return time.perf_counter()


class Purse:
    __slots__ = ("cents", "log")

    def __init__(self, cents):
        self.cents, self.log = cents, [{"to": {"name": "ann"}}]

    def pay(self, other, cents):
        if cents > self.cents:
            raise ValueError
        other.cents += cents
        self.log[0]["to"]["name"] = "bob"


def day_after(day):
    return day + datetime.timedelta(days=1)


SEVENTY = 70


class Limits:
    def __init__(self, low, high):
        self.low, self.high = low, high

    def checked(self, value):
        if not self.low <= value <= self.high:
            raise ValueError(f"{self} allow no {value}: at least {self.low}")
        return value + ("" if value == self.high else 0)


def clamp(value, low, high):
    if low > high:
        raise ValueError
    return value if value > SEVENTY else low if value > 33 else value - low
'''
TESTS = """
import datetime

from stats import Counter, Limits, Pages, Purse, cached, day_after, clamp, long, median, now, ticks

def test_median():
    assert median([3, 1, 2]) == 2

def test_sorted():
    assert median([1, 2, 3]) == 2

def test_counter():
    assert Counter().add("a").add("b", by=2).counts == {"a": 1, "b": 2}

def test_ticks():
    assert list(ticks(3)) == [3, 2, 1]

def test_pages():
    assert Pages("abcdef", 3).count == 2

def test_long():
    assert not long("abc")

def test_cached():
    assert cached(5) == 6

def test_checked():
    assert Limits(1, 5).checked(3) == 3

def test_clamp():
    assert clamp(9, 3, 20) == 6

def test_pay():
    purse = Purse(5)
    Purse(30).pay(purse, 20)
    assert purse.cents

def test_day_after():
    assert day_after(datetime.date(2024, 2, 28))

def test_now():
    assert now() > 0
"""


@contextmanager
def opened(folder: Path, files: dict[str, str]) -> Iterator[Pool]:
    top = make_repo(folder / "p", files)
    config, place = Config(python=sys.executable), locate([top], top)
    with pytest.MonkeyPatch.context() as patch, open_views(place) as views:
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        with open_pool(views, place, interpreter(place, config, os.environ), config, workers=1) as pool:
            pool.baseline()
            yield pool


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    with opened(tmp_path_factory.mktemp("probe"), {"stats.py": MEDIAN, "test_stats.py": TESTS}) as found:
        yield found


def codes(pool: Pool, *edits: tuple[str, str]) -> list[tuple[str, ...]]:
    """Of the unchanged program and of each edit."""
    assert all(old in MEDIAN for old, _ in edits)
    candidates = [
        Candidate(number, {"stats.py": MEDIAN.replace(old, new).encode()}) for number, (old, new) in enumerate(edits, 1)
    ]
    found = pool.probe(candidates, pool.tests, 5.0).codes
    return [found[number] for number in range(len(edits) + 1)]


def test_examples_in_docstrings_hold_or_do_not(pool: Pool) -> None:
    edits = {1: "sorted(values)", 2: "values[:1] * len(values)", 3: "list(values) or [0]", 4: "[2] + 1 * values"}
    candidates = [
        Candidate(number, {"stats.py": MEDIAN.replace("list(values)", new).encode()}) for number, new in edits.items()
    ]
    found = pool.probe(candidates, pool.tests, 5.0)
    assert found.kinds.endswith("Pddd")
    assert [found.examples(number) for number in edits] == [(1, 0), (1, 1), (0, 1), (0, 1)]


def test_calls_that_distinguish_programs_are_shown_with_their_results(pool: Pool) -> None:
    edits = {1: "sorted(values)", 2: "sorted(values)[:9]", 3: "list(values)[::-1]"}
    candidates = [
        Candidate(number, {"stats.py": MEDIAN.replace("list(values)", new).encode()}) for number, new in edits.items()
    ]
    failing = ["test_stats.py::test_median"]
    found = pool.probe(candidates, [*failing, *(name for name in pool.tests if name not in failing)], 5.0, failing)
    assert {"f", "p", "F", "P"} <= set(found.kinds)
    assert found.kinds[:2] == "fp"
    assert found.asked
    for one in found.asked:
        assert one.call.startswith("median([")
        assert one.module == "stats"
        assert one.answers[1] == one.answers[2] != one.answers[3]
    shown = {one.call: one.answers for one in found.asked}
    assert shown["median([2, 1, 3])"] == {0: "1", 1: "2", 2: "2", 3: "1"}


def test_a_call_is_shown_as_one_would_write_it(pool: Pool) -> None:
    """Parameters with defaults by name, the items of an iterator, and of a single candidate what it changes."""

    def shown(old: str, new: str) -> dict[str, tuple[str, str]]:
        candidate = Candidate(1, {"stats.py": MEDIAN.replace(old, new).encode()})
        return {one.call: (one.answers[0], one.answers[1]) for one in pool.probe([candidate], pool.tests, 5.0).asked}

    assert shown("n -= 1", "n -= 2")["list(ticks(4))"] == ("[4, 3, 2, 1]", "[4, 2]")
    assert any("by=" in call for call in shown("0) + by", "0) - by"))
    assert shown("0) + by", "0)  + by") == {}


def test_the_attributes_of_a_container_are_part_of_its_value() -> None:
    """tomlkit: patches of a table with items and attributes "could not be compared", and the right one was offered."""

    class Table(dict[str, int]):
        display = ""

    one, same, other = Table(a=1), Table(a=1), Table(a=1)
    other.display = "inline"
    assert code_of(one) == code_of(same) != code_of(other)


def test_a_function_as_argument_is_shown_without_its_address() -> None:
    def action() -> None: ...

    assert Describer()([action]) == "[<function action>]"


def test_an_object_whose_repr_has_its_address_is_shown_without_it() -> None:
    """voluptuous: each answer of two equal patches was another text."""

    class Schema:
        def __repr__(self) -> str:
            return f"<Schema({{}}, extra=0) object at {hex(id(self))}>"

    assert Describer()([Schema()]) == "[<Schema({}, extra=0)>]"


def test_an_object_whose_repr_is_its_id_is_shown_without_it() -> None:
    """pyrsistent: an offer showed `<140353910148496>`."""

    class Numbered:
        def __repr__(self) -> str:
            return f"<{id(self)}>"

    assert Describer()([Numbered()]) == "[<…>]"


def test_equal_programs_answer_alike_and_others_do_not(pool: Pool) -> None:
    base, same, other, lucky = codes(
        pool,
        ("list(values)", "sorted(list(values))"),
        ("list(values)", "sorted(values)"),
        ("len(ordered) // 2]", "len(ordered) // 2 + 1 - 1 * (ordered[0] == 1)]"),
    )
    assert same == other
    assert len(base) > 20
    assert len({base, same, lucky}) == 3


def test_objects_are_varied_in_their_attributes(pool: Pool) -> None:
    base, other = codes(pool, ("-(-len(self.items) // self.size)", "len(self.items) // self.size"))
    assert base != other


def test_calls_of_an_edited_function_are_recorded_at_any_depth(pool: Pool) -> None:
    base, other = codes(pool, ("len(text) * 2", "len(text) * 3"))
    assert base != other


@pytest.mark.parametrize(
    ("value", "limits", "wanted"),
    [
        (1, (5, None, 1, "x", 7.5, True), [5, 7.5]),
        (1.5, (5, 2.5), [5, 2.5, 4.5]),
        ("abc", ("ch", 2, 5, 0, "w" * 99), ["ch", "ab", "abcab"]),
        ([1, 2], ([7], 3), [[1, 2, 1]]),
        (True, (5, False), []),
        (None, (5,), []),
        (0, range(1, 99), [1, 2, 3, 4]),
    ],
    ids=["int", "float", "text", "list", "bool", "none", "many"],
)
def test_an_argument_is_set_to_the_limits_that_it_may_be_compared_with(
    value: object, limits: Iterable[object], wanted: list[object]
) -> None:
    assert at_limits(value, limits) == wanted


@pytest.mark.parametrize(
    ("annotation", "value", "wanted"),
    [
        ("str", "a", True),
        ("str", 1, False),
        (str, None, False),
        ("None", None, True),
        ("float", 1, True),
        ("list[int]", ["a"], True),
        ("list[int]", (), False),
        ("str | None", None, True),
        ("Optional[str]", 1, False),
        ("Path", 1, False),
        ("Missing", 1, True),
        ("Any", 1, True),
        ("Iterable[int]", 1, False),
        ("T", 1, True),
    ],
)
def test_a_result_fits_the_annotation_or_not(annotation: object, value: object, wanted: bool) -> None:
    def function() -> None:
        pass

    function.__annotations__["return"] = annotation
    function.__globals__.update(T=TypeVar("T"), Optional=Optional, Any=Any)
    assert fits(value, function) is wanted


def test_a_result_that_contradicts_the_annotation_is_counted(pool: Pool) -> None:
    texts = (MEDIAN.replace("len(text) * 2", new) for new in ("len(text) * 3", "float(len(text))"))
    candidates = [Candidate(at, {"stats.py": text.encode()}) for at, text in enumerate(texts, 1)]
    found = pool.probe(candidates, pool.tests, 5.0)
    assert found.contradictions(1) == 0 < found.contradictions(2)


def test_programs_that_differ_only_at_a_limit_are_distinguished(pool: Pool) -> None:
    for old, new in (("low > high", "low >= high"), ("> SEVENTY", ">= SEVENTY"), ("> 33", ">= 33")):
        base, other = codes(pool, (old, new))
        assert base != other, old


def test_a_cache_filled_by_one_candidate_does_not_affect_another(pool: Pool) -> None:
    base, one, two = codes(pool, ("number + 1", "number + 1 * (number != 10)"), ("number + 1", "number * 2"))
    assert len({base, one, two}) == 3


def test_calls_with_unstable_results_are_ignored(pool: Pool) -> None:
    base, same = codes(pool, ("time.perf_counter()", "time.perf_counter() + 0"))
    assert base == same
    found = pool.probe([Candidate(1, {"stats.py": MEDIAN.encode()})], pool.tests, 5.0)
    assert found.kinds.count("-") == 1


def test_an_accident_near_the_tests_is_seen(pool: Pool) -> None:
    base, crashing = codes(pool, ("len(ordered) // 2]", "(len(ordered) + 1) // 2]"))
    assert "!IndexError" in crashing
    assert crashing.count("!IndexError") > base.count("!IndexError")


def test_the_text_with_which_the_project_raises_is_a_result(pool: Pool) -> None:
    """glom: another wrong attribute in the text of an error was taken for the same repair.

    The text has an address, which says nothing, as in "<Limits object at 0x7f3a4c>".
    """
    wrong, same = "at least {self.high}", "at least {self.low!r}"
    base, other, alike = codes(pool, ("at least {self.low}", wrong), ("at least {self.low}", same))
    assert base == alike
    assert [code.partition(" ")[0] for code in base] == [code.partition(" ")[0] for code in other]
    assert base != other
    candidate = Candidate(1, {"stats.py": MEDIAN.replace("at least {self.low}", wrong).encode()})
    shown = {one.call: one.answers for one in pool.probe([candidate], pool.tests, 5.0).asked}
    texts = next(answers for call, answers in shown.items() if call.endswith(".checked(0)"))
    assert texts[0].startswith("raises ValueError: '<")
    assert texts[0].endswith("at least 1'")
    assert texts[1].endswith("at least 5'")


def test_the_text_of_a_failed_operation_is_no_result(pool: Pool) -> None:
    base, other = codes(pool, ('("" if', "([] if"))
    assert base == other
    assert "!TypeError" in base


def test_changes_of_a_methods_object_count(pool: Pool) -> None:
    base, changed, same = codes(
        pool, ("get(word, 0) + by", "get(word, 1) + by"), ("get(word, 0) + by", "get(word, 0)  + by")
    )
    assert base != changed
    assert base == same


def test_changed_arguments_are_shown_if_the_results_are_equal(pool: Pool) -> None:
    candidates = [
        Candidate(number, {"stats.py": MEDIAN.replace("other.cents += cents", new).encode()})
        for number, new in enumerate(("other.cents = cents", "pass"), 1)
    ]
    shown = {one.call: one.answers for one in pool.probe(candidates, pool.tests, 5.0).asked}
    found = shown["<Purse cents=30 log=[{…}]>.pay(<Purse cents=5 log=[{…}]>, 20)"]
    assert found == {number: f"afterwards other.cents = {cents}" for number, cents in enumerate((25, 20, 5))}


def test_the_innermost_parts_that_differ_are_shown(pool: Pool) -> None:
    candidate = Candidate(1, {"stats.py": MEDIAN.replace('= "bob"', '= "cy"').encode()})
    (answers,) = {tuple(one.answers.values()) for one in pool.probe([candidate], pool.tests, 5.0).asked}
    assert answers == tuple(f"afterwards self.log[0]['to']['name'] = '{name}'" for name in ("bob", "cy"))


def test_where_one_program_deletes_an_item_its_container_is_shown(pool: Pool) -> None:
    candidate = Candidate(1, {"stats.py": MEDIAN.replace('["name"] = "bob"', '.pop("name")').encode()})
    (answers,) = {tuple(one.answers.values()) for one in pool.probe([candidate], pool.tests, 5.0).asked}
    assert answers == tuple(f"afterwards self.log[0]['to'] = {value}" for value in ("{'name': 'bob'}", "{}"))


def test_limits_in_attributes_deep_results_and_dates_distinguish_programs(pool: Pool) -> None:
    edits = (("cents > self.cents", "cents >= self.cents"), ('= "bob"', '= "cy"'), ("days=1", "days=2"))
    for old, new in edits:
        base, other = codes(pool, (old, new))
        assert base != other, old


def test_an_endless_call_is_an_answer(pool: Pool) -> None:
    base, endless = codes(pool, ("    ordered = list", "    while len(values) == 2:\n        pass\n    ordered = list"))
    assert "~" in endless
    assert "~" not in base
    assert len(endless) == len(base)


def test_a_call_that_only_waits_a_moment_ends(pool: Pool) -> None:
    """As every call does on a busy machine."""
    wait = "    if len(values) == 2:\n        __import__('time').sleep(0.05)\n"
    base, waiting = codes(pool, ("    ordered = list", f"{wait}    ordered = list"))
    assert waiting == base


def test_the_result_of_a_generator_is_its_items(pool: Pool) -> None:
    base, other = codes(pool, ("n -= 1", "n -= 1 + (n > 5)"))
    assert base != other


def test_the_tree_and_the_pool_are_as_before(pool: Pool) -> None:
    before = dict(pool.baseline())
    codes(pool, ("list(values)", "open('left.txt', 'w').write('x') and list(values)"))
    (judged,) = pool.judge(
        [Candidate(1, {"stats.py": MEDIAN.replace("list(", "sorted(").encode()})], Plan(first=pool.tests, then=())
    )
    assert judged.plausible
    assert dict(pool.baseline()) == before
    assert codes(pool)[0] == codes(pool)[0]


@pytest.mark.parametrize(
    "value",
    [0, 7, -3, 2.5, "", "word", b"ab", True, [], [3, 1], (1, "a"), {}, {"a": 1}, set(), {1, 2}, frozenset("a")],
    ids=repr,
)
def test_variants_are_others_of_the_same_type(value: object) -> None:
    found = variants(value, random.Random(1))
    assert found or value in ([], (), {}, set(), "", b"")
    assert all(type(one) is type(value) and one != value for one in found)
    assert found == variants(value, random.Random(1))


def test_nothing_is_known_of_other_types() -> None:
    assert variants(Path(), random.Random(1)) == []
    assert variants(None, random.Random(1)) == []


def test_values_that_contain_themselves_have_variants() -> None:
    """arrow: a cycle of two objects ended the whole comparison, and repairs that behave alike counted as different."""

    class Node:
        def __init__(self) -> None:
            self.known: dict[str, object] = {"self": self, "size": 1}

    cycle: dict[str, object] = {"size": 1}
    cycle["self"] = [cycle]
    assert {} in variants(cycle, random.Random(1))
    assert all(isinstance(one, Node) for one in variants(Node(), random.Random(1)))
    assert variants(Node(), random.Random(1))


class Unequal:
    """Raises when it is compared or copied by a label, as arrays and proxies do."""

    def __eq__(self, other: object) -> bool:
        raise ValueError("the truth value is ambiguous")

    __hash__ = None  # type: ignore[assignment]

    def __deepcopy__(self, _: object) -> Unequal:
        raise TypeError("no copy")


def test_a_call_whose_arguments_raise_costs_only_itself() -> None:
    function = cast("FunctionType", lambda one: one)
    odd, plain = Call(function, [[Unequal()]], {}, recorded=True), Call(function, [1], {}, recorded=True)
    assert [2] in [call.args for _, call in near([odd, plain])]


def test_a_container_that_keeps_its_items_in_an_attribute_is_not_copied_forever() -> None:
    """boltons: a copy of its list of lists appended to the lists of the original, and nothing was compared."""

    class Lists(list[int]):
        def __init__(self) -> None:
            self.parts = [[1]]

        def __iter__(self) -> Iterator[int]:
            return itertools.chain.from_iterable(self.parts)

        def append(self, item: int) -> None:
            self.parts[-1].append(item)
            if len(self.parts[-1]) > 1000:
                raise AssertionError("this does not end")

    value = Lists()
    assert variants(value, random.Random(1)) == []
    assert value.parts == [[1]]


def test_calls_with_large_arguments_are_not_varied() -> None:
    """One of them took the time of all others, and more."""

    def first(items: Any, at: int) -> Any:
        return items[at]

    assert isinstance(first, FunctionType)
    heavy = Call(first, [list(range(1000)), 1], {}, recorded=True, heavy=True)
    light = Call(first, [[1, 2], 1], {}, recorded=True)
    found = [call for _, call in near([heavy, light])]
    assert found[0] == light
    assert found[-1] == heavy
    assert len(found) > 2
    assert all(len(call.args[0]) < 10 for call in found[:-1])


def test_an_iterator_contradicts_the_annotation_of_another_type() -> None:
    """`yield` in place of `return` was a plausible repair of a function that returns a bool."""

    def even(number: int) -> bool:  # type: ignore[misc]
        yield number % 2 == 0

    def numbers(number: int) -> Iterator[int]:
        yield number

    for function, contradicts in ((even, True), (numbers, False)):
        assert isinstance(function, FunctionType)
        (code,) = answers([Call(function, [1], {}, recorded=True)], time.monotonic() + 60).codes
        assert code.endswith("?") is contradicts


def test_calls_of_hanging_tests_leave_time_for_those_of_passing_ones() -> None:
    """The calls of a hanging test used up the time of the unchanged program: repairs could not be compared."""
    entered = []

    def down(number: int) -> int:
        entered.append(number)
        while number != 0:
            number -= 2
        return number

    numbers = (1, 3, 5, 4, 6)
    assert isinstance(down, FunctionType)
    calls = [Call(down, [number], {}, recorded=True, failing=bool(number % 2)) for number in numbers]
    found = answers(calls, time.monotonic() + 60, unchanged=True)
    assert entered == [1, 4, 6]
    assert found.codes[:3] == ["~"] * 3
    assert "~" not in found.codes[3:]


def test_a_candidate_whose_time_is_over_a_little_earlier_is_no_other_program() -> None:
    """On a busy machine the last calls of one of two equal programs were missing, and counted as endless."""
    rows = {name: Answers(["a", "b", "c"][:size], [""] * size) for name, size in (("", 3), ("1", 2), ("again", 3))}
    assert comparable(rows, "again")["1"].codes == comparable(rows, "again")[""].codes == ["a", "b"]
    slow = {**rows, "1": Answers(["a"], [""])}
    assert comparable(slow, "again")["1"].codes == ["a", "", ""], "there was no time for the others"
    hung = {**rows, "1": Answers(["a", "~"], ["", ""])}
    assert comparable(hung, "again")["1"].codes == ["a", "~", "~"]


def test_calls_near_those_with_large_arguments_are_found_in_time() -> None:
    """Copying and encoding tokens that refer to a whole syntax tree took minutes for all variants of all calls."""

    def first(tokens: Any, at: int) -> Any:
        return tokens[at]

    tokens = [[str(number), [number]] for number in range(2000)]
    assert isinstance(first, FunctionType)
    calls = [Call(first, [tokens, at], {}, recorded=True) for at in range(400)]
    began = time.process_time()
    found = near(calls, 10**6, 0.3)
    assert time.process_time() - began < 3.0, "0.3 s, and the variants of one call"
    assert found[0] == (label(calls[0]), calls[0])


def test_calls_of_packages_in_a_virtual_environment_inside_the_project_are_not_compared(tmp_path: Path) -> None:
    """With `.venv` in the tree, most recorded calls were those of pytest's own functions for assertions."""
    files = {
        "pytest.ini": "[pytest]\npythonpath = . .venv/lib/site-packages\n",
        ".venv/lib/site-packages/foreign.py": "def shown(value):\n    return value\n",
        "m.py": "def more(value):\n    return value + 1\n",
        "test_m.py": "import foreign\nimport m\n\n\ndef test_more():\n    assert m.more(foreign.shown(1)) == 2\n",
    }
    top = make_repo(tmp_path / "project", files)
    place, config = locate([top], top), Config(python=sys.executable)
    with open_views(place) as views, open_pool(views, place, interpreter(place, config, os.environ), config) as pool:
        found = pool.probe([Candidate(1, {"m.py": b"def more(value):\n    return value + 2\n"})], pool.tests, 10.0)
    assert found.kinds.count("p") == 1


def probed(
    tmp_path: Path, program: str, tests: str, candidate: str, seconds: float, *, failing: Sequence[str] = ()
) -> Comparison:
    top = make_repo(tmp_path / "p", {"m.py": program, "test_m.py": tests})
    place, config = locate([top], top), Config()
    with open_views(place) as views, open_pool(views, place, interpreter(place, config, os.environ), config) as pool:
        return pool.probe([Candidate(1, {"m.py": candidate.encode()})], pool.tests, seconds, failing=failing)


LATE = {
    "conftest.py": "import sys, types\n\nsys.modules['odd'] = types.SimpleNamespace(__path__=3)\n",
    "shop/__init__.py": "def price(n):\n    from shop.plans.late import fee\n\n    return n + fee(n)\n",
    "shop/plans/__init__.py": "",
    "shop/plans/late.py": "def fee(n):\n    return n * 2\n",
    "test_shop.py": "from shop import price\n\n\ndef test_price():\n    assert price(2) == 6\n",
    "test_other.py": "def test_other():\n    assert True\n",
}


@pytest.mark.parametrize(
    ("imports", "changed"),
    [(("shop/plans/__init__.py", "shop/plans/late.py"), True), (("shop/plans/late.py",), False), ((), False)],
    ids=["imported", "in a package that is not loaded", "left out"],
)
def test_a_module_that_the_program_imports_late_is_compared_if_the_servers_import_it(
    tmp_path: Path, imports: tuple[str, ...], *, changed: bool
) -> None:
    """pygments: its lexers are imported late; all tests ran on each candidate, and no two could be compared."""
    top = make_repo(tmp_path / "p", LATE)
    place, config = locate([top], top), Config()
    python = interpreter(place, config, os.environ)
    with open_views(place) as views, open_pool(views, place, python, config, imports=imports) as pool:
        pool.observe(["test_shop.py::test_price"], None)
        other = {"shop/plans/late.py": LATE["shop/plans/late.py"].replace("* 2", "* 3").encode()}
        found = pool.probe([Candidate(1, other)], pool.tests, 5.0, ["test_shop.py::test_price"])
        assert (1 in found.codes) == changed, "the calls would run the old code of a module that is not loaded"
        assert not changed or found.changed(1, "f")[0] == 2, "`price` and `fee`"
        (judged,) = pool.judge([Candidate(1, other)], Plan(first=(), known=frozenset({"test_shop.py::test_price"})))
        assert ("test_other.py::test_other" in judged.statuses) != changed, "only if it is unknown which tests reach it"


@pytest.mark.parametrize("parameters", [False, True], ids=["one test", "many tests"])
def test_the_call_in_which_a_test_fails_is_compared_after_many_other_calls(tmp_path: Path, *, parameters: bool) -> None:
    """more-itertools: a test failed in its 20th call of a function; no repair changed one of the recorded calls."""
    program = "def fee(n):\n    if n < 900:\n        return 0\n    return None + n\n"
    body = "    for n in range(950):\n        fee(n)\n"
    test = f"def test_fee():\n{body}"
    if parameters:
        mark = "@pytest.mark.parametrize('by', range(30))\n"
        test = f"import pytest\n\n\n{mark}def test_fee(by):\n{body.replace('fee(n)', 'fee(n + by)')}"
    names = [f"test_m.py::test_fee[{by}]" for by in range(30)] if parameters else ["test_m.py::test_fee"]
    tests = f"from m import fee\n{test}"
    found = probed(tmp_path, program, tests, program.replace("None", "1"), 10.0, failing=names)
    assert found.changed(1, "f")[0] >= 1
    assert found.kinds.count("f") <= 20


def test_an_object_that_cannot_be_read_yet_does_not_hide_all_other_answers(tmp_path: Path) -> None:
    """more-itertools: `__next__` of an object whose `__init__` had just begun raised, and nothing was compared."""
    program = (
        "class Peek:\n    def __init__(self, items):\n        self.items = list(items)\n\n    def __iter__(self):\n"
        "        return self\n\n    def __next__(self):\n        if not self.items:\n            raise StopIteration\n"
        "        return self.items.pop(0)\n\n\ndef first(n):\n    return n + next(Peek([n]))\n"
    )
    tests = (
        "from m import Peek, first\n\n\ndef test_peek():\n    assert list(Peek([1])) == [1]\n    assert first(3) == 6\n"
    )
    found = probed(tmp_path, program, tests, program.replace("return n +", "return n -"), 10.0)
    assert found.changed(1, "p")[0] > 0


def test_arguments_with_modules_locks_and_open_generators_do_not_hide_the_results(tmp_path: Path) -> None:
    """wtforms, mako, flask, markdown-it-py: half of the plausible patches could not be compared."""
    program = (
        "import math\nimport threading\n\n\nclass Shop:\n    def __init__(self, source=None):\n"
        "        self.maths, self.lock, self.source = math, threading.Lock(), source\n\n"
        "    def price(self, n):\n        with self.lock:\n            return self.maths.floor(n) + 1\n"
    )
    tests = (
        "from m import Shop\n\n\ndef test_price():\n    assert Shop().price(3.5) == 4\n\n\n"
        "def test_source():\n    assert Shop(n for n in 'ab').price(8) == 9\n"
    )
    found = probed(tmp_path, program, tests, program.replace("+ 1", "+ 2"), 10.0)
    assert found.changed(1, "p")[0] == 2
    assert found.changed(1, "P")[0] > 4


def test_constants_of_another_module_keep_their_identity_in_the_arguments(tmp_path: Path) -> None:
    """sqlparse: copied tokens had copied types, so that `token.type is T.NAME` was false in all compared calls."""
    kinds = "class Kind(tuple):\n    pass\n\n\nNAME = Kind('name')\n"
    program = (
        "import shop.kinds as kinds\n\n\ndef names(rows):\n"
        "    return [text for kind, text in rows if kind is kinds.NAME][1:]\n"
    )
    tests = (
        "from shop.kinds import NAME\nfrom shop.m import names\n\n\n"
        "def test_names():\n    assert names([(NAME, 'a'), (NAME, 'b')]) == ['b']\n"
    )
    files = {"shop/__init__.py": "", "shop/kinds.py": kinds, "shop/m.py": program, "test_m.py": tests}
    place, config = locate([top := make_repo(tmp_path / "p", files)], top), Config()
    changed = Candidate(1, {"shop/m.py": program.replace("[1:]", "[:1]").encode()})
    with open_views(place) as views, open_pool(views, place, interpreter(place, config, os.environ), config) as pool:
        assert pool.probe([changed], pool.tests, 10.0).changed(1, "p") == (1, 1)


def test_arguments_of_a_function_without_a_module_are_copied() -> None:
    space: dict[str, Any] = {}
    exec("def f(rows):\n    return rows\n", space)
    rows = [[1]]
    args, _ = copied_or_shared(([rows], {}), space["f"])
    assert args == [rows]
    assert args[0] is not rows


def test_attributes_in_slots_distinguish_programs(tmp_path: Path) -> None:
    """sqlparse: tokens were compared by their repr, which does not say what is in a group."""
    program = (
        "class Token:\n    __slots__ = ('parts', '_left', '__weakref__')\n\n    def __init__(self, parts):\n"
        "        self.parts = parts\n\n    def __repr__(self):\n        return ''.join(map(str, self.parts))\n\n\n"
        "def grouped(text):\n    return Token([Token(text[:1]), Token(text[1:])])\n"
    )
    tests = "from m import grouped\n\n\ndef test_grouped():\n    assert grouped('abc').parts[0].parts == 'a'\n"
    found = probed(tmp_path, program, tests, program.replace(":1", ":2").replace("1:", "2:"), 10.0)
    assert found.changed(1, "p")[0] > 0


def test_a_change_beside_a_large_part_of_an_argument_is_seen(tmp_path: Path) -> None:
    program = (
        "class Box:\n    def __init__(self):\n        self.rows = {n: list(range(60)) for n in range(60)}\n"
        "        self.count = 0\n\n    def add(self):\n        self.count += 1\n"
    )
    tests = "from m import Box\n\n\ndef test_add():\n    Box().add()\n"
    found = probed(tmp_path, program, tests, program.replace("+= 1", "+= 2"), 10.0)
    assert found.changed(1, "p")[0] == 1


def test_large_arguments_that_change_everywhere_do_not_end_the_comparison(tmp_path: Path) -> None:
    """wtforms: to describe the changes of one argument took seconds; the process was killed with all its results."""
    program = (
        "def raised(rows):\n    for part in rows:\n        for row in part:\n            for at in range(len(row)):\n"
        "                row[at] += 1\n\n\ndef more(n):\n    return n + 1\n"
    )
    tests = (
        "from m import more, raised\n\n\ndef test_raised():\n"
        "    raised([[[n * m * k for k in range(20)] for n in range(40)] for m in range(40)])\n"
        "    assert more(1) == 2\n"
    )
    found = probed(tmp_path, program, tests, program.replace("+= 1", "+= 2").replace("n + 1", "n + 2"), 2.0)
    assert found.changed(1, "p")[0] == 2


def test_printed_text_distinguishes_programs(tmp_path: Path) -> None:
    """Of programs that print, no distinguishing input was found, and each repair counted as a behaviour of its own."""
    program = "def greet(name):\n    print('Hello', name)\n"
    tests = "from m import greet\n\n\ndef test_greet(capsys):\n    greet('Ann')\n    assert capsys.readouterr().out\n"
    found = probed(tmp_path, program, tests, program.replace("Hello", "Bye"), 5.0)
    assert found.changed(1, "p") == (1, 1)
    assert {one.call: one.answers for one in found.asked}["greet('Ann')"] == {
        0: "afterwards printed text = 'Hello Ann\\n'",
        1: "afterwards printed text = 'Bye Ann\\n'",
    }


def test_warnings_distinguish_programs(tmp_path: Path) -> None:
    """beautifulsoup4: the wrong name was in the text of a warning, and no repair could be compared with another."""
    program = (
        "import warnings\n\n\ndef renamed(old, new):\n    warnings.warn(f'{old} is now {new}', DeprecationWarning)\n"
    )
    tests = (
        "import pytest\nfrom m import renamed\n\n\ndef test_renamed():\n"
        "    for _ in range(2):\n        with pytest.warns(DeprecationWarning):\n            renamed('a', 'b')\n"
    )
    found = probed(tmp_path, program, tests, program.replace("{new}", "{old}"), 5.0)
    assert found.changed(1, "p")[0] == found.changed(1, "p")[1] > 0, "a warning is given each time"
    assert {one.call: one.answers for one in found.asked}["renamed('a', 'b')"] == {
        0: "afterwards printed text = 'DeprecationWarning: a is now b\\n'",
        1: "afterwards printed text = 'DeprecationWarning: a is now a\\n'",
    }


def test_tests_that_take_longer_than_the_time_are_compared_as_far_as_they_came(tmp_path: Path) -> None:
    """natsort, attrs: tests that are slow while calls are recorded were ended with all that had been recorded."""
    program = "def more(value):\n    return value + 1\n\n\ndef each():\n    return None\n"
    slow = "def test_slow():\n    for _ in range(10_000_000):\n        each()\n"
    tests = f"from m import each, more\n\n\ndef test_more():\n    assert more(3)\n\n\n{slow}"
    found = probed(tmp_path, program, tests, program.replace("+ 1", "+ 2"), 1.0)
    assert found.changed(1, "p")[0] > 0


def test_calls_of_a_hanging_test_are_compared_as_it_makes_them_with_a_repair(tmp_path: Path) -> None:
    """It runs in no fork of the unchanged program: repairs of a loop that never ends all counted as different."""
    program = (
        "def digits(n):\n    found = []\n    while n >= 0:\n        found.append(n % 10)\n        n //= 10\n"
        "    return found\n"
    )
    tests = "from m import digits\n\n\ndef test_digits():\n    assert digits(123) == [3, 2, 1]\n"
    top, hanging = make_repo(tmp_path / "p", {"m.py": program, "test_m.py": tests}), "test_m.py::test_digits"
    edits = {1: "n > 0", 2: "n >= 1", 3: "n % 10"}
    candidates = [Candidate(place, {"m.py": program.replace("n >= 0", new).encode()}) for place, new in edits.items()]
    place, config = locate([top], top), Config()
    python = interpreter(place, config, os.environ)
    with (
        open_views(place) as views,
        open_pool(views, place, python, config, deadly=frozenset({hanging})) as pool,
    ):
        found = pool.probe(candidates, [hanging], 5.0, [hanging], {hanging: 1})
    assert found.kinds[0] == "f"
    assert found.codes[0][0] == ENDLESS
    assert len(found.variants(1)) > 4
    assert found.codes[1] == found.codes[2] != found.codes[3]
    assert found.changed(1, "f") == (1, 1)
    assert found.changed(1, "F")[0] == 0, "what does not end has no result that could be kept"


RECORDED = {
    "m.py": """
import os
import time

def edited(x):
    return x + 1

def waiting(x):
    time.sleep(0.12)
    return x

def quick(x):
    return 2 * x
"""
    + "".join(f"\ndef other{number}(x):\n    return x\n" for number in range(6)),
    "test_m.py": """
import os
import sys
import m

def test_edited():
    assert m.edited(1) == 2

def test_quick():
    assert m.quick(2) == 4

def test_many():
    for one in [m.other0, m.other1, m.other2, m.other3, m.other4, m.other5]:
        for x in range(8):
            assert one(x) == x

def test_chosen_before_the_record_was_full():
    pass

def test_that_cannot_be_recorded():
    if sys.getprofile():
        os._exit(3)
""",
}
WAITS = "\ndef test_waiting():\n    for x in range(8):\n        assert m.waiting(x) == x\n"


@pytest.mark.parametrize("enters", [False, True], ids=["does not enter the edited function", "enters it"])
def test_recording_ends_with_the_last_test_of_which_a_call_would_be_recorded(tmp_path: Path, *, enters: bool) -> None:
    """It took two seconds of every search, most of them for tests that could add nothing."""
    tests = RECORDED["test_m.py"].replace("if sys", "m.edited(0)\n    if sys") if enters else RECORDED["test_m.py"]
    with opened(tmp_path, {**RECORDED, "test_m.py": tests}) as pool:
        candidate = Candidate(1, {"m.py": RECORDED["m.py"].replace("x + 1", "x + 2").encode()})
        assert bool(pool.probe([candidate], pool.tests, 5.0).codes) is not enters


@pytest.mark.thorough
def test_calls_of_a_function_that_waits_are_left_out(tmp_path: Path) -> None:
    """tabulate: a helper that starts the program took eight seconds of a comparison."""
    tests = RECORDED["test_m.py"].partition("def test_many")[0] + WAITS
    with opened(tmp_path, {**RECORDED, "test_m.py": tests}) as pool:
        candidate = Candidate(1, {"m.py": RECORDED["m.py"].replace("x + 1", "x + 2").encode()})
        found = pool.probe([candidate], pool.tests, 5.0)
        assert found.changed(1, "pP") == (found.changed(1, "pP")[1] // 2, found.changed(1, "pP")[1])
        assert not any("waiting" in call for call in pool.answers(pool.tests, 5.0))


@pytest.mark.parametrize("wait", ["0.1", "60"], ids=["and ends", "and does not end"])
def test_of_a_function_that_waits_only_with_a_repair_a_few_calls_are_compared(tmp_path: Path, wait: str) -> None:
    """more-itertools: a repaired function started threads; twice nine seconds went into waiting for them."""
    program = "import time\n\n\ndef work(n):\n    raise ValueError\n\n\ndef other(n):\n    return n + 1\n"
    repaired = program.replace("raise ValueError", f"time.sleep({wait})").replace("n + 1", "n + 2")
    tests = "import pytest\nimport m\n\n\ndef test_work():\n    for n in range(8):\n"
    tests += "        with pytest.raises(ValueError):\n            m.work(n)\n"
    tests += "\n\ndef test_other():\n    assert m.other(1) == 2\n"
    with opened(tmp_path, {"m.py": program, "test_m.py": tests}) as pool:
        began = time.monotonic()
        found = pool.probe([Candidate(1, {"m.py": repaired.encode()})], pool.tests, 5.0)
        assert time.monotonic() - began < 8.0, "160 calls of `work`"
    assert len(found.codes[0]) == len(found.codes[1]) == len(found.kinds)
    calls = {one.call.partition("(")[0] for one in found.asked}
    assert calls == {"work", "other"}


@pytest.mark.parametrize("heavy", [False, True])
def test_calls_with_large_arguments_may_take_longer(*, heavy: bool) -> None:
    """boltons: a test sorted 200,000 items; with no repair did this call end in time."""

    def busy() -> int:
        end = time.process_time() + 0.1
        while time.process_time() < end:
            pass
        return 1

    call = Call(cast(FunctionType, busy), [], {}, recorded=True, heavy=heavy)
    (code,) = answers([call], time.monotonic() + 60.0).codes
    assert (code != ENDLESS) == heavy


def test_calls_that_compute_do_not_wait() -> None:
    """A busy machine would otherwise change what is compared."""

    def busy() -> None:
        end = time.process_time() + 0.015
        while time.process_time() < end:
            pass

    found = answers(
        [Call(cast(FunctionType, busy), [], {}, recorded=True)] * 50, time.monotonic() + 60.0, unchanged=True
    )
    assert len(found.codes) == 50
    assert not found.waiting


def test_equal_functions_of_two_modules_are_both_recorded(tmp_path: Path) -> None:
    """Their code objects are equal, so that a set held only one of them."""
    text = "def inner(x):\n    return x + 1\n"
    files = {
        "one.py": text,
        "two.py": text,
        "both.py": "import one\nimport two\n\n\ndef outer(x):\n    return one.inner(x) * two.inner(x)\n",
        "test_both.py": "from both import outer\n\n\ndef test_outer():\n    assert outer(2) == 9\n",
    }
    with opened(tmp_path, files) as pool:
        changed = text.replace("x + 1", "x + 2").encode()
        found = pool.probe([Candidate(1, {"one.py": changed}), Candidate(2, {"two.py": changed})], pool.tests, 5.0)
    assert {"one", "two"} <= {one.module for one in found.asked}


def added(items: list[int], one: int) -> int:
    items.append(one)
    return len(items)


def test_calls_that_change_their_arguments_do_not_differ_between_equal_versions() -> None:
    """The second version was called with the lists to which the calls of the first one had appended."""
    call = Call(cast(FunctionType, added), [[1], 2], {}, recorded=True)
    found = compared([call], {}, 40.0)
    assert found["own"] == found["other"] == found["within"]


def test_an_answer_that_comes_too_late_is_not_taken_for_that_of_the_next_candidate(tmp_path: Path) -> None:
    """inflect: on a busy machine the search ended with KeyError, exit 3, after a comparison that took too long."""
    program = "import time\n\n\ndef more(n):\n    time.sleep(0.3)\n    return n + 1\n"
    tests = "from m import more\n\n\ndef test_more():\n    assert more(1) == 2\n"
    candidate = Candidate(1, {"m.py": program.replace("+ 1", "+ 2").encode()})
    with opened(tmp_path, {"m.py": program, "test_m.py": tests}) as pool:
        pool.ends = time.monotonic() + 0.1
        with pytest.raises(RunnerError, match=r"did not answer|no time left"):
            pool.probe([candidate], pool.tests, 5.0)
        pool.ends = math.inf
        (judged,) = pool.judge([candidate], Plan(("test_m.py::test_more",)))
        assert not judged.plausible
