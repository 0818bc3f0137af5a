"""Rewrite code to clear ruff findings that ruff does not fix, or does not fix safely.

`registry.py` lists the rewritings by rule. A rewriting is made only if nothing in the text suggests that it changes
behaviour. Afterwards the patch is proved, as for every `Refactoring`.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from coderefine.core import Listen, Situation, View
from coderefine.import_graph import walk
from coderefine.lint import Diagnostic, Linter, TextEdit, among, apply, safe_edits, settings, take
from coderefine.proposers.refactoring import CodeChange, Guard
from coderefine.proposers.rewritings import long_lines
from coderefine.runner.agent.code_diff import common_ends
from coderefine.source import Source, decode

if TYPE_CHECKING:
    from coderefine.config import Config
    from coderefine.project import Interpreter, Place
    from coderefine.proposers.rewritings.code import Code
    from coderefine.proposers.rewritings.registry import Rewriting

NAME = "rewrite"
TOO_LONG = "E501"
FOLLOWING = 2
"""Maximum number of rounds for repairing findings that a draft causes: a repair may cause further findings."""

ANNOTATING = ("ANN", "RUF012")
READS_ANNOTATIONS = re.compile(rb"__annotations__|\b(get_type_hints|get_annotations|return_annotation)\b")
"""ANNOTATING: beginnings of the rules whose changes add annotations. They are not made where code other than tests may
read annotations at run time."""

GENERATED = re.compile(
    r"@generated\b|\b(generated|created)\b.*\n?.*\b(do not|don't) (edit|change|modify)\b", re.IGNORECASE
)
"""The note in a generated file. Such files are not changed: to generate them again would undo the change, or report
it as a difference."""
HEAD = 1000
"""Number of characters at the beginning of a file in which GENERATED is searched."""


class LintChanges:
    """Finds the changes that clear ruff findings: rewritings, and ruff's unsafe fixes.

    For a line that is too long, the change may also be ruff's format of its statement. `rules`: the rewritings by rule
    (None: those of the registry). `listen` is called with a note if a rewriting raises an unexpected exception.
    """

    def __init__(
        self,
        place: Place,
        config: Config,
        interpreter: Interpreter | None = None,
        listen: Listen = lambda _: None,
        rules: Mapping[str, Rewriting] | None = None,
    ) -> None:
        from coderefine.project import Protection
        from coderefine.proposers.rewritings.registry import RULES

        self._rules = rules or RULES
        self._guard = Guard(listen)
        self._linter = Linter.of(place, interpreter, config)
        self._protection = Protection.of(place, config)
        self._known: dict[tuple[str, CodeChange], CodeChange | None] = {}
        """The useful change, by (text of the file, draft); None if the draft is not useful."""

    def __call__(self, view: View, situation: Situation) -> Iterator[CodeChange]:
        """Yield a change for each finding that can be repaired. Raises CriticError if ruff fails.

        A file that is in ruff's format remains in this format.
        """
        remarks = self._remarks(view, situation)
        chosen = self._chosen(view, situation, remarks)
        for path in dict.fromkeys(one.path for one in chosen):
            if (file := self._parsed(view, path, remarks)) is not None:
                own = (one for one in chosen if one.path == path)
                drafts = (self._draft(view, one, file) for one in own if not situation.late)
                yield from self._known_useful(view, file, list(filter(None, drafts)), situation)

    def _chosen(self, view: View, situation: Situation, remarks: Iterable[Diagnostic]) -> list[Diagnostic]:
        """Return the remarks to repair, without those whose repair would add an annotation that code may read."""
        chosen = among(remarks, situation.chosen("ruff"))
        annotating = any(one.rule.startswith(ANNOTATING) for one in chosen)
        refused = ANNOTATING if annotating and self._reads_annotations(view) else ()
        return [one for one in chosen if not one.rule.startswith(refused)]

    def _reads_annotations(self, view: View) -> bool:
        """Return whether the project, without its tests, may read annotations at run time."""
        root = self._linter.root
        paths = (str(PurePosixPath(root, path)) for path in walk(str(view.host_path / root)))
        program = (view.read(path) or b"" for path in paths if not self._protection.is_test(path))
        return any(map(READS_ANNOTATIONS.search, program))

    def _known_useful(
        self, view: View, file: _File, drafts: Sequence[CodeChange], situation: Situation
    ) -> Iterator[CodeChange]:
        """Yield the useful changes of `drafts` for one file, as long as there is time.

        The result for a text and a draft is stored and not computed again.
        """
        text = file.source.text
        waiting = [draft for draft in dict.fromkeys(drafts) if (text, draft) not in self._known]
        while waiting and not situation.late:
            group = _apart_from_others(waiting)
            waiting = [draft for draft in waiting if draft not in group]
            checked = takewhile(lambda _: not situation.late, self._checked(view, file, group))
            self._known.update(((text, draft), change) for draft, change in checked)
        yield from filter(None, (self._known.get((text, draft)) for draft in drafts))

    def _checked(
        self, view: View, file: _File, drafts: Sequence[CodeChange]
    ) -> Iterator[tuple[CodeChange, CodeChange | None]]:
        """Yield each draft with its useful change, or with None if it is not useful.

        ruff checks all drafts together; if they are not all useful, it checks the halves.
        """
        first, middle = drafts[0], len(drafts) // 2
        what = f"{first.path}:{first.line} {first.rule}"
        if not middle:
            yield first, self._guard.made(what, partial(self._useful, view, first, file))
        elif self._guard.made(what, partial(self._all_useful, view, drafts, file)):
            yield from zip(drafts, drafts, strict=True)
        else:
            yield from self._checked(view, file, drafts[:middle])
            yield from self._checked(view, file, drafts[middle:])

    def _all_useful(self, view: View, drafts: Sequence[CodeChange], file: _File) -> bool:
        """Return whether each of `drafts` clears a finding, and all together cause none.

        A file that is in ruff's format must also remain so. `drafts` must not touch each other.
        """
        text = apply(file.source.text, list(dict.fromkeys(edit for draft in drafts for edit in draft.edits)))
        if text is None or (file.clean and self._formatted(view, drafts[0].path, file.source, text) != text):
            return False
        found = self._linter.remarks_of(view, drafts[0].path, file.source.encode(text))
        fewer = Counter(one.rule for one in found) <= file.counts - Counter(draft.rule for draft in drafts)
        # If one draft clears two long lines, the counts do not show that another draft makes a line too long.
        return fewer and not any(one.rule == TOO_LONG for one in _of_new_lines(file.source.text, text, found))

    def _draft(self, view: View, remark: Diagnostic, file: _File) -> CodeChange | None:
        def made() -> CodeChange | None:
            if edits := _edits(self._rules, file, remark):
                text = remark.fix.message if remark.fix and remark.fix.message else remark.message
                return CodeChange(remark.path, remark.rule, remark.first, text[:1].lower() + text[1:], edits)
            if remark.rule != TOO_LONG or file.clean or remark.first in file.code.comments:
                return None  # a long comment is no reason to divide the brackets before it
            return self._laid_out(view, remark, file)

        return self._guard.made(f"{remark.path}:{remark.first} {remark.rule}", made)

    def _useful(self, view: View, draft: CodeChange, file: _File) -> CodeChange | None:
        """Return the change of a draft, in the format of its file; None if it does not reduce the number of findings.

        A change that does not reduce this number would be refused later, after a test run. Findings that the draft
        causes are repaired by ruff's safe fixes, if any: for example, ruff replaces `%` by a call of `format`, and this
        call by an f-string.
        """
        source, text = file.source, apply(file.source.text, draft.edits)
        for _ in range(FOLLOWING + 1):
            if text is None:
                break
            text = self._formatted(view, draft.path, source, text) if file.clean else text
            remarks = self._linter.remarks_of(view, draft.path, source.encode(text))
            after = Counter(one.rule for one in remarks)
            if not (more := after - file.counts):
                return _with_text(draft, file, text) if after.total() < file.counts.total() else None
            caused = list(_in_change(source, text, [one for one in remarks if one.rule in more]))
            text = _fixed(source, text, caused) or self._shortened(view, file, text, caused)
        return None

    def _shortened(self, view: View, file: _File, text: str, remarks: Iterable[Diagnostic]) -> str | None:
        """Return `text`, the new text of `file`, with the first of its long lines shortened; None if this fails."""
        from coderefine.proposers.rewritings.code import Code

        long = next((one for one in remarks if one.rule == TOO_LONG), None)
        code = Code.of(text, file.code.width) if long else None
        if long is None or code is None:
            return None
        draft = self._draft(view, long, replace(file, source=replace(file.source, text=text), code=code))
        return apply(text, draft.edits) if draft else None

    def _remarks(self, view: View, situation: Situation) -> list[Diagnostic]:
        """Return the diagnostics in writable files with findings that are to be repaired."""
        found = {finding.path for finding in situation.findings if finding.critic == "ruff"}
        paths = sorted(path for path in found if self._protection.reason(path) is None)
        return self._linter.remarks(view, paths) if paths else []

    def _parsed(self, view: View, path: str, remarks: Iterable[Diagnostic]) -> _File | None:
        from coderefine.proposers.rewritings.code import Code

        data = view.read(path)
        source = decode(data)
        width = settings(view.host_path / self._linter.root).get("line-length", 0)
        code = Code.of(source.text, width if isinstance(width, int) else 0) if source else None
        if data is None or source is None or code is None or GENERATED.search(source.text[:HEAD]):
            return None
        counts = Counter(one.rule for one in remarks if one.path == path)
        return _File(source, code, counts, self._linter.formatted(view, path, data) == data)

    def _formatted(self, view: View, path: str, source: Source, text: str) -> str:
        """Return the `text` of a file as ruff formats it; the text itself if ruff cannot."""
        made = self._linter.formatted(view, path, source.encode(text))
        after = decode(made) if made else None
        return after.text if after else text

    def _laid_out(self, view: View, remark: Diagnostic, file: _File) -> CodeChange | None:
        """Return the change by which ruff formats only the statement in which a line is too long.

        ruff uses the file's own indentation and quotes. Return None if a line stays too long, or if other statements
        change.
        """
        text = file.source.text
        options = [f"--range={remark.first}-{remark.last + 1}", *_style(file.code)]  # the end is not in the range
        made = self._linter.formatted(view, remark.path, file.source.encode(text), options)
        after = decode(made) if made else None
        if after is None or after.text == text:
            return None
        change = CodeChange.between(remark.path, remark.rule, remark.first, "lay out the statement", (text, after.text))
        first, last = file.code.lines_of_statement(remark.first)
        alone = all(first <= edit.start[0] and edit.end[0] <= last + 1 for edit in change.edits)
        limit, lines = long_lines.limit(remark), [line for edit in change.edits for line in edit.content.splitlines()]
        return change if alone and max(map(len, lines), default=0) <= limit else None


@dataclass(frozen=True, slots=True)
class _File:
    """A file, and the number of its findings by rule. `clean`: whether the file is in ruff's format."""

    source: Source
    code: Code
    counts: Counter[str]
    clean: bool


