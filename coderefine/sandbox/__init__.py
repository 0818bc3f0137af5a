"""The launcher of processes that run the project's or a patch's code: namespaces, Landlock, seccomp, limits."""

from coderefine.sandbox.launch import Confined, Report, refusal, run, start, tried
from coderefine.sandbox.permissions import LOOSEST, TOUCHED, Bounds, bounds, steps

__all__ = [
    "LOOSEST",
    "TOUCHED",
    "Bounds",
    "Confined",
    "Report",
    "bounds",
    "refusal",
    "run",
    "start",
    "steps",
    "tried",
]
