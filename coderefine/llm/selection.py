"""Select the lines of the project's code for a request: suspicious functions completely, then the code they use."""

from __future__ import annotations

import ast
import difflib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from coderefine.errors import JournalError
from coderefine.llm.folding import (
    RAN,
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
from coderefine.llm.modules import Definition, ModuleIndex, ProjectModule, dotted_names, names_and_attributes, span
from coderefine.llm.normalize import cut

if TYPE_CHECKING:
    from coderefine.llm.context import SourceTree

WHOLE = 1_200
"""Characters up to which a file is shown completely if any part of it is shown and no trace is known."""
SMALL = 3_000
"""Total number of characters up to which all modules that the tests import are shown completely."""
ASKED = 6_000
"""Maximum number of characters of a file that a task names or a model requests."""
STYLE = 1_500
"""Maximum number of characters of the code shown as a style example where a symbol is missing."""
BROKEN = 12
"""Number of lines shown before and after a syntax error."""
LONGEST_HEADER = 3
"""Maximum number of comment lines at the top of a file that are shown; a longer comment is taken for a licence."""
LIMIT = 6_000
"""Maximum number of characters of the shown functions; the first one may be longer."""
ENOUGH = 1_800
"""The same limit for functions that are shown for another reason than a failing test, if there are others."""
SHARPNESS = 5
"""Exponent with which the suspicion of a function becomes its chance to be at fault, relative to other functions.

Measured on mistakes in real projects: in three of four cases the function at fault is the most suspicious one; it is
seldom one of the many functions that are half as suspicious."""
INNERMOST, RAISED = 3, 0.05
"""Additional chance of the INNERMOST functions of a traceback: the wrong value may come from a caller, whose lines many
passing tests execute."""
WORTH = 1e-4
"""Minimum chance per character for which a function is shown. On 62 mistakes of all kinds in real projects, no rule
with another SHARPNESS, or with a chance that is enough for a function of any length, selected the function at fault
more often with as few characters. On 28 others, traced by the search, 1.2e-4 selected one less, and 8e-5 no more."""
OUTWARDS = 0.9
"""Factor from the suspicion of a function on a traceback to that of its caller, if no trace is known for the caller."""
TELLING = 0.9
"""Minimum suspicion of a line that is always shown, also in a long function."""
GAPS = 30
"""Characters of the lines that replace omitted lines around a function."""
SUPPORT = 450
"""Maximum number of characters of constants, tables, fields and signatures that the shown functions use."""
SHORT = 3
"""Number of body lines up to which a called function is shown completely; of longer ones, only the signature."""
IMPORTS = 150
"""Characters up to which all imports of a file are shown; otherwise only those that the shown functions use."""


@dataclass(frozen=True, slots=True)
class Trace:
    """What the tests executed. `ran`: lines executed by failing tests, by path; `weights`: suspicion of lines, 0..1.

    `near`: passing tests that execute suspicious code, the nearest first.
    """

    ran: Mapping[str, frozenset[int]] = field(default_factory=dict)
    weights: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    near: tuple[str, ...] = ()

    @staticmethod
    def dump(trace: Trace | None) -> str:
        """Return `trace` as JSON text."""
        if trace is None:
            return "null"
        ran = {path: sorted(lines) for path, lines in trace.ran.items()}
        weights = {path: list(lines.items()) for path, lines in trace.weights.items()}
        return json.dumps({"ran": ran, "weights": weights, "near": trace.near})

    @staticmethod
    def load(text: str) -> Trace | None:
        """Return the trace that `dump` has written. Raises JournalError if the text is damaged."""
        try:
            found = json.loads(text)
            return found and Trace(
                {path: frozenset(lines) for path, lines in found["ran"].items()},
                {path: {int(line): float(weight) for line, weight in rows} for path, rows in found["weights"].items()},
                tuple(found["near"]),
            )
        except (ValueError, TypeError, AttributeError, KeyError) as error:
            raise JournalError(f"a recorded trace is damaged ({error}); start a new run") from error


class Selection:
    """Selects the lines to show. `trace`: trace of the failing tests; None if unknown, or if it was not needed."""

    def __init__(self, project: ModuleIndex, tree: SourceTree, ask: Callable[[], Trace | None], most: int) -> None:
        """Create a selection of at most `most` characters. `ask` traces the failing tests (None: no result)."""
        self._project = project
        self._tree = tree
        self._is_code = cache(tree.is_code)
        self._asserting = cache(tree.asserting)
        self._ask = ask
        self._most = most
        self._left = most
        self._spent = 0
        self._chosen: dict[str, set[int]] = {}
        self._complete: list[str] = []
        self._whole: list[Definition] = []
        self._telling: dict[str, set[int]] = {}
        self.trace: Trace | None = None

    def choose(
        self,
        pointed: Sequence[tuple[str, int]],
        remarked: Sequence[tuple[str, int]],
        tests: Mapping[str, str],
        symbols: Sequence[MissingSymbol],
    ) -> int:
        """Choose the functions to show; return the number of characters that are left.

        `pointed`: lines of tracebacks, the most relevant first. `remarked`: lines of findings that are not
        about tests. `tests`: excerpts of test files. `symbols`: missing symbols.
        """
        near = [path for path, _ in (*pointed, *remarked)]
        if not symbols and (small := self._small(chain(near, self._reached(tests)))):
            self._complete = small
            return self._left - sum(len(self._without_licence(path)) for path in small)
        self.trace = self._ask()
        names = frozenset[str]().union(*map(names_and_attributes, tests.values()))
        self._add_requested()
        self._add_places(symbols, names)
        self._add_suspicious(self.trace or Trace(), pointed)
        self._add_unreadable(near if self.trace else chain(near, self._reached(tests)))
        most = ENOUGH if self._spent else LIMIT
        self._add_all(self._items(remarked), most)
        if not symbols and not self.trace:
            self._add_all(self._tested(self._reached(tests), names), most)
        return self._left

    def texts(self, most: int) -> dict[str, str]:
        """Return excerpts by path: the chosen lines and, in at most `most` more characters, the code that they use."""
        self._left = most
        used = [use for item in self._whole for use in self._used(item)]
        least = self._left - SUPPORT
        for _, module, lines in sorted(used, key=lambda use: use[0]):
            if module.size(set(lines) - self._chosen.get(module.path, set())) <= self._left - least:
                self._add_lines(module, lines)
        complete = {path: self._without_licence(path) for path in self._complete}
        return dict(sorted((self._excerpts() | complete | self._named()).items()))

    def _code(self, path: str) -> ProjectModule | None:
        """Return the module at `path` if it is the project's own code, which may be shown and edited, else None."""
        return self._project.module(path) if self._is_code(path) else None

    def _named(self) -> dict[str, str]:
        """Return the files that the task names, and those that the model requested as a whole; cut if too long."""
        paths = (*self._tree.always, *(path for path, name in self._tree.needed if not name))
        texts = {path: self._project.read(path) for path in paths}
        most = min(ASKED, self._most)
        return {path: cut(text, most) for path, text in sorted(texts.items()) if text is not None}

    def _reached(self, tests: Iterable[str]) -> Iterator[str]:
        """Yield the files that the test files import, directly or indirectly, each once; parsing them takes time."""
        seen: set[str] = set()
        for path in (path for test in tests for path in self._project.reachable(test)):
            if path not in seen:
                seen.add(path)
                yield path

    def _small(self, paths: Iterable[str]) -> list[str]:
        """Return `paths` and files requested by the model if all can be shown completely, else no files."""
        left = min(SMALL, self._most)
        found: list[str] = []
        for path in chain((path for path, _ in self._tree.needed), paths):
            module = self._code(path)
            if module and path not in found and not only_exports(module):
                found.append(path)
                left -= len(module.text)
            if left < 0:
                return []
        return sorted(found)

    def _excerpts(self) -> dict[str, str]:
        """Return the selected parts of each file; short files completely if no trace is known."""
        texts = {}
        for path, numbers in self._chosen.items():
            module = self._project.module(path)
            short = module and len(module.text) <= min(WHOLE, self._most) and not self.trace
            if module:
                texts[path] = self._without_licence(path) if short else shown(module, numbers, self._ran(path))
        return texts

    def _without_licence(self, path: str) -> str:
        """Return the complete file without a licence at its top."""
        module = self._project.module(path)
        lines = module.lines if module else []
        header = next((n for n, line in enumerate(lines) if not line.startswith("#")), 0)
        return "\n".join(lines[header if header > LONGEST_HEADER else 0 :]).lstrip("\n")

    def _add_lines(self, module: ProjectModule, numbers: Iterable[int]) -> None:
        """Add the lines `numbers` if there is room for all of them."""
        lines = {number for number in numbers if 0 < number <= len(module.lines)}
        cost = module.size(lines - self._chosen.get(module.path, set()))
        if cost <= self._left:
            self._left -= cost
            self._chosen.setdefault(module.path, set()).update(lines)

    def _add_requested(self) -> None:
        """Add the definitions that the model requested; they do not count towards the usual maximum length."""
        for path, name in self._tree.needed:
            found = self._project.locate(name, path) if name else None
            if isinstance(found, Definition) and self._is_code(found.path):
                self._take(found, ASKED)
        self._left, self._spent = self._most, 0

    def _items(self, places: Iterable[tuple[str, int]]) -> dict[Definition, None]:
        """Return the definitions that contain `places`, in the order of `places` (a dict as an ordered set).

        Functions that assert on behalf of tests are left out, because they are not to be changed.
        """
        found = (module.at(line) for path, line in places if (module := self._code(path)))
        return dict.fromkeys(item for item in found if item and item.name not in self._asserting(item.path))

    def _add_suspicious(self, trace: Trace, pointed: Sequence[tuple[str, int]]) -> None:
        """Add definitions that may be at fault: the most suspicious one, then those that are WORTH their characters.

        Without a trace, only the definitions on the tracebacks are suspicious.
        """
        suspicion = self._suspicion(trace, pointed)
        inner = list(self._items(pointed))[:INNERMOST]
        chances = {
            item: (value**SHARPNESS + RAISED * (item in inner)) * (1 + self._executed(item))
            for item, value in suspicion.items()
        }
        total, first = sum(chances.values()), next(iter(suspicion), None)
        worth = {item: chance / total / self._cost(item) for item, chance in chances.items()}
        for item in sorted(worth, key=lambda item: (item is not first, -worth[item])):
            if item is first or worth[item] >= WORTH:
                self._take(item, LIMIT)

    def _suspicion(self, trace: Trace, pointed: Sequence[tuple[str, int]]) -> dict[Definition, float]:
        """Return the definitions that may be at fault, with their suspicion.

        Also add the most suspicious lines, and those in `pointed`, to `self._telling`.
        """
        weights = {(path, line): weight for path, lines in trace.weights.items() for line, weight in lines.items()}
        ranked = sorted(weights, key=lambda place: (-weights[place], place))
        for path, line in (*(place for place in ranked if weights[place] >= TELLING), *pointed):
            self._telling.setdefault(path, set()).add(line)
        suspicion: dict[Definition, float] = {}
        for place in ranked:
            for item in self._items([place]):
                suspicion.setdefault(item, weights[place])
        for depth, item in enumerate(self._items(pointed)):
            suspicion.setdefault(item, OUTWARDS ** (depth + bool(ranked)))
        return suspicion

    def _executed(self, item: Definition) -> int:
        """Return how many lines of the body of `item` failing tests executed: each of them may be wrong."""
        return len(self._ran(item.path).intersection(range(item.body, item.last + 1)))

    def _cost(self, item: Definition) -> int:
        """Return the number of characters of `item`, at least 1."""
        module = self._project.module(item.path)
        return max(1, module.size(self._lines(module, item, (), self._most, summary=True)) if module else 0)

    def _add_unreadable(self, paths: Iterable[str]) -> None:
        """Add the surroundings of syntax errors."""
        for path in dict.fromkeys(paths):
            module = self._code(path)
            line = unreadable_line(module.text) if module and not module.tree.body else 0
            if module and line:
                self._add_lines(module, range(line - BROKEN, line + BROKEN + 1))

    def _tested(self, reached: Iterable[str], names: Collection[str]) -> Iterator[Definition]:
        """Yield the functions and assignments in the files `reached` that `names` mention, functions of a file first.

        An item is mentioned if a part of its qualified name is in `names`.
        """
        for module in filter(None, map(self._code, reached)):
            named = [item for item in module.definitions if not set(names).isdisjoint(item.name.split("."))]
            items = [item for item in named if not isinstance(item.node, ast.ClassDef)]
            yield from sorted(
                items, key=lambda item: (not item.is_function, not set(names).issuperset(item.name.split(".")))
            )

    def _add_all(self, items: Iterable[Definition], most: int) -> None:
        for item in items:
            self._take(item, most)

    def _add_places(self, symbols: Iterable[MissingSymbol], names: Collection[str]) -> None:
        for symbol in symbols:
            self._add_place(symbol, names)
        self._spent = 0

    def _add_place(self, symbol: MissingSymbol, names: Collection[str]) -> None:
        """Add the place where a missing symbol belongs, with neighbouring code as an example of the style.

        `names`: names that the tests use; functions with these names show the intended use of the missing symbol.
        """
        module = self._project.module(symbol.place) if symbol.place else None
        if (module is None or only_exports(module)) and (sibling := self._sibling(symbol.place)):
            self._add_lines(sibling, signature_lines(sibling, STYLE // 2, _alike(sibling, symbol)))
        if module is None or not self._is_code(symbol.place):
            return
        for item in _belonging(module, symbol.near):
            self._take(item, ENOUGH)
        self._add_lines(module, _style(module, symbol, names))

    def _sibling(self, place: str) -> ProjectModule | None:
        """Return the shortest module with functions in the folder of the missing file `place`, as a style example."""
        folder = PurePosixPath(place).parent.as_posix()
        modules = [module for path in self._project.listing(folder) if (module := self._code(path))]
        return min((one for one in modules if one.functions), key=lambda one: len(one.text), default=None)

    def _take(self, item: Definition, most: int) -> None:
        """Select `item` if the selected definitions, with `item`, have at most `most` characters together.

        The first definition is always selected. If it is too long, it is shortened, as are definitions with suspicious
        lines.
        """
        module = self._project.module(item.path)
        if module is None or item in self._whole:
            return
        room = min(self._left, most - self._spent) if self._spent else self._left
        telling = self._telling.get(item.path, set()).intersection(item.lines)
        most = room if telling or not self._spent else self._most
        lines = {*self._lines(module, item, telling, most, summary=self._spent > 0), *_frame(module, item)}
        new = lines - self._chosen.get(item.path, set())
        cost = module.size(new) + len(RAN) * len(new & self._ran(item.path)) + GAPS
        if cost > room and self._spent:
            return
        self._spent += cost
        self._left -= cost
        self._whole.append(item)
        self._chosen.setdefault(item.path, set()).update(lines)

    def _lines(
        self, module: ProjectModule, item: Definition, telling: Collection[int], most: int, *, summary: bool
    ) -> Collection[int]:
        """Return the lines of `item` to show: long functions are folded, classes reduced to their headers."""
        if isinstance(item.node, ast.ClassDef):
            return item.head
        if not item.is_function:
            return table_lines(module, item)
        return folded(module, item, self._ran(item.path), telling, most, summary=summary)

    def _ran(self, path: str) -> frozenset[int]:
        """Return the lines of the file that the failing tests executed."""
        return self.trace.ran.get(path, frozenset()) if self.trace else frozenset()

    def _used(self, item: Definition) -> Iterator[tuple[int, ProjectModule, Collection[int]]]:
        """Yield (rank, module, lines) of the code that `item` uses; lower ranks are shown first.

        What only its annotations use is left out, except classes: their fields tell what a parameter has.
        """
        executed = dotted_names(item.node, annotations=not item.is_function)
        for name in sorted(dotted_names(item.node)):
            found = self._meaning(name, item)
            module = self._code(found.path) if found else None
            needed = found and (name in executed or isinstance(found.node, ast.ClassDef))
            if found and needed and module and found not in self._whole:
                yield self._use(found, module)

    def _use(self, found: Definition, module: ProjectModule) -> tuple[int, ProjectModule, Collection[int]]:
        if isinstance(found.node, ast.ClassDef):
            return 2, module, class_outline(module, found)
        if not found.is_function:
            return 0, module, table_lines(module, found)
        ran = self._ran(found.path)
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


def _frame(module: ProjectModule, item: Definition) -> Iterator[int]:
    """Yield the lines of the headers of the classes that contain `item`, and of the imports that `item` uses.

    Imports that only the annotations of a function use are left out.
    """
    for outer in classes_around(module, item):
        yield from range(outer.first, min(outer.body, item.first))
    if sum(module.size(span(node)) for node in module.import_statements) <= IMPORTS:
        yield from (line for node in module.import_statements for line in span(node))
        return
    names = {name.partition(".")[0] for name in dotted_names(item.node, annotations=not item.is_function)}
    for found in module.imports.values():
        if found.local in names and found.node in module.import_statements:
            yield from found.lines


def _alike(module: ProjectModule, symbol: MissingSymbol) -> list[Definition]:
    """Return a list with the short function whose name is most similar to the missing symbol; [] if there is none."""
    by_name = {item.name.rpartition(".")[2]: item for item in module.functions if item.last - item.first < 40}
    near = difflib.get_close_matches(symbol.tokens[0].strip("-"), list(by_name), 1, 0.0)
    return [by_name[name] for name in near]


def _style(module: ProjectModule, symbol: MissingSymbol, names: Collection[str]) -> Collection[int]:
    """Return lines that show the style of the module.

    For a short module, these are all its lines; else two functions whose names the tests use, the function whose name
    is most similar to that of the missing symbol, and signatures.
    """
    if len(module.text) <= STYLE:
        return range(1, len(module.lines) + 1)
    like = [item for item in module.functions if item.name.rpartition(".")[2] in names][:2]
    return signature_lines(module, STYLE, [*like, *_alike(module, symbol)])


def _belonging(module: ProjectModule, name: str) -> list[Definition]:
    """Return a list with the definition `name`; for a class, its members (only `__init__` if the class is long)."""
    near = module.by_name.get(name)
    if near is None or not isinstance(near.node, ast.ClassDef):
        return [near] if near else []
    inside = [item for item in module.definitions if item.owner is near.node]
    return inside if module.size(near.lines) <= STYLE else [item for item in inside if item.name.endswith("__init__")]
