"""The gates: one module each. `GATES` names them; a module is imported only when its gate is used."""

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
    """Return the critics that `config.gates` names, in that order, including [[tool.coderefine.commands]] entries."""
    return tuple(_one(name, place, interpreter, config, listen) for name in dict.fromkeys(config.gates))


def preload(config: Config) -> None:
    """Import the modules of the gates that `build` will need."""
    for name in set(config.gates) & set(GATES):
        importlib.import_module(GATES[name][0])


def _one(name: str, place: Place, interpreter: Interpreter, config: Config, listen: Listen) -> Critic:
    for command in config.commands:
        if command.name == name:
            from coderefine.critics.command import CommandGate

            return CommandGate(place, interpreter, config, listen, command)
    module, member = GATES[name]
    critic: Critic = getattr(importlib.import_module(module), member)(place, interpreter, config, listen)
    return critic
