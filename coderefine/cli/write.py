"""`coderefine write`: run the loop of `fix` with one finding at the start, the requested code."""

from __future__ import annotations

import click

from coderefine.app.project import find_project
from coderefine.app.write import check_model, write_task
from coderefine.cli.fix import run_and_report
from coderefine.cli.options import CLUSTER, DESTINATION, GATES, LOOP, OUTPUT, PROOF, option, options, request_of
from coderefine.cli.screen import screen


@click.command()
@click.argument("request", required=False, default="")
@option("--into", "PATH", "Write into this file, new or existing (repeatable).", multiple=True, required=True)
@option("--tests", "PATH", "Use these acceptance tests (default: those that import the files).", multiple=True)
@click.option(
    "--draft/--no-draft",
    default=True,
    help="Let the model draft tests if there are none; they are advice, and prove nothing.",
)
@option("--keep-draft", "FILE", "Write the drafted tests that pass into this new file.")
@options(GATES, LOOP, PROOF, CLUSTER, DESTINATION, OUTPUT)
def write(  # one parameter per flag of its own
    request: str,
    *,
    into: tuple[str, ...],
    tests: tuple[str, ...],
    format_: str,
    draft: bool,
    keep_draft: str | None,
    quiet: bool,
    show_prompts: bool,
    **given: object,
) -> int:
    """Write the code that REQUEST describes into files, new ones too, and change nothing else.

    REQUEST is prose or the path of a specification; without it, the stubs and docstrings in the files and the tests
    that import them are the specification.
    """
    place, task = write_task(request, into, tests, draft=draft, keep_draft=keep_draft)
    asked = request_of(given, task=str(task))
    with screen(quiet=quiet, format_=format_) as display:
        project = find_project((str(place.root),), asked.settings, display.listen)
        if not show_prompts:
            check_model(project, allowed=asked.model)
        return run_and_report(project, asked, display, show_prompts=show_prompts)
