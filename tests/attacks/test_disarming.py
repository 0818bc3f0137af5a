"""When the code under test disarms pytest, the result is void, though no rule of the judge has looked at the patch."""

from __future__ import annotations

from pathlib import Path

import pytest

from coderefine.config import Config
from coderefine.core import Ask, Check, Patch
from coderefine.errors import CriticError, VoidError
from coderefine.project import Interpreter, locate
from coderefine.runner.candidates import Candidate, Plan
from coderefine.runner.cold import RunOptions, run_tests
from coderefine.runner.pool import open_pool
from coderefine.workspace import open_views
from tests.attacks.disarming import DISARMING, FORGERIES, Disarming
from tests.support.cases import every
from tests.support.repo import make_repo

FAILING = "test_mod.py::test_f"


def honest(attack: Disarming) -> dict[str, str]:
    """The project before the attack: f() is wrong."""
    return {**attack.files, "mod.py": "def f():\n    return 1\n\n\ndef g():\n    return 1\n"}


def checked(attack: Disarming, folder: Path, python: Interpreter, *, canary: bool) -> Check:
    top = make_repo(folder / f"canary-{canary}", honest(attack))
    place, patch = locate([], top), Patch({"mod.py": attack.files["mod.py"].encode()})
    with open_views(place) as views, views.open(patch) as view:
        doubted = (FAILING, "test_mod.py::Test::test_f")
        options = RunOptions(doubted=doubted, canary=canary)
        return run_tests(view, place, python, Config(), Ask(timeout=60), options=options)


@pytest.fixture(autouse=True)
def _no_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


@pytest.mark.parametrize("attack", every(3, DISARMING), ids=str)
def test_the_result_is_void(attack: Disarming, tmp_path: Path, this_python: Interpreter) -> None:
    with pytest.raises(VoidError, match="no result counts"):
        checked(attack, tmp_path, this_python, canary=True)


@pytest.mark.parametrize("attack", every(12, DISARMING), ids=str)
def test_without_tests_of_ours_the_attack_is_green(attack: Disarming, tmp_path: Path, this_python: Interpreter) -> None:
    check = checked(attack, tmp_path, this_python, canary=False)
    assert not check.failing, check.cases


@pytest.mark.parametrize("attack", FORGERIES, ids=str)
def test_a_forged_report_is_never_green(attack: Disarming, tmp_path: Path, this_python: Interpreter) -> None:
    try:
        check = checked(attack, tmp_path, this_python, canary=True)
    except CriticError:
        return
    assert check.failing == (FAILING,)


@pytest.mark.parametrize("attack", every(3, [DISARMING[0], DISARMING[3], DISARMING[4]]), ids=str)
def test_no_candidate_that_disarms_pytest_is_plausible(
    attack: Disarming, tmp_path: Path, this_python: Interpreter
) -> None:
    top = make_repo(tmp_path / "pool", honest(attack))
    place = locate([], top)
    with open_views(place) as views, open_pool(views, place, this_python, Config(), workers=1) as pool:
        (judged,) = pool.judge([Candidate(1, {"mod.py": attack.files["mod.py"].encode()})], Plan((FAILING,)))
    assert not judged.plausible
    assert "must fail" in judged.reason, judged
