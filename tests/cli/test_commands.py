"""Every other command, and the command line itself."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
import tomlkit

from coderefine import __version__
from coderefine.config import load
from coderefine.reports.json import schema
from tests.support.command import LINT, ROOT, TESTS, coderefine, end, start
from tests.support.llm_server import LlmServer, error
from tests.support.publishing import state
from tests.support.repo import git, make_repo, write

LINT_ONLY = ("--no-model", "--no-search", "--gate", "ruff")
"""Where the tests are not the point: a run of them is three starts of Python."""


@pytest.fixture
def untidy(tmp_path: Path) -> Path:
    """Green tests, one lint finding."""
    return make_repo(tmp_path / "tidy", {"order.py": LINT, "test_order.py": TESTS})


class TestCommandLine:
    def test_version(self, tmp_path: Path) -> None:
        for flag in ("--version", "-V"):
            assert coderefine(flag, cwd=tmp_path).out == f"coderefine {__version__}\n"

    def test_version_imports_next_to_nothing(self, tmp_path: Path) -> None:
        loaded = "import sys; sys.argv=['coderefine']; import coderefine.cli; print(*sys.modules)"

        result = subprocess.run((sys.executable, "-c", loaded), cwd=ROOT, capture_output=True, text=True, check=True)
        heavy = {"openai", "git", "pytest", "rich", "radon", "genai_prices", "tomlkit", "httpx", "asyncio", "mcp"}
        assert not heavy & set(result.stdout.split())

    def test_the_help_in_readme_is_the_real_one(self, tmp_path: Path) -> None:
        readme = (ROOT / "README.md").read_text("utf-8")
        shown = re.search(r"```\n\$ coderefine --help\n(.*?)```", readme, re.DOTALL)
        assert shown
        assert coderefine("--help", cwd=tmp_path, env={"COLUMNS": "100"}).out == shown[1]

    @pytest.mark.parametrize(
        ("argv", "hint"),
        [
            (("chek",), "Did you mean 'check'?"),
            (("fix", "--comit"), "--commit"),
            (("fix", "--max-cots", "1"), "--max-cost"),
            (("check", "--max-complexity", "many"), "many"),
            (("check", "--max-complexity", "0"), "0"),
            (("fix", "--format", "xml"), "json"),
            (("fix", "--view", "mirror"), "overlay"),
            (("fix", "--max-cost", "-1"), "-1"),
            (("log", "--number", "0"), "0"),
        ],
    )
    def test_unknown_names_are_refused_with_a_suggestion(self, repo: Path, argv: tuple[str, ...], hint: str) -> None:
        result = coderefine(*argv, cwd=repo)
        assert result.code == 2
        assert result.out == ""
        assert hint in result.err.splitlines()[-1]

    @pytest.mark.parametrize("command", ["check", "fix", "demo", "log", "show", "undo", "resume", "doctor", "init"])
    def test_every_command_has_help(self, tmp_path: Path, command: str) -> None:
        result = coderefine(command, "--help", cwd=tmp_path)
        assert result.code == 0
        assert result.out.startswith(f"Usage: coderefine {command}")

    def test_a_closed_output_pipe_is_no_success_and_gives_no_traceback(self, repo: Path) -> None:
        process = start("check", cwd=repo)
        assert process.stdout
        process.stdout.close()
        process.stdout = None
        result = end(process)
        assert result.code == 1
        assert "Traceback" not in result.err


class TestCheck:
    def test_findings(self, repo: Path) -> None:
        before = state(repo)
        result = coderefine("check", cwd=repo)
        assert result.code == 1
        assert "test_order.py:5 test_discount_from_one_hundred_on failed: assert 0 == 10" in result.out
        assert "pytest 1 failed, 1 passed" in result.out
        assert state(repo) == before

    def test_clean_and_json(self, untidy: Path) -> None:

        result = coderefine("check", "--gate", "pytest", "--gate", "radon", "--format", "json", cwd=untidy)
        report = json.loads(result.out)
        jsonschema.validate(report, schema())
        assert (result.code, result.err, report["clean"]) == (0, "", True)
        assert [check["critic"] for check in report["checks"]] == ["pytest", "radon"]

    def test_a_limit_of_complexity(self, repo: Path) -> None:
        result = coderefine("check", "--gate", "radon", "--max-complexity", "1", cwd=repo)
        assert result.code == 1
        assert "discount" in result.out


class TestRuns:
    def test_log_show_undo(self, untidy: Path) -> None:
        assert coderefine("fix", *LINT_ONLY, "-q", cwd=untidy).code == 0
        log = coderefine("log", cwd=untidy)
        assert log.code == 0
        assert re.fullmatch(r"\S+  \S+ \S+  clean  1 attempt  wrote order.py\n", log.out)
        run = log.out.split()[0]
        for name in ((), (run,), (run[-5:],)):
            shown = coderefine("show", *name, "--diff", cwd=untidy)
            assert (shown.code, "-import os" in shown.out, run in shown.out) == (0, True, True)
        changed = git(untidy, "diff", "--name-only", f"refs/coderefine/{run}/0", f"refs/coderefine/{run}/1")
        assert changed == "order.py"
        assert coderefine("undo", run, cwd=untidy).code == 0
        assert (untidy / "order.py").read_text() == LINT
        assert coderefine("undo", cwd=untidy).code == 2

    def test_show_tells_how_many_runs_of_the_suite_a_repair_took(self, untidy: Path) -> None:
        assert coderefine("fix", *LINT_ONLY[:2], "-q", cwd=untidy).code == 0
        shown = coderefine("show", cwd=untidy).out
        assert re.search(r"^tests +\d+\.\d x the time of the whole suite", shown, re.MULTILINE), shown
        assert re.search(r"^view +(overlay|copy)", shown, re.MULTILINE), shown

    def test_undo_does_not_take_the_users_edit(self, untidy: Path) -> None:
        assert coderefine("fix", *LINT_ONLY, "-q", cwd=untidy).code == 0
        (untidy / "order.py").write_text("MINE = 1\n")
        before = state(untidy)
        result = coderefine("undo", cwd=untidy)
        assert result.code == 1
        assert "order.py" in result.lines[0]
        assert state(untidy) == before


class TestDoctor:
    def test_all_is_well(self, repo: Path) -> None:
        result = coderefine("doctor", "--no-model", cwd=repo)
        assert result.code == 0, result
        for name in ("project", "git", "interpreter", "pytest", "ruff", "radon", "private view", "sandbox", "model"):
            assert re.search(rf"^ok   {name} ", result.out, re.MULTILINE), result.out

    def test_necessary_steps_are_reported(self, tmp_path: Path) -> None:
        with LlmServer([], models=["a"]) as server:
            env = {"CODEREFINE_MODEL": "a", "CODEREFINE_BASE_URL": server.url}
            result = coderefine("doctor", cwd=tmp_path, env=env)
        assert result.code == 2
        assert "bad  git          no repository here: run `git init`" in result.out
        assert "ok   model        a at" in result.out

    def test_a_dead_server(self, repo: Path) -> None:
        env = {"CODEREFINE_MODEL": "a", "CODEREFINE_BASE_URL": "http://127.0.0.1:9/v1"}
        result = coderefine("doctor", cwd=repo, env=env)
        assert result.code == 2
        assert "bad  model" in result.out

    def test_a_temporary_folder_inside_the_repository_is_not_used(self, repo: Path) -> None:
        """Every command ended with "ruff left no report", and doctor said nothing."""
        (repo / "tmp").mkdir()
        env = {"TMPDIR": str(repo / "tmp")}
        result = coderefine("doctor", "--no-model", cwd=repo, env=env)
        assert result.code == 0, result
        assert f"ok   temporary    /tmp, because {repo / 'tmp'} is inside a repository" in result.out
        assert coderefine("check", "--gate", "ruff", cwd=repo, env=env).code == 0
        assert not list((repo / "tmp").iterdir())


class TestInit:
    def test_it_keeps_the_rest_and_refuses_twice(self, repo: Path) -> None:
        mine = '# mine\n[project]\nname   =  "order"   # odd spaces\nversion = "1"\n\n[tool.other]\nx = [ 1,2 ]\n'
        write(repo, {"pyproject.toml": mine})
        assert coderefine("init", cwd=repo).code == 0
        text = (repo / "pyproject.toml").read_text()
        assert text.startswith(mine)
        assert set(tomlkit.parse(text)["tool"]) == {"other", "coderefine"}
        assert load(repo, {}).max_complexity == 10
        again = coderefine("init", cwd=repo)
        assert again.code == 2
        assert "already" in again.lines[0]
        assert (repo / "pyproject.toml").read_text() == text

    def test_without_a_file(self, repo: Path) -> None:
        assert coderefine("init", cwd=repo).code == 0
        load(repo, {})

    def test_broken_toml_is_left_alone(self, repo: Path) -> None:
        write(repo, {"pyproject.toml": "[tool\n"})
        result = coderefine("init", cwd=repo)
        assert result.code == 2
        assert "not valid TOML" in result.lines[0]
        assert (repo / "pyproject.toml").read_text() == "[tool\n"

    def test_it_changes_nothing_of_what_the_other_commands_do(self, repo: Path) -> None:
        """Its `gates` and `max-complexity` counted as requested: `fix` patched 26 files, not one."""
        before = load(repo, {})
        assert coderefine("init", cwd=repo).code == 0
        assert load(repo, {}) == before
        assert "# max-complexity = 10  #" in (repo / "pyproject.toml").read_text()

    def test_a_link_stays_a_link(self, repo: Path) -> None:
        write(repo, {"conf/real.toml": "[project]\n"})
        (repo / "pyproject.toml").symlink_to("conf/real.toml")
        assert coderefine("init", cwd=repo).code == 0
        assert (repo / "pyproject.toml").readlink() == Path("conf/real.toml")
        assert "[tool.coderefine]" in (repo / "conf/real.toml").read_text()

    def test_the_line_ends_of_windows_stay(self, repo: Path) -> None:
        write(repo, {"pyproject.toml": "[tool.ruff]\r\nline-length = 100\r\n"})
        assert coderefine("init", cwd=repo).code == 0
        data = (repo / "pyproject.toml").read_bytes()
        assert data.count(b"\r\n") == data.count(b"\n") > 10

    def test_a_tool_that_is_no_table_is_refused(self, repo: Path) -> None:
        write(repo, {"pyproject.toml": "tool = 3\n"})
        result = coderefine("init", cwd=repo)
        assert result.code == 2, result
        assert "tool is 3, not a table" in result.lines[0]

    @pytest.mark.parametrize(
        ("make", "why"),
        [
            (lambda path: path.write_text("tool = {a = 1}\n"), "between braces"),
            (lambda path: path.symlink_to("nowhere/pyproject.toml"), "a link to nothing"),
            (os.mkfifo, "no regular file"),
            (lambda path: (path.touch(), path.chmod(0o444)), "read-only"),
        ],
    )
    def test_a_file_that_cannot_be_written_is_named(self, repo: Path, make: Callable[[Path], object], why: str) -> None:
        """A traceback; "No such file: …/.pyproject-x"; waited for ever; replaced without a word."""
        make(repo / "pyproject.toml")
        result = coderefine("init", cwd=repo)
        assert (result.code, len(result.lines)) == (2, 1), result
        assert "pyproject.toml" in result.lines[0]
        assert why in result.lines[0]
        assert not list(repo.glob(".pyproject*"))

    def test_other_names_of_the_file_and_its_mode_stay(self, repo: Path) -> None:
        path = repo / "pyproject.toml"
        write(repo, {"pyproject.toml": "[project]\n"})
        path.chmod(0o640)
        (repo / "other.toml").hardlink_to(path)
        assert coderefine("init", cwd=repo).code == 0
        assert path.samefile(repo / "other.toml")
        assert "[tool.coderefine]" in (repo / "other.toml").read_text()
        assert path.stat().st_mode & 0o777 == 0o640
        assert not list(repo.glob(".pyproject*"))

    def test_a_new_file_is_as_private_as_the_user_wants(self, repo: Path) -> None:
        before = os.umask(0o077)
        try:
            assert end(start("init", cwd=repo)).code == 0
        finally:
            os.umask(before)
        assert (repo / "pyproject.toml").stat().st_mode & 0o777 == 0o600

    @pytest.mark.parametrize("text", ["[tool]\n", "tool.ruff.line-length = 100\n", "[tool.ruff]\r\nx = 1\r\n"])
    def test_any_way_to_write_the_table(self, repo: Path, text: str) -> None:
        (repo / "pyproject.toml").write_bytes(text.encode())
        result = coderefine("init", cwd=repo)
        assert result.code == 0, result
        load(repo, {})
        assert (repo / "pyproject.toml").read_bytes().startswith(text.encode())


class TestDemo:
    @pytest.mark.thorough
    def test_it_ends_with_a_commit(self, tmp_path: Path) -> None:
        result = coderefine("demo", "made", "--no-model", cwd=tmp_path)
        assert "Traceback" not in result.err
        top = tmp_path / "made"
        assert git(top, "rev-list", "--count", "HEAD") == "2"
        assert git(top, "status", "--porcelain") == ""
        assert "Coderefine-Evidence" in git(top, "log", "-1", "--format=%B")
        # What the offline rungs can repair is all there is to repair.
        assert result.code == coderefine("check", "-q", cwd=top).code

    def test_a_folder_in_use_is_refused(self, repo: Path) -> None:
        result = coderefine("demo", str(repo), cwd=repo)
        assert result.code == 2
        assert "not empty" in result.lines[0]

    def test_the_models_server_is_queried_and_its_failure_is_reported(self, tmp_path: Path) -> None:
        with LlmServer([error(401)]) as server:
            result = coderefine(
                "demo", "made", "-q", cwd=tmp_path, env={"OPENAI_BASE_URL": server.url, "CODEREFINE_SEARCH": "0"}
            )
        assert result.code == 2, result
