"""The fast path of `coderefine hook run`, for commits that are certainly clean.

git, ruff and this program run in parallel. Tests run in the working tree, where files that they write remain. They run
only if index and working tree are equal, so that the staged files are tested.
"""

from __future__ import annotations

import gc
import os
import sys
import time

from coderefine import import_graph as graph
from coderefine.bounds import surely_fine
from coderefine.markers import project_of
from coderefine.quick import ticket
from coderefine.quick.children import Child, clean_env, reading_env
from coderefine.quick.ending import interrupt_on_signals

SECONDS = 20.0
PASSED = (b" passed", b" skipped", b" xfailed")
CONFTEST = "conftest.py"
GIVEN = "--given"
STATUS = ["git", "status", "--porcelain=v2", "-z", "-unormal", "--ignore-submodules=all", "--no-renames"]
FLAGS = ["git", "ls-files", "-v", "-z"]
FILE = (b"100644", b"100755")
SETTINGS = frozenset(os.fsencode(name) for name in ticket.NAMES)
LONG = 200
"""Number of files above which the full engine is not noticeably slower."""


class NotQuickError(Exception):
    """The fast path cannot decide; the full engine must run."""


def hook(args: list[str]) -> int | None:
    """Return the exit code of `hook run` with `args`; None: the full engine must run.

    `args`: the files to check. Without names, the staged files are checked; with GIVEN as the only argument, no file.
    """
    given = args[:1] == [GIVEN]
    names = args[1:] if given else args
    if any(name.startswith("-") for name in names) or os.name != "posix":
        return None
    gc.disable()  # this process ends before a collection is useful
    try:
        return _hook(names if names or given else None, time.monotonic() + SECONDS)
    except (NotQuickError, OSError, UnicodeDecodeError, SyntaxError):
        return None
    finally:
        gc.enable()


def _hook(names: list[str] | None, deadline: float) -> int:
    where = _place(os.getcwd())  # noqa: PTH109
    if where is None:
        raise NotQuickError
    top, folder = where
    running: list[Child] = []
    try:
        running += (Child(argv, reading_env()) for argv in (STATUS, FLAGS))  # everything slow runs in parallel
        known = ticket.read(folder, top)
        if known is None:
            raise NotQuickError
        return _judged(QuickProject(top, folder, known, deadline), names, running)
    finally:
        for child in running:
            child.kill()


class QuickProject:
    """The project: its location, stored data of the last full run, and the deadline (time.monotonic)."""

    __slots__ = ("deadline", "folder", "known", "top")

    def __init__(self, top: str, folder: str, known: ticket.Ticket, deadline: float) -> None:
        self.top, self.folder, self.known, self.deadline = top, folder, known, deadline


def _judged(project: QuickProject, names: list[str] | None, running: list[Child]) -> int:
    """Return the exit code. `running` contains the git processes; further processes are added to it."""
    looked = [_read_status(running[0], project.deadline)] if names is None else []
    python = _python(looked[0][0] if names is None else names)
    tests = _begun(project, python, running) if python else []
    staged, untracked = looked[0] if looked else _read_status(running[0], project.deadline)
    if not python:
        return 0
    _refuse_flags(running[1], project.deadline)
    same = _same(project, tests, python, staged)
    left = [path for path in tests if path not in same]
    if not left:
        _linted(project, python, running)
        return _untested(project.known, len(same))
    if untracked:
        raise NotQuickError
    running.append(_pytest(project.known, left))
    _linted(project, python, running)
    return _tested(running[-1], project.deadline)


def _begun(project: QuickProject, python: list[str], running: list[Child]) -> list[str]:
    """Start ruff and return the tests that can be affected."""
    if project.known.ruff:
        running.append(Child([*project.known.ruff, *python], clean_env(project.known.keys)))
    return _tests(project, python) if project.known.python else []


def _same(project: QuickProject, tests: list[str], python: list[str], staged: list[str]) -> set[str]:
    """Return the tests that the coverage map excludes; no tests if files other than `python` are staged.

    Tests may read such files.
    """
    if not tests or not set(staged) <= set(python):
        return set()
    from coderefine.quick import reach

    return reach.same(project.folder, project.top, tests, python, graph.walk(project.top))


def _linted(project: QuickProject, python: list[str], running: list[Child]) -> None:
    known = project.known
    if known.radon and not all(_plain(path, known) for path in python):
        raise NotQuickError
    if known.ruff and running[2].all(project.deadline) is None:
        raise NotQuickError


def _read_status(looking: Child, deadline: float) -> tuple[list[str], bool]:
    """Return the staged files, and whether there are untracked files.

    Raises NotQuickError if git fails or is too slow, if index and tree differ (see `staged_files`), and for deleted
    Python files: the graph of the remaining files lacks the tests that import them.
    """
    output = looking.all(deadline) or b""
    found = staged_files(output or b"?")
    if found is None or any(path.endswith(".py") and not os.path.lexists(path) for path in found):
        raise NotQuickError
    # Tests would find untracked files in the tree although the commit lacks them.
    return found, any(line.startswith(b"? ") for line in output.split(b"\0"))


def _refuse_flags(looking: Child, deadline: float) -> None:
    """Raise NotQuickError if a file is marked as assume-unchanged or skip-worktree: git status hides its edits."""
    output = looking.all(deadline)
    if output is None:
        raise NotQuickError
    marked = (line[2:] for line in output.split(b"\0") if line[:1].islower() or line[:1] == b"S")
    if any(map(os.path.lexists, marked)):
        raise NotQuickError


