"""Take a function out of its file, and put the shortened function and its new functions back."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import libcst as cst

from coderefine.import_graph import walk
from coderefine.proposers.refactorings.blocks import rebound
from coderefine.proposers.refactorings.declared import Declared, Elsewhere, declared
from coderefine.proposers.refactorings.sequence import Draft
from coderefine.proposers.refactorings.trees import Unit
from coderefine.source import Function, first_line, last_name

WIDEST = 120
MOST_FILES = 3_000
"""Maximum number of Python files in a project; if there are more, no file is read."""
IMPLICIT = frozenset(("__class_getitem__", "__init_subclass__"))
"""Names of methods that are class methods without a decorator."""
ACCESSORS = ("getter", "setter", "deleter")
FAR = 40
"""Maximum number of rows between the beginning of a class and a method from which a function is extracted. Up to this
distance, the new function precedes the class; else it would be too far from the method, and becomes a static method."""
LEAST_PRIVATE, MOST_DOCUMENTED = 3, 1.0
"""A new function gets a docstring if the module has at least LEAST_PRIVATE private functions, and if at least the share
MOST_DOCUMENTED of them have docstrings."""


@dataclass(frozen=True)
class _Module:
    """Facts that hold for all functions of a file; to find them takes longer than most drafts."""

    tree: ast.Module
    indent: str
    width: int
    documented: bool
    declared: Declared
    rebound: frozenset[str]


@lru_cache(maxsize=4)
def _module(text: str, elsewhere: Elsewhere) -> _Module:
    tree = ast.parse(text)
    indent = cst.parse_module(text).default_indent
    return _Module(tree, indent, _width(text.split("\n")), _documents(tree), declared(tree, elsewhere), rebound(tree))


def _nowhere(_name: str) -> None:
    return None


@dataclass(frozen=True)
class Placed:
    """A function of a file: its unit, its rows (0-based, end excluded), and the number of classes around it."""

    unit: Unit
    rows: range
    depth: int


def placed(
    text: str, symbol: str, taken: frozenset[str], line: int = 0, elsewhere: Elsewhere = _nowhere
) -> Placed | str:
    """Return the function `symbol` of a file, or the reason why it is left alone.

    `taken`: names that a new function must not have. `line`: the line of its `def`, because a property and its setter
    have the same name. `elsewhere`: finds the annotations of the module that defines an imported name.
    """
    module = _module(text, elsewhere)
    tree, indent = module.tree, module.indent
    found = _chosen(list(_found(tree, symbol.split("."), ())), line)
    if len(found) != 1:
        return "it is inside a function, or is defined more than once"
    ((function, classes),) = found
    if any(map(_is_protocol, classes)):
        return "other classes would have to have its new methods, too"
    lines = text.split("\n")
    margin = indent * len(classes)
    rows = range(_first_row(function), _last_row(function, lines, margin))
    alone = _dedented(lines[rows.start : rows.stop], margin) if lines[rows.start].startswith(margin) else None
    if alone is None or indented(alone, len(classes), indent) != lines[rows.start : rows.stop]:
        return "it is indented in an unusual way"
    unit = Unit(
        alone,
        *belongs(function, classes),
        taken,
        indent,
        module.width,
        module.documented,
        module.declared,
        far=bool(classes) and rows.start - _first_row(classes[0]) > FAR and _is_open(function, classes[-1], tree),
        rebound=module.rebound,
    )
    return Placed(unit, rows, len(classes))


def _is_protocol(owner: ast.ClassDef) -> bool:
    return any(last_name(node) == "Protocol" for base in owner.bases for node in ast.walk(base))


def _is_open(method: Function, owner: ast.ClassDef, tree: ast.Module) -> bool:
    """Return whether `method` can call a new static method through its first parameter (`self`).

    The new method must not hide another method: base classes of libraries may have private methods with any name. The
    first parameter must be an object of the class: a method that the class body uses as a decorator may get any object.
    """
    inside = set(ast.walk(method))
    named = (node for node in ast.walk(owner) if isinstance(node, ast.Name) and node.id == method.name)
    own = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    return _is_own(owner, own) and all(node in inside for node in named)


def _is_own(owner: ast.ClassDef, own: Mapping[str, ast.ClassDef]) -> bool:
    """Return whether all bases of a class, and their bases, are in `own`, the classes of its module."""
    names = [getattr(base, "id", "") for base in owner.bases]
    bases = [own.get(name) for name in names if name != "object"]
    return not owner.keywords and all(base is not None and base is not owner and _is_own(base, own) for base in bases)


def _found(
    node: ast.AST, names: Sequence[str], classes: tuple[ast.ClassDef, ...]
) -> Iterator[tuple[Function, tuple[ast.ClassDef, ...]]]:
    """Yield each function whose qualified name has the parts `names`, and the classes around it, outermost first.

    Functions inside other functions, or inside statements such as `if`, are not found.
    """
    for item in getattr(node, "body", ()):
        if isinstance(item, ast.ClassDef) and item.name == names[0] and len(names) > 1:
            yield from _found(item, names[1:], (*classes, item))
        elif isinstance(item, Function) and [item.name] == names:
            yield item, classes


def _chosen(
    found: list[tuple[Function, tuple[ast.ClassDef, ...]]], line: int
) -> list[tuple[Function, tuple[ast.ClassDef, ...]]]:
    """Return only the function in `line` if all `found` belong together, like a property and its setter; else all."""
    together = len(found) > 1 and _belong_together([function for function, _ in found])
    return [one for one in found if one[0].lineno == line] if together else found


def _belong_together(functions: Sequence[Function]) -> bool:
    """Return whether functions with one name are a property's accessors, or overloads with their implementation."""
    accessors = all(map(_is_accessor, functions[1:]))
    return accessors or (all(map(_is_overload, functions[:-1])) and not _is_overload(functions[-1]))


