"""Find odd code: it contradicts a check or itself, is unlike other code of the project, or uses a method as a value.

An edit that introduces odd code is probably wrong, and an edit that removes odd code is probably right: in 37 packages
with 15,999 functions, 251 places are odd; of 212 small mistakes that were inserted there, 19 make more places odd, and
none makes fewer odd (tests/bench/real/odd.py).
"""

from __future__ import annotations

import ast
import builtins
import copy
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from coderefine.proposers.search.ingredients import OddNodes, ProjectContext
from coderefine.proposers.search.normal_form import INVERSE
from coderefine.proposers.search.syntax import JUMPS, Function, own_nodes
from coderefine.proposers.search.value_kinds import dotted, is_none, number_of
from coderefine.source import bound_names, last_name

NONE, SOME, EMPTY = "None", "not None", "empty, or None"
"""What a check can show about the value of a variable."""
READING = frozenset(("group", "groups", "start", "end", "span", "pop", "popleft", "split", "strip", "items", "values"))
"""Methods that are useless, or raise an exception, if the value is None or empty."""
CATCHING = tuple(getattr(ast, name) for name in ("Try", "TryStar", "With", "AsyncWith", "Match") if hasattr(ast, name))
"""Statements that may catch an exception or check a value in their own way; `TryStar` is new in Python 3.11."""
FEWEST, USUAL = 3, 0.9
"""An argument is unusual if at least FEWEST other calls have arguments of a known kind at the same position, at least
the share USUAL of these arguments have one kind, and none has the kind of this argument."""
LEAST = {"len": 0, "count": 0, "find": -1, "rfind": -1}
"""Functions and methods with their least possible result."""
MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.Eq, ast.NotEq: ast.NotEq, ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE,
}  # fmt: skip
"""Operators of comparisons with the operators that have the same result after an exchange of the two sides."""
CLASS, VARIABLE = "class", "variable"
KINDS: dict[type[object], str] = {str: "text", bytes: "bytes", bool: "number", int: "number", float: "number"}
ALIKE = 2
"""A condition is odd if at least ALIKE of the conditions beside it have the opposite form, and none has its form."""
SUBJECTS = 3
"""A condition that tests another value than those beside it is odd if at least SUBJECTS of these test one value."""
TWICE = frozenset(("get", "getattr", "setdefault", "zip", "zip_longest", "product", "join", "replace"))
"""Functions to which the same variable is often passed twice: `names.get(name, name)`."""
MOST_NODES = 4000
"""Maximum size of a function that is examined, in nodes: the time grows with its square."""


def odd_nodes(function: ast.AST, world: ProjectContext) -> tuple[ast.AST, ...]:
    """Return the odd nodes of a function of the project: see the module's docstring.

    These are checks that other code contradicts, conditions unlike those beside them, calls with unusual arguments,
    comparisons with one possible result, and methods that are used as values. A node that is odd for several reasons
    occurs several times. Return () if the function has more than MOST_NODES nodes.
    """
    return tuple(node for nodes in _odd_in_project(function, world).values() for node in nodes)


def _odd_in_project(function: ast.AST, world: ProjectContext) -> OddNodes:
    """Return `odd_by_kind` of a function of the project, which is computed once; nothing for a very large function."""
    if function not in world.odd:
        world.odd[function] = odd_by_kind(function, world, function) if _small(function) else {}
    return world.odd[function]


def odd_by_kind(function: ast.AST, world: ProjectContext, original: ast.AST) -> OddNodes:
    """Return the odd nodes of `function` by kind: "check", "condition", "call", "comparison" or "method".

    `original`: see `unusual_calls`.
    """
    return {
        "check": tuple(contradicted_checks(function)),
        "condition": tuple(lone_conditions(function)),
        "call": tuple(unusual_calls(function, world, original)),
        "comparison": tuple(settled_comparisons(function)),
        "method": tuple(uncalled_methods(function, world)),
    }


