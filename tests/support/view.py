"""A View that is no view: runs in place, for tests of what runs inside one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from coderefine import proc
from coderefine.core import Entry, Finished, Patch


class DirectView:
    """The tree at `top` itself; there are no namespaces to enter."""

    isolation = "none"

    def __init__(self, top: Path, temp: Path | None = None) -> None:
        self.top = self.host_path = top.resolve()
        self.temp = temp or top
        self.patch = Patch()

    def read(self, path: str) -> bytes | None:
        file = self.host_path / path
        return file.read_bytes() if file.is_file() else None

    @property
    def entry(self) -> Entry:
        return Entry((), tuple(dict.fromkeys((str(self.top), str(self.temp)))))

    def env(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        return proc.clean_env(extra)

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
        return proc.run(argv, cwd=self.top / cwd, env=self.env(env), timeout=timeout, stdin=stdin, pass_fds=pass_fds)
