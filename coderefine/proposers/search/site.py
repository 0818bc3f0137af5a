"""One suspicious statement, with everything that the edit operators need to know about its context."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from coderefine.proposers.search import emit
from coderefine.proposers.search.conventions import odd_nodes
from coderefine.proposers.search.hints import Hints
from coderefine.proposers.search.ingredients import BUILTINS, FunctionContext, ProjectContext, own_words
from coderefine.proposers.search.naturalness import Trigrams, tokens
from coderefine.proposers.search.syntax import (
    DEFINITIONS,
    LOOPS,
    Edit,
    Function,
    Module,
    entries,
    has_docstring,
    own_nodes,
    strings,
)
from coderefine.proposers.search.value_kinds import Kinds, names_of
from coderefine.source import all_arguments

NEUTRAL: dict[type[ast.operator], str] = {
    ast.Add: "0", ast.Sub: "0", ast.Mult: "1", ast.Div: "1", ast.FloorDiv: "1", ast.Pow: "1",
}  # fmt: skip
"""Neutral right operand of each operation."""


REPEATABLE = (ast.Add, ast.Mult, ast.Pow, ast.MatMult, ast.LShift)
"""Operators whose two operands may be the same value: `x * x`."""


def _branches(node: ast.If) -> Iterator[list[ast.stmt]]:
    """Yield the block of an `if`, of each `elif`, and of the `else` ([] if there is none)."""
    yield node.body
    match node.orelse:
        case [ast.If() as following]:
            yield from _branches(following)
        case body:
            yield body


@dataclass(frozen=True)
class Site:
    """A suspicious statement and its context. `suspicion`: 0..1.

    `raised`: names of exceptions that failing tests raised or that failure messages mention. `running`: spans, in
    characters, of the expressions of this statement that raised. `memo`: results that operators keep for other
    operators, by name.
    """

    local: FunctionContext
    stmt: ast.stmt
    suspicion: float = 1.0
    raised: frozenset[str] = frozenset()
    hints: Hints = field(default_factory=Hints)
    running: frozenset[tuple[int, int]] = frozenset()
    memo: dict[str, dict[str, float]] = field(default_factory=dict, compare=False, repr=False)

    @property
    def module(self) -> Module:
        return self.local.module

    @property
    def world(self) -> ProjectContext:
        return self.local.world

    @property
    def kinds(self) -> Kinds:
        return self.local.kinds

    @cached_property
    def trigrams(self) -> Trigrams:
        """Return the trigram model of the project's code, trained without this statement."""
        return self.world.trigrams.without(own_words(self.module, self.stmt))

    @cached_property
    def in_other_branches(self) -> frozenset[tuple[str, ...]]:
        """Return the tokens of each statement that is alone in another branch of the `if` around this statement.

        Two branches that do the same are rare: their conditions would be joined by `or`.
        """
        top, parents = self.module.parents.get(self.stmt), self.module.parents
        while top is not None and isinstance(above := parents.get(top), ast.If) and above.orelse == [top]:
            top = above
        bodies = list(_branches(top)) if isinstance(top, ast.If) else []
        alone = [body[0] for body in bodies if len(body) == 1 and body[0] is not self.stmt]
        return frozenset(tokens(self.module.text[self.module.start(one) : self.module.end(one)]) for one in alone)

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Return the statement's nodes, without annotations, decorators, docstrings and expressions at wrong positions.

        Before Python 3.12, the positions of expressions inside f-strings may be wrong.
        """
        return tuple(node for node in self._reachable() if not isinstance(node, ast.expr) or self._placed(node))

    def _reachable(self) -> Iterator[ast.AST]:
        dropped = {id(node) for node in getattr(self.stmt, "decorator_list", ())}
        if isinstance(self.stmt, ast.Expr) and isinstance(self.stmt.value, ast.Constant):
            return
        for node in own_nodes(self.stmt):
            if id(node) in dropped:
                dropped.update(id(child) for child in ast.iter_child_nodes(node))
                continue
            for name in ("annotation", "returns"):
                if (child := getattr(node, name, None)) is not None:
                    dropped.add(id(child))
            yield node

    def _placed(self, node: ast.expr) -> bool:
        """Return whether the position of `node` is right; inside f-strings, it may be wrong before Python 3.12."""
        up = self.module.parents.get(node)
        while isinstance(up, ast.expr | ast.keyword | ast.comprehension):
            if isinstance(up, ast.JoinedStr):
                return self._has_own_text(node)
            up = self.module.parents.get(up)
        return True

    def _has_own_text(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Constant | ast.FormattedValue | ast.JoinedStr):
            return False
        try:
            return ast.dump(ast.parse(self.module.code(node), mode="eval").body) == ast.dump(node)
        except (SyntaxError, ValueError, IndexError):
            return False

    @cached_property
    def exprs(self) -> tuple[ast.expr, ...]:
        """Return the expressions that the statement reads, without nested statements, outermost first."""
        return tuple(
            node
            for node in self.nodes
            if isinstance(node, ast.expr)
            and not isinstance(getattr(node, "ctx", None), ast.Store | ast.Del)
            and not isinstance(node, ast.Slice | ast.FormattedValue | ast.Starred)
        )

    @cached_property
    def values(self) -> tuple[ast.expr, ...]:
        """Return `exprs` without names of classes, and without the types in `isinstance(…)` and `except`."""
        types = {id(inner) for node in self.nodes for top in _types_named_by(node) for inner in ast.walk(top)}
        return tuple(node for node in self.exprs if id(node) not in types and not self._class(node))

    def _class(self, node: ast.expr) -> bool:
        """Return whether `node` is the name of a class: a built-in type, or a capitalised global of the file."""
        if not isinstance(node, ast.Name) or node.id in self.local.bound:
            return False
        spelled = node.id[:1].isupper() and not node.id.isupper() and node.id in self.local.globals
        return spelled or isinstance(getattr(builtins, node.id, None), type)

    @cached_property
    def conditions(self) -> tuple[ast.expr, ...]:
        """Return the conditions in the statement, and its returned, assigned and keyword values that may be bools.

        If one of these is a Boolean operation (`and`, `or`), its operands are added.
        """
        found: dict[ast.expr, None] = {}
        for node in self.nodes:
            if isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert):
                found[node.test] = None
            elif isinstance(node, ast.comprehension):
                found.update(dict.fromkeys(node.ifs))
            elif isinstance(node, ast.Return | ast.Assign | ast.AnnAssign | ast.keyword) and node.value is not None:
                truth = self.kinds.of(node.value) == "bool" or isinstance(node.value, ast.BoolOp)
                found.update({node.value: None} if truth else {})
        for test in list(found):
            if isinstance(test, ast.BoolOp):
                found.update(dict.fromkeys(test.values))
        return tuple(found)

    @cached_property
    def loop_names(self) -> frozenset[str]:
        """Return the names bound by the statement's comprehensions and lambdas, and by the `for` loop around it."""
        loop = self.loop if isinstance(self.loop, ast.For | ast.AsyncFor) else None
        return frozenset({*self._bound_inside, *(names_of(loop.target) if loop else ())})

    @cached_property
    def _bound_inside(self) -> list[str]:
        """Return the targets of the statement's comprehensions, and the parameters of its lambdas."""
        targets = (node.target for node in self.nodes if isinstance(node, ast.comprehension))
        names = (name for target in targets for name in names_of(target))
        return [*names, *(one.arg for node in self._lambdas for one in all_arguments(node.args))]

    @cached_property
    def _lambdas(self) -> list[ast.Lambda]:
        return [node for node in self.nodes if isinstance(node, ast.Lambda)]

    @cached_property
    def unused(self) -> frozenset[str]:
        """Return the names that are bound but never read.

        They are names of the function, private names and imports of the file, and parameters of the statement's
        lambdas.
        """
        found = set(self.local.unused)
        for node in self._lambdas:
            read = set(names_of(node.body))
            found.update(one.arg for one in all_arguments(node.args) if one.arg not in read and one.arg[0] != "_")
        return frozenset(found)

    @cached_property
    def names(self) -> list[str]:
        """Return local names that may be read at this statement, nearest first."""
        loops = (up.target for up in self.module.ancestors(self.stmt) if isinstance(up, ast.For | ast.AsyncFor))
        outer = (name for target in loops for name in names_of(target))
        local = self.local.names(self.stmt.end_lineno or self.stmt.lineno)
        return list(dict.fromkeys([*self._bound_inside, *outer, *local]))

    @cached_property
    def paths(self) -> list[str]:
        """Return local names, attributes of `self`, and some attributes of local names that the file reads.

        An attribute is written with its object: `item.price`.
        """
        receiver = self.local.receiver
        known = self.module.index.attributes
        chains = [
            f"{name}.{attribute}"
            for name in self.names[:6]
            if name in known
            for attribute in sorted(known[name]["read"])[:5]
        ]
        return [*self.names, *(f"{receiver}.{name}" for name in self.local.fields if receiver), *chains]

    @cached_property
    def readable(self) -> list[str]:
        """Return those of `paths` that this statement does not bind."""
        own = {node.id for node in self.nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        return [path for path in self.paths if path not in own]

    @cached_property
    def known(self) -> frozenset[str]:
        """Return all names that may be read at this statement."""
        return frozenset({*self.names, *self.local.globals, *BUILTINS, "self", "cls"})

    @cached_property
    def asked(self) -> tuple[tuple[int, int], ...]:
        """Return the spans of table entries that belong to a string in a failing test or in its message.

        In a dictionary display, these are the values whose keys contain such a string; in another display, the rows
        that contain such a string. A display is left out if all its entries belong to such strings.
        """
        found: list[tuple[int, int]] = []
        for node in self.nodes if self.hints.literals else ():
            pairs = list(entries(node))
            asked = (value for key, value in pairs if not strings(key).isdisjoint(self.hints.literals))
            spans = [(self.module.start(value), self.module.end(value)) for value in asked]
            found += spans if len(spans) < len(pairs) else []
        return tuple(found)

    @cached_property
    def odd(self) -> bool:
        """Return whether the statement has a condition or a call that is odd in its function, see conventions.py."""
        function = self.local.function
        return function is not None and any(node in self.nodes for node in odd_nodes(function, self.world))

    @cached_property
    def at_import(self) -> bool:
        """Return whether the statement runs when its module is imported; True for all function definitions."""
        return isinstance(self.stmt, Function) or self.module.function(self.stmt) is None

    @property
    def loop(self) -> ast.stmt | None:
        """Return the innermost loop around the statement, within its function; None if there is none."""
        for up in self.module.ancestors(self.stmt):
            if isinstance(up, LOOPS):
                return up
            if isinstance(up, DEFINITIONS):
                return None
        return None

    @cached_property
    def first(self) -> bool:
        """Return whether the statement is the first of its function, or of the module, after the docstring."""
        body = self.local.function.body if self.local.function else self.module.tree.body
        at = 1 if has_docstring(self.local.function or self.module.tree) else 0
        return at < len(body) and body[at] is self.stmt

    @cached_property
    def siblings(self) -> list[ast.stmt]:
        return self.module.block(self.stmt)

    def code(self, node: ast.AST) -> str:
        return self.module.code(node)

    def swap(self, node: ast.AST, text: str, weight: float = 1.0, boost: float = 0.0) -> Iterator[Edit]:
        """Yield an edit that replaces an expression by `text`; `x - 0` is simplified to `x`.

        Yield nothing if the edit has no effect, combines a value with itself (`x or x`), or makes None the bound of a
        slice. `weight`, `boost`: see `Edit`.
        """
        parent = self.module.parents.get(node)
        if isinstance(parent, ast.BinOp) and parent.right is node and text == NEUTRAL.get(type(parent.op)):
            node, text = parent, self.module.code(parent.left)
        bare = isinstance(parent, ast.Slice) and text == "None"
        if text != self.module.code(node) and not bare and not self._with_itself(node, text):
            yield emit.expression(self.module, node, text, weight, boost)

    def _with_itself(self, node: ast.AST, text: str) -> bool:
        """Return whether `text` in place of `node` combines a value with itself: `x is x`, `x or x`, `x - x`."""
        operands: Sequence[ast.AST] = ()
        match self.module.parents.get(node):
            case ast.Compare(left=left, comparators=others):
                operands = (left, *others)
            case ast.BoolOp(values=operands) | ast.Assign(targets=operands):
                pass
            case ast.BinOp(left=left, op=op, right=right) if not isinstance(op, REPEATABLE):
                operands = (left, right)
        return "(" not in text and any(other is not node and self.module.code(other) == text for other in operands)

    def tight(self, node: ast.AST) -> str:
        """Return the node's text, in parentheses if it is an operation, so that it can be an operand."""
        text = self.module.code(node)
        return text if emit.rank(node) >= emit.ATOM else f"({text})"


def _types_named_by(node: ast.AST) -> list[ast.expr]:
    """Return the types that an `except` clause or an `isinstance` call names."""
    if isinstance(node, ast.ExceptHandler):
        return [node.type] if node.type else []
    asks = (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "issubclass")
    )
    return node.args[1:2] if asks and isinstance(node, ast.Call) else []
