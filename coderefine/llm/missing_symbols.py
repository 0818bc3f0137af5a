"""What failing tests look for and do not find: names, modules, parameters, fixtures, options, files."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from coderefine.llm.modules import Definition, Project
from coderefine.llm.outline import Function, parsed

REACH = 40
"""Modules looked at, from a test through its imports, for the place where something belongs."""

NAME = re.compile(r"cannot import name '(\w+)' from (?:partially initialized module )?'([\w.]+)'")
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
    """`tokens`: what the tests' lines that use it contain. `place`: the file where it belongs ("": not known), which
    need not exist. `near`: the definition that it belongs to (a class, a function). `said`: a sentence on it."""

    tokens: tuple[str, ...]
    place: str = ""
    near: str = ""
    said: str = ""

    def used_in(self, text: str) -> bool:
        return any(re.search(rf"(?<![\w-]){re.escape(token)}(?![\w-])", text) for token in self.tokens)


@dataclass(frozen=True, slots=True)
class Failed:
    """A failing test, or test module: its file, all that was said of it, and the files of its traceback."""

    path: str
    said: str
    collection: bool
    frames: tuple[str, ...] = ()


def find_missing(failed: Iterable[Failed], project: Project) -> tuple[MissingSymbol, ...]:
    """What is missing, each thing once, in the order of the failures."""
    found: dict[tuple[str, ...], MissingSymbol] = {}
    for one in failed:
        things = [*_unimported(one, project)] if one.collection else []
        for thing in (*things, *_told(one, project)):
            found.setdefault(thing.tokens, thing)
    return tuple(found.values())


def _unimported(one: Failed, project: Project) -> Iterator[MissingSymbol]:
    """All that a test module imports in vain: pytest names the first only."""
    module = project.module(one.path)
    for item in module.tree.body if module else ():
        if isinstance(item, ast.ImportFrom):
            yield from _names(item, one, project)
        elif isinstance(item, ast.Import):
            for alias in item.names:
                if project.find(alias.name, one.path) is None and _ours(alias.name, one, project):
                    yield _module(alias.name, (alias.asname or alias.name,), one.path, project)


def _names(item: ast.ImportFrom, one: Failed, project: Project) -> Iterator[MissingSymbol]:
    path = one.path
    dotted = "." * item.level + (item.module or "")
    names = [alias.name for alias in item.names]
    file = project.find(dotted, path)
    if file is None:
        if _ours(dotted, one, project):
            yield _module(dotted, tuple(alias.asname or alias.name for alias in item.names), path, project)
        return
    for name in names:
        if _lacks(file, name, project) and project.find(_joined(dotted, name), path) is None:
            yield _name(name, file)


def _joined(module: str, name: str) -> str:
    """Write `name` of `module` as one dotted name."""
    return f"{module}{'' if module.endswith('.') else '.'}{name}"


def _lacks(file: str, name: str, project: Project) -> bool:
    """Tell whether the module has nothing of that name."""
    return name != "*" and project.locate(name, file) is None and not _binds(file, name, project)


def _binds(path: str, name: str, project: Project) -> bool:
    """Whether the module binds `name` in a way that cannot be followed: an import from elsewhere, `__getattr__`."""
    module = project.module(path)
    if module is None:
        return True
    found = module.imports.get(name)
    outside = found is not None and project.find(found.module, path) is None
    return outside or "*" in module.imports or "__getattr__" in module.by_name or name in _loose(module.tree)


def _loose(tree: ast.Module) -> frozenset[str]:
    """Names bound by loops, `with` and the like."""
    return frozenset(
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )


def _ours(dotted: str, one: Failed, project: Project) -> bool:
    """Whether the module is the project's: relative, within a package of the project, or what the error names."""
    top = dotted.partition(".")[0]
    return dotted.startswith(".") or project.find(top, one.path) is not None or f"'{top}'" in one.said


def _module(dotted: str, names: tuple[str, ...], path: str, project: Project) -> MissingSymbol:
    place = _new_file(dotted, path, project)
    said = f"there is no module {dotted}: the tests import {', '.join(names)} from it; it would be {place}"
    return MissingSymbol((*names, dotted.rpartition(".")[2] or dotted), place, said=said)


def _new_file(dotted: str, path: str, project: Project) -> str:
    """Where the module `dotted` would be."""
    parent, _, last = dotted.rpartition(".")
    package = project.find(parent, path) if parent.strip(".") else None
    if package:
        return (PurePosixPath(package).parent / f"{last}.py").as_posix()
    root = PurePosixPath(project.prefix)
    folder = root / "src" if any(project.listing((root / "src").as_posix())) else root
    return (folder / f"{dotted.strip('.').replace('.', '/')}.py").as_posix()


def _name(name: str, file: str) -> MissingSymbol:
    said = f"{name} is looked for in {file}, which does not define it"
    if file.endswith("/__init__.py"):
        said += f"; as a module it would be {PurePosixPath(file).parent / name}.py"
    return MissingSymbol((name,), file, said=said)


def _told(one: Failed, project: Project) -> Iterator[MissingSymbol]:
    """What the failure itself says is missing."""
    yield from _failed_imports(one, project)
    yield from _attributes(one, project)
    yield from _parameters(one, project)
    for name in UNDEFINED.findall(one.said):
        place = next((path for path in reversed(one.frames) if path != one.path), "")
        yield MissingSymbol((name,), place, said=f"{name} is not defined")
    for name in FIXTURE.findall(one.said):
        yield MissingSymbol((name,), _fixtures(one, project), said=f"no fixture is called {name}")
    for name in OPTION.findall(one.said):
        yield _option(name, one, project)
    for found in FILE.findall(one.said):
        yield _file(found[0] or found[1], one, project)


