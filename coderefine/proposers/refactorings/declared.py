"""Read the annotations of a module and of its project's other modules, in order to infer the types of variables."""

from __future__ import annotations

import ast
import builtins
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from coderefine.proposers.refactorings.flow import TRUTHS, uses
from coderefine.source import arguments, last_name, syntax

if TYPE_CHECKING:
    from pathlib import Path

Types = Mapping[str, str]
"""Texts of annotations, without quotes, by name."""
MADE_BY: Types = {
    **dict.fromkeys(TRUTHS, "bool"),
    "len": "int",
    "int": "int",
    "str": "str",
    "float": "float",
    "repr": "str",
}
QUALIFIERS = ("Final", "ClassVar")
"""Names that annotations of variables may have around the type, but not annotations of parameters and results."""
BUILTINS = frozenset(dir(builtins))
DEFINED = re.compile(rb"^(?:class|def) (\w+)", re.MULTILINE)
Elsewhere = Callable[[str], "Declared | None"]


@dataclass(frozen=True, eq=False)
class Declared:
    """The annotations of a module.

    `results`: the result type of each function; for a class, its own name. `members`: for each class, the types of its
    attributes (`.name`) and the result types of its methods (`.name()`). `bases`: for each class, the names of its base
    classes. `names`: the names that an annotation may use; `early`: the built-in and imported names among these, which
    are bound before other code of the module runs. `deferred`: whether annotations are not evaluated. `elsewhere`:
    finds the annotations of the module that defines an imported name.
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
        """Return the type of a member of the class `owner`, also an inherited one; "" if it is not known.

        `name`: `.name` for an attribute, `.name()` for a method's result. `depth`: maximum number of classes on the way
        from `owner` to the base class with the member, both included.
        """
        where = self if owner in self.members else self.elsewhere(owner) if owner.isidentifier() else None
        if where is None or owner not in where.members or not depth:
            return ""
        inherited = (where.member(base, name, depth=depth - 1) for base in where.bases[owner])
        return where.members[owner].get(name) or next(filter(None, inherited), "")


NOTHING = Declared()


class ProjectTypes:
    """Finds the annotations of the module that defines a class or function, if the project defines that name once.

    Only definitions without indentation count, and no `async def`.
    """

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
                results[name] = annotation_text(returns)
            case ast.ClassDef(name=name):
                results[name], members[name], bases[name] = name, dict(_members(node)), list(map(last_name, node.bases))
            case ast.ImportFrom(module="__future__", names=aliases):
                deferred |= "annotations" in {one.name for one in aliases}
        names |= uses([node]).binds
    early = {name for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom) for name in uses([node]).binds}
    return Declared(results, members, bases, frozenset(names), BUILTINS | early, deferred, elsewhere)


def _top(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a module; in place of `if TYPE_CHECKING`, the statements in it."""
    for node in body:
        if isinstance(node, ast.If) and last_name(node.test) == "TYPE_CHECKING":
            yield from node.body
        else:
            yield node


def _members(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """Yield (`.name`, type) for attributes and properties, and (`.name()`, type of the result) for methods of a class.

    Types that the body of the class annotates come last: they replace types that follow from the constructor.
    """
    for one in node.body:
        if isinstance(one, ast.FunctionDef) and one.name == "__init__":
            yield from _set_in(one)
    for one in node.body:
        match one:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation):
                yield f".{name}", annotation_text(annotation)
            case ast.FunctionDef(name=name, returns=ast.expr() as returns):
                marks = {last_name(mark) for mark in one.decorator_list}
                if marks <= {"property", "cached_property"}:
                    yield f".{name}{'' if marks else '()'}", annotation_text(returns)


def _set_in(node: ast.FunctionDef) -> Iterator[tuple[str, str]]:
    """Yield (`.name`, type) for the attributes that a constructor annotates, or sets to a parameter or a constant."""
    known = {one.arg: annotation_text(one.annotation) for one in arguments(node) if one.annotation is not None}
    changed = uses(node.body).bound
    for part in ast.walk(node):
        match part:
            case ast.AnnAssign(target=ast.Attribute(value=ast.Name(id="self"), attr=name), annotation=annotation):
                yield f".{name}", annotation_text(annotation)
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=ast.Name(id=value)):
                if value in known and value not in changed:
                    yield f".{name}", known[value]
            case ast.Assign(
                targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)],
                value=ast.Constant(value=bool() | int() | str() as plain),
            ):
                yield f".{name}", type(plain).__name__


def annotation_text(annotation: ast.expr) -> str:
    """Return the text of an annotation, without quotes around it, `Final` and `ClassVar`; "" if nothing is left."""
    match annotation:
        case ast.Constant(value=str(text)):
            return text
        case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name), slice=inner) if name in QUALIFIERS:
            return annotation_text(inner)
        case ast.Name(id=name) | ast.Attribute(attr=name) if name in QUALIFIERS:
            return ""
    return ast.unparse(annotation)
