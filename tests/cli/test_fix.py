"""`coderefine fix` as a user meets it: every way to hand a patch over, every limit, with and without a model."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from pathlib import Path

import jsonschema
import pytest

from coderefine.reports.json import schema
from tests.support.cases import every
from tests.support.command import GREEN, LINT, ORDER, RIGHT, TESTS, UNDEFINED, WRONG, block, coderefine, end, start
from tests.support.llm_server import LlmServer, Reply, error
from tests.support.publishing import state
from tests.support.repo import git, make_repo, write

OFFLINE = ("--no-model", "--no-search")
LINT_ONLY = (*OFFLINE, "--gate", "ruff")
"""Where the tests are not the point: a run of them is three starts of Python."""


@pytest.fixture
def untidy(tmp_path: Path) -> Path:
    """Green tests, one lint finding: ruff alone can mend it."""
    return make_repo(tmp_path / "tidy", {"order.py": LINT, "test_order.py": TESTS})


def model(server: LlmServer, *more: str) -> tuple[str, ...]:
    return ("fix", "--no-search", "--model", "scripted", "--base-url", server.url, *more)


class TestDelivery:
    def test_the_working_tree_is_the_default_and_undo_takes_it_back(self, untidy: Path) -> None:
        before = state(untidy)
        result = coderefine("fix", *OFFLINE, cwd=untidy)
        assert result.code == 0, result
        assert "wrote     order.py" in result.out
        assert (untidy / "order.py").read_text().strip() == GREEN.strip()
        assert {name for name, value in state(untidy).items() if value != before[name]} == {"order.py"}
        assert coderefine("undo", cwd=untidy).code == 0
        assert state(untidy) == before

    def test_diff_prints_exactly_a_patch_that_git_applies(self, untidy: Path) -> None:
        before = state(untidy)
        result = coderefine("fix", *LINT_ONLY, "--diff", cwd=untidy)
        assert result.code == 0, result
        assert state(untidy) == before
        (untidy.parent / "patch").write_text(result.out)
        git(untidy, "apply", "../patch")
        assert (untidy / "order.py").read_text().strip() == GREEN.strip()

    def test_a_patch_file_is_taken_by_git_am(self, untidy: Path) -> None:
        before = state(untidy)
        result = coderefine("fix", *LINT_ONLY, "--patch", "../mail.patch", "--message", "tidy: {summary}", cwd=untidy)
        assert result.code == 0, result
        assert state(untidy) == before
        assert "has ended" in coderefine("resume", cwd=untidy).lines[0]
        git(untidy, "am", "../mail.patch")
        assert git(untidy, "log", "-1", "--format=%s").startswith("tidy: ")
        assert (untidy / "order.py").read_text().strip() == GREEN.strip()

    def test_a_commit_runs_hooks_and_carries_evidence_and_leaves_dirty_work_alone(self, untidy: Path) -> None:
        hook = untidy / ".git/hooks/pre-commit"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("#!/bin/sh\ntouch .git/hook-ran\n")
        hook.chmod(0o755)
        write(untidy, {"notes.txt": "mine", "test_order.py": TESTS + "\n\nMORE = 1\n"})
        git(untidy, "add", "notes.txt")
        result = coderefine("fix", *OFFLINE, "--commit", "--author", "Ada <ada@example.com>", cwd=untidy)
        assert result.code == 0, result
        assert (untidy / ".git/hook-ran").exists()
        assert git(untidy, "show", "--name-only", "--format=%an", "HEAD").split() == ["Ada", "order.py"]
        trailers = git(untidy, "log", "-1", "--format=%(trailers:only)")
        assert "Coderefine-Checks: pytest 0 -> 0, ruff 1 -> 0" in trailers
        assert git(untidy, "status", "--porcelain").split("\n") == ["A  notes.txt", " M test_order.py"]

    @pytest.mark.thorough
    def test_a_hook_that_refuses_leaves_everything_as_it_was(self, untidy: Path) -> None:
        hook = untidy / ".git/hooks/pre-commit"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("#!/bin/sh\necho not today >&2; exit 1\n")
        hook.chmod(0o755)
        before = state(untidy)
        result = coderefine("fix", *LINT_ONLY, "--commit", cwd=untidy)
        assert result.code == 1, result
        assert "not today" in result.err
        assert state(untidy) == before

    def test_an_error_of_git_while_publishing_is_in_the_report(self, untidy: Path) -> None:
        """The report was missing, and nothing said that the patch is kept."""
        lock = untidy / ".git/refs/heads/tidy.lock"
        lock.write_text("")
        before = state(untidy)
        result = coderefine("fix", *LINT_ONLY, "--branch", "tidy", cwd=untidy)
        assert (result.code, state(untidy)) == (2, before), result
        assert re.search(r"^wrote +nothing; the patch is kept: coderefine show \S+ --diff$", result.out, re.MULTILINE)
        assert "another git process" in result.lines[-1]

    @pytest.mark.thorough
    def test_a_branch_is_made_and_not_checked_out(self, untidy: Path) -> None:
        before = state(untidy)
        result = coderefine("fix", *LINT_ONLY, "--branch", "tidy", cwd=untidy)
        assert result.code == 0, result
        assert git(untidy, "diff", "--name-only", "main", "tidy") == "order.py"
        after = state(untidy)
        assert {**after, "refs": ""} == {**before, "refs": ""}

    @pytest.mark.parametrize("pair", [("--diff", "--commit"), ("--patch=x", "--branch=y"), ("--diff", "--branch=y")])
    def test_two_ways_at_once_are_refused(self, untidy: Path, pair: Sequence[str]) -> None:
        result = coderefine("fix", *pair, cwd=untidy)
        assert result.code == 2
        assert "exclude each other" in result.lines[0]

    @pytest.mark.thorough
    def test_a_tree_that_moves_meanwhile_is_not_written_and_the_patch_is_kept(self, tmp_path: Path) -> None:
        slow = TESTS + "\n\ndef test_moves():\n    import time\n\n    time.sleep(1.5)\n"
        top = make_repo(tmp_path / "moving", {"order.py": LINT, "test_order.py": slow})
        process = start("fix", *OFFLINE, cwd=top)
        while process.poll() is None and not list((top / ".git").glob("refs/coderefine/*/1")):
            time.sleep(0.02)
        (top / "order.py").write_text(LINT + "\n\nMINE = 1\n")
        result = end(process)
        assert result.code == 1, result
        assert "order.py changed" in result.lines[0], "noticed before or after the proof"
        assert "so nothing was written" in result.lines[0]
        assert "wrote     nothing; the patch is kept" in result.out
        assert (top / "order.py").read_text() == LINT + "\n\nMINE = 1\n"
        assert "-import os" in coderefine("show", "--diff", cwd=top).out


class TestOutput:
    def test_json_holds_to_its_schema_and_is_all_of_stdout(self, untidy: Path) -> None:
        result = coderefine("fix", *OFFLINE, "--diff", "--format", "json", cwd=untidy)
        report = json.loads(result.out)
        jsonschema.validate(report, schema())
        assert (result.code, report["clean"], report["stop"]) == (0, True, "clean")
        assert result.err == ""

    def test_quiet_prints_nothing(self, untidy: Path) -> None:
        result = coderefine("fix", *LINT_ONLY, "--quiet", cwd=untidy)
        assert (result.code, result.out, result.err) == (0, "", "")

    def test_only_the_requested_gates_run(self, repo: Path) -> None:
        result = coderefine("fix", *OFFLINE, "--gate", "ruff", cwd=repo)
        assert result.code == 0, result
        assert "pytest" not in result.out + result.err

    def test_rules_can_be_left_out(self, untidy: Path) -> None:
        assert coderefine("fix", *OFFLINE, "--gate", "ruff", "--ignore", "F401,E501", cwd=untidy).code == 0
        assert coderefine("check", "--gate", "ruff", "--select", "E", "-q", cwd=untidy).code == 0
        assert coderefine("check", "--gate", "ruff", "--select", "F", "-q", cwd=untidy).code == 1


class TestModel:
    def test_right_at_once_costs_one_request(self, repo: Path) -> None:
        with LlmServer([RIGHT]) as server:
            result = coderefine(*model(server), cwd=repo)
        assert result.code == 0, result
        assert len(server.requests) == 1
        assert (repo / "order.py").read_text() == GREEN
        assert "1 test flipped, 1 kept, 0 lost" in result.out

    @pytest.mark.thorough
    def test_wrong_then_right_costs_two(self, repo: Path) -> None:
        with LlmServer([WRONG, RIGHT]) as server:
            result = coderefine(*model(server), cwd=repo)
        assert (result.code, len(server.requests)) == (0, 2), result
        assert (repo / "order.py").read_text() == GREEN

    @pytest.mark.parametrize(
        "reply",
        every(
            7,
            [
                block("test_order.py", "    assert discount(100) == 10", "    assert discount(100) == 0"),
                block("conftest.py", "", 'collect_ignore = ["test_order.py"]'),
                block("order.py", "total", "sum"),
                RIGHT + block("order.py", "def nothing_like_this():", "def something():"),
                "I would look at the discount.",
                "",
                Reply(raw="<html><body>502</body></html>", headers={"Content-Type": "text/html"}),
            ],
        ),
        ids=["edits the test", "adds a conftest", "ambiguous", "half bad", "rubbish", "empty", "html"],
    )
    def test_a_useless_model_leaves_the_tree_untouched(self, repo: Path, reply: Reply | str) -> None:
        before = state(repo)
        with LlmServer([reply]) as server:
            result = coderefine(*model(server, "--max-iterations", "2", "--max-requests", "3"), cwd=repo)
        assert result.code == 1, result
        assert 0 < len(server.requests) <= 3
        assert "Traceback" not in result.err
        assert state(repo) == before

    def test_a_refused_key_is_reported_in_one_line(self, repo: Path) -> None:
        before = state(repo)
        with LlmServer([error(401, "bad key")]) as server:
            result = coderefine(*model(server), cwd=repo)
        assert (result.code, len(server.requests)) == (2, 1), result
        named = [line for line in (result.out + result.err).splitlines() if "401" in line or "bad key" in line]
        assert len(named) == 1, named
        assert state(repo) == before

    def test_a_clone_does_not_get_a_variable_of_the_environment(self, untidy: Path) -> None:
        """`base-url` and `api-key-env` of its pyproject.toml sent the user's GITHUB_TOKEN to that server."""
        write(untidy, {"order.py": UNDEFINED})
        token = {"GITHUB_TOKEN": "ghs_1234567890abcdefghij"}
        table = '[tool.coderefine]\nbase-url = "{}"\napi-key-env = "GITHUB_TOKEN"\n'
        with LlmServer([error(401)]) as server:
            write(untidy, {"pyproject.toml": table.format(server.url)})
            result = coderefine("fix", "--no-search", "--gate", "ruff", cwd=untidy, env=token)
        assert len(server.requests) == 1
        assert not [seen for seen in server.requests if token["GITHUB_TOKEN"] in str(seen.headers)]
        assert "CODEREFINE_API_KEY_ENV='GITHUB_TOKEN'" in result.out, result
        write(untidy, {"pyproject.toml": table.format("https://other.example/v1")})
        result = coderefine("fix", "--no-search", "--gate", "ruff", cwd=untidy, env=token)
        assert "no model is used" in result.err, result
        assert "set CODEREFINE_BASE_URL='https://other.example/v1' and" in result.err

    def test_a_base_url_that_is_no_address_is_reported(self, untidy: Path) -> None:
        """`http://localhost:abc` ended as "a bug in coderefine"; without http:// the model was silently left out."""
        write(untidy, {"order.py": UNDEFINED})
        result = coderefine(
            "fix", "--gate", "ruff", "--model", "m", "--base-url", "http://localhost:abc/v1", cwd=untidy
        )
        assert result.code == 1, result
        assert "base-url must be set to an http:// or https:// address, not 'http://localhost:abc/v1'" in result.err

    @pytest.mark.thorough
    def test_a_missing_server_is_reported(self, repo: Path) -> None:
        result = coderefine(
            "fix", "--no-search", "--model", "m", "--base-url", "http://127.0.0.1:9/v1", "--max-requests", "1", cwd=repo
        )
        assert result.code == 2, result
        assert "127.0.0.1:9" in result.out

    @pytest.mark.parametrize(
        ("flag", "value", "requests"),
        every(
            5,
            [
                ("--max-requests", "0", 0),
                ("--max-requests", "1", 1),
                ("--max-tokens", "10", 0),
                ("--max-iterations", "0", 0),
                ("--max-iterations", "1", 1),
            ],
        ),
    )
    def test_limits_are_kept_before_a_request_leaves(self, repo: Path, flag: str, value: str, requests: int) -> None:
        with LlmServer([WRONG]) as server:
            result = coderefine(*model(server, flag, value), cwd=repo)
        assert (result.code, len(server.requests)) == (1, requests), result

    @pytest.mark.thorough
    def test_the_whole_run_ends_in_time(self, repo: Path) -> None:
        with LlmServer([Reply(RIGHT, delay=20)]) as server:
            result = coderefine(*model(server, "--timeout", "4"), cwd=repo)
        assert result.code in (1, 2), result
        assert "seconds" in result.out or "time" in result.out

    @pytest.mark.thorough
    def test_prompts_can_be_seen(self, repo: Path) -> None:
        with LlmServer([RIGHT]) as server:
            result = coderefine(*model(server, "--show-prompts", "--diff"), cwd=repo)
        assert "discount(100) == 10" in result.err
        assert "\n+    return total * 0.1 if total >= 100 else 0\n" in result.out

    def test_no_model_sends_no_request(self, repo: Path) -> None:
        with LlmServer([RIGHT]) as server:
            result = coderefine(*model(server, "--no-model"), cwd=repo)
        assert (result.code, server.requests) == (1, [])


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [("CODEREFINE_GATES", "ruff", 0), ("CODEREFINE_MAX_COMPLEXITY", "x", 2), ("CODEREFINE_MAX_COMPLEXTY", "3", 2)],
)
def test_the_environment_is_configuration(repo: Path, name: str, value: str, code: int) -> None:
    result = coderefine("check", cwd=repo, env={name: value})
    assert result.code == code, result
    assert (repo / "order.py").read_text() == ORDER


