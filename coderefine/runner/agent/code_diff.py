"""Compare code objects without positions, and find the functions that an edit changes."""

from __future__ import annotations
import __future__ as future

import ast
import functools
import importlib.util
import operator
import sys
import types
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

CodeType = types.CodeType
Pairs = list[tuple[CodeType, CodeType]]

FUNCTION = 0x01 | 0x02
"""CO_OPTIMIZED | CO_NEWLOCALS: set for functions, lambdas and comprehensions, not for modules and class bodies."""
SHAPE = 0x04 | 0x08 | 0x20 | 0x80 | 0x100 | 0x200
"""Flags that introspection shows: *args, **kwargs, generator, coroutine, iterable coroutine, async generator."""
FUTURES = functools.reduce(operator.or_, (getattr(future, name).compiler_flag for name in future.all_feature_names))
"""Code flags of `from __future__ import`; a statement that is compiled alone needs them, too."""
HAS_DOCSTRING = 0x4000000
"""Flag of Python 3.13 and later; before, the first constant of a function is its docstring or None."""


SEES_NAMES = frozenset({"locals", "vars", "eval", "exec", "dir", "globals", "_getframe", "currentframe", "stack"})
"""Functions that return local variables by name, or find variables by name."""


class NotHotError(Exception):
    """The edit cannot be made by swapping code objects; the message is the reason."""


class RanAtImportError(NotHotError):
    """A function of the edit ran during import or collection, so swapping its code does only a part of the edit."""


class Statement(NamedTuple):
    """A statement of a module or of a top-level class: its lines, 1-based and inclusive, with decorators.

    `header`: the class statement under which it must be compiled; "" at module level, "-" if this is impossible.
    """

    first: int
    last: int
    header: str = ""


class SourceFile:
    """One file as the server imported it: its lines, its statements, and their code objects (compiled once)."""

    def __init__(self, filename: str, data: bytes) -> None:
        self.filename = filename
        self.text = importlib.util.decode_source(data)
        self.lines = self.text.split("\n")
        tree = ast.parse(self.text)
        self.blocks = [_block(node) for node in tree.body]
        self._members = {_block(node): self._methods(node) for node in tree.body if isinstance(node, ast.ClassDef)}
        self._flags = 0
        self._warnings: frozenset[str] | None = None
        """The compiler's warnings about this file; None before it was compiled."""
        self._compiled: dict[Statement | None, CodeType] = {}
        self._twins: dict[int, CodeType] = {}
        self._flags = self._old(None).co_flags & FUTURES

    def pair(self, data: bytes) -> tuple[CodeType, CodeType]:
        """Return code objects (old, new) that contain the differences between this file and `data`.

        If only one top-level statement or method changed, only this is compiled. Raises NotHotError.
        """
        try:
            text = importlib.util.decode_source(data)
        except (SyntaxError, UnicodeDecodeError) as error:
            raise NotHotError(f"does not decode: {error}") from error
        lines = text.split("\n")
        head, tail = common_ends(self.lines, lines)
        end = len(self.lines) - tail
        block = _only(self.blocks, head, end)
        if block is not None:
            block = _only(self._members.get(block, ()), head, end) or block
            shifted = block.last + len(lines) - len(self.lines)
            new = self._compile_block("\n".join(lines[block.first - 1 : shifted]), block)
            if new is not None:
                return self._old(block), new
        return self._old(None), self._compile(text)

    def _methods(self, node: ast.ClassDef) -> list[Statement]:
        """Return the statements of a class; only methods that can be compiled alone get the header of the class."""
        if getattr(node, "type_params", None):
            return []
        found = [_block(item) for item in node.body]
        header = f"class {node.name}:"
        good = [isinstance(item, ast.FunctionDef) and item.col_offset > 0 for item in node.body]
        lines = [self.lines[block.first - 1].lstrip()[:4] for block in found]
        return [
            block._replace(header=header if fits and line[:1] in ("@", "d") else "-")
            for block, fits, line in zip(found, good, lines, strict=False)
        ]

    def _compile_block(self, text: str, block: Statement) -> CodeType | None:
        """Compile `text` in place of `block`; return None if `text` is not exactly one statement."""
        if text.rstrip().endswith("\\"):
            return None
        try:
            code = self._compile(_placed(text, block))
        except NotHotError:
            return None
        body = ast.parse(_placed(text, block)).body
        if block.header and len(body) == 1:
            body = getattr(body[0], "body", [])
        return code if len(body) == 1 and _block(body[0]).first == block.first else None

    def twin(self, old: CodeType) -> CodeType:
        """Return the code object that the import compiled for `old`, a code object of `pair`.

        The two may differ: the compiler treats `re.sub` differently when it sees that `re` is an imported module.
        """
        return self._twins.get(id(old), old)

    def _old(self, block: Statement | None) -> CodeType:
        if block not in self._compiled:
            text = self.text
            if block is not None:
                text = _placed("\n".join(self.lines[block.first - 1 : block.last]), block)
            self._compiled[block] = self._compile(text)
            if block is not None:
                self._pair_up(block)
        return self._compiled[block]

    def _pair_up(self, block: Statement) -> None:
        whole = [code for code in _below(self._old(None)) if block.first <= code.co_firstlineno <= block.last]
        alone = list(_below(self._compiled[block]))[1 if block.header else 0 :]
        if [code.co_name for code in whole] != [code.co_name for code in alone]:
            raise NotHotError("the file is laid out in an unusual way")
        self._twins.update((id(one), other) for one, other in zip(alone, whole, strict=False))

    def _compile(self, text: str) -> CodeType:
        """Compile `text`. Raises NotHotError for errors, and for warnings that the unchanged file does not cause.

        Some projects turn warnings into errors; then a fresh import of `text` would fail.
        """
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                code: CodeType = compile(text, self.filename, "exec", self._flags, dont_inherit=True)
            except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
                raise NotHotError(f"does not compile cleanly: {type(error).__name__}") from error
        found = frozenset(str(one.message) for one in caught)
        if self._warnings is None:
            self._warnings = found  # the first text is that of the unchanged file
        if not found <= self._warnings:
            raise NotHotError(f"does not compile cleanly: {min(found - self._warnings)}")
        return code


