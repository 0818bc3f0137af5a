"""Canary tests: our own tests with a known outcome. If one ends differently, no result of the process is valid.

They run before and after the project's tests, under the names of project tests, through the same pytest protocol,
assertion rewriting and reporting: code that turns failures into passes also changes their outcome. A secret of the
process decides which canary tests must fail. Canary tests are hidden from pytest's summary, and from plugins of the
project and of installed packages, which would count, reorder or retry them.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest

from . import pytest_internals as internals
from .agent_channel import fails, token

SILENT = frozenset(("main", "terminal", "junitxml", "cacheprovider", "stepwise", "pastebin", "debugging", "runner_log"))
"""Modules of pytest whose plug-ins would count or display the canary tests."""
OURS = "_coderefine_agent."

SOURCE = '''\
import sys

import pytest


def disarmed(one, two):
    """Names of the ways to fail that do not fail."""
    found = []
    try:
        assert one == two
    except AssertionError:
        pass
    else:
        found.append("assert")
    try:
        with pytest.raises(KeyError):
            pass
    except pytest.fail.Exception:
        pass
    else:
        found.append("pytest.raises")
    if "unittest" in sys.modules:
        try:
            sys.modules["unittest"].TestCase().assertEqual(one, two)
        except AssertionError:
            pass
        else:
            found.append("assertEqual")
    return found


def failing(token):
    def test():
        assert not token, token + "[" + ", ".join(disarmed(1, 2)) + "]"

    return test


def passing(token):
    def test():
        assert token and not disarmed(1, 2)

    return test
'''


class Canary:
    """Runs canary tests in a pytest session whose collection is finished.

    `folder`: where the source file of the canary tests is written. `patched`: paths of the patched files, relative to
    `top`. Create the object before the project's tests run. Raises AttributeError, TypeError or the like if this
    version of pytest is not supported.
    """

    def __init__(self, session: Any, folder: str, patched: Sequence[str], top: str) -> None:
        self._session = session
        self._top = top + os.sep
        self.patched = full(top, patched)
        self._module = _rewritten(session.config, folder)
        self._kind = _kind(self)
        self.hooks: Any = None
        """The hooks for running the canary tests."""

    def run(self, names: Sequence[str], secret: str, when: str, following: Any) -> None:
        """Run a canary test under each of `names`, hidden from the plug-ins that `others` returns.

        `when`: "before" or "after" the project's tests. `following`: the test that pytest runs next (None: none).
        """
        self.hooks = internals.hooks_without(self._session.config.pluginmanager, frozenset(self.others()))
        for number, name in enumerate(names):
            make = self._module.failing if fails(secret, when, number) else self._module.passing
            item = internals.make_item(self._kind, self._session, name, make(token(secret, when, number)))
            item.ihook.pytest_runtest_protocol(item=item, nextitem=following)

    def others(self) -> list[Any]:
        """Return the plug-ins from which canary tests are hidden.

        These are pytest's own plug-ins in SILENT, and the plug-ins of the project or of installed packages, if the
        patch does not change their files.
        """
        manager = self._session.config.pluginmanager
        files: dict[int, tuple[Any, list[str]]] = {}
        for found in internals.implementations(manager.hook):
            function = getattr(found.function, "__func__", found.function)
            file = str(getattr(getattr(function, "__code__", None), "co_filename", ""))
            files.setdefault(id(found.plugin), (found.plugin, []))[1].append(file)
        return [plugin for plugin, names in files.values() if self._is_other(plugin, names)]

    def _is_other(self, plugin: Any, files: list[str]) -> bool:
        owner = internals.owner_of(plugin)
        if owner.startswith(OURS):
            return False
        if all(internals.is_own_file(file) for file in files):
            return owner.rpartition(".")[2] in SILENT
        return all(internals.is_own_file(file) or self._is_known(file) for file in files)

    def _is_known(self, file: str) -> bool:
        """Return whether `file` is an unpatched file of the project or of an installed package."""
        real = os.path.realpath(file)
        installed = os.sep + "site-packages" + os.sep in real or os.sep + "dist-packages" + os.sep in real
        return real not in self.patched and (installed or real.startswith(self._top)) and os.path.exists(real)


def full(top: str, paths: Iterable[str]) -> frozenset[str]:
    """Return the absolute form of `paths` below `top`, with symbolic links resolved."""
    return frozenset(os.path.realpath(os.path.join(top, path)) for path in paths)


def _kind(canary: Canary) -> Any:
    """Return a class of tests for which pytest calls only the plugins in `canary.hooks`."""

    class Ours(pytest.Function):
        ihook: Any = property(lambda self: canary.hooks)  # noqa: ARG005

    return Ours


def _rewritten(config: Any, folder: str) -> Any:
    """Write the source of the canary tests to `folder` and import it with pytest's assertion rewriting.

    The import hook is the one that rewrites the project's tests.
    """
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"test_{os.urandom(6).hex()}.py")
    with open(path, "w", encoding="ascii") as stream:
        stream.write(SOURCE)
    hook = getattr(config.pluginmanager, "rewrite_hook", None)
    loader = hook if hasattr(hook, "exec_module") else None
    spec = importlib.util.spec_from_file_location("_coderefine_canary", path, loader=loader)
    if spec is None or spec.loader is None:
        raise ImportError(path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    shutil.rmtree(folder, ignore_errors=True)
    return module


def names(secret: str, when: str, doubted: Sequence[str], chosen: Sequence[str], most: int = 3) -> Iterator[str]:
    """Yield `most` names from `chosen` (the tests that run) for the canary tests to use; `secret` decides which ones.

    All but one are also in `doubted` (the tests that the patch repairs), if any of these is in `chosen`. No name is
    yielded if `chosen` is empty. `when`: see `Canary.run`.
    """
    seed = int(token(secret, when, most), 16)
    running = set(chosen)
    pool = [name for name in doubted if name in running]
    for number in range(most):
        names = pool if pool and number < most - 1 else chosen
        if names:
            yield names[(seed >> (8 * number)) % len(names)]
