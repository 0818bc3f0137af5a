"""Edits of conditions (extend, restrict, replace, remove), branches, and filters of comprehensions."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator

from coderefine.proposers.search import emit
from coderefine.proposers.search.operators.atoms import atoms
from coderefine.proposers.search.site import Site
from coderefine.proposers.search.syntax import Edit, Replacement
from coderefine.proposers.search.value_kinds import dotted, names_of
from coderefine.source import Comprehension, first_line

ANALOGOUS = 2.0
"""Bonus of a second condition with the same structure as the first."""


def narrow(site: Site) -> Iterator[Edit]:
    """Restrict a condition by another condition: `c and d`, in either order."""
    for node in _tests(site):
        yield from _joined(site, node, "and", [*_analogies(site, node), *_without_texts(site, node)], 0.8)


def widen(site: Site) -> Iterator[Edit]:
    """Extend a condition by an alternative: `c or d`, in either order."""
    for node in _tests(site):
        yield from _joined(site, node, "or", _analogies(site, node), 0.5)


def _joined(site: Site, node: ast.expr, word: str, likely: list[str], reverse: float) -> Iterator[Edit]:
    """Join a condition by `word` ("and" or "or") with each of the `likely` conditions, then with atomic conditions.

    `reverse`: factor of the weight if the atomic condition comes first.
    """
    text = site.code(node)
    left = text if emit.rank(node) >= emit.RANKS[ast.And if word == "and" else ast.Or] else f"({text})"
    for atom in likely:
        yield from site.swap(node, f"{left} {word} {atom}", 2.0, ANALOGOUS)
    for atom, weight in atoms(site).items():
        if atom not in text:
            yield from site.swap(node, f"{left} {word} {atom}", weight)
            yield from site.swap(node, f"{atom} {word} {left}", weight * reverse)


def _analogies(site: Site, node: ast.expr) -> list[str]:
    """Return the same comparison of other attributes: `a.x == b.x` for `a.y == b.y`.

    Return [] if no attribute occurs twice in the comparison.
    """
    used = {inner.attr for inner in ast.walk(node) if isinstance(inner, ast.Attribute)}
    text, fields = site.code(node), site.local.fields if isinstance(node, ast.Compare) else ()
    both = [name for name in sorted(used) if len(re.findall(rf"\.{name}\b", text)) > 1]
    return [re.sub(rf"\.{old}\b", f".{new}", text) for old in both for new in fields if new not in used]


def _without_texts(site: Site, node: ast.expr) -> Iterator[str]:
    """Yield `not isinstance(x, (str, bytes))` for tests in `node` that strings pass, too: `isinstance(x, Sized)`."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Call) and len(inner.args) == 2 and dotted(inner.func) in ("isinstance", "hasattr"):
            value, asked = map(site.code, inner.args)
            if re.search(r"\b(Iterable|Sequence|Collection|Sized|__iter__|__len__|__getitem__)\b", asked):
                yield f"not isinstance({value}, (str, bytes))"


def _is_tested(site: Site, node: ast.expr) -> bool:
    """Return whether `node` is the condition of its statement, so that only the truth of its value counts."""
    return getattr(site.module.parents.get(node), "test", None) is node


def _is_bool(site: Site, atom: str) -> bool:
    """Return whether the value of an atomic condition may be a bool: it is not if it is a subscript or an object.

    A variable whose attributes are used somewhere is an object.
    """
    if atom.endswith("]"):
        return False
    used = site.world.uses.get(atom)
    return not used or not (used[True] or used[False])


def replaced(site: Site) -> Iterator[Edit]:
    """Replace a condition, or a part of it, by an atomic condition on names in scope, or by True or False."""
    for node in site.conditions:
        old, stored = set(names_of(node)), isinstance(node, ast.Constant) and not _is_tested(site, node)
        for atom, weight in atoms(site).items():
            if stored and not _is_bool(site, atom):
                continue
            shared = any(name in atom for name in old)
            odd = 4.0 if isinstance(node, ast.Constant) else 0.0
            yield from site.swap(node, atom, weight * (1.0 if shared else 0.4), odd)
        if not isinstance(node, ast.Constant):
            yield from site.swap(node, "True", 0.15)
            yield from site.swap(node, "False", 0.15)


def none_check(site: Site) -> Iterator[Edit]:
    """Replace `x is not None` by `x` and `x is None` by `not x`, or vice versa."""
    for node in site.conditions:
        inner = node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) else None
        if inner is not None:
            yield from site.swap(node, f"{site.tight(inner)} is None", 1.0)
        elif isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
            yield from site.swap(node, f"{site.code(node)} is not None", 1.0)
            yield from site.swap(node, f"{site.code(node)} is None", 0.4)
        elif isinstance(node, ast.Compare):
            match node.ops, node.comparators:
                case [ast.IsNot()], [ast.Constant(value=None)]:
                    yield from site.swap(node, site.code(node.left), 1.0)
                case [ast.Is()], [ast.Constant(value=None)]:
                    yield from site.swap(node, f"not {site.tight(node.left)}", 1.0)


def _tests(site: Site) -> list[ast.expr]:
    """Return the conditions that are not operands of another condition."""
    parents = site.module.parents
    return [
        node
        for node in site.conditions
        if not (isinstance(parent := parents.get(node), ast.BoolOp) and parent in site.conditions)
    ]


