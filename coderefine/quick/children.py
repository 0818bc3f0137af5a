"""Start processes and wait for them using only `os`, because the imports of proc.py take 24 ms."""

from __future__ import annotations

import os
import time

from coderefine.sensitive import withheld

KILL = 9
"""The value of signal.SIGKILL: to import `signal` would cost 4 ms."""
KEPT = 4096


class Child:
    """A running process in a new process group; its stdout (and stderr with `both`) can be read once."""

    def __init__(self, argv: list[str], env: dict[str, str], *, both: bool = False) -> None:
        """Start the process. Raises OSError if this fails."""
        self._out, end = os.pipe()
        self._code: int | None = None
        actions = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0), (os.POSIX_SPAWN_DUP2, end, 1)]
        if both:
            actions.append((os.POSIX_SPAWN_DUP2, end, 2))
        else:
            actions.append((os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0))
        try:
            self._pid = os.posix_spawnp(argv[0], argv, env, file_actions=actions, setpgroup=0)
        except OSError:
            os.close(self._out)
            raise
        finally:
            os.close(end)

    def all(self, deadline: float) -> bytes | None:
        """Return the process's output after its end; None if it failed or did not end by `deadline`."""
        output = b"".join(self._chunks(deadline))
        return output if self.code(deadline) == 0 else None

    def tail(self, deadline: float) -> bytes:
        """Return the last KEPT bytes of the process's output."""
        last = b""
        for chunk in self._chunks(deadline):
            last = (last + chunk)[-KEPT:]
        return last

    def code(self, deadline: float) -> int | None:
        """Return the exit code, negative for a signal; at `deadline`, kill the process if it runs, and return None."""
        while self._code is None:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            if pid:
                self._code = os.waitstatus_to_exitcode(status)
            elif time.monotonic() >= deadline:
                self.kill()
                return None
            else:
                time.sleep(0.0005)
        return self._code

    def kill(self) -> None:
        """Kill the process and its children, unless it has ended."""
        if self._code is not None:
            return
        self._code = -KILL
        try:
            os.killpg(self._pid, KILL)
            os.waitpid(self._pid, 0)
        except (ProcessLookupError, ChildProcessError, PermissionError):
            return

    def _chunks(self, deadline: float) -> list[bytes]:
        import select

        found: list[bytes] = []
        ready = select.poll()
        ready.register(self._out, select.POLLIN)
        while ready.poll(max(0.0, deadline - time.monotonic()) * 1000):
            chunk = os.read(self._out, 1 << 16)
            if not chunk:
                break
            found.append(chunk)
        os.close(self._out)
        return found


def reading_env() -> dict[str, str]:
    """Return the environment for a git command that only reads, with the index that git passed to the hook."""
    return {**os.environ, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}


def clean_env(hidden: str) -> dict[str, str]:
    """Return the environment for the project's programs, without git's variables, secrets and the variable `hidden`."""
    held = withheld(os.environ)
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") and name not in held and name != hidden
    }
