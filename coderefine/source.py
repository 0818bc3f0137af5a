"""The text of a source file, and its conversion back to the same bytes."""

from __future__ import annotations

import ast
import io
import os
import re
import threading
import tokenize
import unicodedata
import warnings
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import doctest

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
BOM = b"\xef\xbb\xbf"

LONGEST = 255
"""Bytes of a file's name on every usual file system."""


@dataclass(frozen=True, slots=True)
class Source:
    r"""Decoded text with `\n` line ends, and what is needed to write it back byte by byte.

    `newline`: the file's line end; "" if it mixes several, which are then kept in the text.
    """

    text: str
    encoding: str = "utf-8"
    newline: str = "\n"
    bom: bool = False

    def encode(self, text: str) -> bytes:
        """Return `text` in this file's encoding and with its line ends.

        Raises UnicodeEncodeError if the encoding cannot represent the text.
        """
        body = text if self.newline in ("", "\n") else text.replace("\n", self.newline)
        return (BOM if self.bom else b"") + body.encode(self.encoding)


_QUIET = threading.Lock()
"""Lock for the warning filters, which the whole process shares: gates run in several threads."""


def syntax(source: str | bytes) -> ast.Module | None:
    """Return the syntax tree of Python source; None if it does not parse, or is nested too deeply.

    Python's warnings about the source (such as an invalid escape sequence) are suppressed: it is the user's code.
    """
    try:
        with _QUIET, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def nameable(part: str) -> bool:
    """Return whether `part` is a possible file name: not too long, and without lone surrogates."""
    try:
        return len(os.fsencode(part)) <= LONGEST
    except UnicodeEncodeError:
        return False


def folded(path: str) -> str:
    """Return a form of `path` that is the same for all paths that some file system regards as equal.

    Case, compatibility forms and invisible characters are ignored, and so are dots and blanks at the end of a name.
    """
    if not path.isascii():
        path = unicodedata.normalize("NFKC", path)
        path = "".join(letter for letter in path.casefold() if unicodedata.category(letter) != "Cf")
    return "/".join(part.rstrip(". ") or part for part in path.casefold().split("/"))


def text_of(data: bytes | None) -> str | None:
    """Decode `data` to text with LF line ends; None if it is not text."""
    source = decode(data)
    return source.text if source else None


def decode(data: bytes | None) -> Source | None:
    """Return `data` as Source; None if it is not text (no file, NUL bytes, undecodable, unknown coding cookie)."""
    if data is None:
        return None
    bom = data.startswith(BOM)
    body = data[len(BOM) :] if bom else data
    if b"\0" in body:
        return None
    try:
        encoding = "utf-8" if bom else tokenize.detect_encoding(io.BytesIO(body).readline)[0]
        text = body.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError):
        return None
    decoder = io.IncrementalNewlineDecoder(None, translate=False)
    decoder.decode(text, final=True)
    kinds = decoder.newlines  # None, one kind, or a tuple of several
    newline = kinds if isinstance(kinds, str) else "" if kinds else "\n"
    plain = text.replace(newline, "\n") if newline not in ("", "\n") else text
    return Source(plain, encoding, newline, bom)


LINE_END = re.compile(r"\r\n|\n|\r")
"""What ends a line for Python; `str.splitlines` also splits at other characters, such as form feeds."""
BLANKS = re.compile(r"[ \t]*")


def rows(text: str) -> list[str]:
    """Split `text` into lines as Python does."""
    return LINE_END.split(text)


