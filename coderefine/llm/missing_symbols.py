"""Find missing symbols that failing tests use: names, modules, parameters, fixtures, options, files."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import PurePosixPath

from coderefine.llm.failing_tests import SET_UP, is_test
from coderefine.llm.modules import Definition, ModuleIndex, ProjectModule, join_dotted
from coderefine.source import Function, syntax

NAME = re.compile(r"cannot import name '(\w+)' from (?:partially initialized module )?'([\w.]+)'(?:.*\((\S+)\))?")
MODULE = re.compile(r"No module named '([\w.]+)'")
ATTRIBUTE = re.compile(
    r"(module|type object) '([\w.]+)' has no attribute '(\w+)'|'(\w+)' object has no attribute '(\w+)'"
)
PARAMETER = re.compile(r"(?<![\w.])([\w.]+)\(\) got an unexpected keyword argument '(\w+)'")
ARITY = re.compile(r"(?<![\w.])([\w.]+)\(\) (?:takes .{1,40} but \d+ (?:was|were) given|missing \d+ required)")
UNDEFINED = re.compile(r"name '(\w+)' is not defined")
FIXTURE = re.compile(r"fixture '(\w+)' not found")
OPTION = re.compile(r"(?:[Nn]o such option:? ?|unrecognized arguments: |No such command |invalid choice: )'?([\w-]+)")
FILE = re.compile(r"No such file or directory: '([^'\n]+)'|FileNotFoundError: ([\w./-]+\.\w+)\b")
PARSER = re.compile(r"\b(?:add_argument|add_parser|add_option|option|argument|command)\(")


@dataclass(frozen=True, slots=True)
class MissingSymbol:
    """A missing symbol.

    `tokens`: a test that contains one of these texts uses the symbol. `place`: the file where the symbol belongs ("":
    unknown), which need not exist. `near`: the class or function to which the symbol belongs. `note`: a
    description as one sentence.
    """

    tokens: tuple[str, ...]
    place: str = ""
    near: str = ""
    note: str = ""

    def used_in(self, text: str) -> bool:
        return any(re.search(rf"(?<![\w-]){re.escape(token)}(?![\w-])", text) for token in self.tokens)


@dataclass(frozen=True, slots=True)
class Failed:
    """A failing test: its file, the text of the failure, and the files of the traceback.

    `collection`: whether this is not a single test, but a test module that could not be collected. `inside`: whether
    the failing line of the test itself did not raise what the message says: the program did, or the message quotes it.
    """

    path: str
    message: str
    collection: bool
    frames: tuple[str, ...] = ()
    inside: bool = False


def find_missing(failed: Iterable[Failed], project: ModuleIndex) -> tuple[MissingSymbol, ...]:
    """Return the missing symbols without duplicates, in the order of the failures."""
    found: dict[tuple[str, ...], MissingSymbol] = {}
    for one in failed:
        for symbol in _Finder(one, project).found():
            found.setdefault(symbol.tokens, symbol)
    return tuple(found.values())


def users(text: str, symbols: Sequence[MissingSymbol], *, collected: bool = True) -> tuple[str, ...]:
    """Return the qualified names (`Class.name` for methods) of the code in the test file `text` that uses `symbols`.

    Code uses a symbol if its source contains a token, or if it names other code that uses the symbol: a fixture, a
    helper, a constant. What the set-up of a class uses, all tests of the class and its subclasses use. Tests are last.
    If no code uses a symbol, and the file could not be `collected`, return all its tests.
    """
    module = ProjectModule("", text)
    parts = _parts(module)
    found = [item for item in parts if any(symbol.used_in(module.source(item)) for symbol in symbols)]
    chosen = _with_callers(found, parts) if found or collected else filter(lambda item: is_test(item.node), parts)
    return tuple(item.name for item in sorted(chosen, key=lambda item: (is_test(item.node), item.first)))


def _with_callers(found: Sequence[Definition], parts: Iterable[Definition]) -> list[Definition]:
    """Return `found`, and those `parts` that use one of them, directly or indirectly."""
    chosen, known = [*found], {*found}
    left = {item: _names(item) for item in parts if item not in known}
    for item in chosen:
        called = _called(item)
        more = [other for other, names in left.items() if called in names]
        left = {other: names for other, names in left.items() if other not in more} if more else left
        chosen += more
    return chosen


def _called(item: Definition) -> str | None:
    """Return what stands for `item` in the `_names` of code that uses it; None for a test, which no code uses."""
    if is_test(item.node):
        return None
    if _is_set_up(item.node):
        return item.owner.name if item.owner else ""
    return item.name.rpartition(".")[2]


def _parts(module: ProjectModule) -> list[Definition]:
    """Return the definitions of a test file; classes with tests are replaced by what they define."""
    classes = {node for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef)}
    with_tests = {None, *(node for node in classes if any(map(is_test, ast.walk(node))))}
    return [item for item in module.definitions if item.owner in with_tests and item.node not in with_tests]


def _names(item: Definition) -> frozenset[str]:
    """Return the names, parameters and strings in `item`: each may name a fixture or a helper.

    For a test, add its class and the base classes of this, and "", which stands for the module.
    """
    owner = item.owner if is_test(item.node) else None
    found = {owner.name if owner else "", ""} if is_test(item.node) else set[str]()
    for node in chain(ast.walk(item.node), *map(ast.walk, owner.bases if owner else ())):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.Constant(value=str(name)):
                found.add(name)
    return frozenset(found)


def _is_set_up(node: ast.stmt) -> bool:
    """Return whether a function runs before each test of its class or module, also if no test names it."""
    if not isinstance(node, Function):
        return False
    return node.name in SET_UP or any("autouse=True" in ast.unparse(one) for one in node.decorator_list)


@dataclass(frozen=True, slots=True)
class _Finder:
    """Finds the missing symbols that one failing test, or test module, uses."""

    one: Failed
    project: ModuleIndex

    def found(self) -> Iterator[MissingSymbol]:
        if self.one.collection:
            yield from self._failing_imports()
        yield from self._unimportable()
        yield from self._parameters()
        if not self.one.inside:  # else the program is wrong in accessing the attribute, or in calling the function
            yield from self._attributes()
            yield from self._signatures()
        for (name,) in self._matches(UNDEFINED) if self._innermost else ():
            yield MissingSymbol((name,), self._innermost, note=f"{name} is not defined")
        for (name,) in self._matches(FIXTURE):
            place = self._fixture_module()
            yield MissingSymbol((name,), place, note=f"no fixture is called {name}; others are in {place}")
        for (name,) in self._matches(OPTION):
            yield self._option(name)
        yield from self._files()

    def _matches(self, pattern: re.Pattern[str]) -> Iterator[tuple[str, ...]]:
        """Yield the groups of each match of `pattern` in the failure's message; skip text that is in the test file."""
        source = self.project.read(self.one.path) or ""
        found = pattern.finditer(self.one.message)
        yield from dict.fromkeys(match.groups("") for match in found if match[0] not in source)

    @property
    def _innermost(self) -> str:
        """Return the innermost file of the traceback that is not the test file; "" if there is none."""
        return next((path for path in reversed(self.one.frames) if path != self.one.path), "")

    def _failing_imports(self) -> Iterator[MissingSymbol]:
        """Yield all modules and names whose import in the test module fails; pytest reports only the first of them."""
        module = self.project.module(self.one.path)
        for item in module.tree.body if module else ():
            if isinstance(item, ast.ImportFrom):
                yield from self._failing_names(item)
            elif isinstance(item, ast.Import):
                for alias in item.names:
                    if self._find(alias.name) is None and self._is_ours(alias.name):
                        yield self._module(alias.name, (_local_name(alias),))

    def _failing_names(self, item: ast.ImportFrom) -> Iterator[MissingSymbol]:
        dotted = "." * item.level + (item.module or "")
        file = self._find(dotted)
        if file:
            names = (alias.name for alias in item.names if self._find(join_dotted(dotted, alias.name)) is None)
            yield from (_name(name, file) for name in names if not self._has(file, name))
        elif self._is_ours(dotted):
            yield self._module(dotted, tuple(map(_local_name, item.names)))

    def _has(self, path: str, name: str) -> bool:
        """Return whether the module defines `name`, or may define it."""
        module = self.project.module(path)
        if module is None or name == "*" or self.project.locate(name, path) is not None:
            return True
        return self._may_have(module, name)

    def _may_have(self, module: ProjectModule, name: str) -> bool:
        """Return whether the module may define `name` in a way that is not examined.

        It may be imported from an external module or by `*`, come from `__getattr__`, or be assigned anywhere in the
        module, for example by a loop or `with`.
        """
        imported = module.imports.get(name)
        if imported and self.project.find(imported.module, module.path) is None:
            return True
        stores = (node for node in ast.walk(module.tree) if isinstance(node, ast.Name))
        dynamic = "*" in module.imports or "__getattr__" in module.by_name
        return dynamic or any(node.id == name and isinstance(node.ctx, ast.Store) for node in stores)

    def _is_ours(self, dotted: str) -> bool:
        """Return whether a module belongs to the project.

        It does if its name is relative, if its top package is in the project, or if the message names that package.
        """
        top = dotted.partition(".")[0]
        return dotted.startswith(".") or self._find(top) is not None or f"'{top}'" in self.one.message

    def _find(self, dotted: str) -> str | None:
        return self.project.find(dotted, self.one.path)

    def _module(self, dotted: str, names: tuple[str, ...]) -> MissingSymbol:
        """Return a missing module, with the file where it belongs."""
        parent, _, last = dotted.rpartition(".")
        package = self._find(parent) if parent.strip(".") else None
        if package:
            place = (PurePosixPath(package).parent / f"{last}.py").as_posix()
        else:
            root = next((root for root in self.project.roots if any(self.project.listing(root))), ".")
            place = (PurePosixPath(root) / f"{dotted.strip('.').replace('.', '/')}.py").as_posix()
        note = f"there is no module {dotted}: the tests import {', '.join(names)} from it; it would be {place}"
        return MissingSymbol((*names, last or dotted), place, note=note)

    def _unimportable(self) -> Iterator[MissingSymbol]:
        """Yield the names and modules that cannot be imported according to the failure."""
        for name, dotted, named in self._matches(NAME):
            if file := named if self.project.module(named) else self._find(dotted):
                yield _name(name, file)
        for (dotted,) in self._matches(MODULE):
            if not self.one.collection and self._find(dotted.partition(".")[0]):
                yield self._module(dotted, (dotted.rpartition(".")[2],))

    def _attributes(self) -> Iterator[MissingSymbol]:
        for kind, of, name, owner, attribute in self._matches(ATTRIBUTE):
            if kind == "module":
                if file := self._find(of):
                    yield _name(name, file)
                continue
            cls, attr = owner or of.rpartition(".")[2], attribute or name
            if found := self._definition(cls):
                note = f"{cls} in {found.path} has no attribute {attr}"
                yield MissingSymbol((attr,), found.path, found.name, note)

    def _parameters(self) -> Iterator[MissingSymbol]:
        """Yield missing parameters; if the program passes the argument, only those whose names the test file has."""
        source = (self.project.read(self.one.path) or "") if self.one.inside else None
        for called, name in self._matches(PARAMETER):
            if (source is None or name in source) and (found := self._callee(called)):
                note = f"{called}() in {found.path} takes no {name}"
                yield MissingSymbol((name,), found.path, found.name, note)

    def _signatures(self) -> Iterator[MissingSymbol]:
        """Yield functions that are called with a wrong number of arguments."""
        for (called,) in self._matches(ARITY):
            if found := self._callee(called):
                note = f"{called}() in {found.path} takes other arguments than the tests pass"
                token = called.removesuffix(".__init__").rpartition(".")[2]
                yield MissingSymbol((token,), found.path, found.name, note)

    def _callee(self, called: str) -> Definition | None:
        """Return the function that an error message of CPython names `called`.

        If it is a method that its class does not define, return the class. Return None if neither is found.
        """
        name = re.sub(r".*<locals>\.", "", called)
        return self._definition(name) or self._definition(name.rpartition(".")[0])

    def _definition(self, name: str) -> Definition | None:
        """Return the definition with qualified name `name` in the files that the test reaches, or None."""
        modules = (self.project.module(path) for path in self._reached()) if name else ()
        return next((module.by_name[name] for module in modules if module and name in module.by_name), None)

    def _reached(self) -> Iterator[str]:
        """Yield the files of the traceback, innermost first, then those that the test imports; not the test file."""
        yield from (path for path in reversed(self.one.frames) if path != self.one.path)
        yield from self.project.reachable(self.one.path)

    def _fixture_module(self) -> str:
        """Return the project's module from which a conftest.py imports fixtures, else the nearest conftest.py.

        If there is no conftest.py, return the path of a new one in the test's folder.
        """
        places = [(folder / "conftest.py").as_posix() for folder in PurePosixPath(self.one.path).parents]
        texts = {place: text for place in places if (text := self.project.read(place))}
        files = (self._find(name) for text in texts.values() for name in _plugins(text))
        return next((file for file in files if file), next(iter(texts), places[0]))

    def _option(self, name: str) -> MissingSymbol:
        """Return a missing option or command, with the file where other options or commands are declared, if any."""
        note = f"the command line knows no {name}"
        for path in self._reached():
            module = self.project.module(path)
            for item in module.functions if module else ():
                if module and PARSER.search(module.source(item)):
                    return MissingSymbol((name,), path, item.name, f"{note}; others are in {path}")
        return MissingSymbol((name,), note=note)

    def _files(self) -> Iterator[MissingSymbol]:
        """Yield missing files; a name without a point or a slash is probably a program that is not installed."""
        paths = (quoted or bare for quoted, bare in self._matches(FILE))
        yield from (self._file(path) for path in paths if set("./") & set(path))

    def _file(self, path: str) -> MissingSymbol:
        folder = PurePosixPath(path).parent.as_posix()
        others = ", ".join(PurePosixPath(other).name for other in self.project.listing(folder))
        note = f"there is no file {path}" + (f"; its folder contains {others}" if others else "")
        return MissingSymbol((PurePosixPath(path).name,), self._innermost, note=note)


def _local_name(alias: ast.alias) -> str:
    return alias.asname or alias.name


def _name(name: str, file: str) -> MissingSymbol:
    """Return a missing name of an existing module."""
    note = f"{name} is looked for in {file}, which does not define it"
    if file.endswith("/__init__.py"):
        note += f"; as a module it would be {PurePosixPath(file).parent / name}.py"
    return MissingSymbol((name,), file, note=note)


def _plugins(text: str) -> Iterator[str]:
    """Yield the modules from which a conftest.py imports fixtures."""
    tree = syntax(text)
    for node in tree.body if tree else ():
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytest_plugins":
            values = (getattr(item, "value", None) for item in ast.walk(node.value))
            yield from (value for value in values if isinstance(value, str))
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield "." * node.level + node.module
