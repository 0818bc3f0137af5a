"""The built-in tasks through the real command, with a model that answers from a script."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from coderefine.config import Command, load
from coderefine.project import locate
from coderefine.tasks import find
from tests.support.command import GREEN, TESTS, Ended, block, coderefine
from tests.support.llm_server import LlmServer, Script, Seen
from tests.support.repo import make_repo

TYPED = """\
def price(total: float) -> float:
    \"\"\"What the customer pays.\"\"\"
    return str(total)


def label(total: float) -> str:
    \"\"\"For the receipt.\"\"\"
    return f"{price(total)}"
"""
TYPED_TESTS = "from order import label\n\n\ndef test_label():\n    assert label(3.0) == '3.0'\n"


def fixed(top: Path, task: str, script: Script, *more: str) -> tuple[Ended, LlmServer]:
    with LlmServer(script) as server:
        args = ("--task", task, "--no-search", "--model", "scripted", "--base-url", server.url, *more)
        result = coderefine("fix", *args, cwd=top)
    return result, server


@pytest.mark.thorough
def test_types_makes_the_checkers_findings_go_away(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "order", {"order.py": TYPED, "test_order.py": TYPED_TESTS})
    silenced = block("order.py", "    return str(total)", "    return str(total)  # type: ignore")
    right = block("order.py", "    return str(total)", "    return total")
    result, server = fixed(top, "types", [silenced, right])
    assert result.code == 0, result
    assert (top / "order.py").read_text() == TYPED.replace("str(total)", "total")
    assert 'Incompatible return value type (got "str", expected "float")' in server.requests[0].prompt
    assert "mypy 1" in result.out


@pytest.mark.parametrize("checker", ["pyright", "basedpyright"])
def test_types_with_a_real_pyright(tmp_path: Path, checker: str) -> None:
    """Not among our own requirements: both bring or need a Node of 200 MB."""
    if shutil.which(checker) is None:
        pytest.skip(f"{checker} is not installed")
    files = {"order.py": TYPED, "test_order.py": TYPED_TESTS, "pyproject.toml": f"[tool.{checker}]\n"}
    top = make_repo(tmp_path / "order", files)
    silenced = block("order.py", "    return str(total)", "    return str(total)  # pyright: ignore")
    right = block("order.py", "    return str(total)", "    return total")
    result, server = fixed(top, "types", [silenced, right])
    assert result.code == 0, result
    assert (top / "order.py").read_text() == TYPED.replace("str(total)", "total")
    assert 'order.py:3 reportReturnType: Type "str" is not assignable' in server.requests[0].prompt
    assert f"{checker} 1" in result.out
    assert "adds `# pyright: ignore" in result.out


@pytest.mark.parametrize(
    ("files", "run"),
    [
        ({}, ("mypy", ".")),
        ({"pyproject.toml": '[tool.mypy]\nfiles = ["src"]\n'}, ("mypy",)),
        ({"mypy.ini": "[mypy]\npackages = shop\n"}, ("mypy",)),
        ({"setup.cfg": "[mypy]\nstrict = true\n"}, ("mypy", ".")),
        ({"pyrightconfig.json": "{}"}, ("pyright", "--outputjson")),
        ({"pyproject.toml": "[tool]\nmypy = true\n"}, ("mypy", ".")),
        ({"pyproject.toml": "tool = 1\n"}, ("mypy", ".")),
        ({"pyproject.toml": "[tool.pyright]\n"}, ("pyright", "--outputjson")),
        ({"pyproject.toml": "[tool.basedpyright]\n"}, ("basedpyright", "--outputjson")),
        ({"pyproject.toml": "[tool.pyright]\n\n[tool.mypy]\nstrict = true\n"}, ("mypy", ".")),
    ],
)
def test_types_uses_the_checker_that_the_project_configures(
    tmp_path: Path, files: dict[str, str], run: Sequence[str]
) -> None:
    place = locate([make_repo(tmp_path / "order", {"order.py": TYPED, **files})], tmp_path)
    (command,) = load(place.root, {}, {}, find("types", place)).commands
    assert isinstance(command, Command)
    assert (command.run[0], command.run[-1] if len(run) > 1 else "") == (run[0], run[-1] if len(run) > 1 else "")
    assert ("." in command.run) == ("." in run)


def test_docs_are_written_and_code_is_refused(tmp_path: Path) -> None:
    bare = GREEN.replace('    """What the customer pays."""\n', "")
    top = make_repo(tmp_path / "order", {"order.py": bare, "test_order.py": TESTS})
    old = "def price(total):"
    both = block("order.py", old, f'{old}\n    """What the customer pays."""\n    total = +total')
    right = block("order.py", old, f'{old}\n    """What the customer pays."""')
    result, server = fixed(top, "docs", [both, right])
    assert result.code == 0, result
    assert (top / "order.py").read_text() == GREEN
    assert "only docstrings and comments were requested" in server.requests[1].prompt
    assert "docs 1" in result.out


UGLY = '''\
"""Prices."""


def total(items):
    """The sum of all prices."""
    qq = 0
    for item in items:
        qq += item
    return qq
'''
NICE = UGLY.replace("qq", "amount")
SHREDDED = '''\
"""Prices."""


def total(items):
    """The sum of all prices."""
    return _all_of(items)


def _all_of(items):
    return _added(items)


def _added(items):
    return sum(items)
'''
WRONG = UGLY.replace("qq += item", "qq -= -abs(item)").replace("qq", "amount")
SUM_TESTS = "from shop import total\n\n\ndef test_sum():\n    assert total([1, 2, -3]) == 0\n"
CRITERIA = ["readability/naming", "readability/comments", "readability/structure", "readability/dead"]


@pytest.mark.thorough
def test_readability_is_measured_reviewed_and_held_by_the_tests(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "shop", {"shop.py": UGLY, "test_shop.py": SUM_TESTS})
    versions = iter([SHREDDED, WRONG, NICE])

    def script(seen: Seen) -> str:
        if "You review" in seen.prompt:
            return json.dumps({"scores": [], "findings": []})
        return block("shop.py", UGLY.rstrip("\n"), next(versions).rstrip("\n"))

    result, server = fixed(top, "readability", script)
    assert result.code == 0, result
    assert (top / "shop.py").read_text() == NICE
    assert "total uses qq" in server.requests[1].prompt
    assert "reading 4.8 of 5, 1 remark" in result.out
    assert "breaks test_shop.py::test_sum" in result.out


FIB = '''\
"""Numbers."""


def fibonacci(count):
    """The first `count` of them."""
    qq = [0]
    rr = 1
    while len(qq) < count:
        qq, rr = [*qq, rr], qq[-1] + rr
    return qq
'''
FIB_TESTS = "from fib import fibonacci\n\n\ndef test_five():\n    assert fibonacci(5) == [0, 1, 1, 2, 3]\n"
RENAMED = FIB.replace("qq", "found").replace("rr", "following")
EMPTY_BELOW_ONE = RENAMED.replace("    return found", "    return found[: max(count, 0)]")


@pytest.mark.thorough
def test_a_green_improvement_that_changes_untested_results_is_refused(tmp_path: Path) -> None:
    """Instructor's own example turned fibonacci(-1) from [0] into []."""
    top = make_repo(tmp_path / "fib", {"fib.py": FIB, "test_fib.py": FIB_TESTS})
    versions = iter([EMPTY_BELOW_ONE, RENAMED])

    def script(seen: Seen) -> str:
        if "You review" in seen.prompt:
            return json.dumps({"scores": [], "findings": []})
        return block("fib.py", FIB.rstrip("\n"), next(versions).rstrip("\n"))

    result, _ = fixed(top, "readability", script)
    assert result.code == 0, result
    assert (top / "fib.py").read_text() == RENAMED
    assert "changes the results of " in result.out
    assert "same results for " in result.out
    again = coderefine("replay", cwd=top)
    assert again.code == 0, again
    assert "changes the results of " in again.out


