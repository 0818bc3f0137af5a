"""Estimate how likely a plausible repair is right: from rivals, side effects, and the mutants that tests kill."""

from __future__ import annotations

import ast
import math
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from types import MappingProxyType

from coderefine.core import Listen, Patch
from coderefine.core.plurals import counted
from coderefine.judge import mutants
from coderefine.proposers.search.choice import (
    TEMPER,
    Behaviour,
    abandons,
    clusters,
    crash_share,
    doubt,
    fitted,
    plainness,
    removing,
    shared,
    worth,
)
from coderefine.proposers.search.emit import apply
from coderefine.proposers.search.enumeration import changed_lines, shifted, twin
from coderefine.proposers.search.failures import MOST_FIRST
from coderefine.proposers.search.site import Site
from coderefine.proposers.search.spectrum import Spectrum
from coderefine.proposers.search.syntax import Function
from coderefine.proposers.search.validate import Repair
from coderefine.proposers.search.value_kinds import names_of
from coderefine.runner.candidates import Asked, Candidate, Comparison, Plan, counted_mutants
from coderefine.runner.cold_pool import AnyPool
from coderefine.runner.pool import Pool
from coderefine.source import all_arguments

RANGE = r"\b(?!\s*([.,:;)]|$)|\s+(is|are|was|does|doesn|has|have|can|will|for|in|and|to|which|if|with|but)\b)"
"""Pattern for the text after `above` and similar words: it matches if they mean a range (`above 5`), but not if they
mean a place (`the regex above does`)."""
UPPER = re.compile(
    r"\bat least\b|\bor (more|above|later|older|higher|greater|longer)\b|\bfrom \S+( \S+)? on\b|"
    rf"\bminimum\b|\b(below|under){RANGE}|"
    r"\b(less|fewer|smaller|shorter|younger|lower) than\b|\bstarting (at|from|with)\b",
    re.IGNORECASE,
)
"""Phrases that put the limit itself into the upper range (`at least 5`), as `>=` and `<` do."""
LOWER = re.compile(
    r"\bat most\b|\bor (less|fewer|below|earlier|younger|lower|smaller|shorter)\b|"
    rf"\b(up to|maximum|exceeds?)\b|\b(above|over|beyond){RANGE}|"
    r"\b(more|greater|larger|longer|older|higher) than\b",
    re.IGNORECASE,
)
"""Phrases that put the limit itself into the lower range (`at most 5`), as `<=` and `>` do."""
NEGATED = re.compile(r"\bnot? (less|fewer|more|greater) than\b", re.IGNORECASE)
SIDES: dict[type[ast.cmpop], int] = {ast.GtE: 1, ast.Lt: 1, ast.Gt: -1, ast.LtE: -1}
"""The range into which a comparison puts the limit itself: 1 for the upper range, -1 for the lower range."""


def intent(repair: Repair) -> int:
    """Return 1 if the comparison that `repair` changes agrees with its function's texts, -1 if it contradicts them.

    The texts are the messages in the branch that the comparison leads to; if these say nothing, the docstring and the
    comments. Return 0 if the texts have no phrase of UPPER or LOWER, or phrases of both. Also return 0 if the repair
    does not move the limit from one range to the other.
    """
    side = _side(repair)
    return side * (_side_in(_messages(repair)) or _side_in(_documentation(repair))) if side else 0


def _messages(repair: Repair) -> str:
    """Return the strings in the body of a changed `if` (`raise ValueError("at least 3")`), or in an `assert` message.

    Return "" if another statement is changed.
    """
    match repair.proposed.scored.site.stmt:
        case ast.If(body=body):
            parts: Sequence[ast.AST] = body
        case ast.Assert(msg=ast.expr() as message):
            parts = [message]
        case _:
            return ""
    constants = (node for part in parts for node in ast.walk(part) if isinstance(node, ast.Constant))
    return "\n".join(node.value for node in constants if isinstance(node.value, str))


def _documentation(repair: Repair) -> str:
    """Return the docstring and the comments of the function that is changed."""
    site = repair.proposed.scored.site
    function = site.local.function
    if function is None:
        return ""
    lines = site.module.text.splitlines()[function.lineno - 1 : function.end_lineno]
    comments = [line.partition("#")[2] for line in lines if "#" in line]
    return " ".join([ast.get_docstring(function) or "", *comments])


def _side_in(text: str) -> int:
    """Return 1 if `text` has a phrase of UPPER, -1 for LOWER, 0 for none or both."""
    plain = NEGATED.sub(" ", text)
    upper = bool(UPPER.search(plain)) or "less than" in " ".join(_negations(text))
    lower = bool(LOWER.search(plain)) or "more than" in " ".join(_negations(text))
    return upper - lower


