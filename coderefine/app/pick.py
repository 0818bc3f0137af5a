"""Choose a plausible patch that a run offered: by its number, or by an expression that is true with the patch."""

from __future__ import annotations

import ast
import builtins
import keyword
import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from coderefine.app.engine import Contents, open_views
from coderefine.app.project import Project
from coderefine.app.request import Destination
from coderefine.core import PICKED, Alternative, Ask, Event, Offer, Patch
from coderefine.errors import JournalError, PublishError, UsageError
from coderefine.git import Repository
from coderefine.git.given_patch import present, reapplied
from coderefine.journal import Journal
from coderefine.proposers.recorded_patches import Given
from coderefine.reports.rows import numbered_offers
from coderefine.runner.cold import run_tests
from coderefine.source import decode, text_of

TEST = "test_coderefine_pick.py"
"""File name of the test that evaluates the expression with an alternative; it exists only in a private view."""
UNKNOWN = frozenset({"NameError", "ImportError", "ModuleNotFoundError", "SyntaxError"})
"""Exceptions of a test that could not evaluate the expression."""


@dataclass(frozen=True, slots=True)
class Choice:
    """An alternative, applied to the tree as it is now. `number`: the number by which users pick it.

    `base`: the present content of its files. `overlap`: None if the alternative was applied. Otherwise, it says why the
    alternative cannot be applied any more, and `alternative` is as it was offered.
    """

    number: int
    offer: Offer
    alternative: Alternative
    base: Contents
    overlap: PublishError | None = None

    @property
    def index(self) -> int:
        """Return the index of `alternative` among the alternatives of `offer`."""
        summaries = [one.patch.summary for one in self.offer.alternatives]
        return summaries.index(self.alternative.patch.summary)


def choices(journal: Journal, destination: Destination) -> list[Choice]:
    """Return all alternatives of the run, applied (where possible) to the tree that is to be judged.

    Raises JournalError if there are none.
    """
    outcome = journal.outcome()
    if outcome is None or not outcome.offers:
        raise JournalError(f"run {journal.run} offered nothing: what it wrote, if anything, is in `coderefine show`")
    repository = journal.repository
    under = destination.under(repository)
    found = []
    for offer, alternatives in numbered_offers(outcome):
        for number, one in alternatives:
            base = present(repository.top, one.patch.files, under)
            try:
                applied = replace(one, patch=_applied(repository, one.patch, offer.before, base))
            except PublishError as error:
                found.append(Choice(number, offer, one, base, error))
            else:
                found.append(Choice(number, offer, applied, base))
    return found


def offered(
    journal: Journal, choices: Sequence[Choice], number: int | None, names: Sequence[str] = ()
) -> tuple[Given, Contents]:
    """Return a proposer of the patch `number`, and the content to which the patch was applied.

    `names`: texts `OLD=NEW`, which rename what the patch adds. Raises UsageError if no patch has the number, or a name
    does not fit, and PublishError if the patch overlaps a change made since the run.
    """
    chosen = next((one for one in choices if one.number == number), None)
    if chosen is None:
        raise UsageError(f"run {journal.run} offered {len(choices)} patches: pick 1 to {len(choices)}")
    if chosen.overlap:
        raise chosen.overlap
    why = f"picked among {len(chosen.offer.alternatives)} plausible patches of run {journal.run}"
    patch = chosen.alternative.patch
    for text in names:
        patch = _renamed(patch, chosen.base, *text.partition("=")[::2])
    return Given(replace(chosen.alternative, patch=patch), PICKED, why), chosen.base


def _renamed(patch: Patch, base: Contents, old: str, new: str) -> Patch:
    """Return `patch` with the name `old`, which it adds to the files `base`, replaced by `new`.

    Raises UsageError if a name does not fit.
    """
    before, after = _words(base), _words(patch.files)
    if old not in after - before:
        raise UsageError(f"--rename {old}={new}: the patch adds no name {old or '(empty)'}")
    if not new.isidentifier() or keyword.iskeyword(new):
        raise UsageError(f"--rename {old}={new}: {new or '(empty)'} is not a name")
    if new in {*before, *after, *dir(builtins)}:
        raise UsageError(f"--rename {old}={new}: {new} has a meaning already")
    files = dict(patch.files)
    for path, data in files.items():
        if (source := decode(data)) is not None:
            files[path] = source.encode(re.sub(rf"\b{old}\b", new, source.text))
    return replace(patch, files=files)


