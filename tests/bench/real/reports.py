"""Sums over the trials, one line for each commit of coderefine."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

from tests.bench.real.trials import REPAIRED, RIGHT, Row
from tests.bench.repair.differential import LEAST

HEAD = f"{'commit':18}{'slips':>6}{'repaired':>9}{'original':>9}{'identical':>10}{'unknown':>8}{'runs':>6}{'p90':>6}"
HEAD += f"{'offered':>8}{'cpu':>6}{'counted':>8}{'first s':>8}{'errors':>7}"


def p90(values: Sequence[float]) -> float:
    return sorted(values)[min(len(values) - 1, int(0.9 * len(values)))]


def median(values: Iterable[float | None]) -> str:
    """Of what is known; "-" where nothing is."""
    known = [value for value in values if value is not None]
    return f"{statistics.median(known):.1f}" if known else "-"


def line(name: str, found: Sequence[Row]) -> str:
    """One line of the table; whole times are in runs of the suite, of all slips, repaired or not."""
    total = len(found)
    repaired = sum(row.verdict in REPAIRED for row in found) / total
    right = sum(row.verdict in RIGHT for row in found) / total
    same = sum(row.verdict == "identical" for row in found) / total
    unknown = sum(row.verdict == "plausible" and row.compared < LEAST and not row.differ for row in found)
    runs = [row.runs for row in found]
    return (
        f"{name:18}{total:6}{repaired:9.0%}{right:9.0%}{same:10.0%}{unknown:8}{statistics.median(runs):6.1f}{p90(runs):6.1f}"
        f"{sum(row.verdict == 'none' and 0 < row.offered <= 3 for row in found):8}"
        f"{median(row.cpu / row.suite_cpu for row in found):>6}{median(row.suite_runs for row in found):>8}"
        f"{median(row.first_candidate for row in found):>8}{sum(row.verdict == 'error' for row in found):7}"
    )


def newest(found: Iterable[Row]) -> list[Row]:
    """The last row of each trial."""
    return list({row.key: row for row in found}.values())


def summary(half: str, found: Sequence[Row]) -> str:
    """All commits that have rows; those of one half only."""
    commits = list(dict.fromkeys(row.commit for row in found))
    rows = [line(commit, [row for row in found if row.commit == commit]) for commit in commits]
    return "\n".join([f"{half} half", HEAD, *(rows or ["no trial yet"])])


def details(found: Sequence[Row]) -> str:
    """Of one commit in the development half: a line for each project and kind of slip, and the misses."""
    lines = ["", HEAD.replace("commit", "      ", 1)]
    for names in ([row.project for row in found], [row.family for row in found]):
        for name in sorted(set(names)):
            group = [row for row, one in zip(found, names, strict=True) if one == name]
            lines.append(line(name, group))
        lines.append("")
    lines += [shown(row) for row in found if row.verdict not in RIGHT]
    return "\n".join(lines)


def shown(row: Row) -> str:
    """A miss."""
    patch = "".join(f"\n    {text}" for text in row.diff.splitlines()[:40]) if row.diff else ""
    compared = f"\n    compared {row.compared} calls, {row.differ} differ: {row.why}" if row.diff else ""
    return (
        f"{row.verdict:9} {row.seconds:5.0f} s {row.runs:5.1f} runs  {row.slip}\n    {row.said[:600]}{compared}{patch}"
    )