def _negations(text: str) -> list[str]:
    """Return the comparisons that `text` negates: "less than" for `no fewer than`, "more than" for `not greater than`.

    `no less than` counts as a phrase of UPPER, `no more than` as a phrase of LOWER.
    """
    words = {"less": "less than", "fewer": "less than", "more": "more than", "greater": "more than"}
    return [words[found.group(1).lower()] for found in NEGATED.finditer(text)]


def _side(repair: Repair) -> int:
    """Return the value in SIDES of the comparison operator that the repair introduces.

    Only a change to the opposite value counts: `>` to `>=`, but not `==` to `>`. Return 0 if there is no such change,
    or if there are several with different values.
    """
    scored = repair.proposed.scored
    module, stmt = scored.site.module, scored.site.stmt
    first, end = module.start(stmt), module.end(stmt)
    parts = scored.edit.parts
    if any(part.start < first or part.end > end for part in parts):
        return 0
    text = module.text[first:end]
    before, after = _sides(text), _sides(apply(text, shifted(parts, first)))
    pairs = zip(before, after, strict=True) if len(before) == len(after) else ()
    sides = {new for old, new in pairs if old * new < 0}
    return sides.pop() if len(sides) == 1 else 0


def _sides(text: str) -> list[int]:
    """Return the value in SIDES of each comparison operator in the header of a statement (0 for `==` and others)."""
    head = text.split("\n", 1)[0].rstrip()
    for tried in (head, f"{head} pass", f"if 1: pass\n{head} pass"):
        try:
            tree = ast.parse(tried)
        except SyntaxError:
            continue
        return [SIDES.get(type(op), 0) for node in ast.walk(tree) if isinstance(node, ast.Compare) for op in node.ops]
    return []


LEAST_VARIANTS = 4
"""Minimum number of different values that variants of failing tests' calls have to return, see `answers`."""
MANY_CHANGED = 10
"""Minimum number of changed results that show that repairs of different statements behave alike."""
MOST_COMPARED, LEAST_COMPARED, MOST_OF_ALL = 16, 4, 48
"""Maximum number of compared repairs for each set of repaired tests: MOST_COMPARED, or fewer (but at least
LEAST_COMPARED) so that there are about MOST_OF_ALL in all sets together."""
BAR = 0.7
"""Minimum confidence of a repair that is applied.

With a lower value, more right repairs are applied, and more wrong ones (the option --curve of learn.py in
tests/bench/confidence prints both numbers). BAR was measured on 123 plausible first repairs: three quarters in
hand-written programs with few tests, one quarter of mistakes inserted into projects with their own test suites. 98 of
the 123 are right. 79 have at least this confidence, and 75 of these are right: all 27 repairs of inserted mistakes, and
48 of the 52 other repairs.
"""
WEIGHTS: Mapping[str, float] = {
    "always": 0.3,
    "tests": 0.95,
    "margin": 0.4,
    "named": 3.0,
    "intent": 2.5,
    "ordinary": 2.5,
    "examples": 3.0,
    "former": 2.7,
    "twin": 2.0,
    "disturbs": -0.3,
    "disturbs-more": -3.0,
    "crashes": -3.0,
    "removes": -4.0,
    "removed": -2.6,
    "unexplained": -2.7,
    "weak": -1.3,
    "rivalled": -2.0,
    "tokens": -0.1,
    "far": -0.8,
    "fitted": -1.5,
    "anew": -3.5,
    "abandons": -6.0,
}
"""Log odds of the features if the repair is the only plausible one.

They were learnt by learn.py of tests/bench/confidence on 60 trials, eight of them with mistakes inserted into real
projects; rounded by hand, because there are so few trials. "rivalled" was added later, and set so that the 13 wrong
repairs with this feature are only offered. "ordinary" was added later, too, with the weight of "intent", "twin" with a
little less than the data say (see `enumeration.TWIN`), and "anew" and "abandons" by hand. The reason for "anew": for
nine first repairs of real faults between two releases, the tests were newer than the code. Four of these repairs were
right, but none of the five that would have been applied without this feature.
"""
OFTEN = 10.0
"""If at least the share 1/OFTEN of the compared calls fail only with a repair, the feature "crashes" has its maximum
value."""
NAMING = "misspelt"
"""The operator that replaces a name which was not found."""
INTENT = 3.0
"""Bonus of repairs whose comparison agrees with its function's texts (see `intent`), and penalty of repairs that
contradict these texts."""
ORDINARY = 3.0
"""Bonus of repairs after which fewer places of the function are odd, and penalty of repairs after which more are; see
`Repair.ordinary`."""
HIDING = 3.0
"""Penalty of repairs that move a statement into a block which no test executes."""
ABANDONING = 6.0
"""Penalty of repairs that evade a missing name, see `choice.abandons`."""
EXAMPLES = 6.0
"""Bonus of repairs that agree with the documentation (see `documented`), and penalty of repairs that contradict it."""
FORMER = 4.0
"""Bonus of repairs that restore code which an earlier commit replaced: most likely, this commit introduced the
fault."""
FEW = 4
"""If fewer tests than this reach a repair, their number is given as evidence against it, and the search takes
longer."""
DECISIVE, LEAD = 3, 5.0
"""A repair has the feature "rivalled" if plausible patches behave differently, fewer than DECISIVE tests reach it, and
its score is less than LEAD above the lowest score of a tried candidate. How likely the rivals are does not matter. Of
25 such repairs 12 were right, of 98 others 86.
"""
MOST_WRONG, NOTICING = 8, 0.7
"""Maximum number of mutants of a repair that are judged, and seconds for this; see `with_strength`."""
FAR = -7.0
"""Score below which a repair is one of thousands of tried edits; the lower its score, the likelier it passes by
chance."""
LEAST_WRONG, LEAST_NOTICED = 3, 0.5
"""Minimum number of judged mutants for a conclusion, and minimum share of them that the tests have to kill."""


