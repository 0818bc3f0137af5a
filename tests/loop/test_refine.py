"""The loop with real tests, real ruff and real views; the patches are scripted."""

from __future__ import annotations

import marshal
import subprocess
import sys
from pathlib import Path

import pytest

from coderefine.config import Config
from coderefine.core import PLAUSIBLE, Attempt, Limits, Patch, Situation, Stop, Verdict
from coderefine.loop.proof import PROOF_SEED
from coderefine.project import locate
from coderefine.proposers.autofix import Autofix
from coderefine.proposers.recorded_patches import RecordedProposer
from tests.support.cases import every
from tests.support.loop import Script, run
from tests.support.repo import git, make_repo, write

SUM = "def total(items):\n    return sum(items[1:])\n"
RIGHT = "def total(items):\n    return sum(items)\n"
WRONG = "def total(items):\n    return sum(items[:-1])\n"
UNTIDY = f"import os\n\n\n{RIGHT}"
TESTS = """\
from shop import total


def test_all():
    assert total([1, 2, 3]) == 6


def test_none():
    assert total([]) == 0
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return make_repo(tmp_path / "shop", {"shop.py": SUM, "test_shop.py": TESTS})


def tree(top: Path) -> dict[str, bytes]:
    """Every file below `top`, the git directory included."""
    return {
        path.relative_to(top).as_posix(): path.read_bytes()
        for path in sorted(top.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_in_a_clean_project_no_proposer_runs(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "shop", {"shop.py": RIGHT, "test_shop.py": TESTS})
    script = Script([{"shop.py": WRONG}])
    outcome = run(top, script).outcome
    assert (outcome.stop, outcome.best.number, script.asked) == (Stop.CLEAN, 0, 0)


def test_the_right_patch_is_proved_and_ends_the_run_and_the_tree_is_unchanged(shop: Path) -> None:
    before, script = tree(shop), Script([{"shop.py": RIGHT}, {"shop.py": WRONG}])
    ran = run(shop, script)
    assert script.asked == 1
    assert ran.outcome.stop is Stop.CLEAN
    assert ran.outcome.best.patch.files == {"shop.py": RIGHT.encode()}
    assert ran.outcome.evidence.flipped == ("test_shop.py::test_all",)
    assert (ran.outcome.evidence.kept, ran.outcome.evidence.lost) == (1, ())
    assert ran.outcome.evidence.covered == (1, 1)
    assert tree(shop) == before


def test_while_a_test_fails_refactorings_come_last(shop: Path) -> None:
    """Their patches are refused before a test runs, because they change a test."""
    names = [Script([{"test_shop.py": f"# {name}\n"}], name=name) for name in ("search", "simplify", "model")]
    ran = run(shop, *names)
    assert [attempt.patch.origin for attempt in ran.recorded[1:]] == ["search", "model", "simplify"]


def test_a_worse_patch_is_refused_and_the_next_one_starts_from_the_best(shop: Path) -> None:
    script = Script([{"shop.py": "def total(items):\n    return 7\n"}, {"shop.py": RIGHT}])
    ran = run(shop, script)
    refused = ran.outcome.attempts[1]
    assert not refused.verdict
    assert "breaks test_shop.py::test_none" in refused.verdict.reason
    assert ran.outcome.best.number == 2
    situation = script.seen[1]
    assert situation.best.number == 0
    assert [attempt.number for attempt in situation.attempts] == [0, 1]
    assert situation.findings[0].symbol == "test_shop.py::test_all"
    assert situation.attempts[1].cases["test_shop.py::test_all"].status.bad
    assert [attempt.number for attempt in ran.recorded] == [0, 1, 2]


def test_a_repeated_patch_costs_no_test_run(shop: Path) -> None:
    ran = run(shop, Script([{"shop.py": WRONG}, {"shop.py": WRONG + "\n# again\n"}]))
    again = ran.outcome.attempts[2]
    assert "seen before" in again.verdict.reason
    assert again.checks == ()
    assert ran.outcome.stop is Stop.CYCLE


def test_a_step_may_trip_lint_but_is_not_published_with_it(shop: Path) -> None:
    """The right repair with an unused import is a better step, which ruff may then clean; else it is only offered."""
    kept = run(shop, Script([{"shop.py": UNTIDY}])).outcome
    assert kept.attempts[1].verdict.reason == "plausible, offered: new ruff finding F401 in shop.py"
    assert kept.best.number == 0, "published with a new finding"
    assert [one.patch.files["shop.py"] for one in kept.offers[0].alternatives] == [UNTIDY.encode()]


@pytest.mark.thorough
def test_a_step_that_tripped_lint_is_cleaned_by_the_next_one(shop: Path) -> None:
    outcome = run(shop, Script([{"shop.py": UNTIDY}, {"shop.py": RIGHT}])).outcome
    assert (outcome.best.number, outcome.stop) == (2, Stop.CLEAN)


def test_a_replayed_run_offers_again_what_it_offered(tmp_path: Path) -> None:
    """Where behaviour must not change, the recorded "plausible" counted as another behaviour: no offer was made."""
    top = make_repo(tmp_path / "shop", {"shop.py": SUM, "test_shop.py": TESTS.partition("\n\n\ndef test_none")[0]})
    patch = Patch({"shop.py": RIGHT.encode()}, origin="search", summary="all items")
    offered = Attempt(1, patch, verdict=Verdict(ok=False, reason=f"{PLAUSIBLE}: a rival passes, too"))
    ran = run(top, RecordedProposer([offered], [], Script([])), earlier=[offered], keeps=True)
    assert ran.outcome.attempts[1].verdict == offered.verdict
    assert [offer.why for offer in ran.outcome.offers] == ["a rival passes, too"]


def test_a_refactoring_that_adds_a_finding_does_not_keep_the_others_from_being_written(tmp_path: Path) -> None:
    """Nothing may be built on it, since nothing based on it can be published; no test needs to run for it."""
    top = make_repo(tmp_path / "shop", {"shop.py": f"import os\nimport re\n{RIGHT}", "test_shop.py": TESTS})
    steps = [{"shop.py": f"{RIGHT}\n\nname = f'shop'\n"}, {"shop.py": f"import re\n\n\n{RIGHT}"}]
    outcome = run(top, Script(steps, name="simplify")).outcome
    refused, written = outcome.attempts[1:]
    assert (bool(refused.verdict), refused.cost.test_runs) == (False, 0)
    assert refused.verdict.reason == "new ruff finding F541 in shop.py"
    assert outcome.best is written


def test_two_faults_fixed_one_after_the_other(tmp_path: Path) -> None:
    tests = TESTS + "\n\ndef test_mean():\n    from shop import mean\n\n    assert mean([2, 4]) == 3\n"
    mean = "\n\ndef mean(items):\n    return total(items) / (len(items) + 1)\n"
    top = make_repo(tmp_path / "shop", {"shop.py": SUM + mean, "test_shop.py": tests})
    fixed = mean.replace("(len(items) + 1)", "len(items)")
    ran = run(top, Script([{"shop.py": RIGHT + mean}, {"shop.py": RIGHT + fixed}])).outcome
    assert [attempt.number for attempt in ran.attempts if attempt.verdict] == [0, 1, 2]
    assert ran.stop is Stop.CLEAN
    assert len(ran.evidence.flipped) == 2


@pytest.mark.thorough
def test_on_a_slow_suite_where_nothing_fails_breaking_the_same_test_again_costs_that_test_only(
    tmp_path: Path,
) -> None:
    top = make_repo(tmp_path / "shop", {"shop.py": "import os\n\n\n" + RIGHT, "test_shop.py": TESTS})
    steps = [{"shop.py": text} for text in (SUM, WRONG)]
    first, second = run(top, Script(steps), lasting=6.0).outcome.attempts[1:]
    for attempt in (first, second):
        assert attempt.verdict.reason == "breaks test_shop.py::test_all"
    ran = [next(check for check in attempt.checks if check.critic == "pytest").complete for attempt in (first, second)]
    assert ran == [True, False]


@pytest.mark.thorough
def test_on_a_slow_suite_the_second_step_is_not_refused_for_repairs_of_the_first(tmp_path: Path) -> None:
    """There the tests that still fail are run first; those that the first step repaired do not count as failing."""
    code = "def one():\n    return 0\n\n\ndef two():\n    return 0\n"
    tests = "import m\n\n\ndef test_one():\n    assert m.one() == 1\n\n\ndef test_two():\n    assert m.two() == 2\n"
    top = make_repo(tmp_path / "m", {"m.py": code, "test_m.py": tests})
    first = code.replace("0", "1", 1)
    ran = run(top, Script([{"m.py": first}, {"m.py": first.replace("0", "2")}]), lasting=6.0)
    assert [bool(attempt.verdict) for attempt in ran.outcome.attempts[1:]] == [True, True]
    assert ran.outcome.stop is Stop.CLEAN


@pytest.mark.thorough
def test_on_a_slow_suite_a_module_becomes_collectable(tmp_path: Path) -> None:
    """Its tests have no names before: those that still fail cannot be run first."""
    top = make_repo(tmp_path / "shop", {"shop.py": "SIZE = 1\n", "test_shop.py": TESTS})
    outcome = run(top, Script([{"shop.py": f"SIZE = 1\n\n\n{RIGHT}"}]), lasting=6.0).outcome
    assert (outcome.stop, outcome.evidence.flipped) == (Stop.CLEAN, ("test_shop.py",))


def traced(test: str, *texts: str) -> Script:
    """Proposes `texts` for shop.py; it is known that `test` executes its function."""
    script = Script([{"shop.py": text} for text in texts])
    script.traces = [(Patch(), {test: {"shop.py": frozenset({2})}})]
    return script


@pytest.mark.thorough
def test_on_a_slow_suite_a_patch_that_breaks_a_test_near_the_edit_cost_a_run_of_the_whole_suite(tmp_path: Path) -> None:
    slow = "import time\n\n\ndef test_slow():\n    time.sleep(12)\n"
    top = make_repo(tmp_path / "shop", {"shop.py": SUM, "test_shop.py": TESTS, "test_slow.py": slow})
    seven = "def total(items):\n    return sum(items) or 7\n"
    ran = run(top, traced("test_shop.py::test_none", seven))
    attempt = ran.outcome.attempts[1]
    assert attempt.verdict.reason == "breaks test_shop.py::test_none"
    assert "proof" not in {event.text for event in ran.events if event.kind == "stage"}
    assert attempt.suite
    assert not attempt.suite.complete
    assert [finding.symbol for finding in attempt.suite.findings] == ["test_shop.py::test_none"]


@pytest.mark.thorough
def test_on_a_slow_suite_a_test_that_needs_another_before_it_refuses_no_patch_when_run_without_it(
    tmp_path: Path,
) -> None:
    """Only tests that reach the edit run first, and alone it fails on any tree."""
    tests = """\
