"""What a report says is what happened: last lines, reasons, marks in `log`, line numbers, where wrong values enter."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from coderefine import check
from coderefine.core import Finding, Read, Task
from coderefine.errors import ConfigError, CriticError
from tests.cli.test_bad_places import place, untidy, user
from tests.cli.test_write import FILES, RIGHT, new, write
from tests.support.cases import every
from tests.support.command import GREEN, LINT, ORDER, TESTS, coderefine
from tests.support.llm_server import error
from tests.support.repo import git, make_repo

__all__ = ["place", "untidy", "user"]

OFFLINE = ("fix", "--no-model", "--no-search")
LINT_ONLY = (*OFFLINE, "--gate", "ruff")
LETTERS = 'def roman(number: int) -> str:\n    """Roman."""\n    return "I" * number\n'


def last(text: str) -> str:
    return text.rstrip().splitlines()[-1]


class TestWrite:
    def test_code_was_committed_while_its_tests_failed(self, tmp_path: Path) -> None:
        top = make_repo(tmp_path / "roman", FILES)
        result, _ = write(top, [new(LETTERS), "I have no better idea."], "--tests", "tests/test_roman.py", "--commit")
        assert result.code == 1, result
        assert git(top, "log", "--format=%s") == "start"
        assert git(top, "status", "--porcelain") == ""
        assert "not proved" in result.out
        assert "the tests that judge it still fail: tests/test_roman.py::test_nine" in last(result.out)
        assert "coderefine show --diff" in result.out, "the best try is offered"
        assert '+    return "I" * number' in coderefine("show", "--diff", cwd=top).out

    @pytest.mark.thorough
    def test_code_was_committed_while_its_tests_failed_because_the_server_died(self, tmp_path: Path) -> None:
        top = make_repo(tmp_path / "roman", FILES)
        result, _ = write(top, [new(LETTERS), error(401)], "--commit")
        assert result.code == 2, result
        assert git(top, "log", "--format=%s") == "start"
        assert "still fail" in last(result.out)

    @pytest.mark.thorough
    def test_code_that_the_tests_accept_is_still_written(self, tmp_path: Path) -> None:
        top = make_repo(tmp_path / "roman", FILES)
        result, _ = write(top, [new(LETTERS), new(RIGHT).replace("SEARCH\n\n", f"SEARCH\n{LETTERS}")])
        assert result.code == 0, result
        assert (top / "pkg/roman.py").read_text() == RIGHT

    def test_a_file_elsewhere_was_called_no_git_repository(self, tmp_path: Path) -> None:
        top = make_repo(tmp_path / "roman", FILES)
        result, _ = write(top, [], into=("--into", "../evil.py"))
        assert result.code == 2
        assert "../evil.py is outside this repository" in result.err


class TestLastLine:
    def test_a_refused_commit_ended_in_all_checks_pass(self, tmp_path: Path) -> None:
        top = make_repo(tmp_path / "order", {"order.py": GREEN, "test_order.py": TESTS})
        (top / "order.py").write_text(LINT)
        git(top, "add", "-A")
        result = coderefine("hook", "run", cwd=top)
        assert result.code == 1, result
        assert last(result.out) == "commit refused: 1 ruff finding; a repair was written to order.py, not staged"

    def test_a_refused_commit_without_a_repair_reports_the_number_of_failing_tests(self, tmp_path: Path) -> None:
        top = make_repo(tmp_path / "order", {"order.py": GREEN, "test_order.py": TESTS})
        (top / "order.py").write_text(ORDER)
        git(top, "add", "-A")
        assert last(coderefine("hook", "run", "--no-fix", cwd=top).out) == "commit refused: 1 test fails"

    def test_a_broken_head_ended_in_all_checks_pass(self, tmp_path: Path) -> None:
        top = make_repo(tmp_path / "order", {"order.py": GREEN, "test_order.py": TESTS})
        git(top, "checkout", "-qb", "topic")
        (top / "order.py").write_text(LINT)
        git(top, "commit", "-qam", "lint")
        result = coderefine("suggest", "--base", "main", "--no-post", "--style", "--gate", "ruff", cwd=top)
        head = git(top, "rev-parse", "HEAD")[:10]
        assert last(result.out) == f"{head}: 1 ruff finding; with the patch all checks pass"
        assert "1 suggestion\n" in result.out

    def test_a_printed_patch_is_not_in_the_tree(self, tmp_path: Path) -> None:
        top = make_repo(tmp_path / "order", {"order.py": LINT, "test_order.py": TESTS})
        result = coderefine(*LINT_ONLY, "--diff", cwd=top)
        assert last(result.err) == "with the patch all checks pass"

    @pytest.mark.parametrize("committed", [LINT, GREEN])
    def test_uncommitted_files_that_fail_ended_in_all_checks_pass(self, tmp_path: Path, committed: str) -> None:
        top = make_repo(tmp_path / "order", {"order.py": committed, "cart.py": "", "test_order.py": TESTS})
        (top / "cart.py").write_text("import os\n")
        result = coderefine(*LINT_ONLY, "--commit", cwd=top)
        assert result.code == 0, result
        assert last(result.out) == "in HEAD all checks pass; your uncommitted changes in cart.py were not checked"

    def test_used_up_time_names_its_option(self, tmp_path: Path) -> None:
        top = make_repo(tmp_path / "order", {"order.py": LINT, "test_order.py": TESTS})
        result = coderefine(*LINT_ONLY, "--timeout", "0", cwd=top)
        assert "(budget: the 0 s of --timeout are used up)" in last(result.out)


class TestPlaces:
    def test_a_linked_folder_of_tests_refused_every_patch(self, tmp_path: Path) -> None:
        shared = tmp_path / "shared"
        shared.mkdir()
        (shared / "test_order.py").write_text(TESTS)
        settings = '[tool.pytest.ini_options]\npythonpath = ["."]\n'
        top = make_repo(tmp_path / "order", {"order.py": LINT, "pyproject.toml": settings})
        (top / "tests").symlink_to(shared)
        git(top, "add", "-A")
        git(top, "commit", "-qm", "link")
        result = coderefine(*OFFLINE, cwd=top)
        assert result.code == 0, result
        assert "protected files changed" not in result.out
        assert (top / "order.py").read_text() == GREEN

    @pytest.mark.parametrize(("file", "folder"), every(2, [(0o444, 0o755), (0o644, 0o555)]), ids=["file", "folder"])
    def test_a_read_only_target_is_reported_at_the_start(
        self, untidy: Path, user: Sequence[str], file: int, folder: int
    ) -> None:
        (untidy / "order.py").chmod(file)
        untidy.chmod(folder)
        result = coderefine(*LINT_ONLY, cwd=untidy, wrap=user)
        runs = coderefine("log", cwd=untidy, wrap=user)
        untidy.chmod(0o755)
        assert result.code == 1, result
        assert "all checks pass" not in result.out
        assert "order.py is " in result.err
        assert "read-only" in result.err
        assert "its finding is left" in result.err
        assert "read-only" in last(result.out)
        assert "killed" not in runs.out

    def test_findings_in_protected_files_are_no_want_of_ideas(self, tmp_path: Path) -> None:
        settings = '[tool.coderefine]\nprotect = ["made.py"]\n'
        made = 'import os\nimport sys\n\n"made"\n'
        top = make_repo(
            tmp_path / "order",
            {"order.py": GREEN, "test_order.py": TESTS, "pyproject.toml": settings, "made.py": made},
        )
        result = coderefine(*LINT_ONLY, cwd=top)
        assert result.code == 1, result
        assert "made.py is protected by 'made.py': its 2 findings are left" in result.err
        assert "found no repair" not in result.out
        assert "made.py is protected by 'made.py'" in last(result.out)

    def test_protected_code_that_failing_tests_run_is_named_where_nothing_was_found(self, tmp_path: Path) -> None:
        """click: a fault in `testing.py` ended in "found no repair"."""
        files = {
            "pkg/__init__.py": "",
            "pkg/calc.py": "def doubled(n):\n    return 2 * n\n",
            "pkg/testing.py": "def shown(n):\n    return str(n + 1)\n",
            "tests/test_calc.py": "from pkg.calc import doubled\nfrom pkg.testing import shown\n\n\n"
            "def test_doubled():\n    assert doubled(2) == 4\n\n\n"
            "def test_shown():\n    assert shown(doubled(2)) == '4'\n    assert shown(doubled(1)) == '2'\n"
            "    assert doubled(3) == 6\n",
        }
        top = make_repo(tmp_path / "p", files)
        result = coderefine("fix", "--no-model", "--search-time", "4", cwd=top)
        assert result.code == 1, result
        assert "no repair outside of protected code that the failing tests run: pkg/testing.py is a test" in last(
            result.out
        )

    def test_a_plug_in_that_pytest_loads_is_named_as_the_reason(self, tmp_path: Path) -> None:
        """pytest-asyncio: "no line of the program is known to run in a failing test"."""
        files = {
            "pytest.ini": "[pytest]\naddopts = -p plug\n",
            "plug.py": "def doubled(n):\n    return 3 * n\n",
            "test_plug.py": "from plug import doubled\n\n\ndef test_doubled():\n    assert doubled(2) == 4\n",
        }
        result = coderefine("fix", "--no-model", cwd=make_repo(tmp_path / "p", files))
        assert result.code == 1, result
        assert "may be changed: plug.py is a plug-in that pytest loads for the tests" in last(result.out)

    def test_failing_tests_of_protected_code_are_no_want_of_ideas(self, tmp_path: Path) -> None:
        settings = '[tool.coderefine]\nprotect = ["order.py"]\n'
        top = make_repo(tmp_path / "order", {"order.py": ORDER, "test_order.py": TESTS, "pyproject.toml": settings})
        result = coderefine("fix", "--no-model", cwd=top)
        assert result.code == 1, result
        assert "the failing tests run no code that may be changed: order.py is protected by 'order.py'" in last(
            result.out
        )

    def test_a_module_that_does_not_parse_is_named(self, tmp_path: Path) -> None:
        top = make_repo(tmp_path / "order", {"order.py": ORDER.replace(":", "", 1), "test_order.py": TESTS})
        result = coderefine("fix", "--no-model", "--gate", "pytest", cwd=top)
        assert result.code == 1, result
        assert "a module does not parse, correct this first" in last(result.out)
        assert "(order.py, line 4)" in last(result.out)


class TestLog:
    @pytest.mark.thorough
    def test_undone_and_committed_runs_are_marked(self, tmp_path: Path) -> None:
        top = make_repo(tmp_path / "order", {"order.py": LINT, "test_order.py": TESTS})
        assert coderefine(*OFFLINE, cwd=top).code == 0
        assert "1 attempt  wrote order.py" in coderefine("log", cwd=top).out
        assert coderefine("undo", cwd=top).code == 0
        assert "undone: it wrote order.py" in coderefine("log", cwd=top).out
        shown = coderefine("show", cwd=top).out
        assert "undone: it wrote order.py" in shown
        assert "undo: coderefine undo" not in shown
        assert "start: 2 tests, 0 failing, 1 finding\n" in shown
        assert coderefine(*OFFLINE, "--commit", cwd=top).code == 0
        commit = git(top, "rev-parse", "HEAD")[:10]
        assert f"committed {commit}: order.py" in coderefine("log", cwd=top).out.splitlines()[0]

    def test_a_commit_of_what_is_in_the_tree_already_names_its_file(self, tmp_path: Path) -> None:
        """The log named no file; `undo` said "nothing", and spoke of hooks that do not exist."""
        top = make_repo(tmp_path / "order", {"order.py": LINT, "test_order.py": TESTS})
        assert coderefine(*LINT_ONLY, cwd=top).code == 0
        assert coderefine(*LINT_ONLY, "--commit", cwd=top).code == 0
        commit = git(top, "rev-parse", "HEAD")[:10]
        assert f"committed {commit}: order.py" in coderefine("log", cwd=top).out
        done = coderefine("undo", cwd=top)
        assert done.out == f"undone: the commit {commit} is gone from main, your files stay as they are\n"
        assert (top / "order.py").read_text() == GREEN

    def test_an_error_in_a_run_was_called_killed(self, tmp_path: Path) -> None:
        top = make_repo(tmp_path / "order", {"order.py": LINT, "test_order.py": TESTS})
        program = '[tool.coderefine]\ngates = ["broken"]\n[[tool.coderefine.commands]]\nname = "broken"\n'
        (top / "pyproject.toml").write_text(f'{program}run = ["sh", "-c", "exit 9"]\n')
        result = coderefine(*OFFLINE, cwd=top)
        assert result.code == 2, result
        line = coderefine("log", cwd=top).out
        assert "killed" not in line
        assert "failed: broken exited 9" in line
        assert "failed: broken exited 9" in coderefine("show", cwd=top).out

    @pytest.mark.thorough
    def test_the_second_step_names_lines_of_the_users_file(self, tmp_path: Path) -> None:
        """ruff takes two lines away at the top; the line that the search names is that of the user's file."""
        top = make_repo(tmp_path / "order", {"order.py": f"import os\n\n{ORDER}", "test_order.py": TESTS})
        line = (top / "order.py").read_text().splitlines().index("    return total * 0.1 if total > 100 else 0") + 1
        result = coderefine("fix", "--no-model", cwd=top)
        assert f"search    order.py:{line} " in result.out, result
        assert f"search: order.py:{line} " in coderefine("show", cwd=top).out


