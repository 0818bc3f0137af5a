"""Requests, prompt characters, wall time, memory and honesty of coderefine (and aider, if given) on one small project.

    python -m tests.bench.peers.run [--aider PATH/TO/aider] [--only NAME]

Each tool runs in a fresh repository against a scripted server on loopback; ratios are against aider run in the
same minutes, or against the figures of research/peers.md where it is not installed.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.bench.peers.scenarios import SCENARIOS, Scenario
from tests.support.llm_server import LlmServer, error
from tests.support.repo import git, make_repo

PATIENCE = 300.0


@dataclass(frozen=True)
class Figures:
    """One run. `first` is the seconds until the first request; `peak` MiB of the largest process."""

    requests: int
    chars: int
    wall: float
    first: float | None
    peak: float
    code: int
    state: str


def measure(scenario: Scenario, command: list[str], environ: dict[str, str]) -> Figures:
    """Run `command` on a fresh copy of the scenario's project."""
    with tempfile.TemporaryDirectory() as folder:
        top = make_repo(Path(folder) / "order", scenario.files)
        before = git(top, "rev-parse", "HEAD")
        if scenario.dirty:
            path = top / "order.py"
            path.write_text(path.read_text() + scenario.dirty)
        replies = [error(scenario.status, "no")] if scenario.status != 200 else list(scenario.replies)
        with LlmServer(replies) as server:
            base = {**os.environ, **environ, "OPENAI_BASE_URL": server.url, "OPENAI_API_BASE": server.url}
            base["OPENAI_API_KEY"] = "sk-scripted"
            began, clock = time.monotonic(), time.time()
            code, peak = _timed(command, top, base)
            wall = time.monotonic() - began
            sent = server.requests
            first = min((item.at for item in sent), default=None) if sent else None
            return Figures(
                len(sent),
                server.chars,
                wall,
                first - clock if first else None,
                peak,
                code,
                _state(top, before, scenario),
            )


def _timed(command: list[str], top: Path, environ: dict[str, str]) -> tuple[int, float]:
    child = subprocess.Popen(command, cwd=top, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _, status, usage = _waited(child)
    except TimeoutError:
        child.kill()
        child.wait()
        return -9, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, usage.ru_maxrss / 1024


def _waited(child: subprocess.Popen[bytes]) -> tuple[int, int, resource.struct_rusage]:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if pid:
            return pid, status, usage
        time.sleep(0.02)
    raise TimeoutError


def _state(top: Path, before: str, scenario: Scenario) -> str:
    """What is different afterwards, in a few words."""
    words = []
    if git(top, "rev-parse", "HEAD") != before:
        words.append(f"{git(top, 'rev-list', '--count', f'{before}..HEAD')} commit(s)")
    changed = [line.split()[-1] for line in git(top, "status", "--porcelain").splitlines()]
    words += [f"changed {name}" for name in changed]
    words.append("red" if scenario.name == "hanging test" and not changed else _colour(top))
    if "NOTE" in scenario.dirty and "NOTE" not in (top / "order.py").read_text():
        words.append("DIRTY WORK LOST")
    return ", ".join(words)


def _colour(top: Path) -> str:
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    return (
        "red" if subprocess.run(pytest, cwd=top, capture_output=True, timeout=60, check=False).returncode else "green"
    )


COLUMNS = "{:<26} {:<11} {:>8} {:>9} {:>6} {:>7} {:>5} {:>4}  {}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--aider")
    parser.add_argument("--only")
    given = parser.parse_args()
    _print("scenario", "tool", "requests", "chars", "first", "wall", "MiB", "exit", "state")
    for scenario in SCENARIOS:
        if not given.only or given.only in scenario.name:
            _compare(scenario, given.aider)


def _compare(scenario: Scenario, aider: str | None) -> None:
    ours = [sys.executable, "-m", "coderefine", "fix", "--no-search", "--quiet", *scenario.arguments]
    mine = measure(scenario, ours, {})
    _row(scenario, "coderefine", mine)
    if aider:
        theirs = measure(scenario, _aider(aider), {})
        _row(scenario, "aider", theirs)
        ratios = [_ratio(getattr(mine, name), getattr(theirs, name)) for name in ("requests", "chars", "wall", "peak")]
        _print("", "ratio", ratios[0], ratios[1], "", ratios[2], ratios[3], "", "")


def _aider(path: str) -> list[str]:
    quiet = ("--yes-always", "--no-check-update", "--no-analytics", "--no-stream", "--no-show-model-warnings")
    test = ("--auto-test", "--test-cmd", f"{sys.executable} -m pytest -q")
    task = ("--edit-format", "diff", "--message", "Make the failing test pass.", "order.py", "test_order.py")
    return [path, "--model", "openai/scripted", *quiet, *test, *task]


def _ratio(mine: float, theirs: float) -> str:
    return f"{mine / theirs:.2f}×" if theirs else "–"


def _row(scenario: Scenario, tool: str, seen: Figures) -> None:
    first = "–" if seen.first is None else f"{seen.first:.2f}"
    wall, peak = f"{seen.wall:.2f}s", f"{seen.peak:.0f}"
    _print(scenario.name, tool, str(seen.requests), f"{seen.chars:,}", first, wall, peak, str(seen.code), seen.state)


def _print(*cells: str) -> None:
    print(COLUMNS.format(*cells), flush=True)


if __name__ == "__main__":
    main()
