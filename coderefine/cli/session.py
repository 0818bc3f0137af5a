"""One run of the loop from end to end: lock, journal, refine, publish, report."""

from __future__ import annotations

import contextlib
import os
import posixpath
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING

from coderefine.cli.delivery import Delivery
from coderefine.cli.options import flags
from coderefine.cli.screen import Delivered
from coderefine.cli.wiring import Setup, advice, critics, proposers, views
from coderefine.config import masked
from coderefine.core import EMPTY, Attempt, Critic, Event, Outcome, Stop, Views
from coderefine.errors import PublishError, SurroundingsError

if TYPE_CHECKING:
    from coderefine.cli.screen import Screen
    from coderefine.config import Config
    from coderefine.git import Repository
    from coderefine.journal import Journal
    from coderefine.llm.client import Client
    from coderefine.loop.behaviour import Keeper
    from coderefine.loop.special_cases import Guard
    from coderefine.loop.state import Parts
    from coderefine.publishers import Snapshot
    from coderefine.workspace.originals import Originals

UNRECORDED = frozenset({"base_url", "extra_headers", "commands", "criteria", "performance", "cost_alone"})
"""Settings that may hold secrets, are tables of their own, or follow from others."""
NO_KEYS = frozenset({"no_model", "show_prompts", *(item.name for item in fields(Delivery))})
"""Flags that are no key of the configuration."""
EXITS = {Stop.ENVIRONMENT: 2, Stop.INTERRUPTED: 130}


@dataclass(frozen=True, slots=True)
class Request:
    """What the user asked for, in a form that a resumed run can ask again. `picked`: the run that offered the patch."""

    argv: tuple[str, ...]
    flags: Mapping[str, object]
    delivery: Delivery
    model: bool = True
    show_prompts: bool = False
    picked: str = ""

    @classmethod
    def of(cls, given: Mapping[str, object], **more: object) -> Request:
        """What a command line asks for whose flags are LOOP, delivery.OPTIONS and keys; `more` keys go before them.

        Raises UsageError when flags exclude each other.
        """
        keys = {name: value for name, value in given.items() if name not in NO_KEYS}
        ways = (not given["no_model"], bool(given["show_prompts"]))
        return cls(tuple(sys.argv[1:]), {**flags(keys), **more}, Delivery.of(given), *ways)

    @property
    def record(self) -> Mapping[str, object]:
        flags = {key: masked(value) if isinstance(value, str) else value for key, value in self.flags.items()}
        picked = {"picked": self.picked} if self.picked else {}
        return {"flags": flags, "delivery": asdict(self.delivery), "model": self.model, **picked}


def mend(setup: Setup, asked: Request, screen: Screen, *, earlier: Journal | None = None) -> int:
    """Run the loop and deliver its result; the exit code. `earlier`: the run to go on with.

    Raises PublishError, after the report, when the tree moved meanwhile.
    """
    from coderefine.journal import lock, prune
    from coderefine.publishers import recover

    repository = open_repository(setup)
    asked.delivery.check(repository, setup.config)
    asked.delivery.check_scope(repository, (*setup.place.scope, *setup.task.judged))
    with lock(repository):
        if said := recover(repository):
            screen.listen(Event("note", said))
        journal = earlier or new_journal(repository, setup, asked)
        with _owning_up(journal):
            outcome, delivered = ran(setup, asked, screen, journal)
            prune(repository)
    with _owning_up(journal):
        screen.outcome(outcome, delivered, journal.run)
    if delivered.refused:
        raise delivered.refused
    return exit_code(outcome)


@contextlib.contextmanager
def _owning_up(journal: Journal) -> Iterator[None]:
    """An interrupt that came too late to stop the patch says so."""
    try:
        yield
    except KeyboardInterrupt:
        if journal.publication():
            raise KeyboardInterrupt(
                f"interrupted after the patch was written; undo: coderefine undo {journal.run}"
            ) from None
        raise


def open_repository(setup: Setup) -> Repository:
    from coderefine.git import Repository

    if setup.place.git_dir is None:
        raise SurroundingsError(
            f"{setup.place.top} is not in a git repository, and a patch needs one to be taken back: "
            "run `git init` (`coderefine check` works without)"
        )
    return Repository.open(setup.place.top)


