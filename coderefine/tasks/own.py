"""A task as a TOML file: its own keys, and any key of [tool.coderefine].

name = "headline"
role = "You write headlines."
goal = "One headline for story.txt, in headline.txt."
rules = ["At most 60 characters."]
given = ["story.txt"]          # shown, never written
files = ["*.txt"]              # artefacts that are no Python: shown and reviewed
wanted = ["headline.txt"]      # where the work goes
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

TEXTS = ("name", "goal", "role")
FLAGS = ("drafts", "keeps")
LISTS = ("rules", "given", "files", "wanted", "judged")


def read(path: Path) -> Task:
    """The task in the file at `path`. Raises ConfigError for what it cannot be."""
    if not path.is_file():
        raise ConfigError(f"there is no task {path}")
    table = toml(path)
    return task_of(table, path.name, path.stem)


def task_of(table: Mapping[str, Any], where: str, name: str) -> Task:
    """The task that `table` describes; `name` is its name unless it gives one. Raises ConfigError, naming `where`."""
    own: dict[str, Any] = {"name": name}
    settings: dict[str, Any] = {}
    for key, value in table.items():
        if key in (*TEXTS, *LISTS, "enough", *FLAGS):
            own[key] = _checked(key, value, where)
        else:
            settings[key] = value
    typed(settings, f"{where}: a task")
    return Task(**own, settings=settings)


def _checked(key: str, value: object, where: str) -> object:
    if key in TEXTS and isinstance(value, str):
        return value
    if key in LISTS and isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    if key == "enough" and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if key in FLAGS and isinstance(value, bool):
        return value
    what = (
        "true or false"
        if key == "drafts"
        else "a string"
        if key in TEXTS
        else "a list of strings"
        if key in LISTS
        else "a number"
    )
    raise ConfigError(f"{where}: {key} must be {what}, not {value!r}")
