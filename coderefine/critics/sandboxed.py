"""Run programs of the project in the sandbox, with more permissions only if the unchanged tree needs them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from coderefine import sandbox
from coderefine.config import Config
from coderefine.core import Finished, View
from coderefine.errors import CriticError

T = TypeVar("T")
HINT = 'it runs confined: `sandbox = "off"` gives it your permissions'
DENIED = re.compile(r"Permission denied|Read-only file system|Network is unreachable|EACCES|EROFS", re.IGNORECASE)
"""Messages of a program that may need something that the sandbox denies."""


class Run(Protocol):
    """Runs a program in a view."""

    def __call__(
        self, view: View, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], timeout: float
    ) -> Finished: ...


class Sandboxed:
    """Starts programs in the sandbox. The permissions that the unchanged tree needs are then used for all trees."""

    def __init__(self, config: Config) -> None:
        first, *looser = sandbox.steps(config)
        self._steps = [first]
        for one in looser:
            # HOME, secrets and a network that is not configured are never granted.
            if one is None or (one.name and not (one.home or one.secrets or one.network > config.network)):
                self._steps.append(one)
        if len(self._steps) > 1:
            self._steps.remove(None)
        self._strict = config.sandbox == "strict"
        self._report = sandbox.Report()

    @property
    def words(self) -> tuple[str, ...]:
        """Return the names of the mechanisms that confine the programs, and of additional permissions."""
        bounds = self._steps[0]
        if bounds is None:
            return ()
        return (*self._report.words, *([bounds.name] if bounds.name else []))

    def run(self, view: View, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], timeout: float) -> Finished:
        """Run `argv` with the permissions found so far. Raises ProcessError, SandboxError."""
        bounds = self._steps[0]
        result, self._report = sandbox.run(view, argv, bounds, strict=self._strict, cwd=cwd, env=env, timeout=timeout)
        return result

    def fitting(self, attempt: Callable[[Run], T], *, loosen: bool) -> T:
        """Return `attempt(run)`; with `loosen` (unchanged tree), retry with more permissions if it raises CriticError.

        The additional permissions are temporary folders and new Unix sockets, then caches. If `attempt` fails with all
        of them too, none is granted, and the first error is raised.
        """
        every = self._steps
        try:
            return attempt(self.run)
        except CriticError as error:
            for start in range(1, len(every) if loosen else 0):
                self._steps = every[start:]
                try:
                    return attempt(self.run)
                except CriticError:
                    self._steps = every
            if every[0] is not None and DENIED.search(str(error)):
                raise CriticError(f"{error} ({HINT})") from error
            raise


def last_line_of(result: Finished) -> str:
    """Return the last line of stderr (or stdout), at most 300 characters, for messages."""
    text = (result.stderr.strip() or result.stdout.strip()).decode("utf-8", "replace")
    return text.splitlines()[-1][:300] if text else "it printed nothing"
