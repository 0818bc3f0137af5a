"""Judge a patch made outside coderefine by the rules for coderefine's own patches; write it only on request."""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from coderefine.app.engine import Show
from coderefine.app.project import Project, find_project
from coderefine.app.request import Request
from coderefine.app.run import RunResult, run
from coderefine.core import PROVE, Alternative, Listen, Outcome, Patch
from coderefine.core.plurals import listed
from coderefine.errors import SurroundingsError, UsageError
from coderefine.git import Repository
from coderefine.git.given_patch import (
    GivenPatch,
    diff_of_commits,
    read_commits,
    read_diff,
    read_index,
    read_worktree,
)
from coderefine.judge import changed_settings, unreadable
from coderefine.loop.given import GivenParts, judge_given
from coderefine.loop.state import Parts
from coderefine.project import Protection, locate
from coderefine.project.protection import protected_name
from coderefine.proposers.recorded_patches import Given
from coderefine.source import text_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TEST, CONFIGURATION = "is a test or test data", "is lint or test configuration"
TEST_MODULE = re.compile(r"(test_.*|.*_test)\.py")
BINARY = "is not text, and no module names it"
UNREAD = ("is a hook", "is CI configuration", "is a lock file", "is git's own", BINARY)
"""Reasons for the protection of files that no gate reads: a patch may change these files; they are not judged."""


@dataclass(frozen=True, slots=True)
class PatchSource:
    """Where the given patch comes from.

    `patch`: a diff or mails, as bytes or as text of several lines; the path of a file with a diff or mails; a commit, a
    range `A..B`, or a branch. If `patch` is None: the staged changes (with `staged`), or all uncommitted changes.
    """

    patch: str | bytes | None = None
    staged: bool = False


def prove(
    source: PatchSource,
    request: Request,
    listen: Listen,
    report: Callable[[RunResult], None],
    *,
    cwd: Path | None = None,
    minimise: bool = False,
    repair: bool = False,
    show: Show | None = None,
) -> RunResult:
    """Judge the patch of `source` and report the result, whose `outcome.proof` contains the verdict.

    A proved patch is written to the destination of `request`, if there is one. `minimise`: find the smallest part of
    the patch that is still proved. `repair`: if the patch is not proved, repair it with the usual proposers, and with a
    model if `request` allows one. Raises UsageError if there is no patch, or it does not apply.
    """
    cwd = cwd or Path.cwd()
    place = locate([], cwd)
    if place.git_dir is None:
        raise SurroundingsError(
            f"{place.top} is not in a git repository, without which a patch cannot be read: change to the repository"
        )
    repository = Repository.open(place.top)
    given = _read(source, repository, request, cwd)
    if given.modes and not request.destination.diff:
        raise UsageError(
            f"{', '.join(given.modes)}: changes of mode are not written; prove it without, then `git apply`"
        )
    project = _find_project(given, request, listen, cwd)
    parts = split(given, project)
    first = (Given(Alternative(parts.code), PROVE),) if parts.code else ()

    def loop(made: Parts) -> Outcome:
        proposers = (*first, *made.proposers) if repair else first
        return judge_given(parts, replace(made, proposers=proposers), minimise=minimise)

    return run(project, request, report, under=given.under, base=given.base, show=show, loop=loop)


def _read(source: PatchSource, repository: Repository, request: Request, cwd: Path) -> GivenPatch:
    """Read the patch that `source` names: uncommitted changes, a diff, or commits.

    If the patch of commits is to be written, it is read as a diff, which is applied to the tree of the destination.
    """
    destination = request.destination
    if source.patch is None:
        if not (destination.elsewhere or destination.commit):
            raise UsageError("these changes are in the working tree already: leave out --apply")
        return read_index(repository) if source.staged else read_worktree(repository)
    name, text = _diff(source.patch, cwd)
    if text is None and not destination.diff:
        text = diff_of_commits(repository, name)
    if text is not None:
        return read_diff(repository, text, name, on_head=bool(destination.on_head))
    if (found := read_commits(repository, name)) is None:
        raise UsageError(f"{name} is neither a file nor a commit, a range (A..B) or a branch")
    return found


def _diff(patch: str | bytes, cwd: Path) -> tuple[str, bytes | None]:
    """Return the name of the patch, and its text; None in place of the text if `patch` names commits."""
    if isinstance(patch, bytes):
        return "the patch", patch
    if "\n" in patch:
        return "the patch", patch.encode("utf-8", "surrogateescape")
    file = cwd / patch
    return patch, file.read_bytes() if file.is_file() else None


