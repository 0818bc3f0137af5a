"""Recognise expressions whose value may be a function or class, with which a patch could replace code of a library."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from coderefine.judge.change import nodes
from coderefine.judge.name_resolution import ANY, GETTERS, OWN, Bindings, dotted
from coderefine.judge.name_scopes import BUILT_INS
from coderefine.source import Definition

FACTORIES = frozenset(("functools.partial", "operator.itemgetter", *GETTERS))
"""Functions of the standard library that return functions."""


@dataclass(frozen=True, slots=True)
class CodeValues:
    """The functions and classes of a file (`own`, by name), with which other code may be replaced.

    `names`: the resolved names of the file.
    """

    names: Bindings
    own: Mapping[str, Definition]

    @classmethod
    def of(cls, tree: ast.Module, names: Bindings) -> CodeValues:
        return cls(names, {node.name: node for node in nodes(tree) if isinstance(node, Definition)})

    def may_be_code(self, value: ast.expr, target: str) -> bool:
        """Return whether `value`, which is assigned to the attribute `target` (dotted), may be a function or class.

        Functions and classes of this file, imported names, and calls that return or get a function may be code.
        Imported constants (`KEY`), attributes of imported objects (`settings.key`) and other calls are not. Of a tuple,
        list, dict, `and`, `or` or conditional expression, each part is examined.
        """
        name = dotted(value, self.names)
        known = self.names.constants.get(value.id) if isinstance(value, ast.Name) else None
        if isinstance(value, ast.Tuple | ast.List | ast.Dict | ast.IfExp | ast.BoolOp):
            parts = (part for part in ast.iter_child_nodes(value) if isinstance(part, ast.expr))
            return any(self.may_be_code(part, target) for part in parts)
        if name and not name.startswith((OWN, ANY)):
            return self._is_function(value) or self._may_be_imported_code(value, name, target)
        return self._is_made_of_code(known or value, target)

    def _may_be_imported_code(self, value: ast.expr, name: str, target: str) -> bool:
        """Return whether the imported object `value` may be code. `name`: its dotted name.

        It may be if `value` is a plain name, or belongs to the standard library or to the library of `target`. A name
        in capital letters is a constant.
        """
        top, _, last = name.partition(".")[0], *name.rpartition(".")[1:]
        alike = isinstance(value, ast.Name) or top == target.partition(".")[0] or top in sys.stdlib_module_names
        return alike and not last.isupper()

    def _is_made_of_code(self, value: ast.expr, target: str) -> bool:
        """Return whether `value` is a function or class of this file, or a call that may return a function.

        Such a call gets a function as argument, calls a function of this file that returns or yields one, or gets an
        attribute of the object whose attribute is `target` (which the call may wrap). Calls of built-in functions do
        not count.
        """
        if not isinstance(value, ast.Call) or self._is_function(value):
            return self._is_function(value)
        if dotted(value.func, self.names) in BUILT_INS:
            return False
        given = [*value.args, *(item.value for item in value.keywords)]
        owner = target.rpartition(".")[0]
        wraps = any(dotted(item, self.names).rpartition(".")[0] == owner for item in given)
        return wraps or any(map(self._is_function, (*given, *self._returned(value.func))))

    def _is_function(self, value: ast.expr) -> bool:
        if isinstance(value, ast.Call):
            return dotted(value.func, self.names) in FACTORIES
        return isinstance(value, ast.Lambda) or (isinstance(value, ast.Name) and value.id in self.own)

    def _returned(self, function: ast.expr) -> Iterator[ast.expr]:
        """Yield the expressions that `function` returns or yields, if this file defines `function`."""
        body = self.own.get(function.id) if isinstance(function, ast.Name) else None
        for node in ast.walk(body) if body else ():
            if isinstance(node, ast.Return | ast.Yield) and node.value:
                yield node.value
