"""Private views: overlay mounts at the project's own path or, where the system refuses that, copies at another path."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from coderefine import proc
from coderefine.core import Entry, Finished, Patch, View, Views
from coderefine.errors import WorkspaceError, refused
from coderefine.project import Place
from coderefine.temporary import remove
from coderefine.workspace.environment import (
    MARK,
    NOTHING,
    Grants,
    child_environment,
    kill_strays,
    relocated,
    scratch,
)
from coderefine.workspace.mirror import Mirror
from coderefine.workspace.namespaces import Namespaces, NamespaceSpec, covered, namespaces
from coderefine.workspace.patched_tree import lay, prune, read


@dataclass(frozen=True, slots=True)
class PrivateView:
    """A view; see core.View. `temp` is a plain folder, while TMPDIR is a tmpfs of limited size in namespaces.

    `inside`: the namespaces in which processes of the view run; None if the system has none. `original`: the place of
    the copied tree; None for an overlay. `why`: the reason why a copy is used.
    """

    top: Path
    inside: Namespaces | None
    scratch: Path
    grants: Grants = NOTHING
    patch: Patch = Patch()
    original: Place | None = None
    why: str = ""

    @property
    def host_path(self) -> Path:
        return self.top if self.original else self.outside(self.top)

    @property
    def temp(self) -> Path:
        return self.scratch / "shared"

    @property
    def isolation(self) -> str:
        kind = "copy" if self.original else "overlay"
        offline = ", network off" if self.inside and not self.inside.network else ""
        return f"{kind}{offline} ({self.why})" if self.why else f"{kind}{offline}"

    def outside(self, path: Path) -> Path:
        """Return the path under which this process, outside the namespaces, finds what is at `path` in the view."""
        return self.inside.host_path / path.relative_to(path.anchor) if self.inside else path

    def enter(self) -> None:
        """Check that a command can run in the view. Raises WorkspaceError if not; see `Namespaces.check_entry`."""
        if self.inside:
            self.inside.check_entry()

    def patched(self, patch: Patch) -> PrivateView:
        """Write `patch` into this view; return the view."""
        lay(self.host_path, patch)
        return replace(self, patch=patch)

    def read(self, path: str) -> bytes | None:
        return read(self.top, self.host_path, path)

    @property
    def entry(self) -> Entry:
        own = tuple(map(str, (self.top, self.scratch / "children", self.temp)))
        if self.inside is None:
            return Entry((), own)
        return Entry(self.inside.entered, (*own, *map(str, self.inside.shared_memory)), self.inside.capabilities)

    def env(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        env = child_environment(self.scratch / "children", extra, self.grants)
        return relocated({**env, MARK: str(self.scratch)}, self.original, self.top) if self.original else env

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
        wrapped = self.inside.argv(argv, self.top / cwd) if self.inside else argv
        where = "/" if self.inside else self.top / cwd
        return proc.run(wrapped, cwd=where, env=self.env(env), timeout=timeout, stdin=stdin, pass_fds=pass_fds)


@dataclass(frozen=True, slots=True)
class OverlayViews:
    """Opens overlay views; each has its own namespaces and layers, so that nothing of it remains at the end."""

    place: Place
    grants: Grants = NOTHING

    @contextlib.contextmanager
    def open(self, patch: Patch = Patch()) -> Iterator[PrivateView]:
        with scratch() as folder:
            _make_folders(folder)
            spec = NamespaceSpec(folder, covered(self.place), network=self.grants.network)
            with namespaces(spec) as inside:
                yield PrivateView(self.place.top, inside, folder, self.grants).patched(patch)

    def instead(self, why: str) -> bool:  # noqa: ARG002 - there is no other kind
        return False


@dataclass(slots=True)
class CopyViews:
    """Opens copied views; several can be open at a time.

    A copy that is no longer in use is restored, and used for the next view. `why`: the reason for using copies.
    `confined`: whether to use namespaces; False once the system has refused them. `free`: the copies that are not in
    use. `made`: number of copies.
    """

    place: Place
    folder: Path
    why: str = ""
    grants: Grants = NOTHING
    confined: bool = True
    free: list[Mirror] = field(default_factory=list)
    made: int = 0
    turn: threading.Lock = field(default_factory=threading.Lock)

    @contextlib.contextmanager
    def open(self, patch: Patch = Patch()) -> Iterator[PrivateView]:
        mirror = self._restored()
        temp = Path(tempfile.mkdtemp(prefix="tmp-", dir=self.folder))
        try:
            lay(mirror.copy, patch)
            with contextlib.ExitStack() as stack:
                inside = self.confine(stack, temp)
                yield PrivateView(mirror.copy, inside, temp, self.grants, patch, self.place, self.why)
        finally:
            kill_strays(str(temp))
            remove(temp)
            self.free.append(mirror)

    def instead(self, why: str) -> bool:  # noqa: ARG002 - copies were requested
        return False

    def confine(self, stack: contextlib.ExitStack, temp: Path) -> Namespaces | None:
        """Create namespaces in which the original tree is read-only; return None if the system does not allow it."""
        _make_folders(temp)
        if not self.confined:
            return None
        try:
            with contextlib.ExitStack() as trial:
                spec = NamespaceSpec(temp, covered(self.place), "readonly", self.grants.network)
                inside = trial.enter_context(namespaces(spec))
                inside.check_entry()
                stack.push(trial.pop_all())
        except WorkspaceError:
            self.confined = False
            return None
        return inside

    def _restored(self) -> Mirror:
        with self.turn:
            if self.free:
                mirror = self.free.pop()
            else:
                self.made += 1
                name = self.place.top.name.replace(os.pathsep, "_") or "top"  # PYTHONPATH has no escape
                mirror = Mirror(self.place.top, self.folder / f"copy-{self.made}" / name)
        try:
            mirror.restore()
            copy_git_folder(self.place, mirror.copy)
        except OSError as error:
            raise WorkspaceError(f"cannot copy the tree to {mirror.copy}: {refused(error)}") from error
        return mirror


@contextlib.contextmanager
def copy_views(place: Place, why: str = "", grants: Grants = NOTHING) -> Iterator[CopyViews]:
    """Yield a factory of copied views, which are removed at the end. `why`: the reason for not using overlays."""
    with scratch() as folder:
        yield CopyViews(place, folder, why, grants)


def _make_folders(temp: Path) -> None:
    for name in ("store", "children", "shared"):
        (temp / name).mkdir()


@dataclass(frozen=True, slots=True)
class SnapshotViews:
    """Opens views into which the files `then` (path -> content, None: no file) are written before the patch.

    Folders that become empty are removed too: git has no empty folders, and Python would import an empty folder as a
    namespace package. `programs`: see Patch.
    """

    views: Views
    then: Mapping[str, bytes | None]
    programs: frozenset[str] = frozenset()

    @contextlib.contextmanager
    def open(self, patch: Patch = Patch()) -> Iterator[View]:
        files = {**self.then, **patch.files}
        whole = replace(patch, files=files, programs=patch.programs | self.programs)
        with self.views.open(whole) as view:
            prune(view.host_path, [path for path, content in files.items() if content is None])
            yield view

    def instead(self, why: str) -> bool:
        return self.views.instead(why)


LEFT = frozenset({"objects", "hooks", "worktrees", "coderefine", "logs", "lfs", "fsmonitor--daemon", "rr-cache"})
"""Parts of a git directory that are not copied."""
OWN = ("HEAD", "index", "ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD")
"""Files that each worktree has for itself (gitrepository-layout(5))."""


def copy_git_folder(place: Place, copy: Path) -> None:
    """Replace `copy/.git` by a new git directory that reads objects from the original one.

    Git may update the time of an original object file (it "freshens" an object instead of writing it again), but it
    never changes the content.
    """
    target = copy / ".git"
    remove(target)
    if place.git_dir is None:
        return
    _copy(place.git_dir, target)
    if place.worktree_dir is not None and place.worktree_dir != place.git_dir:
        for name in OWN:
            with contextlib.suppress(FileNotFoundError):
                shutil.copy2(place.worktree_dir / name, target / name)
    # Remove the settings that refer to other repositories or paths, or that start programs.
    config = target / "config"
    with contextlib.suppress(FileNotFoundError):
        lines = config.read_text("utf-8", "surrogateescape").splitlines(keepends=True)
        away = re.compile(r"\s*(worktree|hookspath|fsmonitor|sshcommand|editor|pager)\s*=", re.IGNORECASE)
        kept = [line for line in lines if not away.match(line)]
        config.write_text("".join(kept), "utf-8", "surrogateescape")


def _copy(source: Path, target: Path) -> None:
    target.mkdir()
    for item in source.iterdir():
        if item.name == "modules" and item.is_dir():
            for inner, outer in _modules(item, target / "modules"):
                outer.parent.mkdir(parents=True, exist_ok=True)
                _copy(inner, outer)
        elif item.name not in LEFT and not item.name.endswith(".lock"):
            _copied(item, target / item.name)
    (target / "objects" / "info").mkdir(parents=True)
    (target / "objects" / "info" / "alternates").write_bytes(str(source / "objects").encode() + b"\n")


def _copied(item: Path, target: Path) -> None:
    """Copy a file or folder. Links are replaced by copies, because writing through a link would change the original.

    `shutil.copytree` is not used, because it reports a full disk as a text without an error number.
    """
    if item.is_dir():
        target.mkdir()
        for inner in item.iterdir():
            _copied(inner, target / inner.name)
    elif item.is_file():
        shutil.copy2(item, target)


def _modules(folder: Path, target: Path) -> Iterator[tuple[Path, Path]]:
    """Yield (git directory, path of its copy) for each submodule; a submodule's name may contain slashes."""
    for item in folder.iterdir():
        if (item / "HEAD").is_file():
            yield item, target / item.name
        elif item.is_dir():
            yield from _modules(item, target / item.name)
