"""What a block of statements does besides computing its results: it adds to a list, sets attributes, writes a log."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from coderefine.proposers.refactorings.blocks import Extraction, StatementBlock
from coderefine.proposers.refactorings.flow import called
from coderefine.proposers.refactorings.trees import Loop
from coderefine.proposers.refactorings.words import GENERIC, VERBS, last_word, split

ADDING = {"append": "add", "add": "add", "extend": "add", "insert": "add", "update": "update", "appendleft": "add"}
REMOVING = frozenset(("pop", "popitem", "popleft", "remove", "discard", "clear"))
"""Methods of built-in types that take something away."""

WRITING = {"writeline": ("write", "lines"), "writelines": ("write", "lines"), "writerow": ("write", "rows")}
"""The words of names that are written as one word."""


@dataclass(frozen=True, slots=True)
class Effect:
    """One effect, in words: a verb, and what is changed. `verb` is "" if no verb is known for the effect."""

    verb: str
    noun: tuple[str, ...]


def effects(found: Extraction) -> list[Effect]:
    """Return the effects of a block on objects that it has not made itself, in the order of the text."""
    made = found.block.used.bound - {*found.inputs}
    return [one for node in found.block.nodes for one in _of(node, made)]


def main_effect(every: Sequence[Effect]) -> tuple[Effect, float] | None:
    """Return the most frequent effect and its share of all effects; None if no effect has both a verb and a noun."""
    counts = Counter(one for one in every if one.verb and one.noun)
    if not counts:
        return None
    first, count = counts.most_common(1)[0]
    return first, count / len(every)


def only_sets(block: StatementBlock) -> bool:
    """Return whether the block only sets attributes, possibly in branches and loops."""
    ends = [node for node in block.nodes if isinstance(node, ast.stmt) and not isinstance(node, ast.If | Loop)]
    return bool(ends) and all(
        isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(target, ast.Attribute)
        for node in ends
        for target in (node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)])
    )


def _of(node: ast.AST, made: set[str]) -> Iterator[Effect]:
    match node:
        case ast.Expr(value=ast.Call() as call) | ast.Expr(value=ast.Await(value=ast.Call() as call)):
            yield from _of_call(call, made)
        case ast.Assign(targets=[*_, target], value=value):
            read = {last_word(part) for part in ast.walk(value) if isinstance(part, ast.Name | ast.Attribute)}
            yield from _of_target(target, _setting(target, read), made)
            yield from _taken(value, target, made)
        case ast.AugAssign(target=target):
            yield from _of_target(target, "adjust", made)
        case ast.AnnAssign(target=target, value=ast.expr()):
            yield from _of_target(target, "set", made)
        case ast.Delete(targets=[*_, target]):
            yield from _of_target(target, "remove", made)


def _of_call(call: ast.Call, made: set[str]) -> Iterator[Effect]:
    """Yield the effect of a call whose result is not used. `made`: the names of objects that the block has made."""
    name, owner = called(call), _owner(call)
    words = WRITING.get(name) or split(name)
    if name in ADDING or name in REMOVING:
        if owner not in made:
            yield _inserted(call) if name == "insert" else Effect(ADDING.get(name, "remove"), _words(owner))
    elif VERBS.intersection(words[:1]):
        of = _words(last_word(call.args[0])) if call.args else ()
        yield Effect(words[0], tuple(words[1:]) or of or _words(owner))
    else:
        yield Effect("", tuple(words))


def _inserted(call: ast.Call) -> Effect:
    """Return the effect of `items.insert(0, item)`: `insert` of the item if it has a name, else `add` to the list."""
    item = _words(last_word(call.args[1])) if len(call.args) > 1 else ()
    return Effect("insert", item) if item else Effect("add", _words(_owner(call)))


def _of_target(target: ast.AST, verb: str, made: set[str]) -> Iterator[Effect]:
    """Yield the effect of binding an attribute or an item of an object that the block has not made."""
    match target:
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            yield from (effect for part in parts for effect in _of_target(part, verb, made))
        case ast.Attribute(value=ast.Name(id=owner)) if owner in made:
            return
        case ast.Attribute(attr=name):
            yield Effect(verb, _words(name))
        case ast.Subscript(value=inner) if last_word(inner) not in made:
            yield Effect(verb, _words(last_word(inner)))


def _setting(target: ast.expr, read: set[str]) -> str:
    """Return `adjust` if an item of an object is set to a value made from this object, else `set`.

    `read`: the names in the assigned value.
    """
    return "adjust" if isinstance(target, ast.Subscript) and last_word(target.value) in read else "set"


def _taken(value: ast.expr, target: ast.expr, made: set[str]) -> Iterator[Effect]:
    """Yield the effect of an assignment whose value is removed from an object: `item = items.pop()`."""
    if called(value) in REMOVING and isinstance(value, ast.Call) and _owner(value) not in made:
        yield Effect("pop", _words(last_word(target)))


def _owner(call: ast.Call) -> str:
    """Return the last part of the name of the object whose method is called; "" if no method is called."""
    return last_word(call.func.value) if isinstance(call.func, ast.Attribute) else ""


def _words(name: str) -> tuple[str, ...]:
    words = split(name)
    return () if GENERIC.issuperset(words) or all(len(word) < 3 for word in words) else tuple(words)
