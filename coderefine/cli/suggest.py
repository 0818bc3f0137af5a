"""`coderefine suggest`: repair what a pull request changes, and publish the patch as an artifact and as suggestions."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import click

from coderefine.app import posting
from coderefine.app.posting import PostingTarget
from coderefine.app.request import Request
from coderefine.app.run import Published, RunResult
from coderefine.app.suggest import changed, commits, judged, prove
from coderefine.cli.options import CLUSTER, GATES, LOOP, OUTPUT, option, options, settings
from coderefine.cli.screen import Screen, exit_code, failures, proof_exit_code, screen
from coderefine.core import Check, Outcome, Stop
from coderefine.errors import UsageError
from coderefine.git import Repository
from coderefine.publishers.hosts.bundle import Bundle
from coderefine.reports.rows import ending

FOLDER = click.Path(file_okay=False)
PULL = (
    option("--base", "REF", "The branch or commit into which the pull request is merged (default: from the CI event)."),
    option("--head", "REF", "The pull request's newest commit, which must be checked out (default: HEAD)."),
    option("--host", None, "The service that the pull request is on.", click.Choice(["github", "gitlab"])),
    option("--repo", "OWNER/NAME", "The repository there (default: from the CI event)."),
    option("--pull number", "N", "The number of the pull request (default: from the CI event).", click.IntRange(1)),
    option("--out", "DIR", "Write the results into this folder, for a second stage.", FOLDER),
    option("--from artifact", "DIR", "Only post the results that a first stage wrote into this folder.", FOLDER),
    click.option("--verdict", is_flag=True, help="Judge the pull request itself, too; post the verdict as a check."),
    click.option("--style", is_flag=True, help="Suggest repairs of ruff's and radon's findings, too."),
    click.option(
        "--post/--no-post", default=True, help="Post on the pull request if there is one and a token (default: yes)."
    ),
    click.option("--push", is_flag=True, help="Commit the patch on the pull request's branch."),
    click.option("--pull-request", "open_", is_flag=True, help="Open a pull request against its branch."),
)


@click.command()
@options(PULL, GATES, LOOP, CLUSTER, OUTPUT)
def suggest(  # one parameter per flag that is no configuration key
    *,
    base: str | None,
    head: str | None,
    host: str | None,
    repo: str | None,
    number: int | None,
    out: str | None,
    artifact: str | None,
    format_: str,
    verdict: bool,
    style: bool,
    post: bool,
    push: bool,
    open_: bool,
    quiet: bool,
    no_model: bool,
    show_prompts: bool,
    **given: object,
) -> int:
    """Prove patches for the files that a pull request changes, and suggest them on it."""
    pull = posting.find(os.environ, base=base, head=head, repo=repo, number=number)
    host = host or ("gitlab" if os.environ.get("GITLAB_CI") else "github")
    target = PostingTarget(pull, host, style=style, post=post, push=push, open=open_, out=out)
    if push and open_:
        raise UsageError("--push and --pull-request exclude each other: choose one")
    if artifact:
        if push or open_ or out:
            raise UsageError("--from only posts: --push, --pull-request and --out belong to the run that proves")
        print(posting.post_artifact(target, Path(artifact)))
        return 0
    request = Request(tuple(sys.argv[1:]), settings(given), model=not no_model)
    with screen(quiet=quiet, format_=format_) as display:
        return _prove_and_post(target, request, display, verdict=verdict, show_prompts=show_prompts)


def _prove_and_post(
    target: PostingTarget, request: Request, display: Screen, *, verdict: bool, show_prompts: bool
) -> int:
    repository = Repository.open(Path.cwd())
    empty = Bundle(*commits(repository, target.pull))
    code, empty = _judged(request, display, repository, empty) if verdict else (0, empty)
    return code if code > 1 else max(code, _suggest(target, request, display, repository, empty, show=show_prompts))


def _judged(request: Request, display: Screen, repository: Repository, empty: Bundle) -> tuple[int, Bundle]:
    """Judge the pull request itself; return the exit code, and the bundle `empty` with the verdict added."""

    def report(result: RunResult) -> None:
        if display.format_ == "text":  # other formats are one report, the one on the suggestions
            display.result(result)

    result, bundle = judged(repository, request, display.listen, report, empty)
    return proof_exit_code(result.outcome), bundle


def _suggest(
    target: PostingTarget, request: Request, display: Screen, repository: Repository, empty: Bundle, *, show: bool
) -> int:
    paths = changed(repository, empty.head, empty.base)
    if not paths:
        if display.format_ == "text":
            print("the pull request changes no Python file", file=sys.stderr)
        else:  # other programs expect a report
            display.checks((Check("coderefine"),))
        _post(target, empty, None)
        return 0

    def report(result: RunResult) -> None:
        if not result.outcome.best.number and result.outcome.stop is not Stop.INTERRUPTED:
            result = replace(result, published=Published("0 suggestions"))
        display.result(result, _suggested(result.outcome, empty.head))

    prompt = display.prompt if show else None
    result, bundle = prove(
        repository, paths, request, display.listen, report, empty=empty, style=target.style, show=prompt
    )
    if result.outcome.stop is not Stop.INTERRUPTED:  # results of an interrupted run are not published
        _post(target, bundle, result)
    return exit_code(result.outcome)


def _post(target: PostingTarget, bundle: Bundle, result: RunResult | None) -> None:
    if lines := posting.deliver(target, bundle, result):
        print(lines, file=sys.stderr)


def _suggested(outcome: Outcome, head: str) -> str:
    """Return the report's last line if the head of the pull request fails, and a patch was suggested; else ""."""
    failed = failures(outcome.baseline.checks)
    if not failed or not outcome.best.number:
        return ""
    return f"{head[:10]}: {failed}; with the patch {ending(outcome)}"