class TestEntrance:
    """Senseless values are refused where they enter."""

    def test_no_samples(self, tmp_path: Path) -> None:
        top = make_repo(tmp_path / "order", {"order.py": GREEN, "test_order.py": TESTS})
        result = coderefine("check", "--gate", "ruff", cwd=top, env={"CODEREFINE_SAMPLES": "0"})
        assert result.code == 2
        assert "CODEREFINE_SAMPLES: samples must be a whole number from 1 on, not 0" in result.err
        with pytest.raises(ConfigError, match="samples must be a whole number from 1 on"):
            check(samples=0, gates=["ruff"], cwd=top)

    def test_a_task_whose_check_gives_a_string(self, tmp_path: Path) -> None:
        def look(_read: Read) -> str:
            return "this is bad"

        top = make_repo(tmp_path / "order", {"order.py": GREEN})
        task = Task("odd", checks=(look,))  # type: ignore[arg-type]
        with pytest.raises(CriticError, match="look gave 'this is bad' instead of findings"):
            check(task=task, gates=[], cwd=top)

    @pytest.mark.parametrize("path", ["../evil.py", "/etc/passwd"])
    def test_a_finding_outside_the_tree(self, tmp_path: Path, path: str) -> None:
        def look(_read: Read) -> list[Finding]:
            return [Finding("odd", "rule", path, "wrong")]

        top = make_repo(tmp_path / "order", {"order.py": GREEN})
        with pytest.raises(CriticError, match="is outside this repository"):
            check(task=Task("odd", checks=(look,)), gates=[], cwd=top)

    def test_a_path_of_another_place(self, tmp_path: Path) -> None:
        top = make_repo(tmp_path / "order", {"order.py": GREEN})
        (tmp_path / "evil.py").write_text("x = 1\n")
        result = coderefine("check", "order.py", "../evil.py", cwd=top)
        assert result.code == 2
        assert "../evil.py is outside this repository" in result.err
        result = coderefine("fix", "../evil.py", cwd=top)
        assert result.code == 2
        assert f"{tmp_path} is outside this repository ({top})" in result.err

    def test_an_unknown_variable_is_named_as_it_is_written(self, tmp_path: Path) -> None:
        result = coderefine("check", cwd=tmp_path, env={"CODEREFINE_MAX-COST": "1"})
        assert result.err == "coderefine: CODEREFINE_MAX-COST is not a setting (did you mean CODEREFINE_MAX_COST?)\n"
        result = coderefine("check", cwd=tmp_path, env={"CODEREFINE_MAX_CST": "1"})
        assert result.err == "coderefine: CODEREFINE_MAX_CST is not a setting (did you mean CODEREFINE_MAX_COST?)\n"

    @pytest.mark.parametrize(
        ("key", "meant"), [("goall", "goal"), ("wantd", "wanted"), ("max-complexty", "max-complexity")]
    )
    def test_an_unknown_key_of_a_task_file(self, tmp_path: Path, key: str, meant: str) -> None:
        top = make_repo(tmp_path / "order", {"order.py": GREEN, "task.toml": f'{key} = "x"\n'})
        result = coderefine("check", "--task", "task.toml", cwd=top)
        assert result.err == f"coderefine: task.toml: a task has no key {key!r} (did you mean {meant!r}?)\n"

    def test_a_type_checker_that_is_not_there(self, tmp_path: Path) -> None:
        top = make_repo(tmp_path / "order", {"order.py": GREEN, "test_order.py": TESTS})
        python, tools = tmp_path / "venv/bin/python", tmp_path / "tools"
        subprocess.run(
            (sys.executable, "-m", "venv", "--without-pip", "--system-site-packages", tmp_path / "venv"),
            check=True,
        )
        tools.mkdir()
        for name in ("git", "sh", "cat", "env", "unshare", "nsenter", "setpriv", "mount"):
            if found := shutil.which(name):
                (tools / name).symlink_to(found)
        result = coderefine(
            "check", "--task", "types", "--gate", "mypy", "--python", str(python), cwd=top, env={"PATH": str(tools)}
        )
        assert result.code == 2, result
        assert last(result.err).startswith(f"coderefine: mypy is not installed for {python}")
        assert "pip install mypy, or choose pyright" in last(result.err)


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("fix", "Seconds for the offline search (default 30; 8 if a model follows)."),
        ("fix", "Confine the tests while a patch is tried: auto (the default) allows what your own tests need"),
        ("check", "Work in an overlay mount or in a copy of the tree; auto (the default) takes the overlay"),
    ],
)
def test_help_is_in_whole_sentences(tmp_path: Path, command: str, sentence: str) -> None:
    assert sentence in " ".join(coderefine(command, "--help", cwd=tmp_path).out.split())


def test_a_file_named_by_the_benchmark_command_is_reported_at_the_start(tmp_path: Path) -> None:
    settings = '[tool.coderefine.performance]\nrun = "python order.py"\n'
    top = make_repo(tmp_path / "order", {"order.py": GREEN, "test_order.py": TESTS, "pyproject.toml": settings})
    result = coderefine(*OFFLINE, "--task", "performance", cwd=top)
    assert "note: order.py is named by the benchmark command" in result.err, result


def test_check_is_silent_about_what_fix_remarks(tmp_path: Path) -> None:
    wide = "def f(a, b, c, d, e, g, h, i):\n    return a + b + c + d + e + g + h + i\n"
    top = make_repo(tmp_path / "wide", {"wide.py": wide})
    args = ("--task", "readability", "--gate", "ruff")
    checked, fixed = coderefine("check", *args, cwd=top), coderefine("fix", "--no-model", *args, cwd=top)
    assert (checked.code, fixed.code) == (0, 0), (checked, fixed)
    remarks = [line for line in fixed.out.splitlines() if line.startswith("advice")]
    assert remarks
    assert [line for line in checked.out.splitlines() if line.startswith("advice")] == remarks
    assert "reading 4" in last(checked.out)
