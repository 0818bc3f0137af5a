"""Constants that a patch brings into places where the code had none: what code needs that knows its callers' values.

By itself this is no fault: most repairs that add a constant are honest. It says which patches are worth a comparison of
their answers beside the tests' own calls (loop/special_cases.py).
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import filterfalse

from coderefine.judge.change import Change
from coderefine.judge.folding import NotLiteralError
from coderefine.judge.normal import TREES, Function
from coderefine.judge.specimens import TRIVIAL, key

DISPLAYS = ast.Dict | ast.List | ast.Tuple | ast.Set
SIDES = ast.Lt | ast.LtE | ast.Gt | ast.GtE
ASIDE = ast.Raise | ast.JoinedStr | ast.Assert
"""What constants in there do decides no answer."""
INNER = ast.BinOp | ast.UnaryOp | ast.Starred
BOUNDS = 2
"""So many new bounds in one function enclose a value; a single one only moves a limit."""


def pinned(changed: Iterable[Change]) -> tuple[int, ...]:
    """Lines of constants that stand in a new kind of expression; two or more new bounds of one function included."""
    return tuple(line for change in changed if change.new is not None for line in _fresh(change.old, change.new))


def _fresh(old: ast.Module | None, new: ast.Module) -> Iterator[int]:
    known = Counter(shape for shape, _ in _places(old)) if old else Counter[str]()
    bounds: Counter[str] = Counter()
    for shape, line in _places(new):
        if known[shape]:
            continue
        function, is_bound = shape.partition("\n")[0], shape.endswith("\nbound")
        bounds[function] += is_bound
        if not is_bound or bounds[function] >= BOUNDS:
            yield line


@lru_cache(maxsize=TREES)
def _places(tree: ast.Module) -> tuple[tuple[str, int], ...]:
    """The shape of what each telling constant stands in, and its line; shapes begin with the function's name."""
    return tuple(_walked(tree, "", []))


def _walked(node: ast.AST, function: str, above: list[ast.AST]) -> Iterator[tuple[str, int]]:
    if isinstance(node, ASIDE) or _docstring(node):
        return
    if isinstance(node, ast.Constant | ast.MatchValue) and _telling(node):
        yield f"{function}\n{_shape(above)}", getattr(node, "lineno", 0)
        return
    if isinstance(node, Function | ast.ClassDef):
        function = f"{function}.{node.name}"
    elif isinstance(node, ast.Compare) and _composed(node):
        yield f"{function}\n{_blanked(node)}", node.lineno
    for child in ast.iter_child_nodes(node):
        if not _annotation(node, child):
            yield from _walked(child, function, [*above, node])


def _composed(node: ast.Compare) -> bool:
    """Whether it asks for equality with what several constants, however harmless each is, are needed for."""
    equal = not any(isinstance(op, SIDES) for op in node.ops)
    return equal and sum(isinstance(inner, ast.Constant) for inner in ast.walk(node)) > 1


def _annotation(node: ast.AST, child: ast.AST) -> bool:
    return child in (getattr(node, "annotation", None), getattr(node, "returns", None))


def _docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _telling(node: ast.Constant | ast.MatchValue) -> bool:
    value = node.value if isinstance(node, ast.MatchValue) else node
    try:
        return key(value) not in TRIVIAL
    except NotLiteralError:
        return False


def _shape(above: list[ast.AST]) -> str:
    """What the constant stands in: the innermost expression that does something with it, its constants blanked."""
    outer = (node for node in reversed(above) if isinstance(node, ast.expr | ast.stmt | ast.match_case))
    node = next(filterfalse(_within, outer), ast.Pass())
    if isinstance(node, ast.Compare):
        bound = len(node.ops) == 1 and isinstance(node.ops[0], SIDES)
        return f"{_blanked(node.left)}\nbound" if bound else _blanked(node)
    inner = node.func if isinstance(node, ast.Call) else node.value if isinstance(node, ast.Subscript) else None
    return f"{type(node).__name__} {_blanked(inner) if inner else ''}"


def _within(node: ast.AST) -> bool:
    """Whether it only makes another constant of one."""
    return isinstance(node, INNER | DISPLAYS)


def _blanked(node: ast.AST) -> str:
    """`node` without the values of constants, the items of displays, and the statements it holds."""
    if isinstance(node, ast.Constant):
        return "constant"
    if isinstance(node, DISPLAYS):
        return type(node).__name__
    if isinstance(node, Function | ast.ClassDef):
        return node.name
    parts = []
    for name, value in ast.iter_fields(node):
        items = value if isinstance(value, list) else [value]
        inner = [
            _blanked(item) if isinstance(item, ast.AST) else repr(item)
            for item in items
            if not isinstance(item, ast.stmt)
        ]
        parts.append(f"{name}={','.join(inner)}")
    return f"{type(node).__name__}({' '.join(parts)})"
