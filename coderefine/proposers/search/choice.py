"""Chooses among plausible repairs: those that behave alike vote together, those that crash near the tests lose."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coderefine.proposers.search.enumeration import DEAR
from coderefine.proposers.search.naturalness import TOKEN, common_ends
from coderefine.proposers.search.validate import Repair
from coderefine.runner.candidates import Codes

if TYPE_CHECKING:
    from coderefine.proposers.search.confidence import Rivals

SHORTCUT = 2.0
"""Taken off the score of a repair that removes behaviour, on top of what ranking took off."""
TEMPER = 2.5
"""Scores of equal repairs are added as exp(score / TEMPER): the higher, the more the number of voices counts."""
SLIP, CRASH = 1.5, 6.0
"""Taken off for a call that crashes now and did not before, and times the share of such calls."""
EMPTY = 1.0
"""Taken off repairs that behave like one which only removes behaviour."""
OPERATOR, NAME, CONSTANT = range(3)
"""Kinds of tokens, the plainest to change first."""
WORDS = frozenset(("and", "or", "not", "in", "is"))
"""Operators that are words."""
ACCIDENTS = frozenset(
    "!" + name
    for name in (
        "AttributeError",
        "IndexError",
        "KeyError",
        "NameError",
        "RecursionError",
        "TypeError",
        "UnboundLocalError",
        "ZeroDivisionError",
    )
) | {"~"}
"""Answers that nobody writes on purpose: exceptions of slips, and no end."""
Behaviour = Mapping[int, Codes]
"""By place in the list of repairs; -1 is the unchanged program."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Repairs, best first. `doubtful`: something speaks against the first. `compared` whole ones behave in `ways`.

    `sets`: those that were compared, by the tests that they repair.
    """

    repairs: list[Repair]
    doubtful: bool = False
    ways: int = 0
    compared: int = 0
    sets: tuple[Rivals, ...] = ()

    def changed(self, repair: Repair) -> tuple[int, int] | None:
        """Nearby answers that `repair` changes, and all that were compared; None where none were."""
        groups = (group for rivals in self.sets for group in rivals.groups if repair in group.repairs)
        return next((group.changed for group in groups), None)


def choose(repairs: Sequence[Repair], behaviour: Behaviour, bonus: Callable[[Repair], float] = lambda _: 0.0) -> Chosen:
    """Whole repairs first, best first; partial ones by the number of tests they pass.

    `bonus`: what speaks for a repair beside its worth, in units of the score.
    """
    groups = clusters(repairs, behaviour)
    doubts = {place: doubt(group, behaviour, repairs) for group in groups for place in group}
    worths = {place: shared(group, repairs) for group in groups for place in group}
    more = {place: bonus(repair) for place, repair in enumerate(repairs)}
    places = sorted(doubts, key=lambda at: (doubts[at] - worths[at] - more[at], *plainness(repairs[at])))
    places.sort(key=lambda place: (not repairs[place].whole, -len(repairs[place].fixed)))
    whole = [group for group in groups if repairs[group[0]].whole]
    doubtful = bool(places) and doubts[places[0]] > 0
    return Chosen([repairs[place] for place in places], doubtful, len(whole), sum(map(len, whole)))


def shared(group: Sequence[int], repairs: Sequence[Repair]) -> float:
    """What repairs of one behaviour are worth together; those that remove behaviour have no voice beside others."""
    best = max(worth(repairs[place]) for place in group)
    voices = [worth(repairs[place]) for place in group if not _emptying(repairs[place])] or [best]
    return best + TEMPER * math.log(sum(math.exp((voice - best) / TEMPER) for voice in voices))


def _emptying(repair: Repair) -> bool:
    return bool(repair.proposed.scored.operator.shortcut)


def plainness(repair: Repair) -> tuple[bool, int, int, float]:
    """How repairs that behave alike are ordered: the plainest has the least.

    One that removes behaviour comes last; then the number of tokens that change; operators before names before
    numbers and texts; then what it is worth.
    """
    parts = repair.proposed.scored.edit.parts
    text = repair.proposed.scored.site.module.text
    changed, kind = 0, OPERATOR
    for part in parts:
        old, new = TOKEN.findall(text[part.start : part.end]), TOKEN.findall(part.text)
        head, tail = common_ends(old, new)
        rest = (*old[head : len(old) - tail], *new[head : len(new) - tail])
        changed += max(len(old), len(new)) - head - tail
        kind = max([kind, *map(_kind, rest)])
    return _emptying(repair), changed, kind, -worth(repair)


def _kind(token: str) -> int:
    if token[0].isdigit() or token[-1] in "'\"":
        return CONSTANT
    return NAME if token.isidentifier() and token not in WORDS else OPERATOR


def doubt(group: Sequence[int], behaviour: Behaviour, repairs: Sequence[Repair]) -> float:
    """What speaks against repairs of one behaviour, in units of the score; 0 for nothing."""
    slips = crashes(group[0], behaviour)
    empty = len(group) > 1 and any(_emptying(repairs[place]) for place in group)
    return (SLIP + CRASH * slips if slips else 0.0) + EMPTY * empty


def clusters(repairs: Sequence[Repair], behaviour: Behaviour) -> list[list[int]]:
    """Places of repairs that fix the same tests and answer all calls alike; unknown behaviour is like no other."""
    found: dict[Hashable, list[int]] = defaultdict(list)
    for place, repair in enumerate(repairs):
        codes = behaviour.get(place)
        found[(repair.whole, repair.fixed, codes) if codes else place].append(place)
    return list(found.values())


def crashes(place: int, behaviour: Behaviour) -> float:
    """Share of the calls that the unchanged program answers with a value and this repair with an accident."""
    before, after = behaviour.get(-1, ()), behaviour.get(place, ())
    pairs = list(zip(before, after, strict=False))
    slips = sum(new in ACCIDENTS and old[:1] not in ("!", "~") for old, new in pairs)
    return slips / len(pairs) if pairs else 0.0


def worth(repair: Repair) -> float:
    scored = repair.proposed.scored
    cost = DEAR if scored.site.at_import else 0.0  # what judging it cost says nothing against it
    return scored.score + cost - SHORTCUT * scored.operator.shortcut - 0.02 * _size(repair)


def _size(repair: Repair) -> int:
    return sum(abs(len(part.text)) + part.end - part.start for part in repair.proposed.scored.edit.parts)