def improvement(before: ast.AST, after: ast.AST, world: ProjectContext) -> int:
    """Return 1 if fewer places of a function are odd after a change, -1 if more are, else 0.

    If there are more odd places of one kind (see `odd_by_kind`) and fewer of another, return -1. Return 0 if odd places
    vanish only because the change removes code: a check, a use of a checked variable, a condition, a call, a comparison
    or an operand. Also return 0 if the function has more than MOST_NODES nodes. `before`: a function of the project.
    """
    if not (_small(before) and _small(after)):
        return 0
    checked = _checked(before)
    kept = {
        "check": not checked - _checked(after) and not _uses(before, checked) - _uses(after, checked),
        "condition": _alike(after) > _alike(before),
        "call": _calls(after) >= _calls(before),
        "comparison": _comparisons(after) >= _comparisons(before),
        "method": len(list(_operands(after))) >= len(list(_operands(before))),
    }
    was, now = _odd_in_project(before, world), odd_by_kind(after, world, before)
    signs = [_sign(len(was[kind]), len(now[kind]), kept=kept[kind]) for kind in kept]
    return min(signs) or max(signs)


def _small(function: ast.AST) -> bool:
    return sum(1 for _ in ast.walk(function)) <= MOST_NODES


def _sign(was: int, now: int, *, kept: bool) -> int:
    return int(kept) if now < was else -int(now > was)


def _checked(function: ast.AST) -> Counter[str]:
    """Count, for each variable, the conditions that check whether it is None or empty."""
    return Counter(name for test in _conditions(function) for true in (True, False) for name in known(test, true=true))


def _conditions(function: ast.AST) -> list[ast.expr]:
    """Return the conditions of `if`, `while` and conditional expressions, and Boolean operations outside of these."""
    nodes = list(ast.walk(function))
    tests = [node.test for node in nodes if isinstance(node, ast.If | ast.While | ast.IfExp)]
    inside = {id(node) for test in tests for node in ast.walk(test)}
    return [*tests, *(node for node in nodes if isinstance(node, ast.BoolOp) and id(node) not in inside)]


def _uses(function: ast.AST, names: Iterable[str]) -> Counter[str]:
    """Count, for each of the variables `names`, its uses that need a value other than None."""
    nodes = list(ast.walk(function))
    return Counter(name for name in names for node in nodes if _needs_value(node, name))


def _alike(function: ast.AST) -> int:
    """Return the number of conditions that have the same form as another one beside them."""
    rows = ([_form(test) for test in tests] for node in ast.walk(function) for tests in _rows(node))
    return sum(row.count(form) > 1 for row in rows for form in row)


def _calls(function: ast.AST) -> int:
    return sum(isinstance(node, ast.Call) for node in ast.walk(function))


# -- checks -----------------------------------------------------------------------------------------------


def contradicted_checks(function: ast.AST) -> Iterator[ast.AST]:
    """Yield a check once for each use of a variable that contradicts it: `x.name` after `if x is not None: return`.

    Also yield a check that a variable is not None if another value is stored in the variable before it is used, as in
    `if x is not None: x = []`.
    """
    for node in ast.walk(function):
        match node:
            case ast.IfExp(test=test, body=body, orelse=orelse):
                yield from _contradicted(test, [body], true=True)
                yield from _contradicted(test, [orelse], true=False)
            case ast.BoolOp(op=operator, values=values):
                for at, value in enumerate(values[:-1]):
                    yield from _contradicted(value, values[at + 1 :], true=isinstance(operator, ast.And))
        for block in _blocks(node):
            yield from _contradicted_in(block)


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    blocks = (getattr(node, name, None) for name in ("body", "orelse", "finalbody"))
    return (block for block in blocks if isinstance(block, list))


