"""ruff's fixes as patches, in real views, judged by a stand-in for the loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from coderefine.config import Config
from coderefine.core import Ask, Attempt, Cost, Patch, Severity, Situation, Verdict, Views
from coderefine.critics.ruff import Ruff
from coderefine.project import Interpreter, Place, locate
from coderefine.proposers.autofix import Autofix
from coderefine.workspace import open_views
from tests.support.cases import every
from tests.support.repo import make_repo

SETTINGS = '[tool.ruff.lint]\nselect = ["F", "I", "B"]\n'
NOBODY = Interpreter(Path("/nowhere/bin/python"), "3.11.0", "test", None, Path("/nowhere"))
Files = Mapping[str, bytes | None]
Judge = Callable[[Files], bool]


class Bench:
    """A repository with open views, and the loop's part of the conversation with a proposer."""

    def __init__(self, place: Place, views: Views, config: Config) -> None:
        self.place, self.views, self.config = place, views, config
        self._critic = Ruff(place, NOBODY, config, lambda _event: None)

    def attempt(self, number: int, patch: Patch, *, ok: bool = True) -> Attempt:
        with self.views.open(patch) as view:
            check = self._critic.check(view, Ask(self.place.scope))
        return Attempt(number, patch, (check,), Verdict(ok))

    def situation(self, best: Attempt, attempts: tuple[Attempt, ...]) -> Situation:
        hard = tuple(finding for finding in best.findings if finding.severity is Severity.HARD)
        return Situation(best, attempts[0], attempts, hard, self.place.scope)

    def run(self, judge: Judge) -> tuple[list[tuple[str, bool]], Attempt]:
        """Every proposal's summary with its verdict, and the best attempt at the end."""
        best = self.attempt(0, Patch())
        attempts: tuple[Attempt, ...] = (best,)
        steps = Autofix(self.place, self.config).propose(self.situation(best, attempts), self.views)
        result = []
        patch = next(steps, None)
        while patch is not None:
            ok = judge(patch.files)
            attempts += (self.attempt(len(attempts), patch, ok=ok),)
            best = attempts[-1] if ok else best
            result.append((patch.summary, ok))
            try:
                patch = steps.send(self.situation(best, attempts))
            except StopIteration:
                patch = None
        return result, best


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Callable[..., Bench]]:
    opened = []

    def open_bench(files: Mapping[str, str | bytes], *paths: str, config: Config | None = None) -> Bench:
        top = make_repo(tmp_path / "repo", {"pyproject.toml": SETTINGS, **files})
        place = locate([top / path for path in paths], top)
        context = open_views(place, kind="copy")
        opened.append(context)
        return Bench(place, context.__enter__(), config or Config())

    yield open_bench
    for context in opened:
        context.__exit__(None, None, None)


def always(_files: Files) -> bool:
    return True


def never(_files: Files) -> bool:
    return False


def test_all_safe_fixes_come_as_one_patch(bench: Callable[..., Bench]) -> None:
    code = "import sys\nimport os\n\n\ndef f(x):\n    return f'a' + x\n"
    result, best = bench({"src/a.py": code, "src/b.py": "import re\n"}).run(always)
    assert [ok for _, ok in result] == [True]
    assert result[0][0] == "5 ruff fixes (F401 ×3, I001 ×1, F541 ×1)"
    assert best.patch.files["src/a.py"] == b"def f(x):\n    return 'a' + x\n"
    assert best.patch.files["src/b.py"] == b""
    assert best.patch.origin == "autofix"
    assert not best.findings


def test_a_single_fix_is_named_with_its_place(bench: Callable[..., Bench]) -> None:
    result, _ = bench({"src/a.py": "import os\n\nx = 1\n"}).run(always)
    assert result == [("src/a.py:1 F401 remove unused import: `os`", True)]


def test_one_bad_fix_does_not_sink_the_others(bench: Callable[..., Bench]) -> None:
    """`from impl import helper` is a re-export that others need: ruff takes it for unused."""
    api = "import os\nfrom impl import helper\nimport sys\n\n\ndef f():\n    return f'x'\n"

    def judge(files: Files) -> bool:
        return b"import helper" in (files.get("api.py") or b"")

    result, best = bench({"api.py": api, "impl.py": "helper = 1\n"}).run(judge)
    assert best.patch.files["api.py"] == b"from impl import helper\n\n\ndef f():\n    return 'x'\n"
    assert [finding.message for finding in best.findings] == ["`impl.helper` imported but unused"]
    assert result[0][1] is False
    assert sum(1 for _, ok in result if not ok) <= 3
    assert ("api.py:1 F401 remove unused import: `os`", True) in result


