"""What is sure enough to be written, and how the rest is offered."""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from coderefine.config import Config
from coderefine.core import Patch
from coderefine.project import interpreter, locate
from coderefine.proposers.search.choice import Behaviour, clusters
from coderefine.proposers.search.confidence import (
    BAR,
    Features,
    Group,
    Rivals,
    answers,
    confidence,
    doubts,
    groups,
    intent,
    rival_sets,
    with_strength,
)
from coderefine.proposers.search.enumeration import Proposed, Scored
from coderefine.proposers.search.hints import Hints
from coderefine.proposers.search.ingredients import ProjectContext
from coderefine.proposers.search.offering import offer
from coderefine.proposers.search.operators import TABLE
from coderefine.proposers.search.site import Site
from coderefine.proposers.search.spectrum import Spectrum
from coderefine.proposers.search.syntax import Edit, Module, Replacement
from coderefine.proposers.search.validate import Repair
from coderefine.runner.candidates import BROKEN, KEPT, Asked, Comparison
from coderefine.runner.pool import open_pool
from coderefine.workspace import open_views
from tests.support.repo import make_repo

SOURCE = b"def f(n):\n    return n + 1 - 7\n"
PLAIN = next(operator for operator in TABLE if not operator.shortcut)
SURE = Features(seen=True, noticed=3, wrong=3, tests=2, reached=2)


class Place:
    """As much of a site as the choice asks for."""

    at_import = False
    hints = Hints()
    world = ProjectContext({})
    in_other_branches: frozenset[tuple[str, ...]] = frozenset()

    def __init__(self, source: bytes = SOURCE) -> None:
        module = Module.of("f.py", source)
        assert module is not None
        self.module = module
        (function,) = module.tree.body
        assert isinstance(function, ast.FunctionDef)
        self.stmt: ast.stmt = function.body[-1]
        self.local = self
        self.function = function


def repair(score: float, new: str) -> Repair:
    at = SOURCE.index(b"1")
    scored = Scored(score, Edit((Replacement(at, at + 1, new),)), PLAIN, cast(Site, Place()))
    return Repair(Proposed(scored, ""), frozenset("t"), whole=True, files={"f.py": SOURCE.replace(b"1", new.encode())})


def limit(doc: str, old: str, new: str) -> int:
    """What is said of `new` in place of `old` by a docstring."""
    source = f'def f(n):\n    """{doc}"""\n    return n {old} 10\n'.encode()
    at = source.index(f"{old} 10".encode())
    scored = Scored(0.0, Edit((Replacement(at, at + len(old), new),)), PLAIN, cast(Site, Place(source)))
    return intent(Repair(Proposed(scored, ""), frozenset("t"), whole=True))


@pytest.mark.parametrize(
    ("doc", "new", "wanted"),
    [
        ("Free from LIMIT on.", ">=", 1),
        ("Free from LIMIT on.", ">", -1),
        ("Free for ten or more.", ">=", 1),
        ("True of more than ten.", ">", 1),
        ("True of no less than ten.", ">=", 1),
        ("At most ten are let in.", "<=", 1),
        ("At most ten are let in.", "<", -1),
        ("At least one and at most ten.", "<=", 0),
        ("Says whether it is so.", ">=", 0),
        ("Free from LIMIT on.", "==", 0),
        ("Refuse what is above 10.", ">", 1),
        ("Refuse what is under the limit.", "<", 1),
        ("The expression above doesn't match.", "<", 0),
        ("See below.", ">=", 0),
    ],
)
def test_a_docstring_determines_to_which_side_a_limit_belongs(doc: str, new: str, wanted: int) -> None:
    old = {">=": ">", "<=": "<", "<": "<=", ">": ">=", "==": ">"}[new]
    assert limit(doc, old, new) == wanted


