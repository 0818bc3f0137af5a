"""The annotations of new functions: a table of functions, and what is known of the types of their variables."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest

from coderefine.proposers.refactorings.blocks import Extraction, StatementBlock, examined, extractions
from coderefine.proposers.refactorings.declared import ProjectTypes
from coderefine.proposers.refactorings.files import placed, written
from coderefine.proposers.refactorings.inlining import restored
from coderefine.proposers.refactorings.measures import COMPLEXITY
from coderefine.proposers.refactorings.sequence import FAIR, GOOD, shortened
from coderefine.proposers.refactorings.signatures import input_types, result_type
from coderefine.proposers.refactorings.trees import Unit
from coderefine.proposers.refactorings.types import known_types

MODULE = """
from __future__ import annotations

from typing import TYPE_CHECKING, Optional

from shop.carts import Cart

if TYPE_CHECKING:
    from shop.orders import Order


def prices(cart: Cart) -> list[float]:
    return []


class Row:
    kind: str

    def __init__(self, size: int, names: list[str]) -> None:
        self.size = size
        self.names = names
        self.depth = 0

    def cells(self) -> dict[str, int]:
        return {}

    @property
    def title(self) -> str:
        return ""


class Wide(Row):
    pass


def f(row: Row, wide: Wide, cart: Cart, text: str, maybe: Optional[str], other) -> int:
    BODY
    return 0
"""
CARTS = """
class Cart:
    owner: str

    def __init__(self, count: int) -> None:
        self.count = count

    def first(self) -> Order:
        return Order()
"""
KNOWN = {
    "x = 1": "int",
    "x = text.strip()": "str",
    "x = text.split()": "list[str]",
    "x = text[1:]": "str",
    "x = 'a' + other": "str",
    "x = other + 'a'": "",
    "x = len(other)": "int",
    "x = other": "",
    "x = row.size": "int",
    "x = row.kind": "str",
    "x = row.depth": "int",
    "x = row.title": "str",
    "x = row.cells()": "dict[str, int]",
    "x = row.cells": "",
    "x = wide.size": "int",
    "x = Row(1, [])": "Row",
    "x = prices(cart)": "list[float]",
    "x = prices(cart)[0]": "float",
    "x = cart.count": "int",
    "x = cart.owner": "str",
    "x = cart.first()": "Order",
    "x = maybe": "Optional[str]",
    "x = 1 if other else 2": "int",
    "x = 1 if other else text": "",
    "x = other in text": "bool",
    "x = other == text": "",
    "x = ''; x += other": "str",
    "x = 0; x += 1": "int",
    "x = 0; x += other": "",
    "x = 0; x = text": "",
    "x, y = 1, text": "int",
    "for x in row.names: pass": "str",
    "for x in row.cells(): pass": "str",
    "for y, x in row.cells().items(): pass": "int",
    "for x in row.cells().values(): pass": "int",
    "for x in range(3): pass": "int",
    "for y, x in enumerate(row.names): pass": "str",
    "for y, x in zip(other, row.names): pass": "",
    "for x in sorted(row.names): pass": "str",
    "for x in other: pass": "",
    "x: Sequence[str] = row.names; x = list(other)": "",
    "x: Row | None = None; x = Row(1, [])": "Row | None",
    "len = other; x = len(text)": "",
    "x: Final[Row] = other": "Row",
    "x: Final = other": "",
}


@pytest.mark.parametrize("code", KNOWN)
def test_the_type_of_a_variable_is_known_from_annotations(code: str, tmp_path: Path) -> None:
    carts = tmp_path / "carts.py"
    carts.write_text(CARTS)
    place = placed(MODULE.replace("BODY", code), "f", frozenset(), elsewhere=ProjectTypes([carts]))
    assert not isinstance(place, str)
    assert known_types(place.unit).get("x", "") == KNOWN[code]


def test_of_two_classes_with_one_name_neither_is_known(tmp_path: Path) -> None:
    files = [tmp_path / "carts.py", tmp_path / "others.py"]
    for file in files:
        file.write_text(CARTS)
    place = placed(MODULE.replace("BODY", "x = cart.count"), "f", frozenset(), elsewhere=ProjectTypes(files))
    assert not isinstance(place, str)
    assert "x" not in known_types(place.unit)


LATER = """
from typing import List


