"""The environment of the processes in a private view: temporary folder, variables, and how processes are ended."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from coderefine import proc, temporary
from coderefine.errors import WorkspaceError
from coderefine.project import Place

DROPPED = ("PYTHONPYCACHEPREFIX", "PYTHONSTARTUP", "PYTEST_ADDOPTS_FILE", "PYTEST_DEBUG_TEMPROOT", "OLDPWD", "PWD")
"""Environment variables that processes in a view do not get.

PYTHONPYCACHEPREFIX: a bytecode folder shared by all views could give one patch the bytecode of another. The folder of
PYTEST_DEBUG_TEMPROOT is outside the sandbox: all tests with `tmp_path` would fail, and would be run again.
"""
MARK = "CODEREFINE_VIEW"
"""Environment variable that every child of a copied view inherits."""
DEATH = 5.0  # seconds: on a busy machine a killed process may need a while until it is gone
SITE = Path(__file__).with_name("site")
"""Folder with the `sitecustomize` of programs in a copy."""


@dataclass(frozen=True, slots=True)
class Grants:
    """Additional permissions of the project's tests.

    `network`: they may use the network. `variables`: names or globs of environment variables that they get although
    these look like secrets.
    """

    network: bool = False
    variables: tuple[str, ...] = ()


NOTHING = Grants()


def child_environment(temp: Path, extra: Mapping[str, str] | None, grants: Grants) -> dict[str, str]:
    """Return our environment without `GIT_*`, DROPPED and secrets that `grants` does not allow, and add `extra`.

    Temporary files go to `temp`.
    """
    env = proc.clean_env(passed=grants.variables)
    for name in DROPPED:
        env.pop(name, None)
    return {**env, "TMPDIR": str(temp), "TMP": str(temp), "TEMP": str(temp), **(extra or {})}


def relocated(env: Mapping[str, str], place: Place, copy: Path) -> dict[str, str]:
    """Return `env`, changed so that Python programs import from `copy` even if an editable install names another path.

    Even without `sitecustomize` (`python -S`), the import path begins with the project's `src` and root in the copy.
    """
    root = copy / place.prefix
    front = [path for path in (root / "src", root) if path.is_dir()]
    given = [Path(item) for item in env.get("PYTHONPATH", "").split(os.pathsep) if item]
    given = [copy / path.relative_to(place.top) if path.is_relative_to(place.top) else path for path in given]
    paths = os.pathsep.join(dict.fromkeys(map(str, (SITE, *front, *given))))
    return {**env, "PYTHONPATH": paths, "CODEREFINE_ORIGIN": str(place.top), "CODEREFINE_COPY": str(copy)}


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """Yield a new folder (mode 0700, path without links), removed at the end. Raises WorkspaceError."""
    with contextlib.ExitStack() as stack:
        try:
            path = stack.enter_context(temporary.folder("view"))
        except OSError as error:
            raise WorkspaceError(f"no temporary folder: {error}; free some space or set TMPDIR") from error
        yield path


def sweep() -> int:
    """Remove the temporary folders of this user's killed runs, and kill the processes that still run in them.

    Return the number of removed folders.
    """
    return temporary.sweep(lambda path: kill_strays(str(path)))


def kill_strays(mark: str) -> None:
    """Kill the processes whose environment variable MARK starts with `mark`, until all of them are gone.

    After DEATH seconds the function returns although some may be left. On systems other than Linux, this function does
    nothing: there, only process groups are killed.
    """
    if not sys.platform.startswith("linux"):
        return
    needle = os.fsencode(f"{MARK}={mark}")
    deadline = time.monotonic() + DEATH
    while (found := list(_carriers(needle))) and time.monotonic() < deadline:
        for pid in found:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)


def _carriers(needle: bytes) -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if any(item.startswith(needle) for item in (entry / "environ").read_bytes().split(b"\0")):
                    yield int(entry.name)
