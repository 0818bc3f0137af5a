"""The pool that this system can have: of forks, or of cold processes."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from coderefine.config import Config
from coderefine.core import Freedom, Patch, Status, Views
from coderefine.errors import RunnerError
from coderefine.project import Interpreter, Place
from coderefine.runner.coldpool import ColdPool
from coderefine.runner.pool import Pool, open_pool
from coderefine.runner.server import usual_workers

AnyPool = Pool | ColdPool


@contextmanager
def open_any_pool(
    views: Views,
    place: Place,
    interpreter: Interpreter,
    config: Config,
    *,
    patch: Patch,
    expected: Mapping[str, Status],
    seconds: Mapping[str, float],
    deadly: frozenset[str] = frozenset(),
    files: Sequence[str] | None = None,
    freedom: Freedom = Freedom(),
    within: float = math.inf,
    workers: int | None = None,
    fork: bool = sys.platform != "win32",
    or_cold: bool = False,
) -> Iterator[AnyPool]:
    """See pool.open_pool for the parameters; without `fork` every candidate is a cold process.

    `or_cold`: also where tests cannot even be collected (a conftest that imports what is broken); else RunnerError.
    """
    parts = (views, place, interpreter, config)
    cold = ColdPool(*parts, patch, workers or usual_workers(), expected, sum(seconds.values()), freedom=freedom)
    forks = open_pool(
        *parts,
        patch=patch,
        expected=expected,
        seconds=seconds,
        deadly=deadly,
        files=files,
        freedom=freedom,
        within=within,
        workers=workers,
    )
    with ExitStack() as stack:
        pool: AnyPool = cold
        try:
            pool = stack.enter_context(forks) if fork else cold
        except RunnerError as error:
            if not or_cold:
                raise
            cold.why = str(error)
        yield pool
