"""The source of failing tests, with the fixtures and constants of the same file that they use."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from coderefine.llm.modules import first_line
from coderefine.llm.outline import Function, parsed

LONGEST = 1_800
"""Characters from which a test is shown by its head and what is around the lines that failed."""

HEAD, AROUND = 8, 10
"""Lines of a long test that are shown: its first ones, and those on each side of a failing line."""

SET_UP = frozenset({"setUp", "setup_method", "asyncSetUp", "setUpClass", "setup_class", "setup"})


def excerpt(
    text: str, ids: Iterable[str], *, also: Collection[str] = (), lines: Collection[int] = (), most: int = 1_000_000
) -> str:
    """The parts of test file `text` that the tests `ids` (pytest node ids) consist of, in file order.

    `also`: qualified names of further tests. `lines`: where they failed. At most about `most` characters of tests,
    the first one in any case. Nothing when the file does not parse or the tests are not plain functions of it.
    """
    tree = parsed(text)
    if tree is None:
        return ""
    named = dict.fromkeys(tuple(test.partition("::")[2].split("[")[0].split("::")) for test in ids)
    named |= dict.fromkeys(tuple(name.split(".")) for name in sorted(also))
    found = dict.fromkeys(node for names in named for node in _named(tree.body, names))
    tests, left_out = _fitting(list(found), text, lines, most)
    shown = joined(text, {*tests, *_set_up(tree, tests), *support(tree, tests)}, lines)
    more = f"\n\n# further tests of the kind: {', '.join(node.name for node in left_out)}" if left_out else ""
    return shown + more


def _fitting(
    tests: Sequence[Function], text: str, lines: Collection[int], most: int
) -> tuple[list[Function], list[Function]]:
    """The tests that fit into `most` characters, in order, and those that do not."""
    rows = text.split("\n")
    kept: list[Function] = []
    left_out: list[Function] = []
    for node in tests:
        size = len(_source(node, rows, lines))
        (kept if not kept or size <= most else left_out).append(node)
        most -= size if kept[-1] is node else 0
    return kept, left_out


def _set_up(tree: ast.Module, tests: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """What unittest and pytest run before the tests: set-up methods of their classes and of those they inherit from,
    and other methods and attributes that the tests take from `self`."""
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    wanted = set(tests)
    for owner in [node for node in classes.values() if wanted & set(ast.walk(node))]:
        members = _members(_lineage(owner, classes))
        chosen = _with_used([test for test in tests if test in owner.body], members)
        yield from (item for item in chosen if not _is_test(item))


def _members(lineage: Sequence[ast.ClassDef]) -> dict[str, ast.stmt]:
    """Map the names that a class has to their statements, those of bases replaced by its own."""
    return {name: item for base in reversed(lineage) for item in base.body for name in _defines(item)}


def _with_used(tests: Sequence[ast.stmt], members: Mapping[str, ast.stmt]) -> list[ast.stmt]:
    """Add to the tests the set-up methods and the members that they use, two levels deep."""
    chosen = list(tests)
    for _ in range(2):
        used = SET_UP | _attributes(chosen)
        chosen += [item for name, item in members.items() if name in used and item not in chosen]
    return chosen


def _attributes(nodes: Iterable[ast.stmt]) -> set[str]:
    """Collect the names of all attributes in the statements."""
    return {item.attr for node in nodes for item in ast.walk(node) if isinstance(item, ast.Attribute)}


def _lineage(owner: ast.ClassDef, classes: Mapping[str, ast.ClassDef]) -> list[ast.ClassDef]:
    """The class and those of its bases that are in the same file, itself first."""
    found = [owner]
    for node in found:
        bases = (classes.get(base.id) for base in node.bases if isinstance(base, ast.Name))
        found += [base for base in bases if base and base not in found]
    return found


def joined(text: str, chosen: Iterable[ast.stmt], lines: Collection[int] = ()) -> str:
    """The source of the statements `chosen` of `text`, in file order; long ones around the failing `lines`."""
    rows = text.split("\n")
    ordered = sorted(chosen, key=lambda node: (first_line(node), node.end_lineno or node.lineno))
    texts = [(node, _source(node, rows, lines)) for node in ordered]
    return "".join(
        f"{_between(node, before)}{text}" for (node, text), before in zip(texts, [None, *ordered], strict=False)
    )


def _between(node: ast.stmt, before: ast.stmt | None) -> str:
    """Lines between two statements: a blank one, except between imports and between assignments."""
    if before is None:
        return ""
    plain = (ast.Import, ast.ImportFrom), (ast.Assign, ast.AnnAssign)
    return "\n" if any(isinstance(node, kind) and isinstance(before, kind) for kind in plain) else "\n\n"


def _source(node: ast.stmt, rows: Sequence[str], lines: Collection[int]) -> str:
    first, last = first_line(node), node.end_lineno or node.lineno
    whole = textwrap.dedent("\n".join(rows[first - 1 : last]))
    if len(whole) <= LONGEST:
        return whole
    failing = [line for line in lines if first <= line <= last] or [last]
    kept = {*range(first, first + HEAD), node.lineno, last}
    kept |= {near for line in failing for near in range(line - AROUND, line + AROUND + 1)}
    return textwrap.dedent("\n".join(_abridged(rows, range(first, last + 1), kept)))


def _abridged(rows: Sequence[str], numbers: Iterable[int], kept: Collection[int]) -> list[str]:
    """List the kept lines, with a note where lines between them are left out."""
    shown: list[str] = []
    missing = 0
    for number in numbers:
        if number in kept:
            shown += [f"    ... {missing} lines"] * bool(missing)
            shown.append(rows[number - 1])
        missing = 0 if number in kept else missing + 1
    return shown


def _named(body: Iterable[ast.stmt], names: tuple[str, ...]) -> Iterator[Function]:
    """The function that `names` leads to through classes."""
    for node in body:
        if isinstance(node, Function | ast.ClassDef) and names and node.name == names[0]:
            if len(names) == 1 and isinstance(node, Function):
                yield node
            elif isinstance(node, ast.ClassDef):
                yield from _named(node.body, names[1:])


def support(tree: ast.Module, tests: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """What the tests need of their own file: imports, and functions and constants named in them, two levels deep."""
    names = names_in(tests)
    for _ in range(2):
        named = [node for node in tree.body if _defines(node) & names and not isinstance(node, ast.ClassDef)]
        names = names | names_in(named)
    yield from (node for node in named if not _is_test(node))
    yield from (node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom) and _defines(node) & names)


def _is_test(node: ast.stmt) -> bool:
    return isinstance(node, Function) and node.name.startswith("test")


def names_in(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Names read in `nodes`, and their parameters: those are fixtures."""
    return frozenset(
        item.id if isinstance(item, ast.Name) else item.arg
        for node in nodes
        for item in ast.walk(node)
        if isinstance(item, ast.Name | ast.arg)
    )


def _defines(node: ast.stmt) -> frozenset[str]:
    if isinstance(node, Function | ast.ClassDef):
        return frozenset({node.name})
    if isinstance(node, ast.Import | ast.ImportFrom):
        return frozenset((alias.asname or alias.name).split(".")[0] for alias in node.names)
    if isinstance(node, ast.Assign | ast.AnnAssign):
        return frozenset(
            item.id for item in ast.walk(node) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)
        )
    return frozenset()


def imports(text: str) -> tuple[str, ...]:
    """Dotted names that `text` imports, `from a import b` as both `a` and `a.b`; relative ones keep their dots."""
    tree = parsed(text)
    return tuple(dict.fromkeys(name for node in ast.walk(tree) for name in _imported(node))) if tree else ()


def _imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = "." * node.level + (node.module or "")
        yield base
        yield from (f"{base}{'' if base.endswith('.') else '.'}{alias.name}" for alias in node.names)
