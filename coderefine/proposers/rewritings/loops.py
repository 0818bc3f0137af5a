"""Rewritings of loops: a loop that only fills a list, a lambda that uses a loop variable, `table[key]` in a loop."""

from __future__ import annotations

import ast

from coderefine.lint import Diagnostic
from coderefine.proposers.refactorings.flow import Flow, called
from coderefine.proposers.rewritings.code import WIDTH, Code, Edits, expect, fresh, names, operand, sure, uses

SUSPENDED = ast.Await | ast.Yield | ast.YieldFrom | ast.NamedExpr
OWN_SCOPE = frozenset(("super", "locals", "vars", "dir", "eval", "exec"))
"""Functions that mean something else in a scope of its own, as comprehensions have before Python 3.12."""
Target = ast.Name | ast.Tuple | ast.expr_context


def comprehend(code: Code, at: Diagnostic) -> Edits:
    """PERF401, PERF402: a loop that appends → a comprehension, `list(…)` or `extend`."""
    return comprehension(code, code.find(at, ast.Call))


def comprehension(code: Code, call: ast.Call) -> Edits:
    """Return the edit that replaces a loop around `call`, the only thing it does, which appends to a list."""
    loop = code.around(call, ast.For)
    only: ast.stmt = loop.body[0]
    test: ast.expr | None = None
    if isinstance(only, ast.If):
        sure(not only.orelse, len(only.body) == 1)
        test, only = only.test, only.body[0]
    sure(not loop.orelse, len(loop.body) == 1, expect(only, ast.Expr).value is call)
    function = expect(call.func, ast.Attribute)
    sure(function.attr == "append", len(call.args) == 1, not call.keywords)
    sure(not isinstance(call.args[0], ast.Starred | ast.GeneratorExp))
    target = expect(function.value, ast.Name).id
    _check_moveable(code, loop, target)
    element, source = code.code(call.args[0]), operand(code, loop.iter)
    if test is None and element == code.code(loop.target):
        return _filled(code, loop, target, source, ("list(", ")"))
    condition = f" if {operand(code, test)}" if test is not None else ""
    return _filled(code, loop, target, f"{element} for {code.code(loop.target)} in {source}{condition}", ("[", "]"))


def _check_moveable(code: Code, loop: ast.For, target: str) -> None:
    """Raise Unsure unless `loop`, which fills the list `target`, can become one expression.

    The loop's variables must not be used elsewhere, its body must not read the list, await or yield, and no comment may
    be lost.
    """
    function = code.function(loop)
    inside = set(ast.walk(loop))
    outside = {one for name in names(loop.target) for one in uses(function, name)} - inside
    sure(not outside, len(uses(loop, target)) == 1, code.alone(loop), not code.commented(*code.span(loop)))
    sure(all(isinstance(node, Target) for node in ast.walk(loop.target)))
    sure(not any(map(is_bound_to_scope, inside)))
    sure(not any(isinstance(node, ast.Global | ast.Nonlocal) for node in ast.walk(function)))


def is_bound_to_scope(node: ast.AST) -> bool:
    """Return whether `node` means something else, or is not allowed, inside a comprehension."""
    return isinstance(node, SUSPENDED) or called(node) in OWN_SCOPE or getattr(node, "id", "") == "__class__"


def _filled(code: Code, loop: ast.For, target: str, made: str, signs: tuple[str, str]) -> Edits:
    """Replace the loop, and the statement that makes the empty list `target` if this is directly before the loop.

    The statement stays if the list may be read before the loop ends: in a nested function, or after an exception.
    `made`: the text for the new elements; `signs`: what opens and closes a list of them.
    """
    margin, block = code.indent(loop), code.siblings(loop)
    before = block[max(0, block.index(loop) - 1)]
    first, header = loop.lineno, f"{margin}{target}.extend("
    head, early = _empty_list(code, before, target), Flow(code.function(loop)).reads_during(loop, target)
    if head and not early and not code.text[code.end(before) : code.line_start(loop.lineno)].strip():
        first, header = before.lineno, f"{margin}{head} = {signs[0]}"
    closed = ")" if first == loop.lineno else signs[1]
    line = f"{header}{made}{closed}\n"
    if len(line) > (code.width or WIDTH) + 1:
        sure("\n" not in made)
        line = f"{header}\n{margin}    {made}\n{margin}{closed}\n"
    return code.replace_lines(first, loop.end_lineno or loop.lineno, line)


def _empty_list(code: Code, statement: ast.stmt, name: str) -> str:
    """Return the target, with its annotation, of a statement that makes `name` an empty list; "" if it does not."""
    value = getattr(statement, "value", None)
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or value is None or not code.alone(statement):
        return ""
    head = code.text[code.start(statement) : code.start(value)].rstrip(" =")
    empty = code.code(value) in ("[]", "list()") and head.partition(":")[0].strip() == name
    return head if empty else ""


def bind_loop_variable(code: Code, at: Diagnostic) -> Edits:
    """B023: `lambda: f(x)` in a loop over `x` → `lambda x=x: f(x)`."""
    found = code.find(at, ast.Name)
    made = expect(
        next(one for one in code.ancestors(found) if hasattr(one, "args") and hasattr(one, "body")), ast.Lambda
    )
    args = made.args
    sure(not args.vararg, not args.kwarg, not args.kwonlyargs, found.id not in names(args))
    start = code.start(made) + len("lambda")
    colon = code.text.rfind(":", start, code.start(made.body))
    text = code.text[start:colon].strip()
    return (code.edit(start, colon, f" {text}, {found.id}={found.id}" if text else f" {found.id}={found.id}"),)


def unpack_items(code: Code, at: Diagnostic) -> Edits:
    """PLC0206: `for key in table:` … `table[key]` → `for key, value in table.items():` … `value`."""
    key = code.find(at, ast.Name)
    loop = code.parent(key, ast.For)
    table = code.code(loop.iter).removesuffix(".keys()")
    sure(table.isidentifier(), all(isinstance(one.ctx, ast.Load) for node in loop.body for one in uses(node, key.id)))
    items = [code.parent(one, ast.Subscript) for node in loop.body for one in uses(node, table)]
    sure(items, all(isinstance(one.ctx, ast.Load) and code.code(one.slice) == key.id for one in items))
    value = fresh("value", names(code.scope(loop)))
    head = code.edit(code.start(key), code.end(loop.iter), f"{key.id}, {value} in {table}.items()")
    return (head, *(edit for one in items for edit in code.replace(one, value)))
