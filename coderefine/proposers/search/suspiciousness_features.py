"""Features of statements that change their suspiciousness in addition to coverage, each with its weight (log odds)."""

from __future__ import annotations

import ast
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import chain
from typing import TypeGuard

from coderefine.core import Case, Frame, function_name
from coderefine.proposers.search.differences import compared
from coderefine.proposers.search.spectrum import names_in
from coderefine.proposers.search.syntax import JUMPS, Function, Module, own_nodes
from coderefine.proposers.search.value_kinds import is_none
from coderefine.runner.cold import is_hung
from coderefine.source import last_name

CASE = ("lower", "upper", "title", "capitalize", "casefold", "swapcase", "lowercase", "uppercase", "ignorecase")
BLANKS = (
    "strip",
    "lstrip",
    "rstrip",
    "ljust",
    "rjust",
    "center",
    "expandtabs",
    "split",
    "join",
    "zfill",
    "dedent",
    "indent",
)
ORDER = ("sorted", "sort", "reverse", "reversed", "min", "max", "key", "insert", "append", "appendleft", "extendleft")


def differing(messages: Iterable[str]) -> frozenset[str]:
    """Return the names of operations that may have caused the differences that `messages` (of failures) show."""
    found: set[str] = set()
    for text in messages:
        pair = compared(text)
        if pair is not None:
            found.update(_names(*pair))
    return frozenset(found)


def _names(one: object, two: object) -> tuple[str, ...]:
    if isinstance(one, str) and isinstance(two, str) and one != two:
        return _texts(one, two)
    if isinstance(one, list | tuple) and isinstance(two, list | tuple) and one != two:
        return ORDER if sorted(map(repr, one)) == sorted(map(repr, two)) else ()
    return ()


def _texts(one: str, two: str) -> tuple[str, ...]:
    if one.lower() == two.lower():
        return CASE
    if re.sub(r"\s", "", one) == re.sub(r"\s", "", two):
        return BLANKS
    return ORDER if sorted(one) == sorted(two) else ()


FRAME = 0.7
"""Weight of the statement that raised."""
LOOKED_UP = 1.0
"""Additional weight of the statement that raised if it contains the name that was not found."""
NOT_FOUND = re.compile(r"(?:(?<!NoneType' object) has no attribute|\bname) '(\w+)'")
OUTER = 0.3
"""Factor for each further caller in the traceback."""
GUARD = 0.3
"""Weight of the conditions around a `raise` that ran. The `raise` itself gets no weight: it shows the fault, but does
not cause it."""
MADE = 0.4
"""Weight of statements of the same function that bind the values which a raising statement reads."""
STORED = 0.5
"""Weight of the statements that store an attribute which the statement that raised reads, shared among them."""
UNREACHED, FEW_UNREACHED = 0.7, 3
"""Share of the highest suspicion for conditions that prevented an expected exception or warning; less if more than
FEW_UNREACHED statements could have raised it."""
NOT_RAISED = re.compile(r"DID NOT RAISE (.*)")
NAMED = 0.15
"""Weight of functions named in the failing line of the test or in the failure message."""
MEANT = 0.05
"""Weight of functions named in the name of a failing test, or elsewhere in the test's text."""
NONE = 0.8
"""Weight of statements with None if a failure message contains None."""
TEXT = 0.3
"""Weight of statements with a string that is in the failure message."""
KIND = 0.7
"""Weight of statements with an operation that explains the difference to the expected value (case, blanks, order)."""
JUMP = 0.7
"""Weight of `while` loops, jumps, and statements that affect the conditions of the loops, in the function that
hangs."""
ONE_WAY, NEVER, MANY = 0.3, 0.6, 4
"""Weights of conditions with the same result in all traced tests, and of loops that no traced test entered.

They apply only if at least MANY tests execute the statement.
"""
SHOWN = -1.2
"""Weight of code that only displays values (`__repr__`): pytest calls it because a test failed."""
EXCEPTIONAL = -1.0
"""Weight of the code of exception classes: it runs because of a failure, and seldom causes it."""
SIZE = 0.005
"""Weight for each doubling of a statement's size; it only breaks ties."""
PLACES = (
    ast.Constant, ast.BinOp, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.Call, ast.Subscript, ast.Attribute,
    ast.IfExp, ast.comprehension, ast.Slice, ast.keyword,
)  # fmt: skip
"""Kinds of nodes that are counted as the size of a statement."""
MOST_PLACES = 15
"""Maximum size of a statement that makes a difference."""

