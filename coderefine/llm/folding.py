"""Select the lines of definitions and modules to show; format them with gaps, and with marks for executed lines."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from coderefine.llm.modules import Definition, ProjectModule, span
from coderefine.source import Function

RAN = "  #>"
"""Mark after lines that the failing tests executed; it is not part of the file."""
MARKED = re.compile(rf"[ \t]*{re.escape(RAN.strip())}[ \t]*$", re.MULTILINE)

LONG = 200
"""Number of lines from which on only the executed branches of a function are shown."""
DOCSTRING, BEGINNING = 12, 5
"""Number of lines from which on only the beginning of a docstring is shown, and length of this beginning in lines."""
SUMMARY = 4
"""Number of lines from which on only the first paragraph of a docstring is shown, if a summary is enough."""
WINDOWS = (12, 6, 3, 1)
"""Lines kept around each important line if the executed branches are too long; the first number that fits is used."""
DECORATORS = 400
"""Maximum number of characters of the decorators that are shown of a function that is not the most suspicious one."""
TABLE = 1_000
"""Number of characters above which only the first and last lines of a table are shown."""


def shown(module: ProjectModule, numbers: Collection[int], ran: Collection[int] = ()) -> str:
    """Return the lines `numbers` of `module` as text.

    Lines in `ran` are marked as executed; for each gap, the number of omitted lines is given.
    """
    marked = set(ran) - _inside_strings(module.tree)
    rows: list[str] = []
    left_out: list[str] = []
    for number, line in enumerate(module.lines, 1):
        if number not in numbers:
            left_out.append(line)
            continue
        rows += _gap(left_out)
        left_out = []
        rows.append(f"{line}{RAN}" if number in marked and line.strip() else line)
    return "\n".join((*rows, *_gap(left_out)))


def _gap(left_out: Sequence[str]) -> list[str]:
    """Return a line in place of the omitted lines; if all of these are blank, a blank line."""
    if not any(line.strip() for line in left_out):
        return [""] if left_out else []
    indent = min(len(line) - len(line.lstrip()) for line in left_out if line.strip())
    return [f"{' ' * indent}... {len(left_out)} line{'s' if len(left_out) > 1 else ''}"]


def _inside_strings(tree: ast.AST) -> frozenset[int]:
    """Return the lines that end inside a string, after which no mark can be added."""
    strings = (node for node in ast.walk(tree) if isinstance(node, ast.Constant | ast.JoinedStr))
    return frozenset(line for node in strings for line in range(node.lineno, node.end_lineno or 0))


def folded(
    module: ProjectModule,
    item: Definition,
    ran: Collection[int],
    telling: Collection[int],
    most: int,
    *,
    summary: bool,
) -> frozenset[int]:
    """Return the lines of `item` to show; of a long item only its executed branches and the lines around `telling`.

    `ran`: executed lines, empty if unknown. `telling`: important lines. `most`: if the lines to show have more
    characters, only the signature and a few lines around `telling` are returned. `summary`: the first paragraph of a
    docstring is enough, and long decorators are left out.
    """
    inside = frozenset(telling) & frozenset(item.lines)
    omitted = _long_docstring(module, item.node, summary=summary)
    if summary:
        omitted |= _long_decorators(module, item.node)
    whole = frozenset(item.lines) - (omitted - inside)
    if len(whole) < LONG and module.size(whole) <= most:
        return whole
    kept = whole - frozenset(_untaken(item.node, frozenset(ran))) if whole & frozenset(ran) else whole
    kept |= _around(inside, 2) & whole
    for window in WINDOWS if module.size(kept) > most else ():
        near = frozenset(item.head) | (kept & _around(inside or {min(kept)}, window))
        if module.size(near) <= most or window == WINDOWS[-1]:
            return near
    return kept


def _long_docstring(module: ProjectModule, node: ast.stmt, *, summary: bool) -> frozenset[int]:
    """Return the lines of a function's docstring to omit: if it is long, all but its beginning and its last line."""
    if not isinstance(node, Function) or ast.get_docstring(node) is None:
        return frozenset()
    first, last = node.body[0].lineno, node.body[0].end_lineno or 0
    if last - first < (SUMMARY if summary else DOCSTRING):
        return frozenset()
    blank = (line for line in range(first + 1, last) if summary and not module.lines[line - 1].strip())
    return frozenset(range(min(next(blank, last), first + BEGINNING), last))