def exit_code(outcome: Outcome) -> int:
    """0 when nothing is left to fix, on the tree or with the patch handed over."""
    return EXITS.get(outcome.stop, 0 if outcome.clean else 1)


def new_journal(repository: Repository, setup: Setup, asked: Request) -> Journal:
    from coderefine.journal import Journal, Meta

    meta = Meta(
        argv=tuple(map(masked, asked.argv)),
        config={**asked.record, "settings": _settings(setup.config)},
        head=repository.head().sha,
        scope=setup.place.scope,
    )
    return Journal.create(repository, meta)


def _settings(config: Config) -> Mapping[str, object]:
    """What of the configuration decides a run, so that a replay needs neither file nor environment: no secrets."""
    named = {item.name: getattr(config, item.name) for item in fields(config) if item.name not in UNRECORDED}
    return {name: value for name, value in named.items() if value is not None}


def ran(setup: Setup, asked: Request, screen: Screen, journal: Journal) -> tuple[Outcome, Delivered]:
    """The loop's outcome, recorded, and what was handed over of it. The repository is locked by the caller.

    What a task hands over beside a proved patch is no part of the record: nobody proved it.
    """
    from coderefine.publishers import Snapshot
    from coderefine.workspace.originals import Originals

    originals = Originals(setup.place.top)
    under = asked.delivery.under(journal.repository)
    journal = replace(journal, under=under)
    snapshot = Snapshot(journal, journal.repository.head(), originals, under)
    if under:
        setup.listen(
            Event("note", f"your working tree differs from HEAD in {_differing(under)}: HEAD is what is proved")
        )
    with reachable(setup, asked, screen, journal) as client:
        outcome, beside = refined(setup, client, journal, originals, under)
    journal.finish(outcome)
    return outcome, _delivered(setup, asked, outcome, beside, snapshot)


def _differing(under: Mapping[str, bytes | None]) -> str:
    """Files of the working tree that are otherwise, or not at all, in the tree that is judged."""
    from coderefine.judge import listed

    return listed(tuple(f"{path} (untracked)" if data is None else path for path, data in sorted(under.items())))


def refined(
    setup: Setup,
    client: Client | None,
    journal: Journal | None,
    originals: Originals,
    under: Mapping[str, bytes | None] = EMPTY,
) -> tuple[Outcome, Mapping[str, bytes]]:
    """The loop from views to proof, and files that go with its patch; nothing is kept of it without a `journal`.

    `under`: what the tree to judge holds where the working tree holds something else.
    """
    from coderefine.loop.refine import refine
    from coderefine.workspace.rewound import Rewound

    with views(setup) as opened:
        judged = Rewound(opened, under) if under else opened
        parts = assembled(setup, judged, client, journal, originals, under=under)
        if client is not None:
            client.preload()
        outcome = refine(parts)
        return outcome, _beside(parts.advice, outcome) if setup.task.drafted else {}


def _beside(advice: Sequence[Critic], outcome: Outcome) -> Mapping[str, bytes]:
    from coderefine.critics.drafted import Drafted

    drafts = [critic.beside(outcome.best) for critic in advice if isinstance(critic, Drafted)]
    return {path: data for files in drafts for path, data in files.items()}


def assembled(
    setup: Setup,
    opened: Views,
    client: Client | None,
    journal: Journal | None,
    originals: Originals,
    *,
    under: Mapping[str, bytes | None] = EMPTY,
) -> Parts:
    """What a run of the loop is made of. `under`: files that stand otherwise in the views than in the user's tree."""
    from coderefine.loop.state import Parts, forget
    from coderefine.loop.strength import Strength

    project = (setup.place, setup.interpreter, setup.config)
    earlier = _earlier(journal, under)

    def original(path: str) -> bytes | None:
        return under[path] if path in under else originals[path]

    return Parts(
        views=opened,
        critics=critics(setup),
        proposers=proposers(setup, client, under),
        original=original,
        reason=setup.protection.reason,
        helpers=setup.protection.helpers,
        scope=setup.place.scope,
        roots=_roots(setup),
        modules=setup.interpreter.modules(setup.place.top),
        limits=setup.config.limits,
        strength=Strength(*project),
        behaviour=_behaviour(setup, earlier) if setup.task.keeps else None,
        special=_special(setup, earlier),
        listen=setup.listen,
        record=journal.attempt if journal else forget,
        edited=originals.edited,
        advice=advice(setup, client, original, earlier),
        task=setup.task,
        accept_plausible=setup.config.accept == "plausible",
    )


