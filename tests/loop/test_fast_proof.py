"""--fast-proof: which tests prove a patch, what is carried over, when all of them run, and what is not promised."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from coderefine.config import Config
from coderefine.core import Case, Patch, Status
from coderefine.loop.fast_proof import ChosenTests, FastProof, announcement
from coderefine.project import Protection, locate
from tests.support.cases import every
from tests.support.loop import Ran, Script, run
from tests.support.repo import make_repo

SUM = "def total(items):\n    return sum(items[1:])\n\n\ndef first(items):\n    return items[0]\n"
RIGHT = SUM.replace("items[1:]", "items")
BREAKS = RIGHT.replace("return items[0]", "return items[-1]")
"""Repairs what fails, and breaks `first`."""
FILES = {
    "pkg/__init__.py": "",
    "pkg/a.py": SUM,
    "pkg/b.py": "from pkg.a import first\n\n\ndef head(items):\n    return first(items)\n",
    "pkg/c.py": "def one():\n    return 1\n",
    "tests/test_a.py": "from pkg.a import total\n\n\ndef test_all():\n    assert total([1, 2]) == 3\n"
    "\n\ndef test_none():\n    assert total([]) == 0\n",
    "tests/test_b.py": "from pkg.b import head\n\n\ndef test_head():\n    assert head([1, 2]) == 1\n",
    "tests/test_c.py": "from pkg.c import one\n\n\ndef test_one():\n    assert one() == 1\n",
    "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["."]\n',
}
FAILING = "tests/test_a.py::test_all"
BY_NAME = (
    "import importlib\n\n\ndef test_first():\n"
    "    name = '.'.join(['pkg', 'a'])\n    assert importlib.import_module(name).first([1, 2]) == 1\n"
)
"""Reaches pkg/a.py by a name that is computed."""
FILES_BY_NAME = {**FILES, "pkg/b.py": "", "tests/test_b.py": BY_NAME}


def prove(folder: Path, text: str, files: Mapping[str, str] = FILES, *, fast: bool = True) -> Ran:
    """Try `text` as pkg/a.py."""
    return run(make_repo(folder / "p", files), Script([{"pkg/a.py": text}]), fast_proof=fast)


def test_the_tests_that_import_the_patched_module_prove_it(tmp_path: Path) -> None:
    outcome = prove(tmp_path, RIGHT).outcome
    assert outcome.best.patch.files == {"pkg/a.py": RIGHT.encode()}
    assert outcome.best.carried == {"tests/test_c.py::test_one"}
    assert (outcome.evidence.flipped, outcome.evidence.kept, outcome.evidence.ran) == ((FAILING,), 2, (3, 4))
    assert outcome.evidence.proved_by == "proved by 3 of 4 tests (--fast-proof): those that can reach the patch"


@pytest.mark.thorough
def test_without_the_setting_all_tests_run(tmp_path: Path) -> None:
    evidence = prove(tmp_path, RIGHT, fast=False).outcome.evidence
    assert (evidence.kept, evidence.ran, evidence.proved_by, evidence.notes) == (3, None, "", ())


@pytest.mark.thorough
def test_a_patch_is_refused_that_breaks_a_test_which_imports_it_indirectly(tmp_path: Path) -> None:
    outcome = prove(tmp_path, BREAKS).outcome
    assert outcome.best.number == 0
    assert "breaks tests/test_b.py::test_head" in outcome.attempts[1].verdict.reason


@pytest.mark.parametrize(
    "test",
    [
        "import sys\n\n\ndef test_first(monkeypatch):\n    monkeypatch.setattr('pkg.a.total', len)\n"
        "    assert sys.modules['pkg' + '.a'].first([1, 2]) == 1\n",
        "import pkgutil\n\n\ndef test_first():\n    assert pkgutil.resolve_name('pkg.a:first')([1, 2]) == 1\n",
    ],
)
def test_a_test_that_names_the_patched_module_only_in_a_string_is_run(test: str, tmp_path: Path) -> None:
    """It was left out, and a patch that breaks it counted as proved."""
    files = {**FILES, "pkg/b.py": "", "tests/test_b.py": test}
    outcome = prove(tmp_path, BREAKS, files).outcome
    assert outcome.best.number == 0
    assert "breaks tests/test_b.py::test_first" in outcome.attempts[1].verdict.reason


def test_not_promised_a_test_that_computes_the_name_of_its_import_is_not_run(tmp_path: Path) -> None:
    outcome = prove(tmp_path, BREAKS, FILES_BY_NAME).outcome
    assert outcome.best.patch.files == {"pkg/a.py": BREAKS.encode()}
    assert "tests/test_b.py::test_first" in outcome.best.carried


@pytest.mark.thorough
def test_all_tests_include_those_that_are_not_promised(tmp_path: Path) -> None:
    outcome = prove(tmp_path, BREAKS, FILES_BY_NAME, fast=False).outcome
    assert "breaks tests/test_b.py::test_first" in outcome.attempts[1].verdict.reason


def test_a_test_that_a_patched_module_adds_is_run(tmp_path: Path) -> None:
    """All tests of a chosen file run, not only those that were there before."""
    code = f"{SUM}\n\nCASES = [1]\n"
    tests = "import pytest\nfrom pkg.a import CASES\n\n\n@pytest.mark.parametrize('n', CASES)\ndef test_case(n):\n"
    files = {**FILES, "pkg/a.py": code, "tests/test_more.py": f"{tests}    assert n == 1\n"}
    outcome = prove(tmp_path, code.replace("items[1:]", "items").replace("[1]\n", "[1, 2]\n"), files).outcome
    assert outcome.best.number == 0
    assert outcome.attempts[1].cases["tests/test_more.py::test_case[2]"].status is Status.FAILED


def test_a_module_that_could_not_be_collected_is_proved_by_its_tests(tmp_path: Path) -> None:
    files = {**FILES, "pkg/a.py": SUM[SUM.index("def first") :]}
    outcome = prove(tmp_path, RIGHT, files).outcome
    assert (outcome.evidence.flipped, outcome.evidence.ran) == (("tests/test_a.py",), (3, 4))


@pytest.mark.thorough
def test_a_conftest_that_imports_the_patched_module_makes_all_tests_run(tmp_path: Path) -> None:
    outcome = prove(tmp_path, RIGHT, {**FILES, "tests/conftest.py": "import pkg.b\n"}).outcome
    assert (outcome.best.carried, outcome.evidence.ran) == (frozenset(), None)
    assert outcome.evidence.notes == ("all tests ran despite --fast-proof: tests/conftest.py imports what is patched",)


def select(top: Path, patch: Mapping[str, bytes | None], *more: Case) -> ChosenTests:
    """What is chosen for `patch` where every test file has one test that passed, but for `more`."""
    place = locate([top], top)
    protection = Protection.of(place, Config())
    paths = [path.relative_to(top).as_posix() for path in sorted(top.rglob("test_*.py"))]
    cases = [*(Case(f"{path}::test", Status.PASSED, path=path) for path in paths), *more]
    fast = FastProof(place.top, protection.is_test, protection.plugins)
    return fast.select(Patch(patch), {case.id: case for case in cases})


PATCHED = {"pkg/a.py": RIGHT.encode()}
STARTS = "import subprocess\nimport sys\n\n\ndef start():\n    subprocess.run([sys.executable, '-m', 'pkg'])\n"
BROKEN = Case("tests/conftest.py", Status.ERROR, path="tests/conftest.py")


@pytest.mark.parametrize(
    ("files", "patch", "broken", "why"),
    [
        pytest.param({}, {**PATCHED, "pkg/a.json": b"{}"}, (), "pkg/a.json is not a Python file", id="data"),
        pytest.param({}, {**PATCHED, "conftest.py": b""}, (), "conftest.py is patched", id="conftest"),
        pytest.param(
            {".tools/x.py": ""},
            {".tools/x.py": b""},
            (),
            ".tools/x.py is in no folder that the import graph covers",
            id="hidden",
        ),
        pytest.param(
            {"tests/conftest.py": STARTS}, PATCHED, (), "tests/conftest.py starts programs", id="fixtures start"
        ),
        pytest.param(
            {"conftest.py": "pytest_plugins = ['pkg.b']\n"},
            PATCHED,
            (),
            "the plug-in pkg/b.py imports what is patched",
            id="plug-in",
        ),
        pytest.param(
            {"tests/test_c.py": "import pkg.b\n"}, PATCHED, (), "every test file can reach what is patched", id="all"
        ),
        pytest.param({}, {"pkg/d.py": b""}, (), "no test is known to import what is patched", id="none"),
        pytest.param({}, PATCHED, (BROKEN,), "tests/conftest.py could not be collected", id="broken conftest"),
    ],
)
def test_all_tests_run_if_the_import_graph_is_not_enough(
    files: Mapping[str, str], patch: Mapping[str, bytes], broken: tuple[Case, ...], why: str, tmp_path: Path
) -> None:
    top = make_repo(tmp_path / "p", {**FILES, **files})
    assert select(top, patch, *broken) == ChosenTests(why=why)


def test_tests_that_start_programs_or_are_not_python_always_run(tmp_path: Path) -> None:
    files = {
        "tests/helper.py": STARTS,
        "tests/test_d.py": "import helper\n",
        "tests/test_e.py": STARTS,
        "tests/test_f.py": "import pkg.c\n",
        "README.md": ">>> 1\n1\n",
    }
    readme = Case("README.md::README.md", Status.PASSED, path="README.md")
    chosen = select(make_repo(tmp_path / "p", {**FILES, **files}), PATCHED, readme).files
    assert chosen == ("tests/test_a.py", "tests/test_b.py", "tests/test_d.py", "tests/test_e.py", "README.md")


@pytest.mark.parametrize("fast", [False, True])
def test_the_price_of_a_proof_is_named_where_it_is_high(fast: bool) -> None:
    how = "only" if fast else "about 2 more: `fix --fast-proof` proves with"
    end = "the tests that can reach the patch (--fast-proof)" if fast else "the tests that can reach the patch"
    expected = f"one run of this suite takes 4 min; a proved repair needs {how} {end}"
    assert announcement(240, fast=fast) == expected
    assert announcement(240, fast=fast, least=241) == ""
    assert announcement(60, fast=fast).startswith("one run of this suite takes 60 s;")
    assert announcement(59.9, fast=fast) == ""


@pytest.mark.thorough
@pytest.mark.parametrize(("seconds", "times"), every(2, [(240.0, 1), (59.0, 0)]))
def test_the_price_is_named_once_before_anything_is_tried(seconds: float, times: int, tmp_path: Path) -> None:
    top = make_repo(tmp_path / "p", FILES)
    events = run(top, Script([{"pkg/a.py": BREAKS}, {"pkg/a.py": RIGHT}]), lasting=seconds).events
    named = [at for at, event in enumerate(events) if event.text.startswith("one run of this suite takes")]
    tried = [at for at, event in enumerate(events) if event.kind == "attempt"]
    assert len(named) == times
    assert len(tried) == 2
    assert all(at < tried[0] for at in named)
