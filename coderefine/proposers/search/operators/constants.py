"""Edits of literals: numbers, booleans, None, strings."""

from __future__ import annotations

import ast
import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TypeGuard

from coderefine.proposers.search.conventions import is_settled, sides
from coderefine.proposers.search.site import Site
from coderefine.proposers.search.syntax import Edit, Replacement
from coderefine.proposers.search.value_kinds import fits

MOST_STRINGS = 40
FACTOR = 4.0
"""Weight of a number multiplied by the factor that turns the failure's actual value into the expected one."""
USUAL = ("", " ", ", ", ",", "\n", "-", "_", ".", ":", "/", "0")


LEAST_BY_ONE, LEAST_PROPORTIONAL, PROPORTION_BOOST = 5, 20, 4.0
"""LEAST_PROPORTIONAL: smallest integer that is multiplied by the ratio of the expected to the actual value, if the
product is an integer. LEAST_BY_ONE: smallest integer for which this is done if the product differs by one, and if a
larger integer of the statement has such a product, too. PROPORTION_BOOST: boost of the products. `24 * 8` becomes
`24 * 7` rather than `21 * 8`."""
ROUND, UNROUND = 100, 3.0
"""UNROUND: penalty of another number in place of a multiple of 10 that is at least ROUND."""
OFTEN, UNLIKE, UNLIKE_BOOST = 3, 10.0, 2.0
"""UNLIKE, UNLIKE_BOOST: factor and boost of a number that the statement contains at least OFTEN times, in place of a
number that it contains once."""
SETTLED = 2.5
"""Boost of a number that ends a comparison with one possible result (`x % 3 != -1`), and penalty if it makes one."""


def numbers(site: Site) -> Iterator[Edit]:
    """Replace a number by one that is often confused with it, by one used nearby, or by one derived from the failure.

    Often confused are the next larger and smaller integers, the negative number, some multiples and fractions, and 0,
    1, -1 and 2. For an index, these are mainly the first and last indices.
    """
    constants = (node for node in site.exprs if isinstance(node, ast.Constant) and is_number(node.value))
    found = [_with_sign(site, node) for node in constants]
    used = Counter(value for _, value in found)
    proportions = _proportions(site, used)
    for node, value in found:
        proportional, settled = proportions.get(value, set()), _settles(site, node, value)
        for new, weight in _other_numbers(site, node, value, proportional):
            alone = used[value] == 1 and used[new] >= OFTEN
            boost = max(UNLIKE_BOOST * alone, PROPORTION_BOOST * (new in proportional)) - _unround(value, new)
            boost += SETTLED * (settled - _settles(site, node, new))
            yield from site.swap(node, repr(new), weight * (UNLIKE if alone else 1.0), boost)


def _settles(site: Site, node: ast.expr, value: float) -> bool:
    """Return whether a comparison with `value` in place of the number `node` has one possible result."""
    rows = sides(site.module.parents.get(node))
    return any(limit is node and is_settled(other, operator, value) for other, operator, limit in rows)


def _unround(value: float, new: float) -> float:
    return UNROUND if abs(value) >= ROUND and value % 10 == 0 and new % 10 != 0 else 0.0


def _with_sign(site: Site, node: ast.Constant) -> tuple[ast.expr, float]:
    """Return a number, with its sign if it has one, as a node and as a value."""
    parent, value = site.module.parents.get(node), node.value
    assert is_number(value)
    if isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.USub):
        return parent, -value
    return node, value


def is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _other_numbers(site: Site, node: ast.AST, value: float, proportional: set[int]) -> Iterator[tuple[float, float]]:
    """Yield replacements of `value` with weights; mostly integers for an integer.

    `proportional`: integers that follow from the failure, see `_proportions`.
    """
    options: dict[float, float] = {}
    indexing = isinstance(site.module.parents.get(node), ast.Subscript | ast.Slice)
    usual = _index(value) if indexing else _shifted(value)
    others = ((other, 1.0) for other in _nearby(site, node))
    fitting = [value * factor for factor in site.hints.factors] + [*proportional]
    for new, weight in itertools.chain(usual, others, zip(fitting, itertools.repeat(FACTOR))):
        options[new] = max(options.get(new, 0.0), weight)
    for new, weight in options.items():
        shaped = int(new) if isinstance(value, int) and float(new).is_integer() else new
        if shaped != value and _fits(value, shaped, weight):
            yield shaped, weight


