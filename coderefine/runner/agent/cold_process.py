"""A whole pytest run in a fresh process, as `python -m pytest` would do it, reported over the channel.

Started by the parent as `python -c BOOT here module fd`. BOOT registers this folder in `sys.modules` as a package with
a private name; the folder is not in `sys.path`, so that no module of ours can shadow a module of the project.
"""

from __future__ import annotations

import os
import sys
from typing import Any

_BEFORE = frozenset(sys.modules)

from . import addopts, agent_channel, failure_details  # noqa: E402


def main(fd: int) -> None:
    """Read the job from `fd`, run it, report how it ended; does not return."""
    os.set_inheritable(fd, False)  # noqa: FBT003
    job = agent_channel.read(fd)
    if job is None:
        os._exit(2)
    channel = agent_channel.AgentChannel(fd, job["nonce"])
    channel.send("hello", pid=os.getpid())
    watch(job["board"], job["signal"])
    if job["record"]:
        from .outside_access import OutsideAccess

        OutsideAccess(**job["record"]).watch()
    set_up(job)
    code = run(job, channel)
    channel.send("end", code=code, memory=peak())
    leave(code)


def peak() -> int:
    """Return the maximum memory, in bytes, that this process or one of its children has used."""
    import resource

    most = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return int(most) * (1 if sys.platform == "darwin" else 1024)


def watch(fd: int, signal: int) -> None:
    """Dump the stacks of all threads to `fd` whenever the parent sends `signal`, to locate a hanging test."""
    import faulthandler

    os.set_inheritable(fd, False)  # noqa: FBT003
    faulthandler.register(signal, file=fd, all_threads=True, chain=False)


def set_up(job: dict[str, Any]) -> None:
    """Set working directory, `sys.path`, `sys.argv` and `__main__` as `python -m pytest` does."""
    os.chdir(job["root"])
    if not getattr(sys.flags, "safe_path", False):
        sys.path.insert(0, os.getcwd())
        unshadow(os.getcwd())
    import gc

    gc.disable()  # saves a tenth of the import's time
    import pytest

    if hasattr(gc, "freeze"):  # PyPy has none
        gc.freeze()  # saves a sixth of a short run: pytest collects garbage several times at its end
    gc.enable()
    start = os.path.join(os.path.dirname(str(pytest.__file__)), "__main__.py")
    main_module = type(sys)("__main__")
    main_module.__dict__.update(
        __file__=start, __package__="pytest", __spec__=None, __builtins__=__builtins__, __loader__=None
    )
    job["main"] = sys.modules["__main__"]
    sys.modules["__main__"] = main_module
    sys.argv = [start]


def unshadow(root: str) -> None:
    """Remove imported standard modules from `sys.modules` if the project has modules with the same names."""
    ours = [name for name in sys.modules if name not in _BEFORE and not name.startswith(__package__ + ".")]
    tops = {name.split(".")[0] for name in ours}
    there = {name.split(".")[0] for name in os.listdir(root) if _imported(os.path.join(root, name))}
    if tops & there:
        for name in ours:
            del sys.modules[name]


def _imported(path: str) -> bool:
    """Return whether `path` is a module or package; `pytest.ini` or a folder with data does not shadow a module."""
    return path.endswith((".py", ".so", ".pyd")) or os.path.exists(os.path.join(path, "__init__.py"))


def run(job: dict[str, Any], channel: agent_channel.AgentChannel) -> int:
    """Run pytest for `job` and return its exit code."""
    import pytest

    from .cold_plugin import ColdPlugin, TestChoice

    paths = failure_details.ProjectPaths(job["top"], job["root"])
    lines = None
    if job["coverage"]:
        from . import pytest_internals
        from .test_coverage import LineRecorder

        chosen = None if job["watched"] is None else frozenset(job["watched"])
        follow = os.path.join(job["temp"], "followed") if job["follow"] else ""
        lines = LineRecorder(paths, frozenset(job["cover"]), chosen, dict(job["stepped"]), follow)
        pytest_internals.describe_inside(lines.ignoring)
    choice = TestChoice(job["tests"], job["first"], job["done"], job["avoid"], job["files"])
    plugins = [addopts.AddoptsFilter(channel), ColdPlugin(channel, paths, choice, job, lines)]
    if job["compile"]:
        plugins.append(Compiler())
    kept, _ = addopts.split_options(job["extra"])
    sys.argv = [sys.argv[0], *job["args"], *kept]
    return int(pytest.main(sys.argv[1:], plugins))


class Compiler:
    """Enables writing bytecode until the tests are collected, regardless of the environment, for use in later views.

    The tests run with the original setting. See workspace/bytecode.py.
    """

    def __init__(self) -> None:
        self._before = sys.dont_write_bytecode
        sys.dont_write_bytecode = False

    def pytest_collection_finish(self) -> None:
        sys.dont_write_bytecode = self._before


def leave(code: int) -> None:
    """Exit immediately: run exit functions, but do not wait for threads that tests left running."""
    import atexit

    try:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)
