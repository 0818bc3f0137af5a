"""Fault localisation: rank statements by coverage and other features, also statements that run at import."""

from __future__ import annotations

import ast
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from coderefine.core import Case, Coverage, Frame, Steps, function_name
from coderefine.proposers.search.past import qualified_name
from coderefine.proposers.search.spectrum import Spectrum, spectrum_of
from coderefine.proposers.search.suspiciousness_features import FeatureInput, odds, unreached
from coderefine.proposers.search.syntax import JUMPS, Function, Module, entries, has_docstring, own_nodes, strings
from coderefine.proposers.search.value_kinds import names_of
from coderefine.source import first_line

HEADER, BARE_HEADER = 0.8, 0.2
"""Share of the weight of a function's most suspicious statement that the function's header gets: HEADER if it has
defaults or decorators, else BARE_HEADER."""
TRUST = 1.5
"""Exponent of the coverage score before it is multiplied by the other features. At the end, the root of the product is
taken, so that suspicions keep the scale of the coverage score."""
BRANCH = 0.5
"""Share that an `if` or `while` gets of the weight of a statement to which it leads, see `_add_conditions`."""
FALLEN = 0.8
"""Additional factor for statements after an `if` whose block ends with a jump: they run because the condition was
false."""
UNSEEN = 0.3
"""Base weight of a statement that is in a traceback but not in the coverage."""
LEAST = 0.02
"""Minimum suspicion of a statement."""
REFUSED = re.compile(r"([\w.<>]+)\(\) (?:takes|missing|got)\b")
"""CPython's messages for a call that does not match the signature; the group is the function's qualified name."""
BOUND = re.compile(r"<bound method ([\w.<>]+) of")
UNCALLED = re.compile(r"'(?:method|function)' object (?:has no|is not|cannot)|of type 'method'")
READ = re.compile(r"\.(\w+)\b(?!\s*\()")
"""An attribute that is read and not called."""


@dataclass(frozen=True, slots=True)
class Suspects:
    """Suspicious statements. `weights`: their suspicion, 0..1.

    `seen`: by function, the reprs of its local variables in tracebacks. `raised`: names of exceptions that tests raised
    or that failure messages mention.
    """

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
    constants: Mapping[str, Module] = MappingProxyType({}),
) -> Suspects:
    """Rank the statements of `modules`.

    `sources`: the text of each failing test function by test id, if known. `tests`: the files of the failing tests;
    `steps`: for each line of these tests, the project's lines that it executed; both improve the precision.
    `constants`: further modules, imported by `modules`, in which no function ran; only statements that bind or change a
    name are ranked there.
    """
    spectrum = spectrum_of(modules, coverage, failing, tests, steps)
    evidence = FeatureInput(modules, failing, tests, sources, spectrum.ran)
    weights = {stmt: spectrum.purified(stmt) ** TRUST for stmt in spectrum.failing}
    _add_unseen(weights, evidence)
    _add_conditions(weights, modules)
    for stmt, value in odds(evidence, list(weights)).items():
        if stmt in weights:
            weights[stmt] *= math.exp(value)
    top = max(weights.values(), default=1.0)
    for stmt, share in unreached(evidence, spectrum.failing.keys()).items():
        _raise_to(weights, stmt, share**TRUST * top)
    _add_headers(weights, modules)
    add_imported(weights, {**modules, **constants}, evidence.messages)
    _add_named(weights, modules, refusing(failing, sources))
    top = max(weights.values(), default=1.0)
    shares = {stmt: (weight / top) ** (1 / TRUST) for stmt, weight in weights.items()}
    kept = {stmt: share for stmt, share in shares.items() if share >= LEAST}
    frames = [frame for case in failing for frame in evidence.ours(case)]
    return Suspects(kept, _locals(modules, frames), _raised(failing), spectrum)


def _add_unseen(weights: dict[ast.stmt, float], evidence: FeatureInput) -> None:
    for case in evidence.failing:
        for frame in evidence.ours(case):
            stmt = evidence.statement(frame)
            if stmt is not None:
                weights.setdefault(stmt, UNSEEN)


def _add_conditions(weights: dict[ast.stmt, float], modules: Mapping[str, Module]) -> None:
    """Raise the weight of each `if` and `while` to the share BRANCH of the largest weight to which it leads.

    It leads to the first statements of its branches. If its block ends with a jump, it also leads to the statements
    after it, see `_after`.
    """
    was = dict(weights)
    for module in modules.values():
        for stmt in module.statements:
            if stmt in weights and isinstance(stmt, ast.If | ast.While):
                inner = (*stmt.body[:1], *stmt.orelse[:1])
                ways = [*(was.get(one, 0.0) for one in inner), FALLEN * _after(was, module, stmt)]
                weights[stmt] = max(weights[stmt], BRANCH * max(ways))