UNTIDY = {f"part{number}.py": "import os\nimport sys\n" for number in range(12)}


@pytest.mark.thorough
def test_many_findings_of_lint_stay_out_of_the_repair_of_a_test(tmp_path: Path) -> None:
    """Tests fail, and ruff has many findings: only the fault is repaired."""
    top = make_repo(tmp_path / "repo", {"order.py": ORDER, "test_order.py": TESTS, **UNTIDY})
    first = coderefine("fix", "--no-model", "--accept", "plausible", cwd=top)
    assert first.code == 1, first
    assert git(top, "diff", "--name-only").split() == ["order.py"]
    assert "these are many: 24 of ruff; `fix` tries them once no test fails" in first.out, first.out


def test_a_lint_finding_that_the_repair_causes_is_repaired_with_it(tmp_path: Path) -> None:
    """The right repair, `super(Box, self)`, was thrown away in a project with 229 findings: it made them 230."""
    shape = "class Shape:\n    def __init__(self, size):\n        self.size = size\n\n\n"
    ring = "class Ring(Shape):\n    def __init__(self, size):\n        super(Ring, self).__init__(size)\n\n\n"
    box = ring.replace("Ring", "Box").replace("super(Box, self)", "super(self, Box)")
    test = "from shape import Box, Ring\n\n\ndef test_box():\n    assert Box(3).size == Ring(3).size\n"
    settings = {"ruff.toml": 'lint.select = ["F", "UP008"]\n', "shape.py": shape + ring + box, "test_shape.py": test}
    top = make_repo(tmp_path / "repo", {**settings, **UNTIDY})
    result = coderefine("fix", "--no-model", "--accept", "plausible", cwd=top)
    assert (top / "shape.py").read_text() == shape + ring + box.replace("super(self, Box)", "super()"), result
    assert git(top, "diff", "--name-only").split() == ["shape.py"]