STRAY = 20
"""Number of repaired tests for one that stays failing from which on the latter is no evidence against the repair: in
many environments some test fails anyway, because a dependency or the platform is another one."""


@dataclass(frozen=True, slots=True)
class Features:
    """Features of a group of repairs that behave alike. "First" means the first repair of the group.

    Rivals:

    - `share`: the group's share of the weight of all plausible repairs.
    - `ways`: number of groups that do not contradict the documentation (see `documented`); if all contradict it, number
      of groups.
    - `alike`: number of repairs in this group. `settled`: see `_settled`.

    Changed results:

    - `seen`: whether the behaviour of the first repair could be observed.
    - `passing`: share of the calls of passing tests, and of variants of these calls, whose result the first repair
      changes.
    - `least`: the smallest `passing` of the other groups with `seen`; if there are none, the own `passing`.
    - `crashes`: share of calls that crash or hang only with the first repair. If there are other groups with `seen`,
      the smallest such share of all groups is subtracted: every repair seems to need that many crashes.

    The edit:

    - `removes`: whether the first repair removes behaviour, or moves a statement into a block that no test executes.
    - `removed`: see `choice.removing`.
    - `renames`: whether the first repair replaces a parameter in the header of a function.
    - `tokens`: number of changed tokens, at least 1.
    - `fitted`, `abandons`: see these functions in choice.py.
    - `worth`: the best score of the group. `margin`: `worth` minus the lowest score of a tried candidate.

    Evidence:

    - `named`: whether a repair replaces a missing name by a similar one (see `_is_named`).
    - `intent`, `examples`: see the functions `intent` and `documented`. `ordinary`: see `Repair.ordinary`.
    - `former`: whether a repair restores lines of an earlier commit.
    - `twin`: see `enumeration.twin`.

    Tests:

    - `tests`: number of tests that the first repair makes pass.
    - `reached`: number of traced passing tests that execute the patched statement.
    - `unexplained`: whether a failing test that no repair makes pass runs the same code as a repaired test.
    - `stuck`: whether failing tests that no repair makes pass may fail because of the patched statement, see
      `Spectrum.blaming`. If the first repair makes STRAY times as many tests pass, these are taken for tests that
      fail for a second reason.
    - `wrong`: number of mutants of the repair that were judged. `noticed`: number of these that the tests kill.
    - `idle`: whether the tests pass with a mutant in which the changed condition is always true, or always false.
    - `unmeasured`: whether too few mutants could be judged.
    - `anew`: whether the repaired tests are much newer than the changed function, see `past.SETTLED`.
    """

    share: float = 1.0
    ways: int = 1
    alike: int = 1
    settled: float = 1.0
    passing: float = 0.0
    least: float = 0.0
    crashes: float = 0.0
    removes: bool = False
    removed: float = 0.0
    unexplained: bool = False
    stuck: bool = False
    renames: bool = False
    tokens: int = 1
    seen: bool = False
    worth: float = 0.0
    margin: float = 0.0
    tests: int = 1
    reached: int = 0
    named: bool = False
    intent: int = 0
    ordinary: int = 0
    examples: int = 0
    former: bool = False
    twin: int = 0
    fitted: bool = False
    noticed: int = 0
    wrong: int = 0
    idle: bool = False
    unmeasured: bool = False
    anew: bool = False
    abandons: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """Repairs that behave alike, best first. `places`: their indices in the list of all compared repairs.

    `changed`: (number of compared calls whose result the repairs change, number of compared calls), without the calls
    of failing tests.
    """

    repairs: tuple[Repair, ...]
    places: tuple[int, ...]
    features: Features = Features()
    changed: tuple[int, int] | None = None

    def without(self, wrong: Sequence[Repair]) -> Group:
        """Return the group without the repairs `wrong`."""
        kept = [at for at, repair in enumerate(self.repairs) if repair not in wrong]
        repairs, places = tuple(self.repairs[at] for at in kept), tuple(self.places[at] for at in kept)
        return replace(self, repairs=repairs, places=places)


