"""Which tests are near others: what is known of a suite before any of it has been watched."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

ENOUGH = 600
"""Tests among which the servers choose; of larger suites they collect the nearest files only."""
WATCHED, CHEAP = 40, 0.2
"""Failing tests whose lines are watched, and seconds that they take together: more say little more, and before Python
3.12 a test takes about 20 times as long while it is watched."""
UNKNOWN = 0.02
"""Seconds of a test of which nothing is known."""


def nearest(failing: Sequence[str], tests: Iterable[str]) -> list[str]:
    """The other `tests`: parameters of the failing functions, then their classes, their files, files of like names."""
    names = set(failing)
    functions = {name.split("[")[0] for name in failing}
    classes = {function.rpartition("::")[0] for function in functions}
    files = {name.split("::")[0] for name in failing}
    words = {word for file in files for word in _words(file)}

    def distance(name: str) -> tuple[bool, bool, bool, int]:
        function, file = name.split("[", maxsplit=1)[0], name.split("::", maxsplit=1)[0]
        return (
            function not in functions,
            function.rpartition("::")[0] not in classes,
            file not in files,
            -len(words.intersection(_words(file))),
        )

    return sorted((name for name in tests if name not in names), key=distance)


def one_of_each(tests: Sequence[str]) -> list[str]:
    """`tests` with one parameter of each test function in front."""
    first: dict[str, str] = {}
    for name in tests:
        first.setdefault(name.split("[")[0], name)
    front = list(first.values())
    return [*front, *(name for name in tests if name not in set(front))]


def to_watch(failing: Sequence[str], seconds: Mapping[str, float]) -> list[str]:
    """Choose those of the `failing` tests whose lines are watched: see WATCHED. The quickest one in any case."""
    costs = {name: seconds.get(name, UNKNOWN) for name in one_of_each(failing)}
    chosen: list[str] = []
    room = CHEAP
    for name, cost in costs.items():
        if cost <= room and len(chosen) < WATCHED:
            chosen.append(name)
            room -= cost
    return chosen or sorted(costs, key=costs.__getitem__)[:1]


def files_near(failing: Sequence[str], tests: Sequence[str]) -> list[str] | None:
    """The test files to load for `failing`: theirs, and the nearest until there are `ENOUGH` tests; None for all."""
    if len(tests) <= ENOUGH:
        return None
    counts: dict[str, int] = {}
    for name in tests:
        counts[name.split("::")[0]] = counts.get(name.split("::")[0], 0) + 1
    found = dict.fromkeys(name.split("::")[0] for name in failing)
    total = sum(counts.get(file, 0) for file in found)
    for file in dict.fromkeys(name.split("::")[0] for name in nearest(failing, tests)):
        if total + counts[file] <= ENOUGH and file not in found:
            found[file] = None
            total += counts[file]
    return list(found)


def _words(file: str) -> set[str]:
    stem = file.rpartition("/")[2].removesuffix(".py")
    return {word for word in re.split(r"[_\W]+", stem) if word not in ("test", "tests", "")}