@pytest.mark.thorough
def test_a_repair_with_a_lint_finding_that_cannot_be_repaired_is_offered(tmp_path: Path) -> None:
    """It was not mentioned at all."""
    many = "def many(number):\n    return number > 1\n"
    test = "from many import many\n\n\ndef test_many():\n    assert many(3)\n    assert not many(2)\n"
    settings = {"ruff.toml": 'lint.select = ["F", "PLR2004"]\n', "many.py": many, "test_many.py": test}
    top = make_repo(tmp_path / "repo", {**settings, **UNTIDY})
    result = coderefine("fix", "--no-model", "--accept", "plausible", cwd=top)
    assert result.code == 1, result
    assert (top / "many.py").read_text() == many
    assert "plausible not written: new ruff finding PLR2004 in many.py (many)" in result.out, result
    run = re.search(r"coderefine pick (\S+) N", result.out)
    assert run, result
    picked = coderefine("pick", run[1], "1", cwd=top)
    assert (top / "many.py").read_text() == many.replace("> 1", "> 2"), picked


@pytest.mark.thorough
def test_many_findings_of_lint_are_repaired_once_no_test_fails(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "repo", {"order.py": GREEN, "test_order.py": TESTS, **UNTIDY})
    result = coderefine("fix", *OFFLINE, cwd=top)
    assert result.code == 0, result
    assert len(git(top, "diff", "--name-only").split()) == 12


