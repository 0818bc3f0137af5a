"""Literal tables that are looked up with something computed: another way to answer by rote."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from coderefine.judge.folding import Names, NotLiteralError, constants, fold
from coderefine.judge.names import last, places
from coderefine.judge.normal import nodes
from coderefine.judge.specimens import Key, key, key_of


@dataclass(frozen=True, slots=True)
class Table:
    """The literal entries of a dict (key, value), or of a list or tuple ("", element), and where it stands."""

    place: str
    entries: tuple[tuple[Key, Key], ...]
    line: int

    @property
    def listed(self) -> bool:
        return not self.entries[0][0]


def tables(tree: ast.Module | None) -> Iterator[Table]:
    """Dicts, lists and tuples, made of literals in whatever way, that the module indexes with a non-literal."""
    if tree is None:
        return
    where, looked_up, names = places(tree), _looked_up(tree), constants(tree)
    for node in nodes(tree):
        for display in _displays(node, looked_up):
            entries = tuple(_entries(display, names))
            if entries:
                yield Table(where.get(display.lineno, ""), entries, display.lineno)


def _looked_up(tree: ast.Module) -> frozenset[str]:
    """Names that are indexed, asked with `.get` or tested with `in` by something computed."""
    return frozenset(last(base) for node in nodes(tree) if (base := _base(node))) - {""}


def _base(node: ast.AST) -> ast.expr | None:
    """Where `node` looks something up, if what it looks for is computed."""
    match node:
        case ast.Subscript(value=base, slice=wanted):
            pass
        case ast.Call(func=ast.Attribute(value=base, attr="get" | "pop"), args=[wanted, *_]):
            pass
        case ast.Compare(left=wanted, ops=[ast.In(), *_], comparators=[base, *_]):
            pass
        case _:
            return None
    return None if isinstance(wanted, ast.Constant | ast.Slice) else base


def _displays(node: ast.AST, looked_up: frozenset[str]) -> Iterator[ast.expr]:
    """Expressions that are looked up on the spot, or given to a name that is looked up."""
    match node:
        case ast.Subscript() | ast.Call():
            yield from filter(None, [_base(node)])
        case ast.Assign(targets=targets, value=value) if not looked_up.isdisjoint(map(last, targets)):
            yield value
        case ast.AnnAssign(target=target, value=ast.expr() as value) if last(target) in looked_up:
            yield value
        case ast.FunctionDef(args=args) | ast.AsyncFunctionDef(args=args):
            yield from (default for name, default in _defaults(args) if name in looked_up)


def _defaults(args: ast.arguments) -> Iterator[tuple[str, ast.expr]]:
    """Positional parameters that have a default, with it."""
    last_first = zip(reversed([*args.posonlyargs, *args.args]), reversed(args.defaults), strict=False)
    yield from ((parameter.arg, default) for parameter, default in last_first)


def _entries(display: ast.expr, names: Names) -> Iterator[tuple[Key, Key]]:
    try:
        if isinstance(display, ast.Dict):
            for name, inner in zip(display.keys, display.values, strict=True):
                if name is not None:
                    yield key(name), key(inner)
        elif isinstance(display, ast.List | ast.Tuple):
            yield from (("", key(item)) for item in display.elts)
        elif isinstance(display, ast.Call | ast.Subscript | ast.BinOp):
            yield from _folded(fold(display, names))
    except NotLiteralError:
        return


def _folded(value: object) -> Iterator[tuple[Key, Key]]:
    if isinstance(value, dict):
        yield from ((key_of(name), key_of(inner)) for name, inner in value.items())
    elif isinstance(value, list | tuple):
        yield from (("", key_of(item)) for item in value)
