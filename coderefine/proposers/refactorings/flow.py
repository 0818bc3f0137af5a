"""Data flow inside one function: which names a statement reads and binds, which are live, which are surely bound.

All sets are approximations on the safe side: too many live names, too few surely bound names. Names that a nested
function captures are recorded separately (`Flow.captures`), because each call of the nested function reads them.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache

from coderefine.source import Comprehension, Function, all_arguments, bindings, last_name

Scope = Function | ast.Lambda
Names = frozenset[str]
Place = tuple[int, int]
NONE: Names = frozenset()
UNKNOWN: type[ast.stmt] | tuple[()] = getattr(ast, "TryStar", ())
"""`try` with `except*` (new in Python 3.11): several of its handlers may run, one after another."""
EAGER = frozenset(
    "all any bytearray bytes dict enumerate extend frozenset join list max min next set sorted sum tuple update".split()
)
"""Functions and methods that consume a generator expression, or call a `key` function, before they return."""
KEYED = frozenset(("max", "min", "sort", "sorted"))
TRUTHS = frozenset(("isinstance", "issubclass", "hasattr", "callable", "any", "all", "bool"))
"""Built-in functions that return True or False."""
CLOSING = frozenset(("open", "closing", "Lock", "RLock", "TemporaryDirectory", "NamedTemporaryFile", "StringIO"))
"""Context managers that do not suppress exceptions."""
SUPPRESSING = frozenset(("suppress", "raises", "assertRaises", "ExitStack", "AsyncExitStack"))
"""Context managers that may suppress exceptions, so that a name bound inside may be unbound afterwards."""


@dataclass(slots=True)
class NameUses:
    """The names that a piece of code reads and binds in the function's own scope.

    `maybe`: perhaps bound (by patterns, or by `:=` in a part that may not be evaluated). `lazy`: captured by a nested
    function that may run later. `shared`: bound by nested functions (`nonlocal`), or by `:=` in generators that may run
    later. `declared`: global or nonlocal.
    """

    reads: set[str] = field(default_factory=set)
    binds: set[str] = field(default_factory=set)
    maybe: set[str] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)
    lazy: set[str] = field(default_factory=set)
    shared: set[str] = field(default_factory=set)
    declared: set[str] = field(default_factory=set)

    @property
    def bound(self) -> set[str]:
        return self.binds | self.maybe


def uses(nodes: Iterable[ast.AST | None]) -> NameUses:
    """Return the names used in `nodes` and everything below them."""
    every = [_uses_of(node) for node in nodes if node is not None]
    if len(every) == 1:
        return every[0]
    return NameUses(*(set().union(*(getattr(one, item.name) for one in every)) for item in fields(NameUses)))


@lru_cache(maxsize=20_000)
def _uses_of(node: ast.AST) -> NameUses:
    reader = _Reader()
    reader.visit(node)
    return reader.found


class _Reader(ast.NodeVisitor):
    def __init__(self) -> None:
        self.found = NameUses()
        self._perhaps = 0
        self._fresh: set[str] = set()

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self.found.reads.update({node.id} - self._fresh)
        elif isinstance(node.ctx, ast.Store):
            self.found.binds.add(node.id)
        else:
            self.found.deleted.add(node.id)
            self.found.reads.add(node.id)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.generic_visit(node)
        if isinstance(node.target, ast.Name):
            self.found.reads.add(node.target.id)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        # A local variable's annotation is not evaluated.
        if node.value is not None or not isinstance(node.target, ast.Name):
            self.visit(node.target)
        if node.value is not None:
            self.visit(node.value)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        if self._perhaps:
            self.found.maybe.add(node.target.id)
        else:
            self.found.binds.add(node.target.id)
            self._fresh.add(node.target.id)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        self.visit(node.values[0])
        self._uncertain(node.values[1:])

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.visit(node.test)
        self._uncertain((node.body, node.orelse))

    def visit_Compare(self, node: ast.Compare) -> None:
        self.visit(node.left)
        self.visit(node.comparators[0])
        self._uncertain(node.comparators[1:])

    def _uncertain(self, nodes: Iterable[ast.AST]) -> None:
        self._perhaps += 1
        for node in nodes:
            self.visit(node)
        self._perhaps -= 1

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        self.generic_visit(node)
        if node.name:
            self.found.binds.add(node.name)

    def visit_MatchAs(self, node: ast.MatchAs | ast.MatchStar | ast.MatchMapping) -> None:
        self.generic_visit(node)
        self.found.maybe.update(bindings(node))

    visit_MatchStar = visit_MatchMapping = visit_MatchAs

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        self.found.binds.update(alias.asname or alias.name.partition(".")[0] for alias in node.names)

    visit_ImportFrom = visit_Import

    def visit_Global(self, node: ast.Global | ast.Nonlocal) -> None:
        self.found.declared.update(node.names)

    visit_Nonlocal = visit_Global

    def visit_Call(self, node: ast.Call) -> None:
        name = called(node)
        for part in ast.iter_child_nodes(node):
            value = part.value if isinstance(part, ast.keyword) else part
            key = isinstance(part, ast.keyword) and part.arg == "key" and name in KEYED
            if (isinstance(value, ast.GeneratorExp) and name in EAGER) or (isinstance(value, ast.Lambda) and key):
                self._nested(value, lazy=False)
            else:
                self.visit(part)

    def visit_Lambda(self, node: ast.Lambda | ast.GeneratorExp) -> None:
        self._nested(node, lazy=True)

    visit_GeneratorExp = visit_Lambda

    def visit_ListComp(self, node: Comprehension) -> None:
        self._nested(node, lazy=False)

    visit_SetComp = visit_ListComp
    visit_DictComp = visit_ListComp

    def visit_FunctionDef(self, node: Function) -> None:
        self.found.binds.add(node.name)
        for part in (*node.decorator_list, *filter(None, (node.returns,))):
            self.visit(part)
        hints = (one.annotation for one in ast.walk(node.args) if isinstance(one, ast.arg))
        self.found.lazy |= uses((*hints, node.returns)).reads  # since Python 3.14
        self._nested(node, lazy=True)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.found.binds.add(node.name)
        for part in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(part)
        hints = (one.annotation for one in own_nodes(node.body) if isinstance(one, ast.AnnAssign))
        inner = uses((*node.body, *hints))
        # Conservative: a name that the class body binds may still be the function's name when it is read.
        self.found.reads |= inner.reads
        self.found.lazy |= inner.lazy | inner.reads
        self.found.shared |= inner.shared | inner.declared

    def _nested(self, node: Scope | Comprehension, *, lazy: bool) -> None:
        if isinstance(node, Comprehension):
            self.visit(node.generators[0].iter)
            inner, own = _in_comprehension(node), uses(one.target for one in node.generators).binds
            self.found.maybe |= inner.bound - own
            self.found.shared |= (inner.bound - own) if lazy else set()
        else:
            self.visit(node.args)  # defaults and annotations
            inner = uses(node.body if isinstance(node.body, list) else [node.body])
            own = (inner.bound | parameters(node)) - inner.declared
        free = inner.reads - own
        self.found.reads |= free
        self.found.shared |= inner.shared | (inner.declared & inner.bound)
        self.found.lazy |= (inner.lazy - own) | (free if lazy else set())


def _in_comprehension(node: Comprehension) -> NameUses:
    """Return the names used inside a comprehension, except in its first iterable, which is evaluated outside.

    These include the names that `:=` binds, although they are bound outside of the comprehension.
    """
    value = (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)
    first, *others = node.generators
    reader = _Reader()
    for part in (first.target, *first.ifs, *others, *value):  # in the order of evaluation: `:=` may bind before a read
        reader.visit(part)
    return reader.found


def parameters(function: Scope) -> set[str]:
    """Return the names of all parameters."""
    return {one.arg for one in all_arguments(function.args)}


def start_of(node: ast.stmt | ast.expr | ast.arg | ast.ExceptHandler) -> Place:
    return node.lineno, node.col_offset


def called(node: ast.AST) -> str:
    """Return the last part of the name of the called function; "" if `node` is no call, or the function has no name."""
    return last_name(node.func) if isinstance(node, ast.Call) else ""


def is_truth(value: ast.expr, functions: AbstractSet[str] = NONE) -> bool:
    """Return whether `value` is certainly True or False. `functions`: names of functions that return only these."""
    match value:
        case ast.Compare(ops=ops):
            return all(isinstance(op, ast.In | ast.NotIn | ast.Is | ast.IsNot) for op in ops)
        case ast.UnaryOp(op=ast.Not()):
            return True
        case ast.BoolOp(values=values):
            return all(is_truth(one, functions) for one in values)
        case ast.Call(func=ast.Name(id=name)):
            return name in functions
    return False


def own_nodes(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield `nodes` and everything below them, without the inside of nested functions and classes."""
    for node in nodes:
        yield node
        if not isinstance(node, Scope | ast.ClassDef):
            yield from own_nodes(ast.iter_child_nodes(node))


