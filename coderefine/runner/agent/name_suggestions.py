"""The names nearest to one that was not there, among those that the object, frame or module really has."""

from __future__ import annotations

import builtins
import difflib
import inspect
import re
import sys
from typing import Any, Iterable, List, Optional, Tuple

MOST = 3
"""Names given."""
ALIKE = 0.7
"""Likeness (difflib) from which on a name may have been meant."""
LONGEST = 60
KEYWORD = re.compile(r"(\w+)\(\) got an unexpected keyword argument '(\w+)'")
IMPORT = re.compile(r"cannot import name '(\w+)' from '([\w.]+)'")


def misspelt(error: BaseException, frame: Any) -> "Tuple[str, List[str]]":
    """The name that was not there, and the nearest that are; ("", []) for any other failure. Runs no code of theirs
    but `__dir__`, and raises nothing."""
    try:
        wrong, names = _asked(error, frame)
        near = difflib.get_close_matches(wrong, sorted({*names} - {wrong}), MOST, ALIKE) if wrong else []
    except Exception:  # whatever a __dir__ or __eq__ of theirs raises: then nothing is known
        return "", []
    return (wrong, near) if near else ("", [])


def _asked(error: BaseException, frame: Any) -> "Tuple[str, Iterable[str]]":
    """The name that was asked for, and all that were there."""
    name = getattr(error, "name", None)
    if isinstance(error, AttributeError) and name and hasattr(error, "obj"):
        return name, _public(dir(error.obj), name)
    if isinstance(error, ImportError):
        found = IMPORT.search(str(error))
        return (found.group(1), dir(sys.modules[found.group(2)])) if found else ("", [])
    return _asked_in(frame, error, name) if frame is not None else ("", [])


def _asked_in(frame: Any, error: BaseException, name: Optional[str]) -> "Tuple[str, Iterable[str]]":
    """As `_asked`, of an error that `frame` is needed for."""
    if isinstance(error, NameError) and name:
        return name, [*frame.f_locals, *frame.f_globals, *dir(builtins)]
    if isinstance(error, KeyError) and error.args and type(error.args[0]) is str:
        return error.args[0][:LONGEST], _keys(frame, error.args[0])
    found = KEYWORD.search(str(error)) if isinstance(error, TypeError) else None
    return (found.group(2), _parameters(frame, found.group(1))) if found else ("", [])


def _public(names: Iterable[str], wrong: str) -> List[str]:
    """Private names only for a private one."""
    return [name for name in names if wrong.startswith("_") or not name.startswith("_")]


def _keys(frame: Any, wrong: str) -> List[str]:
    """Text keys of the mappings that the frame holds and that have no such key, one level into objects."""
    held = list(frame.f_locals.values())
    held += [value for one in held[:10] for value in getattr(one, "__dict__", {}).values()]
    mappings = [value for value in held if isinstance(value, dict) and wrong not in value]
    return [key for mapping in mappings for key in list(mapping)[:200] if type(key) is str]


def _parameters(frame: Any, name: str) -> List[str]:
    """Parameters of the callable of this name that the frame knows, also as a method of what it holds."""
    name = name.rpartition(".")[2]
    spaces = [frame.f_locals, frame.f_globals]
    found = [space[name] for space in spaces if name in space]
    found += [getattr(type(value), name) for value in list(frame.f_locals.values()) if hasattr(type(value), name)]
    return [one for function in found if callable(function) for one in inspect.signature(function).parameters]
