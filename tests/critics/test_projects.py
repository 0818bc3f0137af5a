"""Every project of the test set: the gates find what is known about it, and nothing after the reference repair."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from coderefine.config import load as load_config
from coderefine.core import Ask, Check, Patch, Severity, Status
from coderefine.critics import build
from coderefine.project import Interpreter, locate
from coderefine.workspace import open_views
from tests.support.cases import few
from tests.support.projects import Project, describe, load, names

OURS = Interpreter(Path(sys.executable), sys.version.split()[0], "test", pytest.__version__, Path(sys.prefix))


def checks(project: Project, tmp_path: Path, *patches: Patch) -> Iterator[dict[str, Check]]:
    """What all gates say about the project under each of `patches`."""
    top = load(project.name, tmp_path)
    place = locate([top / project.root], top)
    critics = build(place, OURS, load_config(place.root, {}), lambda _event: None)
    with open_views(place, kind="copy") as views:
        for patch in patches:
            with views.open(patch) as view:
                yield {critic.name: critic.check(view, Ask(place.scope)) for critic in critics}


def found(result: dict[str, Check]) -> dict[str, list[str]]:
    """The hard findings in the words of project.toml."""
    lint = [f"{finding.path} {finding.rule}" for finding in result["ruff"].findings]
    radon = [f"{item.path} {item.symbol} {item.weight:.0f}" for item in result["radon"].findings if item.rule == "CC"]
    commands = [
        f"{finding.path} {finding.rule}"
        for name, check in result.items()
        if name not in ("pytest", "ruff", "radon")
        for finding in check.findings
        if finding.severity is Severity.HARD
    ]
    failing = [finding.symbol for finding in result["pytest"].findings]
    return {name: sorted(items) for name, items in zip(KINDS, (failing, lint, radon, commands), strict=True)}


KINDS = ("failing", "lint", "complex", "commands")


def passing(result: dict[str, Check]) -> int:
    return sum(case.status is Status.PASSED for case in result["pytest"].cases.values())


@pytest.mark.parametrize("name", few(names(), "cart", "units"))
def test_known_faults_are_found_and_the_reference_repair_is_clean(name: str, tmp_path: Path) -> None:
    project = describe(name)
    before, after = checks(project, tmp_path, Patch(), Patch(project.repaired(), "test"))
    known = (project.failing, project.lint, project.complex, project.commands)
    assert found(before) == {kind: sorted(items) for kind, items in zip(KINDS, known, strict=True)}
    assert passing(before) == project.passing
    assert found(after) == {"failing": [], "lint": [], "complex": sorted(project.left), "commands": []}
    assert passing(after) >= project.passing + len(project.failing)


def test_there_are_enough_of_them() -> None:
    assert len(names()) >= 12