def _proportions(site: Site, values: Iterable[float]) -> dict[float, set[int]]:
    """Return, by integer of `values`, its products with the ratio of expected to actual value, and with the inverse.

    The ratios are `Hints.ratios`. Only integer products count. A large integer seldom has any, unless it is the cause
    of the failure. A small integer often has one by chance: this product counts only if it differs from the integer by
    one, and if a large integer has a product, too (see LEAST_BY_ONE).
    """
    found: dict[float, set[int]] = {value: _scaled(site, value) for value in values if isinstance(value, int)}
    large = any(scaled for value, scaled in found.items() if abs(value) >= LEAST_PROPORTIONAL)
    return found if large else {}


def _scaled(site: Site, value: int) -> set[int]:
    results = (result for ratio in site.hints.ratios for result in (value * ratio, value / ratio))
    whole = {round(result) for result in results if math.isclose(result, round(result), rel_tol=1e-9)}
    if abs(value) >= LEAST_PROPORTIONAL:
        return whole
    return whole & {value - 1, value + 1} if abs(value) >= LEAST_BY_ONE else set()


def _fits(value: float, other: float, weight: float) -> bool:
    return isinstance(other, int) or not isinstance(value, int) or weight >= 0.3


def _index(value: float) -> Iterator[tuple[float, float]]:
    """Yield indices that are often confused with `value`, with weights: mainly the first and last ones."""
    yield from ((0, 3.0), (-value, 3.0), (value - 1, 4.0), (value + 1, 2.5), (1, 2.0), (-1, 2.0), (2, 0.6), (-2, 0.4))


def _shifted(value: float) -> Iterator[tuple[float, float]]:
    """Yield numbers that are often confused with `value`, with weights."""
    yield from ((value + 1, 4.0), (value - 1, 4.0), (0, 1.5), (1, 1.5), (-1, 0.7), (2, 0.6), (-value, 0.8))
    yield from ((value * 10, 0.4), (value / 10, 0.15), (value * 2, 0.3), (value / 2, 0.2))
    yield from ((value * 100, 0.15), (value * 1000, 0.1))


def _nearby(site: Site, node: ast.AST) -> list[float]:
    top = site.local.function or site.module.tree
    return [
        other.value
        for other in ast.walk(top)
        if isinstance(other, ast.Constant) and isinstance(other.value, int | float) and other is not node
    ]


def number_to_name(site: Site) -> Iterator[Edit]:
    """Replace a number by a numeric variable or the size of a collection, or an integer variable by 0 or 1."""
    for node in site.exprs:
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            for text, weight in _holding_number(site):
                yield from site.swap(node, text, weight)
        elif isinstance(node, ast.Name | ast.Attribute) and site.kinds.of(node) == "int":
            for text in ("0", "1"):
                yield from site.swap(node, text, 0.4)


def _holding_number(site: Site) -> Iterator[tuple[str, float]]:
    """Yield numeric variables, then the sizes of collections, with weights."""
    kinds = {path: site.kinds.name(path) for path in site.paths}
    yield from ((path, 1.0) for path in site.paths if kinds[path] in ("int", "float"))
    yield from ((f"len({path})", 0.3) for path in site.paths if kinds[path] in ("list", "str", "tuple", "dict", "set"))


