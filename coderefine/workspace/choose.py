"""Chooses how views are made: overlay where the system allows it, else a copy, and says what is missing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from coderefine.core import Patch, View, Views
from coderefine.errors import WorkspaceError
from coderefine.project import Place
from coderefine.workspace.copied import CopyViews, copy_views
from coderefine.workspace.overlay import OverlayViews
from coderefine.workspace.scratch import sweep
from coderefine.workspace.surroundings import NOTHING, Grants

KINDS = ("auto", "overlay", "copy")


@dataclass(frozen=True, slots=True)
class Isolation:
    """What keeps the user's tree safe here. `missing`: sentences on what is not available and what to do."""

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
def open_views(place: Place, *, kind: str = "auto", grants: Grants = NOTHING) -> Iterator[Views]:
    """Where private views of `place` come from. `kind` is auto, overlay or copy; every view has `grants`.

    The first view decides for auto. `open` raises WorkspaceError when the kind asked for is refused.
    """
    if kind not in KINDS:
        raise WorkspaceError(f"view must be one of {', '.join(KINDS)}, not {kind!r}")
    sweep()
    with contextlib.ExitStack() as stack:
        if kind == "copy":
            yield stack.enter_context(copy_views(place, grants=grants))
        else:
            yield _FirstDecides(place, stack, grants, strict=kind == "overlay")


def describe(place: Place) -> Isolation:
    """What `open_views(place)` would use, tried for real (one view is opened and closed)."""
    try:
        with OverlayViews(place).open() as view:
            view.inside.enter()
    except WorkspaceError as error:
        return _copied(place, _advice(str(error)))
    return Isolation("overlay", network_off=True, pid_namespace=True)


def _copied(place: Place, advice: str) -> Isolation:
    with contextlib.ExitStack() as stack:
        views = stack.enter_context(copy_views(place))
        confined = views.confine(stack, views.folder, network=False) is not None
    missing = (advice, COPIED, *(() if confined else UNCONFINED))
    return Isolation("copy", network_off=confined, pid_namespace=confined, missing=missing)


@dataclass(slots=True)
class _FirstDecides:
    """Overlay views, unless the first one is refused: then copies, for good, which keep the reason.

    `strict`: the refusal is an error instead.
    """

    place: Place
    stack: contextlib.ExitStack
    grants: Grants
    strict: bool
    chosen: OverlayViews | CopyViews | None = field(default=None)

    @contextlib.contextmanager
    def open(self, patch: Patch = Patch(), *, network: bool = False) -> Iterator[View]:
        if self.chosen is not None:
            with self.chosen.open(patch, network=network) as view:
                yield view
            return
        with contextlib.ExitStack() as opened:
            yield self._first(opened, patch, network=network)

    def _first(self, opened: contextlib.ExitStack, patch: Patch, *, network: bool) -> View:
        overlay = OverlayViews(self.place, self.grants)
        try:
            with contextlib.ExitStack() as trial:
                view = trial.enter_context(overlay.open(network=network))
                view.inside.enter()
                opened.push(trial.pop_all())
        except WorkspaceError as error:
            if self.strict:
                raise
            return self._instead(opened, patch, str(error), network=network)
        self.chosen = overlay
        view.lay(patch)
        return view

    def _instead(self, opened: contextlib.ExitStack, patch: Patch, why: str, *, network: bool) -> View:
        self.chosen = self.stack.enter_context(copy_views(self.place, why, self.grants))
        return opened.enter_context(self.chosen.open(patch, network=network))


def _advice(why: str) -> str:
    return (
        f"overlay views: {why}; they need Linux 5.11 or newer, util-linux 2.38 and unprivileged user namespaces "
        "(on Ubuntu 24.04: sysctl kernel.apparmor_restrict_unprivileged_userns=0; in Docker: --privileged)"
    )
