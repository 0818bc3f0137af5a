"""The hook's time beside ruff's hook and beside pytest on the affected tests, in the same run.

    python -m tests.bench.hook.run [--files 1000] [--rounds 9]

"by pre-commit" is the duration that pre-commit itself reports (rounded to 10 ms); "alone" is the command's own wall
time. Cold: the first run in a fresh clone, nothing kept; bytecode of what is installed is there, as pip leaves it.
The goals: 2 x ruff's hook when no test is affected, 1.3 x pytest on the affected tests otherwise. "real" is a file of
200 lines of our own instead of a module of ten; "known": a function was changed that no test runs (coverage map).
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.bench.hook.projects import BIN, environ, git, made

ALONE, REAL, TESTED = "src/pkg/part0/m80.py", "src/pkg/part0/m81.py", "src/pkg/part0/m6.py"
SOURCE = Path(__file__).parents[3] / "coderefine/llm/context.py"
UNUSED = "\n\ndef unused(x):\n    return x\n"
AFFECTED = tuple(f"tests/test_0_{number}.py" for number in range(6, 10))
DURATION = re.compile(r"hook id: (\w+)\n- duration: ([\d.]+)s")


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--files", type=int, default=1000)
    asked.add_argument("--rounds", type=int, default=9)
    told = asked.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        env = environ(Path(folder))
        top = made(Path(folder) / "project", told.files, env)
        print(f"project: {len(git(top, env, 'ls-files', '*.py').splitlines())} Python files")
        _done(top, env, sys.executable, "-m", "pytest", "-q", "tests/test_1_0.py")  # bytecode of pytest and plug-ins
        _compared(top, env, ALONE, (), told.rounds)
        (top / REAL).write_text(SOURCE.read_text(), encoding="utf-8")
        _compared(top, env, REAL, (), told.rounds)
        (top / TESTED).write_text((top / TESTED).read_text() + UNUSED, encoding="utf-8")
        _compared(top, env, TESTED, AFFECTED, told.rounds)
        _known(top, env, told.rounds)


def _compared(top: Path, env: dict[str, str], path: str, tests: Sequence[str], rounds: int) -> None:
    """One changed file: pre-commit's figures cold and warm, then the commands alone, taking turns."""
    subprocess.run(("rm", "-rf", str(top / ".git/coderefine"), str(top / ".ruff_cache")), check=True)
    (top / path).write_text((top / path).read_text() + "\n\nNEW = 1\n", encoding="utf-8")
    git(top, env, "add", "-A")
    print(f"\n{path}: {len(tests)} test files affected")
    for name in ("cold", "second", "third"):
        took = dict(DURATION.findall(_done(top, env, sys.executable, "-m", "pre_commit", "run", "--verbose")))
        print(f"  by pre-commit, {name:6}  ruff {took['ruff']} s   coderefine {took['coderefine']} s")
    commands = {
        "python -c pass": (str(BIN / "python"), "-c", "pass"),
        "ruff": (str(BIN / "ruff"), "check", "--force-exclude", path),
        "coderefine": (str(BIN / "coderefine"), "hook", "run", path),
    }
    if tests:
        commands["pytest"] = (str(BIN / "python"), "-m", "pytest", "-q", *tests)
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, argv in commands.items():
            (top / ".git/coderefine/hook/map").unlink(missing_ok=True)  # it would clear what it has just seen pass
            times[name].append(_took(top, env, argv))
    middle = {name: statistics.median(values) for name, values in times.items()}
    for name, value in middle.items():
        print(f"  alone: {name:15} {value * 1000:6.1f} ms (least {min(times[name]) * 1000:.1f})")
    against = "pytest" if tests else "ruff"
    print(f"  ratio to {against}: {middle['coderefine'] / middle[against]:.2f} (goal {1.3 if tests else 2})")
    git(top, env, "commit", "-qnm", "next")


def _known(top: Path, env: dict[str, str], rounds: int) -> None:
    """A change to what no test ran, in a file that tests import."""
    subprocess.run(("rm", "-rf", str(top / ".git/coderefine")), check=True)
    hook, said = (str(BIN / "coderefine"), "hook", "run", TESTED), ""
    for number in (2, 3):  # the first run is a whole one and keeps the map
        text = re.sub(r"(def unused.*\n    return ).*", rf"\g<1>{number} * x", (top / TESTED).read_text())
        (top / TESTED).write_text(text, encoding="utf-8")
        git(top, env, "add", "-A")
        said = subprocess.run(hook, cwd=top, env=env, text=True, capture_output=True, check=True).stderr
    times = [_took(top, env, hook) for _ in range(rounds)]
    print(f"\n{TESTED}, a function that no test ran: {statistics.median(times) * 1000:.1f} ms; {said.strip()}")


def _took(top: Path, env: dict[str, str], argv: Sequence[str]) -> float:
    began = time.perf_counter()
    _done(top, env, *argv)
    return time.perf_counter() - began


def _done(top: Path, env: dict[str, str], *argv: str) -> str:
    done = subprocess.run(argv, cwd=top, env=env, text=True, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise SystemExit(f"{argv} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
