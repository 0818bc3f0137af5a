"""Find consecutive statements that may become a new function; its parameters follow from the data flow."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations

from coderefine.proposers.refactorings.flow import (
    NONE,
    Exits,
    Names,
    NameUses,
    Place,
    assigned,
    called,
    is_truth,
    live,
    loop_exits,
    own_nodes,
    parameters,
    start_of,
    uses,
)
from coderefine.proposers.refactorings.measures import STATEMENTS, Limits, decisions, size
from coderefine.proposers.refactorings.trees import Suite, Unit
from coderefine.source import Function, bound_names

Exit = ast.Return | ast.Break | ast.Continue
Order = Callable[[str], tuple[Place, str]]
MOST_PARAMETERS, MOST_RESULTS = 5, 3
OBSERVERS = frozenset(("locals", "vars", "dir", "eval", "exec", "_getframe", "currentframe", "stack", "globals"))
"""Functions whose result depends on the frame that calls them."""
UNMEASURED = re.compile(r"#\s*pragma[:\s]?\s*no\s*cover", re.IGNORECASE)
FUNCTIONS = frozenset("all any bool callable dict float frozenset hasattr int isinstance issubclass len list".split())
FUNCTIONS |= frozenset("repr set sorted str tuple".split())
"""Built-in functions and classes that never return None."""
METHODS = frozenset(("format", "join", "strip"))
"""Methods of strings that never return None."""
HELD = re.compile(
    r".*(?i:(?<!is_)open|(?<!at)temp(?!la|er)|(?<![bc])lock|connect|acquire|session|pool|executor|socket|mmap|redirect)"
    r"|.*(?i:watch)|create_task|ensure_future|makefile|.*(Callback|File|Memory|Observer|Process|Task|Thread|Timer)$"
)
"""Names of functions whose result may have an effect when it is destroyed, such as closing a file."""


def rebound(tree: ast.Module) -> frozenset[str]:
    """Return the names in FUNCTIONS that a module binds, except as names of methods; all if it has an `import *`."""
    methods = _methods(tree)
    nodes = (node for node in ast.walk(tree) if node not in methods and not isinstance(node, ast.keyword))
    found = {name for node in nodes for name in bound_names(node)}
    return FUNCTIONS if "*" in found else FUNCTIONS & found


def _methods(tree: ast.Module) -> set[ast.stmt]:
    classes = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    return {item for node in classes for item in node.body if isinstance(item, Function)}


@dataclass(frozen=True)
class StatementBlock:
    """Consecutive statements of one suite, with facts about their control flow and data flow.

    `start`, `stop`: the range of their positions in the suite, without `stop`.
    """

    unit: Unit
    suite: Suite
    start: int
    stop: int

    @cached_property
    def body(self) -> Sequence[ast.stmt]:
        return self.suite.statements[self.start : self.stop]

    @cached_property
    def used(self) -> NameUses:
        return uses(self.body)

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        return tuple(node for item in self.body for node in _own_nodes(item))

    @cached_property
    def ends(self) -> bool:
        """Return whether the end of the block is the end of its suite."""
        return self.stop == len(self.suite.statements)

    @cached_property
    def returns(self) -> tuple[ast.Return, ...]:
        return tuple(node for node in self.nodes if isinstance(node, ast.Return))

    @cached_property
    def loop_exits(self) -> tuple[ast.Break | ast.Continue, ...]:
        return tuple(loop_exits(self.body))

    @cached_property
    def falls_through(self) -> bool:
        return assigned(self.body, NONE) is not None

    @cached_property
    def results(self) -> Names:
        """Return the names that the block binds and that are read after it."""
        flow = self.unit.flow
        read = flow.after[self.body[-1]].union(*(flow.before[leave] for leave in self.loop_exits))
        return frozenset(self.used.bound & read)

    @property
    def yields(self) -> bool:
        return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in self.nodes)

    @property
    def awaits(self) -> bool:
        kinds = ast.Await | ast.AsyncFor | ast.AsyncWith
        return any(isinstance(node, kinds) or getattr(node, "is_async", 0) for node in self.nodes)

    def holds(self, place: Place) -> bool:
        """Return whether a statement that begins at `place` is in the block."""
        return start_of(self.body[0]) <= place < self.end

    def begins_paragraph(self, position: int) -> bool:
        """Return whether the statement at `position` of the suite is the first one, or follows a blank line.

        Comments and decorators directly above count as part of the statement.
        """
        lines, row = self.unit.rows, self.suite.statements[position].lineno - 2
        while position and lines[row].lstrip().startswith(("#", "@")):
            row -= 1
        return not position or not lines[row].strip()

    @cached_property
    def paragraphs(self) -> int:
        """Return the number of parts of the block that blank lines separate."""
        return 1 + sum(map(self.begins_paragraph, range(self.start + 1, self.stop)))

    @cached_property
    def headings(self) -> int:
        """Return the number of parts of the block, without the first one, that begin with a comment."""
        lines = self.unit.rows
        return sum(
            self.begins_paragraph(position)
            and lines[self.suite.statements[position].lineno - 2].lstrip().startswith("#")
            for position in range(self.start + 1, self.stop)
        )

    @property
    def end(self) -> Place:
        return self.body[-1].end_lineno or 0, self.body[-1].end_col_offset or 0


@dataclass(frozen=True)
class Extraction:
    """A block that may become a function, a method, or a static method (`method` and `static`).

    `inputs`: the parameters; `outputs`: the names of the results. `manner`: what the caller does because of exits
    (`return`, `break`, `continue`) in the block:

    - "": nothing, because the block has no exits.
    - `return`: the caller returns what the new function returns.
    - `continue`: nothing, because the caller's loop continues after the call in any case.
    - `flag`: the caller executes the statement `leave` if the new function returns True.
    - `value`: the caller returns what the new function returns, if this is not None.
    """

    block: StatementBlock
    manner: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    method: bool
    leave: str = ""
    static: bool = False

    def moved(self, rule: str) -> int:
        """Return by how much the number that `rule` limits decreases in the original function."""
        return size(self.block.body, rule) - size(_kept(self.manner, self.leave), rule)

    @property
    def doubt(self) -> str:
        """Return how the extraction may change behaviour in a way that tests seldom notice; "" if it does not."""
        if self.manner != "return" and destroys_early(self.block.body, {*self.outputs}, HELD):
            return "an object such as an open file or a lock may be released earlier"
        return "its recursion would need twice as many calls" if _calls_itself(self.block) else ""


@lru_cache(maxsize=64)
def _kept(manner: str, leave: str) -> Sequence[ast.stmt]:
    """Return statements of the kind that an extraction leaves in place of its block."""
    kept = {"return": "return f()", "flag": f"if f():\n {leave}", "value": "x = f()\nif x:\n return x"}
    return ast.parse(kept.get(manner, "f()")).body


def extractions(unit: Unit, limits: Limits) -> Iterator[Extraction]:
    """Yield the extractions that keep behaviour and lower a number that is limited.

    Each new function is within `limits`. Only ranges of statements that contain at least two of what is limited are
    examined; the last statement must contain decisions, or be the last of its suite. If the number of statements is
    limited, it may also be the last before a blank line. Nothing is extracted from an asynchronous generator.
    """
    if isinstance(unit.function, ast.AsyncFunctionDef) and _is_generator(unit):
        return
    for suite in unit.suites:
        for block in _ranges(unit, suite, limits):
            found = examined(block)
            if isinstance(found, Extraction) and any(found.moved(rule) > 0 for rule in limits):
                yield found


def _ranges(unit: Unit, suite: Suite, limits: Limits) -> Iterator[StatementBlock]:
    """Yield the blocks of a suite to examine (see `extractions`); none contains the docstring."""
    first = int(suite.parents == (unit.function,) and ast.get_docstring(unit.function) is not None)
    counts = {rule: [size([statement], rule) for statement in suite.statements] for rule in limits}
    for start, stop in combinations(range(first, len(suite.statements) + 1), 2):
        sizes = {rule: sum(numbers[start:stop]) for rule, numbers in counts.items()}
        if max(sizes.values()) > 1 and all(sizes[rule] < limit for rule, limit in limits.items()):
            block = StatementBlock(unit, suite, start, stop)
            if _may_end(block, limits):
                yield block


def _may_end(block: StatementBlock, limits: Limits) -> bool:
    """Return whether the last statement of the block may be its last one (see `extractions`)."""
    if block.ends or decisions(block.body[-1]):
        return True
    return STATEMENTS in limits and block.begins_paragraph(block.stop)


def _is_generator(unit: Unit) -> bool:
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in unit.nodes)


def examined(block: StatementBlock) -> Extraction | str:
    """Return the extraction of `block`, or the reason why there is none."""
    why = next((why for rule in RULES if (why := rule(block))), "")
    found = None if why else _manner(block)
    if found is None:
        return why or "it is left in several ways"
    manner, leave = found
    outputs = NONE if manner == "return" else block.results
    if manner in ("flag", "value") and outputs:
        return "it has results, and is left early"
    inputs = _inputs(block, manner, outputs)
    unbound = _unbound(block, manner, inputs, outputs)
    return f"{_listed(unbound)} may be unbound" if unbound else _signed(block, manner, leave, inputs, outputs)


def _unbound(block: StatementBlock, manner: str, inputs: Names, outputs: Names) -> Names:
    """Return the names that may be unbound where they are passed to the new function, or returned by it."""
    bound = block.unit.flow.bound[block.body[0]]
    after = bound if manner == "continue" else assigned(block.body, bound)
    return (inputs - bound) | (NONE if after is None else outputs - after)


def _signed(block: StatementBlock, manner: str, leave: str, inputs: Names, outputs: Names) -> Extraction | str:
    unit = block.unit
    bound = bool(unit.receiver) and (unit.receiver in inputs or "super" in block.used.reads)
    static = bool(unit.receiver) and not bound and unit.far
    names = tuple(sorted(inputs - {unit.receiver} if bound else inputs, key=_order(block)))
    results = tuple(sorted(outputs, key=_order(block)))
    if len(names) > MOST_PARAMETERS or len(results) > MOST_RESULTS:
        return f"it would need {len(names)} parameters and return {len(results)} values"
    found = Extraction(block, manner, names, results, bound or static, leave, static)
    return _against_class(found) or found


def destroys_early(body: Sequence[ast.stmt], kept: AbstractSet[str], made: re.Pattern[str]) -> bool:
    """Return whether an object may be destroyed when variables that are not `kept` end with `body`.

    Only objects made by calls of functions whose names match `made` are considered.
    """
    bindings = map(_binding, own_nodes(body))
    values = (value for targets, value in bindings if value and not uses(targets).binds <= kept)
    return any(isinstance(node, ast.Call) and made.match(called(node)) for value in values for node in ast.walk(value))


def _binding(node: ast.AST) -> tuple[Sequence[ast.expr], ast.expr | None]:
    """Return the targets and the value of a node that binds names to the value, or to an item of it."""
    match node:
        case ast.Assign(targets=targets, value=value):
            return targets, value
        case ast.For(target=target, iter=ast.List() | ast.Tuple() | ast.ListComp() | ast.GeneratorExp() as value):
            return [target], value
        case ast.AnnAssign() | ast.AugAssign() | ast.NamedExpr():
            return [node.target], node.value
    return [], None


def _calls_itself(block: StatementBlock) -> bool:
    """Return whether the block calls its function; for a method, with its object or its class."""
    unit = block.unit
    owners = (f"{unit.receiver}.", f"{unit.owner}.") if unit.owner else ("",)
    names = [f"{owner}{unit.function.name}" for owner in owners]
    calls = (node for node in block.nodes if isinstance(node, ast.Call) and called(node) == unit.function.name)
    return any(ast.unparse(node.func) in names for node in calls)


def _against_class(found: Extraction) -> str:
    """Return why the block cannot be moved out of its method; "" if it can."""
    unit = found.block.unit
    if found.method and unit.flow.binds.get(unit.receiver):
        return f"{unit.receiver} is bound anew"
    if found.method or not unit.owner:
        return ""
    if "super" in found.block.used.reads:
        return "it calls super()"
    if any(map(_has_mangled, found.block.body)):
        return "it uses private names of the class"
    return ""


def _order(block: StatementBlock) -> Order:
    """Return a key that sorts names in the order of the function: its parameters, then by first appearance."""
    places = block.unit.places
    return lambda name: (places.get(name, (sys.maxsize, 0)), name)


def _inputs(block: StatementBlock, manner: str, outputs: Names) -> Names:
    exits = Exits(continues=outputs if manner == "continue" else NONE)
    return live(block.body, outputs, exits) & block.unit.flow.locals


def _manner(block: StatementBlock) -> tuple[str, str] | None:
    """Return `manner` and `leave` of the extraction; None if no manner fits the exits of the block."""
    exits = (*block.returns, *block.loop_exits)
    if not exits:
        return ("", "") if block.falls_through else None
    if not block.loop_exits and (not block.falls_through or (block.suite.tail and block.ends)):
        return "return", ""
    return _early_manner(block, exits) if block.falls_through and not block.yields else None


def _early_manner(block: StatementBlock, exits: Sequence[Exit]) -> tuple[str, str] | None:
    """Return the fields `manner` and `leave` of `Extraction` for a block; None if no manner fits.

    The block has the statements `exits` (`return`, `break`, `continue`), but it may also reach its end.
    """
    goes_on = block.suite.loop_tail and block.ends and not any(isinstance(node, ast.Break) for node in exits)
    if goes_on and not block.returns:
        return "continue", ""
    if _are_alike(exits):
        return "flag", ast.unparse(exits[0])
    only_returns = goes_on or not block.loop_exits
    return ("value", "") if only_returns and _returns_something(block) else None


def _returns_something(block: StatementBlock) -> bool:
    """Return whether no `return` of the block returns None."""
    builtins = FUNCTIONS - block.unit.rebound
    return all(node.value is not None and _is_something(node.value, builtins) for node in block.returns)


def _are_alike(exits: Sequence[Exit]) -> bool:
    """Return whether all exits are the same statement, without a value or with a constant."""
    values = (getattr(node, "value", None) for node in exits)
    return len(set(map(ast.unparse, exits))) == 1 and all(isinstance(value, ast.Constant | None) for value in values)


def _is_something(value: ast.expr, builtins: AbstractSet[str]) -> bool:
    """Return whether `value` is certainly not None. `builtins`: the names in FUNCTIONS that mean built-in functions."""
    match value:
        case ast.Constant():
            return value.value is not None
        case ast.IfExp(body=one, orelse=two):
            return _is_something(one, builtins) and _is_something(two, builtins)
        case ast.Call(func=ast.Name(id=name)):
            return name in builtins
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str()), attr=name)):
            return name in METHODS
    kinds = ast.JoinedStr | ast.Tuple | ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp
    return isinstance(value, kinds) or is_truth(value)


def _is_reached(block: StatementBlock) -> str:
    return "" if block.body[0] in block.unit.flow.bound else "it is never reached"


def _is_known(block: StatementBlock) -> str:
    return "" if block.unit.flow.known else "its function has `except*`"


def _is_apart(block: StatementBlock) -> str:
    return "" if block.suite.cut(block.start, block.stop) else "it shares a line with other statements"


def _has_plain_statements(block: StatementBlock) -> str:
    if any(isinstance(node, ast.Global | ast.Nonlocal) for node in block.nodes):
        return "it has a global or nonlocal statement"
    if block.used.deleted:
        return "it deletes a name"
    return ""


def _sees_no_frame(block: StatementBlock) -> str:
    if _sees_variables(block.unit.function):
        return "its function looks at its own variables"
    return next(filter(None, map(_frame, block.body)), "")


@lru_cache(maxsize=64)
def _sees_variables(function: Function) -> bool:
    """Return whether any part of a function may read or set its variables without writing their names."""
    for node in ast.walk(function):
        match node:
            case ast.Name(id="locals" | "eval" | "exec") | ast.Attribute(attr="f_locals"):
                return True
            case ast.Call(func=ast.Name(id="vars" | "dir"), args=[]):
                return True
    return False


@lru_cache(maxsize=20_000)
def _own_nodes(statement: ast.stmt) -> tuple[ast.AST, ...]:
    return tuple(own_nodes([statement]))


@lru_cache(maxsize=20_000)
def _frame(statement: ast.stmt) -> str:
    """Return why `statement` depends on the frame that runs it; "" if it does not."""
    for node in ast.walk(statement):
        if called(node) in OBSERVERS or getattr(node, "id", "") == "__class__":
            return "it looks at its own frame"
        third = isinstance(node, ast.Call) and called(node) == "warn" and len(node.args) > 2
        if third or (isinstance(node, ast.keyword) and node.arg == "stacklevel"):
            return "it counts the frames above it"
    return ""


@lru_cache(maxsize=20_000)
def _has_mangled(statement: ast.stmt) -> bool:
    return any(map(_is_mangled, ast.walk(statement)))


def _is_measured(block: StatementBlock) -> str:
    """Refuse a block below a header that excludes it from coverage: its new function would be measured."""
    margin = block.body[0].col_offset
    for row in reversed(block.unit.rows[: block.body[0].lineno - 1]):
        columns = len(row) - len(row.lstrip())
        if row.strip() and columns < margin:
            margin = columns
            if UNMEASURED.search(row):
                return "coverage does not measure it"
    return ""


def _shares_no_name(block: StatementBlock) -> str:
    shared = (block.used.bound | block.used.reads) & block.unit.flow.shared
    bound = block.used.bound & block.unit.flow.shared
    free = shared - bound
    # A name that is declared global may be read anywhere.
    if bound or free - block.unit.globals:
        return f"{_listed(shared)} belongs to several functions"
    return ""


def _captures_no_change(block: StatementBlock) -> str:
    """Refuse a block in which a nested function captures a name that is bound again later."""
    flow = block.unit.flow
    for name in block.used.lazy & flow.locals:
        places = flow.binds.get(name, set())
        if places and (block.suite.looped or max(places) > block.end):
            return f"{name} is captured, and bound again"
    return ""


def _binds_nothing_captured(block: StatementBlock) -> str:
    """Refuse a block that binds a name which a nested function has captured before the block."""
    flow = block.unit.flow
    for name in block.used.bound & flow.locals:
        outside = {place for place in flow.captures.get(name, set()) if not block.holds(place)}
        if outside and (block.suite.looped or min(outside) < block.end):
            return f"{name} is captured before"
    return ""


def _leaves_names_local(block: StatementBlock) -> str:
    """Refuse a block that contains all bindings of a local name that is read outside: it would become a global name."""
    flow = block.unit.flow
    for name in block.used.bound - block.results - parameters(block.unit.function):
        if all(map(block.holds, flow.binds[name])) and not all(map(block.holds, flow.reads[name])):
            return f"{name} is bound nowhere else"
    return ""


def _is_caught_whole(block: StatementBlock) -> str:
    """Refuse a block that binds a name, and may then raise an exception whose handler reads this name."""
    raises = block.unit.flow.raises[block.body[0]]
    *others, last = block.body
    seen = uses([*others, *_before_binding(last)]).bound & raises
    return f"{_listed(seen)} may be read after an exception" if seen else ""


def _before_binding(statement: ast.stmt) -> Sequence[ast.AST | None]:
    """Return, in a list, the part of `statement` that may fail: the value of a plain assignment, else the statement."""
    match statement:
        case ast.AnnAssign(value=value) | ast.Assign(targets=[ast.Name()], value=value):
            return [value]
        case ast.Assign(targets=[ast.Tuple(elts=parts)], value=value) if all(
            isinstance(one, ast.Name) for one in parts
        ):
            return [value]
    return [statement]


def _is_mangled(node: ast.AST) -> bool:
    name = getattr(node, "id", "") or getattr(node, "attr", "")
    return name.startswith("__") and not name.endswith("__")


RULES = (
    *(_is_known, _is_reached, _is_apart, _has_plain_statements, _sees_no_frame, _is_measured),
    *(_shares_no_name, _captures_no_change, _binds_nothing_captured, _leaves_names_local, _is_caught_whole),
)


def _listed(names: Names | set[str]) -> str:
    return ", ".join(sorted(names))