def _words(files: Contents) -> set[str]:
    return {word for data in files.values() for word in re.findall(r"\w+", text_of(data) or "")}


def kept(journal: Journal, destination: Destination) -> tuple[Given, Contents]:
    """Return a proposer of the patch that the run proved and did not write, applied to the tree to be judged.

    Return also the content to which it was applied. Raises JournalError if there is no such patch.
    """
    outcome = journal.outcome()
    if outcome is None or not outcome.best.number:
        raise JournalError(f"run {journal.run} proved no patch")
    if outcome.proof:
        raise JournalError(f"run {journal.run} judged a given patch: `coderefine prove PATCH --apply` writes that")
    if journal.publication():
        raise JournalError(f"the patch of run {journal.run} is written already")
    repository, patch = journal.repository, outcome.best.patch
    base = present(repository.top, patch.files, destination.under(repository))
    applied = _applied(repository, patch, journal.start(patch.files), base)
    return Given(Alternative(applied), patch.origin, "; ".join(outcome.evidence.doubts)), base


def _applied(repository: Repository, patch: Patch, before: Contents, now: Contents) -> Patch:
    """Return `patch`, made for the files `before`, merged with the changes since then in the files `now`.

    Raises PublishError if the patch overlaps these changes.
    """
    files = {}
    for path, data in patch.files.items():
        text = f"{path} changed since then where the patch changes it: run `coderefine fix` again"
        files[path] = reapplied(repository, now[path], before.get(path), data, PublishError(text))
    return replace(patch, files=files)


def agreeing(project: Project, choices: Sequence[Choice], expression: str) -> list[Choice]:
    """Return those of `choices` whose patch makes `expression` true; patches that cannot be applied are left out.

    Raises UsageError if `expression` is not a Python expression, or cannot be evaluated with one of the patches, for
    example because it contains an undefined name.
    """
    try:
        ast.parse(expression, mode="eval")
    except SyntaxError as error:
        raise UsageError(f"--that is not a Python expression ({error.msg}): {expression}") from error
    for choice in choices:
        if choice.overlap:
            project.listen(Event("note", f"patch {choice.number} is left out: {choice.overlap}"))
    return [choice for choice in choices if not choice.overlap and _holds(project, choice, expression)]


def _holds(project: Project, choice: Choice, expression: str) -> bool:
    """Return whether a test that asserts `expression` passes in a private view with the patch.

    The test can use the names of the patched modules.
    """
    folder = PurePosixPath(next(iter(sorted(choice.offer.tests)), "").split("::")[0]).parent
    path = posixpath.normpath(posixpath.join(project.place.prefix, folder.as_posix(), TEST))
    name = f"{posixpath.normpath((folder / TEST).as_posix())}::test_that"
    test = f"""import importlib

for module in {list(choice.offer.modules)!r}:
    found = vars(importlib.import_module(module))
    globals().update({{name: value for name, value in found.items() if not name.startswith("__")}})


def test_that():
    assert ({expression})
"""
    patch = Patch({**choice.alternative.patch.files, path: test.encode()})
    with open_views(project) as opened, opened.open(patch) as view:
        ask = Ask(tests=(name,), timeout=60.0)
        result = run_tests(view, project.place, project.interpreter, project.config, ask)
    case = next(iter(result.cases.values()), None)
    if case is None or (case.failure and case.failure.exception in UNKNOWN):
        why = case.failure.message if case and case.failure else expression
        raise UsageError(f"--that cannot be evaluated: {why}")
    return not case.status.bad


def lines_of_test(modules: Sequence[str], expression: str) -> Iterator[str]:
    """Yield the lines of a test that asserts `expression`; the user can add the test, so that later runs must pass it.

    `modules`: if `expression` uses names that are not built in, they are imported from the first of these modules.
    """
    known = set(dir(builtins))
    nodes = ast.walk(ast.parse(expression, mode="eval"))
    names = dict.fromkeys(node.id for node in nodes if isinstance(node, ast.Name) and node.id not in known)
    first = next(iter(names), "it")
    if modules and names:
        yield f"from {modules[0]} import {', '.join(names)}"
    yield f"def test_{first}_as_picked():"
    yield f"    assert {expression}"
