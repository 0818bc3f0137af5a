"""Record what chosen functions return while the tests run, and which of their lines run.

Two versions of a program are compared by these records: equal arguments must give equal results. Repeated calls
(call_probe.py) need copies of the arguments, but these records do not. Therefore coroutines, methods of objects that
cannot be copied, and functions with side effects are compared, too.
"""

from __future__ import annotations

import dis
import sys
import threading
import time
import types
from collections import Counter
from collections.abc import Iterable
from typing import Any

from .call_probe import FAILED, bound, given
from .child import TimeOverError
from .value_codes import seen

MOST = 200
"""Maximum number of recorded calls of one function."""
MOST_LINES = 100_000
"""Executed lines of one unit after which no more lines of it are traced."""
ENCODING = 2.0
"""CPU seconds for encoding the arguments and results of all functions, divided equally among these."""
UNKNOWN, CLOSED = "?", "closed"
"""Codes of a value that cannot be encoded, and of a generator that was closed, which may happen at any time."""
IMPORTED = "imported "
"""Prefix of the codes of modules, and of classes of other modules."""
UNTOLD = {TimeOverError: UNKNOWN, GeneratorExit: CLOSED}
RESUMED = 0x20 | 0x80 | 0x200
"""Code flags of generators, coroutines and asynchronous generators, whose frames are entered more than once."""

Call = tuple[str, list[Any], dict[str, Any]]
"""The code of the arguments at the start of a call, and the arguments."""


