"""The one module that uses names of pytest which are not part of its public interface (pytest 7 to 9).

If a version of pytest lacks one of these names, callers that can do without it catch `MISSING` and continue.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import warnings
from collections.abc import Callable, Container, Iterable
from typing import Any

import pytest

MISSING = (ImportError, AttributeError, TypeError, LookupError)
HOOKS = (
    "pytest_runtest_protocol", "pytest_runtest_logstart", "pytest_runtest_setup", "pytest_runtest_call",
    "pytest_runtest_teardown", "pytest_runtest_makereport", "pytest_runtest_logreport", "pytest_runtest_logfinish",
    "pytest_pyfunc_call", "pytest_exception_interact", "pytest_report_teststatus", "pytest_fixture_setup",
    "pytest_fixture_post_finalizer", "pytest_warning_recorded", "pytest_assertion_pass",
)  # fmt: skip
"""Hooks by which a plugin takes part in the run of a test, or is notified of it."""
PARAMETER = "get_direct_param_fixture_func"
"""Name of the function that pytest 8 and later uses as the fixture function of a direct parameter."""
LOADED_LATE = (
    "difflib", "pprint", "textwrap", "linecache", "_pytest._io.pprint", "_pytest._io.saferepr",
    "_pytest.assertion.util",
)  # fmt: skip
"""Modules that pytest imports at the first failure."""
_HOME = os.path.dirname(os.path.abspath(str(pytest.__file__ or ""))).rpartition(os.sep)[0]

# -- whose code -------------------------------------------------------------------------------------------


def owner_of(plugin: Any) -> str:
    """Return the module name of a plugin: its name if it is a module, else the module of its class."""
    return (getattr(plugin, "__name__", "") or "") if isinstance(plugin, type(sys)) else type(plugin).__module__


def is_own_plugin(plugin: Any) -> bool:
    """Return whether a plugin is one of pytest's own."""
    return owner_of(plugin).startswith("_pytest.")


def is_own_file(file: str) -> bool:
    """Return whether `file` is directly in the folder `_pytest` of the installed pytest, not in a subfolder."""
    return os.path.basename(os.path.dirname(file)) == "_pytest" and file.startswith(_HOME)


def implementations(relay: Any) -> list[Any]:
    """Return all implementations of HOOKS that `relay` (an item's or the manager's hooks) would call."""
    return [one for hook in HOOKS if hasattr(relay, hook) for one in getattr(relay, hook).get_hookimpls()]


def read_no_bytecode_after(began: int) -> None:
    """Let pytest compile a test module again, in place of reading bytecode written after `began` (nanoseconds)."""
    rewrite: Any = importlib.import_module("_pytest.assertion.rewrite")
    read: Any = getattr(rewrite, "_read_pyc", None)

    def checked(source: Any, pyc: Any, *arguments: Any, **named: Any) -> Any:
        try:
            newer = os.stat(pyc).st_ctime_ns >= began
        except OSError:
            newer = False
        return None if newer else read(source, pyc, *arguments, **named)

    if read is not None:
        rewrite._read_pyc = checked


# -- tests ------------------------------------------------------------------------------------------------


def hooks_without(manager: Any, plugins: frozenset[Any]) -> Any:
    """Return the hooks of `manager` as if `plugins` were not registered."""
    from _pytest.main import FSHookProxy

    return FSHookProxy(manager, plugins)


def make_item(kind: Any, session: Any, name: str, function: Any) -> Any:
    """Return a test of class `kind` with id `name` that calls `function` without arguments."""
    from _pytest.fixtures import FuncFixtureInfo

    short = name.rpartition("::")[2]
    item = kind.from_parent(session, name=short, callobj=function, fixtureinfo=FuncFixtureInfo((), (), [], {}))
    if hasattr(item, "_id"):  # pytest 9.1 and later
        item._id = type(item._id).parse(name)
    else:
        item._nodeid = name
    item.__dict__["location"] = (name.partition("::")[0], 0, short)
    return item


def has_plain_arguments(item: Any, idle: Container[str] = ()) -> bool:
    """Return whether the test's arguments all come from `parametrize`, so that no fixture is needed to call it.

    `idle`: packages whose fixtures do not count, unless the test has them as arguments.
    """
    given = item.callspec.params if hasattr(item, "callspec") else {}
    info = item._fixtureinfo
    ignored = {name for name, found in info.name2fixturedefs.items() if all(_owner(one) in idle for one in found)}
    behind = [one for name, found in info.name2fixturedefs.items() if name not in ignored for one in found]
    names = {*info.argnames, *item.fixturenames} - (ignored - {*info.argnames})
    return names <= given.keys() and all(one.func.__name__ == PARAMETER for one in behind)


def _owner(fixture: Any) -> str:
    return str(fixture.func.__module__).partition(".")[0]


def arguments_of(item: Any) -> dict[str, Any]:
    """Return the keyword arguments with which pytest calls the test's function, if `has_plain_arguments` is true."""
    given = item.callspec.params if hasattr(item, "callspec") else {}
    return {name: given[name] for name in item._fixtureinfo.argnames}


