"""A proof in several processes: when it counts, and when a run in one process decides."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from coderefine.app.engine import gates
from coderefine.app.project import find_project
from coderefine.cluster.processes import Processes
from coderefine.cluster.shards import merged
from coderefine.config import Config
from coderefine.core import Ask, Check, Event, Patch, View, Views
from coderefine.critics.pytest import Pytest
from coderefine.project import Interpreter, Place, Protection, locate
from coderefine.project.pytest_settings import read_settings
from coderefine.workspace import describe, open_views
from tests.support.repo import make_repo, write

PYTHON = Interpreter(Path(sys.executable), platform.python_version(), "ours", pytest.__version__, Path(sys.prefix))
SLOW = "import time\nimport pkg\n\ndef test_slow():\n    time.sleep(2.1)\n"
FILES = {
    "pkg.py": "def one():\n    return 2\n",
    "conftest.py": "import sys, pathlib\nsys.path.insert(0, str(pathlib.Path(__file__).parent))\n",
    "tests/test_a.py": f"{SLOW}\ndef test_one():\n    assert pkg.one() == 1\n",
    "tests/test_b.py": SLOW,
}
RIGHT = {"pkg.py": b"def one():\n    return 1\n"}
SETS = f"{FILES['tests/test_a.py']}\ndef test_sets():\n    pkg.two = 2\n"
ONLY_SETS = f"{SLOW}\ndef test_sets():\n    pkg.two = 2\n"
NEEDS = f"{SLOW}\ndef test_needs():\n    assert pkg.two == 2\n"
NEEDS_TO_PASS = f"{SLOW}\ndef test_needs():\n    assert pkg.two == 2\n    assert pkg.one() == 1\n"
SUFFERS = f"{SLOW}\ndef test_suffers():\n    assert not hasattr(pkg, 'two')\n"
WRITES = f"{SLOW}\ndef test_writes():\n    open(__file__, 'a').write('# more')\n"
READS = f"{SLOW}\ndef test_reads():\n    assert 'class' not in open(pkg.__file__).read()\n"


@dataclass
class CountedViews:
    views: Views
    opened: int = 0

    @contextmanager
    def open(self, patch: Patch = Patch()) -> Iterator[View]:
        self.opened += 1
        with self.views.open(patch) as view:
            yield view

    def instead(self, why: str) -> bool:
        return self.views.instead(why)


@dataclass
class Suite:
    """Two slow test files, whose tests have run on the unchanged tree, where `test_one` fails, also alone."""

    place: Place
    views: CountedViews
    processes: Processes
    progress: list[tuple[int, int | None]] = field(default_factory=list)

    def run(self, ask: Ask, files: Mapping[str, bytes]) -> Check:
        def listen(event: Event) -> None:
            if event.kind == "tests":
                self.progress.append((event.done, event.total))

        with self.views.open(Patch(files)) as view:
            return self.processes.run_tests(view, self.place, PYTHON, Config(), ask, listen)

    def prove(self, files: Mapping[str, bytes] = RIGHT) -> tuple[Check, bool]:
        """Return the check of a proof, and whether the results of several processes count."""
        self.progress.clear()
        self.views.opened = 0
        check = self.run(Ask(rich=False, proof=True, coverage=True, cover=frozenset(files)), files)
        return check, any("ran in 2 processes" in note for note in check.notes)


@contextmanager
def suite(folder: Path, kind: str = "auto", root: str = ".", settings: str = "", **files: str) -> Iterator[Suite]:
    named = {f"tests/test_{name}.py": text for name, text in files.items()}
    written = FILES | {"pyproject.toml": settings} | named
    top = make_repo(folder / "project", {f"{root}/{name}": text for name, text in written.items()})
    place = replace(locate([], top), root=top / root)
    if describe(place).kind != "overlay":
        pytest.skip("no namespaces here")
    with open_views(place, kind=kind) as opened:
        views = CountedViews(opened)
        found = Suite(place, views, Processes(views, 2, Protection.of(place, Config())))
        failing = found.run(Ask(rich=False), {}).failing
        found.run(Ask(rich=False, tests=failing), {})
        yield found


def test_a_proof_of_independent_tests_runs_in_two_processes(tmp_path: Path) -> None:
    with suite(tmp_path) as tests:
        check, divided = tests.prove()
        assert divided
        assert tests.views.opened == 3
        assert check.complete
        assert list(check.cases) == list(tests.processes.before.cases)  # type: ignore[union-attr]
        assert not check.failing
        assert tests.progress[-1] == (3, 3)
        assert check.coverage


def test_what_each_process_compiled_is_kept() -> None:
    one, other = ({"a.py": frozenset("1"), "b.py": frozenset("2")}, {"a.py": frozenset("3")})
    check = merged([Check("pytest", compiled=one), Check("pytest", compiled=other)])
    assert check.compiled == {"a.py": frozenset("13"), "b.py": frozenset("2")}


@pytest.mark.parametrize(("sets", "needs"), [(SETS, NEEDS), (ONLY_SETS, NEEDS_TO_PASS)])
def test_if_a_test_needs_another_file_one_process_decides(tmp_path: Path, sets: str, needs: str) -> None:
    with suite(tmp_path, a=sets, b=needs) as tests:
        check, divided = tests.prove()
        assert tests.views.opened == 3
    assert not divided
    assert not check.failing
    assert check.notes[-1].startswith("all tests ran again in one process")


@pytest.mark.thorough
def test_a_project_below_the_top_is_divided(tmp_path: Path) -> None:
    with suite(tmp_path, root="sub") as tests:
        check, divided = tests.prove({"sub/pkg.py": RIGHT["pkg.py"]})
    assert divided
    assert not check.failing


@pytest.mark.thorough
def test_files_that_every_process_runs_are_judged_in_one_process(tmp_path: Path) -> None:
    named = "[tool.pytest.ini_options]\ntestpaths = ['tests/test_a.py', 'tests/test_b.py']\n"
    with suite(tmp_path, settings=named) as tests:
        check, divided = tests.prove()
    assert not divided
    assert not check.failing


@pytest.mark.thorough
def test_new_tests_are_judged_in_one_process_only(tmp_path: Path) -> None:
    with suite(tmp_path) as tests:
        check, divided = tests.prove({**RIGHT, "tests/test_c.py": b"def test_new(): pass\n"})
        assert tests.views.opened == 1
    assert not divided
    assert len(check.cases) == 4


@pytest.mark.parametrize(
    ("options", "parallel"),
    [("-n auto", True), ("-q -n4", True), ("--numprocesses=2", True), ("-n 0", False), ("-x --no-cov", False)],
)
def test_a_project_that_runs_its_tests_in_parallel_is_known_by_its_settings(
    tmp_path: Path, options: str, *, parallel: bool
) -> None:
    write(tmp_path, {"pyproject.toml": f"[tool.pytest.ini_options]\naddopts = '{options}'\n"})
    assert read_settings(tmp_path).is_parallel is parallel


@pytest.mark.parametrize(("options", "number", "divides"), [("", None, False), ("", 2, True), ("-n 2", None, True)])
def test_proofs_are_divided_on_request_or_if_the_project_runs_its_tests_in_parallel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: str, number: int | None, *, divides: bool
) -> None:
    monkeypatch.setenv("PYTHON_CPU_COUNT", "2")
    top = make_repo(tmp_path, {"pyproject.toml": f"[tool.pytest.ini_options]\naddopts = '{options}'\n"})
    project = find_project((str(top),), {"processes": number, "python": sys.executable}, lambda _: None)
    with open_views(project.place) as views:
        (runner,) = (one.runner for one in gates(project, views) if isinstance(one, Pytest))
    assert isinstance(getattr(runner, "__self__", None), Processes) is divides


def test_a_failure_caused_by_another_file_is_not_repaired_by_dividing_the_tests(tmp_path: Path) -> None:
    with suite(tmp_path, a=SETS, b=SUFFERS) as tests:
        check, divided = tests.prove()
    assert check.failing == ("tests/test_b.py::test_suffers",)
    assert not divided


@pytest.mark.thorough
def test_tests_that_write_test_files_run_in_one_process(tmp_path: Path) -> None:
    with suite(tmp_path, b=WRITES) as tests:
        check, divided = tests.prove()
    assert not check.failing
    assert not divided


@pytest.mark.thorough
def test_what_a_patch_breaks_is_found_in_one_process_and_says_nothing_about_other_patches(tmp_path: Path) -> None:
    with suite(tmp_path, b=READS) as tests:
        check, divided = tests.prove({"pkg.py": b"class A: pass\ndef one():\n    return 1\n"})
        assert check.failing == ("tests/test_b.py::test_reads",)
        assert not divided
        assert tests.prove()[1]


@pytest.mark.thorough
def test_in_copies_of_the_tree_tests_run_in_one_process(tmp_path: Path) -> None:
    with suite(tmp_path, "copy") as tests:
        check, divided = tests.prove()
    assert not check.failing
    assert not divided