import time

from shop import total

SEEN = []


def test_sees():
    SEEN.append(1)


def test_has_seen():
    assert len(SEEN) == total([0, 1])


def test_slow():
    time.sleep(12)
"""
    top = make_repo(tmp_path / "shop", {"shop.py": SUM, "test_shop.py": TESTS, "test_order.py": tests})
    attempt = run(top, traced("test_order.py::test_has_seen", RIGHT)).outcome.attempts[1]
    assert attempt.verdict, attempt.verdict.reason


OTHER = f"from shop import SIZE\n{TESTS}\n\ndef test_size():\n    assert SIZE == 2\n"


@pytest.mark.parametrize(
    ("code", "tests", "why"),
    [
        (SUM, TESTS, ["tests that run its lines still fail: test_shop.py::test_all"]),
        pytest.param(RIGHT, OTHER, [], marks=pytest.mark.thorough),
    ],
    ids=["unfinished", "another failure"],
)
def test_an_unfinished_implementation_of_what_a_module_imports_is_only_offered(
    tmp_path: Path, code: str, tests: str, why: list[str]
) -> None:
    """Half of a function was written as "proved", because its test module could not be collected before."""
    top = make_repo(tmp_path / "shop", {"shop.py": "SIZE = 1\n", "test_shop.py": tests})
    outcome = run(top, Script([{"shop.py": f"SIZE = 1\n\n\n{code}"}])).outcome
    assert [offer.why for offer in outcome.offers] == why
    assert outcome.best.number == (0 if why else 1)


def test_part_of_the_way_is_published_and_the_rest_is_named(tmp_path: Path) -> None:
    tests = TESTS + "\n\ndef test_impossible():\n    assert total([1]) == 'one'\n"
    top = make_repo(tmp_path / "shop", {"shop.py": SUM, "test_shop.py": tests})
    outcome = run(top, Script([{"shop.py": RIGHT}])).outcome
    assert outcome.best.number == 1
    assert [finding.symbol for finding in outcome.remaining] == ["test_shop.py::test_impossible"]
    assert (outcome.stop, outcome.clean) == (Stop.NO_PROGRESS, False)


@pytest.mark.thorough
def test_a_test_tied_to_the_hash_seed_is_a_real_failure(tmp_path: Path) -> None:
    """Alone and under another seed it passes; the full run with the first seed fails again."""
    tied = 'import os\n\n\ndef test_seed():\n    assert os.environ["PYTHONHASHSEED"] != "0"\n'
    top = make_repo(tmp_path / "shop", {"shop.py": RIGHT, "test_shop.py": TESTS, "test_seed.py": tied})
    assert run(top, Script([])).outcome.evidence.flaky == ()


@pytest.mark.thorough
def test_a_flaky_test_is_named_and_is_no_task(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    flaky = f"""\
import pathlib


