"""Learn the weights of the confidence in a repair, and check them on the half that was put aside.

    python -m tests.bench.confidence.learn              # learn on the development half, print weights and figures
    python -m tests.bench.confidence.learn --shipped    # figures of the weights in proposers/search/confidence.py
    python -m tests.bench.confidence.learn --shipped --curve    # the same for other bars

The rows are those of gather.py. Only the first group of each trial counts: is it right? The probability of that is the
group's share times a logistic function of the other features; their weights have an L2 penalty for their distance from
those that are shipped, so few rows move them little. The bar is the lowest confidence at which at least 95 of 100
written repairs of the development half are right.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from coderefine.proposers.search.confidence import BAR, WEIGHTS, Features, vector
from tests.bench.confidence.gather import SOURCES, Row, half, rows

PENALTY, STEP, ROUNDS = 0.3, 0.05, 4000
GOAL = 0.95
CURVE = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)


@dataclass(frozen=True)
class Sample:
    """What is known of the first group of a trial, and whether it is right. See `confidence` for `share`."""

    values: Mapping[str, float]
    share: float
    right: bool
    row: Row


def samples(found: Sequence[Row]) -> list[Sample]:
    names = {item.name for item in fields(Features)}
    made = []
    for row in found:
        if row.groups:
            first = row.groups[0]
            table = {name: value for name, value in dict(first["features"]).items() if name in names}  # type: ignore[call-overload]
            known = Features(**table)
            made.append(Sample(vector(known), known.share, bool(first["right"]), row))
    return made


def learnt(given: Sequence[Sample], prior: Mapping[str, float]) -> dict[str, float]:
    """Maximise the likelihood by gradient ascent."""
    weights = dict(prior)
    for _ in range(ROUNDS):
        slopes = {name: PENALTY * (weights[name] - prior[name]) for name in weights}
        for one in given:
            found = min(max(chance(weights, one), 0.001), 0.999)
            likely = found / one.share  # without the rivals
            error = (found - one.right) / (found * (1 - found)) * one.share * likely * (1 - likely)
            for name, value in one.values.items():
                slopes[name] += error * value
        for name in weights:
            weights[name] -= STEP * slopes[name] / max(1, len(given))
    return weights


def chance(weights: Mapping[str, float], one: Sample) -> float:
    total = sum(weights[name] * value for name, value in one.values.items())
    return one.share / (1 + math.exp(-max(-30.0, min(30.0, total))))


def bar(given: Sequence[Sample], weights: Mapping[str, float]) -> float:
    """The lowest confidence at which enough of what is written is right."""
    best = 1.0
    for level in sorted({chance(weights, one) for one in given}, reverse=True):
        written = [one.right for one in given if chance(weights, one) >= level]
        if sum(written) >= GOAL * len(written):
            best = level
    return best


def figures(title: str, given: Sequence[Sample], weights: Mapping[str, float], level: float) -> str:
    """How many are written, how many of these are right, and what becomes of the right ones."""
    before = sum(one.right for one in given)
    written = [one.right for one in given if chance(weights, one) >= level]
    among = sum(any(group["right"] for group in one.row.groups[:3]) for one in given)
    generated = sum(any(group["right"] for group in one.row.groups) for one in given)
    return (
        f"{title:12} {len(given):4} plausible, {before:3} right | written {len(written):3}, right {sum(written):3} "
        f"({share(sum(written), len(written))}) | right ones still written {share(sum(written), before)} | right among "
        f"the first 3 {among} of {generated} ({share(among, generated)})"
    )


def share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else "-"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shipped", action="store_true")
    parser.add_argument("--curve", action="store_true", help="figures of all rows of a half for a range of bars")
    args = parser.parse_args()
    shipped = args.shipped
    every = samples(rows())
    development = [one for one in every if half(one.row.name) == "development"]
    aside = [one for one in every if half(one.row.name) == "aside"]
    weights, level = dict(WEIGHTS), BAR
    if not shipped:
        weights = learnt(development, WEIGHTS)
        level = bar(development, weights)
        print(json.dumps({name: round(value, 2) for name, value in weights.items()}, indent=1), f"bar {level:.3f}")
    for source in SOURCES:
        for title, part in (("development", development), ("aside", aside)):
            chosen = [one for one in part if one.row.source == source]
            print(f"{source:9}", figures(title, chosen, weights, level))
    for title, part in (("development", development), ("aside", aside)):
        print(f"{'all':9}", figures(title, part, weights, level))
        for tried in CURVE if args.curve else ():
            print(f"bar {tried:5}", figures(title, part, weights, tried))


if __name__ == "__main__":
    main()
