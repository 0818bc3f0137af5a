"""Compare two versions of a file: which functions differ in their code, and on which lines."""

from __future__ import annotations

import ast
import re
import types
from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import chain, count

from coderefine.runner.agent.code_diff import common_ends, nested, same, same_but_for_names
from coderefine.runner.equal_forms import uniform
from coderefine.runner.reached_code import Function
from coderefine.source import bound_names, docstring_examples, first_line, text_of

DEFINITIONS = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
READS_DOCSTRINGS = re.compile(
    r"__doc__|getdoc|docopt|yacc"
    r"|^[ \t]*(from|import)\b([^\n(]*\([^)]*|.*)(click|fire|typer|\b(cmd2?|defopt|invoke|mcp|plac)\b)",
    re.MULTILINE,
)
"""Code that reads docstrings at run time. Modules whose names are common words count only in import statements."""
DOCSTRING = re.compile(r"[\w.]+\.__doc__|getattr\([\w.]+, '__doc__'(, (None|''))?\)")
ANY = "*"
INDIFFERENT = frozenset(
    re.findall(
        r"\w+",
        """abstractmethod asynccontextmanager cache cached_property cachedproperty classmethod contextmanager dataclass
        deleter final getter lru_cache overload override property reify runtime_checkable setter singledispatch
        singledispatchmethod staticmethod total_ordering unique wraps""",
    )
)
"""Decorators that do not use the docstring, except to copy it."""
ASSIGNMENTS = ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Delete
CONDITIONAL = ast.Lambda | ast.IfExp | ast.BoolOp
"""Expressions of which a part may not run."""
Text = bytes | None


@dataclass(frozen=True, slots=True)
class UnitCode:
    """The code of a unit, its first line (with decorators) and name as in the code object, and the text of its lines.

    `flat`: the code, compiled without its line numbers, because some instructions depend on line numbers (a NOP may
    only mark a line).
    """

    line: int
    name: str
    code: types.CodeType
    flat: types.CodeType
    text: str

    def functions(self, path: str) -> Iterator[Function]:
        """Yield the key of the unit (see Function) and, if the unit is a function, the keys of its nested functions."""
        waiting = [self.code]
        while waiting:
            code = waiting.pop()
            yield path, code.co_firstlineno, code.co_name
            waiting += nested(code) if code.co_name != "<module>" else ()


