"""Assemble the components of checks and of the loop: private views, gates, advisers, proposers, limits.

Modules of the loop, the search and the model's client are imported where they are used, so that `check`, and a hook
with nothing to repair, start without them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING

from coderefine import proc
from coderefine.app.project import Project
from coderefine.core import EMPTY, FIX, Ask, Attempt, Check, Critic, Event, Patch, Proposer, View, Views
from coderefine.errors import ConfigError, SandboxError

if TYPE_CHECKING:
    from coderefine.cluster.client import Cluster
    from coderefine.journal import Journal
    from coderefine.llm.client import Client
    from coderefine.llm.model_request import ModelRequest
    from coderefine.loop.state import Parts
    from coderefine.proposers.model.tracing import Observed
    from coderefine.runner.cold_pool import AnyPool
    from coderefine.runner.equivalence import Equivalence
    from coderefine.workspace.originals import Originals

Contents = Mapping[str, "bytes | None"]
"""Content by path; None: no file."""
Show = Callable[["ModelRequest"], None]
"""Called with each request before it is sent to the model."""
MOST_PROCESSES = 8
"""Maximum number of test processes at a time, unless the user sets it, because each takes memory."""


def open_views(project: Project) -> AbstractContextManager[Views]:
    """Open private views in which the tests have the permissions of the configuration.

    Raises SandboxError if the configuration requires a sandbox and the system has none.
    """
    from coderefine import workspace

    config = project.config
    if config.sandbox == "strict":
        from coderefine import sandbox

        if (found := sandbox.tried()).missing:
            raise SandboxError(sandbox.refusal(found))
    grants = workspace.Grants(config.network, config.pass_env)

    def note(text: str) -> None:
        project.listen(Event("note", text))

    return workspace.open_views(project.place, kind=config.view, grants=grants, note=note)


@contextmanager
def open_cluster(project: Project) -> Iterator[Cluster | None]:
    """Yield the configured cluster; None if tests run on this machine."""
    config = project.config
    if config.cluster is None:
        yield None
        return
    from coderefine.cluster.client import Cluster, connect

    with connect(config.cluster) as client:
        cluster = Cluster.of(client, project.place, project.interpreter, config, project.listen)
        cluster.check()
        try:
            yield cluster
        finally:
            cluster.close()


def gates(project: Project, views: Views | None = None, cluster: Cluster | None = None) -> tuple[Critic, ...]:
    """Return the gates: those of the configuration, then those of the task.

    pytest runs on the workers of `cluster`; without one, proofs may run in several processes, each in one of `views`.
    Raises ConfigError if there are no gates.
    """
    configured = _configured_gates(project, cluster.run_tests if cluster else _processes(project, views))
    if project.task.wanted:
        from coderefine.critics.task_gates import AcceptanceTests

        configured = tuple(AcceptanceTests(one, project.task) if one.name == "pytest" else one for one in configured)
    found = (*configured, *(critic for critic in _task_critics(project) if critic.gate))
    if not found:
        raise ConfigError("no gate would run, so that nothing could be checked: name some in `gates` or with --gate")
    return found


def _configured_gates(project: Project, runner: Callable[..., Check] | None) -> tuple[Critic, ...]:
    """Return the gates that the configuration names. `runner`: the function that runs tests (None: the usual one)."""
    from coderefine.critics import build

    found = build(project.place, project.interpreter, project.config, project.listen)
    for critic in found:
        if runner and critic.name == "pytest":
            critic.runner = runner  # type: ignore[attr-defined]
    return found


def _processes(project: Project, views: Views | None) -> Callable[..., Check] | None:
    """Return the function that divides the tests of proofs among processes in `views`; None if there is only one.

    By default, a project whose own settings run its tests in parallel has one process per core, other projects one.
    """
    usual = min(MOST_PROCESSES, proc.processors()) if project.protection.settings.is_parallel else 1
    most = project.config.processes or usual
    if views is None or most == 1:
        return None
    from coderefine.cluster.processes import Processes

    return Processes(views, most, project.protection).run_tests


def _task_critics(project: Project) -> tuple[Critic, ...]:
    """Return the critics of the task, gates and advisers."""
    task = project.task
    if task is FIX:
        return ()
    from coderefine.critics.task_gates import FunctionGate, RequestedCode, Rewarded

    found: list[Critic] = [RequestedCode(task)] if task.wanted else []
    found += [make(project.place, project.interpreter, project.config, project.listen) for make in task.critics]
    found += [FunctionGate(look) for look in task.checks]
    found += [Rewarded(task)] if task.reward else []
    return tuple(found)


def check(project: Project) -> tuple[Check, ...]:
    """Run the gates on the tree as it is and, if they are clean, the task's advisers, as `fix` does at its start."""
    from coderefine.loop.critique import critique

    ask = Ask(project.place.scope)
    with open_cluster(project) as cluster, open_views(project) as views:
        critics = gates(project, cluster=cluster)
        checks = critique(views, critics, Patch(), ask)
        advisers = tuple(critic for critic in _task_critics(project) if not critic.gate)
        if not advisers or not all(check.clean and check.complete for check in checks):
            return checks
        return (*checks, *critique(views, advisers, Patch(), ask))