def _edits(rules: Mapping[str, Rewriting], file: _File, remark: Diagnostic) -> tuple[TextEdit, ...] | None:
    """Return the edits of the rewriting for a finding, or of ruff's unsafe fix; None if there are none."""
    from coderefine.proposers.rewritings.code import Unsure
    from coderefine.proposers.rewritings.registry import UNSAFE_FIXES

    if remark.rule in rules:
        with contextlib.suppress(Unsure):
            return rules[remark.rule](file.code, remark)
    fix = remark.fix
    if fix is None or fix.safe or remark.rule not in UNSAFE_FIXES:
        return None
    return fix.plain.edits if file.source.newline else fix.edits


def _apart_from_others(drafts: Iterable[CodeChange]) -> list[CodeChange]:
    """Return the drafts that touch no earlier draft; two drafts may share an edit, such as a new import."""
    taken: dict[TextEdit, None] = {}
    return [draft for draft in drafts if take(draft.edits, taken)]


def _style(code: Code) -> list[str]:
    """Return the options with which ruff formats in a file's own indentation and quotes."""
    spaces = ("format.indent-style='space'", f"indent-width={len(code.step)}")
    indent = ("format.indent-style='tab'",) if code.step == "\t" else spaces
    return [f"--config={one}" for one in (*indent, "format.quote-style='preserve'")]


