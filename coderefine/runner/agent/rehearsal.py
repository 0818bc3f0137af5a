"""Runs pytest's own machinery a few times in the server, so that no child is the first to do so.

The interpreter has then specialised the code, imports done late are done, and what pytest computes about an item is
there. Only tests of ours run, and only pytest's own hooks: nothing of the project is called.
"""

from __future__ import annotations

import contextlib
import sys
from typing import Any, List

import pytest

TIMES = 12
"""Runs of each of our tests; CPython specialises after eight."""


def rehearse(session: Any, items: List[Any]) -> None:
    """Run tests of ours under `session` (a pytest.Session), and have `items` compute where they are."""
    with contextlib.suppress(ImportError, AttributeError, TypeError, LookupError):
        for item in _ours(session) * TIMES:
            _play(item)
    for name in ("last_type", "last_value", "last_traceback", "last_exc"):
        sys.__dict__.pop(name, None)
    for item in items:
        if type(item).reportinfo.__module__.startswith("_pytest."):
            with contextlib.suppress(Exception):
                item.location  # noqa: B018 - a cached property


def _ours(session: Any) -> List[Any]:
    from _pytest.fixtures import FuncFixtureInfo
    from _pytest.main import FSHookProxy

    manager = session.config.pluginmanager
    foreign = {plugin for plugin in manager.get_plugins() if not _is_pytests(plugin)}

    class Rehearsal(pytest.Function):
        """A test that only pytest's own plug-ins hear of."""

        ihook: Any = property(lambda self: FSHookProxy(manager, foreign))  # noqa: ARG005

    def item(name: str, function: Any) -> Any:
        nothing = FuncFixtureInfo((), (), [], {})
        return Rehearsal.from_parent(session, name=name, callobj=function, fixtureinfo=nothing)

    return [item("fails", _fails), item("raises", _raises), item("passes", _passes)]


def _is_pytests(plugin: Any) -> bool:
    name = getattr(plugin, "__name__", "") or ""
    return (name if isinstance(plugin, type(sys)) else type(plugin).__module__).startswith("_pytest.")


def _play(item: Any) -> None:
    from _pytest.runner import runtestprotocol

    runtestprotocol(item, log=False, nextitem=None)


def _passes() -> None:
    pass


def _raises() -> None:
    raise ValueError


def _fails() -> None:
    from _pytest.assertion import util

    for left, right in (("one", "two"), (1, 2), ([1], [2]), (None, "a")):
        if util._reprcompare is not None:
            util._reprcompare("==", left, right)
    raise AssertionError
