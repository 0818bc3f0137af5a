"""Whether the first request of test-first work holds all that is needed to answer it at once.

    python -m tests.bench.testfirst.run [--only NAME] [--show]

For each case: whether the request has every line of the tests that uses what is missing, whether it names the file
where that belongs (and shows it where it exists, or says that it may not be edited), and the request's characters.
Nothing is sent.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from tests.bench.testfirst.cases import CASES, Case
from tests.support.repo import make_repo

COLUMNS = "{:<36} {:>7} {:>6} {:>6} {:>6}"


def first_request(case: Case) -> str:
    """The first request, as `coderefine fix --show-prompts` prints it."""
    with tempfile.TemporaryDirectory() as folder:
        top = make_repo(Path(folder) / "project", dict(case.files))
        argv = [sys.executable, "-m", "coderefine", "fix", "--no-search", "--show-prompts", "--gate", "pytest"]
        ended = subprocess.run(argv, cwd=top, capture_output=True, text=True, timeout=180, check=False)
        return ended.stdout + ended.stderr


def uses(case: Case) -> list[str]:
    """Lines of the tests that use what is missing, imports too."""
    text = case.files["tests/test_it.py"]
    pattern = rf"(?<![\w-]){re.escape(case.name)}(?![\w-])|# used$"
    return [line.strip() for line in text.splitlines() if re.search(pattern, line)]


def judged(case: Case, said: str) -> tuple[bool, bool, int]:
    """(all lines that use it, the place named and shown, characters)."""
    request = said[said.find("You repair Python code.") :]
    request = request[: request.rfind("nothing that passes breaks.") + 27]
    lines = all(line in request for line in uses(case))
    marks = (f"=== file {case.place} ", f"{case.place} may not be edited")
    shown = case.place not in case.files or any(mark in request for mark in marks)
    return lines, shown and case.place in request, len(request)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    print(COLUMNS.format("missing", "tests", "place", "chars", ""))
    results = []
    for case in CASES:
        if given.only not in case.kind:
            continue
        said = first_request(case)
        lines, place, size = judged(case, said)
        results.append((lines and place, size))
        print(COLUMNS.format(case.kind, "yes" if lines else "NO", "yes" if place else "NO", size, ""), flush=True)
        if given.show:
            print(said)
    good = sum(complete for complete, _ in results)
    print(f"complete: {good} of {len(results)}, median {median(size for _, size in results):g} characters")
    return 0 if good == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
