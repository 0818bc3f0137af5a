"""Repair the files that a pull request changes, and make the suggestions to post on it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from coderefine import judge
from coderefine.app.engine import Contents, Show
from coderefine.app.posting import Pull
from coderefine.app.project import find_project
from coderefine.app.prove import PatchSource
from coderefine.app.prove import prove as prove_patch
from coderefine.app.request import Destination, Request
from coderefine.app.run import Proved, Published, RunResult, run
from coderefine.core import Attempt, Listen, Outcome, Patch
from coderefine.core.plurals import counted, listed
from coderefine.errors import UsageError
from coderefine.git import Repository
from coderefine.git.changes import hidden
from coderefine.loop.minimal import alone
from coderefine.publishers.hosts.bundle import (
    CONTROL,
    LINE,
    LINES,
    LOSSY,
    NOTES,
    PROVED,
    ROWS,
    SUGGESTIONS,
    UNPROVED,
    WORDS,
    WORSE,
    Bundle,
    Judgement,
    Note,
    Suggestion,
    is_code,
)
from coderefine.reports.formats import blocking, gone, last, line, rule, words
from coderefine.reports.rows import evidence
from coderefine.reports.verdict import decision, proof_rows

STYLE = ("ruff/", "radon/")
"""Prefixes of rules whose findings other bots report; these findings get no inline suggestions."""
STRICT = {"accept": "proved", "fast_proof": False, "processes": 1, "proof": "local"}
"""Settings of a bot, which override the project's configuration."""


def commits(repository: Repository, pull: Pull) -> tuple[str, str]:
    """Return the head of the pull request, and its merge base with the base branch.

    Raises UsageError unless the head is checked out without uncommitted changes and has a known common history with the
    base branch.
    """
    head, now = repository.resolve(pull.head), repository.resolve("HEAD")
    if head is None or head != now:
        raise UsageError(f"check out {pull.head} first: the current commit is {(now or 'nothing')[:10]}")
    if repository.git("status", "--porcelain", "--untracked-files=no").strip():
        raise UsageError("there are uncommitted changes: suggestions are about a commit, so commit or stash them")
    if not pull.base:
        raise UsageError("the base of the pull request is unknown: give --base REF")
    base = repository.resolve(pull.base) or repository.resolve(f"origin/{pull.base}")
    if base is None:
        raise UsageError(f"--base {pull.base} is unknown here: fetch it first (actions/checkout with fetch-depth: 0)")
    found = repository.git("merge-base", base, head, fine=(0, 1)).decode().strip()
    if not found:
        raise UsageError(f"{pull.base} and {pull.head} have no common history here: fetch more (fetch-depth: 0)")
    return head, found


def changed(repository: Repository, head: str, base: str) -> tuple[str, ...]:
    """Return the Python files that the pull request adds or changes, by their new names."""
    listing = repository.git("diff", "--name-only", "-z", "-M", "--diff-filter=d", base, head)
    names = (os.fsdecode(name) for name in listing.split(b"\0"))
    here = (name for name in names if name.endswith((".py", ".pyi")) and (repository.top / name).is_file())
    return tuple(name for name in here if not (repository.top / name).is_symlink())


def prove(
    repository: Repository,
    paths: Sequence[str],
    request: Request,
    listen: Listen,
    report: Callable[[RunResult], None],
    *,
    empty: Bundle,
    style: bool,
    show: Show | None,
) -> tuple[RunResult, Bundle]:
    """Run the loop on the committed `paths`; return the result, and a copy of the bundle `empty` with suggestions.

    Untracked files, left by earlier steps of the CI job, are not used. `style`: suggest repairs of style findings too.
    """
    full = tuple(str(repository.top / path) for path in paths)
    project = find_project(full, {**request.settings, **STRICT}, listen)

    def publish(proved: Proved) -> Published:
        bundle = _bundle(proved, empty, style=style)
        return Published(counted(len(bundle.suggestions), "suggestion"), bundle=bundle)

    under = hidden(repository.top, "HEAD")
    result = run(project, request, report, publish=publish, under=under, show=show)
    return result, result.published.bundle or replace(empty, notes=_notes(result.outcome))


def judged(
    repository: Repository, request: Request, listen: Listen, report: Callable[[RunResult], None], empty: Bundle
) -> tuple[RunResult, Bundle]:
    """Judge the pull request itself, as `prove BASE..HEAD` does.

    Return the result, and a copy of the bundle `empty` with the verdict; `empty` itself if there is no verdict.
    """
    settings = {**request.settings, **STRICT}
    asked = replace(request, settings=settings, destination=Destination(diff=True), model=False)
    source = PatchSource(f"{empty.base}..{empty.head}")
    result = prove_patch(source, asked, listen, report, cwd=repository.top)
    if (proof := result.outcome.proof) is None:
        return result, empty
    found = PROVED if proof.verdict else WORSE if proof.worse else UNPROVED
    rows = [_line(f"{row.label} {row.text}".strip()) for row in proof_rows(result.outcome, proof)]
    return result, replace(empty, judgement=Judgement(found, _line(decision(proof)), tuple(rows[:ROWS])))


