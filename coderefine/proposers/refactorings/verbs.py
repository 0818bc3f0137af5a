"""The verb in the name of an extracted function: from how its results are computed, or from its calls."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from coderefine.proposers.refactorings.blocks import Extraction, StatementBlock
from coderefine.proposers.refactorings.effects import ADDING
from coderefine.proposers.refactorings.flow import called
from coderefine.proposers.refactorings.trees import Loop
from coderefine.proposers.refactorings.words import VERBS, split

CHECKING = frozenset(("check", "validate", "verify"))
DIVIDED = frozenset(
    """apply check convert decode draw dump emit encode format handle load parse print read render send serialize show
    update validate verify visit write""".split()
)
"""Verbs of functions that do the same with each part of something: they also describe what is done with one part."""
MAKING = frozenset(("build", "choose", "compute"))
"""Verbs that need an object which says what is made."""
READING = frozenset(("get", "strip", "join", "split", "replace", "format"))
"""Methods of built-in types: their names do not describe a block."""
MADE = ast.JoinedStr | ast.List | ast.Dict | ast.Set | ast.Tuple | ast.ListComp | ast.DictComp | ast.SetComp | ast.BinOp

SIGNS: dict[object, str] = {
    "\n": "newline",
    b"\n": "newline",
    " ": "space",
    ",": "comma",
    ".": "period",
    ";": "semicolon",
}
"""Words for texts that are appended."""


def making(found: Extraction, own: Sequence[str]) -> str:
    """Return a verb for the new function's name, such as `collect` or `find`; it depends on how results are computed.

    `own`: the words of the original function's name.
    """
    block, names = found.block, found.outputs
    given = set(names) <= {*found.inputs}
    if verb := _checking(block, own, given=given):
        return verb
    made = list(_assigned(block, names))
    verbs = {_assigning(value) for value in made}
    if len(verbs) == 1 and (verb := verbs.pop()):
        return verb
    if any(isinstance(node, Loop) for node in block.body):
        return _looping(block, names)
    return (
        _changing(block, names, made)
        if given
        else _composing(block, names) or _choosing(made, raises=ast.Raise in map(type, block.nodes))
    )


def _checking(block: StatementBlock, own: Sequence[str], *, given: bool) -> str:
    """Return the verb for a block with a `raise`; "" for other blocks, or if no verb is known.

    It is the verb of the function (`own`, see `making`) if this is in CHECKING. Else, if all results are also
    parameters (`given`), it is `resolve` for a block that sets a default, or `validate`.
    """
    if ast.Raise not in map(type, block.nodes):
        return ""
    if CHECKING.issuperset(own[:1] or ("",)):
        return own[0]
    return ("resolve" if any(map(_is_default, block.body)) else "validate") * given


def _is_default(node: ast.stmt) -> bool:
    """Return whether a statement gives a value to a variable that is None."""
    match node:
        case ast.If(
            test=ast.Compare(left=ast.Name(id=tested), ops=[ast.Is()], comparators=[ast.Constant(value=None)]),
            body=[ast.Assign(targets=[ast.Name(id=bound)])],
        ):
            return tested == bound
    return False


def _composing(block: StatementBlock, names: Collection[str]) -> str:
    """Return the verb (`build` or `compute`) for a result that `+=` or a similar operator changes; "" if none does."""
    changes = list(_changes(block, names))
    text = all(isinstance(node.op, ast.Add) and not _is_number(node.value) for node in changes)
    return ("build" if text else "compute") if changes else ""


def _changing(block: StatementBlock, names: Collection[str], made: Sequence[ast.expr]) -> str:
    """Return the verb for results that are parameters, too. `made`: the values assigned to `names`."""
    adding = all(isinstance(node.op, ast.Add) and added_to(node) for node in _changes(block, names))
    return "extend" if adding and not made else "adjust"


def appended(block: StatementBlock, names: Collection[str]) -> str:
    """Return the word, such as `comma`, for the text that the block appends to `names`; "" if there is no such word.

    Return "" also if the block changes `names` in another way.
    """
    values = [node.value if isinstance(node.op, ast.Add) else None for node in _changes(block, names)]
    if list(_assigned(block, names)):
        return ""
    words = {SIGNS.get(value.value, "") if isinstance(value, ast.Constant) else "" for value in values}
    return words.pop() if len(words) == 1 else ""


def _is_number(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and isinstance(value.value, int | float)


def _changes(block: StatementBlock, names: Collection[str]) -> Iterator[ast.AugAssign]:
    """Yield the statements like `a += b` that change one of `names`."""
    for node in block.nodes:
        if isinstance(node, ast.AugAssign) and getattr(node.target, "id", "") in names:
            yield node


def _choosing(made: Sequence[ast.expr], *, raises: bool = False) -> str:
    """Return the verb for a result that is one of the values `made`. `raises`: whether the block may raise instead."""
    if not made:
        return "compute"
    if all(isinstance(value, MADE) for value in made):
        return "build"
    if raises and isinstance(made[0], ast.Subscript):
        return "find"
    given = ast.Name | ast.Attribute | ast.Constant
    several = len({ast.dump(value) for value in made}) > 1
    return "choose" if several and all(isinstance(value, given) for value in made) else "compute"


def answering(block: StatementBlock) -> str:
    """Return the verb for the result of the block: a truth value, another value, or nothing."""
    values = [node.value for node in block.nodes if isinstance(node, ast.Return) and node.value is not None]
    if values and all(_is_answer(value) for value in values):
        return "check"
    names = {getattr(value, "id", "") for value in values}
    return _choosing(list(_assigned(block, names)) if len(names) == 1 else values) if values else "process"


def _is_answer(value: ast.expr) -> bool:
    match value:
        case ast.Constant(value=bool()) | ast.Compare() | ast.UnaryOp(op=ast.Not()):
            return True
        case ast.Call(func=ast.Name(id="any" | "all" | "isinstance" | "bool")):
            return True
    return False


def decided(block: StatementBlock) -> Iterator[ast.expr]:
    """Yield the condition of each `if` that only returns True or False."""
    for node in block.nodes:
        match node:
            case ast.If(test=test, body=[ast.Return(value=ast.Constant(value=bool()))]):
                yield test


def _looping(block: StatementBlock, names: Sequence[str]) -> str:
    """Return `collect`, `find` or `compute`, the verb for how a loop computes its results."""
    numbers = any(isinstance(value, ast.Constant) and isinstance(value.value, int) for value in _assigned(block, names))
    if not numbers and any(added_to(node) in names for node in block.nodes):
        return "collect"
    return "find" if any(isinstance(node, ast.Break) for node in block.nodes) else "compute"


def added_to(node: ast.AST) -> str:
    """Return the variable that `node` extends: by `+=` or the like, a method in ADDING, or setting an item; "" if none.

    An operator with a constant does not count.
    """
    match node:
        case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name))]):
            return name
        case ast.AugAssign(target=ast.Name(id=name), value=value):
            return "" if isinstance(value, ast.Constant) else name
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)) if method in ADDING:
            return name
    return ""


def _assigned(block: StatementBlock, names: Collection[str]) -> Iterator[ast.expr]:
    """Yield the values that are assigned to `names`."""
    for node in block.nodes:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if isinstance(node, ast.Assign | ast.AnnAssign) and any(getattr(item, "id", "") in names for item in targets):
            yield from filter(None, [node.value])


def _assigning(value: ast.expr) -> str:
    """Return the verb with which the name of the called function begins; "" if there is none, or it is in READING."""
    return next((word for word in split(called(value))[:1] if word in VERBS and word not in READING), "")


def last_verb(block: StatementBlock) -> str:
    calls = [node.value for node in block.nodes if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)]
    verbs = Counter(verb for call in calls if (verb := _verb(called(call))))
    return verbs.most_common(1)[0][0] if verbs else ""


def _verb(name: str) -> str:
    if name in ADDING:
        return ADDING[name]
    return next((word for word in split(name)[:1] if word in VERBS), "")