def truths(site: Site) -> Iterator[Edit]:
    """Swap True and False; replace True, False, 0, 1 and "" by None, and None by a simple value like `[]` or True."""
    for node in site.exprs:
        if not isinstance(node, ast.Constant):
            continue
        if isinstance(node.value, bool):
            yield from site.swap(node, str(not node.value), 6.0)
            yield from site.swap(node, "None", 0.5)
        elif node.value is None and not isinstance(site.module.parents.get(node), ast.Compare):
            for text, weight in (
                ("[]", 1.0),
                ("{}", 0.7),
                ("0", 1.0),
                ('""', 0.7),
                ("True", 0.7),
                ("False", 0.8),
                ("set()", 0.3),
                ("1", 0.4),
                ("()", 0.3),
                ("float('inf')", 0.1),
            ):
                yield from site.swap(node, text, weight)
        elif node.value in (0, "", 1):
            yield from site.swap(node, "None", 0.3)


def texts(site: Site) -> Iterator[Edit]:
    """Replace a string by a similar string or name of the project; change its case; add or remove a character.

    A short string is also replaced by one of USUAL.
    """
    for node in site.exprs:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and not _docstring(site, node):
            for text, weight in _texts_for(site, node.value).items():
                yield from site.swap(node, _quoted(site.code(node), text), weight)


def _docstring(site: Site, node: ast.AST) -> bool:
    return isinstance(site.module.parents.get(node), ast.Expr)


def _quoted(old: str, text: str) -> str:
    """Return `text` as a string literal, if possible with the quotes and the prefix of the literal `old`."""
    prefix = re.match(r"[a-zA-Z]*", old).group()  # type: ignore[union-attr]
    quote = old[len(prefix) : len(prefix) + 1]
    if "r" in prefix.lower() and quote not in text and "\n" not in text and not text.endswith("\\"):
        return f"{prefix}{quote}{text}{quote}"
    body = repr(text)
    if body[0] != quote and quote == '"':
        body = '"' + body[1:-1].replace('"', '\\"').replace("\\'", "'") + '"'
    return body


def _texts_for(site: Site, value: str) -> dict[str, float]:
    options: dict[str, float] = {}
    for text, weight in (*_changed(value), *_found(site, value)):
        if text != value:
            options[text] = max(options.get(text, 0.0), weight)
    return options


def _changed(value: str) -> Iterator[tuple[str, float]]:
    yield value.strip(), 1.0
    for text in (value.lower(), value.upper(), value.capitalize(), value.title(), value.swapcase()):
        yield text, 1.0
    for extra in (" ", "\n", ",", ".", ":", "-", "_", "s"):
        yield value + extra, 0.4
        yield extra + value, 0.3
    if len(value) > 1:
        yield value[:-1], 0.8
        yield value[1:], 0.6
        yield value[::-1], 0.2
    yield "", 0.5
    if len(value) <= 2:
        yield from ((text, 0.6) for text in USUAL)


def _found(site: Site, value: str) -> Iterator[tuple[str, float]]:
    """Yield strings and names of the project with weights, the most similar to `value` first."""
    pool = {**site.world.texts, **site.module.index.texts}
    scored = sorted(((_likeness(value, text) * boost, text) for text, boost in pool.items()), reverse=True)
    for likeness, text in scored[:MOST_STRINGS]:
        yield text, 0.1 + 6 * likeness * likeness


def _likeness(one: str, other: str) -> float:
    if not one or not other:
        return 0.1
    short, long = sorted((one, other), key=len)
    if long.startswith(short) or long.endswith(short):
        return 0.6 + 0.4 * len(short) / len(long)
    pairs, others = _pairs(one), _pairs(other)
    shared = len(pairs & others) / max(len(pairs | others), 1)
    return max(shared, 0.05)


@lru_cache(maxsize=20_000)
def _pairs(text: str) -> frozenset[str]:
    low = text.lower()
    return frozenset(low[at : at + 2] for at in range(max(len(low) - 1, 1)))


def text_to_name(site: Site) -> Iterator[Edit]:
    """Replace a string by a str variable, or by a variable of unknown kind whose name is the string."""
    for node in site.exprs:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and not _docstring(site, node):
            for path in site.paths:
                if site.kinds.name(path) == "str" or (node.value == path and fits(site.kinds.name(path), "str")):
                    yield from site.swap(node, path, 3.0 if node.value == path else 1.0)


