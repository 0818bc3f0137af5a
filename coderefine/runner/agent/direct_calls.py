"""Call tests that are plain functions directly, without pytest's protocol, which is several times faster.

This is possible only for tests where the protocol does nothing but call the function: no fixtures, no marks that change
the meaning, no hooks but pytest's and those of IDLE. Warning filters, capture and log handlers are the same as
those that pytest would set up. A result that is not clearly a pass or a failure is `DOUBT`; the caller then uses the
protocol.
"""

from __future__ import annotations

import bdb
import contextlib
import inspect
import os
import sys
import threading
import warnings
from collections.abc import Callable, Container, Iterable
from typing import Any

import pytest

from . import pytest_internals as internals

DOUBT, PASSED, FAILED = 0, 1, 2
"""Indices in server_plugin.STATUSES; DOUBT: no result, the test must run through pytest's protocol."""
BAD = (2, 3)

MEANINGFUL = frozenset(("skip", "skipif", "xfail", "usefixtures", "filterwarnings"))
"""Marks by which pytest itself changes how a test is run or judged."""
IDLE = frozenset(("_hypothesis_pytestplugin", "anyio", "pytest_asyncio", "pytest_cov", "pytest_mock", "xdist"))
"""Packages of plugins whose hooks do nothing for a test that is an ordinary function without fixtures."""
PACKAGE_SETUP = (b"setup_module", b"setUpModule", b"teardown_module", b"tearDownModule")
UNCLEAR = (bdb.BdbQuit, MemoryError, pytest.PytestWarning)
"""Exceptions that pytest may not report as a failure, in addition to `unittest.SkipTest`."""


def _does_nothing(plugin: Any) -> bool:
    return internals.is_own_plugin(plugin) or internals.owner_of(plugin).partition(".")[0] in IDLE


def _is_special(function: Any) -> bool:
    """Return whether a plugin has to call the function: a coroutine, or a test of hypothesis."""
    asynchronous = inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
    return asynchronous or hasattr(function, "is_hypothesis_test")


