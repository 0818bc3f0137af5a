"""Names for extracted functions: from what a block computes, calls and decides on, or from the comment above it."""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from coderefine.proposers.refactorings.blocks import Extraction, StatementBlock
from coderefine.proposers.refactorings.extraction import remarks_above
from coderefine.proposers.refactorings.flow import called
from coderefine.proposers.refactorings.trees import Loop
from coderefine.proposers.refactorings.verbs import answering, decided, last_verb, making, only_sets
from coderefine.proposers.refactorings.words import GENERIC, SKIPPED, STOPPED, VERBS, split

LONGEST, MOST_REMARKS = 34, 2
"""Characters of a name; lines of a comment from which a name is taken."""
DOES_MORE, INPUTS = 0.5, 0.4
"""Cost of a name that describes a result if the block has other effects, too, and of one from a parameter's name."""
Named = tuple[str, float]
"""A name and its cost: how badly it describes the function (0 is best)."""


def name_for(found: Extraction) -> Named | None:
    """Return the best name for the extracted function, None if no words describe it."""
    unit = found.block.unit
    taken = unit.taken | unit.names | set(dir(builtins))
    for words, cost in _ideas(found):
        name = "_" + "_".join(words)
        if words and len(name) <= LONGEST and name.isidentifier() and name not in taken and not keyword.iskeyword(name):
            return name, cost
    return None


def _ideas(found: Extraction) -> Iterator[tuple[list[str], float]]:
    block = found.block
    if block.is_divided:
        yield from _others(block)
    elif words := _remark(block):
        yield words, 0.0
    if _only(block, ast.Raise):
        yield from ((["check", *noun], cost) for noun, cost in _nouns(found))
    if results := found.outputs or _returned(found):
        yield from _computed(replace(found, outputs=results))
    yield from ((_action(found, noun), (0.9 if found.outputs else 0.3) + cost) for noun, cost in _nouns(found))


def _others(block: StatementBlock) -> Iterator[tuple[list[str], float]]:
    """Yield words for several branches of a decision, which no single condition describes: `parse_other_value`.

    In a loop there are none, because these branches do not concern the function as a whole.
    """
    verb, *rest = own = _function_words(block)
    if block.suite.looped:
        return
    if verb in VERBS and rest:
        yield [verb, "other", *rest], 0.2
    elif not block.unit.function.name.startswith("__"):
        yield [answering(block), "other", *own], 0.5


def _returned(found: Extraction) -> tuple[str, ...]:
    """Return the name in the block's only `return`, at its end, if it is no input and not generic; () otherwise."""
    last = found.block.body[-1]
    name = getattr(last.value, "id", "") if isinstance(last, ast.Return) and len(found.block.returns) == 1 else ""
    return (name,) if name and name not in GENERIC.union(found.inputs) else ()


def _remark(block: StatementBlock) -> list[str]:
    """Return the words of the comment above the block, if it begins with a verb; [] otherwise."""
    cut = block.suite.cut(block.start, block.stop)
    above = remarks_above(block.suite.block.body[cut[0]])[1] if cut else []
    remarks = [line.comment.value for line in above if line.comment is not None]
    return _instruction(remarks[0]) if 0 < len(remarks) <= MOST_REMARKS and block.paragraphs == 1 else []


def _instruction(remark: str) -> list[str]:
    """Return the verb with which a comment begins and the words after it, up to the end of the phrase."""
    verb, *others = [*re.findall(r"[A-Za-z][\w']*|[^\w\s]", remark.lstrip("#: ").lower()), ""][:8]
    found = []
    for word in others:
        if not re.fullmatch(r"[a-z][a-z0-9_]*", word) or word in STOPPED - {"of"}:
            break
        found += [word] if word not in SKIPPED else []
    found = found[: 3 + ("of" in found[:2])]
    return [verb, *found] if verb in VERBS and found and found[-1] != "of" else []


def _only(block: StatementBlock, *kinds: type[ast.stmt]) -> bool:
    """Return whether all statements of the block other than `if` and loops are of these kinds."""
    effects = [node for node in block.nodes if isinstance(node, ast.stmt) and not isinstance(node, ast.If | Loop)]
    return bool(effects) and all(isinstance(node, kinds) for node in effects)


def _computed(found: Extraction) -> Iterator[tuple[list[str], float]]:
    names, verb = found.outputs, making(found, _function_words(found.block))
    words = [word for name in names for word in ("and", *split(name))][1:]
    if not any(name in GENERIC or len(name) < 3 for name in names):
        yield [verb, *words], 0.1 * (len(names) - 1) + _does_more(found)
    for noun, cost in _nouns(found) if len(names) == 1 else ():
        if noun != words and cost < INPUTS:
            yield [verb, *noun, *words], 0.6 + cost
    yield [*_function_words(found.block), *words], 0.9


def _does_more(found: Extraction) -> float:
    """Return DOES_MORE if the block also calls methods of its inputs only for their effect, else 0."""
    deeds = (node.value for node in found.block.nodes if isinstance(node, ast.Expr))
    owners = {getattr(getattr(call.func, "value", None), "id", "") for call in deeds if isinstance(call, ast.Call)}
    return 0.0 if owners.isdisjoint({*found.inputs} - {*found.outputs}) else DOES_MORE


def _action(found: Extraction, noun: list[str]) -> list[str]:
    """Return a verb and `noun`: the verb of the block's last call, or one from the function's name."""
    verb = last_verb(found.block)
    if found.manner == "flag" and _only(found.block, ast.Return, ast.Break, ast.Continue):
        return ["check", *noun]
    if found.manner not in ("return", "value") and verb and verb not in noun:
        return [verb, *noun]
    return _part(found.block, noun)


