"""Private views as a copy beside the project, for systems that refuse overlay mounts."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from coderefine import proc
from coderefine.core import Entry, Patch
from coderefine.errors import WorkspaceError
from coderefine.project import Place
from coderefine.temporary import remove
from coderefine.workspace.environment import MARK, NOTHING, Grants, child_environment, kill_strays, relocated, scratch
from coderefine.workspace.git_copy import copy_git_folder
from coderefine.workspace.mirror import Mirror
from coderefine.workspace.namespaces import Namespaces, NamespaceSpec, covered, namespaces
from coderefine.workspace.patched_tree import lay, read


@dataclass(frozen=True, slots=True)
class CopyView:
    """See core.View. Children run at another path than the project's.

    `inside`: the namespaces in which the original is read-only; None where the system has none.
    """

    place: Place
    top: Path
    scratch: Path
    why: str = ""
    inside: Namespaces | None = None
    grants: Grants = NOTHING
    patch: Patch = Patch()

    @property
    def host_path(self) -> Path:
        return self.top

    @property
    def temp(self) -> Path:
        return self.scratch / "shared"

    @property
    def isolation(self) -> str:
        kind = "copy, network off" if self.inside and not self.inside.network else "copy"
        return f"{kind} ({self.why})" if self.why else kind

    def outside(self, path: Path) -> Path:
        """Return where we find what children call `path`."""
        return self.inside.host_path / path.relative_to(path.anchor) if self.inside else path

    def read(self, path: str) -> bytes | None:
        return read(self.top, self.top, path)

    @property
    def entry(self) -> Entry:
        own = tuple(map(str, (self.top, self.scratch / "children", self.temp)))
        if self.inside is None:
            return Entry((), own)
        return Entry(self.inside.entered, (*own, *map(str, self.inside.shared_memory)), self.inside.capabilities)

    def env(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        marked = {**child_environment(self.scratch / "children", extra, self.grants), MARK: str(self.scratch)}
        return relocated(marked, self.place, self.top)

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
        wrapped = self.inside.argv(argv, self.top / cwd) if self.inside else argv
        where = "/" if self.inside else self.top / cwd
        return proc.run(wrapped, cwd=where, env=self.env(env), timeout=timeout, stdin=stdin, pass_fds=pass_fds)


@dataclass(slots=True)
class CopyViews:
    """Open copied views; a copy that is free again is restored and used for the next view. Views may overlap."""

    place: Place
    folder: Path
    why: str = ""
    confined: bool = True
    grants: Grants = NOTHING
    free: list[Mirror] = field(default_factory=list)
    made: int = 0
    turn: threading.Lock = field(default_factory=threading.Lock)

    @contextlib.contextmanager
    def open(self, patch: Patch = Patch(), *, network: bool = False) -> Iterator[CopyView]:
        mirror = self._restored()
        temp = Path(tempfile.mkdtemp(prefix="tmp-", dir=self.folder))
        try:
            lay(mirror.copy, patch)
            with contextlib.ExitStack() as stack:
                inside = self.confine(stack, temp, network=network or self.grants.network)
                yield CopyView(self.place, mirror.copy, temp, self.why, inside, self.grants, patch)
        finally:
            kill_strays(str(temp))
            remove(temp)
            self.free.append(mirror)

    def instead(self, why: str) -> bool:  # noqa: ARG002 - copies were asked for
        return False

    def confine(self, stack: contextlib.ExitStack, temp: Path, *, network: bool) -> Namespaces | None:
        """Create namespaces in which the original is read-only; return None from the first refusal on."""
        for name in ("store", "children", "shared"):
            (temp / name).mkdir()
        if not self.confined:
            return None
        order = NamespaceSpec(temp, covered(self.place), "readonly", network)
        try:
            with contextlib.ExitStack() as trial:
                inside = trial.enter_context(namespaces(order))
                inside.enter()
                stack.push(trial.pop_all())
        except WorkspaceError:
            self.confined = False
            return None
        return inside

    def _restored(self) -> Mirror:
        with self.turn:
            mirror = self.free.pop() if self.free else self._made()
        try:
            mirror.restore()
            copy_git_folder(self.place, mirror.copy)
        except OSError as error:
            what = error.filename or mirror.copy
            raise WorkspaceError(f"cannot copy the tree ({what}): {error.strerror or error}") from error
        return mirror

    def _made(self) -> Mirror:
        self.made += 1
        name = self.place.top.name.replace(os.pathsep, "_") or "top"  # PYTHONPATH knows no escape
        return Mirror(self.place.top, self.folder / f"copy-{self.made}" / name)


@contextlib.contextmanager
def copy_views(place: Place, why: str = "", grants: Grants = NOTHING) -> Iterator[CopyViews]:
    """Yield copied views in a temporary folder that is removed with them. `why`: why they are no overlays."""
    with scratch() as folder:
        yield CopyViews(place, folder, why, grants=grants)
