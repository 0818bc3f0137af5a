"""Views of a tree that differs from the working tree: the same files are written into each view before its patch."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from coderefine.core import Patch, View, Views
from coderefine.workspace.patched_tree import prune


@dataclass(frozen=True, slots=True)
class SnapshotViews:
    """Opens views into which the files `then` (path -> content, None: no file) are written before the patch.

    Folders that become empty are removed too: git has no empty folders, and Python would import one as a namespace
    package.
    """

    views: Views
    then: Mapping[str, bytes | None]

    @contextlib.contextmanager
    def open(self, patch: Patch = Patch(), *, network: bool = False) -> Iterator[View]:
        files = {**self.then, **patch.files}
        with self.views.open(replace(patch, files=files), network=network) as view:
            prune(view.host_path, [path for path, content in files.items() if content is None])
            yield view

    def instead(self, why: str) -> bool:
        return self.views.instead(why)
