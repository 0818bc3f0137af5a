"""Annotations for the parameters and the results of extracted functions, from those that the module has already.

The type of a variable is known if all its values have one known type: a plain value, a parameter, an attribute, the
result of a function or a method that is annotated, or an item of one of these. No type is guessed.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from coderefine.proposers.refactorings.flow import own_nodes, parameters, uses
from coderefine.source import Function, last_name, syntax

if TYPE_CHECKING:
    from pathlib import Path

    from coderefine.proposers.refactorings.trees import Unit

Types = Mapping[str, str]
MADE_BY: Types = {
    **dict.fromkeys(("isinstance", "issubclass", "hasattr", "callable", "any", "all", "bool"), "bool"),
    "len": "int",
    "int": "int",
    "str": "str",
    "float": "float",
    "repr": "str",
}
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
BUILTINS = frozenset(dir(builtins))
DEFINED = re.compile(rb"^(?:class|def) (\w+)", re.MULTILINE)
NUMBERS = ("int", "float")
SAME = "="
"""What `a += b` says about the type of `a`."""
Elsewhere = Callable[[str], "Declared | None"]


@dataclass(frozen=True, eq=False)
class Declared:
    """Annotations of a module.

    `results`: of its functions, and its classes by their own names. `members`: of the attributes of its classes and of
    the results of their methods, as `.name` and `.name()`. `bases`: names of the classes that a class inherits from.
    `names`: those that an annotation may use; `early`: those of them that are bound before the code of the module.
    `deferred`: whether annotations are not evaluated. `elsewhere`: finds the module that defines an imported name.
    """

    results: Types = field(default_factory=dict)
    members: Mapping[str, Types] = field(default_factory=dict)
    bases: Mapping[str, Sequence[str]] = field(default_factory=dict)
    names: frozenset[str] = BUILTINS
    early: frozenset[str] = BUILTINS
    deferred: bool = False
    elsewhere: Elsewhere = lambda _: None

    def result(self, name: str) -> str:
        """Return the type of the result of calling the function or class `name`; "" if it is not known."""
        found = None if name in self.results or name not in self.names - BUILTINS else self.elsewhere(name)
        return self.results.get(name) or (found.results.get(name, "") if found else MADE_BY.get(name, ""))

    def member(self, owner: str, name: str, *, depth: int = 4) -> str:
        """Return the type of a member, also an inherited one; "" if it is not known. `name`: `.name` or `.name()`."""
        where = self if owner in self.members else self.elsewhere(owner) if owner.isidentifier() else None
        if where is None or owner not in where.members or not depth:
            return ""
        inherited = (where.member(base, name, depth=depth - 1) for base in where.bases[owner])
        return where.members[owner].get(name) or next(filter(None, inherited), "")


class ProjectTypes:
    """Finds the module of a project that defines a class or function, if it is the only one with this name."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._files = files
        self._modules: dict[Path, Declared | None] = {}

    @cached_property
    def _places(self) -> Mapping[str, list[Path]]:
        found: dict[str, list[Path]] = defaultdict(list)
        for file in self._files:
            for name in DEFINED.findall(file.read_bytes()):
                found[name.decode()].append(file)
        return found

    def __call__(self, name: str) -> Declared | None:
        files = self._places.get(name, [])
        if len(files) != 1:
            return None
        if files[0] not in self._modules:
            tree = syntax(files[0].read_bytes().decode("utf-8", "replace"))
            self._modules[files[0]] = declared(tree, self) if isinstance(tree, ast.Module) else None
        return self._modules[files[0]]


def declared(tree: ast.Module, elsewhere: Elsewhere = lambda _: None) -> Declared:
    """Return the annotations of a module."""
    results: dict[str, str] = {}
    members: dict[str, Types] = {}
    bases: dict[str, Sequence[str]] = {}
    names, deferred = set(BUILTINS), False
    for node in _top(tree.body):
        match node:
            case ast.FunctionDef(name=name, returns=ast.expr() as returns, decorator_list=[]):
                results[name] = _written(returns)
            case ast.ClassDef(name=name):
                results[name], members[name], bases[name] = name, dict(_members(node)), list(map(last_name, node.bases))
            case ast.ImportFrom(module="__future__", names=aliases):
                deferred |= "annotations" in {one.name for one in aliases}
        names |= uses([node]).binds
    early = {name for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom) for name in uses([node]).binds}
    return Declared(results, members, bases, frozenset(names), BUILTINS | early, deferred, elsewhere)


