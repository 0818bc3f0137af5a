"""Views of the tree as it was: every patch is laid over the same files of an earlier time."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from coderefine.core import Patch, View, Views


@dataclass(frozen=True, slots=True)
class Rewound:
    """`views` with `then` (path -> content, None: no file) under every patch."""

    views: Views
    then: Mapping[str, bytes | None]

    def open(self, patch: Patch = Patch(), *, network: bool = False) -> AbstractContextManager[View]:
        return self.views.open(replace(patch, files={**self.then, **patch.files}), network=network)
