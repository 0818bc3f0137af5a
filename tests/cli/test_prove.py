"""A given patch is judged like coderefine's own: its code, its tests, and what it does to them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from coderefine.app.project import find_project
from coderefine.app.prove import PatchSource, prove, split
from coderefine.app.request import Destination, Request
from coderefine.app.run import RunResult
from coderefine.git import Repository
from coderefine.git.given_patch import read_worktree
from coderefine.reports.formats import MODULES, RunReport, named
from coderefine.reports.json import schema
from coderefine.sandbox.kernel import landlock_abi
from tests.support import github_fake
from tests.support.cases import every
from tests.support.command import GREEN, ORDER, TESTS, Ended, coderefine, end, start
from tests.support.publishing import state
from tests.support.repo import git, make_repo, write

CRLF = ORDER.replace("\n", "\r\n").encode()
NEW = """\

def test_discount_of_two_hundred():
    assert discount(200) == 20
"""
STOP = "\n\ndef stop():\n    raise SystemExit(1)\n"
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


def proof(ended: Ended) -> dict[str, Any]:
    report = json.loads(ended.out)
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
    ({"order.py": GREEN, "docs/logo.png": b"\x89PNG\0\xff"}, "1 test repaired"),
    ({"order.py": GREEN, "pyproject.toml": PYPROJECT.replace('"1"', '"2"')}, "1 test repaired"),
    ({"order.py": GREEN + "\n\ndef half(total):\n    \"\"\"One half.\"\"\"\n    return total / 2\n",
      TEST: TESTS.replace("import discount", "import discount, half").replace("100_on", "100_on") +
      "\n\ndef test_half():\n    assert half(4) == 2\n"}, "1 test repaired"),
]  # fmt: skip
HONEST_IDS = [
    *("code", "code and a test", "an assertion more", "a new test file", "a row more"),
    *("and CI", "and an image", "and the version", "a new function"),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("files", "reason"), HONEST, ids=HONEST_IDS)
def test_an_honest_patch_is_proved_and_nothing_is_written(top: Path, files: Files, reason: str) -> None:
    patched(top, files)
    before = state(top)
    ended = coderefine("prove", "--format", "json", cwd=top)
    assert ended.code == 0, ended
    assert {name: value for name, value in state(top).items() if name in before} == before
    found = proof(ended)
    assert (found["proved"], found["reason"], found["weakened"]) == (True, reason, []), found


BAD: list[tuple[Files, str]] = [
    ({"order.py": GREEN, TEST: TESTS.replace(PRICE, "    price(10)\n")},
     "weakens tests: test_order.py::test_price is changed"),
    ({"order.py": WORSE}, "breaks test_order.py::test_"),
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
     "weakens tests: test_cases.py::test_rate[10-0] is deleted"),
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
    ({"order.py": f'{GREEN}TABLE = "data.bin"\n', "data.bin": b"\xff\xfe\x00\x01" * 9}, "data.bin"),
    ({"order.py": GREEN + STOP, TEST: TESTS.replace("import ", "import stop, ") + NEW}, "ends the process: order.py"),
]  # fmt: skip
BAD_IDS = [
    *("an assertion gone", "a regression", "a test skipped", "a test deleted", "an expectation changed", "a half fix"),
    *("layout", "no help", "only tests that pass", "a finding", "a finding in tests", "a useless condition"),
    *("a row changed", "a test file deleted", "its own settings", "deselected", "patched by conftest", "a hook"),
    *("a special case", "a public name", "a suppression", "a module deleted", "sitecustomize", "binary"),
    "the code refused, and new tests of it",
]


@pytest.mark.parametrize(("files", "reason"), every(24, BAD), ids=BAD_IDS)
def test_a_bad_patch_is_refused_for_the_right_reason(top: Path, files: Files, reason: str) -> None:
    patched(top, files)
    before = state(top)
    ended = coderefine("prove", "--format", "json", cwd=top)
    found = proof(ended)
    assert not found["proved"], found
    assert reason in found["reason"], found["reason"]
    assert ended.code == 1
    assert {name: value for name, value in state(top).items() if name in before} == before


def test_data_and_helpers_of_the_tests_and_limits_of_checks_are_looked_at(tmp_path: Path) -> None:
    """Beside a right repair, cases were removed, a helper was neutered, and a limit was lowered; it was proved."""
    limit = "[tool.coverage.report]\nfail_under = {}\n"
    cases = {"tests/cases.json": "[[1, 0], [200, 20]]\n", "tests/helpers.py": "def check(one):\n    assert one\n"}
    top = make_repo(tmp_path / "order", {**START, **cases, "pyproject.toml": PYPROJECT + limit.format(90)})
    sly = "import helpers\n\nhelpers.check = print\n\n\ndef test_one():\n    helpers.check(1)\n"
    weaker = {"tests/cases.json": "[]\n", "tests/test_aaa.py": sly, "pyproject.toml": PYPROJECT + limit.format(1)}
    patched(top, {"order.py": GREEN, **weaker})
    found = proof(coderefine("prove", "--format", "json", cwd=top))
    assert not found["proved"], found
    assert found["weakened"] == [
        "tests/cases.json is changed, not only added to",
        "tests/test_aaa.py adds 'helpers.check = print', which acts on other tests",
    ]
    assert found["unjudged"] == [
        "pyproject.toml changes tool.coverage.report.fail_under: judged is only what this hides now"
    ]


def test_a_test_that_could_not_be_imported_is_not_called_changed_and_is_traced(tmp_path: Path) -> None:
    """It was said to be changed by the patch, and none of the lines that it runs counted as covered (Python 3.11)."""
    tests = "from order import half\n\n\ndef test_half():\n    assert half(4) == 2\n"
    top = make_repo(tmp_path / "order", {"order.py": GREEN, TEST: TESTS, "test_half.py": tests})
    patched(top, {"order.py": f'{GREEN}\n\ndef half(total):\n    """One half."""\n    return total / 2\n'})
    found = proof(coderefine("prove", "--format", "json", cwd=top))
    assert found["evidence"]["flipped"] == ["test_half.py::test_half"], found
    assert found["rests"] == []
    covered = found["evidence"]["covered"]
    assert covered["done"] == covered["total"] > 0, covered


def test_a_changed_test_file_that_only_a_newer_python_can_read_is_refused(top: Path, tmp_path: Path) -> None:
    """It was compared with nothing. Where no newer Python runs the tests, the file is data: an example of an error."""
    patched(top, {"order.py": GREEN, TEST: TESTS.replace(PRICE, "    type Cents = int\n")})
    given = read_worktree(Repository.open(top))
    project = find_project([str(top)], {}, lambda _: None)
    newer = replace(project, interpreter=replace(project.interpreter, version="3.99.0"))
    assert split(given, project).against == ()
    assert [why.partition(" with")[0] for why in split(given, newer).against] == [f"{TEST} does not parse"]


def diff(top: Path, files: Files) -> str:
    """The diff that makes `files`, as git writes it; the tree is as before."""
    patched(top, files)
    git(top, "add", "-A")
    text = git(top, "diff", "--cached", "--binary") + "\n"
    git(top, "reset", "-q", "--hard")
    return text


def commit(top: Path, files: Files, subject: str) -> str:
    patched(top, files)
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", subject)
    return git(top, "rev-parse", "HEAD")


def refused(top: Path, *args: str) -> str:
    """What `prove` says of something that is no patch: one line, and nothing is recorded or changed."""
    before = state(top)
    ended = coderefine("prove", *args, cwd=top)
    assert (ended.code, len(ended.lines)) == (2, 1), ended
    assert state(top) == before
    return ended.lines[0]


def test_a_file_without_a_patch_is_refused_in_one_line(top: Path) -> None:
    write(top.parent, {"empty": "", "prose": "Dear all,\n\nno patch.\n", "other.patch": diff(top, {"order.py": GREEN})})
    elsewhere = top.parent / "other.patch"
    text = elsewhere.read_text()
    elsewhere.write_text(text.replace("total > 100", "total > 1000"))
    assert "the working tree changes nothing" in refused(top)
    assert "what is staged changes nothing" in refused(top, "--staged")
    assert "contains no patch" in refused(top, "../empty")
    assert "contains no patch" in refused(top, "../prose")
    assert "other.patch does not apply: " in refused(top, "../other.patch")
    assert "nowhere is neither a file nor a commit" in refused(top, "nowhere")
    assert "main contains no commit that" in refused(top, "main")
    assert "exclude each other" in refused(top, "../empty", "--staged")
    write(top.parent, {"bare.patch": text.replace("a/order.py", "order.py").replace("b/order.py", "order.py")})
    git(top, "mv", "order.py", "elsewhere.py")
    assert "does not apply" in refused(top, "../bare.patch")


def test_a_patch_that_makes_an_untracked_file_is_not_laid_over_it(top: Path) -> None:
    write(top.parent, {"new.patch": diff(top, {"new.py": "x = 1\n"})})
    write(top, {"new.py": "x = 2\n"})
    assert "new.py exists already" in refused(top, "../new.patch")


def test_binary_content_is_judged_only_where_the_patch_has_it(top: Path) -> None:
    commit(top, {"data.bin": bytes(range(256))}, "data")
    text = diff(top, {"data.bin": bytes(range(255, -1, -1)), "order.py": GREEN})
    write(top.parent, {"whole.patch": text})
    git(top, "rm", "-q", "--cached", "data.bin")
    git(top, "reset", "-q", "--hard")
    patched(top, {"data.bin": b"\0" + bytes(255)})
    write(top.parent, {"bare.patch": git(top, "diff") + "\n"})
    git(top, "reset", "-q", "--hard")
    assert "git diff --binary" in refused(top, "../bare.patch")
    ended = coderefine("prove", "../whole.patch", "--format", "json", cwd=top)
    assert ended.code == 0, ended
    assert "data.bin is not text, and no module names it" in ended.out, "it is reported as not judged"


@pytest.mark.thorough
def test_staged_changes_are_judged_without_the_others(top: Path) -> None:
    patched(top, {"order.py": GREEN})
    git(top, "add", "order.py")
    patched(top, {"order.py": WORSE, "junk.py": "import os\n"})
    ended = coderefine("prove", "--staged", "--format", "json", cwd=top)
    assert ended.code == 0, ended
    assert [one["path"] for one in proof(ended)["patch"]] == ["order.py"]
    assert (top / "order.py").read_text() == WORSE


def test_a_proved_diff_is_laid_on_the_dirty_tree_and_can_be_undone(top: Path) -> None:
    dirty = ORDER.replace("Prices of an order.", "All prices of an order.")
    write(top.parent, {"fix.patch": diff(top, {"order.py": GREEN})})
    patched(top, {"order.py": dirty})
    ended = coderefine("prove", "../fix.patch", "--apply", cwd=top)
    assert ended.code == 0, ended
    assert (top / "order.py").read_text() == dirty.replace("> 100", ">= 100")
    assert ended.out.splitlines()[-1] == "proved: 1 test repaired"
    assert coderefine("undo", cwd=top).code == 0
    assert (top / "order.py").read_text() == dirty


def test_an_edit_made_after_the_patch_was_read_is_not_lost(top: Path) -> None:
    """The patch was applied to the file as it was before; the edit disappeared, and the run reported success."""
    write(top.parent, {"fix.patch": diff(top, {"order.py": GREEN})})
    python = top.parent / "python"  # the user saves while the interpreter is inspected, which follows the reading
    once = f"mkdir '{top.parent}/saved' 2>&- && echo '# precious' >> '{top}/order.py'"
    python.write_text(f'#!/bin/sh\n{once}\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    ended = coderefine("prove", "../fix.patch", "--apply", "--python", str(python), cwd=top)
    assert (top / "order.py").read_text() == ORDER + "# precious\n"
    assert ended.code == 1, ended
    assert ended.lines == ["coderefine: order.py changed after it was read, so nothing was written: run again"]


@pytest.mark.parametrize("how", every(2, ["--apply", "--commit"]))
def test_a_patch_keeps_the_line_ends_of_the_working_tree(top: Path, how: str) -> None:
    """A file with CRLF that git stores with LF was rewritten with LF in every line."""
    write(top, {".gitattributes": "* text=auto\n"})
    git(top, "add", ".gitattributes")
    git(top, "commit", "-q", "-m", "line ends")
    write(top.parent, {"fix.patch": diff(top, {"order.py": GREEN})})
    patched(top, {"order.py": CRLF})
    git(top, "add", "order.py")
    ended = coderefine("prove", "../fix.patch", how, cwd=top)
    assert ended.code == 0, ended
    assert (top / "order.py").read_bytes() == CRLF.replace(b"> 100", b">= 100")
    assert "order.py +1 −1" in ended.out


@pytest.mark.thorough
def test_a_diff_that_is_not_proved_is_not_written(top: Path) -> None:
    write(top.parent, {"bad.patch": diff(top, {"order.py": WORSE})})
    before = state(top)
    assert coderefine("prove", "../bad.patch", "--apply", cwd=top).code == 1
    assert state(top) == before


@pytest.mark.thorough
def test_a_mail_is_judged_and_committed_on_head(top: Path) -> None:
    commit(top, {"order.py": GREEN, TEST: TESTS + NEW}, "The limit is included: from 100 on – naïvely")
    mail = git(top, "format-patch", "-1", "--stdout") + "\n"
    git(top, "reset", "-q", "--hard", "HEAD~1")
    write(top.parent, {"0001.patch": mail})
    patched(top, {"run.sh": "#!/bin/sh\n: mine\n"})
    ended = coderefine("prove", "../0001.patch", "--commit", cwd=top)
    assert ended.code == 0, ended
    assert git(top, "show", "--stat", "--format=%s", "HEAD").startswith(
        "fix: The limit is included: from 100 on – naïvely"
    )
    assert git(top, "show", "--name-only", "--format=", "HEAD").split() == ["order.py", TEST]
    assert git(top, "diff", "--name-only") == "run.sh"


@pytest.mark.thorough
def test_a_diff_for_a_pull_request_was_applied_to_uncommitted_work(top: Path) -> None:
    remote = top.parent / "remote.git"
    write(top.parent, {"fix.patch": diff(top, {"order.py": GREEN})})
    git(top.parent, "clone", "-q", "--bare", str(top), str(remote))
    patched(top, {"order.py": ORDER + "\n\nMINE = 1\n"})
    with github_fake.served(github_fake.Fake(remote, "")) as fake:
        git(top, "config", f"url.file://{remote}.insteadOf", f"{fake.url}/o/r.git")
        git(top, "remote", "add", "origin", f"{fake.url}/o/r.git")
        env = {"GITHUB_TOKEN": "t", "GITHUB_SERVER_URL": fake.url, "GITHUB_API_URL": fake.url}
        ended = coderefine("prove", "../fix.patch", "--pull-request", "tidy", cwd=top, env=env)
    assert ended.code == 0, ended
    assert git(remote, "show", "tidy:order.py") == GREEN.strip()


@pytest.mark.thorough
def test_commits_are_judged_where_they_are(top: Path) -> None:
    git(top, "checkout", "-q", "-b", "fix")
    commit(top, {TEST: TESTS + NEW}, "a test")
    commit(top, {"order.py": GREEN}, "the limit")
    git(top, "checkout", "-q", "main")
    commit(top, {"data.json": "[]"}, "unrelated")
    for name in ("fix", "main..fix", "fix~0"):
        ended = coderefine("prove", name, "--format", "json", cwd=top)
        assert ended.code == 0, (name, ended)
        changed = ["order.py"] if name == "fix~0" else ["order.py", TEST]
        assert [one["path"] for one in proof(ended)["patch"]] == changed
    ended = coderefine("prove", "HEAD", cwd=top)
    assert ended.code == 1
    assert "nothing shows that it helps" in ended.out
    ended = coderefine("prove", "fix", "--branch", "checked", cwd=top)
    assert ended.code == 0, ended
    assert git(top, "diff", "--name-only", "main", "checked").split() == ["order.py", TEST]


@pytest.mark.thorough
def test_renames_new_files_and_modes(top: Path) -> None:
    moved = {
        "order.py": 'from _prices import discount, price\n\n__all__ = ["discount", "price"]\n',
        "_prices.py": GREEN,
    }
    (top / "run.sh").chmod(0o755)
    patched(top, moved)
    ended = coderefine("prove", "--format", "json", cwd=top)
    found = proof(ended)
    assert found["unjudged"] == ["run.sh: 644 → 755 (mode): neither judged nor written"], found
    assert found["proved"], found["reason"]
    git(top, "reset", "-q", "--hard")
    (top / "_prices.py").unlink()
    git(top, "mv", "test_cases.py", "test_rates.py")
    found = proof(coderefine("prove", "--format", "json", cwd=top))
    assert found["weakened"][0] == "test_cases.py::test_rate[10-0] is deleted"


def test_the_strength_is_shown_though_nothing_shows_that_the_patch_helps(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "order", {"order.py": GREEN, TEST: TESTS})
    patched(top, {"order.py": GREEN.replace("if total >= 100", "if total >= 50 + 50 and total < 999")})
    found = proof(coderefine("prove", "--format", "json", cwd=top))
    assert (found["proved"], found["worse"]) == (False, False), found
    strength = found["evidence"]["strength"]
    assert len(found["evidence"]["survived"]) == strength["total"] - strength["done"] > 0


@pytest.mark.thorough
def test_all_tests_run_where_the_failing_ones_refuse_the_patch(top: Path) -> None:
    """In a slow suite the loop runs the failing tests first, and the others only if these pass."""
    write(top, {"test_slow.py": "import time\n\n\ndef test_slow():\n    time.sleep(5.5)\n"})
    git(top, "add", "-A")
    git(top, "commit", "-qm", "slow")
    patched(top, {"order.py": ORDER.replace("total - discount", "total + 1 - discount")})
    found = proof(coderefine("prove", "--format", "json", cwd=top))
    assert found["worse"], found
    assert found["reason"].startswith("breaks test_order.py::test_price"), found


def test_a_patch_that_is_there_already_is_named(top: Path) -> None:
    patched(top, {"order.py": GREEN})
    (top.parent / "fix.patch").write_text(git(top, "diff") + "\n")
    assert "fix.patch is there already: `coderefine prove` judges uncommitted changes" in refused(top, "../fix.patch")


@pytest.mark.thorough
def test_a_new_program_is_judged_and_written_as_one(top: Path) -> None:
    asking = "import os\n\n\ndef test_limit_can_be_started():\n    assert os.access('limit', os.X_OK)\n"
    patched(top, {"order.py": GREEN, "test_limit.py": asking, "limit": "#!/bin/sh\necho 100\n"})
    (top / "limit").chmod(0o755)
    git(top, "checkout", "-q", "-b", "fix")
    git(top, "add", "-A")
    git(top, "commit", "-qm", "limit")
    git(top, "checkout", "-q", "main")
    ended = coderefine("prove", "fix", "--diff", cwd=top)
    assert ended.code == 0, ended
    assert "new file mode 100755" in ended.out
    assert coderefine("prove", "fix", "--apply", cwd=top).code == 0
    assert os.access(top / "limit", os.X_OK)
    git(top, "checkout", "-q", ".")
    git(top, "clean", "-fdq")
    assert coderefine("prove", "fix", "--commit", cwd=top).code == 0
    assert git(top, "ls-tree", "HEAD", "limit").startswith("100755")


def test_a_change_of_mode_is_not_written(top: Path) -> None:
    (top / "run.sh").chmod(0o755)
    patched(top, {"order.py": GREEN})
    (top.parent / "fix.patch").write_text(git(top, "diff") + "\n")
    git(top, "reset", "-q", "--hard")
    assert "run.sh: 644 → 755: changes of mode are not written" in refused(top, "../fix.patch", "--apply")


def test_a_link_cannot_be_judged(top: Path) -> None:
    (top / "link.py").symlink_to("order.py")
    patched(top, {"order.py": GREEN})
    ended = coderefine("prove", cwd=top)
    assert ended.code == 1, ended
    assert ended.out.splitlines()[-1].startswith("not proved: link.py is a symbolic link")


def test_only_the_part_that_is_needed_is_left_and_nothing_is_written(top: Path) -> None:
    more = GREEN.replace("Prices of an", "All prices of an").replace(
        "return total - discount", "return -discount(total) + total"
    )
    patched(top, {"order.py": more.replace("+ total(total)", "+ total"), "other.py": "def one():\n    return 1\n"})
    before = state(top)
    ended = coderefine("prove", "--minimise", "--diff", cwd=top)
    assert ended.code == 0, ended
    assert {name: value for name, value in state(top).items() if name in before} == before
    changed = [
        line for line in ended.out.splitlines() if line.startswith(("+", "-")) and not line.startswith(("+++", "---"))
    ]
    assert changed == [
        "-" + "    return total * 0.1 if total > 100 else 0",
        "+    return total * 0.1 if total >= 100 else 0",
    ]
    assert "spare     other.py: all of it" in ended.err


@pytest.mark.thorough
def test_the_loop_continues_from_a_patch_that_is_not_proved(top: Path) -> None:
    patched(top, {"order.py": WORSE.replace("total + 1 -", "total *")})
    repair = ("prove", "--repair", "--no-model", "--search-time", "60")
    ended = coderefine(*repair, cwd=top)
    assert ended.code == 1, ended
    assert "not proved: breaks test_order.py::test_price; a repair of it is only plausible" in ended.out
    ended = coderefine(*repair, "--accept", "plausible", cwd=top)
    assert ended.code == 0, ended
    assert "and order.py:11 `*` → `" in ended.out
    assert ended.out.splitlines()[-1] == "plausible: 1 test repaired"


@pytest.mark.thorough
def test_every_format_has_the_verdict(top: Path) -> None:
    patched(top, {"order.py": WORSE})
    results: list[RunResult] = []
    request = Request(("prove",), {}, Destination(diff=True), again="prove")
    prove(PatchSource(), request, lambda _: None, results.append, cwd=top)
    (result,) = results
    for name in MODULES:
        text = named(name).outcome(RunReport(result.outcome, run=result.run, diff=result.diff))
        assert ("breaks test_order.py::test_price" in text) == (name != "patch"), (name, text)


def test_a_killed_run_leaves_nothing(top: Path) -> None:
    patched(top, {"order.py": GREEN, "test_slow.py": SLEEPER})
    before = state(top)
    process = start("prove", cwd=top)
    while not list((top / ".git/coderefine/runs").glob("*/run.json")):
        assert process.poll() is None
        time.sleep(0.02)
    time.sleep(1.0)
    os.killpg(process.pid, signal.SIGINT)
    ended = end(process)
    assert ended.code == 130, ended
    assert "again" in ended.err
    now = state(top)
    assert {name: value for name, value in now.items() if name in before} == before
    assert coderefine("resume", cwd=top).code == 2


ESCAPE = """\
import os


