"""Hot, warm and cold must say the same about every test, whatever an edit touches."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import iniconfig
import pytest

from coderefine.config import Config
from coderefine.core import Ask, Patch, Status, Views
from coderefine.project import Interpreter, Place, interpreter, locate
from coderefine.runner.cold import run_tests
from coderefine.runner.pool import Candidate, Judged, Plan, Pool, open_pool
from coderefine.workspace import open_views
from tests.support.cases import every
from tests.support.repo import make_repo, write
from tests.support.zoo import EDITS, FILES, Edit

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot fork")


@dataclass(frozen=True, slots=True)
class Zoo:
    """The open project, shared by all edits: each view of the cold runs is fresh anyway."""

    place: Place
    python: Interpreter
    views: Views
    pool: Pool

    def cold(self, edit: Edit) -> Mapping[str, Status]:
        with self.views.open(Patch({edit.path: edit.apply()})) as view:
            check = run_tests(view, self.place, self.python, Config(), Ask(rich=False), lambda _: None)
        return {name: case.status for name, case in check.cases.items()}

    def forked(self, edit: Edit, fastest: str) -> Judged:
        plan = Plan(first=self.pool.tests, then=(), keep_going=True, fastest=fastest)
        (judged,) = self.pool.judge([Candidate(1, {edit.path: edit.apply()})], plan)
        return judged


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zoo]:
    top = make_repo(tmp_path_factory.mktemp("zoo") / "project", FILES)
    place = locate([top], top)
    config = Config(python=sys.executable)
    python = interpreter(place, config, os.environ)
    with pytest.MonkeyPatch.context() as patch, open_views(place) as views:
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        with open_pool(views, place, python, config, workers=1) as pool:
            yield Zoo(place, python, views, pool)


def test_baseline_is_the_cold_one(zoo: Zoo) -> None:
    same = Edit("zoo/lazy.py", "return 7", "return 7")
    assert dict(zoo.pool.baseline()) == dict(zoo.cold(same))
    assert len(zoo.pool.tests) > 30


@pytest.mark.parametrize("edit", every(10, EDITS), ids=str)
def test_three_speeds_agree(zoo: Zoo, edit: Edit) -> None:
    cold = zoo.cold(edit)
    hot, warm = zoo.forked(edit, "hot"), zoo.forked(edit, "warm")
    assert hot.speed == edit.speed, hot.slow
    asked = set(zoo.pool.tests)
    for judged in (hot, warm):
        known = {name: status for name, status in judged.statuses.items() if name in asked}
        assert known == {name: status for name, status in cold.items() if name in asked}, judged.reason
        assert judged.plausible == (asked <= cold.keys() and not any(status.bad for status in cold.values()))


def test_only_tests_that_reach_the_edit_run(zoo: Zoo) -> None:
    (judged,) = zoo.pool.judge([Candidate(1, {EDITS[0].path: EDITS[0].apply()})], Plan(keep_going=True))
    assert set(judged.statuses) == {"test_functions.py::test_add[1-2-3]"}
    benign = Edit(EDITS[0].path, "return a + b", "return +a + b")
    (judged,) = zoo.pool.judge([Candidate(1, {benign.path: benign.apply()})], Plan())
    ran = {name.split("::")[1].split("[")[0] for name in judged.statuses}
    assert judged.plausible
    assert ran == {"test_add", "test_source", "test_program"}


def test_trace_has_the_lines_of_the_failing_tests_functions(zoo: Zoo) -> None:
    coverage = zoo.pool.observe(["test_functions.py::test_double"], ())
    (line,) = [n for n, text in enumerate(FILES["zoo/functions.py"].splitlines(), 1) if "2 * value" in text]
    assert coverage["test_functions.py::test_double"]["zoo/functions.py"] >= {line}
    assert "test_functions.py::test_clean" not in coverage
    (step,) = zoo.pool.steps["test_functions.py::test_double"]
    assert ("zoo/functions.py", line) in step.last
    assert step.path == "test_functions.py"


@pytest.mark.thorough
def test_the_tree_is_as_before(zoo: Zoo) -> None:
    edit = EDITS[0]
    zoo.forked(edit, "hot")
    zoo.forked(edit, "warm")
    assert dict(zoo.pool.baseline()) == dict(zoo.cold(Edit("zoo/lazy.py", "7", "7")))
    path: Path = zoo.place.top / edit.path
    assert path.read_text() == FILES[edit.path]


PARSER = """\
def rule(text):
    return text.strip().upper()


RULES = [rule(" a ")]


def has(text):
    return rule(text) in RULES
