"""A task as a TOML file: its own keys, and any key of [tool.coderefine].

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
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from coderefine.config import toml, typed
from coderefine.core import Task
from coderefine.errors import ConfigError

KEYS: Mapping[str, tuple[tuple[type, ...], str]] = {
    **dict.fromkeys(("name", "goal", "role", "drafted"), ((str,), "a string")),
    **dict.fromkeys(("drafts", "keeps"), ((bool,), "true or false")),
    **dict.fromkeys(("rules", "given", "files", "wanted", "judged"), ((list,), "a list of strings")),
    "enough": ((int, float), "a number"),
}
"""A task's own keys: their types in TOML, and the name of the type in messages."""


def read(path: Path) -> Task:
    """Read the task in the file at `path`. Raises ConfigError if it is invalid."""
    if not path.is_file():
        raise ConfigError(f"there is no task {path}")
    table = toml(path)
    return task_of(table, path.name, path.stem)


def task_of(table: Mapping[str, Any], where: str, name: str) -> Task:
    """Return the task described by `table`, which may contain a name other than `name`.

    Raises ConfigError, with `where`.
    """
    own = {key: _checked(key, value, where) for key, value in table.items() if key in KEYS}
    settings = {key: value for key, value in table.items() if key not in KEYS}
    typed(settings, f"{where}: a task", KEYS)
    found: dict[str, Any] = {"name": name, **own, "settings": settings}
    return Task(**found)


def _checked(key: str, value: object, where: str) -> object:
    """Return `value` converted for a field of Task. Raises ConfigError for another type; bools are not numbers."""
    types, called = KEYS[key]
    if type(value) not in types or (isinstance(value, list) and not all(isinstance(item, str) for item in value)):
        raise ConfigError(f"{where}: {key} must be {called}, not {value!r}")
    if isinstance(value, list):
        return tuple(value)
    return float(value) if isinstance(value, int | float) and key == "enough" else value
