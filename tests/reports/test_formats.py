"""Formats for other programs: applied, parsed back and validated by tools that are not ours."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from coderefine.core import Attempt, Case, Check, Evidence, Failure, Finding, Outcome, Patch, Span, Status, Stop
from coderefine.reports.formats import MODULES, RunReport, named
from tests.support.repo import git, make_repo

NODE = Path(os.environ.get("TEST_NODE_MODULES", "/nowhere"))
"""Where npm put the validators that only it has; .ci says so."""

MULTITOOL = "@microsoft/sarif-multitool-linux/Sarif.Multitool"
"""The program itself: npm's wrapper hands its arguments to a shell, which takes `Sarif;Ghas` for two commands."""

CHANGES = {
    "replaced": (b"a\nb\nc\n", b"a\nB\nc\n"),
    "inserted": (b"a\nc\n", b"a\nb\nc\n"),
    "inserted first": (b"b\n", b"a\nb\n"),
    "appended": (b"a\n", b"a\nb\n"),
    "deleted": (b"a\nb\nc\n", b"a\nc\n"),
    "deleted last": (b"a\nb\n", b"a\n"),
    "no final line end": (b"a\nb", b"a\nB"),
    "final line end added": (b"a\nb", b"a\nb\n"),
    "final line end gone": (b"a\nb\n", b"a\nb"),
    "appended without": (b"a\nb", b"a\nb\nc"),
    "deleted last without": (b"a\nb", b"a\n"),
    "emptied": (b"a\nb\n", b""),
    "filled": (b"", b"a\n"),
    "crlf": (b"a\r\nb\r\nc\r\n", b"a\r\nB\r\nc\r\n"),
    "umlauts": ("ä\nö = 1\nü\n".encode(), "ä\nö = 2\nü\n".encode()),
    "two pieces": (b"a\nb\nc\nd\ne\nf\ng\nh\n", b"A\nb\nc\nd\ne\nf\ng\nH\n"),
    "byte-order mark": (b"\xef\xbb\xbfa\nb\n", b"\xef\xbb\xbfa\nc\n"),
}


def report_on(before: bytes, after: bytes, path: str = "src/a b.py") -> RunReport:
    finding = Finding("ruff", "F401", path, "unused", Span(1, 1), "f")
    baseline = Attempt(0, Patch(), (Check("ruff", (finding,)),))
    best = Attempt(1, Patch({path: after}, "search", "src/a b.py:1 `a` → `b`"), (Check("ruff"),))
    return RunReport(Outcome(best, baseline, Stop.CLEAN, attempts=(baseline, best)), before={path: before})


def replaced(text: bytes, start: tuple[int, int], end: tuple[int, int], new: bytes) -> bytes:
    """`text` with the bytes between two positions (line, byte column; both from 1) replaced."""
    return text[: offset(text, *start)] + new + text[offset(text, *end) :]


def offset(text: bytes, line: int, column: int) -> int:
    lines = text.split(b"\n")
    assert line <= len(lines), "a position behind the end of the file"
    assert column - 1 <= len(lines[line - 1]), "a position behind the end of its line"
    return sum(len(one) + 1 for one in lines[: line - 1]) + column - 1


def test_the_readme_lists_each_format() -> None:
    text = (Path(__file__).parents[2] / "README.md").read_text("utf-8").partition("`--format` gives")[2]
    assert {*MODULES} <= {*re.findall(r"\w+", text.partition("\n\n")[0])}


@pytest.mark.parametrize("name", ["github", "rdjson", "sarif", "html", "markdown"])
def test_no_report_calls_a_plausible_patch_proved(name: str) -> None:
    sure = report_on(b"a\n", b"b\n")
    unsure = replace(sure, end=replace(sure.end, evidence=Evidence(doubts=("it removes behaviour",), ran=(1, 2))))
    assert "proved" in named(name).outcome(sure).lower()
    text = re.sub("<style>.*?</style>", "", named(name).outcome(unsure).lower(), flags=re.DOTALL)
    assert "proved" not in text
    assert "plausible" in text


