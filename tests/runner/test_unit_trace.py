"""What a watched function returns is recorded, and which of its lines run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from types import FunctionType
from typing import cast

import pytest

from coderefine.runner.agent.unit_trace import UnitTrace, module_values


def halves(numbers: Iterable[int]) -> Iterator[int]:
    for number in numbers:
        yield number // 2


def guarded(number: int) -> int | None:
    try:
        return 1 // number
    except ZeroDivisionError:
        return None


def test_when_a_generator_is_closed_is_no_result() -> None:
    trace = UnitTrace([(cast(FunctionType, halves), "halves")])
    trace.start()
    found = halves([2, 4])
    next(found)
    del found  # the garbage collector may do this at any time
    list(halves([2, 4]))
    trace.stop()
    first, second = trace.results["halves"].values()
    assert len(first) == 1
    assert first[0] == second[0]
    assert len(second) == 3


def test_generators_that_are_used_in_turn_are_recorded_apart() -> None:
    """If the second one was not recorded for lack of time, the first one seemed to have other results (dateutil)."""
    trace = UnitTrace([(cast(FunctionType, halves), "halves")])
    trace.start()
    list(zip(halves([2, 4]), halves([2, 4]), strict=True))
    trace.stop()
    first, second = trace.results["halves"].values()
    assert first[:2] == second[:2]
    assert first[0] != first[1]


def test_a_caught_exception_is_no_result_where_all_lines_were_seen_before() -> None:
    trace = UnitTrace([(cast(FunctionType, guarded), "guarded")])
    trace.start()
    results = [guarded(number) for number in (1, 0, 1, 0, 0)]
    trace.stop()
    assert results == [1, None, 1, None, None]
    assert [len(codes) for codes in trace.results["guarded"].values()] == [2, 3]
    assert not any(code.startswith("!") for codes in trace.results["guarded"].values() for code in codes)
    start = guarded.__code__.co_firstlineno
    assert trace.lines["guarded"] == {start + 1, start + 2, start + 3, start + 4}


def cleaned(number: int) -> float:
    try:
        return 1 / number
    finally:
        len("")


def raised_again(number: int) -> float:
    try:
        return 1 / number
    except ZeroDivisionError:
        len("")
        raise


def closed(number: int) -> float:
    with nullcontext():
        return 1 / number


@pytest.mark.parametrize("function", [cleaned, raised_again, closed])
def test_an_exception_that_is_raised_again_is_a_result(function: FunctionType) -> None:
    """`raise error` → `raise` was refused: for the latter, None was recorded."""
    trace = UnitTrace([(function, "unit")])
    trace.start()
    with pytest.raises(ZeroDivisionError):
        function(0)
    trace.stop()
    assert list(trace.results["unit"].values()) == [["!ZeroDivisionError"]]


class Base:
    def _add(self) -> int:
        return 1


def test_a_new_method_that_hides_an_inherited_one_is_another_value_of_its_class() -> None:
    """The base class may be one of another package, of which only its loaded form is known."""

    def values(body: dict[str, object]) -> dict[str, str]:
        return module_values({"Cart": type("Cart", (Base,), {"__module__": "m", **body})}, "m")

    def added(_self: object) -> int:
        return 2

    assert values({"_sum": added})["Cart"] == values({})["Cart"]
    assert values({"_add": added})["Cart"] != values({})["Cart"]


def test_a_new_method_that_a_subclass_overrides_is_another_value_of_its_class() -> None:
    def values(body: dict[str, object]) -> dict[str, str]:
        cart = type("Cart", (), {"__module__": "m", **body})
        basket = type("Basket", (type("Middle", (cart,), {}),), {"_add": None})
        return module_values({"Cart": cart}, "m") if basket else {}

    assert values({"_sum": None})["Cart"] == values({})["Cart"]
    assert values({"_add": None})["Cart"] != values({})["Cart"]


def test_a_class_with_itself_as_an_attribute_has_values() -> None:
    """One such class was the end of every comparison: the tests "could not be watched" (html5lib)."""
    cart = type("Cart", (), {"__module__": "m", "size": 1})
    cart.kind = cart  # type: ignore[attr-defined]
    values = module_values({"Cart": cart}, "m")
    assert values["Cart.size"] == module_values({"size": 1}, "m")["size"]


def test_an_annotation_in_a_class_and_in_its_subclass_is_no_other_value() -> None:
    """`validation_attrs: ClassVar[list]` in two classes of wtforms: both "had another value", and with them 15 more."""

    def values(body: dict[str, object]) -> dict[str, str]:
        cart = type("Cart", (), {"__module__": "m", "sizes": [1], **body})
        basket = type("Basket", (cart,), {"__module__": "m", "sizes": [2], **body})
        return module_values({"Cart": cart, "Basket": basket}, "m")

    assert values({"__annotations__": {"sizes": list}}) == values({})