@dataclass(frozen=True, slots=True)
class FileEdit:
    """Two versions of one file: their units by name, and the lines that differ in more than indentation.

    `lines`: changed lines of the new text; `removed`: changed lines of the old text. `changed`: names of the units
    whose code differs; `same`: names of the units whose text differs, but not their code. The name "" stands for the
    module's own code, including class bodies.
    """

    old: Mapping[str, UnitCode]
    new: Mapping[str, UnitCode]
    changed: frozenset[str]
    same: frozenset[str]
    lines: frozenset[int]
    removed: frozenset[int]
    assigned: frozenset[str] = frozenset()
    """What the changed statements of the module's own code assign, according to `_assigned`."""

    @property
    def added(self) -> frozenset[str]:
        """Return the names of the new functions."""
        return frozenset(self.new.keys() - self.old.keys())

    @classmethod
    def between(cls, before: Text, after: Text) -> FileEdit:
        """Compare two contents of a file; if one cannot be compiled here, the module's own code counts as changed."""
        return cls.of_texts(decoded(before), decoded(after))

    @classmethod
    def of_texts(cls, old: str, new: str) -> FileEdit:
        """Compare two versions of the text of a file.

        A docstring that code of the file may read is compared like other constants. Of all other docstrings, only the
        examples are compared, because doctest would run them.
        """
        try:
            read = _read_docstrings(old) | _read_docstrings(new)
            was, now = units_of(old, read), units_of(new, read)
            alike = _alike_units(was, now)
            if len(alike) < len(was.keys() & now.keys()):
                alike |= _alike_units(units_of(uniform(old), read), units_of(uniform(new), read))
        except (SyntaxError, ValueError, RecursionError):
            return cls({}, {}, frozenset({""}), frozenset(), frozenset(), frozenset())
        removed, lines = _changed_lines(old, new)
        changed = frozenset((was.keys() | now.keys()) - alike)
        assigned = _assigned(old, new) if "" in changed else frozenset[str]()
        edited = frozenset(name for name in alike if executable(now[name].code) & lines)
        return cls(was, now, changed, edited, lines, removed, assigned)

    def changed_by(self, old: str, parts: Sequence[Sequence[tuple[int, int]]]) -> list[frozenset[str]] | None:
        """Return, for each of the `parts` of the edit, which units of `changed` it changes; None if this is uncertain.

        A part is given as the ranges of lines of the text `old` that it touches, 1-based, both ends included. The
        result is uncertain if units were added or removed, if a range is only partly in the body of a function, or if
        the parts do not explain all of `changed`.
        """
        if not self.old or self.old.keys() != self.new.keys():
            return None
        names = {one.line: name for name, one in self.old.items()}
        functions = {one: names.get(one.begin, "") for one in _functions_by_line(old)}
        touched = [_touched(functions, spans) for spans in parts]
        found = [self.changed & one for one in touched if one is not None]
        return found if None not in touched and frozenset().union(*found) == self.changed else None

    def not_executed(self, name: str, old: frozenset[int], new: frozenset[int]) -> frozenset[int]:
        """Return the new lines of the function `name` that did not run; if all ran, the removed lines that did not.

        A line that is also in the old function or file does not count as new, because its block may have moved. `old`,
        `new`: the lines that ran in the tests of each version.
        """
        was, now = self.old[name], self.new[name]
        removed, added = _changed_lines(was.text, now.text)
        left = executable(now.code) & self.lines & {now.line - 1 + line for line in added} - new
        return left or executable(was.code) & self.removed & {was.line - 1 + line for line in removed} - old


def decoded(data: Text) -> str:
    """Return the text of a file; "" if there is no file, or if it cannot be decoded."""
    return text_of(data) or ""


@dataclass(frozen=True, slots=True)
class _Lines:
    """Lines of a function, 1-based: the first (with decorators), the first of its body, and the last."""

    begin: int
    body: int
    end: int


@lru_cache(maxsize=4)
def _functions_by_line(text: str) -> list[_Lines]:
    """Return the lines of all outermost functions and methods; a body on the line of the header counts as no body."""
    found, waiting, rows = list[_Lines](), list[ast.AST](ast.parse(text).body), text.split("\n")
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body, end = first_line(node.body[0]), node.end_lineno or node.lineno
            apart = (
                rows[body - 1].lstrip().startswith("@")
                or not rows[body - 1].encode()[: node.body[0].col_offset].strip()
            )
            found.append(_Lines(first_line(node), body if apart else end + 1, end))
        elif isinstance(node, ast.stmt | ast.excepthandler | ast.match_case):
            waiting += ast.iter_child_nodes(node)
    return found


@lru_cache(maxsize=4)
def docstring_lines(text: str) -> frozenset[int]:
    """Return the lines of all docstrings, 1-based."""
    nodes = (node for node in ast.walk(ast.parse(text)) if isinstance(node, DEFINITIONS))
    found = (node.body[0] for node in nodes if ast.get_docstring(node, clean=False) is not None)
    return frozenset(line for node in found for line in range(node.lineno, (node.end_lineno or 0) + 1))


def _touched(functions: Mapping[_Lines, str], spans: Iterable[tuple[int, int]]) -> frozenset[str] | None:
    """Return the names of the functions whose bodies contain `spans`, "" for spans outside functions.

    Return None if a span touches a function, but is not wholly in its body.
    """
    found = set()
    for first, last in spans:
        near = [one for one in functions if one.begin <= last and first <= one.end]
        if any(first < one.body or last > one.end for one in near):
            return None
        found.update({functions[one] for one in near} or {""})
    return frozenset(found)


