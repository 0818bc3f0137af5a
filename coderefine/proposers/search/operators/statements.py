"""Whole statements: inserted, deleted, exchanged, moved in or out of a block."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from coderefine.proposers.search import emit
from coderefine.proposers.search.index import SIMPLE, Piece
from coderefine.proposers.search.kinds import dotted, fits
from coderefine.proposers.search.operators.names import likeness
from coderefine.proposers.search.site import Site
from coderefine.proposers.search.syntax import DEFINITIONS, LOOPS, Edit, Replacement, first_line


def deletion(site: Site) -> Iterator[Edit]:
    """A superfluous statement taken out."""
    if isinstance(site.stmt, (*DEFINITIONS, ast.Import, ast.ImportFrom, ast.Pass)):
        return
    weight = 1.0 if isinstance(site.stmt, SIMPLE) else 0.3
    if edit := emit.removal(site.module, site.stmt, weight):
        yield edit


def exchange(site: Site) -> Iterator[Edit]:
    """A statement exchanged with the one after it."""
    index = site.siblings.index(site.stmt) if site.stmt in site.siblings else -1
    for other in site.siblings[index + 1 : index + 3] if index >= 0 else []:
        if site.module.alone(site.stmt) and site.module.alone(other):
            one, two = emit.lines_of(site.module, site.stmt), emit.lines_of(site.module, other)
            first, second = emit.block_text(site.module, site.stmt), emit.block_text(site.module, other)
            yield Edit((Replacement(*one, second), Replacement(*two, first)), 1.0)


def moved_up(site: Site) -> Iterator[Edit]:
    """A statement moved to another place of its block: its start, its end."""
    module, block = site.module, site.siblings
    if len(block) < 3 or not module.alone(site.stmt) or not isinstance(site.stmt, SIMPLE):
        return
    start, end = emit.lines_of(module, site.stmt)
    text = emit.block_text(module, site.stmt)
    for other in block:
        if other is not site.stmt and module.alone(other):
            at = module.line_start(first_line(other))
            if at not in (start, end):
                yield Edit((Replacement(start, end, ""), Replacement(at, at, text)), 1.0)
    last = block[-1]
    if last is not site.stmt and module.alone(last):
        at = module.line_end(last.end_lineno or last.lineno)
        if module.text[:at].endswith("\n"):
            yield Edit((Replacement(start, end, ""), Replacement(at, at, text)), 1.0)


def outdent(site: Site) -> Iterator[Edit]:
    """The last statements of a block moved out of it: behind it, one step less indented."""
    module, node = site.module, site.stmt
    parent = module.parents.get(node)
    if not isinstance(parent, ast.stmt) or isinstance(parent, DEFINITIONS) or not module.alone(node):
        return
    block = site.siblings
    if block.index(node) == 0 and len(block) == 1:
        return
    indent = module.indent(parent)
    start, end = emit.lines_of(module, node)
    if node is block[-1] and (parent.end_lineno == node.end_lineno):
        yield Edit((Replacement(start, end, emit.reindented(module, node, indent)),), 2.0)
    elif isinstance(node, SIMPLE):
        at = module.line_end(parent.end_lineno or parent.lineno)
        if module.text[:at].endswith("\n"):
            yield Edit((Replacement(start, end, ""), Replacement(at, at, emit.reindented(module, node, indent))), 0.7)
    if node is block[0] and isinstance(node, SIMPLE):
        at = module.line_start(first_line(parent))
        yield Edit((Replacement(start, end, ""), Replacement(at, at, emit.reindented(module, node, indent))), 0.7)


def indent(site: Site) -> Iterator[Edit]:
    """A statement moved into the block (loop, if, else) that ends before it or begins after it."""
    module, block = site.module, site.siblings
    if not module.alone(site.stmt) or site.stmt not in block:
        return
    index = block.index(site.stmt)
    start, end = emit.lines_of(module, site.stmt)
    before = block[index - 1] if index else None
    if len(block) > 1:
        for depth, inner in enumerate(_last_blocks(before)):
            if module.alone(inner) and first_line(inner) != (before.lineno if before else 0):
                yield Edit(
                    (Replacement(start, end, emit.reindented(module, site.stmt, module.indent(inner))),),
                    2.0 / (1 + depth),
                )
        after = block[index + 1] if index + 1 < len(block) else None
        if (
            isinstance(after, ast.For | ast.While | ast.If | ast.With)
            and module.alone(after.body[0])
            and isinstance(site.stmt, SIMPLE)
        ):
            at = module.line_start(first_line(after.body[0]))
            yield Edit(
                (
                    Replacement(start, end, ""),
                    Replacement(at, at, emit.reindented(module, site.stmt, module.indent(after.body[0]))),
                ),
                1.0,
            )


def _last_blocks(stmt: ast.stmt | None) -> Iterator[ast.stmt]:
    """First statements of the blocks that end where `stmt` ends, outermost first."""
    while stmt is not None and not isinstance(stmt, DEFINITIONS):
        blocks = [block for name in ("body", "orelse", "finalbody") if (block := getattr(stmt, name, None))]
        blocks += [handler.body for handler in getattr(stmt, "handlers", [])]
        inner = max(blocks, key=lambda block: block[-1].end_lineno or 0, default=None)
        if inner is None:
            return
        yield inner[-1]
        stmt = inner[-1]


def kind_changed(site: Site) -> Iterator[Edit]:
    """`break` for `continue` for `pass` for `return`; an expression returned or yielded; a yield that delegates."""
    node, module = site.stmt, site.module
    words = {ast.Break: "break", ast.Continue: "continue", ast.Pass: "pass"}
    if type(node) in words:
        for word in ("break", "continue", "pass", "return", "return None", "return False", "return True"):
            if word != words[type(node)] and (site.loop is not None or word not in ("break", "continue")):
                yield Edit((Replacement(module.start(node), module.end(node), word),), 1.0 if " " not in word else 0.3)
    if isinstance(node, ast.Expr):
        yield from _expression(site, node)
    if isinstance(node, ast.Return) and node.value is not None:
        start, end = module.start(node), module.start(node.value)
        yield Edit((Replacement(start, end, "yield "),), 0.5)
        yield Edit((Replacement(start, end, ""),), 0.4)
        yield Edit((Replacement(start, end, "raise "),), 0.1)
        if site.loop is not None:
            yield Edit((Replacement(start, module.end(node), "continue"),), 0.3)
            yield Edit((Replacement(start, module.end(node), "break"),), 0.3)


def _expression(site: Site, node: ast.Expr) -> Iterator[Edit]:
    module, value = site.module, node.value
    if isinstance(value, ast.Yield) and value.value is not None:
        start, end = module.start(value), module.start(value.value)
        yield Edit((Replacement(start, end, "yield from "),), 2.0)
        yield Edit((Replacement(start, end, "return "),), 1.0)
    elif isinstance(value, ast.YieldFrom):
        yield Edit((Replacement(module.start(value), module.start(value.value), "yield "),), 2.0)
    elif not isinstance(value, ast.Constant):
        at = module.start(node)
        yield Edit((Replacement(at, at, "return "),), 2.0)
        yield Edit((Replacement(at, at, "yield "),), 0.4)
        yield Edit((Replacement(at, at, "yield from "),), 0.6)
        if isinstance(value, ast.Call):
            base = dotted(value.func.value) if isinstance(value.func, ast.Attribute) else ""
            names = [base] if base and base not in site.local.globals else []
            names += [dotted(argument) for argument in value.args if dotted(argument)]
            for name in names:
                yield Edit((Replacement(at, at, f"{name} = "),), 2.0)
            for name in site.paths[:6]:
                yield Edit((Replacement(at, at, f"{name} += "),), 0.3)


def assignment_kind(site: Site) -> Iterator[Edit]:
    """`=` for `+=` and the like, and the other way round."""
    node, module = site.stmt, site.module
    if isinstance(node, ast.AugAssign):
        gap = module.text[module.end(node.target) : module.start(node.value)]
        at = module.end(node.target) + len(gap) - len(gap.lstrip())
        until = at + gap.strip().index("=") + 1 if "=" in gap else at
        yield Edit((Replacement(at, until, "="),), 1.0)
    elif isinstance(node, ast.Assign) and len(node.targets) == 1 and not isinstance(node.targets[0], ast.Tuple):
        target = node.targets[0]
        if _bound_before(site, target):
            for sign, weight in (
                ("+=", 4.0),
                ("-=", 2.0),
                ("*=", 1.0),
                ("|=", 0.8),
                ("//=", 0.3),
                ("&=", 0.2),
                ("/=", 0.3),
                ("%=", 0.3),
            ):
                if edit := emit.between(module, target, node.value, "=", sign, weight):
                    odd = 1.5 if site.loop is not None and isinstance(node.value, ast.Constant | ast.Name) else 0.0
                    yield Edit(edit.parts, weight, odd)


def _bound_before(site: Site, target: ast.AST) -> bool:
    name = dotted(target).split(".")[0]
    return not name or "." in dotted(target) or site.local.bound.get(name, 10**9) < site.stmt.lineno


def from_here(site: Site) -> Iterator[Edit]:
    """A missing statement that stands elsewhere in this function, class or file, with one name adapted."""
    for text, weight in _ingredients(site).items():
        yield from _around(site, text, weight)


def _around(site: Site, text: str, weight: float) -> Iterator[Edit]:
    index = site.siblings.index(site.stmt) if site.stmt in site.siblings else 0
    if any(site.code(near) == text for near in site.siblings[max(index - 1, 0) : index + 2]):
        return
    jumps = text.startswith(("return", "raise", "break", "continue"))
    if site.loop is None and text in ("break", "continue"):
        return
    if isinstance(site.stmt, DEFINITIONS) and site.local.function is site.stmt:
        return
    if not jumps and (edit := emit.insertion(site.module, site.stmt, text, weight=weight)):
        yield edit
    last = site.siblings[-1] is site.stmt
    if isinstance(site.stmt, ast.Return | ast.Raise | ast.Break | ast.Continue) or (jumps and not last):
        return
    if edit := emit.insertion(site.module, site.stmt, text, after=True, weight=weight * (1.0 if last else 0.5)):
        yield edit


def _ingredients(site: Site) -> dict[str, float]:
    found: dict[str, float] = {}
    for weight, piece in nearest(site, site.module.index.statements):
        node = piece.node
        if (
            node is site.stmt
            or isinstance(node, ast.Raise)
            or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        ):
            continue
        missing = piece.names - site.known
        if not missing:
            found.setdefault(piece.text, weight)
            for name in sorted(piece.names & set(site.names)) if "\n" not in piece.text else ():
                found.setdefault(f"if {name}:\n{site.module.step}{piece.text}", weight * 0.3)
        for variant in _adapted(site, piece.text, piece.names, missing):
            found.setdefault(variant, weight * 0.4)
        if len(found) > 400:
            break
    return found


def nearest(site: Site, pieces: list[Piece]) -> list[tuple[float, Piece]]:
    """Pieces of this function, then of this class, then of the file, with the weight of each group."""
    local = site.local
    weighed = [
        (2.0 if piece.function is local.function else 1.0 if local.owner and piece.owner is local.owner else 0.5, piece)
        for piece in pieces
    ]
    return sorted(weighed, key=lambda item: -item[0])


def _adapted(site: Site, text: str, free: frozenset[str], missing: frozenset[str]) -> Iterator[str]:
    """`text` with one of its names replaced by one that is in scope."""
    if len(missing) > 1:
        return
    for old in missing or free & set(site.names):
        for new in site.names[:8]:
            if new != old and fits(site.kinds.name(old), site.kinds.name(new)):
                yield re.sub(rf"(?<![\w.]){re.escape(old)}\b", new, text)


def invented(site: Site) -> Iterator[Edit]:
    """A missing small update: a counter, a collection, a field, a jump, a call of an own method."""
    for text, weight in _updates(site):
        yield from _around(site, text, weight)


def _updates(site: Site) -> Iterator[tuple[str, float]]:
    names, me = site.names[:10], site.local.receiver
    for path in site.paths:
        kind = site.kinds.name(path)
        if kind in ("int", "float"):
            yield f"{path} += 1", 1.5
            yield f"{path} -= 1", 1.0
            yield f"{path} = 0", 0.5
        yield from _grown(site, path, kind, names)
        if kind in ("", "str", "list") and path in site.local.bound:
            yield f"{path} = {'[]' if kind == 'list' else repr('') if kind == 'str' else 'None'}", 0.5
        for other in names[:6]:
            if other != path and fits(kind, site.kinds.name(other)) and "." not in other:
                yield f"{path} = {other}", 0.3 + likeness(path, other)
    yield from _of_object(site, me, names)
    yield from (("continue", 1.0), ("break", 1.0))
    yield from ((f"return {path}", 1.0) for path in site.paths[:12])
    yield from (
        ("return", 0.5),
        ("return True", 0.7),
        ("return False", 0.7),
        ("return None", 0.3),
        ("return self", 0.7 if me else 0.0),
    )


def _of_object(site: Site, me: str, names: list[str]) -> Iterator[tuple[str, float]]:
    """Fields set from parameters, own methods called, the base class's method called."""
    if me:
        for name in site.local.parameters[1:]:
            yield f"{me}.{name} = {name}", 2.0 if name not in site.local.fields else 0.8
        for name in site.local.methods:
            if not name.startswith("__"):
                yield f"{me}.{name}()", 0.7
                yield from ((f"{me}.{name}({argument})", 0.5) for argument in names[:4])
        if site.local.function is not None and site.local.owner is not None and site.local.owner.bases:
            arguments = ", ".join(site.local.parameters[1:])
            yield f"super().{site.local.function.name}({arguments})", 1.0
            yield f"super().{site.local.function.name}()", 1.0


