"""Annotations for the parameters and the results of extracted functions: only those that are certainly right."""

from __future__ import annotations

import ast
import builtins
from collections import defaultdict
from collections.abc import Iterator

from coderefine.proposers.refactorings.flow import called, own_nodes
from coderefine.proposers.refactorings.trees import Unit

MADE_BY = {"len": "int", "int": "int", "str": "str", "bool": "bool", "float": "float", "isinstance": "bool"}


def known_types(unit: Unit) -> dict[str, str]:
    """Return annotations by name: of unchanged parameters, of annotated variables, of those that hold plain values.

    Empty for a function without annotations.
    """
    arguments = unit.function.args
    parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    signed = {one.arg: one.annotation for one in parameters if one.annotation is not None}
    if not signed and unit.function.returns is None:
        return {}
    seen = {*dir(builtins)}.union(*map(_names, signed.values()))
    found = {name: _source(unit, value) for name, value in signed.items() if not unit.flow.binds.get(name)}
    others = _of_variables(unit, seen)
    return found | {name: others[name] for name in others.keys() - {one.arg for one in parameters}}


def _names(annotation: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(annotation) if isinstance(node, ast.Name)}


def _of_variables(unit: Unit, seen: set[str]) -> dict[str, str]:
    """Return the annotations of local variables. `seen`: names that an annotation may use outside the function."""
    found: dict[str, str] = {}
    types: dict[str, list[str]] = defaultdict(list)
    for node in own_nodes(unit.function.body):
        match node:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation):
                if _names(annotation) <= seen:
                    found[name] = _source(unit, annotation)
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AugAssign(target=ast.Name(id=name), value=value)
            ):
                types[name].append(_type(value))
    return dict(_alike(unit, types)) | found


def _alike(unit: Unit, types: dict[str, list[str]]) -> Iterator[tuple[str, str]]:
    """Yield the names all of whose values have one known type."""
    for name, every in types.items():
        if len({*every}) == 1 and every[0] and len(every) == len(unit.flow.binds[name]):
            yield name, every[0]


def _type(value: ast.expr) -> str:
    """Return the type of a plain value, "" if it is not known."""
    match value:
        case ast.Constant(value=bool() | int() | str() | float() | bytes() as plain):
            return type(plain).__name__
        case ast.JoinedStr():
            return "str"
        case ast.Call(func=ast.Name()):
            return MADE_BY.get(called(value), "")
    return ""


def _source(unit: Unit, node: ast.AST) -> str:
    return ast.get_source_segment(unit.text, node) or ast.unparse(node)