def test_refused_fixes_are_not_offered_twice_and_it_ends(bench: Callable[..., Bench]) -> None:
    result, best = bench({"a.py": "import os\nimport sys\n\nx = f'a'\n"}).run(never)
    assert len(result) == len(set(result))
    assert not best.patch
    assert 4 <= len(result) <= 6


def test_protected_files_are_never_touched(bench: Callable[..., Bench]) -> None:
    files = {"tests/test_a.py": "import os\n", "conftest.py": "import os\n", "a.py": "import os\n"}
    _, best = bench(files).run(always)
    assert set(best.patch.files) == {"a.py"}


def test_files_outside_the_scope_are_never_touched(bench: Callable[..., Bench]) -> None:
    _, best = bench({"src/a.py": "import os\n", "lib/b.py": "import os\n"}, "src").run(always)
    assert set(best.patch.files) == {"src/a.py"}


def test_inadmissible_fixes_cost_no_attempt_and_the_others_are_one(bench: Callable[..., Bench]) -> None:
    """A function that asserts for the tests may not change; two fixes of the same rule beside it may."""
    code = (
        "import os\nimport sys\n\n\n"
        "def assert_close(a, b):\n    if abs(a - b) > 1e-9:\n        raise AssertionError(f'far apart')\n\n\n"
        "def name():\n    return f'x'\n\n\ndef other():\n    return f'y'\n"
    )
    test = "from a import assert_close\n\n\ndef test_close():\n    assert_close(1, 1)\n"
    result, best = bench({"a.py": code, "tests/test_a.py": test}).run(always)
    assert [ok for _, ok in result] == [True]
    after = code.removeprefix("import os\nimport sys\n\n\n").replace("f'x'", "'x'").replace("f'y'", "'y'")
    assert best.patch.files["a.py"] == after.encode()


def test_a_fix_that_brings_another_remark_costs_no_attempt_and_the_rest_is_one(bench: Callable[..., Bench]) -> None:
    """On a real library with 513 findings twelve patches were judged, five of them refused for one such fix."""
    code = (
        "import os\n\n\ndef kind(a):\n"
        "    if isinstance(a, int):\n        return 1\n    elif isinstance(a, str):\n        return 1\n    return 0\n"
    )
    settings = '[tool.ruff.lint]\nselect = ["F401", "SIM"]\n'
    result, best = bench({"a.py": code, "pyproject.toml": settings}).run(always)
    assert [ok for _, ok in result] == [True]
    assert best.patch.files["a.py"] == code.removeprefix("import os\n\n\n").encode()


def test_unsafe_fixes_are_left_alone(bench: Callable[..., Bench]) -> None:
    result, _ = bench({"a.py": "def f(x=[]):\n    y = 1\n    return x\n"}).run(always)
    assert result == []


def test_it_builds_on_the_best_patch_so_far(bench: Callable[..., Bench]) -> None:
    made = bench({"a.py": "import os\n\nx = 1\n", "b.py": "y = 1\n"})
    best = made.attempt(1, Patch({"b.py": b"import re\n\ny = 2\n"}, "model", "two"))
    situation = made.situation(best, (made.attempt(0, Patch()), best))
    patch = next(Autofix(made.place, made.config).propose(situation, made.views))
    assert patch.files == {"a.py": b"x = 1\n", "b.py": b"y = 2\n"}


def test_only_the_chosen_rules_are_repaired(bench: Callable[..., Bench]) -> None:
    made = bench({"a.py": "import sys\nimport os\n\nx = f'a', os, sys\n"}, config=Config(select=("F",)))
    _, best = made.run(always)
    assert best.patch.files["a.py"] == b"import sys\nimport os\n\nx = 'a', os, sys\n"


@pytest.mark.parametrize(
    ("judge", "kept"),
    every(2, [(lambda files: b"import os" in (files["a.py"] or b""), b"import os\r\n"), (always, b"")]),
)
def test_line_ends_and_a_byte_order_mark_survive(bench: Callable[..., Bench], judge: Judge, kept: bytes) -> None:
    code = b"\xef\xbb\xbfimport os\r\nimport sys, re\r\n\r\nprint(re, sys, f'a')\r\n"
    _, best = bench({"a.py": code}).run(judge)
    after = b"\xef\xbb\xbf" + kept + b"import re\r\nimport sys\r\n\r\nprint(re, sys, 'a')\r\n"
    assert best.patch.files["a.py"] == after


def test_it_costs_nothing_and_knows_when_there_is_nothing(bench: Callable[..., Bench]) -> None:
    made = bench({"a.py": "x = 1\n"})
    assert made.run(always)[0] == []
    assert Autofix(made.place, made.config).spent == Cost()
