"""coderefine as a library: the functions of the command line, synchronous and asynchronous.

Settings are the keys of `[tool.coderefine]` with underscores (`max_requests=3`, `model="gpt-5-mini"`, `gates=[]`).
Other settings are taken from the project's configuration and the environment, as on the command line.
"""

from __future__ import annotations

import asyncio
import functools
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypedDict, TypeVar

from coderefine.app import engine
from coderefine.app.history import name_of
from coderefine.app.project import Project, find_project
from coderefine.app.prove import PatchSource
from coderefine.app.prove import prove as prove_patch
from coderefine.app.request import Destination, Request
from coderefine.app.run import UNRECORDED, run, run_unrecorded
from coderefine.config import typed
from coderefine.core import Check, Event, Listen, Outcome, Proof, Task
from coderefine.errors import ConfigError

if sys.version_info >= (3, 11):
    from typing import Unpack
elif TYPE_CHECKING:
    from typing_extensions import Unpack

Where = str | PathLike[str]
Value = TypeVar("Value")
Given = ParamSpec("Given")
Texts = list[str] | tuple[str, ...]
Table = dict[str, Any]
"""A table as in TOML: one of [[tool.coderefine.commands]], for example."""


class Settings(TypedDict, total=False):
    """The keys of `[tool.coderefine]` except `task`, which is a parameter; `coderefine.config.Config` describes them.

    None means that a key is not given.
    """

    python: str | None
    gates: Texts | None
    commands: list[Table] | None
    pytest_args: Texts | None
    test_timeout: float | None
    select: Texts | None
    ignore: Texts | None
    max_complexity: int | None
    min_maintainability: float | None
    protect: Texts | None
    max_iterations: int | None
    max_requests: int | None
    max_tokens: int | None
    max_cost: float | None
    timeout: float | None
    fast_proof: bool | None
    processes: int | None
    cluster: str | None
    cluster_python: str | None
    cluster_install: str | None
    proof: str | None
    search: bool | None
    search_time: float | None
    model: str | None
    models: Texts | None
    critic_model: str | None
    policy: str | None
    samples: int | None
    criteria: Texts | Table | None
    performance: str | Table | None
    base_url: str | None
    api_key_env: str | None
    temperature: float | None
    request_timeout: float | None
    stream: bool | None
    view: str | None
    network: bool | None
    pass_env: Texts | None
    sandbox: str | None
    accept: str | None
    author: str | None
    message: str | None
    extra_headers: dict[str, str] | None


def _ignore(_event: Event) -> None:
    """Ignore the event."""


def check(
    *paths: Where,
    task: Task | str | None = None,
    listen: Listen = _ignore,
    cwd: Where = ".",
    **settings: Unpack[Settings],
) -> tuple[Check, ...]:
    """Run the gates on `paths` (default: `cwd`) and, if they pass, the task's advisers; return one Check per critic.

    Nothing is changed. `task`: a Task, a task's name, or a TOML file. `listen` is called with each Event, possibly in
    other threads.
    Raises CoderefineError: ConfigError, UsageError, SurroundingsError, or CriticError if a tool gave no result.
    """
    return engine.check(_project(paths, task, listen, cwd, settings))


def refine(
    *paths: Where,
    task: Task | str | None = None,
    write: bool = False,
    listen: Listen = _ignore,
    cwd: Where = ".",
    **settings: Unpack[Settings],
) -> Outcome:
    """Refine `paths` (default: `cwd`) until the task is done or a limit is reached; return the best proved patch.

    `outcome.best.patch.files` contains the new bytes by path. They are written only with `write`; `coderefine undo`
    restores the old bytes. In a git repository every run is recorded and shown by `coderefine show`. Raises the errors
    of `check`, and with `write` PublishError if the tree changed meanwhile.
    """
    project = _project(paths, task, listen, cwd, settings)
    if project.place.git_dir is None and not write:
        return run_unrecorded(project)
    recorded = _recorded(settings)
    if task is not None:
        recorded["task"] = name_of(task)
    request = Request(("refine()",), recorded, Destination(diff=not write))
    return run(project, request, lambda _result: None).outcome


