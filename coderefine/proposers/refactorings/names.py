"""Names for extracted functions: from what a block computes, calls and decides on, or from the comment above it."""

from __future__ import annotations

import ast
import keyword
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, takewhile

from coderefine.proposers.refactorings.blocks import Extraction, StatementBlock
from coderefine.proposers.refactorings.effects import Effect, effects, main_effect, only_sets
from coderefine.proposers.refactorings.flow import parameters, uses
from coderefine.proposers.refactorings.trees import Loop, Unit
from coderefine.proposers.refactorings.verbs import DIVIDED, MAKING, answering, appended, decided, last_verb, making
from coderefine.proposers.refactorings.words import (
    ASKING,
    FILLERS,
    GENERIC,
    SKIPPED,
    STOPPED,
    VERBS,
    WEAK,
    condition_words,
    last_word,
    plural,
    split,
)

LONGEST, MOST_REMARKS = 34, 2
"""Maximum number of characters of a name; maximum number of lines of a comment from which a name is taken."""
CHECKED = re.compile(r"^(check) (?:if|whether|that) we (?:get|got|have|reach|are at) ")
"""The beginning of a comment that is about a check."""
CLAUSE = re.compile(r"^(\w+) (?:if|that) ")
"""The beginning of a comment in which a clause follows the verb."""
LOOP = 0.1
"""Cost of a name that is made from what a loop iterates over."""
INPUTS = 0.5
"""Cost of a name that is made from the name of a parameter."""
HIDDEN, HIDDEN_SET, HIDDEN_MORE, HIDDEN_MOST = 0.9, 0.5, 0.2, 1.3
"""Costs of a name that does not mention effects of the block: HIDDEN for the first effect (HIDDEN_SET if all of them
only set something), HIDDEN_MORE for each further effect, HIDDEN_MOST at most."""
VAGUE = 0.2
"""Cost of a verb that says little, and of a result whose name says little."""
EFFECT = 0.7
"""Cost of a name that says what a block changes, but not why. Reviewers accepted 2 of 20 drafts with such names."""
POOR = 0.8
"""Cost of a name with the verb of the whole function, if this verb need not fit its parts."""
PART = 0.3
"""Cost of a name that consists of the function's verb and words for one of its branches, or for an item of a loop."""
UNCLEAR = 0.7
"""Cost of a result's name that does not say what the result is."""
UNNAMED = 0.7
"""Cost of a name that describes none of the effects; a name that describes some of them costs less, in proportion."""
UNSAID = 0.8
"""Cost of a name with one of the verbs ACTING, if the result is something that the name does not mention."""
ACTING = frozenset(
    """add append attach cancel clear close delete disable emit enable enqueue flush insert install lock log notify
    print push put register release remove report reset save schedule send show start stop store subscribe upload warn
    write""".split()
)
"""Verbs of functions that have an effect; mostly, they return nothing."""
HALF = 0.5
"""Minimum share that the main effect must have in all effects, for a name to be made from it. Also the share of effects
that the verb `process` is taken not to describe: this verb fits all effects, but says little."""
MOST_SET = 2
"""Maximum number of attributes that a name mentions."""
MOST_WORDS = 3
"""Maximum number of words after the verb of a name, if some of these words only say which part of the function is
meant."""
SEVERAL = 0.15
"""Cost of the name `check_arguments`, which sums up several steps."""
OUTER, CUT = 0.05, 0.4
"""Cost of a name from the comment above the branch or loop whose body is the block, and of a name for which a phrase of
a comment is cut off."""
NEEDED = frozenset(("from", "that", "which", "who", "whose"))
"""Words after a phrase that says something else without what follows them."""
ENDING = STOPPED.union(NEEDED, ("if",)) - {"of"}
"""Words at which a phrase ends, so that the words before it make a name."""
Idea = tuple[list[str], float]
"""The words of a name and their cost: how badly they describe the function (0 is best)."""
Named = tuple[str, float]
"""A name and its cost."""


def name_for(found: Extraction) -> Named | None:
    """Return the best possible name for the extracted function, and its cost; None if there is no possible name."""
    best_first = sorted(_ideas(found), key=lambda idea: idea[1])
    ideas = (("_" + "_".join(words), cost) for words, cost in best_first if words and not _stutters(words))
    return next(((name, cost) for name, cost in ideas if is_possible(name, found.block.unit)), None)


