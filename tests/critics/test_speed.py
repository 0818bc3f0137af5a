"""Measuring two trees: the order of the runs, what is timed, and the message when it cannot be."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from coderefine import sandbox
from coderefine.config import Config, Performance, load
from coderefine.core import Ask, View
from coderefine.critics.sandboxed import Sandboxed
from coderefine.critics.speed import CommandBenchmark, PytestBenchmarks, Speed, profiled
from coderefine.critics.speedup import MeasureOptions, measure
from coderefine.errors import ConfigError, CriticError, SurroundingsError
from coderefine.project import Interpreter, Place, Protection, interpreter, locate
from tests.support.repo import make_repo
from tests.support.view import DirectView

BOX = Sandboxed(Config())
SLOW = '''\
"""Distinct values."""


def distinct(xs):
    """In order."""
    out = []
    for x in sorted(xs):
        if x not in out:
            out.append(x)
    return out
'''


@dataclass
class Scripted:
    """Seconds by folder name; every reading is noted."""

    seconds: Mapping[str, Mapping[str, float]]
    read_: list[tuple[str, int]] = field(default_factory=list)

    def read(self, view: View, seed: int, timeout: float) -> Mapping[str, float]:
        self.read_.append((view.top.name, seed))
        return self.seconds[view.top.name]


def trees(tmp_path: Path) -> tuple[View, View]:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    return DirectView(tmp_path / "a"), DirectView(tmp_path / "b")


def whereabouts(tmp_path: Path, files: Mapping[str, str]) -> tuple[Place, Interpreter, View]:
    place = locate([make_repo(tmp_path / "repo", dict(files))], tmp_path)
    (tmp_path / "temp").mkdir()
    return place, interpreter(place, load(place.root, {}), os.environ), DirectView(place.top, tmp_path / "temp")


def test_runs_alternate_share_a_seed_by_pair_and_the_first_are_dropped(tmp_path: Path) -> None:
    watch = Scripted({"a": {"t": 2.0}, "b": {"t": 1.0}})
    found = measure(*trees(tmp_path), MeasureOptions(watch))
    assert found.speedup.pairs == 10
    assert found.speedup.low == pytest.approx(2.0)
    assert found.speedup.enough
    assert watch.read_[:8] == [("b", 0), ("a", 0), ("a", 1), ("b", 1), ("b", 2), ("a", 2), ("a", 3), ("b", 3)]
    assert len(watch.read_) == 22


def test_time_that_is_up_ends_it_without_a_yes(tmp_path: Path) -> None:
    found = measure(*trees(tmp_path), MeasureOptions(Scripted({"a": {"t": 9.0}, "b": {"t": 1.0}}), seconds=0.0))
    assert found.speedup.pairs == 1
    assert not found.speedup.enough


def test_both_versions_run_the_same_benchmarks(tmp_path: Path) -> None:
    with pytest.raises(CriticError, match="one did not run u"):
        measure(*trees(tmp_path), MeasureOptions(Scripted({"a": {"t": 1.0, "u": 1.0}, "b": {"t": 1.0}})))


def test_wall_time_and_cpu_time_are_distinguished(tmp_path: Path) -> None:
    place, python, view = whereabouts(tmp_path, {"bench.py": "import time\nprint('noise')\ntime.sleep(0.3)\n"})
    command = ("python", "bench.py")
    assert CommandBenchmark(place, python, BOX, command).read(view, 0, 30.0)["wall"] >= 0.3
    assert CommandBenchmark(place, python, BOX, command, "cpu").read(view, 0, 30.0)["cpu"] < 0.3


@pytest.mark.parametrize(
    ("bench", "seconds", "message"),
    [
        ("raise SystemExit('no data')", 30.0, "exited 1: no data"),
        ("import time; time.sleep(9)", 0.3, "did not end within 0.3 s"),
    ],
)
def test_a_failed_benchmark_gives_no_reading(tmp_path: Path, bench: str, seconds: float, message: str) -> None:
    place, python, view = whereabouts(tmp_path, {"bench.py": bench + "\n"})
    with pytest.raises(CriticError, match=message):
        CommandBenchmark(place, python, BOX, ("python", "bench.py")).read(view, 0, seconds)


def test_the_dearest_function_is_named_with_its_lines(tmp_path: Path) -> None:
    bench = "from distinct import distinct\n\ndistinct(list(range(900)) * 2)\n"
    toml = '[tool.coderefine]\nperformance = "python bench.py"\n'
    place, python, view = whereabouts(tmp_path, {"distinct.py": SLOW, "bench.py": bench, "pyproject.toml": toml})
    critic = Speed(place, python, load(place.root, {}), lambda event: None)
    check = critic.check(view, Ask())
    assert (check.total, check.gate) == (1.0, False)
    assert [(one.path, one.symbol, str(one.span)) for one in check.findings] == [("distinct.py", "distinct", "4-10")]


def test_a_comprehension_is_charged_to_the_function_it_is_in(tmp_path: Path) -> None:
    code = "def counts(words):\n    return {word: words.count(word) for word in words}\n"
    bench = "from work import counts\n\ncounts(list(range(3000)))\n"
    place, python, view = whereabouts(tmp_path, {"work.py": code, "bench.py": bench})
    found = CommandBenchmark(place, python, BOX, ("python", "bench.py")).hotspots(view, 30.0)
    assert found
    assert (found[0].path, found[0].line) == ("work.py", 1)
    assert 0.3 < found[0].share <= 1


def test_a_start_that_cannot_be_measured_ends_the_run(tmp_path: Path) -> None:
    toml = '[tool.coderefine]\nperformance = "python nowhere.py"\n'
    place, python, view = whereabouts(tmp_path, {"distinct.py": SLOW, "pyproject.toml": toml})
    critic = Speed(place, python, load(place.root, {}), lambda event: None)
    with pytest.raises(SurroundingsError, match=r"nowhere\.py"):
        critic.check(view, Ask())


def test_without_command_and_plugin_the_message_names_the_next_step(tmp_path: Path) -> None:
    place, python, view = whereabouts(tmp_path, {"distinct.py": SLOW})
    if view.run((str(python.path), "-c", "import pytest_benchmark")).returncode == 0:
        pytest.skip("the plug-in is installed here")
    with pytest.raises(CriticError, match=r"name a command .* under"):
        PytestBenchmarks(place, python, BOX).read(view, 0, 60.0)


def test_functions_that_pytest_benchmark_prints_are_found_again(tmp_path: Path) -> None:
    """Rows as pytest-benchmark 5.3.1 writes them."""
    view = DirectView(make_repo(tmp_path / "repo", {"distinct.py": SLOW, "pkg/distinct.py": SLOW}))
    rows = [
        {"function_name": "repo/distinct.py:4(distinct)", "ncalls": 2, "cumtime": 0.2},
        {"function_name": "repo/distinct.py:4(distinct)", "ncalls": 3, "cumtime": 0.2},
        {"function_name": "pkg/distinct.py:4(distinct)", "ncalls": 1, "cumtime": 0.1},
        {"function_name": "~:0(<method 'append' of 'list' objects>)", "ncalls": 9, "cumtime": 0.1},
    ]
    found = [(one.path, one.line, one.share, one.calls) for one in profiled(rows, view)]
    assert found == [("distinct.py", 4, 1.0, 5), ("pkg/distinct.py", 4, 0.25, 1)]


def test_the_table_is_read_and_the_measure_protected(tmp_path: Path) -> None:
    text = '[tool.coderefine.performance]\nrun = "python -m benches.run data.json"\nenough = 2\nclock = "cpu"\n'
    (tmp_path / "pyproject.toml").write_text(text)
    config = load(tmp_path, {})
    command = ("python", "-m", "benches.run", "data.json")
    assert config.performance == Performance(command, enough=2.0, clock="cpu")
    held = Protection.of(Place(tmp_path, tmp_path), config)
    for path in ("benches/run.py", "benches/run/__main__.py", "data.json"):
        assert "is named by the benchmark command" in (held.reason(path) or "")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("runn = 'x'", "did you mean 'run'"),
        ("target = 0.9", "a number from 1 to"),
        ("clock = 'sun'", "one of wall, cpu"),
        ("run = 3", "a command line"),
        ('run = "python \'x"', "cannot be read"),
    ],
)
def test_a_wrong_table_is_refused(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.coderefine.performance]\n{line}\n")
    with pytest.raises(ConfigError, match=message):
        load(tmp_path, {})


def test_a_benchmark_cannot_read_keys_or_write_outside(
    tmp_path: Path, sealed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ran unconfined, although the evidence called the tests confined."""
    if sandbox.tried().missing:
        pytest.skip("not all guards are here")
    (sealed / ".ssh").mkdir()
    (sealed / ".ssh/id").write_text("KEY")
    canary = sealed / "canary"
    for line in ("open(HOME + '/.ssh/id').read()", f"open({str(canary)!r}, 'w')"):
        top = make_repo(tmp_path / str(len(line)), {"bench.py": f"import os\nHOME = os.environ['HOME']\n{line}\n"})
        place = locate([], top)
        python = interpreter(place, load(top, {}), {"PATH": os.environ["PATH"]})
        for box, fails in ((Sandboxed(Config()), True), (Sandboxed(Config(sandbox="off")), False)):
            watch = CommandBenchmark(place, python, box, ("python", "bench.py"))
            with pytest.raises(CriticError, match="exited 1") if fails else contextlib.nullcontext():
                watch.read(DirectView(top), 0, 60.0)
            assert canary.exists() is (not fails and "canary" in line)
