"""Any program as a gate: mypy, shell scripts, JSON and SARIF."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from coderefine.config import GATES as CONFIGURABLE
from coderefine.config import Command, Config, load, typed
from coderefine.core import Ask, Check, Severity, Span
from coderefine.critics import GATES, build
from coderefine.critics.command import CommandGate
from coderefine.errors import ConfigError, CriticError
from coderefine.project import Interpreter, locate
from coderefine.tasks.built_in import MYPY as MYPY_OF_THE_TASK
from tests.support.repo import make_repo
from tests.support.view import DirectView

OURS = Interpreter(Path(sys.executable), "3.11.0", "test", None, Path(sys.prefix))
MYPY = r"^(?P<path>[^:\n]+):(?P<line>\d+): error: (?P<message>.*?)(?:  \[(?P<rule>[\w-]+)\])?$"


def check(top: Path, command: Command, ask: Ask | None = None, where: Path | None = None) -> Check:
    gate = CommandGate(locate([where or top], top), OURS, Config(), lambda _event: None, command)
    return gate.check(DirectView(top), ask or Ask())


def says(text: str, code: int = 1, **more: object) -> Command:
    """A command that prints `text` and exits with `code`."""
    script = f"cat <<'END'\n{text}\nEND\nexit {code}"
    return Command("tool", ("sh", "-c", script), **more)  # type: ignore[arg-type]


@pytest.mark.thorough
def test_mypy_is_a_gate(tmp_path: Path) -> None:
    code = "class A:\n    def f(self) -> int:\n        return 'x'\n"
    top = make_repo(tmp_path / "repo", {"pkg/a.py": code, "b.py": "x: int = 1\n"})
    command = Command("mypy", ("mypy", "--no-error-summary", "--no-incremental", "."), regex=MYPY)
    (finding,) = check(top, command).findings
    assert finding.identity == ("mypy", "pkg/a.py", "return-value", "A.f")
    assert (finding.span, finding.evidence) == (Span(3, 3), "return 'x'")
    assert "Incompatible return value" in finding.message


def test_a_script_of_the_project(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "repo", {"check.sh": "echo './a.txt:3: too long'\nexit 7\n", "a.txt": "1\n2\n3\n"})
    (finding,) = check(top, Command("lines", ("sh", "check.sh"), findings_exit=(7,))).findings
    assert (finding.where, finding.rule, finding.message, finding.evidence) == ("a.txt:3", "lines", "too long", "3")


def test_exit_zero_is_clean_even_with_output(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "repo", {"a.py": "x = 1\n"})
    assert check(top, says("all well", 0)).clean
    assert [finding.message for finding in check(top, says("a.py:1: hm", 0)).findings] == ["hm"]


def severities(found: Check) -> list[tuple[str, str]]:
    return [(one.message, one.severity.value) for one in found.findings]


def test_a_note_of_mypy_is_no_reason_to_fail(tmp_path: Path) -> None:
    """`reveal_type`: mypy succeeds, and the gate of the README failed."""
    top = make_repo(tmp_path / "repo", {"a.py": "x = 1\n"})
    text = 'a.py:1: note: Revealed type is "int"\na.py:1:5:1:9: note: See docs\na.py:1: TODO: more'
    found = check(top, says(text, 0))
    assert severities(found)[:2] == [('note: Revealed type is "int"', "soft"), ("note: See docs", "soft")]
    assert severities(found)[2:] == [("TODO: more", "hard")]
    assert check(top, says(text.rpartition("\n")[0], 0)).clean


def test_the_severity_of_a_regex_of_ones_own(tmp_path: Path) -> None:
    regex = r"^(?P<severity>\w+) (?P<path>[^:]+): (?P<message>.*)$"
    top = make_repo(tmp_path / "repo", {"a.py": "x = 1\n"})
    assert severities(check(top, says("INFO a.py: m\nE a.py: n", regex=regex))) == [("m", "soft"), ("n", "hard")]


def test_a_program_that_fails_with_findings_elsewhere_only_is_no_success(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "repo", {"a.py": "x = 1\n"})
    with pytest.raises(CriticError, match=r"reports only files outside this repository: /usr/lib/x\.py: broken"):
        check(top, says("/usr/lib/x.py:1: broken"))
    assert check(top, says("/usr/lib/x.py:1: broken", 0)).clean


@pytest.mark.parametrize("place", ["a.py:1:", "a.py:1:5:", "a.py:1:5:1:", "a.py:1:5:1:9:"])
def test_the_ends_of_a_finding_may_be_printed(tmp_path: Path, place: str) -> None:
    top = make_repo(tmp_path / "repo", {"a.py": "x = 1\n"})
    (finding,) = check(top, says(f"{place} error: bad")).findings
    assert (finding.where, finding.message) == ("a.py:1", "error: bad")
    task = typed({"commands": [MYPY_OF_THE_TASK]}, "task")["commands"][0]
    (finding,) = check(
        top, says(f"{place} error: bad  [syntax]", 2, regex=task.regex, findings_exit=task.findings_exit)
    ).findings
    assert (finding.where, finding.message, finding.rule) == ("a.py:1", "bad", "syntax")


PYRIGHT = {
    "generalDiagnostics": [
        {
            "file": "/TOP/a.py",
            "severity": "error",
            "message": "bad",
            "rule": "reportX",
            "range": {"start": {"line": 1, "character": 0}},
        },
        {"file": "/TOP/a.py", "severity": "information", "message": "fyi", "range": {"start": {"line": 0}}},
    ]
}
BANDIT = {
    "errors": [],
    "results": [
        {"filename": "./a.py", "line_number": 2, "issue_text": "bad", "test_id": "B101", "issue_severity": "LOW"}
    ],
}
ESLINT = [{"filePath": "x", "file": "a.py", "messages": [{"line": 2, "message": "bad", "ruleId": "R1"}]}]
RUFF = [{"filename": "/TOP/a.py", "location": {"row": 2, "column": 1}, "code": "F1", "message": "bad"}]


@pytest.mark.parametrize(("report", "rule"), [(PYRIGHT, "reportX"), (BANDIT, "B101"), (ESLINT, "R1"), (RUFF, "F1")])
def test_json_of_the_usual_shapes(report: object, rule: str, tmp_path: Path) -> None:
    top = make_repo(tmp_path / "repo", {"a.py": "x = 1\ny = 2\n"})
    ended = check(top, says(json.dumps(report).replace("/TOP", str(top)), format="json"))
    hard = [finding for finding in ended.findings if finding.severity is Severity.HARD]
    assert [(f.where, f.rule, f.message, f.evidence) for f in hard] == [("a.py:2", rule, "bad", "y = 2")]


def test_sarif(tmp_path: Path) -> None:
    def result(**more: object) -> dict[str, object]:
        region = {"startLine": 1, "endLine": 2}
        place = {"artifactLocation": {"uri": "a%20b.py"}, "region": region}
        return {"ruleId": "R", "message": {"text": "m"}, "locations": [{"physicalLocation": place}], **more}

    results = [
        result(),
        result(level="note"),
        result(suppressions=[{"kind": "inSource"}]),
        {"message": {}, "locations": []},
    ]
    top = make_repo(tmp_path / "repo", {"a b.py": "x = 1\n"})
    ended = check(top, says(json.dumps({"version": "2.1.0", "runs": [{"results": results}]}), format="sarif"))
    assert [(f.path, f.span, f.severity.value) for f in ended.findings] == [
        ("a b.py", Span(1, 2), "hard"),
        ("a b.py", Span(1, 2), "soft"),
    ]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (says("boom", 3), "tool exited 3: boom .*findings-exit"),
        (says("nothing readable", 1), "none of its output could be read as a finding.*nothing readable"),
        (says("no json", 1, format="json"), "tool printed no JSON"),
        (says("[]", 1, format="json"), "could be read as a finding"),
        (says('{"runs": [{"results": [{"locations": [{}]}]}]}', 1, format="sarif"), "no SARIF 2.1.0"),
        (Command("tool", ("sleep", "9"), timeout=0.5), "tool did not end within 0.5 s"),
        (Command("tool", ("/nowhere/tool",)), "tool"),
        (Command("tool", ("sh", "-c", "kill -9 $$")), "tool exited -9"),
    ],
)
def test_a_tool_without_readable_output_never_counts_as_zero_findings(
    command: Command, words: str, tmp_path: Path
) -> None:
    with pytest.raises(CriticError, match=words):
        check(make_repo(tmp_path / "repo", {"a.py": "x = 1\n"}), command)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (Command("tool", ()), "run is empty"),
        (Command("tool", ("x",), regex="("), "regex is broken"),
        (Command("tool", ("x",), regex="(?P<line>1)"), "no group named message or path"),
        (Command("tool", ("x",), format="xml"), "lines, json or sarif"),
    ],
)
def test_impossible_commands_are_refused_before_they_run(command: Command, words: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=words):
        check(make_repo(tmp_path / "repo", {}), command)


def test_scope_colours_and_foreign_paths(tmp_path: Path) -> None:
    text = "\x1b[31mpkg/a.py:1: in\x1b[0m\nb.py:1: out\n/usr/lib/x.py:1: foreign\n../y.py:1: above"
    top = make_repo(tmp_path / "repo", {"pkg/a.py": "x = 1\n", "b.py": "x = 1\n"})
    ended = check(top, says(text), Ask(("pkg",), changed=frozenset({"pkg/a.py"})))
    assert [(f.path, f.message, f.severity.value) for f in ended.findings] == [
        ("b.py", "out", "soft"),
        ("pkg/a.py", "in", "hard"),
    ]
    assert ended.complete


def test_it_runs_in_the_projects_root(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "repo", {"lib/pyproject.toml": "", "lib/a.py": "x = 1\n"})
    assert [f.path for f in check(top, says("a.py:1: here"), where=top / "lib").findings] == ["lib/a.py"]


def test_each_built_in_gate_is_a_name_that_a_configuration_may_have() -> None:
    assert tuple(GATES) == CONFIGURABLE


def test_the_registry_builds_the_configured_gates(tmp_path: Path) -> None:
    text = '[[tool.coderefine.commands]]\nname = "mypy"\nrun = ["mypy"]\n'
    top = make_repo(tmp_path / "repo", {"pyproject.toml": text})
    config = load(top, {})
    assert load(top, {}, {"gates": ("ruff",)}).gates == ("ruff",)
    built = build(locate([top], top), OURS, config, lambda _event: None)
    assert [critic.name for critic in built] == [*GATES, "mypy"]
    assert all(critic.gate for critic in built)


def test_importing_the_registry_imports_no_tool() -> None:
    import subprocess

    code = "import sys, coderefine.critics; sys.exit(bool({'radon', 'pytest', 'ruff', 'rich'} & set(sys.modules)))"
    assert subprocess.run((sys.executable, "-c", code), check=False, timeout=60).returncode == 0