@dataclass(frozen=True, slots=True)
class Rivals:
    """All compared repairs of one set of failing tests, grouped by behaviour, the most likely group first.

    `asked`: calls on which the repairs differ; result 0 is that of the unchanged program, result n that of repair n-1.
    """

    fixed: frozenset[str]
    groups: tuple[Group, ...]
    asked: tuple[Asked, ...] = ()

    @property
    def doubt(self) -> str:
        """Return why the confidence in the first group is too low for applying its repair; "" if it is high enough."""
        return self.doubt_of(self.groups[0].repairs[0])

    def doubt_of(self, repair: Repair) -> str:
        """Return why the confidence in the group of `repair` is too low for applying it; "" if it is high enough.

        A group with the feature `stuck` or `renames` gets a reason whatever the confidence is; so does a group with the
        feature `idle` that a single test reaches: it does not show whether the condition is needed at all.
        """
        group = self.groups[self.place(repair)]
        known = group.features
        needless = known.idle and _reaching(known) <= 1
        return doubts(group) if known.stuck or known.renames or needless or confidence(known) < BAR else ""

    def place(self, repair: Repair) -> int:
        """Return the index of the group of `repair`; 0 if it was not compared."""
        return next((at for at, group in enumerate(self.groups) if repair in group.repairs), 0)

    def without(self, wrong: Sequence[Repair]) -> Rivals:
        """Return a copy without the repairs `wrong`, with new values of the features `share` and `ways`."""
        left = [group for one in self.groups if (group := one.without(wrong)).repairs]
        total, gone = sum(group.features.share for group in left) or 1.0, len(self.groups) - len(left)

        def again(known: Features) -> Features:
            return replace(known, share=known.share / total, ways=max(1, known.ways - gone))

        return replace(self, groups=tuple(replace(one, features=again(one.features)) for one in left))

    def mapped(self, others: Mapping[int, Repair]) -> Rivals:
        """Return a copy with each repair replaced by `others[id(repair)]`."""
        groups = (replace(one, repairs=tuple(others[id(repair)] for repair in one.repairs)) for one in self.groups)
        return replace(self, groups=tuple(groups))

    @property
    def is_measured(self) -> bool:
        """Return whether judging mutants of the first repair was tried; False if it has no mutants."""
        known = self.groups[0].features
        return known.unmeasured or known.wrong > 0

    @property
    def few(self) -> bool:
        """Return whether fewer than FEW tests reach the first repair."""
        return _reaching(self.groups[0].features) < FEW


def vector(known: Features) -> dict[str, float]:
    """Return the value of each feature in WEIGHTS.

    Tests count as weak if their strength could not be measured.
    """
    weak = known.unmeasured or (known.wrong >= LEAST_WRONG and known.noticed < LEAST_NOTICED * known.wrong)
    return {
        "always": 1.0,
        "tests": min(math.log2(max(1, _reaching(known))), 4.0),
        "margin": max(-1.0, min(known.margin, 4.0)),
        "named": float(known.named),
        "intent": float(known.intent),
        "ordinary": float(known.ordinary),
        "examples": float(known.examples),
        "former": float(known.former),
        "twin": float(known.twin),
        "disturbs": known.passing,
        "disturbs-more": max(0.0, known.passing - known.least),
        "crashes": min(1.0, OFTEN * known.crashes),
        "removes": float(known.removes),
        "removed": known.removed,
        "unexplained": float(known.unexplained),
        "weak": float(weak),
        "rivalled": float(known.ways > 1 and _reaching(known) < DECISIVE and known.margin < LEAD),
        "tokens": min(float(known.tokens), 8.0),
        "far": max(0.0, FAR - known.worth),
        "fitted": float(known.fitted and known.tests == 1),
        "anew": float(known.anew),
        "abandons": float(known.abandons),
    }


