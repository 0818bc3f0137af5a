"""Unsafe fixes of ruff, only where they keep behaviour for values of all types, also those that no test passes."""

from __future__ import annotations

import ast
from dataclasses import replace

from coderefine.lint import Diagnostic, apply
from coderefine.proposers.rewritings.code import Code, Edits, expect, names, plain, sure, uses
from coderefine.source import Function

SIMPLE = ("bool", "float", "int", "str")
"""Types whose values are equal to None only if they are None, and are formatted as one value."""


def test_none(code: Code, at: Diagnostic) -> Edits:
    """E711: `a == None` → `a is None`, where `a` is annotated as a simple type."""
    found = code.parent(code.find(at, ast.Constant), ast.Compare)
    sure(len(found.ops) == 1, annotation(code, found.left).removesuffix(" | None") in SIMPLE)
    return _fixed(at)


def test_condition(code: Code, at: Diagnostic) -> Edits:
    """E712: `a == True` → `a`, where `a` is annotated as `bool`."""
    found = code.find(at, ast.Compare)
    sure(len(found.ops) == 1, annotation(code, found.left) == "bool")
    return _fixed(at)


def test_membership(code: Code, at: Diagnostic) -> Edits:
    """PLR1714: `a == 1 or a == 2` → `a in (1, 2)`; in a set, `a` would have to be hashable.

    All values must be constants: others may be unequal even to themselves (NaN), but `in` finds them.
    """
    (edit,) = _fixed(at)
    found = code.find(at, ast.BoolOp)
    before, new = code.code(found), expect(Code.of(edit.content), Code)
    sure(not code.commented(code.start(found), code.end(found)))
    made = [one for one in new.nodes if isinstance(one, ast.Set | ast.Tuple) and new.code(one) not in before]
    sure(all(isinstance(item, ast.Constant) for one in made for item in one.elts))
    edits = [part for one in made for part in new.replace(one, f"({new.code(one)[1:-1]})")]
    return (replace(edit, content=expect(apply(edit.content, edits), str)),)


def remove_unused(code: Code, at: Diagnostic) -> Edits:
    """F841: `except A as b:` → `except A:`; `b = 1` is removed.

    Other values may raise an exception, as names that are not bound do, or be destroyed earlier.
    """
    caught = any(isinstance(one, ast.ExceptHandler) and one.lineno == at.first for one in code.nodes)
    value = None if caught else code.parent(code.find(at, ast.Name), ast.Assign).value
    sure(value is None or (plain(value) and not names(value)))
    return _fixed(at)


def return_value(code: Code, at: Diagnostic) -> Edits:
    """RET504: `a = b()` and `return a` → `return b()`; not if `with` is around the first only: it may catch."""
    found = code.parent(code.find(at, ast.Name), ast.Return)
    block = code.siblings(found)
    before, end = block[block.index(found) - 1], code.line_start((found.end_lineno or 0) + 1)
    sure(isinstance(before, ast.Assign | ast.AnnAssign), not code.commented(code.start(before), end))
    return _fixed(at)


def strip_docstring(code: Code, at: Diagnostic) -> Edits:
    """W291, W293: white space at the end of a line is removed in docstrings; in another string, it may be meant."""
    sure(any(one.lineno <= at.first <= (one.end_lineno or 0) for one in code.docstrings))
    return _fixed(at)


def _fixed(at: Diagnostic) -> Edits:
    sure(at.fix)
    return at.fix.plain.edits if at.fix else ()


def annotation(code: Code, node: ast.expr) -> str:
    """Return the annotation of the parameter that `node` names; "" if there is none, or if other types are possible.

    Other types are possible if the name is bound again, or if any parameter of the function has the default value None:
    in older code, the annotation of such a parameter need not allow None.
    """
    around = code.scope(node)
    if not isinstance(node, ast.Name) or not isinstance(around, Function):
        return ""
    hints = [one.annotation for one in ast.walk(around.args) if isinstance(one, ast.arg) and one.arg == node.id]
    kept = not _has_none(around) and all(isinstance(one.ctx, ast.Load) for one in uses(around, node.id))
    return "".join(map(code.code, filter(None, hints))) if kept else ""


def _has_none(function: Function) -> bool:
    """Return whether a parameter of `function` has the default value None."""
    defaults = (*function.args.defaults, *function.args.kw_defaults)
    return any(isinstance(one, ast.Constant) and one.value is None for one in defaults)