@pytest.mark.parametrize(
    ("statement", "old", "new", "wanted"),
    [
        ("if n > 10:\n        raise ValueError('at least ten')", ">", "<", 1),
        ("if n < 10:\n        raise ValueError('at most ten')", "<", ">", 1),
        ("if n <= 10:\n        raise ValueError('at most ten')", "<=", "<", -1),
        ("if n > 10:\n        raise ValueError(f'{n} is not less than 10')", ">", ">=", 1),
        ("if n > 10:\n        return 'at least ten'\n    else:\n        return 'at most nine'", ">", ">=", 1),
        ("assert n < 10, 'must be at least ten'", "<", ">=", 0),
        ("assert n > 10, 'must be at least ten'", ">", ">=", 1),
        ("if n > 10:\n        raise ValueError('wrong')", ">", "<", -1),
        ("return 'at least' * (n > 10)", ">", ">=", -1),
    ],
)
def test_the_message_of_a_branch_determines_to_which_side_its_limit_belongs(
    statement: str, old: str, new: str, wanted: int
) -> None:
    """voluptuous: `len(v) <= self.min` was written, with the message "length of value must be at least"."""
    source = f'def f(n):\n    """More than ten."""\n    {statement}\n'.encode()
    at = source.index(f" {old} 10".encode()) + 1
    scored = Scored(0.0, Edit((Replacement(at, at + len(old), new),)), PLAIN, cast(Site, Place(source)))
    assert intent(Repair(Proposed(scored, ""), frozenset("t"), whole=True)) == wanted


def test_a_docstring_is_no_evidence_on_a_comparison_without_a_limit() -> None:
    assert limit("Warn above this line.", "==", ">") == 0


def test_an_old_limit_is_no_evidence_on_the_repair() -> None:
    source = b'def f(n, m):\n    """At most ten."""\n    return m < 10\n'
    at = source.index(b"m < 10")
    scored = Scored(0.0, Edit((Replacement(at, at + 1, "n"),)), PLAIN, cast(Site, Place(source)))
    assert intent(Repair(Proposed(scored, ""), frozenset("t"), whole=True)) == 0


def made(behaviour: Behaviour, kinds: str, *given: Repair) -> list[Group]:
    comparison = Comparison({place + 1: codes for place, codes in behaviour.items()}, kinds)
    return groups(given, [[place] for place in range(len(given))], comparison, -9.0, Spectrum({}, {}, 1))


HIDING = b"def f(n):\n    if n < 0:\n        n = 0\n    if n:\n        raise ValueError\n"


@pytest.mark.parametrize("executed", [False, True])
def test_a_repair_that_moves_a_check_to_where_no_test_goes_comes_last(*, executed: bool) -> None:
    place = Place(HIDING)
    start = HIDING.index(b"    if n:")
    moved = Edit((Replacement(start, len(HIDING), "        if n:\n            raise ValueError\n"),))
    negated = Edit((Replacement(start + 7, start + 8, "not n"),))
    indent = next(operator for operator in TABLE if operator.name == "indent")
    hidden, other = (
        Repair(Proposed(Scored(score, edit, operator, cast(Site, place)), ""), frozenset("t"), whole=True)
        for score, edit, operator in ((-1.0, moved, indent), (-3.0, negated, PLAIN))
    )
    beside = place.module.by_line[3]
    spectrum = Spectrum({}, {beside: 1} if executed else {}, 1)
    (group,) = groups([hidden, other], [[0, 1]], Comparison({0: ("1",), 1: ("2",), 2: ("2",)}, "p"), -9.0, spectrum)
    assert (group.repairs[0] is hidden) is executed
    (alone,) = groups([hidden], [[0]], Comparison({0: ("1",), 1: ("2",)}, "p"), -9.0, spectrum)
    assert alone.features.removes is not executed


def test_of_repairs_that_behave_alike_the_one_with_the_similar_name_is_written() -> None:
    """w3lib: `cast(AnyUnicodeError, error)` became `cast(to_unicode, error)`, although `UnicodeError` passed, too."""
    place = Place(b"def f(total):\n    return tota\n")
    nearest = next(operator for operator in TABLE if operator.name == "misspelt")
    other, named = (
        Repair(Proposed(Scored(score, edit, operator, cast(Site, place)), ""), frozenset("t"), whole=True)
        for score, edit, operator in (
            (-1.0, Edit((Replacement(25, 29, "len"),)), PLAIN),
            (-3.0, Edit((Replacement(25, 29, "total"),)), nearest),
        )
    )
    comparison = Comparison({0: ("1",), 1: ("2",), 2: ("2",)}, "p")
    (group,) = groups([other, named], [[0, 1]], comparison, -9.0, Spectrum({}, {}, 1))
    assert group.repairs == (named, other)


