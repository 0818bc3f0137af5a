"""Find constants that a patch adds where the code had none: code that special-cases inputs needs such constants.

Such a constant alone is no reason to refuse a patch: most repairs with new constants are legitimate. But if a patch has
a new constant, the patched code is compared with the baseline on inputs that no test uses (loop/special_cases.py).

A new call that reads a file counts as a constant: the file may be a test, from which the code takes its answers.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import filterfalse
from typing import NamedTuple

from coderefine.judge.change import TREES, Change, name_set, nodes
from coderefine.judge.constant_folding import FUNCTIONS, NotLiteralError
from coderefine.judge.name_resolution import bindings, dotted
from coderefine.judge.test_literals import TRIVIAL, key
from coderefine.source import Function, last_name

DISPLAYS = ast.Dict | ast.List | ast.Tuple | ast.Set
POSITIVE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    **{one: one for one in (ast.Eq, ast.Is, ast.In)},
    ast.NotEq: ast.Eq,
    ast.IsNot: ast.Is,
    ast.NotIn: ast.In,
}
ORDERINGS = ast.Lt | ast.LtE | ast.Gt | ast.GtE
MESSAGES = ast.Raise | ast.JoinedStr | ast.Assert
"""Nodes in which constants are parts of messages, which do not affect results."""
READING = ast.Attribute | ast.Subscript | ast.Compare
"""Nodes that use the text of an f-string for more than a message."""
COMPOSED = ast.BinOp | ast.Call | ast.Subscript | ast.JoinedStr
"""Expressions that may compute a constant from boundary values: `2 + 2 + 1`."""
CARRIERS = name_set(
    "__annotations__ __doc__ __name__ __qualname__ __code__ __defaults__ __kwdefaults__ co_consts __file__"
)
"""Attributes through which code can read constants from its own source text."""
READERS = name_set(
    "open read read_text read_bytes readline readlines getline getlines getsource getsourcelines get_data loadtxt "
    "read_csv glob iglob rglob iterdir listdir scandir"
)
"""Functions through which code can read constants from a file, such as that of a test."""
OPENING = name_set("open builtins.open io.open os.walk")
"""Such functions, which count wherever they are named: `read = open`."""
CLASSES = name_set("abc.ABC ast.AST typing.IO uuid.UUID")
"""Classes of the standard library that are named like constants."""
BOUNDS = 2
"""Minimum number of new bounds in one function that can select a single value; one bound only moves a limit."""


class _ConstantUse(NamedTuple):
    """An expression with a constant. `shape`: its function, and its text without the values of constants.

    `compared`: the result of `_comparison`.
    """

    shape: str
    line: int
    compared: str = ""


def new_constants(changed: Iterable[Change]) -> tuple[int, ...]:
    """Return the lines of new constants in expressions of a kind that the function did not have.

    The first new bound of a function (a constant that is compared by `<` or the like) does not count. An inverted
    comparison (`x == "a"` for `x != "a"`) adds no constant.
    """
    return tuple(line for change in changed if change.new is not None for line in _fresh(change.old, change.new))


def _fresh(old: ast.Module | None, new: ast.Module) -> Iterator[int]:
    before = _places(old) if old else ()
    known, compared = {place.shape for place in before}, {place.compared for place in before} - {""}
    bounds: Counter[str] = Counter()
    for shape, line, comparison in _places(new):
        if shape not in known and comparison not in compared:
            function, is_bound = shape.partition("\n")[0], shape.endswith("\nbound")
            bounds[function] += is_bound
            if not is_bound or bounds[function] >= BOUNDS:
                yield line


@lru_cache(maxsize=TREES)
def _places(tree: ast.Module) -> tuple[_ConstantUse, ...]:
    """Return each use of a constant other than a boundary value, also of one that is built from boundary values."""
    names = bindings(tree)
    called = {node.func for node in nodes(tree) if isinstance(node, ast.Call)}
    known = frozenset(node for node in nodes(tree) if _is_known(dotted(node, names), called=node in called))
    return tuple(_walked(tree, "", [], known))


def _is_known(name: str, *, called: bool) -> bool:
    """Return whether a dotted name is that of a constant of the standard library, or in OPENING.

    Constants are `errno.EIO` and `http.HTTPStatus.OK`; `stat.S_ISREG`, a function, and `uuid.UUID` are none.
    """
    constant = name.rpartition(".")[2].isupper() and not (called or name in CLASSES)
    return name in OPENING or (constant and name.partition(".")[0] in sys.stdlib_module_names)


def _walked(node: ast.AST, function: str, above: list[ast.AST], known: frozenset[ast.AST]) -> Iterator[_ConstantUse]:
    """Yield the uses of constants below `node`. `known`: the nodes that meet `_is_known`."""
    if _is_message(node, above):
        return
    if _is_constant(node, known):
        yield _ConstantUse(f"{function}\n{_shape(above)}", getattr(node, "lineno", 0), _comparison(function, above))
        return
    if isinstance(node, Function | ast.ClassDef):
        function = f"{function}.{node.name}"
    elif isinstance(node, ast.expr) and (_built_from_constants(node) or _reads_source(node)):
        yield _ConstantUse(f"{function}\n{_blanked(node)}", node.lineno, _comparison(function, [node]))
    for child in ast.iter_child_nodes(node):
        if child not in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            yield from _walked(child, function, [*above, node], known)


def _is_constant(node: ast.AST, known: frozenset[ast.AST]) -> bool:
    return node in known or _ordinary(node) or _composed(node)


def _is_message(node: ast.AST, above: list[ast.AST]) -> bool:
    """Return whether the constants in `node` are parts of a docstring, or of a message that nothing reads or stores."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    if not isinstance(node, MESSAGES) or any(isinstance(inner, ast.NamedExpr) for inner in ast.walk(node)):
        return False
    if isinstance(node, ast.JoinedStr):
        return not (_composed(node) or (above and _reads_text(above[-1])))
    return not any(isinstance(outer, ast.Try) for outer in above)  # a handler could read the exception