"""


@pytest.mark.parametrize("rough", [False, True])
def test_a_function_that_ran_at_import_is_judged_without_a_new_import_where_it_may_be_rough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rough: bool
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    test = "import m\n\ndef test_has():\n    assert m.has('A')\n\ndef test_rules():\n    assert m.RULES == ['A']\n"
    top = make_repo(tmp_path / "parser", {"pytest.ini": "[pytest]\n", "m.py": PARSER, "test_m.py": test})
    place, config = locate([top], top), Config(python=sys.executable)
    edits = {name: PARSER.replace("upper()", f"{name}()").encode() for name in ("lower", "title")}
    asked = Plan(("test_m.py::test_has", "test_m.py::test_rules"), keep_going=True)
    python = interpreter(place, config, os.environ)
    with open_views(place) as views, open_pool(views, place, python, config, workers=2) as pool:
        candidates = [Candidate(number, {"m.py": data}, rough=rough) for number, data in enumerate(edits.values(), 1)]
        lower, title = sorted(pool.judge(candidates, asked), key=lambda judged: judged.candidate.number)
        compared = pool.probe(candidates, asked.first, 10.0)
    assert bool(lower.rough) == rough
    assert {name: status.bad for name, status in lower.statuses.items()} == {
        "test_m.py::test_has": rough,  # the list was made before the edit
        "test_m.py::test_rules": not rough,
    }
    assert (title.plausible, title.rough, bool(title.slow)) == (True, "", True), "a pass is confirmed by a new import"
    assert compared.changed(1, "fp") == (2, 2), "what ran at import is compared, too"


def test_a_file_named_like_a_module_that_is_none_shadows_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    files = {"pytest.ini": "[pytest]\n", "json/data.txt": "", "m.py": "def f(): return 1\n"}
    top = make_repo(tmp_path / "plain", {**files, "test_m.py": "import m\ndef test_f(): assert m.f() == 2\n"})
    place, config = locate([top], top), Config(python=sys.executable)
    python = interpreter(place, config, os.environ)
    with open_views(place) as views, open_pool(views, place, python, config, workers=1) as pool:
        (judged,) = pool.judge([Candidate(1, {"m.py": b"def f(): return 2\n"})], Plan(("test_m.py::test_f",)))
    assert judged.plausible, judged


def test_a_project_that_pytest_itself_imports_is_judged_by_forks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pygments: the servers ended with an internal error of pytest, and every candidate was a cold run."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    test = "from iniconfig import lines\n\ndef test_count():\n    assert lines.count('a\\nb') == 2\n"
    wrong = "def count(text):\n    return text.count('\\n')\n"
    ours = {f"iniconfig/{path.name}": path.read_bytes() for path in Path(iniconfig.__file__).parent.glob("*.py")}
    files: dict[str, str | bytes] = {
        **ours,
        "iniconfig/lines.py": wrong,
        "pytest.ini": "[pytest]\n",
        "test_lines.py": test,
    }
    top = make_repo(tmp_path / "project", files)
    place, config = locate([top], top), Config(python=sys.executable)
    right = wrong.replace("')\n", "') + 1\n").encode()
    with open_views(place) as views, open_pool(views, place, interpreter(place, config, os.environ), config) as pool:
        (judged,) = pool.judge([Candidate(1, {"iniconfig/lines.py": right})], Plan(("test_lines.py::test_count",)))
        anew = ours["iniconfig/__init__.py"] + b"\nfrom . import lines\nlines.count = lambda _: 2\n"
        (warm,) = pool.judge([Candidate(2, {"iniconfig/__init__.py": anew})], Plan(("test_lines.py::test_count",)))
    assert (judged.plausible, judged.speed) == (True, "hot"), judged.reason
    assert (warm.plausible, warm.speed) == (True, "warm"), "pytest had imported this module before"


def test_an_installed_module_that_imports_the_project_does_not_hide_the_candidate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The right default of a parameter was judged by the file that Beautiful Soup had imported before: it failed."""
    installed = tmp_path / "installed"
    write(installed, {"outside.py": "try:\n    import m\nexcept ImportError:\n    m = None\n"})
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(installed))
    test = "import outside\nimport m\n\ndef test_limit():\n    assert (m.LIMIT, outside.m.LIMIT) == (2, 2)\n"
    top = make_repo(tmp_path / "project", {"pytest.ini": "[pytest]\n", "m.py": "LIMIT = 1\n", "test_m.py": test})
    place, config = locate([top], top), Config(python=sys.executable)
    with open_views(place) as views, open_pool(views, place, interpreter(place, config, os.environ), config) as pool:
        (judged,) = pool.judge([Candidate(1, {"m.py": b"LIMIT = 2\n"})], Plan(("test_m.py::test_limit",)))
    assert (judged.plausible, bool(judged.slow)) == (True, True), judged.reason
