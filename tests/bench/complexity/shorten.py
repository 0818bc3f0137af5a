"""Count the functions over a limit that the refactorings bring under it; nothing is proved here, no test runs.

python -m tests.bench.complexity.shorten LIMIT FILE...
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path
from statistics import median

from coderefine.critics.complexity import Complex, measure
from coderefine.proposers.refactorings.declared import Elsewhere
from coderefine.proposers.refactorings.files import identifiers, placed, written
from coderefine.proposers.refactorings.measures import COMPLEXITY
from coderefine.proposers.refactorings.sequence import shortened


def rank(complexity: int) -> str:
    return "C" if complexity <= 20 else "D to F"


def tried(text: str, function: Complex, limit: int, elsewhere: Elsewhere = lambda _: None) -> tuple[str, str | None]:
    """Return what became of a function, and the new text of its file if there is one."""
    place = placed(text, function.symbol, identifiers(text), function.first, elsewhere)
    if isinstance(place, str):
        return place, None
    draft = shortened(place.unit, {COMPLEXITY: limit})
    return ("nothing reads well", None) if draft is None else ("brought under", written(text, place, draft))


def main(limit: int, names: list[str]) -> None:
    ends: Counter[tuple[str, str]] = Counter()
    seconds, growth = [], []
    for name in names:
        text = Path(name).read_text()
        for function in measure(text, limit, 0).functions:
            began = time.process_time()
            end, new = tried(text, function, limit)
            seconds.append(time.process_time() - began)
            ends[rank(function.value), end] += 1
            if new is not None:
                growth.append(new.count("\n") - text.count("\n"))
    for (letter, end), count in sorted(ends.items()):
        print(f"rank {letter}: {count} {end}")
    if growth:
        print(f"median: {median(seconds):.2f} s a function, {median(growth):g} lines more")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
