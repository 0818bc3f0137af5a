"""At which place does the search try the original text? Measured on the slips of real projects; judges no candidate.

    python -m tests.bench.real.ranks [--half held-out] [--only NAME] [--slips N] [--seed S] [--report] [--misses]

What the failing tests of a slip show (search/observation.py) is traced once, as `fix` traces it, and kept below the
system's temporary folder; `--report` ranks what is there with the code as it is now, in about a second a slip. `site`:
the place of the faulty statement among the suspicious ones; `rank`: that of the original text among the candidates (as
the bytecode shows it, so that an equal one counts). `mean log`: the mean natural logarithm of the rank, where a
candidate that is not among the first MOST counts as MOST.
"""

from __future__ import annotations

import gzip
import math
import pickle
from dataclasses import dataclass
from pathlib import Path

from coderefine.core import Case, Situation, Views
from coderefine.errors import RunnerError
from coderefine.proposers.search import ALONE, Search
from coderefine.proposers.search.enumeration import Code, Enumeration, essence
from coderefine.proposers.search.observation import Observation, ranked
from coderefine.proposers.search.validate import Clock
from coderefine.runner.cold_pool import AnyPool
from tests.bench.confidence.gather import searched
from tests.bench.real.__main__ import name
from tests.bench.real.options import arguments
from tests.bench.real.projects import CACHE, Project, chosen, locked, restore
from tests.bench.real.slips import Slip, accepted
from tests.bench.real.trials import faulty

MOST = 1000
"""Number of candidates that are generated for a slip."""


class Tracing(Search):
    """A search that ends once the tests are observed."""

    seen: Observation | None = None
    situation: Situation | None = None

    def _observation(
        self, situation: Situation, views: Views, pool: AnyPool, failing: list[Case], clock: Clock
    ) -> Observation:
        self.situation = situation
        self.seen = super()._observation(situation, views, pool, failing, clock)
        raise RunnerError("it is observed")


@dataclass(frozen=True)
class Rank:
    """Places, from 1; 0 where it is not there. `better`: the candidates that are tried first."""

    slip: Slip
    site: int
    rank: int
    better: tuple[str, ...] = ()


def traced(project: Project, slip: Slip) -> Observation | None:
    if not stored(slip).exists():
        stored(slip).parent.mkdir(exist_ok=True)
        with locked(project):
            faulty(project, slip)
            search, _, _ = searched(project.top, ALONE, Tracing)
            stored(slip).write_bytes(gzip.compress(pickle.dumps(search.seen)))
            restore(project)
    found: Observation | None = pickle.loads(gzip.decompress(stored(slip).read_bytes()))
    return found


def stored(slip: Slip) -> Path:
    return CACHE / "observations" / f"{slip.id}.pickle.gz"


def rank(project: Project, slip: Slip, seen: Observation | None) -> Rank:
    if seen is None:
        return Rank(slip, 0, 0)
    sites, _ = ranked(seen)
    path, line = slip.fault.path, slip.fault.line
    faulty_ones = (
        at for at, one in enumerate(sites, 1) if one.module.path == path and one.module.by_line.get(line) is one.stmt
    )
    place = next(faulty_ones, 0)
    original = _compiled((project.pristine / path).read_text("utf-8"))
    better: list[str] = []
    for number, proposed in zip(range(1, MOST + 1), Enumeration(sites), strict=False):
        if proposed.path == path and _compiled(proposed.text) == original:
            return Rank(slip, place, number, tuple(better))
        if number <= 12:
            scored = proposed.scored
            module, (part, *_) = scored.site.module, scored.edit.parts
            old = module.text[part.start : part.end]
            better.append(f"{scored.score:.2f} {scored.operator.name} {scored.place} {old!r:.40} -> {part.text!r:.60}")
    return Rank(slip, place, 0, tuple(better))


def _compiled(text: str) -> Code | None:
    try:
        return essence(compile(text, "<file>", "exec", dont_inherit=True))
    except SyntaxError:
        return None


def shown(found: list[Rank]) -> str:
    logs = [math.log(one.rank or MOST) for one in found]
    firsts = " ".join(f"first {most}: {sum(0 < one.rank <= most for one in found)}" for most in (1, 10, 50, 200, MOST))
    return f"{len(found)} slips, {firsts}, mean log {sum(logs) / max(len(logs), 1):.2f}"


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--slips", type=int, default=6, metavar="N", help="of each project (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--misses", action="store_true", help="print what is tried first where the original is late")
    given = parser.parse_args()
    found: list[Rank] = []
    for project in chosen(given.only, given.half):
        mine = []
        for slip in accepted(project, given.slips, given.seed):
            if given.report and not stored(slip).exists():
                continue
            mine.append(rank(project, slip, traced(project, slip)))
            if given.half == "development":
                print(f"site {mine[-1].site:4} rank {mine[-1].rank:5}  {slip.shown}", flush=True)
                if given.misses and not 0 < mine[-1].rank <= 20:
                    print("".join(f"            {line}\n" for line in mine[-1].better), end="")
        if mine:
            print(f"{name(project)}: {shown(mine)}", flush=True)
        found += mine
    print(shown(found))


if __name__ == "__main__":
    main()