@pytest.mark.parametrize("changed", [2, 12])
def test_repairs_of_different_lines_that_few_calls_compare_are_not_taken_for_alike(changed: int) -> None:
    """sqlparse: `nidx += snidx or nidx` was to be written; the wrong name two lines above was as likely."""
    source = b"def f(total):\n    n = total\n    return n\n"
    place, other = Place(source), Place(source)
    place.stmt = place.module.by_line[2]
    one, two = (
        Repair(Proposed(Scored(score, edit, PLAIN, cast(Site, site)), ""), frozenset("t"), whole=True)
        for score, edit, site in (
            (-1.0, Edit((Replacement(18, 19, "m"),)), place),
            (-1.5, Edit((Replacement(39, 40, "m"),)), other),
        )
    )
    codes = {0: tuple("1" * 20), 1: tuple("2" * changed + "1" * (20 - changed))}
    (group,) = groups([one, two], [[0, 1]], Comparison({**codes, 2: codes[1]}, "P" * 20), -9.0, Spectrum({}, {}, 1))
    assert (group.features.settled == 1) is (changed == 12)
    shown = offer(Rivals(frozenset("t"), (group,)), one, Patch(), lambda *_: None).alternatives
    assert len(shown) == (2 if changed == 2 else 1)
    assert confidence(replace(group.features, settled=0.5)) == confidence(replace(group.features, settled=1.0)) / 2


def test_repairs_of_one_line_are_settled_however_many_there_are() -> None:
    """The sum of their shares may be 0.9999999999999999: an offer said that patches of other lines pass, too."""
    given = [repair(-1.0 - n / 7, str(n + 2)) for n in range(9)]
    for one in given[1:]:
        one.proposed.scored.site.stmt = given[0].proposed.scored.site.stmt  # type: ignore[misc]
    comparison = Comparison({0: ("1",), **dict.fromkeys(range(1, 10), ("2",))}, "P")
    (group,) = groups(given, [list(range(9))], comparison, -9.0, Spectrum({}, {}, 1))
    assert group.features.settled == 1


def test_answers_that_change_are_counted_besides_those_that_were_wrong() -> None:
    behaviour: Behaviour = {-1: ("a", "b", "c", "d"), 0: ("x", "b", "y", "d")}
    (found,) = made(behaviour, "fpFP", repair(-4.0, "2"))
    assert found.changed == (1, 3)
    assert found.features.passing == 0.0


def test_a_factor_that_follows_from_the_failure_is_not_taken_for_a_removal() -> None:
    plain = repair(-4.0, "x * 60")
    scored = replace(plain.proposed.scored, operator=next(row for row in TABLE if row.name == "difference"))
    (found,) = made({}, "", replace(plain, proposed=replace(plain.proposed, scored=scored)))
    assert found.features.fitted
    assert not found.features.removed


def test_a_repair_that_contradicts_an_example_in_a_docstring_is_last() -> None:
    behaviour: Behaviour = {
        -1: ("a", BROKEN, KEPT),
        0: ("b", KEPT, BROKEN),
        1: ("b", BROKEN, KEPT),
        2: ("b", KEPT, KEPT),
    }
    found = made(behaviour, "Fdd", repair(-2.0, "2"), repair(-3.0, "3"), repair(-5.0, "4"))
    assert [(group.places, group.features.examples) for group in found] == [((2,), 1), ((0,), -1), ((1,), -1)]
    assert "contradicts an example" in doubts(found[1])
    assert "contradicts" not in doubts(found[0])


@pytest.mark.parametrize(
    ("together", "other", "wanted"),
    [("tu", "", True), ("tu", "elsewhere", False), ("tu", "here", True), ("t", "", False)],
    ids=["shared code", "repaired by another patch", "repaired by a patch of the same statement", "code of its own"],
)
def test_an_unrepaired_failing_test_is_evidence_against_a_repair_of_the_code_it_runs(
    together: str, other: str, *, wanted: bool
) -> None:
    """marshmallow: `field.split` for `field.startswith` was written, because another edit of it repaired the rest."""
    first = repair(-4.0, "2")
    others = {"elsewhere": repair(-5.0, "3"), "here": first}
    every = [first, *(replace(others[name], fixed=frozenset("u")) for name in [other] if name)]
    (rivals,) = rival_sets(
        [first],
        Comparison({}, ""),
        -9.0,
        Spectrum({}, {}, 2),
        together=[frozenset(together), frozenset("u")],
        every=every,
    )
    assert rivals.groups[0].features.unexplained is wanted


