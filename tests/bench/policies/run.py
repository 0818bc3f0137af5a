"""Compares the policies at an equal token budget: `python -m tests.bench.policies.run [--cases N] [--tokens N]`.

A scripted model over real HTTP is right with probability p per sample; see luck.py for what it does otherwise. The
loop, the judge, the prompts, the client and its budget are the real ones; arena.py runs the tests in this process.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from coderefine.config import POLICIES
from tests.bench.policies.arena import TESTS, Arena, module
from tests.bench.policies.luck import START, Luck, current, edit, wanted
from tests.support.llm_server import LlmServer, Reply, Seen
from tests.support.repo import write

CHANCES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
LINES = 300


@dataclass(frozen=True)
class Score:
    """One policy at one p over `cases` runs; `after` counts requests that came after the right answer."""

    policy: str
    chance: float
    cases: int
    solved: int
    tokens: int
    after: int

    @property
    def per_solved(self) -> float:
        return self.tokens / self.solved if self.solved else float("inf")


@dataclass(frozen=True)
class Terms:
    """`cases` runs per policy and p, of `tokens` each. `single`: the server gives one answer per request."""

    cases: int
    tokens: int
    chances: Sequence[float] = CHANCES
    seed: int = 1
    single: bool = False


def compare(terms: Terms) -> list[Score]:
    """Every policy at every p, with the same luck."""
    luck = Luck(terms.seed, terms.single)
    files = {"tariff.py": module(12), "test_tariff.py": TESTS}
    with tempfile.TemporaryDirectory() as folder, LlmServer(luck) as server:
        write(Path(folder), files)
        arena = Arena(Path(folder), server.url, files)
        return [_score(arena, luck, policy, p, terms) for p in terms.chances for policy in POLICIES]


def _score(arena: Arena, luck: Luck, policy: str, chance: float, terms: Terms) -> Score:
    names = [f"{policy}/{chance}/{number}" for number in range(terms.cases)]
    ended = [arena.play(name, policy, terms.tokens) for name in names]
    spent = sum(one.spent.tokens for one in ended)
    after = sum(luck.cases[name].after for name in names)
    return Score(policy, chance, terms.cases, sum(one.solved for one in ended), spent, after)


def growth(policy: str, rounds: int = 6, *, single: bool = False) -> list[int]:
    """Prompt characters of each round of one run on a module of 300 lines whose model is never right."""
    counted: list[int] = []

    def script(seen: Seen) -> Reply:
        if "response_format" in seen.body:
            return Reply('{"cause": "the percentage", "mistake": "it is subtracted", "plan": "take a share of it"}')
        if "Do not write the code" in seen.prompt:
            return Reply("Percent is still taken for an amount of money: reduced must take a share of the amount.")
        counted.append(seen.chars)
        first, *more = (_wrong(seen, 10 * len(counted) + number) for number in range(wanted(seen, single=single)))
        if single:
            return Reply("\n".join(f"CANDIDATE {place}\n{text}" for place, text in enumerate((first, *more), 1)))
        return Reply(first, more=tuple(more))

    text = module(36)
    files = {"tariff.py": text + "\n" * max(0, LINES - text.count("\n")), "test_tariff.py": TESTS}
    with tempfile.TemporaryDirectory() as folder, LlmServer(script) as server:
        write(Path(folder), files)
        Arena(Path(folder), server.url, files).play(f"{policy}/0/0", policy, None, iterations=rounds)
    return counted[:rounds]


def _wrong(seen: Seen, number: int) -> str:
    return edit(current(seen), f"{START} - {1000 + number}")


def table(scores: Sequence[Score]) -> str:
    lines = [f"{'p':>4}  " + "  ".join(f"{name:>22}" for name in POLICIES), "      " + "  solved  tokens/solved  " * 4]
    for chance in dict.fromkeys(score.chance for score in scores):
        row = [score for score in scores if score.chance == chance]
        cells = (f"{100 * score.solved / score.cases:>6.1f} % {score.per_solved:>12,.0f}" for score in row)
        lines.append(f"{chance:>4}  " + "  ".join(f"{cell:>22}" for cell in cells))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=100, help="runs per policy and p (default 100)")
    parser.add_argument("--tokens", type=int, default=12_000, help="budget of one run (default 12000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--chances", type=float, nargs="+", default=CHANCES, metavar="P")
    parser.add_argument("--single", action="store_true", help="a server that gives one answer per request")
    given = parser.parse_args()
    began = time.monotonic()
    scores = compare(Terms(given.cases, given.tokens, given.chances, given.seed, given.single))
    print(f"{given.cases} cases per cell, {given.tokens} tokens each, seed {given.seed}")
    print(table(scores))
    print(f"requests after the right answer: {sum(score.after for score in scores)}")
    behind = [(score.policy, score.chance) for score in scores if score.solved > _default(scores, score.chance).solved]
    print(f"policies ahead of the default in solved share: {behind or 'none'}")
    print(f"\nprompt characters by round, a module of {LINES} lines:")
    for policy in ("coderefine", "self-refine"):
        sizes = growth(policy)
        steps = [f"{100 * (new / old - 1):+.1f} %" for old, new in pairwise(sizes)]
        print(f"  {policy:<12} {sizes}  {', '.join(steps)}")
    print(f"{time.monotonic() - began:.0f} s")


def _default(scores: Sequence[Score], chance: float) -> Score:
    return next(score for score in scores if score.chance == chance and score.policy == POLICIES[0])


if __name__ == "__main__":
    main()
