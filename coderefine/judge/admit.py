"""The cheap refusal: what no test run is spent on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from coderefine.core import Finding, Patch, Verdict
from coderefine.judge import bans, comments, doctests, equality, hollow, snooping, surface, tampering
from coderefine.judge.change import Change, changes
from coderefine.judge.lifted import lifted
from coderefine.judge.marks import Excuse, Mark, novel
from coderefine.judge.normal import digest
from coderefine.judge.paths import Reason, forbidden
from coderefine.judge.shell import command_line
from coderefine.judge.size import lines_of
from coderefine.judge.specimens import Specimen, specimens
from coderefine.judge.weakened import Helpers, no_helpers, weakened

SCANS = (comments.suppressions, bans.banned, snooping.snooping, tampering.tampering, equality.equality)
BY_OUTCOME = ("pytest", "radon")
MOST_LINES, MOST_BYTES = 2000, 2_000_000
ROOTS = (".", "src")


@dataclass(frozen=True, slots=True)
class _Case:
    """All that the rules look at."""

    patch: Patch
    originals: Mapping[str, bytes | None]
    changed: tuple[Change, ...]
    reason: Reason
    seen: frozenset[str]
    scope: tuple[str, ...]
    findings: tuple[Finding, ...]
    tests: tuple[str, ...]
    modules: frozenset[str]
    roots: tuple[str, ...]
    helpers: Helpers

    @property
    def specimens(self) -> tuple[Specimen, ...]:
        told = (f"{item.evidence}\n{item.message}" for item in self.findings if item.critic == "pytest")
        return specimens((*self.tests, *told))


def admit(
    patch: Patch,
    originals: Mapping[str, bytes | None],
    reason: Reason,
    seen: frozenset[str] = frozenset(),
    scope: Sequence[str] = (".",),
    *,
    findings: Sequence[Finding] = (),
    tests: Sequence[str] = (),
    modules: frozenset[str] = frozenset(),
    roots: Sequence[str] = ROOTS,
    helpers: Helpers = no_helpers,
) -> Verdict:
    """Whether `patch` deserves a test run; if not, the first reason.

    `originals`: the baseline's content of every touched path (None: no such file). `reason(path)`: why a path
    is protected, or None. `seen`: `digests()` of all earlier attempts. `findings`: those of the best attempt,
    in scope; they say what is asked for. `tests`: source texts of the failing tests. `modules`: top-level
    names installed in the project's environment. `roots`: folders on the project's import path. `helpers`: which
    functions of a file assert on behalf of the tests.
    """
    case = _Case(
        patch, originals, changes(patch, originals), reason, seen, tuple(scope), tuple(findings), tuple(tests), modules,
        tuple(roots), helpers,
    )  # fmt: skip
    refusal = next((why for rule in RULES for why in rule(case)), None)
    return Verdict(ok=True) if refusal is None else Verdict(ok=False, reason=refusal)


def exact_for(patch: Patch, findings: Sequence[Finding]) -> bool:
    """Whether bytes count: a linter or command speaks about a touched file, and it may mean layout or comments."""
    return any(finding.path in patch.files and finding.critic not in BY_OUTCOME for finding in findings)


def _nothing_new(case: _Case) -> Iterator[str]:
    exact = exact_for(case.patch, case.findings)
    mine = digest(case.patch, case.originals, exact=exact)
    if mine == digest(Patch(), {}, exact=exact):
        yield "changes nothing" if not case.changed else "changes only layout or comments, which was not asked for"
    elif mine in case.seen:
        yield "seen before: an earlier attempt was the same"


def _paths(case: _Case) -> Iterator[str]:
    for change in case.changed:
        yield from forbidden(change, case.reason, case.scope, case.roots, case.modules)


def _asserting(case: _Case) -> Iterator[str]:
    for change in case.changed:
        yield from weakened(change, case.helpers(change.path, change.before))


def _readable(case: _Case) -> Iterator[str]:
    for change in case.changed:
        if change.before is not None and change.old_text is None:
            yield f"{change.path} is not text that can be decoded"
        elif change.after is not None and change.new_text is None:
            yield f"the new {change.path} is not text in its own encoding"


def _parses(case: _Case) -> Iterator[str]:
    for change in case.changed:
        broken = change.python and change.after is not None and change.new is None
        if broken and (change.old is not None or change.created):
            yield f"the new {change.path} does not parse"


def _huge(case: _Case) -> Iterator[str]:
    real = [change for change in case.changed if not change.cosmetic]
    total = sum(sum(lines_of(change.before, change.after)) for change in real)
    if total > MOST_LINES:
        yield f"changes {total} lines; no repair is that long"
    for change in real:
        if len(change.after or b"") > MOST_BYTES + len(change.before or b""):
            yield f"the new {change.path} is {len(change.after or b'')} bytes long"


def _marked(case: _Case) -> Iterator[str]:
    for scan in SCANS:
        for change, mark in novel(case.changed, scan):
            if not _excused(case, change, mark):
                yield f"{mark.what}: {change.path}:{mark.line}"


def _excused(case: _Case, change: Change, mark: Mark) -> bool:
    return mark.excuse is Excuse.CLI and command_line(change, mark, case.tests)


def _emptied(case: _Case) -> Iterator[str]:
    yield from hollow.shrunk(case.changed)
    for change in case.changed:
        yield from hollow.gutted(change)
        yield from hollow.swallowed(change)


def _face(case: _Case) -> Iterator[str]:
    for change in case.changed:
        yield from surface.removed(change, case.findings)
        yield from surface.narrowed(change, case.findings, case.tests)
        yield from equality.loosened(change)


def _documented(case: _Case) -> Iterator[str]:
    for change in case.changed:
        yield from doctests.edited(change)


def _copied(case: _Case) -> Iterator[str]:
    known = case.specimens
    for change in case.changed:
        yield from lifted(change, known)


RULES = (_paths, _readable, _nothing_new, _parses, _asserting, _huge, _marked, _emptied, _face, _documented, _copied)