def _bundle(proved: Proved, empty: Bundle, *, style: bool) -> Bundle:
    """Return a copy of the bundle `empty` with the results to show on the pull request.

    Each hunk that can be a suggestion is proved alone: at most `minimal.MOST` hunks, and only until the time limit. If
    no hunk gives a suggestion, neighbouring hunks are tried together.
    """
    outcome, best = proved.outcome, proved.outcome.best
    before = {path: proved.parts.original(path) for path in best.patch.files}
    small = judge.pieces(best.patch, before, span=0)
    found = tuple(_suggestions(proved, small, before, style=style))
    if not found:
        large = tuple(piece for piece in judge.pieces(best.patch, before) if piece not in small)
        found = tuple(_suggestions(proved, large, before, style=style))
    summary = "; ".join(dict.fromkeys(step.patch.summary for step in outcome.accepted)) or best.patch.summary
    return replace(
        empty,
        summary=_line(summary),
        evidence=_line(evidence(outcome.evidence)),
        patch=_text(proved.diff),
        behaviour=_changes_behaviour(_cleared(outcome.baseline, best)),
        suggestions=found[:SUGGESTIONS],
        notes=_notes(outcome),
    )


def _suggestions(
    proved: Proved, pieces: Sequence[judge.Hunk], before: Contents, *, style: bool
) -> Iterator[Suggestion]:
    """Yield a suggestion for each of `pieces` that passes alone and, without `style`, repairs more than style.

    `before`: the content of the patched files without the patch.
    """
    start = proved.outcome.baseline
    shown = [(hunk, text) for hunk in pieces if (text := before[hunk.path]) and _is_plain(hunk, text)]
    patches = [Patch({hunk.path: hunk.upon(text)}, "suggest", f"{hunk.path}:{hunk.first}") for hunk, text in shown]
    for (hunk, text), attempt in zip(shown, alone(proved.parts, proved.outcome, patches), strict=True):
        if attempt is None:
            continue
        rules = _cleared(start, attempt)
        if style or _changes_behaviour(rules):
            yield _suggestion(_replacing_a_line(hunk, text), rules, _line(_why(start, attempt)))


def _suggestion(hunk: judge.Hunk, rules: Sequence[str], why: str) -> Suggestion:
    old, new = (tuple(line.decode("utf-8")[:-1] for line in lines) for lines in (hunk.old, hunk.new))
    return Suggestion(hunk.path, hunk.first, hunk.last, old, new, tuple(sorted(set(rules)))[:50], why)


def _replacing_a_line(hunk: judge.Hunk, before: bytes) -> judge.Hunk:
    """Convert an insertion to the replacement of a neighbouring line, because a suggestion must replace lines."""
    if hunk.old:
        return hunk
    lines = before.splitlines(keepends=True)
    if hunk.first > 1:
        above = lines[hunk.first - 2]
        return judge.Hunk(hunk.path, hunk.first - 1, (above,), (above, *hunk.new))
    return judge.Hunk(hunk.path, 1, (lines[0],), (*hunk.new, lines[0]))


def _is_plain(hunk: judge.Hunk, before: bytes) -> bool:
    """Return whether the hunk can be an inline suggestion: plain text with LF line ends, and not too long.

    Other hunks are shown only in the whole patch.
    """
    put = _replacing_a_line(hunk, before)
    if not put.textual:
        return False
    texts = [line.decode("utf-8") for line in (*put.old, *hunk.new)]
    plain = all(text.endswith("\n") and is_code(text[:-1]) for text in texts)
    return plain and len(texts) <= LINES and all(len(text) <= LINE for text in texts)


def _cleared(before: Attempt, after: Attempt) -> list[str]:
    return [rule(finding) for finding in gone(before, after)]


def _changes_behaviour(rules: Sequence[str]) -> bool:
    return any(not name.startswith(STYLE) for name in rules)


def _why(before: Attempt, after: Attempt) -> str:
    """Describe what a patch repairs: the tests by name, or if there are none, the findings."""
    cleared = gone(before, after)
    tests = [finding.symbol for finding in cleared if finding.critic == "pytest"]
    if tests:
        return f"repairs {listed(tuple(dict.fromkeys(tests)))}"
    return "; ".join(dict.fromkeys(f"{rule(finding)}: {words(finding)}" for finding in cleared))


def _notes(outcome: Outcome) -> tuple[Note, ...]:
    return tuple(
        Note(one.path, max(1, line(one)), max(1, last(one)), _line(rule(one)), _line(words(one)))
        for one in blocking(outcome.remaining)[:NOTES]
    )


def _line(text: str) -> str:
    clean = CONTROL.sub(" ", text.encode("utf-8", "replace").decode("utf-8"))
    return " ".join(clean.split())[:WORDS]


def _text(diff: bytes) -> str:
    """Return the patch as text. If it is not UTF-8, the text ends with `bundle.LOSSY`, so that it is never shown."""
    try:
        return diff.decode("utf-8")
    except UnicodeDecodeError:
        return diff.decode("utf-8", "replace") + LOSSY
