"""Infer the kind (approximate type) of an expression from literals, calls, usage, annotations and observed locals."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any


def _table(**names: str) -> dict[str, str]:
    """Return the kind of each name. `names`: for each kind, its names in one string, separated by blanks."""
    return {name: kind for kind, own in names.items() for name in own.split()}


RESULTS = _table(
    int="len int ord hash round abs",
    float="float",
    str="str repr chr hex bin input format",
    list="list sorted deque",
    tuple="tuple divmod",
    dict="dict defaultdict Counter OrderedDict",
    set="set frozenset",
    bool="bool isinstance any all callable hasattr issubclass",
    iter="range zip map filter enumerate reversed iter",
    bytes="bytes bytearray",
)
"""Kind of the result of well-known callables."""

METHODS = _table(
    str="strip lstrip rstrip lower upper title replace join format capitalize casefold zfill ljust rjust "
    "center swapcase removeprefix removesuffix decode read group",
    bytes="encode",
    list="split rsplit splitlines readlines findall",
    tuple="partition rpartition",
    bool="startswith endswith isdigit isalpha isalnum isspace isupper islower isidentifier issubset issuperset "
    "isdisjoint",
    int="find rfind index count bit_length weekday isoweekday toordinal",
    iter="keys values items",
    none="append extend sort reverse add clear update remove insert",
    set="union intersection difference",
    float="total_seconds",
)
"""Kind of the result of well-known methods."""

NUMERIC = ("int", "float", "")
"""Kinds of values that may be numbers."""
EMPTY_VALUES = {
    "bool": "False", "int": "0", "float": "0.0", "str": '""', "list": "[]", "tuple": "()", "dict": "{}", "set": "set()",
}  # fmt: skip
"""The empty value of each kind, with which most variables of this kind begin."""

RECEIVERS = _table(
    list="append extend sort insert popleft appendleft",
    dict="items keys values setdefault",
    set="add discard",
    str="strip split lower upper startswith endswith replace isdigit splitlines encode join",
    bytes="decode",
)
"""Kind of the object of which a method with this name is called."""

ANNOTATIONS = _table(
    int="int",
    float="float",
    str="str",
    bool="bool",
    bytes="bytes",
    list="list List Sequence",
    dict="dict Dict Mapping MutableMapping",
    set="set Set frozenset",
    tuple="tuple Tuple",
    iter="Iterable Iterator",
    call="Callable",
    none="None",
)


Function = ast.FunctionDef | ast.AsyncFunctionDef
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

DISPLAYS: dict[type, str] = {
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


def fits(one: str, other: str) -> bool:
    """Return whether a value of kind `other` may replace one of kind `one`, or vice versa; "" (unknown) fits all."""
    return not one or not other or one == other or {one, other} <= NUMBERS or {one, other} <= {"list", "tuple", "iter"}


def of_repr(text: str) -> str:
    """Return the kind of a value from its repr, as recorded for the locals of a failing frame; "" if unknown."""
    heads = {"'": "str", '"': "str", "[": "list", "(": "tuple", "{": "dict"}
    if text in ("True", "False"):
        return "bool"
    if text == "None":
        return "none"
    if text[:1] in heads:
        return "set" if text[:1] == "{" and text[1:2] not in ("}", "") and ": " not in text[:60] else heads[text[0]]
    return _of_other_repr(text)


def _of_other_repr(text: str) -> str:
    if text[:2] in ("b'", 'b"'):
        return "bytes"
    if text.lstrip("-").isdigit():
        return "int"
    return "float" if _float(text) else "call" if text.startswith(CALLABLE) else ""


CALLABLE = ("<function ", "<bound method ", "<built-in ", "<class ")


def _float(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


class Kinds:
    """The kinds (approximate types) of the names and attributes of one function, or of a module's top level."""

    def __init__(
        self,
        within: Iterable[ast.AST],
        seen: Mapping[str, str] | None = None,
        functions: Mapping[str, str] | None = None,
    ) -> None:
        """Infer the kinds from the syntax trees `within`.

        `seen`: reprs of variables, by name. `functions`: kinds of results, by name of the function with `()`.
        """
        self._names: dict[str, str] = dict(functions or {})
        nodes = [node for top in within for node in ast.walk(top)]
        for node in nodes:
            self._from_usage(node)
        for _ in range(2):  # a second round, because a kind may depend on a name assigned further down
            for node in nodes:
                self._from_binding(node)
        for node in nodes:
            self._from_handling(node)
        self._names |= _observed(seen or {})

    def name(self, name: str) -> str:
        """Return the kind of a name or a dotted path such as `self.items`; "" if unknown."""
        return self._names.get(name, "")

    def of(self, node: ast.AST | None) -> str:
        """Return the kind of an expression's value; "" if unknown."""
        read = READERS.get(type(node))
        return read(self, node) if read else DISPLAYS.get(type(node), "")

    def _constant(self, node: ast.Constant) -> str:
        return "none" if node.value is None else type(node.value).__name__

    def _path(self, node: ast.Name | ast.Attribute) -> str:
        return self._names.get(dotted(node), "")

    def _unary(self, node: ast.UnaryOp) -> str:
        return "bool" if isinstance(node.op, ast.Not) else self.of(node.operand)

    def _boolean(self, node: ast.BoolOp) -> str:
        kinds = {self.of(value) for value in node.values}
        return kinds.pop() if len(kinds) == 1 else ""

    def _either(self, node: ast.IfExp) -> str:
        return self.of(node.body) or self.of(node.orelse)

    def _part(self, node: ast.Subscript) -> str:
        base = self.of(node.value)
        whole = base == "str" or isinstance(node.slice, ast.Slice)
        return base if whole else self._names.get(dotted(node.value) + "[]", "")

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
            return _divided(left)
        if isinstance(node.op, ast.Mod) and left == "str":
            return "str"
        if "float" in (left, right):
            return "float"
        if isinstance(node.op, ast.Mult) and (left in SIZED or right in SIZED):
            return left if left in SIZED else right
        return left or right

    def _put(self, target: ast.AST | None, kind: str) -> None:
        self._learn(dotted(target), kind)

    def _learn(self, name: str, kind: str) -> None:
        if kind and kind != "none" and name:
            self._names.setdefault(name, kind)

    def _from_usage(self, node: ast.AST) -> None:
        match node:
            case ast.Call(func=ast.Attribute(value=value, attr=name)):
                self._put(value, RECEIVERS.get(name, ""))
            case ast.Call(func=ast.Name(id="range"), args=arguments):
                for argument in arguments:
                    self._put(argument, "int")
            case ast.Call(func=ast.Name(id=name)):
                self._learn(name, "call")
            case ast.arg(arg=name, annotation=ast.expr() as annotation):
                self._learn(name, annotated(annotation))
            case ast.AnnAssign(target=target, annotation=annotation):
                self._put(target, annotated(annotation))
            case ast.FunctionDef(args=parameters) | ast.AsyncFunctionDef(args=parameters):
                names = [parameter.arg for parameter in (*parameters.posonlyargs, *parameters.args)]
                for name, default in zip(reversed(names), reversed(parameters.defaults), strict=False):
                    self._learn(name, self.of(default))

    def _from_handling(self, node: ast.AST) -> None:
        """Infer kinds from weak evidence: comparisons, arithmetic with a number, calls like `len`, slices."""
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                if not isinstance(op, ast.In | ast.NotIn | ast.Is | ast.IsNot):
                    for one, other in ((left, right), (right, left)):
                        if self.of(other) in ("int", "str"):
                            self._put(one, self.of(other))
            case ast.BinOp(left=left, op=ast.Sub() | ast.Div() | ast.FloorDiv(), right=right):
                self._reckoned(left, right)
                self._reckoned(right, left)
            case ast.Subscript(value=value, slice=ast.Slice() as bounds):
                self._put(value, "list")
                self._put(bounds.lower, "int")
                self._put(bounds.upper, "int")
            case ast.Call(func=ast.Name(id="len" | "sum" | "enumerate" | "reversed"), args=[argument]):
                self._put(argument, "list")

    def _reckoned(self, one: ast.AST, other: ast.AST) -> None:
        if self.of(other) in NUMBERS:
            self._put(one, "int")

    def _from_binding(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._bind(target, node.value)
        elif isinstance(node, ast.AugAssign):
            self._put(node.target, self.of(node.value))
        elif isinstance(node, ast.For | ast.comprehension):
            self._loop(node.target, node.iter)

    def _bind(self, target: ast.AST, value: ast.AST) -> None:
        if not isinstance(target, ast.Tuple):
            self._put(target, self.of(value))
        elif isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            for one, other in zip(target.elts, value.elts, strict=True):
                self._put(one, self.of(other))
        else:
            for one in target.elts:
                self._put(one, _unpacked(value))

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


READERS: Mapping[type, Callable[[Kinds, Any], str]] = {
    ast.Constant: Kinds._constant,
    ast.Name: Kinds._path,
    ast.Attribute: Kinds._path,
    ast.Call: Kinds._call,
    ast.BinOp: Kinds._binary,
    ast.UnaryOp: Kinds._unary,
    ast.BoolOp: Kinds._boolean,
    ast.IfExp: Kinds._either,
    ast.Subscript: Kinds._part,
}
"""Functions that infer the kind, by type of node; DISPLAYS has the node types with a fixed kind."""


def _divided(kind: str) -> str:
    return kind if kind and kind not in NUMBERS else "float"


def _unpacked(value: ast.AST) -> str:
    """Return the kind of the elements of `value`, which is unpacked."""
    if isinstance(value, ast.Call) and dotted(value.func) == "divmod":
        return "int"
    return "str" if _makes_text(value) else ""


def _observed(seen: Mapping[str, str]) -> dict[str, str]:
    return {name: kind for name, shown in seen.items() if (kind := of_repr(shown))}


def _makes_text(node: ast.AST | None) -> bool:
    """Return whether `node` is a call that returns parts of a str."""
    pieces = ("split", "rsplit", "partition", "rpartition", "splitlines", "findall")
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in pieces


def annotated(node: ast.AST) -> str:
    """Return the kind of the values that an annotation allows; "" if unknown."""
    if isinstance(node, ast.Subscript):
        return annotated(node.value)
    if isinstance(node, ast.Constant):
        return "" if node.value is None else ANNOTATIONS.get(str(node.value), "")
    return ANNOTATIONS.get(dotted(node).rsplit(".", 1)[-1], "")


def names_of(node: ast.AST, context: type[ast.expr_context] = ast.expr_context) -> Iterator[str]:
    """Yield the names in a tree in the order of `ast.walk`. `context`: Load for read names, Store for bound names."""
    return (one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, context))


def is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def number_of(node: ast.expr) -> float | None:
    """Return the value of a number, with or without a sign; None for other nodes."""
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            value = number_of(operand)
            return None if value is None else -value
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return value
    return None


def dotted(node: ast.AST | None) -> str:
    """Return the dotted text of a chain of names, such as `a.b.c`; "" for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = dotted(node.value)
        return f"{base}.{node.attr}" if base else ""
    return ""
