"""Enumerate edits of all suspicious statements lazily, best first; of edits with equal bytecode, only the first."""

from __future__ import annotations

import ast
import heapq
import itertools
import math
import re
import textwrap
import warnings
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import NamedTuple

from coderefine.proposers.search import emit
from coderefine.proposers.search.emit import apply
from coderefine.proposers.search.ingredients import ProjectContext
from coderefine.proposers.search.naturalness import Trigrams, tokens
from coderefine.proposers.search.operators import TABLE, Operator
from coderefine.proposers.search.site import Site
from coderefine.proposers.search.syntax import LOOPS, Edit, Module, Replacement
from coderefine.runner.agent.code_diff import common_ends

SUSPICION = 3.0
"""Exponent of the suspicion in the score of an edit."""
NATURAL = 0.25
"""Weight of the change in the tokens' log probability, in the score of an edit."""
CALM = 0.6
"""The log probabilities of n tokens are summed and divided by n ** CALM, so that long insertions are not excluded."""
SHORTCUT = 0.7
"""Penalty (log odds) of edits that remove behaviour: they make tests pass too easily."""
CEILING = 3.0
"""Upper bound of what naturalness adds to a score (log odds)."""
FIRST_GUESS = 0.5
"""Expected score of an operator's best edit relative to `base`, before any edit of the operator is known.

FIRST_GUESS and SLACK are high, because an edit whose score is underestimated may come a thousand candidates late. The
price is that more edits are generated in vain. Both were measured with small mistakes inserted into nine packages, by
the mean log rank of the original code: 2.47 with the values -0.5 and 0.5; 2.30 with the present values, which take a
tenth more time; 2.25 with 1.5 and 2.0, which take half as much time again.
"""
PLACES = 0.3
"""Weight of the logarithm of the number of places in a statement where an operator applies."""
SLACK = 1.0
"""By how much the score of an operator's best edit at the next statement, relative to `base`, may exceed the highest
such score so far."""

DEAR = 2.0
"""Penalty of edits to code that runs at import: to judge them costs ten times as much as to judge other edits."""
UNUSED = 1.5
"""Bonus of edits that read a name which is bound, but not read so far."""
KEYED = 2.5
"""Bonus of edits of a dictionary entry whose key is in the failing test, see `Site.asked`."""
ODD = 2.0
"""Bonus of edits to a statement that is odd, see `Site.odd`."""
RUNNING = 1.0
"""Bonus of edits within the expression that raised."""
TWIN, LEAST_TWIN, MOST_TWIN = 2.0, 5, 3
"""TWIN: bonus of an edit after which the changed line occurs elsewhere in the project, and penalty if the line did so
before the edit. LEAST_TWIN: minimum number of tokens of such a line. MOST_TWIN: maximum number of tokens that an edit
with the bonus changes: a larger edit may be a copy.

In ten projects, 19 % of 4,064 lines with so many tokens occur elsewhere, and 1.5 % of the same lines after a small
mistake was inserted: the logarithm of the ratio is 2.6.
"""
WORD = re.compile(r"[A-Za-z_]\w*")

_TOTAL = sum(operator.prior for operator in TABLE)


@dataclass(frozen=True, slots=True)
class Scored:
    """An edit with its score; higher is better."""

    score: float
    edit: Edit
    operator: Operator
    site: Site

    @property
    def place(self) -> str:
        """Return `path:line` of the edit's first part."""
        module = self.site.module
        return f"{module.path}:{module.text.count(chr(10), 0, self.edit.parts[0].start) + 1}"


def base(site: Site, operator: Operator) -> float:
    """Return the part of the score that depends on the operator and the site, but not on the single edit."""
    return (
        SUSPICION * math.log(max(site.suspicion, 1e-6))
        + math.log(operator.prior / _TOTAL)
        - SHORTCUT * operator.shortcut
        + site.hints.odds.get(operator.name, 0.0)
        - (DEAR if site.at_import else 0.0)
        + (ODD if site.odd else 0.0)
    )