def _long_decorators(module: ProjectModule, node: ast.stmt) -> frozenset[int]:
    """Return the lines of the decorators to omit: if they are long, such as the options of a command, all but one."""
    decorators = node.decorator_list if isinstance(node, Function) else []
    lines = frozenset(line for one in decorators for line in range(one.lineno, (one.end_lineno or 0) + 1))
    first = range(decorators[0].lineno, (decorators[0].end_lineno or 0) + 1) if decorators else range(0)
    return lines.difference(first) if module.size(lines) > DECORATORS else frozenset()


def _around(lines: Collection[int], distance: int) -> frozenset[int]:
    return frozenset(near for line in lines for near in range(line - distance, line + distance + 1))


def _untaken(node: ast.AST, ran: frozenset[int]) -> Iterator[int]:
    """Yield the lines of blocks in which no line was executed."""
    parts = (node, *getattr(node, "handlers", ()), *getattr(node, "cases", ()))
    fields = [getattr(part, name, None) for part in parts for name in ("body", "orelse", "finalbody")]
    for block in (field for field in fields if isinstance(field, list) and field):
        lines = range(block[0].lineno, (block[-1].end_lineno or block[-1].lineno) + 1)
        if ran.isdisjoint(lines):
            yield from lines
        else:
            for inner in block:
                yield from _untaken(inner, ran)


def classes_around(module: ProjectModule, item: Definition) -> list[Definition]:
    """Return the classes that contain `item`."""
    classes = (other for other in module.definitions if isinstance(other.node, ast.ClassDef))
    return [outer for outer in classes if outer.first < item.first <= outer.last]


def class_outline(module: ProjectModule, found: Definition) -> Collection[int]:
    """Return the lines of a class's header, its annotated fields and the signature of its `__init__`."""
    fields = [part for part in module.definitions if part.owner is found.node and isinstance(part.node, ast.AnnAssign)]
    init = module.by_name.get(f"{found.name}.__init__")
    return {*range(found.first, found.body), *(n for part in fields for n in part.lines), *(init.head if init else ())}


def table_lines(module: ProjectModule, item: Definition) -> tuple[int, ...]:
    """Return the lines of an assignment; if it is a long table, only its first and last lines."""
    lines = tuple(item.lines)
    if module.size(lines) <= TABLE:
        return lines
    head = next((n for n in range(len(lines), 1, -1) if module.size(lines[:n]) <= TABLE * 0.7), 1)
    tail = next((n for n in range(len(lines) - head, 1, -1) if module.size(lines[-n:]) <= TABLE * 0.3), 1)
    return (*lines[:head], *lines[-tail:])


def signature_lines(module: ProjectModule, most: int, whole: Iterable[Definition]) -> list[int]:
    """Return lines with about `most` characters: the functions `whole`, imports, short constants and signatures."""
    numbers = {line for item in whole for line in item.lines}
    left = most - module.size(numbers)
    spans = [span(node) for node in module.import_statements]
    spans += [
        item.head if isinstance(item.node, Function | ast.ClassDef) else item.lines for item in module.definitions
    ]
    for lines in spans:
        size = module.size(set(lines) - numbers)
        if size <= left:
            numbers.update(lines)
            left -= size
    return sorted(numbers)


def unreadable_line(text: str) -> int:
    """Return the line of a syntax error (1 if unknown); 0 if there is none."""
    try:
        ast.parse(text)
    except SyntaxError as error:
        return error.lineno or 1
    except (ValueError, RecursionError):
        return 1
    return 0


def only_exports(module: ProjectModule) -> bool:
    """Return whether the module is an `__init__.py` with only imports, expressions and names like `__all__`."""
    plain = (ast.Import, ast.ImportFrom, ast.Expr, ast.Assign)
    simple = module.path.endswith("__init__.py") and all(isinstance(node, plain) for node in module.tree.body)
    return simple and all(item.name.startswith("__") for item in module.definitions)
