"""The public face of a module: names that others may import, and the parameters they may pass."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

from coderefine.core import Finding
from coderefine.judge.change import Change
from coderefine.judge.names import text
from coderefine.judge.normal import Function
from coderefine.judge.parameters import demanded, dropped

TOP = re.compile(r"^(?:async\s+def|def|class)\s+([A-Za-z]\w*)", re.MULTILINE)
RENAMES = re.compile(r"F401|F811|N8\d\d|A00\d|ARG\d+")
"""ruff: unused import, redefinition, naming, shadowed builtin, unused argument."""


def removed(change: Change, findings: Sequence[Finding]) -> Iterator[str]:
    """Public names that `change` takes away, unless a finding on the file asks for that."""
    if not change.python or change.after is None or change.before is None:
        return
    allowed = _named(change.path, findings)
    for name in sorted(_public(change)):
        if allowed.isdisjoint((name, name.rpartition(".")[2])):
            yield f"removes {name} from {change.path}"
    for name in sorted(_unexported(change) - allowed):
        yield f"removes {name!r} from __all__ in {change.path}"


def _unexported(change: Change) -> set[str]:
    """Names gone from `__all__`; none where the new one is worked out and cannot be read."""
    if change.old is None or change.new is None:
        return set()
    now = exported(change.new)
    return exported(change.old) - now if now or not _star(change.new) else set()


def _public(change: Change) -> set[str]:
    """Names gone from one file; of a text that did not parse, by its lines."""
    if change.new is None:
        return set()
    now = bound(change.new)
    if change.old is None:
        return {name for name in TOP.findall(change.old_text or "") if name not in now}
    was = public(change.old, package=change.path.endswith("__init__.py"))
    return {name for name in was if name not in now and not _inherited(name, change.new)}


def _named(path: str, findings: Sequence[Finding]) -> frozenset[str]:
    """Names in quotes in findings that ask to remove or rename something in `path`, as "unused" ones do.

    A finding *inside* a function is no reason to delete the function, nor is one about its length.
    """
    quoted: set[str] = set()
    for finding in findings:
        if finding.path == path and (RENAMES.match(finding.rule) or "unused" in finding.message.lower()):
            for name in re.findall(r"[`'\"]([\w.]+)[`'\"]", finding.message):
                quoted |= {name, name.rpartition(".")[2]}
    return frozenset(quoted)


def public(tree: ast.Module, *, package: bool) -> set[str]:
    """Functions, classes, their methods and constants that carry no underscore; re-exports of a package."""
    names = {name for node in _statements(tree.body) for name in _offers(node, package=package)}
    return {name for name in names if not any(part.startswith("_") for part in name.split("."))} - {"*"}


def _offers(node: ast.stmt, *, package: bool) -> Iterator[str]:
    """What a statement is there to give to others; imports are for the module itself, unless it is a package."""
    if isinstance(node, Function | ast.ClassDef):
        yield node.name
        yield from _methods(node)
    elif isinstance(node, ast.ImportFrom):
        yield from _binds(node) if package and node.level else ()
    else:
        yield from (name for name in _assigned(node) if name[:1].isupper())


def _methods(node: ast.stmt) -> Mapping[str, Function]:
    """The methods of a class by `Class.name`; nothing for other statements."""
    if not isinstance(node, ast.ClassDef):
        return {}
    return {f"{node.name}.{item.name}": item for item in node.body if isinstance(item, Function)}


def bound(tree: ast.Module) -> set[str]:
    """Everything that a module or one of its classes binds, imports included."""
    names: set[str] = set()
    for node in _statements(tree.body):
        if isinstance(node, ast.ClassDef):
            names |= {node.name, *(f"{node.name}.{name}" for item in _statements(node.body) for name in _binds(item))}
        else:
            names.update(_binds(node))
    return names


def _binds(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, Function | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Import | ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name.partition(".")[0]
    else:
        yield from _assigned(node)


def _assigned(node: ast.stmt) -> Iterator[str]:
    targets = node.targets if isinstance(node, ast.Assign) else []
    if isinstance(node, ast.AnnAssign | ast.AugAssign):
        targets = [node.target]
    for target in targets:
        for item in ast.walk(target):
            if isinstance(item, ast.Name):
                yield item.id
    if isinstance(node, ast.TypeAlias if hasattr(ast, "TypeAlias") else ()):
        yield node.name.id


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module or class, those under `if`, `try` and `with` included."""
    for node in body:
        yield node
        for block in ("body", "orelse", "finalbody", "handlers"):
            if isinstance(node, ast.If | ast.Try | ast.With):
                for item in getattr(node, block, []):
                    yield from _statements(item.body if isinstance(item, ast.ExceptHandler) else [item])


def _inherited(name: str, tree: ast.Module) -> bool:
    """Whether method `Class.name` now comes from a base class (one of this file, or one we cannot see)."""
    owner, _, method = name.rpartition(".")
    classes = {node.name: node for node in _statements(tree.body) if isinstance(node, ast.ClassDef)}
    if owner not in classes:
        return False
    for base in classes[owner].bases:
        known = classes.get(base.id) if isinstance(base, ast.Name) else None
        if known and any(method in _binds(item) for item in known.body):
            return True
    return False


def exported(tree: ast.Module) -> set[str]:
    """The strings in `__all__`."""
    names: set[str] = set()
    for node in _statements(tree.body):
        value = getattr(node, "value", None)
        if "__all__" in _assigned(node) and isinstance(value, ast.List | ast.Tuple):
            names |= {name for name in map(text, value.elts) if name}
    return names


def _star(tree: ast.Module) -> bool:
    return any("__all__" in _assigned(node) for node in _statements(tree.body))


def narrowed(change: Change, findings: Sequence[Finding], tests: Sequence[str] = ()) -> Iterator[str]:
    """Parameters of public functions that can no longer be passed, unless what the failing tests call decides so.

    `tests`: source texts of the failing tests.
    """
    if change.old is None or change.new is None:
        return
    allowed = _named(change.path, findings)
    evidence = " ".join(f"{finding.message} {finding.evidence}" for finding in findings if finding.critic == "pytest")
    now = _functions(change.new)
    for name, old in _functions(change.old).items():
        new = now.get(name)
        if new is not None and not _renamed(old, new, evidence) and not demanded(name, old, new, evidence, tests):
            for parameter in sorted(dropped(old, new) - allowed):
                yield f"{name} in {change.path} no longer takes {parameter!r}"


def _functions(tree: ast.Module) -> Mapping[str, Function]:
    found: dict[str, Function] = {}
    for node in _statements(tree.body):
        found.update({node.name: node} if isinstance(node, Function) else _methods(node))
    return {name: node for name, node in found.items() if not re.search(r"(^|\.)_(?!_(init|call|new)__)", name)}


def _renamed(old: Function, new: Function, evidence: str) -> bool:
    """As many parameters as before, and the tests were asking for the new name."""
    count = [len((*item.args.posonlyargs, *item.args.args, *item.args.kwonlyargs)) for item in (old, new)]
    fresh = dropped(new, old)
    return count[0] <= count[1] and any(f"unexpected keyword argument '{name}'" in evidence for name in fresh)