def scored(site: Site, operator: Operator, edits: Sequence[Edit]) -> list[Scored]:
    """Return the edits of one operator at one site with their scores, best first.

    The prior of the operator is divided among the edits in proportion to their weights.
    """
    total = sum(edit.weight for edit in edits)
    if total <= 0:
        return []
    places = len({edit.parts[0].start for edit in edits})
    start = base(site, operator) + PLACES * math.log(places)
    found = [
        Scored(
            start
            + edit.boost
            + math.log(edit.weight / total)
            + _evidence(site, edit)
            + _use(site, edit)
            + KEYED * _within(edit, site.asked)
            + RUNNING * _within(edit, site.running),
            edit,
            operator,
            site,
        )
        for edit in edits
        if edit.weight > 0
    ]
    return sorted(found, key=lambda item: -item.score)


def _use(site: Site, edit: Edit) -> float:
    """Return the bonus of an edit that uses a name which is bound here but never read."""
    unused = site.unused
    return UNUSED if unused and any(name in unused for part in edit.parts for name in WORD.findall(part.text)) else 0.0


def _within(edit: Edit, spans: Iterable[tuple[int, int]]) -> bool:
    """Return whether all parts of the edit are in one of `spans`."""
    first, last = min(part.start for part in edit.parts), max(part.end for part in edit.parts)
    return any(start <= first and last <= end for start, end in spans)


class ChangedLines(NamedTuple):
    """The offset of the first line that an edit changes, the lines that it changes, and these lines after the edit."""

    start: int
    old: str
    new: str


def changed_lines(module: Module, edit: Edit) -> ChangedLines:
    first, last = min(part.start for part in edit.parts), max(part.end for part in edit.parts)
    start = module.text.rfind("\n", 0, first) + 1
    end = module.text.find("\n", last)
    old = module.text[start : len(module.text) if end < 0 else end]
    return ChangedLines(start, old, apply(old, shifted(edit.parts, start)))


def _evidence(site: Site, edit: Edit) -> float:
    """Return the evidence of the project's code for an edit (log odds): naturalness, and the result of `twin`."""
    model, lines = site.trigrams, changed_lines(site.module, edit)
    return min(CEILING, NATURAL * model.trust * _gain(model, edit, lines)) + TWIN * twin(
        site.world, lines, site.in_other_branches
    )


def _gain(model: Trigrams, edit: Edit, lines: ChangedLines) -> float:
    """Return by how much the edit makes the changed lines more probable: the difference of their log probabilities.

    The log probabilities are scaled, see CALM. If the edit only inserts whole lines, only the inserted lines count.
    """
    inserted = edit.parts[0].text
    if inserted.endswith("\n") and all(part.start == part.end == lines.start for part in edit.parts):
        return _calm(model, (), tokens(inserted))
    return _calm(model, tokens(lines.old), tokens(lines.new))


def twin(world: ProjectContext, lines: ChangedLines, other_branches: Container[tuple[str, ...]] = ()) -> int:
    """Return 1 if only the new text of the changed line occurs elsewhere in the project, -1 if only the old text does.

    Return 0 in other cases, and if the edit changes several lines. See TWIN for the limits: minimum size of such a
    line, and maximum size of an edit whose new text counts. A new text in `other_branches` does not count: see
    `Site.in_other_branches`.
    """
    if "\n" in lines.old or "\n" in lines.new:
        return 0
    before, after = tokens(lines.old), tokens(lines.new)
    if before == after:
        return 0
    known, small = world.lines, max(len(before), len(after)) - sum(common_ends(before, after)) <= MOST_TWIN
    was = len(before) >= LEAST_TWIN and known[before] > 1
    now = len(after) >= LEAST_TWIN and known[after] > 0 and small and after not in other_branches
    return now - was


def _calm(model: Trigrams, old: Sequence[str], new: Sequence[str]) -> float:
    head, tail = common_ends(old, new)
    return _side(model, new, head, tail) - _side(model, old, head, tail)


