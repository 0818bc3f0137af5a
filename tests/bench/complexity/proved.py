"""Measure how many functions over radon's limit are brought under it and proved in packages from the registry of PyPI.

    python -m tests.bench.complexity.proved FOLDER development|held-out [PACKAGE …]

downloads each source distribution below FOLDER, makes one environment there for all their tests, runs `coderefine fix
--gate pytest --gate radon` with default settings and a bound of five minutes, and prints what became of the functions.
Of the held-out packages only sums are printed, so that their causes are not mended one by one. What was written and
what was offered is kept below FOLDER as NAME.diff and NAME.json. Run by hand; it takes half an hour.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from coderefine.critics.complexity import Complex, measure
from tests.bench.complexity.shorten import rank
from tests.bench.lint.repair import HALVES, SECONDS, commit, environment, install, outcomes, run, unpacked

LIMIT = 10
Over = Mapping[tuple[str, str], Complex]


@dataclass(frozen=True)
class Row:
    """What became of the functions over the limit of one package, or of several."""

    ends: Counter[tuple[str, str]] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    growth: list[float] = field(default_factory=list)
    tests: list[str] = field(default_factory=list)

    def add(self, other: Row) -> None:
        self.ends.update(other.ends)
        self.seconds.extend(other.seconds)
        self.growth.extend(other.growth)
        self.tests.extend(other.tests)

    def __str__(self) -> str:
        parts = []
        for letter in ("C", "D to F"):
            counts = {end: self.ends[letter, end] for end in ("proved", "offered", "left")}
            total = sum(counts.values())
            share = f" ({counts['proved'] / total:.0%} proved)" if total else ""
            parts.append(f"rank {letter}: {total} over, {', '.join(f'{n} {end}' for end, n in counts.items())}{share}")
        if self.seconds:
            parts.append(f"median {median(self.seconds):.1f} CPU-s a function")
        if self.growth:
            parts.append(f"median growth {median(self.growth):+.1%} of the lines")
        return "; ".join((*parts, *self.tests))


def over(texts: Mapping[str, str]) -> Over:
    """Return the functions over the limit by file and name."""
    return {(path, one.symbol): one for path, text in texts.items() for one in measure(text, LIMIT, 0).functions}


def sources(top: Path) -> dict[str, str]:
    """Return the Python files that are no tests, documents, or tools."""
    names = run("git", "ls-files", "*.py", cwd=top).stdout.split("\n")
    apart = ("test", "doc", "bench", "tool", "example", "setup.py", "conftest", "script", "updatezinfo")
    kept = (name for name in names if name and not any(word in name for word in apart))
    return {name: (top / name).read_text("utf-8", "replace") for name in kept}


def offers(report: Mapping[str, Any]) -> Iterator[Mapping[str, str]]:
    """Yield the files that each offered patch changes."""
    for offer in report.get("offers", ()):
        for one in offer["alternatives"]:
            yield {file["path"]: file["text"] for file in one["patch"] if file.get("text")}


def growths(
    before: Mapping[str, str], after: Mapping[str, str], done: list[tuple[str, str]], all_over: Over
) -> Iterator[float]:
    """Yield by how much each function grew, with its file's others: a share of their lines that are not blank."""
    for path, _ in done:
        first, second = ([bool(line.strip()) for line in text[path].split("\n")] for text in (before, after))
        brought = [all_over[key] for key in done if key[0] == path]
        yield (sum(second) - sum(first)) / sum(sum(first[one.first - 1 : one.last]) for one in brought)


def measured(folder: Path, package: str, python: str) -> Row:
    top = unpacked(folder, package)
    if not (top / ".git").exists():
        install(top, python)
        commit(top)
    run("git", "checkout", "-q", ".", cwd=top)
    texts, tests = sources(top), outcomes(top, python)
    before = over(texts)
    began, clock = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    argv = (sys.executable, "-m", "coderefine", "fix", *sorted(texts), "--gate", "pytest", "--gate", "radon")
    done = run(*argv, "--no-model", "--timeout", SECONDS, "--python", python, "--format", "json", cwd=top)
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime
    (folder / f"{package}.json").write_text(done.stdout)
    (folder / f"{package}.err").write_text(f"{done.stderr}\n{done.returncode}, {time.monotonic() - clock:.0f} s\n")
    (folder / f"{package}.diff").write_text(run("git", "diff", cwd=top).stdout)
    after = sources(top)
    left = over(after)
    offered = {
        key
        for patch in offers(json.loads(done.stdout or "{}"))
        for key in left.keys() - over({**after, **patch}).keys()
    }
    now = outcomes(top, python)
    row = Row(tests=[f"{package}: tests {tests} → {now}"] * (tests != now))
    for key, one in before.items():
        end = "proved" if key not in left else "offered" if key in offered else "left"
        row.ends[rank(one.value), end] += 1
        row.seconds.append(used / len(before))
    row.growth.extend(growths(texts, after, [key for key in before if key not in left], before))
    return row


def main(folder: Path, half: str, packages: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    every, python = Row(), environment(folder)
    for package in packages or HALVES[half]:
        row = measured(folder, package, python)
        every.add(row)
        if half == "development":
            print(f"{package}: {row}", flush=True)
    print(every)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3:])
