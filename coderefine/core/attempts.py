"""One candidate and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from coderefine.core.cases import Case, Coverage
from coderefine.core.checks import Check
from coderefine.core.findings import Finding
from coderefine.core.patches import Patch
from coderefine.core.spending import NOTHING, Cost


@dataclass(frozen=True, slots=True)
class Verdict:
    """A yes or no with its reason."""

    ok: bool
    reason: str = ""

    def __bool__(self) -> bool:
        return self.ok


@dataclass(frozen=True, slots=True)
class Attempt:
    """One candidate and what became of it. Number 0 is the baseline: the empty patch."""

    number: int
    patch: Patch
    checks: tuple[Check, ...] = ()
    verdict: Verdict = Verdict(ok=True)
    cost: Cost = NOTHING

    def check(self, critic: str) -> Check | None:
        return next((check for check in self.checks if check.critic == critic), None)

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(finding for check in self.checks for finding in check.findings)

    @property
    def coverage(self) -> Coverage | None:
        """Lines that the tests ran; None when nobody recorded them."""
        return next((check.coverage for check in self.checks if check.coverage is not None), None)

    @property
    def cases(self) -> Mapping[str, Case]:
        check = next((check for check in self.checks if check.cases), None)
        return check.cases if check else {}

    @property
    def carried(self) -> frozenset[str]:
        """Ids among `cases` that were not run: their outcomes are the baseline's."""
        return frozenset[str]().union(*(check.carried for check in self.checks))
