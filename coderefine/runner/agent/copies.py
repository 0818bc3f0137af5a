"""Copy the arguments of calls, also if they refer to modules, locks, and other objects that cannot be copied."""

from __future__ import annotations

import contextlib
import contextvars
import copy
import copyreg
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any

SHARED = (types.ModuleType, types.MappingProxyType, contextvars.ContextVar)
"""Types of objects that a copy shares with the original: they exist once in a program."""
NEW: dict[type, Callable[[], Any]] = {type(make()): make for make in (threading.Lock, threading.RLock)}
"""Types of objects in whose place a copy has new ones, with the functions that make these."""

Arguments = tuple[list[Any], dict[str, Any]]


def copied(arguments: Arguments, function: Any) -> Arguments:
    """Return a copy of the arguments (args, kwargs) of a call of `function`.

    The copy shares some objects with the original, see SHARED, and the values of the global names of `function`, which
    may compare them by identity (`if value is MISSING`). Raises any exception if an object cannot be copied, because
    methods of the project may be called.
    """
    known = (value for value in function.__globals__.values() if not isinstance(value, (list, dict, set)))
    with _reducing():
        return copy.deepcopy(arguments, {id(value): value for value in known})


def copied_or_shared(arguments: Arguments, function: Any) -> Arguments:
    """Return a copy as `copied` does; an argument that cannot be copied is not copied."""

    def one(value: Any) -> Any:
        try:
            return copied(([value], {}), function)[0][0]
        except Exception:  # see `copied`
            return value

    try:
        return copied(arguments, function)
    except Exception:  # see `copied`
        args, kwargs = arguments
        return [one(value) for value in args], {name: one(value) for name, value in kwargs.items()}


@contextlib.contextmanager
def _reducing() -> Iterator[None]:
    """Make `copy.deepcopy` treat SHARED and NEW as described there; at the end, all is as before."""
    table: dict[type, Any] = copyreg.dispatch_table
    before = dict(table)
    table.update(dict.fromkeys(SHARED, lambda _: ""))  # a text stands for an object that is not copied
    table.update({kind: lambda _, make=make: (make, ()) for kind, make in NEW.items()})
    try:
        yield
    finally:
        table.clear()
        table.update(before)
