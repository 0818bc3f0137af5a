"""coderefine checks Python code, repairs what the checks find, and proves each repair.

    from coderefine import Task, check, refine

    outcome = refine("src", max_cost=0.1)
    print(outcome.stop, outcome.best.patch.files)

Modules are imported when they are first used, so that `import coderefine` takes almost no time.
"""

__version__ = "0.1.0"
__all__ = [
    "Attempt",
    "Check",
    "CoderefineError",
    "Event",
    "Finding",
    "Outcome",
    "Proof",
    "Severity",
    "Span",
    "Stop",
    "Task",
    "acheck",
    "aprove",
    "arefine",
    "check",
    "prove",
    "refine",
    "watch",
]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from coderefine.api import acheck, aprove, arefine, check, prove, refine, watch
    from coderefine.core import Attempt, Check, Event, Finding, Outcome, Proof, Severity, Span, Stop, Task
    from coderefine.errors import CoderefineError

_HOMES = {
    **dict.fromkeys(("acheck", "aprove", "arefine", "check", "prove", "refine", "watch"), "coderefine.api"),
    "CoderefineError": "coderefine.errors",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES.get(name, "coderefine.core")), name)
