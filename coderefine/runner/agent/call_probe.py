"""Observe behaviour: repeat recorded calls of the tests and variants of them, and encode each result as a short code.

Candidates with equal codes are regarded as equivalent; no test has distinguished them.
"""

from __future__ import annotations

import collections
import contextlib
import dis
import inspect
import io
import itertools
import math
import os
import random
import resource
import signal
import sys
import time
import types
import typing
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from .copies import Arguments, copied, copied_or_shared
from .short_repr import Describer
from .value_codes import ADDRESS, DEPTH, MOST_SHOWN, WIDTH, code_of, fields_of
from .value_variants import at_limits, variants

CALLS = 40
"""Maximum number of recorded calls that test files make; edited functions have a separate maximum, for any caller.

For each function, at most PER_FUNCTION calls in failing tests and PER_FUNCTION calls in passing tests are recorded.
Besides, the last call of an edited function in a failing test is recorded, because the test may have failed in this
call; at most MOST_LAST such calls for one function.
"""
PER_FUNCTION, MOST_LAST = 8, 4
MOST_FIELDS = 6
"""Maximum number of attributes of one argument with which another argument may be compared."""
SLOW, MOST_SLOW = 0.02, 3
"""CPU seconds from which on a copy of a call's arguments is slow, and maximum number of slow copies for one function.

After MOST_SLOW slow copies, no more calls of the function are recorded. Of its calls with slow copies, only the first
is kept, and no variants of this call are made.
"""
NEAR = 320
"""Maximum number of variants, which differ from a recorded call in one argument."""
PATIENCE, WAITING, LARGE = 0.03, 0.3, 10.0
"""Maximum CPU seconds and wall seconds of one call: on a busy machine, wall time depends on other processes. LARGE:
factor of both for a call whose arguments are slow to copy, because they are large."""
WAITED, WAITED_LESS = 0.5, 0.1
"""Maximum wall seconds of the waiting calls of one function; a call waits, for example, for a program that it starts.
After that, calls of this function are not executed, because they would take the time of other functions. Waiting for a
processor does not count, because a busy machine must not change which calls are compared. WAITED_LESS is for functions
that wait only with a repair: each of several repairs may wait so long, and once more when its results are described."""
MOST_HUNG, IMPATIENCE = 3, 0.006
"""After MOST_HUNG calls of a function that did not end, each further call of it has IMPATIENCE CPU seconds."""
EXAMPLE = "d"
"""Kind of an example in a docstring (docstring_examples.py); the examples follow the calls."""
YIELDS = "yields "
"""Prefix of the text of a result that is an iterator, before its items."""
AND_THEN, TO, AFTERWARDS = "\x1f", "\x1e", "afterwards "
"""Separators and a prefix. AND_THEN: before each changed part of the arguments; these parts follow a result's text. TO:
between name, old value and new value of such a part. AFTERWARDS: prefix of the changed parts when they are shown."""
PRINTED = "printed text"
"""Name of the text that a call printed, with its warnings, in the list of its changed arguments."""
MOST_PLACES = 2
"""Maximum number of changed parts of arguments that are shown."""
TIMEOUT, FAILED = "~", "!"
"""Prefixes of the codes of a call that did not end, and of one that raised an exception. FAILED is followed by the name
of the exception and, if the exception is part of the function's behaviour, a code of its arguments; see `_raised`."""
ENDLESS = (TIMEOUT, "does not end")
"""Code and text of a call that did not end."""
CONTRADICTS = "?"
"""Suffix of the code of a result whose type contradicts the function's return annotation."""
UNIONS = (typing.Union, types.UnionType)
COROUTINE = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
T = TypeVar("T")


