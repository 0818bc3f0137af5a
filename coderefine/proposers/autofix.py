"""ruff's safe fixes as patches: all that may be tried at once; what is refused is halved, down to single fixes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import groupby
from typing import TYPE_CHECKING

from coderefine import judge
from coderefine.core import Cost, Patch, Proposals, Situation, View, Views
from coderefine.lint import Edit, Fix, Linter, Remark, apply
from coderefine.proposers.tidy import tidied
from coderefine.source import decode

if TYPE_CHECKING:
    from coderefine.config import Config
    from coderefine.project import Interpreter, Place

Files = Mapping[str, bytes | None]
ROUNDS = 5
"""Times that remarks are read again, because edits that touch each other are not made at once."""


class Autofix:
    """Costs neither tokens nor money. Unsafe fixes are left alone: ruff itself says that they change the meaning."""

    name = "autofix"

    def __init__(self, place: Place, config: Config, interpreter: Interpreter | None = None) -> None:
        from coderefine.project import Protection

        self._linter = Linter.of(place, interpreter, config)
        self._protection = Protection.of(place, config)
        self._refused: set[tuple[str, str, str]] = set()
        """Remarks whose fixes were refused one by one: they are not offered again on a better tree."""

    @property
    def spent(self) -> Cost:
        return Cost()

    def propose(self, situation: Situation, views: Views) -> Proposals:
        """Every safe fix that may be tried, as one patch; what the checks refuse is halved, down to single fixes.

        What may not be tried, or brings another remark, is left out before a test runs. Raises CriticError when ruff
        gives no verdict.
        """
        if self._wanted(situation):
            self._leave_out(situation, views)
            yield from self._halved(situation, views, self._rules(situation, views), ())

    def _halved(
        self, situation: Situation, views: Views, rules: Sequence[str], paths: Sequence[str]
    ) -> Generator[Patch, Situation, Situation]:
        """Fixes of `rules` in `paths` (none: all), then of each half until they are accepted or single."""
        situation, accepted = yield from self._offer(situation, views, rules, paths)
        if accepted:
            return situation
        found = paths or self._paths(situation, views, rules)
        if len(rules) > 1:
            for some in _halves(rules):
                situation = yield from self._halved(situation, views, some, paths)
        elif len(found) > 1:
            for some in _halves(found):
                situation = yield from self._halved(situation, views, rules, some)
        else:
            for rule in rules:
                situation = yield from self._singly(situation, views, rule, found)
        return situation

    def _leave_out(self, situation: Situation, views: Views) -> None:
        """Refuse each remark whose own fix the checks are sure to refuse, in the files where they refuse the whole."""
        files, _ = self._fixed(situation, views, self._rules(situation, views), ())
        with views.open() as start:
            wrong = {path for path, data in files.items() if not self._admitted(situation, start, {path: data})}
            wrong |= self._worse(situation, views, files)
            if not wrong:
                return
            with views.open(situation.best.patch) as view:
                alone = [(one, _edited(view, [one])) for one in self._safe(view, situation) if one.path in wrong]
            for remark, data in alone:
                fixed = {remark.path: data}
                if data is not None and (
                    not self._admitted(situation, start, fixed) or self._worse(situation, views, fixed)
                ):
                    self._refused.add(_name(remark))

    def _worse(self, situation: Situation, views: Views, files: Files) -> set[str]:
        """Those of `files` in which ruff finds more of some rule than before."""
        best, paths = situation.best.patch, sorted(files)
        counts = []
        for patch in (best, best.then(files, origin=self.name, summary="")):
            with views.open(patch) as view:
                counts.append(Counter((one.path, one.rule) for one in self._linter.remarks(view, paths)))
        before, after = counts
        return {path for (path, rule), count in after.items() if count > before[path, rule]}

    def _admitted(self, situation: Situation, start: View, files: Files) -> bool:
        """Whether the judge lets these files be tried on top of the best patch. `start`: the untouched tree."""
        patch = situation.best.patch.then(files, origin=self.name, summary="")
        originals = {path: start.read(path) for path in patch.files}
        protection = self._protection
        return bool(
            judge.admit(
                patch,
                originals,
                protection.reason,
                scope=situation.scope,
                findings=situation.findings,
                helpers=protection.helpers,
            )
        )

    def _offer(
        self, situation: Situation, views: Views, rules: Sequence[str], paths: Sequence[str]
    ) -> Generator[Patch, Situation, tuple[Situation, bool]]:
        """Yields the patch ruff makes of `rules` in `paths` (none: all), unless that tree was judged before."""
        files, fixed = self._fixed(situation, views, rules, paths)
        patch = situation.best.patch.then(files, origin=self.name, summary=_summary(fixed))
        if not files or _known(situation, patch):
            return situation, False
        situation = yield patch
        return situation, situation.best.patch.files == patch.files

    def _singly(
        self, situation: Situation, views: Views, rule: str, paths: Sequence[str]
    ) -> Generator[Patch, Situation, Situation]:
        """Every fix of `rule` by itself; rows are read afresh whenever an accepted one has moved them."""
        tried: set[tuple[str, str, str]] = set()
        while (found := self._next(situation, views, rule, paths, tried)) is not None:
            remark, data = found
            tried.add(_name(remark))
            patch = situation.best.patch.then({remark.path: data}, origin=self.name, summary=_summary([remark]))
            if not _known(situation, patch):
                situation = yield patch
            if situation.best.patch.files != patch.files:
                self._refused.add(_name(remark))
        return situation

    def _next(
        self, situation: Situation, views: Views, rule: str, paths: Sequence[str], tried: set[tuple[str, str, str]]
    ) -> tuple[Remark, bytes] | None:
        with views.open(situation.best.patch) as view:
            for remark in self._safe(view, situation):
                if remark.rule != rule or remark.path not in paths or _name(remark) in tried:
                    continue
                data = _edited(view, [remark])
                if data is not None:
                    return remark, data
        return None

    def _rules(self, situation: Situation, views: Views) -> list[str]:
        with views.open(situation.best.patch) as view:
            return list(dict.fromkeys(remark.rule for remark in self._safe(view, situation)))

    def _paths(self, situation: Situation, views: Views, rules: Sequence[str]) -> list[str]:
        with views.open(situation.best.patch) as view:
            return sorted({one.path for one in self._safe(view, situation) if one.rule in rules})

    def _fixed(
        self, situation: Situation, views: Views, rules: Sequence[str], paths: Sequence[str]
    ) -> tuple[Files, list[Remark]]:
        """The files that change, and the remarks they change for."""
        partly = {path for path, _, _ in self._refused}
        with views.open(situation.best.patch) as view:
            every = list(self._safe(view, situation))
            remarks = [one for one in every if one.rule in rules and (not paths or one.path in paths)]
            touched = {remark.path for remark in remarks}
            chosen = rules if {one.rule for one in every}.difference(rules) else ()
            files = self._changed(view, sorted(touched - partly), chosen)
        return {**files, **self._partly_fixed(situation, views, rules, touched & partly)}, remarks

    def _partly_fixed(self, situation: Situation, views: Views, rules: Sequence[str], paths: AbstractSet[str]) -> Files:
        """`paths` after the edits of those remarks that were not refused; ruff itself would mend all of a rule."""
        files: dict[str, bytes | None] = {}
        for _ in range(ROUNDS if paths else 0):
            changed = {}
            with views.open(situation.best.patch.then(files, origin=self.name, summary="")) as view:
                left = [one for one in self._safe(view, situation) if one.path in paths and one.rule in rules]
                for path, remarks in groupby(left, key=lambda one: one.path):
                    if (data := _edited(view, list(remarks))) is not None:
                        changed[path] = data
            if not changed:
                break
            files |= changed
        return files

    def _changed(self, view: View, touched: Sequence[str], chosen: Sequence[str]) -> Files:
        """Let ruff fix `touched` by the `chosen` rules (none: all); give the files that differ afterwards."""
        before = {path: view.read(path) for path in touched}
        if touched:
            self._linter.fix(view, touched, chosen)  # without a choice ruff also mends what its fixes bring
        after = {path: view.read(path) for path in touched}
        return {path: _tidied(before[path], data) for path, data in after.items() if data != before[path]}

    def _safe(self, view: View, situation: Situation) -> Iterator[Remark]:
        """What ruff can mend safely in the wanted files as they are in `view`."""
        found = (
            one for one in self._linter.remarks(view, self._wanted(situation)) if one.fix is not None and one.fix.safe
        )
        return (remark for remark in found if _name(remark) not in self._refused)

    def _wanted(self, situation: Situation) -> list[str]:
        """The files with ruff findings (hard, in scope) that may be written."""
        paths = {finding.path for finding in situation.findings if finding.critic == "ruff"}
        return sorted(path for path in paths if self._protection.reason(path) is None)


def _halves(items: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    middle = (len(items) + 1) // 2
    return items[:middle], items[middle:]


def _known(situation: Situation, patch: Patch) -> bool:
    """Whether this very tree was judged before."""
    return any(dict(attempt.patch.files) == dict(patch.files) for attempt in situation.attempts)


def _name(remark: Remark) -> tuple[str, str, str]:
    """What tells a remark from the others after lines have moved (the message names the import, say)."""
    content = "".join(edit.content for edit in remark.fix.edits) if remark.fix else ""
    return remark.path, remark.message, content


def _edited(view: View, remarks: Sequence[Remark]) -> bytes | None:
    """The file of `remarks` with the edits of as many as do not touch each other; None where nothing changes."""
    data = view.read(remarks[0].path)
    source = decode(data) if data is not None else None
    if source is None:
        return None
    edits: list[Edit] = []
    for fix in filter(None, (remark.fix for remark in remarks)):
        # ruff writes the file's own line ends into its edits; `encode` will put them back.
        new = fix.plain.edits if source.newline else fix.edits
        if _apart(new, edits):
            edits += new
    text = apply(source.text, edits)
    return None if text is None or text == source.text else _tidied(data, source.encode(text))


def _apart(some: Sequence[Edit], others: Sequence[Edit]) -> bool:
    """Whether no edit of `some` touches one of `others`."""
    return not any(one.start <= other.end and other.start <= one.end for one in some for other in others)


def _tidied(before: bytes | None, after: bytes | None) -> bytes | None:
    """`after` without the blank lines a removal has left; as it is when either is no text or nothing is left."""
    old, new = (decode(data) if data else None for data in (before, after))
    if old is None or new is None or not old.newline or not new.newline:
        return after
    return new.encode(tidied(old.text, new.text))


def _summary(remarks: Iterable[Remark]) -> str:
    """`src/cart.py:1 F401 remove unused import: os`, or `6 ruff fixes (F401 ×4, I001 ×2)`."""
    found = list(remarks)
    if len(found) == 1:
        return f"{found[0].path}:{found[0].first} {found[0].rule} {_deed(found[0].fix)}"
    counts = Counter(remark.rule for remark in found)
    return f"{len(found)} ruff fixes ({', '.join(f'{rule} ×{count}' for rule, count in counts.most_common())})"


def _deed(fix: Fix | None) -> str:
    text = fix.message if fix else ""
    return text[:1].lower() + text[1:]
