"""Send a tree of many files to a worker, then again after a change of a few; print bytes and seconds.

python -m tests.bench.cluster.tree --files 10000 --changed 10
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from pathlib import Path

from coderefine.cluster.client import connect
from coderefine.cluster.trees import TreeStore
from coderefine.cluster.workers import Workers
from tests.support.dask import Dask, open_cluster

WORDS = ("if", "return", "while", "price", "total", "order", "amount", "list", "dict", "none", "import", "class", "def")


def make_tree(top: Path, files: int) -> None:
    """Write files of 2 KB, 100 in a folder; their text is as random as that of programs."""
    chance = random.Random(1)
    for number in range(files):
        path = top / f"p{number // 100}" / f"m{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = (" ".join(f"{chance.choice(WORDS)}_{chance.randrange(500)}" for _ in range(6)) for _ in range(28))
        path.write_text("\n".join(lines))


def sent(dask: Dask, top: Path) -> tuple[int, dict[str, float]]:
    """Bring the tree to the worker and write its files there; return the bytes sent and the seconds of each step."""
    os.environ["XDG_CACHE_HOME"] = dask.env["XDG_CACHE_HOME"]
    store, took = TreeStore(), {}
    with connect(dask.address) as client:
        workers = Workers(client)
        (address,) = workers.alive()
        began = time.monotonic()
        tree = store.add(top, "bench")
        took["read here"] = time.monotonic() - began
        size, began = len(store.pack(tree, dask.trees("one"))), time.monotonic()
        assert workers.send(store, tree, {address: ("", "")}) == [address], workers.out
        took["send"], began = time.monotonic() - began, time.monotonic()
        workers.submit(address, checkout, tree).result(600.0)
        took["write there"] = time.monotonic() - began
    return size, took


def checkout(tree: str) -> None:
    TreeStore().checkout(tree)


def main() -> None:
    """Send the tree three times: all of it, what changed, and nothing."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--files", type=int, default=10_000)
    asked.add_argument("--changed", type=int, default=10)
    given = asked.parse_args()
    with tempfile.TemporaryDirectory(prefix="cluster-tree-") as folder:
        top = Path(folder) / "tree"
        make_tree(top, given.files)
        size = sum(path.stat().st_size for path in top.rglob("*.py"))
        print(f"{given.files} files, {size / 1e6:.1f} MB")
        with open_cluster(Path(folder) / "dask", ("one",)) as dask:
            for changed in (given.files, given.changed, 0):
                chosen = sorted(top.rglob("*.py"))[:: given.files // changed] if 0 < changed < given.files else ()
                for path in chosen:
                    path.write_text(path.read_text() + "\nchanged = True\n")
                size, took = sent(dask, top)
                steps = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in took.items())
                print(f"{changed} changed: {size} bytes; {steps}; {sum(took.values()):.2f} s", flush=True)


if __name__ == "__main__":
    main()
