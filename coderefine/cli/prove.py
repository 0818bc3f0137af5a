"""`coderefine prove`: judge a given patch."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace

import click

from coderefine.app.prove import PatchSource
from coderefine.app.prove import prove as judge
from coderefine.app.request import Destination
from coderefine.app.run import RunResult
from coderefine.cli.options import CLUSTER, DESTINATION, GATES, LOOP, OUTPUT, PROOF, options, request_of
from coderefine.cli.screen import proof_exit_code, screen
from coderefine.core import Stop
from coderefine.errors import UsageError

WHICH = (
    click.option("--staged", is_flag=True, help="Judge what is staged."),
    click.option("--worktree", is_flag=True, help="Judge all uncommitted changes (the default)."),
    click.option("--apply", "apply", is_flag=True, help="Write the patch to the working tree if it is proved."),
    click.option("--minimise", is_flag=True, help="Find the smallest part that is still proved, and take only that."),
    click.option("--repair", is_flag=True, help="If it is not proved, continue from it as `fix` does."),
)


@click.command()
@click.argument("source", required=False, metavar="[PATCH]")
@options(WHICH, GATES, LOOP, PROOF, CLUSTER, DESTINATION, OUTPUT)
def prove(
    source: str | None,
    *,
    staged: bool,
    worktree: bool,
    apply: bool,
    minimise: bool,
    repair: bool,
    format_: str,
    quiet: bool,
    show_prompts: bool,
    **given: object,
) -> int:
    """Judge PATCH by every rule that coderefine's own patches pass; write nothing unless asked.

    PATCH is a diff or a mail of `git format-patch` (a file, or - for stdin), a commit (HEAD), a range (main..feature),
    or a branch (its commits that HEAD lacks). Exit code 0 when it is proved, 1 when it is not.
    """
    if staged + worktree + (source is not None) > 1:
        raise UsageError("a patch, --staged and --worktree exclude each other: choose one")
    diff = bool(given["diff"])
    asked = request_of(given)
    if apply and asked.destination != Destination():
        raise UsageError("--apply is a destination of its own, as --diff, --patch or --commit are: choose one")
    writes = apply or asked.destination != Destination()
    destination = asked.destination if writes else Destination(diff=True)
    again = f"coderefine {shlex.join(sys.argv[1:])}"
    request = replace(asked, destination=destination, model=asked.model and repair, again=again)
    chosen = PatchSource(sys.stdin.buffer.read() if source == "-" else source, staged)
    with screen(quiet=quiet, format_=format_) as display:

        def report(result: RunResult) -> None:
            proved = bool(result.diff) and result.outcome.stop is not Stop.INTERRUPTED
            display.result(result, pipe=diff and proved)

        show = display.prompt if show_prompts else None
        result = judge(chosen, request, display.listen, report, minimise=minimise, repair=repair, show=show)
        return proof_exit_code(result.outcome)