def test_escape():
    for path in ("../beside", os.path.expanduser("~/pwned")):
        try:
            open(path, "w").close()
        except OSError:
            pass
    assert not os.path.exists("../beside")
"""


@pytest.mark.thorough
@pytest.mark.skipif(not landlock_abi(), reason="this system has no Landlock")
def test_tests_of_the_patch_run_confined(top: Path, sealed: Path) -> None:
    patched(top, {"order.py": GREEN, "test_escape.py": ESCAPE})
    ended = coderefine("prove", "--format", "json", cwd=top)
    assert ended.code == 0, ended
    assert proof(ended)["added"] == ["test_escape.py::test_escape"]
    assert not (top.parent / "beside").exists()
    assert not (sealed / "pwned").exists()


def test_a_repair_that_depends_on_the_hash_seed_is_refused(tmp_path: Path) -> None:
    """`list(set(words))` passed with the two seeds of a run, and failed with most others."""
    one, two = next(pair for pair, kept in in_order((0, 2, 3)) if kept == [True, True, False])
    test = f"from tags import tags\n\n\ndef test_tags():\n    assert tags('{one} {two} {one}') == ['{one}', '{two}']\n"
    code = "def tags(text):\n    return text.split()\n"
    top = make_repo(tmp_path / "tags", {"tags.py": code, "test_tags.py": test})
    write(top, {"tags.py": code.replace("text.split()", "list(set(text.split()))")})
    result = coderefine("prove", "--worktree", "--gate", "pytest", cwd=top)
    assert result.code == 1, result
    assert "test_tags: repaired, but failed when it ran again (PYTHONHASHSEED=3)" in result.out, result


def in_order(seeds: Sequence[int]) -> Iterator[tuple[tuple[str, str], list[bool]]]:
    """Pairs of words, and whether a set has them in this order with each of the hash seeds `seeds`."""
    pairs = [(f"red{number}", f"blue{number}") for number in range(60)]
    program = f"print([list({{*pair}}) == list(pair) for pair in {pairs}])"
    argv = (sys.executable, "-c", program)
    printed = [subprocess.check_output(argv, env={"PYTHONHASHSEED": str(seed)}, text=True) for seed in seeds]
    yield from zip(pairs, map(list, zip(*(json.loads(one.lower()) for one in printed), strict=True)), strict=True)
