"""A whole pytest run in a fresh process, as `python -m pytest` would do it, reported over the channel.

Started by the parent as `python -c BOOT here module fd`. BOOT registers this folder in `sys.modules` as a package with
a private name; the folder is not in `sys.path`, so that no module of coderefine can shadow a module of the project.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

_BEFORE = frozenset(sys.modules)

from . import addopts, agent_channel, failure_details  # noqa: E402

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
FIRST: dict[str, int] = {
    "os.mkdir": 2, "os.remove": 1, "os.rmdir": 1, "os.truncate": -1, "os.chmod": 2, "os.chown": 3, "os.utime": 3,
    "os.setxattr": -1, "os.removexattr": -1, "sqlite3.connect": -1, "os.mkfifo": -1, "os.mknod": -1,
}  # fmt: skip
"""Audit events whose first argument is a path that is changed -> index of the argument dir_fd; -1 for none."""
SECOND = {"os.rename": 2, "os.link": 2, "os.symlink": 2}
"""Audit events whose first two arguments are paths that are changed -> index of the first dir_fd."""


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
    cold = ColdPlugin(channel, paths, choice, job, lines)
    plugins = [addopts.AddoptsFilter(channel), cold]
    if job["compile"]:
        plugins.append(Compiler())
    if job["proof"]:
        from .compiled_sources import CompiledSources

        compiled = CompiledSources(paths)
        compiled.watch()
        cold.compiled = compiled.report
    kept, _ = addopts.split_options(job["extra"])
    sys.argv = [sys.argv[0], *job["args"], *kept]
    return int(pytest.main(sys.argv[1:], plugins))


class Compiler:
    """Enables writing bytecode until the tests are collected, regardless of the environment, for use in later views.

    The tests run with the original setting. See `BytecodeViews` in workspace/isolation.py.
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


class OutsideAccess:
    """Records what tests of the unchanged tree access outside their view, so that only this has to be allowed.

    Each access is one line appended to the file `log`, so that forked children record too. Programs other than Python
    are not recorded. `own`: folders of the view. `secrets`: paths whose reading is recorded, too.
    """

    def __init__(self, log: str, own: Sequence[str], secrets: Sequence[str]) -> None:
        self._log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._own = tuple(own)
        self._secrets = tuple(secrets)
        self._seen: set[tuple[str, str]] = set()
        self._busy = False

    def watch(self) -> None:
        """Start recording; it cannot be stopped, because audit hooks cannot be removed."""
        sys.addaudithook(self._audited)

    def _audited(self, event: str, arguments: tuple[Any, ...]) -> None:
        look = LOOKS.get(event)
        if look is None or self._busy:
            return
        self._busy = True
        try:
            look(self, event, arguments)
        except Exception:
            pass
        finally:
            self._busy = False

    def opened(self, _: str, arguments: tuple[Any, ...]) -> None:
        path, _mode, flags = arguments
        self._note("write" if flags and flags & WRITES else "read", path)

    def changed(self, event: str, arguments: tuple[Any, ...]) -> None:
        self._note("write", arguments[0], _dir_fd(arguments, FIRST[event]))

    def moved(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event != "os.symlink":
            self._note("write", arguments[0], _dir_fd(arguments, SECOND[event]))
        self._note("write", arguments[1], _dir_fd(arguments, SECOND[event] + (event != "os.symlink")))

    def created(self, _: str, arguments: tuple[Any, ...]) -> None:
        if arguments[1] == 1:  # AF_UNIX
            self._append("unix", "")

    def connected(self, _: str, arguments: tuple[Any, ...]) -> None:
        if isinstance(arguments[1], (str, bytes)) and int(arguments[0].family) == 1:
            self._note("socket", arguments[1])

    def _note(self, kind: str, path: Any, folder: str = "") -> None:
        if isinstance(path, int) or not path:
            return
        name = os.fsdecode(path)
        if name.startswith("\0"):
            return
        full = os.path.join(os.path.realpath(os.path.join(folder, os.path.dirname(name))), os.path.basename(name))
        if kind == "read":
            full = os.path.realpath(full)
        if _below(full, self._own) or full.startswith(("/dev/", "/proc/")):
            return
        if kind != "read" or _below(full, self._secrets):
            self._append(kind, full)

    def _append(self, kind: str, path: str) -> None:
        if (kind, path) not in self._seen and "\n" not in path:
            self._seen.add((kind, path))
            os.write(self._log, os.fsencode(f"{kind} {path}\n"))


def _dir_fd(arguments: tuple[Any, ...], place: int) -> str:
    fd = arguments[place] if 0 <= place < len(arguments) else -1
    return os.readlink(f"/proc/self/fd/{fd:d}") if isinstance(fd, int) and fd >= 0 else ""


def _below(path: str, roots: Sequence[str]) -> bool:
    return any(path == root or path.startswith(root.rstrip("/") + "/") for root in roots)


Look = Callable[[OutsideAccess, str, tuple[Any, ...]], None]
LOOKS: dict[str, Look] = {
    "open": OutsideAccess.opened,
    "socket.__new__": OutsideAccess.created,
    "socket.connect": OutsideAccess.connected,
    "socket.sendto": OutsideAccess.connected,
    **dict.fromkeys(FIRST, OutsideAccess.changed),
    **dict.fromkeys(SECOND, OutsideAccess.moved),
}
