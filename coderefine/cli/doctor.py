"""`coderefine doctor`: report what works on this system, and how to get the rest."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from coderefine.config import Config, load, masked
from coderefine.errors import CoderefineError
from coderefine.project import Place, interpreter, locate


@dataclass(frozen=True, slots=True)
class Line:
    """The result of one check of the system.

    When `ok` is False, `text` says what to do.
    """

    name: str
    text: str
    ok: bool = True


@click.command()
@click.argument("path", default=".", type=click.Path())
@click.option("--no-model", is_flag=True, help="Do not contact the model's server.")
def doctor(path: str, *, no_model: bool) -> int:
    """Report what works on this system and how to solve each problem; exit 2 if something must be done."""
    healthy = True
    for line in _lines(Path(path), ask_model=not no_model):
        click.echo(f"{'ok ' if line.ok else 'bad'}  {line.name:<12} {line.text}")
        healthy = healthy and line.ok
    return 0 if healthy else 2


def _lines(path: Path, *, ask_model: bool) -> Iterator[Line]:
    try:
        place = locate([path], Path.cwd())
        config = load(place.root, os.environ)
    except CoderefineError as error:
        yield Line("project", str(error), ok=False)
        return
    yield Line("project", str(place.root))
    yield _git(place)
    yield from _python(place, config)
    yield _ruff()
    yield _radon()
    yield from _isolation(place)
    yield from _sandbox(config)
    yield _model(config, ask=ask_model)


def _git(place: Place) -> Line:
    from coderefine.git import Repository

    if place.git_dir is None:
        return Line("git", "no repository here: run `git init`; until then only `coderefine check` works", ok=False)
    try:
        head = Repository.open(place.top).head()
    except CoderefineError as error:
        return Line("git", str(error), ok=False)
    return Line("git", f"{place.top}, {head.branch or 'detached'} at {(head.sha or 'no commit yet')[:10]}")


def _python(place: Place, config: Config) -> Iterator[Line]:
    try:
        found = interpreter(place, config, os.environ)
    except CoderefineError as error:
        yield Line("interpreter", str(error), ok=False)
        return
    yield Line("interpreter", f"{found.path} ({found.version}, {found.source})")
    for passed in found.passed_over:
        yield Line("", f"passed over: {passed}")
    if found.pytest:
        yield Line("pytest", found.pytest)
    else:
        yield Line("pytest", f"missing there: {found.path} -m pip install pytest", ok="pytest" not in config.gates)


def _ruff() -> Line:
    from importlib.metadata import version

    return Line("ruff", version("ruff"))


def _radon() -> Line:
    from importlib.metadata import version

    return Line("radon", version("radon"))


def _isolation(place: Place) -> Iterator[Line]:
    from coderefine.workspace import describe

    found = describe(place)
    traits = [found.kind]
    traits += ["network off"] if found.network_off else []
    traits += ["processes contained"] if found.pid_namespace else []
    yield Line("private view", ", ".join(traits))
    for missing in found.missing:
        yield Line("", missing)


MISSING = {
    "fork": "no fork: candidates of the search are cold processes, some 50 times slower",
    "landlock": "no Landlock (Linux 5.13 or newer, with landlock in `lsm=`): tests on trial may write wherever you may",
    "network namespace": "no network namespace for us (kernel.apparmor_restrict_unprivileged_userns, or a container's "
    "seccomp profile): tests on trial may use the network",
}


def _sandbox(config: Config) -> Iterator[Line]:
    """Report what confines the tests while a patch is tried, and what is missing."""
    if sys.platform == "win32":
        yield Line("sandbox", "none on Windows: tests on trial may do what you may")
        return
    from coderefine.runner.inside.confine import capabilities

    found = capabilities()
    has = [name for name, there in found.items() if there and name != "fork"]
    yield Line("sandbox", f"{config.sandbox}: {', '.join(has)}")
    for name, there in found.items():
        if not there:
            yield Line("", MISSING.get(name, f"no {name}"))


def _model(config: Config, *, ask: bool) -> Line:
    from coderefine.llm.access import configured

    ready = configured(config, os.environ)
    if not ready:
        return Line("model", f"none, and none is needed: {ready.reason}")
    if not ask:
        return Line("model", f"{config.model} (not contacted)")
    return _reached(config)


def _reached(config: Config) -> Line:
    from coderefine.llm.client import Client

    where = masked(config.base_url or "") or "api.openai.com"
    try:
        with Client(config) as client:
            names = client.models()
    except CoderefineError as error:
        return Line("model", str(error), ok=False)
    if names and config.model not in names:
        return Line("model", f"{where} answers, but does not list {config.model!r}; it has {', '.join(names[:5])}")
    return Line("model", f"{config.model} at {where}")
