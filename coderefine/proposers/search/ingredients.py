"""Ingredients for repairs from the project's own code: names, attributes, strings, calls, statements, signatures."""

from __future__ import annotations

import ast
import builtins
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

from coderefine.proposers.search.class_members import ClassMembers, declared, own_attributes, properties
from coderefine.proposers.search.index import FileNames
from coderefine.proposers.search.naturalness import Trigrams, tokens
from coderefine.proposers.search.past import PastChange
from coderefine.proposers.search.syntax import Function, Module
from coderefine.proposers.search.value_kinds import Kinds, annotated, dotted, names_of
from coderefine.source import all_arguments, bound_names, first_line

BUILTINS = frozenset(name for name in dir(builtins) if not name.startswith("_"))
EXCEPTIONS = tuple(
    name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, Exception)
)
MOST_STATEMENTS = 4000
"""Maximum number of statements on which the trigram model is trained."""


OddNodes = Mapping[str, tuple[ast.AST, ...]]
"""The odd nodes of a function by kind, see conventions.py."""


class ProjectContext:
    """Ingredients from all files of a search, mostly computed at first use."""

    def __init__(
        self, modules: Mapping[str, Module], changes: Mapping[str, Sequence[PastChange]] = MappingProxyType({})
    ) -> None:
        self.modules = modules
        self.changes = changes
        self.odd: dict[ast.AST, OddNodes] = {}
        """Results of `conventions.odd_by_kind` for functions of the project."""
        self._file_names: dict[Module, FileNames] = {}
        self.kinds: dict[str, Mapping[tuple[str, int], Counter[str]]] = {}
        """Kinds of arguments by called function and position, see conventions.py."""

    @cached_property
    def trigrams(self) -> Trigrams:
        model = Trigrams()
        budget = MOST_STATEMENTS
        for module in self.modules.values():
            for stmt in module.statements[:budget]:
                model.learn(own_words(module, stmt))
            budget -= len(module.statements)
            if budget <= 0:
                break
        return model

    def file_names(self, module: Module) -> FileNames:
        """Return the `FileNames` of a file of the project, computed once."""
        if module not in self._file_names:
            self._file_names[module] = FileNames.of(module.tree)
        return self._file_names[module]

    @cached_property
    def lines(self) -> Counter[tuple[str, ...]]:
        """Return how often each line of code, as tokens, occurs in all files."""
        split = tokens.__wrapped__  # without the cache, which is for statements that are edited
        return Counter(split(line) for module in self.modules.values() for line in module.text.splitlines())

    @cached_property
    def texts(self) -> Mapping[str, float]:
        """Return short strings and identifiers of all files, with lower weights than in the index of their file."""
        return {text: 0.6 * boost for module in self.modules.values() for text, boost in module.index.texts.items()}

    @cached_property
    def signatures(self) -> Mapping[str, list[ast.arguments]]:
        """Return the parameters of functions by unqualified name; for a class those of `__init__`."""
        found: dict[str, list[ast.arguments]] = defaultdict(list)
        for module in self.modules.values():
            for node in module.statements:
                if isinstance(node, Function):
                    found[node.name].append(node.args)
                    owner = module.parents.get(node)
                    if node.name == "__init__" and isinstance(owner, ast.ClassDef):
                        found[owner.name].append(node.args)
        return found

    @cached_property
    def calls(self) -> Mapping[str, list[ast.Call]]:
        """Return the calls in all files by the unqualified name of the called function or method, see `Index.calls`."""
        found: dict[str, list[ast.Call]] = defaultdict(list)
        for module in self.modules.values():
            for name, calls in module.index.calls.items():
                found[name] += calls
        return found

    @cached_property
    def uses(self) -> Mapping[str, Mapping[bool, frozenset[str]]]:
        """Return, for each variable name, the attributes called (True) and read (False) on variables of this name."""
        found: dict[str, dict[bool, frozenset[str]]] = defaultdict(lambda: {True: frozenset(), False: frozenset()})
        for module in self.modules.values():
            for base, names in module.index.attributes.items():
                for called, how in ((True, "called"), (False, "read")):
                    found[base][called] |= names.get(how, frozenset())
        return found

    @cached_property
    def classes(self) -> ClassMembers:
        return ClassMembers(self.modules)

    @cached_property
    def results(self) -> Mapping[str, str]:
        """Return the kind of each function's result, by the function's name with parentheses, such as `size()`.

        A function is left out if its annotation, or its `return` statements if it has none, do not show the kind.
        """
        found = {}
        for module in self.modules.values():
            for node in module.statements:
                if isinstance(node, Function) and (kind := _result(node)):
                    found[f"{node.name}()"] = kind
        return found


def own_words(module: Module, stmt: ast.stmt) -> Sequence[str]:
    """Return the tokens of a statement: only of the header of a compound statement.

    Return no tokens if the statement's value is a constant, as in a docstring or in `x = 1`.
    """
    body = getattr(stmt, "body", None)
    if isinstance(body, list) and body:
        end = min(module.line_start(first_line(body[0])), module.start(body[0]))
        return tokens(module.text[module.start(stmt) : max(end, module.start(stmt))])
    return tokens(module.code(stmt)) if not isinstance(getattr(stmt, "value", None), ast.Constant) else []


