"""Build the parts of a run from the arguments of a command."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from coderefine.config import Config, load, task_name
from coderefine.core import (
    FIX,
    Alternative,
    Ask,
    Attempt,
    Check,
    Critic,
    Event,
    Listen,
    Patch,
    Proposer,
    Task,
    Views,
)
from coderefine.errors import SandboxError
from coderefine.proc import hide
from coderefine.project import Interpreter, Place, Protection, interpreter, locate

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from coderefine.llm.client import Client


@dataclass(frozen=True, slots=True)
class Setup:
    """The project and the settings that a command works with.

    `picked`: the only patch to propose, which a person picked, and how it came to that.
    """

    place: Place
    config: Config
    interpreter: Interpreter
    protection: Protection
    listen: Listen
    task: Task = FIX
    picked: tuple[Alternative, str] | None = None


def setup(
    paths: Sequence[str],
    flags: Mapping[str, object],
    listen: Listen,
    task: Task | None = None,
    *,
    cwd: Path | None = None,
) -> Setup:
    """Find the project of `paths`, its task (unless given) and its interpreter.

    Raises UsageError, ConfigError, SurroundingsError.
    """
    import os
    import threading

    place = locate([Path(path) for path in paths], cwd or Path.cwd())
    name = task.name if task else task_name(place.root, os.environ, flags)
    if task is None and name != FIX.name:
        from coderefine.tasks import find

        task = find(name, place)
    config = load(place.root, os.environ, flags, task or FIX)
    place = replace(place, scope=task.wanted or place.scope) if task else place
    hide(config.api_key_env)
    threading.Thread(target=_preload, args=(config,), daemon=True).start()
    python = interpreter(place, config, os.environ)
    return Setup(place, config, python, Protection.of(place, config), listen, task or FIX)


def _preload(config: Config) -> None:
    """Import what is needed next while another process inspects the project's interpreter (saves 40 ms)."""
    import coderefine.workspace  # noqa: F401
    from coderefine.critics import preload

    preload(config)


def views(parts: Setup) -> AbstractContextManager[Views]:
    """Open private views in which the tests have what the configuration allows.

    Raises SandboxError where nothing may run unless it is confined, and it cannot be.
    """
    from coderefine.workspace import Grants, open_views

    config = parts.config
    if config.sandbox == "strict":
        from coderefine import sandbox

        if (found := sandbox.tried()).missing:
            raise SandboxError(sandbox.refusal(found))
    grants = Grants(config.network, config.pass_env)
    return open_views(parts.place, kind=config.view, grants=grants, tell=lambda text: parts.listen(Event("note", text)))


def critics(parts: Setup) -> tuple[Critic, ...]:
    """Return the gates: those of the configuration, then those of the task."""
    from coderefine.critics import build

    configured = build(parts.place, parts.interpreter, parts.config, parts.listen)
    if parts.task.wanted:
        from coderefine.critics.task_gates import Judged

        configured = tuple(Judged(one, parts.task) if one.name == "pytest" else one for one in configured)
    return (*configured, *(critic for critic in _of_task(parts) if critic.gate))


def _of_task(parts: Setup) -> tuple[Critic, ...]:
    """Return the critics of the task, gates and advisers."""
    if parts.task is FIX:
        return ()
    from coderefine.critics.task_gates import Asked, FunctionGate, Rewarded

    task, place = parts.task, parts.place
    made: list[Critic] = [make(place, parts.interpreter, parts.config, parts.listen) for make in task.critics]
    made += [FunctionGate(look) for look in task.checks]
    made += [Rewarded(task)] if task.reward else []
    return (*([Asked(task)] if task.wanted else []), *made)


def checked(parts: Setup, opened: Views) -> tuple[Check, ...]:
    """Run the gates on the tree as it is and, where they are clean, the task's advisers, as `fix` does at its start."""
    from coderefine.loop.critique import critique

    ask = Ask(parts.place.scope)
    checks = critique(opened, critics(parts), Patch(), ask)
    advisers = tuple(critic for critic in _of_task(parts) if not critic.gate)
    if not advisers or not all(check.clean and check.complete for check in checks):
        return checks
    return (*checks, *critique(opened, advisers, Patch(), ask))


def advice(
    parts: Setup, client: Client | None, original: Callable[[str], bytes | None], earlier: Sequence[Attempt] = ()
) -> tuple[Critic, ...]:
    """Return the advisers, which run once the gates are clean.

    They are those of the task, and a review where criteria and a model are set. `original`: returns what a path held
    when the run began. `earlier`: attempts of a recorded run; their advice is used again.
    """
    from coderefine.critics.recorded import with_records

    own = tuple(with_records(critic, earlier) for critic in _of_task(parts) if not critic.gate)
    if parts.task.drafts and client is not None:
        from coderefine.critics.drafted import Drafted

        where = (parts.place, parts.interpreter, parts.config)
        own = (*own, Drafted(*where, client, parts.task, parts.listen, original))
    if not parts.config.criteria:
        return own
    if client is None:
        parts.listen(Event("note", "criteria need a model: nothing is reviewed"))
        return own
    from coderefine.critics.review import Review

    return (*own, Review(parts.place, parts.config, client, parts.protection, parts.task))


def proposers(parts: Setup, client: Client | None, under: Mapping[str, bytes | None]) -> tuple[Proposer, ...]:
    """Return the proposers: the search for repairs of failing tests, ruff's fixes, then the model, which costs money.

    Tests first: the search costs nothing where none fails, and hundreds of ruff's fixes take minutes to judge. `under`:
    files that have another content in the views than in the user's tree.
    """
    if parts.picked:
        from coderefine.proposers.given import Given

        return (Given(*parts.picked),)
    from coderefine.proposers.autofix import Autofix

    ladder: list[Proposer] = []
    if parts.config.search:
        from coderefine.proposers.search import Search

        where = (parts.place, parts.interpreter, parts.config, parts.protection, parts.listen)
        ladder.append(Search(*where, alone=client is None, under=under))
    ladder.append(Autofix(parts.place, parts.config, parts.interpreter))
    if client is not None:
        ladder.append(model(parts, client, under))
    return tuple(ladder)


def model(parts: Setup, client: Client, under: Mapping[str, bytes | None]) -> Proposer:
    from coderefine.proposers.model import Model

    where = (parts.place, parts.config, client, parts.protection, parts.listen)
    return Model(*where, under=under, task=parts.task, interpreter=parts.interpreter)
