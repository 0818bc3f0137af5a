"""Names that failing tests do not find: does a repair bind them, correct their spelling, or merely evade them?"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from coderefine.proposers.search.index import FileNames
from coderefine.proposers.search.ingredients import BUILTINS
from coderefine.proposers.search.operators.names import SIMILAR, likeness
from coderefine.proposers.search.site import Site
from coderefine.proposers.search.value_kinds import dotted
from coderefine.source import last_name


@dataclass(frozen=True, slots=True)
class Replaced:
    """The tokens that a repair removes and does not insert elsewhere, and all tokens that it inserts."""

    lost: Collection[str]
    added: Collection[str]


def evades(site: Site, replaced: Replaced, after: ast.Module | None) -> bool:
    """Return whether a repair evades a name that failing tests do not find: gives the name up, or leaves it missing.

    The name is an attribute of `self`, or a variable that its module does not bind when it runs. Most likely the name
    should exist, so the right repair binds it or, if it is misspelt, corrects it. A repair gives up a variable by
    replacing it by names that are not similar, and an attribute by replacing it although other code of the class, of
    its bases or of its subclasses uses it; an attribute that `__init__` sets further down is not missing there, but
    read too early. A repair leaves a name missing if code still uses the name and nothing binds
    it: then tests pass only because they no longer reach this code.

    `after`: the module after the repair; None if it is unknown.
    """
    hints, world = site.hints, site.world
    others = [world.file_names(module) for module in world.modules.values() if module.path != site.module.path]
    uses = [*([FileNames.of(after)] if after else []), *others]
    return (bool(hints.absent) and _attribute(site, after, uses, replaced)) or any(
        _variable(name, world.file_names(site.module), uses, replaced) for name in hints.undefined
    )


def _attribute(site: Site, after: ast.Module | None, uses: Sequence[FileNames], replaced: Replaced) -> bool:
    owner = site.module.owner(site.stmt)
    others = (module.tree for module in site.world.modules.values() if module.path != site.module.path)
    related = _related(owner, [*([after] if after else []), *others]) if owner else uses
    of_self = frozenset[str]().union(*(one.of_self for one in related))
    bound = frozenset[str]().union(*(one.bound for one in uses))
    missing = of_self.intersection(site.hints.absent).difference(_set_later(site))
    return any(name in replaced.lost or name not in bound for name in missing)


def _set_later(site: Site) -> Iterator[str]:
    """Yield the attributes of `self` that `__init__` sets after the statement of `site`, if this is in `__init__`."""
    function = site.module.function(site.stmt)
    for node in ast.walk(function) if function and function.name == "__init__" else ():
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.lineno > site.stmt.lineno:
            yield from [node.attr] * (dotted(node.value) == "self")


def _related(owner: ast.ClassDef, trees: Sequence[ast.Module]) -> list[FileNames]:
    """Return the names in the class, in its bases and in its subclasses, as far as `trees` define them."""
    classes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    pairs = {(node.name, last_name(base)) for node in classes for base in node.bases}
    names = _reached(owner.name, pairs) | _reached(owner.name, {(base, name) for name, base in pairs})
    return [FileNames.of(ast.Module(body=[node], type_ignores=[])) for node in classes if node.name in names]


def _reached(name: str, pairs: Collection[tuple[str, str]]) -> set[str]:
    """Return `name`, and the names that are reached from it by pairs (from, to)."""
    found = {name}
    while more := {end for start, end in pairs if start in found} - found:
        found |= more
    return found


def _variable(name: str, before: FileNames, uses: Sequence[FileNames], replaced: Replaced) -> bool:
    if name in replaced.lost and (name in before.for_types or not before.binds(name)):
        words = filter(str.isidentifier, replaced.added)
        return not any(likeness(name, word) >= SIMILAR or word in name for word in words)
    return name not in BUILTINS and any(name in one.read and not one.binds(name) for one in uses)
