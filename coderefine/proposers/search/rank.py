"""How promising an edit is: suspicion of the place, how usual the operator is, how natural the text becomes."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from coderefine.proposers.search.emit import apply
from coderefine.proposers.search.naturalness import Trigrams, common_ends, tokens
from coderefine.proposers.search.operators import TABLE, Operator
from coderefine.proposers.search.site import Site
from coderefine.proposers.search.syntax import Edit, Module

SUSPICION = 3.0
"""Exponent of suspicion (the study of research/repair.md used the same)."""
NATURAL = 0.25
"""Weight of the change in log probability of the tokens."""
CALM = 0.6
"""Log probabilities of n tokens are summed and divided by n ** CALM, so that long insertions stand a chance."""
SHORTCUT = 0.7
"""Taken off edits that remove behaviour: they make tests pass too easily."""
CEILING = 3.0
"""What naturalness may add at most."""
FIRST_GUESS = -0.5
"""How far the best edit of an operator is expected below its base, before any was seen."""
SLACK = 0.5
"""How much better than the best one seen the next place may be."""

DEAR = 2.0
"""Taken off edits of code that runs at import: judging one costs ten times as much as others do."""
UNUSED = 1.5
"""Added to edits that read a name which nothing reads so far."""
ECHO = 1.5
"""Taken off edits that repeat a line of the function."""
RUNNING = 1.0
"""Added to edits within the expression that raised."""
WORD = re.compile(r"[A-Za-z_]\w*")

_TOTAL = sum(operator.prior for operator in TABLE)


@dataclass(frozen=True, slots=True)
class Scored:
    """An edit with its score; higher is better."""

    score: float
    edit: Edit
    operator: Operator
    site: Site


def base(site: Site, operator: Operator) -> float:
    """The score of an operator at a place before its single edits are looked at."""
    return (
        SUSPICION * math.log(max(site.suspicion, 1e-6))
        + math.log(operator.prior / _TOTAL)
        - SHORTCUT * operator.shortcut
        + site.hints.odds.get(operator.name, 0.0)
        - (DEAR if site.at_import else 0.0)
    )


def scored(site: Site, operator: Operator, edits: Sequence[Edit]) -> list[Scored]:
    """Edits of one operator at one place, best first; they share the operator's prior by their weights."""
    total = sum(edit.weight for edit in edits)
    if total <= 0:
        return []
    start, model = base(site, operator), site.world.trigrams
    found = [
        Scored(
            start
            + edit.boost
            + math.log(edit.weight / total)
            + min(CEILING, NATURAL * model.trust * gain(model, site.module, edit))
            + _use(site, edit)
            + _echo(site, edit)
            + _running(site, edit),
            edit,
            operator,
            site,
        )
        for edit in edits
        if edit.weight > 0
    ]
    return sorted(found, key=lambda item: -item.score)


def _use(site: Site, edit: Edit) -> float:
    """Reward for a repair that makes use of a name that is bound here and read nowhere."""
    unused = site.local.unused
    return UNUSED if unused and any(name in unused for part in edit.parts for name in WORD.findall(part.text)) else 0.0


def _running(site: Site, edit: Edit) -> float:
    first, last = min(part.start for part in edit.parts), max(part.end for part in edit.parts)
    return RUNNING if any(start <= first and last <= end for start, end in site.running) else 0.0


def _echo(site: Site, edit: Edit) -> float:
    """Charge for a line made equal to another line of the function: two branches that do the same."""
    if len(edit.parts) != 1 or "\n" in (part := edit.parts[0]).text:
        return 0.0
    text = site.module.text
    start, end = text.rfind("\n", 0, part.start) + 1, text.find("\n", part.end)
    line = text[start : part.start] + part.text + text[part.end : end if end >= 0 else len(text)]
    return -ECHO if line.strip() in site.local.lines else 0.0


def gain(model: Trigrams, module: Module, edit: Edit) -> float:
    """How much more natural the touched lines become; the change in calmed log probability."""
    first, last = min(part.start for part in edit.parts), max(part.end for part in edit.parts)
    start = module.text.rfind("\n", 0, first) + 1
    end = module.text.find("\n", last)
    end = len(module.text) if end < 0 else end
    moved = Edit(tuple(type(part)(part.start - start, part.end - start, part.text) for part in edit.parts))
    old = module.text[start:end]
    if first == last == start and edit.parts[0].text.endswith("\n"):  # whole lines put in: only they count
        return _calm(model, (), tokens(edit.parts[0].text))
    return _calm(model, tokens(old), tokens(apply(old, moved)))


def _calm(model: Trigrams, old: Sequence[str], new: Sequence[str]) -> float:
    head, tail = common_ends(old, new)
    return _side(model, new, head, tail) - _side(model, old, head, tail)


def _side(model: Trigrams, words: Sequence[str], head: int, tail: int) -> float:
    """Calmed log probability of the part that differs and the two tokens after it."""
    until = min(len(words) - tail + 2, len(words) + 1)
    chain = ("", "", *words, "\n")
    total = sum(model.logp(*chain[at : at + 3]) for at in range(head, until))
    count = max(until - head, 1)
    return float(total / count**CALM)
