"""Source of failing tests, with the code of the same file that they use and the fixtures of conftest.py files."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import PurePosixPath

from coderefine.core import without_parameters
from coderefine.core.plurals import listed
from coderefine.llm.modules import names_and_attributes, span
from coderefine.source import Function, first_line, syntax

LONGEST = 800
"""Number of characters above which only the head of a test and the surroundings of failing lines are shown."""
SHARED = 400
"""Minimum number of characters reserved for other code of the test file that the tests use."""
NAMES = 6
"""Maximum number of tests that are only named."""
HEAD, BEFORE, AFTER = 6, 8, 3
"""Number of lines shown of a long test: at its beginning, before a failing line, and after a failing line."""
ALWAYS = 4
"""Maximum number of lines of an autouse fixture that is shown although no test names it."""
SET_UP = frozenset({
    "setUp", "setup_method", "asyncSetUp", "setUpClass", "setup_class", "setup", "setUpModule", "setup_module",
    "setup_function",
})  # fmt: skip


def excerpt(
    text: str, ids: Iterable[str], *, also: Iterable[str] = (), lines: Collection[int] = (), most: int = 1_000_000
) -> str:
    """Return an excerpt of the test file `text` with the tests `ids` (pytest node ids), in file order.

    `also`: qualified names of further definitions, the most important first. `lines`: lines that failed. The result has
    about `most` characters, but contains at least one test. Return "" if the file does not parse or defines none of the
    tests.
    """
    tree = syntax(text)
    if tree is None:
        return ""
    named = [without_parameters(test).split("::")[1:] for test in ids]
    named += [name.split(".") for name in also]
    rows = text.split("\n")
    kept: list[ast.stmt] = []
    left_out: list[ast.stmt] = []
    for node in dict.fromkeys(chain.from_iterable(_named(tree.body, names) for names in named)):
        size = len(_source(node, rows, lines))
        if kept and size > most:
            left_out.append(node)
        else:
            kept.append(node)
            most -= size
    used = _fitting((*_set_up(tree, kept), *_support(tree, kept)), rows, lines, max(most, SHARED))
    shown = joined(text, {*kept, *used}, lines)
    names = _test_names(left_out)
    return f"{shown}\n\n# further tests of the kind: {listed(names, NAMES)}" if names else shown


def _test_names(nodes: Iterable[ast.stmt]) -> list[str]:
    return [node.name for node in nodes if isinstance(node, Function) and is_test(node)]


def _fitting(nodes: Iterable[ast.stmt], rows: Sequence[str], lines: Collection[int], most: int) -> Iterator[ast.stmt]:
    """Yield `nodes` in order, but skip each node for which too few of the `most` characters are left."""
    for node in dict.fromkeys(nodes):
        size = len(_source(node, rows, lines))
        if size <= most:
            most -= size
            yield node


def joined(text: str, chosen: Iterable[ast.stmt], lines: Collection[int] = ()) -> str:
    """Join the source of the statements `chosen` of `text`, in file order, separated by blank lines.

    Imports and assignments are not separated. A long statement is reduced to its head and the surroundings of the
    failing `lines`; an import of several lines is reduced to the names that the other statements use.
    """
    rows = text.split("\n")
    nodes = sorted(chosen, key=lambda node: (first_line(node), node.end_lineno or node.lineno))
    names = _names_in(node for node in nodes if not isinstance(node, ast.ImportFrom))
    shown, before = "", None
    for node in nodes:
        dense = any(
            isinstance(node, kind) and isinstance(before, kind)
            for kind in ((ast.Import, ast.ImportFrom), (ast.Assign, ast.AnnAssign))
        )
        source = (len(span(node)) > 1 and _reduced(node, names)) or _source(node, rows, lines)
        shown += ("\n" if dense else "\n\n") * bool(before) + source
        before = node
    return shown


def conftest_excerpts(sources: Mapping[str, str], read: Callable[[str], str | None]) -> dict[str, str]:
    """Return excerpts, by path, of the conftest.py files for the tests in `sources` (excerpts of tests, by path).

    An excerpt contains the fixtures that the tests name, code that the fixtures need, and autouse fixtures. If a name
    is defined several times, the nearest definition counts, as in pytest. `read` returns a file's text, or None.
    """
    found: dict[str, str] = {}
    for path, source in sources.items():
        wanted = _requested(source)
        for folder in PurePosixPath(path).parents:
            place = (folder / "conftest.py").as_posix()
            shown, wanted = _conftest(read(place) or "", wanted)
            if shown:
                found.setdefault(place, shown)
    return found


def _named(body: Iterable[ast.stmt], names: Sequence[str]) -> Iterator[ast.stmt]:
    """Yield the definitions whose qualified name has the parts `names`."""
    for node in body:
        if len(names) == 1 and names[0] in _defines(node) and not isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.ClassDef) and names[:1] == [node.name]:
            yield from _named(node.body, names[1:])


def _source(node: ast.stmt, rows: Sequence[str], lines: Collection[int]) -> str:
    """Return the source of a statement.

    Of a long statement, return only its head, its last line, and the surroundings of the failing `lines` in it (if
    there are none, those of its last line).
    """
    numbers = span(node)
    whole = textwrap.dedent("\n".join(rows[numbers.start - 1 : numbers.stop - 1]))
    if len(whole) <= LONGEST:
        return whole
    last = numbers.stop - 1
    failing = [line for line in lines if line in numbers] or [last]
    kept = {*range(numbers.start, numbers.start + HEAD), node.lineno, last}
    kept |= {near for line in failing for near in range(line - BEFORE, line + AFTER + 1)}
    shown: list[str] = []
    left_out = 0
    for number in numbers:
        if number in kept:
            shown += [f"    ... {left_out} lines"] * bool(left_out) + [rows[number - 1]]
        left_out = 0 if number in kept else left_out + 1
    return textwrap.dedent("\n".join(shown))


def _reduced(node: ast.stmt, names: Collection[str]) -> str:
    """Return the source of a `from` import with only those names that are in `names`; "" for other statements.

    If none of the imported names is in `names`, all are kept.
    """
    if not isinstance(node, ast.ImportFrom):
        return ""
    used = [alias for alias in node.names if (alias.asname or alias.name) in names]
    return ast.unparse(ast.ImportFrom(node.module, used or node.names, node.level))


def _set_up(tree: ast.Module, tests: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield setup methods of the tests' classes and base classes, and members of these classes that the tests use.

    Members that the yielded members use are yielded too, but no members beyond these.
    """
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    for owner in (node for node in classes.values() if not set(tests).isdisjoint(ast.walk(node))):
        chosen = _with_used([test for test in tests if test in owner.body], _members(owner, classes))
        yield from (item for item in chosen if not is_test(item))