def f(row: "Row") -> int:
    one = row.one
    many = row.names
    texts = "".split()
    return 0


class Row:
    one: Row
    names: "List[str]"
    hidden: Secret
"""


def test_names_that_are_bound_later_are_quoted_and_the_style_of_the_module_is_kept() -> None:
    place = placed(LATER.lstrip("\n"), "f", frozenset())
    assert not isinstance(place, str)
    assert known_types(place.unit) == {"row": '"Row"', "one": '"Row"', "many": "List[str]", "texts": "List[str]"}


NARROWED = {
    "an early return": ("if text is None:\n    return 0\ntotal = len(text)\n", "str"),
    "a condition around it": ("if text:\n    total = len(text)\n    print(total)\n", "str"),
    "one of several conditions": ("if not text or other:\n    return 0\ntotal = len(text)\n", "str"),
    "an early return above a condition": (
        "if text is None:\n    return 0\nif other:\n    total = 1\nelse:\n    total = len(text)\n    print(total)\n",
        "str",
    ),
    "a condition that does not leave": ("if text is None:\n    other = 1\ntotal = len(text or '')\n", "str | None"),
    "another condition": ("if other is None:\n    return 0\ntotal = len(text or '')\n", "str | None"),
    "an early return in the other branch": (
        "if other:\n    if text is None:\n        return 0\n    total = 1\nelse:\n    total = len(text or '')\n",
        "str | None",
    ),
    "all of several conditions": ("if not text and other:\n    return 0\ntotal = len(text or '')\n", "str | None"),
    "bound again": ("if text is None:\n    return 0\ntext = other\ntotal = len(text or '')\n", "str | None"),
}


@pytest.mark.parametrize("name", NARROWED)
def test_none_is_left_out_where_the_block_is_not_reached_with_it(name: str) -> None:
    body, expected = NARROWED[name]
    text = "def f(text: str | None, other: str) -> int:\n" + textwrap.indent(body + "return total\n", "    ")
    place = placed(text, "f", frozenset())
    assert not isinstance(place, str)
    suite, start = next(
        (suite, start)
        for suite in place.unit.suites
        for start, statement in enumerate(suite.statements)
        if ast.unparse(statement).startswith("total = len")
    )
    found = examined(StatementBlock(place.unit, suite, start, start + 1))
    assert isinstance(found, Extraction)
    assert input_types(found)["text"] == expected
    assert result_type(found) == "int"


EARLY = """
from __future__ import annotations

import typing
from collections.abc import Iterable


def f(a, b, log) -> {}:
    if a:
        if b:
            return [len(a)]
        log.append(a)
    log.append(b)
    return [1]
"""


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        ("list[int]", "list[int] | None"),
        ("list[int | None]", "list[int | None] | None"),
        ("Iterable[typing.Optional[int]]", "Iterable[typing.Optional[int]] | None"),
        ("int | None | str", "int | None | str"),
        ("typing.Union[str, None]", "typing.Union[str, None]"),
        ("typing.Optional[int]", "typing.Optional[int]"),
        ("'int | None'", "'int | None'"),
    ],
)
def test_a_new_function_that_may_return_none_says_so(annotation: str, expected: str) -> None:
    """With `list[int | None]`, the annotation of the new function stayed `list[int | None]`."""
    place = placed(EARLY.format(annotation).lstrip("\n"), "f", frozenset())
    assert not isinstance(place, str)
    found = next(one for one in extractions(place.unit, {COMPLEXITY: 100}) if one.manner == "value")
    assert result_type(found) == expected


ANNOTATED = '''
class Row:
    size: int


def label(name: str, row: Row, kinds: list[str]) -> str:
    """Return a label."""
    most = row.size
    if not name or most < 0 and kinds:
        return ""

    line = ""
    for kind in kinds:
        if kind == name:
            line += kind
        elif kind and most > 3:
            line += kind.upper()

    return line + name
'''


def test_annotations_do_not_hinder_the_proof_that_statements_were_only_moved() -> None:
    """The statements are put back without the module, so that its annotations are not known there."""
    text = ANNOTATED.lstrip("\n")
    place = placed(text, "label", frozenset())
    assert not isinstance(place, str)
    draft = shortened(place.unit, {COMPLEXITY: place.unit.complexity - 2}, standard=FAIR)
    assert draft is not None
    (new,) = draft.added
    header = new.text.partition("\n")[0]
    assert header == "def _collect_line(name: str, kinds: list[str], most: int) -> str:"
    found = restored(text, written(text, place, draft))
    assert found is not None
    assert found.names == {"_collect_line"}


COLLECTED = """
class Rules:
    def run(self, value):
        names = [name for name in dir(self) if name.startswith("_check_")]
        return [getattr(self, name)(value) for name in names]

    def check_all(self, rows, most):
        if rows is None or not most and rows:
            return None
        for row in rows:
            if row is None:
                raise ValueError("none")
            if row.size > most:
                raise ValueError("large")
        return rows
