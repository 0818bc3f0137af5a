"""Write an extraction: the new function, and its call in place of the block."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain, count

import libcst as cst

from coderefine.proposers.refactorings.blocks import Extraction
from coderefine.proposers.refactorings.signatures import input_types, result_type

Spell = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class NewFunction:
    """The text of an extracted function, without indentation. `method`: whether it belongs to the class."""

    name: str
    text: str
    method: bool


def extracted(found: Extraction, name: str) -> tuple[str, NewFunction]:
    """Return the text of the original function after the extraction, and the new function."""
    block = found.block
    cut = block.suite.cut(block.start, block.stop)
    assert cut is not None, "examined"
    first, last = cut
    lines = block.suite.block.body
    head, *rest = (_with_exits(line, found) for line in lines[first:last])
    blank, remarks = remarks_above(head)
    blank = blank if first else []
    body = [head.with_changes(leading_lines=remarks), *rest]
    if "\\" in block.unit.text:  # checking every blank would take a quarter of the time
        columns = block.body[0].col_offset + len(block.unit.indent) * (bool(block.unit.owner and not found.method) - 1)
        body = [_visited(line, _Continuation(columns)) for line in body]
    call = [
        line.with_changes(leading_lines=blank) if not place else line for place, line in enumerate(_call(found, name))
    ]
    replaced = block.suite.replaced([*lines[:first], *call, *lines[last:]])
    return block.unit.edited(*replaced), _new_function(found, name, body)


def _new_function(found: Extraction, name: str, body: list[cst.BaseStatement]) -> NewFunction:
    unit = found.block.unit
    receiver = (unit.receiver,) if found.method and not found.static else ()
    given = ", ".join((*receiver, *map(_annotated(found), found.inputs)))
    returned = result_type(found)
    result = f" -> {returned}" if returned else ""
    opening = f"{'async ' if found.block.awaits else ''}def {name}("
    header = f"{opening}{given}){result}:"
    if len(header) + (len(unit.indent) if unit.owner else 0) > unit.width:
        header = f"{opening}\n{unit.indent}{given}\n){result}:"
    shell = cst.parse_module(f"{_decorator(found)}{header}\n{unit.indent}pass\n")
    shell_function = shell.body[0]
    assert isinstance(shell_function, cst.FunctionDef), "written above"
    body = _with_result(found, body)
    if unit.documented:
        body = [_statement(f'"""{summary_of(name)}"""'), *body]
    whole = shell_function.with_changes(body=cst.IndentedBlock(body))
    return NewFunction(name, shell.with_changes(body=[whole], default_indent=unit.indent).code, found.method)


def summary_of(name: str) -> str:
    """Return the name of a function as a sentence: `Add rows.` for `_add_rows`."""
    return f"{' '.join(name.strip('_').split('_')).capitalize()}."


def _decorator(found: Extraction) -> str:
    """Return the line with the decorator of the new function; "" if it needs none."""
    kind = found.block.unit.decorator if found.method else ""
    kind = "staticmethod" if found.static else kind
    return f"@{kind}\n" if kind else ""


def _annotated(found: Extraction) -> Spell:
    """Return a function that writes a parameter with its annotation, where its type is known."""
    types = input_types(found)
    return lambda name: f"{name}: {types[name]}" if name in types else name


def _with_result(found: Extraction, body: list[cst.BaseStatement]) -> list[cst.BaseStatement]:
    """Return `body` with the `return` that the caller needs at its end.

    The last assignment becomes this `return` if its target is the only result. Without results, `body` stays, unless it
    is left early: then it ends with `return False` or `return None`.
    """
    if found.manner in ("flag", "value"):
        return [*body, _statement("return False" if found.manner == "flag" else "return None")]
    if not found.outputs:
        return body
    value = _last_value(found, body)
    if value is not None:
        *others, last = body
        leading = last.leading_lines if isinstance(last, cst.SimpleStatementLine) else ()
        kept = last.trailing_whitespace if isinstance(last, cst.SimpleStatementLine) else cst.TrailingWhitespace()
        line = cst.SimpleStatementLine([cst.Return(value)], leading_lines=leading, trailing_whitespace=kept)
        return [*others, line]
    return [*body, _statement(f"return {', '.join(found.outputs)}")]


def _last_value(found: Extraction, body: list[cst.BaseStatement]) -> cst.BaseExpression | None:
    """Return the value that the last statement assigns if its only target is the only result of the block."""
    match found.block.body[-1]:
        case ast.Assign(targets=[ast.Name(id=name)]) if found.outputs == (name,):
            line = body[-1]
            small = line.body[0] if isinstance(line, cst.SimpleStatementLine) else None
            return small.value if isinstance(small, cst.Assign) else None
    return None


def _call_text(found: Extraction, name: str) -> str:
    """Return the call of the new function, on several lines if it is too long for one."""
    unit, block = found.block.unit, found.block
    target = f"{unit.receiver}.{name}" if found.method else name
    call = f"{target}({', '.join(found.inputs)})"
    if len(call) + len(", ".join(found.outputs)) + _margin(found) > unit.width:
        call = f"{target}(\n{unit.indent}{', '.join(found.inputs)}\n)"
    if block.yields:
        return f"yield from {call}"
    return f"await {call}" if block.awaits else call


def _call(found: Extraction, name: str) -> list[cst.BaseStatement]:
    """Return the statements that call the new function."""
    unit, call = found.block.unit, _call_text(found, name)
    match found.manner:
        case "return":
            return [_statement(f"return {f'({call})' if found.block.yields else call}")]
        case "flag":
            return [_statement(f"if {call}:\n{unit.indent}{found.leave}\n", unit.indent)]
        case "value":
            words = chain(("result", "found", "value", "answer"), (f"result_{number}" for number in count(2)))
            value = next(word for word in words if word not in unit.names)
            test = _statement(f"if {value} is not None:\n{unit.indent}return {value}\n", unit.indent)
            return [_statement(f"{value} = {call}"), test]
    return [_statement(f"{', '.join(found.outputs)} = {call}" if found.outputs else call)]


def _margin(found: Extraction) -> int:
    """Return the number of columns beside the call: for its indentation in the file, and for the words around it."""
    levels = len(found.block.suite.parents) + bool(found.block.unit.owner)
    return levels * len(found.block.unit.indent) + 8


def _statement(text: str, indent: str = "    ") -> cst.BaseStatement:
    config = cst.PartialParserConfig(default_indent=indent)
    return cst.parse_statement(text, config)


def remarks_above(line: cst.BaseStatement) -> tuple[list[cst.EmptyLine], list[cst.EmptyLine]]:
    """Return the blank lines and the comments directly above a statement."""
    above = line.leading_lines if isinstance(line, cst.SimpleStatementLine | cst.BaseCompoundStatement) else ()
    return [one for one in above if one.comment is None], [one for one in above if one.comment is not None]


def _with_exits(line: cst.BaseStatement, found: Extraction) -> cst.BaseStatement:
    """Return the statement `line` with its exits replaced by `return` statements of the new function."""
    if found.manner not in ("continue", "flag", "value"):
        return line
    going_on = {"flag": "return True", "value": "return None"}.get(found.manner, "return")
    if found.manner == "continue" and found.outputs:
        going_on = f"return {', '.join(found.outputs)}"
    return _visited(line, _Exit(going_on, returns=found.manner == "flag"))


def _visited(line: cst.BaseStatement, transformer: cst.CSTTransformer) -> cst.BaseStatement:
    changed = line.visit(transformer)
    assert isinstance(changed, cst.BaseStatement), "one statement stays one"
    return changed


class _Continuation(cst.CSTTransformer):
    """Moves each row after a backslash to the left, by `columns`; LibCST moves all other rows."""

    def __init__(self, columns: int) -> None:
        self._columns = columns

    def leave_SimpleWhitespace(
        self, original_node: cst.SimpleWhitespace, updated_node: cst.SimpleWhitespace
    ) -> cst.SimpleWhitespace:
        return updated_node.with_changes(value=re.sub(rf"(?<=\n)[ \t]{{0,{self._columns}}}", "", updated_node.value))


class _Exit(cst.CSTTransformer):
    """Replaces each `break` and `continue` of a loop outside the block (with `returns`, also `return`) by `text`."""

    def __init__(self, text: str, *, returns: bool) -> None:
        self._text, self._returns, self._loops = text, returns, 0

    def visit_FunctionDef(self, node: cst.CSTNode) -> bool:
        return False

    visit_Lambda = visit_FunctionDef
    visit_ClassDef = visit_FunctionDef

    def visit_For_body(self, node: cst.CSTNode) -> None:
        self._loops += 1

    def leave_For_body(self, node: cst.CSTNode) -> None:
        self._loops -= 1

    visit_While_body, leave_While_body = visit_For_body, leave_For_body

    def leave_Continue(
        self, original_node: cst.CSTNode, updated_node: cst.BaseSmallStatement
    ) -> cst.BaseSmallStatement:
        return updated_node if self._loops else self._exit()

    leave_Break = leave_Continue

    def leave_Return(self, original_node: cst.Return, updated_node: cst.Return) -> cst.BaseSmallStatement:
        return self._exit() if self._returns else updated_node

    def _exit(self) -> cst.BaseSmallStatement:
        line = cst.parse_statement(self._text)
        assert isinstance(line, cst.SimpleStatementLine), "one simple statement"
        return line.body[0]
