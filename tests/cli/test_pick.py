"""What is only plausible is offered: nothing is written until a person picks, and the picked patch is proved."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path

import jsonschema
import pytest

from coderefine.reports.json import schema
from tests.conftest import seal
from tests.support.cases import every
from tests.support.command import block, coderefine, descendants, end, start
from tests.support.llm_server import LlmServer
from tests.support.publishing import state
from tests.support.repo import git, make_repo, write

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="candidates are judged in forks")

SHOP = '''"""Prices in cents."""

BULK = 10


def price(count, each):
    """What they cost together; a tenth off for many."""
    if count < BULK:
        return count * each * 9 // 10
    return count * each
'''
TESTS = """from shop import price


def test_one():
    assert price(1, 100) == 100


def test_many():
    assert price(20, 100) == 1800
"""
FIX = ("fix", "--no-model", "--search-time", "90", "--gate", "pytest")
BOUND = "price(10, 100)"
"""The input that no test has."""


@pytest.fixture(scope="module")
def offered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with one run, which offered."""
    with pytest.MonkeyPatch.context() as patch:
        seal(tmp_path_factory.mktemp("home"), patch)
        top = make_repo(tmp_path_factory.mktemp("pick") / "shop", {"shop.py": SHOP, "test_shop.py": TESTS})
        before = state(top)
        result = coderefine(*FIX, "--format", "json", cwd=top)
    assert result.code == 1, result
    assert {name: value for name, value in state(top).items() if name in before} == before
    (top.parent / "report.json").write_text(result.out)
    return top


@pytest.fixture
def shop(offered: Path) -> Path:
    git(offered, "checkout", "-q", "--force", "main")
    git(offered, "reset", "-q", "--hard", git(offered, "rev-list", "--max-parents=0", "main"))
    return offered


def run_of(top: Path) -> str:
    return str(json.loads((top.parent / "report.json").read_text())["run"])


def answers(top: Path) -> list[str]:
    """What the alternatives answer at the limit, in their order."""
    (offer,) = json.loads((top.parent / "report.json").read_text())["offers"]
    question = next(one for one in offer["questions"] if one["call"] == BOUND)
    return list(question["answers"])


def test_rivals_are_offered_with_an_input_that_distinguishes_them(shop: Path) -> None:
    report = json.loads((shop.parent / "report.json").read_text())
    jsonschema.validate(report, schema())
    assert report["stop"] == "offered"
    assert sorted(answers(shop)) == ["1000", "900"]
    result = coderefine("show", cwd=shop)
    assert re.search(r"^offered   1  shop.py:8 ", result.out, re.MULTILINE), result.out
    assert re.search(r"^offered   2  shop.py:8 ", result.out, re.MULTILINE), result.out
    assert f"ask       {BOUND} → 1: " in result.out
    assert f"coderefine pick {run_of(shop)} N" in result.out


@pytest.mark.thorough
def test_a_patch_is_picked_by_its_number_proved_and_written(shop: Path) -> None:
    place = answers(shop).index("900") + 1
    result = coderefine("pick", run_of(shop), str(place), cwd=shop)
    assert result.code == 0, result
    assert "picked among 2 plausible patches" in result.out
    assert asks(shop) == 900
    assert coderefine("undo", cwd=shop).code == 0
    assert (shop / "shop.py").read_text() == SHOP


def test_an_answer_keeps_the_patches_that_agree_and_is_a_test_to_add(shop: Path) -> None:
    result = coderefine("pick", run_of(shop), "--that", f"{BOUND} == 900", "--commit", cwd=shop)
    assert result.code == 0, result
    assert asks(shop) == 900
    assert "test      from shop import price" in result.out
    assert f"test          assert {BOUND} == 900" in result.out
    assert "Coderefine-Confidence: plausible: picked among 2" in git(shop, "log", "-1", "--format=%B")


@pytest.mark.parametrize(
    ("that", "code", "words"),
    every(
        2,
        [
            (f"{BOUND} == 7", 1, "none of the offered patches"),
            ("price(1, 100) == 100", 1, "agrees    2 "),
            ("prices(1)", 2, "prices"),
            ("price(1", 2, "not a Python expression"),
        ],
    ),
    ids=["no patch agrees", "all agree", "unknown name", "no expression"],
)
def test_an_answer_that_does_not_decide_writes_nothing(shop: Path, that: str, code: int, words: str) -> None:
    result = coderefine("pick", run_of(shop), "--that", that, cwd=shop)
    assert result.code == code, result
    assert words in result.out + result.err
    assert (shop / "shop.py").read_text() == SHOP


