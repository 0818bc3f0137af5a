"""Chooses the lines of the project's code that a request shows: suspicious functions whole, then what they use."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from coderefine.llm.folding import folded, shown
from coderefine.llm.modules import Definition, Module, Project, dotted_names
from coderefine.llm.outline import Function

ENOUGH = 2_000
"""Characters of functions after which only what is nearly as suspicious as the first one is still shown."""

LIMIT = 3_600
"""Characters of functions in any case; the first one is shown however long it is."""

NEARLY = 0.9
SUPPORT = 900
"""Characters of constants, tables, fields and signatures that the shown functions use."""

SHORT = 3
"""Body lines up to which a called function is shown whole instead of its signature."""

TABLE = 1_000
"""Characters from which a table is shown by its first and last lines."""

IMPORTS = 400
"""Characters up to which all imports of a file are shown; of more, those that the shown functions use."""


LINES: Mapping[str, frozenset[int]] = MappingProxyType({})
WEIGHTS: Mapping[str, Mapping[int, float]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Trace:
    """What tests executed. `ran`: lines of the failing tests by path; `weights`: how suspicious a line is, 0 to 1.

    `near`: passing tests that execute what is suspicious, the nearest first.
    """

    ran: Mapping[str, frozenset[int]] = field(default_factory=lambda: LINES)
    weights: Mapping[str, Mapping[int, float]] = field(default_factory=lambda: WEIGHTS)
    near: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wanted:
    """What points at code: (path, line) of tracebacks and findings, the most telling first; `names`: (path, name) of
    definitions asked for by name."""

    lines: tuple[tuple[str, int], ...] = ()
    names: tuple[tuple[str, str], ...] = ()


class Selection:
    """Chosen lines by path. `usable`: whether a path is code that may be shown and edited."""

    def __init__(self, project: Project, trace: Trace, usable: Callable[[str], bool], room: float = 1.0) -> None:
        self._project = project
        self._trace = trace
        self._usable = usable
        self._room = room
        self._chosen: dict[str, set[int]] = {}
        self._whole: list[Definition] = []
        self._spent = 0

    def add_suspects(self, wanted: Wanted) -> None:
        """The functions that `wanted` names or points at, then the most suspicious ones, as far as there is room."""
        pointed = list(self._pointed(wanted))
        ranked = sorted(self._suspicious().items(), key=lambda item: (-item[1], item[0].path, item[0].first))
        top = ranked[0][1] if ranked else 1.0
        for item in pointed:
            self._take(item, LIMIT)
        for item, weight in ranked:
            self._take(item, LIMIT if weight >= NEARLY * top else ENOUGH)

    def add_function(self, item: Definition) -> None:
        """Show `item` whole, whatever room is left."""
        self._take(item, 1_000_000)

    def add_likely(self, item: Definition) -> None:
        """Show `item` whole if there is room."""
        self._take(item, ENOUGH)

    def add_lines(self, path: str, numbers: Iterable[int]) -> None:
        module = self._project.module(path)
        if module:
            self._chosen.setdefault(path, set()).update(n for n in numbers if 0 < n <= len(module.lines))

    def add_support(self) -> None:
        """What the functions shown whole use: imports, constants and tables, fields, signatures of what they call."""
        left = int(SUPPORT * self._room)
        for item in self._whole:
            self._add_frame(item)
        found = [use for item in self._whole for use in self._used(item)]
        for use in sorted(found, key=lambda use: use.rank):
            module = self._project.module(use.path)
            fresh = frozenset(use.lines) - self._chosen.get(use.path, set())
            cost = module.size(fresh) if module else 0
            if module and fresh and cost <= left:
                left -= cost
                self._chosen.setdefault(use.path, set()).update(fresh)

    def texts(self) -> dict[str, str]:
        """What to show of each file, sorted by path."""
        modules = {path: self._project.module(path) for path in sorted(self._chosen)}
        return {
            path: shown(module, self._chosen[path], self._trace.ran.get(path, frozenset()))
            for path, module in modules.items()
            if module
        }

    @property
    def functions(self) -> tuple[Definition, ...]:
        """The functions shown whole, the first chosen first."""
        return tuple(self._whole)

    def _pointed(self, wanted: Wanted) -> Iterator[Definition]:
        for path, name in wanted.names:
            found = self._project.locate(name, path)
            if isinstance(found, Definition) and self._usable(found.path):
                yield found
        for path, line in wanted.lines:
            module = self._project.module(path) if self._usable(path) else None
            item = module.at(line) if module else None
            if module and item is None:
                self.add_lines(path, range(line - 3, line + 4))
            elif item:
                yield item

    def _suspicious(self) -> dict[Definition, float]:
        """Definitions by the weight of their most suspicious line."""
        found: dict[Definition, float] = {}
        for path, weights in self._trace.weights.items():
            module = self._project.module(path) if self._usable(path) else None
            for line, weight in weights.items() if module else ():
                item = module.at(line) if module else None
                if item:
                    found[item] = max(found.get(item, 0.0), weight)
        return found

    def _take(self, item: Definition, most: float) -> None:
        module = self._project.module(item.path)
        if module is None or item in self._whole:
            return
        ran = self._trace.ran.get(item.path, frozenset())
        telling = {line for line, weight in self._trace.weights.get(item.path, {}).items() if weight >= NEARLY}
        lines = _lines_of(module, item, ran, telling)
        cost = module.size(lines - self._chosen.get(item.path, set()))
        if self._whole and self._spent + cost > most * self._room:
            return
        self._spent += cost
        self._whole.append(item)
        self._chosen.setdefault(item.path, set()).update(lines)

    def _add_frame(self, item: Definition) -> None:
        """The class around a method, and the imports of names that it uses."""
        module = self._project.module(item.path)
        if module is None:
            return
        chosen = self._chosen[item.path]
        chosen.update(_class_heads(module, item))
        names = {name.partition(".")[0] for name in dotted_names(item.node)}
        few = sum(module.size(_span(node)) for node in module.import_statements) <= IMPORTS
        for node in module.import_statements:
            if few or any(found.node is node and found.local in names for found in module.imports.values()):
                chosen.update(_span(node))

    def _used(self, item: Definition) -> Iterator[Use]:
        for name in sorted(dotted_names(item.node)):
            for found in self._meant(name, item):
                if found not in self._whole and self._usable(found.path):
                    yield from self._use(found)

    def _meant(self, name: str, item: Definition) -> Iterator[Definition]:
        head, _, rest = name.partition(".")
        if head in ("self", "cls") and rest and item.owner:
            yield from self._member(rest, item)
            return
        found = self._project.locate(name, item.path)
        if isinstance(found, Definition) and (found.owner is None or rest):
            yield found

    def _member(self, name: str, item: Definition) -> Iterator[Definition]:
        """The attribute `name` of the class of method `item`, looked for in its bases too."""
        owner = item.name.rpartition(".")[0]
        pending, seen = [(item.path, owner)], set[tuple[str, str]]()
        while pending:
            path, of = pending.pop(0)
            module = self._project.module(path)
            if module is None or (path, of) in seen:
                continue
            seen.add((path, of))
            if f"{of}.{name}" in module.by_name:
                yield module.by_name[f"{of}.{name}"]
                return
            pending += [(base.path, base.name) for base in self._bases(module, of)]

    def _bases(self, module: Module, name: str) -> Iterator[Definition]:
        node = module.by_name[name].node if name in module.by_name else None
        for base in node.bases if isinstance(node, ast.ClassDef) else ():
            found = self._project.locate(ast.unparse(base), module.path)
            if isinstance(found, Definition):
                yield found

    def _use(self, found: Definition) -> Iterator[Use]:
        module = self._project.module(found.path)
        if module is None:
            return
        if isinstance(found.node, Function):
            yield _function_use(found, self._trace.ran.get(found.path, frozenset()))
        elif isinstance(found.node, ast.ClassDef):
            yield _class_use(module, found)
        else:
            yield Use(found.path, _table(module, found), 0)


@dataclass(frozen=True, slots=True)
class Use:
    """Lines that a shown function needs; the smaller `rank`, the sooner they are shown."""

    path: str
    lines: tuple[int, ...]
    rank: int


def _function_use(found: Definition, ran: frozenset[int]) -> Use:
    """Choose the signature of a function, all of it when it is short."""
    whole = found.last - found.body < SHORT
    executed = not ran or not ran.isdisjoint(range(found.body, found.last + 1))
    return Use(found.path, tuple(found.lines if whole else found.head), 1 if executed else 3)


def _class_use(module: Module, found: Definition) -> Use:
    """Choose the head of a class, its annotated fields and the signature of its `__init__`."""
    fields = [part for part in module.definitions if part.owner is found.node]
    lines = {n for part in fields if isinstance(part.node, ast.AnnAssign) for n in part.lines}
    begun = module.by_name.get(f"{found.name}.__init__")
    return Use(found.path, (*range(found.first, found.body), *sorted(lines), *(begun.head if begun else ())), 2)


def _class_heads(module: Module, item: Definition) -> Iterator[int]:
    """Give the head lines of the classes around a definition."""
    for outer in module.definitions:
        if isinstance(outer.node, ast.ClassDef) and outer.first < item.first <= outer.last:
            yield from range(outer.first, min(outer.body, item.first))


def _span(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _lines_of(module: Module, item: Definition, ran: Collection[int], telling: Collection[int]) -> frozenset[int]:
    if isinstance(item.node, ast.ClassDef):
        return frozenset(item.head)
    return folded(module, item, ran, telling) if item.is_function else frozenset(_table(module, item))


def _table(module: Module, item: Definition) -> tuple[int, ...]:
    """The lines of an assignment, the first and last ones of a long table."""
    lines = tuple(item.lines)
    if module.size(lines) <= TABLE:
        return lines
    head = next((n for n in range(len(lines), 1, -1) if module.size(lines[:n]) <= TABLE * 0.7), 1)
    tail = next((n for n in range(len(lines) - head, 1, -1) if module.size(lines[-n:]) <= TABLE * 0.3), 1)
    return (*lines[:head], *lines[-tail:])
