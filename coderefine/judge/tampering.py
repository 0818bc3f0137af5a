"""Code that rewires other people's modules, or makes objects equal to everything."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

from coderefine.judge.bans import MODULES
from coderefine.judge.change import Side
from coderefine.judge.marks import Excuse, Mark
from coderefine.judge.names import Bindings, bindings, dotted, last
from coderefine.judge.normal import nodes

HARMLESS = frozenset(
    (
        "sys.stdout",
        "sys.stderr",
        "sys.stdin",
        "sys.excepthook",
        "sys.tracebacklimit",
        "sys.dont_write_bytecode",
        "sys.ps1",
        "sys.ps2",
        "sys.displayhook",
        "sys.unraisablehook",
        "logging.raiseExceptions",
        "threading.excepthook",
    )
)
FOREIGN = sys.stdlib_module_names | MODULES | {"__builtins__"}
INNARDS = frozenset(
    ("__code__", "__bases__", "__eq__", "__ne__", "__instancecheck__", "__globals__", "__defaults__", "__kwdefaults__")
)
SETTERS = frozenset(("setattr", "delattr", "__setattr__", "__delattr__"))
COMPARISONS = frozenset(
    (
        "__eq__",
        "__ne__",
        "__lt__",
        "__le__",
        "__gt__",
        "__ge__",
        "__contains__",
        "__instancecheck__",
        "__subclasscheck__",
    )
)


def tampering(side: Side) -> Iterator[Mark]:
    """Marks for attributes of foreign modules replaced, and for comparisons that cannot say no."""
    tree = side.tree
    if tree is None:
        return
    names = bindings(tree)
    own = {node.name for node in nodes(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    for node in nodes(tree):
        yield from _stores(node, names, own)
        yield from _setattr(node, names)
        if isinstance(node, ast.ClassDef):
            yield from _always_equal(node)


def _stores(node: ast.AST, names: Bindings, own: set[str]) -> Iterator[Mark]:
    for target in _targets(node):
        value = getattr(node, "value", None)
        if isinstance(target, ast.Attribute | ast.Subscript):
            name = dotted(target, names)
            by_code = isinstance(value, ast.Lambda) or (isinstance(value, ast.Name) and value.id in own)
            if _foreign(name, by_code=by_code):
                yield Mark(f"replaces {name}", target.lineno, Excuse.HABIT)
        if isinstance(target, ast.Attribute) and target.attr in INNARDS:
            yield Mark(f"replaces {target.attr} of an object", target.lineno, Excuse.HABIT)


def _targets(node: ast.AST) -> Iterator[ast.expr]:
    found: list[ast.expr] = []
    if isinstance(node, ast.Assign | ast.Delete):
        found = list(node.targets)
    elif isinstance(node, ast.AugAssign | ast.AnnAssign | ast.For):
        found = [node.target]
    elif isinstance(node, ast.withitem) and node.optional_vars:
        found = [node.optional_vars]
    for target in found:
        yield from target.elts if isinstance(target, ast.Tuple | ast.List) else [target]


def _setattr(node: ast.AST, names: Bindings) -> Iterator[Mark]:
    if isinstance(node, ast.Call) and last(node.func) in SETTERS:
        owner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        for name in {dotted(item, names) for item in (*owner, *node.args[:1])}:
            if _foreign(f"{name}.x", by_code=True):
                yield Mark(f"replaces attributes of {name}", node.lineno, Excuse.HABIT)


def _foreign(name: str, *, by_code: bool) -> bool:
    """Whether `name` is an attribute of somebody else's module (imported objects of the project are its own)."""
    module, *attributes = name.split(".")
    if not attributes or module in ("", "<own>") or name in HARMLESS or name.startswith("os.environ"):
        return False
    testing = any(part == "testing" or part.startswith("assert") for part in (module, *attributes))
    return module in FOREIGN or (testing and by_code)


def _always_equal(node: ast.ClassDef) -> Iterator[Mark]:
    for item in node.body:
        for name in COMPARISONS.intersection(_answering_alike(item)):
            yield Mark(f"makes every {node.name} answer {name} alike", item.lineno)


def _answering_alike(item: ast.stmt) -> Iterator[str]:
    """Names of the methods that `item` defines and that have only one answer."""
    if isinstance(item, ast.FunctionDef) and _cannot_say_no(item):
        yield item.name
    elif isinstance(item, ast.Assign) and isinstance(item.value, ast.Lambda) and _fixed(item.value.body):
        yield from (target.id for target in item.targets if isinstance(target, ast.Name))


def _cannot_say_no(function: ast.FunctionDef) -> bool:
    """Every way out returns a fixed value (NotImplemented and exceptions are other ways out)."""
    nodes = list(ast.walk(function))
    returns = [item.value for item in nodes if isinstance(item, ast.Return) and item.value is not None]
    values = {ast.dump(value) for value in returns}
    raises = any(isinstance(item, ast.Raise) for item in nodes)
    return bool(returns) and not raises and all(map(_fixed, returns)) and len(values) == 1


def _fixed(value: ast.expr) -> bool:
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not):
        return _fixed(value.operand)
    if isinstance(value, ast.Compare) and len(value.comparators) == 1:
        return ast.dump(value.left) == ast.dump(value.comparators[0])
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and len(value.args) == 2:
        kind = value.args[1]
        return value.func.id == "isinstance" and isinstance(kind, ast.Name) and kind.id == "object"
    return isinstance(value, ast.Constant)
