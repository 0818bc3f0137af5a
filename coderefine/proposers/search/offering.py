"""Build an offer of plausible repairs: one of each behaviour, and the inputs on which they differ."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from coderefine.core import Alternative, Offer, Patch, Question
from coderefine.project.place import module_name
from coderefine.proposers.search.confidence import Group, Rivals
from coderefine.proposers.search.enumeration import Proposed
from coderefine.proposers.search.validate import Repair
from coderefine.runner.candidates import Asked

MOST, MOST_QUESTIONS = 6, 3
"""Maximum number of alternatives, and of inputs shown on which they differ."""
LONGEST = 70
"""Maximum number of characters of a readable call or result."""
UNKNOWN = "(not known)"
"""What is shown for a result that was not observed, because the time for calls was over."""
NO_VALUE = ("raises ", "does not ", "afterwards ")
"""Prefixes of results other than values (runner/agent/call_probe.py)."""
Read = Callable[[Patch, str], "bytes | None"]


def offer(rivals: Rivals, first: Repair, base: Patch, read: Read, roots: Sequence[str] = ("src", ".")) -> Offer:
    """Build an offer with one repair of each behaviour, or of each changed statement, see `_apart`.

    The first alternative behaves like `first`; likelier behaviours are left out, because a cold run has refused their
    repairs. `base`: the patch to which the repairs are added. `read`: returns the content of a file.
    `roots`: the folders from which the project's modules are imported.
    """
    at = rivals.place(first)
    groups = [part for group in rivals.groups[at : at + MOST] for part in _apart(group)][:MOST]
    patches = [Patch(dict(group.repairs[0].files), "search", summary(group.repairs[0])) for group in groups]
    paths = sorted({path for patch in patches for path in patch.files})
    questions = tuple(_questions(groups, rivals.asked))
    modules = dict.fromkeys((*(one.module for one in questions), *(module_name(path, roots) for path in paths)))
    return Offer(
        tuple(
            Alternative(patch, group.changed, group.features.alike)
            for patch, group in zip(patches, groups, strict=True)
        ),
        rivals.fixed,
        rivals.doubt_of(first),
        rivals.groups[0].features.ways,
        questions,
        tuple(modules),
        {path: read(base, path) for path in paths},
    )


def _apart(group: Group) -> list[Group]:
    """Divide a group by the statements that its repairs change, if it is not settled that these behave alike."""
    if group.features.settled == 1:
        return [group]
    parts: dict[ast.stmt, list[tuple[Repair, int]]] = {}
    for repair, place in zip(group.repairs, group.places, strict=True):
        parts.setdefault(repair.proposed.scored.site.stmt, []).append((repair, place))
    return [
        replace(
            group,
            repairs=tuple(repair for repair, _ in part),
            places=tuple(place for _, place in part),
            features=replace(group.features, alike=len(part)),
        )
        for part in parts.values()
    ]


@dataclass(frozen=True, slots=True)
class _Row:
    """A call and its result with each of the alternatives."""

    asked: Asked
    answers: tuple[str, ...]

    @property
    def now(self) -> str:
        """Return the result of the unchanged program."""
        return self.asked.answers.get(0, "")

    @property
    def readable(self) -> tuple[bool, bool, int]:
        """Return a sort key; the most readable row has the lowest key.

        Its parts: whether a text is too long or no Python expression; whether a call returns no value, for example
        because it raises an exception; the total length of the texts.
        """
        texts = (self.asked.call, *self.answers)
        odd = any("<" in text or "…" in text or len(text) > LONGEST for text in texts)
        return odd, any(text.startswith(NO_VALUE) for text in self.answers), sum(map(len, texts))


def _questions(groups: Sequence[Group], asked: Sequence[Asked]) -> Iterator[Question]:
    """Yield calls on which the alternatives differ; for a single alternative, calls whose result it changes.

    The first call divides the alternatives into groups with equal results that are as even as possible; each further
    call divides the groups that remain. Then come more calls, because the first ones may not show that an alternative
    is wrong. At most MOST_QUESTIONS calls are yielded.
    """
    rows = _rows(groups, asked)
    together, shown = [tuple(range(len(groups)))], list[_Row]()
    while rows and len(shown) < MOST_QUESTIONS:
        best = min(rows, key=lambda row: _unevenness(row, together))
        if _unevenness(best, together) >= _sum_of_squares(together):
            break
        shown.append(best)
        together = [part for members in together for part in _split(best, members)]
    for row in _with_others(shown, rows)[:MOST_QUESTIONS]:
        yield Question(row.asked.call, row.asked.module, row.answers, row.now)


def _rows(groups: Sequence[Group], asked: Sequence[Asked]) -> list[_Row]:
    """Return the calls on which the groups differ, most readable first.

    Calls with an unknown result are left out, unless there are no others.
    """
    by_call = {one.call: row for one in asked if (row := _row(one, groups)) is not None}
    known = [row for row in by_call.values() if UNKNOWN not in row.answers]
    return sorted(known or by_call.values(), key=lambda row: row.readable)


def _with_others(shown: list[_Row], rows: Sequence[_Row]) -> list[_Row]:
    """Return `shown`, then the other readable rows of `rows`; of these first the rows whose results no earlier row has.

    If `shown` is empty and no row is readable, also return the rows that are not readable.
    """
    readable = [row for row in rows if not row.readable[0]]
    left = readable or ([] if shown else rows)
    first_with = {(*row.answers, row.now): row for row in reversed([*shown, *left])}
    firsts = list(first_with.values())
    return [*shown, *sorted((row for row in left if row not in shown), key=lambda row: row not in firsts)]


def _row(one: Asked, groups: Sequence[Group]) -> _Row | None:
    """Return the results of the call `one` with each of the groups.

    Return None if the results are equal; for a single group, if its result equals that of the unchanged program.
    """
    numbers = [group.places[0] + 1 for group in groups]
    answers = tuple(one.answers.get(number, "") or UNKNOWN for number in numbers)
    row = _Row(one, answers)
    return row if len({*answers, *((row.now,) if len(groups) == 1 else ())}) > 1 else None


def _split(row: _Row, members: Sequence[int]) -> list[tuple[int, ...]]:
    """Divide `members` (indices of alternatives) into groups that have the same result in `row`."""
    answers = dict.fromkeys(row.answers[member] for member in members)
    return [tuple(member for member in members if row.answers[member] == answer) for answer in answers]


def _unevenness(row: _Row, together: Sequence[Sequence[int]]) -> int:
    """Divide the groups `together` by their members' results in `row`; return the `_sum_of_squares` of the parts."""
    return _sum_of_squares([part for members in together for part in _split(row, members)])