def test_the_replay_of_an_offer_shows_what_was_offered(shop: Path) -> None:
    """It showed the whole file as added, no inputs, and the reason twice."""
    shown, replayed = (coderefine(command, run_of(shop), cwd=shop) for command in ("show", "replay"))
    assert replayed.code == 0, replayed
    rows = re.findall(r"^(?:plausible|offered|ask| {13}).*", shown.out, re.MULTILINE)
    assert any(row.startswith("ask ") for row in rows)
    assert re.findall(r"^(?:plausible|offered|ask| {13}).*", replayed.out, re.MULTILINE) == rows


def test_after_a_pick_the_other_offers_of_the_run_can_be_picked(tmp_path: Path) -> None:
    """The rivals of the picked patch do not apply any more, and each pick failed for that."""
    other = {"store.py": SHOP, "test_store.py": TESTS.replace("shop", "store")}
    top = make_repo(tmp_path / "two", {"shop.py": SHOP, "test_shop.py": TESTS, **other})
    result = coderefine(*FIX, "--format", "json", cwd=top)
    report = json.loads(result.out)
    first, second = report["offers"]
    rivals = len(first["alternatives"])
    assert coderefine("pick", report["run"], "1", cwd=top).code == 1, "the other module is left"
    refused = coderefine("pick", report["run"], "2", cwd=top)
    assert refused.code == 1, refused
    assert "changed since then where the patch changes it" in refused.err
    unclear = coderefine("pick", report["run"], "--that", f"{BOUND} == 7", cwd=top)
    assert unclear.code == 1, unclear
    assert "patch 2 is left out: " in unclear.err
    assert f"patch {rivals + 1} is left out" not in unclear.err
    picked = coderefine("pick", report["run"], str(rivals + 1), cwd=top)
    assert picked.code == 0, (picked, second)
    assert not {"shop.py", "store.py"}.difference(git(top, "diff", "--name-only").split())