def _stutters(words: Sequence[str]) -> bool:
    """Return whether a word occurs twice, or begins like another word: `set_path_paths`, `click_clicked`."""
    pairs = combinations(sorted(words), 2)
    return any(two == one or (len(one) > 3 and two.startswith(one)) for one, two in pairs)


def is_possible(name: str, unit: Unit) -> bool:
    """Return whether a new private function beside `unit` may have this name."""
    fits = len(name) <= LONGEST and name.isidentifier() and not keyword.iskeyword(name)
    return fits and unit.reserved.isdisjoint((name, name[1:])) and not name.lstrip("_").startswith(unit.beginnings)


def _ideas(found: Extraction) -> Iterator[Idea]:
    block, every = found.block, effects(found)
    results = () if block.yields else found.outputs or _returned(found)
    yield from _commented(block, results)
    if results:
        yield from _computed(replace(found, outputs=results), every)
    elif not block.yields and found.manner in ("", "continue"):
        yield from _done(found, every)
        yield _same_for_part(found), PART
    elif found.manner in ("return", "value"):
        yield _same_for_part(found), PART
    yield from _acting(found, every)


def _acting(found: Extraction, every: Sequence[Effect]) -> Iterator[Idea]:
    """Yield names that consist of a verb and words for the subject of the block, and their costs."""
    if found.block.yields:
        yield from ((["iter", *plural(noun)], 0.1 + cost) for noun, cost in _nouns(found))
        return
    if _only(found.block, ast.Raise):
        yield ["check", "arguments"], SEVERAL if _checks_arguments(found) else 1.0
        yield from ((["check", *noun], cost) for noun, cost in _nouns(found))
    for noun, cost in _nouns(found):
        words = _action(found, noun)
        yield words, (0.9 if found.outputs else 0.5) + cost + (UNNAMED * _unnamed(words, every))
        if VERBS.issuperset(own := _function_words(found.block)[:1]) and not found.outputs:
            yield [*own, *noun], POOR + cost


def _checks_arguments(found: Extraction) -> bool:
    """Return whether the block has several `raise` statements, and reads several parameters of the function."""
    given = parameters(found.block.unit.function)
    raised = sum(isinstance(node, ast.Raise) for node in found.block.nodes)
    return raised > 1 and len(given.intersection(found.inputs)) > 1


def _same_for_part(found: Extraction) -> list[str]:
    """Return the verb of the function and words for the block, such as `render_row` for a part of `render_table`.

    Return [] if the verb does not fit a part of the function, or if there are no good words.
    """
    block = found.block
    verb = split(block.unit.function.name)[:1]
    if not DIVIDED.issuperset(verb):
        return []
    match block.body:
        case [ast.For(iter=items) | ast.AsyncFor(iter=items)] if not _is_whole(block):
            words = split(last_word(items))
        case _:
            words = _condition(block)
    return [*verb, *words] if words and not GENERIC.issuperset(words) else []


def _unnamed(words: Sequence[str], every: Sequence[Effect]) -> float:
    """Return the share of the effects `every` that `words`, a verb and a noun, do not describe.

    Return HALF if the verb is `process`, and 0.0 if there are no effects or no words.
    """
    if not every or not words or words[0] == "process":
        return HALF if every and words else 0.0
    changing = words[0] in ("set", "adjust")
    others = [one for one in every if one.verb != words[0] or (changing and not {*one.noun} & {*words})]
    return len(others) / len(every)


def _done(found: Extraction, every: Sequence[Effect]) -> Iterator[Idea]:
    """Yield words, with their costs, for the most frequent effect of a block without a result: `add_header_lines`."""
    main = main_effect(every)
    if _initialises(found.block, every):
        yield ["set", "attributes"], EFFECT
    if main is None or main[1] < HALF:
        return
    verb, noun, cost = main[0].verb, [*main[0].noun], EFFECT + 1.5 * (1 - main[1])
    about = _object(found.block) if WEAK.issuperset(noun) else []
    for words, further in ((_condition(found.block), 0.0), (about, 0.05)):
        if words and not {*words} & {verb, *noun} and len(words) + len(noun) <= MOST_WORDS:
            yield [verb, *words, *noun], cost + further
    yield [verb, *noun], cost + 0.1


