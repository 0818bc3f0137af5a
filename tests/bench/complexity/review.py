"""Draw results at random for a reader who is asked only "would you accept this in review?"; nothing is proved here.

    python -m tests.bench.complexity.review drafts OUT.json TREE…
    python -m tests.bench.complexity.review draw OUT.json SEED COUNT > RESULTS.txt
    python -m tests.bench.complexity.review pairs OLD.json NEW.json SEED COUNT > PAIRS.txt

`drafts` stores a diff for each function over the limit in source trees that are git repositories. Run it with the code
of two commits; `pairs` then shows both diffs of the same functions in random order, and tells which is which on stderr.
"""

from __future__ import annotations

import difflib
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path

from coderefine.critics.complexity import measure
from coderefine.proposers.refactorings.declared import ProjectTypes
from coderefine.proposers.refactorings.files import python_files
from tests.bench.complexity.proved import LIMIT, sources
from tests.bench.complexity.shorten import tried

Diffs = dict[str, str]
"""The diff of each function, "" if there is no draft, by a text that names it."""
CONTEXT = 12


def drafted(top: Path) -> Iterator[tuple[str, str]]:
    types = ProjectTypes(python_files(top) or ())
    for name, text in sources(top).items():
        for function in measure(text, LIMIT, 0).functions:
            after = (tried(text, function, LIMIT, types)[1] or text).splitlines(keepends=True)
            diff = "".join(difflib.unified_diff(text.splitlines(keepends=True), after, name, name, n=CONTEXT))
            yield f"{top.name} {name} {function.symbol} (complexity {function.value})", diff


def read(path: str) -> Diffs:
    return dict(json.loads(Path(path).read_text()))


def draw(diffs: Diffs, seed: str, count: str) -> None:
    names = [name for name, diff in diffs.items() if diff]
    for number, name in enumerate(random.Random(seed).sample(names, min(int(count), len(names))), 1):
        print(f"===== RESULT {number}: {name}\n{diffs[name]}")


def pairs(old: Diffs, new: Diffs, seed: str, count: str) -> None:
    chance = random.Random(seed)
    names = [name for name, diff in old.items() if diff and new.get(name) and diff != new[name]]
    key = []
    for number, name in enumerate(chance.sample(names, min(int(count), len(names))), 1):
        both = [("old", old[name]), ("new", new[name])]
        chance.shuffle(both)
        key.append(f"{number}: A is {both[0][0]}")
        print(f"===== PAIR {number}: {name}\n--- VERSION A\n{both[0][1]}\n--- VERSION B\n{both[1][1]}")
    print("\n".join(key), file=sys.stderr)


def main(command: str, *args: str) -> None:
    if command == "drafts":
        found = dict(one for top in args[1:] for one in drafted(Path(top).resolve()))
        Path(args[0]).write_text(json.dumps(found))
        print(f"{len(found)} functions over {LIMIT}, {sum(map(bool, found.values()))} drafts")
    elif command == "draw":
        draw(read(args[0]), *args[1:])
    else:
        pairs(read(args[0]), read(args[1]), *args[2:])


if __name__ == "__main__":
    main(*sys.argv[1:])