def _contradicted_in(block: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    for at, stmt in enumerate(block):
        if not isinstance(stmt, ast.If | ast.While):
            continue
        yield from _contradicted(stmt.test, stmt.body, true=True)
        yield from _overwritten(stmt.test, stmt.body)
        if isinstance(stmt, ast.If):
            jumps = not stmt.orelse and isinstance(stmt.body[-1], JUMPS)
            yield from _contradicted(stmt.test, block[at + 1 :] if jumps else stmt.orelse, true=False)


def known(test: ast.expr, *, true: bool) -> dict[str, str]:
    """Return NONE, SOME or EMPTY for each variable (`x`, `x.name`) about whose value `test` says something.

    `true`: the assumed result of `test`.
    """
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return known(operand, true=not true)
        case ast.BoolOp(op=operator, values=values) if isinstance(operator, ast.And) is true:
            return {name: state for value in values for name, state in known(value, true=true).items()}
        case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot() as operator], comparators=[right]) if is_none(right):
            name = dotted(left)
            return {name: NONE if isinstance(operator, ast.Is) is true else SOME} if name else {}
    name = dotted(test)
    return {name: EMPTY} if name and not true else {}


def _contradicted(test: ast.expr, code: Iterable[ast.AST], *, true: bool) -> Iterator[ast.AST]:
    """Yield `test` for each use in `code` of a variable that is None or empty if the result of `test` is `true`.

    Only uses before the first statement that may change the variable, or checks it, count.
    """
    for name, state in known(test, true=true).items():
        if state != SOME and not any(_changes(node, name, state) for node in ast.walk(test)):
            wrong = _needs_value if state == NONE else _needs_items
            yield from (test for node in _unchanged(code, name, state) if wrong(node, name))


def _unchanged(code: Iterable[ast.AST], name: str, state: str) -> Iterator[ast.AST]:
    """Yield the nodes of the statements before the first one that may change the variable, or checks it.

    `state`: what is known of the value, NONE or EMPTY.
    """
    for part in code:
        nodes = list(ast.walk(part))
        if any(_changes(node, name, state) or _checks(node, name) for node in nodes):
            return
        yield from nodes


def _changes(node: ast.AST, name: str, state: str) -> bool:
    """Return whether `node` may give the variable another value or, if `state` is EMPTY, may fill it."""
    first, _, rest = name.partition(".")
    match node:
        case ast.Attribute(attr=stored, ctx=ast.Store() | ast.Del()):
            return stored in rest.split(".")
        case ast.Subscript(value=value, ctx=ast.Store() | ast.Del()):
            return dotted(value) == name
        case ast.Call():
            return bool(rest) or (state == EMPTY and _may_fill(node, name))
        case ast.Await() | ast.Yield() | ast.YieldFrom():
            return state == EMPTY or bool(rest)
        case ast.Lambda():
            return True
    return not isinstance(node, ast.keyword) and first in bound_names(node)


def _may_fill(call: ast.Call, name: str) -> bool:
    """Return whether the call may fill a collection: `rows.append(1)`, `fill(rows)`, but not `rows.pop()`.

    Keyword arguments and `*rows` are ignored.
    """
    given = (*call.args, getattr(call.func, "value", call.func))
    return not _needs_items(call, name) and any(dotted(one) == name for one in given)


def _checks(node: ast.AST, name: str) -> bool:
    """Return whether `node` has a condition on the variable, or is a statement in CATCHING."""
    match node:
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test) | ast.Assert(test=test):
            return _mentions(ast.walk(test), name)
        case ast.BoolOp():
            return _mentions(ast.walk(node), name)
        case ast.comprehension(ifs=tests):
            return any(_mentions(ast.walk(test), name) for test in tests)
    return isinstance(node, CATCHING)


def _mentions(nodes: Iterable[ast.AST], name: str) -> bool:
    return any(dotted(node) == name for node in nodes)


def _needs_value(node: ast.AST, name: str) -> bool:
    """Return whether `node` uses the variable in a way that usually raises an exception if the variable is None."""
    match node:
        case ast.Attribute(value=value, attr=attribute) if not attribute.startswith("__"):
            return dotted(value) == name
        case ast.Subscript(value=value) | ast.Starred(value=value):
            return dotted(value) == name
        case ast.BinOp(left=left, right=right) if not isinstance(node.op, ast.Mod | ast.BitOr):
            return name in (dotted(left), dotted(right))
    return _needs_items(node, name)


