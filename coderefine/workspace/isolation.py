"""Choose the kind of private views: overlays if the system allows them, else copies; and keep compiled bytecode."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from coderefine.core import Patch, View, Views
from coderefine.errors import WorkspaceError
from coderefine.project import Place
from coderefine.workspace.environment import NOTHING, Grants, sweep
from coderefine.workspace.mirror import SKIPPED
from coderefine.workspace.patched_tree import add
from coderefine.workspace.private_views import CopyViews, OverlayViews, PrivateView, copy_views

KINDS = ("auto", "overlay", "copy")
TRIES, PAUSE = 2, 0.2
"""Number of times that an overlay is tried before copies are used, and seconds between two tries."""


@dataclass(frozen=True, slots=True)
class Isolation:
    """How the user's tree is protected on this system. `missing`: sentences on what is not available and what to do."""

    kind: str
    network_off: bool
    pid_namespace: bool
    missing: tuple[str, ...] = ()


COPIED = "tests run in a copy at another path, where absolute paths and generated files may point to the original"
UNCONFINED = (
    "the network cannot be switched off for tests",
    "a test that knows the original's path could write there",
    "a test's background process that hides its origin can outlive the view",
)


@contextlib.contextmanager
def open_views(
    place: Place, *, kind: str = "auto", grants: Grants = NOTHING, note: Callable[[str], object] = str
) -> Iterator[Views]:
    """Yield a factory of private views of `place`. `kind`: auto, overlay or copy; `grants`: permissions of every view.

    For auto, the first view decides between overlays and copies. `note` is called with a sentence if copies are used
    instead of overlays, or if the kind changes later. The factory's `open` raises WorkspaceError if the requested kind
    is not possible.
    """
    if kind not in KINDS:
        raise WorkspaceError(f"view must be one of {', '.join(KINDS)}, not {kind!r}")
    sweep()
    with contextlib.ExitStack() as stack:
        if kind == "copy":
            views: Views = stack.enter_context(copy_views(place, grants=grants))
        else:
            views = _FirstDecides(place, stack, grants, note, strict=kind == "overlay")
        yield BytecodeViews(views, place.top)


def describe(place: Place) -> Isolation:
    """Return what `open_views(place)` would use, by opening and closing one view."""
    try:
        with OverlayViews(place).open() as view:
            view.enter()
    except WorkspaceError as error:
        advice = (
            f"overlay views: {error}; they need Linux 5.11 or newer, util-linux 2.38 and unprivileged user namespaces "
            "(on Ubuntu 24.04: sysctl kernel.apparmor_restrict_unprivileged_userns=0; in Docker: --privileged)"
        )
        with contextlib.ExitStack() as stack:
            views = stack.enter_context(copy_views(place))
            confined = views.confine(stack, views.folder) is not None
        missing = (advice, COPIED, *(() if confined else UNCONFINED))
        return Isolation("copy", network_off=confined, pid_namespace=confined, missing=missing)
    return Isolation("overlay", network_off=True, pid_namespace=True)


@dataclass(slots=True)
class _FirstDecides:
    """Opens overlay views; if the system refuses the first one, opens copies instead.

    `strict`: raise an error instead of using copies. A refusal may be temporary (no memory, a busy machine), so the
    overlay is tried `TRIES` times.
    """

    place: Place
    stack: contextlib.ExitStack
    grants: Grants
    note: Callable[[str], object]
    strict: bool
    chosen: OverlayViews | CopyViews | None = field(default=None)
    switched: bool = False
    turn: threading.Lock = field(default_factory=threading.Lock)

    @contextlib.contextmanager
    def open(self, patch: Patch = Patch()) -> Iterator[View]:
        with contextlib.ExitStack() as opened:
            with self.turn:
                view = self._first(opened, patch) if self.chosen is None else None
            if view is None:
                assert self.chosen is not None, "the first view has decided"
                view = opened.enter_context(self.chosen.open(patch))
            yield view

    def instead(self, why: str) -> bool:
        """Change from overlays to copies, or from copies to overlays if these are no longer refused; at most once.

        Return whether the kind of views was changed.
        """
        with self.turn:
            if self.strict or self.switched:
                return False
            self.switched = True
            if isinstance(self.chosen, OverlayViews):
                self._take_copies(f"no overlay: {why}")
                return True
            try:
                with contextlib.ExitStack() as trial:
                    self._overlay(trial)
            except WorkspaceError:
                return False
            self.chosen = OverlayViews(self.place, self.grants)
            self.note(f"private views are overlays from now on: {why}")
            return True

    def _first(self, opened: contextlib.ExitStack, patch: Patch) -> View | None:
        """Open the first view as an overlay, trying TRIES times; if it is refused, prepare copies and return None.

        With `strict`, raise WorkspaceError instead.
        """
        for left in reversed(range(TRIES)):
            try:
                with contextlib.ExitStack() as trial:
                    view = self._overlay(trial)
                    opened.push(trial.pop_all())
            except WorkspaceError as error:  # noqa: PERF203
                if left:
                    time.sleep(PAUSE)
                elif self.strict:
                    raise
                else:
                    self._take_copies(str(error))
            else:
                self.chosen = OverlayViews(self.place, self.grants)
                return view.patched(patch)
        return None

    def _overlay(self, stack: contextlib.ExitStack) -> PrivateView:
        """Open an overlay that can be entered. Raises WorkspaceError."""
        view = stack.enter_context(OverlayViews(self.place, self.grants).open())
        view.enter()
        return view

    def _take_copies(self, why: str) -> None:
        self.chosen = self.stack.enter_context(copy_views(self.place, why, self.grants))
        if sys.platform.startswith("linux"):  # on other systems a copy is normal
            self.note(f"private views are copies at another path: {why}")