def _failed_imports(one: Failed, project: Project) -> Iterator[MissingSymbol]:
    """Find the names and modules that the failure says cannot be imported."""
    for name, dotted in NAME.findall(one.said):
        if file := project.find(dotted, one.path):
            yield _name(name, file)
    for dotted in MODULE.findall(one.said):
        if not one.collection and project.find(dotted.partition(".")[0], one.path):
            yield _module(dotted, (dotted.rpartition(".")[2],), one.path, project)


def _attributes(one: Failed, project: Project) -> Iterator[MissingSymbol]:
    for kind, of, name, owner, attribute in ATTRIBUTE.findall(one.said):
        if kind == "module":
            if file := project.find(of, one.path):
                yield _name(name, file)
            continue
        cls, attr = owner or of.rpartition(".")[2], attribute or name
        if found := _definition(cls, one, project):
            said = f"{cls} in {found.path} has no attribute {attr}"
            yield MissingSymbol((attr,), found.path, found.name, said)


def _parameters(one: Failed, project: Project) -> Iterator[MissingSymbol]:
    for called, name in PARAMETER.findall(one.said):
        if found := _callee(called, one, project):
            said = f"{called}() in {found.path} takes no {name}"
            yield MissingSymbol((name,), found.path, found.name, said)
    for called in ARITY.findall(one.said):
        if found := _callee(called, one, project):
            said = f"{called}() in {found.path} takes other arguments than the tests pass"
            yield MissingSymbol((called.removesuffix(".__init__").rpartition(".")[2],), found.path, found.name, said)


def _callee(called: str, one: Failed, project: Project) -> Definition | None:
    """The function that refused a call, as CPython names it; the class where it has no `__init__` of its own."""
    name = re.sub(r".*<locals>\.", "", called)
    return _definition(name, one, project) or _definition(name.rpartition(".")[0], one, project)


def _definition(name: str, one: Failed, project: Project) -> Definition | None:
    """The definition of that qualified name in what the test reaches."""
    if not name:
        return None
    for path in (*reversed(one.frames), *reachable(one.path, project)):
        module = project.module(path)
        if module and name in module.by_name and path != one.path:
            return module.by_name[name]
    return None


def reachable(path: str, project: Project) -> Sequence[str]:
    """Files of the project that the module at `path` imports, directly or not, the nearest first."""
    seen = [path]
    for current in seen:
        module = project.module(current)
        for item in module.imports.values() if module and len(seen) < REACH else ():
            joined = _joined(item.module, item.name)
            for file in (project.find(item.module, current), project.find(joined, current) if item.name else None):
                if file and file not in seen:
                    seen.append(file)
    return seen[1:]


def _fixtures(one: Failed, project: Project) -> str:
    """The module of the project whose fixtures the tests use, conftest.py aside (that is a test file)."""
    places = [(folder / "conftest.py").as_posix() for folder in PurePosixPath(one.path).parents]
    named = [name for place in places if (text := project.read(place)) for name in _plugins(text)]
    files = [project.find(name, one.path) for name in named]
    return next((file for file in files if file), next((place for place in places if project.read(place)), places[0]))


def _plugins(text: str) -> Iterator[str]:
    tree = parsed(text)
    for node in tree.body if tree else ():
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytest_plugins":
            yield from (
                item.value
                for item in ast.walk(node.value)
                if isinstance(item, ast.Constant) and isinstance(item.value, str)
            )
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield "." * node.level + node.module


def _option(name: str, one: Failed, project: Project) -> MissingSymbol:
    """An option or command: it belongs where the others are declared."""
    for path in dict.fromkeys((*reversed(one.frames), *reachable(one.path, project))):
        module = project.module(path)
        for item in module.functions if module and path != one.path else ():
            if module and PARSER.search("\n".join(module.lines[item.first - 1 : item.last])):
                return MissingSymbol(
                    (name,), path, item.name, f"the command line knows no {name}; others are in {path}"
                )
    return MissingSymbol((name,), said=f"the command line knows no {name}")


def _file(told: str, one: Failed, project: Project) -> MissingSymbol:
    name = PurePosixPath(told).name
    place = next((path for path in reversed(one.frames) if path != one.path), "")
    beside = ", ".join(PurePosixPath(path).name for path in project.listing(PurePosixPath(told).parent.as_posix()))
    there = f"; beside it are {beside}" if beside else ""
    return MissingSymbol((name,), place, said=f"there is no file {told}{there}")


def users(text: str, things: Iterable[MissingSymbol]) -> frozenset[str]:
    """Qualified names of the test functions of `text` that use what is missing (`Class.name` for methods)."""
    tree = parsed(text)
    lines = text.split("\n")
    wanted = tuple(things)
    return frozenset(_using(tree.body, "", lines, wanted)) if tree else frozenset()


def _using(
    body: Iterable[ast.stmt], prefix: str, lines: Sequence[str], things: Sequence[MissingSymbol]
) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _using(node.body, f"{prefix}{node.name}.", lines, things)
        elif isinstance(node, Function):
            first = min([node.lineno, *(item.lineno for item in node.decorator_list)])
            source = "\n".join(lines[first - 1 : node.end_lineno])
            if node.name.startswith("test") and any(thing.used_in(source) for thing in things):
                yield prefix + node.name