def warning_filters(session: Any, item: Any) -> list[Any] | None:
    """Return the warning filters that pytest sets for a test without marks; None if its warnings plugin is disabled.

    Raises TypeError if this pytest or Python stores filters in an unknown way.
    """
    if getattr(sys.flags, "context_aware_warnings", 0) or not isinstance(session._setupstate.stack, dict):
        raise TypeError("warnings or setup are kept in an unknown way")
    if not session.config.pluginmanager.has_plugin("warnings"):
        return None
    from _pytest.warnings import catch_warnings_for_item

    with catch_warnings_for_item(config=item.config, ihook=item.ihook, when="runtest", item=item):
        return list(warnings.filters)


def capture_and_log(manager: Any) -> contextlib.ExitStack:
    """Capture output and handle log records as pytest does for a test, until the returned stack is closed."""
    stack = contextlib.ExitStack()
    capture = manager.get_plugin("capturemanager")
    if capture is not None:
        capture.resume_global_capture()
        stack.callback(capture.suspend_global_capture, in_=False)
    logs = manager.get_plugin("logging-plugin")
    if logs is not None:
        from _pytest.logging import catching_logs

        for handler in (logs.caplog_handler, logs.report_handler):
            stack.enter_context(catching_logs(handler, level=logs.log_level))
    return stack


def tear_down(session: Any, following: Any | None) -> None:
    """Tear down the fixtures of the last test that the test `following` does not need."""
    if session._setupstate.stack:
        session._setupstate.teardown_exact(following)


# -- sessions ---------------------------------------------------------------------------------------------


def skip_rendering(config: Any) -> None:
    """Disable the rendering of tracebacks and the terminal's output, which nothing reads in a forked child.

    `pytest_runtest_makereport` stays enabled, because unittest, skipping and subtests need it.
    """
    from _pytest import nodes

    def no_traceback(node: Any, excinfo: Any, style: str | None = None) -> str:  # noqa: ARG001
        return f"{type(excinfo.value).__name__} (not rendered)"

    nodes.Node._repr_failure_py = no_traceback  # type: ignore[method-assign,assignment]
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    for name in ("pytest_runtest_logstart", "pytest_runtest_logreport", "pytest_runtest_logfinish"):
        caller = getattr(config.pluginmanager.hook, name)
        if any(found.plugin is terminal for found in caller.get_hookimpls()):
            caller._remove_plugin(terminal)


def describe_inside(context: Callable[[], Any]) -> None:
    """Make pytest's functions that describe a failed assertion run inside `context()`.

    `context` returns a context manager that also works as a decorator, as those of contextlib do.
    """
    from unittest import case

    from _pytest.assertion import rewrite

    described = ((rewrite, "_saferepr"), (rewrite, "_call_reprcompare"), (case, "safe_repr"))
    for module, name in (*described, (case, "_common_shorten_repr")):
        with contextlib.suppress(*MISSING):
            setattr(module, name, context()(getattr(module, name)))


def empty_capture(config: Any) -> None:
    """Empty pytest's capture files: a killed child leaves its output in them, and the next child would read it all."""
    capture = config.pluginmanager.get_plugin("capturemanager")
    whole = getattr(capture, "_global_capturing", None)
    for stream in (getattr(whole, "out", None), getattr(whole, "err", None)):
        file = getattr(stream, "tmpfile", None)
        if file is not None:
            file.seek(0)
            file.truncate()


def start_session(config: Any, work: Callable[[Any, Any], None]) -> Any:
    """Start a session as pytest's own `pytest_cmdline_main` does, and call `work(config, session)` in it."""
    from _pytest.main import wrap_session

    return wrap_session(config, work)


def collect_and_run(session: Any) -> None:
    """Collect and run the tests in a session that has been started."""
    from _pytest.main import _main

    _main(session.config, session)


class _ImportsProjectError(BaseException):
    """A module imports a file of the project; not an Exception, so that the module cannot catch it."""


class _NoProject:
    """An import finder, called before all others, that raises an error for files of the project."""

    def __init__(self, ours: Callable[[str | None], bool]) -> None:
        self._ours = ours
        self.sought: list[str] = []

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        self.sought.append(name)
        for finder in [one for one in sys.meta_path if one is not self and hasattr(one, "find_spec")]:
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if self._ours(spec.origin):
                    raise _ImportsProjectError(name)
                return spec
        return None


def import_modules(names: Iterable[str], rewritten: Iterable[str], ours: Callable[[str | None], bool]) -> None:
    """Import modules before pytest starts, with pytest's assertion rewriting for those in `rewritten`.

    Without this rewriting, pytest would warn that such a plugin was imported too early. A module that imports files of
    the project (those for which `ours` is true) is not imported: these files have to be imported later, when a
    candidate has changed them.
    """
    from _pytest.assertion import install_importhook
    from _pytest.config import get_config

    config = get_config()
    install_importhook(config).mark_rewrite(*rewritten)
    barrier, refused = _NoProject(ours), set()
    sys.meta_path.insert(0, barrier)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            barrier.sought.clear()
            try:
                if name.partition(".")[0] not in refused:
                    importlib.import_module(name)
            except Exception:
                sys.modules.pop(name, None)
            except _ImportsProjectError:
                refused.add(name.partition(".")[0])
                for new in barrier.sought:
                    if new.partition(".")[0] in refused:
                        sys.modules.pop(new, None)
    sys.meta_path.remove(barrier)
    config._ensure_unconfigure()
