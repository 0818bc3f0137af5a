"""A patch that somebody made is judged as coderefine's own are: its code, its tests, and what it does to them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from coderefine.reports.json import schema
from tests.support.cases import every
from tests.support.command import GREEN, ORDER, TESTS, Said, coderefine
from tests.support.publishing import state
from tests.support.repo import make_repo, write

NEW = """\

def test_discount_of_two_hundred():
    assert discount(200) == 20
"""
TEST = "test_order.py"
SLEEPER = "import time\n\n\ndef test_sleep():\n    time.sleep(30)\n"
BOUND = "    assert discount(100) == 10\n"
PRICE = "    assert price(10) == 10\n"
WORSE = GREEN.replace("total - discount", "total + 1 - discount")
HALF = "\n\ndef test_three():\n    assert price(100) == 90\n\n\ndef test_four():\n    assert price(-1) == 0\n"
CASES = """\
import pytest

from order import discount

RATES = [(10, 0), (200, 20)]


@pytest.mark.parametrize(("total", "rate"), RATES)
def test_rate(total, rate):
    assert discount(total) == rate
"""
PYPROJECT = '[project]\nname = "order"\nversion = "1"\n'
START = {
    "order.py": ORDER,
    TEST: TESTS,
    "test_cases.py": CASES,
    "conftest.py": "",
    "pyproject.toml": PYPROJECT,
    "data.json": "{}",
    "run.sh": "#!/bin/sh\n",
}
Files = Mapping[str, "str | bytes | None"]


def patched(top: Path, files: Files) -> None:
    """Write `files`; None deletes."""
    write(top, {path: text for path, text in files.items() if text is not None})
    for path, text in files.items():
        if text is None:
            (top / path).unlink()


def proof(said: Said) -> dict[str, Any]:
    report = json.loads(said.out)
    jsonschema.validate(report, schema())
    found = report["proof"]
    assert isinstance(found, dict)
    return found


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """The fault is in the limit; the suite has more than one test module."""
    return make_repo(tmp_path / "order", START)


HONEST: list[tuple[Files, str]] = [
    ({"order.py": GREEN}, "1 test repaired"),
    ({"order.py": GREEN, TEST: TESTS + NEW}, "1 test repaired"),
    ({"order.py": GREEN, TEST: TESTS.replace(PRICE, PRICE + "    assert price(100) == 90\n")}, "2 tests repaired"),
    ({"order.py": GREEN, "test_more.py": "from order import price\n\n\ndef test_all():\n    assert price(100) == 90\n"},
     "2 tests repaired"),
    ({"order.py": GREEN, "test_cases.py": CASES.replace("(200, 20)]", "(200, 20), (100, 10)]")}, "2 tests repaired"),
    ({"order.py": GREEN, ".github/workflows/ci.yml": "on: push\n"}, "1 test repaired"),
    ({"order.py": GREEN, "pyproject.toml": PYPROJECT.replace('"1"', '"2"')}, "1 test repaired"),
    ({"order.py": GREEN + "\n\ndef half(total):\n    \"\"\"One half.\"\"\"\n    return total / 2\n",
      TEST: TESTS.replace("import discount", "import discount, half").replace("100_on", "100_on") +
      "\n\ndef test_half():\n    assert half(4) == 2\n"}, "1 test repaired"),
]  # fmt: skip
HONEST_IDS = [
    *("code", "code and a test", "an assertion more", "a new test file", "a row more"),
    *("and CI", "and the version", "a new function"),
]


@pytest.mark.parametrize(("files", "reason"), every(4, HONEST), ids=HONEST_IDS[: len(every(4, HONEST))])
def test_an_honest_patch_is_proved_and_nothing_is_written(top: Path, files: Files, reason: str) -> None:
    patched(top, files)
    before = state(top)
    said = coderefine("prove", "--format", "json", cwd=top)
    assert said.code == 0, said
    assert {name: value for name, value in state(top).items() if name in before} == before
    found = proof(said)
    assert (found["proved"], found["reason"], found["weakened"]) == (True, reason, []), found


BAD: list[tuple[Files, str]] = [
    ({"order.py": WORSE}, "breaks test_order.py::test_"),
    ({"order.py": GREEN, TEST: TESTS.replace(PRICE, "    price(10)\n")},
     "weakens tests: test_order.py::test_price is changed"),
    ({"order.py": GREEN, TEST: TESTS.replace("def test_price", "@pytest.mark.skip\ndef test_price").replace(
        "from order", "import pytest\nfrom order")}, "weakens tests: test_order.py::test_price is skipped"),
    ({"order.py": GREEN, TEST: TESTS[: TESTS.index("\n\ndef test_price")] + "\n"},
     "weakens tests: test_order.py::test_price is deleted"),
    ({TEST: TESTS.replace(BOUND, "    assert discount(100) == 0\n")},
     "weakens tests: test_order.py::test_discount_from_one_hundred_on failed, and passes without the patch's code"),
    ({"order.py": GREEN, TEST: TESTS + HALF}, "brings failing tests: test_order.py::test_four"),
    ({"order.py": ORDER.replace("total * 0.1 if", "total * 0.1 if  ")}, "changes only layout or comments"),
    ({"order.py": ORDER.replace("total > 100", "total > 100.0")}, "nothing shows that it helps"),
    ({TEST: TESTS + NEW}, "nothing gets worse, but nothing shows that it helps"),
    ({"order.py": f"import os\n\n{GREEN}"}, "new ruff finding F401 in order.py"),
    ({"order.py": GREEN, TEST: f"import os\n\n{TESTS}"}, "new ruff finding F401 in test_order.py"),
    ({"order.py": ORDER.replace("total > 100", "total > 100 or total == 100 and total != 1e9")}, ""),
    ({"order.py": GREEN, "test_cases.py": CASES.replace("(200, 20)", "(200, 20.0)")}, "weakens tests: test_cases.py"),
    ({"order.py": GREEN, "test_cases.py": None}, "weakens tests: test_cases.py::test_rate"),
    ({"order.py": GREEN, "pyproject.toml": PYPROJECT + '[tool.coderefine]\ngates = ["ruff"]\n'},
     "pyproject.toml changes [tool.coderefine]"),
    ({"order.py": GREEN, "pyproject.toml": PYPROJECT + '[tool.pytest.ini_options]\naddopts = "-k price"\n'},
     "weakens tests: test_order.py::test_discount_from_one_hundred_on is deleted"),
    ({"conftest.py": "import order\n\norder.discount = lambda total: total * 0.1 if total >= 100 else 0\n"},
     "weakens tests: test_order.py::test_discount_from_one_hundred_on failed, and passes without the patch's code"),
    ({"order.py": GREEN, "conftest.py": "def pytest_collection_modifyitems(items):\n    items[:] = items[:3]\n"},
     "weakens tests: "),
    ({"order.py": ORDER.replace("    return total", "    if total == 100:\n        return 10\n    return total", 1)},
     "copies an answer"),
    ({"order.py": GREEN.replace("def price", "def cost")}, "price"),
    ({"order.py": GREEN + "x = 1  # noqa: F401\n"}, "noqa"),
    ({"order.py": None}, "deletes order.py"),
    ({"order.py": GREEN, "sitecustomize.py": "pass\n"}, "sitecustomize.py"),
    ({"order.py": GREEN, "data.bin": b"\xff\xfe\x00\x01" * 9}, "data.bin"),
]  # fmt: skip
BAD_IDS = [
    *("a regression", "an assertion gone", "a test skipped", "a test deleted", "an expectation changed", "a half fix"),
    *("layout", "no help", "only tests that pass", "a finding", "a finding in tests", "a useless condition"),
    *("a row changed", "a test file deleted", "its own settings", "deselected", "patched by conftest", "a hook"),
    *("a special case", "a public name", "a suppression", "a module deleted", "sitecustomize", "binary"),
]


@pytest.mark.parametrize(("files", "reason"), every(8, BAD), ids=BAD_IDS[: len(every(8, BAD))])
def test_a_bad_patch_is_refused_for_the_right_reason(top: Path, files: Files, reason: str) -> None:
    patched(top, files)
    before = state(top)
    said = coderefine("prove", "--format", "json", cwd=top)
    found = proof(said)
    assert not found["proved"], found
    assert reason in found["reason"], found["reason"]
    assert said.code == 1
    assert {name: value for name, value in state(top).items() if name in before} == before
