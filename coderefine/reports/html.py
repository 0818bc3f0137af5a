"""One HTML page about a run: self-contained, without scripts; its Content-Security-Policy allows its own style only."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from coderefine import __version__
from coderefine.core import PLAUSIBLE, Attempt, Check, Evidence, Outcome, Patch, Severity, Status, Stop
from coderefine.core.plurals import counted
from coderefine.reports.formats import RunReport, blocking, found, rule
from coderefine.reports.rows import changed_answers, numbered_offers, shown_patch, slowest, steps
from coderefine.reports.side_by_side import PatchedFile, patched_file, visible
from coderefine.reports.verdict import verdict

FOLDER = Path(__file__).parent / "page"
MOST_LINES = 6000
"""Maximum number of changed lines of a patch that are shown."""
MOST = 200
"""Maximum number of tests and of findings that are listed by name."""
COLUMNS = 12
"""Maximum number of columns, one for each attempt, in the table of tests."""
CELLS = 1000
"""Maximum number of cells in a row of the picture of tests; with more tests, a cell stands for several tests."""
SEPARATE = 100
"""Maximum number of cells in a row that are drawn with gaps; more cells touch each other."""
KINDS = ("failed", "not run", "skipped", "passed")
"""Kinds of outcomes; a cell for several tests shows the first kind that occurs among their outcomes."""


def checks(gates: Sequence[Check]) -> str:
    """Return the page about the findings of the gates."""
    left = found(gates)
    start = Attempt(0, Patch(), tuple(gates))
    end = Outcome(start, start, Stop.UNFIXABLE if left else Stop.CLEAN, remaining=left, attempts=(start,))
    sentence = f"{counted(len(left), 'finding')}." if left else "All checks pass."
    return _rendered(sentence, RunReport(end))


def outcome(report: RunReport) -> str:
    """Return the page about a run."""
    return _rendered(verdict(report.end), report)


def page_environment(*, lstrip_blocks: bool = False, finalize: Callable[[object], object] | None = None) -> Environment:
    """Return the environment of the templates, with the style sheet and its digest."""
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=lstrip_blocks,
        undefined=StrictUndefined,
        finalize=finalize,
    )
    css = (FOLDER / "page.css").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    environment.globals |= {"css": Markup(css), "digest": digest}
    return environment


def _rendered(sentence: str, report: RunReport) -> str:
    environment = page_environment(
        lstrip_blocks=True, finalize=lambda value: visible(value) if type(value) is str else value
    )
    environment.filters |= {"counted": counted, "changed_answers": changed_answers, "rule": rule}
    end = report.end
    evidence = end.proof.evidence if end.proof else end.evidence
    proved = bool(end.proof.verdict if end.proof else end.best.number)
    return environment.get_template("page.html").render(
        version=__version__,
        sentence=sentence,
        run=visible(report.run),
        wrote=report.wrote,
        end=end,
        evidence=evidence,
        good=end.clean and not evidence.doubts,
        proved=proved,
        files=tuple(_files(shown_patch(end), evidence, report.before)),
        steps=tuple(_steps(end, report.before)),
        seconds=_whole(end),
        tests=_tests_picture(end.attempts, end.best.number),
        kinds=KINDS[::-1],
        offers=tuple(numbered_offers(end)),
        also=evidence.alternatives,
        left=blocking(end.remaining),
        advice=[one for one in end.remaining if one.severity is Severity.SOFT],
        most=MOST,
    )


def _files(patch: Patch, evidence: Evidence, originals: Mapping[str, bytes | None]) -> Iterator[PatchedFile]:
    most = MOST_LINES
    for path, after in sorted(patch.files.items()):
        if path in originals and originals[path] != after:
            file = patched_file(path, originals[path], after, evidence, most)
            most -= file.added + file.removed if file.rows else 0
            yield file


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """An attempt on the time line. `start`, `width`: thousandths of the whole time.

    `failing`: number of tests that failed; None if the attempt has no tests.
    """

    attempt: Attempt
    summary: str
    word: str
    seconds: float
    start: float
    width: float
    failing: int | None


def _whole(end: Outcome) -> float:
    return max(end.cost.seconds, sum(map(_seconds, end.attempts))) or 1.0


def _seconds(attempt: Attempt) -> float:
    """Return how long an attempt took; for the baseline, how long its slowest check took."""
    return attempt.cost.seconds or slowest(attempt.checks) or 0.0


def _steps(end: Outcome, before: Mapping[str, bytes | None]) -> Iterator[TimelineEntry]:
    whole, start = _whole(end), 0.0
    for attempt, text in steps(end.attempts, before):
        seconds = _seconds(attempt)
        failing = sum(case.status.bad for case in attempt.cases.values()) if attempt.cases else None
        places = (round(1000 * start / whole, 1), round(max(1000 * seconds / whole, 3), 1))
        yield TimelineEntry(attempt, text, _word(attempt, end), seconds, *places, failing)
        start += seconds


def _word(attempt: Attempt, end: Outcome) -> str:
    if not attempt.number:
        return "start"
    if attempt.verdict:
        return end.evidence.word if attempt.number <= end.best.number else "not proved"
    return "offered" if attempt.verdict.reason.startswith(PLAUSIBLE) else "refused"


# -- tests x attempts as a picture: a strip of cells for each attempt, and the tests that failed by name -----


@dataclass(frozen=True, slots=True)
class Strip:
    """The tests of one attempt as a row of cells. `paths`: SVG paths by kind of outcome. `width`: in SVG units."""

    number: int
    failing: int
    total: int
    width: int
    paths: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Tests:
    """The outcomes of the tests in the attempts. `ids`: number of tests. `columns`: numbers of the shown attempts.

    `named`: for each test that failed in any attempt, its outcomes in `columns`. `more`: number of further tests
    that failed, but are not in `named`.
    """

    ids: int
    strips: tuple[Strip, ...]
    columns: tuple[int, ...]
    named: Mapping[str, tuple[str, ...]]
    more: int

    @property
    def shared(self) -> bool:
        """Return whether a cell stands for several tests."""
        return self.ids > CELLS


def _tests_picture(attempts: Sequence[Attempt], best: int) -> Tests:
    """Return the outcomes of all tests in `attempts`, for a picture; it names only failed tests, at most MOST.

    `best`: number of the best attempt. If there are too many columns, other attempts that were refused are left out.
    """
    ran = list(filter(lambda attempt: attempt.cases, attempts))
    ids = tuple(dict.fromkeys(id for attempt in ran for id in attempt.cases))
    kinds = {attempt.number: [_kind(attempt, id) for id in ids] for attempt in ran}
    failed = [place for place, row in enumerate(zip(*kinds.values(), strict=True)) if "failed" in row]
    columns = _columns(ran, best)
    shown = [kinds[number] for number in columns]
    named = {ids[place]: tuple(row[place] for row in shown) for place in failed[:MOST]}
    return Tests(len(ids), tuple(map(_strip, kinds, kinds.values())), columns, named, max(0, len(failed) - MOST))


def _columns(ran: Sequence[Attempt], best: int) -> tuple[int, ...]:
    """Return the numbers of at most COLUMNS attempts, the first and the latest; refused attempts only if all fit."""
    if len(ran) > COLUMNS:
        ran = [attempt for attempt in ran if attempt.verdict or attempt.number == best]
    numbers = tuple(attempt.number for attempt in ran)
    return (*numbers[:1], *numbers[1:][1 - COLUMNS :])


def _kind(attempt: Attempt, id: str) -> str:
    case = attempt.cases.get(id)
    if case is None or id in attempt.carried:
        return "not run"
    return "failed" if case.status.bad else "skipped" if case.status is Status.SKIPPED else "passed"


def _strip(number: int, row: Sequence[str]) -> Strip:
    count = min(len(row), CELLS)
    cells = [
        min(row[cell * len(row) // count : (cell + 1) * len(row) // count], key=KINDS.index) for cell in range(count)
    ]
    gap = 2 if count <= SEPARATE else 0
    paths: dict[str, str] = {}
    place = 0
    for kind, group in groupby(cells):
        width = len(list(group))
        drawn = [(cell, 1) for cell in range(place, place + width)] if gap else [(place, width)]
        path = "".join(f"M{10 * cell} 0h{10 * size - gap}v10h-{10 * size - gap}z" for cell, size in drawn)
        paths[kind] = paths.get(kind, "") + path
        place += width
    return Strip(number, row.count("failed"), len(row) - row.count("not run"), 10 * count, paths)
