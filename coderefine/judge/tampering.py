"""Code that replaces what belongs to other modules."""

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


def tampering(side: Side) -> Iterator[Mark]:
    """Marks for attributes of foreign modules that are replaced."""
    tree = side.tree
    if tree is None:
        return
    names = bindings(tree)
    own = {node.name for node in nodes(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    for node in nodes(tree):
        yield from _stores(node, names, own)
        yield from _setattr(node, names)


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