def test_sometimes():
    mark = pathlib.Path({str(mark)!r})
    if not mark.exists():
        mark.write_text("x")
        raise AssertionError
"""
    top = make_repo(tmp_path / "luck", {"shop.py": SUM, "test_shop.py": TESTS, "test_luck.py": flaky})
    outcome = run(top, Script([{"shop.py": RIGHT}])).outcome
    assert outcome.stop is Stop.CLEAN
    assert outcome.evidence.flaky == ("test_luck.py::test_sometimes",)
    assert outcome.evidence.flipped == ("test_shop.py::test_all",)


@pytest.mark.parametrize(
    ("limits", "stop", "why"),
    every(
        3,
        [
            (Limits(iterations=2), Stop.ITERATIONS, "2 of 2 rounds with the model are used (--max-iterations)"),
            (Limits(seconds=0.0), Stop.BUDGET, "of --timeout are used up"),
            (Limits(test_runs=2), Stop.BUDGET, "test runs"),
        ],
    ),
)
def test_limits_are_checked_before_they_are_spent(shop: Path, limits: Limits, stop: Stop, why: str) -> None:
    bad = [{"shop.py": SUM.replace("[1:]", f"[{number}:]")} for number in range(2, 9)]
    outcome = run(shop, Script(bad, costs_requests=True), limits=limits).outcome
    assert outcome.stop is stop
    assert why in outcome.why
    assert len(outcome.attempts) - 1 <= 2


@pytest.mark.parametrize(("suite", "kept"), every(2, [(20.0, 45.0), (400.0, 150.0)]))
def test_proposers_end_early_enough_for_the_proof(shop: Path, suite: float, kept: float) -> None:
    script = Script([])
    run(shop, script, limits=Limits(seconds=600.0), lasting=suite)
    left = script.seen[0].seconds_left
    assert left is not None
    assert 500.0 - kept < left <= 600.0 - kept


def test_a_run_without_proposers_reports_it(shop: Path) -> None:
    outcome = run(shop).outcome
    assert outcome.stop is Stop.UNFIXABLE
    assert outcome.remaining


@pytest.mark.thorough
def test_a_patch_that_kills_the_test_process_is_an_attempt_not_an_end(shop: Path) -> None:
    deadly = "import ctypes\n\n\ndef total(items):\n    return ctypes.string_at(0)\n"
    crash = "def total(items):\n    return total(items)\n"
    ran = run(shop, Script([{"shop.py": deadly}, {"shop.py": crash}, {"shop.py": RIGHT}])).outcome
    assert [bool(attempt.verdict) for attempt in ran.attempts] == [True, False, False, True]


def test_code_that_rewrites_its_tests_is_caught_by_the_proof(shop: Path) -> None:
    """At import it edits a test file that is collected later; every test is green, the proof is not.

    The judge does not see its name in the patch.
    """
    write(shop, {"test_zz.py": "from shop import total\n\n\ndef test_one():\n    assert total([5]) == 5\n"})
    git(shop, "add", "-A")
    git(shop, "commit", "-qm", "more")
    sly = (
        "from pathlib import Path\n\nhere = max(Path(__file__).parent.glob('*.py'))\n"
        "here.write_text(here.read_text().replace('== 5', '== 4'))\n\n\n"
        "def total(items):\n    return sum(items) - (len(items) == 1)\n"
    )
    outcome = run(shop, Script([{"shop.py": sly}])).outcome
    assert outcome.best.number == 0
    assert "protected files changed" in outcome.attempts[1].verdict.reason


RESTORED = """\
from pathlib import Path

