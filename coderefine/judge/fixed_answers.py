"""Find branches that return a constant for a constant input: `if`, `match`, `while`, conditional expressions, `and`.

The first half of this module finds the literals that an input must equal, so that a condition is true or a pattern of
`match` matches. The second half finds the branches.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice, product

from coderefine.judge.change import positional
from coderefine.judge.constant_folding import Names, NotLiteralError, fold
from coderefine.judge.test_literals import Key, key_of, made_key
from coderefine.source import Function, last_name

Inputs = tuple[tuple[str, Key], ...]
"""A conjunction of checks: pairs (dump of an expression, literal that it must equal)."""
MOST = 64
DISPLAYS = ast.Tuple | ast.List | ast.Set
CONDITIONS = ast.Compare | ast.BoolOp | ast.UnaryOp | ast.Call
SAME, OTHER = ast.Eq | ast.Is, ast.NotEq | ast.IsNot
COMPARING = {"eq": ast.Eq, "__eq__": ast.Eq, "ne": ast.NotEq, "__ne__": ast.NotEq}
CONTAINING = ("contains", "__contains__", "count")
GIVING = ("append", "print", "write")
"""Functions whose argument may be the answer."""
LEAVING = ast.Return | ast.Raise | ast.Continue | ast.Break


def ways(test: ast.expr, names: Names, *, true: bool = True) -> tuple[Inputs, ...]:
    """Return the alternatives that make `test` true, each a conjunction of checks; () if it checks no input.

    `names`: expressions by name. With `true=False`, return the alternatives that make `test` false.
    """
    plain = _plain(test)
    if plain is not test:
        return ways(plain, names, true=true)
    match test:
        case ast.Name(id=name) if isinstance(names.get(name), CONDITIONS):
            return ways(names[name], _without(name, names), true=true)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return ways(operand, names, true=not true)
        case ast.BoolOp(op=operator, values=parts):
            found = [ways(part, names, true=true) for part in parts]
            return _all(found) if isinstance(operator, ast.And) is true else tuple(chain.from_iterable(found))
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            return _compared(left, operator if true else _opposite(operator), right, names)
    return ()


def _mentioned(test: ast.expr, names: Names) -> Inputs:
    """Return all checks in `test`, whether they are negated or not, and however they are combined."""
    parts = [node for node in ast.walk(test) if isinstance(node, CONDITIONS | ast.Name)]
    every = (way for part in parts for true in (True, False) for way in ways(part, names, true=true))
    return tuple(chain.from_iterable(every))


def _without(name: str, names: Names) -> Names:
    """Return `names` without `name`, whose expression may contain `name` itself."""
    return {other: value for other, value in names.items() if other != name}


def _all(found: Iterable[tuple[Inputs, ...]]) -> tuple[Inputs, ...]:
    return tuple(filter(None, all_at_once(found)))


def _opposite(operator: ast.cmpop) -> ast.cmpop:
    if isinstance(operator, OTHER):
        return ast.Eq()
    return ast.In() if isinstance(operator, ast.NotIn) else ast.NotEq()


def _compared(left: ast.expr, operator: ast.cmpop, right: ast.expr, names: Names) -> tuple[Inputs, ...]:
    if isinstance(operator, SAME):
        return _equal(left, right, names)
    return _member(left, right, names) if isinstance(operator, ast.In) else ()


def _plain(test: ast.expr) -> ast.expr:
    """Return an equivalent of `test` that is made of comparisons; `test` itself if it need not be changed.

    This is `x != 5` for `x - 5`, `x == 5` for `eq(x, 5)` and `bool(x == 5)`, `4 < x and x == 5` for `4 < x == 5`.
    """
    match test:
        case ast.Call():
            return _called(test)
        case ast.BinOp(left=left, op=ast.Sub() | ast.BitXor(), right=right):
            return ast.Compare(left, [ast.NotEq()], [right])
        case ast.Compare(left=left, ops=[_, _, *_] as ops, comparators=others):
            sides = [left, *others]
            return ast.BoolOp(
                ast.And(), [ast.Compare(sides[at], [operator], [sides[at + 1]]) for at, operator in enumerate(ops)]
            )
        case ast.Compare(left=left, ops=[operator], comparators=[ast.Constant(value=value)]):
            return _of_constant(test, left, operator, value)
    return test


def _of_constant(test: ast.expr, left: ast.expr, operator: ast.cmpop, value: object) -> ast.expr:
    """Simplify the comparison of a condition with True or False, or of a difference with 0.

    `(x == 5) is True` becomes `x == 5`; `x - 5 == 0` becomes `x == 5`. Other comparisons are returned unchanged.
    """
    same = isinstance(operator, SAME)
    if not same and not isinstance(operator, OTHER):
        return test
    if isinstance(value, bool) and isinstance(left, CONDITIONS):
        return left if value is same else ast.UnaryOp(ast.Not(), left)
    if value == 0 and isinstance(left, ast.BinOp) and isinstance(left.op, ast.Sub | ast.BitXor):
        return ast.Compare(left.left, [operator], [left.right])
    return test


def _called(test: ast.Call) -> ast.expr:
    name, args = last_name(test.func), test.args
    match args:
        case [inner] if name == "bool":
            return inner
        case [ast.Tuple(elts=parts) | ast.List(elts=parts)] if name in ("any", "all"):
            return ast.BoolOp(ast.Or() if name == "any" else ast.And(), parts)
    sides = [test.func.value, *args] if isinstance(test.func, ast.Attribute) and len(args) == 1 else args
    if len(sides) == 2 and name in COMPARING:
        return ast.Compare(sides[0], [COMPARING[name]()], [sides[1]])
    if len(sides) == 2 and name in CONTAINING:
        return ast.Compare(sides[1], [ast.In()], [sides[0]])
    return test


def _equal(left: ast.expr, right: ast.expr, names: Names) -> tuple[Inputs, ...]:
    if isinstance(left, DISPLAYS) and isinstance(right, DISPLAYS) and len(left.elts) == len(right.elts):
        return tuple(
            filter(None, all_at_once(_equal(*pair, names) for pair in zip(left.elts, right.elts, strict=True)))
        )
    return (*_checks(left, right, names), *_checks(right, left, names))


def _checks(subject: ast.expr, other: ast.expr, names: Names) -> tuple[Inputs, ...]:
    found = literal(other, names)
    return (((ast.dump(subject), found),),) if found and not literal(subject, names) else ()


def _member(left: ast.expr, right: ast.expr, names: Names) -> tuple[Inputs, ...]:
    if isinstance(right, DISPLAYS):
        return tuple(chain.from_iterable(_equal(left, item, names) for item in right.elts))
    try:
        items = fold(right, names)
    except NotLiteralError:
        return ()
    if not isinstance(items, Collection) or isinstance(items, str | bytes):
        return ()
    return tuple(((ast.dump(left), key_of(item)),) for item in items)


def pattern_ways(subject: ast.expr, pattern: ast.pattern, names: Names) -> tuple[Inputs, ...]:
    """Return the alternatives, each a conjunction of checks, under which `subject` matches `pattern`.

    Return () if the pattern checks no input.
    """
    match pattern:
        case ast.MatchValue(value=value):
            return _equal(subject, value, names)
        case ast.MatchSingleton(value=value):
            return _equal(subject, ast.Constant(value), names)
        case ast.MatchOr(patterns=patterns):
            return tuple(way for item in patterns for way in pattern_ways(subject, item, names))
        case ast.MatchAs(pattern=ast.pattern() as inner) | ast.MatchClass(patterns=[inner]):
            return pattern_ways(subject, inner, names)
        case ast.MatchSequence() | ast.MatchMapping():
            parts = _parts(subject, pattern)
            return _all(pattern_ways(*part, names) for part in parts)
    return ()


def _parts(subject: ast.expr, pattern: ast.MatchSequence | ast.MatchMapping) -> Iterator[tuple[ast.expr, ast.pattern]]:
    """Yield the elements that `pattern` matches, each with its own pattern."""
    if isinstance(pattern, ast.MatchSequence):
        keys: list[ast.expr] = [ast.Constant(place) for place in range(len(pattern.patterns))]
    else:
        keys = pattern.keys
    for name, inner in zip(keys, pattern.patterns, strict=True):
        yield ast.Subscript(subject, name, ast.Load()), inner


def all_at_once(conditions: Iterable[tuple[Inputs, ...]]) -> tuple[Inputs, ...]:
    """Return the combinations of alternatives under which all `conditions` are true, at most MOST.

    A condition without alternatives checks no input, and is taken to be true.
    """
    every = product(*(one or ((),) for one in conditions))
    return tuple(tuple(chain.from_iterable(way)) for way in islice(every, MOST))


def literal(node: ast.expr | None, names: Names) -> Key | None:
    """Return the key of a literal, of a new object made of literals, or of a raised exception; else None."""
    if isinstance(node, ast.NamedExpr):
        node = node.value
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        node = names.get(node.attr, node)  # an attribute of a class
    if node is None:
        return None
    raised = node.func if isinstance(node, ast.Call) else node
    name = raised.id if isinstance(raised, ast.Name) else ""
    if name.endswith(("Error", "Exception", "Exit", "Iteration")):
        return f"raise:{name}"
    try:
        return made_key(node, names)
    except NotLiteralError:
        return None


@dataclass(frozen=True, slots=True)
class FixedAnswer:
    """A branch: `function` ("" at module level) returns `out` if all checks in `inputs` are true.

    `needs`: the function's required parameters. `line`: where `out` is returned.
    """

    function: str
    needs: frozenset[str]
    inputs: Inputs
    out: Key
    line: int

    @property
    def given(self) -> frozenset[Key]:
        return frozenset(literal for _, literal in self.inputs)

    @property
    def subjects(self) -> frozenset[str]:
        return frozenset(subject for subject, _ in self.inputs)

    @property
    def place(self) -> tuple[str, int, Key]:
        """Return a key that is the same for all alternatives of one condition (`in`, `or`)."""
        return self.function, self.line, self.out

    @property
    def case(self) -> tuple[frozenset[Key], Key]:
        """Return the input and output literals."""
        return self.given, self.out

    @property
    def kinds(self) -> tuple[frozenset[str], str]:
        """Return the types of the input and output literals."""
        return frozenset(literal.partition(":")[0] for literal in self.given), self.out.partition(":")[0]


@dataclass(frozen=True, slots=True)
class _Place:
    """Context of a statement: its function and the conditions under which it runs.

    `names`: expressions by name. `mentioned`: see `branches`.
    """

    names: Names
    mentioned: bool = False
    function: str = ""
    needs: frozenset[str] = frozenset()
    ways: tuple[Inputs, ...] = ((),)

    def within(self, name: str, needs: frozenset[str] = frozenset()) -> _Place:
        return replace(self, function=f"{self.function}.{name}" if self.function else name, needs=needs, ways=((),))

    def under(self, test: ast.expr, *, true: bool = True) -> _Place:
        if self.mentioned:
            return self.where((_mentioned(test, self.names),))
        return self.where(ways(test, self.names, true=true))

    def where(self, checks: tuple[Inputs, ...]) -> _Place:
        return replace(self, ways=all_at_once([self.ways, checks]))

    def branches(self, out: ast.expr | None, line: int) -> Iterator[FixedAnswer]:
        found = literal(out, self.names)
        if found:
            yield from (FixedAnswer(self.function, self.needs, inputs, found, line) for inputs in self.ways if inputs)


def branches(tree: ast.Module | None, names: Names, *, mentioned: bool = False) -> Iterator[FixedAnswer]:
    """Yield all branches of `tree` that return a constant for a constant input. `names`: expressions by name.

    `mentioned`: yield each constant result with all checks that its conditions contain, whether these have to be true
    or false: both results of `1 if x != 5 else 2` then have the input 5.
    """
    if tree is not None:
        yield from _block(tree.body, _Place(names, mentioned))


def _block(body: list[ast.stmt], place: _Place) -> Iterator[FixedAnswer]:
    for node in body:
        if isinstance(node, Function):
            every = positional(node)
            required = every[: len(every) - len(node.args.defaults)]
            yield from _block(node.body, place.within(node.name, frozenset(required) - {"self", "cls"}))
        elif isinstance(node, ast.ClassDef):
            yield from _block(node.body, place.within(node.name))
        elif isinstance(node, ast.If | ast.While):
            otherwise = place.under(node.test, true=False)
            yield from _block(node.body, place.under(node.test))
            yield from _block(node.orelse, otherwise)
            if isinstance(node.body[-1], LEAVING):
                place = otherwise  # what follows runs in place of an `else`
        elif isinstance(node, ast.Match):
            yield from _match(node, place)
        else:
            yield from _simple(node, place)


def _match(node: ast.Match, place: _Place) -> Iterator[FixedAnswer]:
    for case in node.cases:
        inner = place.where(pattern_ways(node.subject, case.pattern, place.names))
        yield from _block(case.body, inner.under(case.guard) if case.guard else inner)
        if case.guard and isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None:
            place = place.under(case.guard, true=False)


def _simple(node: ast.stmt, place: _Place) -> Iterator[FixedAnswer]:
    for result in _results(node):
        yield from place.branches(result, node.lineno)
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield from _expressions(child, place)
    for name in ("body", "orelse", "finalbody"):
        yield from _block(getattr(node, name, []), place)
    for handler in getattr(node, "handlers", []):
        yield from _block(handler.body, place)


def _results(node: ast.stmt) -> list[ast.expr | None]:
    """Return the expressions that may be the answer of the function if `node` runs."""
    match node:
        case ast.Return(value=value) | ast.Assign(value=value) | ast.AnnAssign(value=value) | ast.Raise(exc=value):
            return [value]
        case ast.Expr(value=ast.Call(func=function, args=args)) if last_name(function) in GIVING:
            return [*args]
    return []


def _expressions(outer: ast.expr, place: _Place) -> Iterator[FixedAnswer]:
    for node in ast.walk(outer):
        match node:
            case ast.Yield(value=value):
                yield from place.branches(value, node.lineno)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                yield from place.under(test).branches(body, node.lineno)
                yield from place.under(test, true=False).branches(orelse, node.lineno)
            case ast.BoolOp(op=ast.And(), values=[*tests, last]):
                yield from place.under(ast.BoolOp(ast.And(), tests)).branches(last, node.lineno)
            case ast.Subscript(value=ast.Tuple(elts=[first, second]) | ast.List(elts=[first, second]), slice=test):
                yield from place.under(test, true=False).branches(first, node.lineno)
                yield from place.under(test).branches(second, node.lineno)
