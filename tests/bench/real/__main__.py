"""`coderefine fix`, as shipped, on one-token slips in real projects of the package registry.

    python -m tests.bench.real                                  # the development half, 10 slips for each project
    python -m tests.bench.real --only click,boltons --slips 2   # a part of it
    python -m tests.bench.real --coderefine ../before/.venv/bin/coderefine      # another commit, the same slips
    python -m tests.bench.real --half held-out                  # the half put aside: only sums are printed
    python -m tests.bench.real --report                         # run nothing; a line for each commit, and the misses
    python -m tests.bench.real --find --slips 12                # only prepare the projects and find slips

It needs the package registry, once for each project: the sdist is unpacked below the system's temporary folder, gets a
`.venv` with the package installed editable, and is committed to a repository. Slips are found by running the suite on
each (slips.py) and kept there, too; so are the results, in rows-HALF.jsonl, and what the command printed, in
outputs/COMMIT/. A trial that has a row for that commit of coderefine is not run again without `--again`; uncommitted
changes of coderefine count as a commit of their own.

The columns: `repaired` leaves the whole suite green; `original` is the original text, or answers the suite's own calls
and calls near them as it does (repair/differential.py); `unknown` are green patches for which too few such calls could
be made, none answered otherwise; `offered` wrote nothing and have the original text among the first three offers;
`runs` and `p90` are the whole time, median and 90th percentile, in runs of the unmodified suite, which is measured on
this machine before the first trial of a project; `cpu` is the same in CPU seconds, for busy machines; `counted` and
`first s` are `suite_runs` and `first_candidate` of the command's JSON report, where it has them.

See also `python -m tests.bench.real.requests` and `python -m tests.bench.real.small`.
"""

from __future__ import annotations

import argparse

from tests.bench.real.options import arguments
from tests.bench.real.projects import Project, chosen, commit, locked, prepare, restore, suite
from tests.bench.real.reports import details, newest, summary
from tests.bench.real.slips import Slip, accepted
from tests.bench.real.suites import Suite
from tests.bench.real.trials import Row, Subject, keep, rows, subject, trial


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--slips", type=int, default=10, metavar="N", help="of each project (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--find", action="store_true", help="prepare the projects and find slips, run no trial")
    given = parser.parse_args()
    projects = chosen(given.only, given.half)
    if given.find:
        for project in projects:
            print(name(project), len(accepted(project, given.slips, given.seed)), "slips", flush=True)
        return
    tested = subject(given.coderefine.absolute())
    if not given.report:
        for project in projects:
            measure(tested, project, given)
    show(tested, projects, given)


def name(project: Project) -> str:
    """Projects put aside are not named."""
    return (
        project.name
        if project.half == "development"
        else f"held-out project {chosen('', project.half).index(project) + 1}"
    )


def measure(tested: Subject, project: Project, given: argparse.Namespace) -> None:
    done = {row.key for row in rows(project.half)}
    slips = accepted(project, given.slips, given.seed)
    todo = [slip for slip in slips if given.again or (tested.commit, slip.seed, slip.id) not in done]
    with locked(project):
        plain = undisturbed(project) if todo else Suite()
    for slip in todo:
        with locked(project):
            row = trial(tested, project, slip, plain)
        keep(row)
        print(progress(row, slip), flush=True)


def undisturbed(project: Project) -> Suite:
    """One cold run of the unmodified suite, as things are on this machine now."""
    prepare(project)
    restore(project)
    commit(project)
    seen = suite(project)
    print(f"# {name(project)}: one run of the suite takes {seen.seconds:.1f} s", flush=True)
    return seen


def progress(row: Row, slip: Slip) -> str:
    figures = f"{row.seconds:6.1f} s {row.runs:5.1f} runs"
    return f"{row.verdict:9} {figures}  {slip.shown}" if row.half == "development" else figures


def show(tested: Subject, projects: list[Project], given: argparse.Namespace) -> None:
    names = {project.name for project in projects}
    found = [row for row in newest(rows(given.half)) if row.seed == given.seed and row.project in names]
    print(summary(given.half, found))
    mine = [row for row in found if row.commit == tested.commit]
    if given.half == "development" and mine:
        print(details(mine))


if __name__ == "__main__":
    main()
