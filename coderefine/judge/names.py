"""What a name in a file stands for: imports and aliases followed, modules found in other modules, disguises undone."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from coderefine.judge.folding import NONE, Names, NotLiteralError, constants, fold
from coderefine.judge.normal import TREES, Function, nodes

OWN, ANY = "<own>", "<any>"
"""How names begin that the file binds itself, and those of attributes of a value that nothing is known of."""
POWERFUL = frozenset(
    ("os", "sys", "posix", "nt", "builtins", "_thread", "gc", "ctypes", "importlib", "inspect", "_imp", "_ctypes")
)
"""Modules that are recognised as an attribute of anything."""
TAKEN = frozenset(
    *(("getattr", "setattr", "delattr", "vars", "print", "exec", "eval", "compile", "__import__", "globals", "len"),)
)
"""Functions that an alias is followed to."""
ROUNDS = 3
"""Aliases of aliases that are followed."""


@dataclass(frozen=True, slots=True)
class Bindings:
    """`origins`: local name -> dotted origin for imports and aliases of them; names that the file binds itself map to
    `<own>.name`. `constants`: expressions of names that are bound once."""

    origins: Mapping[str, str]
    constants: Names

    def text(self, node: ast.AST) -> str | None:
        """The string that `node` spells, constants of the file included."""
        return text(node, self.constants)

    def value(self, node: ast.AST) -> object:
        """What `node` is worth, constants of the file included; None for what is not made of literals."""
        try:
            return fold(node, self.constants)
        except NotLiteralError:
            return None


@lru_cache(maxsize=TREES)
def bindings(tree: ast.Module) -> Bindings:
    """What the names of `tree` stand for, wherever in it they are used."""
    found = {name: f"{OWN}.{name}" for name in _bound(tree)}
    for node in nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.update(_imported(node))
    names = Bindings(found, constants(tree))
    pairs = [(name, value) for node in nodes(tree) for name, value in _given(node)]
    for _ in range(ROUNDS):
        found.update(_aliases(pairs, names))
    return names


def _aliases(pairs: list[tuple[str, ast.expr]], names: Bindings) -> Iterator[tuple[str, str]]:
    """Names of the file's own that stand for something foreign."""
    for name, value in pairs:
        if names.origins[name].startswith(OWN) and foreign(origin := dotted(value, names)):
            yield name, origin


def foreign(name: str) -> bool:
    """Whether a dotted name begins with a module of Python's, or is a built-in function that reaches others."""
    return name.partition(".")[0] in sys.stdlib_module_names or name in TAKEN


