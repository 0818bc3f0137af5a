# ruff: noqa: E501 (rows of a report, programs in strings)
"""Makes faults in real programs. Written apart from the engine, imports nothing of it: an independent mutator.

Each fault class follows a mutation tool in common use (mutmut, cosmic-ray, mutpy) or a usual slip.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from dataclasses import dataclass

SWAP_COMPARE = {ast.Lt: ["<=", ">"], ast.LtE: ["<", ">="], ast.Gt: [">=", "<"], ast.GtE: [">", "<="], ast.Eq: ["!="], ast.NotEq: ["=="],
                ast.Is: ["is not"], ast.IsNot: ["is"], ast.In: ["not in"], ast.NotIn: ["in"]}  # fmt: skip
SIGN_COMPARE = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
SWAP_ARITH = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.FloorDiv: "/",
    ast.Mod: "//",
    ast.Pow: "*",
    ast.BitAnd: "|",
    ast.BitOr: "&",
    ast.LShift: ">>",
    ast.RShift: "<<",
    ast.BitXor: "&",
}
SIGN_ARITH = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitXor: "^",
}
METHODS = {
    "lower": "upper",
    "upper": "lower",
    "strip": "lstrip",
    "lstrip": "rstrip",
    "rstrip": "lstrip",
    "find": "rfind",
    "split": "rsplit",
    "startswith": "endswith",
    "endswith": "startswith",
    "append": "extend",
    "items": "keys",
    "values": "keys",
    "keys": "values",
    "index": "rindex",
    "ljust": "rjust",
    "rjust": "ljust",
}


@dataclass(frozen=True)
class Fault:
    """`old` at `start` of the file's text became `new`."""

    path: str
    kind: str
    start: int
    old: str
    new: str
    line: int
    function: str

    def apply(self, text: str) -> str:
        assert text[self.start : self.start + len(self.old)] == self.old
        return text[: self.start] + self.new + text[self.start + len(self.old) :]