def _after(weights: Mapping[ast.stmt, float], module: Module, stmt: ast.If | ast.While) -> float:
    """Return the maximum weight of the statements after `stmt`, an `if` without `else` whose block ends with a jump.

    If one of these is an `if`, its first inner statement counts, too. Return 0 if `stmt` is another statement.
    """
    if not isinstance(stmt, ast.If) or stmt.orelse or not isinstance(stmt.body[-1], JUMPS):
        return 0.0
    block = module.block(stmt)
    rest = block[block.index(stmt) + 1 :]
    guarded = [inner for other in rest if isinstance(other, ast.If) for inner in other.body[:1]]
    return max((weights.get(other, 0.0) for other in (*rest, *guarded)), default=0.0)


def _add_headers(weights: dict[ast.stmt, float], modules: Mapping[str, Module]) -> None:
    """Give function headers, whose defaults and decorators run at import, a share of the weight of their bodies."""
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


def refusing(failing: Iterable[Case], sources: Mapping[str, str]) -> set[str]:
    """Return the names of functions that failures mention, although probably no line of these functions ran.

    The name of a method is qualified by its class, if the message names the class.

    Either a call did not match the signature ("f() takes 1 positional argument but 2 were given"), or the test used a
    method without calling it: `<bound method Row.size of ...>`, or an attribute that the test reads and does not call.
    """
    names: set[str] = set()
    for case in failing:
        messages = case.failure.words if case.failure else ""
        found = (match[1] for pattern in (REFUSED, BOUND) for match in pattern.finditer(messages))
        names.update(".".join(name.rpartition("<locals>.")[2].split(".")[-2:]) for name in found)
        if UNCALLED.search(messages):
            names.update(READ.findall(sources.get(case.id, "")))
    return names


def _add_named(weights: dict[ast.stmt, float], modules: Mapping[str, Module], names: set[str]) -> None:
    for module in modules.values():
        for function in module.statements:
            if isinstance(function, Function) and not names.isdisjoint(
                {function.name, module.qualified_name(function)}
            ):
                weights[function] = max(weights.values(), default=1.0)


def _locals(modules: Mapping[str, Module], frames: list[Frame]) -> dict[ast.AST, dict[str, str]]:
    found: dict[ast.AST, dict[str, str]] = {}
    for frame in frames:
        stmt = modules[frame.path].by_line.get(frame.line)
        function = modules[frame.path].function(stmt) if stmt is not None else None
        if function is not None:
            found.setdefault(function, {}).update(frame.locals)
    return found


def _raised(failing: Iterable[Case]) -> frozenset[str]:
    """Return the names of exceptions, except AssertionError, that tests raised or that failure messages mention."""
    found = set()
    for case in failing:
        if case.failure is not None:
            found.add(case.failure.exception.rsplit(".", 1)[-1])
            found.update(re.findall(r"\b([A-Z]\w*(?:Error|Exception))\b", case.failure.message))
    return frozenset(found - {"AssertionError", ""})


def test_sources(cases: Iterable[Case], read: Mapping[str, Module]) -> dict[str, str]:
    """Return, by test id, the body of each failing test's function, without its docstring."""
    found = {}
    for case in cases:
        module = read.get(case.path)
        if module is None:
            continue
        for stmt in _functions(module, case):
            body = stmt.body[1:] if has_docstring(stmt) else stmt.body
            found[case.id] = module.text[module.line_start(first_line(body[0])) : module.end(stmt)] if body else ""
    return found


def _functions(module: Module, case: Case) -> list[Function]:
    """Return the functions of a test: those of its class, else those of its name, because a base class may have it."""
    same = [one for one in module.statements if isinstance(one, Function) and one.name == function_name(case.id)]
    return [one for one in same if module.qualified_name(one) == qualified_name(case.id)] or same


AT_IMPORT = 0.6
"""Weight of a statement that runs at import and binds or changes a name, relative to the most suspicious statement that
reads the name."""
FOR_THIS = 1.0
"""Replaces AT_IMPORT for the statements of a function that is called at import with a string which a failure message
quotes."""
CALLED = 0.4
"""CALLED / AT_IMPORT is the least weight of each statement of a function that is called at import, relative to the most
suspicious statement of the function."""


QUOTED = re.compile(r"'([^'\n]*)'|\"([^\"\n]*)\"")