def _initialises(block: StatementBlock, every: Sequence[Effect]) -> bool:
    """Return whether the block is in `__init__` and only sets attributes, more than a name can mention."""
    several = len({one.noun for one in every}) > MOST_SET
    return several and only_sets(block) and block.unit.function.name == "__init__"


def _condition(block: StatementBlock) -> list[str]:
    """Return up to two words for the `if` or `for` whose body is the block, or which is the block's only statement."""
    owner = block.suite.parents[-1] if _is_whole(block) else block.body[0] if len(block.body) == 1 else None
    match owner:
        case ast.If(orelse=[_, *_]) if owner is block.body[0]:
            return []  # the condition describes only one of the branches
        case ast.If(test=ast.UnaryOp() | ast.Compare(ops=[ast.Lt() | ast.Gt() | ast.LtE() | ast.GtE() | ast.NotIn()])):
            return []
        case ast.If(test=test):
            return [word for word in condition_words(test) if word != "missing"][:2]
        case ast.For(target=target, iter=iterable) | ast.AsyncFor(target=target, iter=iterable):
            return _item(target, iterable)[:2] if _uses_item(block, target) else []
    return []


def _uses_item(block: StatementBlock, target: ast.expr) -> bool:
    """Return whether the block reads a variable of `target`, the target of a loop.

    The block is this loop, or its body.
    """
    return not block.used.reads.isdisjoint(uses([target]).binds)


def _is_whole(block: StatementBlock) -> bool:
    """Return whether the block is the whole body of the statement around it."""
    return block.start == 0 and block.ends and block.suite.branch == "body"


def _item(target: ast.expr, iterable: ast.expr) -> list[str]:
    """Return words for an item of a loop: its variable, or the singular of the iterable; [] if these say little."""
    own, many = split(last_word(target)), split(last_word(iterable))
    one = [*many[:-1], many[-1].removesuffix("s")] if many and len(many[-1]) > 3 and many[-1].endswith("s") else []
    better = len(own) < 2 and len(one) > len(own) and (not own or own[-1] == one[-1] or GENERIC.issuperset(own))
    words = one if better else own
    return [] if GENERIC.issuperset(words) else words


def _object(block: StatementBlock) -> list[str]:
    """Return at most two words for the subject of the function, from its name without the verb."""
    words = split(block.unit.function.name) if not block.unit.function.name.startswith("__") else []
    words = words[1:] if words[:1] and words[0] in VERBS | FILLERS else words
    return [word for word in words if word not in FILLERS | GENERIC | VERBS][:2]


def _returned(found: Extraction) -> tuple[str, ...]:
    """Return the name that the block's only `return`, its last statement, returns; () if there is no such name.

    Names in GENERIC, and inputs that the block does not change, do not count.
    """
    last = found.block.body[-1]
    name = getattr(last.value, "id", "") if isinstance(last, ast.Return) and len(found.block.returns) == 1 else ""
    return (name,) if name in found.block.used.bound - GENERIC else ()


def _commented(block: StatementBlock, results: Sequence[str]) -> Iterator[Idea]:
    """Yield words of names from comments, and their costs: these are higher if an action has another result."""
    named = {word for name in results for word in split(name)}
    for words, cost in _remarks(block):
        yield words, cost + UNSAID * (bool(named) and words[0] in ACTING and named.isdisjoint(words))


def _remarks(block: StatementBlock) -> Iterator[Idea]:
    """Yield words and costs of names from comments.

    These are the comment above the block, and the one above the branch or loop whose whole body is the block.
    """
    owner = block.suite.parents[-1]
    if block.paragraphs == 1:
        yield from _instruction(_comment_above(block, block.body[0].lineno), single=len(block.body) == 1)
    if isinstance(owner, ast.If | ast.For | ast.AsyncFor) and not owner.orelse and _is_whole(block):
        yield from ((words, OUTER + cost) for words, cost in _instruction(_comment_above(block, owner.lineno)))


def _comment_above(block: StatementBlock, line: int) -> list[str]:
    """Return the lines of the comment directly above a line of the function; [] for an `elif`."""
    lines = block.unit.rows
    found = list(takewhile(lambda row: row.lstrip().startswith("#"), reversed(lines[: line - 1])))
    return [] if lines[line - 1].lstrip().startswith("elif") else found[::-1]


