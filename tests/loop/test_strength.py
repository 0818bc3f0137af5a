"""Patch strength: wrong versions of the patch, noticed by the project's tests or not."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from coderefine.config import Config
from coderefine.core import (
    Alternative,
    Ask,
    Attempt,
    Cost,
    Mutation,
    Offer,
    Patch,
    Proposals,
    Searcher,
    Situation,
    Views,
)
from coderefine.critics.pytest import Pytest
from coderefine.loop.critique import critique
from coderefine.loop.strength import UNMEASURED, Measured, Strength
from coderefine.project import interpreter, locate
from coderefine.runner.candidates import Candidate, Judged, Plan
from coderefine.runner.cold_pool import open_any_pool
from coderefine.workspace import open_views
from tests.support.command import coderefine
from tests.support.loop import Script, run
from tests.support.repo import make_repo

OLD = "def old_enough(age):\n    return age > 18\n"
NEW = "def old_enough(age):\n    return age >= 18\n"
ASKED = "[old_enough(n) for n in (17, 18, 19)] == [False, True, True]"
STRONG = f"from bar import old_enough\n\n\ndef test_it():\n    assert {ASKED}\n"
WEAK = "from bar import old_enough\n\n\ndef test_it():\n    assert old_enough(40)\n"


def measured(
    top: Path, repaired: tuple[str, ...] = (), seconds: float = 20.0, open_pool: Any = open_any_pool
) -> Measured:
    place, config = locate([top], top), Config()
    python = interpreter(place, config, os.environ)
    patch = Patch({"bar.py": NEW.encode()})
    with open_views(place) as views:
        ask = Ask(coverage=True, cover=frozenset(patch.files))
        attempt = Attempt(1, patch, critique(views, (Pytest(place, python, config, lambda _: None),), patch, ask))
        return Strength(place, python, config, open_pool).measure(
            views, attempt, {"bar.py": OLD.encode()}, seconds=seconds, repaired=repaired
        )


@pytest.mark.parametrize(("tests", "all_noticed"), [(STRONG, True), (WEAK, False)])
def test_strong_tests_notice_every_wrong_version(tmp_path: Path, tests: str, *, all_noticed: bool) -> None:
    found = measured(make_repo(tmp_path / "bar", {"bar.py": OLD, "test_bar.py": tests}))
    assert found.noticed is not None
    noticed, judged = found.noticed
    assert judged >= 3
    assert (noticed == judged) is all_noticed
    assert len(found.survived) == judged - noticed
    assert (Mutation("bar.py", 2, "age >= 18", "age > 18") in found.survived) is not all_noticed


@pytest.mark.parametrize(("seconds", "judged"), [(0.2, 0), (20.0, 3)], ids=["busy", "idle"])
def test_mutants_that_could_not_be_judged_on_a_busy_machine_are_reported(
    tmp_path: Path, seconds: float, judged: int
) -> None:
    slow = STRONG.replace("    assert", "    import time\n\n    time.sleep(0.4)\n    assert")
    found = measured(make_repo(tmp_path / "bar", {"bar.py": OLD, "test_bar.py": slow}), seconds=seconds)
    assert found.why.startswith(UNMEASURED) is (judged == 0)
    assert (found.noticed or (0, 0))[1] >= judged


class HangingPool:
    """A pool of which only the first verdict comes before the end of the plan."""

    unfit = frozenset[str]()

    def observe(self, *_: object) -> None:
        pass

    def judge(self, wrong: Iterable[Candidate], plan: Plan) -> Iterator[Judged]:
        yield Judged(next(iter(wrong)), {}, "hot", plausible=False)
        time.sleep(max(0.0, plan.ends - time.monotonic()))  # an error for a plan without an end


def test_a_wrong_version_that_hangs_does_not_take_more_than_the_time(tmp_path: Path) -> None:
    """In croniter, the run ended minutes after its time: the limit of each wrong version is that of its long suite."""
    top = make_repo(tmp_path / "bar", {"bar.py": OLD, "test_bar.py": STRONG})
    found = measured(top, seconds=0.2, open_pool=lambda *_, **__: nullcontext(HangingPool()))
    assert found.noticed is None, "a figure stood beside the note that nothing could be measured"
    assert found.why.startswith(UNMEASURED)


def test_without_tests_nothing_is_claimed(tmp_path: Path) -> None:
    assert measured(make_repo(tmp_path / "bar", {"bar.py": OLD})) == Measured()


def test_answers_near_the_repaired_test_that_change_are_counted(tmp_path: Path) -> None:
    tests = "from bar import old_enough\n\n\ndef test_it():\n    assert old_enough(18)\n\n\n"
    tests += "def test_other():\n    assert old_enough(36)\n"
    found = measured(make_repo(tmp_path / "bar", {"bar.py": OLD, "test_bar.py": tests}), ("test_bar.py::test_it",))
    assert found.changed is not None
    assert found.changed[0] == 0
    assert found.changed[1] > 8, "18 itself is what was wrong; among its neighbours nothing changes"


@pytest.mark.thorough
def test_mutants_of_the_linters_own_fixes_are_no_evidence_against_a_repair(tmp_path: Path) -> None:
    shown = "\n\n".join(f'def shown{n}(value):\n    return "{{}}".format(value + {n})\n' for n in range(6))
    calls = "".join(f"    words.shown{n}(3)\n" for n in range(6))
    tests = (
        "import words\nfrom seq import last\n\n\ndef test_last():\n    assert last([1, 2, 3]) == 3\n"
        f"    assert last('ab') == 'b'\n    assert last([5]) == 5\n\n\ndef test_calls():\n{calls}"
    )
    seq = "def last(values):\n    return values[len(values) - 2]\n"
    top = make_repo(tmp_path / "p", {"seq.py": seq, "words.py": shown, "test_all.py": tests})
    done = coderefine("fix", "--no-model", "--format", "json", cwd=top)
    report = json.loads(done.out)
    assert (report["clean"], report["offers"]) == (True, []), done.err
    assert ".format" not in (top / "words.py").read_text("utf-8")


BIG = "from limit import factor\n\n\ndef large(n):\n    return n * factor() * 3 - 4 > LIMIT + 5\n"
FOUND, RIVAL = BIG.replace("LIMIT", "100"), "def factor():\n    return 5\n"
FILES = {
    "bar.py": BIG.replace("LIMIT", "4000"),
    "limit.py": "def factor():\n    return 1\n",
    "test_bar.py": "from bar import large\n\n\ndef test_it():\n    assert large(900)\n",
}


WRONG = FILES["bar.py"].replace("3", "9").encode()


class Found(Searcher):
    """Offers a patch that changes no nearby answer, then proposes one that does, and knows a rival in another file."""

    name = "search"
    spent = Cost()

    def __init__(self, changed: tuple[int, int], offered_for: str = "test_bar.py::test_it") -> None:
        self.changes, self.tests = changed, frozenset({offered_for})

    def propose(self, situation: Situation, views: Views) -> Proposals:
        self.proposed = Patch({"bar.py": WRONG}, "search")
        self.offer = Offer((Alternative(self.proposed, (0, 100)),), self.tests, why="another one is likely")
        yield self.proposed
        self.proposed, self.offer, self.changed = Patch({"bar.py": FOUND.encode()}, "search"), None, self.changes
        other = Patch({"limit.py": RIVAL.encode()}, "search")
        before = {path: FILES[path].encode() for path in ("bar.py", "limit.py")}
        self.rivals = Offer((Alternative(self.proposed), Alternative(other)), before=before)
        yield self.proposed


def test_rivals_of_a_repair_that_disturbs_more_than_they_are_offered_too(tmp_path: Path) -> None:
    ran = run(make_repo(tmp_path / "p", FILES), Found((50, 100)), strength=True)
    offer = ran.outcome.offers[-1]
    assert "changes 50 of 100 nearby answers" in offer.why
    assert [one.patch.files for one in offer.alternatives] == [{"bar.py": FOUND.encode()}, {"limit.py": RIVAL.encode()}]
    assert offer.before == {path: FILES[path].encode() for path in ("bar.py", "limit.py")}
    assert offer.tests == {"test_bar.py::test_it"}


def test_a_repair_is_not_compared_with_a_patch_that_was_offered_for_another_test(tmp_path: Path) -> None:
    """In wtforms, a right repair was only offered: another test fails, and a patch for it changes few answers."""
    ran = run(make_repo(tmp_path / "p", FILES), Found((50, 100), "test_other.py::test_other"), strength=True)
    assert ran.outcome.best.patch.files == {"bar.py": FOUND.encode()}


def test_mutants_that_the_search_has_weighed_with_other_evidence_do_not_refuse_its_repair_again(tmp_path: Path) -> None:
    ran = run(make_repo(tmp_path / "p", FILES), Found((10, 100)), strength=True)
    noticed, wrong = ran.outcome.evidence.strength or (0, 0)
    assert noticed < wrong
    assert ran.outcome.best.patch.files == {"bar.py": FOUND.encode()}


@pytest.mark.thorough
def test_a_repair_that_the_tests_hardly_notice_is_offered_once_without_the_lint_fixes_made_after_it(
    tmp_path: Path,
) -> None:
    tidy = {"limit.py": "def factor():\n    return 1\n", "bar.py": FOUND}
    files = FILES | {"limit.py": f"import os\n{FILES['limit.py']}"}
    ran = run(
        make_repo(tmp_path / "p", files),
        Script([{"bar.py": FOUND}], name="model"),
        Script([tidy], name="autofix"),
        strength=True,
    )
    (offer,) = ran.outcome.offers
    assert "small wrong versions" in offer.why
    assert [one.patch.files for one in offer.alternatives] == [{"bar.py": FOUND.encode()}]


CHECKED = """def checked(names):
    if isinstance(names, str):
        names = [names]
    if isinstance(names, list):
        raise TypeError(names)
    return len(names)
