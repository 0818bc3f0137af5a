"""`coderefine hook`: check what is about to be committed or pushed, from pre-commit or a plain git hook."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from coderefine.app.broken_tests import broken
from coderefine.app.hook_cache import keep, note, same
from coderefine.app.project import Setup, critics, setup, views
from coderefine.cli.decisions import failures, refusal, repaired
from coderefine.cli.options import GATES, OUTPUT, flags, options
from coderefine.cli.screen import Delivered, Screen, screen
from coderefine.core import Ask, Check, Event, Outcome, Patch
from coderefine.core.plurals import counted
from coderefine.errors import PublishError, UsageError

if TYPE_CHECKING:
    from coderefine.core import Views
    from coderefine.git.changes import Staged
    from coderefine.journal import Journal
    from coderefine.workspace.originals import Originals

TIMEOUT = 20.0
"""Default limit of a hook, in seconds."""
SHOWN = 3
FEW = 10
"""Number of test files up to which recording coverage is cheap before Python 3.12."""


@click.group()
def hook() -> None:
    """Check what is staged; install git hooks that do it."""


@hook.command()
@click.argument("names", nargs=-1, type=click.Path())
@click.option(
    "--hook-timeout",
    type=click.FloatRange(1),
    default=TIMEOUT,
    metavar="SECONDS",
    help="Stop tests and repairs after so long (default 20).",
)
@click.option("--push", is_flag=True, help="Check what is pushed instead of what is staged.")
@click.option("--fix/--no-fix", default=True, help="Repair the files where a repair can be proved.")
@click.option("--model/--no-model", "ask", default=False, help="Let a model help (by default none is asked).")
@options(GATES, OUTPUT)
def run(  # one parameter per flag that is no configuration key
    names: tuple[str, ...],
    hook_timeout: float,
    format_: str,
    *,
    push: bool,
    fix: bool,
    ask: bool,
    quiet: bool,
    **given: object,
) -> int:
    """Check the staged files as they are staged; exit 1 when something is found, or a file was repaired.

    Nothing is ever staged. With NAMES (pre-commit passes them) only these files are checked.
    """
    from coderefine.project import locate

    top = locate([], Path.cwd()).top
    found = _pushed(top) if push else (_staged(top),)
    judged = [(what, python) for what in found if (python := _python(top, names, what)) or _gone(what)]
    if not judged:
        return 0
    with screen(quiet=quiet, format_=format_) as display:
        codes = (
            _one(_parts(top, python, flags(given), display, hook_timeout), what, display, python, fix=fix, model=ask)
            for what, python in judged
        )
        return next(filter(None, codes), 0)


def _one(parts: Setup, what: Staged, display: Screen, python: list[str], *, fix: bool, model: bool) -> int:
    """Check one state: what is staged, or one of the commits that are pushed."""
    note(parts)
    tests = _affected(parts, python, _gone(what), what)
    if not python and not tests:
        return 0
    parts = _narrowed(parts, tests, linted=bool(python))
    return _judged(parts, what, display, tests, fix=fix and bool(python), model=model)


def _gone(what: Staged) -> list[str]:
    return [path for path in what.gone if path.endswith(".py")]


def _staged(top: Path) -> Staged:
    from coderefine.git.changes import staged

    return staged(top)


def _pushed(top: Path) -> tuple[Staged, ...]:
    """Return the commits that are pushed: as pre-commit says, else as git writes to stdin, else the newest commit."""
    from coderefine.git.changes import committed, pushed

    lines = "" if sys.stdin.isatty() else sys.stdin.read()
    return tuple(committed(top, since, commit) for since, commit in pushed(top, os.environ, lines))


def _python(top: Path, names: tuple[str, ...], what: Staged) -> list[str]:
    """Return those of `names`, or of what is staged, that are Python files and are not deleted."""
    asked = tuple(Path(os.path.relpath(Path(name).resolve(), top)).as_posix() for name in names) or what.paths
    return [path for path in asked if path.endswith((".py", ".pyi")) and _there(top, path, what)]


def _there(top: Path, path: str, what: Staged) -> bool:
    return what.hidden.get(path) is not None or (path not in what.hidden and (top / path).is_file())


def _parts(top: Path, python: list[str], given: dict[str, object], display: Screen, seconds: float) -> Setup:
    """Set up the project with the staged files as its scope."""
    from coderefine.project import Protection

    standing = [str(top / path) for path in python if (top / path).exists()] or [str(top)]
    parts = setup(standing, {**given, "timeout": seconds, "accept": "proved", "fast_proof": False}, display.listen)
    place = replace(parts.place, scope=tuple(python))
    return replace(parts, place=place, protection=Protection.of(place, parts.config))


def _affected(parts: Setup, python: list[str], gone: list[str], what: Staged) -> list[str]:
    """Return the test files to run: those that import what changed, except those that the coverage map excludes."""
    from coderefine.quick.front import skipped

    if "pytest" not in parts.config.gates:
        return []
    if not parts.interpreter.pytest:
        parts.listen(Event("note", "tests skipped: the project's interpreter has no pytest (set `python`)"))
        return []
    tests = _importing(parts, python, gone, what)
    cleared = _cleared(parts, tests, python, what)
    left = [path for path in tests if path not in cleared]
    if not left:
        parts.listen(Event("note", f"tests skipped: {skipped(len(cleared))}"))
    return left


def _importing(parts: Setup, python: list[str], gone: list[str], what: Staged) -> list[str]:
    """Find the test files that import `python` or `gone`, by the import graph."""
    from coderefine.project.affected_tests import affected

    there = _standing(parts.place.top, what) | {*gone}
    found = affected(parts.place.top, there, [*python, *gone], parts.protection.is_test, what.hidden)
    return [path for path in found if path not in gone]


def _standing(top: Path, what: Staged) -> set[str]:
    """List the Python files of the state that is checked."""
    from coderefine.project.affected_tests import python_files

    there = {path for path in python_files(top) if what.hidden.get(path, b"") is not None}
    return there | {path for path, data in what.hidden.items() if path.endswith(".py") and data is not None}


def _cleared(parts: Setup, tests: list[str], python: list[str], what: Staged) -> set[str]:
    """Return the tests that the coverage map excludes.

    The map is about the working tree and about Python files only.
    """
    known = not what.hidden and not what.gone and set(what.paths) <= set(python)
    return same(parts, tests, python) if known else set()


def _narrowed(parts: Setup, tests: list[str], *, linted: bool) -> Setup:
    """Keep only the gates that have work: pytest where there are `tests`, the linters where `linted`."""
    config = parts.config
    inside = tuple(os.path.relpath(parts.place.top / path, parts.place.root) for path in tests)
    gates = tuple(gate for gate in config.gates if (tests if gate == "pytest" else linted))
    return replace(parts, config=replace(config, gates=gates, pytest_args=(*config.pytest_args, *inside)))


def _judged(parts: Setup, what: Staged, display: Screen, tests: list[str], *, fix: bool, model: bool) -> int:
    """Run the gates, and the repair loop only where they find something.

    Where the working tree is what is staged, the coverage map is updated.
    """
    from coderefine.loop.critique import critique
    from coderefine.workspace.snapshot_views import SnapshotViews

    with views(parts) as opened:
        staged = SnapshotViews(opened, what.hidden)
        scope = parts.place.scope
        mapped = _light(parts, tests) and not what.hidden
        ask = Ask(scope, changed=frozenset(scope), seed=0, timeout=parts.config.timeout, coverage=mapped)
        look = partial(keep, parts, tests=tests)
        checks = critique(staged, critics(parts), Patch(), ask, look=look)
        unfinished = _unfinished(parts, checks)
        clean = all(check.clean for check in checks)
        lost = broken(parts, opened, checks, ask, tests, since=what.since) if clean else []
        _tell_broken(parts, what, lost)
        if clean and not lost:
            return 0
        if clean or unfinished or not fix:
            display.checks(checks, refusal(what.commit, _failed(checks, lost)))
            return 1
        return _repaired(parts, staged, what, display, model=model)


def _failed(checks: Sequence[Check], lost: Sequence[str]) -> str:
    """Count what is wrong with the commit; tests that it breaks in other files are not findings."""
    return failures(checks) or (f"it breaks {counted(len(lost), 'test')}" if lost else "")


def _tell_broken(parts: Setup, what: Staged, lost: Sequence[str]) -> None:
    """Name the first of the tests that are `lost`, if there are any."""
    if lost:
        commit = what.commit[:10] or "this commit"
        parts.listen(Event("note", f"{commit} breaks {', '.join(lost[:SHOWN])}: {len(lost)} in all"))


def _light(parts: Setup, tests: list[str]) -> bool:
    """Return whether recording coverage is cheap: before Python 3.12 it slows the project's own code."""
    version = tuple(map(int, parts.interpreter.version.split(".")[:2]))
    return bool(tests) and (version >= (3, 12) or len(tests) <= FEW)