def _needs_items(node: ast.AST, name: str) -> bool:
    """Return whether `node` uses the variable in a way that is useless, or fails, if the variable is empty or None."""
    match node:
        case ast.Subscript(value=value, slice=index, ctx=ast.Load()) if not isinstance(index, ast.Slice):
            return dotted(value) == name
        case ast.Call(func=ast.Attribute(value=value, attr=method)) if method in READING:
            return dotted(value) == name
        case ast.Call(func=value) | ast.For(iter=value) | ast.comprehension(iter=value):
            return dotted(value) == name
    return False


def _overwritten(test: ast.expr, block: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """Yield `test` if it shows that a variable is not None, but the variable gets another value before it is used.

    That is, the first statement of `block` with the variable assigns to it. A test that mentions the variable twice is
    left out: `if limit is not None and limit < 0: limit = 0`.
    """
    every = sorted((stmt for top in block for stmt in ast.walk(top) if isinstance(stmt, ast.stmt)), key=_line)
    given = Counter(dotted(node) for node in ast.walk(test))
    for name, state in known(test, true=True).items():
        if state == SOME and given[name] == 1 and _replaces(_first(every, name), name):
            yield test


def _first(stmts: Iterable[ast.stmt], name: str) -> ast.stmt | None:
    """Return the first statement that mentions the variable outside its nested statements; None if there is none."""
    return next((stmt for stmt in stmts if _mentions(own_nodes(stmt), name)), None)


def _line(stmt: ast.stmt) -> int:
    return stmt.lineno


def _replaces(stmt: ast.stmt | None, name: str) -> bool:
    """Return whether a statement assigns a value other than None to the variable `name`, without reading the variable.

    If the variable is an attribute, reading its object counts, too, because a method may read the attribute.
    """
    match stmt:
        case ast.Assign(targets=[target], value=value) if dotted(target) == name:
            first = name.partition(".")[0]
            return not is_none(value) and not any(
                isinstance(one, ast.Name) and one.id == first for one in ast.walk(value)
            )
    return False


# -- conditions -------------------------------------------------------------------------------------------


def lone_conditions(function: ast.AST) -> Iterator[ast.AST]:
    """Yield the conditions that have the opposite form of those beside them: `a != 2` in `a == 1 or a != 2 or a == 3`.

    Also yield the conditions that test another value than those beside them, see `_lone_subjects`. Conditions are
    beside each other in a chain of `if` and `elif` (without its last condition), in successive `if` statements, and in
    a Boolean operation.
    """
    every = list(ast.walk(function))
    branches = {id(stmt) for node in every if isinstance(node, ast.If) for stmt in node.orelse[:1]}
    rows = (tests for node in every if id(node) not in branches for tests in _rows(node))
    return (test for tests in rows for test in (*_lone(tests), *_lone_subjects(tests)))


def _lone_subjects(tests: Sequence[ast.expr]) -> Iterator[ast.expr]:
    """Yield the condition that tests another value than the others, if at least SUBJECTS others test the same value.

    Only conditions that call the same function, or compare with the same operator, are considered together.
    """
    by_form: dict[str, dict[str, list[ast.expr]]] = {}
    for test in tests:
        match test:
            case ast.Call(func=function, args=[subject, _]) | ast.Compare(left=subject, ops=[function]):
                by_form.setdefault(ast.dump(function), {}).setdefault(ast.dump(subject), []).append(test)
    for subjects in by_form.values():
        fewest, *others = sorted(subjects.values(), key=len)
        if len(fewest) == len(others) == 1 and len(others[0]) >= SUBJECTS:
            yield fewest[0]


def _lone(tests: Sequence[ast.expr]) -> Iterator[ast.expr]:
    forms = [_form(test) for test in tests]
    for test, form in zip(tests, forms, strict=True):
        if forms.count(form) == 1 and any(forms.count(_form(one)) >= ALIKE for one in _opposites(test)):
            yield test


def _rows(node: ast.AST) -> Iterator[list[ast.expr]]:
    """Yield each list of conditions in `node` that are beside each other, see `lone_conditions`."""
    if isinstance(node, ast.BoolOp):
        yield node.values
    if isinstance(node, ast.If):
        chain = [node]
        while len(chain[-1].orelse) == 1 and isinstance(chain[-1].orelse[0], ast.If):
            chain.append(chain[-1].orelse[0])
        yield [one.test for one in chain[:-1]]
    for block in _blocks(node):
        row: list[ast.expr] = []
        for stmt in block:
            if isinstance(stmt, ast.If) and not stmt.orelse:
                row.append(stmt.test)
            else:
                yield row
                row = []
        yield row


def _opposites(test: ast.expr) -> Iterator[ast.expr]:
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.Compare(left=left, ops=[operator], comparators=others):
            yield ast.Compare(left, [INVERSE[type(operator)]()], others)
        case ast.Call() | ast.Name() | ast.Attribute():
            yield ast.UnaryOp(ast.Not(), test)


def _form(test: ast.expr) -> str:
    """Return the dump of a condition with 0 in place of each literal, except None and the indices of subscripts.

    Conditions with equal dumps have the same form. If the condition is nested too deeply, return a unique text.
    """
    try:
        return ast.dump(_Masked().visit(copy.deepcopy(test)))
    except RecursionError:
        return str(id(test))


class _Masked(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return node if node.value is None else ast.Constant(0)

    def visit_Subscript(self, node: ast.Subscript) -> ast.Subscript:
        node.value = self.visit(node.value)
        return node

    def visit_List(self, node: ast.List) -> ast.Constant:  # noqa: ARG002
        return ast.Constant(0)

    def visit_Tuple(self, node: ast.Tuple) -> ast.Constant:  # noqa: ARG002
        return ast.Constant(0)

    def visit_Set(self, node: ast.Set) -> ast.Constant:  # noqa: ARG002
        return ast.Constant(0)


# -- comparisons ------------------------------------------------------------------------------------------


def _comparisons(function: ast.AST) -> int:
    return sum(isinstance(node, ast.Compare) for node in ast.walk(function))


def settled_comparisons(function: ast.AST) -> Iterator[ast.AST]:
    """Yield the comparisons with a number that have the same result for all possible values of the other side.

    Examples are `x % 3 != -1`, `len(x) >= 0` and `text.find(part) < -1`. Honest code does not
    contain them: 12,572 functions of real projects have none.
    """
    for node in ast.walk(function):
        if any(is_settled(value, operator, number_of(limit)) for value, operator, limit in sides(node)):
            yield node


def sides(node: ast.AST | None) -> tuple[tuple[ast.expr, type[ast.cmpop] | None, ast.expr], ...]:
    """Return a comparison as (left, operator, right) and (right, mirrored operator, left); () for other nodes.

    The operator is None if it has no mirrored one.
    """
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            return (left, type(operator), right), (right, MIRRORED.get(type(operator)), left)
    return ()


def is_settled(value: ast.expr, operator: type[ast.cmpop] | None, limit: float | None) -> bool:
    """Return whether the comparison of `value` with `limit` surely has the same result for all possible values."""
    bounds = least_and_most(value)
    if bounds is None or limit is None:
        return False
    least, most = bounds
    if operator in (ast.Eq, ast.NotEq):
        return not least <= limit <= most
    if operator in (ast.Lt, ast.GtE):
        return limit <= least or limit > most
    return operator in (ast.LtE, ast.Gt) and (limit < least or limit >= most)


def least_and_most(node: ast.expr) -> tuple[float, float] | None:
    """Return the least and the most possible value of `node`; None if they are unknown."""
    match node:
        case ast.BinOp(op=ast.Mod(), right=right) if (divisor := number_of(right)) and divisor > 0:
            return 0, math.nextafter(divisor, 0)  # the value may be a float
        case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(attr=name)) if name in LEAST:
            return LEAST[name], math.inf
    return None


# -- methods ----------------------------------------------------------------------------------------------


def uncalled_methods(function: ast.AST, world: ProjectContext) -> Iterator[ast.AST]:
    """Yield the methods of `self` that are compared, calculated with, or subscripted, as in `self.end in rows`.

    Identity is a usual comparison of methods. None of 20,887 functions of real projects contains such a use.
    """
    for node in _operands(function):
        match node:
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name) if name in world.classes.only_methods:
                yield node