def loop_exits(nodes: Iterable[ast.AST]) -> Iterator[ast.Break | ast.Continue]:
    """Yield each `break` and `continue` in `nodes` that belongs to a loop outside `nodes`."""
    for node in nodes:
        if isinstance(node, ast.Break | ast.Continue):
            yield node
        elif isinstance(node, ast.For | ast.AsyncFor | ast.While):
            yield from loop_exits(node.orelse)
        elif not isinstance(node, Scope | ast.ClassDef):
            yield from loop_exits(ast.iter_child_nodes(node))


@dataclass(frozen=True, slots=True)
class Exits:
    """Names that are live where control leaves a statement: by `break`, `continue`, `return`, or an exception."""

    breaks: Names = NONE
    continues: Names = NONE
    returns: Names = NONE
    raises: Names = NONE


class Flow:
    """The data flow of one function.

    `locals`: the function's own names. `shared`: names that nested functions bind, or that are global or nonlocal.
    `known`: whether the function has no statement whose flow is not analysed (UNKNOWN).

    By statement:

    - `before`, `after`: the names that are live before and after it.
    - `raises`: the names that are live where an exception in it is caught.
    - `bound`: the names that are surely bound before it; a statement that cannot be reached has no entry.

    By name, the places (line, column) of statements:

    - `binds`, `reads`: the statements that bind the name, and those that read it.
    - `captures`: the statements in which a nested function captures it.
    """

    def __init__(self, function: Function) -> None:
        self.function = function
        self.known = not any(isinstance(node, UNKNOWN) for node in own_nodes(function.body))
        every = uses(function.body)
        self.shared = every.shared | every.declared
        self.locals = frozenset((every.bound | every.deleted | parameters(function)) - every.declared)
        self.before: dict[ast.stmt, Names] = defaultdict(frozenset)
        self.after: dict[ast.stmt, Names] = defaultdict(frozenset)
        self.raises: dict[ast.stmt, Names] = defaultdict(frozenset)
        self.bound: dict[ast.stmt, Names] = {}
        self.binds: dict[str, set[Place]] = defaultdict(set)
        self.reads: dict[str, set[Place]] = defaultdict(set)
        self.captures: dict[str, set[Place]] = defaultdict(set)
        live(function.body, NONE, Exits(), self)
        assigned(function.body, frozenset(parameters(function)), self.bound)
        self.bound = {statement: names - every.deleted for statement, names in self.bound.items()}
        for node in own_nodes(function.body):
            self._place(node)

    def reads_during(self, statement: ast.stmt, name: str) -> bool:
        """Return whether `name` may be read while `statement` is executed, in a nested function or after an exception.

        Reads in the statement itself do not count.
        """
        return not self.known or name in self.raises[statement] or name in self.captures

    def _place(self, node: ast.AST) -> None:
        if not isinstance(node, ast.stmt | ast.ExceptHandler):
            return
        found = uses(header(node))
        for names, places in ((found.bound, self.binds), (found.reads, self.reads), (found.lazy, self.captures)):
            for name in names:
                places[name].add(start_of(node))

    def enter(self, statement: ast.stmt, before: Names, after: Names, raises: Names) -> None:
        """Record the names that are live around `statement`. In a loop, repeated calls add further names."""
        self.before[statement] |= before
        self.after[statement] |= after
        self.raises[statement] |= raises


