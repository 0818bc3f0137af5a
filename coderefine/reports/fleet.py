"""The report of a fleet: one line for each repository, a table and a page."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from coderefine.config import masked
from coderefine.core.plurals import counted
from coderefine.reports.html import page_environment

FAILED, INTERRUPTED = "failed", "interrupted"


@dataclass(frozen=True, slots=True)
class FleetResult:
    """How the run in one repository ended.

    `location`: a path or URL, as in the list. `status`: one word, such as `fixed`. `detail`: more about it. `code`: the
    exit code. `usd`: the cost of the run in dollars, or its maximum if the cost is unknown. `run`: the run's name in
    the repository's journal. `patch`: the file with the run's patch; "" for none.
    """

    location: str
    status: str = FAILED
    detail: str = ""
    code: int = 2
    seconds: float = 0.0
    usd: float = 0.0
    run: str = ""
    patch: str = ""

    @property
    def name(self) -> str:
        """Return a name for files of this repository: readable, and different for each location."""
        last = re.split(r"[/:]", self.location.rstrip("/"))[-1].removesuffix(".git")
        return f"{re.sub(r'[^A-Za-z0-9._-]', '_', last)}-{hashlib.sha256(self.location.encode()).hexdigest()[:8]}"


def line(result: FleetResult, width: int) -> str:
    """Return a line such as `fixed      ../shop    1.2 s  shop.py`. `width`: the width of the column of locations."""
    cost = f"  ${result.usd:.4f}" if result.usd else ""
    detail = " ".join(result.detail.split())[:160]
    return f"{result.status:11} {masked(result.location):{width}} {result.seconds:7.1f} s{cost}  {detail}".rstrip()


def table(results: Sequence[FleetResult], width: int) -> str:
    """Return a line for each result, failures last, and then the number of results by status."""
    counts = Counter(one.status for one in results)
    lines = [line(one, width) for one in sorted(results, key=lambda one: (one.code, one.status))]
    return "\n".join(("", *lines, f"{counted(len(results), 'run')}: {totals(counts)}"))


def totals(counts: Counter[str]) -> str:
    return ", ".join(f"{number} {status}" for status, number in counts.most_common())


def page(results: Sequence[FleetResult], linked: Collection[str]) -> str:
    """Return the page about a fleet. `linked`: names of results whose runs have a page in the folder `pages`."""
    environment = page_environment()
    environment.filters |= {"masked": masked}
    template = environment.get_template("fleet.html")
    return template.render(results=results, linked=linked, totals=totals(Counter(one.status for one in results)))