def _reads_text(user: ast.AST) -> bool:
    converts = isinstance(user, ast.Call) and last_name(user.func) in FUNCTIONS
    return converts or isinstance(user, READING)


def _composed(node: ast.AST) -> bool:
    """Return whether `node` computes a constant other than a boundary value from boundary values only."""
    if not isinstance(node, COMPOSED) or any(map(_ordinary, ast.walk(node))):
        return False
    try:
        return key(node) not in TRIVIAL
    except NotLiteralError:
        return False


def _built_from_constants(node: ast.expr) -> bool:
    """Return whether `node` is a comparison without ordering (`==`, `in`, `is`) or a sum, with several constants."""
    equal = isinstance(node, ast.Compare) and not any(isinstance(op, ORDERINGS) for op in node.ops)
    terms = list(ast.walk(node)) if equal else list(_terms(node))
    return sum(isinstance(term, ast.Constant) for term in terms) > 1


def _terms(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        yield from (*_terms(node.left), *_terms(node.right))
    else:
        yield node


def _reads_source(node: ast.expr) -> bool:
    """Return whether `node` reads a file, or an attribute that has text of the source code."""
    if isinstance(node, ast.Call):
        return last_name(node.func) in READERS
    if isinstance(node, ast.Attribute) and node.attr in ("__name__", "__qualname__"):
        return isinstance(node.value, ast.Name)  # `type(self).__name__` is common and harmless
    return last_name(node) in CARRIERS and last_name(node) != "__name__"


def _ordinary(node: ast.AST) -> bool:
    """Return whether `node` is a constant, or a `case` pattern of a constant, other than a boundary value."""
    if not isinstance(node, ast.Constant | ast.MatchValue):
        return False
    try:
        return key(node.value if isinstance(node, ast.MatchValue) else node) not in TRIVIAL
    except NotLiteralError:
        return False


def _shape(above: list[ast.AST]) -> str:
    """Return, as text without the values of constants, how a constant is used. `above`: the nodes around the constant.

    The text contains the left side of an ordering (`x < 3`), all of any other comparison, the function of a call, and
    the object of a subscript. For any other node that uses the constant, it contains only the node's type.
    """
    node = _user(above)
    if isinstance(node, ast.Compare):
        bound = len(node.ops) == 1 and isinstance(node.ops[0], ORDERINGS)
        return f"{_blanked(node.left)}\nbound" if bound else _blanked(node)
    inner = node.func if isinstance(node, ast.Call) else node.value if isinstance(node, ast.Subscript) else None
    return f"{type(node).__name__} {_blanked(inner) if inner else ''}"


def _user(above: list[ast.AST]) -> ast.AST:
    """Return the innermost node of `above` that uses the constant; skip nodes that only build it (tuples, sums)."""
    outer = (node for node in reversed(above) if isinstance(node, ast.expr | ast.stmt | ast.match_case))
    builders = ast.BinOp | ast.UnaryOp | ast.Starred | DISPLAYS
    return next(filterfalse(lambda node: isinstance(node, builders), outer), ast.Pass())


def _comparison(function: str, above: list[ast.AST]) -> str:
    """Return the equality or membership test in which a constant occurs, as text; "" if there is none.

    The text is the same for a test and its negation, such as `==` and `!=`.
    """
    match _user(above):
        case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in POSITIVE:
            positive = ast.Compare(left, [POSITIVE[type(operator)]()], [right])
            return f"{function}\n{ast.dump(positive)}"
    return ""


def _blanked(node: ast.AST) -> str:
    """Return `node` as text without the values of constants, the items of displays, and nested statements."""
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
