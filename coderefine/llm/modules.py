"""Project modules as syntax trees: definitions by name, imports, and the files that they import."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import PurePosixPath

from coderefine.core import Read
from coderefine.source import Function, first_line, syntax

DEPTH = 4
"""Maximum number of re-exports that are followed from an import to the definition."""
REACH = 40
"""Maximum number of modules that are followed from one module through its imports."""


@dataclass(frozen=True)
class Definition:
    """A function, method, class or assignment. `first`: first line, with decorators; `last`: last line.

    `name`: its qualified name. `owner`: the class in whose body it is; None at module level.
    """

    path: str
    name: str
    node: ast.stmt
    first: int
    last: int
    owner: ast.ClassDef | None = None

    @property
    def is_function(self) -> bool:
        return isinstance(self.node, Function)

    @property
    def lines(self) -> range:
        return range(self.first, self.last + 1)

    @property
    def body(self) -> int:
        """Return the first line of the body of a function or class; of other definitions the first line."""
        body = self.node.body if isinstance(self.node, Function | ast.ClassDef) else []
        return max(first_line(body[0]), self.first) if body else self.first

    @property
    def head(self) -> range:
        """Return the lines of decorators and signature, including a body on the same line."""
        return range(self.first, max(self.body, self.first + 1))


class ProjectModule:
    """One file of the project. Its `tree` is empty if the file does not parse."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self.tree = syntax(text) or ast.Module([], [])

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    @cached_property
    def definitions(self) -> tuple[Definition, ...]:
        """Return the module's functions, methods, classes and assignments, in file order, except those in functions."""
        return tuple(self._defined(self.tree.body, "", None))

    @cached_property
    def by_name(self) -> Mapping[str, Definition]:
        """Return the last definition of each qualified name."""
        return {item.name: item for item in self.definitions}

    @cached_property
    def functions(self) -> tuple[Definition, ...]:
        return tuple(item for item in self.definitions if item.is_function)

    @cached_property
    def imports(self) -> Mapping[str, Import]:
        """Return the imports by the names that they bind in the module."""
        return {item.local: item for node in ast.walk(self.tree) for item in _imported(node)}

    @cached_property
    def import_statements(self) -> tuple[ast.stmt, ...]:
        """Return the imports at module level, without those in functions."""
        return tuple(node for node in _flattened(self.tree.body) if isinstance(node, ast.Import | ast.ImportFrom))

    def at(self, line: int) -> Definition | None:
        """Return the innermost function around `line`, else the smallest class or assignment.

        If there is none, return the statement as a Definition without a name; None if `line` is in no statement.
        """
        found = [item for item in self.definitions if item.first <= line <= item.last] or [
            Definition(self.path, "", node, first_line(node), node.end_lineno or node.lineno)
            for node in _flattened(self.tree.body)
            if line in span(node)
        ]
        return min(found, key=lambda item: (not item.is_function, item.last - item.first), default=None)

    def source(self, item: Definition) -> str:
        return "\n".join(self.lines[item.first - 1 : item.last])

    def size(self, numbers: Iterable[int]) -> int:
        """Return the number of characters of the lines `numbers`."""
        return sum(len(self.lines[number - 1]) + 1 for number in numbers if number <= len(self.lines))

    def _defined(self, body: Iterable[ast.stmt], prefix: str, owner: ast.ClassDef | None) -> Iterator[Definition]:
        for node in _flattened(body):
            names = (node.name,) if isinstance(node, Function | ast.ClassDef) else bound(node)
            last = node.end_lineno or node.lineno
            yield from (Definition(self.path, prefix + name, node, first_line(node), last, owner) for name in names)
            if isinstance(node, ast.ClassDef):
                yield from self._defined(node.body, f"{prefix}{node.name}.", node)


@dataclass(frozen=True)
class Import:
    """An imported name: in the file, `local` means `name` of `module`, or `module` itself if `name` is empty.

    `module` is a dotted name, with the leading dots of a relative import.
    """

    local: str
    module: str
    name: str
    node: ast.Import | ast.ImportFrom

    @property
    def lines(self) -> frozenset[int]:
        """Return the first and the last line of the statement, and the line of this name."""
        named = (alias.lineno for alias in self.node.names if self.local in (alias.asname, alias.name))
        return frozenset((self.node.lineno, span(self.node)[-1], *named))


