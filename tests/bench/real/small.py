"""Small projects whose fault runs in a child process, or makes a loop never end; `coderefine fix` as shipped.

    python -m tests.bench.real.small [--half held-out] [--only NAME] [--coderefine PATH] [--again] [--report]
    python -m tests.bench.real.small --verify       # are the cases what they say? runs no coderefine

Each case is one file of cases/: a header (`half`, and the slip as `path | right text | faulty text`) and the files,
each after a line `==== path`. Tests below hidden/ are never in the repository that is repaired: they judge the result.
Where the case has a pyproject.toml with scripts, it is installed editable into a `.venv` of its own.

`green`: the tests of the repository pass; `solved`: the hidden ones pass, too. Single results are printed of the
development half only.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.bench.real.options import arguments
from tests.bench.real.projects import CACHE
from tests.bench.real.suites import environment, run, run_suite
from tests.bench.real.trials import Subject, report_of, said, subject
from tests.support.repo import make_repo, write

CASES = Path(__file__).parent / "cases"
PATIENCE = 300.0
HANGING = 15.0
"""Seconds after which a suite that takes one is taken to hang."""
NEEDS = ("pytest==9.1.0", "setuptools==80.9.0")
IGNORED = ".venv/\n__pycache__/\n.pytest_cache/\n*.egg-info/\n"


@dataclass(frozen=True)
class Case:
    """`files` are right; `path` becomes faulty where `right` is replaced by `faulty`, which it holds once."""

    name: str
    half: str
    path: str
    right: str
    faulty: str
    files: dict[str, str]
    hidden: dict[str, str]

    @property
    def kind(self) -> str:
        return "hanging" if self.name.startswith("hang-") else "subprocess"

    @property
    def scripts(self) -> bool:
        return "[project.scripts]" in self.files.get("pyproject.toml", "")

    def tree(self, *, faulty: bool) -> dict[str, str]:
        """The repository's files; pytest finds the modules at its top."""
        found = {**self.files, ".gitignore": IGNORED}
        if not self.scripts:
            found["pytest.ini"] = "[pytest]\npythonpath = .\n"
        if faulty:
            found[self.path] = found[self.path].replace(self.right, self.faulty)
        return found

    @property
    def tests(self) -> dict[str, str]:
        return {path: text for path, text in self.files.items() if Path(path).name.startswith(("test_", "conftest"))}


@dataclass(frozen=True)
class Row:
    commit: str
    name: str
    kind: str
    half: str
    green: bool
    solved: bool
    seconds: float
    first_candidate: float | None
    said: str
    diff: str


def load(path: Path) -> Case:
    head, *parts = path.read_text("utf-8").split("\n==== ")
    fields = dict(line.split(": ", 1) for line in head.splitlines())
    where, right, faulty = fields["slip"].split(" | ")
    files: dict[str, str] = {}
    for part in parts:
        name, _, text = part.partition("\n")
        files[name] = text.rstrip("\n") + "\n" if text.strip() else ""
    if files[where].count(right) != 1:
        raise ValueError(f"{path.name}: the slip's text must stand once in {where}")
    hidden = {name: text for name, text in files.items() if name.startswith("hidden/")}
    kept = {name: text for name, text in files.items() if name not in hidden}
    return Case(path.stem, fields["half"], where, right, faulty, kept, hidden)


def cases(half: str, only: str) -> list[Case]:
    """Those of one half (of both when it is empty) whose name holds one of the words of `only`."""
    found = [load(path) for path in sorted(CASES.glob("*.case"))]
    return [case for case in found if half in {"", case.half} and any(word in case.name for word in only.split(","))]


def prepared(case: Case, top: Path, *, faulty: bool) -> Path:
    """Make its repository at `top`; the interpreter for its tests."""
    make_repo(top, case.tree(faulty=faulty))
    if not case.scripts:
        return Path(sys.executable)
    python = top / ".venv" / "bin" / "python"
    quiet = (python, "-m", "pip", "install", "-q", "--disable-pip-version-check")
    for argv in (
        (sys.executable, "-m", "venv", ".venv"),
        (*quiet, *NEEDS),
        (*quiet, "--no-build-isolation", "-e", "."),
    ):
        subprocess.run([str(word) for word in argv], cwd=top, check=True, capture_output=True, timeout=300)
    return python


def passes(case: Case, top: Path, python: Path, tests: dict[str, str]) -> bool:
    """Whether the case's own tests and `tests` pass in the tree as it is now."""
    write(top, {**case.tests, **tests})
    seen = run_suite(top, python, [], timeout=HANGING if case.kind == "hanging" else 60.0)
    return seen.ended and bool(seen.passed) and not seen.failing and not seen.broken


