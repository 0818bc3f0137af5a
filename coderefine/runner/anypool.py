"""The pool that this system can have: of forks, or of cold processes."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext

from coderefine.config import Config
from coderefine.core import Patch, Status, Views
from coderefine.project import Interpreter, Place
from coderefine.runner.coldpool import ColdPool
from coderefine.runner.pool import Pool, open_pool
from coderefine.runner.server import usual_workers

AnyPool = Pool | ColdPool


def open_any_pool(
    views: Views,
    place: Place,
    interpreter: Interpreter,
    config: Config,
    *,
    patch: Patch,
    expected: Mapping[str, Status],
    usual: float,
    deadly: frozenset[str] = frozenset(),
    fork: bool = sys.platform != "win32",
) -> AbstractContextManager[AnyPool]:
    """See pool.open_pool for the parameters; without `fork` every candidate is a cold process."""
    if not fork:
        return nullcontext(ColdPool(views, place, interpreter, config, patch, usual_workers(), expected, usual))
    return open_pool(views, place, interpreter, config, patch=patch, expected=expected, usual=usual, deadly=deadly)
