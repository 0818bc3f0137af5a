"""`coderefine fleet`: one command in many repositories."""

from __future__ import annotations

from pathlib import Path

import click

from coderefine import proc
from coderefine.app.fleet import Fleet, FleetRecord, FleetRequest, exit_code, read_list
from coderefine.cli.options import AMOUNT, ONE_OR_MORE, option, options
from coderefine.config import masked
from coderefine.reports import fleet as report
from coderefine.reports.fleet import FleetResult

JOBS = max(1, proc.processors() // 2)
FLEET = (
    option("--folder", "DIR", "Keep the record, clones, patches and reports here (default: FILE.fleet)."),
    option("--jobs", "N", "Run N at once (default: one for each two processors).", ONE_OR_MORE, default=JOBS),
    option("--max-cost", "USD", "Spend at most USD dollars on all runs together.", AMOUNT),
    option("--repo-timeout", "SECONDS", "Kill a run after SECONDS (default 3600).", AMOUNT, default=3600.0),
    click.option("--resume", is_flag=True, help="Continue an interrupted fleet."),
    click.option("--only-failed", is_flag=True, help="Run again in the repositories whose run failed."),
)


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("command", nargs=-1, required=True, metavar="-- COMMAND [ARG]...")
@options(FLEET)
def fleet(
    file: Path,
    command: tuple[str, ...],
    *,
    folder: str | None,
    jobs: int,
    max_cost: float | None,
    repo_timeout: float,
    resume: bool,
    only_failed: bool,
) -> int:
    """Run COMMAND (fix, check, write or prove) in every repository that FILE lists.

    Each line is a path, a URL, or a query for several: `github:org:acme language:python` (a search of GitHub),
    `gitlab:acme/tools?topic=python` (the projects of a group).

    Exit code 0 when every run ended with 0, 2 when one failed, else 1.
    """
    request = FleetRequest(command, jobs, max_cost, repo_timeout)
    locations = read_list(file)
    record = FleetRecord(Path(folder or f"{file}.fleet").absolute())
    record.open(command, resume=resume, only_failed=only_failed)
    begun = tuple(record.to_run(locations, resume=resume, only_failed=only_failed))
    results = {result.location: result for result in record.results()}
    width = max(len(masked(location)) for location in locations)

    def listen(result: FleetResult) -> None:
        results[result.location] = result
        click.echo(report.line(result, width))

    try:
        Fleet(record, request, spent=sum(result.usd for result in record.results())).run(begun, listen)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("interrupted: continue with the same command and --resume") from None
    shown = [results[location] for location in locations if location in results]
    click.echo(report.table(shown, width))
    click.echo(f"page: {record.write_page(shown)}")
    return exit_code(shown)