"""


def test_no_new_method_gets_the_beginning_by_which_a_class_collects_methods() -> None:
    """A reader found it in cerberus: a new method `_validate_missing` would have become a rule of validation."""
    names = []
    for text in (COLLECTED, COLLECTED.replace('"_check_"', '"_test"')):
        place = placed(
            text.lstrip("\n"), "Rules.check_all", frozenset(("_check_",)) if "_check_" in text else frozenset()
        )
        assert not isinstance(place, str)
        draft = shortened(place.unit, {COMPLEXITY: place.unit.complexity - 2}, standard=FAIR)
        names.append([one.name for one in draft.added] if draft else [])
    assert names == [[], ["_check_rows"]]


def test_a_name_of_underscores_alone_is_no_beginning() -> None:
    """With `____` anywhere in the project, no new function had a name."""
    assert Unit("def f():\n    pass\n", taken=frozenset(("____", "_check_"))).beginnings.count("") == 0
    assert "check_" in Unit("def f():\n    pass\n", taken=frozenset(("____", "_check_"))).beginnings


SCOPED = '''
from __future__ import annotations

from typing import Union


class Table:
    Kind = Union[int, str]

    def add_names(self, names: list[Kind], out: list[int]) -> list[Kind]:
        """Add names."""
        if names is None or not out and names:
            return []

        for name in names:
            if name and name not in out:
                out.append(name)
            elif name == 3:
                out.append(4)
        return out
'''


def test_an_annotation_is_left_out_if_the_class_defines_its_name() -> None:
    """A type checker did not know it above the class."""
    place = placed(SCOPED.lstrip("\n"), "Table.add_names", frozenset())
    assert not isinstance(place, str)
    draft = shortened(place.unit, {COMPLEXITY: place.unit.complexity - 2}, standard=FAIR)
    assert draft is not None
    assert [one.text.partition("\n")[0] for one in draft.added] == ["def _add_names(names, out: list[int]) -> None:"]


COLLECTING = """
def widest(lines: list[str], margin: int) -> int:
    if lines is None or not margin and lines:
        return 0

    widths = [len(line) for line in lines]
    for line in lines:
        if len(line) > margin:
            widths.append(len(line))
        elif line and margin:
            widths.append(margin)
    return max(widths)
"""


@pytest.mark.parametrize(("made", "good"), [("widths: list[int] = []", True), ("widths = [0 for _ in lines]", False)])
def test_a_new_function_that_lacks_an_annotation_is_only_offered_in_an_annotated_function(
    made: str, good: bool
) -> None:
    """html2text is checked with `mypy --strict`, which refuses such functions."""
    text = COLLECTING.lstrip("\n").replace("widths = [len(line) for line in lines]", made)
    place = placed(text, "widest", frozenset())
    assert not isinstance(place, str)
    drafts = [
        shortened(place.unit, {COMPLEXITY: place.unit.complexity - 2}, standard=standard) for standard in (GOOD, FAIR)
    ]
    assert [draft is not None for draft in drafts] == [good, True]