def _earlier(journal: Journal | None, under: Mapping[str, bytes | None]) -> tuple[Attempt, ...]:
    """What a recorded run found out, when it goes on, or again, on the tree it began on."""
    found = journal.attempts() if journal else ()
    if journal is None or not found:
        return found
    from coderefine.journal.rewound import rewound

    return found if rewound(journal).items() <= under.items() else ()


def _behaviour(setup: Setup, earlier: Sequence[Attempt]) -> Keeper:
    from coderefine.loop.behaviour import Behaviour, Recalled

    live = Behaviour(setup.place, setup.interpreter, setup.config)
    return Recalled(live, earlier) if earlier else live


def _special(setup: Setup, earlier: Sequence[Attempt]) -> Guard:
    from coderefine.loop.special_cases import Remembered, SpecialCases

    live = SpecialCases(setup.place, setup.interpreter, setup.config)
    return Remembered(live, earlier) if earlier else live


def _roots(setup: Setup) -> tuple[str, ...]:
    """Folders on the project's import path, as pytest's rootdir, the src layout and pytest's `pythonpath` have them."""
    prefix = setup.place.prefix
    return tuple(
        posixpath.normpath(posixpath.join(prefix, name)) for name in ("", "src", *setup.protection.settings.pythonpath)
    )


@contextlib.contextmanager
def reachable(setup: Setup, asked: Request, screen: Screen, journal: Journal | None) -> Iterator[Client | None]:
    """The model's client while it is wanted and can be reached.

    Prompts can be shown without either: then nothing is sent.
    """
    from coderefine.llm.access import configured

    wanted = asked.model and setup.config.max_iterations > 0 and configured(setup.config, os.environ)
    if not wanted and not asked.show_prompts:
        yield None
        return
    from coderefine.llm.access import check_price
    from coderefine.llm.client import Client

    if wanted:
        check_price(setup.config)
    show = screen.prompt if asked.show_prompts else None
    with Client(setup.config, memory=journal, listen=setup.listen, show=show, preview=not wanted) as client:
        yield client


def _delivered(
    setup: Setup, asked: Request, proved: Outcome, beside: Mapping[str, bytes], snapshot: Snapshot
) -> Delivered:
    """What was handed over; nothing when nothing is better than the start, or the run was interrupted."""
    from coderefine.publishers import Diff

    if not proved.best.number:
        return Delivered(how_to_pick(proved, snapshot.journal.run))
    outcome = _with(proved, beside)
    diff = Diff(snapshot).text(outcome)
    before = {path: snapshot.judged(path) for path in proved.best.patch.files}
    if outcome.stop is Stop.INTERRUPTED:
        again = f"coderefine resume {snapshot.journal.run}"
        said = f"nothing was written; the best patch so far is kept: {again} goes on with it"
        return Delivered(said, diff, before=before)
    if asked.delivery.diff:
        return Delivered(diff=diff, pipe=True, before=before)
    try:
        return Delivered(asked.delivery.publisher(snapshot, setup.config).publish(outcome), diff, before=before)
    except PublishError as error:
        return Delivered(
            f"nothing; the patch is kept: coderefine show {snapshot.journal.run} --diff",
            diff,
            refused=error,
            before=before,
        )


def how_to_pick(outcome: Outcome, run: str) -> str:
    """What to do about the offers of a run that wrote nothing; "" without any."""
    from coderefine.reports.offers import sentence

    if not outcome.offers:
        return ""
    that = sentence(outcome.offers)
    more = f', or coderefine pick {run} --that "{that}" keeps those that agree' if that else ""
    return f"nothing: coderefine pick {run} N proves and writes one of the offered patches{more}"


def _with(outcome: Outcome, beside: Mapping[str, bytes]) -> Outcome:
    """`outcome` with more files in its patch."""
    patch = outcome.best.patch
    return replace(outcome, best=replace(outcome.best, patch=replace(patch, files={**patch.files, **beside})))
