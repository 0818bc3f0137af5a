"""Which statements are suspicious: who executes them, what speaks for them, and what ran when a module was imported."""

from __future__ import annotations

import ast
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from coderefine.core import Case, Coverage, Frame
from coderefine.proposers.search.spectrum import Spectrum, spectrum_of
from coderefine.proposers.search.suspiciousness_features import Evidence, odds
from coderefine.proposers.search.syntax import JUMPS, Function, Module, first_line, has_docstring, own_nodes
from coderefine.runner.reached_code import Steps

__all__ = ["Spectrum", "Suspects", "suspects", "test_sources"]
HEADER, BARE_HEADER = 0.8, 0.2
"""A definition's share of its most suspicious statement, with defaults or decorators; without."""
TRUST = 1.5
"""Exponent of the spectrum beside all other signs; taken off again at the end, so that suspicion keeps its scale."""
BRANCH = 0.5
"""A condition's share of the most suspicious statement that it lets through."""
FALLEN = 0.8
"""What a condition gets of statements that run because it did not hold and its block would have left: less of them."""
UNSEEN = 0.3
"""Base of a statement on a traceback that no coverage knows."""
LEAST = 0.02
REFUSED = re.compile(r"(\w+)\(\) (?:takes|missing|got)\b")
"""Whose signature does not go with a call, in the words of CPython."""
BOUND = re.compile(r"<bound method (?:\w+\.)*(\w+) of")
UNCALLED = re.compile(r"'(?:method|function)' object (?:has no|is not|cannot)|of type 'method'")
READ = re.compile(r"\.(\w+)\b(?!\s*\()")
"""An attribute that is read and not called."""


@dataclass(frozen=True, slots=True)
class Suspects:
    """Statements with their suspicion in 0..1, and what failing frames showed of each function's locals."""

    weights: Mapping[ast.stmt, float]
    seen: Mapping[ast.AST, Mapping[str, str]] = field(default_factory=dict)
    raised: frozenset[str] = frozenset()
    spectrum: Spectrum = field(default_factory=lambda: Spectrum({}, {}, 1))


def suspects(
    modules: Mapping[str, Module],
    coverage: Coverage,
    failing: Sequence[Case],
    sources: Mapping[str, str],
    *,
    tests: Mapping[str, Module] = MappingProxyType({}),
    steps: Steps = MappingProxyType({}),
) -> Suspects:
    """Rank the statements of `modules`. `sources`: test id -> text of the failing test function, where known.

    `tests`, the files of the failing tests, and `steps`, what ran for each of their lines, sharpen it.
    """
    spectrum = spectrum_of(modules, coverage, failing, tests, steps)
    evidence = Evidence(modules, failing, tests, sources, spectrum.ran)
    weights = {stmt: spectrum.purified(stmt) ** TRUST for stmt in spectrum.failing}
    _add_unseen(weights, evidence)
    _add_conditions(weights, modules)
    for stmt, value in odds(evidence, list(weights)).items():
        if stmt in weights:
            weights[stmt] *= math.exp(value)
    _add_headers(weights, modules)
    add_imported(weights, modules, evidence.said)
    _add_named(weights, modules, refusing(failing, sources))
    top = max(weights.values(), default=1.0)
    shares = {stmt: (weight / top) ** (1 / TRUST) for stmt, weight in weights.items()}
    kept = {stmt: share for stmt, share in shares.items() if share >= LEAST}
    return Suspects(kept, _locals(modules, _frames(evidence)), _raised(failing), spectrum)


def _add_unseen(weights: dict[ast.stmt, float], evidence: Evidence) -> None:
    for case in evidence.failing:
        for frame in evidence.ours(case):
            stmt = evidence.statement(frame)
            if stmt is not None:
                weights.setdefault(stmt, UNSEEN)


def _add_conditions(weights: dict[ast.stmt, float], modules: Mapping[str, Module]) -> None:
    """A branch that mostly failing tests take may have been taken wrongly."""
    was = dict(weights)
    for module in modules.values():
        for stmt in module.statements:
            if stmt in weights and isinstance(stmt, ast.If | ast.While):
                inner = (*stmt.body[:1], *stmt.orelse[:1])
                ways = [*(was.get(one, 0.0) for one in inner), FALLEN * _after(was, module, stmt)]
                weights[stmt] = max(weights[stmt], BRANCH * max(ways))