def _below(code: CodeType) -> Iterator[CodeType]:
    """Yield all code objects nested in `code`, in source order."""
    for inner in nested(code):
        yield inner
        yield from _below(inner)


def _block(node: ast.stmt) -> Statement:
    first = min([node.lineno] + [item.lineno for item in getattr(node, "decorator_list", ())])
    return Statement(first, node.end_lineno or node.lineno)


def _only(blocks: Iterable[Statement], head: int, end: int) -> Statement | None:
    """Return the block that contains the lines `head`..`end` (0-based, end exclusive).

    Return None if there is none, if another block shares these lines, or if the block cannot be compiled alone.
    """
    around = [block for block in blocks if block.first <= max(end, head + 1) and head < block.last + 1]
    if len(around) != 1 or not around[0].first - 1 <= head <= end <= around[0].last:
        return None
    return around[0] if around[0].header != "-" else None


def _placed(text: str, block: Statement) -> str:
    """Return `text` after blank lines and the header of `block`, so that it compiles with the same line numbers."""
    if not block.header:
        return "\n" * (block.first - 1) + text
    return "\n" * (block.first - 2) + block.header + "\n" + text


def common_ends(old: Sequence[object], new: Sequence[object]) -> tuple[int, int]:
    """Return the lengths of the common prefix and suffix of two sequences."""
    limit = min(len(old), len(new))
    head = 0
    while head < limit and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < limit - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return head, tail


def swaps(old: CodeType, new: CodeType, ran: Callable[[CodeType], bool]) -> Pairs:
    """Return pairs (old, new) of all functions whose code, including nested code, differs. Raises NotHotError.

    `ran(code)`: whether the code ran during import and collection. If it did, its effects cannot be undone, so a change
    of its instructions cannot be applied. A change of a function nested in it can be applied.
    """
    found: Pairs = []
    _walk(old, new, ran, found)
    return found


