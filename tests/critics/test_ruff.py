"""The ruff gate, with the real ruff."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from coderefine.config import Config
from coderefine.core import Ask, Check, Event, Severity, Span
from coderefine.critics.ruff import Ruff
from coderefine.errors import CriticError
from coderefine.project import Interpreter, locate
from tests.support.repo import make_repo
from tests.support.view import DirectView

SETTINGS = '[tool.ruff]\nline-length = 80\n[tool.ruff.lint]\nselect = ["E", "F", "B", "I"]\n'
CART = "import os\n\n\nclass Cart:\n    def add(self, item, to=[]):\n        to.append(item)\n        return to\n"


def own(prefix: Path) -> Interpreter:
    """An interpreter whose environment is `prefix`."""
    return Interpreter(Path(sys.executable), "3.11.0", "test", None, prefix)


def check(top: Path, config: Config | None = None, ask: Ask | None = None, prefix: Path | None = None) -> Check:
    temp = top.parent / "temp"
    temp.mkdir(exist_ok=True)
    critic = Ruff(locate([top], top), own(prefix or top / "nowhere"), config or Config(), lambda _event: None)
    return critic.check(DirectView(top, temp), ask or Ask())


def test_a_finding_has_place_message_and_instruction(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "repo", {"pyproject.toml": SETTINGS, "src/cart.py": CART})
    found = {finding.rule: finding for finding in check(top).findings}
    assert set(found) == {"F401", "B006"}
    unused, mutable = found["F401"], found["B006"]
    assert unused.identity == ("ruff", "src/cart.py", "F401", "")
    assert (unused.span, unused.evidence, unused.severity) == (Span(1, 1), "import os", Severity.HARD)
    assert unused.instruction == "Remove unused import: `os`"
    assert (mutable.symbol, mutable.where) == ("Cart.add", "src/cart.py:5")
    assert mutable.evidence == "def add(self, item, to=[]):"


def test_a_clean_project_has_no_findings_and_the_check_names_the_tool(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "repo", {"a.py": "x = 1\n"})
    result = check(top)
    assert result.clean
    assert result.complete
    assert result.tool.startswith("ruff 0.")


def test_nothing_is_written_into_the_tree(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "repo", {"pyproject.toml": "[tool.ruff]\nfix = true\nfix-only = true\n", "a.py": CART})
    assert "F401" in {finding.rule for finding in check(top).findings}
    assert sorted(path.name for path in top.iterdir()) == [".git", "a.py", "pyproject.toml"]
    assert (top / "a.py").read_text() == CART


def test_findings_outside_the_scope_are_soft(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "repo", {"a.py": "import os\n", "pkg/b.py": "import os\n", "pkg2/c.py": "import os\n"})
    severities = {finding.path: finding.severity for finding in check(top, ask=Ask(("pkg",))).findings}
    assert severities == {"a.py": Severity.SOFT, "pkg/b.py": Severity.HARD, "pkg2/c.py": Severity.SOFT}


def test_only_changed_files_are_checked_again_and_the_check_is_incomplete(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "repo", {"a.py": "import os\n", "b.py": "import os\n"})
    result = check(top, ask=Ask(changed=frozenset({"b.py", "gone.py", "notes.md"})))
    assert [finding.path for finding in result.findings] == ["b.py"]
    assert not result.complete


def test_changed_files_that_the_project_excludes_stay_excluded(tmp_path: Path) -> None:
    top = make_repo(
        tmp_path / "repo", {"pyproject.toml": '[tool.ruff]\nexclude = ["gen"]\n', "gen/a.py": "import os\n"}
    )
    assert check(top, ask=Ask(changed=frozenset({"gen/a.py"}))).findings == ()


def test_a_change_to_no_python_file_starts_nothing(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "repo", {"a.py": "import os\n"})
    assert check(top, ask=Ask(changed=frozenset({"notes.md"}))).findings == ()


def test_a_syntax_error_is_a_finding(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "repo", {"a.py": "def f(:\n    pass\n"})
    assert {finding.rule for finding in check(top).findings} == {"invalid-syntax"}


def test_selected_and_ignored_rules_reach_ruff(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "repo", {"a.py": CART})
    assert [f.rule for f in check(top, Config(select=("B", "F"), ignore=("F401",))).findings] == ["B006"]


def test_paths_are_relative_to_the_repository_in_a_monorepo(tmp_path: Path) -> None:
    files = {"one/pyproject.toml": SETTINGS, "one/src/a b.py": CART, "two/x.py": "import os\n"}
    top = make_repo(tmp_path / "repo", files)
    critic = Ruff(locate([top / "one"], top), own(top), Config(), lambda _event: None)
    assert {finding.path for finding in critic.check(DirectView(top, tmp_path), Ask()).findings} == {"one/src/a b.py"}
    again = critic.check(DirectView(top, tmp_path), Ask(changed=frozenset({"one/src/a b.py"})))
    assert {finding.path for finding in again.findings} == {"one/src/a b.py"}


def test_columns_of_a_crlf_file_with_a_bom_are_understood(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "repo", {"a.py": b"\xef\xbb\xbfimport os\r\n\r\n\r\ndef f():\r\n    import re\r\n"})
    assert [(f.symbol, f.evidence) for f in check(top).findings] == [("", "import os"), ("f", "import re")]


def test_notebooks_are_left_out_with_a_note(tmp_path: Path) -> None:
    cell = '{"cell_type":"code","source":["import os"],"metadata":{},"outputs":[],"execution_count":null,"id":"a"}'
    book = f'{{"cells":[{cell}],"metadata":{{"language_info":{{"name":"python"}}}},"nbformat":4,"nbformat_minor":5}}'
    result = check(make_repo(tmp_path / "repo", {"a.ipynb": book}))
    assert result.findings == ()
    assert result.notes == ("notebooks are not judged: a.ipynb",)


def test_a_file_in_another_encoding_with_a_coding_cookie_was_a_finding_for_ever(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "repo", {"a.py": "x = 1\n"})
    (top / "lat.py").write_bytes(b"# -*- coding: latin-1 -*-\nNAME = '\xe9'\n")
    (top / "bad.py").write_bytes(b"NAME = '\xe9'\n")
    result = check(top)
    assert {one.path for one in result.findings} == {"bad.py"}
    assert result.notes == ("ruff reads only UTF-8, so these files are not judged: lat.py",)


def test_a_finding_in_a_file_whose_name_is_not_utf_8_stayed_without_a_reason(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "repo", {"a.py": "x = 1\n"})
    (top / os.fsdecode(b"caf\xe9.py")).write_text("import os\n")
    assert check(top).notes == ("ruff's fixes do not reach names that are not UTF-8: caf\ufffd.py",)


def test_progress_is_reported(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "repo", {"a.py": "x = 1\n"})
    events: list[Event] = []
    Ruff(locate([top], top), own(top), Config(), events.append).check(DirectView(top, tmp_path), Ask())
    assert [(event.kind, event.text) for event in events] == [("critic", "ruff")]


@pytest.mark.parametrize(
    ("settings", "select", "words"),
    [
        ("[tool.ruff]\nline-lenght = 3\n", (), ("pyproject.toml", "line-lenght")),
        ("[tool.ruff\n", (), ("pyproject.toml", "parse")),
        ("", ("ZZZ9",), ("ZZZ9",)),
        ('[tool.ruff]\nrequired-version = "<0.0.1"\n', (), ("version",)),
    ],
)
def test_a_run_without_verdict_is_an_error_with_ruffs_message(
    settings: str, select: tuple[str, ...], words: tuple[str, ...], tmp_path: Path
) -> None:
    top = make_repo(tmp_path / "repo", {"a.py": "import os\n", "pyproject.toml": settings})
    with pytest.raises(CriticError, match="ruff exited 2") as raised:
        check(top, Config(select=select))
    assert all(word in str(raised.value) for word in words)
    assert str(top) not in str(raised.value)
    assert "\n" not in str(raised.value)


def script(prefix: Path, text: str) -> Path:
    """A ruff of the project's own at `prefix`."""
    binary = prefix / "bin" / "ruff"
    binary.parent.mkdir(parents=True)
    binary.write_text(f"#!/bin/sh\n{text}\n")
    binary.chmod(0o755)
    return prefix


