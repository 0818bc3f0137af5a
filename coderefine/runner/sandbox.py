"""How far the servers are confined: as tightly as the project's own tests allow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

from coderefine.config import Config


@dataclass(frozen=True, slots=True)
class Bounds:
    """Beyond the view and its temporary folder: folders that may be written, HOME, the network. See inside/confine.py.

    `name` says in the evidence what was loosened; "" for nothing.
    """

    name: str = ""
    write: tuple[str, ...] = ()
    home: bool = False
    network: bool = False

    def job(self) -> Mapping[str, object]:
        return asdict(self)


STEPS: tuple[Bounds | None, ...] = (
    Bounds(),
    Bounds("may write /tmp", ("/tmp", "/var/tmp")),
    Bounds("may write /tmp and HOME, and read what is there", ("/tmp", "/var/tmp"), home=True),
    Bounds("may write /tmp and HOME, and use the network", ("/tmp", "/var/tmp"), home=True, network=True),
    None,
)
"""From tight to loose; None is unconfined."""
LOOSEST = len(STEPS) - 1


def steps(config: Config) -> tuple[Bounds | None, ...]:
    """What may be tried, in this order: all that `config.sandbox` allows."""
    return {"strict": STEPS[:1], "off": STEPS[-1:]}.get(config.sandbox, STEPS)


def bounds(config: Config, freedom: int | None) -> Bounds | None:
    """Of a cold run; the network is the view's to take away, and the user's to grant."""
    if freedom is None:
        return None
    allowed = steps(config)
    found = allowed[min(freedom, len(allowed) - 1)]
    return found and replace(found, network=found.network or config.network)
