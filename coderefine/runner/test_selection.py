"""Order tests by how near they are to the failing tests, judged by their names only."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from coderefine.core import without_parameters

ENOUGH = 600
"""Number of tests up to which the servers collect the whole suite; of a larger suite, only the nearest files."""
WATCHED, CHEAP = 40, 0.2
"""Maximum number, and total seconds, of the failing tests whose lines are traced.

More tests give little further information, and before Python 3.12 a traced test takes about 20 times as long.
"""
UNKNOWN = 0.02
"""Assumed duration in seconds of a test whose duration is unknown."""


def nearest(failing: Sequence[str], tests: Iterable[str]) -> list[str]:
    """Return `tests` without `failing`, nearest first: same function, same class, same file, similar file names."""
    names = set(failing)
    functions = set(map(without_parameters, failing))
    classes = {function.rpartition("::")[0] for function in functions}
    files = set(files_of(failing))
    words = {word for file in files for word in _words(file)}

    def distance(name: str) -> tuple[bool, bool, bool, int]:
        function, file = without_parameters(name), name.partition("::")[0]
        return (
            function not in functions,
            function.rpartition("::")[0] not in classes,
            file not in files,
            -len(words.intersection(_words(file))),
        )

    return sorted((name for name in tests if name not in names), key=distance)


def one_of_each(tests: Sequence[str]) -> list[str]:
    """Return `tests` in another order: first one parameter set of each test function, then the others."""
    first: dict[str, str] = {}
    for name in tests:
        first.setdefault(without_parameters(name), name)
    front = dict.fromkeys(first.values())
    return [*front, *(name for name in tests if name not in front)]


def to_watch(failing: Sequence[str], seconds: Mapping[str, float]) -> list[str]:
    """Select the `failing` tests whose lines are traced (see WATCHED), at least the fastest one."""
    costs = {name: seconds.get(name, UNKNOWN) for name in one_of_each(failing)}
    return within(costs, costs, CHEAP)[:WATCHED] or sorted(costs, key=costs.__getitem__)[:1]


def within(tests: Iterable[str], seconds: Mapping[str, float], room: float) -> list[str]:
    """Return the `tests` that take at most `room` seconds together, in their order, without those that do not fit."""
    chosen: list[str] = []
    for name in tests:
        if seconds[name] <= room:
            chosen.append(name)
            room -= seconds[name]
    return chosen


def files_of(tests: Iterable[str]) -> list[str]:
    """Return the files of the `tests`, each once, in their order."""
    return list(dict.fromkeys(name.partition("::")[0] for name in tests))


def files_near(failing: Sequence[str], tests: Sequence[str]) -> list[str] | None:
    """Return the test files to load: those of `failing` and the nearest others, up to ENOUGH tests; None for all."""
    if len(tests) <= ENOUGH:
        return None
    counts = Counter(name.partition("::")[0] for name in tests)
    found = files_of(failing)
    total = sum(counts[file] for file in found)
    for file in files_of(nearest(failing, tests)):
        if total + counts[file] <= ENOUGH and file not in found:
            found.append(file)
            total += counts[file]
    return found


def _words(file: str) -> set[str]:
    stem = file.rpartition("/")[2].removesuffix(".py")
    return {word for word in re.split(r"[_\W]+", stem) if word not in ("test", "tests", "")}