class Maker:
    """All faults of one file."""

    def __init__(self, path: str, text: str) -> None:
        self.path, self.text = path, text
        self.tree = ast.parse(text)
        self.rows = text.split("\n")
        self.begins = [0]
        for row in self.rows:
            self.begins.append(self.begins[-1] + len(row) + 1)
        self.attributes: dict[str, set[str]] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Attribute):
                self.attributes.setdefault(self.src(node.value), set()).add(node.attr)
        self.dump = ast.dump(self.tree)
        self.up = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def at(self, line: int, column: int) -> int:
        return self.begins[line - 1] + len(self.rows[line - 1].encode()[:column].decode())

    def span(self, node: ast.AST) -> tuple[int, int]:
        return self.at(node.lineno, node.col_offset), self.at(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def src(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.text[start:end]

    def owner(self, node: ast.AST) -> str:
        names = []
        while node in self.up:
            node = self.up[node]
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.append(node.name)
        return ".".join(reversed(names))

    def fault(self, kind: str, node: ast.AST, start: int, end: int, new: str) -> Fault | None:
        old = self.text[start:end]
        made = Fault(self.path, kind, start, old, new, self.text.count("\n", 0, start) + 1, self.owner(node))
        return made if old != new else None

    def valid(self, made: Fault) -> bool:
        """Whether the faulty text parses to another program."""
        try:
            changed = ast.parse(made.apply(self.text))
        except SyntaxError:
            return False
        return ast.dump(changed) != self.dump

    def all(self) -> Iterator[Fault]:
        for node in ast.walk(self.tree):
            if not self.owner(node) or self._in_fstring(node) or self._annotation(node):
                continue
            for kind, start, end, new in self.changes(node):
                if made := self.fault(kind, node, start, end, new):
                    yield made

    def _in_fstring(self, node: ast.AST) -> bool:
        while node in self.up:
            node = self.up[node]
            if isinstance(node, ast.JoinedStr):
                return True
        return False

    def _annotation(self, node: ast.AST) -> bool:
        while node in self.up:
            parent = self.up[node]
            if getattr(parent, "annotation", None) is node or getattr(parent, "returns", None) is node:
                return True
            node = parent
        return False

    def changes(self, node: ast.AST) -> Iterator[tuple[str, int, int, str]]:
        if isinstance(node, ast.expr):
            yield from self.expression(node)
        elif isinstance(node, ast.stmt):
            yield from self.statement(node)

    def dropped(self, kind: str, node: ast.stmt) -> Iterator[tuple[str, int, int, str]]:
        """The statement's lines taken out; `pass` where nothing else stands in the block."""
        start, end = self.span(node)
        blocks = [value for value in vars(self.up[node]).values() if isinstance(value, list) and node in value]
        if blocks and len(blocks[0]) > 1 and not self.rows[node.lineno - 1][: node.col_offset].strip():
            yield kind, self.begins[node.lineno - 1], self.begins[node.end_lineno or node.lineno], ""
        else:
            yield kind, start, end, "pass"

    def expression(self, node: ast.expr) -> Iterator[tuple[str, int, int, str]]:  # noqa: C901, PLR0912 (one branch per fault class)
        start, end = self.span(node)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            for new in SWAP_COMPARE[type(node.ops[0])]:
                yield "comparison", start, end, f"{self.src(node.left)} {new} {self.src(node.comparators[0])}"
        elif isinstance(node, ast.BinOp) and type(node.op) in SWAP_ARITH and not isinstance(node.left, ast.Constant):
            yield "arithmetic", start, end, f"{self.src(node.left)} {SWAP_ARITH[type(node.op)]} {self.src(node.right)}"
        elif isinstance(node, ast.BoolOp) and len(node.values) == 2:
            word = "or" if isinstance(node.op, ast.And) else "and"
            one, two = map(self.src, node.values)
            yield "boolean", start, end, f"{one} {word} {two}"
            yield "condition-dropped", start, end, one
            yield "condition-dropped", start, end, two
        elif isinstance(node, ast.UnaryOp):
            yield "unary-dropped", start, end, self.src(node.operand)
        elif isinstance(node, ast.Constant):
            yield from self.constant(node, start, end)
        elif isinstance(node, ast.Call):
            yield from self.call(node, start, end)
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            if node.slice.lower and node.slice.upper:
                yield "slice", start, end, f"{self.src(node.value)}[:{self.src(node.slice.upper)}]"
                yield "slice", start, end, f"{self.src(node.value)}[{self.src(node.slice.lower)}:]"
        elif isinstance(node, ast.IfExp):
            yield "ternary", start, end, f"{self.src(node.orelse)} if {self.src(node.test)} else {self.src(node.body)}"
            yield "ternary", start, end, self.src(node.body)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield from self.name(node, start, end)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            others = sorted(self.attributes.get(self.src(node.value), set()) - {node.attr})
            if others:
                yield "attribute", start, end, f"{self.src(node.value)}.{random.Random(start).choice(others)}"

    def constant(self, node: ast.Constant, start: int, end: int) -> Iterator[tuple[str, int, int, str]]:
        if isinstance(self.up[node], ast.Expr):
            return
        if isinstance(node.value, bool):
            yield "truth", start, end, str(not node.value)
        elif isinstance(node.value, int | float):
            yield "number", start, end, repr(node.value + 1)
            yield "number", start, end, repr(node.value - 1)
        elif isinstance(node.value, str) and node.value and "\n" not in self.src(node):
            yield "text", start, end, repr("XX" + node.value + "XX")
            if len(node.value) > 2:
                yield "text", start, end, repr(node.value[:-1])
            if node.value.lower() != node.value.upper():
                yield "text", start, end, repr(node.value.swapcase())
        elif node.value is None and not isinstance(self.up[node], ast.Compare):
            yield "none", start, end, '""'

    def call(self, node: ast.Call, start: int, end: int) -> Iterator[tuple[str, int, int, str]]:
        parts = [self.src(item) for item in (*node.args, *node.keywords)]
        name = self.src(node.func)
        if len(parts) > 1:
            for index in range(len(parts)):
                yield "argument-dropped", start, end, f"{name}({', '.join(parts[:index] + parts[index + 1 :])})"
            if len(node.args) > 1:
                yield "arguments-swapped", start, end, f"{name}({', '.join([parts[1], parts[0], *parts[2:]])})"
        for index in range(len(node.args)):
            yield "argument-none", start, end, f"{name}({', '.join([*parts[:index], 'None', *parts[index + 1 :]])})"
        if len(node.args) == 1 and not isinstance(self.up[node], ast.Expr):
            yield "call-unwrapped", start, end, parts[0]
        if isinstance(node.func, ast.Attribute):
            if not isinstance(self.up[node], ast.Expr):
                yield "method-dropped", start, end, self.src(node.func.value)
            if node.func.attr in METHODS:
                at = self.span(node.func)[1]
                yield "method", at - len(node.func.attr), at, METHODS[node.func.attr]

    def name(self, node: ast.Name, start: int, end: int) -> Iterator[tuple[str, int, int, str]]:
        function: ast.AST | None = node
        while function is not None and not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            function = self.up.get(function)
        if function is None or self._is_function_name(node):
            return
        local = {
            other.id for other in ast.walk(function) if isinstance(other, ast.Name) and isinstance(other.ctx, ast.Store)
        }
        local |= {other.arg for other in ast.walk(function) if isinstance(other, ast.arg)}
        others = sorted(local - {node.id, "self", "cls"})
        if node.id in local and others:
            yield "variable", start, end, random.Random(start).choice(others)

    def _is_function_name(self, node: ast.AST) -> bool:
        parent = self.up[node]
        return isinstance(parent, ast.Call) and parent.func is node

    def statement(self, node: ast.stmt) -> Iterator[tuple[str, int, int, str]]:  # noqa: C901, PLR0912 (one branch per fault class)
        start, end = self.span(node)
        if isinstance(node, ast.If | ast.While):
            begin, until = self.span(node.test)
            yield "condition-negated", begin, until, f"not ({self.text[begin:until]})"
            if isinstance(node, ast.If):
                yield "condition-constant", begin, until, "False"
                if (
                    len(node.body) == 1
                    and isinstance(node.body[0], ast.Return | ast.Raise | ast.Continue | ast.Break)
                    and not node.orelse
                    and not self.text.startswith("elif", start)
                ):
                    yield from self.dropped("guard-dropped", node)
        elif isinstance(node, ast.Assign):
            begin, until = self.span(node.value)
            if not (isinstance(node.value, ast.Constant) and node.value.value is None):
                yield "assigned-none", begin, until, "None"
            yield from self.dropped("statement-dropped", node)
        elif isinstance(node, ast.AugAssign):
            yield "augmented-to-plain", start, end, f"{self.src(node.target)} = {self.src(node.value)}"
            sign = SWAP_ARITH.get(type(node.op))
            if sign:
                yield "arithmetic", start, end, f"{self.src(node.target)} {sign}= {self.src(node.value)}"
            yield from self.dropped("statement-dropped", node)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield from self.dropped("statement-dropped", node)
        elif isinstance(node, ast.Break | ast.Continue):
            yield "jump", start, end, "continue" if isinstance(node, ast.Break) else "break"
        elif isinstance(node, ast.Return) and node.value is not None:
            if not (isinstance(node.value, ast.Constant) and node.value.value is None):
                yield "return-none", start, end, "return None"
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name):
            begin, until = self.span(node.exc.func)
            yield "exception", begin, until, "RuntimeError" if node.exc.func.id != "RuntimeError" else "KeyError"
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for decorator in node.decorator_list:
                begin, until = self.at(decorator.lineno, 0), self.at(decorator.lineno + 1, 0)
                yield "decorator-dropped", begin, until, ""
            for default in node.args.defaults:
                if isinstance(default, ast.Constant) and default.value is not None:
                    begin, until = self.span(default)
                    yield "default", begin, until, "None"


def faults(path: str, text: str, count: int, seed: int) -> list[Fault]:
    """`count` faults, drawn class by class so that rare classes are not drowned."""
    found: dict[str, list[Fault]] = {}
    maker = Maker(path, text)
    for made in maker.all():
        found.setdefault(made.kind, []).append(made)
    dice = random.Random(seed)
    for group in found.values():
        dice.shuffle(group)
    drawn: list[Fault] = []
    while found and len(drawn) < count:
        for kind in sorted(found):
            made = found[kind].pop()
            if maker.valid(made):
                drawn.append(made)
        found = {kind: group for kind, group in found.items() if group}
    dice.shuffle(drawn)
    return drawn[:count]
