"""The end of a run: why it stopped, what was proved, what is left."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from coderefine.core.attempts import Attempt
from coderefine.core.findings import Finding, Severity
from coderefine.core.offers import Offer
from coderefine.core.patches import Patch
from coderefine.core.spending import NOTHING, Cost


class Stop(str, Enum):
    """Why a run ended."""

    CLEAN = "clean"
    ITERATIONS = "iterations"
    BUDGET = "budget"
    NO_PROGRESS = "no-progress"
    CYCLE = "cycle"
    UNFIXABLE = "unfixable"
    ENVIRONMENT = "environment"
    INTERRUPTED = "interrupted"
    OFFERED = "offered"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was proved about the best attempt, and what was not. Test ids throughout.

    `changed`: answers near the tests that its repairs change besides those that were wrong, and all compared.
    `doubts`: why it is only plausible, although everything is green; none: it is proved.
    `ran`: how many tests the proof ran, and all there are; None where it ran them all.
    """

    flipped: tuple[str, ...] = ()
    kept: int = 0
    lost: tuple[str, ...] = ()
    flaky: tuple[str, ...] = ()
    covered: tuple[int, int] | None = None
    strength: tuple[int, int] | None = None
    isolation: str = ""
    alternatives: tuple[Patch, ...] = ()
    notes: tuple[str, ...] = ()
    changed: tuple[int, int] | None = None
    doubts: tuple[str, ...] = ()
    ran: tuple[int, int] | None = None

    @property
    def word(self) -> str:
        """What the patch is: `proved`, or only `plausible`."""
        return "plausible" if self.doubts else "proved"

    @property
    def proved_by(self) -> str:
        """Which tests prove it, in words; "" where all do."""
        if self.ran is None:
            return ""
        return "proved by {:,} of {:,} tests (--fast-proof): those that can reach the patch".format(*self.ran)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a run: best attempt (the baseline if nothing was better), reason, evidence, what is left.

    `suite_runs`: what all cold test runs took, in units of one run of the whole suite. `first_candidate`: seconds
    from the start of the offline search to its first judged candidate. `offers`: what may be right and is
    not written.
    """

    best: Attempt
    baseline: Attempt
    stop: Stop
    why: str = ""
    evidence: Evidence = Evidence()
    remaining: tuple[Finding, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    cost: Cost = NOTHING
    suite_runs: float | None = None
    first_candidate: float | None = None
    offers: tuple[Offer, ...] = ()

    @property
    def clean(self) -> bool:
        return not any(finding.severity is Severity.HARD for finding in self.remaining)