def header(node: ast.stmt | ast.ExceptHandler) -> list[ast.AST]:
    """Return the parts of a compound statement that are no statements; for a simple statement, the statement."""
    match node:
        case ast.If() | ast.While():
            return [node.test]
        case ast.For() | ast.AsyncFor():
            return [node.target, node.iter]
        case ast.With() | ast.AsyncWith():
            return list(node.items)
        case ast.Match():
            return [
                node.subject,
                *(part for case in node.cases for part in (case.pattern, *filter(None, (case.guard,)))),
            ]
        case ast.ExceptHandler():
            return [ast.Name(node.name or "_", ast.Store()), *filter(None, (node.type,))]
    return [] if isinstance(node, ast.Try) else [node]


def live(body: Sequence[ast.stmt], out: Names, exits: Exits | None = None, flow: Flow | None = None) -> Names:
    """Return the names that are live before `body`, if the names in `out` are live after it.

    `exits`: the names that are live where `body` is left in another way. In `flow`, record the live names of each
    statement.
    """
    exits = exits or Exits()
    for statement in reversed(body):
        after = out | exits.raises
        out = _live_before(statement, after, exits, flow) | exits.raises
        if flow is not None:
            flow.enter(statement, out, after, exits.raises)
    return out


def _live_before(node: ast.stmt, out: Names, exits: Exits, flow: Flow | None) -> Names:
    match node:
        case ast.Return() | ast.Raise():
            return frozenset(uses([node]).reads) | (exits.returns if isinstance(node, ast.Return) else NONE)
        case ast.Break() | ast.Continue():
            return exits.breaks if isinstance(node, ast.Break) else exits.continues
        case ast.If():
            return _live_if(node, out, exits, flow)
        case ast.For() | ast.AsyncFor() | ast.While():
            return _live_loop(node, out, exits, flow)
        case ast.Try():
            return _live_try(node, out, exits, flow)
        case ast.With() | ast.AsyncWith():
            return _live_with(node, out, exits, flow)
        case ast.Match():
            return _live_match(node, out, exits, flow)
    found = uses([node])
    return (out - found.binds) | found.reads