def _with_text(draft: CodeChange, file: _File, text: str) -> CodeChange:
    """Return the change after which the file contains `text`; the draft itself if it has this effect."""
    before = file.source.text
    if apply(before, draft.edits) == text:
        return draft
    return CodeChange.between(draft.path, draft.rule, draft.line, draft.what, (before, text))


def _in_change(source: Source, text: str, remarks: Sequence[Diagnostic]) -> Iterator[Diagnostic]:
    """Yield the `remarks` about `text` that a change of `source` can have caused.

    These begin between the first and the last changed line. A remark about a long line counts only if the line is new.
    """
    old, new = source.text.splitlines(), text.splitlines()
    head, tail = common_ends(old, new)
    for remark in _of_new_lines(source.text, text, remarks):
        if head < remark.first <= len(new) - tail:
            yield remark


def _of_new_lines(before: str, after: str, remarks: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """Yield the `remarks` about `after`, except those about a long line that is also in `before`."""
    old, new = set(before.splitlines()), after.splitlines()
    yield from (one for one in remarks if one.rule != TOO_LONG or new[one.first - 1] not in old)


def _fixed(source: Source, text: str, remarks: Iterable[Diagnostic]) -> str | None:
    """Return `text`, the new text of the file `source`, with ruff's safe fixes of `remarks`; None if there are none."""
    edits = safe_edits(remarks, source)
    return apply(text, edits) if edits else None
