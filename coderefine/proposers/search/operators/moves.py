"""Move statements: within their block, into or out of a block, into a loop's `else`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from coderefine.proposers.search import emit
from coderefine.proposers.search.index import SIMPLE
from coderefine.proposers.search.site import Site
from coderefine.proposers.search.syntax import DEFINITIONS, JUMPS, LOOPS, Edit, Module, Replacement
from coderefine.source import first_line


def _moved(site: Site, at: int, text: str, weight: float) -> Edit:
    """Return an edit that removes the statement and inserts `text` at offset `at`."""
    return Edit((Replacement(*emit.lines_of(site.module, site.stmt), ""), Replacement(at, at, text)), weight)


def _after(module: Module, stmt: ast.stmt) -> int | None:
    """Return the offset of the line after a statement; None if the file ends without a line end."""
    at = module.line_end(stmt.end_lineno or stmt.lineno)
    return at if module.text[:at].endswith("\n") else None


def within(site: Site) -> Iterator[Edit]:
    """Move a statement to another position in its block."""
    module = site.module
    if len(site.siblings) < 3 or not module.alone(site.stmt) or not isinstance(site.stmt, SIMPLE):
        return
    text = emit.block_text(module, site.stmt)
    for at in _gaps(site):
        yield _moved(site, at, text, 1.0)


def _gaps(site: Site) -> Iterator[int]:
    """Yield the offsets before each other statement of the block, and after the last."""
    module, last = site.module, site.siblings[-1]
    others = [other for other in site.siblings if other is not site.stmt and module.alone(other)]
    for other in others:
        at = module.line_start(first_line(other))
        if at not in emit.lines_of(module, site.stmt):
            yield at
    if last in others and (at_end := _after(module, last)) is not None:
        yield at_end


def outdent(site: Site) -> Iterator[Edit]:
    """Move a statement out of its block: to the place after the block or, if it is the first one, before the block."""
    module, node, block = site.module, site.stmt, site.siblings
    parent = module.parents.get(node)
    if not isinstance(parent, ast.stmt) or isinstance(parent, DEFINITIONS) or not module.alone(node):
        return
    if len(block) > 1:
        text = emit.reindented(module, node, module.indent(parent))
        yield from _behind(site, parent, text)
        if node is block[0] and isinstance(node, SIMPLE):
            yield _moved(site, module.line_start(first_line(parent)), text, 0.7)


def loop_return(site: Site) -> Iterator[Edit]:
    """Move a `return` that ends a loop too early to the place after the loop."""
    module, loop = site.module, site.stmt
    at = _after(module, loop) if isinstance(loop, LOOPS) else None
    if at is None:
        return
    for node in ast.walk(loop):
        if isinstance(node, ast.Return) and module.alone(node) and len(module.block(node)) > 1:
            text = emit.reindented(module, node, module.indent(loop))
            yield Edit((Replacement(*emit.lines_of(module, node), ""), Replacement(at, at, text)))


def _behind(site: Site, parent: ast.stmt, text: str) -> Iterator[Edit]:
    module, node = site.module, site.stmt
    if node is site.siblings[-1] and parent.end_lineno == node.end_lineno:
        yield Edit((Replacement(*emit.lines_of(module, node), text),), 2.0)
    elif isinstance(node, SIMPLE) and (at := _after(module, parent)) is not None:
        yield _moved(site, at, text, 0.7)


def indent(site: Site) -> Iterator[Edit]:
    """Move a statement into the block (loop, if, else) that ends right before it or begins right after it."""
    block = site.siblings
    if not site.module.alone(site.stmt) or site.stmt not in block:
        return
    index = block.index(site.stmt)
    if index:
        yield from _into_last(site, block[index - 1])
    if index + 1 < len(block):
        yield from _into_next(site, block[index + 1])


def _into_last(site: Site, before: ast.stmt) -> Iterator[Edit]:
    module = site.module
    for depth, inner in enumerate(_last_blocks(before)):
        if module.alone(inner) and first_line(inner) != before.lineno and not isinstance(inner, JUMPS):
            text = emit.reindented(module, site.stmt, module.indent(inner))
            yield Edit((Replacement(*emit.lines_of(module, site.stmt), text),), 2.0 / (1 + depth))


def _into_next(site: Site, after: ast.stmt) -> Iterator[Edit]:
    module = site.module
    if not isinstance(after, ast.For | ast.While | ast.If | ast.With) or not isinstance(site.stmt, SIMPLE):
        return
    first = after.body[0]
    if module.alone(first):
        text = emit.reindented(module, site.stmt, module.indent(first))
        yield _moved(site, module.line_start(first_line(first)), text, 1.0)


def _last_blocks(stmt: ast.stmt | None) -> Iterator[ast.stmt]:
    """Yield the last statements of the blocks that end where `stmt` ends, outermost first."""
    while stmt is not None and not isinstance(stmt, DEFINITIONS):
        blocks = [block for name in ("body", "orelse", "finalbody") if (block := getattr(stmt, name, None))]
        blocks += [handler.body for handler in getattr(stmt, "handlers", [])]
        inner = max(blocks, key=lambda block: block[-1].end_lineno or 0, default=None)
        if inner is None:
            return
        yield inner[-1]
        stmt = inner[-1]


def loop_else(site: Site) -> Iterator[Edit]:
    """Move the statement after a loop with a `break` to the loop's `else`."""
    block = site.siblings
    if site.stmt not in block or not site.module.alone(site.stmt):
        return
    index = block.index(site.stmt)
    before = block[index - 1] if index else None
    if isinstance(before, LOOPS) and not before.orelse and any(isinstance(one, ast.Break) for one in ast.walk(before)):
        start, end = emit.lines_of(site.module, site.stmt)
        body = emit.reindented(site.module, site.stmt, site.module.indent(before.body[0]))
        yield Edit((Replacement(start, end, f"{site.module.indent(site.stmt)}else:\n{body}"),), 1.0)
