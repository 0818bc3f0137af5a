"""Private views at the project's own path: overlay mounts in namespaces of their own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from coderefine import proc
from coderefine.core import Entry, Patch
from coderefine.project import Place
from coderefine.workspace.environment import NOTHING, Grants, child_environment, scratch
from coderefine.workspace.namespaces import Namespaces, NamespaceSpec, covered, namespaces
from coderefine.workspace.patched_tree import lay, read


@dataclass(frozen=True, slots=True)
class OverlayView:
    """See core.View. `temp` is a plain folder; children get a tmpfs of limited size as TMPDIR."""

    top: Path
    inside: Namespaces
    scratch: Path
    grants: Grants = NOTHING
    patch: Patch = Patch()

    @property
    def host_path(self) -> Path:
        return self.outside(self.top)

    @property
    def temp(self) -> Path:
        return self.scratch / "shared"

    @property
    def isolation(self) -> str:
        return "overlay" if self.inside.network else "overlay, network off"

    def outside(self, path: Path) -> Path:
        """Return where we find what children call `path`."""
        return self.inside.host_path / path.relative_to(path.anchor)

    def patched(self, patch: Patch) -> OverlayView:
        """Write `patch` into this view; return the view."""
        lay(self.host_path, patch)
        return replace(self, patch=patch)

    def read(self, path: str) -> bytes | None:
        return read(self.top, self.host_path, path)

    @property
    def entry(self) -> Entry:
        own = map(str, (self.top, self.scratch / "children", self.temp, *self.inside.shared_memory))
        return Entry(self.inside.entered, tuple(own), self.inside.capabilities)

    def env(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        return child_environment(self.scratch / "children", extra, self.grants)

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: str = ".",
        env: Mapping[str, str] | None = None,
        timeout: float = 600.0,
        stdin: bytes = b"",
        pass_fds: Iterable[int] = (),
    ) -> proc.Result:
        wrapped = self.inside.argv(argv, self.top / cwd)
        return proc.run(wrapped, cwd="/", env=self.env(env), timeout=timeout, stdin=stdin, pass_fds=pass_fds)


@dataclass(frozen=True, slots=True)
class OverlayViews:
    """Open overlay views: each has namespaces and layers of its own, so nothing is left over."""

    place: Place
    grants: Grants = NOTHING

    @contextlib.contextmanager
    def open(self, patch: Patch = Patch(), *, network: bool = False) -> Iterator[OverlayView]:
        with scratch() as folder:
            for name in ("store", "children", "shared"):
                (folder / name).mkdir()
            order = NamespaceSpec(folder, covered(self.place), network=network or self.grants.network)
            with namespaces(order) as inside:
                yield OverlayView(self.place.top, inside, folder, self.grants).patched(patch)

    def instead(self, why: str) -> bool:  # noqa: ARG002 - there is no other kind
        return False
