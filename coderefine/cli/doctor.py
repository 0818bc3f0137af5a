"""`coderefine doctor`: report what works on this system, and how to get the rest."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from itertools import chain
from pathlib import Path

import click

from coderefine import sandbox, temporary
from coderefine.cli.options import CLUSTER, options
from coderefine.config import Config, load, masked
from coderefine.errors import CoderefineError
from coderefine.git import Repository
from coderefine.llm.availability import configured
from coderefine.project import Place, interpreter, locate
from coderefine.workspace import describe

Line = tuple[str, str, bool]
"""The checked item, the result, and whether it is fine; if it is not, the result includes the next step."""


@click.command()
@click.argument("path", default=".", type=click.Path())
@click.option("--no-model", is_flag=True, help="Do not contact the model's server.")
@options(CLUSTER)
def doctor(path: str, *, no_model: bool, cluster: str | None, **settings: str | None) -> int:
    """Report what works on this system and how to solve each problem; exit 2 if something must be done."""
    healthy = True
    lines = _lines(Path(path), ask_model=not no_model)
    for name, text, fine in chain(lines, _workers(Path(path), cluster, settings) if cluster else ()):
        click.echo(f"{'ok ' if fine else 'bad'}  {name:<12} {text}")
        healthy = healthy and fine
    return 0 if healthy else 2


def _lines(path: Path, *, ask_model: bool) -> Iterator[Line]:
    try:
        place = locate([path], Path.cwd())
        config = load(place.root, os.environ)
    except CoderefineError as error:
        yield "project", str(error), False
        return
    yield "project", str(place.root), True
    yield _git(place)
    yield from _python(place, config)
    yield "ruff", version("ruff"), True
    yield "radon", version("radon"), True
    yield _temporary(place)
    isolation = describe(place)
    traits = (("network off", isolation.network_off), ("processes contained", isolation.pid_namespace))
    yield "private view", ", ".join((isolation.kind, *(text for text, true in traits if true))), True
    for missing in isolation.missing:
        yield "", missing, True
    found = sandbox.tried()
    yield "sandbox", f"{config.sandbox}: {', '.join((*found.done, 'limits'))}", True
    if config.sandbox == "strict" and found.missing:
        yield "", sandbox.refusal(found), False
    else:
        for missing in found.missing:
            yield "", f"missing: {missing}", True
    yield _model(config, ask=ask_model)


def _workers(path: Path, address: str, settings: Mapping[str, str | None]) -> Iterator[Line]:
    """Yield a line for each worker: its environment, or why it cannot run the tests as this machine does."""
    from coderefine.cluster.client import Cluster, connect

    place = locate([path], Path.cwd())
    config = load(place.root, os.environ, settings)
    python = interpreter(place, config, os.environ)
    with connect(address) as client:
        cluster = Cluster.of(client, place, python, config)
        for worker, found in cluster.environments().items():
            differing, why = cluster.home.differences(found), cluster.unfit(found)
            guards = f"sandbox lacks {', '.join(found.lacking)}" if found.lacking else "sandbox whole"
            same = f"{found.python}, {found.platform}, {len(found.packages or {})} packages as here; {guards}"
            yield "worker", f"{worker} {'; '.join(differing) or why or same}", not why


def _git(place: Place) -> Line:
    if place.git_dir is None:
        return "git", "no repository here: run `git init`; until then only `coderefine check` works", False
    try:
        head = Repository.open(place.top).head()
    except CoderefineError as error:
        return "git", str(error), False
    return "git", f"{place.top}, {head.branch or 'detached'} at {(head.sha or 'no commit yet')[:10]}", True


def _temporary(place: Place) -> Line:
    given, used = Path(tempfile.gettempdir()), temporary.base()
    if used.resolve().is_relative_to(place.top.resolve()):
        return "temporary", f"{used} is inside {place.top}: set TMPDIR to a folder outside of it", False
    return "temporary", str(used) if used == given else f"{used}, because {given} is inside a repository", True


def _python(place: Place, config: Config) -> Iterator[Line]:
    try:
        found = interpreter(place, config, os.environ)
    except CoderefineError as error:
        yield "interpreter", str(error), False
        return
    yield "interpreter", f"{found.path} ({found.version}, {found.source})", True
    for passed in found.passed_over:
        yield "", f"passed over: {passed}", True
    missing = f"missing there: {found.path} -m pip install pytest"
    yield "pytest", found.pytest or missing, bool(found.pytest) or "pytest" not in config.gates


def _model(config: Config, *, ask: bool) -> Line:
    ready = configured(config, os.environ)
    if not ready:
        return "model", f"none, and none is needed: {ready.reason}", True
    if not ask:
        return "model", f"{config.model} (not contacted)", True
    from coderefine.llm.client import Client  # slow to import

    where = masked(config.base_url or "") or "api.openai.com"
    try:
        with Client(config) as client:
            names = client.models()
    except CoderefineError as error:
        return "model", str(error), False
    if names and config.model not in names:
        known = ", ".join(names[:5])
        return "model", f"{where} answers, but does not list {config.model!r}; it has {known}", True
    return "model", f"{config.model} at {where}", True