def _side(model: Trigrams, words: Sequence[str], head: int, tail: int) -> float:
    """Return the log probability, scaled by CALM, of `words` without the first `head` and the last `tail` tokens.

    Of the last `tail` tokens and the line end, the first two count, too, because they depend on the tokens before them.
    """
    until = min(len(words) - tail + 2, len(words) + 1)
    chain = ("", "", *words, "\n")
    total = sum(model.logp(*chain[at : at + 3]) for at in range(head, until))
    count = max(until - head, 1)
    return float(total / count**CALM)


MOST = 1500
"""Maximum number of edits of one operator at one statement: those with the highest weights."""

SAME_STATEMENT, SAME_FUNCTION = 3.0, 2.0
"""Bonus of edits in the same statement, and in the same function, as the first repair: if that repair is wrong, the
right repair is probably near."""
REMOVING = 6.0
"""Further bonus of edits that remove behaviour, in the statement of the first repair: if such an edit passes the tests,
too, the tests are weak."""

Code = tuple[object, ...]
"""A key for compiled code, see `essence`."""
Compiler = Callable[[Module, ast.stmt, Edit | None], Code | None]
Key = tuple[Compiler, ast.stmt, Code | None]
"""Compiler function, statement, and resulting code."""


@dataclass(frozen=True, slots=True)
class Proposed:
    """An edit that compiles and differs from all earlier edits. `text`: the file's new text."""

    scored: Scored
    text: str

    @property
    def path(self) -> str:
        return self.scored.site.module.path

    @property
    def key(self) -> int:
        """Return a hash of the path and the new text."""
        return hash((self.path, self.text))


class Enumeration:
    """An iterable of proposals, best first, which generates edits only when they are needed."""

    def __init__(self, sites: Sequence[Site]) -> None:
        self._order = itertools.count()
        self._heap: list[tuple[float, int, tuple[Site, Operator] | Iterator[Scored], Scored | None]] = []
        self._seen: set[Key] = set()
        self._texts: set[int] = set()
        self._begun: set[tuple[Compiler, ast.stmt]] = set()
        self._best: dict[str, float] = {}
        self._near: Site | None = None
        for site in sites:
            for operator in TABLE:
                self._push(base(site, operator) + FIRST_GUESS, (site, operator), None)

    def prefer(self, site: Site) -> None:
        """Give a bonus, from now on, to edits in the statement and the function of `site`."""
        self._near = site
        self._heap = [(score - self._bonus(what, head), at, what, head) for score, at, what, head in self._heap]
        heapq.heapify(self._heap)

    def _bonus(self, what: tuple[Site, Operator] | Iterator[Scored], head: Scored | None) -> float:
        pair = what if isinstance(what, tuple) else (head.site, head.operator) if head else None
        if self._near is None or pair is None:
            return 0.0
        site, operator = pair
        if site.stmt is self._near.stmt:
            return SAME_STATEMENT + REMOVING * operator.shortcut
        same = site.local.function is not None and site.local.function is self._near.local.function
        return SAME_FUNCTION if same else 0.0

    def _push(self, score: float, what: tuple[Site, Operator] | Iterator[Scored], head: Scored | None) -> None:
        heapq.heappush(self._heap, (-score - self._bonus(what, head), next(self._order), what, head))

    def __iter__(self) -> Iterator[Proposed]:
        while self._heap:
            score, _, what, head = heapq.heappop(self._heap)
            if isinstance(what, tuple):
                expected = base(*what) + self._best.get(what[1].name, FIRST_GUESS) + SLACK
                if expected + self._bonus(what, None) < -score - 0.01 and what[1].name in self._best:
                    self._push(expected, what, None)  # its score is lower than estimated, so it comes later
                    continue
                found = scored(*what, _edits(*what))
                self._learn(*what, found)
                self._open(iter(found))
            else:
                self._open(what)
            if head is not None and (proposed := self._checked(head)) is not None:
                yield proposed

    def _learn(self, site: Site, operator: Operator, found: Sequence[Scored]) -> None:
        """Record by how much the operator's best edit exceeds `base`; the maximum is the estimate for other sites."""
        if found:
            gap = found[0].score - base(site, operator)
            self._best[operator.name] = max(gap, self._best.get(operator.name, gap))

    def _open(self, rest: Iterator[Scored]) -> None:
        head = next(rest, None)
        if head is not None:
            self._push(head.score, rest, head)

    def _checked(self, item: Scored) -> Proposed | None:
        key = self._key(item)
        if key is None or key in self._seen:
            return None
        self._seen.add(key)
        proposed = Proposed(item, emit.apply(item.site.module.text, item.edit))
        if proposed.key in self._texts:
            return None
        self._texts.add(proposed.key)
        return proposed

    def _key(self, item: Scored) -> Key | None:
        """Return a key of the edited code; edits with equal keys are equivalent, and only the first one is proposed.

        The key has the compiled code of the statement or, if this cannot be compiled alone, of its outermost function.
        Return None if the function does not compile either.
        """
        module, stmt = item.site.module, item.site.stmt
        for compiler, node in ((alone, stmt), (compiled, emit.enclosing(module, stmt))):
            code = compiler(module, node, item.edit)
            if code is not None:
                if (compiler, node) not in self._begun:
                    self._begun.add((compiler, node))
                    self._seen.add((compiler, node, compiler(module, node, None)))  # the unchanged code
                return compiler, node, code
        return None


