"""`coderefine write`: run the loop of `fix` with one finding at the start, the requested code."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

import click

from coderefine.app import destination
from coderefine.app.project import setup
from coderefine.app.run import Request, mend
from coderefine.cli.options import GATES, LOOP, OUTPUT, PROOF, options
from coderefine.cli.screen import screen
from coderefine.config import Config
from coderefine.core import Verdict
from coderefine.errors import SurroundingsError, UsageError
from coderefine.project import Place, Protection, locate

ROLE = "You write Python code."
RULES = (
    "Write the least that does what is asked, complete: no stubs, no TODO, nothing for later.",
    "Follow the style of the code around it. Public names have type annotations and a docstring.",
)

SMALL, NEIGHBOURS = 3_000, 2
"""Size in bytes up to which a neighbouring module is shown to the model, and the number of such modules."""


@click.command()
@click.argument("request", required=False, default="")
@click.option(
    "--into",
    multiple=True,
    required=True,
    metavar="PATH",
    help="Write into this file, a new one or one that is there (repeatable).",
)
@click.option(
    "--tests",
    multiple=True,
    metavar="PATH",
    help="Let these tests judge what is written (default: those that import it).",
)
@click.option(
    "--draft/--no-draft",
    default=True,
    help="Let the model draft tests where there are none; they advise, and prove nothing.",
)
@click.option("--keep-draft", metavar="FILE", help="Write the drafted tests that pass into this new file.")
@options(GATES, LOOP, PROOF, destination.OPTIONS, OUTPUT)
def write(  # one parameter per flag of its own
    request: str,
    *,
    into: tuple[str, ...],
    tests: tuple[str, ...],
    format_: str,
    draft: bool,
    keep_draft: str | None,
    quiet: bool,
    **given: object,
) -> int:
    """Write what REQUEST asks for into files, new ones too, and nothing else.

    REQUEST is prose or the path of a specification; without it, the stubs and docstrings in the files and the tests
    that import them say what is wanted.
    """
    place = _place(into)
    judged = _judged(place, into, tests)
    drafts = _drafts(place, judged, keep_draft, wanted=draft)
    asked = Request.of(given, task=str(_task(place, request, into, judged, drafts)))
    with screen(quiet=quiet, format_=format_) as display:
        parts = setup((str(place.root),), asked.flags, display.listen)
        _check_model(parts.config, asked)
        return mend(parts, asked, display)


def _check_model(config: Config, asked: Request) -> None:
    """Raise UsageError without a model: ruff and the search cannot write new code."""
    from coderefine.llm.access import configured

    able = configured(config, os.environ) if asked.model else Verdict(ok=False, reason="leave out --no-model")
    if not able and not asked.show_prompts:
        raise UsageError(f"write needs a model: {able.reason}")


def _place(into: Sequence[str]) -> Place:
    """Return the project that the files are in, or will be in."""
    paths = [Path(path).absolute() for path in into]
    here = locate([], Path.cwd())
    for path, name in zip(paths, into, strict=True):
        if here.git_dir is not None and not Path(os.path.realpath(path)).is_relative_to(here.top):
            raise UsageError(f"--into {name} is outside this repository ({here.top})")
    place = locate([next(one for one in (path, *path.parents) if one.exists()) for path in paths], Path.cwd())
    if place.git_dir is None:
        raise SurroundingsError(
            f"{place.top} is not in a git repository, and what is written must be possible to take back: run `git init`"
        )
    return place


def _judged(place: Place, into: Sequence[str], tests: Sequence[str]) -> tuple[str, ...]:
    """Return the tests that judge what is written: those that are named, else those that import it."""
    wanted = tuple(_relative(path, place) for path in into)
    _check_writable(place, wanted)
    return tuple(_standing(path, place) for path in tests) or _importing(place, wanted)


def _drafts(place: Place, judged: Sequence[str], keep: str | None, *, wanted: bool) -> dict[str, object]:
    """Return whether the model drafts tests, and the file they are kept in.

    Raises UsageError.
    """
    if keep is None:
        return {"drafts": wanted and not judged}
    path = _relative(keep, place)
    if judged or not wanted:
        why = f"{judged[0]} judges what is written" if judged else "--no-draft says so"
        raise UsageError(f"--keep-draft {keep}: no tests are drafted, {why}")
    if (place.top / path).exists():
        raise UsageError(f"--keep-draft {keep} exists already: drafts go into a new file")
    if not _named_as_test(path, place):
        raise UsageError(f"--keep-draft {keep}: pytest would not take it for tests, call it test_….py")
    return {"drafts": True, "drafted": path}


def _named_as_test(path: str, place: Place) -> bool:
    """Return whether pytest would collect the file by its own name, in whatever folder it is."""
    name = PurePosixPath(path).name
    bare = name if place.prefix == "." else f"{place.prefix}/{name}"
    return name.endswith(".py") and name != "conftest.py" and Protection.of(place, Config()).is_test(bare)


def _task(place: Place, request: str, into: Sequence[str], judged: Sequence[str], drafts: Mapping[str, object]) -> Path:
    """Write the task to a file in the git directory, so that a resumed or replayed run finds it again."""
    wanted = tuple(_relative(path, place) for path in into)
    spec = (_relative(request, place),) if _is_file(request) else ()
    table = {
        "name": "write",
        "role": ROLE,
        "goal": _goal(request, wanted, spec, judged),
        "rules": [*RULES, *([f"The tests in {', '.join(judged)} judge it."] if judged else [])],
        "given": [*spec, *(path for path in judged if (place.top / path).is_file()), *_neighbours(place, wanted)],
        "wanted": list(wanted),
        "judged": list(judged),
        **drafts,
        "search": False,
        "message": "feat: {summary}",
    }
    assert place.git_dir is not None, "looked at when the place was found"
    return _kept(place.git_dir / "coderefine" / "tasks", table)


def _neighbours(place: Place, wanted: Sequence[str]) -> list[str]:
    """Return neighbouring modules that show style and names: `__init__.py`, then the largest small modules."""
    folder = (place.top / wanted[0]).parent
    sizes = {path: path.stat().st_size for path in folder.glob("*.py")}
    protection = Protection.of(place, Config())
    names = {path.relative_to(place.top).as_posix(): size for path, size in sizes.items() if 0 < size <= SMALL}
    fit = [name for name in names if name not in wanted and not protection.is_test(name)]
    fit.sort(key=lambda name: (not name.endswith("/__init__.py"), -names[name], name))
    return fit[:NEIGHBOURS]


def _kept(folder: Path, table: dict[str, object]) -> Path:
    import tomlkit

    text = tomlkit.dumps(table)
    file = folder / f"write-{hashlib.sha256(text.encode()).hexdigest()[:12]}.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    return file


def _goal(request: str, wanted: Sequence[str], spec: Sequence[str], judged: Sequence[str]) -> str:
    where = ", ".join(wanted)
    if spec:
        return f"Write into {where} what {spec[0]} specifies."
    if request:
        return f"Write into {where}: {request}"
    if judged:
        return f"Write into {where} what {', '.join(judged)} import from there and expect of it."
    return f"Write the stubs in {where}: what their names, signatures and docstrings say."


def _is_file(request: str) -> bool:
    try:
        return bool(request) and "\n" not in request and Path(request).is_file()
    except OSError:  # a long sentence is no file name
        return False


def _relative(path: str, place: Place) -> str:
    full = Path(os.path.normpath(Path(path).absolute()))
    full = full.parent.resolve() / full.name
    if not full.is_relative_to(place.top):
        raise UsageError(f"{path} is outside this repository ({place.top})")
    return full.relative_to(place.top).as_posix()


def _standing(path: str, place: Place) -> str:
    if not Path(path).exists():
        raise UsageError(f"--tests {path} does not exist: tests that judge have to be there before what they judge")
    return _relative(path, place)


def _check_writable(place: Place, wanted: Sequence[str]) -> None:
    protection = Protection.of(place, Config())
    for path in wanted:
        if reason := next(_against(protection, place, path), None):
            raise UsageError(f"--into {reason}: coderefine writes code, not what judges it")


def _against(protection: Protection, place: Place, path: str) -> Iterator[str]:
    """Yield reasons against writing `path`.

    That it is outside the current folder is no reason.
    """
    if reason := replace(protection, scope=(".",)).reason(path):
        yield reason
    elif (place.top / path).is_dir():
        yield f"{path} is a folder"


def _importing(place: Place, wanted: Sequence[str]) -> tuple[str, ...]:
    """Return the test files that import what is wanted, without drafts that were not reviewed."""
    from coderefine.critics.drafted import is_draft
    from coderefine.project.affected_tests import affected, python_files

    files = {*python_files(place.top), *(path for path in wanted if path.endswith(".py"))}
    found = affected(place.top, files, wanted, Protection.of(place, Config()).is_test)
    return tuple(path for path in found if not is_draft(place.top / path))
