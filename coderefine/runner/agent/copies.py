"""Copy the arguments of calls, also if they refer to modules, locks, and other objects that cannot be copied."""

from __future__ import annotations

import contextlib
import contextvars
import copy
import copyreg
import functools
import itertools
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

SHARED = (types.ModuleType, types.MappingProxyType, contextvars.ContextVar)
"""Types of objects that a copy shares with the original: they exist once in a program."""
NEW: dict[type, Callable[[], Any]] = {type(make()): make for make in (threading.Lock, threading.RLock)}
"""Types of objects in whose place a copy has new ones, with the functions that make these."""


def _calling(make: Callable[[], Any]) -> Callable[[Any], tuple[Callable[[], Any], tuple[()]]]:
    return lambda _: (make, ())


REDUCTIONS: dict[type, Callable[[Any], Any]] = {
    **dict.fromkeys(SHARED, lambda _: ""),  # a text stands for an object that is not copied
    **{kind: _calling(make) for kind, make in NEW.items()},
}
"""What `copy.deepcopy` makes of objects of these types, as functions for `copyreg`."""

T = TypeVar("T")
Arguments = tuple[list[Any], dict[str, Any]]
"""Positional arguments and keyword arguments of a call."""


def copied(arguments: Arguments) -> Arguments:
    """Return a copy of the arguments (args, kwargs); for the objects in them that are not copied, see SHARED and NEW.

    Raises any exception if an object cannot be copied, because methods of the project may be called.
    """
    return _copied(arguments, {})


def copied_or_shared(arguments: Arguments, function: Any) -> Arguments:
    """Return a copy of the arguments of a call of `function`; an argument that cannot be copied is not copied.

    The copy also shares the objects that `function` may compare by identity, see `_known`.
    """
    known = _known(function)

    def one(value: Any) -> Any:
        try:
            return _copied(value, known)
        except Exception:  # see `copied`
            return value

    try:
        return _copied(arguments, known)
    except Exception:  # see `copied`
        args, kwargs = arguments
        return [one(value) for value in args], {name: one(value) for name, value in kwargs.items()}


@functools.lru_cache(maxsize=1_000)
def _known(function: Any) -> dict[int, Any]:
    """Return, by `id()`, the values of the global names of `function`, and of the modules that these names refer to.

    The function may compare these values by identity, as in `if value is MISSING` or `token.type is types.NAME`. Only
    modules of the function's own package count.
    """
    package = (function.__module__ or "").partition(".")[0]
    modules = (value for value in function.__globals__.values() if isinstance(value, types.ModuleType))
    own = (vars(module) for module in modules if module.__name__.partition(".")[0] == package)
    values = itertools.chain.from_iterable(space.values() for space in (function.__globals__, *own))
    return {id(value): value for value in values if not isinstance(value, (list, dict, set))}


def _copied(value: T, known: dict[int, Any]) -> T:
    """Return a copy of `value` that shares the objects `known`, by `id()`."""
    with _reducing():
        return copy.deepcopy(value, {**known})


@contextlib.contextmanager
def _reducing() -> Iterator[None]:
    """Make `copy.deepcopy` use REDUCTIONS; at the end, all is as before."""
    table: dict[type, Any] = copyreg.dispatch_table
    before = {kind: table[kind] for kind in REDUCTIONS if kind in table}
    table.update(REDUCTIONS)
    try:
        yield
    finally:
        for kind in REDUCTIONS:
            del table[kind]
        table.update(before)
