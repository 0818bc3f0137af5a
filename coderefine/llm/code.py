"""The project's code in a request: by what the failing tests executed, else by what they import."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Protocol

from coderefine.llm.missing_symbols import MissingSymbol, reachable
from coderefine.llm.modules import Definition, Module, Project
from coderefine.llm.normalize import cut
from coderefine.llm.outline import Function, called, used
from coderefine.llm.selection import Selection, Trace, Wanted

WHOLE = 1_200
"""Characters up to which a file is shown whole once anything of it is shown."""

SMALL = 3_000
"""Characters of all that the tests import, up to which it is shown whole: no need to choose."""

ASKED = 6_000
"""Characters of a file that a task names or a model asks for."""

STYLE = 1_500
"""Characters of signatures shown of a file where something is missing."""

BROKEN = 12
"""Lines shown on both sides of one that Python cannot parse."""

LONGEST_HEADER = 3
"""Comment lines at the top of a file that are shown; more of them are a licence."""


class Tree(Protocol):
    """What is asked of a repository, see context.Repository."""

    @property
    def always(self) -> tuple[str, ...]: ...
    @property
    def needed(self) -> tuple[tuple[str, str], ...]: ...
    def is_code(self, path: str) -> bool: ...


class Code:
    """Chooses code to show. `trace`: what the failing tests execute, once it was needed and is known."""

    def __init__(self, project: Project, tree: Tree, ask: Callable[[], Trace | None], room: float) -> None:
        """`ask` traces the failing tests; None when that brings nothing."""
        self._project = project
        self._tree = tree
        self._ask = ask
        self._room = room
        self.trace: Trace | None = None

    def texts(
        self, pointed: Sequence[tuple[str, int]], tests: Mapping[str, str], things: Sequence[MissingSymbol]
    ) -> dict[str, str]:
        """Excerpts by path, sorted. `pointed`: lines of tracebacks and findings, the most telling first.

        `tests`: the excerpts of the test files that are shown. `things`: what is missing.
        """
        small = self._small(pointed, tests)
        if small is not None and not things:
            return self._named() | {path: self._all(path) for path in small}
        self.trace = self._ask()
        selection = Selection(self._project, self.trace or Trace(), self._tree.is_code, self._room)
        selection.add_suspects(self._wanted(pointed))
        self._add_broken(selection, pointed, tests)
        for thing in things:
            self._add_place(selection, thing, tests)
        if not things and not self.trace:
            self._add_imported(selection, tests)
        selection.add_support()
        return dict(sorted((self._shown(selection) | self._named()).items()))

    def _wanted(self, pointed: Sequence[tuple[str, int]]) -> Wanted:
        """Join the lines that were pointed at with the names that were asked for."""
        return Wanted(tuple(pointed), tuple((path, name) for path, name in self._tree.needed if name))

    def _shown(self, selection: Selection) -> dict[str, str]:
        """Lay out what was selected, short files whole."""
        return {path: self._all(path) if self._is_short(path) else text for path, text in selection.texts().items()}

    def _reached(self, tests: Iterable[str]) -> list[str]:
        """List the files that the tests import, directly or not."""
        return [path for test in tests for path in reachable(test, self._project)]

    def _size(self, paths: Iterable[str]) -> int:
        """Count the characters of the files."""
        return sum(len(self._project.read(path) or "") for path in paths)

    def _named(self) -> dict[str, str]:
        """Files that the task names, and those that the model asked for whole."""
        paths = (*self._tree.always, *(path for path, name in self._tree.needed if not name))
        texts = {path: self._project.read(path) for path in paths}
        most = int(ASKED * self._room)
        return {path: cut(text, most) for path, text in sorted(texts.items()) if text is not None}

    def _small(self, pointed: Sequence[tuple[str, int]], tests: Mapping[str, str]) -> list[str] | None:
        """All files that the tests import, directly or not, when they can be shown whole; None otherwise."""
        paths = [path for path, _ in (*pointed, *self._tree.needed)]
        paths += self._reached(tests)
        found = sorted({path for path in paths if self._tree.is_code(path) and self._project.module(path)})
        named = [path for path in found if not _only_exports(self._project.module(path))]
        size = self._size(named)
        return named if named and size <= SMALL * self._room else None

    def _is_short(self, path: str) -> bool:
        return len(self._project.read(path) or "") <= WHOLE * self._room and not self.trace

    def _all(self, path: str) -> str:
        """The whole file, without a licence at its top."""
        module = self._project.module(path)
        if module is None:
            return self._project.read(path) or ""
        header = next((n for n, line in enumerate(module.lines) if not line.startswith("#")), 0)
        skipped = header if header > LONGEST_HEADER else 0
        return "\n".join(module.lines[skipped:]).lstrip("\n")

    def _add_imported(self, selection: Selection, tests: Mapping[str, str]) -> None:
        """Nothing is known but the tests: the functions that they name, in the modules that they import."""
        names = frozenset[str]().union(*(used(text) for text in tests.values()))
        paths = dict.fromkeys(self._reached(tests))
        for path in [path for path in paths if self._tree.is_code(path)]:
            module = self._project.module(path)
            wanted = called(module.text, names) if module else frozenset()
            for item in module.functions if module else ():
                if item.name in wanted:
                    selection.add_likely(item)

    def _add_broken(self, selection: Selection, pointed: Sequence[tuple[str, int]], tests: Mapping[str, str]) -> None:
        """What Python cannot parse of the modules that the tests import."""
        paths = [path for path, _ in pointed]
        paths += self._reached(tests)
        for path in dict.fromkeys(path for path in paths if self._tree.is_code(path)):
            module = self._project.module(path)
            line = _error(module.text) if module and not module.tree.body else 0
            if line:
                selection.add_lines(path, range(line - BROKEN, line + BROKEN + 1))

    def _add_place(self, selection: Selection, thing: MissingSymbol, tests: Mapping[str, str]) -> None:
        """The place where something missing belongs, and how its neighbours are written."""
        module = self._project.module(thing.place) if thing.place else None
        if module is None or _only_exports(module):
            model = self._sibling(thing.place)
            if model:
                selection.add_lines(model.path, _heads(model, STYLE // 2, self._alike(model, thing)))
        if module is None:
            return
        if not self._tree.is_code(thing.place):
            return
        near = module.by_name.get(thing.near)
        if near:
            for item in _belonging(module, near):
                selection.add_function(item)
        selection.add_lines(module.path, self._style(module, thing, used("\n".join(tests.values()))))

    def _style(self, module: Module, thing: MissingSymbol, names: Iterable[str]) -> Iterator[int]:
        """The whole file when it is short, else the definitions that the tests use too, signatures, and what is
        called most like the missing thing."""
        if len(module.text) <= STYLE:
            yield from range(1, len(module.lines) + 1)
            return
        wanted = set(names)
        like = [item for item in module.functions if item.name.rpartition(".")[2] in wanted][:2]
        yield from _heads(module, STYLE, [*like, *self._alike(module, thing)])

    def _alike(self, module: Module, thing: MissingSymbol) -> list[Definition]:
        """The function of the module that is called most like the missing thing; any rather than none."""
        by_name = {item.name.rpartition(".")[2]: item for item in module.functions if item.last - item.first < 40}
        near = difflib.get_close_matches(thing.tokens[0].strip("-"), list(by_name), 1, 0.0)
        return [by_name[name] for name in near]

    def _sibling(self, place: str) -> Module | None:
        """A module in the same folder as the file `place` that does not exist, for its style."""
        folder = PurePosixPath(place).parent.as_posix()
        beside = [self._project.module(path) for path in self._project.listing(folder) if self._tree.is_code(path)]
        modules = [module for module in beside if module and module.functions]
        return min(modules, key=lambda module: len(module.text), default=None)


def _belonging(module: Module, near: Definition) -> list[Definition]:
    """A function alone; a class with its methods, as far as they are short."""
    if not isinstance(near.node, ast.ClassDef):
        return [near]
    inside = [item for item in module.definitions if item.owner is near.node]
    return inside if module.size(near.lines) <= STYLE else [item for item in inside if item.name.endswith("__init__")]


def _heads(module: Module, most: int, whole: Iterable[Definition] = ()) -> list[int]:
    """Imports, short constants and signatures of a module, and the functions `whole`, in about `most` characters."""
    numbers = {line for item in whole for line in item.lines}
    left = most - module.size(numbers)
    spans = [range(node.lineno, (node.end_lineno or node.lineno) + 1) for node in module.import_statements]
    spans += [
        item.head if isinstance(item.node, Function | ast.ClassDef) else item.lines for item in module.definitions
    ]
    for span in spans:
        size = module.size(set(span) - numbers)
        if size <= left:
            numbers.update(span)
            left -= size
    return sorted(numbers)


def _error(text: str) -> int:
    """The line that Python cannot parse, 0 when it can."""
    try:
        ast.parse(text)
    except SyntaxError as error:
        return error.lineno or 1
    except (ValueError, RecursionError):
        return 1
    return 0


def _only_exports(module: Module | None) -> bool:
    """Whether the module holds nothing but imports, a docstring and names like `__all__`."""
    if module is None or not module.path.endswith("__init__.py"):
        return False
    plain = (ast.Import, ast.ImportFrom, ast.Expr)
    names = (item.name for item in module.definitions)
    simple = all(isinstance(node, (*plain, ast.Assign)) for node in module.tree.body)
    return simple and all(name.startswith("__") for name in names)