def _operands(function: ast.AST) -> Iterator[ast.expr]:
    """Yield the operands of arithmetic operations and of comparisons other than `is`, and the subscripted values."""
    for node in ast.walk(function):
        match node:
            case ast.Compare(left=left, ops=operators, comparators=others):
                if not any(isinstance(one, ast.Is | ast.IsNot) for one in operators):
                    yield from (left, *others)
            case ast.BinOp(left=left, right=right):
                yield from (left, right)
            case ast.Subscript(value=value):
                yield value


# -- arguments --------------------------------------------------------------------------------------------


def unusual_calls(function: ast.AST, world: ProjectContext, original: ast.AST) -> Iterator[ast.AST]:
    """Yield a call of `function` once for each unusual argument, that is:

    - a variable with the name of another parameter of the called function;
    - a parameter of `function` in place of another one that has the right name and is not passed:
      `def read(size, timeout): fetch(timeout=size)`;
    - an argument of another kind than in other calls, see `_of_other_kind`;
    - a variable that an earlier argument of the same call passes, too.

    `original`: the function in the project's tree of which `function` is a new version; its calls do not count as other
    calls.
    """
    own, here = set[str](), ""
    if isinstance(function, Function):
        own, here = {one.arg for one in _positional(function.args)} - {"self", "cls"}, function.name
    mine = _kinds_of(node for node in ast.walk(original) if isinstance(node, ast.Call))
    for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
        name = last_name(call.func)
        misplaced = list(_misplaced(call, world.signatures.get(name, ()), own)) if name != here else []
        unlike = list(_of_other_kind(call, name, world, mine))
        repeated = _repeated(call) if name not in TWICE else 0
        yield from [call] * (len(misplaced) + len(unlike) + repeated)