def add_imported(weights: dict[ast.stmt, float], modules: Mapping[str, Module], messages: Sequence[str]) -> None:
    """Raise the weights of statements that run at import and bind or change a name that a suspicious statement reads.

    Also raise the weights of all statements of functions that are called at import, and of top-level statements with a
    table that has an entry for a string which a failure message quotes: the table may be read only at import.
    """
    readers, top = _readers(weights, modules), max(weights.values(), default=1.0)
    words = _quoted(messages)
    for module in modules.values():
        called = _called(module, words)
        for stmt in module.statements:
            function = module.function(stmt)
            share = AT_IMPORT if function is None else called.get(function, 0.0)
            most = max((readers.get(name, 0.0) for name in _made(stmt, inside=function is not None)), default=0.0)
            _raise_to(weights, stmt, share * (top if function is None and _lists(stmt, words) else most))
        for function in called:
            _lift(weights, function)


def _quoted(messages: Sequence[str]) -> frozenset[str]:
    return frozenset(word for text in messages for pair in QUOTED.findall(text) for word in pair if len(word) > 1)


def _lists(stmt: ast.stmt, words: frozenset[str]) -> bool:
    """Return whether the statement has a table of which some, but not all, entries belong to one of `words`."""
    if not words:
        return False
    tables = ([not strings(key).isdisjoint(words) for key, _ in entries(node)] for node in own_nodes(stmt))
    return any(any(belongs) and not all(belongs) for belongs in tables)


def _raise_to(weights: dict[ast.stmt, float], stmt: ast.stmt, weight: float) -> None:
    if weight > weights.get(stmt, 0.0):
        weights[stmt] = weight


def _lift(weights: dict[ast.stmt, float], function: Function) -> None:
    """Raise the weights of the statements of a function that was called at import, except its docstring, see CALLED."""
    inside = _within(function)
    best = max((weights.get(stmt, 0.0) for stmt in inside), default=0.0)
    for stmt in inside:
        documents = stmt is function.body[0] and has_docstring(function)
        if not documents:
            _raise_to(weights, stmt, CALLED / AT_IMPORT * best)


def _called(module: Module, words: frozenset[str]) -> dict[Function, float]:
    """Return the functions that top-level code of the module calls by name, each with AT_IMPORT or FOR_THIS.

    `words`: strings that failure messages quote.
    """
    names: dict[str, float] = {}
    for node in _at_top(module):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            share = FOR_THIS if _texts(node) & words else AT_IMPORT
            names[node.func.id] = max(names.get(node.func.id, 0.0), share)
    return {stmt: names[stmt.name] for stmt in module.tree.body if isinstance(stmt, Function) and stmt.name in names}


def _at_top(module: Module) -> Iterator[ast.AST]:
    """Yield the nodes of statements that run at import, without definitions."""
    for stmt in module.statements:
        if module.function(stmt) is None and not isinstance(stmt, Function | ast.ClassDef):
            yield from own_nodes(stmt)


def _texts(node: ast.Call) -> set[str]:
    return {arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)}


def _made(stmt: ast.stmt, *, inside: bool) -> Iterator[str]:
    """Yield the names that a statement binds, and names whose value it may mutate.

    `inside`: whether the statement is in a function; then the names that it binds are local, and left out.
    """
    targets: list[ast.expr] = []
    match stmt:
        case ast.Assign():
            targets = stmt.targets
        case ast.AugAssign(target=bound) | ast.AnnAssign(target=bound, value=ast.expr()):
            targets = [bound]
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
            yield name
    for target in targets:
        if not inside or isinstance(target, ast.Subscript | ast.Attribute):
            yield from names_of(target)


def _readers(weights: Mapping[ast.stmt, float], modules: Mapping[str, Module]) -> dict[str, float]:
    """Return the names and attributes that suspicious statements read, with the maximum weight of their readers."""
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


def inside_functions(modules: Mapping[str, Module], imported: Coverage, failing: Iterable[Case]) -> Coverage:
    """Return those lines of `imported` that are in functions or in tracebacks.

    The other statements run whenever their module is imported, so that their execution is no evidence against them.
    """
    raising = {(frame.path, frame.line) for case in failing if case.failure for frame in case.failure.frames}
    return {
        name: {
            path: frozenset(line for line in lines if (path, line) in raising or _in_function(modules[path], line))
            for path, lines in by_path.items()
            if path in modules
        }
        for name, by_path in imported.items()
    }


def _in_function(module: Module, line: int) -> bool:
    stmt = module.by_line.get(line)
    return stmt is not None and module.function(stmt) is not None


Span = tuple[int, int]
"""Start and end offset in characters, end exclusive."""


def running(modules: Mapping[str, Module], failing: Iterable[Case]) -> dict[ast.stmt, frozenset[Span]]:
    """Return the statements of the innermost frames in the program, with the spans of the expressions that raised.

    Return {} before Python 3.11, which introduced such spans (PEP 657).
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
