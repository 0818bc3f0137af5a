"""Data that a full run of the hook stores in the git directory for its fast path: programs, limits, import graph."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from coderefine import import_graph as graph
from coderefine.app.project import Project
from coderefine.core import Check, View
from coderefine.git.process import run
from coderefine.lint import Linter
from coderefine.project import Interpreter
from coderefine.project.affected_tests import is_test_file
from coderefine.quick import reach, ticket
from coderefine.quick.front import CONFTEST

INSTALLED = ("site-packages", "dist-packages")
"""Names of folders to which packages are installed."""
QUIET = ("--verbosity=-1", "-x", "--no-header", "--tb=no", "-p", "no:cacheprovider")
"""Options of the quick pytest run: it stops at the first failure, because then the full checks run.

The verbosity is absolute: with a second `-q` (in the project's `addopts`), pytest would print no summary.
"""


def keep_project(project: Project) -> None:
    """Store the data for the fast path of the hook.

    Store nothing if the fast path could decide differently from the full check. Store nothing, too, if pytest is a gate
    but is not installed: then every commit checks again whether pytest is installed.
    """
    folder, top = _folder(project), str(project.place.top)
    if not folder or ("pytest" in project.config.gates and not project.interpreter.pytest):
        return
    ticket.write(folder, top, _ticket(project), _installed(project.interpreter))
    old, marks = ticket.kept_in(folder, ticket.IMPORTS), graph.walk(top)
    files = graph.refreshed(top, old if isinstance(old, dict) else {}, marks)
    tests = [path for path in sorted(files) if is_test_file(path, project.protection.is_test)]
    users = graph.users_of({path: modules for path, (_, modules) in files.items()})
    ticket.keep(folder, ticket.IMPORTS, files)
    ticket.keep(folder, ticket.GRAPH, [marks, users, tests])


def _ticket(project: Project) -> ticket.Ticket:
    config, python = project.config, project.interpreter
    linter = [*Linter.of(project.place, python, config).argv, "--no-fix", "--no-fix-only", "--quiet", "--"]
    return ticket.Ticket(
        linter if "ruff" in config.gates else [],
        [str(python.path), "-m", "pytest", *config.pytest_args, *QUIET] if "pytest" in config.gates else [],
        config.api_key_env,
        "radon" in config.gates,
        config.max_complexity,
        config.min_maintainability,
        run(("check-ignore", "-q", "__pycache__/x.pyc"), cwd=project.place.top).returncode == 0,
    )


def _installed(python: Interpreter) -> list[str]:
    """Return the folders to which programs and packages of the interpreter are installed."""
    programs = {str(python.path.parent), str(python.prefix / "bin")}
    return sorted({*programs, *(folder for folder in python.importable if folder.endswith(INSTALLED))})


def unaffected(project: Project, tests: Sequence[str], python: Sequence[str]) -> set[str]:
    """Return those of `tests` that, according to the coverage map, execute nothing that changed in the files `python`.

    `keep_project` must have been called before.
    """
    folder, top = _folder(project), str(project.place.top)
    kept = ticket.kept_in(folder, ticket.GRAPH) if folder else None
    if not isinstance(kept, list) or any(path.endswith(CONFTEST) for path in graph.reached(kept[1], python)):
        return set()
    return reach.same(folder, top, tests, python, kept[0])


def unaffected_by(project: Project, tests: Collection[str], patched: Mapping[str, bytes]) -> set[str]:
    """Return those of `tests` that, according to the coverage map, execute nothing that the patch `patched` changes."""
    folder, top = _folder(project), str(project.place.top)
    if not folder:
        return set()
    texts = {path: data.decode("utf-8", "replace") for path, data in patched.items()}
    marks = {**graph.walk(top), **dict.fromkeys(texts, (-1, -1))}
    return reach.same(folder, top, tests, texts, marks, texts)


def keep_coverage(project: Project, view: View, checks: Sequence[Check], tests: Collection[str]) -> None:
    """Record in the coverage map what the test files `tests` executed in `view`, if all of them passed."""
    folder, top = _folder(project), str(project.place.top)
    for check in checks:
        if folder and check.coverage and check.complete and check.clean:
            paths = {path for lines in check.coverage.values() for path in lines}
            texts = {path: data.decode("utf-8", "replace") for path in paths if (data := view.read(path)) is not None}
            reach.keep(folder, top, reach.entries(tests, check.coverage, texts, graph.walk(top)))


def _folder(project: Project) -> str:
    """Return the git directory if the fast path decides like the full check, else ""."""
    place, config = project.place, project.config
    own = not (config.commands or config.pass_env or project.task.name != "fix")
    usual = own and set(config.gates) <= set(ticket.GATES)
    return str(place.worktree_dir) if usual and place.worktree_dir and place.root == place.top else ""