Odds = dict[ast.stmt, float]


@dataclass(frozen=True, slots=True)
class FeatureInput:
    """Input of the features: modules of the program, failing tests, and the test modules by path.

    `sources`: the text of each failing test function by test id.
    """

    modules: Mapping[str, Module]
    failing: Sequence[Case]
    tests: Mapping[str, Module]
    sources: Mapping[str, str]
    ran: Mapping[ast.stmt, int] = field(default_factory=dict)
    """Number of tests that execute each statement."""

    def statement(self, frame: Frame) -> ast.stmt | None:
        module = self.modules.get(frame.path)
        return module.by_line.get(frame.line) if module else None

    @property
    def messages(self) -> tuple[str, ...]:
        """Return the texts of the failures."""
        return tuple(case.failure.words for case in self.failing if case.failure)

    def ours(self, case: Case) -> list[Frame]:
        """Return the frames of the program in a traceback, innermost first."""
        frames = case.failure.frames if case.failure else ()
        return [frame for frame in reversed(frames) if frame.path in self.modules]


def odds(evidence: FeatureInput, stmts: Iterable[ast.stmt]) -> Odds:
    """Return, for each statement, the sum of the weights of its features.

    If a feature gives several weights to a statement, only the largest of these counts.
    """
    found: Odds = defaultdict(float)
    for sign in (frames, makers, named, _by_statement(evidence), showing, exceptional, one_way, hanging):
        for stmt, value in _strongest(sign(evidence, stmts)).items():
            found[stmt] += value
    return found


Weighted = Iterator[tuple[ast.stmt, float]]


def _strongest(weights: Weighted) -> Odds:
    best: Odds = {}
    for stmt, value in weights:
        if abs(value) > abs(best.get(stmt, 0.0)):
            best[stmt] = value
    return best


def frames(evidence: FeatureInput, _: Iterable[ast.stmt]) -> Weighted:
    """Yield weights of the program's statements in tracebacks.

    If the innermost one is a `raise` or `assert`, the conditions around it get weights instead.
    """
    for case in evidence.failing:
        for depth, frame in enumerate(evidence.ours(case)):
            stmt = evidence.statement(frame)
            if stmt is None:
                continue
            if depth == 0 and isinstance(stmt, ast.Raise | ast.Assert):
                yield from _guards(evidence.modules[frame.path], stmt)
            else:
                yield stmt, FRAME * OUTER**depth + LOOKED_UP * (depth == 0 and _looks_up(stmt, case))


def _looks_up(stmt: ast.stmt, case: Case) -> bool:
    """Return whether `stmt` contains the name or attribute that does not exist, according to the message of `case`."""
    found = NOT_FOUND.search(case.failure.message if case.failure else "")
    return found is not None and any(last_name(node) == found[1] for node in own_nodes(stmt))


def _guards(module: Module, stmt: ast.stmt) -> Weighted:
    weight = GUARD
    for up in module.ancestors(stmt):
        if isinstance(up, Function):
            return
        if isinstance(up, ast.If | ast.While | ast.For | ast.Try):
            yield up, weight
            weight /= 2


def makers(evidence: FeatureInput, stmts: Iterable[ast.stmt]) -> Weighted:
    """Yield weights of statements that bind or store what the raising statement, or a condition around it, reads."""
    known = set(stmts)
    for case in evidence.failing:
        for frame in evidence.ours(case)[:1]:
            stmt, module = evidence.statement(frame), evidence.modules[frame.path]
            if stmt is not None:
                guards = [up for up, _ in _guards(module, stmt)] if isinstance(stmt, ast.Raise | ast.Assert) else []
                yield from _binding(module, [stmt, *guards], known, MADE)
                yield from _storing([stmt, *guards], known)


def _storing(readers: Sequence[ast.stmt], known: AbstractSet[ast.stmt]) -> Weighted:
    """Yield weights of the statements, in any function, that store an attribute which one of `readers` reads."""
    read = {node.attr for stmt in readers for node in own_nodes(stmt) if _is_attribute(node, ast.Load)}
    stores = [
        stmt
        for stmt in known - set(readers)
        if any(_is_attribute(node, ast.Store) and last_name(node) in read for node in own_nodes(stmt))
    ]
    yield from ((stmt, STORED / len(stores)) for stmt in stores)


def _is_attribute(node: ast.AST, context: type[ast.expr_context]) -> TypeGuard[ast.Attribute]:
    return isinstance(node, ast.Attribute) and isinstance(node.ctx, context)


