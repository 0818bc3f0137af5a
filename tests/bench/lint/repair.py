"""Measure how many ruff findings of the registry's rules are repaired and proved in packages from the registry of PyPI.

    python -m tests.bench.lint.repair FOLDER development|held-out [PACKAGE …]

downloads each source distribution below FOLDER, makes one environment there for all their tests, selects the rules of
`RULES` in its ruff settings, runs `coderefine fix` with default settings and a bound of five minutes, and prints a row.
The whole suite runs before and after: what changes is counted. Of the held-out packages only sums are printed, so that
their causes are not mended one by one. Run by hand; it takes half an hour.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tarfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coderefine.proposers.rewritings.registry import RULES

SECONDS = "300"
NEEDS = ("pytest", "pytest-lazy-fixtures", "hypothesis", "freezegun", "six", "wcwidth", "markupsafe", "email_validator")
MORE_NEEDS = ("lxml", "pytest-cov", "jsonpointer", "webencodings", "pytz", "attrs")
"""What the tests of the packages need."""
HALVES = {
    "development": ("mistune", "sqlparse", "tabulate", "prettytable", "pyflakes", "wtforms"),
    "held-out": ("python-dateutil", "tinycss2", "cssselect", "configobj", "xmltodict", "jsonpatch"),
}
WRITERS = ("D205", "D401")
"""Rules of which most findings need someone who writes a new sentence; their share is printed apart."""
ENV = {**os.environ, "GIT_AUTHOR_NAME": "b", "GIT_AUTHOR_EMAIL": "b@b", "GIT_COMMITTER_NAME": "b"}
ENV |= {"GIT_COMMITTER_EMAIL": "b@b"}


def run(*argv: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    found = {**ENV, "PYTHONPATH": os.pathsep.join((str(cwd / "src"), str(cwd), ENV.get("PYTHONPATH", "")))}
    return subprocess.run(argv, cwd=cwd, env=found, capture_output=True, text=True, check=False)


def unpacked(folder: Path, package: str) -> Path:
    """Return the source tree of a package, downloaded and unpacked below `folder`."""
    name = package.partition("[")[0]
    where, sdists = folder / name, folder / "sdists" / name
    if not where.exists():
        pip = (sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", name)
        run(*pip, "-d", str(sdists), package, cwd=folder)
        with tarfile.open(next(sdists.glob("*.tar.gz"))) as archive:
            archive.extractall(where, filter="data")
    return next(path for path in where.iterdir() if path.is_dir())


def commit(top: Path) -> None:
    """Make a repository of a source tree, with one commit of everything."""
    run("git", "init", "-q", cwd=top)
    run("git", "add", "-A", cwd=top)
    run("git", "commit", "-q", "-m", "start", cwd=top)


def install(top: Path, python: str) -> None:
    """Install a source tree as it is worked on: a dependency of the tests may have brought another copy of it."""
    run(python, "-m", "pip", "install", "-q", "--no-deps", "-e", ".", cwd=top)


def prepared(folder: Path, package: str, python: str) -> Path:
    """Return the source tree of a package as a repository with the rules selected."""
    top = unpacked(folder, package)
    if not (top / ".git").exists():
        for settings in (top / "ruff.toml", top / ".ruff.toml"):
            settings.unlink(missing_ok=True)
        rules = ", ".join(f'"{rule}"' for rule in RULES)
        (top / ".ruff.toml").write_text(f"line-length = 100\nlint.select = [{rules}]\nlint.preview = false\n")
        install(top, python)
        commit(top)
    return top


def findings(top: Path) -> Counter[str]:
    """Count ruff's findings outside of tests, by rule."""
    done = run("ruff", "check", "--exit-zero", "--output-format", "json", ".", cwd=top)
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return Counter(one["code"] for one in found if "test" not in one["filename"].removeprefix(str(top)))


def environment(folder: Path) -> str:
    """Return the interpreter of the environment for the tests."""
    python = folder / "environment" / "bin" / "python"
    if not python.exists():
        run(sys.executable, "-m", "venv", str(folder / "environment"), cwd=folder)
        run(str(python), "-m", "pip", "install", "-q", *NEEDS, *MORE_NEEDS, cwd=folder)
    return str(python)


def outcomes(top: Path, python: str) -> str:
    """Return the last line of pytest without the time."""
    done = run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=top)
    return (done.stdout.strip().splitlines() or ["nothing"])[-1].partition(" in ")[0]


@dataclass(frozen=True, slots=True)
class Result:
    """What became of the findings of one package. `broken`: the suite ends otherwise than before."""

    before: Counter[str]
    left: Counter[str]
    offered: int
    seconds: float
    broken: bool
    judged: bool
    """Whether coderefine could judge the package at all."""

    def share(self, *, without: tuple[str, ...] = ()) -> str:
        """Return the share of findings that were repaired and proved, except those of some rules."""
        found, left = (sum(n for rule, n in one.items() if rule not in without) for one in (self.before, self.left))
        return f"{found - left} of {found} ({100 * (found - left) / max(1, found):.0f} %)"

    def __str__(self) -> str:
        rest = self.left.total() - self.offered
        shares = f"{self.share()} repaired and proved, without {', '.join(WRITERS)} {self.share(without=WRITERS)}"
        counts = f"{shares}; {self.offered} offered, {rest} left"
        marks = f"{'; THE SUITE CHANGED' if self.broken else ''}{'' if self.judged else '; NOT ALL JUDGED'}"
        return f"{counts}; {self.seconds:.0f} s{marks}"


def measured(folder: Path, package: str, python: str) -> Result:
    top = prepared(folder, package, python)
    run("git", "checkout", "-q", ".", cwd=top)
    before, tests = findings(top), outcomes(top, python)
    began = time.monotonic()
    argv = (sys.executable, "-m", "coderefine", "fix", ".", "--gate", "pytest", "--gate", "ruff", "--no-model")
    done = run(*argv, "--timeout", SECONDS, "--python", python, "--format", "json", cwd=top)
    seconds = time.monotonic() - began
    (folder / f"{package}.json").write_text(done.stdout)
    (folder / f"{package}.err").write_text(done.stderr)
    report = json.loads(done.stdout or "{}")
    summaries = [one["summary"] for offer in report.get("offers", ()) for one in offer["alternatives"]]
    # A summary of one change begins with its place, that of several ones with their number.
    offered = sum(int(one.split()[0]) if one.split()[0].isdigit() else 1 for one in summaries)
    return Result(before, findings(top), offered, seconds, outcomes(top, python) != tests, bool(report))


def main(folder: Path, half: str, packages: list[str]) -> None:
    """Print a row for each package of the development half, and the sums."""
    folder.mkdir(parents=True, exist_ok=True)
    results, python = [], environment(folder)
    for package in packages or HALVES[half]:
        results.append(measured(folder, package, python))
        if half == "development":
            print(f"{package}: {results[-1]}", flush=True)
            print("   before", dict(results[-1].before.most_common()))
            print("   left  ", dict(results[-1].left.most_common()), flush=True)
    before = sum((one.before for one in results), Counter[str]())
    left = sum((one.left for one in results), Counter[str]())
    seconds = statistics.median(one.seconds for one in results)
    offered, broken = sum(one.offered for one in results), any(one.broken for one in results)
    total = Result(before, left, offered, seconds, broken, all(one.judged for one in results))
    print(f"{len(results)} packages: {total} (median)")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3:])
