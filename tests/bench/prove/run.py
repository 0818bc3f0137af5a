"""`coderefine prove` on honest and on bad patches: how many it accepts, and what it costs.

    python -m tests.bench.prove.run [--most N] [--seed S] [--seconds S] [--pause S]

Each patch is a commit, judged as by `coderefine prove HEAD`. `--pause`: seconds that a test sleeps in every program, to
see the cost beside a slow suite. Refused honest and accepted bad patches are listed with their reasons.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from coderefine import CoderefineError, prove
from tests.bench.prove.patches import Case, bad, honest
from tests.support.repo import git, make_repo, write

PAUSE = "import time\n\n\ndef test_pause():\n    time.sleep({})\n"


@dataclass(frozen=True)
class Result:
    """What `prove` said. `suite`: seconds of one run of the program's tests with plain pytest."""

    case: Case
    code: int
    reason: str
    seconds: float
    suite: float

    @property
    def right(self) -> bool:
        return self.code == (0 if self.case.honest else 1)


def judged(case: Case, pause: float) -> Result:
    with tempfile.TemporaryDirectory() as folder:
        extra = {"test_pause.py": PAUSE.format(pause)} if pause else {}
        before = {path: text for path, text in case.before.items() if text is not None}
        top = make_repo(Path(folder) / "program", {**before, **extra})
        for path, text in case.after.items():
            if text is None:
                (top / path).unlink()
            else:
                write(top, {path: text})
        git(top, "add", "-A")
        git(top, "commit", "-q", "-m", case.name)
        began = time.monotonic()
        plain = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
        subprocess.run(plain, cwd=top, capture_output=True, timeout=600, check=False)
        suite, began = time.monotonic() - began, time.monotonic()
        try:
            verdict = prove("HEAD", cwd=top).verdict
        except CoderefineError as error:
            return Result(case, error.exit_code, str(error), time.monotonic() - began, suite)
        return Result(case, 0 if verdict else 1, verdict.reason, time.monotonic() - began, suite)


def report(results: Sequence[Result]) -> None:
    fine, wrong = ([one for one in results if one.case.honest is kind] for kind in (True, False))
    accepted = sum(one.right for one in fine)
    print(f"honest accepted   {accepted}/{len(fine)}" + (f" = {accepted / len(fine):.1%}" if fine else ""))
    print(f"bad accepted      {sum(one.code == 0 for one in wrong)}/{len(wrong)}")
    print(f"no verdict        {sum(one.code not in (0, 1) for one in results)}")
    if results:
        seconds, suite = (statistics.median(getattr(one, name) for one in results) for name in ("seconds", "suite"))
        share = statistics.median(one.seconds / one.suite for one in results)
        print(f"median seconds    {seconds:.2f} (one run of the suite {suite:.2f}, ratio {share:.2f})")
    for kind, count in sorted(Counter(one.case.kind for one in results).items()):
        print(f"  {kind:<24}{sum(one.right for one in results if one.case.kind == kind)}/{count} right")
    for one in results:
        if not one.right:
            print(f"WRONG {one.case.kind}: {one.case.name}: exit {one.code}: {one.reason.strip()[-300:]}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--most", type=int, default=100, help="patches of each sort")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=900.0)
    parser.add_argument("--pause", type=float, default=0.0)
    given = parser.parse_args()
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # they would cost every program 0.8 s
    until, results = time.monotonic() + given.seconds, list[Result]()
    both = zip(honest(random.Random(given.seed)), bad(random.Random(given.seed)), strict=False)
    for pair in islice(both, given.most):
        for case in pair:
            results.append(judged(case, given.pause))
            one = results[-1]
            mark = "" if one.right else f"  WRONG {one.reason.strip()[-160:]}"
            print(f"{one.case.kind:<24}{one.case.name:<28}{one.seconds:6.1f} s{mark}", file=sys.stderr, flush=True)
        if time.monotonic() > until:
            break
    report(results)


if __name__ == "__main__":
    main()
