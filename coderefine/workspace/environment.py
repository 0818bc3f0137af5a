"""The environment variables of what runs in a private view."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from coderefine import proc
from coderefine.project import Place

DROPPED = ("PYTHONPYCACHEPREFIX", "PYTHONSTARTUP", "PYTEST_ADDOPTS_FILE", "OLDPWD", "PWD")
"""A bytecode folder shared by all views could serve one patch the bytecode of another."""


@dataclass(frozen=True, slots=True)
class Grants:
    """What the project's tests are allowed beyond the usual: the network, variables that look like secrets."""

    network: bool = False
    variables: tuple[str, ...] = ()


NOTHING = Grants()


def child_environment(temp: Path, extra: Mapping[str, str] | None, grants: Grants = NOTHING) -> dict[str, str]:
    """Our environment without `GIT_*` and without secrets (but those granted), temporary files sent to `temp`."""
    env = proc.clean_env(passed=grants.variables)
    for name in DROPPED:
        env.pop(name, None)
    return {**env, "TMPDIR": str(temp), "TMP": str(temp), "TEMP": str(temp), **(extra or {})}


SITE = Path(__file__).with_name("site")
"""Holds the `sitecustomize` of programs in a copy."""


def relocated(env: Mapping[str, str], place: Place, copy: Path) -> dict[str, str]:
    """`env` in which Python programs import the copy, whatever path an editable install names.

    What heeds no `sitecustomize` (`python -S`) finds the usual folders of the copy first at least.
    """
    root = copy / place.prefix
    front = [path for path in (root / "src", root) if path.is_dir()]
    given = [_moved(Path(item), place.top, copy) for item in env.get("PYTHONPATH", "").split(os.pathsep) if item]
    paths = os.pathsep.join(dict.fromkeys(map(str, (SITE, *front, *given))))
    return {**env, "PYTHONPATH": paths, "CODEREFINE_ORIGIN": str(place.top), "CODEREFINE_COPY": str(copy)}


def _moved(path: Path, top: Path, copy: Path) -> Path:
    return copy / path.relative_to(top) if path.is_relative_to(top) else path
