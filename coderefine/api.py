"""coderefine as a library: the loop of the command line as functions, synchronous and asynchronous.

Settings are the keys of `[tool.coderefine]` with underscores (`max_requests=3`, `model="gpt-5-mini"`, `gates=[]`); what
is not given comes from the project's configuration and the environment, as it does on the command line.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Mapping
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from coderefine.core import Check, Event, Listen, Outcome, Task
from coderefine.errors import ConfigError

if TYPE_CHECKING:
    from coderefine.app.project import Setup

Where = str | PathLike[str]
Value = TypeVar("Value")


def _quiet(_event: Event) -> None:
    """Nobody listens."""


def check(
    *paths: Where, task: Task | str | None = None, listen: Listen = _quiet, cwd: Where = ".", **settings: Any
) -> tuple[Check, ...]:
    """What the gates say about `paths` (default: `cwd`), one Check each. Nothing is changed.

    `task`: a Task, the name of one, or a TOML file. `listen` is called with each Event, from whichever thread has news.
    Raises CoderefineError: ConfigError, UsageError, SurroundingsError, CriticError when a tool gave no verdict.
    """
    from coderefine.app.project import checked, views

    parts = _parts(paths, task, listen, cwd, settings)
    with views(parts) as opened:
        return checked(parts, opened)


def refine(
    *paths: Where,
    task: Task | str | None = None,
    write: bool = False,
    listen: Listen = _quiet,
    cwd: Where = ".",
    **settings: Any,
) -> Outcome:
    """Refine `paths` (default: `cwd`) until the task is done or a limit is hit; the best that was proved, and why.

    `outcome.best.patch.files` holds the new bytes by path. They are written only with `write`, then recorded and
    taken back by `coderefine undo`; in a git repository every run is recorded, so that `coderefine show` knows it.
    Raises what `check` raises, and with `write` PublishError when the tree moved meanwhile.
    """
    parts = _parts(paths, task, listen, cwd, settings)
    if parts.place.git_dir is None and not write:
        return _unrecorded(parts)
    return _recorded(parts, task, settings, write=write)


async def acheck(
    *paths: Where, task: Task | str | None = None, listen: Listen = _quiet, cwd: Where = ".", **settings: Any
) -> tuple[Check, ...]:
    """`check` without blocking the event loop; `listen` is called in it."""
    return await _beside(lambda heard: check(*paths, task=task, listen=heard, cwd=cwd, **settings), listen)


async def arefine(
    *paths: Where,
    task: Task | str | None = None,
    write: bool = False,
    listen: Listen = _quiet,
    cwd: Where = ".",
    **settings: Any,
) -> Outcome:
    """`refine` without blocking the event loop; `listen` is called in it. Cancelled, the run ends as if interrupted."""
    run = partial(refine, *paths, task=task, write=write, cwd=cwd, **settings)
    return await _beside(lambda heard: run(listen=heard), listen)


async def watch(
    *paths: Where, task: Task | str | None = None, write: bool = False, cwd: Where = ".", **settings: Any
) -> AsyncGenerator[Event | Outcome, None]:
    """Each Event of a run as it comes, and its Outcome last. Closed before that, the run ends as if interrupted."""
    queue: asyncio.Queue[Event | None] = asyncio.Queue()
    run = asyncio.ensure_future(arefine(*paths, task=task, write=write, listen=queue.put_nowait, cwd=cwd, **settings))
    run.add_done_callback(lambda _: queue.put_nowait(None))
    try:
        while (event := await queue.get()) is not None:
            yield event
        yield await run
    finally:
        run.cancel()


def _parts(
    paths: tuple[Where, ...], task: Task | str | None, listen: Listen, cwd: Where, settings: Mapping[str, object]
) -> Setup:
    from coderefine.app.project import setup

    flags = _flags({**settings, "task": task} if isinstance(task, str) else settings)
    named = None if isinstance(task, str) else task
    return setup([str(path) for path in paths], flags, listen, named, cwd=Path(cwd).absolute())


def _flags(settings: Mapping[str, object]) -> dict[str, object]:
    """Settings as the configuration has them. Raises ConfigError for an unknown one or a wrong type."""
    from coderefine.config import typed

    for name in settings:
        if "-" in name:
            raise ConfigError(f"{name!r} is written {name.replace('-', '_')!r} in Python")
    given = {name.replace("_", "-"): value for name, value in settings.items() if value is not None}
    return typed(given, "settings")


def _unrecorded(parts: Setup) -> Outcome:
    """Outside git nothing is kept, and nothing can be written that could be taken back."""
    from coderefine.app.run import Request, reachable, refined
    from coderefine.workspace.originals import Originals

    asked = Request((), {}, _delivery(write=False))
    with reachable(parts, asked, _screen(parts), None) as client:
        return refined(parts, client, None, Originals(parts.place.top))[0]


def _recorded(parts: Setup, task: Task | str | None, settings: Mapping[str, object], *, write: bool) -> Outcome:
    from coderefine.app.run import UNRECORDED, Request, new_journal, open_repository, ran
    from coderefine.cli.history import of_program
    from coderefine.journal import lock, prune
    from coderefine.publishers import recover

    flags = {name: value for name, value in _flags(settings).items() if name not in UNRECORDED - {"base_url"}}
    if task is not None:
        flags["task"] = task if isinstance(task, str) else of_program(task)
    asked = Request(("refine()",), flags, _delivery(write=write))
    repository = open_repository(parts)
    with lock(repository):
        recover(repository)
        journal = new_journal(repository, parts, asked)
        outcome, delivered = ran(parts, asked, _screen(parts), journal)
        prune(repository)
    if delivered.refused:
        raise delivered.refused
    return outcome


def _delivery(*, write: bool) -> Any:
    from coderefine.app.destination import Delivery

    return Delivery(diff=not write)


def _screen(parts: Setup) -> Any:
    from coderefine.cli.screen import Screen

    return Screen(parts.listen, "text", quiet=True)


async def _beside(run: Callable[[Listen], Value], listen: Listen) -> Value:
    """`run` in a thread, its events told in this loop. Cancelled, it is interrupted at its next event and awaited."""
    loop = asyncio.get_running_loop()
    leave = threading.Event()

    def heard(event: Event) -> None:
        if leave.is_set():
            raise KeyboardInterrupt
        loop.call_soon_threadsafe(listen, event)

    def whole() -> Value | None:
        try:
            return run(heard)
        except KeyboardInterrupt:
            return None

    work = loop.run_in_executor(None, whole)
    try:
        ended = await asyncio.shield(work)
    except asyncio.CancelledError:
        leave.set()
        await asyncio.wait([work])
        raise
    if ended is None:
        raise asyncio.CancelledError
    return ended