FILES = {one: one.read_bytes() for one in Path(__file__).parent.glob("*_zz.py")}
for one, data in FILES.items():
    one.write_bytes(data.replace(b"assert ", b"None or "))


def total(items):
    for one, data in FILES.items():
        one.write_bytes(data)
    return sum(items) - (len(items) == 1)
"""
EMPTY_TEST = marshal.dumps(compile("def test_one():\n    pass\n", "test_zz.py", "exec"))
COMPILED = f"""\
from pathlib import Path

for one in Path(__file__).parent.rglob("*_zz*.pyc"):
    one.write_bytes(one.read_bytes()[:16] + {EMPTY_TEST!r})


def total(items):
    return sum(items) - (len(items) == 1)
"""


MORE = {"test_zz.py": "from shop import total\n\n\ndef test_one():\n    assert total([5]) == 5\n"}


def test_a_test_file_that_the_code_changes_only_while_it_is_compiled_is_caught(tmp_path: Path) -> None:
    """The file is restored while the tests run, so that it is unchanged after the proof."""
    top = make_repo(tmp_path / "shop", {"shop.py": SUM, "test_shop.py": TESTS, **MORE})
    outcome = run(top, Script([{"shop.py": RESTORED}])).outcome
    assert outcome.best.number == 0
    assert "protected files changed" in outcome.attempts[1].verdict.reason


STYLE = """\
import ast
from pathlib import Path

