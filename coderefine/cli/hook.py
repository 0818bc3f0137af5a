"""`coderefine hook`: check what is about to be committed or pushed, from pre-commit or a plain git hook."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

import click

from coderefine.app.hook import COMMIT, PUSH, RepairRequest, check_state, states, top_folder
from coderefine.app.hook import install as install_hook
from coderefine.app.hook import uninstall as uninstall_hooks
from coderefine.cli.options import GATES, OUTPUT, option, options, settings
from coderefine.cli.screen import Screen, failures, screen
from coderefine.core.plurals import counted
from coderefine.errors import UsageError

if TYPE_CHECKING:
    from coderefine.app.run import RunResult


@click.group()
def hook() -> None:
    """Check what is staged; install git hooks that do it."""


@hook.command()
@click.argument("names", nargs=-1, type=click.Path())
@option(
    "--hook-timeout", "SECONDS", "Stop tests and repairs after SECONDS (default 20).", click.FloatRange(1), default=20.0
)
@click.option("--push", is_flag=True, help="Check what is pushed instead of what is staged.")
@click.option("--given", is_flag=True, help="Without NAMES, check no file, only what deletions break (pre-commit).")
@click.option("--fix/--no-fix", default=True, help="Repair the files if a repair can be proved.")
@click.option("--model/--no-model", "ask", default=False, help="Let a model help (default: no).")
@options(GATES, OUTPUT)
def run(  # one parameter per flag that is no configuration key
    names: tuple[str, ...],
    hook_timeout: float,
    format_: str,
    *,
    push: bool,
    given: bool,
    fix: bool,
    ask: bool,
    quiet: bool,
    **values: object,
) -> int:
    """Check the staged files as they are staged. Exit 1 if something is found, or a file was repaired.

    With --push, check the pushed commits instead. Nothing is ever staged. With NAMES (pre-commit passes them) only
    these files are checked.
    """
    top = top_folder()
    pushed = ("" if sys.stdin.isatty() else sys.stdin.read()) if push else None
    judged = states(top, names, pushed, given=given)
    if not judged:
        return 0
    with screen(quiet=quiet, format_=format_) as display:
        for state, python in judged:
            report = partial(_print_repair, display, state.commit)
            repair = RepairRequest(tuple(sys.argv[1:]), ask, report) if fix else None
            limited = {**settings(values), "timeout": hook_timeout}
            found = check_state(top, state, python, limited, display.listen, repair=repair)
            if found.clean:
                continue
            if not found.repaired:
                # Tests in other files that the state breaks are not findings.
                broken = f"it breaks {counted(len(found.broken), 'test')}" if found.broken else ""
                display.checks(found.checks, _refusal(state.commit, failures(found.checks) or broken))
            return 1  # after a repair, too: the user has to review it before the commit
    return 0


def _print_repair(display: Screen, commit: str, result: RunResult) -> None:
    display.result(result, _refusal(commit, failures(result.outcome.baseline.checks), _repaired(result)))


def _refusal(commit: str, failed: str, repair: str = "") -> str:
    """Return the report's last line for a refused commit: the reason, and the text `repair`.

    `commit`: "" for the staged tree.
    """
    what = f"push refused: {commit[:10]}" if commit else "commit refused"
    return "; ".join(part for part in (f"{what}: {failed or 'not everything could be checked'}", repair) if part)


def _repaired(result: RunResult) -> str:
    """Say where the repair of a refused commit is, and whether it repairs everything; "" if there is none."""
    outcome = result.outcome
    if not outcome.best.number:
        found = sum(len(offer.alternatives) for offer in outcome.offers)
        return f"{counted(found, 'plausible repair')} offered, see above" if found else ""
    what = "a repair" if outcome.clean else "a repair of a part of it"
    if not result.written:
        return f"{what} is kept as a patch"
    return f"{what} was written to {', '.join(sorted(outcome.best.patch.files))}, not staged"


@hook.command()
@click.option("--push", is_flag=True, help="Install a pre-push hook too.")
def install(*, push: bool) -> int:
    """Write git hooks for commits and merges that run coderefine. A hook of yours is left alone (exit 2)."""
    refusals = [_try_install(name) for name in (*COMMIT, *((PUSH,) if push else ()))]
    for refused in dict.fromkeys(filter(None, refusals)):  # a folder that repositories share is refused once
        click.echo(f"coderefine: {refused}", err=True)
    return UsageError.exit_code if any(refusals) else 0


def _try_install(name: str) -> str:
    """Install the hook `name`; return the refusal, "" if there is none."""
    try:
        click.echo(f"wrote {install_hook(name)}; `git {name.split('-')[1]} --no-verify` skips it")
    except UsageError as error:
        return str(error)
    return ""


@hook.command()
def uninstall() -> int:
    """Remove the hooks that `install` wrote."""
    removed = uninstall_hooks()
    for path in removed:
        click.echo(f"removed {path}")
    if not removed:
        click.echo("nothing to remove: no hook here is as `coderefine hook install` wrote it")
    return 0
