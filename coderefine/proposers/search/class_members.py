"""The methods and other attributes of the project's classes, and which of them an object may have."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property

from coderefine.proposers.search.syntax import Function, Module
from coderefine.proposers.search.value_kinds import dotted

LIKELY, MOST_MEMBERS, MOST_METHODS = 0.6, 40, 60
"""LIKELY: minimum share of an object's attributes that its likely classes have. MOST_MEMBERS, MOST_METHODS: maximum
number of names that `of_likely` and `methods` return."""


class ClassMembers:
    """The members of all classes of some modules, by the name of the class."""

    def __init__(self, modules: Mapping[str, Module]) -> None:
        self._modules = modules
        self._found: dict[tuple[frozenset[str], bool], tuple[str, ...]] = {}

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """Return the names of the first MOST_METHODS methods of all classes, without special methods."""
        found = {
            stmt.name: None
            for module in self._modules.values()
            for node in module.statements
            if isinstance(node, ast.ClassDef)
            for stmt in node.body
            if isinstance(stmt, Function) and not stmt.name.startswith("__")
        }
        return tuple(found)[:MOST_METHODS]

    @cached_property
    def only_methods(self) -> frozenset[str]:
        """Return the names of functions in classes, without special methods and names that other attributes have, too.

        A decorated function counts as another attribute, because it may be a property.
        """
        found, others = set[str](), set[str]()
        for module in self._modules.values():
            others.update(_stored(module.tree))
            for owner in (node for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef)):
                found.update(methods(owner))
                others.update((*declared(owner), *_decorated(owner)))
        return frozenset(name for name in found - others if not name.startswith("__"))

    def of_likely(self, used: frozenset[str], *, called: bool) -> tuple[str, ...]:
        """Return names of methods (if `called`) or other attributes of the classes that an object probably has.

        `used`: the known attributes of the object. A class is likely if it has at least the share LIKELY of these.
        Return at most MOST_MEMBERS names, without special methods; names that more likely classes have come first.
        """
        if (used, called) not in self._found:
            enough = LIKELY * len(used)
            alike = [one for one in self._members.values() if used and len(used & (one[True] | one[False])) >= enough]
            names = Counter(name for one in alike for name in sorted(one[called]) if not name.startswith("__"))
            self._found[used, called] = tuple(name for name, _ in names.most_common(MOST_MEMBERS))
        return self._found[used, called]

    @cached_property
    def _members(self) -> Mapping[str, Mapping[bool, frozenset[str]]]:
        """Return the methods (True) and the other attributes (False) of each class, including inherited ones."""
        own: dict[str, tuple[list[str], dict[bool, set[str]]]] = {}
        for module in self._modules.values():
            for node in module.statements:
                if isinstance(node, ast.ClassDef):
                    bases, names = own.setdefault(node.name, ([], {True: set(), False: set()}))
                    bases += [dotted(base).rpartition(".")[2] for base in node.bases]
                    names[True].update(methods(node))
                    names[False].update(properties(node), declared(node), own_attributes(node))

        def lineage(name: str, under: frozenset[str] = frozenset()) -> Iterable[dict[bool, set[str]]]:
            if name in own and name not in under:
                yield own[name][1]
                for base in own[name][0]:
                    yield from lineage(base, under | {name})

        return {
            name: {called: frozenset().union(*(one[called] for one in lineage(name))) for called in (True, False)}
            for name in own
        }


def methods(owner: ast.ClassDef) -> Iterable[str]:
    """Yield the names of the functions in the body of a class."""
    return (stmt.name for stmt in owner.body if isinstance(stmt, Function))


def properties(owner: ast.ClassDef) -> Iterable[str]:
    """Yield the names of the methods with a decorator whose name contains "property", such as `cached_property`."""
    for stmt in owner.body:
        if isinstance(stmt, Function) and any("property" in dotted(by) for by in stmt.decorator_list):
            yield stmt.name


def _decorated(owner: ast.ClassDef) -> Iterable[str]:
    return (stmt.name for stmt in owner.body if isinstance(stmt, Function) and stmt.decorator_list)


def _stored(tree: ast.AST) -> Iterable[str]:
    """Yield the names of attributes to which code assigns a value."""
    return (node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store))


def own_attributes(owner: ast.ClassDef) -> Iterable[str]:
    """Yield the attributes of `self` and `cls`, once for each use other than a call.

    An attribute that is only called is a method, which a base class in another file may define.
    """
    called = set()
    for node in ast.walk(owner):  # breadth first: a call comes before the attribute that it calls
        if isinstance(node, ast.Call):
            called.add(node.func)
        elif isinstance(node, ast.Attribute) and node not in called and dotted(node.value) in ("self", "cls"):
            yield node.attr


def declared(owner: ast.ClassDef) -> Iterable[str]:
    """Yield the names that are assigned or annotated directly in the body of a class."""
    for stmt in owner.body:
        if isinstance(stmt, ast.Assign | ast.AnnAssign):
            targets = stmt.targets if isinstance(stmt, ast.Assign) else [stmt.target]
            yield from (name for target in targets if (name := dotted(target)))
