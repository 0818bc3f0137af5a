"""Annotations for the parameters and results of extracted functions, from the existing annotations of the module.

The type of a variable is known only if all its values have the same known type. Values with known types are, for
example, constants, annotated parameters, results of annotated functions, items of these, and some operations on them.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from coderefine.proposers.refactorings.declared import Types, annotation_text
from coderefine.proposers.refactorings.flow import is_truth, own_nodes, parameters
from coderefine.source import Function, arguments, last_name

if TYPE_CHECKING:
    from coderefine.proposers.refactorings.trees import Unit

OF_TEXT: Types = {
    **dict.fromkeys("strip lstrip rstrip lower upper title capitalize casefold replace join format".split(), "str"),
    **dict.fromkeys(("startswith", "endswith", "isdigit", "isalpha", "isalnum", "isspace", "isidentifier"), "bool"),
    **dict.fromkeys(("find", "rfind", "index", "rindex", "count"), "int"),
    **dict.fromkeys(("split", "rsplit", "splitlines"), "list[str]"),
    "encode": "bytes",
}
"""Results of methods of `str`."""
SEQUENCES = frozenset("list sequence mutablesequence iterable iterator collection set frozenset deque".split())
MAPPINGS = frozenset("dict mapping mutablemapping defaultdict ordereddict".split())
ITERATING = frozenset(("enumerate", "list", "range", "reversed", "set", "sorted", "tuple", "zip"))
NUMBERS = ("int", "float")
SAME = "="
"""Stands for the type of `a` after `a += b`: the same type as before."""


@lru_cache(maxsize=64)
def known_types(unit: Unit) -> Types:
    """Return annotations by name: of unchanged parameters, and of the variables whose type is known.

    Return {} for a function without annotations.
    """
    given = {one.arg: one.annotation for one in arguments(unit.function) if one.annotation is not None}
    if not given and unit.function.returns is None:
        return {}
    types = _Types(unit, {name: annotation_text(annotation) for name, annotation in given.items()})
    known = types.variables()
    shown = {name: text for name, value in known.items() if (text := types.shown(value))}
    return shown | {name: ast.get_source_segment(unit.text, given[name]) or "" for name in given.keys() & shown.keys()}


def written_type(unit: Unit, annotation: ast.expr) -> str | None:
    """Return the text of an annotation; None if it uses a name that the module does not bind (a class may bind it)."""
    known = _Types(unit, {}).shown(annotation_text(annotation))
    return ast.get_source_segment(unit.text, annotation) if known else None


def is_annotated(function: Function) -> bool:
    """Return whether the result of a function and all its parameters, except `self` and `cls`, are annotated."""
    plain = [one for one in arguments(function) if one.arg not in ("self", "cls")]
    return function.returns is not None and all(one.annotation is not None for one in plain)


class _Types:
    """The types of the variables and the expressions of one function, as texts of annotations; "" if not known."""

    def __init__(self, unit: Unit, signed: Types) -> None:
        """Create the types. `signed`: the types of the annotated parameters, by name."""
        self._unit, self._declared, self._signed = unit, unit.declared, signed
        self._known = dict(signed)
        if unit.receiver and unit.owner and not unit.decorator:
            self._known[unit.receiver] = unit.owner

    def variables(self) -> Types:
        """Return, by name, the types of the variables and parameters whose values all have the same known type."""
        found: dict[str, list[str]] = defaultdict(list)
        own = {**self._signed, **self._annotated()}
        self._known |= own
        for node in own_nodes(self._unit.function.body):
            for name, value in self._bound(node):
                found[name].append(value)
                if name not in own and len(self._unit.flow.binds[name]) == 1:
                    self._known[name] = value
        others = found.keys() - own.keys() - parameters(self._unit.function)
        alike = {name: found[name][0] for name in others if self._is_one(name, found[name])}
        kept = {name for name, value in own.items() if {*found[name]} <= {value, without_none(value), SAME}}
        return {**alike, **{name: own[name] for name in kept}}

    def _annotated(self) -> Types:
        """Return the annotations of local variables."""
        nodes = (node for node in own_nodes(self._unit.function.body) if isinstance(node, ast.AnnAssign))
        return {node.target.id: annotation_text(node.annotation) for node in nodes if isinstance(node.target, ast.Name)}

    def _is_one(self, name: str, every: list[str]) -> bool:
        """Return whether a variable has one known type. `every`: the types of the values that are assigned to it.

        SAME agrees only with str and lists. Return False if the type of some value is missing in `every`.
        """
        one, *others = dict.fromkeys(every)
        kept = others == [SAME] and (one == "str" or _base(one) == "list")
        return one not in ("", SAME) and len(every) == len(self._unit.flow.binds[name]) and (not others or kept)

    def shown(self, value: str) -> str:
        """Return how an annotation is written in this module; "" if it needs a name that the module lacks."""
        names = set(re.findall(r"(?<![\w.])[A-Za-z_]\w*", re.sub(r"'[^']*'", "", value)))
        if not names <= self._declared.names:
            return ""
        if "List" in self._declared.names:
            value = re.sub(r"\b(list|dict|set|tuple)\[", lambda found: f"{found[1].capitalize()}[", value)
        return value if self._declared.deferred or names <= self._declared.early else f'"{value}"'

    def _bound(self, node: ast.AST) -> Iterator[tuple[str, str]]:
        """Yield (name, type of its value) for names that a simple assignment or a loop binds; the type may be ""."""
        match node:
            case ast.Assign(targets=[target], value=value):
                yield from self._parts(target, self._type(value), value)
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=value):
                yield name, kind if (kind := self._type(value)) in NUMBERS else SAME
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value) if not isinstance(op, ast.Div):
                yield name, self._type(value)
            case ast.For(target=target, iter=iterable) | ast.AsyncFor(target=target, iter=iterable):
                yield from self._parts(target, self._item(iterable), None)

    def _parts(self, target: ast.expr, of: str, value: ast.expr | None) -> Iterator[tuple[str, str]]:
        match target:
            case ast.Name(id=name):
                yield name, of
            case ast.Tuple(elts=parts):
                inner = _arguments_of(of) if _base(of) == "tuple" else []
                if isinstance(value, ast.Tuple) and len(value.elts) == len(parts):
                    inner = list(map(self._type, value.elts))
                for part, one in zip(parts, inner if len(inner) == len(parts) else [""] * len(parts), strict=True):
                    yield from self._parts(part, one, None)

    def _type(self, value: ast.expr) -> str:
        match value:
            case ast.Constant(value=bool() | int() | str() | float() | bytes() as plain):
                return type(plain).__name__
            case ast.Name(id=name):
                return self._known.get(name, "")
            case ast.Attribute(value=owner, attr=name):
                return self._declared.member(self._type(owner), f".{name}")
            case ast.Call():
                return self._made(value)
            case ast.Subscript():
                return self._at(value)
        return self._of_operation(value)

    def _of_operation(self, value: ast.expr) -> str:
        match value:
            case ast.JoinedStr():
                return "str"
            case ast.IfExp(body=one, orelse=two):
                return self._type(one) if self._type(one) == self._type(two) else ""
            case ast.BinOp():
                return self._combined(value)
        return "bool" if is_truth(value) else ""

    def _combined(self, value: ast.BinOp) -> str:
        """Return the type of the result of a binary operator; "" if it is not known.

        It is known for some operators on two values of the same built-in type, and for `%`, `+` and `*` after a text.
        """
        one, two = self._type(value.left), self._type(value.right)
        if one == "str":
            return "str" if isinstance(value.op, ast.Mod | ast.Add | ast.Mult) else ""
        kept: dict[str, tuple[type[ast.operator], ...]] = {
            "int": (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod),
            **dict.fromkeys(("bytes", "float", "list"), (ast.Add,)),
        }
        return one if one == two and isinstance(value.op, kept.get(_base(one) or one, ())) else ""

    def _at(self, value: ast.Subscript) -> str:
        of = self._type(value.value)
        if isinstance(value.slice, ast.Slice):
            return of if of in ("str", "bytes") or _base(of) == "list" else ""
        inner = _arguments_of(of)
        if of == "str":
            return "str"
        if _base(of) in ("list", "sequence"):
            return _only(inner)
        return inner[1] if _base(of) in MAPPINGS and len(inner) == 2 else ""

    def _made(self, value: ast.Call) -> str:
        """Return the type of the result of a call."""
        match value.func:
            case ast.Name(id=name) if name not in self._unit.flow.locals:
                return self._declared.result(name)
            case ast.Attribute(value=owner, attr=name):
                of = self._type(owner)
                if of == "str":
                    return OF_TEXT.get(name, "")
                if _base(of) == "list" and name in ("pop", "copy"):
                    return _only(_arguments_of(of)) if name == "pop" else of
                return self._declared.member(of, f".{name}()")
        return ""

    def _item(self, value: ast.expr) -> str:
        """Return the type of the items of an iterable."""
        match value:
            case ast.Call(func=ast.Name(id=name), args=[one, *_] as args) if name in ITERATING:
                if name == "range":
                    return "int"
                items = [self._item(part) for part in (args if name == "zip" else [one])]
                if not all(items):
                    return ""
                return {"zip": f"tuple[{', '.join(items)}]", "enumerate": f"tuple[int, {items[0]}]"}.get(name, items[0])
            case ast.Call(func=ast.Attribute(value=owner, attr="items" | "values" | "keys" as name)):
                of = self._type(owner)
                inner = _arguments_of(of) if _base(of) in MAPPINGS else []
                every = f"tuple[{', '.join(inner)}]", *inner[:1], *inner[1:]
                return every[("items", "keys", "values").index(name)] if len(inner) == 2 else ""
        return _item_of(self._type(value))


def _item_of(of: str) -> str:
    """Return the type of the items of a value with the type `of`."""
    inner = _arguments_of(of)
    if _base(of) in MAPPINGS:
        return inner[0] if len(inner) == 2 else ""
    if _base(of) == "tuple":
        return inner[0] if inner[1:] == ["..."] else ""
    return "str" if of == "str" else _only(inner) if _base(of) in SEQUENCES else ""


def without_none(value: str) -> str:
    """Return an annotation without None: `str` for `Optional[str]` and for `str | None`; "" if it has no None."""
    node = _parsed(value)
    match node:
        case ast.Subscript(value=ast.Name(id="Optional"), slice=one):
            return ast.unparse(one)
        case ast.BinOp(left=one, op=ast.BitOr(), right=ast.Constant(value=None)):
            return ast.unparse(one)
    return ""


def allows_none(value: str) -> bool:
    """Return whether an annotation itself allows None: `str | None` does, `list[str | None]` does not."""
    match _parsed(value):
        case ast.Constant(value=str(text)):
            return allows_none(text)
        case ast.BinOp(left=one, right=two):
            return allows_none(ast.unparse(one)) or allows_none(ast.unparse(two))
        case ast.Subscript(value=of):
            return last_name(of) == "Optional" or (
                last_name(of) == "Union" and any(map(allows_none, _arguments_of(value)))
            )
    return value == "None"


def _only(inner: list[str]) -> str:
    return inner[0] if len(inner) == 1 else ""


@lru_cache(maxsize=1_000)
def _parsed(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        return None


def _base(text: str) -> str:
    """Return the lower-case name before the brackets of an annotation: `list` for `typing.List[str]`; "" if none."""
    node = _parsed(text) if "[" in text else None
    return last_name(node.value).lower() if isinstance(node, ast.Subscript) else ""


def _arguments_of(text: str) -> list[str]:
    """Return what is in the brackets of an annotation."""
    node = _parsed(text) if "[" in text else None
    if not isinstance(node, ast.Subscript):
        return []
    return [ast.unparse(one) for one in (node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice])]