def _find_project(given: GivenPatch, request: Request, listen: Listen, cwd: Path) -> Project:
    """Find the project that contains the patched files; only findings in these files count."""
    top = locate([], cwd).top
    nearest = [next(one for one in (top / path, *(top / path).parents) if one.exists()) for path in given.files]
    project = find_project([str(path) for path in nearest] or [str(cwd)], request.settings, listen)
    place = replace(project.place, scope=tuple(sorted(given.files)) or (".",))
    return replace(project, place=place, protection=Protection.of(place, project.config))


def split(given: GivenPatch, project: Project) -> GivenParts:
    """Divide the patch into code, tests with configuration, and files that no gate reads."""
    why = {path: _protected(path, project.protection) or _binary(path, given, project) for path in given.files}
    settings = frozenset(_having(why, CONFIGURATION))
    tests, beside = (_only(given, _having(why, *words)) for words in ((TEST, CONFIGURATION), UNREAD))
    links = (f"{path} is a symbolic link or a submodule, which cannot be judged" for path in given.links)
    modes = (f"{modes} (mode): neither judged nor written" for modes in given.modes)
    return GivenParts(
        Patch(
            _only(given, why.keys() - tests.keys() - beside.keys()), PROVE, given.summary or given.name, given.programs
        ),
        tests,
        settings,
        _files(tests, settings, project),
        beside,
        unjudged=(
            *(*modes, *(f"{path} {why[path]}: no gate reads it" for path in beside)),
            *_changed_settings(given, settings),
        ),
        against=(*links, *_own_settings(given, tests, project), *_unreadable(tests, project)),
    )


def _having(why: Mapping[str, str | None], *words: str) -> list[str]:
    return [path for path, word in why.items() if word in words]


def _only(given: GivenPatch, paths: Collection[str]) -> dict[str, bytes | None]:
    return {path: given.files[path] for path in sorted(paths)}


def _protected(path: str, protection: Protection) -> str | None:
    """Return why coderefine's own patches may not change `path`; None if they may."""
    if protection.hooks and path.startswith(f"{protection.hooks}/"):
        return "is a hook"
    return protected_name(path) or (TEST if protection.is_test(path) else None)


def _binary(path: str, given: GivenPatch, project: Project) -> str | None:
    """Return BINARY for a new or changed file that is not text (such as an image), if nothing names it; else None."""
    data, name = given.files[path], posixpath.basename(path)
    if data is None or path.endswith((".py", ".pyi")) or text_of(data) is not None:
        return None
    named = any(name.encode() in (other or b"") for at, other in given.files.items() if at != path)
    return None if named or project.protection.is_named(name) else BINARY


def _files(tests: Mapping[str, bytes | None], settings: frozenset[str], project: Project) -> tuple[str, ...] | None:
    """Return the changed test modules, named as in test ids; None if other tests may depend on the changes."""
    # No other test imports a file that is named like a test module.
    if settings or not all(TEST_MODULE.fullmatch(posixpath.basename(path)) for path in tests):
        return None
    return tuple(posixpath.relpath(path, project.place.prefix) for path in tests if tests[path] is not None)


def _changed_settings(given: GivenPatch, settings: Collection[str]) -> Iterator[str]:
    """Yield a text for each file whose changed settings may weaken checks that find nothing today."""
    for path in sorted(settings):
        if names := changed_settings(path, given.base[path], given.files[path]):
            yield f"{path} changes {listed(names)}: judged is only what this hides now"


def _own_settings(given: GivenPatch, tests: Mapping[str, bytes | None], project: Project) -> Iterator[str]:
    """Yield a reason against the patch if it changes the configuration that this proof uses."""
    path = posixpath.normpath(posixpath.join(project.place.prefix, "pyproject.toml"))
    if path in tests and _table(given.base[path]) != _table(tests[path]):
        yield f"{path} changes [tool.coderefine], which configures how patches are judged"


def _unreadable(tests: Mapping[str, bytes | None], project: Project) -> Iterator[str]:
    """If the project's interpreter is newer than ours, yield a reason for each test file that ours cannot parse."""
    if project.interpreter.release > sys.version_info:
        yield from filter(None, (unreadable(path, data) for path, data in tests.items()))


def _table(data: bytes | None) -> object:
    try:
        return tomllib.loads((data or b"").decode("utf-8")).get("tool", {}).get("coderefine", {})
    except (ValueError, AttributeError):
        return data