def _edits(site: Site, operator: Operator) -> list[Edit]:
    found = [edit for edit in operator.edits(site) if edit.weight > 0 and edit.parts]
    if len(found) > MOST:
        found = sorted(found, key=lambda edit: -edit.weight)[:MOST]
    return found


def alone(module: Module, stmt: ast.stmt, edit: Edit | None) -> Code | None:
    """Return the code of one statement of a function after the edit; `edit` None: without an edit.

    Only the header of a compound statement is compiled, so that the cost does not depend on the function's size. Return
    None if this cannot be compiled alone, if the edit changes other code, too, or if the statement is in no function.
    """
    function, parts = module.function(stmt), edit.parts if edit else ()
    start, end = _reach(module, stmt)
    if function is None or any(part.start < start or part.end > end for part in parts):
        return None
    head = getattr(stmt, "body", None) is not None
    changed = emit.apply(module.text[start:end], shifted(parts, start))
    body = textwrap.indent(f"{changed} pass" if head else changed, " ")
    kind = "async def" if isinstance(function, ast.AsyncFunctionDef) else "def"
    loop = any(isinstance(up, LOOPS) for up in module.ancestors(stmt))
    return _code(f"{kind} _():\n while 1:\n{textwrap.indent(body, ' ')}" if loop else f"{kind} _():\n{body}")


def _reach(module: Module, stmt: ast.stmt) -> tuple[int, int]:
    """Return the offsets (start, end) of a statement; of a compound statement only up to its first inner statement."""
    body = getattr(stmt, "body", None)
    return module.start(stmt), module.start(body[0]) if isinstance(body, list) and body else module.end(stmt)


def shifted(parts: Sequence[Replacement], start: int) -> Edit:
    """Return `parts`, replacements in a text, as an edit of the piece of this text that begins at offset `start`."""
    return Edit(tuple(Replacement(part.start - start, part.end - start, part.text) for part in parts))


def compiled(module: Module, top: ast.stmt, edit: Edit | None) -> Code | None:
    """Return the code of the outermost function (or top-level statement) after the edit; None if it does not compile.

    The cost depends on the function's size, not on the file's.
    """
    start, end = emit.lines_of(module, top)
    parts = edit.parts if edit else ()
    if parts:
        start, end = min(start, *(part.start for part in parts)), max(end, *(part.end for part in parts))
    text = module.text[start:end]
    changed = emit.apply(text, shifted(parts, start)) if parts else text
    return _code("class _:\n" + changed if changed[:1].isspace() else changed)


def _code(text: str) -> Code | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return essence(compile(text, "<edit>", "exec", dont_inherit=True))
    except (SyntaxError, ValueError, RecursionError, OverflowError):
        return None


def essence(code: CodeType) -> Code:
    """Return a key of a code object without line numbers, so that it does not depend on the layout."""
    constants = tuple(
        essence(item) if isinstance(item, CodeType) else (type(item).__name__, repr(item)) for item in code.co_consts
    )
    return (code.co_name, code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars, code.co_flags)