class DirectCalls:
    """Direct calls in one server. `own`: the server's plugin; `trusted`: numbers of tests that are called directly."""

    def __init__(self, session: Any, own: Any) -> None:
        self._session = session
        self._own = own
        self._filters: list[Any] | None = None
        self._packages: dict[Any, bool] = {}
        self._hooks: dict[int, bool] = {}
        self.trusted: frozenset[int] = frozenset()
        self.proved: set[Any] = set()
        """Test functions whose failure in a direct call was once confirmed by the protocol."""
        self.on_trial = False
        """Whether this is the trial run of all tests, in which the result DOUBT of one test does not end the run."""
        self._doubt = False
        self._staged: contextlib.ExitStack | None = None

    def possible(self, places: Iterable[int]) -> list[int]:
        """Return those of `places` whose tests can be called directly; none if this pytest is not supported."""
        try:
            items = self._session.items
            found = [place for place in places if self._plain(items[place])]
            self._filters = internals.warning_filters(self._session, items[found[0]]) if found else None
        except internals.MISSING:
            return []
        return found

    def adopt(self, places: Iterable[int], tried: bytes, expected: bytes) -> None:
        """Trust the tests whose result in a direct call is the same as by the protocol, and is clear.

        `places`: numbers of the tests. `tried`, `expected`: the results of direct calls, and by the protocol.
        """
        good = [place for place in places if tried[place] == expected[place] and tried[place] in (PASSED, FAILED)]
        self.trusted = frozenset(good)
        self._prove(place for place in good if tried[place] == FAILED)

    def _prove(self, places: Iterable[int]) -> None:
        self.proved.update(function_of(self._session.items[place]) for place in places)

    def settled(self, numbers: Iterable[int], results: bytes, known: Container[int]) -> bool:
        """Return whether the `results` of direct calls are enough to reject the candidate.

        They are enough if a test outside `known` failed, and if every failure is certain: either the test is not called
        directly, or pytest's protocol has confirmed an earlier failure of its function.
        """
        bad = [number for number in numbers if results[number] in BAD]
        return any(number not in known for number in bad) and all(self._proved(number) for number in bad)

    def _proved(self, number: int) -> bool:
        return number not in self.trusted or function_of(self._session.items[number]) in self.proved

    def learn(self, numbers: Iterable[int], direct: bytes, protocol: bytes) -> None:
        """Compare the results of `direct` calls and of the `protocol`; tests with different results are not trusted."""
        both = [number for number in numbers if number in self.trusted and direct[number] and protocol[number]]
        self._prove(number for number in both if direct[number] == protocol[number] == FAILED)
        self.trusted -= {number for number in both if direct[number] != protocol[number]}

    def _plain(self, item: Any) -> bool:
        if type(item) is not pytest.Function or not internals.has_plain_arguments(item, IDLE):
            return False
        if any(mark.name in MEANINGFUL for mark in item.iter_markers()) or _is_special(item.obj):
            return False
        nodes = item.listchain()[:-1]
        return self._unhooked(item) and all(self._no_setup(node) for node in nodes)

    def _unhooked(self, item: Any) -> bool:
        """Return whether only pytest's own plugins, the server's plugin and those of IDLE take part in this test."""
        folder = id(item.parent)
        if folder not in self._hooks:
            found = {id(one.plugin): one.plugin for one in internals.implementations(item.ihook)}.values()
            self._hooks[folder] = all(one is self._own or _does_nothing(one) for one in found)
        return self._hooks[folder]

    def _no_setup(self, node: Any) -> bool:
        if node not in self._packages:
            usual = type(node).setup is pytest.Item.setup and type(node).teardown is pytest.Item.teardown
            self._packages[node] = usual or (type(node) is pytest.Package and _quiet_package(node))
        return self._packages[node]

    def run(self, number: int, following: Any | None, protocol: Callable[[Any, Any], int]) -> int:
        """Run test `number`, directly if it is trusted, else by pytest's `protocol`; return its status."""
        item = self._session.items[number]
        if number in self.trusted:
            if self._staged is None:
                self._staged = internals.capture_and_log(self._session.config.pluginmanager)
            return self._call(item, following)
        if self._staged is not None:
            self._staged.close()
            self._staged = None
        return protocol(item, following)

    def watch(self) -> None:
        """In the child: make the result DOUBT if an error occurs that pytest would report later, as a warning."""

        def noticed(_: Any) -> None:
            self._doubt = True

        sys.unraisablehook = noticed
        threading.excepthook = noticed

    def _call(self, item: Any, following: Any | None) -> int:
        """Call the test; return PASSED, FAILED or DOUBT. Then tear down fixtures as the protocol does."""
        self._doubt = False
        os.environ["PYTEST_CURRENT_TEST"] = "{} (call)".format(item.nodeid.replace("\0", "(null)"))
        before = (sys.stdout, sys.stderr, sys.stdin)
        with warnings.catch_warnings(record=True):
            if self._filters is not None:
                warnings.filters[:] = self._filters  # type: ignore[index]
            status = self._outcome(item)
        internals.tear_down(self._session, following)
        same = all(one is other for one, other in zip(before, (sys.stdout, sys.stderr, sys.stdin), strict=False))
        return DOUBT if self._doubt or not same else status

    def _outcome(self, item: Any) -> int:
        arguments = internals.arguments_of(item)
        try:
            return PASSED if item.obj(**arguments) is None else DOUBT
        except Exception as error:
            return DOUBT if _unclear(error) else FAILED
        except pytest.fail.Exception as error:
            return FAILED if type(error) is pytest.fail.Exception else DOUBT
        except BaseException:
            return DOUBT


def _unclear(error: BaseException) -> bool:
    skip = getattr(sys.modules.get("unittest"), "SkipTest", None)
    return isinstance(error, UNCLEAR) or (skip is not None and isinstance(error, skip))


def function_of(item: Any) -> Any:
    """Return the function of the test, which is the same for all its parameters."""
    return getattr(item.obj, "__func__", item.obj)


def _quiet_package(node: Any) -> bool:
    with open(str(node.path / "__init__.py"), "rb") as stream:
        text = stream.read()
    return not any(word in text for word in PACKAGE_SETUP)