def _given(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Names and the expressions that `node` binds them to."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _unpacked(target, node.value)
    elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
        yield from _unpacked(node.target, node.value)
    elif isinstance(node, ast.For | ast.comprehension) and isinstance(node.iter, ast.Tuple | ast.List | ast.Set):
        for item in node.iter.elts:
            yield from _unpacked(node.target, item)
    elif isinstance(node, ast.arguments):
        yield from _defaults(node)


def _defaults(node: ast.arguments) -> Iterator[tuple[str, ast.expr]]:
    last_first = zip(reversed([*node.posonlyargs, *node.args]), reversed(node.defaults), strict=False)
    yield from ((parameter.arg, default) for parameter, default in last_first)
    named = zip(node.kwonlyargs, node.kw_defaults, strict=True)
    yield from ((parameter.arg, default) for parameter, default in named if default)


def _unpacked(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple | ast.List) and isinstance(value, ast.Tuple | ast.List):
        for one, inner in zip(target.elts, value.elts, strict=False):
            yield from _unpacked(one, inner)


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            yield alias.asname or alias.name, canonical(f"{'.' * node.level}{node.module or ''}.{alias.name}")
        elif alias.asname:
            yield alias.asname, canonical(alias.name)
        else:
            top = alias.name.partition(".")[0]
            yield top, top


def _bound(tree: ast.Module) -> Iterator[str]:
    for node in nodes(tree):
        if isinstance(node, Function | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def canonical(name: str) -> str:
    """`name` from the last module in it on: `os.sys.modules` is `sys.modules`, and `print.__self__` is `builtins`.

    Of what the file binds itself (`<own>`) only POWERFUL modules are taken to be modules.
    """
    parts = name.split(".")
    modules = POWERFUL if parts[0] in (OWN, ANY) else sys.stdlib_module_names
    for place in range(len(parts) - 1, 0, -1):
        if parts[place] == "__self__":
            return ".".join(("builtins", *parts[place + 1 :]))
        if parts[place] in modules and _module_there(parts, place):
            return ".".join(parts[place:])
    return name


def _module_there(parts: list[str], place: int) -> bool:
    """Whether a module may stand there: an attribute of an own object that is only called like one (`self.os`) is one
    when something is taken from it."""
    return parts[0] not in (OWN, ANY) or place < len(parts) - 1


def dotted(node: ast.AST, names: Bindings) -> str:
    """`os._exit` for `os._exit`, `bye` after `from os import _exit as bye`, `getattr(os, "_exit")` …; else ""."""
    if isinstance(node, ast.Name):
        return names.origins.get(node.id, node.id)
    if isinstance(node, ast.NamedExpr):
        return dotted(node.value, names)
    if isinstance(node, ast.Attribute):
        return join(dotted(node.value, names), node.attr)
    if isinstance(node, ast.Call):
        return _called(node, names)
    if isinstance(node, ast.Subscript):
        return _looked_up(node, names)
    return ""


def last(node: ast.AST | None) -> str:
    """The last part of a name as it is written: `c` of `a.b.c`; "" for what is no name."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def join(base: str, attribute: str) -> str:
    """The name of an attribute of what is called `base`; "" is anything."""
    if base.endswith(".__dict__"):
        return join(base.removesuffix(".__dict__"), attribute) if attribute not in DICT else f"{base}.{attribute}"
    return canonical(f"{base or ANY}.{attribute}")


DICT = frozenset(dir({}))


def _called(node: ast.Call, names: Bindings) -> str:
    looked = looks_up(node, names)
    if looked is not None:
        base, attribute = looked
        spelled = names.text(attribute)
        return join(dotted(base, names) if base else ANY, spelled) if spelled else ""
    function = dotted(node.func, names).removeprefix("builtins.")
    if function == "vars" and node.args:
        return join(dotted(node.args[0], names), "__dict__")
    if function in IMPORTS and node.args:
        return canonical((names.text(node.args[0]) or "").replace(":", "."))
    return ""


IMPORTS = ("__import__", "importlib.import_module", "importlib.__import__", "pkgutil.resolve_name")
GETTERS = ("operator.attrgetter", "operator.methodcaller")


def looks_up(node: ast.Call, names: Bindings) -> tuple[ast.expr | None, ast.expr] | None:
    """The object and the name that `getattr` and its relatives look up; the object is None where it comes later."""
    function = dotted(node.func, names).removeprefix("builtins.")
    match node:
        case ast.Call(args=[base, name, *_]) if function == "getattr":
            return base, name
        case ast.Call(args=[name, *_]) if function in GETTERS:
            return None, name
        case ast.Call(func=ast.Call(func=getter, args=[name, *_]), args=[base, *_]) if dotted(getter, names) in GETTERS:
            return base, name
        case ast.Call(func=ast.Attribute(attr="__getattribute__" | "__getattr__"), args=[base, name]):
            return base, name
        case ast.Call(func=ast.Attribute(value=base, attr="__getattribute__" | "__getattr__"), args=[name]):
            return base, name
    return None


def _looked_up(node: ast.Subscript, names: Bindings) -> str:
    key = names.text(node.slice)
    if key is None:
        return ""
    base = dotted(node.value, names)
    if base == "sys.modules":
        return canonical(key)
    if base.endswith(".__dict__"):
        return join(base.removesuffix(".__dict__"), key)
    inner = node.value
    if isinstance(inner, ast.Call) and dotted(inner.func, names) in ("globals", "locals"):
        return names.origins.get(key, key)
    return ""


def text(node: ast.AST, names: Names = NONE) -> str | None:
    """The string that `node` spells: a literal, or what can be worked out of literals; None otherwise."""
    try:
        found = fold(node, names)
    except NotLiteralError:
        return None
    return found if isinstance(found, str) else None


@lru_cache(maxsize=TREES)
def places(tree: ast.Module | None) -> Mapping[int, str]:
    """Line -> qualified name of the innermost function or class on it."""
    found: dict[int, str] = {}
    if tree is not None:
        _paint(tree, "", found)
    return found


def _paint(node: ast.AST, prefix: str, found: dict[int, str]) -> None:
    for child in ast.iter_child_nodes(node):
        inner = prefix
        if isinstance(child, Function | ast.ClassDef):
            inner = f"{prefix}.{child.name}" if prefix else child.name
            first = min([child.lineno, *(decorator.lineno for decorator in child.decorator_list)])
            found.update(dict.fromkeys(range(first, (child.end_lineno or first) + 1), inner))
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            _paint(child, inner, found)


@lru_cache(maxsize=TREES)
def guarded(tree: ast.Module | None) -> frozenset[int]:
    """Lines under `if __name__ == "__main__":`, which no import runs."""
    lines: set[int] = set()
    for node in tree.body if tree else ():
        if isinstance(node, ast.If) and _asks_for_main(node.test) and not node.orelse:
            lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return frozenset(lines)


def _asks_for_main(test: ast.expr) -> bool:
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq):
        return False
    sides = (test.left, test.comparators[0])
    return {"__name__"} == {side.id for side in sides if isinstance(side, ast.Name)} and "__main__" in map(text, sides)