def branches(site: Site) -> Iterator[Edit]:
    """Swap branches by negating the condition; replace `if` by `elif` or `while`, or vice versa."""
    node = site.stmt
    if isinstance(node, ast.If):
        start = site.module.start(node)
        word = "elif" if site.module.text.startswith("elif", start) else "if"
        if node.orelse:
            text = site.code(node.test)
            yield Edit((Replacement(site.module.start(node.test), site.module.end(node.test), f"not ({text})"),), 1.0)
        if word == "elif":
            yield Edit((Replacement(start, start + 4, "if"),), 1.0)
        else:
            yield from _to_elif(site, node, start)
            if not node.orelse:
                yield Edit((Replacement(start, start + 2, "while"),), 0.7)
    elif isinstance(node, ast.While) and not node.orelse:
        start = site.module.start(node)
        yield Edit((Replacement(start, start + 5, "if"),), 0.7)


def _to_elif(site: Site, node: ast.If, start: int) -> Iterator[Edit]:
    index = site.siblings.index(node) if node in site.siblings else 0
    before = site.siblings[index - 1] if index else None
    if isinstance(before, ast.If) and site.module.alone(node) and before.col_offset == node.col_offset:
        yield Edit((Replacement(start, start + 2, "elif"),), 1.5)


def else_removed(site: Site) -> Iterator[Edit]:
    """Run the body of an `else` unconditionally, or move the statement after an `if` to a new `else`."""
    node = site.stmt
    if not isinstance(node, ast.If | ast.For | ast.While | ast.Try) or not site.module.alone(node):
        return
    if node.orelse:
        yield from _else_freed(site, node.body[-1], node.orelse)
    elif isinstance(node, ast.If):
        yield from _else_made(site, node)


def _else_freed(site: Site, before: ast.stmt, orelse: list[ast.stmt]) -> Iterator[Edit]:
    """Yield edits that remove an `else`; `before`: the last statement of the preceding block."""
    module, first, last = site.module, orelse[0], orelse[-1]
    if isinstance(site.stmt, ast.If) and module.text.startswith("elif", module.start(first)):
        return
    if first_line(first) > (before.end_lineno or 0) + 1 and module.alone(first):
        start = module.line_end(before.end_lineno or 0)
        body = "".join(emit.reindented(module, stmt, module.indent(site.stmt)) for stmt in orelse)
        yield Edit((Replacement(start, module.line_end(last.end_lineno or 0), body),), 1.0)


def _else_made(site: Site, node: ast.If) -> Iterator[Edit]:
    module = site.module
    index = site.siblings.index(node)
    for following in site.siblings[index + 1 : index + 2]:
        if module.alone(following) and module.alone(node.body[0]):
            start, end = emit.lines_of(module, following)
            body = emit.reindented(module, following, module.indent(node.body[0]))
            yield Edit((Replacement(start, end, f"{module.indent(node)}else:\n{body}"),), 0.7)


def unconditional(site: Site) -> Iterator[Edit]:
    """Remove an `if` without `else` around statements."""
    node = site.stmt
    module = site.module
    if isinstance(node, ast.If) and not node.orelse and module.alone(node) and module.alone(node.body[0]):
        start, end = emit.lines_of(module, node)
        if not module.text.startswith("elif", module.start(node)):
            body = "".join(emit.reindented(module, stmt, module.indent(node)) for stmt in node.body)
            yield Edit((Replacement(start, end, body),), 1.0)


def made_conditional(site: Site) -> Iterator[Edit]:
    """Put a simple statement under an atomic condition."""
    node, module = site.stmt, site.module
    if isinstance(
        node, ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom | ast.AsyncFunctionDef
    ) or not module.alone(node):
        return
    if isinstance(node, ast.If | ast.For | ast.While | ast.With | ast.Try):
        return
    lead = module.indent(node)
    start, end = emit.lines_of(module, node)
    body = emit.reindented(module, node, lead + site.module.step)
    for atom, weight in atoms(site).items():
        yield Edit((Replacement(start, end, f"{lead}if {atom}:\n{body}"),), weight)


def filters(site: Site) -> Iterator[Edit]:
    """Add or remove a filter of a comprehension."""
    for node in site.nodes:
        if isinstance(node, Comprehension):
            last = node.generators[-1]
            at = site.module.end(last.ifs[-1] if last.ifs else last.iter)
            inner = set(names_of(last.target))
            for atom, weight in atoms(site).items():
                if any(name in atom for name in inner):
                    yield Edit((Replacement(at, at, f" if {atom}"),), weight)
            for before, test in itertools.pairwise((last.iter, *last.ifs)):
                yield Edit((Replacement(site.module.end(before), site.module.end(test), ""),), 2.0)


def ternary(site: Site) -> Iterator[Edit]:
    """Replace a value by an empty value unless a condition holds: `x if condition else None`."""
    for node in site.nodes:
        value = getattr(node, "value", None) if isinstance(node, ast.Return | ast.Assign | ast.keyword) else None
        if isinstance(value, ast.expr) and not isinstance(value, ast.Constant | ast.IfExp):
            for atom, weight in list(atoms(site).items())[:60]:
                for other in ("None", "0", "[]", '""', "False"):
                    yield from site.swap(value, f"{site.code(value)} if {atom} else {other}", weight)
