"""Detect expected values that are copied from the tests into the code.

Such code checks for the complete input of a test case and returns the complete expected value, both with the same
literals as in the test: `if n == 5: return 120` for `assert factorial(5) == 120`. Since a correct repair may look
similar, there are exceptions:

- a branch for boundary values only (0, 1, 2, -1, "", None, True, False, empty) is a base case, whatever it returns; up
  to three of them may be added to a function;
- if the function already had a branch for the same expression with values of the same types, more of them may be added;
- an old branch may change either its input or its result, but not both;
- a condition may be negated or combined in another way: the old condition had the same checks before the same result;
- a branch that returns a boundary value (`return False`) or raises counts as copied only if it checks all required
  parameters; otherwise it is a dispatch on a mode;
- a new table, or a branch for several values (`in`, `or`), counts as copied only if at least half of its entries or
  values are in the tests; an old table may be extended.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from coderefine.judge.change import TREES, Change, functions, nodes, scopes
from coderefine.judge.constant_folding import NONE, Names, NotLiteralError, constants, fold
from coderefine.judge.fixed_answers import FixedAnswer, branches
from coderefine.judge.name_resolution import defaults, positional_defaults
from coderefine.judge.removed_behavior import work
from coderefine.judge.test_literals import TRIVIAL, Key, TestCase, key_of, made_key
from coderefine.source import Function, arguments, last_name

BASE_CASES = 3
HALF = 0.5
NUMBER = re.compile(r"num:|str:'-?[\d.]+'$")
NOTHING = ast.Constant(None)
LOOKING_UP = ("get", "pop", "setdefault", "__getitem__")
PAIR = 2
Entry = tuple[Key, Key]
"""Key and value of an entry of a dict; for a list or the like, "" and the element, or the two parts of a pair."""


def copied_answers(change: Change, cases: tuple[TestCase, ...]) -> Iterator[str]:
    """Yield a reason for each copied value that `change` adds. `cases`: the literals of each test case."""
    if change.new is not None and cases:
        yield from _branches(change, cases)
        yield from _tables(change, change.new, cases)
        yield from _constants(change, cases)


def _branches(change: Change, cases: tuple[TestCase, ...]) -> Iterator[str]:
    new = _branches_of(change.new, change.old)  # only new names are replaced by their expressions
    plain, replaced = _branches_of(change.old, change.old), _branches_of(change.old, None)
    old, bases = (*plain, *replaced), Counter[str]()
    for branch in _added(new, Counter(one.case for one in plain) | Counter(one.case for one in replaced)):
        if _copied(branch, cases) and not _follows(branch, old, new) and not _regroups(branch, change.old):
            bases[branch.function] += branch.given <= TRIVIAL
            if _is_asked(branch, new, cases) or bases[branch.function] > BASE_CASES:
                yield f"copies an answer from the tests into {branch.function or change.path}, line {branch.line}"


def _added(new: tuple[FixedAnswer, ...], known: Counter[tuple[frozenset[Key], Key]]) -> Iterator[FixedAnswer]:
    """Yield the branches in `new` that are not in the old module. `known`: counts the cases there; it is used up."""
    for branch in new:
        if known[branch.case] > 0:
            known[branch.case] -= 1
        else:
            yield branch


def _is_asked(branch: FixedAnswer, new: tuple[FixedAnswer, ...], cases: tuple[TestCase, ...]) -> bool:
    """Return whether `branch` checks for an ordinary value, and at least half of its alternatives are in the tests.

    Alternatives are the branches in `new` with the same condition (`in`, `or`) that check for an ordinary value, too.
    `cases`: the literals of each test case.
    """
    alternatives = [one for one in new if one.place == branch.place and one.given - TRIVIAL]
    copied = sum(_copied(one, cases) for one in alternatives)
    return bool(branch.given - TRIVIAL) and copied >= HALF * len(alternatives)


@lru_cache(maxsize=TREES)
def _branches_of(
    tree: ast.Module | None, before: ast.Module | None, *, mentioned: bool = False
) -> tuple[FixedAnswer, ...]:
    """Return the branches of `tree`. Names are replaced by their expressions only if `before` does not have them.

    `mentioned`: see `branches`.
    """
    known = _expressions(before)
    names = {name: value for name, value in _expressions(tree).items() if name not in known}
    return tuple(branches(tree, names, mentioned=mentioned))


def _expressions(tree: ast.Module | None) -> Names:
    """Return the expressions of names that are bound once, and the defaults of parameters."""
    if tree is None:
        return NONE
    every = (pair for node in nodes(tree) if isinstance(node, ast.arguments) for pair in defaults(node))
    return {**dict(every), **constants(tree)}


def _copied(branch: FixedAnswer, cases: tuple[TestCase, ...]) -> bool:
    if not any(branch.given | {branch.out} <= case for case in cases):
        return False
    ordinary = branch.out not in TRIVIAL and not branch.out.startswith("raise:")
    names = {part.partition("'")[0] for subject in branch.subjects for part in subject.split("Name(id='")[1:]}
    return ordinary or branch.needs <= names


def _follows(branch: FixedAnswer, old: tuple[FixedAnswer, ...], new: tuple[FixedAnswer, ...]) -> bool:
    """Return whether `branch` is legitimate because of an old branch.

    It is legitimate if the old function has a branch for the same expressions, with ordinary values of the same types.
    It is also legitimate if it is an old branch of which only the input, or only the result, is changed.
    """
    kept = {other.case for other in new if other.function == branch.function}
    alike = (other for other in old if (other.function, other.subjects) == (branch.function, branch.subjects))
    return any(
        (bool(other.given - TRIVIAL) and other.kinds == branch.kinds)
        or (other.case not in kept and (other.given == branch.given or other.out == branch.out))
        for other in alike
    )


def _regroups(branch: FixedAnswer, old: ast.Module | None) -> bool:
    """Return whether the function in the module `old` has the result of `branch` under conditions with all its checks.

    Then nothing is copied: the patch only changes how the checks are negated or combined (`not (...)`, `or`, `!=`).
    """
    return any(
        (other.function, other.out) == (branch.function, branch.out) and {*branch.inputs} <= {*other.inputs}
        for other in _branches_of(old, None, mentioned=True)
    )


def _constants(change: Change, cases: tuple[TestCase, ...]) -> Iterator[str]:
    """Yield a reason for each function that now always returns the same literal, although it has parameters.

    Only literals that occur in the tests count; boundary values do not.
    """
    was = functions(change.old)
    every = frozenset().union(*cases) - TRIVIAL
    for name, function in functions(change.new).items():
        before = _only_answer(was[name]) if name in was else None
        args = function.args
        named = {item.arg for item in arguments(function)} - {"self", "cls"}
        if before is None and (named or args.vararg or args.kwarg) and _only_answer(function) in every:
            yield f"makes {name} return a literal of the tests"


def _only_answer(function: Function) -> Key | None:
    """Return the literal that `function` always returns, if it does nothing else; else None."""
    body = work(function)
    every = [node for item in body for node in ast.walk(item) if isinstance(node, ast.stmt)]
    returns = [node.value or NOTHING for node in every if isinstance(node, ast.Return)]
    if not all(map(_idle, every)) or not isinstance(body[-1] if body else None, ast.Return):
        return None
    return _same_key(returns, constants(ast.Module(body, [])))


def _same_key(values: list[ast.expr], names: Names) -> Key | None:
    try:
        found = {made_key(value, names) for value in values}
    except NotLiteralError:
        return None
    return found.pop() if len(found) == 1 else None


def _idle(node: ast.stmt) -> bool:
    """Return whether a statement is an `if`, `return`, `del` or `pass`, or an assignment of a value without calls."""
    if isinstance(node, ast.Assign):
        return not any(isinstance(inner, ast.Call) for inner in ast.walk(node.value))
    return isinstance(node, ast.Return | ast.Delete | ast.Pass | ast.If)


@dataclass(frozen=True, slots=True)
class _Table:
    """A table of literals. `place`: the function or class that contains the table; "" at module level."""

    place: str
    entries: tuple[Entry, ...]
    line: int


def _tables(change: Change, new: ast.Module, cases: tuple[TestCase, ...]) -> Iterator[str]:
    old = list(_tables_of(change.old)) if change.old else []
    for table in _tables_of(new):
        grown = any(
            len({*before.entries} & {*table.entries}) >= min(2, len(before.entries)) or before.entries == table.entries
            for before in old
        )
        if not grown and _copies(table.entries, cases):
            yield f"copies a table of answers from the tests into {table.place or change.path}, line {table.line}"


def _copies(entries: tuple[Entry, ...], cases: tuple[TestCase, ...]) -> bool:
    listed = not entries[0][0]
    # Only a list of at least three numbers can be expected values; others are related words.
    if listed and not (len(entries) >= 3 and all(NUMBER.match(out) for _, out in entries)):
        return False
    ordinary = [found for entry in entries if (found := frozenset(filter(None, entry))) - TRIVIAL]
    copied = sum(any(entry <= case for case in cases) for entry in ordinary)
    return copied >= 1 + listed and copied >= HALF * len(ordinary)


def _tables_of(tree: ast.Module) -> Iterator[_Table]:
    """Yield the tables of literals (dicts, lists, tuples, sets) in which the module looks up a computed key."""
    where, names = scopes(tree), constants(tree)
    looked_up = frozenset(last_name(base) for node in nodes(tree) if (base := _base(node))) - {""}
    for node in nodes(tree):
        for display in _displays(node, looked_up):
            entries = tuple(_entries(display, names))
            if entries:
                yield _Table(where.get(display.lineno, ""), entries, display.lineno)


def _base(node: ast.AST) -> ast.expr | None:
    """Return the object in which `node` looks up a computed key, else None."""
    match node:
        case ast.Subscript(value=base, slice=wanted):
            pass
        case ast.Call(func=ast.Attribute(value=base, attr=name), args=[wanted, *_]) if name in LOOKING_UP:
            pass
        case (
            ast.For(target=ast.Tuple() as wanted, iter=base)
            | ast.comprehension(target=ast.Tuple() as wanted, iter=base)
        ):
            pass  # pairs, of which one part is compared
        case ast.Compare(left=wanted, ops=[ast.In(), *_], comparators=[base, *_]):
            pass
        case _:
            return None
    return None if isinstance(wanted, ast.Constant | ast.Slice) else base


def _displays(node: ast.AST, looked_up: frozenset[str]) -> Iterator[ast.expr]:
    """Yield the expressions at `node` in which a key is looked up, directly or through a name in `looked_up`."""
    match node:
        case ast.Subscript() | ast.Call() | ast.For() | ast.comprehension():
            yield from filter(None, [_base(node)])
        case ast.Attribute(value=ast.Dict() as display, attr=name) if name in LOOKING_UP:
            yield display  # the method itself is used: `fact = {5: 120}.get`
        case ast.Assign(targets=targets, value=value) if not looked_up.isdisjoint(map(last_name, targets)):
            yield value
        case ast.AnnAssign(target=target, value=ast.expr() as value) if last_name(target) in looked_up:
            yield value
        case ast.FunctionDef(args=args) | ast.AsyncFunctionDef(args=args):
            yield from (default for name, default in positional_defaults(args) if name in looked_up)


def _entries(display: ast.expr, names: Names) -> Iterator[Entry]:
    try:
        if isinstance(display, ast.Dict):
            yield from _items(display, names)
        elif isinstance(display, ast.List | ast.Tuple | ast.Set):
            yield from (_element(item, names) for item in display.elts)
        elif isinstance(display, ast.Call | ast.Subscript | ast.BinOp):
            yield from _folded(fold(display, names))
    except NotLiteralError:
        given = display.args if isinstance(display, ast.Call) else []
        for item in given:  # ChainMap({5: 120})
            yield from _entries(item, names) if isinstance(item, ast.Dict) else ()


def _items(display: ast.Dict, names: Names) -> Iterator[Entry]:
    for name, inner in zip(display.keys, display.values, strict=True):
        if name is None:
            yield from _entries(inner, names)
        else:
            yield made_key(name, names), made_key(inner, names)


def _element(item: ast.expr, names: Names) -> Entry:
    """Return a pair as key and value; anything else as an element without a key."""
    if isinstance(item, ast.Tuple | ast.List) and len(item.elts) == PAIR:
        return made_key(item.elts[0], names), made_key(item.elts[1], names)
    return "", made_key(item, names)


def _folded(value: object) -> Iterator[Entry]:
    if isinstance(value, dict):
        yield from ((key_of(name), key_of(inner)) for name, inner in value.items())
    elif isinstance(value, list | tuple):
        yield from (("", key_of(item)) for item in value)
