"""Check what is about to be committed or pushed, and repair it if the repair can be proved."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from coderefine.app.engine import gates, open_views
from coderefine.app.hook_cache import keep_coverage, keep_project, unaffected
from coderefine.app.project import Project, project_at
from coderefine.core import Ask, Check, Event, Listen, Patch, Views
from coderefine.errors import SurroundingsError, UsageError
from coderefine.git.changes import Staged, committed, contents, hidden, known, pushed, staged
from coderefine.import_graph import walk
from coderefine.loop.critique import critique
from coderefine.markers import project_of
from coderefine.project import Protection, locate
from coderefine.project.affected_tests import affected
from coderefine.quick.front import skipped
from coderefine.workspace.private_views import SnapshotViews

if TYPE_CHECKING:
    from coderefine.app.run import Proved, Published, RunResult
    from coderefine.git import Repository

CONFIGURATION = "pyproject.toml"
SHOWN = 3
FEW = 10
"""Maximum number of test files for which coverage is recorded by Python up to 3.11: there, this slows all code down."""


@dataclass(frozen=True, slots=True)
class StateCheck:
    """The results of the gates for one state (see `states`).

    `broken`: tests that fail because of the state, in code that the state does not change. `repaired`: whether the loop
    ran, and reported its result.
    """

    checks: tuple[Check, ...] = ()
    broken: tuple[str, ...] = ()
    repaired: bool = False

    @property
    def clean(self) -> bool:
        return not self.broken and all(check.clean for check in self.checks)


@dataclass(frozen=True, slots=True)
class RepairRequest:
    """How to repair a state: the command line, whether a model may be used, and where to report the result."""

    argv: tuple[str, ...]
    model: bool
    report: Callable[[RunResult], None]


def top_folder() -> Path:
    """Return the top of the working tree. Raises SurroundingsError outside of a repository."""
    place = locate([], Path.cwd())
    if place.git_dir is None and "GIT_DIR" not in os.environ:
        raise SurroundingsError(f"{place.top} is not inside a git repository, so nothing is staged there")
    return place.top


def states(top: Path, names: Sequence[str], push: str | None, *, given: bool = False) -> list[tuple[Staged, list[str]]]:
    """Return (state, Python files to check) for each state; a state with files of several projects once for each.

    The states are the pushed commits if `push`, git's input to its pre-push hook, is given; else only the staged tree.
    The files to check are `names`. Without names, they are the files that the state adds or changes; if `given`, none.
    A state without files to check counts only if it deletes Python files.
    """
    found = [staged(top)] if push is None else _pushed(top, push)
    asked = tuple(Path(os.path.relpath(Path(name).resolve(), top)).as_posix() for name in names)
    judged = [(state, _python_files(top, asked if given or asked else state.paths, state)) for state in found]
    return [part for state, python in judged if python or _deleted(state) for part in _by_project(top, state, python)]


def _pushed(top: Path, push: str) -> list[Staged]:
    return [committed(top, since, commit) for since, commit in pushed(top, os.environ, push)]


def _python_files(top: Path, paths: Sequence[str], state: Staged) -> list[str]:
    """Return those of `paths` that are Python files of the state."""
    return [path for path in paths if path.endswith((".py", ".pyi")) and _exists(top, state, path)]


def _exists(top: Path, state: Staged, path: str) -> bool:
    return state.hidden[path] is not None if path in state.hidden else (top / path).is_file()


def _by_project(top: Path, state: Staged, python: list[str]) -> list[tuple[Staged, list[str]]]:
    """Divide the deleted files of `state` and the files `python` by their projects.

    All files stay together if a folder above all of them is a project.
    """
    if _root(top, state, python) is not None:
        return [(state, python)]
    has = partial(_exists, top, state)
    roots = {path: project_of(path.rpartition("/")[0], has) for path in (*python, *_deleted(state))}
    return [
        (
            replace(state, gone=tuple(path for path in _deleted(state) if roots[path] == root)),
            [path for path in python if roots[path] == root],
        )
        for root in dict.fromkeys(roots.values())
    ]


def _root(top: Path, state: Staged, python: Sequence[str]) -> str | None:
    """Return the folder (repo-relative) of the project that contains `python` and the Python files that are deleted.

    Return None if no folder above all of them is a project.
    """
    folder = os.path.commonpath([os.path.dirname(path) for path in (*python, *_deleted(state))])  # noqa: PTH120
    return project_of(folder, partial(_exists, top, state))


def _deleted(state: Staged) -> list[str]:
    return [path for path in state.gone if path.endswith(".py")]


def check_state(
    top: Path,
    state: Staged,
    python: Sequence[str],
    settings: Mapping[str, object],
    listen: Listen,
    *,
    repair: RepairRequest | None,
) -> StateCheck:
    """Run the gates on `state`; if they find something, and `repair` is given, also run the loop.

    If the state is equal to the working tree, the coverage map is used and updated. With `settings` other than a
    timeout, nothing that is stored for later runs is used or changed.
    """
    project = _find_project(top, state, python, settings, listen)
    usual = settings.keys() <= {"timeout"}
    if usual and CONFIGURATION not in state.hidden:
        keep_project(project)
    mapped = usual and not state.hidden
    tests = _affected_tests(project, python, state, mapped=mapped)
    if not python and not tests:
        return StateCheck()
    project = _with_needed_gates(project, tests, linted=bool(python))
    with open_views(project) as opened:
        checks, broken = _judge(project, opened, state, tests, mapped=mapped)
        if not repair or not _is_repairable(project, checks):
            return StateCheck(checks, broken)
        # Imported here, because the check of a clean commit needs none of these modules.
        from coderefine.app.request import Request
        from coderefine.app.run import run

        request, views = Request(repair.argv, model=repair.model), SnapshotViews(opened, state.hidden)
        run(project, request, repair.report, publish=partial(_publish, state), under=state.hidden, views=views)
        return StateCheck(checks, repaired=True)


def _find_project(
    top: Path, state: Staged, python: Sequence[str], settings: Mapping[str, object], listen: Listen
) -> Project:
    """Return the project of the files `python`; its folder and its configuration are taken from `state`."""
    folder = _root(top, state, python) or ""
    place = replace(locate([], top), root=top / folder)
    name = f"{folder}/{CONFIGURATION}" if folder else CONFIGURATION
    data = (state.hidden[name] or b"") if name in state.hidden else None
    given = {**settings, "accept": "proved", "fast_proof": False, "processes": 1, "proof": "local"}
    project = project_at(place, given, listen, data=data)
    place = replace(project.place, scope=tuple(python))
    return replace(project, place=place, protection=Protection.of(place, project.config))


def _judge(
    project: Project, opened: Views, state: Staged, tests: Sequence[str], *, mapped: bool
) -> tuple[tuple[Check, ...], tuple[str, ...]]:
    """Return the checks of the gates on the state and, if they are clean, the tests that the state breaks elsewhere.

    `mapped`: record coverage, if it is cheap.
    """
    scope, timeout = project.place.scope, project.config.timeout
    coverage = mapped and bool(tests) and _is_coverage_cheap(project, tests)
    ask = Ask(scope, changed=frozenset(scope), seed=0, timeout=timeout, coverage=coverage)
    look = partial(keep_coverage, project, tests=tests)
    checks = critique(SnapshotViews(opened, state.hidden), gates(project), Patch(), ask, look=look)
    for check in checks:
        if check.cases and not check.complete:
            project.listen(Event("note", f"{check.critic} did not finish in {timeout:g} s: not all was judged"))
    clean = all(check.clean for check in checks)
    broken = _broken_tests(project, opened, checks, ask, tests=tests, since=state.since) if clean else ()
    if broken:
        commit = state.commit[:10] or "this commit"
        project.listen(Event("note", f"{commit} breaks {', '.join(broken[:SHOWN])}: {len(broken)} in all"))
    return checks, broken


def _is_repairable(project: Project, checks: Sequence[Check]) -> bool:
    """Return whether the gates found something that the loop can repair.

    The loop needs complete checks, the project's folder, and a repository that git finds without GIT_DIR, because the
    loop does not pass GIT_DIR on.
    """
    finished = all(check.complete for check in checks if check.cases)
    there = bool(project.place.scope) and project.place.root.is_dir() and project.place.git_dir is not None
    return there and finished and not all(check.clean for check in checks)


def _is_coverage_cheap(project: Project, tests: Sequence[str]) -> bool:
    return project.interpreter.release >= (3, 12) or len(tests) <= FEW


def _affected_tests(project: Project, python: Sequence[str], state: Staged, *, mapped: bool) -> list[str]:
    """Return the test files to run: those that import what changed; [] if pytest is not a gate or not installed.

    With `mapped`, files are left out that, according to the coverage map, execute nothing that changed.
    """
    if "pytest" not in project.config.gates:
        return []
    if not project.interpreter.pytest:
        project.listen(Event("note", "tests skipped: the project's interpreter has no pytest (set `python`)"))
        return []
    tests = _importing(project, python, state)
    python_only = not state.gone and set(state.paths) <= set(python)  # the map is about Python files only
    excluded = unaffected(project, tests, python) if mapped and python_only else set()
    left = [path for path in tests if path not in excluded]
    if not left:
        project.listen(Event("note", f"tests skipped: {skipped(len(excluded))}"))
    return left


def _importing(project: Project, python: Sequence[str], state: Staged) -> list[str]:
    """Return the test files of the state that, according to the import graph, import what it changes or deletes."""
    top, gone = project.place.top, _deleted(state)
    there = {path for path in walk(str(top)) if state.hidden.get(path, b"") is not None}
    there |= {path for path, data in state.hidden.items() if path.endswith(".py") and data is not None}
    found = affected(top, there | {*gone}, [*python, *gone], project.protection.is_test, state.hidden)
    return [path for path in found if path not in gone]


def _with_needed_gates(project: Project, tests: Sequence[str], *, linted: bool) -> Project:
    """Keep only the gates that have something to check: pytest if there are `tests`, the linters if `linted`.

    Pytest gets `tests` as arguments, so that it runs only these.
    """
    config = project.config
    inside = tuple(os.path.relpath(project.place.top / path, project.place.root) for path in tests)
    needed = tuple(gate for gate in config.gates if (tests if gate == "pytest" else linted))
    return replace(project, config=replace(config, gates=needed, pytest_args=(*config.pytest_args, *inside)))


def _broken_tests(
    project: Project, opened: Views, checks: Sequence[Check], ask: Ask, *, tests: Sequence[str], since: str
) -> tuple[str, ...]:
    """Return ids of tests that fail in `checks` and did not fail in the commit `since`. `tests`: the test files.

    These tests fail in code that the state does not change, for example because the state deletes what they import. A
    failure outside the scope is no finding, because it may be older than the state; so the tests also run on `since`.
    If one of the test files does not exist in `since`, all tests that fail are returned.
    """
    failing = _failing(checks)
    if not failing:
        return ()
    before = hidden(project.place.top, known(project.place.top, since))
    if any(before.get(path, b"") is None for path in tests):
        return tuple(sorted(failing))  # some of the tests are new and do not exist in that commit
    pytest = [critic for critic in gates(project) if critic.name == "pytest"]
    earlier = critique(SnapshotViews(opened, before), pytest, Patch(), replace(ask, coverage=False))
    return tuple(sorted(failing - _failing(earlier)))


def _failing(checks: Sequence[Check]) -> set[str]:
    return {name for check in checks for name, case in check.cases.items() if case.status.bad}


def _publish(state: Staged, proved: Proved) -> Published:
    """Write the patch into the working tree.

    Store the patch in a file instead if it overlaps unstaged edits, is for a commit that is not checked out, or undoes
    a change of the user that is saved nowhere else. If pre-commit runs the hook, store it as well: pre-commit puts
    unstaged edits aside before the hook, and undoes what the hook wrote if this overlaps them.
    """
    from coderefine.app.run import Published
    from coderefine.publishers import Files

    journal = proved.snapshot.journal
    repository = journal.repository
    why, how = "", "apply"
    if state.commit and repository.resolve(state.commit) != proved.snapshot.head.sha:
        why = f"{state.commit[:10]} is not checked out; the patch for it is kept"
    elif overlapping := sorted(set(proved.outcome.best.patch.files) & set(state.hidden)):
        why = f"{', '.join(overlapping)} has unstaged edits; the patch for what is staged is kept"
        how = "apply --cached"
    elif undone := _only_in_the_tree(repository, proved):
        why = f"it undoes your change of {', '.join(undone)}, which is not staged; the patch is kept"
    file = journal.folder / "hook.patch"
    name = _relative(file, repository.top)
    if why:
        file.write_bytes(proved.diff)
        return Published(f"nothing: {why}: {_git(repository)} {how} {name}")
    line = f"{Files(proved.snapshot).publish(proved.outcome)}; look at it, then `git add` it"
    if "PRE_COMMIT" in os.environ:
        file.write_bytes(proved.diff)
        line += f"; if pre-commit rolls it back: {_git(repository)} apply --cached {name}"
    return Published(line)


def _git(repository: Repository) -> str:
    """Return `git`, or `git -C TOP` if the user's folder is not the top of the repository.

    Git starts hooks at the top, and passes the user's folder in GIT_PREFIX.
    """
    prefix = os.environ.get("GIT_PREFIX")
    top = repository.top.resolve()
    folder = Path.cwd() if prefix is None else (top / prefix).resolve()
    return "git" if folder == top else f"git -C {_relative(top, folder)}"


def _relative(path: Path, folder: Path) -> str:
    return shlex.quote(os.path.relpath(path, folder))


def _only_in_the_tree(repository: Repository, proved: Proved) -> list[str]:
    """Return the files that the patch makes equal to HEAD, if the content to commit is in a temporary index only.

    Otherwise, return []. `git commit -a` makes such an index, and deletes it when the hook refuses the commit.
    """
    from coderefine.git import read_files

    index = os.environ.get("GIT_INDEX_FILE", "")
    if not index or (repository.top / index).resolve() == (repository.git_dir / "index").resolve():
        return []
    files, head = proved.outcome.best.patch.files, proved.snapshot.head.sha
    known = [path for path, entry in read_files(repository, head, files).items() if entry] if head else []
    return [path for path, data in contents(repository.top, head or "", known).items() if files[path] == data]


# -- plain git hooks --------------------------------------------------------------------------------------

INSTALLED = re.compile(r"#!/bin/sh\nexec (?:'[^\n]+'|[^\s']+) -m coderefine hook run(?: --push --model)?\n")
"""A whole hook script as `install` writes it, for any interpreter."""
COMMIT, PUSH = ("pre-commit", "pre-merge-commit"), "pre-push"
"""Names of git hooks. For a merge without conflicts, git does not start pre-commit."""


def install(name: str) -> Path:
    """Write the git hook `name` and return its path. Raises UsageError if another hook exists at this path."""
    path = _hooks_folder() / name
    if os.path.lexists(path) and not _is_ours(path):
        raise UsageError(f"{path} exists already: add the line `{_command(name)} || exit 1` to it yourself")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\nexec {_command(name)}\n", "utf-8")
    path.chmod(0o755)
    return path


def uninstall() -> list[Path]:
    """Remove the hooks that `install` wrote and return their paths."""
    found = [path for name in (*COMMIT, PUSH) if _is_ours(path := _hooks_folder() / name)]
    for path in found:
        path.unlink()
    return found


def _is_ours(path: Path) -> bool:
    """Return whether `install` wrote the whole file, without a later addition; False for a link."""
    if path.is_symlink() or not path.is_file():
        return False
    return INSTALLED.fullmatch(path.read_bytes().decode("utf-8", "replace")) is not None


def _command(name: str) -> str:
    return f"{shlex.quote(sys.executable)} -m coderefine hook run{' --push --model' if name == PUSH else ''}"


def _hooks_folder() -> Path:
    """Return the folder of this repository's hooks, considering core.hooksPath and linked worktrees.

    Raises UsageError for a folder that several repositories share.
    """
    from coderefine.git import Repository

    repository = Repository.open(Path.cwd())
    scope, _, folder = repository.run("config", "--show-scope", "--get", "core.hooksPath").text.partition("\t")
    if folder and scope not in ("local", "worktree"):
        raise UsageError(
            f"core.hooksPath is {folder.strip()} for every repository ({scope} configuration), and coderefine "
            "writes hooks for this one only: run `git config core.hooksPath .git/hooks` here first, or add the line "
            f"`{_command(COMMIT[0])} || exit 1` there yourself"
        )
    return Path(os.fsdecode(repository.git("rev-parse", "--path-format=absolute", "--git-path", "hooks").strip()))
