"""Index of one file: expressions, statements, conditions, attributes, strings, calls."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from coderefine.proposers.search.value_kinds import dotted, names_of
from coderefine.source import bound_names, last_name

if TYPE_CHECKING:
    from coderefine.proposers.search.syntax import Function, Module

COMPOUND = (
    ast.BinOp,
    ast.Call,
    ast.Subscript,
    ast.Attribute,
    ast.Compare,
    ast.BoolOp,
    ast.IfExp,
    ast.List,
    ast.Dict,
    ast.Tuple,
    ast.ListComp,
    ast.UnaryOp,
    ast.JoinedStr,
    ast.GeneratorExp,
    ast.SetComp,
    ast.DictComp,
    ast.Lambda,
)
SIMPLE = (
    ast.Assign,
    ast.AugAssign,
    ast.AnnAssign,
    ast.Expr,
    ast.Return,
    ast.Raise,
    ast.Break,
    ast.Continue,
    ast.Delete,
    ast.Assert,
    ast.Nonlocal,
    ast.Global,
)
DISPLAY = (ast.List, ast.Set, ast.Dict, ast.Tuple)
LONGEST = 90
"""Maximum number of characters of a piece of code that is used as an ingredient."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of code: its node, its text, the variables in it, and the function and the class that contain it."""

    node: ast.AST
    text: str
    names: frozenset[str]
    function: Function | None
    owner: ast.ClassDef | None


@dataclass(frozen=True, slots=True)
class FileNames:
    """The names in a file, wherever they stand. `read`: variables that it reads; `of_self`: attributes of `self`.

    `bound`: the variables, attributes, functions, classes and parameters that it binds, and its strings, because
    `setattr` may bind them; `star`: whether a star import may bind others. `for_types`: names bound only under
    `if TYPE_CHECKING`, which have no value when the file runs.
    """

    bound: frozenset[str]
    star: bool
    read: frozenset[str]
    of_self: frozenset[str]
    for_types: frozenset[str]

    @classmethod
    def of(cls, tree: ast.Module) -> FileNames:
        running, typed, read, of_self = set[str](), set[str](), set[str](), set[str]()
        for_types = _for_types(tree)
        for node in ast.walk(tree):
            if not isinstance(node, ast.keyword):
                (typed if node in for_types else running).update(bound_names(node))
            match node:
                case ast.Name(id=name, ctx=ast.Load()):
                    read.add(name)
                case ast.Constant(value=str(name)) | ast.Attribute(attr=name, ctx=ast.Store()):
                    running.add(name)
            if isinstance(node, ast.Attribute) and dotted(node.value) == "self":
                of_self.add(node.attr)
        bound = frozenset(running | typed)
        return cls(bound, "*" in bound, frozenset(read), frozenset(of_self), frozenset(typed - running))

    def binds(self, name: str) -> bool:
        return self.star or name in self.bound


def _for_types(tree: ast.Module) -> set[ast.AST]:
    """Return the nodes under `if TYPE_CHECKING`."""
    blocks = (node for node in ast.walk(tree) if isinstance(node, ast.If) and last_name(node.test) == "TYPE_CHECKING")
    return {node for block in blocks for stmt in block.body for node in ast.walk(stmt)}


