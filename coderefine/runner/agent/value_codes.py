"""Encode values as short codes, so that the results of calls in different processes can be compared."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import re
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

DEPTH, WIDTH, MOST_SHOWN = 9, 60, 2000
"""Maximum depth, maximum items of one container, and maximum items in all, up to which a value is compared."""
LESS_DEEP = (5, 3, 2)
"""Depths up to which a value with more than MOST_SHOWN items is compared, too: some part may take all these items."""
CONTAINERS = (dict, set, frozenset, list, tuple)
ADDRESS = re.compile(r"\b0x[0-9a-fA-F]+")
MORE, PART = "...", re.compile(r"'\.\.\.'|<locals>|<lambda>")
"""MORE stands for a part that is not shown; PART matches text in which a part is not shown."""


def code_of(value: Any) -> str:
    """Return a code of `value`; iterators are consumed. Values that a test considers equal have equal codes."""
    shown = []
    for depth in (DEPTH, *LESS_DEEP):
        left = iter(range(MOST_SHOWN))
        shown.append(_show(value, depth, left))
        if next(left, None) is not None:
            break
    return _digest(repr(shown))


def seen(value: Any, part: str = "") -> str:
    """Return a code of `value`; iterators are not consumed, because the program still uses them.

    `part`: prefix of the code if it does not cover the whole value.
    """
    shown = repr(_show(value, DEPTH - 1, iter(range(MOST_SHOWN)), consume=False))
    return (part if PART.search(shown) else "") + _digest(shown)


def _digest(shown: str) -> str:
    return hashlib.blake2b(shown.encode("utf-8", "replace"), digest_size=6).hexdigest()


def _show(value: Any, depth: int, left: Iterator[int], *, consume: bool = True) -> Any:
    """Convert `value` to plain data; values that a test considers equal become equal.

    `left`: one item for each value that may still be converted.
    """
    if depth == 0 or next(left, None) is None:
        return MORE
    if value is None or isinstance(value, (str, bytes, int, float, complex, type, types.ModuleType)):
        return _plain(value)

    def inner(item: Any) -> Any:
        return _show(item, depth - 1, left, consume=consume)

    fields = fields_of(value)
    if isinstance(value, CONTAINERS) or (consume and hasattr(value, "__next__")):
        try:
            return (*_show_items(value, inner), *map(inner, filter(None, [fields])))
        except Exception as error:  # raised by methods of the program: its object may be incomplete
            return (type(value).__name__, type(error).__name__)
    shown = inner(fields) if fields else _text(value)
    return (type(value).__name__, shown, _hidden(value, shown))


def fields_of(value: Any) -> dict[str, Any]:
    """Return the attributes that `value` stores, in `__dict__` or in `__slots__`.

    Slots of the standard library are left out: they hold caches, and its types have a repr that shows their value.
    """
    if type(value) in CONTAINERS:  # a short way: most values are plain, and have no attributes
        return {}
    fields = dict(getattr(value, "__dict__", None) or {})
    own = {"__dict__", "__weakref__"}
    for kind in type(value).__mro__:
        names = vars(kind).get("__slots__", ())
        if names and str(kind.__module__).partition(".")[0] not in sys.stdlib_module_names:
            for name in {*([names] if isinstance(names, str) else names)} - own:
                with contextlib.suppress(Exception):  # not set yet, or a property of a subclass raises it
                    fields[name] = getattr(value, name)
    return fields


def _hidden(value: Any, shown: Any) -> str:
    """Return MORE if `shown` does not contain the whole value, else "".

    Left out are the variables of a closure, and the content of an object that has neither attributes nor a repr.
    """
    if isinstance(value, types.FunctionType):
        return MORE if value.__closure__ else ""
    return MORE if not shown and getattr(value, "__dict__", None) is None else ""


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.9g}")
    if isinstance(value, types.ModuleType):
        return ("module", value.__name__, MORE)
    return (type(value).__name__, value) if isinstance(value, bool) else value


def _text(value: Any) -> str:
    """Return the repr of an object that has no attributes, such as a date or a Decimal; memory addresses are removed.

    Return "" if its class has no repr of its own, or if the repr fails.
    """
    plain: Any = object.__repr__
    try:
        return ADDRESS.sub("", repr(value)) if type(value).__repr__ is not plain else ""
    except Exception:  # a __repr__ of the project may raise anything
        return ""


def _show_items(value: Any, show: Callable[[Any], Any]) -> Any:
    more = MORE if not hasattr(value, "__next__") and len(value) > WIDTH else ""
    if isinstance(value, dict):
        rows = [(show(key), show(item)) for key, item in list(value.items())[:WIDTH]]
        return (type(value).__name__, sorted(rows, key=repr), more)
    if isinstance(value, (set, frozenset)):
        return ("set", sorted((show(item) for item in value), key=repr))
    name = type(value).__name__ if isinstance(value, (list, tuple)) else "iterator"
    return (name, [show(item) for item in itertools.islice(value, WIDTH)], more)
