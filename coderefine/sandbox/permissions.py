"""Bounds for confined processes: the tightest that the project's own tests and tools allow."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path

from coderefine.config import Config
from coderefine.core import Freedom, Needs

MEMORY_SHARE = 4
"""Memory limit of a process: the machine's memory divided by this, plus twice the largest process at the baseline."""
MOST_SHARE = 0.8
"""... but never more than this part of the machine's memory."""
LARGEST_FILE = 2 << 30
PROCESSES = 2048

TEMPORARY = ("/tmp", "/var/tmp")
CACHES = ("~/.cache",)


FREE = "may write /tmp and HOME, read everything there, and use the network"


@dataclass(frozen=True, slots=True)
class Bounds:
    """Permissions of confined processes, besides reading files and writing to the view and its temporary folders.

    `write`: files and folders. `read`: secret files. `home`: write to HOME, but not to secrets. `secrets`: read and
    write all secrets. `sockets`: create Unix sockets; existing ones outside stay hidden, except those in `reach`.
    `memory`: bytes of data per process. `name`: the additional permissions, for the evidence; "" for none.
    """

    name: str = ""
    write: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    home: bool = False
    secrets: bool = False
    network: bool = False
    sockets: bool = False
    reach: tuple[str, ...] = ()
    memory: int = 0

    def job(self) -> Mapping[str, object]:
        return asdict(self)

    @property
    def limits(self) -> Mapping[str, int]:
        """Return the resource limits by their name in the module `resource`."""
        limits = {"CORE": 0, "FSIZE": LARGEST_FILE}
        return {**limits, "DATA": self.memory} if self.memory else limits


TIGHT = Bounds()
LOOSEST = 6
"""The last step: unconfined."""
TOUCHED = 1
"""The step that allows exactly the recorded accesses of the tests on the untouched tree."""


def steps(config: Config, needs: Needs = Needs()) -> tuple[Bounds | None, ...]:
    """Return the bounds to try, in this order, that `config.sandbox` allows; None is unconfined."""
    if config.sandbox == "off":
        return (None,)
    there = machine_memory()
    memory = min(there // MEMORY_SHARE + 2 * needs.memory, int(there * MOST_SHARE))
    ladder = [replace(one, network=one.network or config.network, memory=memory) for one in _ladder(needs)]
    return tuple(ladder[:1]) if config.sandbox == "strict" else (*ladder, None)


def _ladder(needs: Needs) -> Sequence[Bounds]:
    parts = [f"may write {_listed(needs.write)}"] if needs.write else []
    parts += [f"may read {_listed(needs.read)}"] if needs.read else []
    parts += [f"may reach {_listed(needs.sockets)}"] if needs.sockets else []
    parts += ["may use Unix sockets"] if needs.unix and not needs.sockets else []
    touched = Bounds(", ".join(parts), needs.write, needs.read, sockets=needs.unix, reach=needs.sockets)
    caches = tuple(str(Path(path).expanduser()) for path in CACHES)
    scratch = (*TEMPORARY, "/dev/shm")
    usual = replace(touched, name="may write /tmp and use Unix sockets", write=(*needs.write, *scratch), sockets=True)
    cached = replace(usual, name=f"may write /tmp and {', '.join(CACHES)}", write=(*usual.write, *caches))
    home = replace(usual, name="may write /tmp and HOME, but no secrets", home=True)
    free = replace(home, name=FREE, secrets=True, network=True)
    return (TIGHT, touched, usual, cached, home, free)


def _listed(paths: Sequence[str]) -> str:
    home = f"{Path.home()}{os.sep}"
    shown = [f"~/{path.removeprefix(home)}" if path.startswith(home) else path for path in paths]
    return " and ".join(shown[:3]) + (f" and {len(shown) - 3} more" if len(shown) > 3 else "")


def bounds(config: Config, freedom: Freedom | None) -> Bounds | None:
    """Return the bounds of a run with `freedom`; None, unconfined, for the user's own tree and on the last step."""
    if freedom is None:
        return None
    allowed = steps(config, freedom.needs)
    return allowed[min(freedom.step, len(allowed) - 1)]


@cache
def machine_memory() -> int:
    """Return the bytes of this machine's memory; 0 where unknown."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0
