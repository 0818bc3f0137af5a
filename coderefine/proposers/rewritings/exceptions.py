"""Rewritings about exceptions: raising and catching them."""

from __future__ import annotations

import ast
from collections import Counter

from coderefine.lint import Diagnostic
from coderefine.proposers.rewritings.code import Code, Edits, fresh, names, sure, uses

USUAL = ("error", "err", "exc")
"""Names for a caught exception."""


def chain(code: Code, at: Diagnostic) -> Edits:
    """B904: `raise A()` in `except B:` → `except B as error:` … `raise A() from error`."""
    found = code.find(at, ast.Raise)
    handler = code.around(found, ast.ExceptHandler)
    sure(found.exc, code.scope(found) is code.scope(handler))
    end = code.end(found)
    if handler.name is None:
        named, name = _named(code, handler)
        return (*named, code.edit(end, end, f" from {name}"))
    sure(all(isinstance(one.ctx, ast.Load) for one in uses(handler, handler.name)))  # else it may be another value
    return (code.edit(end, end, f" from {handler.name}"),)


def _named(code: Code, handler: ast.ExceptHandler) -> tuple[Edits, str]:
    """Give the exception of `handler` the name that handlers of the file usually use."""
    end, kind = _caught(code, handler)
    colon = code.text.find(":", end)
    sure(not code.text[end:colon].strip(" )"))
    usual = Counter(one.name for one in code.nodes if isinstance(one, ast.ExceptHandler) and one.name)
    taken, first = names(code.scope(handler)), next((name for name, _ in usual.most_common(1)), "error")
    name = next((one for one in (first, *USUAL) if one not in taken), "") or fresh(first, taken)
    return (code.edit(colon, colon, f"{kind} as {name}"),), name


def _caught(code: Code, handler: ast.ExceptHandler) -> tuple[int, str]:
    """Return the end of what `handler` catches, and what must be added there if it catches everything.

    Raises Unsure if `BaseException` is bound to something else in the file.
    """
    if handler.type is not None:
        return code.end(handler.type), ""
    sure(all(isinstance(one.ctx, ast.Load) for one in uses(code.tree, "BaseException")))
    return code.start(handler) + len("except"), " BaseException"


def catch_all(code: Code, at: Diagnostic) -> Edits:
    """E722: `except:` → `except BaseException:`, which catches the same."""
    handler = code.find(at, ast.ExceptHandler)
    sure(handler.type is None)
    end, kind = _caught(code, handler)
    return (code.edit(end, end, kind),)