def _after(weights: Mapping[ast.stmt, float], module: Module, stmt: ast.If | ast.While) -> float:
    """The greatest weight of what runs because the block of `if ...: return` did not; 0 for other conditions."""
    if not isinstance(stmt, ast.If) or stmt.orelse or not isinstance(stmt.body[-1], JUMPS):
        return 0.0
    block = module.block(stmt)
    rest = block[block.index(stmt) + 1 :]
    guarded = [inner for other in rest if isinstance(other, ast.If) for inner in other.body[:1]]
    return max((weights.get(other, 0.0) for other in (*rest, *guarded)), default=0.0)


def _add_headers(weights: dict[ast.stmt, float], modules: Mapping[str, Module]) -> None:
    """Defaults and decorators run before any test does: a definition is as suspicious as what it holds, but less."""
    for module in modules.values():
        for node in module.statements:
            if isinstance(node, Function):
                inner = max((weights.get(stmt, 0.0) for stmt in _within(node)), default=0.0)
                given = node.decorator_list or node.args.defaults or any(node.args.kw_defaults)
                weight = (HEADER if given else BARE_HEADER) * inner
                if inner:
                    weights[node] = weight


def _within(function: Function) -> list[ast.stmt]:
    return [node for node in ast.walk(function) if isinstance(node, ast.stmt) and node is not function]


def _frames(evidence: Evidence) -> list[tuple[float, Frame]]:
    """Frames in the program with their weights, the innermost of each traceback first."""
    return [(0.5**depth, frame) for case in evidence.failing for depth, frame in enumerate(evidence.ours(case))]


def refusing(failing: Iterable[Case], sources: Mapping[str, str]) -> set[str]:
    """Functions that no line of ran, and that the failure is about.

    They refused a call ("f() takes 1 positional argument but 2 were given"), or were met as a method where their value
    was wanted: `<bound method Row.size of ...>`, or an attribute that the test reads and does not call.
    """
    names: set[str] = set()
    for case in failing:
        said = case.failure.words if case.failure else ""
        names.update(match[1] for pattern in (REFUSED, BOUND) for match in pattern.finditer(said))
        if UNCALLED.search(said):
            names.update(READ.findall(sources.get(case.id, "")))
    return names


def _add_named(weights: dict[ast.stmt, float], modules: Mapping[str, Module], names: set[str]) -> None:
    for module in modules.values():
        for function in module.statements:
            if isinstance(function, Function) and function.name in names:
                weights[function] = max(weights.values(), default=1.0)


def _locals(modules: Mapping[str, Module], frames: list[tuple[float, Frame]]) -> dict[ast.AST, dict[str, str]]:
    found: dict[ast.AST, dict[str, str]] = {}
    for _, frame in frames:
        stmt = modules[frame.path].by_line.get(frame.line)
        function = modules[frame.path].function(stmt) if stmt is not None else None
        if function is not None:
            found.setdefault(function, {}).update(frame.locals)
    return found


def _raised(failing: Iterable[Case]) -> frozenset[str]:
    """Names of the exceptions that tests ended with, and of those they waited for in vain."""
    found = set()
    for case in failing:
        if case.failure is not None:
            found.add(case.failure.exception.rsplit(".", 1)[-1])
            found.update(re.findall(r"\b([A-Z]\w*(?:Error|Exception))\b", case.failure.message))
    return frozenset(found - {"AssertionError", ""})


def test_sources(cases: Iterable[Case], read: Mapping[str, Module]) -> dict[str, str]:
    """Text of each failing test's function."""
    found = {}
    for case in cases:
        module = read.get(case.path)
        if module is None:
            continue
        name = case.id.rsplit("::", 1)[-1].split("[")[0]
        for stmt in module.statements:
            if isinstance(stmt, Function) and stmt.name == name:
                body = stmt.body[1:] if has_docstring(stmt) else stmt.body
                found[case.id] = module.text[module.line_start(first_line(body[0])) : module.end(stmt)] if body else ""
    return found


AT_IMPORT = 0.6
"""Share of the most suspicious reader that what binds or fills a name at import gets."""
FOR_THIS = 1.0
"""Share where it was bound or filled for the very input of a failing test: a text of it stands in the failure."""
CALLED = 0.4
"""Share for the other statements of a function that the module itself calls when it is imported."""


QUOTED = re.compile(r"'([^'\n]*)'|\"([^\"\n]*)\"")