@pytest.mark.thorough
def test_an_expression_is_evaluated_in_a_project_below_the_top_with_its_own_import_root(tmp_path: Path) -> None:
    """The name of the module was made from its path in the repository: `No module named 'svc'`."""
    files = {"svc/pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["lib"]\n', "svc/lib/shop.py": SHOP}
    top = make_repo(tmp_path / "mono", {**files, "svc/tests/test_shop.py": TESTS})
    assert coderefine(*FIX, "svc", cwd=top).code == 1, "offered"
    picked = coderefine("pick", "--that", f"{BOUND} == 900", cwd=top / "svc")
    assert picked.code == 0, picked
    assert "test      from shop import price" in picked.out


@pytest.mark.thorough
def test_a_pick_is_merged_with_the_files_current_content(shop: Path) -> None:
    write(shop, {"shop.py": SHOP.replace("Prices in cents", "All prices in cents")})
    assert coderefine("pick", run_of(shop), "1", cwd=shop).code == 0
    text = (shop / "shop.py").read_text()
    assert "All prices" in text
    assert "if count < BULK:" not in text


def test_a_pick_that_overlaps_other_work_is_refused(shop: Path) -> None:
    write(shop, {"shop.py": SHOP.replace("if count < BULK:", "if count < BULK + 1:")})
    result = coderefine("pick", run_of(shop), "1", cwd=shop)
    assert result.code == 1, result
    assert "changed since then" in result.err


def test_an_edit_made_while_the_expression_is_evaluated_is_not_lost(shop: Path) -> None:
    """The patch was applied to the file as it was before; the edit disappeared, and the run reported success."""
    seconds = f"'4.' + str({os.getpid()})"  # put together there, so that only `sleep` has it in its command line
    expression = f"{BOUND} == 900 and __import__('subprocess').run(['sleep', {seconds}])"
    process = start("pick", run_of(shop), "--that", expression, cwd=shop)
    while process.poll() is None and not descendants(f"4.{os.getpid()}"):
        time.sleep(0.05)
    write(shop, {"shop.py": SHOP.replace("Prices in cents", "All prices in cents")})
    result = end(process)
    assert "All prices" in (shop / "shop.py").read_text(), result
    assert result.code == 1, result
    assert result.lines == ["coderefine: shop.py changed after it was read, so nothing was written: run again"]


@pytest.mark.parametrize("newest", [True, False], ids=["of the newest run that offered some", "of a run"])
def test_a_number_that_was_not_offered_is_refused(shop: Path, newest: bool) -> None:
    run = () if newest else (run_of(shop),)
    result = coderefine("pick", *run, "9", cwd=shop)
    assert result.code == 2, result
    assert "offered 2 patches" in result.err


def test_without_an_offer_there_is_nothing_to_pick(tmp_path: Path) -> None:
    result = coderefine("pick", "1", cwd=make_repo(tmp_path / "p", {"shop.py": SHOP}))
    assert result.code == 2, result
    assert "no run has offered a patch" in result.err


@pytest.mark.thorough
def test_the_first_is_written_where_plausible_is_accepted_and_called_so(shop: Path) -> None:
    result = coderefine(*FIX, "--accept", "plausible", "--commit", cwd=shop)
    assert result.code == 0, result
    assert re.search(r"^search .* plausible +\d", result.out, re.MULTILINE), result.out
    assert "Coderefine-Confidence: plausible: " in git(shop, "log", "-1", "--format=%B")


@pytest.mark.thorough
def test_a_patch_whose_lines_no_test_checks_is_not_called_proved_because_plausible_is_accepted(tmp_path: Path) -> None:
    files = {"calc.py": "def total(n):\n    return n + x\n"}
    files["test_calc.py"] = "from calc import total\n\ndef test_total():\n    assert total(3) is not None\n"
    top = make_repo(tmp_path / "calc", files)
    asked = ("fix", "--search-time", "0", "--gate", "pytest", "--accept", "plausible", "--model", "scripted")
    with LlmServer([block("calc.py", "    return n + x", "    return 2 * n + 7 - n * n")]) as server:
        result = coderefine(*asked, "--base-url", server.url, "--commit", cwd=top)
    assert result.code == 0, result
    if "could not be measured" in result.out:
        pytest.skip("the machine is too busy to measure how many small mistakes the tests notice")
    assert re.search(r"^plausible +may be wrong: the tests notice \d of", result.out, re.MULTILINE), result.out
    assert "Coderefine-Confidence: plausible: the tests notice " in git(top, "log", "-1", "--format=%B")


@pytest.mark.thorough
def test_the_hook_writes_no_plausible_patch_even_if_these_are_accepted(shop: Path) -> None:
    write(shop, {"pyproject.toml": '[tool.coderefine]\naccept = "plausible"\nsearch-time = 60.0\n'})
    write(shop, {"shop.py": SHOP.replace("Prices", "The prices")})
    git(shop, "add", "-A")
    result = coderefine("hook", "run", "--hook-timeout", "100", cwd=shop)
    assert result.code == 1, result
    assert "coderefine pick" in result.out, result
    assert git(shop, "diff", "--name-only") == ""


def asks(top: Path) -> object:
    space: dict[str, object] = {}
    exec((top / "shop.py").read_text(), space)
    return eval(BOUND, space)


@pytest.mark.thorough
def test_a_model_is_shown_the_alternatives_and_may_decide(shop: Path) -> None:
    edit = block("shop.py", "    if count < BULK:", "    if count >= BULK:")
    with LlmServer(["Many begin at BULK.\n\n" + edit]) as server:
        asked = ("fix", "--search-time", "90", "--gate", "pytest", "--model", "scripted", "--base-url", server.url)
        result = coderefine(*asked, cwd=shop)
    assert result.code == 0, result
    assert asks(shop) == 900
    sent = json.dumps(server.requests[0].body, ensure_ascii=False)
    assert "the tests do not say which is right" in sent
    assert f"{BOUND} → 1: " in sent
    assert "offered" not in result.out
    assert "refused" not in result.out


@pytest.mark.thorough
def test_an_off_by_one_whose_repairs_answer_alike_on_all_variants_is_written(tmp_path: Path) -> None:
    """`>= 10`, `> 9` and `n + 1 > 10` differ for no whole number: they are no reason to ask."""
    files = {"order.py": "def price(n):\n    if n > 10:\n        return n * 9 // 10\n    return n\n"}
    files["test_order.py"] = (
        "import pytest\nfrom order import price\n\n\n"
        '@pytest.mark.parametrize("n", range(10))\ndef test_few(n):\n    assert price(n) == n\n\n\n'
        '@pytest.mark.parametrize("n", range(10, 30))\ndef test_many(n):\n    assert price(n) == n * 9 // 10\n'
    )
    top = make_repo(tmp_path / "order", files)
    result = coderefine(*FIX, cwd=top)
    assert result.code == 0, result
    assert "if n >= 10:" in (top / "order.py").read_text("utf-8")
