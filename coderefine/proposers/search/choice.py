"""Rank plausible repairs: add the scores of repairs that behave alike, and penalise repairs with which calls crash."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from types import MappingProxyType
from typing import TYPE_CHECKING

from coderefine.proposers.search.emit import apply
from coderefine.proposers.search.enumeration import DEAR
from coderefine.proposers.search.missing_names import Replaced, evades
from coderefine.proposers.search.naturalness import TOKEN
from coderefine.proposers.search.spectrum import ACCIDENTS
from coderefine.proposers.search.syntax import Replacement
from coderefine.proposers.search.validate import Repair
from coderefine.runner.candidates import ENDLESS, RAISED, Codes, has_value
from coderefine.source import syntax

if TYPE_CHECKING:
    from coderefine.proposers.search.confidence import Rivals

SHORTCUT = 2.0
"""Additional penalty of a repair that removes behaviour."""
TEMPER = 1.25
"""Scores of equivalent repairs are added as exp(score / TEMPER): the higher TEMPER, the more their number counts."""
SLIP, CRASH = 1.5, 6.0
"""Penalty of repairs with which calls crash that did not crash before: SLIP plus CRASH times the share of such
calls."""
FIT = 2.5
"""Penalty of a repair of a single test if a factor or a text in the repair was derived from the failure of this
test."""
LITERAL = re.compile(r""" (?:\*|//?) \d+\)?$|["'][^"']*[^\W_][^"']*["']""")
"""Pattern of a factor, or of a text with letters or digits, in an edit of the operator "difference"; see `fitted`."""
EMPTY, NEAR = 1.0, 5.0
"""EMPTY: penalty of a group of repairs that behave alike if one of them only removes behaviour: among many tried edits,
some removals pass the tests by chance. NEAR: there is no penalty if the score of this repair is NEAR or more below the
best score of its group."""
OPERATOR, NAME, CONSTANT = range(3)
"""Kinds of tokens."""
WORDS = frozenset(("and", "or", "not", "in", "is"))
"""Operators that are keywords."""
UNINTENDED = {ENDLESS, *(f"{RAISED}{name}" for name in ACCIDENTS)}
"""Result codes that are not intended, without the codes of arguments: exceptions due to programming errors, and
timeouts."""
NEGATED = re.compile(r"\bis\s+not\b|\bnot\s+in\b")
"""The operators that contain `not`."""
EQUAL = ("==", "!=")
Behaviour = Mapping[int, Codes]
"""Result codes by index in the list of repairs; -1 is the unchanged program."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The repairs found, best first. `doubtful`: there is evidence against the first repair.

    `sets`: the repairs whose behaviour was compared, one Rivals for each set of repaired tests.
    """

    repairs: list[Repair]
    doubtful: bool = False
    sets: tuple[Rivals, ...] = ()

    @property
    def hasty(self) -> bool:
        """Return whether a repair would be applied although few tests reach it."""
        return any(rivals.few and not rivals.doubt for rivals in self.sets)

    def changed(self, repair: Repair) -> tuple[int, int] | None:
        """Return (number of compared calls whose result `repair` changes, number of compared calls).

        Return None if the repair was not compared.
        """
        groups = (group for rivals in self.sets for group in rivals.groups if repair in group.repairs)
        return next((group.changed for group in groups), None)

    def mapped(self, others: Mapping[int, Repair]) -> Chosen:
        """Return a copy with each repair replaced by `others[id(repair)]`; repairs not in `others` are left out."""
        left = self.without([repair for repair in self.repairs if id(repair) not in others])
        sets = tuple(rivals.mapped(others) for rivals in left.sets)
        return replace(left, repairs=[others[id(repair)] for repair in left.repairs], sets=sets)

    def without(self, wrong: Sequence[Repair]) -> Chosen:
        """Return a copy without the repairs `wrong`."""
        sets = tuple(left for rivals in self.sets if (left := rivals.without(wrong)).groups)
        return replace(self, repairs=[repair for repair in self.repairs if repair not in wrong], sets=sets)


def choose(
    repairs: Sequence[Repair], behaviour: Behaviour, bonus: Mapping[int, float] = MappingProxyType({})
) -> Chosen:
    """Order the repairs: first the repairs of all failing tests, then partial repairs by their number of tests.

    Repairs of equally many tests are ordered by the scores of their groups (see `clusters`, `shared`, `doubt`), the
    repairs of a group by `plainness`. `bonus`: amounts to add to the scores, by index of the repair.
    """
    groups = clusters(repairs, behaviour)
    doubts = {place: doubt(group, behaviour, repairs) for group in groups for place in group}
    worths = {place: shared(group, repairs) for group in groups for place in group}
    places = sorted(doubts, key=lambda at: (doubts[at] - worths[at] - bonus.get(at, 0.0), *plainness(repairs[at])))
    places.sort(key=lambda place: (not repairs[place].whole, -len(repairs[place].fixed)))
    doubtful = bool(places) and doubts[places[0]] > 0
    return Chosen([repairs[place] for place in places], doubtful)


def shared(group: Sequence[int], repairs: Sequence[Repair]) -> float:
    """Return the common score of a group of repairs that behave alike: their scores, added as described at TEMPER.

    `group`: indices in `repairs`. Repairs that remove behaviour are not added; if all repairs of the group remove
    behaviour, return the best score.
    """
    best = max(worth(repairs[place]) for place in group)
    scores = [worth(repairs[place]) for place in group if not _emptying(repairs[place])] or [best]
    return best + TEMPER * math.log(sum(math.exp((score - best) / TEMPER) for score in scores))


def _emptying(repair: Repair) -> bool:
    return repair.ignores or bool(repair.proposed.scored.operator.shortcut)


def plainness(repair: Repair) -> tuple[bool, int, bool, bool, int, float]:
    """Return a sort key for repairs that behave alike; the simplest repair has the lowest key.

    The parts of the key:

    1. whether the repair removes behaviour;
    2. the number of changed tokens other than parentheses, at least 1: an indentation is no smaller change;
    3. False if the repair only moves a limit by one, which changes the fewest cases, or only removes a `not`; a number
       that is compared by `==` is no limit;
    4. whether a constant changes: operators and names come first;
    5. by how many tokens the result is longer: `a != b` is better than `not a == b`;
    6. the negative score.

    Two expressions that change places count as one changed operator.
    """
    parts = repair.proposed.scored.edit.parts
    text = repair.proposed.scored.site.module.text
    if _exchange(parts, text):
        return _emptying(repair), 1, False, False, 0, -worth(repair)
    steps = list(_changes(repair))
    changed = sum(max(len(old), len(new)) for old, new in steps)
    longer = sum(len(new) - len(old) for old, new in steps)
    constant = any(_kind(token) == CONSTANT for old, new in steps for token in (*old, *new))
    removed = steps == [(["not"], [])] and not NEGATED.search(text[parts[0].start : parts[0].end])
    wide = not removed and (len(steps) != 1 or not _moves_limit(*steps[0]) or _is_equated(parts[0], text))
    return _emptying(repair), max(1, changed), wide, constant, longer, -worth(repair)


def _moves_limit(old: Sequence[str], new: Sequence[str]) -> bool:
    """Return whether the change moves a limit by one, as from `>` to `>=` or from `3` to `2`."""
    if len(old) != 1 or len(new) != 1:
        return False
    one, two = sorted((old[0], new[0]))
    if one in ("<", ">"):
        return two == f"{one}="
    whole = one.lstrip("-").isdecimal() and two.lstrip("-").isdecimal()
    return whole and abs(int(one) - int(two)) == 1


def _is_equated(part: Replacement, text: str) -> bool:
    """Return whether the replaced text is compared by `==` or `!=`: then it is no limit, but the only value."""
    return text[: part.start].rstrip(" ").endswith(EQUAL) or text[part.end :].lstrip(" ").startswith(EQUAL)


def _exchange(parts: Sequence[Replacement], text: str) -> bool:
    """Return whether `parts` exchange two expressions of one line each."""
    pairs = [(text[part.start : part.end], part.text) for part in parts]
    return len(pairs) == 2 and pairs[0] == pairs[1][::-1] and "\n" not in "".join(pairs[0])


def _tokens(text: str) -> list[str]:
    """Return the tokens other than parentheses; a number with its sign is one token."""
    found: list[str] = []
    for token in TOKEN.findall(text):
        if token[0].isdigit() and found[-1:] == ["-"] and (len(found) == 1 or _kind(found[-2]) == OPERATOR):
            found[-1] += token
        elif token not in "()":
            found.append(token)
    return found


def _kind(token: str) -> int:
    if token.lstrip("-")[:1].isdigit() or token[-1] in "'\"":
        return CONSTANT
    return NAME if token.isidentifier() and token not in WORDS else OPERATOR


def doubt(group: Sequence[int], behaviour: Behaviour, repairs: Sequence[Repair]) -> float:
    """Return the penalty of a group of repairs that behave alike, in units of the score; 0 for no penalty.

    `group`: indices in `repairs`.
    """
    slips = crash_share(group[0], behaviour)
    lucky = FIT if all(len(repairs[place].fixed) == 1 and fitted(repairs[place]) for place in group) else 0.0
    return (SLIP + CRASH * slips if slips else 0.0) + EMPTY * (removing(group, repairs) > 0) + lucky


def removing(group: Sequence[int], repairs: Sequence[Repair]) -> float:
    """Return how close the best repair that only removes behaviour comes to the best repair of the group, 0..1.

    Return 1 for equal scores, and 0 for a distance of NEAR or more. Also return 0 if no repair of the group only
    removes behaviour, or if the group has only one repair.
    """
    best = max(worth(repairs[place]) for place in group)
    scores = [worth(repairs[place]) for place in group if _emptying(repairs[place])]
    return max(0.0, 1.0 - (best - max(scores)) / NEAR) if scores and len(group) > 1 else 0.0


def abandons(repair: Repair) -> bool:
    """Return whether the repair evades a name that the failing tests did not find, see `missing_names.evades`."""
    site = repair.proposed.scored.site
    if not (site.hints.absent or site.hints.undefined):
        return False
    changes = list(_changes(repair))
    added = {word for _, new in changes for word in new}
    lost = {word for old, _ in changes for word in old} - added
    return evades(site, Replaced(lost, added), syntax(apply(site.module.text, repair.proposed.scored.edit)))


def fitted(repair: Repair) -> bool:
    """Return whether the repair contains a factor, or a text with letters or digits, that follows from the failure."""
    scored = repair.proposed.scored
    text = scored.site.module.text
    if scored.operator.name == "member":
        return any("'" in part.text for part in scored.edit.parts)
    return scored.operator.name == "difference" and any(
        found.rstrip(")") not in text[part.start : part.end]
        for part in scored.edit.parts
        for found in LITERAL.findall(part.text)
    )


def clusters(repairs: Sequence[Repair], behaviour: Behaviour) -> list[list[int]]:
    """Return groups of indices of repairs that fix the same tests and behave alike.

    Repairs behave alike if their result codes are equal, or if they have the same `meaning`. A repair without codes
    and without `meaning` is alone in its group.
    """
    found: dict[Hashable, list[int]] = defaultdict(list)
    for place, repair in enumerate(repairs):
        codes = behaviour.get(place)
        found[(repair.fixed, codes) if codes else place].append(place)
    merged: list[list[int]] = []
    known: dict[Hashable, list[int]] = {}
    for group in found.values():
        meanings = {(repairs[place].fixed, repairs[place].meaning) for place in group if repairs[place].meaning}
        home = next((known[one] for one in meanings if one in known), None)
        if home is None:
            home = []
            merged.append(home)
        home += group
        known.update(dict.fromkeys(meanings, home))
    return [sorted(group) for group in merged]


def crash_share(place: int, behaviour: Behaviour) -> float:
    """Return the share of the compared calls that returned a value before, but crash or hang with a repair.

    `place`: the index of the repair. UNINTENDED lists the results that count. Return 0 if no calls were compared.
    """
    before, after = behaviour.get(-1, ()), behaviour.get(place, ())
    pairs = list(zip(before, after, strict=False))
    slips = sum(new.partition(" ")[0] in UNINTENDED and has_value(old) for old, new in pairs)
    return slips / len(pairs) if pairs else 0.0


def worth(repair: Repair) -> float:
    """Return the score of the repair's edit, reduced if the edit removes behaviour, and by the size of the edit."""
    scored = repair.proposed.scored
    cost = DEAR if scored.site.at_import else 0.0  # undo this penalty: the cost of judging is no evidence
    characters = sum(len("".join((*old, *new))) for old, new in _changes(repair))  # whole tokens, without parentheses
    return scored.score + cost - SHORTCUT * scored.operator.shortcut - 0.02 * characters


def _changes(repair: Repair) -> Iterator[tuple[list[str], list[str]]]:
    """Yield, for each change, the tokens that are replaced and the tokens that replace them; either may be []."""
    text = repair.proposed.scored.site.module.text
    for part in repair.proposed.scored.edit.parts:
        one, two = _tokens(text[part.start : part.end]), _tokens(part.text)
        for step, first, end, start, stop in SequenceMatcher(None, one, two, autojunk=False).get_opcodes():
            if step != "equal":
                yield one[first:end], two[start:stop]
