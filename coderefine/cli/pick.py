"""`coderefine pick`: prove and write one of the plausible patches that a run offered."""

from __future__ import annotations

import ast
import builtins
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import click

from coderefine.app import destination
from coderefine.app.destination import Delivery
from coderefine.app.project import Setup, setup, views
from coderefine.app.run import Request, mend
from coderefine.cli.history import recorded
from coderefine.cli.options import OUTPUT, options
from coderefine.cli.screen import screen
from coderefine.core import Alternative, Ask, Offer, Patch
from coderefine.errors import JournalError, PublishError, UsageError

if TYPE_CHECKING:
    from coderefine.git import Repository
    from coderefine.journal import Journal

CHECK = "test_coderefine_pick.py"
"""The file that asks an alternative what a person said; it is only ever in a private view."""

UNKNOWN = frozenset({"NameError", "ImportError", "ModuleNotFoundError", "SyntaxError"})
"""How a test ends that could not ask."""


@dataclass(frozen=True, slots=True)
class Choice:
    """An alternative laid on the tree as it is now. `number`: what it is picked by."""

    number: int
    offer: Offer
    alternative: Alternative


@click.command()
@click.argument("run")
@click.argument("number", required=False, type=click.IntRange(1))
@click.option(
    "--that", metavar="EXPRESSION", help="Keep the patches for which this is true: \"plural('cat') == 'cats'\"."
)
@options(destination.OPTIONS, OUTPUT)
def pick(run: str, number: int | None, that: str | None, format_: str, *, quiet: bool, **given: object) -> int:
    """Prove and write patch NUMBER of those that RUN offered, or the one that is left by what you say of it."""
    if (number is None) == (that is None):
        raise UsageError('say which: a NUMBER, or --that "EXPRESSION"')
    way = Delivery.of(given)
    with screen(quiet=quiet, format_=format_) as display:
        journal, paths, then = recorded(run)
        flags = {**then.flags, **_given(given), "accept": "plausible"}
        parts = setup(paths, flags, display.listen)
        choices = _choices(journal, way)
        if that is not None:
            _check_expression(that)
            choices = [one for one in choices if _holds(parts, one, that)]
            _echo_kept(choices, that)
            if len(choices) != 1:
                return 1
            number = choices[0].number
        chosen = next((one for one in choices if one.number == number), None)
        if chosen is None:
            raise UsageError(f"run {journal.run} offered {len(choices)} patches: pick 1 to {len(choices)}")
        why = f"picked among {len(chosen.offer.alternatives)} plausible patches of run {journal.run}"
        asked = Request(("pick", run, str(number)), flags, way, model=False, picked=journal.run)
        return mend(replace(parts, picked=(chosen.alternative, why)), asked, display)


def _given(given: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name in ("author", "message") if (value := given.get(name)) is not None}


def _choices(journal: Journal, way: Delivery) -> list[Choice]:
    """All alternatives of the run, laid on the tree that is to be judged. Raises JournalError when there are none."""
    from coderefine.reports.rows import numbered_offers

    outcome = journal.outcome()
    if outcome is None or not outcome.offers:
        raise JournalError(f"run {journal.run} offered nothing: what it wrote, if anything, is in `coderefine show`")
    under = way.under(journal.repository)
    return [
        Choice(number, offer, _laid(journal.repository, offer, one, under))
        for number, offer, one in numbered_offers(outcome)
    ]


def _laid(
    repository: Repository, offer: Offer, alternative: Alternative, under: Mapping[str, bytes | None]
) -> Alternative:
    files = {
        path: _merged(repository, path, (offer.before.get(path), data), under)
        for path, data in alternative.patch.files.items()
    }
    return replace(alternative, patch=replace(alternative.patch, files=files))


def _merged(
    repository: Repository, path: str, change: tuple[bytes | None, bytes | None], under: Mapping[str, bytes | None]
) -> bytes | None:
    """What `path` is to hold now. Raises PublishError where what happened to it since then is in the way."""
    from coderefine.git.objects import merge_bytes

    before, after = change
    file = repository.top / path
    now = under[path] if path in under else file.read_bytes() if file.is_file() else None
    if now == before:
        return after
    both = now is not None and before is not None and after is not None
    merged = merge_bytes(repository, now, before, after) if both else None  # type: ignore[arg-type]
    if merged is None:
        raise PublishError(f"{path} changed since then where the patch changes it: run `coderefine fix` again")
    return merged


def _check_expression(that: str) -> None:
    try:
        ast.parse(that, mode="eval")
    except SyntaxError as error:
        raise UsageError(f"--that is no Python expression ({error.msg}): {that}") from error


def _holds(parts: Setup, choice: Choice, that: str) -> bool:
    """Whether `that` is true of the program with the patch; asked by a test of pytest in a private view.

    Raises UsageError where it cannot be evaluated at all: a name that is not there.
    """
    from coderefine.runner.cold import run_tests

    folder = PurePosixPath(next(iter(sorted(choice.offer.tests)), "").split("::")[0]).parent
    path = posixpath.normpath(posixpath.join(parts.place.prefix, folder.as_posix(), CHECK))
    name = f"{posixpath.normpath((folder / CHECK).as_posix())}::test_that"
    patch = Patch({**choice.alternative.patch.files, path: _asking(choice.offer.modules, that).encode()})
    with views(parts) as opened, opened.open(patch) as view:
        check = run_tests(view, parts.place, parts.interpreter, parts.config, Ask(tests=(name,), timeout=60.0))
    case = next(iter(check.cases.values()), None)
    if case is None or (case.failure and case.failure.exception in UNKNOWN):
        raise UsageError(f"--that cannot be evaluated: {case.failure.message if case and case.failure else that}")
    return not case.status.bad


def _asking(modules: Sequence[str], that: str) -> str:
    """A test that asserts `that` with the names of `modules`."""
    return f"""import importlib

for module in {list(modules)!r}:
    found = vars(importlib.import_module(module))
    globals().update({{name: value for name, value in found.items() if not name.startswith("__")}})


def test_that():
    assert ({that})
"""


def _echo_kept(choices: Sequence[Choice], that: str) -> None:
    """Which alternatives agree, what would tell them apart further, and the line as a test to keep."""
    from coderefine.reports.rows import offer_headline

    for one in choices:
        click.echo(f"agrees    {one.number}  {offer_headline(one.alternative)}")
    if not choices:
        click.echo(f"agrees    none of the offered patches: {that}")
        return
    kept = {one.number for one in choices}
    if len(kept) > 1:
        for question in choices[0].offer.questions:
            click.echo(f"ask       {question.text(choices[0].number - _place(choices[0]))}")
    for line in _test(choices[0].offer.modules, that):
        click.echo(f"test      {line}" if line else "")


def _place(choice: Choice) -> int:
    return next(
        at for at, one in enumerate(choice.offer.alternatives) if one.patch.summary == choice.alternative.patch.summary
    )


def _test(modules: Sequence[str], that: str) -> Iterator[str]:
    """A test to add, so that the next run knows it, too."""
    known = set(dir(builtins))
    names = dict.fromkeys(
        node.id
        for node in ast.walk(ast.parse(that, mode="eval"))
        if isinstance(node, ast.Name) and node.id not in known
    )
    first = next(iter(names), "it")
    if modules and names:
        yield f"from {modules[0]} import {', '.join(names)}"
    yield f"def test_{first}_as_picked():"
    yield f"    assert {that}"
