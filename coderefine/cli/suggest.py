"""`coderefine suggest`: repair what a pull request changes, and publish the patch as an artifact and as suggestions."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from coderefine.app.destination import Delivery
from coderefine.app.project import Setup, setup, views
from coderefine.app.pull_request import Target, post
from coderefine.app.run import Request, assembled, exit_code, new_journal, open_repository, reachable
from coderefine.app.suggest import bundled
from coderefine.cli.decisions import suggested
from coderefine.cli.options import GATES, LOOP, OUTPUT, flags, options
from coderefine.cli.pull import Pull, pull
from coderefine.cli.screen import Delivered, Screen, screen
from coderefine.core import Outcome
from coderefine.core.plurals import counted
from coderefine.errors import PublishError, UsageError

if TYPE_CHECKING:
    from coderefine.git import Repository
    from coderefine.publishers import Snapshot
    from coderefine.publishers.hosts.bundle import Bundle

PULL = (
    click.option("--base", metavar="REF", help="What the pull request is merged into (default: as the CI event says)."),
    click.option(
        "--head", metavar="REF", help="The pull request's newest commit, which must be checked out (default: HEAD)."
    ),
    click.option(
        "--host", type=click.Choice(["github", "gitlab"]), default=None, help="The service that the pull request is on."
    ),
    click.option("--repo", metavar="OWNER/NAME", help="The repository there (default: as the CI event says)."),
    click.option(
        "--pull",
        "number",
        type=click.IntRange(1),
        metavar="N",
        help="The number of the pull request (default: as the CI event says).",
    ),
    click.option(
        "--out",
        type=click.Path(file_okay=False),
        metavar="DIR",
        help="Write what was proved into this folder, for a second stage.",
    ),
    click.option(
        "--from",
        "artifact",
        type=click.Path(file_okay=False),
        metavar="DIR",
        help="Only post what a first stage wrote into this folder.",
    ),
    click.option("--style", is_flag=True, help="Suggest repairs of ruff's and radon's findings, too."),
    click.option(
        "--post/--no-post", default=True, help="Post on the pull request where there is one and a token (default: yes)."
    ),
    click.option("--push", is_flag=True, help="Commit the patch on the pull request's branch."),
    click.option("--pull-request", "open_", is_flag=True, help="Open a pull request against its branch."),
)


@click.command()
@options(PULL, GATES, LOOP, OUTPUT)
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
    meant = pull(os.environ, base=base, head=head, repo=repo, number=number)
    target = Target(meant, host or _host(), style=style, post=post, push=push, open=open_, out=out)
    if push and open_:
        raise UsageError("--push and --pull-request exclude each other: choose one")
    if artifact:
        if push or open_ or out:
            raise UsageError("--from only posts: --push, --pull-request and --out belong to the run that proves")
        return _second(target, Path(artifact))
    asked = Request(tuple(sys.argv[1:]), flags(given), Delivery(), model=not no_model, show_prompts=show_prompts)
    with screen(quiet=quiet, format_=format_) as display:
        return _first(target, asked, display)


def _host() -> str:
    return "gitlab" if os.environ.get("GITLAB_CI") else "github"


def _second(target: Target, folder: Path) -> int:
    """Post what another run proved, without checking out or running anything of the pull request."""
    from coderefine.publishers.hosts.bundle import read

    bundle = read(folder)
    if target.pull.head not in ("HEAD", bundle.head):
        raise PublishError(f"the artifact is about {bundle.head[:10]}, not {target.pull.head[:10]}: nothing was posted")
    print(post(replace(target, distrust=True, out=str(folder)), bundle))
    return 0


def _first(target: Target, asked: Request, display: Screen) -> int:
    from coderefine.git import Repository
    from coderefine.publishers.hosts.bundle import Bundle

    repository = Repository.open(Path.cwd())
    head, base = _commits(repository, target.pull)
    paths = _changed(repository, base, head)
    if not paths:
        _nothing(display)
        return _told(target, Bundle(head, base), None)
    sure = {**asked.flags, "accept": "proved", "fast_proof": False}
    parts = setup(tuple(str(repository.top / path) for path in paths), sure, display.listen)
    return _proved(target, parts, asked, display, (head, base))


def _proved(target: Target, parts: Setup, asked: Request, display: Screen, commits: tuple[str, str]) -> int:
    from coderefine.git.changes import hidden
    from coderefine.journal import lock, prune
    from coderefine.loop.refine import refine
    from coderefine.publishers import Diff, Snapshot
    from coderefine.workspace.originals import Originals
    from coderefine.workspace.snapshot_views import SnapshotViews

    repository = open_repository(parts)
    with lock(repository):
        under = hidden(repository.top, "HEAD")  # what earlier steps of the job left untracked is in no commit
        journal = replace(new_journal(repository, parts, asked), under=under)
        originals = Originals(parts.place.top)
        snapshot = Snapshot(journal, repository.head(), originals, under)
        with reachable(parts, asked, display, journal) as client, views(parts) as opened:
            made = assembled(parts, SnapshotViews(opened, under), client, journal, originals, under=under)
            outcome = refine(made)
            journal.finish(outcome)
            diff = Diff(snapshot).text(outcome) if outcome.best.number else b""
            bundle = bundled(made, outcome, diff, head=commits[0], base=commits[1], style=target.style)
        prune(repository)
    before = {path: originals[path] for path in outcome.best.patch.files}
    wrote, decided = counted(len(bundle.suggestions), "suggestion"), suggested(outcome, commits[0])
    display.outcome(outcome, Delivered(wrote, diff, before=before, decided=decided), journal.run)
    _told(target, bundle, (snapshot, outcome))
    return exit_code(outcome)


def _told(target: Target, bundle: Bundle, proved: tuple[Snapshot, Outcome] | None) -> int:
    """Write the artifact, then push and post as asked; print to stderr what was done."""
    if target.out:
        _write(Path(target.out), bundle, proved)
    if target.post or target.push or target.open:
        print(post(target, bundle, proved), file=sys.stderr)
    return 0


def _write(folder: Path, bundle: Bundle, proved: tuple[Snapshot, Outcome] | None) -> None:
    from coderefine.publishers import PatchFile
    from coderefine.publishers.hosts.bundle import NAME, PATCH, dump

    folder.mkdir(parents=True, exist_ok=True)
    (folder / NAME).write_text(dump(bundle), "utf-8")
    if proved and proved[1].best.number:
        PatchFile(proved[0], (folder / PATCH).absolute()).publish(proved[1])


def _nothing(display: Screen) -> None:
    """Report on a pull request without Python files: other programs expect a report."""
    from coderefine.core import Check

    if display.format_ == "text":
        print("the pull request changes no Python file", file=sys.stderr)
    else:
        display.checks((Check("coderefine"),))


def _commits(repository: Repository, meant: Pull) -> tuple[str, str]:
    """Return the head and the merge base.

    Raises UsageError unless the head is checked out without uncommitted changes.
    """
    head, now = repository.resolve(meant.head), repository.head().sha
    if head is None or head != now:
        raise UsageError(f"check out {meant.head} first: what is here is {(now or 'nothing')[:10]}")
    if repository.git("status", "--porcelain", "--untracked-files=no").strip():
        raise UsageError("there are uncommitted changes: suggestions are about a commit, so commit or stash them")
    if not meant.base:
        raise UsageError("name what the pull request is merged into: --base REF")
    base = repository.resolve(meant.base) or repository.resolve(f"origin/{meant.base}")
    if base is None:
        raise UsageError(f"--base {meant.base} is unknown here: fetch it first (actions/checkout with fetch-depth: 0)")
    found = repository.git("merge-base", base, head, fine=(0, 1)).decode().strip()
    if not found:
        raise UsageError(f"{meant.base} and {meant.head} have no common history here: fetch more (fetch-depth: 0)")
    return head, found


def _changed(repository: Repository, base: str, head: str) -> tuple[str, ...]:
    """Return the Python files that the pull request adds or changes, by their new names."""
    said = repository.git("diff", "--name-only", "-z", "-M", "--diff-filter=d", base, head)
    names = (os.fsdecode(name) for name in said.split(b"\0"))
    here = (name for name in names if name.endswith((".py", ".pyi")) and (repository.top / name).is_file())
    return tuple(name for name in here if not (repository.top / name).is_symlink())
