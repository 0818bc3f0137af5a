"""Permissions that the project's tests need outside their view, derived from the log of agent/outside_access.py."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from coderefine.core import Needs, View
from coderefine.sandbox import kernel

TEMPORARY = ("/tmp", "/var/tmp")
"""Folders for temporary files, which may be opened to the tests as a whole."""
LOG = "touched"


def recording(view: View) -> Mapping[str, object]:
    """Return the parameters of agent/outside_access.py."""
    secrets = tuple(kernel.secret_paths(os.path.realpath(Path.home())))
    own = (*view.entry.own, str(view.temp))
    return {"log": str(view.temp / LOG), "own": tuple(map(os.path.realpath, own)), "secrets": secrets}


def recorded(view: View) -> Needs:
    """Return the permissions recorded in `view`; none without a log."""
    try:
        lines = (view.temp / LOG).read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return Needs()
    deeds = [tuple(line.split(" ", 1)) for line in lines]
    by = {kind: tuple(dict.fromkeys(path for one, path in deeds if one == kind)) for kind, _ in deeds}
    write = tuple(dict.fromkeys(filter(None, map(_narrow, by.get("write", ())))))
    outside = tuple(path for path in by.get("socket", ()) if Path(path).exists())
    return Needs(_outermost(write), by.get("read", ()), outside, unix="unix" in by or "socket" in by)


def _narrow(path: str) -> str:
    """Return the path to make writable so that `path` can be written: its folder; "" if that is not allowed.

    If the folder contains the home folder, return only the file itself, if it exists.
    """
    home, folder = os.path.realpath(Path.home()), str(Path(path).parent)
    if folder not in TEMPORARY and f"{home}/".startswith(folder.rstrip("/") + "/"):
        return path if Path(path).exists() else ""
    existing = next((one for one in (Path(folder), *Path(folder).parents) if one.is_dir()), Path("/"))
    return "" if f"{home}/".startswith(str(existing).rstrip("/") + "/") else str(existing)


def _outermost(paths: Iterable[str]) -> tuple[str, ...]:
    """Return `paths` without those below another one."""
    every = list(paths)
    return tuple(path for path in every if not any(path.startswith(f"{other}/") for other in every))
