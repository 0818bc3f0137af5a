"""Formatting with `%`: for which templates and values an f-string is equal, whatever the types of the values are.

`"a %s" % (x,)` is `f"a {x!s}"`; the compiler itself makes the same code of both (from Python 3.11 on). `"a %s" % x` is
also equal if `x` is no tuple, which `%` takes as several values. Types follow from the rules of Python here, never from
annotations.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from coderefine.source import Comprehension, Function, bound_names

PLACE = re.compile(r"%(?:(?P<left>-?)(?P<width>(?:[1-9]\d*)?)(?P<cut>(?:\.\d+)?)(?P<kind>[sra])|(?P<whole>[di])|%)")
"""A placeholder that an f-string can replace. `cut`: the maximum number of characters; `whole`: for an integer."""
CONVERSIONS = {"repr": "r", "str": "s", "ascii": "a"}
KNOWN = {
    **dict.fromkeys(("ascii", "bin", "chr", "format", "hex", "oct", "repr", "str"), "str"),
    **dict.fromkeys(("hash", "id", "int", "len", "ord"), "int"),
    **dict.fromkeys(("bool", "bytes", "dict", "float", "list", "set", "sorted"), "other"),
}
"""Types of what built-in functions return. "other": neither a text nor an integer, and no tuple."""
EXACT = ("str", "int")
"""Types whose values are formatted alike by `{x}` and `{x!s}`."""
OF_TEXT = frozenset(["capitalize", "format", "join", "lower", "lstrip", "replace", "rstrip", "strip", "title", "upper"])
"""Methods of `str` that return a text."""
Inner = Function | ast.Lambda | ast.ClassDef | Comprehension


@dataclass(frozen=True, slots=True)
class Formatting:
    """What is known about the values that a function, or the code of a module, formats.

    `bound`: the names that the file binds; `known`: the types of local variables, see `type_of`.
    """

    bound: AbstractSet[str]
    known: Mapping[str, str]

    @classmethod
    def of(cls, scope: ast.AST, bound: AbstractSet[str]) -> Formatting:
        """Return what is known in `scope`, a function or a module; variables of a module may be set from elsewhere.

        The type of a variable is known if only assignments of known values, loops over `range` and handlers bind it. An
        exception that is caught is no tuple: no class can be derived from both.
        """
        found = defaultdict[str, set[str]](set)
        for name, kind in cls(bound, {})._bindings(scope) if isinstance(scope, Function) else ():
            found[name].add(kind)
        alike = {name: some.pop() if len(some) == 1 else "other" for name, some in found.items() if all(some)}
        return cls(bound, alike)

    def _bindings(self, function: Function) -> Iterator[tuple[str, str]]:
        """Yield (name, type) for each binding in a function; the type of what nested code binds is not known."""
        kinds = dict(pair for node in _own(function) for pair in self._binds(node))
        for node in ast.walk(function):
            for name in () if isinstance(node, ast.keyword) else bound_names(node):
                yield name, kinds.get(node, "")

    def _binds(self, node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
        """Yield (the node that binds a name, type) for a statement that binds one name to values of a known type."""
        match node:
            case ast.Assign(targets=[ast.Name() as target], value=value):
                yield target, self.type_of(value)
            case ast.For(target=ast.Name() as target, iter=ast.Call(func=ast.Name(id="range"))):
                yield target, "int" if self._is_builtin("range") else ""
            case ast.ExceptHandler():
                yield node, "other"

    def fields(self, node: ast.BinOp) -> list[tuple[str, ast.expr]]:
        """Return (conversion `s`, `r` or `a`; value) for each value that `%` formats; [] if an f-string may differ."""
        template = node.left.value if isinstance(node.left, ast.Constant) else None
        if not isinstance(template, str) or "%" in PLACE.sub("", template):
            return []
        places = [one for one in PLACE.finditer(template) if one.group() != "%%"]
        pairs = list(zip(places, self._values(node.right), strict=False))
        if len(places) != len(self._values(node.right)) or not all(map(self._fits, pairs)):
            return []
        return [self._field(place["kind"] or "s", one) for place, one in pairs]

    def _values(self, right: ast.expr) -> list[ast.expr]:
        """Return the values that `% right` formats; [] if they are not known."""
        return right.elts if isinstance(right, ast.Tuple) else [right] if self.type_of(right) else []

    def _fits(self, pair: tuple[re.Match[str], ast.expr]) -> bool:
        place, value = pair
        return not isinstance(value, ast.Starred) and (not place["whole"] or self.type_of(value) == "int")

    def _field(self, conversion: str, value: ast.expr) -> tuple[str, ast.expr]:
        """Return conversion and value without a call that only converts: `r` and `x` for `s` and `repr(x)`."""
        match value:
            case ast.Call(func=ast.Name(id=name), args=[one], keywords=[]) if conversion == "s":
                if name in CONVERSIONS and self._is_builtin(name) and not isinstance(one, ast.Starred):
                    return CONVERSIONS[name], one
        return conversion, value

    def write_alike(self, node: ast.AST) -> None:
        """Write a formatted value in one form: `x!r` for `repr(x)`, `x!s` for an integer; after `%`, in a tuple."""
        if isinstance(node, ast.FormattedValue) and node.format_spec is None and node.conversion in (-1, ord("s")):
            conversion, value = self._field("s", node.value)
            if value is not node.value or self.type_of(value) in EXACT:
                node.conversion, node.value = ord(conversion), value
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            self._write_template(node)

    def _write_template(self, node: ast.BinOp) -> None:
        if found := self.fields(node):
            kinds = iter([conversion for conversion, _ in found])
            template = PLACE.sub(lambda place: _place(place, kinds), ast.literal_eval(node.left))
            node.left, node.right = ast.Constant(template), ast.Tuple([value for _, value in found], ast.Load())

    def type_of(self, value: ast.expr) -> str:
        """Return the type of the value of an expression: `str`, `int` or `other` (no tuple); "" if it is not known."""
        match value:
            case ast.Constant(value=one):
                return {str: "str", int: "int"}.get(type(one), "other")
            case ast.List() | ast.ListComp() | ast.Dict() | ast.DictComp():
                return "other"
            case ast.Name(id=name):
                return self.known.get(name, "")
            case ast.Call(func=ast.Name(id=name)) if self._is_builtin(name):
                return KNOWN.get(name, "")
            case ast.Call(func=ast.Attribute(value=ast.Constant(value=str()) | ast.JoinedStr(), attr=name)):
                return "str" if name in OF_TEXT else ""
        return "str" if self._is_text(value) else ""

    def _is_text(self, value: ast.expr) -> bool:
        """Return whether an expression is an f-string, a text that `%` formats, or the name of a class."""
        match value:
            case ast.BinOp(left=ast.Constant(value=str()), op=ast.Mod(), right=ast.Tuple()):
                return True
            case ast.Attribute(value=ast.Attribute(attr="__class__"), attr="__name__" | "__qualname__"):
                return True
            case ast.Attribute(value=ast.Call(func=ast.Name(id="type"), args=[_]), attr="__name__" | "__qualname__"):
                return self._is_builtin("type")
        return isinstance(value, ast.JoinedStr)

    def _is_builtin(self, name: str) -> bool:
        return self.bound.isdisjoint((name, "*"))


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes below `node` without those of nested functions, classes and comprehensions."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, Inner):
            yield child
            yield from _own(child)


def _place(place: re.Match[str], kinds: Iterator[str]) -> str:
    parts = (place["left"], place["width"], place["cut"])
    return "%%" if place.group() == "%%" else f"%{''.join(filter(None, parts))}{next(kinds)}"
