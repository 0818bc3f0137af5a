"""The functions that run on workers. They store trees and run tests, but give no verdict."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from coderefine.cluster.trees import TreeStore, cache
from coderefine.config import Config
from coderefine.core import Ask, Check, Listen, Patch, Views
from coderefine.errors import CriticError, RunnerError
from coderefine.project import Interpreter, Place
from coderefine.runner.cold import RunOptions, run_tests
from coderefine.workspace import Grants, open_views
from coderefine.workspace.patched_tree import read
from coderefine.workspace.private_views import SnapshotViews


@dataclass(frozen=True, slots=True)
class TreeJob:
    """The project that a worker runs: the folder `prefix` in `tree`, with `patch`; see `runner.cold.run_tests`.

    `interpreter`: its path is relative to the worker's cache if the workers build an environment.
    """

    tree: str
    patch: Patch
    prefix: str
    interpreter: Interpreter
    config: Config

    def here(self) -> tuple[Place, Interpreter]:
        """Return the project and its interpreter on this worker. Raises an error without the tree or disk space."""
        top = TreeStore().checkout(self.tree)
        return Place(top, top / self.prefix), replace(self.interpreter, path=cache() / self.interpreter.path)

    def views(self, place: Place) -> AbstractContextManager[Views]:
        """Open private views of the tree at `place`, which `here` returned."""
        # Copies, because their path comes first on the import path: an editable install names the client's tree.
        return open_views(place, kind="copy", grants=Grants(self.config.network, self.config.pass_env))


@dataclass(frozen=True, slots=True)
class Job(TreeJob):
    """A request to a worker: run the tests of `ask`. The other fields are as in `runner.cold.run_tests`.

    `topic`: Dask's topic to which the worker reports the running test, at most ten times a second ("": no reports).
    """

    ask: Ask
    options: RunOptions
    topic: str = ""


def known() -> frozenset[str]:
    """Return the ids of the trees that this worker has."""
    return TreeStore().known()


def receive(tree: str, pack: bytes) -> None:
    TreeStore().receive(tree, pack)


def reporter(topic: str) -> Listen:
    """Return a function that reports the running test to the scheduler under `topic`; for "", it does nothing."""
    if not topic:
        return lambda _: None
    from distributed import get_worker

    worker = get_worker()
    return lambda event: worker.log_event(topic, event.text) if event.text else None


def run(job: Job) -> Check | str:
    """Run the tests in a private view of the tree; return the check, or why no worker can give one.

    Other errors are raised, for example if this worker lacks the tree, disk space or a sandbox.
    """
    place, interpreter = job.here()
    try:
        with job.views(place) as views, SnapshotViews(views, {}).open(job.patch) as view:
            check = run_tests(view, place, interpreter, job.config, job.ask, reporter(job.topic), job.options)
            paths = {case.path for case in check.cases.values() if case.path}
            given = {path: job.patch.files.get(path, read(place.top, place.top, path)) for path in paths}
            changed = [path for path in paths if view.read(path) != given[path]]
            # In this case the tests run at home, where such a change is judged.
            return f"the tests changed {changed[0]}" if changed else check
    except (CriticError, RunnerError) as error:
        return str(error)