class Call(NamedTuple):
    """A function and its arguments.

    `recorded`: whether the call was recorded while a test ran; otherwise it is a variant of such a call. `failing`:
    whether this test is one of the failing tests. `heavy`: whether copying the arguments takes longer than SLOW.
    """

    function: types.FunctionType
    args: list[Any]
    kwargs: dict[str, Any]
    recorded: bool
    failing: bool = False
    heavy: bool = False

    @property
    def kind(self) -> str:
        """Return `f` or `p` for a call by a failing or a passing test, `F` or `P` for a variant of such a call."""
        letter = "f" if self.failing else "p"
        return letter if self.recorded else letter.upper()


class CallRecorder:
    """Records the tests' calls of the project's functions, with copies of the arguments.

    Calls of edited functions are recorded for any caller: the tests' own calls show little of a function deep inside
    the program.
    """

    def __init__(
        self,
        find: Callable[[types.CodeType], types.FunctionType | None],
        from_test: Callable[[str], bool],
        failing: Callable[[], bool] = lambda: False,
        *,
        edited: frozenset[int] = frozenset(),
        most: int = CALLS,
        seconds: float = math.inf,
        sharing: bool = False,
    ) -> None:
        """Create a recorder. `find`: returns the function that has a code object; None if it is unknown.

        `from_test`: returns whether a file is a test file. `failing`: returns whether a failing test is running.
        `edited`: ids of the code objects of edited functions, since hashing a code object takes longer than most calls.
        `most`: maximum number of recorded calls of edited functions. `seconds`: CPU time for copying arguments.
        `sharing`: whether the records may share objects with the program, which may change them later: arguments that
        cannot be copied, and values of global names.
        """
        self._sharing = sharing
        self._find = find
        self._from_test = from_test
        self._failing = failing
        self._edited = edited
        self._most = {True: most, False: CALLS}
        self._left = seconds
        self._frames: list[types.FrameType] = []
        self._counts: dict[tuple[types.CodeType, bool], int] = {}
        self._kept = {True: 0, False: 0}
        self._slow: dict[types.CodeType, int] = {}
        self._last: dict[types.CodeType, tuple[types.FunctionType, Arguments]] = {}
        """The last calls that were not recorded, in the running test; their arguments are not copied."""
        self.calls: list[Call] = []

    def start(self) -> None:
        sys.setprofile(self._traced_call)

    def stop(self) -> None:
        sys.setprofile(None)
        self._frames.clear()
        self._record_last()

    def wants(self, entered: Iterable[types.CodeType], *, failing: bool) -> bool:
        """Return whether more calls of the next test may be recorded. Called between tests.

        `entered`: the edited functions that the test enters. `failing`: whether it is a failing test.
        """
        self._record_last()
        if self._left <= 0:
            return False
        return not self._full(edited=False, failing=failing) or any(
            not self._enough(code, edited=True, failing=failing) for code in entered
        )

    def _traced_call(self, frame: types.FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or frame.f_back is None or code.co_flags & COROUTINE:
            return
        edited = id(code) in self._edited
        if not (edited or self._from_test(frame.f_back.f_code.co_filename)):
            return
        failing = self._failing()
        enough = self._enough(code, edited=edited, failing=failing)
        if (enough and not (edited and failing)) or self._again(frame):
            return
        sys.setprofile(None)
        try:
            self._note(frame, failing=failing, last=enough)
        finally:
            sys.setprofile(self._traced_call)

    def _note(self, frame: types.FrameType, *, failing: bool, last: bool) -> None:
        """Record a call; if `last`, only if it turns out to be the last one of its function in the running test."""
        function = self._find(frame.f_code)
        if function is None:
            return
        values = bound(frame.f_code, frame.f_locals)
        if last:
            self._last[frame.f_code] = function, values
        else:
            self._record(function, frame.f_code, values, failing=failing)

    def _record_last(self) -> None:
        """Record the last calls of the failing test that has ended; its arguments may have changed since the call."""
        last, self._last = self._last, {}
        for code, (function, values) in last.items():
            if self._counts[code, True] < PER_FUNCTION + MOST_LAST and self._slow.get(code, 0) < MOST_SLOW:
                self._record(function, code, values, failing=True)

    def _full(self, *, edited: bool, failing: bool) -> bool:
        """Return whether enough calls are recorded in all; half of the maximum is reserved for passing tests."""
        most = self._most[edited]
        return self._kept[edited] >= (most // 2 if failing else most)

    def _enough(self, code: types.CodeType, *, edited: bool, failing: bool) -> bool:
        """Return whether enough calls of `code` are recorded."""
        if self._full(edited=edited, failing=failing) or self._left <= 0:
            return True
        if self._slow.get(code, 0) >= MOST_SLOW:
            return True
        return self._counts.get((code, failing), 0) >= PER_FUNCTION

    def _again(self, frame: types.FrameType) -> bool:
        """Return whether `frame` is a generator that is resumed."""
        if not frame.f_code.co_flags & 0x20:
            return False
        if any(frame is known for known in self._frames):
            return True
        self._frames.append(frame)
        return False

    def _record(self, function: types.FunctionType, code: types.CodeType, values: Arguments, *, failing: bool) -> None:
        self._counts[code, failing] = self._counts.get((code, failing), 0) + 1
        began = time.thread_time()
        try:
            args, kwargs = copied_or_shared(values, function) if self._sharing else copied(values)
        except Exception:  # a __deepcopy__ of the project may raise anything; such a call cannot be repeated
            return
        finally:
            spent = time.thread_time() - began
            self._left -= spent
            heavy = spent > SLOW
            self._slow[code] = self._slow.get(code, 0) + heavy
        if not heavy or self._slow[code] == 1:
            self._kept[id(code) in self._edited] += 1
            self.calls.append(Call(function, args, kwargs, recorded=True, failing=failing, heavy=heavy))


def bound(code: types.CodeType, values: dict[str, Any]) -> Arguments:
    """Return the arguments (args, kwargs) in `values`, the initial locals of a frame of `code`."""
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


def near(calls: list[Call], most: int = NEAR, seconds: float = math.inf) -> list[tuple[str, Call]]:
    """Return labelled calls: the recorded calls, then variants, each of which differs from a call in one argument.

    The recorded calls are varied in turn. A variant that equals a recorded call is left out. Heavy calls come last and
    have no variants: each candidate needs a copy of the arguments, and a single copy may take more time than all other
    calls together. `seconds`: CPU time after which no more calls are labelled or made, because arguments may refer to
    most objects of the program.
    """
    recorded, heavy = (labelled(calls, seconds / 3, heavy=heavy) for heavy in (False, True))
    known = {name for name, _ in (*recorded, *heavy)}
    rows = [_around(call, random.Random(at)) for at, (_, call) in _within(enumerate(recorded), seconds / 3)]
    others = _with_labels(_within(in_turn(rows), seconds / 3))
    return [*recorded, *itertools.islice((one for one in others if one[0] not in known), most), *heavy]


def labelled(calls: list[Call], seconds: float, *, heavy: bool = False) -> list[tuple[str, Call]]:
    """Return the heavy calls, or the others, with their labels; those for which `seconds` of CPU time suffice."""
    return list(_with_labels(_within((one for one in calls if one.heavy == heavy), seconds)))


def _with_labels(calls: Iterable[Call]) -> Iterator[tuple[str, Call]]:
    """Yield the calls with their labels; those whose arguments raise an exception when they are copied are left out."""
    for call in calls:
        with contextlib.suppress(Exception):
            yield label(call), call


def _within(values: Iterable[T], seconds: float) -> Iterator[T]:
    """Yield `values` until `seconds` of CPU time have passed."""
    until = time.process_time() + seconds
    return itertools.takewhile(lambda _: time.process_time() < until, values)


def _around(call: Call, dice: random.Random) -> list[Call]:
    """Return the variants of `call`; [] if a method of the arguments raised, such as `__eq__` of the project."""
    with contextlib.suppress(Exception):
        found = list(limits(call))
        return replaced(call, lambda value: [*at_limits(value, found), *variants(value, dice)])
    return []


def replaced(call: Call, others: Callable[[Any], list[Any]]) -> list[Call]:
    """Return calls that differ from `call` in one argument, which is replaced by one of the values `others(argument)`.

    Calls with the first replacement of each argument come first, then those with the second, and so on.
    """
    rows = [
        [call._replace(args=[*call.args[:at], one, *call.args[at + 1 :]], recorded=False) for one in others(value)]
        for at, value in enumerate(call.args)
    ]
    rows += [
        [call._replace(kwargs={**call.kwargs, name: one}, recorded=False) for one in others(value)]
        for name, value in call.kwargs.items()
    ]
    return in_turn(rows)


def in_turn(rows: list[list[T]]) -> list[T]:
    """Return the first value of each row, then the second of each, and so on."""
    return [call for layer in itertools.zip_longest(*rows) for call in layer if call is not None]


def limits(call: Call) -> Iterator[Any]:
    """Yield the values that the function may compare an argument with.

    These are other arguments and their attributes, constants and globals.
    """
    function: Any = call.function
    for value in (*call.args, *call.kwargs.values()):
        yield value
        yield from list(fields_of(value).values())[:MOST_FIELDS]
    yield from (one for one in function.__code__.co_consts if one is not function.__doc__)
    yield from (function.__globals__.get(name) for name in function.__code__.co_names)


def label(call: Call) -> str:
    """Return a label of `call` that is the same in other versions of the program.

    Arguments equal to their defaults are left out, so that an added parameter with a default changes no label.
    """
    arguments = code_of(given(call.function, *copied_or_shared((call.args, call.kwargs), call.function)))
    return f"{call.function.__module__}.{call.function.__qualname__} {arguments}"


def given(function: Any, args: list[Any], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments without those equal to their defaults."""
    defaults = function.__defaults__ or ()
    first = function.__code__.co_argcount - len(defaults)
    while first < len(args) <= first + len(defaults) and _same(args[-1], defaults[len(args) - 1 - first]):
        args = args[:-1]
    named = function.__kwdefaults__ or {}
    return args, {name: value for name, value in kwargs.items() if name not in named or not _same(value, named[name])}


def _same(value: Any, other: Any) -> bool:
    return type(value) is type(other) and code_of(value) == code_of(other)


class StoppedError(BaseException):
    """Ends a call that takes too long, or may do harm; not an Exception, so that the program's handlers let it pass."""


class Answers(NamedTuple):
    """The results of a list of calls: a short code for each call that ran and, if requested, a readable text.

    `waiting`: indices of calls that are not compared, because their functions wait (see WAITED): in the unchanged
    program all calls of these functions, otherwise those that were not executed.
    """

    codes: list[str]
    texts: list[str]
    waiting: Sequence[int] = ()

    def without(self, places: Collection[int]) -> Answers:
        """Return a copy without the answers to the calls at the indices `places`."""
        return Answers(without(places, self.codes), without(places, self.texts))


def answers(
    calls: list[Call], until: float, *, seconds: float = math.inf, describe: bool = False, unchanged: bool = False
) -> Answers:
    """Execute `calls` in order and return their answers.

    Calls that are left at `until` (monotonic seconds), or after `seconds` of CPU time, have no answer. `describe`: make
    readable texts.

    `unchanged`: whether this is the program without a repair. To save time, there is then a difference: after a call
    that did not end, calls of the same function by failing tests, and variants of such calls, are not executed, and
    count as endless.
    """
    cpu = time.process_time() + seconds
    found, times, skipped = Answers([], []), CallTimes(unchanged=unchanged), list[int]()
    describer = Describer() if describe else None
    with _alarms(), _output() as printed:
        for at, call in enumerate(calls):
            if time.monotonic() > until or time.process_time() > cpu:
                break
            if times.waits(call):
                skipped.append(at)
            began, blocked = time.monotonic(), _blocked()
            code, text = _answer(call, describer, printed, times.patience(call))
            times.note(call, code, time.monotonic() - began if _blocked() > blocked else 0.0)
            found.codes.append(code)
            found.texts.append(text)
    return found._replace(waiting=[at for at, call in enumerate(calls) if times.waits(call)] if unchanged else skipped)


@contextlib.contextmanager
def _alarms() -> Iterator[None]:
    """Let the signals of `_limit` end calls."""
    before = {number: signal.signal(number, _ring) for number in (signal.SIGPROF, signal.SIGALRM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _output() -> Iterator[io.StringIO]:
    """Yield a stream that gets what the program prints to standard output, and its warnings, each time they occur."""

    def show(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
        printed.write(f"{category.__name__}: {message}\n")

    with (
        contextlib.redirect_stdout(io.StringIO()) as printed,
        contextlib.redirect_stderr(io.StringIO()),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("always")
        warnings.showwarning = show
        yield printed


class CallTimes:
    """The endless calls and the waiting time of each function so far. `unchanged`: see `answers`."""

    def __init__(self, *, unchanged: bool) -> None:
        self._unchanged = unchanged
        self._hung: dict[Callable[..., Any], int] = collections.Counter()
        self._waited: dict[Callable[..., Any], float] = collections.defaultdict(float)

    def patience(self, call: Call) -> float:
        """Return the CPU seconds for `call`; 0.0 if it is not executed."""
        hung = self._hung[call.function]
        if self.waits(call) or (self._unchanged and hung and call.failing):
            return 0.0
        return LARGE * PATIENCE if call.heavy else PATIENCE if hung < MOST_HUNG else IMPATIENCE

    def note(self, call: Call, code: str, waited: float) -> None:
        """Record the result of `call`; `waited`: its wall seconds if it waited for something, otherwise 0."""
        self._hung[call.function] += code == TIMEOUT
        if code != TIMEOUT or not self._unchanged:
            self._waited[call.function] += waited

    def waits(self, call: Call) -> bool:
        """Return whether calls of the function of `call` wait for too long."""
        return self._waited[call.function] > (WAITED if self._unchanged else WAITED_LESS)


def _blocked() -> int:
    """Return how often this process has given up its processor, because it had to wait for something."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw


def without(places: Collection[int], values: Sequence[T]) -> list[T]:
    """Return `values` without those at the indices `places`."""
    return [value for at, value in enumerate(values) if at not in places]


def comparable(found: dict[str, Answers], again: str) -> dict[str, Answers]:
    """Return the rows of `found` (results by candidate) with equal lengths and without unstable results.

    The unchanged program has run twice, under the keys "" and `again`; if one of the two is missing, return {}. All
    rows are cut to the `_common_length`, which is at most that of the shorter of these two. If a candidate has fewer
    results, the missing results count as timeouts if one of its calls did not end; otherwise their codes are empty. A
    call whose result differs between the two runs gets an empty code in all rows. The row `again` is left out.
    """
    if "" not in found or again not in found:
        return {}
    first, second = found[""].codes, found[again].codes
    length = _common_length(min(len(first), len(second)), (row.codes for row in found.values()))
    made = {}
    for number, row in found.items():
        if number == again:
            continue
        codes = [*row.codes, *[TIMEOUT if TIMEOUT in row.codes else ""] * length][:length]
        steady = [code if first[at] == second[at] else "" for at, code in enumerate(codes)]
        made[number] = Answers(steady, row.texts[:length])
    return made


def _common_length(most: int, rows: Iterable[list[str]]) -> int:
    """Return the length of the shortest of `rows`, but at most `most`.

    Rows with a timeout, and rows with at most half of `most` results, are ignored.
    """
    return min([most, *(len(row) for row in rows if TIMEOUT not in row and 2 * len(row) > most)])


def kinds(calls: list[Call], found: dict[str, Answers]) -> list[str]:
    """Return the kinds of `calls` (see Call); `-` for calls without a code."""
    codes = found[""].codes if "" in found else []
    return [call.kind if at >= len(codes) or codes[at] else "-" for at, call in enumerate(calls)]


def _limit(cpu: float, wall: float) -> None:
    """Set the timers whose signals end a call (see `_ring`); 0 for none."""
    signal.setitimer(signal.ITIMER_PROF, cpu)
    signal.setitimer(signal.ITIMER_REAL, wall)


def _ring(_number: int, _frame: object) -> None:
    raise StoppedError


def _answer(call: Call, describe: Describer | None, output: io.StringIO, patience: float) -> tuple[str, str]:
    """Execute `call` for up to `patience` CPU seconds; return the code and the text of the result.

    Without `describe`, the text of a returned value is empty. What the call prints, and its warnings, which are in
    `output`, are part of the result.
    """
    text = ""
    if not patience:
        return ENDLESS
    try:
        args, kwargs = copied_or_shared((call.args, call.kwargs), call.function)
        output.seek(0)
        output.truncate()
        _limit(patience, LARGE * WAITING if call.heavy else WAITING)
        try:
            value = call.function(*args, **kwargs)
            contradicts = "" if fits(value, call.function) else CONTRADICTS
            items = list(itertools.islice(value, WIDTH)) if hasattr(value, "__next__") else None
            value = value if items is None else iter(items)
            lines = output.getvalue()[:MOST_SHOWN]
            code = code_of((value, *given(call.function, args, kwargs), *filter(None, [lines]))) + contradicts
        finally:
            _limit(0, 0)
        if describe is not None:
            text = describe(value) if items is None else YIELDS + describe(items)
            text = AND_THEN.join([text, *_changed_parts(call, args, kwargs, describe), *_printed(lines, describe)])
    except StoppedError:
        return ENDLESS
    except BaseException as error:  # SystemExit included: a result like any other
        return _raised(error, call.function, describe)
    return code, text


def _raised(error: BaseException, function: Callable[..., Any], describe: Describer | None) -> tuple[str, str]:
    """Return the code and the text of an exception.

    Arguments and attributes of the exception are part of the code, and its message part of the text, if a `raise`
    statement of the project raised it. Otherwise an operation failed, and the message names the values it had by
    chance.
    """
    name = type(error).__name__
    if not _is_deliberate(error, function):
        return FAILED + name, "raises " + name
    try:
        _limit(PATIENCE, WAITING)
        try:
            arguments = [ADDRESS.sub("", value) if isinstance(value, str) else value for value in error.args]
            code = code_of((arguments, vars(error)))
        finally:
            _limit(0, 0)
    except StoppedError:
        return FAILED + name, "raises " + name
    text = f"raises {name}" + (f": {describe(describe.text(error))}" if describe else "")
    return f"{FAILED}{name} {code}", text


def _is_deliberate(error: BaseException, function: Callable[..., Any]) -> bool:
    """Return whether a `raise` statement raised `error`, in a module of the package or of the folder of `function`."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None or dis.opname[last.tb_frame.f_code.co_code[last.tb_lasti]] != "RAISE_VARARGS":
        return False
    here, there = function.__globals__, last.tb_frame.f_globals
    return _package(here) == _package(there) or _folder(here) == _folder(there)


def _package(module: dict[str, Any]) -> str:
    return str(module.get("__name__")).partition(".")[0]


def _folder(module: dict[str, Any]) -> str:
    return os.path.dirname(str(module.get("__file__")))


def _printed(lines: str, describe: Describer) -> Iterator[str]:
    """Yield the text of `_output`, if there is any, in the form of `_changes`, under the name PRINTED."""
    if lines:
        yield TO.join((PRINTED, describe(""), describe(lines)))


def _changed_parts(call: Call, args: list[Any], kwargs: dict[str, Any], describe: Describer) -> list[str]:
    """Return the texts of `_changes`; none if this takes more than PATIENCE, because arguments may be large."""
    try:
        _limit(PATIENCE, WAITING)
        try:
            return list(_changes(call, args, kwargs, describe))
        finally:
            _limit(0, 0)
    except StoppedError:
        return []


def _changes(call: Call, args: list[Any], kwargs: dict[str, Any], describe: Describer) -> Iterator[str]:
    """Yield what `call` has changed in its arguments: a name like `other.cents`, its value before and its value now."""
    names = call.function.__code__.co_varnames[: call.function.__code__.co_argcount]
    rows = [*zip(names, call.args, args, strict=False), *((name, call.kwargs[name], kwargs[name]) for name in kwargs)]
    for name, before, after in rows:
        for place, old, new in _differences(name, before, after, DEPTH // 2):
            yield TO.join((place, describe(old), describe(new)))


def _differences(name: str, before: Any, after: Any, depth: int) -> Iterator[tuple[str, Any, Any]]:
    """Yield all parts in which `before` and `after` differ, as (name, part before, part after); outer parts first."""
    if code_of(before) == code_of(after):
        return
    yield name, before, after
    olds, news = _parts(name, before), _parts(name, after)
    if depth and olds.keys() == news.keys():
        for place, old in olds.items():
            yield from _differences(place, old, news[place], depth - 1)


def _parts(name: str, value: Any) -> dict[str, Any]:
    """Return the items of a sequence or dictionary, or the attributes of an object, by expressions like `NAME[0]`."""
    if isinstance(value, (list, tuple, dict)):
        keys = value if isinstance(value, dict) else range(len(value))
        return {f"{name}[{key!r}]": value[key] for key in keys}
    return {f"{name}.{key}": item for key, item in fields_of(value).items()}


def _different(texts: dict[str, str]) -> dict[str, str]:
    """Return the texts of the results or, if these are all equal, of the changed arguments that differ.

    `texts`: for each version of the program, the text of the result and of the changed arguments, see AND_THEN.
    """
    rows = {key: text.split(AND_THEN) for key, text in texts.items()}
    results = {key: row[0] for key, row in rows.items()}
    if len(set(results.values())) > 1:
        return results
    return _afterwards({key: [part.split(TO) for part in row[1:]] for key, row in rows.items()})


def _afterwards(changes: dict[str, list[list[str]]]) -> dict[str, str]:
    """Describe, for each key of `changes`, the parts of the arguments that differ between the keys after the call.

    A key stands for one version of the program. `changes`: for each key, lists of the name of a changed part, its value
    before the call and its value after it. Only innermost parts are described, at most MOST_PLACES. A part whose value
    is unknown for a key is left out; if one version deleted an item, the container of the item is compared.
    """
    before = {place: old for parts in changes.values() for place, old, _ in parts}
    tables = {key: {place: new for place, _, new in parts} for key, parts in changes.items()}
    shown = _innermost(_differing_parts(before, list(tables.values())))[:MOST_PLACES]
    rows = {
        key: ", ".join(f"{place} = {table.get(place, before[place])}" for place in shown)
        for key, table in tables.items()
    }
    return {key: row and AFTERWARDS + row for key, row in rows.items()}


def _differing_parts(before: dict[str, str], tables: list[dict[str, str]]) -> list[str]:
    """Return the parts whose value after the call is known for every version and differs between versions.

    A part is a piece of the arguments. `before`: its value before the call. `tables`: for each version of the program,
    the new values of the parts that the call changed.
    """
    known = [place for place in before if all(_is_known(place, table) for table in tables)]
    return [place for place in known if len({table.get(place, before[place]) for table in tables}) > 1]


def _is_known(place: str, changed: dict[str, str]) -> bool:
    """Return whether the value of the part `place` after the call is known.

    It is known if `place` is in `changed`, or if `place` is not inside an innermost part of `changed`.
    """
    return place in changed or not any(_is_part(place, one) for one in _innermost(list(changed)))


def _innermost(places: list[str]) -> list[str]:
    return [place for place in places if not any(_is_part(other, place) for other in places)]


def _is_part(place: str, whole: str) -> bool:
    return place.startswith((whole + ".", whole + "["))


def fits(value: Any, function: Any) -> bool:
    """Return whether `value` may be a result of `function` according to its return annotation, as far as this is known.

    Parameters of generic types (`list[int]`) are not checked.
    """
    annotation = function.__annotations__.get("return", Any)
    try:
        wanted = eval(annotation, function.__globals__) if isinstance(annotation, str) else annotation
        return _is_a(value, wanted)
    except Exception:  # an annotation may be any expression; if it cannot be evaluated, it is ignored
        return True


def _is_a(value: Any, wanted: Any) -> bool:
    if wanted is None:
        return value is None
    parts = typing.get_args(wanted)
    origin = typing.get_origin(wanted) or wanted
    if origin in UNIONS:
        return any(_is_a(value, part) for part in parts)
    if not isinstance(origin, type) or getattr(origin, "_is_protocol", False):
        return True
    return isinstance(value, (float, int) if origin is float else origin)


def asked(call: Call, texts: dict[str, str], describe: Describer) -> tuple[str, dict[str, str]]:
    """Return the source text of the call, and texts of its results; see `_different`.

    If a result is an iterator, the source text is `list(CALL)`.
    """
    source, texts = source_of(call, describe), _different(texts)
    if not any(text.startswith(YIELDS) for text in texts.values()):
        return source, texts
    cut = len(YIELDS)
    return f"list({source})", {key: text[cut:] if text.startswith(YIELDS) else text for key, text in texts.items()}


def source_of(call: Call, describe: Describer) -> str:
    """Return the call as source text: `pluralize('cat')`, or `<Cart lines=[]>.shipping()` for a method."""
    args, kwargs = given(call.function, call.args, call.kwargs)
    args, named = _named(call.function, args)
    parts, name = [describe(value) for value in args], call.function.__name__
    owner = call.function.__qualname__.rpartition(".")[0]
    if owner and args and type(args[0]).__name__ == owner.rpartition(".")[2]:
        name = f"{parts.pop(0)}.{name}"
    elif owner and "<locals>" not in owner:
        name = call.function.__qualname__
    parts += [f"{key}={describe(value)}" for key, value in {**named, **kwargs}.items()]
    return f"{name}({', '.join(parts)})"


def _named(function: Any, args: list[Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments to write by position, and those to write by name, of a call of `function`.

    The optional arguments are written by name. If one of them cannot be passed by name, or if there are more arguments
    than parameters, all arguments are written by position.
    """
    code = function.__code__
    first = code.co_argcount - len(function.__defaults__ or ())
    if len(args) > code.co_argcount or code.co_posonlyargcount > first:
        return args, {}
    return args[:first], dict(zip(code.co_varnames[first:], args[first:], strict=False))


SHOWN = 60
"""Maximum number of calls that are reported as text, with the answers of the candidates that they distinguish."""


def distinguishing(codes: dict[str, list[str]]) -> list[int]:
    """Return the indices of up to SHOWN calls on which candidates differ; calls that split them most evenly first.

    If candidates differ on no call, return calls on which they differ from the unchanged program.
    """
    rows = list(zip(*(codes[name] for name in codes if name), strict=False))
    even = sorted((max(map(row.count, row)), place) for place, row in enumerate(rows) if len(set(row)) > 1)
    changed = [place for place, before in enumerate(codes.get("", ())) if rows and rows[place][0] != before]
    return [place for _, place in even[:SHOWN]] or changed[-SHOWN:]
