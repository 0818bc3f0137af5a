"""Long tables: a few cases always run, the others when asked for (`-m "not slow"`, as `.ci/run` does)."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from _pytest.mark import ParameterSet


def few(cases: Iterable[object], *always: str) -> list[ParameterSet]:
    """`cases` for `parametrize`, each with its name (`str`) as id; all but those called `always` are thorough.

    Raises:
        ValueError: No case has one of these names.
    """
    named = {str(case): case for case in cases}
    if unknown := set(always) - set(named):
        raise ValueError(f"no case is called {sorted(unknown)}")
    return [
        pytest.param(case, id=name, marks=() if name in always else pytest.mark.thorough)
        for name, case in named.items()
    ]


def every(step: int, cases: Iterable[object]) -> list[ParameterSet]:
    """`cases` for `parametrize`, a tuple's items apart; all but the first of each `step` are thorough."""
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.thorough if at % step else ())
        for at, case in enumerate(cases)
    ]
