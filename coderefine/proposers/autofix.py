"""Propose ruff's safe fixes: first all together; refused sets are halved, down to single fixes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby
from typing import TYPE_CHECKING

from coderefine import judge
from coderefine.core import Cost, Patch, Proposals, Situation, Views
from coderefine.lint import Diagnostic, Linter, among, apply, safe_edits
from coderefine.source import decode

if TYPE_CHECKING:
    from coderefine.config import Config
    from coderefine.project import Interpreter, Place


Files = Mapping[str, bytes | None]
ROUNDS = 5
"""Maximum number of rounds of edits in a file; adjacent edits are not applied in the same round."""


Tree = frozenset[tuple[str, bytes | None]]
"""The files of a patch."""


@dataclass(frozen=True, slots=True)
class LintedFiles:
    """ruff's diagnostics for some files of a tree, and the content of these files."""

    remarks: list[Diagnostic]
    files: Files


class Autofix:
    """Proposes ruff's safe fixes, at no cost; see proposers/rewritings for unsafe fixes."""

    name = "autofix"

    def __init__(self, place: Place, config: Config, interpreter: Interpreter | None = None) -> None:
        from coderefine.project import Protection

        self._linter = Linter.of(place, interpreter, config)
        self._protection = Protection.of(place, config)
        self._refused: set[tuple[str, str, str]] = set()
        """`_name` of each diagnostic whose single fix was refused, or would be; it is never proposed again."""
        self._chosen: frozenset[tuple[str, str, int]] | None = None
        """Path, rule and line of the diagnostics to fix; None: all of them."""
        # A view and a run of ruff take as long as a few tests, and the diagnostics of a tree are needed several times.
        self._readings: dict[tuple[Tree, tuple[str, ...]], LintedFiles] = {}
        self._fixes: dict[tuple[Tree, tuple[str, ...], tuple[str, ...]], Files] = {}

    @property
    def spent(self) -> Cost:
        return Cost()

    def propose(self, situation: Situation, views: Views) -> Proposals:
        """Yield all admissible safe fixes as one patch; refused patches are halved, down to single fixes.

        Fixes that are inadmissible, or that cause another diagnostic, are excluded before tests run. Raises CriticError
        if ruff fails.
        """
        self._readings.clear()  # the user may have edited the files meanwhile
        self._fixes.clear()
        self._chosen = situation.chosen("ruff")
        if self._wanted(situation) and not situation.used_up(self.name):
            self._leave_out(situation, views)
            yield from self._halved(situation, views, self._rules(situation, views), ())

    def _halved(
        self, situation: Situation, views: Views, rules: Sequence[str], paths: Sequence[str]
    ) -> Generator[Patch, Situation, Situation]:
        """Propose the fixes of `rules` in `paths` (empty: all files) together.

        A refused set of fixes is halved, first by rules, then by files. If a refused set has only one rule in one file,
        each of its fixes is proposed individually.
        """
        if situation.used_up(self.name):
            return situation
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
        """Exclude each fix that would be refused even alone.

        A fix is refused if its patch is not admissible, or if a rule has more diagnostics than before. Fixes are tried
        alone only in files whose fixes together would be refused.
        """
        files, _ = self._fixed(situation, views, self._rules(situation, views), ())
        originals = self._originals(situation, views)
        wrong = {path for path, data in files.items() if not self._admitted(situation, originals, {path: data})}
        wrong |= self._worse(situation, views, files)
        for remark in [one for one in self._safe(situation, views) if one.path in wrong]:
            fixed = {remark.path: _edited(self._reading(situation, views).files[remark.path], [remark])}
            if fixed[remark.path] is not None and (
                not self._admitted(situation, originals, fixed) or self._worse(situation, views, fixed)
            ):
                self._refused.add(_name(remark))

    def _worse(self, situation: Situation, views: Views, files: Files) -> set[str]:
        """Return the paths in `files` that have more diagnostics of some rule than before."""
        if not files:
            return set()
        patch = situation.best.patch.then(files, origin=self.name, summary="")
        before = Counter((one.path, one.rule) for one in self._reading(situation, views).remarks)
        after = Counter((one.path, one.rule) for one in self._read(views, patch, sorted(files)).remarks)
        return {path for (path, rule), count in after.items() if count > before[path, rule]}

    def _originals(self, situation: Situation, views: Views) -> Files:
        """Return the unpatched content of the wanted files, and of the files that the best patch changes."""
        best = situation.best.patch
        files = self._reading(situation, views).files
        if not best:
            return files
        with views.open() as start:
            return {path: start.read(path) for path in {**files, **best.files}}

    def _admitted(self, situation: Situation, originals: Files, files: Files) -> bool:
        """Return whether the best patch with `files` added is admissible. `originals`: the result of `_originals`."""
        patch = situation.best.patch.then(files, origin=self.name, summary="")
        protection = self._protection
        return bool(
            judge.admit(
                patch,
                {path: originals[path] for path in patch.files},
                protection.reason,
                scope=situation.scope,
                findings=situation.findings,
                helpers=protection.helpers,
                is_product=protection.is_product,
            )
        )

    def _offer(
        self, situation: Situation, views: Views, rules: Sequence[str], paths: Sequence[str]
    ) -> Generator[Patch, Situation, tuple[Situation, bool]]:
        """Propose ruff's fixes of `rules` in `paths` (empty: all files), unless the resulting tree was judged before.

        Return the new situation, and whether the patch was accepted.
        """
        files, fixed = self._fixed(situation, views, rules, paths)
        patch = situation.best.patch.then(files, origin=self.name, summary=_summary(fixed))
        if not files or _known(situation, patch):
            return situation, False
        situation = yield patch
        return situation, situation.best.patch.files == patch.files

    def _singly(
        self, situation: Situation, views: Views, rule: str, paths: Sequence[str]
    ) -> Generator[Patch, Situation, Situation]:
        """Propose each fix of `rule` individually; after an accepted fix, the line numbers are read again."""
        tried: set[tuple[str, str, str]] = set()
        while (
            not situation.used_up(self.name) and (found := self._next(situation, views, rule, paths, tried)) is not None
        ):
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
    ) -> tuple[Diagnostic, bytes] | None:
        reading = self._reading(situation, views)
        for remark in self._safe(situation, views):
            if remark.rule != rule or remark.path not in paths or _name(remark) in tried:
                continue
            data = _edited(reading.files[remark.path], [remark])
            if data is not None:
                return remark, data
        return None

    def _rules(self, situation: Situation, views: Views) -> list[str]:
        return list(dict.fromkeys(remark.rule for remark in self._safe(situation, views)))

    def _paths(self, situation: Situation, views: Views, rules: Sequence[str]) -> list[str]:
        return sorted({one.path for one in self._safe(situation, views) if one.rule in rules})

    def _fixed(
        self, situation: Situation, views: Views, rules: Sequence[str], paths: Sequence[str]
    ) -> tuple[Files, list[Diagnostic]]:
        """Fix the diagnostics of `rules` in `paths` (empty: all files); return the changed files and the diagnostics.

        The diagnostics may include some whose fixes were left out, because they touch others.
        """
        every = list(self._safe(situation, views))
        partly = self._partly(every)
        remarks = [one for one in every if one.rule in rules and (not paths or one.path in paths)]
        touched = {remark.path for remark in remarks}
        chosen = rules if {one.rule for one in every}.difference(rules) else ()
        files = self._changed(situation, views, sorted(touched - partly), chosen)
        return {**files, **self._partly_fixed(situation, views, rules, touched & partly)}, remarks

    def _partly(self, every: Sequence[Diagnostic]) -> set[str]:
        """Return the files in which ruff must not fix all diagnostics of a rule: some are refused or not chosen."""
        return {path for path, _, _ in self._refused} if self._chosen is None else {one.path for one in every}

    def _partly_fixed(self, situation: Situation, views: Views, rules: Sequence[str], paths: AbstractSet[str]) -> Files:
        """Fix the diagnostics of `rules` in `paths` that are chosen and were not refused; return the changed files.

        ruff itself can only fix all diagnostics of a rule.
        """
        files: dict[str, bytes | None] = {}
        for _ in range(ROUNDS if paths else 0):
            patch = situation.best.patch.then(files, origin=self.name, summary="")
            reading = self._read(views, patch, self._wanted(situation))
            left = [one for one in self._fixable(reading) if one.path in paths and one.rule in rules]
            edited = {
                path: _edited(reading.files[path], list(some)) for path, some in groupby(left, key=lambda one: one.path)
            }
            changed = {path: data for path, data in edited.items() if data is not None}
            if not changed:
                break
            files |= changed
        return files

    def _changed(self, situation: Situation, views: Views, touched: Sequence[str], chosen: Sequence[str]) -> Files:
        """Let ruff fix `touched` by the `chosen` rules (empty: all); return the files that differ afterwards."""
        if not touched:
            return {}
        best, before = situation.best.patch, self._reading(situation, views).files
        key = frozenset(best.files.items()), tuple(touched), tuple(chosen)
        if key not in self._fixes:
            with views.open(best) as view:
                self._linter.fix(view, touched, chosen)  # without `chosen`, ruff also fixes what its fixes cause
                after = {path: view.read(path) for path in touched}
            differing = {path: data for path, data in after.items() if data != before[path]}
            self._fixes[key] = {path: _tidied(before[path], data) for path, data in differing.items()}
        return self._fixes[key]

    def _safe(self, situation: Situation, views: Views) -> Iterator[Diagnostic]:
        """Yield the chosen diagnostics in the wanted files that have a safe fix and were not refused.

        The files are those of the best tree.
        """
        return self._fixable(self._reading(situation, views))

    def _fixable(self, reading: LintedFiles) -> Iterator[Diagnostic]:
        found = (one for one in among(reading.remarks, self._chosen) if one.fix is not None and one.fix.safe)
        return (remark for remark in found if _name(remark) not in self._refused)

    def _reading(self, situation: Situation, views: Views) -> LintedFiles:
        """Read the wanted files of the best tree."""
        return self._read(views, situation.best.patch, self._wanted(situation))

    def _read(self, views: Views, patch: Patch, paths: Sequence[str]) -> LintedFiles:
        key = frozenset(patch.files.items()), tuple(paths)
        if key not in self._readings:
            with views.open(patch) as view:
                files = {path: view.read(path) for path in paths}
                self._readings[key] = LintedFiles(self._linter.remarks(view, paths), files)
        return self._readings[key]

    def _wanted(self, situation: Situation) -> list[str]:
        """Return the writable files with ruff findings that must be repaired."""
        paths = {finding.path for finding in situation.findings if finding.critic == "ruff"}
        return sorted(path for path in paths if self._protection.reason(path) is None)


