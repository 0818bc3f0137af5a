"""Unsafe fixes of ruff, only where they keep behaviour for values of all types, also those that no test passes."""

from __future__ import annotations

import ast
from dataclasses import replace

from coderefine.lint import Diagnostic, apply
from coderefine.proposers.refactorings.flow import TRUTHS, is_truth
from coderefine.proposers.rewritings.code import Code, Edits, expect, names, operand, plain, sure, uses
from coderefine.runner.percent_format import Formatting
from coderefine.source import Function, last_name

SIMPLE = ("bool", "float", "int", "str")
"""Types whose values are equal to None only if they are None, and are formatted as one value."""
AFFIXES = ("startswith", "endswith")


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


def return_truth(code: Code, at: Diagnostic) -> Edits:
    """SIM103: `if a: return False` and `return True` → `return not a`."""
    (edit,), found = _fixed(at), code.find(at, ast.If)
    truth = _truth(code, found.test, expect(found.body[0], ast.Return).value)
    place = code.line_start(edit.end[0]) + edit.end[1] - 1
    sure(edit.content.startswith("return "), not code.commented(code.start(found), place))
    return (replace(edit, content=f"return {truth}"),)


def test_truth(code: Code, at: Diagnostic) -> Edits:
    """SIM210: `True if a in b else False` → `a in b`."""
    found = code.find(at, ast.IfExp)
    return code.replace(found, _truth(code, found.test, found.body))


def _truth(code: Code, test: ast.expr, value: ast.expr | None) -> str:
    """Return an expression that is True or False: the constant `value` if `test` is true, and the other one if not."""
    positive = expect(expect(value, ast.Constant).value, bool)
    if not positive and isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        positive, test = True, test.operand
    text, truths = code.code(test), TRUTHS - code.bound
    sure("\n" not in text)
    if not positive:
        return _negated(code, test)
    sure(is_truth(test, truths) or "bool" in truths)
    return text if is_truth(test, truths) else f"bool({text})"


def _negated(code: Code, test: ast.expr) -> str:
    match test:
        case ast.Compare(left=left, ops=[ast.In() | ast.Is() as operator], comparators=[right]):
            return f"{code.code(left)} {'not in' if isinstance(operator, ast.In) else 'is not'} {code.code(right)}"
        case ast.Compare():
            return f"not ({code.code(test)})"
    return f"not {operand(code, test)}"


def use_list(code: Code, at: Diagnostic) -> Edits:
    """C416: `[a for a in b]` → `list(b)`; not for pairs and dictionaries: `(a, b)` may be made of a list."""
    found = code.find(at, ast.expr)
    sure(isinstance(found, ast.ListComp | ast.SetComp) and isinstance(found.elt, ast.Name))
    return _fixed(at)


def reraise(code: Code, at: Diagnostic) -> Edits:
    """TRY201: `raise a` in the handler `except A as a:` → `raise`."""
    found = code.parent(code.find(at, ast.Name), ast.Raise)
    handler = code.around(found, ast.ExceptHandler)
    name = expect(found.exc, ast.Name).id
    sure(handler.name == name, code.scope(found) is code.scope(handler), found.cause is None)
    sure(all(isinstance(one.ctx, ast.Load) for one in uses(handler, name)))
    return _fixed(at)


def merge_affixes(code: Code, at: Diagnostic) -> Edits:
    """PIE810: `a.startswith("b") or a.startswith("c")` → `a.startswith(("b", "c"))`, where `a` is a text."""
    found = code.find(at, ast.BoolOp)
    formatting = Formatting.of(code.scope(found), code.bound)
    calls = [one for one in found.values if isinstance(one, ast.Call) and last_name(one.func) in AFFIXES]
    for call in calls:
        owner = expect(call.func, ast.Attribute).value
        sure("str" in (annotation(code, owner), formatting.type_of(owner)))
        sure(all(isinstance(expect(one, ast.Constant).value, str) for one in call.args))
    return _fixed(at)


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
