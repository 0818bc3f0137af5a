"""A function as a separate text, with its syntax tree (to analyse it) and its LibCST tree (to edit it)."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import libcst as cst

from coderefine.proposers.refactorings.declared import BUILTINS, NOTHING, Declared
from coderefine.proposers.refactorings.flow import Flow, Place, own_nodes, start_of
from coderefine.proposers.refactorings.measures import COMPLEXITY, LEAST, Limits, excess, size
from coderefine.source import Function

Loop = ast.For | ast.AsyncFor | ast.While


@dataclass(frozen=True, slots=True)
class Suite:
    """Consecutive statements with the same indentation.

    `block`: LibCST's node for the suite. `places`: the position of each statement in `block`; None if it shares its
    line with another. `tail`: whether the function returns None where the suite ends. `looped`: whether the suite is in
    a loop. `loop_tail`: whether the innermost loop continues where the suite ends. `parents`: the function and the
    statements around the suite, outermost first; `branch`: the field of the last of `parents` that contains the suite
    (`body`, `orelse` …).
    """

    statements: Sequence[ast.stmt]
    block: cst.IndentedBlock
    places: Sequence[int | None]
    tail: bool
    looped: bool
    loop_tail: bool
    parents: tuple[ast.AST, ...]
    branch: str

    def replaced(self, body: Sequence[cst.BaseStatement]) -> tuple[cst.CSTNode, cst.CSTNode]:
        """Return the node to replace so that the suite has this `body`, and the new node."""
        return self.block, self.block.with_changes(body=body)

    def cut(self, start: int, stop: int) -> tuple[int, int] | None:
        """Return the range (first, end) in `block` of the statements from `start` to before `stop`; `end` is excluded.

        Return None if one of the statements shares a line with another one.
        """
        every = [*self.places, len(self.block.body)]
        first, last = every[start], every[stop]
        if first is None or last is None or None in every[start:stop]:
            return None
        return first, last


@dataclass(frozen=True)
class Unit:
    """One function, written without indentation.

    `receiver`: the name of its first parameter if it is a method or class method; `decorator`: `classmethod` or "";
    `owner`: the name of its class. `taken`: names that a new function must not have. `indent`: one level of
    indentation; `width`: the maximum line length. `documented`: whether a new function gets a docstring. `declared`:
    the annotations of its module. `far`: whether its class begins far above the function, so that a new function
    without need for an object becomes a static method. `rebound`: see `blocks.rebound`.
    """

    text: str
    receiver: str = ""
    decorator: str = ""
    owner: str = ""
    taken: frozenset[str] = frozenset()
    indent: str = "    "
    width: int = 79
    documented: bool = False
    declared: Declared = NOTHING
    far: bool = False
    rebound: frozenset[str] = frozenset()

    @cached_property
    def module(self) -> cst.Module:
        return cst.parse_module(self.text)

    @cached_property
    def function(self) -> Function:
        node = ast.parse(self.text).body[0]
        assert isinstance(node, Function), "a unit is a function"
        return node

    @cached_property
    def definition(self) -> cst.FunctionDef:
        node = self.module.body[0]
        assert isinstance(node, cst.FunctionDef), "a unit is a function"
        return node

    @cached_property
    def flow(self) -> Flow:
        return Flow(self.function)

    @property
    def room(self) -> int:
        """Return the maximum length of a line of `text`, which will be indented once more in a class."""
        return self.width - (len(self.indent) if self.owner else 0)

    @property
    def complexity(self) -> int:
        return self.size(COMPLEXITY)

    def size(self, rule: str) -> int:
        """Return the number that `rule` limits."""
        return LEAST.get(rule, 0) + size(self.function.body, rule)

    def excess(self, limits: Limits) -> float:
        """Return by how much the function exceeds `limits` (see `measures.excess`)."""
        return excess({rule: self.size(rule) for rule in limits}, limits)

    @cached_property
    def suites(self) -> tuple[Suite, ...]:
        """Return every list of statements of the function, outer before inner; not those of nested functions."""
        start = _Position(tail=True, looped=False, loop_tail=False, parents=(self.function,))
        return tuple(_suites(self.function.body, self.definition.body, "body", start))

    @cached_property
    def rows(self) -> Sequence[str]:
        return self.text.split("\n")

    @cached_property
    def nodes(self) -> Sequence[ast.AST]:
        """Return the nodes of the function's body; see `flow.own_nodes`."""
        return tuple(own_nodes(self.function.body))

    @cached_property
    def places(self) -> Mapping[str, Place]:
        """Return the first place (line, column) of each name in the parameters and the body."""
        every = [*ast.walk(self.function.args), *self.nodes]
        found = {node.arg: start_of(node) for node in every if isinstance(node, ast.arg)}
        for node in every:
            if isinstance(node, ast.Name):
                found[node.id] = min(found.get(node.id, start_of(node)), start_of(node))
        return found

    @cached_property
    def globals(self) -> frozenset[str]:
        """Return the names in `global` statements of the function."""
        return frozenset(name for node in self.nodes if isinstance(node, ast.Global) for name in node.names)

    @cached_property
    def names(self) -> frozenset[str]:
        """Return all names of variables, parameters and attributes that occur in the function."""
        every = list(ast.walk(self.function))
        found = {node.id for node in every if isinstance(node, ast.Name)} | {
            node.arg for node in every if isinstance(node, ast.arg)
        }
        return frozenset(found | {node.attr for node in every if isinstance(node, ast.Attribute)})

    @cached_property
    def reserved(self) -> frozenset[str]:
        """Return the names that a new function must not have."""
        return self.taken | self.names | BUILTINS

    @cached_property
    def beginnings(self) -> tuple[str, ...]:
        """Return prefixes that the name of a new function must not have: classes may find their methods by a prefix.

        For example, visitors do: `getattr(self, "visit_" + kind)`. The prefixes have no leading underscores.
        """
        found = (name.lstrip("_") for name in self.reserved if name.endswith("_") and len(name) > 3)
        return tuple(filter(None, found))

    def edited(self, old: cst.CSTNode, new: cst.CSTNode) -> str:
        """Return the text with `old` replaced by `new`."""
        changed = self.module.deep_replace(old, new)
        assert isinstance(changed, cst.Module), "a module stays a module"
        return changed.code

    def with_text(self, text: str) -> Unit:
        return replace(self, text=text)