def _halves(items: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    middle = (len(items) + 1) // 2
    return items[:middle], items[middle:]


def _known(situation: Situation, patch: Patch) -> bool:
    """Return whether the tree with `patch` was judged before."""
    return any(dict(attempt.patch.files) == dict(patch.files) for attempt in situation.attempts)


def _name(remark: Diagnostic) -> tuple[str, str, str]:
    """Return an identity of a diagnostic that does not depend on line numbers."""
    content = "".join(edit.content for edit in remark.fix.edits) if remark.fix else ""
    return remark.path, remark.message, content


def _edited(data: bytes | None, remarks: Sequence[Diagnostic]) -> bytes | None:
    """Return a file's content after the safe fixes of `remarks`; None if nothing changes.

    A fix that touches an earlier one is left out.
    """
    source = decode(data) if data is not None else None
    if source is None:
        return None
    text = apply(source.text, safe_edits(remarks, source))
    return None if text is None or text == source.text else _tidied(data, source.encode(text))


def _tidied(before: bytes | None, after: bytes | None) -> bytes | None:
    """Return `after` without blank lines that a removal left; unchanged if `before` or `after` is empty or no text."""
    old, new = (decode(data) if data else None for data in (before, after))
    if old is None or new is None or not old.newline or not new.newline:
        return after
    return new.encode(tidied(old.text, new.text))


def _summary(remarks: Iterable[Diagnostic]) -> str:
    """Summarise fixes: `src/cart.py:1 F401 remove unused import: os`, or `6 ruff fixes (F401 ×4, I001 ×2)`."""
    found = list(remarks)
    if len(found) == 1:
        fix = found[0].fix
        text = fix.message if fix else ""
        return f"{found[0].path}:{found[0].first} {found[0].rule} {text[:1].lower() + text[1:]}"
    counts = Counter(remark.rule for remark in found)
    return f"{len(found)} ruff fixes ({', '.join(f'{rule} ×{count}' for rule, count in counts.most_common())})"


LONGEST = 5_000
"""Number of lines above which a file is not tidied, because the comparison would take too long."""


def tidied(before: str, after: str) -> str:
    """Return `after` without superfluous blank lines: ruff removes a line, but not the blank lines around it.

    If lines were removed between two gaps (sequences of blank lines), the joined gap is shortened to the longer of the
    two; at the start and the end of the file it is removed. Other gaps are kept.
    """
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    if len(old) > LONGEST:
        return after
    for tag, _, _, start, end in reversed(SequenceMatcher(None, old, new, autojunk=False).get_opcodes()):
        if tag == "delete" and start == end:
            above, below = _gap(new[:start][::-1]), _gap(new[start:])
            edge = above == start or below == len(new) - start
            surplus = above + below if edge else min(above, below)
            del new[start - above : start - above + surplus]
    return "".join(new)


def _gap(lines: list[str]) -> int:
    """Return the number of blank lines at the start of `lines`."""
    return next((count for count, line in enumerate(lines) if line.strip()), len(lines))
