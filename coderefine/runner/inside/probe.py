"""How a function behaves: recorded calls from the tests, and calls near them, answered and shortened to a code.

Candidates that answer all of them alike behave alike, as far as we can see; the tests have not told them apart.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import io
import itertools
import random
import signal
import sys
import time
import types
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional

from .vary import variants

CALLS = 24
"""Calls recorded; at most PER_FUNCTION of one function."""
PER_FUNCTION = 8
NEAR = 160
"""Calls made of them by varying one argument at a time."""
PATIENCE = 0.03
"""Wall seconds one call may take."""
TIMEOUT, FAILED = "~", "!"
"""How codes begin that stand for a call that did not end, and for one that raised."""
DEPTH, WIDTH = 5, 60


class Call(NamedTuple):
    """A function and what it was called with; `recorded` as the tests did, else varied."""

    function: types.FunctionType
    args: List[Any]
    kwargs: Dict[str, Any]
    recorded: bool


class Recorder:
    """Notes calls that the tests make of the project's functions, with copies of the arguments."""

    def __init__(
        self,
        find: Callable[[types.CodeType], Optional[types.FunctionType]],
        from_test: Callable[[str], bool],
    ) -> None:
        self._find = find
        self._from_test = from_test
        self._frames: List[types.FrameType] = []
        self._counts: Dict[types.CodeType, int] = {}
        self.calls: List[Call] = []

    def start(self) -> None:
        sys.setprofile(self._saw)

    def stop(self) -> None:
        sys.setprofile(None)
        self._frames.clear()

    def _saw(self, frame: types.FrameType, event: str, _: object) -> None:
        if event != "call" or len(self.calls) >= CALLS or frame.f_back is None:
            return
        if not self._from_test(frame.f_back.f_code.co_filename):
            return
        function = self._find(frame.f_code)
        if function is None or self._counts.get(frame.f_code, 0) >= PER_FUNCTION or self._again(frame):
            return
        sys.setprofile(None)
        try:
            self._note(function, frame)
        finally:
            sys.setprofile(self._saw)

    def _again(self, frame: types.FrameType) -> bool:
        """Whether this is a generator that goes on."""
        if not frame.f_code.co_flags & 0x20:
            return False
        if any(frame is known for known in self._frames):
            return True
        self._frames.append(frame)
        return False

    def _note(self, function: types.FunctionType, frame: types.FrameType) -> None:
        code = frame.f_code
        self._counts[code] = self._counts.get(code, 0) + 1
        try:
            args, kwargs = copy.deepcopy(bound(code, frame.f_locals))
        except Exception:  # whatever a __deepcopy__ of theirs raises: this call cannot be repeated
            return
        self.calls.append(Call(function, args, kwargs, recorded=True))


def bound(code: types.CodeType, values: Dict[str, Any]) -> "tuple[List[Any], Dict[str, Any]]":
    """The arguments a frame of `code` has just been given, to call the function with again."""
    count, keywords = code.co_argcount, code.co_kwonlyargcount
    names = code.co_varnames
    args = [values[name] for name in names[:count]]
    kwargs = {name: values[name] for name in names[count : count + keywords]}
    at = count + keywords
    if code.co_flags & 0x04:
        args += values[names[at]]
        at += 1
    if code.co_flags & 0x08:
        kwargs.update(values[names[at]])
    return args, kwargs


def near(calls: List[Call]) -> List[Call]:
    """The recorded calls, then calls that differ from one of them in one argument, taken in turn from each."""
    rows = [list(_around(call, random.Random(number))) for number, call in enumerate(calls)]
    mixed = [call for layer in itertools.zip_longest(*rows) for call in layer if call is not None]
    return [*calls, *mixed[:NEAR]]


def _around(call: Call, dice: random.Random) -> Iterator[Call]:
    for at, value in enumerate(call.args):
        for one in variants(value, dice):
            yield call._replace(args=[*call.args[:at], one, *call.args[at + 1 :]], recorded=False)
    for name, value in call.kwargs.items():
        for one in variants(value, dice):
            yield call._replace(kwargs={**call.kwargs, name: one}, recorded=False)


def label(call: Call) -> str:
    """The same for the same call in another version of the program, as far as we can see.

    What was left to its default is no part of it: a parameter that a version adds changes no call there is.
    """
    said = _code(_given(call.function, *copy.deepcopy((call.args, call.kwargs))))
    return "%s.%s %s" % (call.function.__module__, call.function.__qualname__, said)


def _given(function: Any, args: List[Any], kwargs: Dict[str, Any]) -> "tuple[List[Any], Dict[str, Any]]":
    """The arguments without those that are as their defaults."""
    defaults = function.__defaults__ or ()
    first = function.__code__.co_argcount - len(defaults)
    while first < len(args) <= first + len(defaults) and _same(args[-1], defaults[len(args) - 1 - first]):
        args = args[:-1]
    named = function.__kwdefaults__ or {}
    return args, {name: value for name, value in kwargs.items() if name not in named or not _same(value, named[name])}


def _same(value: Any, other: Any) -> bool:
    return type(value) is type(other) and repr(_show(value, DEPTH)) == repr(_show(other, DEPTH))


class _TooLongError(BaseException):
    """Not an Exception, so that the program's own handlers let it pass."""


def answers(calls: List[Call], until: float) -> List[str]:
    """One code per call. Stops at `until` (monotonic seconds): the list is then shorter."""
    found: List[str] = []
    before = signal.signal(signal.SIGALRM, _ring)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            for call in calls:
                if time.monotonic() > until:
                    break
                found.append(_answer(call))
    finally:
        signal.signal(signal.SIGALRM, before)
    return found


def _ring(_number: int, _frame: object) -> None:
    raise _TooLongError


def _answer(call: Call) -> str:
    try:
        args, kwargs = copy.deepcopy((call.args, call.kwargs))
        signal.setitimer(signal.ITIMER_REAL, PATIENCE)
        try:
            value = call.function(*args, **kwargs)
            said = _code((value, *_given(call.function, args, kwargs)))
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except _TooLongError:
        return TIMEOUT
    except BaseException as error:  # SystemExit included: an answer like any other
        return FAILED + type(error).__name__
    return said


def _code(value: Any) -> str:
    said = repr(_show(value, DEPTH))
    return hashlib.blake2b(said.encode("utf-8", "replace"), digest_size=6).hexdigest()


def _show(value: Any, depth: int) -> Any:
    """`value` as plain data that is equal where a test would find it equal."""
    if depth == 0:
        return "..."
    if isinstance(value, float):
        return float("%.9g" % value)
    if value is None or isinstance(value, (str, bytes, int, complex, type)):
        return (type(value).__name__, value) if isinstance(value, bool) else value
    if isinstance(value, (dict, set, frozenset, list, tuple)) or hasattr(value, "__next__"):
        return _show_items(value, depth - 1)
    fields = getattr(value, "__dict__", None)
    return (type(value).__name__, _show(dict(fields), depth - 1) if fields else "")


def _show_items(value: Any, depth: int) -> Any:
    if isinstance(value, dict):
        rows = [(_show(key, depth), _show(item, depth)) for key, item in list(value.items())[:WIDTH]]
        return (type(value).__name__, sorted(rows, key=repr))
    if isinstance(value, (set, frozenset)):
        return ("set", sorted((_show(item, depth) for item in value), key=repr))
    name = type(value).__name__ if isinstance(value, (list, tuple)) else "iterator"
    return (name, [_show(item, depth) for item in itertools.islice(value, WIDTH)])
