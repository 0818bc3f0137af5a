"""Tasks: built-in tasks, tasks in TOML files, and tasks of other packages.

A custom task is a TOML file with keys of its own, and any key of [tool.coderefine]:

    name = "headline"
    role = "You write headlines."
    goal = "One headline for story.txt, in headline.txt."
    rules = ["At most 60 characters."]
    given = ["story.txt"]          # shown to the model, never written
    files = ["*.txt"]              # files other than Python: shown and reviewed
    wanted = ["headline.txt"]      # the files to write
    enough = 4.5                   # of 5 in the review
    gates = []
    criteria = { catchy = "Makes one want to read on." }

or a `coderefine.core.Task`, or a function from a `Place` to a Task, registered as an entry point:

    [project.entry-points."coderefine.tasks"]
    haiku = "haiku_task:TASK"
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from coderefine.config import toml, typed
from coderefine.config.tables import hint, made
from coderefine.core import Task
from coderefine.errors import ConfigError

if TYPE_CHECKING:
    from coderefine.project import Place


BUILT_IN = ("fix", "readability", "performance", "types", "docs")
"""Names of the built-in tasks; each is a function of `built_in`."""
GROUP = "coderefine.tasks"
"""The entry point group."""


def find(name: str, place: Place) -> Task:
    """Return the task `name`: a TOML file (relative to the root), a built-in task, or a task of another package.

    Raises ConfigError if it does not exist or is not a task.
    """
    if name.endswith(".toml"):
        return read(place.root / name)
    if name in BUILT_IN:
        from coderefine.tasks import built_in

        return _made(getattr(built_in, name), name, place)
    from importlib.metadata import entry_points

    found = {entry.name: entry for entry in entry_points(group=GROUP)}
    if name not in found:
        raise ConfigError(f"there is no task {name!r}{hint(name, (*BUILT_IN, *found))}; or name a TOML file")
    try:
        return _made(found[name].load(), name, place)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"task {name!r} ({found[name].value}) cannot be loaded: {error}") from error


def _made(what: object, name: str, place: Place) -> Task:
    task = what(place) if callable(what) else what
    if not isinstance(task, Task):
        raise ConfigError(f"task {name!r} is not a coderefine.Task but {type(task).__name__}")
    return task


KEYS = frozenset((
    "name", "goal", "role", "rules", "given", "files", "wanted", "judged", "drafts", "drafted", "keeps", "enough",
))  # fmt: skip
"""A task's own keys, which are fields of Task."""


def read(path: Path) -> Task:
    """Read the task in the file at `path`; its default name is that of the file, without the suffix.

    Raises ConfigError if the file is missing or invalid.
    """
    if not path.is_file():
        raise ConfigError(f"there is no task {path}")
    table = toml(path)
    settings = {key: value for key, value in table.items() if key not in KEYS}
    typed(settings, f"{path.name}: a task", KEYS)
    own = {key: value for key, value in table.items() if key in KEYS}
    return replace(made(Task, {"name": path.stem, **own}, path.name, "{}"), settings=settings)
