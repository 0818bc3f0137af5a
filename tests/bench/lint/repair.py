"""Measure how many ruff findings of the registry's rules are repaired and proved in packages from the registry of PyPI.

    python -m tests.bench.lint.repair FOLDER PACKAGE …

downloads each source distribution below FOLDER (its tests must need no more than coderefine's own environment has),
selects the rules of `RULES` in its ruff settings, runs `coderefine fix` with default settings, and prints a row. The
whole suite runs before and after: what changes is counted. Run by hand; it takes minutes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from coderefine.proposers.rewritings.registry import RULES

ENV = {**os.environ, "GIT_AUTHOR_NAME": "b", "GIT_AUTHOR_EMAIL": "b@b", "GIT_COMMITTER_NAME": "b"}
ENV["GIT_COMMITTER_EMAIL"] = "b@b"


def run(*argv: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    found = {**ENV, "PYTHONPATH": os.pathsep.join((str(cwd / "src"), str(cwd), ENV.get("PYTHONPATH", "")))}
    return subprocess.run(argv, cwd=cwd, env=found, capture_output=True, text=True, check=False)


def prepared(folder: Path, package: str) -> Path:
    """Return the source tree of a package as a repository, with an environment and with the rules selected."""
    name = package.partition("[")[0]
    where = folder / name
    if not where.exists():
        pip = (sys.executable, "-m", "pip")
        run(
            *pip,
            "download",
            "-q",
            "--no-deps",
            "--no-binary",
            ":all:",
            "-d",
            str(folder / "sdists" / name),
            name,
            cwd=folder,
        )
        with tarfile.open(next((folder / "sdists" / name).glob("*.tar.gz"))) as archive:
            archive.extractall(where, filter="data")
    top = next(path for path in where.iterdir() if path.is_dir())
    if not (top / ".git").exists():
        for settings in (top / "ruff.toml", top / ".ruff.toml"):
            settings.unlink(missing_ok=True)
        rules = ", ".join(f'"{rule}"' for rule in RULES)
        (top / ".ruff.toml").write_text(f"line-length = 100\nlint.select = [{rules}]\nlint.preview = false\n")
        run("git", "init", "-q", cwd=top)
        run("git", "add", "-A", cwd=top)
        run("git", "commit", "-q", "-m", "start", cwd=top)
    return top


def findings(top: Path) -> Counter[str]:
    """Count ruff's findings outside of tests, by rule."""
    done = run("ruff", "check", "--exit-zero", "--output-format", "json", ".", cwd=top)
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return Counter(one["code"] for one in found if "test" not in one["filename"].removeprefix(str(top)))


def outcomes(top: Path) -> str:
    """Return the last line of pytest without the time."""
    done = run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=top)
    return (done.stdout.strip().splitlines() or ["nothing"])[-1].partition(" in ")[0]


def main(folder: Path, packages: list[str]) -> None:
    """Print a row for each package."""
    folder.mkdir(parents=True, exist_ok=True)
    for package in packages:
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
        after = findings(top)
        offered = sum(
            int(one["summary"].split()[0]) if one["summary"].split()[0].isdigit() else 1
            for offer in report.get("offers", ())
            for one in offer["alternatives"]
        )
        repaired = before.total() - after.total()
        print(
            f"{package}: {before.total()} findings, {repaired} repaired and proved, {offered} offered, "
            f"{after.total() - offered} left; {seconds:.0f} s; tests {tests} → {outcomes(top)}"
        )
        print("   before", dict(before.most_common()))
        print("   left  ", dict(after.most_common()), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