def _walk(old: CodeType, new: CodeType, ran: Callable[[CodeType], bool], found: Pairs) -> bool:
    """Add pairs of differing functions to `found`, innermost first; return whether there is any difference."""
    if _shallow(old) != _shallow(new):
        if old.co_flags & FUNCTION != FUNCTION:
            raise NotHotError(f"{old.co_name} ran while the project was imported")
        if ran(old):
            raise RanAtImportError(f"{old.co_name} ran while the project was imported")
        if _signature(old) != _signature(new):
            raise NotHotError(f"the signature or kind of {old.co_name} changes")
        if _docstring(old) != _docstring(new):
            raise NotHotError(f"the docstring of {old.co_name} changes")
        found.append((old, new))
        return True
    differs = False
    for inner_old, inner_new in zip(nested(old), nested(new), strict=False):
        differs = _walk(inner_old, inner_new, ran, found) or differs
    if differs and old.co_flags & FUNCTION == FUNCTION:
        found.append((old, new))
    return differs


def _signature(code: CodeType) -> tuple[Any, ...]:
    """Return the properties of a function that a decorator may have read, or that a closure requires."""
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)
    return (
        code.co_name,
        code.co_argcount,
        code.co_posonlyargcount,
        code.co_kwonlyargcount,
        code.co_varnames[:count],
        code.co_freevars,
        code.co_flags & SHAPE,
    )


def _docstring(code: CodeType) -> str | None:
    if not code.co_consts or not isinstance(code.co_consts[0], str):
        return None
    return code.co_consts[0] if code.co_flags & HAS_DOCSTRING or sys.version_info < (3, 13) else None


def same(one: CodeType, two: CodeType) -> bool:
    """Return whether two code objects are equal except for positions, including nested code."""
    if one is two:
        return True
    if _shallow(one) != _shallow(two):
        return False
    return all(same(left, right) for left, right in zip(nested(one), nested(two), strict=False))


def same_but_for_names(one: CodeType, two: CodeType) -> bool:
    """Return whether two functions are equal except for positions and the names of local variables.

    The instructions refer to local variables by number; names matter only if something reads them (see SEES_NAMES).
    """
    parameters = one.co_argcount + one.co_kwonlyargcount + bool(one.co_flags & 0x04) + bool(one.co_flags & 0x08)
    if one.co_varnames[:parameters] != two.co_varnames[:parameters] or SEES_NAMES & {*one.co_names, *two.co_names}:
        return False
    first, second = ((_numbered(code), _shallow(code)[5:]) for code in (one, two))
    inner = list(zip(nested(one), nested(two), strict=False))
    return first == second and all(same_but_for_names(left, right) for left, right in inner)


def _numbered(code: CodeType) -> tuple[Any, ...]:
    """Return the instructions, the numbers of variables, and the index of each cell variable among the local ones."""
    kinds = [code.co_varnames.index(name) if name in code.co_varnames else -1 for name in code.co_cellvars]
    return (code.co_code, code.co_names, len(code.co_varnames), len(code.co_freevars), kinds)


def nested(code: CodeType) -> list[CodeType]:
    """Return the code objects of the functions, classes and comprehensions directly in `code`."""
    return [const for const in code.co_consts if isinstance(const, CodeType)]


def _shallow(code: CodeType) -> tuple[Any, ...]:
    return (
        code.co_code,
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
        code.co_flags,
        code.co_argcount,
        code.co_posonlyargcount,
        code.co_kwonlyargcount,
        code.co_name,
        getattr(code, "co_qualname", ""),
        getattr(code, "co_exceptiontable", b""),
        tuple(_constant(const) for const in code.co_consts),
    )


def _constant(value: Any) -> Any:
    """Return a key that distinguishes 1 from True and 0.0 from -0.0; code objects are compared elsewhere."""
    if isinstance(value, CodeType):
        return CodeType
    if isinstance(value, tuple):
        return (tuple, tuple(_constant(item) for item in value))
    if isinstance(value, frozenset):
        return (frozenset, frozenset(_constant(item) for item in value))
    if isinstance(value, (float, complex)):
        return (type(value), repr(value))
    return (type(value), repr(value) if isinstance(value, slice) else value)