def trial(tested: Subject, case: Case) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder) / "project"
        python = prepared(case, top, faulty=True)
        out, err = Path(folder) / "out", Path(folder) / "err"
        argv = (tested.command, "fix", "--format", "json")
        ended = run(argv, top, env=environment({}), timeout=PATIENCE, out=out, err=err)
        diff = subprocess.run(["git", "diff"], cwd=top, capture_output=True, text=True, check=True).stdout
        report = report_of(out)
        green = passes(case, top, python, {})
        solved = green and passes(case, top, python, case.hidden)
        first = report.get("first_candidate")
        words = said(ended, report, err)
        return Row(tested.commit, case.name, case.kind, case.half, green, solved, ended.seconds, first, words, diff)


def rows(half: str) -> list[Row]:
    path = CACHE / f"small-{half}.jsonl"
    found = path.read_text("utf-8").splitlines() if path.exists() else []
    newest = {(row.commit, row.name): row for row in (Row(**json.loads(line)) for line in found)}
    return list(newest.values())


def keep(row: Row) -> None:
    CACHE.mkdir(exist_ok=True)
    with (CACHE / f"small-{row.half}.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(row)) + "\n")


def verify(case: Case) -> str:
    """What is wrong with the case; "" when the right files pass all tests and the faulty ones fail as they must."""
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder) / "project"
        python = prepared(case, top, faulty=False)
        if not passes(case, top, python, {}) or not passes(case, top, python, case.hidden):
            return "the right files do not pass"
        for path in case.hidden:
            (top / path).unlink()
        write(top, case.tree(faulty=True))
        seen = run_suite(top, python, [], timeout=HANGING)
        if seen.broken or seen.ended != (case.kind == "subprocess"):
            return f"the faulty files: ended {seen.ended}, broken {seen.broken}"
        if seen.ended and not (seen.failing and seen.passed):
            return "the faulty files pass, or fail everywhere"
        for path in case.tests:
            (top / path).unlink()
        write(top, {**case.hidden, **{path: text for path, text in case.tests.items() if "conftest" in path}})
        hidden = run_suite(top, python, [], timeout=HANGING)
        return "the hidden tests do not notice" if hidden.ended and not hidden.failing else ""


def table(found: list[Row]) -> str:
    lines = [
        f"{'commit':18}{'kind':>12}{'cases':>7}{'green':>7}{'solved':>8}{'median s':>10}{'largest s':>11}{'first s':>9}"
    ]
    for commit in dict.fromkeys(row.commit for row in found):
        for kind in ("subprocess", "hanging"):
            group = [row for row in found if row.commit == commit and row.kind == kind]
            if group:
                lines.append(line(commit, kind, group))
    return "\n".join(lines)


def line(commit: str, kind: str, group: list[Row]) -> str:
    seconds = [row.seconds for row in group]
    first = [row.first_candidate for row in group if row.first_candidate is not None]
    counts = f"{len(group):7}{sum(row.green for row in group):7}{sum(row.solved for row in group):8}"
    middle = f"{statistics.median(seconds):10.1f}{max(seconds):11.1f}"
    return f"{commit:18}{kind:>12}{counts}{middle}{f'{statistics.median(first):.1f}' if first else '-':>9}"


def shown(row: Row) -> str:
    state = "solved" if row.solved else "green" if row.green else "none"
    detail = "" if row.solved else f"\n    {row.said[:400]}" + "".join(f"\n    {one}" for one in row.diff.splitlines())
    return f"{state:7} {row.seconds:6.1f} s  {row.name}{detail}"


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--verify", action="store_true", help="check the cases of both halves, run no coderefine")
    given = parser.parse_args()
    if given.verify:
        bad = [f"{case.name}: {wrong}" for case in cases("", given.only) if (wrong := verify(case))]
        print("\n".join(bad) or "all cases are what they say")
        sys.exit(bool(bad))
    tested = subject(given.coderefine.absolute())
    if not given.report:
        measure(tested, given)
    found = rows(given.half)
    print(table(found))
    if given.report and given.half == "development":
        print("\n".join(shown(row) for row in found if row.commit == tested.commit))


def measure(tested: Subject, given: argparse.Namespace) -> None:
    done = {(row.commit, row.name) for row in rows(given.half)}
    for case in cases(given.half, given.only):
        if given.again or (tested.commit, case.name) not in done:
            row = trial(tested, case)
            keep(row)
            print(shown(row) if case.half == "development" else f"{row.seconds:6.1f} s", flush=True)


if __name__ == "__main__":
    main()
