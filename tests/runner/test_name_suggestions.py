"""What was asked for in vain, and the nearest of what is there."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from coderefine.runner.agent.failure_details import ProjectPaths, attributes, failure, misspelt

Found = TypeVar("Found")


class Basket:
    def __init__(self) -> None:
        self.items: list[str] = []
        self.prices = {"apple": 1, "pear": 2}

    def price(self, name: str) -> int:
        return self.prices[name]


def attribute() -> object:
    return Basket().itmes  # type: ignore[attr-defined]


def name() -> object:
    basket = Basket()
    return basket if baskte else None  # type: ignore[name-defined]  # noqa: F821


def key() -> object:
    return Basket().price("aple")


def imported() -> object:
    from collections import OrderdDict  # type: ignore[attr-defined]

    return OrderdDict


def far() -> object:
    return Basket().zzz  # type: ignore[attr-defined]


def other() -> object:
    return 1 / 0


@pytest.mark.parametrize(
    ("call", "wrong", "first"),
    [
        (attribute, "itmes", "items"),
        (name, "baskte", "basket"),
        (key, "aple", "apple"),
        (imported, "OrderdDict", "OrderedDict"),
        (far, "", ""),
        (other, "", ""),
    ],
)
def test_the_nearest_name_of_the_very_object(call: Callable[[], object], wrong: str, first: str) -> None:
    if call is name and sys.version_info < (3, 10):
        pytest.skip("the error has no name")
    result = failing(call)
    assert result[0] == wrong
    assert result[1][:1] == ([first] if first else [])


def test_the_nearest_parameter() -> None:
    basket = Basket()
    with pytest.raises(TypeError) as caught:
        basket.price(nmae="apple")  # type: ignore[call-arg]
    assert misspelt(caught.value, sys._getframe()) == ("nmae", ["name"])


def test_an_object_whose_methods_raise_gives_no_suggestions() -> None:
    class Odd:
        def __dir__(self) -> list[str]:
            raise RuntimeError

    def asking() -> object:
        return Odd().thing  # type: ignore[attr-defined]

    assert failing(asking) == ("", [])
    assert raised(asking, attributes) == []


def test_the_attributes_of_an_object_are_told_where_none_is_similar() -> None:
    assert raised(far, attributes) == ["items", "price", "prices"]
    assert raised(other, attributes) == []


def test_the_name_that_a_wrapped_exception_lacks_is_found() -> None:
    """cron-descriptor: `FormatError` hid that an object had no attribute `_`; the search knew nothing of it."""

    def wrapped() -> object:
        try:
            return attribute()
        except AttributeError as error:
            raise ValueError("no basket") from error

    folder = str(Path(__file__).parent)
    record = raised(wrapped, lambda error: failure(ProjectPaths(folder, folder), error, [], rich=False))
    assert (record["exception"], record["wrong"], record["nearest"]) == ("ValueError", "itmes", ["items"])
    assert record["attributes"] == ["items", "price", "prices"]
    assert "after AttributeError: 'Basket' object has no attribute 'itmes'" in record["assertion"]


@pytest.mark.parametrize("truth", [False, RuntimeError], ids=["false", "raises"])
def test_a_cause_without_truth_is_named(truth: object) -> None:
    class OddError(Exception):
        def __bool__(self) -> bool:
            if truth:
                raise RuntimeError
            return False

    def wrapped() -> object:
        raise ValueError("outer") from OddError("inner")

    folder = str(Path(__file__).parent)
    record = raised(wrapped, lambda error: failure(ProjectPaths(folder, folder), error, [], rich=False))
    assert "after OddError: inner" in record["assertion"]


def failing(call: Callable[[], object]) -> tuple[str, list[str]]:
    def suggested(error: Exception) -> tuple[str, list[str]]:
        link = error.__traceback__
        while link is not None and link.tb_next is not None:
            link = link.tb_next
        return misspelt(error, link.tb_frame if link else None)

    return raised(call, suggested)


def raised(call: Callable[[], object], then: Callable[[Exception], Found]) -> Found:
    """Return what `then` makes of the error that `call` raises."""
    try:
        call()
    except Exception as error:
        return then(error)
    raise AssertionError
