"""Find patched code whose result may vary from run to run: it uses sets, hashes, random numbers, clocks or threads."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from coderefine.core import Patch
from coderefine.judge.change import nodes, parse
from coderefine.judge.evidence import changed_lines
from coderefine.source import Function, last_line, last_name

_VARYING = """
    set frozenset hash id random randint choice choices sample shuffle urandom secrets SystemRandom uuid1 uuid4
    time perf_counter monotonic sleep Thread Process Pool ThreadPoolExecutor ProcessPoolExecutor as_completed gather
    create_task listdir scandir iterdir glob rglob walk popitem
"""
VARYING = frozenset(_VARYING.split())
"""Names whose values depend on the hash seed, on chance, on the clock, or on the order of threads or of files."""


def may_vary(patch: Patch, originals: Mapping[str, bytes | None]) -> bool:
    """Return whether a changed function, or a changed statement elsewhere, contains a set or a name in VARYING."""
    return any(_varies(after, changed_lines(path, originals.get(path), after)) for path, after in patch.files.items())


def _varies(text: bytes | None, lines: set[int]) -> bool:
    """Return whether one of `lines` contains a set or a name in VARYING.

    If one of `lines` is in a function, all lines of this function are examined, too.
    """
    tree = parse(text) if lines else None
    every = nodes(tree) if tree else ()
    varying = {getattr(node, "lineno", 0) for node in every if _is_varying(node)}
    functions = (range(node.lineno, last_line(node) + 1) for node in every if isinstance(node, Function))
    return any(not varying.isdisjoint(rows) for rows in (lines, *functions) if not lines.isdisjoint(rows))


def _is_varying(node: ast.AST) -> bool:
    return isinstance(node, ast.Set | ast.SetComp) or last_name(node) in VARYING