def _unfinished(parts: Setup, checks: Iterable[Check]) -> bool:
    found = [check.critic for check in checks if check.cases and not check.complete]
    for critic in found:
        parts.listen(Event("note", f"{critic} did not finish in {parts.config.timeout:g} s: not all was judged"))
    return bool(found)


def _repaired(parts: Setup, staged: Views, what: Staged, display: Screen, *, model: bool) -> int:
    """Run the loop on the staged tree; always return 1, because a repair has to be looked at before the commit."""
    from coderefine.app.destination import Delivery
    from coderefine.app.run import Request, assembled, new_journal, open_repository, reachable
    from coderefine.journal import lock, prune
    from coderefine.loop.refine import refine
    from coderefine.workspace.originals import Originals

    repository = open_repository(parts)
    asked = Request(tuple(sys.argv[1:]), {}, Delivery(), model=model)
    with lock(repository):
        journal = replace(new_journal(repository, parts, asked), under=what.hidden)
        originals = Originals(parts.place.top)
        with reachable(parts, asked, display, journal) as client:
            outcome = refine(assembled(parts, staged, client, journal, originals, under=what.hidden))
        journal.finish(outcome)
        delivered = _delivered(journal, outcome, originals, what)
        prune(repository)
    repair = repaired(outcome, tuple(outcome.best.patch.files), kept=journal.publication() is None)
    delivered = replace(delivered, decided=refusal(what.commit, failures(outcome.baseline.checks), repair))
    display.outcome(outcome, delivered, journal.run)
    return 1


