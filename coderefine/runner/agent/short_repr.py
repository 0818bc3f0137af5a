"""Short reprs of untrusted values: limited in length and time, and without exceptions."""

from __future__ import annotations

import itertools
import re
import sys
import time
from types import FunctionType
from typing import Any

from .value_codes import fields_of

LENGTH = 120
"""Maximum number of characters of one value."""
ITEMS = 6
"""Maximum number of elements of a container that are shown."""
DEPTH = 3
WAITING = 1.0
HUGE = 10_000
"""Length from which on `__repr__` of a container subclass is not called: C code could not be interrupted."""

ADDRESS = re.compile(r"(?: object)? at 0x[0-9a-fA-F]+")
"""The part of a repr that differs in every run and carries no information."""

_PLAIN = frozenset({type(None), bool, float, complex, range, slice, type(Ellipsis), type(NotImplemented)})
_BRACKETS: dict[Any, str] = {list: "[]", tuple: "()", set: "{}", frozenset: "{}"}


class _TooSlowError(BaseException):
    """Raised inside a foreign `__repr__` after its time limit; not an Exception, so that handlers do not catch it."""


class Describer:
    """Makes reprs, with one limit of CPU time for all calls of foreign `__repr__` methods together.

    The limit is CPU time, because on a busy machine a limit of wall time would drop texts; a call that takes WAITING
    seconds of wall time is ended in any case.
    """

    def __init__(self) -> None:
        self._left = 0.05

    def __call__(self, value: Any, depth: int = DEPTH) -> str:
        """Return a repr of `value` with about LENGTH characters at most."""
        try:
            return cut(self._describe(value, depth), LENGTH)
        except Exception as error:
            return f"<{type(value).__name__}, no repr: {type(error).__name__}>"

    def text(self, value: BaseException) -> str:
        """Return `str(value)`, computed within the same limits of time; "" if this fails."""
        return self._guarded(lambda: str(value)) or ""

    def _describe(self, value: Any, depth: int) -> str:
        kind = type(value)
        if kind in (str, bytes):
            return repr(value) if len(value) <= LENGTH else repr(cut_any(value, LENGTH - 10))
        if kind is int:
            return repr(value) if value.bit_length() < 1000 else f"<int of {value.bit_length()} bits>"
        if kind in _PLAIN:
            return repr(value)
        if kind in _BRACKETS:
            return self._sequence(value, _BRACKETS[kind], depth)
        if kind is dict:
            return self._mapping(value, depth)
        return self._foreign(value, kind, depth)

    def _sequence(self, value: Any, brackets: str, depth: int) -> str:
        if not value and brackets == "{}":
            return f"{type(value).__name__}()"
        if depth <= 0 and value:
            return f"{brackets[0]}…{brackets[1]}"
        parts = [self(item, depth - 1) for item in itertools.islice(value, ITEMS)]
        comma = "," if brackets == "()" and len(value) == 1 else ""
        return brackets[0] + ", ".join(parts + _more(value)) + comma + brackets[1]

    def _mapping(self, value: Any, depth: int) -> str:
        if depth <= 0 and value:
            return "{…}"
        rows = itertools.islice(value.items(), ITEMS)
        parts = [f"{self(key, depth - 1)}: {self(item, depth - 1)}" for key, item in rows]
        return "{" + ", ".join(parts + _more(value)) + "}"

    def _foreign(self, value: Any, kind: type, depth: int) -> str:
        plain: Any = object.__repr__
        if kind.__repr__ is plain:
            return self._attributes(value, kind, depth)
        if kind is FunctionType:
            return f"<function {value.__name__}>"  # without its address
        if isinstance(value, (list, tuple, set, frozenset, dict)) and len(value) > HUGE:
            return f"<{kind.__name__} of {len(value)} items>"
        shown = ADDRESS.sub("", self._guarded(lambda: repr(value))).replace(str(id(value)), "…")
        return shown or self._attributes(value, kind, depth)

    def _attributes(self, value: Any, kind: type, depth: int) -> str:
        """Describe an object without its own repr by its attributes, never by its address, which changes every run."""
        if depth <= 0:
            return f"<{kind.__name__}>"
        fields = fields_of(value)
        shown = [f"{name}={self(item, depth - 2)}" for name, item in list(fields.items())[:ITEMS]]
        return f"<{' '.join([kind.__name__, *shown])}>"

    def _guarded(self, make: Any) -> str:
        """Return `make()`, which runs code of the project, interrupted at the time limit; "" on failure."""
        if self._left <= 0:
            return ""
        began, computed = time.perf_counter(), time.thread_time()
        end, late, most = began + self._left, began + WAITING, computed + self._left
        before = sys.gettrace()

        def watch(frame: Any, *_: Any) -> Any:
            frame.f_trace_opcodes = True  # Python 3.11 has no line event inside `while True: pass`
            if time.perf_counter() > end and (time.thread_time() > most or time.perf_counter() > late):
                raise _TooSlowError
            return watch

        try:
            sys.settrace(watch)
            made = make()
        except (Exception, _TooSlowError):
            made = ""
        finally:
            sys.settrace(before)
            self._left -= time.thread_time() - computed if time.perf_counter() < late else self._left
        return made if isinstance(made, str) else ""


def _more(value: Any) -> list[str]:
    return [f"… {len(value) - ITEMS} more"] if len(value) > ITEMS else []


def cut(text: str, limit: int) -> str:
    """Shorten `text` to about `limit` characters: keep only its head and its tail."""
    return str(cut_any(text, limit)) if len(text) > limit else text


def cut_any(value: Any, limit: int) -> Any:
    """Shorten a str or bytes to about `limit` characters: keep only its head and its tail."""
    head, tail = limit * 2 // 3, limit // 3
    if not isinstance(value, str):
        text = bytes(value).decode("latin-1")
        return cut_any(text, limit).replace(" … ", " ... ").encode("latin-1", "replace")
    start, end = value[:head], value[-tail:]
    lost = len(broken(start, value[head:])), len(broken(end[::-1], value[:-tail][::-1]))
    return start[: len(start) - lost[0]] + " … " + end[lost[1] :]


SHORTEST = 16
PART = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+/=.~:@%\\")


def broken(head: str, rest: str) -> str:
    """Return the last word of `head` if it may be the first part of a secret that continues in `rest`; else "".

    Patterns for secrets would not find such a part. coderefine/sensitive.py has an equal function (compared by a test).
    """
    piece = _last_word(head)
    whole = piece + _last_word(rest[::-1])[::-1] if piece else ""
    mixed = any(one.isdigit() for one in whole) and any(one.isalpha() for one in whole)
    return piece if len(whole) >= SHORTEST and len(whole) > len(piece) and (mixed or "//" in whole) else ""


def _last_word(text: str) -> str:
    end = len(text)
    while end and text[end - 1] in PART:
        end -= 1
    return text[end:]