@pytest.mark.thorough
def test_four_complex_functions_do_not_delay_the_repair_of_a_test(tmp_path: Path) -> None:
    branches = "".join(f"    if x == {number}:\n        return x\n" for number in range(12))
    parts = {f"part{number}.py": f"def part(x):\n{branches}    return None\n" for number in range(4)}
    top = make_repo(tmp_path / "repo", {"order.py": ORDER, "test_order.py": TESTS, **parts})
    first = coderefine("fix", "--no-model", "--accept", "plausible", cwd=top)
    assert git(top, "diff", "--name-only").split() == ["order.py"], first
    assert (
        "these are many: 4 of radon; `fix` tries them once no test fails, `fix --gate pytest --gate radon` now"
        in first.out
    ), first.out


@pytest.mark.thorough
def test_many_lint_findings_of_a_configured_ruff_take_no_time_from_the_repair_of_a_test(tmp_path: Path) -> None:
    """A project with 434 findings and ruff settings spent all of its 600 s on ruff's fixes, and wrote nothing."""
    settings = {"ruff.toml": "line-length = 100\n", "order.py": ORDER, "test_order.py": TESTS}
    top = make_repo(tmp_path / "repo", {**settings, **UNTIDY})
    first = coderefine("fix", "--no-model", "--accept", "plausible", cwd=top)
    assert git(top, "diff", "--name-only").split() == ["order.py"], first
    assert "these are many: 24 of ruff" in first.out, first.out


