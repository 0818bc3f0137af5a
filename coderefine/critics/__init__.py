"""The gates: one module each, a literal registry, nothing imported before it is used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coderefine.config import Config
    from coderefine.core import Critic, Listen
    from coderefine.project import Interpreter, Place

GATES = {
    "pytest": ("coderefine.critics.pytest", "Pytest"),
    "ruff": ("coderefine.critics.ruff", "Ruff"),
    "radon": ("coderefine.critics.radon", "Radon"),
}
"""Name of a gate in the configuration -> module and class."""


def build(place: Place, interpreter: Interpreter, config: Config, listen: Listen) -> tuple[Critic, ...]:
    """The critics of `config.gates`, in that order; every [[tool.coderefine.commands]] named there is one.

    With the default gates, every configured command is a gate without being repeated in `gates`.
    """
    return tuple(_one(name, place, interpreter, config, listen) for name in names(config))


def preload(config: Config) -> None:
    """Import the modules of the gates that `build` will need."""
    for name in set(config.gates) & set(GATES):
        importlib.import_module(GATES[name][0])


def names(config: Config) -> tuple[str, ...]:
    """Which gates run: the chosen ones; with the default choice, every configured command too."""
    commands = tuple(command.name for command in config.commands)
    if set(config.gates) == set(GATES):
        return tuple(dict.fromkeys((*config.gates, *commands)))
    return tuple(dict.fromkeys(config.gates))


def _one(name: str, place: Place, interpreter: Interpreter, config: Config, listen: Listen) -> Critic:
    for command in config.commands:
        if command.name == name:
            from coderefine.critics.command import CommandGate

            return CommandGate(place, interpreter, config, listen, command)
    module, member = GATES[name]
    critic: Critic = getattr(importlib.import_module(module), member)(place, interpreter, config, listen)
    return critic