def _delivered(journal: Journal, outcome: Outcome, originals: Originals, what: Staged) -> Delivered:
    """Write the patch into the working tree, unstaged.

    Where it would overlap unstaged edits, keep it as a file instead.
    """
    from coderefine.app.run import how_to_pick
    from coderefine.publishers import Diff, Files, Snapshot

    if not outcome.best.number:
        return Delivered(how_to_pick(outcome, journal.run))
    head = journal.repository.head()
    if what.commit and journal.repository.resolve(what.commit) != head.sha:
        path = _keep(journal, diff := Diff(Snapshot(journal, head, originals, what.hidden)).text(outcome))
        return Delivered(
            f"nothing: {what.commit[:10]} is not checked out; the patch for it is kept: git apply {path}", diff
        )
    if overlapping := sorted(set(outcome.best.patch.files) & set(what.hidden)):
        return _kept(journal, overlapping, Diff(Snapshot(journal, head, originals, what.hidden)).text(outcome))
    snapshot = Snapshot(journal, head, originals)
    diff = Diff(snapshot).text(outcome)
    before = {path: snapshot.judged(path) for path in outcome.best.patch.files}
    try:
        return Delivered(f"{Files(snapshot).publish(outcome)}; look at it, then `git add` it", diff, before=before)
    except PublishError as error:
        return Delivered(f"nothing ({error}); the patch is kept: coderefine show {journal.run} --diff", diff)


def _kept(journal: Journal, overlapping: list[str], diff: bytes) -> Delivered:
    return Delivered(
        f"nothing: {', '.join(overlapping)} has unstaged edits; the patch for what is staged is kept: "
        f"git apply --cached {_keep(journal, diff)}",
        diff,
    )


def _keep(journal: Journal, diff: bytes) -> str:
    """Keep the patch in a file; return its path, relative to the top of the working tree."""
    path = journal.repository.git_dir / "coderefine" / f"hook-{journal.run}.patch"
    path.write_bytes(diff)
    return os.path.relpath(path, journal.repository.top)


# -- plain git hooks --------------------------------------------------------------------------------------

SIGN = "coderefine hook run"
"""The text by which a hook script of coderefine is recognised."""


@hook.command()
@click.option("--push", is_flag=True, help="Install a pre-push hook too.")
def install(*, push: bool) -> int:
    """Write a pre-commit hook that runs coderefine; where a hook exists already, leave it alone (exit 2)."""
    for name in ("pre-commit", *(("pre-push",) if push else ())):
        path = _hooks() / name
        if path.exists() and SIGN not in path.read_text("utf-8", "replace"):
            raise UsageError(f"{path} is there already: add the line `{_line(name)}` to it yourself")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{_line(name)}\n", "utf-8")
        path.chmod(0o755)
        click.echo(f"wrote {path}; `git commit --no-verify` skips it")
    return 0


@hook.command()
def uninstall() -> int:
    """Remove the hooks that `install` wrote."""
    for name in ("pre-commit", "pre-push"):
        path = _hooks() / name
        if path.exists() and SIGN in path.read_text("utf-8", "replace"):
            path.unlink()
            click.echo(f"removed {path}")
    return 0


def _line(name: str) -> str:
    import shlex

    return f"exec {shlex.quote(sys.executable)} -m {SIGN}{' --push --model' if name == 'pre-push' else ''}"


def _hooks() -> Path:
    """Return the folder of this repository's hooks (core.hooksPath and linked worktrees included).

    Raises UsageError for a folder that all repositories of the user or of the system share.
    """
    from coderefine.git import Repository

    repository = Repository.open(Path.cwd())
    told = repository.run("config", "--show-scope", "--get", "core.hooksPath").text.split("\t")
    if len(told) == 2 and told[0] not in ("local", "worktree"):
        raise UsageError(
            f"core.hooksPath is {told[1].strip()} for every repository ({told[0]} configuration), and coderefine "
            "writes hooks for this one only: run `git config core.hooksPath .git/hooks` here first, or add the line "
            f"`{_line('pre-commit')}` there yourself"
        )
    return Path(os.fsdecode(repository.git("rev-parse", "--path-format=absolute", "--git-path", "hooks").strip()))