def _live_if(node: ast.If, out: Names, exits: Exits, flow: Flow | None) -> Names:
    inner, test = live(node.body, out, exits, flow) | live(node.orelse, out, exits, flow), uses([node.test])
    return (inner - test.binds) | test.reads


def _live_match(node: ast.Match, out: Names, exits: Exits, flow: Flow | None) -> Names:
    cases = [live(case.body, out, exits, flow) | uses([case.guard]).reads for case in node.cases]
    return out.union(*cases) | uses([node.subject, *(case.pattern for case in node.cases)]).reads


def _live_loop(node: ast.For | ast.AsyncFor | ast.While, out: Names, exits: Exits, flow: Flow | None) -> Names:
    done = live(node.orelse, out, exits, flow)
    header = uses([node.test] if isinstance(node, ast.While) else [node.target])
    head, found = done | header.reads, None
    while head != found:
        found = head
        inside = live(node.body, head, replace(exits, breaks=out, continues=head), flow)
        head |= inside - header.binds
    if isinstance(node, ast.While):
        return ((head - header.binds) | header.reads) if header.binds else head
    return head | uses([node.iter]).reads


def _live_try(node: ast.Try, out: Names, exits: Exits, flow: Flow | None) -> Names:
    if node.finalbody:
        every = out | exits.breaks | exits.continues | exits.returns | exits.raises
        out = live(node.finalbody, every, exits, flow)
        exits = Exits(out, out, out, out)
    caught = exits.raises
    for handler in node.handlers:
        inside = live(handler.body, out, exits, flow)
        caught |= (inside - {handler.name}) | uses([handler.type]).reads
    done = live(node.orelse, out, exits, flow)
    return live(node.body, done, replace(exits, raises=caught), flow) | caught