class UnitTrace:
    """Traces the given functions; of the functions nested in them, only executed lines are recorded.

    `lines`: the executed lines by unit. `results`: the codes of the results by unit and by the key of the call (see
    `_call`), in the order in which the calls returned.
    """

    def __init__(self, units: Iterable[tuple[types.FunctionType, str]]) -> None:
        """Create a trace. `units`: functions with the names of their units."""
        self._units: dict[int, str] = {}
        self._outer: dict[int, types.FunctionType] = {}
        self._codes: list[types.CodeType] = []
        self._frames: dict[types.FrameType, Call] = {}
        self._raised: dict[types.FrameType, str] = {}
        self._caught: dict[types.FrameType, str] = {}
        self._counts: dict[str, int] = {}
        self._generators: Counter[tuple[str, str]] = Counter()
        self._spent: dict[str, float] = {}
        self._stepping: dict[str, int] = {}
        """How many lines of each unit are still to be traced."""
        self._unseen: dict[str, set[int]] = {}
        self.lines: dict[str, set[int]] = {}
        self.results: dict[str, dict[str, list[str]]] = {}
        for function, unit in units:
            self._outer[id(function.__code__)] = function
            self._add(function.__code__, unit)
        self._share = ENCODING / max(1, len(self._outer))

    def _add(self, code: types.CodeType, unit: str) -> None:
        self._codes.append(code)  # keeps the id from being used again
        self._units[id(code)] = unit
        self._stepping[unit] = MOST_LINES
        lines = {line for _, line in dis.findlinestarts(code) if line is not None}
        self._unseen.setdefault(unit, set()).update(lines - {code.co_firstlineno})
        for inner in code.co_consts:
            if isinstance(inner, types.CodeType):
                self._add(inner, unit)

    def start(self) -> None:
        threading.settrace(self._called)
        sys.settrace(self._called)

    def stop(self) -> None:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type,unused-ignore]

    def _called(self, frame: types.FrameType, _event: str, _arg: object) -> Any:
        unit = self._units.get(id(frame.f_code))
        if unit is None:
            return None
        if id(frame.f_code) in self._outer and frame not in self._frames and self._more(unit):
            self._counts[unit] = self._counts.get(unit, 0) + 1
            began = time.thread_time()
            args, kwargs = given(self._outer[id(frame.f_code)], *bound(frame.f_code, frame.f_locals))
            self._frames[frame] = (self._call(frame.f_code, unit, _code((args, kwargs))), args, kwargs)
            self._spend(unit, began)
        return self._stepped if frame in self._frames or self._unseen[unit] else None

    def _call(self, code: types.CodeType, unit: str, arguments: str) -> str:
        """Return the key of a call's results.

        Each generator and each coroutine has a separate key, even if the arguments are equal.
        """
        if not code.co_flags & RESUMED or arguments == UNKNOWN:
            return arguments
        self._generators[unit, arguments] += 1
        return f"{arguments} #{self._generators[unit, arguments]}"

    def _more(self, unit: str) -> bool:
        """Return whether more calls of `unit` are to be recorded."""
        return self._counts.get(unit, 0) < MOST and self._spent.get(unit, 0.0) < self._share

    def _spend(self, unit: str, began: float) -> None:
        self._spent[unit] = self._spent.get(unit, 0.0) + time.thread_time() - began

    def _stepped(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            unit = self._units[id(frame.f_code)]
            unseen = self._unseen[unit]
            if unseen:
                self.lines.setdefault(unit, set()).add(frame.f_lineno)
                unseen.discard(frame.f_lineno)
                self._stepping[unit] -= 1
                if not self._stepping[unit]:
                    unseen.clear()
            frame.f_trace_lines = bool(unseen)
            if frame in self._raised:
                self._caught[frame] = self._raised.pop(frame)
        elif event == "exception":
            self._raised[frame] = UNTOLD.get(arg[0], FAILED + arg[0].__name__)
            frame.f_trace_lines = True  # the next line shows that it was caught
        elif event == "return":
            self._returned(frame, arg)
        return self._stepped

    def _ending(self, frame: types.FrameType, value: Any) -> str | None:
        """Return the exception with which a frame ends; None if it returns `value`.

        `raise`, and the ends of `finally` and `with`, raise a caught exception again, but this is no event.
        """
        raised, caught = self._raised.pop(frame, None), self._caught.pop(frame, None)
        if value is not None or raised or not caught or frame.f_code.co_flags & RESUMED:
            return raised
        return None if dis.opname[frame.f_code.co_code[frame.f_lasti]].startswith("RETURN") else caught

    def _returned(self, frame: types.FrameType, value: Any) -> None:
        raised = self._ending(frame, value)
        resumed = frame.f_code.co_flags & RESUMED
        call = self._frames.get(frame) if resumed else self._frames.pop(frame, None)
        if call is not None and raised != CLOSED:
            before, args, kwargs = call
            began = time.thread_time()
            found = raised if raised and value is None else _code((value, args, kwargs))
            unit = self._units[id(frame.f_code)]
            self._spend(unit, began)
            self.results.setdefault(unit, {}).setdefault(before, []).append(found)


def _code(value: Any, part: str = "") -> str:
    try:
        return seen(value, part)
    except Exception:  # an object of the project may raise anything when its attributes are read
        return UNKNOWN


def module_values(names: dict[str, Any], module: str, around: tuple[type, ...] = ()) -> dict[str, str]:
    """Return the codes of the attributes `names` of a module, and of the attributes of its classes.

    The code of a function, of a module, and of a class of another module is its name. `around`: the enclosing classes,
    if `names` are attributes of a class. An attribute may be an enclosing class, which is not described again.
    """
    found = {}
    for name, value in list(names.items()):
        if name.startswith("__") and name != "__all__":
            continue
        if isinstance(value, types.ModuleType):
            found[name] = IMPORTED + str(getattr(value, "__name__", ""))
        elif not isinstance(value, type):
            found[name] = _attribute_code(value)
        elif value.__module__ != module:
            found[name] = f"{IMPORTED}{value.__module__}.{value.__qualname__}"
        elif not any(value is one for one in around):
            found.update(_class_values(name, value, (*around, value)))
    return found


def _attribute_code(value: Any) -> str:
    """Return the code of an attribute that is not a class; it starts with UNKNOWN if it does not cover the whole value.

    The name of a function does not cover a closure or a lambda.
    """
    if not isinstance(value, (types.FunctionType, staticmethod, classmethod, property)):
        return _code(value, f"{UNKNOWN} ")
    function = getattr(value, "__func__", value)
    kind, name = type(value).__name__, getattr(function, "__qualname__", "<property>")
    if "<" in name or getattr(function, "__closure__", None):
        return f"{UNKNOWN} {kind}"
    return f"{kind} {getattr(function, '__module__', '')}.{name}"


def _class_values(name: str, value: type, around: tuple[type, ...]) -> dict[str, str]:
    """Return the codes of a class's attributes, and its base classes with the attributes that it overrides."""
    inner = module_values(dict(vars(value)), value.__module__, around)
    found = {f"{name}.{one}": code for one, code in inner.items()}
    bases = " ".join(base.__name__ for base in value.__mro__)
    found[name] = f"class of {bases} overriding {_overridden(value)}"
    return found


DESCRIBING = frozenset(("__annotations__", "__annotate_func__", "__annotations_cache__"))
"""Attributes that contain the annotations of a class; they override nothing."""


def _overridden(value: type) -> list[str]:
    """Return the attributes of a class that a base class or a subclass, however distant, defines too."""
    bases = value.__mro__[1:]
    below: list[type] = list(type.__subclasses__(value))
    for one in below:
        below.extend(type.__subclasses__(one))
    names = (name for name in vars(value) if name not in DESCRIBING)
    return sorted(name for name in names if any(name in vars(one) for one in (*bases, *below)))