def _result(node: Function) -> str:
    if node.returns is not None:
        return annotated(node.returns)
    kinds = Kinds([node])
    found = {kinds.of(inner.value) for inner in ast.walk(node) if isinstance(inner, ast.Return) and inner.value}
    return found.pop() if len(found) == 1 else ""


@dataclass(frozen=True)
class FunctionContext:
    """The names that are visible in a function of a module, or at the module's top level.

    `seen`: reprs of the local variables in tracebacks, by name.
    """

    module: Module
    function: Function | None
    world: ProjectContext
    seen: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def owner(self) -> ast.ClassDef | None:
        return self.module.owner(self.function) if self.function else None

    @cached_property
    def kinds(self) -> Kinds:
        within: list[ast.AST] = [self.module.tree if self.function is None else self._outer]
        if self.owner is not None:
            within.append(self.owner)
        return Kinds(within, self.seen, self.world.results)

    @cached_property
    def _outer(self) -> ast.AST:
        functions = (
            [up for up in self.module.ancestors(self.function) if isinstance(up, Function)] if self.function else []
        )
        return functions[-1] if functions else self.function or self.module.tree

    @cached_property
    def yields(self) -> bool:
        """Return whether the function, or a function inside it, is a generator."""
        nodes = ast.walk(self.function) if self.function else ()
        return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in nodes)

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        return tuple(argument.arg for argument in all_arguments(self.function.args)) if self.function else ()

    @cached_property
    def bound(self) -> dict[str, int]:
        """Return the local names and the first line that binds each (0 for parameters), parameters first."""
        found = dict.fromkeys(self.parameters, 0)
        for node in ast.walk(self._outer if self.function else self.module.tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found[node.id] = min(found.get(node.id, node.lineno), node.lineno)
            elif isinstance(node, ast.arg) and self._outer is not self.function:
                found.setdefault(node.arg, node.lineno)
        return found

    @cached_property
    def comprehended(self) -> frozenset[str]:
        """Return the names bound only inside comprehensions, which are not visible outside of them."""
        nodes = [node for node in ast.walk(self._outer) if not isinstance(node, ast.arg | ast.keyword)]
        targets = [node.target for node in nodes if isinstance(node, ast.comprehension)]
        inside = set[ast.AST]().union(*map(ast.walk, targets))
        names = {name for node in inside for name in bound_names(node)}
        outside = {name for node in nodes if node not in inside for name in bound_names(node)}
        return frozenset(names - outside - set(self.parameters))

    def names(self, line: int) -> list[str]:
        """Return local names bound before (or on) a line, nearest binding first, without `self`, `cls` and `_`."""
        known = [(first, name) for name, first in self.bound.items() if first <= line and name not in self.comprehended]
        return [name for _, name in sorted(known, reverse=True) if name not in ("self", "cls", "_")]

    @cached_property
    def mentions(self) -> Mapping[str, Sequence[int]]:
        """Return, for each name, the lines that read or bind it, ascending; the list of parameters does not count."""
        found: dict[str, list[int]] = {}
        for node in ast.walk(self._outer if self.function else self.module.tree):
            if isinstance(node, ast.Name):
                found.setdefault(node.id, []).append(node.lineno)
        return {name: sorted(lines) for name, lines in found.items()}

    @cached_property
    def unused(self) -> frozenset[str]:
        """Return the names that are bound but never read: local names, and private names and imports of the file."""
        if self.function is None:
            return self.module.index.idle
        read = set(names_of(self._outer, ast.Load))
        own = (name for name in self.bound if name not in read and name not in ("self", "cls"))
        return self.module.index.idle | frozenset(name for name in own if not name.startswith("_"))

    @cached_property
    def callables(self) -> list[str]:
        """Return the parameters that may be functions: called somewhere in the file, or never read."""
        called = self.module.index.calls
        return [name for name in self.parameters if name in called or name in self.unused]

    @cached_property
    def globals(self) -> tuple[str, ...]:
        return self.module.index.globals

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """Return the attributes of `self` that the class (or a base class in this file) uses, most frequent first.

        Methods are left out; names assigned in the body of the class are added.
        """
        found: Counter[str] = Counter()
        for owner in self._classes:
            found.update(own_attributes(owner))
            found.update(declared(owner))
        return tuple(name for name, _ in found.most_common() if name not in self.methods)

    @cached_property
    def methods(self) -> tuple[str, ...]:
        return tuple(stmt.name for owner in self._classes for stmt in owner.body if isinstance(stmt, Function))

    @cached_property
    def properties(self) -> tuple[str, ...]:
        """Return those of `methods` that are read without a call: they have a decorator like `cached_property`."""
        return tuple(name for owner in self._classes for name in properties(owner))

    @cached_property
    def _classes(self) -> list[ast.ClassDef]:
        if self.owner is None:
            return []
        bases = {dotted(base) for base in self.owner.bases}
        here = [node for node in self.module.statements if isinstance(node, ast.ClassDef) and node.name in bases]
        return [self.owner, *here]

    @property
    def receiver(self) -> str:
        """Return `self` or `cls` if it is the first parameter, else ""."""
        return self.parameters[0] if self.parameters[:1] in (("self",), ("cls",)) else ""


def parameter_names(arguments: ast.arguments) -> list[str]:
    """Return the names of the parameters that a caller passes, so without `self` and `cls`."""
    return [argument.arg for argument in all_arguments(arguments) if argument.arg not in ("self", "cls")]
