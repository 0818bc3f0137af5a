"""From arguments to the parts of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from coderefine.config import Config, load
from coderefine.core import Critic, Event, Listen, Proposer, Views
from coderefine.proc import hide
from coderefine.project import Interpreter, Place, Protection, interpreter, locate

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from coderefine.llm.client import Client


@dataclass(frozen=True, slots=True)
class Setup:
    """What every command needs to know about the project it works on."""

    place: Place
    config: Config
    interpreter: Interpreter
    protection: Protection
    listen: Listen


def setup(paths: Sequence[str], flags: Mapping[str, object], listen: Listen) -> Setup:
    """Find the project of `paths` and its interpreter. Raises UsageError, ConfigError, SurroundingsError."""
    import os
    import threading

    place = locate([Path(path) for path in paths], Path.cwd())
    config = load(place.root, os.environ, flags)
    hide(config.api_key_env)
    threading.Thread(target=_preload, args=(config,), daemon=True).start()
    return Setup(place, config, interpreter(place, config, os.environ), Protection.of(place, config), listen)


def _preload(config: Config) -> None:
    """Import what is needed next, while a process of its own looks at the project's interpreter (40 ms)."""
    import coderefine.workspace  # noqa: F401
    from coderefine.critics import preload

    preload(config)


def views(parts: Setup) -> AbstractContextManager[Views]:
    """Private views, with what the configuration lets the tests have."""
    from coderefine.workspace import Grants, open_views

    config = parts.config
    return open_views(parts.place, kind=config.view, grants=Grants(config.network, config.pass_env))


def critics(parts: Setup) -> tuple[Critic, ...]:
    from coderefine.critics import build

    return build(parts.place, parts.interpreter, parts.config, parts.listen)


def advice(parts: Setup, client: Client | None) -> tuple[Critic, ...]:
    """Who is heard once the gates are content: the review, when there are criteria and a model to apply them."""
    if not parts.config.criteria:
        return ()
    if client is None:
        parts.listen(Event("note", "criteria need a model: nothing is reviewed"))
        return ()
    from coderefine.critics.review import Review

    return (Review(parts.place, parts.config, client, parts.protection),)


def proposers(parts: Setup, client: Client | None, under: Mapping[str, bytes | None]) -> tuple[Proposer, ...]:
    """The ladder, cheapest first. `under`: files that the user's tree holds otherwise than the views do."""
    from coderefine.proposers.autofix import Autofix

    ladder: list[Proposer] = [Autofix(parts.place, parts.config, parts.interpreter)]
    if parts.config.search:
        from coderefine.proposers.search import Search

        where = (parts.place, parts.interpreter, parts.config, parts.protection, parts.listen)
        ladder.append(Search(*where, alone=client is None, under=under))
    if client is not None:
        from coderefine.proposers.model import Model

        ladder.append(Model(parts.place, parts.config, client, parts.protection, parts.listen, under=under))
    return tuple(ladder)
