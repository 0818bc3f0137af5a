"""Write the decisions of a function in a shorter way that means the same, without a new function.

Each generator in `REWRITINGS` yields edits of the function; code with comments inside is left alone. An edit that
means the same only for usual values has a doubt.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise
from pathlib import Path

from coderefine.proposers.refactorings.declared import BUILTINS
from coderefine.proposers.refactorings.flow import NONE, TRUTHS, assigned, called, is_truth, own_nodes, start_of, uses
from coderefine.proposers.refactorings.measures import Limits
from coderefine.proposers.refactorings.trees import Unit
from coderefine.proposers.refactorings.types import known_types
from coderefine.proposers.rewritings.code import Code, Unsure
from coderefine.proposers.rewritings.loops import comprehension, is_bound_to_scope
from coderefine.source import syntax

LEAST_CASES = 3
"""Minimum number of comparisons in a chain for which it becomes a dictionary."""
Cases = Sequence[tuple[str, ast.expr]]
"""The beginning of a statement and the constant it returns or assigns, for each branch."""
Case = tuple[str, ast.Constant, ast.stmt]
"""A branch `if NAME == CONSTANT:` with one statement: the name, the constant, and the statement."""
KNOWN = BUILTINS.union(*map(dir, (str, bytes, dict, list, set, re.Pattern, re.Match, Path)))
"""Functions and methods that raise no StopIteration, except for `next`."""
HASHED = frozenset("bool bytes float int str None Optional".split())
"""Names in the annotations of values that can be looked up in a dictionary."""
MISSING = "a class that may be missing would be evaluated earlier"
STOPPED = "a StopIteration of a function that it calls would become a RuntimeError"
UNHASHED = "its value may be one that cannot be looked up in a dictionary, such as a list"


@dataclass(frozen=True, slots=True)
class DecisionEdit:
    """Replaces the text from the beginning of `first` to the end of `last`.

    `doubt`: how this may change behaviour in a way that tests seldom notice; "" if it does not.
    """

    first: ast.expr | ast.stmt | ast.ExceptHandler
    last: ast.expr | ast.stmt | ast.ExceptHandler
    text: str
    doubt: str = ""

    def applied(self, unit: Unit) -> str | None:
        """Return the new text of the function; None if a line would be too long, or if the text would not parse.

        Return None also if the replaced text contains "#", because a comment could be lost.
        """
        data = unit.text.encode()
        starts = [0, *accumulate(map(len, data.splitlines(keepends=True)))]
        begin = starts[self.first.lineno - 1] + self.first.col_offset
        end = starts[(self.last.end_lineno or 1) - 1] + (self.last.end_col_offset or 0)
        if b"#" in data[begin:end]:
            return None
        text = (data[:begin] + self.text.encode() + data[end:]).decode()
        changed = text.split("\n")[self.first.lineno - 1 : self.first.lineno + self.text.count("\n")]
        return text if all(len(line) <= unit.room for line in changed) and syntax(text) is not None else None


def shorter(unit: Unit, limits: Limits, *, doubtful: bool = True) -> Iterator[tuple[str, str]]:
    """Yield texts of the function in which one decision is written in a shorter way, and the doubt about each.

    Only texts that exceed `limits` less are yielded. `doubtful`: whether to yield texts with a doubt.
    """
    for rewriting in REWRITINGS:
        for edit in rewriting(unit):
            text = edit.applied(unit) if doubtful or not edit.doubt else None
            if text is not None and unit.with_text(text).excess(limits) < unit.excess(limits):
                yield text, edit.doubt


def _merged_operands(unit: Unit) -> Iterator[DecisionEdit]:
    """Merge operands: `x == 1 or x == 2` → `x in (1, 2)`, `x.endswith("a") or x.endswith("b")` → one call."""
    for node in own_nodes(unit.function.body):
        if isinstance(node, ast.BoolOp):
            yield from _merged(unit, node)


def _merged(unit: Unit, node: ast.BoolOp) -> Iterator[DecisionEdit]:
    negative = isinstance(node.op, ast.And)
    groups = [list(group) for _, group in groupby(node.values, lambda one: _subject(one, negative=negative))]
    if len(groups) < len(node.values):
        text = (" and " if negative else " or ").join(_operand(unit, group, negative=negative) for group in groups)
        later = (one for group in groups for one in group[1:] if isinstance(one, ast.Call))
        yield DecisionEdit(node, node, text, _missing(unit, [one.args[-1] for one in later]))


def _subject(node: ast.expr, *, negative: bool) -> str:
    """Return a text that is equal for operands that can be merged: the kind of test and the tested expression."""
    kind = ast.NotEq if negative else ast.Eq
    match node:
        case ast.Compare(
            left=ast.Name() | ast.Attribute(value=ast.Name()) as left, ops=[op], comparators=[ast.Constant()]
        ):
            return f"in {ast.unparse(left)}" if isinstance(op, kind) else str(id(node))
        case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name() as one, _]) if not negative:
            return f"isinstance {one.id}"
        case ast.Call(
            func=ast.Attribute(attr="startswith" | "endswith"), args=[ast.Constant(value=str())], keywords=[]
        ):
            owner = node.func.value if isinstance(node.func, ast.Attribute) else None
            return ast.unparse(node.func) if not negative and isinstance(owner, ast.Name) else str(id(node))
    return str(id(node))


def _operand(unit: Unit, group: Sequence[ast.expr], *, negative: bool) -> str:
    first = group[0]
    if len(group) == 1:
        text = _source(unit, first)
        return f"({text})" if isinstance(first, ast.BoolOp | ast.IfExp | ast.Lambda | ast.NamedExpr) else text
    if isinstance(first, ast.Compare):
        values = ", ".join(_source(unit, one.comparators[0]) for one in group if isinstance(one, ast.Compare))
        return f"{_source(unit, first.left)} {'not in' if negative else 'in'} ({values})"
    return _one_call(unit, [one for one in group if isinstance(one, ast.Call)])


def _one_call(unit: Unit, calls: Sequence[ast.Call]) -> str:
    """Merge `calls`, which differ only in their last argument, into one call that gets a tuple of these arguments."""
    last = ", ".join(_source(unit, item) for one in calls for item in _items(one.args[-1]))
    given = [*(_source(unit, one) for one in calls[0].args[:-1]), f"({last})"]
    return f"{_source(unit, calls[0].func)}({', '.join(given)})"


def _items(value: ast.expr) -> list[ast.expr]:
    return value.elts if isinstance(value, ast.Tuple) else [value]


def _missing(unit: Unit, kinds: Iterable[ast.expr]) -> str:
    """Return the doubt about classes, tuples of classes, or constants that are evaluated earlier than before.

    Built-in names cause no doubt, nor do names that an import or a class of the module surely binds. A class of a
    package that is not installed may never have been evaluated.
    """
    known = (unit.declared.early | unit.declared.bases.keys()) - unit.flow.locals
    parts = [one for kind in kinds for one in _items(kind) if not isinstance(one, ast.Constant)]
    return "" if all(isinstance(one, ast.Name) and one.id in known for one in parts) else MISSING


def _any_or_all(unit: Unit) -> Iterator[DecisionEdit]:
    """Write a loop as `any` or `all` if it only returns or sets a truth value when a condition holds for an item."""
    for suite in unit.suites:
        for first, second in zip(suite.statements, suite.statements[1:], strict=False):
            if isinstance(first, ast.For) and isinstance(second, ast.Return) and not first.orelse:
                yield from _returned(unit, first, second)
            elif isinstance(first, ast.Assign) and isinstance(second, ast.For) and not second.orelse:
                yield from _flagged(unit, first, second)


def _returned(unit: Unit, loop: ast.For, last: ast.Return) -> Iterator[DecisionEdit]:
    match _innermost(loop):
        case [ast.If(test=test, body=[ast.Return(value=ast.Constant(value=bool() as found))], orelse=[])]:
            if (
                isinstance(last.value, ast.Constant)
                and last.value.value is (not found)
                and _is_closed(unit, loop, [test])
            ):
                text = f"return {_quantified(unit, loop, test, found=found)}"
                yield DecisionEdit(loop, last, text, _stopped(loop))


def _flagged(unit: Unit, start: ast.Assign, loop: ast.For) -> Iterator[DecisionEdit]:
    match start, _innermost(loop):
        case (
            ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=bool() as before)),
            [
                ast.If(
                    test=test,
                    body=[
                        ast.Assign(targets=[ast.Name(id=other)], value=ast.Constant(value=bool() as found)),
                        ast.Break(),
                    ],
                    orelse=[],
                )
            ],
        ):
            alone = not isinstance(loop.body[0], ast.For) and name not in uses([loop.target, loop.iter, test]).reads
            early = unit.flow.reads_during(loop, name)
            if name == other and found is not before and alone and not early and _is_closed(unit, loop, [test]):
                text = f"{name} = {_quantified(unit, loop, test, found=found)}"
                yield DecisionEdit(start, loop, text, _stopped(loop))


def _stopped(loop: ast.For) -> str:
    """Return the doubt about a loop that becomes a generator expression."""
    names = {called(node) for node in ast.walk(loop.body[0]) if isinstance(node, ast.Call)}
    return "" if names <= KNOWN else STOPPED


def _innermost(loop: ast.For) -> list[ast.stmt]:
    """Return the body of `loop`; if this is only another loop, the body of that loop, and so on."""
    match loop.body:
        case [ast.For(orelse=[]) as inner]:
            return _innermost(inner)
    return loop.body


def _is_closed(unit: Unit, loop: ast.For, tests: Iterable[ast.expr]) -> bool:
    """Return whether the loop's variables are used only in the loop, and `tests` may be in a generator expression.

    Return False if `any` or `all` is not the built-in function.
    """
    flow = unit.flow
    if not {"any", "all"}.isdisjoint(unit.rebound | flow.locals):
        return False
    first, last = start_of(loop), (loop.end_lineno or 0, loop.end_col_offset or 0)
    targets = [node.target for node in ast.walk(loop) if isinstance(node, ast.For)]
    for name in uses(targets).binds:
        places = (*flow.reads[name], *flow.captures[name], *flow.binds[name])
        if not first <= min(places) <= max(places) < last:
            return False
    return not uses([loop]).shared and not any(map(_is_odd, (*tests, *targets)))


def _is_odd(part: ast.expr) -> bool:
    """Return whether `part` contains code that means something else in a generator expression."""
    return any(is_bound_to_scope(node) or called(node) == "next" for node in ast.walk(part))


def _quantified(unit: Unit, loop: ast.For, test: ast.expr, *, found: bool) -> str:
    fors = [
        f"for {_source(unit, node.target)} in {_source(unit, node.iter)}"
        for node in ast.walk(loop)
        if isinstance(node, ast.For)
    ]
    negated = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
    if not found and isinstance(test, ast.UnaryOp) and negated:
        return _call(unit, loop, "all", [_source(unit, test.operand), *fors])
    word = "any" if found else "not any"
    return _call(unit, loop, word, [_source(unit, test), *fors])


def _call(unit: Unit, near: ast.stmt, name: str, parts: Sequence[str]) -> str:
    """Return `name(parts)`, on one line if it fits, else with each part on its own line.

    `near`: a statement with the indentation that the call will have.
    """
    margin = " " * near.col_offset
    whole = f"{name}({' '.join(parts)})"
    if near.col_offset + len(whole) + 20 <= unit.width and "\n" not in whole:
        return whole
    inner = f"\n{margin}{unit.indent}".join(parts)
    return f"{name}(\n{margin}{unit.indent}{inner}\n{margin})"


def _filled_list(unit: Unit) -> Iterator[DecisionEdit]:
    """Write an empty list and the loop that fills it as a comprehension, where the rewriting of PERF401 is sure."""
    code = Code.of(unit.text, unit.room)
    if code is None or "list" in unit.rebound | unit.flow.locals:
        return
    for call in code.nodes:
        if isinstance(call, ast.Call) and called(call) == "append":
            with suppress(Unsure):
                (edit,), loop = comprehension(code, call), code.around(call, ast.For)
                start = next(one for one in code.statements if one.lineno == edit.start[0])
                if start is not loop:
                    yield DecisionEdit(start, loop, edit.content.strip())


def _returned_truth(unit: Unit) -> Iterator[DecisionEdit]:
    """Replace an `if` by its condition: `if x in y: return True` and `return False` → `return x in y`."""
    for suite in unit.suites:
        for place, node in enumerate(suite.statements):
            following = [*suite.statements[place + 1 :], None][0]
            match node, following:
                case ast.If(test=test, body=[ast.Return() as one], orelse=[ast.Return() as two]), _:
                    last: ast.stmt = node
                case ast.If(test=test, body=[ast.Return() as one], orelse=[]), ast.Return() as two:
                    last = two
                case _:
                    continue
            values = [getattr(item.value, "value", None) for item in (one, two)]
            if values in ([True, False], [False, True]) and is_truth(test, TRUTHS - unit.rebound):
                text = _source(unit, test)
                yield DecisionEdit(node, last, f"return {text if values[0] else _negated(test, text)}")


def _negated(test: ast.expr, text: str) -> str:
    return f"not ({text})" if isinstance(test, ast.BoolOp | ast.Compare) else f"not {text}"


def _merged_branches(unit: Unit) -> Iterator[DecisionEdit]:
    """Merge branches with the same statements: `if a: return x` and `if b: return x` → `if a or b: return x`."""
    for node in unit.nodes:
        match node:
            case ast.If(orelse=[ast.If() as other]) if other.col_offset == node.col_offset:
                yield from _one_branch(unit, node, other)
    for suite in unit.suites:
        for first, second in pairwise(suite.statements):
            match first, second:
                # If the first branch reached its end, the second condition would be evaluated, too.
                case ast.If(orelse=[]), ast.If() if assigned(first.body, NONE) is None:
                    yield from _one_branch(unit, first, second)


def _one_branch(unit: Unit, one: ast.If, two: ast.If) -> Iterator[DecisionEdit]:
    start, row = two.body[0], unit.rows[two.body[0].lineno - 1]
    operands = [*_alternatives(unit, one.test), *_alternatives(unit, two.test)]
    if _same(one.body, two.body) and not row[: start.col_offset].strip() and "\n" not in "".join(operands):
        keyword, margin = re.split(r"\W", unit.rows[one.lineno - 1][one.col_offset :])[0], " " * one.col_offset
        test = " or ".join(operands)
        if one.col_offset + len(f"{keyword} {test}:") > unit.room:
            inner = f"\n{margin}{unit.indent}"
            test = f"({inner}{f'{inner}or '.join(operands)}\n{margin})"
        yield DecisionEdit(one, start, f"{keyword} {test}:\n{row[: start.col_offset]}{_source(unit, start)}")


def _alternatives(unit: Unit, test: ast.expr) -> list[str]:
    """Return the texts of the operands of `or`; of another condition, its text as such an operand."""
    values = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or) else [test]
    return [_operand(unit, [value], negative=False) for value in values]


def _same(one: Sequence[ast.stmt], two: Sequence[ast.stmt]) -> bool:
    return ast.dump(ast.Module([*one], [])) == ast.dump(ast.Module([*two], []))


def _table(unit: Unit) -> Iterator[DecisionEdit]:
    """Replace a chain of comparisons of one name with constants, each with a constant result, by a dictionary."""
    for suite in unit.suites:
        for place, node in enumerate(suite.statements):
            if isinstance(node, ast.If):
                yield from _looked_up(unit, node, suite.statements[place:])


def _looked_up(unit: Unit, node: ast.If, statements: Sequence[ast.stmt]) -> Iterator[DecisionEdit]:
    chain, rest, last = _chain(statements)
    names, keys, bodies = zip(*chain, strict=True) if chain else ((), (), ())
    cases = list(filter(None, map(_result, (*bodies, *rest))))
    heads = {head for head, _ in cases}
    whole = len(cases) == len(chain) + 1 > LEAST_CASES
    if whole and len(rest) == len({*names}) == len(heads) == 1 and _are_keys(keys):
        kinds = re.findall(r"\w+", known_types(unit).get(names[0], "object"))
        doubt = "" if HASHED.issuperset(kinds) else UNHASHED
        yield DecisionEdit(node, last, _dictionary(unit, node, names[0], keys, cases), doubt)


def _dictionary(unit: Unit, node: ast.If, name: str, keys: Sequence[ast.expr], cases: Cases) -> str:
    """Return a statement that looks `name` up in a dictionary; the last of `cases` is the default."""
    margin = " " * node.col_offset
    *values, default = (_source(unit, value) for _, value in cases)
    rows = "".join(
        f"{margin}{unit.indent}{_source(unit, key)}: {value},\n" for key, value in zip(keys, values, strict=True)
    )
    given = name if default == "None" else f"{name}, {default}"
    return f"{cases[0][0]}{{\n{rows}{margin}}}.get({given})"


def _chain(statements: Sequence[ast.stmt]) -> tuple[list[Case], Sequence[ast.stmt], ast.stmt]:
    """Return the leading branches that compare a name with a constant, and the statement left over, as a list.

    This is the body of `else`, or what follows branches that return, or the first branch of another form. Return also
    the last of `statements` that belongs to the chain.
    """
    chain: list[Case] = []
    rest, after = statements[:1], statements[1:]
    while isinstance(branch := [*rest, None][0], ast.If) and (found := _case(rest)):
        chain.append(found)
        rest = branch.orelse
        if not rest and isinstance(found[2], ast.Return):
            rest, after = after[:1], after[1:]
    return chain, rest, statements[len(statements) - len(after) - 1]


def _case(statements: Sequence[ast.stmt]) -> Case | None:
    match statements:
        case [ast.If(test=ast.Compare(ast.Name(name), [ast.Eq()], [ast.Constant() as key]), body=[body])]:
            return name, key, body
    return None


def _are_keys(keys: Sequence[ast.Constant]) -> bool:
    """Return whether `keys` are all strings or all integers, and all different."""
    values = [key.value for key in keys]
    alike = len({type(value) for value in values}) == 1 and isinstance(values[0], str | int)
    return alike and len({*values}) == len(values)


def _result(node: ast.stmt) -> tuple[str, ast.expr] | None:
    """Return the beginning of a statement that returns or assigns a constant, and the constant; else None."""
    match node:
        case ast.Return(value=ast.Constant() as value):
            return "return ", value
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant() as value):
            return f"{name} = ", value
    return None


def _handlers(unit: Unit) -> Iterator[DecisionEdit]:
    """Merge neighbouring handlers with the same body into one handler of several exceptions."""
    for node in own_nodes(unit.function.body):
        for one, two in zip(node.handlers, node.handlers[1:], strict=False) if isinstance(node, ast.Try) else ():
            if _same(one.body, two.body) and one.name == two.name and one.body[0].lineno > one.lineno:
                yield from _one_handler(unit, one, two)


def _one_handler(unit: Unit, one: ast.ExceptHandler, two: ast.ExceptHandler) -> Iterator[DecisionEdit]:
    if one.type is not None and two.type is not None:
        kinds = ", ".join(_source(unit, item) for item in (*_items(one.type), *_items(two.type)))
        body = unit.text.split("\n")[one.lineno : one.end_lineno]
        name = f" as {one.name}" if one.name else ""
        text = "\n".join((f"except ({kinds}){name}:", *body))
        yield DecisionEdit(one, two, text, _missing(unit, [two.type]))


def _source(unit: Unit, node: ast.AST) -> str:
    return ast.get_source_segment(unit.text, node) or ast.unparse(node)


REWRITINGS = (_merged_operands, _any_or_all, _filled_list, _returned_truth, _merged_branches, _table, _handlers)
