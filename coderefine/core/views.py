"""The Protocols of a private tree and of what runs in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from coderefine.core.patches import Patch

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path


class Finished(Protocol):
    """A child process that has ended; output already capped."""

    @property
    def returncode(self) -> int: ...
    @property
    def stdout(self) -> bytes: ...
    @property
    def stderr(self) -> bytes: ...
    @property
    def text(self) -> str: ...
    @property
    def seconds(self) -> float: ...
    @property
    def timed_out(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Entry:
    """How a process gets into a view: `argv` before its own enters the namespaces, with all their powers.

    `own`: folders that belong to the view and may be written. `capabilities`: those that the process may keep (None:
    there are no namespaces, nothing is to be dropped).
    """

    argv: tuple[str, ...]
    own: tuple[str, ...]
    capabilities: tuple[str, ...] | None = None


class View(Protocol):
    """A private tree: the baseline plus one patch. Whatever runs in it cannot reach the user's tree.

    `top` is the repository's top as children see it (the project's own path under an overlay); `host_path` is
    the same folder as *we* may read it from outside. `temp` is a throw-away directory, same path on both sides.
    `patch` is what was applied to the baseline.
    """

    @property
    def top(self) -> Path: ...
    @property
    def host_path(self) -> Path: ...
    @property
    def temp(self) -> Path: ...
    @property
    def isolation(self) -> str: ...
    @property
    def patch(self) -> Patch: ...

    def read(self, path: str) -> bytes | None: ...

    @property
    def entry(self) -> Entry:
        """Return how the sandbox's launcher, which starts all that runs the project's code, gets in."""
        ...

    def env(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the environment for processes in the view: no secrets, temporary files in a folder of the view."""
        ...

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: str = ".",
        env: Mapping[str, str] | None = None,
        timeout: float = 600.0,
        stdin: bytes = b"",
        pass_fds: Iterable[int] = (),
    ) -> Finished:
        """Run a program of ours or of the system (git, ruff); what runs the project's code goes through the sandbox."""
        ...


class Views(Protocol):
    """A source of views. Each is fresh: baseline files restored, patch applied, nothing left over."""

    def open(self, patch: Patch = ..., *, network: bool = False) -> AbstractContextManager[View]: ...

    def instead(self, why: str) -> bool:
        """Open views of another kind from now on; return False where there is none that was not tried yet."""
        ...
