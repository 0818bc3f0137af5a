"""The Protocols View (a private copy of the tree with one patch) and Views, and the data of processes in a view."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from coderefine.core.patches import Patch

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Finished:
    """A process that has ended. `returncode`: negative if a signal ended it. The output may be cut, see `proc.run`."""

    argv: tuple[str, ...]
    returncode: int
    stdout: bytes
    stderr: bytes
    seconds: float
    timed_out: bool = False

    @property
    def text(self) -> str:
        return self.stdout.decode("utf-8", "replace")

    @property
    def complaint(self) -> str:
        """Return the last line of stderr (or stdout), for messages; the exit code if there is no output."""
        text = (self.stderr.strip() or self.stdout.strip()).decode("utf-8", "replace")
        return text.splitlines()[-1] if text else f"exit {self.returncode}"


@dataclass(frozen=True, slots=True)
class Entry:
    """How a process enters a view.

    `argv`: the command prefix that enters the namespaces and keeps all capabilities there; empty if there are no
    namespaces. `own`: folders that belong to the view and may be written. `capabilities`: the capabilities that the
    process may keep (None: there are no namespaces, so there is nothing to drop).
    """

    argv: tuple[str, ...]
    own: tuple[str, ...]
    capabilities: tuple[str, ...] | None = None


class View(Protocol):
    """A private copy of the tree: the baseline plus one patch. Processes in it cannot change the user's tree.

    `top`: the repository's top as child processes see it (if an overlay is used, this is the project's own path).
    `host_path`: the path of the same folder outside the view, for reading. `temp`: a temporary folder with the same
    path inside and outside. `patch`: the patch that is applied to the baseline.
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
        """Return how the sandbox's launcher enters the view.

        Every process that runs the project's code is started by the launcher.
        """
        ...

    def env(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the environment for processes in the view: without secrets, and with its own temporary folder."""
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
        """Run a program such as git or ruff; programs that run the project's code need the sandbox."""
        ...


def relative_to_top(view: View, file: Path) -> str | None:
    """Return the path of `file` below the top of `view`, or below the top's real path; None if it is outside both."""
    for top in (view.top, view.top.resolve()):
        if top in file.parents:
            return file.relative_to(top).as_posix()
    return None


class Views(Protocol):
    """A factory of views. Each is new: baseline files restored, patch applied, no traces of earlier views."""

    def open(self, patch: Patch = ...) -> AbstractContextManager[View]: ...

    def instead(self, why: str) -> bool:
        """Use the next kind of view (such as a copy) from now on, because of `why`; return False if there is none."""
        ...


def inside(path: str, scope: Sequence[str]) -> bool:
    """Return whether `path` is one of the files, or in one of the folders, of `scope` (".": the whole repository)."""
    return any(part in ("", ".") or path == part or path.startswith(f"{part.rstrip('/')}/") for part in scope)
