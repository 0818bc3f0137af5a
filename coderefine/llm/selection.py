"""Select the lines of the project's code for a request: suspicious functions completely, then the code they use."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Protocol

from coderefine.llm.folding import (
    class_outline,
    classes_around,
    folded,
    only_exports,
    shown,
    signature_lines,
    table_lines,
    unreadable_line,
)
from coderefine.llm.missing_symbols import MissingSymbol
from coderefine.llm.modules import Definition, Module, Project, dotted_names, names_and_attributes, span
from coderefine.llm.normalize import cut

WHOLE = 1_200
"""Characters up to which a file is shown completely if any part of it is shown."""

SMALL = 3_000
"""Characters of all imported modules of the tests up to which these are shown completely."""

ASKED = 6_000
"""Maximum number of characters of a file that a task names or a model requests."""

STYLE = 1_500
"""Maximum number of characters of signatures of a file in which a symbol is missing."""

BROKEN = 12
"""Lines shown on both sides of a syntax error."""

LONGEST_HEADER = 3
"""Comment lines at the top of a file up to which they are shown; more of them are a licence."""

ENOUGH = 2_000
"""Characters of functions after which only those nearly as suspicious as the first one are shown."""

LIMIT = 3_600
"""Maximum number of characters of functions; the first one is always shown."""

NEARLY = 0.9
SUPPORT = 900
"""Maximum number of characters of constants, tables, fields and signatures that the shown functions use."""

SHORT = 3
"""Body lines up to which a called function is shown completely instead of its signature."""

IMPORTS = 400
"""Characters up to which all imports of a file are shown; otherwise only those that the shown functions use."""

LINES: Mapping[str, frozenset[int]] = MappingProxyType({})
WEIGHTS: Mapping[str, Mapping[int, float]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Trace:
    """Trace of the tests. `ran`: lines executed by failing tests, by path; `weights`: suspicion of lines, 0..1.

    `near`: passing tests that execute suspicious code, the nearest first.
    """

    ran: Mapping[str, frozenset[int]] = field(default_factory=lambda: LINES)
    weights: Mapping[str, Mapping[int, float]] = field(default_factory=lambda: WEIGHTS)
    near: tuple[str, ...] = ()


class Tree(Protocol):
    """The attributes of context.Repository that are needed here."""

    @property
    def always(self) -> tuple[str, ...]: ...
    @property
    def needed(self) -> tuple[tuple[str, str], ...]: ...
    def is_code(self, path: str) -> bool: ...


class Selection:
    """Selects lines by path. `trace`: trace of the failing tests, recorded at first use; None if unknown."""

    def __init__(self, project: Project, tree: Tree, ask: Callable[[], Trace | None], room: float) -> None:
        """Create a selection. `ask` traces the failing tests (None: no result). `room`: see context.gather."""
        self._project = project
        self._tree = tree
        self._ask = ask
        self._room = room
        self._chosen: dict[str, set[int]] = {}
        self._whole: list[Definition] = []
        self._spent = 0
        self.trace: Trace | None = None

    def texts(
        self, pointed: Sequence[tuple[str, int]], tests: Mapping[str, str], things: Sequence[MissingSymbol]
    ) -> dict[str, str]:
        """Return excerpts by path. `pointed`: lines of tracebacks and findings, the most relevant first.

        `tests`: excerpts of the shown test files. `things`: missing symbols.
        """
        reached = list(dict.fromkeys(path for test in tests for path in self._project.reachable(test)))
        near = [*map(itemgetter(0), pointed), *reached]
        if not things and (small := self._small(near)):
            return self._named() | {path: self._without_licence(path) for path in small}
        self.trace = self._ask()
        names = frozenset[str]().union(*map(names_and_attributes, tests.values()))
        self._add_pointed(pointed)
        self._add_suspicious(self.trace or Trace())
        self._add_unreadable(near)
        for thing in things:
            self._add_place(thing, names)
        if not things and not self.trace:
            self._add_tested(reached, names)
        self._add_support()
        return dict(sorted((self._excerpts() | self._named()).items()))

    def _code(self, path: str) -> Module | None:
        """Return the module at `path` if it is the project's own code, which may be shown and edited, else None."""
        return self._project.module(path) if self._tree.is_code(path) else None

    def _named(self) -> dict[str, str]:
        """Return the files that the task names, and the complete files that the model requested."""
        paths = (*self._tree.always, *(path for path, name in self._tree.needed if not name))
        texts = {path: self._project.read(path) for path in paths}
        most = int(ASKED * self._room)
        return {path: cut(text, most) for path, text in sorted(texts.items()) if text is not None}

    def _small(self, paths: Iterable[str]) -> list[str]:
        """Return `paths` and files requested by the model if all can be shown completely, else no files."""
        wanted = sorted({*paths, *(path for path, _ in self._tree.needed)})
        modules = {path: module for path in wanted if (module := self._code(path))}
        found = [path for path, module in modules.items() if not only_exports(module)]
        return found if sum(len(modules[path].text) for path in found) <= SMALL * self._room else []

    def _excerpts(self) -> dict[str, str]:
        """Return the selected parts of each file; short files completely if no trace is known."""
        ran = self.trace.ran if self.trace else LINES
        texts = {}
        for path, numbers in self._chosen.items():
            module = self._project.module(path)
            short = module and len(module.text) <= WHOLE * self._room and not self.trace
            if module:
                texts[path] = self._without_licence(path) if short else shown(module, numbers, ran.get(path, ()))
        return texts

    def _without_licence(self, path: str) -> str:
        """Return the complete file without a licence at its top."""
        module = self._project.module(path)
        lines = module.lines if module else []
        header = next((n for n, line in enumerate(lines) if not line.startswith("#")), 0)
        return "\n".join(lines[header if header > LONGEST_HEADER else 0 :]).lstrip("\n")

    def _add_lines(self, path: str, numbers: Iterable[int]) -> None:
        if module := self._project.module(path):
            self._chosen.setdefault(path, set()).update(n for n in numbers if 0 < n <= len(module.lines))

    def _add_pointed(self, pointed: Iterable[tuple[str, int]]) -> None:
        """Add the functions requested by name, then those on the lines `pointed`, while there is room."""
        items = [item for path, name in self._tree.needed if name and (item := self._definition(name, path))]
        for path, line in pointed:
            module = self._code(path)
            item = module.at(line) if module else None
            if item:
                items.append(item)
            elif module:
                self._add_lines(path, range(line - 3, line + 4))
        for item in items:
            self._take(item, LIMIT)

    def _definition(self, name: str, path: str) -> Definition | None:
        """Return the definition of `name` as seen from the file `path`, if it is the project's own code."""
        found = self._project.locate(name, path)
        return found if isinstance(found, Definition) and self._tree.is_code(found.path) else None

    def _add_suspicious(self, trace: Trace) -> None:
        """Add the definitions with the most suspicious lines while there is room."""
        found: dict[Definition, float] = {}
        for path, weights in trace.weights.items():
            module = self._code(path)
            for line, weight in weights.items() if module else ():
                if module and (item := module.at(line)):
                    found[item] = max(found.get(item, 0.0), weight)
        ranked = sorted(found, key=lambda item: (-found[item], item.path, item.first))
        for item in ranked:
            self._take(item, LIMIT if found[item] >= NEARLY * found[ranked[0]] else ENOUGH)

    def _add_unreadable(self, paths: Iterable[str]) -> None:
        """Add the surroundings of syntax errors."""
        for path in dict.fromkeys(paths):
            module = self._code(path)
            line = unreadable_line(module.text) if module and not module.tree.body else 0
            if line:
                self._add_lines(path, range(line - BROKEN, line + BROKEN + 1))

    def _add_tested(self, reached: Iterable[str], names: Collection[str]) -> None:
        """Add the functions that the tests name in modules that they import, if nothing else is known."""
        for module in filter(None, map(self._code, reached)):
            for item in module.functions:
                if set(names) & set(item.name.split(".")):
                    self._take(item, ENOUGH)

    def _add_place(self, thing: MissingSymbol, names: Collection[str]) -> None:
        """Add the place where a missing symbol belongs, with neighbouring code as an example of the style.

        `names`: names that the tests use; functions with these names show the intended use of the missing symbol.
        """
        module = self._project.module(thing.place) if thing.place else None
        if (module is None or only_exports(module)) and (sibling := self._sibling(thing.place)):
            self._add_lines(sibling.path, signature_lines(sibling, STYLE // 2, _alike(sibling, thing)))
        if module is None or not self._tree.is_code(thing.place):
            return
        for item in _belonging(module, thing.near):
            self._take(item, None)
        self._add_lines(module.path, _style(module, thing, names))

    def _sibling(self, place: str) -> Module | None:
        """Return the shortest module in the folder of the missing file `place`, as an example of the style."""
        folder = PurePosixPath(place).parent.as_posix()
        modules = [module for path in self._project.listing(folder) if (module := self._code(path))]
        return min((one for one in modules if one.functions), key=lambda one: len(one.text), default=None)

    def _take(self, item: Definition, most: float | None) -> None:
        """Select `item` completely if the total stays below `most` characters; the first one in any case."""
        module = self._project.module(item.path)
        if module is None or item in self._whole:
            return
        lines = self._lines(module, item)
        cost = module.size(set(lines) - self._chosen.get(item.path, set()))
        if self._whole and most is not None and self._spent + cost > most * self._room:
            return
        self._spent += cost
        self._whole.append(item)
        self._chosen.setdefault(item.path, set()).update(lines)

    def _lines(self, module: Module, item: Definition) -> Collection[int]:
        """Return the lines of `item` to show: long functions are folded, classes reduced to their headers."""
        if isinstance(item.node, ast.ClassDef):
            return item.head
        if not item.is_function:
            return table_lines(module, item)
        trace = self.trace or Trace()
        telling = {line for line, weight in trace.weights.get(item.path, {}).items() if weight >= NEARLY}
        return folded(module, item, trace.ran.get(item.path, frozenset()), telling)

    def _add_support(self) -> None:
        """Add the code that the completely shown functions use: imports, constants, fields, signatures."""
        left = int(SUPPORT * self._room)
        for item in self._whole:
            self._add_frame(item)
        used = [use for item in self._whole for use in self._used(item)]
        for _, module, lines in sorted(used, key=lambda use: use[0]):
            fresh = frozenset(lines) - self._chosen.get(module.path, set())
            cost = module.size(fresh)
            if fresh and cost <= left:
                left -= cost
                self._chosen.setdefault(module.path, set()).update(fresh)

    def _add_frame(self, item: Definition) -> None:
        """Add the headers of the classes around a method, and the imports of names that it uses."""
        module = self._project.module(item.path)
        if module is None:
            return
        chosen = self._chosen[item.path]
        for outer in classes_around(module, item):
            chosen.update(range(outer.first, min(outer.body, item.first)))
        names = {name.partition(".")[0] for name in dotted_names(item.node)}
        used = {id(found.node) for found in module.imports.values() if found.local in names}
        few = sum(module.size(span(node)) for node in module.import_statements) <= IMPORTS
        for node in module.import_statements:
            if few or id(node) in used:
                chosen.update(span(node))

    def _used(self, item: Definition) -> Iterator[tuple[int, Module, Collection[int]]]:
        """Yield (rank, module, lines) of the code that `item` uses; lower ranks are shown first."""
        for name in sorted(dotted_names(item.node)):
            found = self._meaning(name, item)
            module = self._code(found.path) if found else None
            if found and module and found not in self._whole:
                yield self._use(found, module)

    def _use(self, found: Definition, module: Module) -> tuple[int, Module, Collection[int]]:
        if isinstance(found.node, ast.ClassDef):
            return 2, module, class_outline(module, found)
        if not found.is_function:
            return 0, module, table_lines(module, found)
        ran = (self.trace or Trace()).ran.get(found.path, frozenset())
        executed = not ran or not ran.isdisjoint(range(found.body, found.last + 1))
        return 1 if executed else 3, module, found.lines if found.last - found.body < SHORT else found.head

    def _meaning(self, name: str, item: Definition) -> Definition | None:
        """Return the definition to which `name` refers in the function or method `item`."""
        head, _, rest = name.partition(".")
        if head in ("self", "cls") and rest and item.owner:
            return self._member(rest, item)
        found = self._project.locate(name, item.path)
        return found if isinstance(found, Definition) and (found.owner is None or rest) else None

    def _member(self, name: str, item: Definition) -> Definition | None:
        """Return the definition of attribute `name` in the class of method `item` or a base class; None if unknown."""
        pending = [(item.path, item.name.rpartition(".")[0])]
        for path, owner in pending:
            module = self._project.module(path)
            if module is None:
                continue
            if f"{owner}.{name}" in module.by_name:
                return module.by_name[f"{owner}.{name}"]
            node = module.by_name[owner].node if owner in module.by_name else None
            bases = node.bases if isinstance(node, ast.ClassDef) else ()
            for base in (self._project.locate(ast.unparse(base), path) for base in bases):
                if isinstance(base, Definition) and (base.path, base.name) not in pending:
                    pending.append((base.path, base.name))
        return None


def _alike(module: Module, thing: MissingSymbol) -> list[Definition]:
    """Return the function of the module whose name is most similar to the missing symbol, in a list; [] without any."""
    by_name = {item.name.rpartition(".")[2]: item for item in module.functions if item.last - item.first < 40}
    near = difflib.get_close_matches(thing.tokens[0].strip("-"), list(by_name), 1, 0.0)
    return [by_name[name] for name in near]


def _style(module: Module, thing: MissingSymbol, names: Collection[str]) -> Collection[int]:
    """Return lines that show the style of the module.

    All lines of a short module; otherwise definitions that the tests use too, the one with the most similar name to the
    missing symbol, and signatures.
    """
    if len(module.text) <= STYLE:
        return range(1, len(module.lines) + 1)
    like = [item for item in module.functions if item.name.rpartition(".")[2] in names][:2]
    return signature_lines(module, STYLE, [*like, *_alike(module, thing)])


def _belonging(module: Module, name: str) -> list[Definition]:
    """Return the definition `name`; for a class also its methods, only `__init__` if the class is long."""
    near = module.by_name.get(name)
    if near is None or not isinstance(near.node, ast.ClassDef):
        return [near] if near else []
    inside = [item for item in module.definitions if item.owner is near.node]
    return inside if module.size(near.lines) <= STYLE else [item for item in inside if item.name.endswith("__init__")]
