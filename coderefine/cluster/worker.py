"""What workers do: say what they are, store trees, and run tests. They judge nothing."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from coderefine import __version__, proc, sandbox
from coderefine.cluster.trees import TreeStore, cache
from coderefine.config import Config
from coderefine.core import Ask, Check, Patch
from coderefine.errors import CriticError, ProcessError, RunnerError
from coderefine.project import Interpreter, Place
from coderefine.runner.cold import run_tests
from coderefine.workspace import Grants, open_views
from coderefine.workspace.patched_tree import read
from coderefine.workspace.private_views import SnapshotViews

PROBE = """
import sys
if sys.path and sys.path[0] == "": del sys.path[0]
import json, sysconfig
from importlib.metadata import distributions
found = {str(one.metadata["Name"]).lower().replace("_", "-"): one.version for one in distributions()}
print(json.dumps([sys.implementation.name + " %d.%d.%d" % sys.version_info[:3], sysconfig.get_platform(), found]))
"""


@dataclass(frozen=True, slots=True)
class Environment:
    """Where tests run. `fault`: why they cannot run there; `lacking`: guards that the sandbox cannot have there.

    `store`: the host and folder of the trees, which several workers may share.
    """

    python: str = ""
    platform: str = ""
    packages: Mapping[str, str] | None = None
    coderefine: str = __version__
    lacking: tuple[str, ...] = ()
    store: tuple[str, str] = ("", "")
    fault: str = ""

    def differences(self, other: Environment) -> list[str]:
        """Return in what `other`, a worker's, differs from this one; packages in the order of their names."""
        if other.fault:
            return [other.fault]
        found = [
            f"{name} {theirs} instead of {ours}"
            for name, ours, theirs in (
                ("coderefine", self.coderefine, other.coderefine),
                ("Python", self.python, other.python),
                ("platform", self.platform, other.platform),
            )
            if ours != theirs
        ]
        here, there = self.packages or {}, other.packages or {}
        return found + [
            f"{name} {there.get(name, 'missing')} instead of {here.get(name, 'none')}"
            for name in sorted({*here, *there})
            if here.get(name) != there.get(name)
        ]


@dataclass(frozen=True, slots=True)
class Job:
    """A question to a worker: what do the tests of `ask` say about `tree` with `patch`?

    The rest is as in `runner.cold.run_tests`; `prefix`: of the project in the tree.
    """

    tree: str
    patch: Patch
    prefix: str
    interpreter: Interpreter
    config: Config
    ask: Ask
    limit: float | None
    slowest: float
    doubted: tuple[str, ...]
    canary: bool


def describe(python: str) -> Environment:
    """Return what this process would run tests in, with the interpreter `python`."""
    where = (socket.gethostname(), str(cache()))
    if not Path(python).is_file():
        return Environment(store=where, fault=f"{python} does not exist there: --cluster-python names another")
    try:
        result = proc.run((python, "-c", PROBE), cwd="/", timeout=60.0)
        version, platform, packages = json.loads(result.stdout)
    except (ProcessError, ValueError) as error:
        return Environment(store=where, fault=f"{python} does not run there: {error}")
    return Environment(version, platform, packages, __version__, sandbox.tried().missing, where)


def known() -> frozenset[str]:
    """Return the trees that are here."""
    return TreeStore().known()


def receive(tree: str, pack: bytes) -> None:
    TreeStore().receive(tree, pack)


def run(job: Job) -> Check | str:
    """Run the tests in a private view of the tree; return what they say, or why that is no answer on any worker.

    Raises the error of what this worker lacks: the tree, space on its disk, a sandbox.
    """
    top = TreeStore().checkout(job.tree)
    place = Place(top, top / job.prefix)
    grants = Grants(job.config.network, job.config.pass_env)
    try:
        # A copy, because its path comes first on the import path: an editable install names the client's tree.
        with open_views(place, kind="copy", grants=grants) as views, SnapshotViews(views, {}).open(job.patch) as view:
            check = run_tests(
                view,
                place,
                job.interpreter,
                job.config,
                job.ask,
                limit=job.limit,
                slowest=job.slowest,
                doubted=job.doubted,
                canary=job.canary,
            )
            paths = {case.path for case in check.cases.values() if case.path}
            given = {path: job.patch.files.get(path, read(top, top, path)) for path in paths}
            changed = [path for path in paths if view.read(path) != given[path]]
            # At home it is decided what that means: the views there are those that are compared.
            return f"the tests changed {changed[0]}" if changed else check
    except (CriticError, RunnerError) as error:
        return str(error)