@lru_cache(maxsize=64)
def units_of(text: str, documented: frozenset[str] = frozenset()) -> Mapping[str, UnitCode]:
    """Return the module's own code ("") and all outermost functions and methods, by qualified name.

    If two have the same name (a property and its setter), the second is called `NAME#2`. `documented`: the names of the
    definitions that keep their docstrings, as from `_read_docstrings`.

    Raises SyntaxError, ValueError or RecursionError if `text` cannot be compiled.
    """
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, DEFINITIONS) and documented.isdisjoint({ANY, getattr(node, "name", "")}):
            _clear_docstring(node)
    code = _by_name(compile(tree, "unit", "exec", dont_inherit=True))
    _flatten(tree)
    flat = _by_name(compile(tree, "unit", "exec", dont_inherit=True))
    return {
        name: UnitCode(one.co_firstlineno, one.co_name, one, flat[name], _lines(text, one))
        for name, one in code.items()
    }


def _flatten(tree: ast.Module) -> None:
    """Put each function and class on a separate line: equal functions on one line would become the same constant."""
    lines, waiting = count(1), deque[tuple[ast.AST, int]]([(tree, 0)])
    while waiting:
        node, line = waiting.popleft()
        if isinstance(node, DEFINITIONS):
            line = next(lines)
        if hasattr(node, "lineno"):
            node.lineno = node.end_lineno = line  # type: ignore[attr-defined]
            node.col_offset = node.end_col_offset = 0  # type: ignore[attr-defined]
        waiting += ((child, line) for child in ast.iter_child_nodes(node))


def _lines(text: str, code: types.CodeType) -> str:
    """Return the text of a unit, from its first line to its last executable line."""
    first = code.co_firstlineno
    return "\n".join(text.split("\n")[first - 1 : max(executable(code), default=first)])


def _by_name(module: types.CodeType) -> dict[str, types.CodeType]:
    found = {"": module}
    for name, code in _functions(module, ""):
        same_named = (f"{name}#{number}" for number in count(2))
        found[next(one for one in chain((name,), same_named) if one not in found)] = code
    return found