"""
HIDDEN = CHECKED.replace(
    "    if isinstance(names, list):\n        raise", "        if isinstance(names, list):\n            raise"
)


@pytest.mark.parametrize(("right", "offered"), [(False, True), (True, False)], ids=["hidden", "repaired"])
def test_a_patch_that_moves_the_fault_to_where_no_test_runs_it_is_offered(
    tmp_path: Path, *, right: bool, offered: bool
) -> None:
    """In boltons, a wrong condition was put under another one, which no test fulfilled, and this was written."""
    tests = "from names import checked\n\n\ndef test_it():\n    assert checked(['a', 'b']) == 2\n"
    patch = CHECKED.replace("if isinstance(names, list)", "if not isinstance(names, list)") if right else HIDDEN
    top = make_repo(tmp_path / "p", {"names.py": CHECKED, "test_names.py": tests})
    ran = run(top, Script([{"names.py": patch}], name="search"), strength=True)
    assert [one.why for one in ran.outcome.offers] == ["it makes the tests pass by lines that no test runs"] * offered
    assert (ran.outcome.best.number == 0) is offered


LOGIN = "from users import USERS\n\nPORT = 80\n\n\ndef login(name, password):\n    return False\n"
SLOW = """\
import time

import account


def test_login():
    time.sleep(0.4)
    assert account.login("ada", "secret")


def test_port():
    assert account.PORT == 8080
"""


@pytest.mark.parametrize(
    ("condition", "code"),
    [("name in USERS and len(password) > 2 and len(name) < 9", 1), ("USERS.get(name) == password", 0)],
    ids=["weak", "strong"],
)
def test_a_repaired_test_that_is_too_slow_to_be_traced_judges_the_wrong_versions(
    tmp_path: Path, condition: str, code: int
) -> None:
    """A log-in that took nearly any password was proved: its test took 0.4 s, so nothing of the patch was measured."""
    top = make_repo(
        tmp_path / "p", {"account.py": LOGIN, "users.py": "USERS = {'ada': 'secret'}\n", "test_account.py": SLOW}
    )
    (top / "account.py").write_text(LOGIN.replace("80", "8080").replace("False", condition))
    assert coderefine("prove", cwd=top).code == code