@pytest.mark.parametrize(
    ("undefined", "crashed", "wanted"),
    [("n", "t", False), ("m", "t", True), ("n", "", True)],
    ids=["the variable has no value", "another variable", "the test fails later"],
)
def test_a_test_that_does_not_run_the_use_of_an_undefined_variable_fails_for_another_reason(
    undefined: str, crashed: str, *, wanted: bool
) -> None:
    """wtforms: a test that lacked a locale kept the repair of `if not date_str` from being written."""
    first = repair(-4.0, "2")
    place = cast(Place, first.proposed.scored.site)
    place.hints = Hints(undefined=(undefined,))
    spectrum = Spectrum({}, {}, 2, raised=dict.fromkeys(crashed, place.stmt))
    (rivals,) = rival_sets([first], Comparison({}, ""), -9.0, spectrum, together=[frozenset("tu")])
    assert rivals.groups[0].features.unexplained is wanted


@pytest.mark.parametrize(("repaired", "wanted"), [(19, True), (20, False)])
def test_one_test_that_stays_failing_does_not_outweigh_many_that_are_repaired(repaired: int, *, wanted: bool) -> None:
    """flask: a repair of 39 tests was only offered, as a test that fails with this werkzeug had crashed there, too."""
    first = replace(repair(-4.0, "2"), fixed=frozenset(f"test_{n}" for n in range(repaired)))
    stmt = cast(Place, first.proposed.scored.site).stmt
    spectrum = Spectrum({stmt: first.fixed | {"other"}}, {}, repaired + 1)
    (rivals,) = rival_sets([first], Comparison({}, ""), -9.0, spectrum)
    assert rivals.groups[0].features.stuck is wanted


@pytest.mark.parametrize(
    ("idle", "reached", "wanted"),
    [(True, 0, True), (True, 1, False), (False, 0, False)],
    ids=["one test", "two tests", "a condition without which the test fails"],
)
def test_a_condition_that_a_single_test_does_not_need_is_not_written(reached: int, *, idle: bool, wanted: bool) -> None:
    """cssutils: `if v != x: return n` was written for `if v == x: return n`; without the `if`, the test passed, too."""
    known = replace(SURE, tests=1, reached=reached, margin=5.0, idle=idle)
    first = repair(-4.0, "2")
    rivals = Rivals(first.fixed, (Group((first,), (0,), known),))
    assert confidence(known) >= BAR
    assert bool(rivals.doubt) is wanted


@pytest.mark.parametrize(("passing", "connects"), [(8, True), (9, False)])
def test_failing_tests_belong_together_by_code_that_few_others_run(passing: int, *, connects: bool) -> None:
    line, tests = ast.Pass(), frozenset("tu")
    found = Spectrum({line: tests}, {line: passing}, 2, traced=100).together
    assert found == ({tests} if connects else set())


@pytest.mark.parametrize(("others", "wanted"), [(("!TypeError", "y"), 0.0), (("a", "y"), 0.5), ((), 0.5)])
def test_a_crash_that_every_rival_has_is_required_by_the_tests(others: tuple[str, ...], wanted: float) -> None:
    behaviour: Behaviour = {-1: ("a", "b"), 0: ("!TypeError", "x"), **({1: others} if others else {})}
    found = made(behaviour, "PP", repair(-4.0, "2"), *([repair(-5.0, "3")] if others else []))
    assert next(group.features.crashes for group in found if group.places == (0,)) == wanted


def test_a_repair_whose_results_contradict_an_annotation_is_no_rival() -> None:
    """`return self.message` was one of five ways: the others returned `self` or a method from `-> str`."""
    behaviour: Behaviour = {-1: ("a", "b"), 0: ("c?", "d?"), 1: ("c", "d")}
    found = made(behaviour, "FF", repair(-4.0, "2"), repair(-5.0, "3"))
    assert [(group.places, group.features.ways) for group in found] == [((1,), 1), ((0,), 1)]
    assert "return annotation" in doubts(found[1])