def _python(names: list[str]) -> list[str]:
    """Return the Python files among `names`, as normalised paths.

    Raises NotQuickError for a path outside the folder, for a link, for more than LONG files, and for a file of a nested
    project (the ticket is about the project at the top).
    """
    found = []
    for name in names:
        path = os.path.normpath(name).replace(os.sep, "/")
        if path.startswith(("/", "..")) or os.path.islink(path):  # noqa: PTH114
            raise NotQuickError
        if path.endswith((".py", ".pyi")) and os.path.isfile(path):  # noqa: PTH113
            found.append(path)
    folders = {path.rpartition("/")[0] for path in found}
    if len(found) > LONG or any(project_of(folder, os.path.isfile) for folder in folders):
        raise NotQuickError
    return found


def _tests(project: QuickProject, python: list[str]) -> list[str]:
    """Return the test files that can be affected, according to the import graph stored by the last run.

    The imports of changed files are read again only if a test reached one of these files. The checked files themselves
    do not count: what a file imports does not change which files import it.
    """
    kept = ticket.kept_in(project.folder, ticket.GRAPH)
    marks = graph.walk(project.top)
    if not isinstance(kept, list) or kept[0].keys() != marks.keys():
        raise NotQuickError
    old, users, tests = kept
    affected = graph.reached(users, _changed(old, marks, python))
    if any(path.endswith(CONFTEST) for path in affected) or not affected.isdisjoint(tests):
        users = _regraphed(project, marks, users)
        ticket.keep(project.folder, ticket.GRAPH, [marks, users, tests])
    found = graph.reached(users, python)
    if any(path.endswith(CONFTEST) for path in found):
        raise NotQuickError
    return [path for path in tests if path in found]


def _changed(old: dict[str, graph.Mark], marks: dict[str, graph.Mark], python: list[str]) -> list[str]:
    return [path for path, mark in marks.items() if old[path] != mark and path not in python]


def _regraphed(project: QuickProject, marks: dict[str, graph.Mark], users: graph.Users) -> graph.Users:
    """Return the import graph after changes to some files; usually their imports are the same as before."""
    files = ticket.kept_in(project.folder, ticket.IMPORTS)
    if not isinstance(files, dict):
        raise NotQuickError
    now = graph.refreshed(project.top, files, marks)
    ticket.keep(project.folder, ticket.IMPORTS, now)
    if all(path in files and now[path][1] == files[path][1] for path in now):
        return users
    return graph.users_of({path: modules for path, (_, modules) in now.items()})


def _plain(path: str, known: ticket.Ticket) -> bool:
    """Return whether radon would certainly find nothing in the file `path`."""
    if path.endswith(".pyi"):
        return True
    with open(path, encoding="utf-8") as file:  # noqa: PTH123
        text = file.read()
    if surely_fine(text, known.complexity, known.floor):
        return True
    from coderefine.critics.complexity import FileComplexity, measure

    return measure(text, known.complexity, known.floor) == FileComplexity()


def _pytest(known: ticket.Ticket, tests: list[str]) -> Child:
    interrupt_on_signals()
    env = clean_env(known.keys)
    if not known.bytecode:
        env["PYTHONDONTWRITEBYTECODE"] = "1"
    return Child([*known.python, *tests], env, both=True)


def _untested(known: ticket.Ticket, same: int) -> int:
    if known.python:
        print(f"note: tests skipped: {skipped(same)}", file=sys.stderr)
    return 0


def skipped(same: int) -> str:
    """Return why no test runs. `same`: number of test files that the coverage map excluded."""
    if not same:
        return "no test imports what is staged"
    return f"of what is staged, {same} test file{'s' * (same > 1)} ran nothing that changed (coverage map)"


def _tested(running: Child, deadline: float) -> int:
    tail = running.tail(deadline)
    code = running.code(deadline)
    if code is None:
        print(f"note: pytest did not finish in {SECONDS:g} s: not all was judged", file=sys.stderr)
        return 1
    if code != 0 or not any(word in tail for word in PASSED):
        raise NotQuickError
    return 0


def staged_files(output: bytes) -> list[str] | None:
    """Return the staged files (added, changed or deleted); None if index and working tree differ.

    Untracked code and untracked configuration of the tools count as a difference, because the tools would use them, but
    the commit does not contain them. Unusual entries count as a difference too.
    """
    found: list[str] = []
    for line in output.split(b"\0"):
        if not line:
            continue
        if line.startswith(b"? "):
            if line.endswith((b".py", b".pyi", b"/")) or os.path.basename(line[2:]) in SETTINGS:  # noqa: PTH119
                return None
            continue
        path = _entry_files(line)
        if path is None:
            return None
        found += path
    return found


def _entry_files(line: bytes) -> list[str] | None:
    """Return the file in a line about a change, as a list (empty for a link); None for an unusual entry."""
    fields = line.split(b" ", 8)
    if fields[0] != b"1" or len(fields) != 9 or fields[1][1:] != b".":
        return None
    path = os.fsdecode(fields[8])
    if fields[1] == b"D.":
        return None if os.path.lexists(path) else [path]
    return [path] if fields[4] in FILE else []


def _place(cwd: str) -> tuple[str, str] | None:
    """Return working tree and git directory if `cwd` is the top of a tree, where git and pre-commit start hooks.

    Otherwise, return None.
    """
    pointer = f"{cwd}/.git"
    if os.path.isdir(pointer):  # noqa: PTH112
        return cwd, pointer
    try:
        with open(pointer, encoding="utf-8") as file:  # noqa: PTH123
            word, _, target = file.read().partition(":")
    except (OSError, UnicodeDecodeError):
        return None
    folder = os.path.join(cwd, target.strip())  # noqa: PTH118
    return (cwd, folder) if word == "gitdir" and os.path.isdir(folder) else None  # noqa: PTH112