def _repeated(call: ast.Call) -> int:
    """Return how many positional arguments pass a variable that an earlier one passes, too."""
    passed = [dotted(one) for one in call.args if _kind(one) == VARIABLE]
    return len(passed) - len(set(passed))


def _misplaced(call: ast.Call, signatures: Sequence[ast.arguments], own: set[str]) -> Iterator[ast.AST]:
    """Yield the variables that are passed for a parameter with another name: the first two cases of `unusual_calls`.

    `own`: the parameters of the calling function. In 23 packages, 7,014 arguments with the name of a parameter of the
    called function are passed for this parameter, and 223 for another one. If the calling function has a parameter of
    the right name and passes one of its parameters, it passes that one in 4,960 cases, and another one in 109.
    """
    parameters = _parameters(call, signatures)
    passed = list(_passed(call, parameters))
    missing = own - {value.id for _, value in passed}
    for parameter, value in passed:
        elsewhere = value.id in parameters or (value.id in own and parameter in missing)
        if elsewhere and value.id != parameter:
            yield value


def _parameters(call: ast.Call, signatures: Sequence[ast.arguments]) -> list[str]:
    """Return the positional parameters of the called function without `self` and `cls`.

    Return [] if no signature fits the call, or if several fit whose parameters differ.
    """
    fitting = [[one.arg for one in _positional(found)] for found in signatures if _fits(call, found)]
    if not fitting or any(other != fitting[0] for other in fitting):
        return []
    return fitting[0][fitting[0][:1] in (["self"], ["cls"]) :]


