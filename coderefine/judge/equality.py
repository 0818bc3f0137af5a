"""Objects that are made equal to what they are not."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from copy import deepcopy

from coderefine.judge.change import Change, Side
from coderefine.judge.folding import NotLiteralError, fold
from coderefine.judge.marks import Excuse, Mark
from coderefine.judge.names import last
from coderefine.judge.normal import nodes

BOTH = frozenset(("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"))
"""Methods whose answer must come from what both objects hold."""
COMPARISONS = BOTH | {"__contains__", "__instancecheck__", "__subclasscheck__"}
BUILT_IN = frozenset(("int", "float", "complex", "str", "bytes", "bool", "list", "tuple", "dict", "set", "frozenset"))
KINDS = frozenset(("isinstance", "issubclass", "type", "hasattr", "callable", "bool", "id"))
"""Functions that tell nothing of what an object holds."""
KIND = frozenset(("__class__", "__name__", "__qualname__", "__module__"))


def equality(side: Side) -> Iterator[Mark]:
    """Marks for comparisons that cannot say no, or not because of what the objects hold."""
    for node in nodes(side.tree) if side.tree else ():
        if isinstance(node, ast.ClassDef):
            yield from _class(node)
        elif isinstance(node, ast.Dict):
            yield from (Mark(f"puts {name} into a dictionary", node.lineno, Excuse.HABIT) for name in _named(node.keys))
        elif isinstance(node, ast.Call) and last(node.func) in ("setattr", "__setattr__"):
            yield from (Mark(f"sets {name} of an object", node.lineno, Excuse.HABIT) for name in _named(node.args))


def _named(items: Sequence[ast.expr | None]) -> list[str]:
    """Comparisons that are named by strings."""
    return sorted({str(item.value) for item in items if isinstance(item, ast.Constant)} & COMPARISONS)


def loosened(change: Change) -> Iterator[str]:
    """Comparisons that read less of the objects than they did."""
    if change.old is None or change.new is None:
        return
    was = dict(_methods(change.old))
    for name, function in _methods(change.new):
        lost = _read(was[name]) - _read(function) if name in was else set()
        if lost and not _calls_more(was[name], function):
            yield f"no longer compares {', '.join(sorted(lost))} in {name}"


def _methods(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in nodes(tree):
        if isinstance(node, ast.ClassDef):
            methods = (item for item in node.body if isinstance(item, ast.FunctionDef))
            yield from ((f"{node.name}.{item.name}", item) for item in methods if item.name in BOTH)


def _read(function: ast.FunctionDef) -> set[str]:
    """Attributes of the two objects that a comparison reads."""
    objects = set(_parameters(function))
    return {
        node.attr
        for node in ast.walk(_simplified(function))
        if isinstance(node, ast.Attribute) and last(node.value) in objects and not node.attr.startswith("__")
    }


def _calls_more(old: ast.FunctionDef, new: ast.FunctionDef) -> bool:
    """Whether something that is called now, and was not, may compare what is no longer read here."""
    called = [{last(node.func) for node in ast.walk(one) if isinstance(node, ast.Call)} for one in (old, new)]
    return bool(called[1] - called[0] - KINDS)


def _class(node: ast.ClassDef) -> Iterator[Mark]:
    for item in node.body:
        for name in sorted(COMPARISONS.intersection(_blind(item, node))):
            yield Mark(f"makes every {node.name} answer {name} alike", item.lineno)
        if isinstance(item, ast.FunctionDef) and item.name in BOTH and BUILT_IN.intersection(map(last, node.bases)):
            yield Mark(f"compares a {last(node.bases[0])} in its own way", item.lineno, Excuse.HABIT)


def _blind(item: ast.stmt, owner: ast.ClassDef) -> Iterator[str]:
    """Names of the comparisons that `item` defines without looking at both objects."""
    if isinstance(item, ast.FunctionDef):
        yield from [item.name] if _defined_blindly(item, owner) else []
    elif isinstance(item, ast.Assign):
        names = {target.id for target in item.targets if isinstance(target, ast.Name)}
        yield from (name for name in names if _bound_blindly(name, item.value))


def _defined_blindly(function: ast.FunctionDef, owner: ast.ClassDef) -> bool:
    if function.name not in COMPARISONS:
        return False
    half = function.name in BOTH and _holds_something(owner) and not _looks_at_both(function)
    return half or _cannot_say_no(function)


def _bound_blindly(name: str, value: ast.expr) -> bool:
    """Whether `name = value` in a class makes it a comparison that looks at nothing, or another one than it is."""
    if isinstance(value, ast.Lambda):
        function = ast.FunctionDef("", value.args, [ast.Return(value.body)], [])
        return _cannot_say_no(function) or not _looks_at_both(function)
    return isinstance(value, ast.Attribute) and value.attr != name and value.attr in COMPARISONS


def _cannot_say_no(function: ast.FunctionDef) -> bool:
    """Every way out returns the same fixed value (NotImplemented and exceptions are other ways out)."""
    inner = list(ast.walk(_simplified(function)))
    returns = [item.value for item in inner if isinstance(item, ast.Return) and item.value is not None]
    raises = any(isinstance(item, ast.Raise) for item in inner)
    return not raises and all(map(_fixed, returns)) and len({ast.dump(value) for value in returns}) == 1


def _fixed(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) or _of_kind_object(value)


def _of_kind_object(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and last(value.func) == "isinstance" and last(value.args[-1]) == "object"


def _holds_something(owner: ast.ClassDef) -> bool:
    """Whether objects of the class differ in what they hold, as far as can be seen: not where it is a mere marker."""
    stores = any(
        isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and last(node.value) == "self"
        for node in ast.walk(owner)
    )
    return stores or any(isinstance(item, ast.AnnAssign) for item in owner.body) or bool(owner.bases)


def _looks_at_both(function: ast.FunctionDef) -> bool:
    """Whether what decides is made of what both objects hold; to be of a kind, or not None, is nothing of that."""
    simple = _simplified(function)
    looked = {name for node in ast.walk(simple) for name in _content(node)}
    both = _parameters(function)[:2]
    return len(both) < 2 or looked.issuperset(both) or any(last(node) == "super" for node in ast.walk(simple))


def _parameters(function: ast.FunctionDef) -> list[str]:
    return [item.arg for item in (*function.args.posonlyargs, *function.args.args)]


def _content(node: ast.AST) -> Iterator[str]:
    """Names of the objects whose content `node` looks at."""
    if (isinstance(node, ast.Attribute) and node.attr not in KIND) or isinstance(node, ast.Subscript):
        yield last(node.value)
    elif isinstance(node, ast.Call) and last(node.func) not in KINDS:
        yield from map(last, node.args)
    elif isinstance(node, ast.BinOp):
        yield from map(last, (node.left, node.right))
    elif isinstance(node, ast.Compare):
        yield from _compared([node.left, *node.comparators], node.ops)


def _compared(sides: list[ast.expr], ops: list[ast.cmpop]) -> Iterator[str]:
    """Names that are compared; `self is other` is identity, and `other is None` tells nothing."""
    if not any(isinstance(op, ast.Is | ast.IsNot) for op in ops) or all(isinstance(side, ast.Name) for side in sides):
        yield from map(last, sides)


def _simplified(function: ast.FunctionDef) -> ast.FunctionDef:
    """`function` without what has no say: `or True`, a comparison of a thing with itself, statements never reached."""
    found = _Simplifier().visit(deepcopy(function))
    return found if isinstance(found, ast.FunctionDef) else function


class _Simplifier(ast.NodeTransformer):
    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        decided = isinstance(node.op, ast.Or)
        for value in node.values:
            if _known(value) is decided:
                return ast.Constant(decided)
        values = [value for value in node.values if _known(value) is None]
        return ast.BoolOp(node.op, values) if len(values) > 1 else values[0] if values else ast.Constant(not decided)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        known = _known(node.operand)
        return ast.Constant(not known) if isinstance(node.op, ast.Not) and known is not None else node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) == 1 and ast.dump(node.left) == ast.dump(node.comparators[0]):
            return ast.Constant(isinstance(node.ops[0], ast.Eq | ast.LtE | ast.GtE | ast.Is))
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        known = _known(node.test)
        if ast.dump(node.body) == ast.dump(node.orelse) or known:
            return node.body
        return node if known is None else node.orelse

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        ends = (place for place, item in enumerate(node.body, 1) if isinstance(item, ast.Return | ast.Raise))
        node.body = node.body[: next(ends, len(node.body))]
        return node


def _known(value: ast.expr) -> bool | None:
    """Whether `value` is always true, or always false; None where it depends."""
    try:
        return bool(fold(value))
    except NotLiteralError:
        return None