@pytest.mark.parametrize(("seconds", "unmeasured"), [(0.0, True), (30.0, False)], ids=["busy", "idle"])
@pytest.mark.thorough
def test_strength_that_was_not_measured_is_not_called_strong(tmp_path: Path, seconds: float, unmeasured: bool) -> None:
    """Slow tests stand for a busy machine: within the usual time they judge two small wrong versions at most."""
    tests = "import time\n\nfrom f import f\n\n\ndef test_f():\n    time.sleep(0.8)\n    assert f(1) == -4\n"
    top = make_repo(tmp_path / "p", {"f.py": SOURCE.decode(), "test_f.py": tests})
    place, config = locate([top], top), Config(python=sys.executable)
    with open_views(place) as views, open_pool(views, place, interpreter(place, config, {}), config, workers=1) as pool:
        pool.observe(["test_f.py::test_f"], [])
        found = with_strength(Features(), pool, repair(0.0, "2"), seconds)
    assert found.unmeasured is unmeasured
    assert (found.wrong >= 3) is not unmeasured


def test_a_test_that_fails_in_any_case_notices_no_wrong_version(tmp_path: Path) -> None:
    """cssutils: a docstring example that needs the network "noticed" all mutants, so that a wrong patch was written."""
    tests = "from f import f\n\n\ndef test_f():\n    f(1)\n\n\ndef test_other():\n    assert f(1) == 'never'\n"
    top = make_repo(tmp_path / "p", {"f.py": SOURCE.decode(), "test_f.py": tests})
    place, config = locate([top], top), Config(python=sys.executable)
    names = ["test_f.py::test_f", "test_f.py::test_other"]
    first = replace(repair(0.0, "2"), fixed=frozenset(names[:1]))
    with open_views(place) as views, open_pool(views, place, interpreter(place, config, {}), config, workers=1) as pool:
        pool.observe(names, [])
        found = with_strength(Features(), pool, first, 30.0, failing=frozenset(names))
    assert (found.noticed, found.wrong >= 1) == (0, True)


def test_behaviour_that_was_never_observed_has_no_count() -> None:
    (found,) = made({}, "", repair(-4.0, "2"))
    assert found.changed is None
    assert not found.features.seen


def test_repairs_that_change_only_what_failing_tests_call_are_not_known_to_behave_alike() -> None:
    changing, not_changing = ("x", "y", "c"), ("x", "b", "c")
    codes = {0: ("a", "b", "c"), 1: not_changing, 2: not_changing, 3: changing, 4: changing}
    given = [repair(-4.0, new) for new in "2345"]
    assert clusters(given, answers(Comparison(codes, "fpF"))) == [[0], [1], [2, 3]]


def test_repairs_of_one_meaning_behave_alike_whatever_was_observed() -> None:
    codes = {0: ("a", "b"), 1: ("x", "b"), 2: ("y", "b"), 3: ("x", "b")}
    given = [repair(-4.0, new) for new in "234"]
    assert clusters(given, answers(Comparison(codes, "pp"))) == [[0, 2], [1]]
    alike = [replace(one, meaning=meaning) for one, meaning in zip(given, ("m", "m", ""), strict=True)]
    assert clusters(alike, answers(Comparison(codes, "pp"))) == [[0, 1, 2]]


@pytest.mark.parametrize(
    ("before", "variants", "wanted"),
    [
        ("v", "abcd", [[0, 1], [2]]),
        ("v", "aaaa", [[0], [1], [2]]),
        ("v", ("a", "b", "c", "!TypeError"), [[0], [1], [2]]),
        ("w", "abcd", [[0], [1], [2]]),
    ],
    ids=["different values", "one value", "too few values", "the fault does not show in the result"],
)
def test_variants_of_the_failing_calls_show_whether_repairs_behave_alike(
    before: str, variants: Sequence[str], wanted: list[list[int]]
) -> None:
    codes = {0: (before, *variants), 1: ("w", *variants), 2: ("w", *variants), 3: ("w", "x", *variants[1:])}
    given = [repair(-4.0, new) for new in "234"]
    assert clusters(given, answers(Comparison(codes, "fFFFF"))) == wanted