def _is_accessor(function: ast.stmt) -> bool:
    """Return whether a function is written as `@NAME.setter`, for example."""
    marks = getattr(function, "decorator_list", ())
    owners = [one.value for one in marks if isinstance(one, ast.Attribute) and one.attr in ACCESSORS]
    return any(isinstance(one, ast.Name) and one.id == getattr(function, "name", "") for one in owners)


def _is_overload(node: ast.stmt) -> bool:
    marks = getattr(node, "decorator_list", ())
    return any("overload" in (getattr(one, "id", ""), getattr(one, "attr", "")) for one in marks)


def _first_row(node: ast.stmt) -> int:
    """Return the row where `node` begins, with its decorators (0-based)."""
    return first_line(node) - 1


def _last_row(function: Function, lines: Sequence[str], margin: str) -> int:
    """Return the row after the function (0-based), and after the comments below its last statement.

    Such a comment is indented more than `margin`, the indentation of the function.
    """
    last = end = function.end_lineno or 0
    for row, line in enumerate(lines[end:], end + 1):
        comment = line.lstrip().startswith("#") and line.startswith((f"{margin} ", f"{margin}\t"))
        if comment:
            last = row
        elif line.strip():
            break
    return last


def belongs(function: Function, classes: Sequence[ast.ClassDef]) -> tuple[str, str, str]:
    """Return (name of the receiver such as `self`, "classmethod" or "", class name); "" for what does not exist."""
    marks = {*map(last_name, function.decorator_list)}
    arguments = [*function.args.posonlyargs, *function.args.args]
    owner = classes[-1].name if classes else ""
    if not classes or "staticmethod" in marks or not arguments or function.name == "__new__":
        return "", "", owner
    of_class = "classmethod" in marks or function.name in IMPLICIT
    return arguments[0].arg, "classmethod" if of_class else "", owner


def _dedented(block: Sequence[str], margin: str) -> str | None:
    """Return the function in `block` without its indentation `margin`; None if it cannot be parsed.

    LibCST does not change the lines inside strings.
    """
    shells = len(margin) and "".join(f"{margin[:level]}class _:\n" for level in _levels(margin))
    try:
        module = cst.parse_module((shells or "") + "\n".join(block) + "\n")
    except cst.ParserSyntaxError:
        return None
    node: cst.CSTNode = module.body[0]
    while isinstance(node, cst.ClassDef):
        node = node.body.body[0]
    assert isinstance(node, cst.FunctionDef), "the rows of a function"
    return cst.Module([node], default_indent=module.default_indent).code


def _levels(margin: str) -> range:
    step = 1 if margin.startswith("\t") else 4 if len(margin) % 4 == 0 else 2
    return range(0, len(margin), step)


def indented(text: str, depth: int, indent: str) -> list[str]:
    """Return the lines of `text`, a function without indentation, as they are written `depth` levels deep."""
    body = list(cst.parse_module(text).body)
    for _ in range(depth):
        body = [cst.ClassDef(cst.Name("_"), cst.IndentedBlock(body))]
    return cst.Module(body, default_indent=indent).code.split("\n")[depth:-1]


def _documents(tree: ast.Module) -> bool:
    """Return whether new functions of a module get docstrings (see LEAST_PRIVATE)."""
    functions = (node for node in ast.walk(tree) if isinstance(node, Function))
    private = [node for node in functions if node.name.startswith("_") and not node.name.endswith("__")]
    documented = sum(ast.get_docstring(node) is not None for node in private)
    return len(private) >= LEAST_PRIVATE and documented >= MOST_DOCUMENTED * len(private)


def _width(lines: Sequence[str]) -> int:
    return max(79, *(len(line) for line in lines if len(line) <= WIDEST))


def written(text: str, place: Placed, draft: Draft) -> str:
    """Return the text of the file with `draft` in place of its function.

    New methods, also static ones, follow the function. Other new functions precede the module's statement that contains
    the function: so they are already defined if the function is called during import.
    """
    lines, indent = text.split("\n"), place.unit.indent
    inside = indented(draft.unit.text, place.depth, indent)
    for one in (one for one in draft.added if one.method):
        inside += ["", *indented(one.text, place.depth, indent)]
    outside: list[str] = []
    for one in (one for one in draft.added if not one.method):
        outside += [*one.text.rstrip("\n").split("\n"), "", ""]
    above = _above(text, place, lines)
    rows = [*lines[:above], *outside, *lines[above : place.rows.start], *inside, *lines[place.rows.stop :]]
    return "\n".join(rows)


def _above(text: str, place: Placed, lines: Sequence[str]) -> int:
    """Return the first row of the module's statement that contains the function.

    Its decorators, overloads, and comments count as part of it; overloads must be directly above the implementation.
    """
    body = ast.parse(text).body
    index = next(index for index, node in enumerate(body) if place.rows.start < (node.end_lineno or 0))
    while index and _is_overload(body[index - 1]):
        index -= 1
    row = _first_row(body[index])
    while row and lines[row - 1].startswith("#"):
        row -= 1
    return row


def identifiers(text: str) -> frozenset[str]:
    """Return every word of a text that could be a name."""
    return frozenset(re.findall(r"[A-Za-z_]\w*", text))


def python_files(top: Path) -> list[Path] | None:
    """Return the Python files below a folder, without those of virtual environments; None if there are too many."""
    found = [top / path for path in sorted(walk(str(top)))]
    return list(filter(Path.is_file, found)) if len(found) <= MOST_FILES else None
