"""The project of a command: its place, configuration, interpreter, protected files and task."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from coderefine.config import Config, load, task_name
from coderefine.core import FIX, Listen, Task
from coderefine.proc import hide
from coderefine.project import Interpreter, Place, Protection, interpreter, locate
from coderefine.tasks import find


@dataclass(frozen=True, slots=True)
class Project:
    """A project, its settings and its task, and the listener for events."""

    place: Place
    config: Config
    interpreter: Interpreter
    protection: Protection
    listen: Listen
    task: Task = FIX


def find_project(
    paths: Sequence[str],
    settings: Mapping[str, object],
    listen: Listen,
    task: Task | None = None,
    *,
    cwd: Path | None = None,
) -> Project:
    """Find the project of `paths`, its task (unless given) and its interpreter.

    `settings` override the configuration file and the environment. Raises UsageError, ConfigError, SurroundingsError.
    """
    return project_at(locate([Path(path) for path in paths], cwd or Path.cwd()), settings, listen, task)


def project_at(
    place: Place, settings: Mapping[str, object], listen: Listen, task: Task | None = None, data: bytes | None = None
) -> Project:
    """Return the project at `place`, with its task (unless given) and its interpreter.

    `settings` override the configuration file and the environment. `data`: the content of pyproject.toml; None: read it
    from the working tree. Raises ConfigError, SurroundingsError.
    """
    if task is None:
        name = task_name(place.root, os.environ, settings, data)
        task = FIX if name == FIX.name else find(name, place)
    task = replace(task, wanted=tuple(PurePosixPath(path).as_posix() for path in task.wanted))
    config = load(place.root, os.environ, settings, task, data)
    place = replace(place, scope=task.wanted or place.scope)
    hide(config.api_key_env)
    threading.Thread(target=_preload, args=(config,), daemon=True).start()
    python = interpreter(place, config, os.environ)
    return Project(place, config, python, Protection.of(place, config), listen, task)


def _preload(config: Config) -> None:
    """Import the next needed modules, while another process inspects the project's interpreter (saves 40 ms)."""
    import coderefine.workspace  # noqa: F401
    from coderefine.critics import preload

    preload(config)