@pytest.mark.parametrize("name", CHANGES)
def test_rdjson_suggestions_applied_give_the_patch(name: str) -> None:
    before, after = CHANGES[name]
    report = json.loads(named("rdjson").outcome(report_on(before, after)))
    text = before
    for diagnostic in reversed(report["diagnostics"]):
        (suggestion,) = diagnostic["suggestions"]
        start, end = (suggestion["range"][side] for side in ("start", "end"))
        assert diagnostic["location"]["range"] == suggestion["range"]
        places = [(place["line"], place["column"]) for place in (start, end)]
        text = replaced(text, places[0], places[1], suggestion["text"].encode())
    assert text == after


@pytest.mark.parametrize("name", CHANGES)
def test_sarif_fixes_applied_give_the_patch(name: str) -> None:
    before, after = CHANGES[name]
    (run,) = json.loads(named("sarif").outcome(report_on(before, after)))["runs"]
    (result,) = run["results"]
    (fix,) = result["fixes"]
    (change,) = fix["artifactChanges"]
    assert change["artifactLocation"]["uri"] == "src/a%20b.py"
    text = before.decode()
    for one in reversed(change["replacements"]):
        region, new = one["deletedRegion"], one["insertedContent"]["text"]
        first, last = (code_points(text, region[f"{side}Line"], region[f"{side}Column"]) for side in ("start", "end"))
        text = text[:first] + new + text[last:]
    assert text.encode() == after


def code_points(text: str, line: int, column: int) -> int:
    lines = text.split("\n")
    return sum(len(one) + 1 for one in lines[: line - 1]) + column - 1


@pytest.mark.parametrize("name", MODULES)
def test_paths_are_relative_to_the_repository(name: str, checks: tuple[Check, ...], outcome: Outcome) -> None:
    for text in (named(name).checks(checks), named(name).outcome(RunReport(outcome, before={"src/cart.py": b"x\n"}))):
        assert not re.search(r'(?:path|uri|file)"?[=:]\s*"?/', text)


def test_gitlab_fingerprints_are_unique_and_do_not_know_lines(checks: tuple[Check, ...]) -> None:
    issues = json.loads(named("gitlab").checks(checks))
    marks = [issue["fingerprint"] for issue in issues]
    assert len(issues) == 5
    assert len(set(marks)) == 5
    moved = Check("ruff", (Finding("ruff", "F401", "a.py", "x", Span(1, 1)),))
    again = Check("ruff", (Finding("ruff", "F401", "a.py", "other words", Span(9, 9)),))
    first, second = (json.loads(named("gitlab").checks([one]))[0]["fingerprint"] for one in (moved, again))
    assert first == second


@pytest.mark.thorough
def test_our_gitlab_report_equals_that_of_sarif_tools_from_our_sarif(checks: tuple[Check, ...], tmp_path: Path) -> None:
    pytest.importorskip("sarif")
    (tmp_path / "a.sarif").write_text(named("sarif").checks(checks))
    subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "sarif", "codeclimate", "-o", "out.json", "a.sarif"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    theirs = json.loads((tmp_path / "out.json").read_text())
    ours = json.loads(named("gitlab").checks(checks))

    def places(issues: list[dict[str, object]]) -> list[str]:
        return sorted({json.dumps([one["location"]["path"], one["location"]["lines"]["begin"]]) for one in issues})  # type: ignore[index]

    assert places(theirs) == places(ours)
    assert {key for issue in theirs for key in issue} <= {key for issue in ours for key in issue}


def test_junit_is_read_back_by_junitparser(checks: tuple[Check, ...]) -> None:
    junitparser = pytest.importorskip("junitparser")
    bell = Case("t.py::bell", Status.FAILED, failure=Failure("a \x07 \ud800 bell", assertion="\x1b[31mred"))
    parsed = junitparser.JUnitXml.fromstring(
        named("junit").checks((*checks, Check("x", cases={bell.id: bell}))).encode()
    )
    counts = {suite.name: (suite.tests, suite.failures) for suite in parsed}
    assert counts["pytest"] == (47, 6)  # the three findings of the fixture belong to no case by id
    assert counts["ruff"] == (2, 2)
    assert counts["radon"] == (1, 0)
    assert counts["x"] == (1, 1)
    recount = junitparser.JUnitXml.fromstring(named("junit").checks(checks).encode())
    recount.update_statistics()
    assert recount.tests == sum(suite.tests for suite in recount)