@dataclass
class ModuleIndex:
    """The modules of a project, each read at its first use.

    `roots`: the folders from which modules are imported, see `Protection.import_roots`. `listing` returns the files in
    a folder.
    """

    read: Read
    roots: tuple[str, ...]
    listing: Callable[[str], Sequence[str]] = lambda _: ()
    _known: dict[str, ProjectModule | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Cache `read`, because `find` calls it again and again for many paths, most of which do not exist."""
        self.read = cache(self.read)

    def module(self, path: str) -> ProjectModule | None:
        if path not in self._known:
            text = self.read(path) if path.endswith(".py") else None
            self._known[path] = ProjectModule(path, text) if text is not None else None
        return self._known[path]

    def find(self, dotted: str, path: str) -> str | None:
        """Return the file of module `dotted` as imported in the file `path`, or None."""
        here = PurePosixPath(path).parent
        tail = dotted.lstrip(".").replace(".", "/")
        if level := len(dotted) - len(dotted.lstrip(".")):
            bases = [[here, *here.parents][min(level, len(here.parts) + 1) - 1]]
        else:
            bases = [*map(PurePosixPath, self.roots), here, here.parent]
        endings = (".py", "/__init__.py") if tail else ("__init__.py",)
        files = ((base / f"{tail}{ending}").as_posix() for base in bases for ending in endings)
        return next((file for file in files if self.read(file) is not None), None)

    def locate(self, name: str, path: str, depth: int = DEPTH) -> Definition | str | None:
        """Return what `name` (dotted for attributes) means in the file `path`.

        The result is a definition, the path of a module, or None. If an attribute of a class or of another definition
        is unknown, the result is the definition itself. `depth`: maximum number of re-exports to follow.
        """
        module = self.module(path)
        head, _, rest = name.partition(".")
        if module is None:
            return None
        if name in module.by_name:
            return module.by_name[name]
        imported = module.imports.get(head)
        if head in module.by_name or imported is None or not depth:
            return module.by_name.get(head)
        target = self._target(imported, path, depth)
        if target is None or not rest:
            return target
        if isinstance(target, str):
            return self.locate(rest, target, depth - 1)
        return self.locate(f"{target.name}.{rest}", target.path, depth - 1) or target

    def _target(self, imported: Import, path: str, depth: int) -> Definition | str | None:
        """Return what an import in the file `path` imports: a definition, the path of a module, or None."""
        file = self.find(imported.module, path)
        if not imported.name:
            return file
        inside = self.locate(imported.name, file, depth - 1) if file and file != path else None
        return inside or self.find(join_dotted(imported.module, imported.name), path)

    def reachable(self, path: str) -> Iterator[str]:
        """Yield the project's files that the module at `path` imports, directly or indirectly, nearest first.

        Files are parsed lazily, and not followed any more once REACH modules are found.
        """
        seen = [path]
        for current in seen:
            module = self.module(current)
            for item in module.imports.values() if module and len(seen) < REACH else ():
                for dotted in (item.module, *([join_dotted(item.module, item.name)] if item.name else [])):
                    file = self.find(dotted, current)
                    if file and file not in seen:
                        seen.append(file)
                        yield file


def span(node: ast.stmt) -> range:
    """Return the lines of a statement, including decorators."""
    return range(first_line(node), (node.end_lineno or node.lineno) + 1)


def bound(node: ast.stmt) -> Iterator[str]:
    """Yield the names in the targets of an assignment; nothing for other statements."""
    targets = node.targets if isinstance(node, ast.Assign) else []
    if isinstance(node, ast.AnnAssign | ast.AugAssign):
        targets = [node.target]
    for target in targets:
        yield from (item.id for item in ast.walk(target) if isinstance(item, ast.Name))


def dotted_names(node: ast.AST, *, annotations: bool = True) -> frozenset[str]:
    """Return the names in `node`, including dotted attributes (`rules.TABLE`, `self.total`).

    `annotations`: whether to include names that occur only in annotations.
    """
    found: set[str] = set()
    for item in ast.walk(node) if annotations else _without_annotations(node):
        if isinstance(item, ast.Name):
            found.add(item.id)
        elif isinstance(item, ast.Attribute) and isinstance(item.value, ast.Name):
            found.add(f"{item.value.id}.{item.attr}")
    return frozenset(found)


def _without_annotations(node: ast.AST) -> Iterator[ast.AST]:
    """Yield `node` and the nodes in it, as `ast.walk` does, without annotations."""
    yield node
    for name, value in ast.iter_fields(node):
        parts = () if name in ("annotation", "returns") else value if isinstance(value, list) else (value,)
        for part in parts:
            if isinstance(part, ast.AST):
                yield from _without_annotations(part)


def names_and_attributes(source: str) -> frozenset[str]:
    """Return all names and attributes in `source`; if it does not parse (it may be an excerpt), all its words."""
    tree = syntax(source)
    if tree is None:
        return frozenset(re.findall(r"[^\W\d]\w*", source))
    found = (getattr(node, "id", None) or getattr(node, "attr", None) for node in ast.walk(tree))
    return frozenset(name for name in found if name)


def join_dotted(module: str, name: str) -> str:
    """Join `module` and `name` to a dotted name."""
    return f"{module}{'' if module.endswith('.') else '.'}{name}"


def _flattened(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements, with `if`, `try` and `with` replaced by the statements in them."""
    for node in body:
        if isinstance(node, ast.If | ast.Try | ast.With):
            handlers = (item for handler in getattr(node, "handlers", ()) for item in handler.body)
            rest = (*getattr(node, "orelse", ()), *handlers, *getattr(node, "finalbody", ()))
            yield from _flattened((*node.body, *rest))
        else:
            yield node


def _imported(node: ast.AST) -> Iterator[Import]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            top = alias.name if alias.asname else alias.name.partition(".")[0]
            yield Import(alias.asname or top, top, "", node)
    elif isinstance(node, ast.ImportFrom):
        base = "." * node.level + (node.module or "")
        yield from (Import(alias.asname or alias.name, base, alias.name, node) for alias in node.names)
