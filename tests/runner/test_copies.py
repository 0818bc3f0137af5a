"""Arguments are copied although parts of them cannot be."""

from __future__ import annotations

import contextvars
import copyreg
import math
import pickle
import threading
import types
from typing import Any

import pytest

from coderefine.runner.agent.copies import copied, copied_or_shared


class Owner:
    """Has one attribute."""

    def __init__(self, value: object) -> None:
        self.value, self.items = value, [1]


MISSING = object()
KNOWN = {"rows": [1]}


def function() -> None: ...


def copy_of(value: object) -> Any:
    (one,), _ = copied(([Owner(value)], {}))
    return one


def test_a_value_of_a_global_name_is_shared_only_on_request() -> None:
    """glom: `if rhs is M` was false in all repeated calls, and no repair changed any result."""
    (one, other), _ = copied_or_shared(([[MISSING], KNOWN], {}), function)
    assert one[0] is MISSING
    assert other is not KNOWN
    assert copy_of(MISSING).value is not MISSING


@pytest.mark.parametrize(
    "value",
    [math, contextvars.ContextVar("name"), types.MappingProxyType({})],
    ids=["a module", "a context variable", "a view of a dictionary"],
)
def test_what_exists_once_is_shared(value: object) -> None:
    assert copy_of(value).value is value


@pytest.mark.parametrize("make", [threading.Lock, threading.RLock], ids=["Lock", "RLock"])
def test_a_lock_is_replaced_by_a_new_one(make: Any) -> None:
    lock = make()
    with lock:
        other = copy_of(lock).value
        assert type(other) is type(lock)
        assert other.acquire(blocking=False)


def test_what_cannot_be_copied_is_shared_only_on_request() -> None:
    numbers = (n for n in range(3))
    with pytest.raises(TypeError):
        copied(([numbers], {"rows": [1]}))
    rows = [1]
    (one,), named = copied_or_shared(([numbers], {"rows": rows}), function)
    assert one is numbers
    assert named["rows"] == rows
    assert named["rows"] is not rows


def test_afterwards_the_program_pickles_as_before() -> None:
    before = dict(copyreg.dispatch_table)
    copy_of(math)
    assert copyreg.dispatch_table == before
    with pytest.raises(TypeError):
        pickle.dumps(threading.Lock())
