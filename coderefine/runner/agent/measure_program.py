"""Measure a program inside the view: its duration, or the cost of its functions. The speed critic runs this script.

`measure_program.py time PROGRAM ARG…` prints wall and CPU seconds as JSON, without the time to enter the view.
`measure_program.py profile ROOT REPORT SCRIPT|-m MODULE ARG…` writes the functions below ROOT, sorted by cost, to
REPORT.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import time
import types
from typing import Any

MOST = 20


def profile_program(argv: list[str]) -> None:
    """Run the program under cProfile and write the report, for arguments ROOT, REPORT and the command.

    The time of a function is its own time plus that of the calls it makes to code outside ROOT.
    """
    root, report, words = os.path.realpath(argv[0]), argv[1], argv[2:]
    import cProfile

    profile = cProfile.Profile()
    try:
        profile.runcall(run, words)
    finally:
        with open(report, "w", encoding="utf-8") as stream:
            json.dump(costliest(profile, root), stream)


def run(words: list[str]) -> None:
    """Run the program as `python WORDS` does."""
    module = words[0] == "-m"
    name, sys.argv = words[int(module)], words[int(module) :]
    sys.path[0] = os.getcwd() if module else os.path.dirname(os.path.abspath(name))
    if module:
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(name, run_name="__main__")


def costliest(profile: Any, root: str) -> list[dict[str, Any]]:
    """Return at most MOST functions below `root`, the most expensive first; "share": part of the time, 0 to 1."""
    entries: list[Any] = profile.getstats()
    whole = sum(entry.inlinetime for entry in entries) or 1.0
    found = [
        {
            "file": os.path.realpath(entry.code.co_filename),
            "line": entry.code.co_firstlineno,
            "calls": entry.callcount,
            "share": min(1.0, charged(entry, root) / whole),
        }
        for entry in entries
        if inside(entry.code, root) and entry.code.co_name != "<module>"
    ]
    return sorted(found, key=lambda one: one["share"], reverse=True)[:MOST]


def charged(entry: Any, root: str) -> float:
    """Return the seconds spent in the function itself and in code outside `root` that it calls."""
    called = sum(call.totaltime for call in entry.calls or () if not inside(call.code, root))
    return float(entry.inlinetime + called)


def inside(code: Any, root: str) -> bool:
    """Return whether `code` is a function of a file below `root`; False for a comprehension or a lambda.

    The time of these is part of the function that contains them.
    """
    if not isinstance(code, types.CodeType) or code.co_filename.startswith("<"):
        return False
    if code.co_name.startswith("<") and code.co_name != "<module>":
        return False
    return os.path.realpath(code.co_filename).startswith(root + os.sep)


def time_program(argv: list[str]) -> None:
    """Print `wall`, `cpu` (user and system time of the program and the children it waited for) and the exit code.

    The sum of user and system time is exact on Linux; each of the two alone is estimated by sampling (proc(5)).
    """
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    began = time.perf_counter()
    child = os.posix_spawnp(argv[0], argv, os.environ, file_actions=quiet)
    _, status, usage = os.wait4(child, 0)
    wall = time.perf_counter() - began
    code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
    print(json.dumps({"wall": wall, "cpu": usage.ru_utime + usage.ru_stime, "code": code}))


if __name__ == "__main__":
    {"time": time_program, "profile": profile_program}[sys.argv[1]](sys.argv[2:])