def _binding(module: Module, readers: list[ast.stmt], known: set[ast.stmt], weight: float) -> Weighted:
    function = module.function(readers[0])
    read = {name for stmt in readers for name, stored in names_in(stmt) if not stored}
    if function is not None:
        above = (stmt for stmt in known - set(readers) if stmt.lineno <= readers[0].lineno)
        yield from ((stmt, weight) for stmt in above if module.function(stmt) is function and _binds(stmt, read))


def _binds(stmt: ast.stmt, names: set[str]) -> bool:
    return any(stored and name in names for name, stored in names_in(stmt))


def unreached(evidence: FeatureInput, executed: AbstractSet[ast.stmt]) -> Odds:
    """Return weights of executed conditions that prevented an expected exception or warning.

    Statements that bind what these conditions read get weights, too. The weights are shares (0..1) of the highest
    suspicion: many passing tests execute such conditions, so that the spectrum says nothing about them.
    """
    found = [
        (module, deciding)
        for module, stmt in _missing(evidence, executed)
        if (deciding := [*_around(module, stmt, executed), *_jumps(module, stmt, executed)])
    ]
    share = UNREACHED * min(1.0, FEW_UNREACHED / max(1, len(found)))
    made = (_binding(module, deciding, set(executed), share * UNREACHED) for module, deciding in found)
    return _strongest(chain(((stmt, share) for _, deciding in found for stmt in deciding), *made))


def _missing(evidence: FeatureInput, executed: AbstractSet[ast.stmt]) -> Iterator[tuple[Module, ast.stmt]]:
    """Yield the statements that would raise an expected exception or warning, but did not run."""
    text = "\n".join(evidence.messages)
    missed = (one for part in NOT_RAISED.findall(text) for one in re.findall(r"\w+(?='>|$)", part))
    exceptions, warns = set(missed), "DID NOT WARN" in text
    for module in evidence.modules.values() if exceptions or warns else ():
        for stmt in module.statements:
            if stmt not in executed and _is_awaited(stmt, exceptions, warns=warns):
                yield module, stmt


def _is_awaited(stmt: ast.stmt, exceptions: set[str], *, warns: bool) -> bool:
    if isinstance(stmt, ast.Raise):
        return last_name(stmt.exc.func if isinstance(stmt.exc, ast.Call) else stmt.exc) in exceptions
    calls = (node for node in own_nodes(stmt) if isinstance(node, ast.Call)) if warns else ()
    return any("warn" in last_name(call.func) for call in calls)


def _around(module: Module, stmt: ast.stmt, executed: AbstractSet[ast.stmt]) -> list[ast.stmt]:
    """Return the executed conditions and loops around `stmt`."""
    return [up for up in module.ancestors(stmt) if isinstance(up, ast.If | ast.While | ast.For) and up in executed]


