"""The launcher: confine this process according to the job, report what worked, and become the program.

It is started as `python -I -S -c BOOT FOLDER JOB PROGRAM…` (see launch.py) with coderefine's own interpreter, before
any file of the project can be imported, so that the project's interpreter starts confined.
"""

from __future__ import annotations

import marshal
import os
import resource
import sys

import kernel  # type: ignore[import-not-found]  # by its path, see launch.BOOT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

REFUSED = 125
"""Exit code of a launcher that could not confine a `strict` job."""

CAPABILITIES = {
    "chown": 0, "dac_override": 1, "fowner": 3, "fsetid": 4, "kill": 5, "setgid": 6, "setuid": 7,
    "net_bind_service": 10, "net_raw": 13, "sys_chroot": 18, "setfcap": 31,
}  # fmt: skip


def main() -> None:
    """Confine this process, report which guards work and which are missing, then execute the program in its place.

    This function does not return. If a guard is missing and the job is `strict`, the program is not started.
    """
    job = marshal.loads(bytes.fromhex(sys.argv[2]))
    program = sys.argv[3:]
    done, missing = confined(job) if job["bounds"] is not None else unconfined(job)
    report = {"done": done, "missing": missing}
    os.write(job["report"], marshal.dumps(report).hex().encode() + b"\n")
    os.close(job["report"])
    if missing and job["strict"]:
        os._exit(REFUSED)
    try:
        os.chdir(job["cwd"])
        os.execvp(program[0], program)
    except OSError as error:
        sys.stderr.write(f"cannot start {program[0]}: {error.strerror}\n")
        sys.stderr.flush()
    os._exit(127)


def unconfined(job: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Only drop capabilities and set resource limits. Return two empty lists, as no guard is set (see `confined`)."""
    powers(job["capabilities"])
    limits(job)
    return [], []


def confined(job: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Confine this process; return (what was applied, what is missing), as texts for the report."""
    bounds = job["bounds"]
    home = os.path.realpath(os.path.expanduser("~"))
    write = _writable(job, home)
    secrets = [] if bounds["secrets"] else list(kernel.secret_paths(home))
    mounts, offline, nested = kernel.separate(network=bounds["network"])
    if mounts:
        kernel.hide(job["hidden"])
    frozen = mounts and kernel.freeze(write)
    abi = kernel.landlock(list(kernel.rules(write, list(map(os.path.realpath, bounds["read"])), secrets)))
    powers([] if nested and job["capabilities"] is None else job["capabilities"])
    limits(job)
    filtered = kernel.filter_calls(sockets=bounds["sockets"])
    guards = {
        f"landlock {abi}": abi > 0,
        "truncation": abi >= 3 or frozen,
        "network off": offline or bounds["network"],
        "outside read-only": frozen,
        "Unix sockets closed": filtered and (mounts or not bounds["sockets"]),
    }
    return _words(guards, bounds)


def _writable(job: dict[str, Any], home: str) -> list[str]:
    """Return the existing paths that may be written, with links resolved."""
    bounds = job["bounds"]
    allowed = [*job["own"], *bounds["write"], *([home] if bounds["home"] else [])]
    return [path for path in dict.fromkeys(map(os.path.realpath, allowed)) if os.path.exists(path)]


def _words(guards: dict[str, bool], bounds: dict[str, Any]) -> tuple[list[str], list[str]]:
    silent = {"truncation", *(["network off"] if bounds["network"] else [])}
    silent |= {"Unix sockets closed"} if bounds["sockets"] else set()
    done = [name for name, there in guards.items() if there and name not in silent]
    return done, [MISSING.get(name, MISSING["landlock"]) for name, there in guards.items() if not there]


MISSING = {
    "landlock": "Landlock (Linux 5.13 or newer, with landlock in `lsm=`)",
    "truncation": "protection from truncation (Landlock of Linux 6.2 or newer, or mount namespaces)",
    "network off": "network namespaces",
    "outside read-only": "read-only mounts (without mount namespaces modes and times of files outside can be changed)",
    "Unix sockets closed": "a filter for Unix sockets (seccomp; agents and daemons can be reached)",
}
"""What the system lacks if a guard does not work, by guard."""


def powers(names: list[str] | None) -> None:
    """Drop all capabilities except `names`; if `names` is None (there are no namespaces), drop none."""
    if names is not None:
        kernel.drop_capabilities([CAPABILITIES[name] for name in names])


def limits(job: dict[str, Any]) -> None:
    """Set the resource limits that the job names."""
    for name, value in job["limits"].items():
        kind = getattr(resource, f"RLIMIT_{name}", None)
        if kind is not None:
            kernel.limit(kind, value)