def _sum_of_squares(together: Sequence[Sequence[int]]) -> int:
    """Return the sum of the squared numbers of members: the lower it is, the more evenly the members are divided."""
    return sum(len(members) ** 2 for members in together)


def summary(repair: Repair) -> str:
    """Summarise a repair as `src/cart.py:41 `>` → `>=``; long texts are cut, and exchanged texts are joined by `↔`.

    If the repair restores an earlier state of its lines, a note on this follows.
    """
    both = filter(None, (repair.proposed, repair.second))
    return "; ".join(map(_edit, both)) + (f" ({repair.former})" if repair.former else "")


def _edit(proposed: Proposed) -> str:
    scored = proposed.scored
    module, parts = scored.site.module, scored.edit.parts
    pairs = [(_short(module.text[part.start : part.end]), _short(part.text)) for part in parts]
    if len(pairs) == 2 and pairs[0] == pairs[1][::-1]:
        one, other = pairs[0]
        return f"{scored.place} " + (f"`{one}` ↔ `{other}`" if one and other else f"`{one or other}` moved")
    return f"{scored.place} {', '.join(_replacement(old, new) for old, new in pairs)}"


def _replacement(old: str, new: str) -> str:
    if not old or not new:
        return f"+ `{new}`" if new else f"− `{old}`"
    return f"`{old}` → `{new}`"


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 60 else flat[:57] + "..."