@contextmanager
def open_loop(
    project: Project,
    journal: Journal | None,
    originals: Originals,
    under: Contents = EMPTY,
    *,
    model: bool = True,
    show: Show | None = None,
    views: Views | None = None,
    proposers: Sequence[Proposer] | None = None,
) -> Iterator[Parts]:
    """Yield the components of the loop, with open private views and, if allowed and configured, a model's client.

    `under`: files whose content in the tree to check differs from the working tree. `model`: whether a model may be
    used. `views`: views of the tree to check, if they are already open. `proposers`: used in place of the usual ones.
    Without a `journal`, nothing is recorded.
    """
    from coderefine.llm.availability import check_price
    from coderefine.workspace.private_views import SnapshotViews

    config = project.config
    wanted = model and _has_model(project)
    with ExitStack() as stack:
        client = None
        if wanted or show is not None:
            from coderefine.llm.client import Client

            if wanted:
                check_price(config)
            preview = not wanted  # no model is needed to show prompts, because nothing is sent
            client = Client(config, memory=journal, listen=project.listen, show=show, preview=preview)
            stack.enter_context(client)
        if views is None:
            opened = stack.enter_context(open_views(project))
            views = SnapshotViews(opened, under) if under else opened
        if client is not None:
            client.preload()
        cluster = stack.enter_context(open_cluster(project))
        yield loop_parts(
            project,
            views,
            client,
            journal=journal,
            originals=originals,
            under=under,
            proposers=proposers,
            cluster=cluster,
        )


def _has_model(project: Project) -> bool:
    """Return whether a model can be used.

    If not, report the reason in a note, if the configuration names a server, or a key that may not be used.
    """
    from coderefine.llm.availability import configured

    config = project.config
    ready = configured(config, os.environ)
    if config.max_iterations > 0 and not ready and (config.base_url or config.key_refusal):
        project.listen(Event("note", f"no model is used: {ready.reason}"))
    return config.max_iterations > 0 and bool(ready)


def loop_parts(
    project: Project,
    views: Views,
    client: Client | None,
    *,
    journal: Journal | None,
    originals: Originals,
    under: Contents,
    proposers: Sequence[Proposer] | None,
    cluster: Cluster | None = None,
) -> Parts:
    """Assemble everything that the loop needs; parameters as in `open_loop` and `gates`."""
    from coderefine.app.hook_cache import unaffected_by
    from coderefine.loop.behaviour import Behaviour
    from coderefine.loop.fast_proof import FastProof, none_same
    from coderefine.loop.special_cases import SpecialCases
    from coderefine.loop.state import Parts, forget
    from coderefine.loop.strength import Strength
    from coderefine.runner.equivalence import Equivalence

    place, config, protection = project.place, project.config, project.protection
    where = (place, project.interpreter, config)
    earlier = _earlier_attempts(journal, under) if journal else ()

    def restore(view: View, texts: Mapping[str, tuple[str, str]]) -> Mapping[str, tuple[str, str]]:
        # Imported only here, because it imports LibCST, which takes 0.15 s.
        from coderefine.proposers.refactorings.inlining import Inlining

        return Inlining(place, protection)(view, texts)

    equivalence = Equivalence(*where, restore)

    def original(path: str) -> bytes | None:
        return under[path] if path in under else originals[path]

    # The hook's coverage map is about the working tree.
    same = none_same if under else partial(unaffected_by, project)
    fast = FastProof(place.top, protection.is_test, protection.plugins, under, same)
    return Parts(
        views=views,
        critics=gates(project, views, cluster),
        proposers=_proposers(project, client, under, equivalence, cluster) if proposers is None else proposers,
        original=original,
        reason=protection.reason,
        helpers=protection.helpers,
        is_product=protection.is_product,
        scope=place.scope,
        roots=(*protection.import_roots, *protection.script_folders),
        modules=project.interpreter.modules(place.top),
        limits=config.limits,
        strength=Strength(*where, _pools(cluster), project.listen),
        behaviour=Behaviour(*where) if project.task.keeps else None,
        equivalence=equivalence,
        special=SpecialCases(*where).check,
        earlier=earlier,
        listen=project.listen,
        record=journal.attempt if journal else forget,
        outside=originals.outside,
        edited=originals.edited,
        advice=_advisers(project, client, original, earlier),
        task=project.task,
        accept_plausible=config.accept == "plausible",
        fast=fast.select if config.fast_proof else None,
        default=frozenset({"ruff", "radon"} - config.asked),
        spread=cluster.submit if cluster and project.config.proof == "local" else None,
    )


