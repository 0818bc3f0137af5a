"""The annotations of an extracted function, as far as they follow from annotations of the original code."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import pairwise

from coderefine.proposers.refactorings.blocks import Extraction, StatementBlock
from coderefine.proposers.refactorings.flow import start_of
from coderefine.proposers.refactorings.trees import Unit
from coderefine.proposers.refactorings.types import allows_none, known_types, without_none, written_type

LEAVING = ast.Return | ast.Raise | ast.Continue | ast.Break


def input_types(found: Extraction) -> dict[str, str]:
    """Return parameter -> annotation, for the parameters of the new function whose type is known."""
    known = known_types(found.block.unit)
    return {name: _narrowed(found.block, name, known[name]) for name in found.inputs if name in known}


def _narrowed(block: StatementBlock, name: str, known: str) -> str:
    """Return the annotation `known`, without None if `name` cannot be None in the block."""
    plain = without_none(known.strip('"'))
    if not plain or not (_is_guarded(block, name) or any(_excludes(name, node) for node in _conditions(block))):
        return known
    return f'"{plain}"' if known.startswith('"') else plain


def _conditions(block: StatementBlock) -> Iterator[ast.expr]:
    """Yield the conditions that hold where the block is: those of the `if` statements around it."""
    for node, inner in pairwise([*block.suite.parents, block.body[0]]):
        if isinstance(node, ast.If) and any(inner is one for one in node.body):
            yield node.test


def _excludes(name: str, test: ast.expr) -> bool:
    """Return whether `name` is certainly not None if `test` is true."""
    match test:
        case ast.Name(id=one) | ast.Compare(left=ast.Name(id=one), ops=[ast.IsNot()], comparators=[ast.Constant(None)]):
            return one == name
        case ast.BoolOp(op=ast.And(), values=values):
            return any(_excludes(name, value) for value in values)
    return False


def _is_guarded(block: StatementBlock, name: str) -> bool:
    """Return whether an `if` above the block leaves the function or the loop if `name` is None.

    Nothing may bind the name between the `if` and the block.
    """
    start = start_of(block.body[0])
    bound = max((one for one in block.unit.flow.binds.get(name, ()) if one < start), default=(0, 0))
    return any(bound < start_of(guard) < start and _is_missing(name, guard.test) for guard in _guards(block))


def _guards(block: StatementBlock) -> Iterator[ast.If]:
    """Yield each `if` that leaves the function or loop, in every list of statements that contains the block."""
    for owner, inner in pairwise([*block.suite.parents, block.body[0]]):
        for node in _beside(owner, inner):
            if isinstance(node, ast.If) and isinstance(node.body[-1], LEAVING):
                yield node


def _beside(owner: ast.AST, inner: ast.AST) -> Sequence[ast.stmt]:
    """Return the statements of the branch of `owner` that contains `inner`."""
    branches: Iterator[list[ast.stmt]] = (getattr(owner, name, []) for name in ("body", "orelse", "finalbody"))
    return next((one for one in branches if any(inner in ast.walk(statement) for statement in one)), ())


def _is_missing(name: str, test: ast.expr) -> bool:
    """Return whether `test` is true if `name` is None: `not NAME`, `NAME is None`, or an `or` with one of these."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=ast.Name(id=one)):
            return one == name
        case ast.Compare(left=ast.Name(id=one), ops=[ast.Is()], comparators=[ast.Constant(value=None)]):
            return one == name
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(_is_missing(name, value) for value in values)
    return False


def result_type(found: Extraction) -> str | None:
    """Return the annotation of the new function's result; None if the type is not known.

    Return None also if the result of the original function is not annotated, or if the block yields.
    """
    unit, block = found.block.unit, found.block
    if unit.function.returns is None or block.yields:
        return None
    whole = written_type(unit, unit.function.returns)
    match found.manner:
        case "flag":
            return "bool"
        case "return":
            return whole
        case "value":
            return _or_none(unit, whole) if whole else None
    return _of_outputs(found)


def _of_outputs(found: Extraction) -> str | None:
    """Return the annotation for the results `outputs`, "None" if there are none; None if not all types are known."""
    unit, known = found.block.unit, known_types(found.block.unit)
    types = [known[name] for name in found.outputs if name in known]
    if len(types) < len(found.outputs):
        return None
    if len(types) < 2:
        return types[0] if types else "None"
    return f"{'Tuple' if 'Tuple' in unit.declared.names else 'tuple'}[{', '.join(types)}]"


def _or_none(unit: Unit, known: str) -> str | None:
    """Return `known` as an annotation that also allows None; return None if the module has no way to write this."""
    if allows_none(known):
        return known
    if "Optional" in unit.declared.names:
        return f"Optional[{known}]"
    return f"{known} | None" if unit.declared.deferred and '"' not in known else None