def add_imported(weights: dict[ast.stmt, float], modules: Mapping[str, Module], said: Sequence[str]) -> None:
    """Statements at import that bind or change a name (or attribute) that a suspect reads: a share of its weight."""
    readers = _readers(weights, modules)
    words = frozenset(word for text in said for pair in QUOTED.findall(text) for word in pair if len(word) > 1)
    for module in modules.values():
        called = _called(module, words)
        for stmt in module.statements:
            function = module.function(stmt)
            share = AT_IMPORT if function is None else called.get(function, 0.0)
            _raise_to(weights, stmt, share * _read_most(readers, stmt, inside=function is not None))
        for function in called:
            _lift(weights, function)


def _read_most(readers: Mapping[str, float], stmt: ast.stmt, *, inside: bool) -> float:
    """The suspicion of the worst reader of what a statement makes."""
    return max((readers.get(name, 0.0) for name in _made(stmt, inside=inside)), default=0.0)


def _raise_to(weights: dict[ast.stmt, float], stmt: ast.stmt, weight: float) -> None:
    if weight > weights.get(stmt, 0.0):
        weights[stmt] = weight


def _lift(weights: dict[ast.stmt, float], function: Function) -> None:
    """What surrounds a suspicious statement of a function that ran at import."""
    inside = [node for node in ast.walk(function) if isinstance(node, ast.stmt) and node is not function]
    best = max((weights.get(stmt, 0.0) for stmt in inside), default=0.0)
    for stmt in inside:
        documents = stmt is function.body[0] and has_docstring(function)
        if not documents:
            _raise_to(weights, stmt, CALLED / AT_IMPORT * best)


def _called(module: Module, words: frozenset[str]) -> dict[Function, float]:
    """Functions that the module's own top-level code calls by their names, and the share of what they fill."""
    names: dict[str, float] = {}
    for node in _at_top(module):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            share = FOR_THIS if _texts(node) & words else AT_IMPORT
            names[node.func.id] = max(names.get(node.func.id, 0.0), share)
    return {stmt: names[stmt.name] for stmt in module.tree.body if isinstance(stmt, Function) and stmt.name in names}


def _at_top(module: Module) -> Iterator[ast.AST]:
    """Nodes of the statements that run at import, definitions left out."""
    for stmt in module.statements:
        if module.function(stmt) is None and not isinstance(stmt, Function | ast.ClassDef):
            yield from own_nodes(stmt)


def _texts(node: ast.Call) -> set[str]:
    return {arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)}


def _made(stmt: ast.stmt, *, inside: bool) -> Iterator[str]:
    """Names that a statement binds at import, and names whose value it changes; `inside` a function only these."""
    targets = stmt.targets if isinstance(stmt, ast.Assign) else [getattr(stmt, "target", None)]
    for target in targets if isinstance(stmt, ast.Assign | ast.AnnAssign | ast.AugAssign) else ():
        for node in ast.walk(target) if target is not None else ():
            if isinstance(node, ast.Name) and (not inside or isinstance(target, ast.Subscript | ast.Attribute)):
                yield node.id
    match stmt:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
            yield name


def _readers(weights: Mapping[ast.stmt, float], modules: Mapping[str, Module]) -> dict[str, float]:
    """Each name and attribute that the suspects read, with the suspicion of the worst of them."""
    readers: dict[str, float] = defaultdict(float)
    for module in modules.values():
        for stmt in module.statements:
            if stmt in weights:
                for name in _read(stmt):
                    readers[name] = max(readers[name], weights[stmt])
    return readers


def _read(stmt: ast.stmt) -> Iterator[str]:
    for node in own_nodes(stmt):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr


Span = tuple[int, int]
"""Character offsets in the file, end excluded."""


def running(modules: Mapping[str, Module], failing: Iterable[Case]) -> dict[ast.stmt, frozenset[Span]]:
    """Statements of the innermost frames in the program, and the expressions that were running there.

    Needs what Python 3.11 and later know of instructions (PEP 657); empty before.
    """
    found: dict[ast.stmt, set[Span]] = defaultdict(set)
    for case in failing:
        frames = [frame for frame in (case.failure.frames if case.failure else ()) if frame.path in modules]
        if not frames or len(frames[-1].span) != 4:
            continue
        module, (line, column, last, end) = modules[frames[-1].path], frames[-1].span
        stmt = module.by_line.get(frames[-1].line)
        if stmt is not None:
            found[stmt].add((module.offset(line, column), module.offset(last, end)))
    return {stmt: frozenset(spans) for stmt, spans in found.items()}