@dataclass(frozen=True, slots=True)
class _Position:
    tail: bool
    looped: bool
    loop_tail: bool
    parents: tuple[ast.AST, ...]


def _suites(body: Sequence[ast.stmt], block: cst.BaseSuite, branch: str, at: _Position) -> Iterator[Suite]:
    if not isinstance(block, cst.IndentedBlock):
        return
    pairs, places = _paired(body, block)
    yield Suite(body, block, places, at.tail, at.looped, at.loop_tail, at.parents, branch)
    for number, (node, twin) in enumerate(pairs):
        if isinstance(node, Function | ast.ClassDef):
            continue
        last = number == len(pairs) - 1
        for owner, inner, suite, name in _inside(node, twin):
            yield from _suites(inner, suite, name, _below(owner, name, at, last=last))


def _below(node: ast.stmt, branch: str, at: _Position, *, last: bool) -> _Position:
    parents = (*at.parents, node)
    if isinstance(node, Loop) and branch == "body":
        return _Position(tail=False, looped=True, loop_tail=True, parents=parents)
    ends = last and not (isinstance(node, ast.Try) and branch == "body" and node.orelse)
    ends = ends and not (isinstance(node, ast.Try) and branch == "finalbody")
    return _Position(at.tail and ends, at.looped, at.loop_tail and ends, parents)


def _paired(
    body: Sequence[ast.stmt], block: cst.IndentedBlock
) -> tuple[list[tuple[ast.stmt, cst.CSTNode]], list[int | None]]:
    """Return (statement, its node in `block`) for each statement of `body`, and `places` (see Suite)."""
    pairs: list[tuple[ast.stmt, cst.CSTNode]] = []
    places: list[int | None] = []
    rest = iter(body)
    for place, line in enumerate(block.body):
        small = line.body if isinstance(line, cst.SimpleStatementLine) else (line,)
        for node in small:
            pairs.append((next(rest), node))
            places.append(place if len(small) == 1 else None)
    return pairs, places


Inner = tuple[ast.stmt, Sequence[ast.stmt], cst.BaseSuite, str]
"""A list of statements: (the statement that contains it, the list, LibCST's node for it, the name of its field)."""


def _inside(node: ast.stmt, twin: cst.CSTNode) -> Iterator[Inner]:
    """Yield the lists of statements below `node`."""
    if isinstance(node, ast.Match) and isinstance(twin, cst.Match):
        yield from ((node, case.body, other.body, "cases") for case, other in zip(node.cases, twin.cases, strict=True))
    body = getattr(twin, "body", None)
    if isinstance(body, cst.BaseSuite):
        yield node, node.body, body, "body"  # type: ignore[attr-defined]
    if isinstance(node, ast.Try) and isinstance(twin, cst.Try):
        pairs = zip(node.handlers, twin.handlers, strict=True)
        yield from ((node, one.body, two.body, "handlers") for one, two in pairs)
    yield from _otherwise(node, twin)


def _otherwise(node: ast.stmt, twin: cst.CSTNode) -> Iterator[Inner]:
    """Yield the lists of statements after `else`, `elif` and `finally`."""
    otherwise = getattr(twin, "orelse", None)
    if isinstance(otherwise, cst.Else):
        yield node, node.orelse, otherwise.body, "orelse"  # type: ignore[attr-defined]
    elif isinstance(otherwise, cst.If) and isinstance(node, ast.If):
        yield from _inside(node.orelse[0], otherwise)
    final = getattr(twin, "finalbody", None)
    if isinstance(final, cst.Finally):
        yield node, node.finalbody, final.body, "finalbody"  # type: ignore[attr-defined]