TREE = ast.parse("x = 1", __file__)


def test_style():
    here = Path(__file__)
    assert ast.parse(here.read_text(), str(here)).body
    assert compile("x = 1", here.name, "exec")
"""


def test_tests_that_compile_other_text_under_their_name_were_changed_test_files(tmp_path: Path) -> None:
    """No patch was ever proved in such a project; `read_text` changes the line ends of the file."""
    style = STYLE.replace("\n", "\r\n")
    top = make_repo(tmp_path / "shop", {"shop.py": SUM, "test_shop.py": TESTS, "test_style.py": style})
    outcome = run(top, Script([{"shop.py": RIGHT}]), gates=("pytest",)).outcome
    assert (outcome.stop, outcome.best.number) == (Stop.CLEAN, 1)


@pytest.mark.thorough
def test_bytecode_that_the_code_writes_for_a_test_file_is_not_run(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "shop", {"shop.py": SUM, "test_shop.py": TESTS, **MORE})
    outcome = run(top, Script([{"shop.py": COMPILED}])).outcome
    assert [one.symbol for one in outcome.remaining] == ["test_zz.py::test_one"]


@pytest.mark.thorough
def test_the_copy_backend_gives_the_same_verdicts(shop: Path) -> None:
    ran = run(shop, Script([{"shop.py": WRONG}, {"shop.py": RIGHT}]), view="copy").outcome
    assert (ran.stop, ran.best.number) == (Stop.CLEAN, 2)
    assert ran.evidence.flipped == ("test_shop.py::test_all",)


@pytest.mark.parametrize("path", every(3, ["shop.py/more.py", "x" * 300 + ".py", "\ud800.py"]))
def test_after_an_impossible_path_and_a_patch_that_breaks_collection_the_run_continues(shop: Path, path: str) -> None:
    broken = {"shop.py": "raise RuntimeError\n"}
    outcome = run(shop, Script([{path: "X = 1\n"}, broken, {"shop.py": RIGHT}])).outcome
    assert (outcome.stop, outcome.best.number) == (Stop.CLEAN, 3)
    assert "may not be changed" in outcome.attempts[1].verdict.reason
    assert not outcome.attempts[2].verdict


def test_a_module_with_doctests_can_be_repaired(tmp_path: Path) -> None:
    """Its doctests make it a file of tests, and the patch changes it all the same."""
    documented = 'def total(items):\n    """Sum.\n\n    >>> total([2])\n    2\n    """\n    return sum(items{})\n'
    ini = "[pytest]\naddopts = --doctest-modules\n"
    files = {"shop.py": documented.format("[1:]"), "test_shop.py": TESTS, "pytest.ini": ini}
    outcome = run(make_repo(tmp_path / "shop", files), Script([{"shop.py": documented.format("")}])).outcome
    assert (outcome.stop, outcome.best.number) == (Stop.CLEAN, 1)
    assert "shop.py::shop.total" in outcome.evidence.flipped


HELPER = "def half(x):\n    return x / {}\n"
HALF = "from helper import half\n\n\ndef test_half():\n    assert half(2) == 1\n"


def test_repairs_by_the_user_meanwhile_do_not_count_for_the_patch(tmp_path: Path) -> None:
    files = {"shop.py": SUM, "test_shop.py": TESTS, "helper.py": HELPER.format(3), "test_half.py": HALF}
    top = make_repo(tmp_path / "shop", files)

    def busy_user(_: Situation) -> dict[str, str]:
        write(top, {"helper.py": HELPER.format(2)})
        return {"shop.py": RIGHT}

    outcome = run(top, Script([busy_user])).outcome
    assert (outcome.stop, outcome.best.number) == (Stop.CLEAN, 1)
    assert outcome.evidence.flipped == ("test_shop.py::test_all",)


@pytest.mark.thorough
def test_a_patch_without_effect_is_dropped(shop: Path) -> None:
    """The user found another repair in the meantime: all is green without the patch."""
    write(shop, {"add.py": "def add(items):\n    return sum(items[1:])\n", "shop.py": "from add import add as total\n"})

    def busy_user(_: Situation) -> dict[str, str]:
        write(shop, {"add.py": "def add(items):\n    return sum(items)\n"})
        return {"shop.py": RIGHT}

    outcome = run(shop, Script([busy_user]), gates=("pytest",)).outcome
    assert (outcome.stop, outcome.best.number) == (Stop.CLEAN, 0)


ORDERED = """\
import shop

