"""Record what tests of the unchanged tree access outside their view, so that only this has to be allowed.

Each access is one line appended to a file, so that forked children record too. Programs other than Python are not
recorded.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
FIRST: dict[str, int] = {
    "os.mkdir": 2, "os.remove": 1, "os.rmdir": 1, "os.truncate": -1, "os.chmod": 2, "os.chown": 3, "os.utime": 3,
    "os.setxattr": -1, "os.removexattr": -1, "sqlite3.connect": -1, "os.mkfifo": -1, "os.mknod": -1,
}  # fmt: skip
"""Audit events whose first argument is a path that is changed -> index of the argument dir_fd; -1 for none."""
SECOND = {"os.rename": 2, "os.link": 2, "os.symlink": 2}
"""Audit events whose first two arguments are paths that are changed -> index of the first dir_fd."""


class OutsideAccess:
    """Adds accesses to the file `log`. `own`: folders of the view. `secrets`: paths whose reading is recorded, too."""

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
