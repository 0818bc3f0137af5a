"""Find the project's function objects after the import, and the code that ran during the import."""

from __future__ import annotations

import gc
import sys
import threading
import types
from typing import Any

from .code_diff import NotHotError, Pairs, SourceFile, same
from .working_tree import ours

Key = tuple[str, int, str]
"""Key of a code object: file name, first line, name. Lambdas on the same line have the same key."""


def key(code: types.CodeType) -> Key:
    return (code.co_filename, code.co_firstlineno, code.co_name)


Target = tuple[types.FunctionType, types.CodeType]
"""A live function and its new code."""


class ExecutedCode:
    """Records which functions of the project at `top` run between `start` and `stop`."""

    def __init__(self, top: str) -> None:
        self._top = top
        self.keys: set[Key] = set()
        self._lost = False
        """Whether a plug-in has replaced our trace function, so that `keys` may be incomplete."""

    def __call__(self, code: types.CodeType) -> bool:
        return self._lost or key(code) in self.keys

    def start(self) -> None:
        if hasattr(sys, "monitoring"):
            monitoring = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
            monitoring.use_tool_id(TOOL, "coderefine")
            monitoring.register_callback(TOOL, monitoring.events.PY_START, self._entered)
            monitoring.set_events(TOOL, monitoring.events.PY_START)
        else:
            threading.settrace(self._traced)
            sys.settrace(self._traced)

    def stop(self) -> None:
        if hasattr(sys, "monitoring"):
            monitoring = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
            monitoring.set_events(TOOL, 0)
            monitoring.register_callback(TOOL, monitoring.events.PY_START, None)
            monitoring.free_tool_id(TOOL)
        else:
            self._lost = sys.gettrace() != self._traced
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type,unused-ignore]

    def _entered(self, code: types.CodeType, offset: int) -> Any:  # noqa: ARG002
        self._note(code)
        return sys.monitoring.DISABLE  # type: ignore[attr-defined,unused-ignore]

    def _traced(self, frame: types.FrameType, event: str, arg: object) -> None:  # noqa: ARG002
        self._note(frame.f_code)

    def _note(self, code: types.CodeType) -> None:
        if ours(code.co_filename, self._top):
            self.keys.add(key(code))


TOOL = 4
"""Our tool id in `sys.monitoring`; 0 to 2 and 5 are reserved for debuggers and profilers."""


class LiveFunctions:
    """All live function objects of the project at `top`, by the key of their code.

    They are found through the garbage collector, so that wrapped functions, closures, methods, property getters and
    functions in registries are included.
    """

    def __init__(self, top: str, ran: ExecutedCode) -> None:
        self._by_key: dict[Key, list[types.FunctionType]] = {}
        gc.unfreeze()  # the collector does not list frozen objects
        for thing in gc.get_objects():
            kind = type(thing)
            if kind is types.FunctionType and ours(thing.__code__.co_filename, top):
                self._by_key.setdefault(key(thing.__code__), []).append(thing)
            elif kind in _SUSPENDED:
                ran.keys.add(key(getattr(thing, _SUSPENDED[kind])))

    def running(self, code: types.CodeType) -> types.FunctionType | None:
        """Return the only live function with `code`; None if there are none or several (closures)."""
        found = [function for function in self._by_key.get(key(code), ()) if function.__code__ is code]
        return found[0] if len(found) == 1 else None

    def at(self, place: Key) -> list[types.FunctionType]:
        """Return the live functions with this key."""
        return self._by_key.get(place, [])

    def targets(self, pairs: Pairs, source: SourceFile) -> list[Target]:
        """Return (function object, new code) for each live function that has the old code of a pair.

        Raises NotHotError if a live function with the same file, line and name has other code (a decorator rewrote it);
        this does not apply to lambdas and comprehensions. Also raises NotHotError if no live function has the old code,
        unless this code is nested in another old code.
        """
        found: list[Target] = []
        for old, new in pairs:
            functions = self._by_key.get(key(old), [])
            matching = [function for function in functions if same(function.__code__, source.twin(old))]
            if len(matching) < len(functions) and not old.co_name.startswith("<"):
                raise NotHotError(f"{old.co_name} was rewritten after its definition")
            if not matching and not _is_nested(old, pairs):
                raise NotHotError(f"no live function {old.co_name}")
            found.extend((function, new) for function in matching)
        return found


_SUSPENDED = {types.GeneratorType: "gi_code", types.CoroutineType: "cr_code", types.AsyncGeneratorType: "ag_code"}


def _is_nested(code: types.CodeType, pairs: Pairs) -> bool:
    """Return whether `code` is nested in another old code of `pairs`; that code creates the function when it runs."""
    return any(code in outer.co_consts for outer, _ in pairs if outer is not code)