class Index:
    """Facts about one module, collected in one traversal at first use.

    `expressions`, `statements`, `tests`: short compound expressions, simple statements, and conditions. `attributes`:
    by dotted name of an object, the attributes that are "read", "called", and called without arguments ("bare").
    `texts`: short strings and identifiers with weights. `calls`: by unqualified name of the function or method; "" if
    it has no name. `slices`: of each subscript, the dotted name of the object, the text of the index, and the function
    that contains it. `one_argument`: names that are called with one argument. `chains`: attributes with their objects,
    such as `a.b.c`. `errors`: names of exceptions that are defined or raised. `decorators`: their texts by type of the
    definition.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self.expressions: list[Piece] = []
        self.statements: list[Piece] = []
        self.tests: list[Piece] = []
        self.attributes: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        self.all_attributes: set[str] = set()
        self.texts: dict[str, float] = {}
        self.calls: dict[str, list[ast.Call]] = defaultdict(list)
        self.slices: list[tuple[str, str, Function | None]] = []
        self.one_argument: set[str] = set()
        self.chains: set[str] = set()
        self.errors: set[str] = set()
        self.decorators: dict[type[ast.AST], set[str]] = defaultdict(set)
        self._walk(module.tree, None, None)

    def _walk(self, node: ast.AST, function: Function | None, owner: ast.ClassDef | None) -> frozenset[str]:
        """Visit `node` and its descendants; return the variables in them, so that no subtree is visited twice."""
        inner = node if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else function
        kin = node if isinstance(node, ast.ClassDef) else owner
        names = frozenset({node.id}) if isinstance(node, ast.Name) else frozenset()
        annotation = getattr(node, "annotation", None) or getattr(node, "returns", None)
        for child in ast.iter_child_nodes(node):
            # An annotation is no ingredient of other code.
            names |= frozenset(names_of(child)) if child is annotation else self._walk(child, inner, kin)
        self._note(node, names, function, owner)
        return names

    def _note(
        self, node: ast.AST, names: frozenset[str], function: Function | None, owner: ast.ClassDef | None
    ) -> None:
        called = self.module.is_called(node)  # `self.show` in `self.show()` is not used as a value
        if isinstance(node, COMPOUND) and isinstance(getattr(node, "ctx", None), ast.Load | None) and not called:
            self._piece(self.expressions, node, names, function, owner)
        elif isinstance(node, SIMPLE):
            self._piece(self.statements, node, names, function, owner)
        elif isinstance(node, ast.If):
            self._small_if(node, names, function, owner)
        if isinstance(node, ast.If | ast.While | ast.IfExp):
            for test in node.test.values if isinstance(node.test, ast.BoolOp) else [node.test]:
                self._piece(self.tests, test, frozenset(names_of(test)), function, owner)
        self._access(node, function)
        self._word(node)

    def _access(self, node: ast.AST, function: Function | None) -> None:
        if isinstance(node, ast.Attribute):
            self._attribute(node)
        elif isinstance(node, ast.Call):
            self.calls[last_name(node.func)].append(node)
            if len(node.args) == 1 and (name := dotted(node.func)):
                self.one_argument.add(name)
        elif isinstance(node, ast.Subscript):
            self.slices.append((dotted(node.value), self.module.code(node.slice), function))
        for decorator in getattr(node, "decorator_list", []):
            self.decorators[type(node)].add(self.module.code(decorator))

    def _piece(
        self,
        into: list[Piece],
        node: ast.AST,
        names: frozenset[str],
        function: Function | None,
        owner: ast.ClassDef | None,
    ) -> None:
        text = self.module.code(node)
        if len(text) <= LONGEST and "\n" not in text:
            into.append(Piece(node, text, names, function, owner))

    def _small_if(
        self, node: ast.If, names: frozenset[str], function: Function | None, owner: ast.ClassDef | None
    ) -> None:
        """Add an `if` with one simple statement as an ingredient, reformatted to two lines."""
        if node.orelse or len(node.body) != 1 or not isinstance(node.body[0], SIMPLE):
            return
        test, body = self.module.code(node.test), self.module.code(node.body[0])
        if "\n" not in test + body and len(test + body) <= LONGEST:
            text = f"if {test}:\n{self.module.step}{body}"
            self.statements.append(Piece(node, text, names, function, owner))

    def _attribute(self, node: ast.Attribute) -> None:
        base = dotted(node.value)
        parent = self.module.parents.get(node)
        called = isinstance(parent, ast.Call) and parent.func is node
        self.all_attributes.add(node.attr)
        if base:
            how = "called" if called else "read"
            self.attributes[base][how].add(node.attr)
            if called and isinstance(parent, ast.Call) and not parent.args:
                self.attributes[base]["bare"].add(node.attr)
            self.chains.add(f"{base}.{node.attr}")

    def _word(self, node: ast.AST) -> None:
        match node:
            case ast.Constant(value=str(text)) if len(text) <= 60:
                self.texts.setdefault(text, 1.0)
            case ast.Name(id=name) | ast.arg(arg=name) | ast.keyword(arg=str(name)):
                self.texts.setdefault(name, 0.5)
            case ast.Attribute(attr=name):
                self.texts.setdefault(name, 0.6)
            case ast.ClassDef(name=name, bases=bases):
                if any(dotted(base).endswith(("Error", "Exception")) for base in bases):
                    self.errors.add(name)
            case ast.Raise(exc=ast.expr() as raised):
                self._raised(raised)

    def _raised(self, node: ast.expr) -> None:
        name = dotted(node.func if isinstance(node, ast.Call) else node)
        if name and "." not in name:
            self.errors.add(name)

    @cached_property
    def globals(self) -> tuple[str, ...]:
        """Return the names bound at the module's top level, also those bound in the bodies of its `if` and `try`.

        Functions, classes, imports and assigned names count.
        """
        found: dict[str, None] = {}
        for node in self.module.tree.body:
            for stmt in (node, *(node.body if isinstance(node, ast.If | ast.Try) else ())):
                found.update(dict.fromkeys(_bound_by(stmt)))
        return tuple(found)

    @cached_property
    def collections(self) -> list[str]:
        """Return the constant collections of the file: upper-case names bound to a literal list, set, dict or tuple."""
        return [
            target.id
            for stmt in self.module.tree.body
            if isinstance(stmt, ast.Assign | ast.AnnAssign) and isinstance(stmt.value, DISPLAY)
            for target in (stmt.targets if isinstance(stmt, ast.Assign) else [stmt.target])
            if isinstance(target, ast.Name) and target.id.isupper()
        ]

    @cached_property
    def idle(self) -> frozenset[str]:
        """Return the imports, private functions and other private names that this file binds but never reads.

        The fault may be that such a name is not used. Return nothing for a short `__init__.py`.
        """
        if self.module.path.endswith("__init__.py") and len(self.module.tree.body) < 10:
            return frozenset()  # such a file mostly re-exports its imports
        nodes = list(ast.walk(self.module.tree))
        read = {name for node in nodes for name in _read(node)}
        return frozenset(name for node in nodes for name in _bound_for_itself(node) if name not in read)


def _bound_by(stmt: ast.stmt) -> Iterator[str]:
    match stmt:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from (alias.asname or alias.name.split(".")[0] for alias in names if alias.name != "*")
        case ast.Assign(targets=targets):
            yield from (name for target in targets for name in names_of(target))
        case ast.AnnAssign(target=target):
            yield from names_of(target)


def _read(node: ast.AST) -> tuple[str, ...]:
    """Return the names that a node reads; a string may be a name, too (`__all__`, `getattr`)."""
    match node:
        case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name, ctx=ast.Load()):
            return (name,)
        case ast.Constant(value=str(text)):
            return (text,)
    return ()


def _bound_for_itself(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node binds and that are meant for use in this file only: imports and private names."""
    match node:
        case ast.ImportFrom(module="__future__"):
            return
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            yield from (alias.asname or alias.name.split(".")[0] for alias in names)
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if _private(name):
            yield name
        case ast.Module(body=body) | ast.ClassDef(body=body):
            yield from filter(_private, _assigned(body))


def _assigned(body: list[ast.stmt]) -> Iterator[str]:
    """Return the names that the statements assign, without those in nested blocks."""
    targets = (target for stmt in body if isinstance(stmt, ast.Assign) for target in stmt.targets)
    return (target.id for target in targets if isinstance(target, ast.Name))


def _private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")
