"""Measure how many ruff findings of the registry's rules are repaired and proved in packages from the registry of PyPI.

    python -m tests.bench.lint.repair FOLDER [--sums] PACKAGE …

downloads each source distribution below FOLDER (its tests must need no more than coderefine's own environment has),
selects the rules of `RULES` in its ruff settings, runs `coderefine fix` with default settings, and prints a row. The
whole suite runs before and after: what changes is counted. `--sums` prints only sums, for packages that nobody should
look at. Run by hand; it takes minutes.
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

ENV = {**os.environ, "GIT_AUTHOR_NAME": "b", "GIT_AUTHOR_EMAIL": "b@b", "GIT_COMMITTER_NAME": "b"}
ENV |= {"GIT_COMMITTER_EMAIL": "b@b", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
"""Plug-ins of coderefine's environment would fail where the package turns warnings into errors."""


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


def prepared(folder: Path, package: str) -> Path:
    """Return the source tree of a package as a repository with the rules selected."""
    top = unpacked(folder, package)
    if not (top / ".git").exists():
        for settings in (top / "ruff.toml", top / ".ruff.toml"):
            settings.unlink(missing_ok=True)
        rules = ", ".join(f'"{rule}"' for rule in RULES)
        (top / ".ruff.toml").write_text(f"line-length = 100\nlint.select = [{rules}]\nlint.preview = false\n")
        commit(top)
    return top


def findings(top: Path) -> Counter[str]:
    """Count ruff's findings outside of tests, by rule."""
    done = run("ruff", "check", "--exit-zero", "--output-format", "json", ".", cwd=top)
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return Counter(one["code"] for one in found if "test" not in one["filename"].removeprefix(str(top)))


def outcomes(top: Path, python: str = sys.executable) -> str:
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

    @property
    def repaired(self) -> int:
        return self.before.total() - self.left.total()

    def __str__(self) -> str:
        found = self.before.total()
        rest = self.left.total() - self.offered
        counts = f"{found} findings, {self.repaired} repaired and proved, {self.offered} offered, {rest} refused"
        marks = f"{'; THE SUITE CHANGED' if self.broken else ''}{'' if self.judged else '; NOT ALL JUDGED'}"
        return f"{counts}; {self.seconds:.0f} s{marks}"


def measured(folder: Path, package: str) -> Result:
    top = prepared(folder, package)
    run("git", "checkout", "-q", ".", cwd=top)
    before, tests = findings(top), outcomes(top)
    began = time.monotonic()
    argv = (sys.executable, "-m", "coderefine", "fix", ".", "--gate", "pytest", "--gate", "ruff", "--no-model")
    done = run(*argv, "--python", sys.executable, "--format", "json", cwd=top)
    seconds = time.monotonic() - began
    (folder / f"{package}.json").write_text(done.stdout)
    (folder / f"{package}.err").write_text(done.stderr)
    report = json.loads(done.stdout or "{}")
    summaries = [one["summary"] for offer in report.get("offers", ()) for one in offer["alternatives"]]
    # A summary of one change begins with its place, that of several ones with their number.
    offered = sum(int(one.split()[0]) if one.split()[0].isdigit() else 1 for one in summaries)
    return Result(before, findings(top), offered, seconds, outcomes(top) != tests, bool(report))


def main(folder: Path, packages: list[str], *, sums: bool) -> None:
    """Print a row for each package unless `sums`, and the sums."""
    folder.mkdir(parents=True, exist_ok=True)
    results = []
    for package in packages:
        results.append(measured(folder, package))
        if not sums:
            print(f"{package}: {results[-1]}", flush=True)
            print("   before", dict(results[-1].before.most_common()))
            print("   left  ", dict(results[-1].left.most_common()), flush=True)
    seconds = statistics.median(one.seconds for one in results)
    before = sum((one.before for one in results), Counter[str]())
    left = sum((one.left for one in results), Counter[str]())
    offered, broken = sum(one.offered for one in results), any(one.broken for one in results)
    total = Result(before, left, offered, seconds, broken, all(one.judged for one in results))
    print(f"{len(results)} packages: {total} (median); {100 * total.repaired / max(1, before.total()):.0f} % proved")


if __name__ == "__main__":
    main(Path(sys.argv[1]), [one for one in sys.argv[2:] if one != "--sums"], sums="--sums" in sys.argv)