def _instruction(remarks: Sequence[str], *, single: bool = True) -> Iterator[Idea]:
    """Yield the verb with which a comment begins and the words after it, up to the end of the phrase, and their cost.

    Yield nothing if the comment does not begin with a verb. `single`: whether the comment is about one statement; a
    long comment about several says more than its first words.
    """
    if not remarks or (len(remarks) > MOST_REMARKS and not single):
        return
    text = CLAUSE.sub(r"\1 ", CHECKED.sub(r"\1 ", remarks[0].lstrip("#: \t").lower()))
    verb, *others = [*re.findall(r"[A-Za-z][\w'-]*|[^\w\s]", text), ""][:9]
    words, clause = _phrase(others)
    kept = words[: 3 + ("of" in words[:2])]
    if verb in VERBS and kept and kept[-1] != "of":
        yield [verb, *kept], CUT * (clause or kept != words)


def _phrase(words: Sequence[str]) -> tuple[list[str], bool]:
    """Return the first phrase of a text, without articles, and whether a word in NEEDED follows it."""
    phrase = [*takewhile(lambda word: re.fullmatch(r"[a-z][a-z0-9_]*", word) and word not in ENDING, words)]
    return [word for word in phrase if word not in SKIPPED], not NEEDED.isdisjoint(words[len(phrase) :][:1])


def _only(block: StatementBlock, *kinds: type[ast.stmt]) -> bool:
    """Return whether the block contains statements of `kinds`, and no others.

    `if`, `for`, `while`, `try`, `pass` and `continue` are ignored, but the statements inside them are examined.
    """
    leading = ast.If | Loop | ast.Try | ast.Pass | ast.Continue
    effects = [node for node in block.nodes if isinstance(node, ast.stmt) and not isinstance(node, leading)]
    return bool(effects) and all(isinstance(node, kinds) for node in effects)


def _computed(found: Extraction, every: Sequence[Effect]) -> Iterator[Idea]:
    """Yield words for the results, and their costs.

    `every`: the effects of the block; effects that the words do not mention increase the cost.
    """
    names, own = found.outputs, _function_words(found.block)
    verb, words = making(found, own), [word for name in names for word in ("and", *split(name))][1:]
    cost = _hidden(words, every) + HIDDEN * _refuses_others(found.block, verb, words)
    if ending := appended(found.block, names):
        yield ["append", ending], 0.1 + cost
    vague = [name for name in names if name in GENERIC or len(name) < 3]
    if len(vague) == len(names):
        words = []
    else:
        cost += VAGUE * (bool(vague) + (verb == "adjust"))
        yield _resulting(verb, words), 0.1 * (len(names) - 1) + cost + UNCLEAR * _is_unclear(words)
    if len(names) == 1:
        yield from (([verb, *noun, *words], 0.6 + cost + further) for noun, further in _others(found, words))


def _refuses_others(block: StatementBlock, verb: str, words: Sequence[str]) -> bool:
    """Return whether a block that resolves `words` raises an exception because of something else."""
    asked = (condition_words(node.test) for node in block.body if isinstance(node, ast.If) and _raises(node))
    return verb == "resolve" and any(test and {*test}.isdisjoint(words) for test in asked)


def _raises(node: ast.If) -> bool:
    return isinstance(node.body[-1], ast.Raise)


def _is_unclear(words: Sequence[str]) -> bool:
    """Return whether a result's name is one word that needs another one: `lines`, or a participle like `resolved`."""
    return len(words) == 1 and (words[0] in WEAK or words[0].endswith("ed"))


def _others(found: Extraction, words: Sequence[str]) -> Iterator[Idea]:
    """Yield words for the subject of the block other than `words`, with their costs.

    Words from inputs and attributes are left out: they cost INPUTS or more. If `words` is empty, words from conditions
    in the block are left out, too: they do not say what the result is.
    """
    most = INPUTS if words else LOOP + 0.01
    yield from ((noun, cost) for noun, cost in _nouns(found) if noun != words and cost < most)


def _resulting(verb: str, words: list[str]) -> list[str]:
    """Return `verb` and the words for a result; without `verb` if the words are like `is_empty`."""
    return words if len(words) > 1 and words[0] in ASKING and "and" not in words else [verb, *words]


