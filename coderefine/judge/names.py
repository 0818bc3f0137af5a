"""Who a name in a file is: imports followed, simple disguises (`getattr`, string sums) undone."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import lru_cache

from coderefine.judge.normal import Function, nodes

Bindings = Mapping[str, str]


@lru_cache(maxsize=16)
def bindings(tree: ast.Module) -> Bindings:
    """Local name -> dotted origin for imports; names the file binds itself map to `<own>.name`."""
    found = {name: f"<own>.{name}" for name in _bound(tree)}
    for node in nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.update(_imported(node))
    return found


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            yield alias.asname or alias.name, f"{'.' * node.level}{node.module or ''}.{alias.name}"
        elif alias.asname:
            yield alias.asname, alias.name
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


def dotted(node: ast.AST, names: Bindings) -> str:
    """`os._exit` for `os._exit`, `bye` after `from os import _exit as bye`, `getattr(os, "_exit")` …; else ""."""
    if isinstance(node, ast.Name):
        return names.get(node.id, node.id)
    if isinstance(node, ast.Attribute):
        return _join(dotted(node.value, names), node.attr)
    if isinstance(node, ast.Call):
        return _called(node, names)
    if isinstance(node, ast.Subscript):
        return _looked_up(node, names)
    return ""


def last(node: ast.AST | None) -> str:
    """The last part of a name as it is written: `c` of `a.b.c`; "" for what is no name."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _join(base: str, attribute: str) -> str:
    return f"{base}.{attribute}" if base else ""


def _called(node: ast.Call, names: Bindings) -> str:
    function = dotted(node.func, names)
    if function in ("getattr", "builtins.getattr") and len(node.args) >= 2:
        attribute = text(node.args[1])
        return _join(dotted(node.args[0], names), attribute) if attribute else ""
    if function in ("__import__", "importlib.import_module", "builtins.__import__") and node.args:
        return text(node.args[0]) or ""
    return ""


def _looked_up(node: ast.Subscript, names: Bindings) -> str:
    key = text(node.slice)
    base = node.value
    if key is None:
        return ""
    if isinstance(base, ast.Call) and dotted(base.func, names) == "vars" and base.args:
        return _join(dotted(base.args[0], names), key)
    if isinstance(base, ast.Attribute) and base.attr == "__dict__":
        return _join(dotted(base.value, names), key)
    return key if dotted(base, names) == "sys.modules" else ""


def text(node: ast.AST) -> str | None:
    """The string that `node` spells: a literal, a sum, an f-string or a join of literals; None otherwise."""
    match node:
        case ast.Constant(value=str(word)):
            return word
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _glue([left, right])
        case ast.JoinedStr(values=parts):
            return _glue([part.value if isinstance(part, ast.FormattedValue) else part for part in parts])
        case ast.Call(
            func=ast.Attribute(value=glue, attr="join"), args=[ast.List(elts=parts) | ast.Tuple(elts=parts), *_]
        ):
            return _glue(parts, text(glue))
    return None


def _glue(parts: list[ast.expr], between: str | None = "") -> str | None:
    words = [word for part in parts if (word := text(part)) is not None]
    return between.join(words) if between is not None and len(words) == len(parts) else None


@lru_cache(maxsize=16)
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


@lru_cache(maxsize=16)
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
