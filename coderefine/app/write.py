"""The task of `write`: the request, the files to write, and the acceptance tests."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

import tomlkit

from coderefine.app.project import Project
from coderefine.config import load
from coderefine.core import Verdict
from coderefine.critics.drafted import is_draft
from coderefine.errors import SurroundingsError, UsageError
from coderefine.import_graph import walk
from coderefine.llm.availability import configured
from coderefine.project import Place, Protection, locate
from coderefine.project.affected_tests import affected

ROLE = "You write Python code."
RULES = (
    "Write the least that does what is asked, complete: no stubs, no TODO, nothing for later.",
    "Follow the style of the code around it. Public names have type annotations and a docstring.",
)
SMALL, NEIGHBOURS = 3_000, 2
"""Size in bytes up to which a neighbouring module is shown to the model, and the number of such modules."""


def write_task(
    request: str, into: Sequence[str], tests: Sequence[str], *, draft: bool, keep_draft: str | None
) -> tuple[Place, Path]:
    """Write the task to a file in the git directory, so that a resumed or replayed run finds it.

    Return the place of the project that contains, or will contain, the files, and the path of the task's file. `into`:
    the files to write. `tests`: the acceptance tests, by default those that import the files. `draft`: let the model
    draft tests if there are none. `keep_draft`: a file for the drafted tests. Raises UsageError.
    """
    place = _locate(into)
    protection = Protection.of(place, load(place.root, os.environ))
    wanted = tuple(_relative(path, place) for path in into)
    _check_writable(place, wanted, protection)
    judged = tuple(_existing_test(path, place) for path in tests) or _importing(place, wanted, protection)
    drafts = _drafts(place, judged, keep_draft, protection, wanted=draft)
    specification = (_relative(request, place),) if _is_file(request) else ()
    neighbours = _neighbours(place, wanted, protection)
    table = {
        "name": "write",
        "role": ROLE,
        "goal": _goal(request, ", ".join(wanted), specification, judged),
        "rules": [*RULES, *([f"The tests in {', '.join(judged)} judge it."] if judged else [])],
        "given": [*specification, *(path for path in judged if (place.top / path).is_file()), *neighbours],
        "wanted": list(wanted),
        "judged": list(judged),
        **drafts,
        "search": False,
        "message": "feat: {summary}",
    }
    assert place.git_dir is not None, "checked when the place was found"
    text = tomlkit.dumps(table)
    file = place.git_dir / "coderefine" / "tasks" / f"write-{hashlib.sha256(text.encode()).hexdigest()[:12]}.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    return place, file


def check_model(project: Project, *, allowed: bool) -> None:
    """Raise UsageError if no model can be used: ruff and the search cannot write new code."""
    able = configured(project.config, os.environ) if allowed else Verdict(ok=False, reason="leave out --no-model")
    if not able:
        raise UsageError(f"write needs a model: {able.reason}")


def _locate(into: Sequence[str]) -> Place:
    """Return the place of the project that contains, or will contain, the files."""
    paths = [Path(path).absolute() for path in into]
    here = locate([], Path.cwd())
    for path, name in zip(paths, into, strict=True):
        if here.git_dir is not None and not Path(os.path.realpath(path)).is_relative_to(here.top):
            raise UsageError(f"--into {name} is outside this repository ({here.top})")
    place = locate([next(one for one in (path, *path.parents) if one.exists()) for path in paths], Path.cwd())
    if place.git_dir is None:
        raise SurroundingsError(
            f"{place.top} is not in a git repository, so the written code could not be undone: run `git init`"
        )
    return place


def _relative(path: str, place: Place) -> str:
    full = Path(os.path.normpath(Path(path).absolute()))
    full = full.parent.resolve() / full.name
    if not full.is_relative_to(place.top):
        raise UsageError(f"{path} is outside this repository ({place.top})")
    return full.relative_to(place.top).as_posix()


def _check_writable(place: Place, wanted: Sequence[str], protection: Protection) -> None:
    """Raise UsageError for a protected file or a folder; files outside the current folder are allowed."""
    everywhere = replace(protection, scope=(".",))
    for path in wanted:
        reason = everywhere.reason(path) or (f"{path} is a folder" if (place.top / path).is_dir() else "")
        if reason:
            raise UsageError(f"--into {reason}: coderefine writes code, but not its tests and configuration")


def _existing_test(path: str, place: Place) -> str:
    if not Path(path).exists():
        raise UsageError(f"--tests {path} does not exist: acceptance tests must exist before the code is written")
    return _relative(path, place)


def _importing(place: Place, wanted: Sequence[str], protection: Protection) -> tuple[str, ...]:
    """Return the test files that import the files `wanted`, without unreviewed drafts."""
    files = {*walk(str(place.top)), *(path for path in wanted if path.endswith(".py"))}
    found = affected(place.top, files, wanted, protection.is_test, strings=False)
    return tuple(path for path in found if not is_draft(place.top / path))


def _drafts(
    place: Place, judged: Sequence[str], keep: str | None, protection: Protection, *, wanted: bool
) -> Mapping[str, object]:
    """Return the settings for drafted tests: whether the model drafts tests, and the file for them.

    `keep`: the file, if any. `wanted`: whether drafts are allowed. Raises UsageError if `keep` cannot be used.
    """
    if keep is None:
        return {"drafts": wanted and not judged}
    path = _relative(keep, place)
    if judged or not wanted:
        why = f"{judged[0]} judges the new code" if judged else "--no-draft is given"
        raise UsageError(f"--keep-draft {keep}: no tests are drafted, {why}")
    if (place.top / path).exists():
        raise UsageError(f"--keep-draft {keep} exists already: drafts go into a new file")
    if not _is_collected(path, place, protection):
        raise UsageError(f"--keep-draft {keep}: pytest would not collect it, call it test_….py")
    return {"drafts": True, "drafted": path}


def _is_collected(path: str, place: Place, protection: Protection) -> bool:
    """Return whether pytest would collect the file, judging by its name and not by its folder."""
    name = PurePosixPath(path).name
    bare = name if place.prefix == "." else f"{place.prefix}/{name}"
    return name.endswith(".py") and name != "conftest.py" and protection.is_test(bare)


def _neighbours(place: Place, wanted: Sequence[str], protection: Protection) -> list[str]:
    """Return modules beside the first file as examples of style: `__init__.py`, then the largest of the small ones."""
    sizes = {path: path.stat().st_size for path in (place.top / wanted[0]).parent.glob("*.py")}
    names = {path.relative_to(place.top).as_posix(): size for path, size in sizes.items() if 0 < size <= SMALL}
    fit = [name for name in names if name not in wanted and not protection.is_test(name)]
    fit.sort(key=lambda name: (not name.endswith("/__init__.py"), -names[name], name))
    return fit[:NEIGHBOURS]


def _goal(request: str, where: str, specification: Sequence[str], judged: Sequence[str]) -> str:
    if specification:
        return f"Write into {where} what {specification[0]} specifies."
    if request:
        return f"Write into {where}: {request}"
    if judged:
        return f"Write into {where} what {', '.join(judged)} import from there and expect of it."
    return f"Write the stubs in {where}: what their names, signatures and docstrings say."


def _is_file(request: str) -> bool:
    try:
        return bool(request) and "\n" not in request and Path(request).is_file()
    except OSError:  # a long sentence is not a file name
        return False