def _hidden(words: Sequence[str], every: Sequence[Effect]) -> float:
    """Return the cost of the effects that a name with these words does not mention."""
    others = [one for one in every if not {*one.noun} & {*words}]
    if not others:
        return 0.0
    first = HIDDEN_SET if all(one.verb in ("set", "adjust") for one in others) else HIDDEN
    return min(HIDDEN_MOST, first + HIDDEN_MORE * (len(others) - 1))


def _action(found: Extraction, noun: list[str]) -> list[str]:
    """Return a verb and `noun`; [] if no verb fits.

    The verb is `check` for a block that only decides, else the most frequent verb of the block's calls, or that of
    `_part`.
    """
    verb = last_verb(found.block)
    if found.manner == "flag" and _only(found.block, ast.Return, ast.Break, ast.Continue):
        return ["check", *noun]
    if found.manner not in ("return", "value") and verb and verb not in noun:
        return [verb, *noun]
    return _part(found.block, noun)


def _part(block: StatementBlock, noun: list[str]) -> list[str]:
    """Return a verb and `noun`; [] if the verb does not fit.

    The verb is the first word of the function's name if this is a verb, else a verb for the block. After `build`, a
    word for what is built follows `noun`.
    """
    name, own = block.unit.function.name, _function_words(block)
    if VERBS.intersection(own[:1]) and not name.startswith("__"):
        fits = own[0] in DIVIDED or {*noun} & {*own[1:]}
        return [own[0], *noun] if fits and noun != own[1:] else []
    verb = "set" if only_sets(block) else answering(block)
    if verb not in MAKING:
        return [verb, *noun]
    about = _object(block)[:1] * (verb == "build")  # `noun` says when something is made, and `about` what is made
    return [verb, *noun, *about] if about else []


def _nouns(found: Extraction) -> Iterator[Idea]:
    """Yield words for the subject of the block, and their costs: from its branch, loop, conditions and inputs."""
    block, owner = found.block, found.block.suite.parents[-1]
    if isinstance(owner, ast.If) and _is_whole(block):
        yield from _fitting(condition_words(owner.test), 0.0)
    item = _own_item(block)
    if _is_whole(block):
        yield from _fitting(item, 0.0)
    for node in block.body:
        yield from _fitting(*_subject(node))
    yield from _fitting(item, LOOP)
    yield from (idea for test in decided(block) for idea in _fitting(condition_words(test), 0.3))
    yield from _frequent(found)


def _own_item(block: StatementBlock) -> list[str]:
    """Return words for the item of the loop around a block; [] if the block does not read it."""
    owner = block.suite.parents[-1]
    if not isinstance(owner, ast.For | ast.AsyncFor) or block.suite.branch != "body":
        return []
    return _item(owner.target, owner.iter) if _uses_item(block, owner.target) else []


def _subject(node: ast.stmt) -> tuple[list[str], float]:
    """Return the words for the subject of a loop or an `if`, and their cost; ([], 0.0) for other statements."""
    match node:
        case ast.For() | ast.AsyncFor():
            return split(last_word(node.iter)), LOOP
        case ast.If(test=test) if (words := condition_words(test))[:1] != ["missing"]:
            return words, 0.2
        case ast.While():
            return condition_words(node.test), INPUTS
    return [], 0.0


def _frequent(found: Extraction) -> Iterator[Idea]:
    """Yield the words, and their costs, of the two inputs and the attribute that the block uses most."""
    nodes = found.block.nodes
    names = Counter(node.id for node in nodes if isinstance(node, ast.Name) and node.id in found.inputs)
    for name, _ in names.most_common(2):
        yield from _fitting(split(name), INPUTS)
    attributes = Counter(node.attr for node in nodes if isinstance(node, ast.Attribute))
    yield from (idea for name, _ in attributes.most_common(1) for idea in _fitting(split(name), 0.7))


def _fitting(words: list[str], cost: float) -> Iterator[Idea]:
    if words and any(len(word) > 2 for word in words) and not GENERIC.issuperset(words):
        yield words[:3], cost


def _function_words(block: StatementBlock) -> list[str]:
    words = split(block.unit.function.name)
    return split(block.unit.owner) if words == ["init"] else words