def prove(
    patch: Where | bytes | None = None,
    *,
    staged: bool = False,
    write: bool = False,
    minimise: bool = False,
    repair: bool = False,
    listen: Listen = _ignore,
    cwd: Where = ".",
    **settings: Unpack[Settings],
) -> Proof:
    """Judge a given patch by every rule for coderefine's own patches, and return the proof.

    `patch`: a diff or mails of `git format-patch`, as bytes or as text of several lines; or the path of a file with
    such a text; or a commit, a range `A..B`, or a branch (its commits that HEAD lacks). None: with `staged` the staged
    changes, else all uncommitted changes. The patch is written only with `write`, if `proof.verdict` is positive;
    `coderefine undo` takes it back. Every run is recorded. `minimise`: find the smallest part of the patch that is
    still proved, and take only that. `repair`: if the patch is not proved, continue from it as `refine` does. Raises
    UsageError if there is no patch or it cannot be applied, and the errors of `refine`; KeyboardInterrupt if the run
    was interrupted.
    """
    text = patch if patch is None or isinstance(patch, bytes) else str(patch)
    request = Request(("prove()",), _recorded(settings), Destination(diff=not write), model=repair, again="prove()")
    made, where = PatchSource(text, staged), Path(cwd).absolute()
    result = prove_patch(made, request, listen, lambda _result: None, cwd=where, minimise=minimise, repair=repair)
    proof = result.outcome.proof
    if proof is None:
        raise KeyboardInterrupt
    return proof


def _asynchronous(function: Callable[Given, Value]) -> Callable[Given, Coroutine[None, None, Value]]:
    """Return `function` as a coroutine function, with the same parameters."""

    @functools.wraps(function)
    async def run(*args: Given.args, **kwargs: Given.kwargs) -> Value:
        listen: Any = kwargs.get("listen", _ignore)

        def work(tell: Listen) -> Value:
            kwargs["listen"] = tell
            return function(*args, **kwargs)

        return await _in_thread(work, listen)

    run.__name__ = run.__qualname__ = f"a{function.__name__}"
    run.__doc__ = f"""Run `{function.__name__}` without blocking the event loop; `listen` is called in it.

    Cancelling interrupts the run.
    """
    return run


acheck = _asynchronous(check)
arefine = _asynchronous(refine)
aprove = _asynchronous(prove)


async def watch(
    *paths: Where, task: Task | str | None = None, write: bool = False, cwd: Where = ".", **settings: Unpack[Settings]
) -> AsyncGenerator[Event | Outcome, None]:
    """Yield the Events of a run as they occur, and its Outcome last. Closing the generator interrupts the run."""
    queue: asyncio.Queue[Event | None] = asyncio.Queue()
    ran = asyncio.ensure_future(arefine(*paths, task=task, write=write, listen=queue.put_nowait, cwd=cwd, **settings))
    ran.add_done_callback(lambda _: queue.put_nowait(None))
    try:
        while (event := await queue.get()) is not None:
            yield event
        yield await ran
    finally:
        ran.cancel()


def _project(
    paths: tuple[Where, ...], task: Task | str | None, listen: Listen, cwd: Where, settings: Settings
) -> Project:
    named = {"task": task} if isinstance(task, str) else {}
    made = None if isinstance(task, str) else task
    where = [str(path) for path in paths]
    return find_project(where, {**_typed(settings), **named}, listen, made, cwd=Path(cwd).absolute())


def _typed(settings: Settings) -> dict[str, object]:
    """Return the settings as fields of Config. Raises ConfigError for an unknown key or a wrong type."""
    for name in settings:
        if "-" in name:
            raise ConfigError(f"{name!r} is written {name.replace('-', '_')!r} in Python")
    return typed({name.replace("_", "-"): value for name, value in settings.items() if value is not None}, "settings")


def _recorded(settings: Settings) -> dict[str, object]:
    """Return the settings that the journal records."""
    return {name: value for name, value in _typed(settings).items() if name not in UNRECORDED - {"base_url"}}


async def _in_thread(work: Callable[[Listen], Value], listen: Listen) -> Value:
    """Run `work` in a thread; call `listen` with its events in this loop.

    If this coroutine is cancelled, `work` is interrupted at its next event, and its end is awaited.
    """
    loop = asyncio.get_running_loop()
    leave = threading.Event()

    def tell(event: Event) -> None:
        if leave.is_set():
            raise KeyboardInterrupt
        loop.call_soon_threadsafe(listen, event)

    def until_interrupted() -> Value | None:
        try:
            return work(tell)
        except KeyboardInterrupt:
            return None

    future = loop.run_in_executor(None, until_interrupted)
    try:
        result = await asyncio.shield(future)
    except asyncio.CancelledError:
        leave.set()
        await asyncio.wait([future])
        raise
    if result is None:
        raise asyncio.CancelledError
    return result
