"""Names that failing tests do not find: does a repair bind them, correct their spelling, or merely evade them?"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from coderefine.proposers.search.index import FileNames
from coderefine.proposers.search.ingredients import BUILTINS
from coderefine.proposers.search.operators.names import SIMILAR, likeness
from coderefine.proposers.search.site import Site
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
    its bases or of its subclasses uses it. A repair leaves a name missing if code still uses the name and nothing binds
    it: then tests pass only because they no longer reach this code.

    `after`: the module after the repair; None if it is unknown.
    """
    hints, world = site.hints, site.world
    others = [world.file_names(module) for module in world.modules.values() if module.path != site.module.path]
    uses = [*([FileNames.of(after)] if after else []), *others]
    if hints.absent:
        trees = [module.tree for module in world.modules.values() if module.path != site.module.path]
        related = _related(site.module.owner(site.stmt), [*([after] if after else []), *trees])
        of_self = frozenset[str]().union(*(one.of_self for one in (uses if related is None else related)))
        bound = frozenset[str]().union(*(one.bound for one in uses))
        if any(name in replaced.lost or name not in bound for name in of_self.intersection(hints.absent)):
            return True
    return any(_variable(name, world.file_names(site.module), uses, replaced) for name in hints.undefined)


def _related(owner: ast.ClassDef | None, trees: Sequence[ast.Module]) -> list[FileNames] | None:
    """Return the names in the class, in its bases and in its subclasses, as far as `trees` define them.

    Return None if there is no class.
    """
    if owner is None:
        return None
    classes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    bases = {node: {last_name(base) for base in node.bases} for node in classes}
    below, above = {owner.name}, {owner.name}
    while more := {node.name for node in classes if not below.isdisjoint(bases[node])} - below:
        below |= more
    while more := {name for node in classes if node.name in above for name in bases[node]} - above:
        above |= more
    found = [node for node in classes if node.name in below | above]
    return [FileNames.of(ast.Module(body=[node], type_ignores=[])) for node in found]


def _variable(name: str, before: FileNames, uses: Sequence[FileNames], replaced: Replaced) -> bool:
    if name in replaced.lost and (name in before.for_types or not before.binds(name)):
        words = filter(str.isidentifier, replaced.added)
        return not any(likeness(name, word) >= SIMILAR or word in name for word in words)
    return name not in BUILTINS and any(name in one.read and not one.binds(name) for one in uses)
