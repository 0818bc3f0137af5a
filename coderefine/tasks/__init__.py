"""Tasks: the built-in ones, TOML files, and tasks of other packages.

A custom task is a TOML file (see `toml_file`), or a `coderefine.core.Task`, or a function from a `Place` to a Task,
registered in the entry point group `coderefine.tasks`:

    [project.entry-points."coderefine.tasks"]
    haiku = "haiku_task:TASK"
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from coderefine.core import Task
from coderefine.errors import ConfigError

if TYPE_CHECKING:
    from coderefine.project import Place

BUILT_IN = ("fix", "readability", "performance", "types", "docs")
"""Names of tasks: functions of `built_in`."""
GROUP = "coderefine.tasks"
"""The entry point group."""


def find(name: str, place: Place) -> Task:
    """Return the task `name`: a TOML file (relative to the project's root), a built-in one, or another package's.

    Raises ConfigError if it does not exist or is no task.
    """
    if name.endswith(".toml"):
        from coderefine.tasks.toml_file import read

        return read(place.root / name)
    if name in BUILT_IN:
        from coderefine.tasks import built_in

        return _made(getattr(built_in, name), name, place)
    return _foreign(name, place)


def _foreign(name: str, place: Place) -> Task:
    from importlib.metadata import entry_points

    found = {entry.name: entry for entry in entry_points(group=GROUP)}
    if name not in found:
        near = difflib.get_close_matches(name, [*BUILT_IN, *found], 1)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join((*BUILT_IN, *found))}; or a TOML file"
        raise ConfigError(f"there is no task {name!r} ({hint})")
    try:
        return _made(found[name].load(), name, place)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"task {name!r} ({found[name].value}) cannot be loaded: {error}") from error


def _made(what: object, name: str, place: Place) -> Task:
    task = what(place) if callable(what) else what
    if not isinstance(task, Task):
        raise ConfigError(f"task {name!r} is no coderefine.Task but {type(task).__name__}")
    return task