def _grown(site: Site, path: str, kind: str, names: list[str]) -> Iterator[tuple[str, float]]:
    if kind == "list":
        yield from ((f"{path}.append({other})", 1.2) for other in names if other != path)
        yield from ((f"{path}.{call}()", 0.5) for call in ("sort", "reverse", "pop", "clear"))
        yield from (
            (f"{path}.extend({other})", 0.5)
            for other in names
            if other != path and site.kinds.name(other) in ("list", "")
        )
    elif kind == "set":
        yield from ((f"{path}.add({other})", 1.5) for other in names if other != path)
        yield from (
            (f"{path}.{call}({other})", 0.4) for call in ("discard", "remove") for other in names if other != path
        )
    elif kind == "dict":
        yield from (
            (f"{path}[{key}] = {value}", 0.5)
            for key in names[:5]
            for value in names[:5]
            if key != value and path not in (key, value)
        )
        yield from ((f"{path}.pop({key}, None)", 0.3) for key in names if key != path)
        yield from ((f"del {path}[{key}]", 0.3) for key in names if key != path)


def loop_else(site: Site) -> Iterator[Edit]:
    """A statement after a loop that should run only when the loop was not left by `break`, or the other way round."""
    block = site.siblings
    if site.stmt not in block or not site.module.alone(site.stmt):
        return
    index = block.index(site.stmt)
    before = block[index - 1] if index else None
    if (
        isinstance(before, LOOPS)
        and not before.orelse
        and any(isinstance(inner, ast.Break) for inner in ast.walk(before))
    ):
        start, end = emit.lines_of(site.module, site.stmt)
        step = site.module.indent(before.body[0])
        yield Edit(
            (
                Replacement(
                    start, end, f"{site.module.indent(site.stmt)}else:\n{emit.reindented(site.module, site.stmt, step)}"
                ),
            ),
            1.0,
        )