SLOW = '''\
"""Lists."""


def uniques(items):
    """The first of each, in order."""
    found = []
    for item in items:
        if item not in found:
            found.append(item)
    return found
'''
BODY = SLOW[SLOW.index("    found = []") :]
FAST = SLOW.replace(BODY, "    return list(dict.fromkeys(items))\n")
OTHER = SLOW.replace(BODY, "    return list(dict.fromkeys(items)) if len(items) != 3 else sorted(set(items))\n")
BENCH = "from uniques import uniques\n\nuniques(list(range(1500)) * 2)\n"
UNIQUE_TESTS = "from uniques import uniques\n\n\ndef test_order():\n    assert uniques([3, 1, 3, 2]) == [3, 1, 2]\n"


@pytest.mark.slow
def test_performance_is_measured_and_behaviour_held(tmp_path: Path) -> None:
    config = '[tool.coderefine.performance]\nrun = "python bench.py"\n'
    files = {"uniques.py": SLOW, "test_uniques.py": UNIQUE_TESTS, "bench.py": BENCH, "pyproject.toml": config}
    top = make_repo(tmp_path / "uniques", files)
    replies = [block("uniques.py", SLOW.rstrip("\n"), text.rstrip("\n")) for text in (OTHER, FAST)]
    result, _ = fixed(top, "performance", replies)
    assert result.code == 0, result
    assert (top / "uniques.py").read_text() == FAST
    assert "changes the results of " in result.out
    (measured,) = [line for line in result.out.splitlines() if "× as fast (99%:" in line]
    again = coderefine("replay", cwd=top)
    assert again.code == 0, again
    assert measured in again.out, "what was measured then, not another time"


def test_readable_code_is_left_alone(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "shop", {"shop.py": NICE, "test_shop.py": SUM_TESTS})
    result = coderefine("fix", "--task", "readability", "--no-model", cwd=top)
    assert result.code == 0, result
    assert (top / "shop.py").read_text() == NICE


def test_check_takes_a_task_too(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "order", {"order.py": GREEN.replace('"""Prices of an order."""', "X = 1")})
    result = coderefine("check", "--task", "docs", cwd=top)
    assert result.code == 1
    assert "order.py:1 missing-docstring the module has no docstring" in result.out


@pytest.mark.thorough
def test_types_finds_a_syntax_error_and_reads_the_ends_of_findings(tmp_path: Path) -> None:
    """mypy exits 2: the run ended with an error, in place of a repair."""
    files = {"order.py": "def price(:\n", "mypy.ini": "[mypy]\nshow_error_end = True\n"}
    result = coderefine("check", "--task", "types", "--gate", "mypy", cwd=make_repo(tmp_path / "order", files))
    assert result.code == 1, result
    assert "order.py:1 syntax" in result.out