def test_skipped_tests_and_errors_are_marked() -> None:
    cases = {name: Case(name, status) for name, status in (("a::x", Status.SKIPPED), ("a::y", Status.ERROR))}
    root = ElementTree.fromstring(named("junit").checks([Check("pytest", cases=cases)]).split("\n", 1)[1])
    suite = root[0]
    assert (suite.get("skipped"), suite.get("errors"), suite.get("failures")) == ("1", "1", "0")


COMMAND = re.compile(r"^::(\w+) ([^:]*)::(.*)$")


def unescaped(text: str) -> str:
    for code, sign in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
        text = text.replace(code, sign)
    return text


def test_workflow_commands_survive_odd_words() -> None:
    finding = Finding("x", "a:b,c", "odd, 100%:name.py", "50% ::error:: done\r", Span(3, 5))
    (line,) = named("github").checks([Check("x", (finding,))]).splitlines()
    found = COMMAND.match(line)
    assert found
    level, properties, message = found.groups()
    pairs = dict(pair.split("=", 1) for pair in properties.split(","))
    assert level == "warning"
    assert {key: unescaped(value) for key, value in pairs.items()} == {
        "file": "odd, 100%:name.py",
        "line": "3",
        "endLine": "5",
        "title": "x/a:b,c",
    }
    assert unescaped(message) == "50% ::error:: done"


def test_patch_is_taken_by_git(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "r", {"a.py": b"x = 1\n\xff\n"})
    (top / "a.py").write_bytes(b"x = 2\n\xff\n")
    diff = subprocess.run(["git", "diff"], cwd=top, capture_output=True, check=True).stdout
    git(top, "checkout", "-q", "a.py")
    end = report_on(b"", b"").end
    text = named("patch").outcome(RunReport(end, diff=diff)).encode("utf-8", "surrogateescape")
    (tmp_path / "p").write_bytes(text)
    git(top, "apply", str(tmp_path / "p"))
    assert (top / "a.py").read_bytes() == b"x = 2\n\xff\n"


@pytest.mark.skipif(not (NODE / MULTITOOL).exists(), reason="npm's sarif-multitool is not here")
@pytest.mark.parametrize("kind", ["checks", "outcome"])
def test_the_multitool_of_sarifs_authors_has_no_objection(
    kind: str, checks: tuple[Check, ...], outcome: Outcome, tmp_path: Path
) -> None:
    """It exits 0 on errors, so its own report is read."""
    text = (
        named("sarif").checks(checks) if kind == "checks" else named("sarif").outcome(report_on(b"a\nb\n", b"a\nB\n"))
    )
    (tmp_path / "a.sarif").write_text(text)
    tool = NODE / MULTITOOL
    subprocess.run(
        [
            tool,
            "validate",
            "a.sarif",
            "--rule-kind",
            "Sarif;Ghas",
            "--output",
            "said.sarif",
            "--level",
            "Error;Warning",
        ],
        cwd=tmp_path,
        check=False,
        capture_output=True,
        env={**os.environ, "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"},
    )
    ended = json.loads((tmp_path / "said.sarif").read_text("utf-8-sig"))["runs"][0]["results"]
    assert [one["message"] for one in ended if one.get("level", "warning") == "error"] == []


@pytest.mark.parametrize("name", ["github", "markdown"])
def test_a_log_could_be_commanded_by_a_name(name: str) -> None:
    finding = Finding("ruff", "R", "a\x1b]0;pwn\x07.py", "m\x1b[31m")
    assert not re.search("[\x00-\x08\x0b-\x1f]", named(name).checks([Check("ruff", (finding,))]))
