"""Execute the examples (`>>>`) in the docstrings of modules: they document results that tests may not check."""

from __future__ import annotations

import doctest
import itertools
import os
import signal
import sys
import time
from collections.abc import Iterable
from typing import Any

MOST = 200
"""Maximum number of examples."""
KEPT, BROKEN = "kept", "!broken"
"""Codes of an example with the documented result, and of an example with another result."""
LONGEST = 0.1
"""CPU seconds that the examples of one docstring may take."""


def examples_of(names: Iterable[str]) -> list[doctest.DocTest]:
    """Return the docstrings with examples in the loaded modules `names`, with at most MOST examples together."""
    finder, found = doctest.DocTestFinder(), []
    for module in map(sys.modules.get, sorted(names)):
        found += [test for test in finder.find(module) if test.examples] if module else []
    totals = itertools.accumulate(len(test.examples) for test in found)
    return [test for test, total in zip(found, totals, strict=False) if total <= MOST]


def broken(tests: list[doctest.DocTest]) -> list[str]:
    """Return the codes of all examples for a program that crashes."""
    return [BROKEN] * sum(len(test.examples) for test in tests)


def codes(tests: list[doctest.DocTest], until: float) -> list[str]:
    """Return a code for each example of `tests`; BROKEN for docstrings that have not begun at `until` (monotonic)."""
    runner = _Runner(verbose=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    before = signal.signal(signal.SIGPROF, _ring)
    done: list[str] = []
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        for test in tests:
            runner.codes = []
            if time.monotonic() < until:
                signal.setitimer(signal.ITIMER_PROF, LONGEST)
                try:
                    runner.run(test, out=nowhere.write)
                except Exception:  # of a __repr__ or display hook of the project: the rest counts as broken
                    runner.codes.append(BROKEN)
                finally:
                    signal.setitimer(signal.ITIMER_PROF, 0)
            done += [*runner.codes, *[BROKEN] * len(test.examples)][: len(test.examples)]
    signal.signal(signal.SIGPROF, before)
    return done


def _ring(_number: int, _frame: object) -> None:
    raise TimeoutError


class _Runner(doctest.DocTestRunner):
    """Stores a code for each example, in place of reporting the example."""

    codes: list[str]

    def report_success(self, *_: Any) -> None:
        self.codes.append(KEPT)

    def report_failure(self, *_: Any) -> None:
        self.codes.append(BROKEN)

    def report_unexpected_exception(self, *_: Any) -> None:
        self.codes.append(BROKEN)