def _positional(arguments: ast.arguments) -> list[ast.arg]:
    return [*arguments.posonlyargs, *arguments.args]


def _fits(call: ast.Call, arguments: ast.arguments) -> bool:
    """Return whether the call may be a call of a function with these parameters.

    A function with `self` or `cls` is called as a method; a class is called like a function, but its `__init__` has
    `self`. Return False for `Base.method(self, …)`, and if a function without `self` is called through an attribute.
    """
    names = [one.arg for one in _positional(arguments)]
    method = names[:1] in (["self"], ["cls"])
    through = isinstance(call.func, ast.Attribute)
    base = dotted(call.func).rpartition(".")[0].rpartition(".")[2]
    if method and (base[:1].isupper() or (not through and not last_name(call.func)[:1].isupper())):
        return False
    return method >= through and len(call.args) <= len(names) - method


def _passed(call: ast.Call, parameters: Sequence[str]) -> Iterator[tuple[str, ast.Name]]:
    """Yield (parameter, variable) for each argument that is a variable and whose parameter is known."""
    given = [*zip(parameters, _plain(call.args), strict=False), *((one.arg, one.value) for one in call.keywords)]
    return ((name, value) for name, value in given if name and isinstance(value, ast.Name))


def _plain(arguments: Sequence[ast.expr]) -> Iterator[ast.expr]:
    """Yield the arguments before the first `*args`."""
    for one in arguments:
        if isinstance(one, ast.Starred):
            return
        yield one


Position = tuple[str, int]
"""Name of a called function, and index of an argument."""


def _kinds_of(calls: Iterable[ast.Call]) -> dict[Position, Counter[str]]:
    """Count the kinds of the arguments of `calls` by position."""
    found: dict[Position, Counter[str]] = {}
    for call in calls:
        for at, value in enumerate(_plain(call.args)):
            found.setdefault((last_name(call.func), at), Counter())[_kind(value)] += 1
    return found


def _of_other_kind(
    call: ast.Call, name: str, world: ProjectContext, mine: Mapping[Position, Counter[str]]
) -> Iterator[ast.AST]:
    """Yield the arguments whose kind no other call has at this position, although most have one and the same kind.

    The kind VARIABLE is compared only with CLASS. `name`: the unqualified name of the called function. `mine`: the
    kinds in calls that do not count as other calls.
    """
    if name and name not in world.kinds:
        world.kinds[name] = _kinds_of(world.calls.get(name, ()))
    for at, value in enumerate(_plain(call.args) if name else ()):
        kind = _kind(value)
        kinds = world.kinds[name].get((name, at), Counter()) - mine.get((name, at), Counter())
        del kinds[""]
        usual = _usual(kinds)
        comparable = CLASS in (kind, usual) or VARIABLE not in (kind, usual)
        if kind and usual and kind not in kinds and comparable:
            yield value


def _usual(kinds: Counter[str]) -> str:
    """Return the kind that at least the share USUAL of the arguments has; "" if there is none.

    `kinds`: number of arguments by kind, without those of unknown kind (""). There must be at least FEWEST.
    """
    for kind, number in kinds.most_common(1):
        if kinds.total() >= FEWEST and number >= USUAL * kinds.total():
            return kind
    return ""


def _kind(node: ast.expr) -> str:
    """Return the kind of a literal, CLASS for a name like `ValueError` or a tuple of these, VARIABLE for other names.

    Return "" for None, for names in capitals like `KINDS`, and for other expressions.
    """
    match node:
        case ast.JoinedStr():
            return "text"
        case ast.Constant(value=value):
            return KINDS.get(type(value), "")
        case ast.Tuple(elts=[_, *_] as items):
            return CLASS if {_kind(item) for item in items} == {CLASS} else ""
    name = dotted(node).rpartition(".")[2].lstrip("_")
    if name.isupper():
        return ""
    return CLASS if name[:1].isupper() or isinstance(getattr(builtins, name, None), type) else VARIABLE if name else ""
