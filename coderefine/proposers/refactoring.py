"""Propose changes that must keep behaviour: they are applied if that is proved, and only offered if it is uncertain.

Proposers of this kind differ only in their source of changes (`Find`); proposers/rewritings is an example. A *unit* is
an outermost function or method, or a module's own code (see runner/equivalence.py).
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import chain, takewhile
from typing import TYPE_CHECKING, TypeVar

from coderefine.core import (
    Alternative,
    Cost,
    Event,
    Finding,
    Listen,
    Offer,
    Patch,
    Proposals,
    Searcher,
    Situation,
    View,
    Views,
)
from coderefine.core.plurals import counted
from coderefine.errors import CoderefineError
from coderefine.judge.admit import admit
from coderefine.lint import TextEdit, apply, take
from coderefine.runner.equivalence import Compared, Equivalence
from coderefine.runner.file_edits import FileEdit, decoded, docstring_lines, hunks
from coderefine.source import decode

if TYPE_CHECKING:
    from coderefine.core import Attempt

ROUNDS = 9
"""Maximum number of comparisons of halves, if several changes of one unit were not proved together."""
FEWEST_BLAMED, MOST_BLAMING = 4, 24
"""Minimum number of refused changes for a search for the changes that break tests; maximum number of groups that this
search tries."""
DRAFTING = 0.5
"""Share of the remaining time that is used to find changes; the rest is for comparing and proving them."""
EQUAL, DIFFERENT, UNKNOWN = "equal", "different", "unknown"
HEADER = re.compile(r"\s*(async\s+def|def|class)\b")
Key = tuple[str, str, tuple[str, ...]]
Made = TypeVar("Made")


class Guard:
    """Makes drafts. A bug in coderefine that raises an exception loses only the draft that was being made."""

    def __init__(self, listen: Listen) -> None:
        self._listen = listen
        self._reported: set[str] = set()

    def made(self, what: str, make: Callable[[], Made]) -> Made | None:
        """Return the result of `make`; if it raises an exception, return None, and report the exception in a note.

        Equal notes are reported once. A CoderefineError is no bug, and is raised again. `what`: describes the draft in
        the note.
        """
        try:
            return make()
        except CoderefineError:
            raise
        except Exception as error:  # the other drafts may still be right
            note = f"{what}: left out because of an error in coderefine ({type(error).__name__}: {error})"
            if note not in self._reported:
                self._reported.add(note)
                self._listen(Event("note", note))
            return None


@dataclass(frozen=True, slots=True)
class CodeChange:
    """A change of one file that should keep behaviour.

    `rule`: the rule that the old code violates; `line`: 1-based; `what`: a description in a few words.

    `doubt`: why the change is only offered even if it keeps behaviour; "" if there is no reason.

    `edits` apply to the file's text as `decode` returns it. Changes that are made together may share an
    insertion, such as a new import; their other edits do not overlap.
    """

    path: str
    rule: str
    line: int
    what: str
    edits: tuple[TextEdit, ...]
    doubt: str = ""

    @classmethod
    def between(
        cls, path: str, rule: str, line: int, what: str, texts: tuple[str, str], *, doubt: str = ""
    ) -> CodeChange:
        """Return the change of a file between two `texts`: (before, after)."""
        before, after = texts
        old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
        edits = (
            TextEdit((start + 1, 1), (end + 1, 1), "".join(new[begin:stop]))
            for start, end, begin, stop in hunks(old, new)
        )
        return cls(path, rule, line, what, tuple(edits), doubt)

    @property
    def summary(self) -> str:
        return f"{self.path}:{self.line} {self.rule} {self.what}"


Find = Callable[[View, Situation], Iterable[CodeChange]]
"""Returns the changes that can be made in the tree of a view; the search for them ends at `Situation.ends`."""


class Refactoring(Searcher):
    """Proposes the changes that `find` returns for the tree of the best attempt, and again after an accepted patch.

    Changes that are proved to keep behaviour are proposed together; if the patch is refused, in parts. Changes that
    cannot be compared, or are doubtful, are proposed last, to be offered (see loop/offered.py). Changes that alter
    behaviour are left out.
    """

    def __init__(self, name: str, find: Find, equivalence: Equivalence, listen: Listen = lambda _: None) -> None:
        self.name = name
        self._find = find
        self._listen = listen
        self._equivalence = equivalence
        self._guard = Guard(listen)
        self._known: dict[Key, tuple[str, str]] = {}
        """The verdict of the comparison on each change, and its reason."""
        self._refused: set[Key] = set()
        self._cut_off = False
        """Whether the last search for changes ended because its time was over."""

    @property
    def spent(self) -> Cost:
        return Cost()

    def propose(self, situation: Situation, views: Views) -> Proposals:
        """Yield patches of the changes that are proved to keep behaviour; then patches that are only to be offered.

        The latter consist of the changes that cannot be compared, or are doubtful.
        """
        seen: set[Key] = set()
        while True:
            tree, best = self._tree(situation, views), situation.best
            new = tree.changes.keys() - seen
            # First compare the compiled code, which runs nothing: to compare behaviour may take all the remaining time.
            # In later trees, few changes are equal as compiled code, and a run of all tests for these few is too much.
            self._compare_codes(situation, views, tree)
            if not seen:
                situation = yield from self._in_parts(situation, views, tree, self._equal(tree))
            if situation.best.patch.files == best.patch.files:
                self._compare(situation, views, tree)
                situation = yield from self._in_parts(situation, views, tree, self._equal(tree))
            seen |= new
            again = self._cut_off and new and self._equivalence.affords(situation.seconds_left)
            if situation.best.patch.files == best.patch.files and not again:
                break
        tree = self._tree(situation, views)
        yield from self._in_parts(situation, views, tree, self._offered(tree), offered=True)

    def _equal(self, tree: _Tree) -> list[CodeChange]:
        """Return the changes that are known to keep behaviour, are not doubtful, and were not refused."""
        return [one for one in tree.those(EQUAL) if not one.doubt and tree.key(one) not in self._refused]

    def _offered(self, tree: _Tree) -> list[CodeChange]:
        """Return the changes that cannot be compared; then the doubtful ones that keep behaviour."""
        doubtful = [one for one in tree.those(EQUAL) if one.doubt and tree.key(one) not in self._refused]
        return [*tree.those(UNKNOWN), *doubtful]

    def _tree(self, situation: Situation, views: Views) -> _Tree:
        """Return the tree of the best attempt, with the changes to try in it.

        These are drafts that were made in time, do not overlap an earlier draft, and were not refused.
        """
        self._listen(Event("stage", f"{self.name}: drafting"))
        with views.open(situation.best.patch) as view:
            found = list(self._drafts(view, situation))
            read = [(path, view.read(path)) for path in dict.fromkeys(change.path for change in found)]
        texts = {path: data for path, data in read if data and decode(data)}
        keyed = ((_key(change, texts[change.path]), change) for change in found if change.path in texts)
        tree = _Tree(situation.best, texts, _compatible(keyed, self._refused), self._known, self.name)
        self._guard.made(f"{self.name}: drafts of one file together", tree.note_units)
        tree.keep(lambda change: self._guard.made(change.summary, partial(tree.units, change)) is not None)
        self._refused.update(tree.leave_out_refused(situation.findings))
        return tree

    def _drafts(self, view: View, situation: Situation) -> Iterator[CodeChange]:
        """Yield the changes that are found in the share DRAFTING of the remaining time."""
        if (left := situation.seconds_left) is not None:
            situation = replace(situation, ends=time.monotonic() + DRAFTING * left)
        source = iter(self._find(view, situation))
        found = iter(lambda: self._guard.made(f"{self.name}: further drafts", partial(next, source, None)), None)
        yield from (change for change in takewhile(lambda _: not situation.late, found) if change and change.edits)
        self._cut_off = situation.late

    def _compare_codes(self, situation: Situation, views: Views, tree: _Tree) -> None:
        """Classify as equal the changes whose units still compile to the same code.

        All unclassified changes are applied together, so that this also holds for their combination.
        """
        waiting = [change for key, change in tree.changes.items() if key not in self._known]
        if waiting:
            equal = self._equivalence.equal_codes(views, situation.best.patch, tree.patch(waiting), tree.texts)
            alike = [change for change in waiting if tree.units(change) <= equal]
            self._known.update((tree.key(change), (EQUAL, "")) for change in alike)

    def _compare(self, situation: Situation, views: Views, tree: _Tree) -> None:
        """Classify the changes that were not compared yet: all together, then halves of the changes that share units.

        Stop when the remaining time is only enough to prove the equal changes. All changes without a verdict are then
        classified as unknown.
        """
        waiting = [[change for key, change in tree.changes.items() if key not in self._known]]
        for _ in range(ROUNDS + 1):
            groups = list(tree.without_shared_units(waiting))
            if not any(groups) or not self._equivalence.affords(situation.seconds_left):
                break
            batch, best, left = list(chain(*groups)), situation.best, situation.seconds_left
            self._listen(Event("stage", f"{self.name}: comparing the behaviour of {counted(len(batch), 'draft')}"))
            patch = tree.patch(batch)
            found = self._equivalence.compare(views, best.patch, patch, best.cases, tree.texts, within=left)
            waiting = [group for group in waiting if group not in groups]
            waiting += chain(*(self._unsettled(tree, group, found) for group in groups))
        why = "not compared alone: too many drafts, or no time left"
        self._known.update((tree.key(change), (UNKNOWN, why)) for change in chain(*waiting))

    def _unsettled(self, tree: _Tree, group: Sequence[CodeChange], found: Compared) -> Iterator[list[CodeChange]]:
        """Store the certain verdicts on changes of `group`; divide the other changes, and yield the parts.

        `found`: the result of comparing the changes of `group` together. A verdict is certain if it is "equal", or if
        no other change of `group` edits the same unit.
        """
        alone = tree.alone_in_unit(group)
        for change in group:
            verdict = _verdict(found, tree.units(change))
            if verdict[0] == EQUAL or change in alone:
                self._known[tree.key(change)] = verdict
        yield from tree.halves(change for change in group if tree.key(change) not in self._known)

    def _in_parts(
        self,
        situation: Situation,
        views: Views,
        tree: _Tree,
        changes: Sequence[CodeChange],
        *,
        offered: bool = False,
    ) -> Generator[Patch, Situation, Situation]:
        """Propose `changes` together with the changes accepted in this tree.

        If the patch is refused, propose parts of `changes`. `offered`: the patch is only to be offered, not applied.
        Return the latest situation. Propose nothing if there are no changes, or if no budget or time is left.
        """
        late = not offered and self._equivalence.left(situation.seconds_left) <= 0
        if not changes or late or situation.used_up(self.name):
            return situation
        patch = tree.patch((*tree.accepted, *changes), changes)
        self.proposed, self.offer = patch, tree.offer(changes) if offered else None
        before = len(situation.offers)
        situation = yield patch
        if situation.best.patch.files == patch.files:
            tree.accepted += changes
        elif len(situation.offers) == before:
            parts = self._without_blamed(situation, views, tree, changes)
            for part in parts or self._parts(tree, changes, self._equivalence.known(situation.best.patch, patch)):
                situation = yield from self._in_parts(situation, views, tree, part, offered=offered)
        return situation

    def _without_blamed(
        self, situation: Situation, views: Views, tree: _Tree, changes: Sequence[CodeChange]
    ) -> list[Sequence[CodeChange]]:
        """Find the `changes` that break the tests that the last attempt broke; return the other changes, in parts.

        The first part consists of changes that break none of these tests; the other parts are groups that were not
        tried. Changes that break a test alone are refused. Only these tests run; to propose halves of `changes` instead
        would run all tests for each good half.

        Return [] if there are few `changes`, if no test was broken, or if no part of `changes` breaks a test in a fork.
        """

        def failing(tests: frozenset[str], part: Sequence[CodeChange]) -> frozenset[str]:
            self._listen(Event("stage", f"{self.name}: which of {counted(len(changes), 'draft')} break tests"))
            patch, cases = tree.patch((*tree.accepted, *part)), situation.best.cases
            return self._equivalence.failing(views, patch, tests, cases, within=situation.seconds_left)

        left = self._equivalence.left(situation.seconds_left)
        broken = _broken(situation) if len(changes) >= FEWEST_BLAMED else frozenset()
        broken -= failing(broken, ()) if broken else broken
        if not broken:
            return []
        good, bad, waiting = _separated(
            changes,
            fails=lambda part: bool(failing(broken, part)),
            late=lambda: self._equivalence.left(situation.seconds_left) < left / 2,
        )
        self._refused.update(map(tree.key, bad))
        return [] if len(good) == len(changes) else [part for part in (good, *waiting) if part]

    def _parts(
        self, tree: _Tree, changes: Sequence[CodeChange], found: Compared | None
    ) -> Iterator[Sequence[CodeChange]]:
        """Yield the parts of refused `changes` to propose next. A single change has none: its refusal is stored.

        If only some of the changes are equal according to the comparison `found`, yield these changes, and the parts of
        `_unsettled`; otherwise yield the halves of `changes`.
        """
        equal = [change for change in changes if found and _verdict(found, tree.units(change))[0] == EQUAL]
        if len(changes) == 1:
            self._refused.add(tree.key(changes[0]))
        elif found and len(equal) < len(changes):
            yield equal
            yield from self._unsettled(tree, changes, found)
        else:
            yield from _halves(changes)


def _broken(situation: Situation) -> frozenset[str]:
    """Return the tests that fail in the last attempt, but not in the best one; without flaky tests."""
    bad, last = (
        frozenset(name for name, case in one.cases.items() if case.status.bad)
        for one in (situation.best, situation.attempts[-1])
    )
    return last - bad - situation.flaky


def _separated(
    changes: Sequence[CodeChange], *, fails: Callable[[Sequence[CodeChange]], bool], late: Callable[[], bool]
) -> tuple[list[CodeChange], list[CodeChange], list[Sequence[CodeChange]]]:
    """Return the changes of groups that do not fail, the changes that fail alone, and the groups that were not tried.

    Groups are the halves of `changes`, and the halves of each group that fails. At most MOST_BLAMING groups are tried,
    and none after `late` returns True.
    """
    good, bad, waiting = list[CodeChange](), list[CodeChange](), list[Sequence[CodeChange]](_halves(changes))
    for _ in range(MOST_BLAMING):
        if not waiting or late():
            break
        group = waiting.pop(0)
        if not fails(group):
            good += group
        elif len(group) == 1:
            bad += group
        else:
            waiting += _halves(group)
    return good, bad, waiting


def _halves(changes: Sequence[CodeChange]) -> tuple[list[CodeChange], list[CodeChange]]:
    middle = len(changes) // 2
    return list(changes[:middle]), list(changes[middle:])


class _Tree:
    """The tree of the best attempt, the changes to try in it, and the verdicts on these."""

    def __init__(
        self,
        best: Attempt,
        texts: Mapping[str, bytes],
        changes: Mapping[Key, CodeChange],
        known: Mapping[Key, tuple[str, str]],
        origin: str,
    ) -> None:
        self._best, self.texts, self.changes, self._known, self._origin = best, texts, changes, known, origin
        self._keys = {id(change): key for key, change in changes.items()}
        self._units: dict[int, frozenset[tuple[str, str]]] = {}
        self.accepted: list[CodeChange] = []

    def key(self, change: CodeChange) -> Key:
        return self._keys[id(change)]

    def those(self, verdict: str) -> list[CodeChange]:
        """Return the changes with this verdict of the comparison."""
        return [change for key, change in self.changes.items() if self._known.get(key, ("",))[0] == verdict]

    def keep(self, good: Callable[[CodeChange], bool]) -> None:
        """Keep only the changes for which `good` returns True."""
        self.changes = {key: change for key, change in self.changes.items() if good(change)}

    def leave_out_refused(self, findings: Sequence[Finding]) -> list[Key]:
        """Leave out the changes that the judge refuses without a test run; return their keys.

        A patch with such a change would be refused and halved repeatedly, and tests would run for each half that
        contains no such change.
        """
        files = _by_path(self.changes.values()).values()
        refused = [self.key(change) for own in files for change in self._refused_of(own, findings)]
        self.keep(lambda change: self.key(change) not in refused)
        return refused

    def _refused_of(self, changes: list[CodeChange], findings: Sequence[Finding]) -> list[CodeChange]:
        if admit(Patch(self._files(changes)), self.texts, lambda _: None, findings=findings):
            return []
        if len(changes) < 2:
            return changes
        return [one for half in _halves(changes) for one in self._refused_of(half, findings)]

    def note_units(self) -> None:
        """Store the units of each change.

        A file is compiled once for many changes, if their lines show which change edits which unit: compiling 6,600
        lines takes 0.2 s.
        """
        waiting = [part for group in _by_path(self.changes.values()).values() for part in self._by_docstring(group)]
        while waiting:
            group = waiting.pop()
            if (found := self._units_of(group)) is not None:
                keyed = zip(group, found, strict=True)
                self._units.update((id(one), frozenset((one.path, name) for name in own)) for one, own in keyed)
            elif len(group) > 1:
                waiting += _halves(group)

    def _units_of(self, group: Sequence[CodeChange]) -> list[frozenset[str]] | None:
        """Return, for each change of `group`, the names of the units that it edits; None if this is uncertain.

        All changes of `group` are in one file.
        """
        path = group[0].path
        after = self._files(group).get(path)
        if after is None:
            return None
        edit = FileEdit.between(self.texts[path], after)
        if len(group) == 1:
            return [edit.changed]
        if any("__future__" in one.content for change in group for one in change.edits):
            return None  # an import from __future__ may change the code of all functions
        return edit.changed_by(decoded(self.texts[path]), [_touched_lines(change) for change in group])

    def _by_docstring(self, group: Sequence[CodeChange]) -> Iterator[list[CodeChange]]:
        """Yield the list of the changes in docstrings, and the list of the other changes; leave out an empty list.

        Changes in docstrings mostly leave the code of their functions unchanged. All of `group` are in one file.
        """
        lines = docstring_lines(decoded(self.texts[group[0].path]))
        inside = [one for one in group if all({first, last} <= lines for first, last in _touched_lines(one))]
        yield from filter(None, (inside, [one for one in group if one not in inside]))

    def units(self, change: CodeChange) -> frozenset[tuple[str, str]]:
        """Return the units whose code `change` edits; units of which only line numbers change do not count."""
        if id(change) not in self._units:
            after = self._files([change])[change.path]
            edit = FileEdit.between(self.texts[change.path], after)
            self._units[id(change)] = frozenset((change.path, name) for name in edit.changed)
        return self._units[id(change)]

    def without_shared_units(self, groups: Iterable[list[CodeChange]]) -> Iterator[list[CodeChange]]:
        """Yield the groups that share no unit with a group yielded before, so that each gets its own verdict."""
        taken: set[tuple[str, str]] = set()
        for group in groups:
            units = frozenset().union(*map(self.units, group))
            if taken.isdisjoint(units):
                taken |= units
                yield group

    def halves(self, changes: Iterable[CodeChange]) -> Iterator[list[CodeChange]]:
        """Put changes that share units into one group; yield the halves of each group, without empty halves."""
        groups: list[list[CodeChange]] = []
        for change in changes:
            near = [one for one in groups if any(self.units(change) & self.units(other) for other in one)]
            groups = [*(one for one in groups if one not in near), [*chain(*near), change]]
        for group in groups:
            yield from filter(None, _halves(group))

    def alone_in_unit(self, changes: Sequence[CodeChange]) -> list[CodeChange]:
        """Return the changes that share no unit with another change in `changes`."""
        counts = Counter(unit for change in changes for unit in self.units(change))
        return [change for change in changes if all(counts[unit] == 1 for unit in self.units(change))]

    def patch(self, changes: Sequence[CodeChange], named: Sequence[CodeChange] = ()) -> Patch:
        """Return the best patch so far plus `changes`. The summary describes `named` if given, else `changes`."""
        return self._best.patch.then(self._files(changes), origin=self._origin, summary=_summary(named or changes))

    def offer(self, changes: Sequence[CodeChange]) -> Offer:
        """Return an Offer to the user: for each changed file, one alternative with all `changes` of this file."""
        by_path = _by_path(changes)
        alternatives = tuple(
            Alternative(Patch(self._files(own), self._origin, _summary(own))) for own in by_path.values()
        )
        reasons = dict.fromkeys(self._known[self.key(change)][1] or change.doubt for change in changes)
        why = "; ".join(list(reasons)[:REASONS])
        more = f"; and {len(reasons) - REASONS} more reasons" if len(reasons) > REASONS else ""
        return Offer(alternatives, why=why + more, before={path: self.texts[path] for path in by_path})

    def _files(self, changes: Iterable[CodeChange]) -> dict[str, bytes | None]:
        by_path: dict[str, dict[TextEdit, None]] = {}
        for change in changes:
            by_path.setdefault(change.path, {}).update(dict.fromkeys(change.edits))
        found: dict[str, bytes | None] = {}
        for path, edits in by_path.items():
            source = decode(self.texts[path])
            text = apply(source.text, list(edits)) if source else None
            if source and text is not None:
                found[path] = source.encode(text)
        return found


REASONS = 3
"""Maximum number of reasons that an offer names."""


def _touched_lines(change: CodeChange) -> list[tuple[int, int]]:
    """Return the first and the last line that each edit of a change touches, 1-based.

    For an edit that inserts lines between two lines, return these two lines.
    """
    found = []
    for edit in change.edits:
        (first, column), (last, end) = edit.start, edit.end
        inserted, whole = edit.start == edit.end and column == 1, end == 1 and last > first
        followed = "\n" in edit.content and not whole and end > 1
        found.append((first - inserted, last - whole + followed))
    return found


def _by_path(changes: Iterable[CodeChange]) -> dict[str, list[CodeChange]]:
    found: dict[str, list[CodeChange]] = {}
    for change in changes:
        found.setdefault(change.path, []).append(change)
    return found


def _compatible(changes: Iterable[tuple[Key, CodeChange]], refused: AbstractSet[Key]) -> dict[Key, CodeChange]:
    """Return the changes that are not `refused` and do not touch an earlier change.

    Two changes may share an insertion, such as a new import.
    """
    chosen: dict[Key, CodeChange] = {}
    taken: dict[str, dict[TextEdit, None]] = {}
    for key, change in changes:
        if key not in chosen.keys() | refused and take(change.edits, taken.setdefault(change.path, {})):
            chosen[key] = change
    return chosen


def _verdict(found: Compared, units: Iterable[tuple[str, str]]) -> tuple[str, str]:
    for verdict, reasons in ((DIFFERENT, found.different), (UNKNOWN, found.unknown)):
        for unit in units:
            if unit in reasons:
                return verdict, reasons[unit]
    return EQUAL, ""


def _key(change: CodeChange, data: bytes) -> Key:
    """Return an identity of a change that does not depend on line numbers.

    It consists of the path, the rule, the function header and the class header above the change, and its old and new
    lines. `data`: the file before the change.
    """
    lines, headers = _headed(data)
    old = (line for one in change.edits for line in lines[one.start[0] - 1 : one.end[0] - (one.end[1] == 1)])
    return (
        change.path,
        change.rule,
        (*headers[min(change.line, len(lines))], *old, *(edit.content for edit in change.edits)),
    )


@lru_cache(maxsize=4)
def _headed(data: bytes) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the lines of a file and, by 1-based line, the last function header and class header up to that line."""
    source = decode(data)
    lines, headers = source.text.splitlines() if source else [], [("", "")]
    for line in lines:
        function, owner = headers[-1]
        found = HEADER.match(line)
        is_class = found is not None and found[1] == "class"
        headers.append((line if found and not is_class else function, line if is_class else owner))
    return lines, headers


def _summary(changes: Sequence[CodeChange]) -> str:
    """Summarise changes: `src/cart.py:1 B904 raise from the error`, or `6 rewritings (B904 ×4, E741 ×2)`."""
    if len(changes) == 1:
        return changes[0].summary
    counts = Counter(change.rule for change in changes)
    return f"{len(changes)} rewritings ({', '.join(f'{rule} ×{count}' for rule, count in counts.most_common())})"
