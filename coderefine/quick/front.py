"""`coderefine hook run`, where it is certain that there is nothing to say."""

from __future__ import annotations

import gc
import os
import sys
import time

from coderefine import import_graph as graph
from coderefine.quick import status, ticket
from coderefine.quick.children import Child, clean_env

SECONDS = 20.0
PASSED = (b" passed", b" skipped", b" xfailed")
LONG = 200
"""Files above which the whole engine is not slower in any way that counts."""


class Unsure(Exception):  # noqa: N818 - no error: the whole engine has to look
    """It cannot be decided here."""


def hook(names: list[str]) -> int | None:
    """The exit code of the hook for `names` (none: what is staged); None: run the whole engine."""
    if any(name.startswith("-") for name in names) or os.name != "posix":
        return None
    gc.disable()  # we are gone before there is anything to collect
    try:
        return _hook(names, time.monotonic() + SECONDS)
    except (Unsure, OSError, UnicodeDecodeError, SyntaxError):
        return None
    finally:
        gc.enable()


def _hook(names: list[str], deadline: float) -> int:
    where = status.place(os.getcwd())  # noqa: PTH109
    if where is None:
        raise Unsure
    top, folder = where
    looking = status.asked()
    known = ticket.read(folder, top)
    if known is None:
        looking.kill()
        raise Unsure
    staged = status.staged(looking.all(deadline) or b"?")
    if staged is None:
        raise Unsure
    python = _python(names or staged)
    return _judged(top, folder, python, known, deadline) if python else 0


def _python(names: list[str]) -> list[str]:
    """The Python files among `names`, as paths in the tree."""
    found = []
    for name in names:
        path = os.path.normpath(name).replace(os.sep, "/")
        if path.startswith(("/", "..")) or os.path.islink(path):  # noqa: PTH114
            raise Unsure
        if path.endswith((".py", ".pyi")) and os.path.isfile(path):  # noqa: PTH113
            found.append(path)
    if len(found) > LONG:
        raise Unsure
    return found


def _judged(top: str, folder: str, python: list[str], known: ticket.Ticket, deadline: float) -> int:
    running: list[Child] = []
    try:
        if known.ruff:
            running.append(Child([*known.ruff, *python], clean_env(known.keys)))
        tests = _tests(top, folder, python) if known.python else []
        if tests:
            running.append(_pytest(known, tests))
        if known.radon and not all(_plain(path, known) for path in python):
            raise Unsure
        if known.ruff and running[0].all(deadline) is None:
            raise Unsure
        return _said(known, running[-1] if tests else None, deadline)
    finally:
        for child in running:
            child.kill()


def _tests(top: str, folder: str, python: list[str]) -> list[str]:
    """The test files that can be affected, from the graph that the last run kept."""
    kept = ticket.kept_in(folder, ticket.GRAPH)
    marks = graph.walk(top)
    if not isinstance(kept, list) or kept[0].keys() != marks.keys():
        raise Unsure
    old, users, tests = kept
    if old != marks:
        users = _regraphed(top, folder, marks, users)
        ticket.keep(folder, ticket.GRAPH, [marks, users, tests])
    found = graph.reached(users, python)
    if any(path.endswith("conftest.py") for path in found):
        raise Unsure
    return [path for path in tests if path in found]


def _regraphed(top: str, folder: str, marks: dict[str, graph.Mark], users: graph.Users) -> graph.Users:
    """The graph after some files have changed; mostly they import what they did."""
    files = ticket.kept_in(folder, ticket.IMPORTS)
    if not isinstance(files, dict):
        raise Unsure
    now = graph.refreshed(top, files, marks)
    ticket.keep(folder, ticket.IMPORTS, now)
    if all(path in files and now[path][1] == files[path][1] for path in now):
        return users
    return graph.users_of({path: modules for path, (_, modules) in now.items()})


def _plain(path: str, known: ticket.Ticket) -> bool:
    """Whether radon would find nothing in it."""
    if path.endswith(".pyi"):
        return True
    with open(path, encoding="utf-8") as file:  # noqa: PTH123
        text = file.read()
    from coderefine.bounds import surely_maintainable, surely_simple

    if surely_simple(text, known.complexity) and surely_maintainable(text, known.floor):
        return True
    from coderefine.critics.complexity import Measured, measure

    return measure(text, known.complexity, known.floor) == Measured()


def _pytest(known: ticket.Ticket, tests: list[str]) -> Child:
    env = clean_env(known.keys)
    if not known.bytecode:
        env["PYTHONDONTWRITEBYTECODE"] = "1"
    return Child([*known.python, *tests], env, both=True)


def _said(known: ticket.Ticket, running: Child | None, deadline: float) -> int:
    if running is None:
        if known.why or known.python:
            print(f"note: tests skipped: {known.why or 'no test imports what is staged'}", file=sys.stderr)
        return 0
    tail = running.tail(deadline)
    code = running.code(deadline)
    if code is None:
        print(f"note: pytest did not finish in {SECONDS:g} s: not all was judged", file=sys.stderr)
        return 1
    if code != 0 or not any(word in tail for word in PASSED):
        raise Unsure
    return 0
