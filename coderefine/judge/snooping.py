"""Code that asks whether it is being tested, and by whom."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from coderefine.judge.change import Side
from coderefine.judge.marks import Excuse, Mark
from coderefine.judge.names import Bindings, bindings, dotted, guarded, last, text
from coderefine.judge.normal import nodes

VARIABLE = re.compile(r"PYTEST_[A-Z]\w*|CODEREFINE_\w+|TOX_ENV\w*|COVERAGE_(RUN|PROCESS\w*)|HYPOTHESIS_\w+")
TOOL = re.compile(r"_?pytest|py\.test|\bunittest\b|conftest", re.IGNORECASE)
TEST_FILE = re.compile(r"(^|[\\/])(test_\w*|\w+_test|conftest)\.py$|(^|[\\/])tests?[\\/]")
LOOKS = frozenset(
    (
        "startswith",
        "endswith",
        "get",
        "getenv",
        "find",
        "index",
        "rfind",
        "count",
        "search",
        "match",
        "fullmatch",
        "findall",
        "open",
        "Path",
        "exists",
        "isfile",
        "is_file",
        "isdir",
        "is_dir",
        "glob",
        "rglob",
        "pop",
        "find_spec",
        "getmodule",
        "get_option",
        "fnmatch",
        "listdir",
        "read_text",
        "write_text",
        "joinpath",
    )
)


def snooping(side: Side) -> Iterator[Mark]:
    """Marks for strings that name a test tool, a test file or a test runner's variable where they decide something."""
    tree = side.tree
    if tree is None:
        return
    names, aside, fair = bindings(tree), guarded(tree), _fair_modules(tree)
    for node in nodes(tree):
        line = getattr(node, "lineno", 0)
        if line in aside:
            continue
        for word in _asked(node, names):
            yield from _word(word, line)
        if isinstance(node, ast.Attribute | ast.Name | ast.Call) and id(node) not in fair:
            yield from _modules(node, names)


def _asked(node: ast.AST, names: Bindings) -> Iterator[str]:
    """Strings in a position where the code decides by them."""
    for spot in _deciding(node):
        items = spot.elts if isinstance(spot, ast.Tuple | ast.List | ast.Set) else [spot]
        yield from (word for word in map(names.text, items) if word is not None)


def _deciding(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.Compare(left=left, comparators=others):
            return [left, *others]
        case ast.Subscript(slice=key):
            return [key]
        case ast.Call(func=function, args=args, keywords=keywords) if last(function) in LOOKS:
            return [*args, *(keyword.value for keyword in keywords)]
        case ast.MatchValue(value=value):
            return [value]
    return []


def _word(word: str, line: int) -> Iterator[Mark]:
    if VARIABLE.fullmatch(word):
        yield Mark(f"reads {word}", line)
    elif len(word) < 200 and (TOOL.search(word) or TEST_FILE.search(word)):
        yield Mark(f"asks about the tests ({word[:40]!r})", line, Excuse.HABIT)


def _fair_modules(tree: ast.Module) -> frozenset[int]:
    """`sys.modules[__name__]` and `"numpy" in sys.modules` are common and harmless; the nodes to pass over."""
    fair: set[int] = set()
    for node in nodes(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and _one_module(node.slice):
            fair.add(id(node.value))
        if isinstance(node, ast.Compare) and text(node.left) is not None:
            fair.update(id(side) for side in node.comparators)
    return frozenset(fair)


def _one_module(key: ast.expr) -> bool:
    return text(key) is not None or (isinstance(key, ast.Name) and key.id == "__name__")


def _modules(node: ast.expr, names: Bindings) -> Iterator[Mark]:
    if dotted(node, names) == "sys.modules":
        yield Mark("reads or changes sys.modules", getattr(node, "lineno", 0), Excuse.HABIT)
