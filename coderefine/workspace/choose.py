"""Chooses how views are made: overlay where the system allows it, else a copy, and says what is missing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from coderefine.core import Views
from coderefine.errors import WorkspaceError
from coderefine.project import Place
from coderefine.workspace.copied import copy_views
from coderefine.workspace.overlay import OverlayViews
from coderefine.workspace.scratch import sweep


@dataclass(frozen=True, slots=True)
class Isolation:
    """What keeps the user's tree safe here. `missing`: sentences on what is not available and what to do."""

    kind: str
    network_off: bool
    pid_namespace: bool
    missing: tuple[str, ...] = ()


COPY_MISSES = (
    "tests run in a copy at another path, where absolute paths and generated files may point to the original",
    "the network cannot be switched off for tests",
    "a test's background process that starts its own session can outlive the view",
)


@contextlib.contextmanager
def open_views(place: Place, *, kind: str = "auto") -> Iterator[Views]:
    """Where private views of `place` come from. `kind` is auto, overlay or copy.

    Raises WorkspaceError when `kind` is overlay and the system refuses; auto then takes the copy.
    """
    sweep()
    if kind not in ("auto", "overlay", "copy"):
        raise WorkspaceError(f"view must be auto, overlay or copy, not {kind!r}")
    if kind == "overlay" or (kind == "auto" and not _refusal(place)):
        yield OverlayViews(place)
    else:
        with copy_views(place) as views:
            yield views


def describe(place: Place) -> Isolation:
    """What `open_views(place)` would use, tried for real (one view is opened and closed)."""
    why = _refusal(place)
    if not why:
        return Isolation("overlay", network_off=True, pid_namespace=True)
    return Isolation("copy", network_off=False, pid_namespace=False, missing=(_advice(why), *COPY_MISSES))


def _refusal(place: Place) -> str:
    """Why no overlay view can be opened and written here; "" when it can."""
    try:
        with OverlayViews(place).open() as view:
            result = view.run(("true",), timeout=20.0)
    except WorkspaceError as error:
        return str(error)
    return "" if result.returncode == 0 else f"commands cannot enter the namespaces: {result.complaint}"


def _advice(why: str) -> str:
    return (
        f"overlay views: {why}; they need Linux 5.11 or newer, util-linux 2.38 and unprivileged user namespaces "
        "(on Ubuntu 24.04: sysctl kernel.apparmor_restrict_unprivileged_userns=0; in Docker: --privileged)"
    )