def _jumps(module: Module, stmt: ast.stmt, executed: AbstractSet[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the `if` statements before `stmt` whose block was executed and ends with a jump."""
    inside = (up for up in ast.walk(module.function(stmt) or stmt) if isinstance(up, ast.If))
    before = (up for up in inside if up.lineno < stmt.lineno and {up, up.body[0]} <= executed)
    return (up for up in before if isinstance(up.body[-1], JUMPS))


def named(evidence: FeatureInput, stmts: Iterable[ast.stmt]) -> Weighted:
    """Yield weights of statements in functions whose name occurs in a failing line, message, or test (name or text)."""
    words, texts = set(_words(evidence)), set(re.findall(r"\w+", " ".join(evidence.sources.values())))
    names = [function_name(case.id).lower() for case in evidence.failing]
    for module in evidence.modules.values():
        for stmt in stmts:
            function = stmt if isinstance(stmt, Function) else module.function(stmt) if stmt in module.parents else None
            if function is None:
                continue
            if function.name in words:
                yield stmt, NAMED
            elif function.name in texts or _in_a_name(function.name, names):
                yield stmt, MEANT


def _in_a_name(function: str, names: list[str]) -> bool:
    return len(function) > 3 and any(function.lower().strip("_") in name for name in names)


def _words(evidence: FeatureInput) -> Iterator[str]:
    for case in evidence.failing:
        if case.failure is None:
            continue
        yield from re.findall(r"\w+", case.failure.words)
        module = evidence.tests.get(case.path)
        for frame in case.failure.frames:
            stmt = module.by_line.get(frame.line) if module and frame.path == case.path else None
            yield from filter(None, map(last_name, own_nodes(stmt) if stmt else ()))


def _by_statement(evidence: FeatureInput) -> Callable[[FeatureInput, Iterable[ast.stmt]], Weighted]:
    messages = evidence.messages
    none = sum("None" in text for text in messages) / max(len(messages), 1)
    whole = "\n".join(messages)
    kinds = differing(messages)

    def yield_weights(_: FeatureInput, stmts: Iterable[ast.stmt]) -> Weighted:
        for stmt in stmts:
            places = sum(
                isinstance(node, PLACES) or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))
                for node in own_nodes(stmt)
            )
            value = SIZE * math.log2(1 + min(MOST_PLACES, places))
            value += NONE * none * any(_writes_none(node) for node in own_nodes(stmt))
            value += TEXT * any(_occurs_in(node, whole) for node in own_nodes(stmt))
            value += KIND * any(last_name(node) in kinds for node in own_nodes(stmt))
            yield stmt, value

    return yield_weights


def showing(evidence: FeatureInput, stmts: Iterable[ast.stmt]) -> Weighted:
    """Yield negative weights of `__repr__` methods, which pytest calls to show values, unless tests mention `repr`."""
    if re.search(r"repr\b|!r|%r", " ".join(evidence.sources.values())):
        return
    for stmt, function, _ in _in_functions(evidence, stmts):
        if function.name == "__repr__":
            yield stmt, SHOWN


def exceptional(evidence: FeatureInput, stmts: Iterable[ast.stmt]) -> Weighted:
    """Yield negative weights of code in exception classes, unless the tests mention the class."""
    texts = " ".join(evidence.sources.values())
    for stmt, function, module in _in_functions(evidence, stmts):
        owner = module.owner(function)
        if owner is not None and owner.name.endswith(("Error", "Exception")) and owner.name not in texts:
            yield stmt, EXCEPTIONAL


def _in_functions(evidence: FeatureInput, stmts: Iterable[ast.stmt]) -> Iterator[tuple[ast.stmt, Function, Module]]:
    """Yield those of `stmts` that are in a function, with the function and its module."""
    for module in evidence.modules.values():
        for stmt in stmts:
            function = module.function(stmt) if stmt in module.parents else None
            if function is not None:
                yield stmt, function, module


def one_way(evidence: FeatureInput, stmts: Iterable[ast.stmt]) -> Weighted:
    """Yield weights of conditions that always had the same result, and of loops that were never entered.

    Good test suites cover both results, and enter each loop. Conditions of a `raise` are left out.
    """
    for stmt in stmts:
        if evidence.ran.get(stmt, 0) < MANY:
            continue
        if isinstance(stmt, ast.If) and not isinstance(stmt.body[0], ast.Raise):
            taken = [block[0] in evidence.ran for block in (stmt.body, stmt.orelse) if block]
            if not all(taken):
                yield stmt, ONE_WAY
        elif isinstance(stmt, ast.While | ast.For | ast.AsyncFor) and stmt.body[0] not in evidence.ran:
            yield stmt, NEVER


def _writes_none(node: ast.AST) -> bool:
    match node:
        case ast.Return(value=value) | ast.Assign(value=value):
            return value is None or is_none(value)
        case ast.Call(args=args, keywords=keywords):
            return any(is_none(value) for value in (*args, *(keyword.value for keyword in keywords)))
        case ast.arguments(defaults=defaults):
            return any(is_none(value) for value in defaults)
    return False


def _occurs_in(node: ast.AST, messages: str) -> bool:
    text = node.value if isinstance(node, ast.Constant) else None
    return isinstance(text, str) and len(text) > 2 and text in messages


def hanging(evidence: FeatureInput, stmts: Iterable[ast.stmt]) -> Weighted:
    """Yield weights of statements in the function where a test hangs.

    These are `while` loops, jumps, and the statements that bind what the conditions of the loops read.
    """
    known = set(stmts)
    for case in evidence.failing:
        if not is_hung(case):
            continue
        for frame in evidence.ours(case)[:1]:
            stmt, module = evidence.statement(frame), evidence.modules[frame.path]
            function = module.function(stmt) if stmt else None
            for node in ast.walk(function) if function else ():
                if isinstance(node, ast.While | ast.Break | ast.Continue | ast.Return):
                    yield node, JUMP
                if isinstance(node, ast.While):
                    yield from _binding(module, [node], known, JUMP)
