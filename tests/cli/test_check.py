"""`coderefine check`: when it may say that all is well."""

from __future__ import annotations

import pytest

from coderefine.cli.check import passed
from coderefine.core import Check, Finding, Severity

HARD = Finding("ruff", "F401", "a.py", "unused")
SOFT = Finding("ruff", "F401", "b.py", "unused", severity=Severity.SOFT)


@pytest.mark.parametrize(
    ("checks", "well"),
    [
        ((), False),
        ((Check("pytest"), Check("ruff")), True),
        ((Check("ruff", (SOFT,)),), True),
        ((Check("pytest"), Check("ruff", (HARD,))), False),
        ((Check("pytest", (SOFT,), complete=False),), False),
    ],
)
def test_a_check_passes_when_every_gate_is_clean_and_has_seen_everything(
    checks: tuple[Check, ...],
    well: bool,
) -> None:
    assert passed(checks) is well
