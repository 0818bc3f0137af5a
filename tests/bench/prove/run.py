"""`coderefine prove` on honest and on bad patches: how many it accepts, and what it costs.

    python -m tests.bench.prove.run [--most N] [--seed S] [--seconds S] [--pause S] [--packages jinja2,marshmallow]
                                    [--rows FILE]

Each patch is a commit, judged as by `coderefine prove HEAD`. `--pause`: seconds that a test sleeps in every program, to
see the cost beside a slow suite. `--packages`: patches of these real packages (tests/bench/real), else of small
programs. `--rows`: a JSONL file to which each verdict is added; what is in it is not judged again, and is part of the
report, so that several calls, on small programs and on packages, make one figure. CPU seconds are told beside wall
time, because these do not depend on what else the machine does. Refused honest and accepted bad patches are listed with
their reasons.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, islice, zip_longest
from pathlib import Path

from coderefine import CoderefineError, prove
from tests.bench.prove.packages import cases
from tests.bench.prove.patches import Case, Files, bad, honest
from tests.bench.real.projects import PROJECTS, Project, commit, locked, restore
from tests.support.repo import git, make_repo, write

PAUSE = "import time\n\n\ndef test_pause():\n    time.sleep({})\n"


@dataclass(frozen=True)
class Cost:
    """Wall time, and CPU time of all ended processes."""

    seconds: float
    cpu: float

    @classmethod
    def now(cls) -> Cost:
        own, ended = os.times(), resource.getrusage(resource.RUSAGE_CHILDREN)
        return cls(time.monotonic(), own.user + own.system + ended.ru_utime + ended.ru_stime)

    def since(self) -> Cost:
        now = Cost.now()
        return Cost(now.seconds - self.seconds, now.cpu - self.cpu)


@dataclass(frozen=True)
class Result:
    """What `prove` said. `suite`: the cost of one run of the program's tests with plain pytest."""

    kind: str
    name: str
    code: int
    reason: str
    cost: Cost
    suite: Cost

    @classmethod
    def read(cls, line: str) -> Result:
        row = json.loads(line)
        return cls(**{**row, "cost": Cost(**row["cost"]), "suite": Cost(**row["suite"])})

    @property
    def honest(self) -> bool:
        return self.kind.startswith("honest")

    @property
    def right(self) -> bool:
        return self.code == (0 if self.honest else 1)


def judged(case: Case, pause: float) -> Result:
    if case.project:
        with locked(case.project):
            restore(case.project)
            patched(case.project.top, case.before)
            commit(case.project)
            return judged_in(case.project.top, case, case.project.python)
    with tempfile.TemporaryDirectory() as folder:
        extra = {"test_pause.py": PAUSE.format(pause)} if pause else {}
        before = {path: text for path, text in case.before.items() if text is not None}
        return judged_in(make_repo(Path(folder) / "program", {**before, **extra}), case, Path(sys.executable))


def judged_in(top: Path, case: Case, python: Path) -> Result:
    patched(top, case.after)
    git(top, "add", "-A")
    git(top, "-c", "user.name=bench", "-c", "user.email=bench@example.invalid", "commit", "-q", "-m", case.name)
    began = Cost.now()
    plain = (python, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    subprocess.run(plain, cwd=top, capture_output=True, timeout=600, check=False)
    suite, began = began.since(), Cost.now()
    try:
        verdict = prove("HEAD", cwd=top).verdict
    except CoderefineError as error:
        return Result(case.kind, case.name, error.exit_code, str(error), began.since(), suite)
    return Result(case.kind, case.name, 0 if verdict else 1, verdict.reason, began.since(), suite)


def patched(top: Path, files: Files) -> None:
    for path, text in files.items():
        if text is None:
            (top / path).unlink()
        else:
            write(top, {path: text})


def report(results: Sequence[Result]) -> None:
    fine, wrong = ([one for one in results if one.honest is kind] for kind in (True, False))
    accepted = sum(one.right for one in fine)
    print(f"honest accepted   {accepted}/{len(fine)}" + (f" = {accepted / len(fine):.1%}" if fine else ""))
    print(f"bad accepted      {sum(one.code == 0 for one in wrong)}/{len(wrong)}")
    print(f"no verdict        {sum(one.code not in (0, 1) for one in results)}")
    if results:
        for name in ("seconds", "cpu"):
            pairs = [(getattr(one.cost, name), getattr(one.suite, name)) for one in results]
            cost, suite = (statistics.median(numbers) for numbers in zip(*pairs, strict=True))
            ratio = statistics.median(cost / suite for cost, suite in pairs)
            print(f"median {name:<11}{cost:.2f} (one run of the suite {suite:.2f}, ratio {ratio:.2f})")
    for kind, count in sorted(Counter(one.kind for one in results).items()):
        print(f"  {kind:<24}{sum(one.right for one in results if one.kind == kind)}/{count} right")
    for one in results:
        if not one.right:
            print(f"WRONG {one.kind}: {one.name}: exit {one.code}: {one.reason.strip()[-300:]}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--most", type=int, default=100, help="patches of each sort")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=900.0)
    parser.add_argument("--pause", type=float, default=0.0)
    parser.add_argument("--packages", default="", help="names, separated by commas")
    parser.add_argument("--slips", type=int, default=8, help="slips of each package")
    parser.add_argument("--rows", type=Path, help="JSONL file of results")
    given = parser.parse_args()
    if not given.packages:
        os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # they would cost every program 0.8 s
    rows = given.rows.read_text("utf-8").splitlines() if given.rows and given.rows.exists() else []
    until, results = time.monotonic() + given.seconds, [Result.read(line) for line in rows]
    known = {(one.kind, one.name) for one in results}
    chosen = [project for project in PROJECTS if project.name in given.packages.split(",")]
    for case in chain.from_iterable(islice(pairs(chosen, given.slips, given.seed), given.most)):
        if (case.kind, case.name) in known:
            continue
        results.append(one := judged(case, given.pause))
        if given.rows and one.code in (0, 1):
            with given.rows.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(one)) + "\n")
        mark = "" if one.right else f"  WRONG {one.reason.strip()[-160:]}"
        took = f"{one.cost.seconds:6.1f} s {one.cost.cpu / one.suite.cpu:5.1f} suites of CPU time"
        print(f"{one.kind:<24}{one.name:<28}{took}{mark}", file=sys.stderr, flush=True)
        if time.monotonic() > until:
            break
    report(results)


def pairs(packages: Sequence[Project], slips: int, seed: int) -> Iterator[tuple[Case, Case]]:
    """Yield an honest and a bad patch at a time: of each of `packages` in turn; of small programs if there are none."""
    if not packages:
        return zip(honest(random.Random(seed)), bad(random.Random(seed)), strict=False)
    both = (
        [cases(one, slips, 1, honest=kind, chance=random.Random(seed)) for one in packages] for kind in (True, False)
    )
    fine, wrong = (filter(None, chain.from_iterable(zip_longest(*turns))) for turns in both)
    return zip(fine, wrong, strict=False)


if __name__ == "__main__":
    main()