def _live_with(node: ast.With | ast.AsyncWith, out: Names, exits: Exits, flow: Flow | None) -> Names:
    quiet = all(called(item.context_expr) in CLOSING for item in node.items)
    inner = exits if quiet else replace(exits, raises=exits.raises | out)
    found = uses(node.items)
    return (live(node.body, out, inner, flow) - found.binds) | found.reads


Bound = dict[ast.stmt, Names]
State = Names | None
"""The names that are surely bound; None: this place cannot be reached."""


def assigned(body: Sequence[ast.stmt], state: State, bound: Bound | None = None) -> State:
    """Return the names that are surely bound after `body` if the names in `state` are bound before it.

    Return None if the end of `body` cannot be reached. In `bound`, store the names that are surely bound before each
    statement that can be reached.
    """
    return _Assignments({} if bound is None else bound).block(body, state)


class _Assignments:
    def __init__(self, bound: Bound) -> None:
        self.bound = bound
        self.breaks: list[list[State]] = [[]]

    def block(self, body: Sequence[ast.stmt], state: State) -> State:
        for statement in body:
            if state is None:
                return None
            self.bound[statement] = state
            state = self._after(statement, state)
        return state

    def _after(self, node: ast.stmt, state: Names) -> State:
        match node:
            case ast.Return() | ast.Raise() | ast.Continue():
                return None
            case ast.Break():
                self.breaks[-1].append(state)
                return None
            case ast.If():
                state |= uses([node.test]).binds
                return _both(self.block(node.body, state), self.block(node.orelse, state))
            case ast.For() | ast.AsyncFor() | ast.While():
                return self._loop(node, state)
            case ast.Try():
                return self._try(node, state)
            case ast.With() | ast.AsyncWith():
                return self._with(node, state)
            case ast.Match():
                return self._match(node, state)
        found = uses([node])
        return (state | found.binds) - found.deleted

    def _with(self, node: ast.With | ast.AsyncWith, state: Names) -> State:
        done = self.block(node.body, state | uses(node.items).binds)
        quiet = any(called(item.context_expr) in SUPPRESSING for item in node.items)
        return _both(done, state) if quiet else done

    def _match(self, node: ast.Match, state: Names) -> State:
        ends = [self.block(case.body, state) for case in node.cases]
        last = node.cases[-1]
        every = isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None and last.guard is None
        return _both(*ends, *(() if every else (state,)))

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, state: Names) -> State:
        targets = NONE if isinstance(node, ast.While) else frozenset(uses([node.target]).binds)
        if isinstance(node, ast.While):
            state |= uses([node.test]).binds
        self.breaks.append([])
        self.block(node.body, state | targets)
        breaks = self.breaks.pop()
        endless = isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and bool(node.test.value)
        return _both(*breaks, None if endless else self.block(node.orelse, state))

    def _try(self, node: ast.Try, state: Names) -> State:
        done = self.block(node.orelse, self.block(node.body, state))
        for handler in node.handlers:
            caught = self.block(handler.body, state | {handler.name} if handler.name else state)
            done = _both(done, caught - {handler.name} if caught is not None and handler.name else caught)
        if not node.finalbody:
            return done
        last = self.block(node.finalbody, state)
        return None if last is None or done is None else done | (last - state)


def _both(*states: State) -> State:
    """Return the names bound in all `states` that can be reached; None if no state can be reached."""
    reached = [state for state in states if state is not None]
    return reached[0].intersection(*reached[1:]) if reached else None
