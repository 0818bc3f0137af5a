"""Runs the functions of the loaded program as another version of its files has them.

Unlike code_diff.py it need not be the same as an import of the other version: what is compared are the answers of
functions. So what only one version has (a helper, an import, a constant) is no hindrance.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import os
import sys
import types
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

Values = List[Tuple[Dict[str, Any], str, Any, Any]]
"""A module's names, one of them, its value here and in the other version."""
MISSING = object()


class OtherVersion:
    """Functions and constants of the loaded program that the `files` (full path -> content) have otherwise."""

    def __init__(self, files: Dict[str, Optional[bytes]]) -> None:
        self.functions: Dict[types.FunctionType, Tuple[types.CodeType, types.CodeType]] = {}
        self._values: Values = []
        for path, data in files.items():
            for module in _modules(path) if data else ():
                self._add(module, data or b"")

    def _add(self, module: types.ModuleType, data: bytes) -> None:
        text = importlib.util.decode_source(data)
        with open(str(module.__file__), "rb") as file:
            now = importlib.util.decode_source(file.read())
        codes = dict(_codes(compile(text, str(module.__file__), "exec", dont_inherit=True), ""))
        for name, function in _functions(module.__dict__, "", module.__name__, set()):
            code = codes.get(name)
            if code is not None and code.co_freevars == function.__code__.co_freevars:
                self.functions[function] = (function.__code__, code)
        if _outside(text) != _outside(now):
            self._compare(module, text)

    def _compare(self, module: types.ModuleType, text: str) -> None:
        """What the module's own statements would have made of its names."""
        other = {name: value for name, value in module.__dict__.items() if name.startswith("__")}
        try:
            exec(compile(text, str(module.__file__), "exec", dont_inherit=True), other)
        except BaseException:  # SystemExit included: then its names are as they are here
            return
        for name, value in other.items():
            here = module.__dict__.get(name, MISSING)
            if here is MISSING or (_plain(here) and _plain(value) and repr(here) != repr(value)):
                self._values.append((module.__dict__, name, here, value))

    @contextlib.contextmanager
    def wholly(self) -> Iterator[None]:
        """The other version answers."""
        self._set(other=True)
        for function, (_, code) in self.functions.items():
            function.__code__ = code
        try:
            yield
        finally:
            self._set(other=False)
            self._restore()

    @contextlib.contextmanager
    def within(self) -> Iterator[None]:
        """This version answers, and whatever its functions call of themselves is the other version."""
        first = {code: (function, other) for function, (code, other) in self.functions.items()}

        def entered(frame: types.FrameType, event: str, _: object) -> None:
            if event == "call" and frame.f_code in first:
                function, other = first[frame.f_code]
                function.__code__ = other

        sys.setprofile(entered)
        try:
            yield
        finally:
            sys.setprofile(None)
            self._restore()

    def _set(self, *, other: bool) -> None:
        for names, name, here, there in self._values:
            value = there if other else here
            if value is MISSING:
                names.pop(name, None)
            else:
                names[name] = value

    def _restore(self) -> None:
        for function, (code, _) in self.functions.items():
            function.__code__ = code


def _modules(path: str) -> List[types.ModuleType]:
    real = os.path.realpath(path)
    found = [(module, getattr(module, "__file__", None)) for module in list(sys.modules.values())]
    return [module for module, file in found if isinstance(file, str) and os.path.realpath(file) == real]


def _codes(code: types.CodeType, prefix: str) -> Iterator[Tuple[str, types.CodeType]]:
    """Code objects by qualified name; of two with the same name, the last. Those inside functions are theirs."""
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType) and not inner.co_name.startswith("<"):
            yield prefix + inner.co_name, inner
            if not inner.co_flags & 0x02:  # no CO_NEWLOCALS: a class
                yield from _codes(inner, prefix + inner.co_name + ".")


def _functions(names: Any, prefix: str, module: str, seen: Set[int]) -> Iterator[Tuple[str, types.FunctionType]]:
    for name, value in list(names.items()):
        if isinstance(value, type) and value.__module__ == module and id(value) not in seen:
            seen.add(id(value))
            yield from _functions(vars(value), prefix + name + ".", module, seen)
        for one in (value, getattr(value, "fget", None), getattr(value, "fset", None)):
            function = _unwrapped(one)
            if function is not None and function.__module__ == module:
                yield prefix + function.__name__, function


def _unwrapped(value: Any) -> Optional[types.FunctionType]:
    """The function inside decorators that say what they wrap."""
    for _ in range(9):
        if not isinstance(value, types.FunctionType) or hasattr(value, "__wrapped__"):
            value = getattr(value, "__wrapped__", None) or getattr(value, "__func__", None)
    return value if isinstance(value, types.FunctionType) else None


def _outside(text: str) -> List[str]:
    """What a module does besides defining functions and classes."""
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return [ast.dump(node) for node in ast.parse(text).body if not isinstance(node, definitions)]


def _plain(value: Any) -> bool:
    return not isinstance(value, (types.FunctionType, types.ModuleType, type, types.BuiltinFunctionType))
