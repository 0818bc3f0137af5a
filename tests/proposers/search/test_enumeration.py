"""Best first, lazily, nothing twice."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace

import pytest

from coderefine.core import Case, Failure, Status
from coderefine.proposers.search.emit import apply
from coderefine.proposers.search.enumeration import Enumeration, Proposed, Scored, changed_lines, twin
from coderefine.proposers.search.hints import Hints
from coderefine.proposers.search.ingredients import FunctionContext, ProjectContext, own_words
from coderefine.proposers.search.naturalness import Trigrams
from coderefine.proposers.search.operators import TABLE
from coderefine.proposers.search.site import Site
from coderefine.proposers.search.syntax import Edit, Function, Module, Replacement
from coderefine.proposers.search.validate import Repair, described


def sites(text: str, weights: dict[int, float]) -> list[Site]:
    module = Module.of("m.py", text.encode())
    assert module is not None
    world = ProjectContext({"m.py": module})
    found = []
    for line, weight in weights.items():
        stmt = module.by_line[line]
        function = stmt if isinstance(stmt, Function) else module.function(stmt)
        found.append(Site(FunctionContext(module, function, world), stmt, weight))
    return found


TEXT = "def f(x, y):\n    if x < y:\n        return x\n    return y\n"


def test_nothing_twice_and_all_compile() -> None:
    texts = [proposed.text for proposed in itertools.islice(Enumeration(sites(TEXT, {2: 1.0, 3: 1.0, 4: 1.0})), 400)]
    assert len(texts) == len(set(texts)) == 400
    assert TEXT not in texts
    for text in texts:
        compile(text, "m.py", "exec", dont_inherit=True)


def test_of_two_equal_files_both_are_edited() -> None:
    """Of two copies of a file, only one got proposals."""
    found: list[Site] = []
    for path in ("a.py", "b.py"):
        module = Module.of(path, TEXT.encode())
        assert module is not None
        function = module.function(module.by_line[2])
        found.append(Site(FunctionContext(module, function, ProjectContext({path: module})), module.by_line[2], 1.0))
    paths = [proposed.path for proposed in Enumeration(found)]
    assert paths.count("a.py") == paths.count("b.py") > 9


def test_suspicion_leads() -> None:
    first = next(iter(Enumeration(sites(TEXT, {2: 0.05, 3: 1.0, 4: 0.05}))))
    assert first.scored.site.stmt.lineno == 3


@pytest.mark.parametrize(
    ("source", "name", "asked"),
    [
        ("assert f(2, 'dl') == 0.2", "t.py::test", ["10"]),
        ("assert f(2, unit) == 0.2", "t.py::test[dl-0.2]", ["10"]),
        ("assert f('ml', 'dl') == f('l', '')", "t.py::test", []),
        ("assert f(2, 'pint') == 0.2", "t.py::test", []),
    ],
    ids=["in the test", "a parameter", "every key", "no key"],
)
def test_the_table_entry_that_the_failing_test_uses_is_suspicious(source: str, name: str, asked: list[str]) -> None:
    text = 'ML = {"ml": 1, "dl": 10, "l": 1000}\n'
    (site,) = sites(text, {1: 1.0})
    hints = Hints.of([Case(name, Status.FAILED)], {name: source})
    assert [text[start:end] for start, end in replace(site, hints=hints).asked] == asked
    first = next(iter(Enumeration([replace(site, hints=hints)])))
    assert (text[first.scored.edit.parts[0].start :].startswith("10")) is bool(asked)


def test_the_row_of_a_table_that_the_failing_test_quotes_is_suspicious() -> None:
    """docutils: of a table of numerals, the number in the row of the wrong numeral was not tried in 800 candidates."""
    text = "ROWS = [\n    (10, 'X'),\n    (9, 'IX'),\n    (6, 'V'),\n]\n"
    (site,) = sites(text, {1: 1.0})
    failure = Failure("'IVI' != 'V'", "AssertionError")
    hints = Hints.of([Case("t.py::test", Status.FAILED, failure=failure)])
    site = replace(site, hints=hints)
    assert [text[start:end] for start, end in site.asked] == ["(6, 'V')"]
    ((start, end),) = site.asked
    (part,) = next(iter(Enumeration([site]))).scored.edit.parts
    assert start <= part.start <= part.end <= end


def test_an_attribute_of_a_coroutine_asks_for_await() -> None:
    """`values = fetch_all(...)` without `await`: `values.values()` became `store.values()`, which is wrong."""
    failure = Failure("AttributeError: 'coroutine' object has no attribute 'values'", "AttributeError")
    odds = Hints.of([Case("t.py::test", Status.FAILED, failure=failure)]).odds
    assert max(odds, key=odds.__getitem__) == "await"
    assert odds["await"] >= 2 * sorted(odds.values())[-2] > 0


def test_a_parameter_of_a_lambda_that_is_never_read_is_tried_first() -> None:
    """voluptuous: `lambda p, v: self.compiled(p, p)` was never repaired."""
    text = "def f(self, schema):\n    rows = 1\n    return lambda p, v: self.compiled(p, p)\n"
    first = [proposed.text for proposed in itertools.islice(Enumeration(sites(text, {3: 1.0})), 2)]
    assert text.replace("(p, p)", "(p, v)") in first


def test_a_large_function_costs_little_to_begin() -> None:
    rows = [f"    v{n} = x + {n}\n    if v{n} > y:\n        y = v{n}" for n in range(150)]
    text = "def f(x, y):\n" + "\n".join(rows) + "\n    return y\n"
    began = time.process_time()
    weights = dict.fromkeys(range(2, 400), 0.2) | {3: 1.0}
    found = list(itertools.islice(Enumeration(sites(text, weights)), 20))
    assert len(found) == 20
    assert time.process_time() - began < 5.0


def test_a_faulty_line_does_not_raise_its_own_probability() -> None:
    """A model that has learnt the faulty statement finds it natural: `>` stood before the right `>=` in wtforms."""
    text = "def f(length, least):\n    if length > least:\n        return 1\n    return 0\n"
    (site,) = (one for one in sites(text, {2: 1.0}) if one.stmt.lineno == 2)
    all_of_it, without = site.world.trigrams, site.trigrams
    assert without.logp("if", "length", ">") < all_of_it.logp("if", "length", ">")
    assert without.logp("if", "length", ">") == without.logp("if", "length", "<")
    other = Trigrams()
    other.learn(own_words(site.module, site.module.by_line[1]))
    other.learn(own_words(site.module, site.module.by_line[3]))
    other.learn(own_words(site.module, site.module.by_line[4]))
    assert without.logp("", "", "return") == other.logp("", "", "return")


@pytest.mark.parametrize(
    "binding",
    [
        "async with x as r:",
        pytest.param("async for r in x:", marks=pytest.mark.thorough),
    ],
)
def test_a_name_that_a_comprehension_binds_too_is_visible_where_another_statement_binds_it(binding: str) -> None:
    text = f"async def f(x):\n    {binding}\n        y = 1\n    return [r(r=q, k=lambda q: q) for r in x for q in x]\n"
    (site,) = sites(text, {3: 1.0})
    assert "r" in site.names
    (last,) = sites(text, {4: 1.0})
    assert "q" not in last.local.names(4)


def test_the_variable_of_an_asynchronous_loop_is_the_nearest_name() -> None:
    (site,) = sites("async def f(x):\n    async for r in x:\n        y = 1\n        z = y\n", {4: 1.0})
    assert site.names[0] == "r"


@pytest.mark.parametrize(
    ("line", "old", "new", "ignoring"),
    [
        ("self.log = log", "log = log", "log = []", True),
        ("self.log = log", "log = log", "log = list(log)", False),
        ("return self.total / len(self.log)", "self.total / len(self.log)", "0", True),
        ("return self.total / len(self.log)", "self.total", "0", False),
        ("return self.total / len(self.log)", "return ", "", True),
        ("return 1", "1", "2", False),
        ("self.total = _log", "_log", "self", False),
        ("print(self)", "print", "return print", False),
        ("return self.total / len(self.log)", "return", "self.check()\n        return", False),
    ],
    ids=[
        "a parameter is dropped",
        "it is copied",
        "a computed result is dropped",
        "a part of it",
        "it is not returned",
        "a constant",
        "a parameter that is named as unused",
        "it is returned",
        "a call before it",
    ],
)
def test_an_edit_that_drops_a_parameter_or_a_computed_result_removes_behaviour(
    line: str, old: str, new: str, *, ignoring: bool
) -> None:
    """A shared list was "repaired" by an empty one in place of what the caller passes, and written."""
    text = f"class Account:\n    def __init__(self, log=[]):\n        print(self)\n        {line}\n"
    text = text.replace("log=[]", "_log") if "_log" in line else text if "= log" in line else text.replace("log=[]", "")
    module = Module.of("bank.py", text.encode())
    assert module is not None
    stmt = module.by_line[4]
    site = Site(FunctionContext(module, module.function(stmt), ProjectContext({"bank.py": module})), stmt)
    at = text.rindex(old)
    edit = Edit((Replacement(at, at + len(old), new),))
    proposed = Proposed(Scored(0.0, edit, TABLE[0], site), apply(text, edit))
    assert described(Repair(proposed, frozenset(), whole=True)).ignores is ignoring


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("rows", "row", 1),
        ("rows", "cell", 0),
        ("row.name", "row.title", -1),
        ("2", "3", 0),
        ("len(name)", "name", 0),
        ("total = g(rows, 2)", "name = row.name.strip()", 0),
    ],
    ids=["as elsewhere", "as nowhere", "unlike elsewhere", "another number", "a short line", "a copy of another line"],
)
def test_a_line_that_occurs_elsewhere_is_more_likely(old: str, new: str, wanted: int) -> None:
    """wtforms: `if not valuelist:` stood in five methods of that name, but was one of seven rivals in the sixth."""
    text = "def f(rows, row):\n    total = g(rows, 2)\n    name = row.name.strip()\n    return len(name)\n"
    other = b"def h(row):\n    total = g(row, 2)\n    name = row.name.strip()\n    return name\n"
    module, beside = Module.of("f.py", text.encode()), Module.of("h.py", other)
    assert module is not None
    assert beside is not None
    at = text.index(old, text.index("\n"))
    world = ProjectContext({"f.py": module, "h.py": beside})
    lines = changed_lines(module, Edit((Replacement(at, at + len(old), new),)))
    assert twin(world, lines) == wanted


def test_a_line_of_another_branch_of_the_same_condition_is_no_twin() -> None:
    """In texttable, a bool needed a formatter of its own; that of another branch, `_fmt_text`, was written."""
    text = (
        "def f(cls, x):\n    if x > 9:\n        fn = cls.exp\n    elif x != x:\n        fn = cls.text\n"
        "    elif not x:\n        fn = cls.int\n    else:\n        fn = cls.float\n    return fn(x)\n"
    )
    module = Module.of("f.py", text.encode())
    assert module is not None
    stmt, at = module.by_line[7], text.index("cls.int")
    world = ProjectContext({"f.py": module})
    site = Site(FunctionContext(module, module.function(stmt), world), stmt)
    lines = changed_lines(module, Edit((Replacement(at, at + len("cls.int"), "cls.text"),)))
    assert site.in_other_branches == {("fn", "=", "cls", ".", name) for name in ("exp", "text", "float")}
    assert twin(world, lines) == 1
    assert twin(world, lines, site.in_other_branches) == 0