def _reaching(known: Features) -> int:
    return known.tests + known.reached


def confidence(known: Features) -> float:
    """Return the estimated probability that a repair with these features is correct.

    It is the probability that any of the plausible repairs is correct, multiplied by `share`, because even many tests
    do not distinguish between repairs that all pass them, and by `settled`.
    """
    total = sum(WEIGHTS[name] * value for name, value in vector(known).items())
    return known.share * known.settled / (1 + math.exp(-total))


def doubts(group: Group) -> str:
    """Describe the evidence against the group for the user: reasons, separated by commas."""
    known = group.features
    it = "the first" if known.ways > 1 else "it"
    ways = f"behave in {known.ways} ways" if known.seen else "could not be compared"
    reasons = (
        (known.ways > 1, f"the plausible patches {ways}"),
        (known.settled < 1, "patches of other lines pass, too, and only few calls show that they behave alike"),
        (_reaching(known) < FEW, f"{it} is reached by only {counted(_reaching(known), 'test')}"),
        (known.removes, "it removes behaviour"),
        (known.removed and not known.removes, "a patch that only removes behaviour passes the same tests"),
        (known.idle, "the tests pass, too, if its condition always has the same value"),
        (known.unexplained or known.stuck, "another failing test runs the same code and stays failing"),
        (known.renames, "it renames parameters, which may be passed by name"),
        (known.crashes > 0, "it fails on calls that gave an answer before"),
        (
            known.noticed < known.wrong,
            f"the tests notice {known.noticed} of {known.wrong} small wrong versions of it",
        ),
        (known.worth < FAR, "it was found late, among thousands of other edits"),
        (known.fitted, "a number or text in it follows from the failing test itself"),
        (known.unmeasured, "there was no time to see whether the tests notice small wrong versions of it"),
        (known.abandons, "it gives up a missing name, or leaves it missing"),
        (known.anew, "the failing test is newer than the changed code and may ask for something new"),
        (known.twin < 0, "the line that it changes occurs elsewhere in the project, unchanged"),
        (known.examples < 0, "it contradicts an example in a docstring, or a return annotation"),
        (known.ordinary < 0, "it contradicts a check for None, or is written unlike similar code"),
        (known.intent < 0, "its comparison contradicts a message, a comment or the docstring"),
        (
            group.changed is not None and group.changed[0] > 0,
            "it changes {} of {} nearby answers".format(*(group.changed or (0, 0))),
        ),
    )
    return ", ".join(text for holds, text in reasons if holds) or "there is little evidence for it"


