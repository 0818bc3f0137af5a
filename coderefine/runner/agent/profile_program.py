"""Run a Python program under the profiler: `python profile_program.py ROOT REPORT SCRIPT|-m MODULE ARG…`.

REPORT becomes JSON: the functions defined below ROOT, dearest first, with their share of the whole time. A function
is charged for itself and for what it calls outside ROOT (a sort, a regular expression), not for what it calls inside.
"""

from __future__ import annotations

import cProfile
import json
import os
import runpy
import sys
import types
from typing import Any, Dict, List

MOST = 20


def main(argv: List[str]) -> None:
    root, report, words = os.path.realpath(argv[0]), argv[1], argv[2:]
    profile = cProfile.Profile()
    try:
        profile.runcall(run, words)
    finally:
        with open(report, "w", encoding="utf-8") as stream:
            json.dump(dearest(profile, root), stream)


def run(words: List[str]) -> None:
    """The program, as `python WORDS` would run it."""
    module = words[0] == "-m"
    name, sys.argv = words[int(module)], words[int(module) :]
    sys.path[0] = os.getcwd() if module else os.path.dirname(os.path.abspath(name))
    if module:
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(name, run_name="__main__")


def dearest(profile: cProfile.Profile, root: str) -> List[Dict[str, Any]]:
    """The functions below `root` by what they are charged for."""
    entries: List[Any] = profile.getstats()
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
    """Seconds in the function and in what it calls outside `root`."""
    called = sum(call.totaltime for call in entry.calls or () if not inside(call.code, root))
    return float(entry.inlinetime + called)


def inside(code: Any, root: str) -> bool:
    """Whether it is a function of the project's; a comprehension or a lambda is part of who calls it."""
    if not isinstance(code, types.CodeType) or code.co_filename.startswith("<"):
        return False
    if code.co_name.startswith("<") and code.co_name != "<module>":
        return False
    return os.path.realpath(code.co_filename).startswith(root + os.sep)


if __name__ == "__main__":
    main(sys.argv[1:])