def _top(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a module, with those under `if TYPE_CHECKING`."""
    for node in body:
        if isinstance(node, ast.If) and last_name(node.test) == "TYPE_CHECKING":
            yield from node.body
        else:
            yield node


def _members(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """Yield the names and types of the attributes and methods of a class; what is annotated comes last."""
    for one in node.body:
        if isinstance(one, ast.FunctionDef) and one.name == "__init__":
            yield from _set_in(one)
    for one in node.body:
        match one:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation):
                yield f".{name}", _written(annotation)
            case ast.FunctionDef(name=name, returns=ast.expr() as returns):
                marks = {last_name(mark) for mark in one.decorator_list}
                if marks <= {"property", "cached_property"}:
                    yield f".{name}{'' if marks else '()'}", _written(returns)


def _set_in(node: ast.FunctionDef) -> Iterator[tuple[str, str]]:
    """Yield the attributes that a constructor annotates, or sets to a parameter or a plain value."""
    known = {one.arg: _written(one.annotation) for one in _arguments(node) if one.annotation is not None}
    changed = uses(node.body).bound
    for part in ast.walk(node):
        match part:
            case ast.AnnAssign(target=ast.Attribute(value=ast.Name(id="self"), attr=name), annotation=annotation):
                yield f".{name}", _written(annotation)
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=ast.Name(id=value)):
                if value in known and value not in changed:
                    yield f".{name}", known[value]
            case ast.Assign(
                targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)],
                value=ast.Constant(value=bool() | int() | str() as plain),
            ):
                yield f".{name}", type(plain).__name__


@lru_cache(maxsize=64)
def known_types(unit: Unit) -> Types:
    """Return annotations by name: of unchanged parameters, and of the variables whose type is known.

    Empty for a function without annotations.
    """
    signed = {one.arg: _written(one.annotation) for one in _arguments(unit.function) if one.annotation is not None}
    if not signed and unit.function.returns is None:
        return {}
    types = _Types(unit, signed)
    known = types.variables(signed)
    as_written = {
        one.arg: ast.get_source_segment(unit.text, one.annotation) or ""
        for one in _arguments(unit.function)
        if one.annotation is not None and one.arg in known
    }
    return {**{name: text for name, value in known.items() if (text := types.shown(value))}, **as_written}


def is_annotated(function: Function) -> bool:
    """Return whether a function has a complete signature: its result and all parameters but the first of a method."""
    plain = [one for one in _arguments(function) if one.arg not in ("self", "cls")]
    return function.returns is not None and all(one.annotation is not None for one in plain)


def _arguments(function: Function) -> list[ast.arg]:
    return [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]


def _written(annotation: ast.expr) -> str:
    """Return the text of an annotation, without the quotes around it."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return annotation.value
    return ast.unparse(annotation)


class _Types:
    """The types of the variables and the expressions of one function, as texts of annotations; "" if not known."""

    def __init__(self, unit: Unit, known: Types) -> None:
        self._unit, self._declared = unit, unit.declared
        self._known = dict(known)
        if unit.receiver and unit.owner and not unit.decorator:
            self._known[unit.receiver] = unit.owner

    def variables(self, signed: Types) -> Types:
        """Return the types of the names, those of which all values have one type. `signed`: those of the parameters."""
        found: dict[str, list[str]] = defaultdict(list)
        own = dict(signed)
        for node in own_nodes(self._unit.function.body):
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                own[node.target.id] = self._known[node.target.id] = _written(node.annotation)
            for name, value in self._bound(node):
                found[name].append(value)
                if name not in own and len(self._unit.flow.binds[name]) == 1:
                    self._known[name] = value
        others = found.keys() - own.keys() - parameters(self._unit.function.args)
        alike = {name: found[name][0] for name in others if self._is_one(name, found[name])}
        return {**alike, **{name: value for name, value in own.items() if {*found[name]} <= {value, "", SAME}}}

    def _is_one(self, name: str, every: list[str]) -> bool:
        """Return whether `every`, the types of all values of a variable, are one: with `SAME`, a text or a list."""
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
        """Yield each name that a statement binds, and the type of its value."""
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
            case ast.Compare(ops=ops) if all(isinstance(op, ast.In | ast.NotIn | ast.Is | ast.IsNot) for op in ops):
                return "bool"
            case ast.UnaryOp(op=ast.Not()):
                return "bool"
            case ast.IfExp(body=one, orelse=two):
                return self._type(one) if self._type(one) == self._type(two) else ""
            case ast.BinOp():
                return self._combined(value)
        return ""

    def _combined(self, value: ast.BinOp) -> str:
        """Return the type of an operation on two values of one built-in type, and of formatting a text."""
        one, two = self._type(value.left), self._type(value.right)
        if one == "str" and isinstance(value.op, ast.Mod | ast.Add):
            return "str"
        if one == "str" and two == "int" and isinstance(value.op, ast.Mult):
            return "str"
        numbers = one == "int" and isinstance(value.op, ast.Add | ast.Sub | ast.Mult | ast.FloorDiv | ast.Mod)
        texts = one in ("bytes", "float") and isinstance(value.op, ast.Add)
        return (
            one if one == two and (numbers or texts or (_base(one) == "list" and isinstance(value.op, ast.Add))) else ""
        )

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
            case ast.Call(func=ast.Name(id="range")):
                return "int"
            case ast.Call(func=ast.Name(id="enumerate"), args=[one, *_]):
                return f"tuple[int, {item}]" if (item := self._item(one)) else ""
            case ast.Call(func=ast.Name(id="zip"), args=args):
                items = [self._item(one) for one in args]
                return f"tuple[{', '.join(items)}]" if all(items) else ""
            case ast.Call(func=ast.Name(id="sorted" | "reversed" | "list" | "set" | "tuple"), args=[one, *_]):
                return self._item(one)
            case ast.Call(func=ast.Attribute(value=owner, attr="items" | "values" | "keys" as name)):
                inner = _arguments_of(of) if _base(of := self._type(owner)) in MAPPINGS else []
                every = {"items": f"tuple[{', '.join(inner)}]", "keys": inner[:1], "values": inner[1:]}[name]
                return "" if len(inner) != 2 else every if isinstance(every, str) else every[0]
        of = self._type(value)
        inner = _arguments_of(of)
        if _base(of) in MAPPINGS:
            return inner[0] if len(inner) == 2 else ""
        if _base(of) == "tuple" and len(inner) == 2 and inner[1] == "...":
            return inner[0]
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
