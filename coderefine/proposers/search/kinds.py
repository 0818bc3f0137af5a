"""What kind of value an expression has, guessed from literals, calls, usage, annotations and observed locals."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from coderefine.proposers.search.known import ANNOTATIONS, METHODS, RECEIVERS, RESULTS

Function = ast.FunctionDef | ast.AsyncFunctionDef
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

DISPLAYS: dict[type[ast.AST], str] = {
    ast.List: "list",
    ast.ListComp: "list",
    ast.Dict: "dict",
    ast.DictComp: "dict",
    ast.Set: "set",
    ast.SetComp: "set",
    ast.Tuple: "tuple",
    ast.JoinedStr: "str",
    ast.GeneratorExp: "iter",
    ast.Compare: "bool",
    ast.Lambda: "call",
}

SIZED = frozenset({"str", "bytes", "list", "tuple", "dict", "set"})
NUMBERS = frozenset({"int", "float", "bool"})
ITERABLE = SIZED | {"iter"}


def fits(one: str, other: str) -> bool:
    """Whether a value of one kind may stand where another stood; unknown fits all."""
    return not one or not other or one == other or {one, other} <= NUMBERS or {one, other} <= {"list", "tuple", "iter"}


def of_repr(text: str) -> str:
    """Kind of a value from its repr, as a failing frame shows its locals."""
    heads = {"'": "str", '"': "str", "[": "list", "(": "tuple", "{": "dict"}
    if text in ("True", "False"):
        return "bool"
    if text == "None":
        return "none"
    if text[:1] in heads:
        return "set" if text[:1] == "{" and text[1:2] not in ("}", "") and ": " not in text[:60] else heads[text[0]]
    if text[:2] in ("b'", 'b"'):
        return "bytes"
    if text.lstrip("-").isdigit():
        return "int"
    return "float" if _float(text) else ""


def _float(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


class Kinds:
    """Kinds of the names and attributes of one function (or of a module's top level)."""

    def __init__(
        self,
        within: Iterable[ast.AST],
        seen: Mapping[str, str] | None = None,
        functions: Mapping[str, str] | None = None,
    ) -> None:
        self._names: dict[str, str] = dict(functions or {})
        nodes = [node for top in within for node in ast.walk(top)]
        for node in nodes:
            self._from_usage(node)
        for _ in range(2):  # a second round, because a kind may rest on a name assigned further down
            for node in nodes:
                self._from_binding(node)
        for node in nodes:
            self._from_handling(node)
        for name, shown in (seen or {}).items():
            if kind := of_repr(shown):
                self._names[name] = kind

    def name(self, name: str) -> str:
        """Kind of a name or of a dotted path such as `self.items`; empty when unknown."""
        return self._names.get(name, "")

    def of(self, node: ast.AST | None) -> str:  # noqa: PLR0911 (a table of cases)
        if isinstance(node, ast.Constant):
            return "none" if node.value is None else type(node.value).__name__
        if isinstance(node, ast.Name | ast.Attribute):
            return self._names.get(dotted(node), "")
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.BinOp):
            return self._binary(node)
        if isinstance(node, ast.UnaryOp):
            return "bool" if isinstance(node.op, ast.Not) else self.of(node.operand)
        if isinstance(node, ast.BoolOp):
            kinds = {self.of(value) for value in node.values}
            return kinds.pop() if len(kinds) == 1 else ""
        if isinstance(node, ast.IfExp):
            return self.of(node.body) or self.of(node.orelse)
        if isinstance(node, ast.Subscript):
            base = self.of(node.value)
            return (
                base
                if base == "str" or isinstance(node.slice, ast.Slice)
                else self._names.get(dotted(node.value) + "[]", "")
            )
        return DISPLAYS.get(type(node), "") if node is not None else ""

    def _call(self, node: ast.Call) -> str:
        if isinstance(node.func, ast.Name):
            return RESULTS.get(node.func.id) or self._names.get(node.func.id + "()", "")
        if isinstance(node.func, ast.Attribute):
            if node.func.attr in ("copy", "get", "pop"):
                return self.of(node.func.value) if node.func.attr == "copy" else ""
            return METHODS.get(node.func.attr) or self._names.get(node.func.attr + "()", "")
        return ""

    def _binary(self, node: ast.BinOp) -> str:
        left, right = self.of(node.left), self.of(node.right)
        if isinstance(node.op, ast.Div):
            return "float" if left in NUMBERS or not left else left
        if isinstance(node.op, ast.Mod) and left == "str":
            return "str"
        if "float" in (left, right):
            return "float"
        if isinstance(node.op, ast.Mult) and (left in SIZED or right in SIZED):
            return left if left in SIZED else right
        return left or right

    def _put(self, target: ast.AST, kind: str) -> None:
        self._learn(dotted(target), kind)

    def _learn(self, name: str, kind: str) -> None:
        if kind and kind != "none" and name:
            self._names.setdefault(name, kind)

    def _from_usage(self, node: ast.AST) -> None:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            self._put(node.func.value, RECEIVERS.get(node.func.attr, ""))
        elif isinstance(node, ast.arg) and node.annotation is not None:
            self._learn(node.arg, _annotated(node.annotation))
        elif isinstance(node, ast.AnnAssign):
            self._put(node.target, _annotated(node.annotation))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range":
            for argument in node.args:
                self._put(argument, "int")
        elif isinstance(node, Function):
            defaults = zip(
                reversed([*node.args.posonlyargs, *node.args.args]), reversed(node.args.defaults), strict=False
            )
            for parameter, default in defaults:
                self._learn(parameter.arg, self.of(default))

    def _from_handling(self, node: ast.AST) -> None:
        """Weak signs, used for what is still unknown: a name compared or reckoned with a number, measured, sliced."""
        if isinstance(node, ast.Compare) and len(node.comparators) == 1:
            self._compared(node)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub | ast.Div | ast.FloorDiv):
            for one, other in ((node.left, node.right), (node.right, node.left)):
                if self.of(other) in NUMBERS:
                    self._put(one, "int")
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            self._put(node.value, "list")
            for bound in (node.slice.lower, node.slice.upper):
                if bound is not None:
                    self._put(bound, "int")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1:
            self._put(node.args[0], "list" if node.func.id in ("len", "sum", "enumerate", "reversed") else "")

    def _compared(self, node: ast.Compare) -> None:
        if isinstance(node.ops[0], ast.In | ast.NotIn | ast.Is | ast.IsNot):
            return
        for one, other in ((node.left, node.comparators[0]), (node.comparators[0], node.left)):
            if self.of(other) in ("int", "str"):
                self._put(one, self.of(other))

    def _from_binding(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._bind(target, node.value)
        elif isinstance(node, ast.AugAssign):
            self._put(node.target, self.of(node.value))
        elif isinstance(node, ast.For | ast.comprehension):
            self._loop(node.target, node.iter)

    def _bind(self, target: ast.AST, value: ast.AST) -> None:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            for one, other in zip(target.elts, value.elts, strict=True):
                self._put(one, self.of(other))
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Call) and dotted(value.func) == "divmod":
            for one in target.elts:
                self._put(one, "int")
        elif isinstance(target, ast.Tuple) and _makes_text(value):
            for one in target.elts:
                self._put(one, "str")
        else:
            self._put(target, self.of(value))

    def _loop(self, target: ast.AST, source: ast.AST) -> None:
        if isinstance(source, ast.Call) and isinstance(source.func, ast.Name):
            if source.func.id == "range":
                self._put(target, "int")
            if source.func.id == "enumerate" and isinstance(target, ast.Tuple):
                self._put(target.elts[0], "int")
                if _makes_text(source.args[0] if source.args else None):
                    self._put(target.elts[-1], "str")
        elif self.of(source) == "str" or _makes_text(source):
            self._put(target, "str")


def _makes_text(node: ast.AST | None) -> bool:
    """Whether the elements are pieces of a text."""
    pieces = ("split", "rsplit", "partition", "rpartition", "splitlines", "findall")
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in pieces


def _annotated(node: ast.AST) -> str:
    if isinstance(node, ast.Subscript):
        return _annotated(node.value)
    if isinstance(node, ast.Constant):
        return "" if node.value is None else ANNOTATIONS.get(str(node.value), "")
    return ANNOTATIONS.get(dotted(node).rsplit(".", 1)[-1], "")


def dotted(node: ast.AST | None) -> str:
    """`a.b.c` of a chain of names; empty for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = dotted(node.value)
        return f"{base}.{node.attr}" if base else ""
    return ""
