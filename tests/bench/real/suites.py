"""Run a project's own suite once, cold, and learn the outcome of every test."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
LEFT_OUT = ("OPENAI_", "CODEREFINE_", "GIT_", "PYTEST_", "PYTHON", "VIRTUAL_ENV", "COVERAGE_")


@dataclass(frozen=True)
class Suite:
    """One run. `broken` names what could not be collected; `ended` is False after a time-out or a crash."""

    passed: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    seconds: float = 0.0
    cpu: float = 0.0
    ended: bool = False


@dataclass(frozen=True)
class Ended:
    """A process that has ended. `code` is None after a time-out; `cpu` counts its descendants, too."""

    code: int | None
    seconds: float
    cpu: float


def environment(more: Mapping[str, str]) -> dict[str, str]:
    """Ours, without what would configure a model, git, pytest or Python."""
    return {**{name: value for name, value in os.environ.items() if not name.startswith(LEFT_OUT)}, **more}


def run(
    argv: Sequence[str | Path],
    cwd: Path,
    *,
    env: Mapping[str, str],
    timeout: float,
    out: Path,
    err: Path,
    cpu: float = 0.0,
) -> Ended:
    """Run a command in a process group of its own, which is killed when time is up.

    With `cpu`, each of its processes ends after so many CPU seconds.
    """
    with out.open("wb") as stdout, err.open("wb") as stderr:
        before, began = _cpu(), time.monotonic()
        child = subprocess.Popen(
            [str(one) for one in argv],
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )
        if cpu:
            resource.prlimit(child.pid, resource.RLIMIT_CPU, (int(cpu), int(cpu) + 5))
        try:
            code: int | None = child.wait(timeout)
        except subprocess.TimeoutExpired:
            code = None
        except BaseException:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            raise
        if code is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        return Ended(code, time.monotonic() - began, _cpu() - before)


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_suite(
    top: Path,
    python: Path,
    arguments: Sequence[str],
    *,
    timeout: float,
    cpu: float = 0.0,
    most: int = 0,
    lines: Mapping[str, str] | None = None,
) -> Suite:
    """Run pytest in `top` as the project configures it.

    With `most`, stop after one failure more than that. `lines`: variables of lines/sitecustomize.py, to record what
    runs.
    """
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "outcomes.json"
        paths = [HERE / "plugins", *([HERE / "lines"] if lines else [])]
        more = {"REAL_OUTCOMES": str(written), "PYTHONPATH": os.pathsep.join(map(str, paths)), **(lines or {})}
        argv: tuple[str | Path, ...] = (
            python,
            "-m",
            "pytest",
            "-q",
            "-p",
            "outcomes",
            "-p",
            "no:cacheprovider",
            *arguments,
        )
        argv = (*argv, f"--maxfail={most + 1}") if most else argv
        out = Path(folder) / "out"
        err = Path(folder) / "err"
        ended = run(argv, top, env=environment(more), timeout=timeout, cpu=cpu, out=out, err=err)
        if ended.code is None or not written.exists():
            return Suite(seconds=ended.seconds, cpu=ended.cpu)
        found = {name: tuple(ids) for name, ids in json.loads(written.read_text("utf-8")).items()}
        return Suite(**found, seconds=ended.seconds, cpu=ended.cpu, ended=True)