def test_a_repair_that_renames_parameters_is_never_sure() -> None:
    """The calls of tests pass them by position and do not show it."""
    place = Place(b"def f(low, high):\n    return low\n")
    place.stmt = place.module.tree.body[0]
    parts = (Replacement(6, 9, "high"), Replacement(11, 15, "low"))
    scored = Scored(0.0, Edit(parts), PLAIN, cast(Site, place))
    (found,) = made({-1: ("a",), 0: ("b",)}, "F", Repair(Proposed(scored, ""), frozenset("t"), whole=True))
    assert "renames parameters" in Rivals(frozenset("t"), (replace(found, features=replace(SURE, renames=True)),)).doubt
    assert found.features.renames


def test_the_likelier_behaviour_is_first_and_they_share_the_weight() -> None:
    behaviour: Behaviour = {-1: ("a",), 0: ("b",), 1: ("c",)}
    first, second = made(behaviour, "F", repair(-6.0, "2"), repair(-4.0, "3"))
    assert first.places == (1,)
    assert first.features.ways == 2
    assert first.features.share > second.features.share
    assert first.features.share + second.features.share == pytest.approx(1.0)


@pytest.mark.parametrize(
    "known",
    [
        SURE,
        replace(SURE, ways=2, share=0.8, named=True),
        replace(SURE, ways=2, share=0.8, intent=1),
        replace(SURE, ways=2, share=0.97, tests=1, reached=0, margin=6.9),
        replace(SURE, ways=2, share=0.95, tests=1, reached=2, margin=4.5),
    ],
    ids=["alone", "named by the interpreter", "as the docstring has it", "far ahead of its rival", "three tests"],
)
def test_a_repair_that_is_clearly_ahead_is_certain(known: Features) -> None:
    assert confidence(known) >= BAR


@pytest.mark.parametrize(
    ("known", "words"),
    [
        (replace(SURE, ways=4, share=0.4), "behave in 4 ways"),
        (replace(SURE, ways=2, share=0.95, tests=1, reached=1, margin=4.5), "behave in 2 ways"),
        (replace(SURE, ways=4, share=0.4, seen=False), "the plausible patches could not be compared"),
        (replace(SURE, ways=4, share=0.4, reached=0), "reached by only 2 tests"),
        (replace(SURE, tests=1, reached=0), "reached by only 1 test"),
        (replace(SURE, ways=4, share=0.6, intent=-1), "behave in 4 ways"),
        (replace(SURE, examples=-1), "contradicts an example in a docstring"),
        (replace(SURE, removes=True), "removes behaviour"),
        (replace(SURE, unexplained=True), "another failing test runs the same code"),
        (replace(SURE, crashes=0.2), "fails on calls"),
        (replace(SURE, worth=-9.3), "thousands of other edits"),
        (replace(SURE, fitted=True, tests=1, reached=1), "number or text in it follows from"),
        (replace(SURE, anew=True), "newer than the changed code"),
        (replace(SURE, abandons=True, reached=1), "gives up a missing name"),
        (replace(SURE, twin=-1, reached=0), "occurs elsewhere in the project, unchanged"),
        (replace(SURE, noticed=1, wrong=6), "notice 1 of 6"),
        (replace(SURE, reached=1, noticed=1, wrong=1, unmeasured=True), "no time to see whether the tests notice"),
    ],
    ids=[
        "rivals",
        "an unlikely rival, and two tests",
        "not compared",
        "few tests",
        "one test",
        "contradicted",
        "an example",
        "a guard is gone",
        "half",
        "crashes",
        "far-fetched",
        "fitted",
        "a new test",
        "a missing attribute",
        "unlike elsewhere",
        "weak",
        "unmeasured",
    ],
)
def test_an_uncertain_repair_has_a_reason(known: Features, words: str) -> None:
    assert confidence(known) < BAR
    assert words in doubts(Group((), (), known))