def _with_used(tests: Sequence[ast.stmt], members: Mapping[str, ast.stmt]) -> list[ast.stmt]:
    chosen = list(tests)
    for _ in range(2):
        used = SET_UP | {item.attr for node in chosen for item in ast.walk(node) if isinstance(item, ast.Attribute)}
        chosen += [item for name, item in members.items() if name in used and item not in chosen]
    return chosen


def _members(owner: ast.ClassDef, classes: Mapping[str, ast.ClassDef]) -> dict[str, ast.stmt]:
    """Return the statements that define a class's attributes, by name, including those inherited in the same file."""
    lineage = [owner]
    for node in lineage:
        bases = (classes.get(base.id) for base in node.bases if isinstance(base, ast.Name))
        lineage += [base for base in bases if base and base not in lineage]
    return {name: item for base in reversed(lineage) for item in base.body for name in _defines(item)}


def _support(tree: ast.Module, tests: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the code of the same file that the tests need: imports, functions and constants, two levels deep."""
    names = _names_in(tests)
    for _ in range(2):
        named = [node for node in tree.body if _defines(node) & names and not isinstance(node, ast.ClassDef)]
        names = names | _names_in(named)
    yield from (node for node in named if not is_test(node))
    yield from (node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom) and _defines(node) & names)


def is_test(node: ast.AST) -> bool:
    return isinstance(node, Function) and node.name.startswith("test")


def _names_in(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Return the names that `nodes` use, and the names of their parameters, because a parameter may name a fixture."""
    return frozenset(
        item.id if isinstance(item, ast.Name) else item.arg
        for node in nodes
        for item in ast.walk(node)
        if isinstance(item, ast.Name | ast.arg)
    )


def _defines(node: ast.stmt) -> frozenset[str]:
    """Return the names that a definition, an import or an assignment binds; none for any other statement."""
    if isinstance(node, Function | ast.ClassDef):
        return frozenset({node.name})
    if isinstance(node, ast.Import | ast.ImportFrom):
        return frozenset((alias.asname or alias.name).split(".")[0] for alias in node.names)
    stored = ast.walk(node) if isinstance(node, ast.Assign | ast.AnnAssign) else ()
    return frozenset(item.id for item in stored if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store))


def _requested(source: str) -> frozenset[str]:
    """Return the names that may be fixtures: all names in the tests, and the strings in decorators (`usefixtures`)."""
    tree = syntax(source)
    if tree is None:
        return names_and_attributes(source)
    decorated = (node for node in ast.walk(tree) if isinstance(node, Function | ast.ClassDef))
    decorators = (item for node in decorated for decorator in node.decorator_list for item in ast.walk(decorator))
    quoted = (item.value for item in decorators if isinstance(item, ast.Constant) and isinstance(item.value, str))
    return _names_in((tree,)) | frozenset(quoted)


def _conftest(text: str, wanted: frozenset[str]) -> tuple[str, frozenset[str]]:
    """Return the parts of a conftest.py that define `wanted` names, and the names to look up in parent folders."""
    tree = syntax(text)
    if not text or tree is None:
        return "", wanted
    chosen: dict[str, Function] = {}
    for _ in range(len(tree.body)):
        new = {name: node for name, node in _fixtures(tree, wanted) if name not in chosen}
        if not new:
            break
        chosen |= new
        wanted |= _names_in(new.values())
    nodes = list(chosen.values())
    shown = joined(text, {*nodes, *_support(tree, nodes)}) if nodes else ""
    # A fixture that requests a fixture of the same name refers to the one of a parent folder.
    asked = {item.arg for node in nodes for item in node.args.args}
    return shown, wanted - (frozenset(chosen) - asked)


def _fixtures(tree: ast.Module, wanted: frozenset[str]) -> Iterator[tuple[str, Function]]:
    """Yield (name, function) of the fixtures in `wanted`, and of the short fixtures that every test uses (autouse)."""
    for node in (node for node in tree.body if isinstance(node, Function)):
        for options in map(_fixture_options, node.decorator_list):
            if options is None:
                continue
            named = options.get("name")
            name = named.value if isinstance(named, ast.Constant) else node.name
            if name in wanted or ("autouse" in options and len(span(node)) <= ALWAYS):
                yield str(name), node


def _fixture_options(decorator: ast.expr) -> dict[str | None, ast.expr] | None:
    """Return the keyword arguments of `pytest.fixture`; None for any other decorator."""
    call = decorator if isinstance(decorator, ast.Call) else None
    if not ast.unparse(call.func if call else decorator).split(".")[-1].endswith("fixture"):
        return None
    return {keyword.arg: keyword.value for keyword in call.keywords} if call else {}