class ParsedText:
    """A text with its syntax tree. Offsets count the characters of `text`; lines are 1-based."""

    def __init__(self, text: str, tree: ast.Module) -> None:
        self.text = text
        self.tree = tree
        self._starts = [0, *(match.end() for match in LINE_END.finditer(text))]

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Return all nodes in the order of `ast.walk`; the tree is walked only once."""
        return list(ast.walk(self.tree))

    @cached_property
    def statements(self) -> tuple[ast.stmt, ...]:
        return tuple(node for node in self.nodes if isinstance(node, ast.stmt))

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        return {child: node for node in self.nodes for child in ast.iter_child_nodes(node)}

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the nodes around `node`, innermost first."""
        while (up := self.parents.get(node)) is not None:
            yield up
            node = up

    def offset(self, line: int, column: int) -> int:
        """Return the offset of a position as in `ast`: a line, and a column in UTF-8 bytes."""
        start = self._starts[line - 1]
        row = self.text[start : self.line_end(line)]
        return start + (column if row.isascii() else len(row.encode()[:column].decode("utf-8", "ignore")))

    def start(self, node: ast.AST) -> int:
        return self.offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]

    def end(self, node: ast.AST) -> int:
        return self.offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def code(self, node: ast.AST) -> str:
        """Return the exact text of `node`, without parentheses around it."""
        return self.text[self.start(node) : self.end(node)]

    def line_of(self, offset: int) -> int:
        return bisect_right(self._starts, offset)

    def line_start(self, line: int) -> int:
        """Return the offset of the start of `line`; the end of the text for a line after the last one."""
        return self._starts[line - 1] if line <= len(self._starts) else len(self.text)

    def line_end(self, line: int) -> int:
        """Return the offset after the line end of `line`."""
        return self.line_start(line + 1)

    def indent(self, node: ast.stmt) -> str:
        """Return the white space at the beginning of the line of a statement."""
        found = BLANKS.match(self.text, self.line_start(node.lineno))
        return found.group() if found else ""

    @cached_property
    def step(self) -> str:
        """Return one level of indentation in the style of this file."""
        for stmt in self.statements:
            body = getattr(stmt, "body", None)
            if isinstance(body, list) and body and first_line(body[0]) > stmt.lineno and self._leads(body[0]):
                outer, inner = ParsedText.indent(self, stmt), ParsedText.indent(self, body[0])
                if inner.startswith(outer) and len(inner) > len(outer):
                    return inner[len(outer) :]
        return "    "

    def _leads(self, stmt: ast.stmt) -> bool:
        """Return whether no other text is before `stmt` on its line, such as the rest of a header of several lines."""
        return not self.text[self.line_start(stmt.lineno) : self.start(stmt)].strip()

    def alone(self, stmt: ast.stmt) -> bool:
        """Return whether no other statement is on the lines of `stmt`; a comment may be on them."""
        after = self.text[self.end(stmt) : self.line_end(last_line(stmt))].strip()
        return self._leads(stmt) and (not after or after.startswith("#"))


def first_line(node: ast.stmt) -> int:
    """Return the first line of a statement, including decorators."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return decorators[0].lineno if decorators else node.lineno


def last_name(node: ast.AST | None) -> str:
    """Return the last part of a name as written: `c` of `a.b.c`; "" if `node` is not a name."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def arguments(function: Function | ast.Lambda) -> list[ast.arg]:
    """Return the parameters of a function in order, without `*args` and `**kwargs`."""
    return [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]


def all_arguments(arguments: ast.arguments) -> Iterator[ast.arg]:
    """Yield the parameters of a function in order, with `*args` and `**kwargs`."""
    yield from (*arguments.posonlyargs, *arguments.args)
    yield from filter(None, (arguments.vararg, *arguments.kwonlyargs, arguments.kwarg))


def bindings(node: ast.AST) -> Iterator[str]:
    """Yield the names that `node` itself contains, without the names in the nodes below it.

    Of an import `a.b`, this is `a`. Names of attributes are left out.
    """
    if isinstance(node, ast.alias):
        yield (node.asname or node.name).partition(".")[0]
    elif isinstance(node, ast.Global | ast.Nonlocal):
        yield from node.names
    else:
        found = (getattr(node, field, None) for field in ("id", "arg", "name", "rest"))
        yield from (name for name in found if isinstance(name, str))


def bound_names(node: ast.AST) -> list[str]:
    """Return the names that `node` itself binds or declares, and the name of a keyword argument."""
    return [] if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) else list(bindings(node))


def definitions(tree: ast.AST | None, prefix: str = "") -> Iterator[tuple[str, Definition]]:
    """Yield the functions and classes in `tree` with their qualified names (`Cart.total`), outer before inner."""
    for child in blocks(tree) if tree else ():
        if isinstance(child, Definition):
            yield prefix + child.name, child
            yield from definitions(child, f"{prefix}{child.name}.")
        else:
            yield from definitions(child, prefix)


def outer_functions(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, Function]]:
    """Yield functions and methods with their qualified names.

    Functions inside functions are left out.
    """
    for child in blocks(node):
        if isinstance(child, Function):
            yield prefix + child.name, child
        else:
            yield from outer_functions(child, f"{prefix}{child.name}." if isinstance(child, ast.ClassDef) else prefix)


def blocks(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements (and handlers, cases) directly below `node`, in order."""
    for name in ("body", "handlers", "orelse", "finalbody", "cases"):
        children = getattr(node, name, None)
        if isinstance(children, list):
            yield from (child for child in children if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case))


def owners(tree: ast.AST | None) -> Mapping[int, str]:
    """Return line -> qualified name of the innermost function or class on it, decorators included."""
    found: dict[int, str] = {}
    for name, node in definitions(tree):  # inner definitions come later and overwrite outer ones
        found.update(dict.fromkeys(range(first_line(node), last_line(node) + 1), name))
    return found


def docstring_examples(text: str) -> list[doctest.Example] | None:
    """Return the examples in `text` that doctest runs; None if doctest cannot read them."""
    if ">>>" not in text:
        return []
    import doctest  # imports unittest and pdb: 10 ms of the start of every command

    try:
        return doctest.DocTestParser().get_examples(text)
    except ValueError:
        return None


def last_line(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def without_docstrings(tree: ast.Module) -> ast.Module:
    """Remove the docstrings from `tree`, in place, and return it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | Definition) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    return tree
