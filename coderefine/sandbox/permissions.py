"""Permissions of confined processes: bounds from tight to loose, and the accesses of the project's tests.

The accesses are read from the log of `OutsideAccess` in runner/agent/cold_process.py.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from coderefine.config import Config
from coderefine.core import Freedom, Needs, View
from coderefine.project.place import outermost

MEMORY_SHARE = 4
"""Memory limit of a process: the machine's memory divided by this, plus twice the largest process at the baseline."""
MOST_SHARE = 0.8
"""Maximum memory limit of a process, as a share of the machine's memory."""
LARGEST_FILE = 2 << 30
PROCESSES = 2048

TEMPORARY = ("/tmp", "/var/tmp")
"""Folders for temporary files; the tests may get permission to write everywhere in them."""
LOG = "touched"
"""Name of the file with the recorded accesses, in the temporary folder of a view."""
CACHES = ("~/.cache",)


FREE = "may write /tmp and HOME, read everything there, and use the network"


@dataclass(frozen=True, slots=True)
class Bounds:
    """Permissions of confined processes, besides reading files and writing to the view and its temporary folders.

    `write`: files and folders. `read`: secret files. `home`: write to HOME, but not to secrets. `secrets`: read and
    write all secrets. `sockets`: create Unix sockets; existing ones outside stay hidden, except those in `reach`.
    `memory`: bytes of data per process (0: no limit). `name`: the additional permissions in words, for the evidence; ""
    for none.
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

    @property
    def limits(self) -> Mapping[str, int]:
        """Return the resource limits by their name in the module `resource`."""
        limits = {"CORE": 0, "FSIZE": LARGEST_FILE}
        return {**limits, "DATA": self.memory} if self.memory else limits


TIGHT = Bounds()
LOOSEST = 6
"""Index of the last step, at which processes are unconfined."""
TOUCHED = 1
"""Index of the step that allows exactly the accesses of the tests that were recorded on the unchanged tree."""


def steps(config: Config, needs: Needs = Needs()) -> tuple[Bounds | None, ...]:
    """Return the bounds that `config.sandbox` allows, in the order in which to try them; None is unconfined."""
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
    """Return the bounds for `freedom`; None means unconfined.

    Processes are unconfined if `freedom` is None (as for the user's own tree), if `config.sandbox` is "off", or if
    it is "auto" and `freedom.step` has reached the last of `steps`.
    """
    if freedom is None:
        return None
    allowed = steps(config, freedom.needs)
    return allowed[min(freedom.step, len(allowed) - 1)]


@cache
def machine_memory() -> int:
    """Return the bytes of this machine's memory; 0 if unknown."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0


def recording(view: View) -> Mapping[str, object]:
    """Return the parameters of `OutsideAccess` in runner/agent/cold_process.py."""
    from coderefine.sandbox import kernel  # only POSIX has its modules

    secrets = tuple(kernel.secret_paths(os.path.realpath(Path.home())))
    own = (*view.entry.own, str(view.temp))
    return {"log": str(view.temp / LOG), "own": tuple(map(os.path.realpath, own)), "secrets": secrets}


def recorded(view: View) -> Needs:
    """Return what the tests in `view` accessed outside it, from the recorded log; an empty Needs if there is no log."""
    try:
        lines = (view.temp / LOG).read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return Needs()
    deeds = [tuple(line.split(" ", 1)) for line in lines]
    by = {kind: tuple(dict.fromkeys(path for one, path in deeds if one == kind)) for kind, _ in deeds}
    write = tuple(dict.fromkeys(filter(None, map(_narrow, by.get("write", ())))))
    outside = tuple(path for path in by.get("socket", ()) if Path(path).exists())
    return Needs(outermost(write), by.get("read", ()), outside, unix="unix" in by or "socket" in by)


def _narrow(path: str) -> str:
    """Return the path to make writable so that `path` can be written; "" if that is not allowed.

    This is the folder of `path`, or the nearest existing folder above; it must not contain the home folder. If the
    folder of `path` itself contains the home folder and is not in TEMPORARY, only `path` is made writable, and only if
    it exists.
    """
    home, folder = os.path.realpath(Path.home()), str(Path(path).parent)
    if folder not in TEMPORARY and f"{home}/".startswith(folder.rstrip("/") + "/"):
        return path if Path(path).exists() else ""
    existing = next((one for one in (Path(folder), *Path(folder).parents) if one.is_dir()), Path("/"))
    return "" if f"{home}/".startswith(str(existing).rstrip("/") + "/") else str(existing)