def compared(repairs: Sequence[Repair]) -> list[Repair]:
    """Select the repairs whose behaviour is compared: for each set of repaired tests, the most likely single edits."""
    single = [repair for repair in repairs if repair.second is None]
    sets = sorted({repair.fixed for repair in single}, key=lambda fixed: -len(fixed))
    most = min(MOST_COMPARED, max(LEAST_COMPARED, MOST_OF_ALL // max(1, len(sets))))
    by_set = (
        sorted(
            (one for one in single if one.fixed == fixed), key=lambda one: (bool(one.former), worth(one)), reverse=True
        )
        for fixed in sets
    )
    return [repair for members in by_set for repair in members[:most]]


def answers(comparison: Comparison) -> Behaviour:
    """Return the codes of the results, by index of the repair; index -1 is the unchanged program.

    Repairs with equal codes count as alike. Therefore repairs whose codes show too little are left out:

    - repairs that change no result;
    - repairs that change only results of the failing tests' own calls: all repairs pass these tests, and so may agree
      there by necessity. These repairs are kept if variants of the calls return at least LEAST_VARIANTS different
      values: then equal results of the variants do show that repairs behave alike (`n >= 10` and `n > 9`).
    """

    def known(number: int) -> bool:
        if number == 0 or comparison.changed(number)[0]:
            return True
        return bool(comparison.changed(number, "f")[0]) and len(comparison.variants(number)) >= LEAST_VARIANTS

    return {number - 1: codes for number, codes in comparison.codes.items() if known(number)}


def rival_sets(
    repairs: Sequence[Repair],
    comparison: Comparison,
    frontier: float,
    spectrum: Spectrum,
    *,
    together: Collection[frozenset[str]] = (),
    aside: Callable[[Site], frozenset[str]] = lambda _: frozenset(),
    every: Sequence[Repair] = (),
    passing: Mapping[int, frozenset[str]] = MappingProxyType({}),
) -> tuple[Rivals, ...]:
    """Group `repairs` by the tests that they repair, then by their behaviour.

    `frontier`, `spectrum`: see `groups`. `together`: sets of failing tests; the tests of a set run the same statement,
    which few passing tests run. `aside`: returns the failing tests that run the code of a site, but are not in
    `spectrum`. `every`: all repairs that were found, also repairs that are not compared. `passing`: by `id()` of a
    repair, the failing tests not in `spectrum` that pass with the repair.
    """
    found: dict[frozenset[str], list[list[int]]] = {}
    for cluster in clusters(repairs, answers(comparison)):
        found.setdefault(repairs[cluster[0]].fixed, []).append(cluster)
    made = []
    for fixed, members in found.items():
        own = [repairs[place] for places in members for place in places]
        both = frozenset.intersection(*(passing.get(id(repair), frozenset()) for repair in own))
        explained = fixed | both | _fixed_elsewhere(own, every)
        near = () if all(_is_undefined_in(repair, spectrum) for repair in own) else together
        related = (*near, *_of_functions(repairs, members, spectrum, fixed, aside))
        unexplained = any(tests & fixed and tests - explained for tests in related)
        sets = groups(repairs, members, comparison, frontier, spectrum, explained=explained, unexplained=unexplained)
        made.append(Rivals(fixed, tuple(sets), comparison.asked))
    return tuple(made)


def _is_undefined_in(repair: Repair, spectrum: Spectrum) -> bool:
    """Return whether all repaired tests raised in the changed statement, which uses a variable without a value.

    In this case, the fault is in this statement: a failing test that does not run it fails for another reason.
    """
    site = repair.proposed.scored.site
    raised = all(spectrum.raised.get(test) is site.stmt for test in repair.fixed)
    return raised and not set(site.hints.undefined).isdisjoint(names_of(site.stmt))


def _fixed_elsewhere(given: Iterable[Repair], every: Iterable[Repair]) -> frozenset[str]:
    """Return the tests that a repair in `every` makes pass by changing a statement that no repair in `given` changes.

    Other repairs of the same statement do not count: if two such repairs make different tests pass, most likely both
    are wrong.
    """
    own = {repair.proposed.scored.site.stmt for repair in given}
    others = (repair for repair in every if repair.proposed.scored.site.stmt not in own)
    return frozenset[str]().union(*(repair.fixed for repair in others))


def _of_functions(
    repairs: Sequence[Repair],
    found: Iterable[Iterable[int]],
    spectrum: Spectrum,
    fixed: frozenset[str],
    aside: Callable[[Site], frozenset[str]],
) -> Iterator[frozenset[str]]:
    """Yield sets of failing tests that may fail for the same reason as the tests that the repairs fix.

    For each statement in the functions that the repairs change, this is the set of failing tests that execute it; for
    each repair, it is `fixed` together with `aside(site)`. `found`: groups of indices of `repairs`.
    """
    sites = [repairs[place].proposed.scored.site for places in found for place in places]
    for top in {site.local.function or site.stmt for site in sites}:
        for stmt in ast.walk(top):
            if isinstance(stmt, ast.stmt) and stmt in spectrum.failing:
                yield spectrum.failing[stmt]
    for site in sites:
        yield fixed | aside(site)


def with_strength(
    known: Features,
    pool: AnyPool,
    repair: Repair,
    seconds: float,
    listen: Listen = lambda _: None,
    *,
    failing: frozenset[str] = frozenset(),
) -> Features:
    """Return `known` with the fields `noticed`, `wrong`, `idle` and `unmeasured`, after judging mutants of `repair`.

    Mutants are judged for NOTICING seconds. The first LEAST_WRONG mutants may take up to `seconds` if that is longer,
    because the machine may be busy. A ColdPool judges no mutants. `failing`: the tests that fail without the repair;
    those that it does not repair fail with each mutant, which says nothing.
    """
    module = repair.proposed.scored.site.module
    originals = {module.path: module.source.encode(module.text)}
    wrong = list(islice(mutants(Patch(dict(repair.files)), originals, repairing=True), MOST_WRONG))
    if not isinstance(pool, Pool):
        return replace(known, unmeasured=bool(wrong))
    began = time.monotonic()
    plan = Plan(first=tuple(sorted(repair.fixed))[:MOST_FIRST], known=pool.unfit | (failing - repair.fixed), retry=0.0)
    candidates = (
        Candidate(number, one.files, rough=True)
        for number, one in enumerate(wrong)
        if time.monotonic() - began < (max(NOTICING, seconds) if number < LEAST_WRONG else NOTICING)
    )
    judged = counted_mutants(pool.judge(candidates, plan), len(wrong), listen)
    killed = sum(not one.plausible for one in judged)
    idle = any(one.plausible and wrong[one.candidate.number].constant for one in judged)
    few = len(judged) < min(LEAST_WRONG, len(wrong))
    return replace(known, noticed=killed, wrong=len(judged), idle=idle, unmeasured=few)


def groups(
    repairs: Sequence[Repair],
    found: Sequence[Sequence[int]],
    comparison: Comparison,
    frontier: float,
    spectrum: Spectrum,
    *,
    explained: frozenset[str] = frozenset(),
    unexplained: bool = False,
) -> list[Group]:
    """Return a Group for each of `found`: lists of indices of repairs that fix the same tests and behave alike.

    `frontier`: the lowest score of a tried candidate. `spectrum`: which tests execute which statements.
    `explained`: the tests that at least one repair makes pass. `unexplained`: see `Features`.
    """
    behaviour, agreeing = answers(comparison), documented(repairs, comparison)
    agreed = [max(agreeing[place] for place in one) for one in found]
    values = [
        shared(one, repairs) - doubt(one, behaviour, repairs) + _bonus(one, repairs, spectrum) + EXAMPLES * agrees
        for one, agrees in zip(found, agreed, strict=True)
    ]
    made = []
    for places, share in zip(found, _shares(values), strict=True):
        order = sorted(places, key=lambda at: _order(repairs[at], spectrum))
        features = _features(order, repairs, comparison, spectrum, explained)
        features = replace(
            features,
            examples=agreeing[order[0]],
            share=share,
            settled=_settled(order, repairs, comparison),
            margin=features.worth - frontier,
            ways=len(agreed) - agreed.count(-1) or len(found),
            alike=len(places),
            unexplained=unexplained,
        )
        changed = comparison.changed(order[0] + 1, "pPF")
        shown = changed if changed[1] else None
        made.append(Group(tuple(repairs[place] for place in order), tuple(order), features, shown))
    made.sort(key=lambda group: -group.features.share)
    return [_beside(group, made) for group in made]


def _settled(order: Sequence[int], repairs: Sequence[Repair], comparison: Comparison) -> float:
    """Return the share of the first repair's statement in the weight of a group of repairs that behave alike.

    Return 1 if the repairs change the results of at least MANY_CHANGED calls: then equal results show that they behave
    alike. Repairs of different statements that change fewer results may be alike only in these.
    """
    if comparison.changed(order[0] + 1, "fpPFd")[0] >= MANY_CHANGED:
        return 1.0
    first = repairs[order[0]].proposed.scored.site.stmt
    shares = _shares([worth(repairs[place]) for place in order])
    others = (repairs[place].proposed.scored.site.stmt is not first for place in order)
    return 1.0 - sum(share for share, is_other in zip(shares, others, strict=True) if is_other)


def _bonus(places: Sequence[int], repairs: Sequence[Repair], spectrum: Spectrum) -> float:
    """Return the evidence of texts, history and surrounding code for a group of repairs.

    Evidence against the group is negative.
    """
    ordinary = max(repairs[place].ordinary for place in places)
    hidden = all(_hides(repairs[place], spectrum) for place in places)
    known = INTENT * _intent(places, repairs) + ORDINARY * ordinary + FORMER * _restores(places, repairs)
    given_up = all(abandons(repairs[place]) for place in places)
    return known - HIDING * hidden - ABANDONING * given_up


def _order(repair: Repair, spectrum: Spectrum) -> tuple[object, ...]:
    """Return a sort key for repairs that behave alike; the best repair has the lowest key."""
    return (
        not repair.former,
        not _is_named(repair),
        _hides(repair, spectrum),
        -intent(repair),
        -repair.ordinary,
        *plainness(repair),
    )


def _is_named(repair: Repair) -> bool:
    """Return whether the operator NAMING made the repair.

    This operator replaces a missing name by a similar name that exists; it also swaps the arguments of `isinstance` and
    `issubclass`.
    """
    return repair.proposed.scored.operator.name == NAMING


def _shares(values: Sequence[float]) -> list[float]:
    """Return for each value its share: exp(value / TEMPER), divided by the sum of this over all values."""
    weights = [math.exp((value - max(values)) / TEMPER) for value in values]
    return [weight / sum(weights) for weight in weights]


def bonuses(repairs: Sequence[Repair], comparison: Comparison, spectrum: Spectrum) -> dict[int, float]:
    """Return the bonus of each repair by index, in units of score: see `_bonus`, and `documented`."""
    agreeing = documented(repairs, comparison)
    places = range(len(repairs))
    return {place: _bonus((place,), repairs, spectrum) + EXAMPLES * agreeing[place] for place in places}


def documented(repairs: Sequence[Repair], comparison: Comparison) -> list[int]:
    """Return for each repair 1 if it agrees with the documentation, -1 if it contradicts it, and 0 in other cases.

    1: some examples in docstrings hold only with the repair, and the conditions for -1 do not apply. -1: an example
    fails only with the repair, or another repair of the same tests is better: more examples hold with it, or fewer
    results contradict a return annotation.
    """
    counts = [(*comparison.examples(place), comparison.contradictions(place)) for place in range(1, len(repairs) + 1)]
    most: dict[frozenset[str], int] = {}
    least: dict[frozenset[str], int] = {}
    for repair, (mended, broken, wrong) in zip(repairs, counts, strict=True):
        most[repair.fixed] = max(0 if broken else mended, most.get(repair.fixed, 0))
        least[repair.fixed] = min(wrong, least.get(repair.fixed, wrong))
    return [
        -1 if broken or mended < most[repair.fixed] or wrong > least[repair.fixed] else int(mended > 0)
        for repair, (mended, broken, wrong) in zip(repairs, counts, strict=True)
    ]


def _intent(places: Sequence[int], repairs: Sequence[Repair]) -> int:
    return max((intent(repairs[place]) for place in places), key=abs)


def _restores(places: Sequence[int], repairs: Sequence[Repair]) -> bool:
    return any(repairs[place].former for place in places)


def _features(
    order: Sequence[int],
    repairs: Sequence[Repair],
    comparison: Comparison,
    spectrum: Spectrum,
    explained: frozenset[str],
) -> Features:
    first, behaviour = repairs[order[0]], answers(comparison)
    site = first.proposed.scored.site
    stmts = [repairs[place].proposed.scored.site.stmt for place in order]
    changed, total = comparison.changed(order[0] + 1, "pP")
    removes, tokens = plainness(first)[:2]
    removes = removes or _hides(first, spectrum)
    return Features(
        passing=changed / total if total else 0.0,
        crashes=crash_share(order[0], behaviour),
        removes=removes,
        removed=removing(order, repairs),
        tokens=tokens,
        seen=order[0] in behaviour,
        worth=max(worth(repairs[place]) for place in order),
        tests=len(first.fixed),
        named=any(_is_named(repairs[place]) for place in order),
        intent=_intent(order, repairs),
        ordinary=first.ordinary,
        former=_restores(order, repairs),
        twin=twin(site.world, changed_lines(site.module, first.proposed.scored.edit), site.in_other_branches),
        fitted=fitted(first),
        abandons=abandons(first),
        stuck=any(STRAY * len(spectrum.blaming(stmt) - explained) > len(first.fixed) for stmt in stmts),
        renames=_renames(first),
        reached=min(spectrum.passing.get(stmt, 0) for stmt in stmts),
    )


def _hides(repair: Repair, spectrum: Spectrum) -> bool:
    """Return whether the repair moves a statement into a block that no test executes."""
    scored = repair.proposed.scored
    if scored.operator.name != "indent":
        return False
    new = next(part for part in scored.edit.parts if part.text)
    line = scored.site.module.text.count("\n", 0, new.start) + 1
    depth = len(new.text) - len(new.text.lstrip())
    block = [stmt for stmt in scored.site.module.statements if stmt.col_offset == depth and stmt.lineno <= line]
    beside = max(block, key=lambda stmt: stmt.lineno, default=None)
    return beside is not None and beside not in spectrum.failing and not spectrum.passing.get(beside, 0)


def _renames(repair: Repair) -> bool:
    """Return whether the repair replaces a parameter in the header of a function."""
    scored = repair.proposed.scored
    stmt, module = scored.site.stmt, scored.site.module
    if not isinstance(stmt, Function):
        return False
    spans = {(module.start(argument), module.end(argument)) for argument in all_arguments(stmt.args)}
    return any((part.start, part.end) in spans for part in scored.edit.parts)


def _beside(group: Group, every: Sequence[Group]) -> Group:
    """Return `group` with the features `least` and `crashes`, which depend on the other groups in `every`."""
    known = group.features
    rivals = [one.features for one in every if one is not group and one.features.seen]
    least = min((one.passing for one in rivals), default=known.passing)
    crashes = known.crashes - min(one.crashes for one in (known, *rivals)) if rivals else known.crashes
    return replace(group, features=replace(known, least=least, crashes=crashes))
