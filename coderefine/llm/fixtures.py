"""The fixtures that failing tests take from conftest.py files: half of such a test stands there."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePosixPath

from coderefine.llm.excerpt import joined, names_in, support
from coderefine.llm.outline import Function, parsed


def shared(sources: Mapping[str, str], text: Callable[[str], str | None]) -> dict[str, str]:
    """Excerpts by path of the conftest.py files above the tests in `sources` (their excerpts by path).

    What the tests name is shown, what that needs in turn, and what is used by every test (autouse). The nearest
    definition of a name counts, as in pytest. `text` gives a file's text, None when there is none.
    """
    found: dict[str, str] = {}
    for path, source in sources.items():
        wanted = _asked(source)
        for place in _above(path):
            shown, wanted = _excerpt(text(place) or "", wanted)
            if shown:
                found.setdefault(place, shown)
    return found


def _above(path: str) -> Iterator[str]:
    """conftest.py beside `path`, then in each folder above it."""
    return ((folder / "conftest.py").as_posix() for folder in PurePosixPath(path).parents)


def _asked(source: str) -> frozenset[str]:
    """Names in the tests, and those that their decorators quote (`usefixtures`)."""
    tree = parsed(source)
    if tree is None:
        return frozenset()
    quoted = (
        item.value
        for node in ast.walk(tree)
        if isinstance(node, Function | ast.ClassDef)
        for decorator in node.decorator_list
        for item in ast.walk(decorator)
        if isinstance(item, ast.Constant) and isinstance(item.value, str)
    )
    return names_in((tree,)) | frozenset(quoted)


def _excerpt(text: str, wanted: frozenset[str]) -> tuple[str, frozenset[str]]:
    """What of a conftest.py is `wanted`, and what is still wanted of those above it."""
    tree = parsed(text)
    if not text or tree is None:
        return "", wanted
    chosen: dict[str, Function] = {}
    for _ in range(len(tree.body)):
        new = {name: node for name, node in _fixtures(tree, wanted) if name not in chosen}
        if not new:
            break
        chosen |= new
        wanted |= names_in(new.values())
    nodes = list(chosen.values())
    shown = joined(text, {*nodes, *support(tree, nodes)}) if nodes else ""
    # A fixture that asks for one of its own name means the one further up.
    asked = {item.arg for node in nodes for item in node.args.args}
    return shown, wanted - (frozenset(chosen) - asked)


def _fixtures(tree: ast.Module, wanted: frozenset[str]) -> Iterator[tuple[str, Function]]:
    functions = [node for node in tree.body if isinstance(node, Function)]
    for node in functions:
        for decorator in node.decorator_list:
            given = _given(decorator)
            if given is None:
                continue
            name = _name(given, node.name)
            if name in wanted or "autouse" in given:
                yield name, node


def _given(decorator: ast.expr) -> dict[str | None, ast.expr] | None:
    """The keywords that `pytest.fixture` is given; None when the decorator is another one."""
    call = decorator if isinstance(decorator, ast.Call) else None
    if not ast.unparse(call.func if call else decorator).split(".")[-1].endswith("fixture"):
        return None
    return {keyword.arg: keyword.value for keyword in call.keywords} if call else {}


def _name(given: Mapping[str | None, ast.expr], usual: str) -> str:
    """What tests call the fixture: its function's name unless told otherwise."""
    told = given.get("name")
    return told.value if isinstance(told, ast.Constant) and isinstance(told.value, str) else usual