@pytest.mark.thorough
def test_many_lint_findings_are_repaired_with_the_test_if_the_gate_is_requested(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "repo", {"order.py": ORDER, "test_order.py": TESTS, **UNTIDY})
    gates = ("--gate", "pytest", "--gate", "ruff")
    both = coderefine("fix", "--no-model", "--accept", "plausible", *gates, cwd=top)
    assert both.code == 0, both
    assert len(git(top, "diff", "--name-only").split()) == 13


@pytest.mark.thorough
def test_repairs_that_break_tests_of_files_far_away_are_not_run_one_after_the_other(tmp_path: Path) -> None:
    """A wrong expectation took 54 runs of the suite: each of 28 repairs broke the same test, which no server had."""
    faulty = "def price(n):\n    if n > 10:\n        return n * 8 // 10\n    return n\n"
    far = "import pytest\n\nfrom shop import price\n\n\n@pytest.mark.parametrize('n', range(700))\n"
    far += "def test_far(n):\n    assert price(n) == (n * 8 // 10 if n > 10 else n)\n"
    near = "from shop import price\n\n\ndef test_near():\n    assert price(5) != 5\n    assert price(20) == 16\n"
    files = {"shop.py": faulty, "test_shop.py": near, "test_far.py": far}
    top = make_repo(tmp_path / "repo", files)
    two = {"PYTHON_CPU_COUNT": "2"}
    result = json.loads(coderefine("fix", "--no-model", "--search-time", "6", "--format", "json", cwd=top, env=two).out)
    broken = [one for one in result["attempts"] if "test_far" in one["reason"]]
    assert len(broken) == 1, [(one["summary"], one["reason"]) for one in result["attempts"]]


@pytest.mark.parametrize("lint", ["", "import os\n"], ids=["nothing else to do", "a lint finding is repaired"])
def test_a_search_whose_time_is_over_does_not_say_that_there_is_no_repair(tmp_path: Path, lint: str) -> None:
    """On a busy machine, no candidate was judged in 30 s: "search, autofix, rewrite, simplify found no repair"."""
    code = f"{lint}\n\ndef low(n):\n    return n > 3\n".lstrip("\n")
    test = "import time\n\nfrom limit import low\n\ntime.sleep(1.5)\n\n\ndef test_low():\n    assert low(2)\n"
    top = make_repo(tmp_path / "limit", {"limit.py": code, "test_limit.py": test})
    result = coderefine("fix", "--no-model", "--search-time", "0.8", cwd=top)
    assert result.code == 1, result
    reason = "search judged no candidate until its time was over: --search-time SECONDS allows more"
    assert reason in result.out.splitlines()[-1], result