def test_a_single_alternative_is_shown_with_answers_that_it_changes() -> None:
    found = made({-1: ("a",), 0: ("b",)}, "F", repair(-4.0, "2"))
    given = {"f(1)": ("-5", "-5"), "f(200)": ("-4", "-3"), "f(2)": ("-4", "-3"), "f(3)": ("-3", "-2")}
    asked = tuple(Asked(at, call, "f", {0: now, 1: new}) for at, (call, (now, new)) in enumerate(given.items()))
    rivals = Rivals(frozenset({"t"}), tuple(found), asked)
    questions = offer(rivals, found[0].repairs[0], Patch(), lambda patch, path: b"").questions
    assert [question.text() for question in questions] == [
        "f(2) → 1: -3 (now -4)",
        "f(3) → 1: -2 (now -3)",
        "f(200) → 1: -3 (now -4)",
    ]


def test_alternatives_are_distinguished_by_the_most_readable_call() -> None:
    behaviour: Behaviour = {-1: ("a",), 0: ("b",), 1: ("c",), 2: ("d",)}
    found = made(behaviour, "F", repair(-4.0, "2"), repair(-5.0, "3"), repair(-6.0, "4"))
    asked = (
        Asked(0, "f(<Odd>)", "f", {0: "1", 1: "2", 2: "3", 3: "4"}),
        Asked(1, "f(2)", "f", {0: "1", 1: "2", 2: "3", 3: "4"}),
        Asked(2, "f(1)", "f", {0: "1", 1: "2", 2: "2", 3: "4"}),
    )
    rivals = Rivals(frozenset({"t"}), tuple(found), asked)
    made_offer = offer(rivals, found[0].repairs[0], Patch(), lambda _patch, _path: SOURCE)
    assert [question.text() for question in made_offer.questions] == [
        "f(2) → 1: 2 | 2: 3 | 3: 4 (now 1)",
        "f(1) → 1, 2: 2 | 3: 4 (now 1)",
    ]
    assert made_offer.modules == ("f",)
    assert made_offer.before == {"f.py": SOURCE}
    assert made_offer.ways == 3
    assert made_offer.alternatives[0].patch.files["f.py"] == SOURCE.replace(b"1", b"2")


@pytest.mark.parametrize(
    ("others", "wanted"),
    [
        ((Asked(1, "f(2)", "f", {0: "1", 1: "2", 2: "3"}),), ["f(2) → 1: 2 | 2: 3 (now 1)"]),
        ((), ["f(1) → 1: 2 | 2: (not known) (now 1)"]),
    ],
    ids=["others are known", "nothing else is known"],
)
def test_no_blank_answer_distinguishes_alternatives(others: tuple[Asked, ...], wanted: list[str]) -> None:
    """A reader of 28 offers took blanks for failures: they were answers that no time was left to ask for."""
    found = made({-1: ("a",), 0: ("b",), 1: ("c",)}, "F", repair(-4.0, "2"), repair(-5.0, "3"))
    rivals = Rivals(frozenset({"t"}), tuple(found), (Asked(0, "f(1)", "f", {0: "1", 1: "2", 2: ""}), *others))
    made_offer = offer(rivals, found[0].repairs[0], Patch(), lambda _patch, _path: SOURCE)
    assert [question.text() for question in made_offer.questions] == wanted


def test_repairs_refused_by_a_cold_run_are_not_offered() -> None:
    behaviour: Behaviour = {-1: ("a",), 0: ("b",), 1: ("c",)}
    found = made(behaviour, "F", repair(-4.0, "2"), repair(-5.0, "3"))
    rivals = Rivals(frozenset({"t"}), tuple(found))
    later = offer(rivals, found[1].repairs[0], Patch(), lambda _patch, _path: SOURCE)
    assert [one.patch.files["f.py"] for one in later.alternatives] == [SOURCE.replace(b"1", b"3")]


def test_the_rival_of_a_sure_repair_that_a_cold_run_refused_is_judged_by_its_own_evidence() -> None:
    found = made({-1: ("a",), 0: ("b",), 1: ("c",)}, "F", repair(-4.0, "2"), repair(-5.0, "3"))
    first, second = (replace(group, features=SURE) for group in found)
    second = replace(second, features=replace(SURE, ways=12, share=0.1))
    rivals = Rivals(frozenset({"t"}), (first, second))
    assert rivals.doubt == rivals.doubt_of(first.repairs[0]) == ""
    assert "behave in 12 ways" in rivals.doubt_of(second.repairs[0])
    later = offer(rivals, second.repairs[0], Patch(), lambda _patch, _path: SOURCE)
    assert later.why == rivals.doubt_of(second.repairs[0])