def test_the_projects_own_ruff_is_preferred(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "repo", {"a.py": "x = 1\n"})
    venv = script(tmp_path / "venv", "echo theirs >&2; exit 2")
    with pytest.raises(CriticError, match="theirs"):
        check(top, prefix=venv)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("exit 0", "no report"),
        ("kill -9 $$", "ruff exited -9"),
        ("sleep 5", "stopped after"),
        ('while [ "$1" != -o ]; do shift; done; echo \'[{"odd": 1}]\' > "$2"', "unknown structure"),
        ('while [ "$1" != -o ]; do shift; done; echo "[{" > "$2"', "no readable report"),
    ],
)
def test_ruff_without_a_report_never_counts_as_zero_findings(text: str, words: str, tmp_path: Path) -> None:
    top = make_repo(tmp_path / "repo", {"a.py": "x = 1\n"})
    with pytest.raises(CriticError, match=words):
        check(top, ask=Ask(timeout=1.0), prefix=script(tmp_path / "venv", text))


def test_more_findings_than_a_pipe_keeps(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "repo", {"a.py": "".join(f"import m{number}\n" for number in range(6_000))})
    assert len(check(top).findings) == 6_000


def test_a_link_to_the_repository_makes_no_difference(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "repo", {"a.py": "import os\n"})
    (tmp_path / "link").symlink_to(top)
    assert [finding.path for finding in check(tmp_path / "link").findings] == ["a.py"]
