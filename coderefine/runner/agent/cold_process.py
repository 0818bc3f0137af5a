"""A whole pytest run in a fresh process, as `python -m pytest` would do it, reported over the channel.

Started by the parent as `python -c BOOT here module fd`; BOOT puts this folder into `sys.modules` under a private
package name and takes it out of `sys.path` again, so that nothing of ours can shadow anything of the project's.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Dict

_BEFORE = frozenset(sys.modules)

from . import addopts, agent_channel, failure_details  # noqa: E402


def main(fd: int) -> None:
    """Read the job from `fd`, run it, report how it ended; does not return."""
    os.set_inheritable(fd, False)  # noqa: FBT003
    job = agent_channel.read(fd)
    if job is None:
        os._exit(2)
    channel = agent_channel.Channel(fd, job["nonce"])
    channel.send("hello", pid=os.getpid())
    watch(job["board"], job["signal"])
    if job["record"]:
        from .outside_access import OutsideAccess

        OutsideAccess(**job["record"]).watch()
    stand(job)
    code = run(job, channel)
    channel.send("end", code=code, memory=peak())
    leave(code)


def peak() -> int:
    """Bytes of memory that this process, or one that it started and waited for, has taken at most."""
    import resource

    most = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return int(most) * (1 if sys.platform == "darwin" else 1024)


def watch(fd: int, signal: int) -> None:
    """Have all threads' stacks written to `fd` when the parent sends `signal` to ask where a test hangs."""
    import faulthandler

    os.set_inheritable(fd, False)  # noqa: FBT003
    faulthandler.register(signal, file=fd, all_threads=True, chain=False)


def stand(job: Dict[str, Any]) -> None:
    """Stand where `python -m pytest` would stand: working directory, `sys.path`, `sys.argv`, `__main__`."""
    os.chdir(job["root"])
    if not getattr(sys.flags, "safe_path", False):
        sys.path.insert(0, os.getcwd())
        unshadow(os.getcwd())
    import gc

    gc.disable()  # a tenth of the time that the import takes
    import pytest

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
    """Forget the standard modules we imported if the project has one of the same name: it must win, as it would."""
    ours = [name for name in sys.modules if name not in _BEFORE and not name.startswith(__package__ + ".")]
    tops = {name.split(".")[0] for name in ours}
    there = {name.split(".")[0] for name in os.listdir(root) if _imported(os.path.join(root, name))}
    if tops & there:
        for name in ours:
            del sys.modules[name]


def _imported(path: str) -> bool:
    """Whether it is a module or a package: `pytest.ini` and a folder `json` with data shadow nothing."""
    return path.endswith((".py", ".so", ".pyd")) or os.path.exists(os.path.join(path, "__init__.py"))


def run(job: Dict[str, Any], channel: agent_channel.Channel) -> int:
    """pytest's exit code for `job`."""
    import pytest

    from .cold_plugin import ColdPlugin, TestChoice

    paths = failure_details.ProjectPaths(job["top"], job["root"])
    lines = None
    if job["coverage"]:
        from .test_coverage import LineRecorder

        chosen = None if job["watched"] is None else frozenset(job["watched"])
        follow = os.path.join(job["temp"], "followed") if job["follow"] else ""
        lines = LineRecorder(paths, frozenset(job["cover"]), chosen, follow)
    choice = TestChoice(job["tests"], job["first"], job["done"], job["avoid"], job["files"])
    plugins = [addopts.AddoptsFilter(channel), ColdPlugin(channel, paths, choice, job, lines)]
    if job["compile"]:
        plugins.append(Compiler())
    kept, _ = addopts.sift(job["extra"])
    sys.argv = [sys.argv[0], *job["args"], *kept]
    return int(pytest.main(sys.argv[1:], plugins))


class Compiler:
    """Has bytecode written until the tests are collected, whatever the environment says: later views begin with it.

    The tests themselves find the setting as it was. See workspace/bytecode.py.
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