def _part(block: StatementBlock, noun: list[str]) -> list[str]:
    """Return a verb and `noun` for a part of the function: the verb is that of the function's name, or of the block."""
    name, own = block.unit.function.name, _function_words(block)
    if own and own[0] in VERBS and not name.startswith("__"):
        return [own[0], *noun] if noun != own[1:] else []
    return ["set" if only_sets(block) else answering(block), *noun]


def _nouns(found: Extraction) -> Iterator[tuple[list[str], float]]:
    """Yield words for the subject of the block, best first: from its branch, loop, first condition, inputs."""
    block, owner = found.block, found.block.suite.parents[-1]
    whole = block.start == 0 and block.ends and block.suite.branch == "body"
    if isinstance(owner, ast.If) and whole:
        yield from _fitting(_quality(owner.test), 0.0)
    for node in block.body:
        yield from _fitting(*_subject(node))
    if isinstance(owner, ast.For | ast.AsyncFor) and block.suite.branch == "body":
        yield from _fitting(split(_last_name(owner.target)), 0.1)
    yield from (idea for test in decided(block) for idea in _fitting(_quality(test), 0.3))
    yield from _frequent(found)


def _subject(node: ast.stmt) -> tuple[list[str], float]:
    """Return the words for the subject of a loop or a condition, and their cost."""
    match node:
        case ast.For() | ast.AsyncFor():
            return split(_last_name(node.iter)), 0.1
        case ast.If(test=ast.UnaryOp(operand=test)) | ast.If(test=test):
            return [word for word in _quality(test) if word != "missing"], 0.2
        case ast.While():
            return _quality(node.test), INPUTS
    return [], 0.0


def _frequent(found: Extraction) -> Iterator[tuple[list[str], float]]:
    """Yield the words of the names that the block uses most."""
    nodes = found.block.nodes
    names = Counter(node.id for node in nodes if isinstance(node, ast.Name) and node.id in found.inputs)
    for name, _ in names.most_common(2):
        yield from _fitting(split(name), INPUTS)
    attributes = Counter(node.attr for node in nodes if isinstance(node, ast.Attribute))
    yield from (idea for name, _ in attributes.most_common(1) for idea in _fitting(split(name), 0.7))


def _fitting(words: list[str], cost: float) -> Iterator[tuple[list[str], float]]:
    if words and any(len(word) > 2 for word in words) and not GENERIC.issuperset(words):
        yield words[:3], cost


def _quality(test: ast.expr) -> list[str]:
    """Return the words for the tested expression of a condition."""
    match test:
        case ast.Call():
            return _asked(test)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _compared(left, op, right)
        case ast.UnaryOp(op=ast.Not(), operand=ast.Name() | ast.Attribute() as inner):
            words = _quality(inner)
            return ["missing", *words] if words else []
        case ast.UnaryOp():
            return []
        case ast.BoolOp(values=[first, *_]):
            return _quality(first)
        case ast.NamedExpr(target=target):
            return split(target.id)
    return split(_last_name(test))


def _asked(test: ast.Call) -> list[str]:
    """Return the words for a call that is a condition."""
    match test:
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, kind]):
            return split(_last_name(kind.elts[0] if isinstance(kind, ast.Tuple) and kind.elts else kind))
        case ast.Call(func=ast.Name(id="hasattr"), args=[_, ast.Constant(value=str(name))]):
            return split(name)
        case ast.Call(func=ast.Attribute(attr="get" | "group"), args=[ast.Constant(value=str(name)), *_]) if name:
            return split(name) if name.isidentifier() else []
        case ast.Call(func=ast.Attribute(value=inner, attr="startswith" | "endswith" | "get" | "match")):
            return split(_last_name(inner))
        case ast.Call(func=ast.Name(id="len" | "any" | "all" | "sum" | "min" | "max" | "int" | "str"), args=[one, *_]):
            return split(_last_name(one))
    words = split(called(test))
    return words[1:] if words[:1] in (["is"], ["has"], ["should"], ["can"]) else words


def _compared(left: ast.expr, op: ast.cmpop, right: ast.expr) -> list[str]:
    """Return the words for a comparison: the name of the second operand if it has one, else the first operand."""
    equal = isinstance(op, ast.Eq | ast.Is)
    match right:
        case ast.Constant(value=None) if equal:
            return ["missing", *_quality(left)]
        case ast.Constant(value=str(name)) if equal and name.isidentifier():
            return split(name)
        case ast.Name() | ast.Attribute() if equal:
            return split(_last_name(right))
    if isinstance(op, ast.In) and isinstance(left, ast.Constant) and str(left.value).isidentifier():
        return split(str(left.value))
    return _quality(left)


def _last_name(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(
            func=ast.Name(id="enumerate" | "zip" | "sorted" | "reversed" | "list" | "set" | "len" | "range"),
            args=[one, *_],
        ):
            return _last_name(one)
        case ast.Call(func=ast.Attribute(value=inner, attr="items" | "keys" | "values" | "split" | "splitlines")):
            return _last_name(inner)
        case ast.Call():
            return called(node)
        case ast.Tuple(elts=[*_, last]):
            return _last_name(last)
        case ast.Subscript(value=inner) | ast.Starred(value=inner):
            return _last_name(inner)
    return ""


def _function_words(block: StatementBlock) -> list[str]:
    words = split(block.unit.function.name)
    return split(block.unit.owner) if words == ["init"] else words
