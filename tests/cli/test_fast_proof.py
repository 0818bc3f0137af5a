"""`--fast-proof` as a user meets it: the report, the JSON, the commit, the hook's coverage map; never in the hook."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from coderefine.reports.json import schema
from tests.support.command import GREEN, LINT, ORDER, TESTS, coderefine
from tests.support.repo import git, make_repo, write

OTHER = "from cart import pay\n\n\ndef test_pay():\n    assert pay(3) == 3\n"
FILES = {
    "order.py": ORDER,
    "test_order.py": TESTS,
    "cart.py": '"""Pays."""\n\n\ndef pay(total):\n    """Pay."""\n    return total\n',
    "test_cart.py": OTHER,
    ".gitignore": "__pycache__/\n.pytest_cache/\n.ruff_cache/\n",
}
PROVED = "proved by 2 of 3 tests (--fast-proof): those that can reach the patch"


OFFLINE = ("fix", "--no-model", "--no-search")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return make_repo(tmp_path / "shop", FILES)


@pytest.fixture
def untidy(tmp_path: Path) -> Path:
    """Green tests, one lint finding that ruff alone repairs."""
    return make_repo(tmp_path / "shop", {**FILES, "order.py": LINT})


@pytest.mark.thorough
def test_the_report_and_the_commit_name_the_tests_that_prove_it(shop: Path) -> None:
    result = coderefine("fix", "--no-model", "--fast-proof", "--commit", cwd=shop)
    assert result.code == 0, result
    assert (shop / "order.py").read_text() == GREEN
    assert PROVED in result.out
    assert "1 test flipped, 1 kept, 0 lost" in result.out
    assert "1/2 → " in result.out, "the tests that were not run count as run"
    assert PROVED in git(shop, "log", "-1", "--format=%(trailers:key=Coderefine-Evidence,valueonly)")
    assert PROVED in coderefine("show", cwd=shop).out


def test_the_json_has_both_counts(untidy: Path) -> None:
    result = coderefine(*OFFLINE, "--format", "json", cwd=untidy, env={"CODEREFINE_FAST_PROOF": "true"})
    report = json.loads(result.out)
    jsonschema.validate(report, schema())
    assert report["evidence"]["ran"] == {"done": 2, "total": 3}
    assert report["evidence"]["kept"] == 2
    assert report["best"]["tests"] == {"passed": 2}


@pytest.mark.thorough
def test_the_coverage_map_of_the_hook_narrows_it_further(tmp_path: Path) -> None:
    """test_tax.py imports order.py, and ran nothing of the functions that change."""
    code = GREEN + '\n\ndef tax(total):\n    """Tax."""\n    return total / 5\n'
    tax = "from order import tax\n\n\ndef test_tax():\n    assert tax(10) == 2\n"
    top = make_repo(tmp_path / "shop", {**FILES, "order.py": code, "test_tax.py": tax})
    write(top, {"order.py": code + "# end\n"})
    git(top, "add", "-A")
    assert coderefine("hook", "run", "--no-fix", "--hook-timeout", "300", cwd=top).code == 0
    write(top, {"order.py": code.replace("    return total * 0.1", "    import os\n\n    return 0.1 * total")})
    result = coderefine(*OFFLINE, "--fast-proof", cwd=top)
    assert "proved by 2 of 4 tests" in result.out, result


@pytest.mark.thorough
def test_the_hook_runs_all_affected_tests(untidy: Path) -> None:
    write(untidy, {"order.py": LINT + "# end\n", "cart.py": FILES["cart.py"] + "# end\n"})
    write(untidy, {"pyproject.toml": "[tool.coderefine]\nfast-proof = true\nsearch = false\n"})
    git(untidy, "add", "-A")
    result = coderefine("hook", "run", "--fix", "--hook-timeout", "300", cwd=untidy)
    assert "0 tests flipped, 3 kept" in result.out, result
    assert "proved by" not in result.out
    git(untidy, "checkout", "-q", "order.py")
    assert PROVED in coderefine(*OFFLINE, cwd=untidy).out, "the setting is read elsewhere"
