"""A pytest plugin: does a changed file answer the suite's own calls, and calls near them, as the original does?

Loaded by differential.same_in_package with `-p`; needs nothing but the standard library and pytest. It notes calls of
the file's functions while the suite runs on the original, varies their arguments, and has original (twice: answers
that differ by themselves do not count) and patch answer copies of them. Written apart from the engine's own probe.
"""

from __future__ import annotations

import ast
import copy
import itertools
import json
import os
import random
import re
import signal
import sys
import time
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PER_FUNCTION, VARIED, LONGEST, PATIENCE = 40, 12, 4.0, 0.2
"""Calls noted of a function; variations of each; seconds for all answers; seconds for one."""
GENERATOR = 0x20
ADDRESS = re.compile(r" at 0x[0-9a-f]+")


@dataclass
class Call:
    name: str
    args: list[Any]
    kwargs: dict[str, Any]


class Noted:
    """Calls of the functions whose code stands in one file, by qualified name."""

    def __init__(self, path: str) -> None:
        self.path, self.name = os.path.realpath(path), Path(path).name
        self.calls: list[Call] = []
        self.counts: dict[types.CodeType, int] = {}
        self.running: list[types.FrameType] = []
        """Generators: each step of theirs looks like a call."""

    def saw(self, frame: types.FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.endswith(self.name):
            return
        if os.path.realpath(code.co_filename) != self.path or self.counts.get(code, 0) >= PER_FUNCTION:
            return
        if code.co_flags & GENERATOR and any(frame is one for one in self.running):
            return
        self.running += [frame] if code.co_flags & GENERATOR else []
        sys.setprofile(None)
        try:
            args, kwargs = copy.deepcopy(given(code, frame.f_locals))
            self.calls.append(Call(qualified(code), args, kwargs))
            self.counts[code] = self.counts.get(code, 0) + 1
        except Exception:
            return
        finally:
            sys.setprofile(self.saw)


def qualified(code: types.CodeType) -> str:
    return str(getattr(code, "co_qualname", code.co_name))


def given(code: types.CodeType, values: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    names, count, keywords = code.co_varnames, code.co_argcount, code.co_kwonlyargcount
    args = [values[name] for name in names[:count]]
    kwargs = {name: values[name] for name in names[count : count + keywords]}
    at = count + keywords
    if code.co_flags & 0x04:
        args += values[names[at]]
        at += 1
    if code.co_flags & 0x08:
        kwargs |= values[names[at]]
    return args, kwargs


def variations(value: Any, dice: random.Random) -> list[Any]:  # noqa: PLR0911 (one return per type)
    if isinstance(value, bool):
        return [not value]
    if type(value) is int:
        return [value + 1, value - 1, -value, 0, 1, 2, value * 2, value * 1000 + 7]
    if type(value) is float:
        return [value + 1, -value, 0.0, value / 3, value * 1e6]
    if type(value) is str:
        cut = dice.randrange(len(value) + 1)
        more = [value.upper(), value.lower(), value.swapcase(), " " + value + " ", "", value + value, value[::-1]]
        return [*more, value[:cut], value[cut:], value[:cut] + "-_ 9é" + value[cut:]]
    if type(value) is bytes:
        return [b"", value[::-1], value + value, value[1:]]
    if type(value) in {list, tuple}:
        items = list(value)
        made = [[], items[1:], items[:-1], items[::-1], items + items[:1], items + items]
        made += [
            [*items[:at], other, *items[at + 1 :]]
            for at, item in enumerate(items[:3])
            for other in variations(item, dice)[:3]
        ]
        return [type(value)(one) for one in made]
    if type(value) is dict:
        return [{}, *({key: one for key, one in value.items() if key != gone} for gone in list(value)[:3])]
    if value is None:
        return [0, "", 1, []]
    return []


def near(call: Call, dice: random.Random) -> list[Call]:
    """Calls that differ in one argument, or leave one to its default."""
    made = []
    for at, value in enumerate(call.args):
        made += [
            Call(call.name, [*call.args[:at], one, *call.args[at + 1 :]], call.kwargs)
            for one in variations(value, dice)
        ]
    for name, value in call.kwargs.items():
        made += [Call(call.name, call.args, {**call.kwargs, name: one}) for one in variations(value, dice)]
    dice.shuffle(made)
    fewer = [Call(call.name, call.args[:-1], call.kwargs)] if call.args else []
    fewer += [
        Call(call.name, call.args, {key: one for key, one in call.kwargs.items() if key != gone})
        for gone in call.kwargs
    ]
    return [*fewer[:3], *made[:VARIED]]


def shown(value: Any, depth: int = 0) -> Any:
    """What one sees of a value: never its address; iterators are run out, 60 items at most."""
    if depth > 5:
        return "…"
    if isinstance(value, dict):
        return [
            type(value).__name__,
            *([shown(key, depth + 1), shown(one, depth + 1)] for key, one in itertools.islice(value.items(), 60)),
        ]
    if isinstance(value, list | tuple):
        return [type(value).__name__, *(shown(one, depth + 1) for one in value[:60])]
    if isinstance(value, set | frozenset):
        return [type(value).__name__, *sorted(json.dumps(shown(one, depth + 1), default=str) for one in value)]
    if hasattr(value, "__next__"):
        return ["iterator", *(shown(one, depth + 1) for one in itertools.islice(value, 60))]
    if isinstance(value, types.FunctionType | types.MethodType | types.BuiltinFunctionType | type):
        return getattr(value, "__qualname__", "function")
    plain: Any = object.__repr__
    if type(value).__repr__ is plain:
        return [type(value).__name__, shown(getattr(value, "__dict__", {}), depth + 1)]
    return f"{type(value).__name__} {value!r}"[:400]


class Late(BaseException):
    """Time is up; not an Exception, so that no program swallows it."""


def ring(*_: object) -> None:
    raise Late


def answer(function: Any, call: Call) -> str:
    """Its value, or the exception's type and words; what it made of its arguments counts too."""
    try:
        args, kwargs = copy.deepcopy((call.args, call.kwargs))
    except Exception:
        return "?"
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        told = json.dumps([shown(function(*args, **kwargs)), shown(args), shown(kwargs)], default=str)
        return ADDRESS.sub("", told)
    except Late:
        return "late"
    except RecursionError:
        return "RecursionError"
    except Exception as error:
        return ADDRESS.sub("", f"{type(error).__name__}: {error}")
    except BaseException as error:
        return type(error).__name__
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def functions(space: dict[str, Any], module: str) -> dict[str, types.FunctionType]:
    """Plain functions of a module and its classes by qualified name, those under decorators included."""
    found: dict[str, types.FunctionType] = {}
    todo, seen = list(space.values()), set()
    while todo:
        value = todo.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, types.FunctionType):
            if value.__module__ == module:
                found.setdefault(qualified(value.__code__), value)
            todo += [cell.cell_contents for cell in value.__closure__ or () if not empty(cell)]
            todo.append(getattr(value, "__wrapped__", None))
        elif isinstance(value, type):
            todo += list(vars(value).values()) if value.__module__ == module else []
        elif isinstance(value, property):
            todo += [value.fget, value.fset]
        else:
            todo += [getattr(value, "__func__", None), getattr(value, "func", None)]
    return found


def empty(cell: types.CellType) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return True
    return False


def changed(original: str, patched: str) -> set[str] | None:
    """Qualified names of the outermost functions whose code differs; None when something else does, too."""
    tables = [dict(parts(ast.parse(text).body, "")) for text in (original, patched)]
    differ = {name for name in tables[0].keys() | tables[1].keys() if tables[0].get(name) != tables[1].get(name)}
    return None if any(name.endswith(".") or not name for name in differ) or not differ else differ


def parts(body: list[ast.stmt], prefix: str) -> Any:
    """Each function with its tree; all else of a body under the prefix itself."""
    rest = []
    for stmt in body:
        if isinstance(stmt, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + stmt.name, ast.dump(stmt)
        elif isinstance(stmt, ast.ClassDef):
            yield from parts(stmt.body, prefix + stmt.name + ".")
            rest.append(ast.dump(ast.ClassDef(stmt.name, stmt.bases, stmt.keywords, [], stmt.decorator_list)))
        else:
            rest.append(ast.dump(stmt))
    yield prefix, "\n".join(rest)


class Replay:
    """Compares at the end of the session; the answer goes to a file: {"compared", "differ", "why", "example"}."""

    def __init__(self, job: dict[str, str]) -> None:
        self.job, self.noted = job, Noted(job["path"])

    def pytest_collection_finish(self) -> None:
        sys.setprofile(self.noted.saw)

    def pytest_sessionfinish(self) -> None:
        sys.setprofile(None)
        signal.signal(signal.SIGALRM, ring)
        told = self.compared()
        Path(self.job["out"]).write_text(json.dumps(told), "utf-8")

    def compared(self) -> dict[str, Any]:
        module = next(
            (
                one
                for one in list(sys.modules.values())
                if os.path.realpath(getattr(one, "__file__", None) or "/") == self.noted.path
            ),
            None,
        )
        names = changed(self.job["original"], self.job["patched"])
        if module is None or names is None:
            return {"compared": 0, "differ": 0, "why": "not imported, or data changed that runs at import"}
        new = functions(loaded(module, self.job["patched"]), module.__name__)
        old = functions(vars(module), module.__name__)
        missing = [name for name in names if name not in old or name not in new]
        if missing:
            return {"compared": 0, "differ": 0, "why": f"{missing[0]} cannot be exchanged"}
        return self.asked(old, new, names)

    def asked(self, old: dict[str, Any], new: dict[str, Any], names: set[str]) -> dict[str, Any]:
        dice = random.Random(1)
        calls = [call for call in self.noted.calls if call.name in old]
        calls.sort(key=lambda call: call.name not in names)
        calls = [one for call in calls for one in (call, *near(call, dice))]
        until, through, differ, example = time.monotonic() + LONGEST, 0, 0, ""
        counted = Through({old[name].__code__ for name in names})
        for call in calls:
            if time.monotonic() > until:
                break
            counted.begin()
            first = answer(old[call.name], call)
            reached = counted.end()
            if not reached or first == "?" or answer(old[call.name], call) != first:
                continue
            through += 1
            with swapped(old, new, names):
                second = answer(old[call.name], call)
            if second != first:
                differ += 1
                example = example or f"{call.name}{call.args!r:.200}: {first:.150} / {second:.150}"
        return {"compared": through, "differ": differ, "why": "", "example": example}


class Through:
    """Whether one of `codes` runs between `begin` and `end`."""

    def __init__(self, codes: set[types.CodeType]) -> None:
        self.codes, self.hit = codes, False

    def begin(self) -> None:
        self.hit = False
        sys.setprofile(self.saw)

    def saw(self, frame: types.FrameType, event: str, _: object) -> None:
        if frame.f_code in self.codes:
            self.hit = True
            sys.setprofile(None)

    def end(self) -> bool:
        sys.setprofile(None)
        return self.hit


class swapped:  # noqa: N801 (a context)
    """The changed functions' code and defaults exchanged in the living module."""

    def __init__(self, old: dict[str, Any], new: dict[str, Any], names: set[str]) -> None:
        self.pairs = [(old[name], new[name]) for name in names]

    def __enter__(self) -> None:
        self.kept = [(one.__code__, one.__defaults__, one.__kwdefaults__) for one, _ in self.pairs]
        for one, other in self.pairs:
            one.__code__, one.__defaults__, one.__kwdefaults__ = (
                other.__code__,
                other.__defaults__,
                other.__kwdefaults__,
            )

    def __exit__(self, *_: object) -> None:
        for (one, _), (code, defaults, keywords) in zip(self.pairs, self.kept, strict=True):
            one.__code__, one.__defaults__, one.__kwdefaults__ = code, defaults, keywords


def loaded(module: types.ModuleType, text: str) -> dict[str, Any]:
    """The names of the module made from `text`, which is not imported in its place."""
    space = {
        "__name__": module.__name__,
        "__package__": module.__package__,
        "__file__": module.__file__,
        "__builtins__": __builtins__,
    }
    for name in ("__spec__", "__path__", "__loader__"):
        if hasattr(module, name):
            space[name] = getattr(module, name)
    exec(compile(text, module.__file__ or "", "exec"), space)
    return space


def pytest_configure(config: Any) -> None:
    config.pluginmanager.register(Replay(json.loads(Path(os.environ["REPLAYING"]).read_text("utf-8"))), "replay")