def format_pieces(site: Site) -> Iterator[Edit]:
    """Edit a detail of an f-string or pattern: a number, a conversion, a quantifier, a space."""
    for node in site.nodes:
        if isinstance(node, ast.JoinedStr):
            yield from _pieces(site, node, FORMAT)
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and re.search(r"[\\\[\](){}*+?^$|%]", node.value)
            and not _docstring(site, node)
        ):
            yield from _pieces(site, node, PATTERN)
            yield from _directives(site, node)


FORMAT = (
    (re.compile(r"(?<=:)[^{}\"']*\d+"), ("near",)),
    (re.compile(r"!r"), ("",)),
    (re.compile(r"(?<=\w)\}"), ("!r}", ":02}", ":,}", ":.2f}")),
    (re.compile(r":[^{}\s\"']+\}"), ("}",)),
    (re.compile(r" "), ("",)),
    (re.compile(r"(?<=\})(?=\{)"), (" ", ", ")),
    (re.compile(r"[<>](?=\d)"), ("<", ">", "^")),
)
PATTERN = (
    (re.compile(r"\*(?!\*)"), ("+", "*?", "")),
    (re.compile(r"\+"), ("*", "+?", "")),
    (re.compile(r"\?"), ("", "*")),
    (re.compile(r"\\d"), (r"\w", r"\d+", r"\d*")),
    (re.compile(r"\\w"), (r"\w+", r"\S", r"\d")),
    (re.compile(r"\\s"), (r"\s*", r"\s+", r"\S")),
    (re.compile(r"\^"), ("",)),
    (re.compile(r"\$"), ("",)),
    (re.compile(r"(?<=['\"])(?=[^'\"])"), ("^",)),
    (re.compile(r"(?<=[^'\"\\])(?=['\"]$)"), ("$", "+", "*", "?")),
    (re.compile(r"(?<=[\])])(?![*+?{])"), ("+", "*", "?")),
    (re.compile(r"(?<=[a-z])-(?=[a-z])"), ("",)),
    (re.compile(r"a-z(?!A)"), ("a-zA-Z", "a-z0-9")),
    (re.compile(r"\d+"), ("near",)),
    (re.compile(r"%d"), ("%s", "%02d")),
    (re.compile(r"%m"), ("%M", "%b")),
    (re.compile(r"%M"), ("%m",)),
    (re.compile(r"%Y"), ("%y",)),
    (re.compile(r"%y"), ("%Y",)),
    (re.compile(r"%H"), ("%I",)),
    (re.compile(r"%I"), ("%H",)),
    (re.compile(r"%s"), ("%r", "%d")),
    (re.compile(r"\(\?:"), ("(",)),
)
"""Details of a pattern, each with its replacements; "near" stands for the next larger and the next smaller number."""


def _pieces(site: Site, node: ast.expr, table: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]) -> Iterator[Edit]:
    start = site.module.start(node)
    for pattern, options in table:
        for match in pattern.finditer(site.code(node)):
            for option in options:
                for text in _near(match.group()) if option == "near" else (option,):
                    if text != match.group():
                        yield Edit((Replacement(start + match.start(), start + match.end(), text),), 1.0)


def _directives(site: Site, node: ast.expr) -> Iterator[Edit]:
    """Let two neighbouring directives of a format change places: `%d.%m.` for `%m.%d.`."""
    start, found = site.module.start(node), list(re.finditer(r"%[a-zA-Z]", site.code(node)))
    for one, two in itertools.pairwise(found):
        if one.group() != two.group():
            pairs = ((one, two.group()), (two, one.group()))
            yield Edit(tuple(Replacement(start + at.start(), start + at.end(), text) for at, text in pairs), 3.0)


def _near(text: str) -> tuple[str, ...]:
    digits = re.search(r"\d+$", text)
    if digits is None:
        return ()
    head, value = text[: digits.start()], int(digits.group())
    return tuple(head + str(number) for number in (value + 1, value - 1) if number >= 0)
