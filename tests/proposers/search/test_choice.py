"""Which of several plausible repairs is shown first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import cast

import pytest

from coderefine.core import Case, Failure, Status
from coderefine.proposers.search.choice import Behaviour, abandons, choose, fitted
from coderefine.proposers.search.enumeration import Proposed, Scored
from coderefine.proposers.search.hints import Hints
from coderefine.proposers.search.ingredients import ProjectContext
from coderefine.proposers.search.operators import TABLE
from coderefine.proposers.search.site import Site
from coderefine.proposers.search.syntax import Edit, Module, Replacement
from coderefine.proposers.search.validate import Repair

PLAIN = next(operator for operator in TABLE if not operator.shortcut)
EMPTYING = next(operator for operator in TABLE if operator.shortcut)


LINE = "if not size < limit + 1 - 7 and last(-1) is not None:"


@dataclass(frozen=True)
class Text:
    text: str = LINE


@dataclass(frozen=True)
class Place:
    """As much of a site as the choice asks for."""

    at_import: bool = False
    module: Text = Text()


@dataclass(frozen=True)
class Given:
    """One repair: its score, and how it answers."""

    score: float
    codes: tuple[str, ...] = ()
    emptying: bool = False
    fixed: str = "t"
    whole: bool = True
    old: str = ""
    new: str = "x"

    @property
    def repair(self) -> Repair:
        start = LINE.index(self.old)
        edit = Edit((Replacement(start, start + len(self.old), self.new),))
        scored = Scored(self.score, edit, EMPTYING if self.emptying else PLAIN, cast(Site, Place()))
        return Repair(Proposed(scored, ""), frozenset(self.fixed), whole=self.whole)


@pytest.mark.parametrize(
    ("plain", "other"),
    [
        (("<", "<="), ("1", "2")),
        (("<", "<="), ("size", "size - 1")),
        (("size", "limit"), ("1", "5")),
        (("7", "6"), ("<", "!=")),
        (("<", "<="), ("7", "8")),
        (("not ", ""), ("<", ">=")),
        (("not size < limit", "(size < limit)"), ("<", ">=")),
        (("-1", "0"), ("-1", "-found")),
        (("7", "6"), ("is not", "is")),
    ],
    ids=[
        "an operator before a number",
        "fewer tokens before more",
        "a name before a number",
        "a limit moved by one before another operator",
        "an operator before a large number",
        "without `not` before a second negation",
        "parentheses do not count",
        "a number with its sign is one token",
        "`is` for `is not` removes no negation",
    ],
)
def test_of_repairs_that_behave_alike_the_plainest_is_first(plain: tuple[str, str], other: tuple[str, str]) -> None:
    better = Given(-4.0, SAME, old=other[0], new=other[1])
    assert first(better, Given(-4.5, SAME, old=plain[0], new=plain[1])) == 1


def test_of_repairs_that_behave_alike_a_likely_name_comes_before_an_unlikely_operator() -> None:
    """oauthlib: `set(token) != self.lengths` was written for `set(token) <= self.safe_characters`."""
    assert first(Given(-8.0, SAME, old="<", new="!="), Given(-4.0, SAME, old="size", new="limit")) == 1
    assert first(Given(-8.0, SAME, old="size", new="limit"), Given(-4.0, SAME, old="<", new="!=")) == 1


@pytest.mark.parametrize("text", ["if not index != 0 and size < 7:", "if 0 == index and size < 7:"])
def test_a_number_that_is_compared_for_equality_is_no_limit(text: str) -> None:
    """pygments: `index != 1` was written for `index == 0`."""
    place = cast(Site, Place(module=Text(text)))

    def repair(old: str, new: str) -> Repair:
        edit = Edit((Replacement(start := text.index(old), start + len(old), new),))
        return Repair(Proposed(Scored(-4.0, edit, PLAIN, place), ""), frozenset("t"), whole=True)

    operator = "!=" if "!=" in text else "=="
    repairs = [repair("0", "1"), repair(operator, "<"), repair("7", "8")]
    found = choose(repairs, {-1: BEFORE, 0: SAME, 1: SAME, 2: SAME}).repairs
    assert [repairs.index(one) for one in found] == [2, 1, 0]


def exchanging(score: float, one: str, two: str) -> Repair:
    parts = (Replacement(at := LINE.index(old), at + len(old), new) for old, new in ((one, two), (two, one)))
    scored = Scored(score, Edit(tuple(parts)), PLAIN, cast(Site, Place()))
    return Repair(Proposed(scored, ""), frozenset("t"), whole=True)


@pytest.mark.parametrize(
    ("one", "two", "rival"),
    [("size", "limit", ("size", "limit")), ("size", "limit + 1", ("<", "<="))],
    ids=["and better than one changed name", "however long they are"],
)
def test_two_expressions_that_change_places_are_one_change(one: str, two: str, rival: tuple[str, str]) -> None:
    repairs = [exchanging(-4.3, one, two), Given(-5.2, old=rival[0], new=rival[1]).repair]
    assert choose(repairs, {-1: BEFORE, 0: SAME, 1: SAME}).repairs[0] is repairs[0]


def test_without_not_is_plainer_than_two_expressions_that_change_places() -> None:
    """marshmallow: `key in "."` was written, with a new lint finding, for `"." in key`."""
    repairs = [exchanging(-4.0, "size", "limit"), Given(-4.5, old="not ", new="").repair]
    assert choose(repairs, {-1: BEFORE, 0: SAME, 1: SAME}).repairs[0] is repairs[1]


BEFORE = ("a", "b", "c", "d")


def first(*given: Given) -> int:
    repairs = [one.repair for one in given]
    behaviour: Behaviour = {-1: BEFORE, **{place: one.codes for place, one in enumerate(given) if one.codes}}
    return repairs.index(choose(repairs, behaviour).repairs[0])


SAME, OTHER = ("a", "b", "c", "x"), ("a", "b", "y", "x")


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ((Given(-5.0), Given(-4.0)), 1),
        ((Given(-5.0, SAME), Given(-4.0, OTHER)), 1),
        ((Given(-4.5, SAME), Given(-4.7, SAME), Given(-4.0, OTHER)), 0),
        ((Given(-4.7, SAME), Given(-4.5, SAME), Given(-4.0, OTHER)), 1),
        ((Given(-9.0, SAME), Given(-9.1, SAME), Given(-4.0, OTHER)), 2),
        ((Given(-4.0, ("!TypeError", "b", "c", "x")), Given(-5.5, SAME)), 1),
        ((Given(-4.0, ("~", "b", "c", "x")), Given(-5.5, SAME)), 1),
        ((Given(-4.0, ("!ValueError", "b", "c", "x")), Given(-5.5, SAME)), 0),
        ((Given(-4.0, SAME), Given(-4.5, SAME, emptying=True), Given(-4.9, OTHER)), 2),
        ((Given(-4.0, SAME), Given(-9.5, SAME, emptying=True), Given(-4.9, OTHER)), 0),
        ((Given(-2.0, fixed="t", whole=False), Given(-9.0, fixed="tu")), 1),
        ((Given(-2.0, fixed="t", whole=False), Given(-9.0, fixed="tu", whole=False)), 1),
    ],
    ids=[
        "the better score",
        "of two behaviours the better score",
        "two voices beat one",
        "the better of the two that agree",
        "two far-fetched ones do not beat a good one",
        "a crash near the tests",
        "no end near the tests",
        "an exception on purpose is no crash",
        "like one that only removes behaviour",
        "like an unlikely one that only removes behaviour",
        "whole before partial",
        "more tests before fewer",
    ],
)
def test_first(given: tuple[Given, ...], wanted: int) -> None:
    assert first(*given) == wanted


@pytest.mark.parametrize(("tests", "wanted"), [("t", 1), ("tu", 0)], ids=["one test", "two tests"])
def test_a_factor_that_follows_from_a_single_test_passes_by_chance(tests: str, wanted: int) -> None:
    """`(hits / misses) / 4` stood before `hits / total`: one test of 0.75 for 3 can be met by a factor always."""
    factor = replace(Given(-4.0, SAME).repair, fixed=frozenset(tests))
    scored = replace(factor.proposed.scored, operator=next(row for row in TABLE if row.name == "difference"))
    edit = Edit((Replacement(0, 1, "(hits / misses) / 4"),))
    factor = replace(factor, proposed=replace(factor.proposed, scored=replace(scored, edit=edit)))
    other = replace(Given(-5.0, OTHER).repair, fixed=frozenset(tests))
    assert [factor, other].index(choose([factor, other], {-1: BEFORE, 0: SAME, 1: OTHER}).repairs[0]) == wanted


@pytest.mark.parametrize(
    ("new", "wanted"),
    [
        ("(n / 2) / 4", True),
        ("abs(n / 2)", False),
        ('(n / 2) + "s"', True),
        ('(n / 2).replace("-", "_")', False),
        ('(n / 2).join("-", "x9")', True),
    ],
)
def test_a_factor_that_was_there_before_does_not_follow_from_the_failure(new: str, *, wanted: bool) -> None:
    module = Module.of("f.py", b"n / 2\n")
    site = SimpleNamespace(module=module)
    operator = next(row for row in TABLE if row.name == "difference")
    scored = Scored(-4.0, Edit((Replacement(0, 5, new),)), operator, cast(Site, site))
    assert fitted(Repair(Proposed(scored, ""), frozenset("t"), whole=True)) is wanted


@pytest.mark.parametrize(
    ("others", "new", "wanted"),
    [
        ("self.open = 1\n", "shut", True),
        ("", "shut", False),
        ("x.open = 1\n", "shut", False),
        ("self.open = 1\n", "is_open and self.open", False),
        ("", "is_open and self.open", True),
        ("def open(self): ...\n", "is_open and self.open", False),
        ("setattr(x, 'open', 1)\n", "is_open and self.open", False),
    ],
    ids=[
        "used elsewhere",
        "used nowhere else",
        "of another object",
        "still used",
        "still used but never set",
        "a method",
        "set by name",
    ],
)
def test_a_missing_attribute_that_other_code_uses_is_not_misspelt(others: str, new: str, *, wanted: bool) -> None:
    """sqlparse: `_in_case`, which was not set at first, became `_is_create`, with a confidence of 0.99."""
    module = Module.of("f.py", f"if self.open:\n    pass\n{others}".encode())
    assert module is not None
    world = ProjectContext({"f.py": module})
    stmt = module.by_line[1]
    site = SimpleNamespace(module=module, world=world, stmt=stmt, hints=Hints(absent={"open": ()}))
    scored = Scored(-4.0, Edit((Replacement(8, 12, new),)), PLAIN, cast(Site, site))
    assert abandons(Repair(Proposed(scored, ""), frozenset("t"), whole=True)) is wanted


USES = "class {}:\n    def g(self):\n        return self.open\n\n    def open(self): ...\n"


@pytest.mark.parametrize(
    ("other", "wanted"),
    [("B", False), ("B(A)", True), ("Base", True)],
    ids=["unrelated", "subclass", "base"],
)
def test_an_attribute_that_only_an_unrelated_class_uses_was_taken_from_there(other: str, *, wanted: bool) -> None:
    """webob: the right repair, `self.value` for a method that only another class has, was only offered."""
    text = "class A(Base):\n    def f(self):\n        return self.open\n\n\n" + USES.format(other)
    module = Module.of("f.py", text.encode())
    assert module is not None
    hints = Hints(absent={"open": ()})
    site = SimpleNamespace(module=module, world=ProjectContext({"f.py": module}), stmt=module.by_line[3], hints=hints)
    at = text.index("open")
    scored = Scored(-4.0, Edit((Replacement(at, at + 4, "shut"),)), PLAIN, cast(Site, site))
    assert abandons(Repair(Proposed(scored, ""), frozenset("t"), whole=True)) is wanted


@pytest.mark.parametrize(
    ("method", "first", "wanted"),
    [("__init__", 3, False), ("__init__", 5, True), ("reset", 3, True)],
    ids=["read too early", "never set further down", "set by another method"],
)
def test_an_attribute_that_is_read_before_init_sets_it_may_be_a_wrong_name(
    method: str, first: int, *, wanted: bool
) -> None:
    """glom: the right repair of `if self.default and self.skip_func` was only offered."""
    text = f"class A:\n    def {method}(self):\n        self.a\n        self.a = 1\n        self.a\n"
    module = Module.of("f.py", text.encode())
    assert module is not None
    hints = Hints(absent={"a": ()})
    stmt = module.by_line[first]
    site = SimpleNamespace(module=module, world=ProjectContext({"f.py": module}), stmt=stmt, hints=hints)
    at = module.end(stmt) - 1
    scored = Scored(-4.0, Edit((Replacement(at, at + 1, "b"),)), PLAIN, cast(Site, site))
    assert abandons(Repair(Proposed(scored, ""), frozenset("t"), whole=True)) is wanted


def test_a_missing_private_attribute_is_known_by_the_name_in_the_code() -> None:
    """cachetools: `_LFUCache__counter` is `self.__counter` in the code; it became `self.__links` (0.91)."""
    module = Module.of("f.py", b"class A:\n    def f(self):\n        self.__one\n        return self.__one\n")
    assert module is not None
    failure = Failure("'A' object has no attribute '_A__one'", "AttributeError")
    hints = Hints.of([Case("t.py::test", Status.FAILED, failure=failure)])
    stmt = module.by_line[4]
    site = SimpleNamespace(module=module, world=ProjectContext({"f.py": module}), stmt=stmt, hints=hints)
    at = module.text.rindex("__one")
    scored = Scored(-4.0, Edit((Replacement(at, at + 5, "__two"),)), PLAIN, cast(Site, site))
    assert abandons(Repair(Proposed(scored, ""), frozenset("t"), whole=True))


@pytest.mark.parametrize(
    ("text", "edit", "wanted"),
    [
        ("if PY3 and key: ...\n", (3, 6, "key"), True),
        ("if resutl and key: ...\n", (3, 9, "result"), False),
        ("if xrange(2): ...\n", (3, 9, "range"), False),
        ("if PY3 and key: ...\n", (3, 6, "six.PY3"), False),
        ("if PY3 and key: ...\n", (3, 6, "key and PY3"), True),
        ("PY3 = 1\nif PY3 and key: ...\n", (11, 14, "key"), False),
        ("if TYPE_CHECKING: import PY3\nif PY3 and key: ...\n", (32, 35, "key"), True),
        ("if PY3 and key: ...\n", (0, 0, "from six import PY3\n"), False),
        ("if PY3 and key: ...\n", (0, 0, "import six as PY3\n"), False),
        ("if key: ...\n", (3, 6, "1"), False),
        ("from six import *\nif PY3 and key: ...\n", (21, 24, "key"), False),
        ("match key:\n    case [PY3]: PY3\n", (20, 23, "PY3, *_"), False),
        ("def f(v):\n    if v: id = v\n    return id\n", (10, 10, "    id = 0\n"), False),
    ],
    ids=[
        "dissimilar",
        "misspelt",
        "the name of Python 3",
        "qualified",
        "no longer reached",
        "unbound only here",
        "bound for types only",
        "imported",
        "imported under this name",
        "of another file",
        "a star import",
        "a pattern binds it",
        "a name of a builtin",
    ],
)
def test_an_undefined_name_is_not_simply_given_up(text: str, edit: tuple[int, int, str], *, wanted: bool) -> None:
    """simpleeval: `PYTHON35 and key is None`, without that constant, became `value and key is None` (0.98)."""
    module = Module.of("f.py", text.encode())
    assert module is not None
    names = Hints(undefined=("PY3", "resutl", "xrange", "id"))
    other = Module.of("g.py", b"def g(x):\n    return id(x)\n")
    assert other is not None
    site = SimpleNamespace(module=module, world=ProjectContext({"f.py": module, "g.py": other}), hints=names)
    scored = Scored(-4.0, Edit((Replacement(*edit),)), PLAIN, cast(Site, site))
    assert abandons(Repair(Proposed(scored, ""), frozenset("t"), whole=True)) is wanted


def test_calls_that_crashed_before_may_crash() -> None:
    before: Behaviour = {-1: ("!TypeError", "b"), 0: ("!TypeError", "x")}
    assert not choose([Given(-4.0).repair], before).doubtful


def test_doubt_is_reported() -> None:
    crash: Behaviour = {-1: ("a", "b"), 0: ("!IndexError", "x")}
    assert choose([Given(-4.0).repair], crash).doubtful
    assert not choose([Given(-4.0).repair], {}).doubtful
    assert not choose([], {}).doubtful