MARKED = []


def test_marks():
    MARKED.append(shop.mark("x"))


def test_is_marked():
    assert MARKED == ["x"]
"""


@pytest.mark.thorough
def test_a_test_that_needs_another_before_it_is_not_excused_when_the_patch_breaks_it(tmp_path: Path) -> None:
    """Alone it fails on any tree; the patch breaks it in company, under the seed of the proof only."""
    mark = "\n\ndef mark(text):\n    return text\n"
    top = make_repo(tmp_path / "shop", {"shop.py": SUM + mark, "test_shop.py": TESTS, "test_order.py": ORDERED})
    odd = subprocess.check_output((sys.executable, "-c", "print(hash('x'))"), env={"PYTHONHASHSEED": str(PROOF_SEED)})
    unsteady = mark.replace("return text", f"return text if hash(text) != {int(odd)} else None")
    ran = run(top, Script([{"shop.py": RIGHT + unsteady}]))
    assert ran.outcome.attempts[1].cost.test_runs == 1
    assert "test_is_marked" in ran.outcome.attempts[1].verdict.reason
    assert (ran.outcome.best.number, ran.outcome.evidence.flaky) == (0, ())


@pytest.mark.thorough
@pytest.mark.parametrize(("seconds", "left"), [(1.0, 4), (6.0, 5)], ids=["quick", "slow"])
def test_on_a_slow_suite_ruffs_fixes_take_a_limited_number_of_whole_runs(
    tmp_path: Path, seconds: float, left: int
) -> None:
    """Every second unused import is used by a test: its fix is refused."""
    modules = {f"m{n}.py": "import os\n" for n in range(8)}
    tests = "".join(f"def test_{n}():\n    import m{n}\n\n    assert m{n}{'.os' * (n % 2)}\n\n\n" for n in range(8))
    top = make_repo(tmp_path / "p", {**modules, "test_m.py": tests.rstrip() + "\n"})
    place = locate([top], top)
    outcome = run(top, Autofix(place, Config()), lasting=seconds).outcome
    assert sum(finding.rule == "F401" for finding in outcome.best.findings) == left