def _pools(cluster: Cluster | None) -> Callable[..., AbstractContextManager[AnyPool]]:
    """Return the function that opens a pool; the pool judges candidates on the workers of `cluster`, or here."""
    from coderefine.runner.cold_pool import open_any_pool

    return cluster.open_pool if cluster else open_any_pool


def _earlier_attempts(journal: Journal, under: Contents) -> tuple[Attempt, ...]:
    """Return the attempts of a run that is resumed or replayed; () if the tree has changed since that run began."""
    from coderefine.journal.run_list import files_at_start

    found = journal.attempts()
    return found if found and files_at_start(journal).items() <= under.items() else ()


def _advisers(
    project: Project, client: Client | None, original: Callable[[str], bytes | None], earlier: Sequence[Attempt]
) -> tuple[Critic, ...]:
    """Return the advisers, which run once the gates are clean.

    The advisers are those of the task, and a review if criteria and a model are configured. `original` returns the
    content that a file had when the run began. `earlier`: attempts of a recorded run, whose advice is used again.
    """
    from coderefine.critics.recorded_advice import with_records

    config, task = project.config, project.task
    own = tuple(with_records(critic, earlier) for critic in _task_critics(project) if not critic.gate)
    if task.drafts and client is not None:
        from coderefine.critics.drafted import Drafted

        where = (project.place, project.interpreter, config)
        own = (*own, Drafted(*where, client, task, project.listen, original))
    if not config.criteria:
        return own
    if client is None:
        project.listen(Event("note", "criteria need a model: nothing is reviewed"))
        return own
    from coderefine.critics.review import Review

    return (*own, Review(project.place, config, client, project.protection, task))


def _proposers(
    project: Project, client: Client | None, under: Contents, equivalence: Equivalence, cluster: Cluster | None
) -> tuple[Proposer, ...]:
    """Return the proposers in order: search, ruff's safe fixes, changes that must keep behaviour, and the model.

    The search is first because it ends at once if no test fails, while judging hundreds of ruff's fixes takes minutes.
    The model is last because its requests cost money.
    """
    from coderefine.proposers import refactorings, rewritings
    from coderefine.proposers.autofix import Autofix
    from coderefine.proposers.refactoring import Refactoring

    place, config, python = project.place, project.config, project.interpreter
    found: list[Proposer] = []
    observed = None
    if config.search:
        from coderefine.proposers.search import Search

        where = (place, python, config, project.protection, project.listen)
        search = Search(*where, alone=client is None, under=under, open_pool=_pools(cluster))
        found.append(search)
        observed = search.observed
    found.append(Autofix(place, config, python))
    cleaner = rewritings.LintChanges(place, config, python, project.listen)
    found.append(Refactoring(rewritings.NAME, cleaner, equivalence, project.listen))
    simpler = refactorings.ComplexityChanges(place, config, python, project.protection, project.listen, client=client)
    found.append(Refactoring(refactorings.NAME, simpler, equivalence, project.listen))
    if client is not None:
        found.append(model_proposer(project, client, under, observed))
    return tuple(found)


def model_proposer(project: Project, client: Client, under: Contents, observed: Observed | None = None) -> Proposer:
    from coderefine.proposers.model import Model

    where = (project.place, project.config, client, project.protection, project.listen)
    task, spread = project.task, project.config.cluster is not None
    return Model(*where, under=under, task=task, interpreter=project.interpreter, together=spread, observed=observed)