def _clear_docstring(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    decorated = not INDIFFERENT.issuperset(map(_decorator, getattr(node, "decorator_list", ())))
    text = ast.get_docstring(node, clean=False)
    if text is not None and not decorated:
        node.body[0].value = ast.Constant(_examples(text), lineno=node.body[0].lineno, col_offset=0)  # type: ignore[attr-defined]


@lru_cache(maxsize=4)
def _read_docstrings(text: str) -> frozenset[str]:
    """Return the names of the definitions in a file whose docstrings may be read by code of this file.

    "" stands for the module, ANY for all definitions. Code that only copies a docstring to the `__doc__` of another
    object does not count. Comments and docstrings do not count either: examples in docstrings are tests, and the tests
    run before anything is written.
    """
    if not READS_DOCSTRINGS.search(text):
        return frozenset()
    tree = ast.parse(text)
    for node in list(ast.walk(tree)):
        if isinstance(node, DEFINITIONS) and ast.get_docstring(node, clean=False) is not None:
            node.body[0] = ast.Pass()
        elif isinstance(node, ast.Assign):
            _clear_copy(node)
        elif isinstance(node, ast.Call):
            _clear_property(node)
    found = {*_clear_named(tree), *_clear_own(tree)}
    return frozenset({ANY} if READS_DOCSTRINGS.search(ast.unparse(tree)) else found)


def _clear_copy(node: ast.Assign) -> None:
    """Remove `__doc__` from the targets of an assignment; from its value, too, if it only copies a docstring."""
    stored = [one for one in node.targets if isinstance(one, ast.Attribute) and one.attr == "__doc__"]
    if len(stored) == len(node.targets) and _is_docstring(node.value):
        node.value = ast.Constant(None)
    for one in stored:
        one.attr = "doc"


def _clear_property(node: ast.Call) -> None:
    """Remove the docstring that a call of `property` copies."""
    if ast.unparse(node.func) == "property":
        node.args = [one for one in node.args if not _is_docstring(one)]
        node.keywords = [one for one in node.keywords if not _is_docstring(one.value)]


def _clear_named(tree: ast.Module) -> Iterator[str]:
    """Remove `NAME.__doc__` where only definitions bind NAME; yield these names."""
    bound = {name for node in ast.walk(tree) if not isinstance(node, DEFINITIONS) for name in bound_names(node)}
    for node in [one for one in ast.walk(tree) if isinstance(one, ast.Attribute) and one.attr == "__doc__"]:
        if isinstance(node.value, ast.Name) and node.value.id not in bound:
            node.attr = "doc"
            yield node.value.id


def _clear_own(tree: ast.Module) -> Iterator[str]:
    """Remove `__doc__`, the docstring of the module, outside of classes; yield "" for each."""
    inside = {one for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for one in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == "__doc__" and node not in inside:
            node.id = "doc"
            yield ""


def _is_docstring(node: ast.expr) -> bool:
    """Return whether the value of an expression is the docstring of an object."""
    return DOCSTRING.fullmatch(ast.unparse(node)) is not None


def _decorator(node: ast.expr) -> str:
    """Return the name of a decorator, without its module and arguments."""
    return ast.unparse(node.func if isinstance(node, ast.Call) else node).rpartition(".")[2]


def _examples(docstring: str) -> str:
    """Return the examples in a docstring that doctest runs; the whole docstring if doctest cannot read it."""
    if ">>>" not in docstring:
        return ""
    found = docstring_examples(docstring)
    if found is None:
        return docstring
    return repr([(one.source, one.want, sorted(one.options.items())) for one in found])


def _functions(code: types.CodeType, prefix: str) -> Iterator[tuple[str, types.CodeType]]:
    for inner in nested(code):
        name = prefix + inner.co_name
        if _is_class(inner):
            yield from _functions(inner, f"{name}.")
        elif not inner.co_name.startswith("<"):
            yield name, inner


def _is_class(code: types.CodeType) -> bool:
    return not code.co_flags & 0x02  # CO_NEWLOCALS


def _alike_units(old: Mapping[str, UnitCode], new: Mapping[str, UnitCode]) -> set[str]:
    """Return the names of the units whose code is equal."""
    return {name for name in old.keys() & new.keys() if _alike(old[name].flat, new[name].flat, whole=bool(name))}


def _alike(old: types.CodeType, new: types.CodeType, *, whole: bool) -> bool:
    """Return whether two code objects are equal.

    `whole`: ignore the names of local variables; otherwise, ignore nested functions.
    """
    return same(old, new) or same_but_for_names(old, new) if whole else _bare(old) == _bare(new)


def _bare(code: types.CodeType) -> tuple[object, ...]:
    """Return the code of a module or class as comparable values.

    Of its functions, only the names are included; lambdas, comprehensions and classes inside it are included
    completely.
    """
    values = []
    for value in code.co_consts:
        if not isinstance(value, types.CodeType):
            values.append((type(value).__name__, repr(value)))
        elif _is_class(value) or value.co_name.startswith("<"):
            values.append(("code", repr(_bare(value))))
        else:
            values.append(("function", value.co_name))
    handlers = getattr(code, "co_exceptiontable", b"")
    return (code.co_code, handlers, code.co_names, code.co_varnames, code.co_freevars, code.co_flags, tuple(values))


@dataclass(frozen=True, slots=True)
class _Statement:
    """A statement of a module or class body.

    `code`: a text to compare; of a definition, only its decorators, and its default values or keywords. `defines`: the
    name of a function or class. `assigns`: see `_assigned`.
    """

    code: str
    defines: str = ""
    assigns: frozenset[str] = field(default=frozenset(), compare=False)


def _statements(body: Iterable[ast.stmt], prefix: str = "") -> Iterator[_Statement]:
    """Yield the statements of a module or class body, and those of the classes in it. `prefix`: such as `Cart.`."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield _Statement(_dump(*node.decorator_list, *node.keywords), prefix + node.name)
            yield from _statements(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            defaults = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
            yield _Statement(_dump(*node.decorator_list, *defaults), prefix + node.name)
        elif isinstance(node, ast.AnnAssign) and node.value is None:
            name = prefix + ast.unparse(node.target)
            yield _Statement(name, assigns=frozenset({f"annotation of {name}"}))
        else:
            yield _Statement(prefix + _dump(node), assigns=frozenset(_assigned_by(node, prefix)))


def _dump(*nodes: ast.AST) -> str:
    return " ".join(map(ast.dump, nodes))


def _assigned_by(node: ast.stmt, prefix: str) -> Iterator[str]:
    if isinstance(node, ASSIGNMENTS) and not any(isinstance(one, CONDITIONAL) for one in ast.walk(node)):
        targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else [node.target]
        for one in chain.from_iterable(map(ast.walk, targets)):
            if isinstance(one, ast.Name):
                yield prefix + _mangled(one.id, prefix)
            elif isinstance(one, ast.Attribute):  # the name of its object tells nothing about it
                yield f"line {node.lineno}"
    elif not isinstance(node, ast.Import | ast.ImportFrom | ast.Pass) and not _is_text(node):
        yield f"line {node.lineno}"


def _mangled(name: str, prefix: str) -> str:
    """Return `name` as Python stores it in the class of `prefix` ("Cart."; "" for a module): `_Cart__size`."""
    private = prefix and name.startswith("__") and not name.endswith("__")
    return f"_{prefix[:-1].rpartition('.')[2].lstrip('_')}{name}" if private else name


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _assigned(old: str, new: str) -> frozenset[str]:
    """Return the attributes (`Cart.size`) that the differing statements of a module, and of its classes, assign.

    Other texts stand for what attributes may not show: `line 3` is a statement that does more than assign, or of which
    a part may not run; `definition of NAME` stands for other decorators, default values or keywords; and `annotation of
    NAME` for a name without a value. Imports, and definitions that were added or removed, are left out.
    """
    was, now = (list(_statements(ast.parse(text).body)) for text in (old, new))
    spans = list(hunks(was, now))
    removed = [one for start, end, _, _ in spans for one in was[start:end]]
    added = [one for _, _, begin, stop in spans for one in now[begin:stop]]
    first, second = set(removed), set(added)
    defined = {one.defines for one in first - second} & {one.defines for one in second - first} - {""}
    return frozenset(f"definition of {name}" for name in defined).union(*(one.assigns for one in removed + added))


def hunks(old: Sequence[Hashable], new: Sequence[Hashable]) -> Iterator[tuple[int, int, int, int]]:
    """Yield each difference as (start in `old`, end in `old`, start in `new`, end in `new`), 0-based, end exclusive."""
    # Comparing only what is between equal ends takes a hundredth of the time.
    head, tail = common_ends(old, new)
    first, second = (lines[head : len(lines) - tail] for lines in (old, new))
    for tag, start, end, begin, stop in SequenceMatcher(None, first, second, autojunk=False).get_opcodes():
        if tag != "equal":
            yield head + start, head + end, head + begin, head + stop


def _changed_lines(old: str, new: str) -> tuple[frozenset[int], frozenset[int]]:
    """Return (lines removed from `old`, lines added in `new`), 1-based, without blank lines and comments."""
    first, second = ([line.strip() for line in text.split("\n")] for text in (old, new))
    removed, added = set(), set()
    for start, end, begin, stop in hunks(first, second):
        removed |= {at + 1 for at in range(start, end) if first[at][:1] not in ("", "#")}
        added |= {at + 1 for at in range(begin, stop) if second[at][:1] not in ("", "#")}
    return frozenset(removed), frozenset(added)


def executable(code: types.CodeType) -> frozenset[int]:
    """Return the lines of a function and its nested functions that a trace reports, except their first lines."""
    found = {line for _, _, line in code.co_lines() if line is not None}
    below = (executable(one) for one in nested(code))
    return frozenset(found).union(*below) - {code.co_firstlineno}