CACHE = "__pycache__"
MOST = 32 << 20
"""Maximum number of bytes of bytecode that are kept."""


@dataclass(slots=True)
class BytecodeViews:
    """Adds to all later views the bytecode that was compiled in the first view of the unchanged tree.

    A fresh clone has no bytecode, and pytest rewrites the assertions of every test module before compiling it, which
    can take longer than the tests. Only bytecode of the unchanged tree is used, because code of a patch could
    manipulate it. No bytecode is added for a patched file, or for a file that was written meanwhile (Python compares
    only size and whole seconds with those in the bytecode).

    `top`: the tree's own path. No bytecode is added to views at other paths, because pytest does not correct the path
    in bytecode. `collected`: whether a view of the unchanged tree at `top` has ended, and contained bytecode.
    """

    views: Views
    top: Path
    kept: Mapping[str, tuple[bytes, int]] = field(default_factory=dict)
    """Path -> bytecode, and when its source was written, in nanoseconds."""
    collected: bool = False

    @contextlib.contextmanager
    def open(self, patch: Patch = Patch()) -> Iterator[View]:
        began = time.time_ns()
        with self.views.open(patch) as view:
            if view.top == self.top:
                add(view.host_path, self._usable(view.host_path, patch))
            yield view
            if view.top == self.top and not (patch.files or self.collected):
                found = compiled(view.host_path)
                self.collected = bool(found)
                dated = {path: (data, _source_written(view.host_path, path)) for path, data in found.items()}
                self.kept = {path: kept for path, kept in dated.items() if 0 < kept[1] < began}

    def _usable(self, host_path: Path, patch: Patch) -> dict[str, bytes]:
        kept = {path: kept for path, kept in self.kept.items() if _source(path) not in patch.files}
        return {path: data for path, (data, when) in kept.items() if when == _source_written(host_path, path)}

    def instead(self, why: str) -> bool:
        return self.views.instead(why)


def compiled(host_path: Path) -> dict[str, bytes]:
    """Return the bytecode below `host_path`, at most MOST bytes, by repo-relative path."""
    found: dict[str, bytes] = {}
    room = MOST
    for folder, names, files in os.walk(host_path):
        names[:] = [name for name in names if name == CACHE or name not in SKIPPED]
        for name in files if folder.endswith(CACHE) else ():
            path = Path(folder, name)
            with contextlib.suppress(OSError):
                if name.endswith(".pyc") and (data := _content(path, room)):
                    found[path.relative_to(host_path).as_posix()] = data
                    room -= len(data)
    return found


def _content(path: Path, most: int) -> bytes:
    """Return the content of a regular file; b"" if it is longer than `most`. Raises OSError for a link."""
    with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as file:
        return file.read() if os.fstat(file.fileno()).st_size <= most else b""


def _source_written(host_path: Path, cache: str) -> int:
    """Return when the source of a .pyc was written, in nanoseconds; 0 if there is no source."""
    try:
        return (host_path / _source(cache)).stat().st_mtime_ns
    except OSError:
        return 0


def _source(path: str) -> str:
    """Return the path of a .pyc file's source: of `a/__pycache__/b.cpython-311-pytest-9.1.0.pyc`, it is `a/b.py`."""
    folder, _, name = path.rpartition(f"{CACHE}/")
    return f"{folder}{name.partition('.')[0]}.py"
