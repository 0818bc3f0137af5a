"""The words of a report, and its colours."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest

from coderefine.core import Check, Cost, Evidence, Finding, Outcome, Severity, Span, Stop
from coderefine.reports import terminal
from coderefine.reports.rows import bar, cost, ending, headline

ANSI = re.compile(r"\x1b\[[0-9;]*m")


def test_a_run_reads_like_a_story(outcome: Outcome) -> None:
    lines = terminal.outcome(outcome, ["src/cart.py +1 −2, undo: coderefine undo"], width=100).splitlines()
    assert [re.sub(" {2,}", "  ", line) for line in lines] == [
        "checks  pytest 3 failed, 41 passed · ruff 2 (+1 allowed) · radon 0  1.2 s",
        "autofix  src/cart.py:1 F401 remove unused import: `os`  proved  0.4 s",
        "search  src/cart.py:41 `>` → `>=`  proved  1.9 s",
        "refused  1 attempt: protected",
        "left  src/cart.py:12 B006 mutable default",
        "tests  ██████████████████████░░ 41/44 → ████████████████████████ 44/44 passed",
        "evidence  3 tests flipped, 41 kept, 0 lost · patched lines covered 2/2 · strength 7/8 · overlay",
        "also  `<` → `<=` (passes too: plausible, not proven unique)",
        "spent  2 requests · 3,411 tokens · $0.0021  4.0 s",
        "wrote  src/cart.py +1 −2, undo: coderefine undo",
        "1 finding remains (no-progress: no further proposal)",
    ]
    assert {len(line) for line in lines if line.endswith(" s")} == {100}


def test_a_check_lists_findings_with_evidence_and_sums_up(checks: tuple[Check, ...]) -> None:
    lines = terminal.checks(checks).splitlines()
    assert lines[:4] == [
        "tests/test_cart.py:7 test_total[a] failed: assert 3 == 4",
        "    assert total([1, 2]) == 4",
        "    src/cart.py:41 in total: return sum(x)",
        "        x = [1, 2]",
    ]
    assert "src/cart.py:12 B006 mutable default" in lines
    assert not any("lib/x.py" in line for line in lines)
    assert lines[-1].startswith("checks    pytest 3 failed, 41 passed · ruff 2 (+1 allowed) · radon 0")


def test_colour_changes_no_text(outcome: Outcome, checks: tuple[Check, ...]) -> None:
    for plain, coloured in (
        (terminal.outcome(outcome), terminal.outcome(outcome, coloured=True)),
        (terminal.checks(checks), terminal.checks(checks, coloured=True)),
    ):
        assert "\x1b[" in coloured
        assert "\x1b" not in plain
        assert ANSI.sub("", coloured) == plain


def test_a_diff_is_coloured_and_else_left_byte_for_byte(outcome: Outcome) -> None:
    diff = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b [/red] \udcff\n"
    assert terminal.outcome(outcome, diff=diff).startswith(diff)
    coloured = terminal.outcome(outcome, diff=diff, coloured=True)
    assert "+b [/red] ?" in ANSI.sub("", coloured)
    assert re.search(r"\x1b\[[0-9;]*m-a\x1b\[0m", coloured)


def test_square_brackets_are_no_markup() -> None:
    finding = Finding("ruff", "E1", "a.py", "list [bold]x[/bold] [/]", Span(1, 1))
    assert "list [bold]x[/bold] [/]" in ANSI.sub("", terminal.checks([Check("ruff", (finding,))], coloured=True))


@pytest.mark.parametrize("coloured", [False, True])
def test_names_and_evidence_could_command_the_terminal(*, coloured: bool) -> None:
    finding = Finding("x", "R", "a\nb\x1b]0;pwn\x07\x9b.py", "m\x1b[31m", evidence="+ \x1b]0;pwned\x07\u202e")
    text = ANSI.sub("", terminal.checks([Check("x", (finding,), notes=("\x1b[2J",))], coloured=coloured))
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", text)
    assert text.startswith("a\\nb\\x1b]0;pwn\\x07\\x9b.py R m\\x1b[31m\n    + \\x1b]0;pwned\\x07\\u202e\n")


def test_long_evidence_keeps_head_and_tail() -> None:
    finding = Finding("x", "R", "a.py", "m", evidence="\n".join(f"line {n}" for n in range(100)))
    lines = terminal.checks([Check("x", (finding,))]).splitlines()
    assert lines[1] == "    line 0"
    assert lines[6] == "    … 93 lines …"
    assert lines[8] == "    line 99"
    assert len(lines) == 10


def test_many_findings_are_counted() -> None:
    findings = tuple(Finding("x", "R", f"{n}.py", "m") for n in range(60))
    assert "… and 10 more from x" in terminal.checks([Check("x", findings)])


@pytest.mark.parametrize(
    ("stop", "why", "remaining", "words"),
    [
        (Stop.CLEAN, "", 0, "all checks pass"),
        (Stop.BUDGET, "seconds: 600 s used", 2, "2 findings remain (budget: seconds: 600 s used)"),
        (Stop.UNFIXABLE, "", 1, "1 finding remains (unfixable)"),
        (Stop.INTERRUPTED, "interrupted", 0, "stopped: interrupted"),
    ],
)
def test_the_last_line_is_the_end_of_the_run(
    stop: Stop, why: str, remaining: int, words: str, outcome: Outcome
) -> None:
    finding = Finding("ruff", "E1", "a.py", "m")
    assert ending(replace(outcome, stop=stop, why=why, remaining=(finding,) * remaining)) == words


def test_soft_findings_do_not_remain(outcome: Outcome) -> None:
    soft = Finding("ruff", "E1", "a.py", "m", severity=Severity.SOFT)
    assert ending(replace(outcome, stop=Stop.CLEAN, remaining=(soft,))) == "all checks pass"


def test_an_outcome_without_a_patch_shows_no_evidence(outcome: Outcome) -> None:
    text = terminal.outcome(replace(outcome, best=outcome.baseline, evidence=Evidence()))
    assert "evidence" not in text
    assert "not proved" in text
    assert not re.search(r"(?<!not )proved", text)


@pytest.mark.parametrize(("done", "total", "full"), [(0, 9, 0), (1, 999, 1), (998, 999, 23), (9, 9, 24)])
def test_a_bar_is_full_only_when_all_is_done(done: int, total: int, full: int) -> None:
    assert bar(done, total) == "█" * full + "░" * (24 - full)


def test_an_unknown_price_is_reported_as_unknown() -> None:
    assert cost(Cost(1, 10, 2, None)) == "1 request · 12 tokens · price unknown"


def test_a_message_of_many_lines_is_one_headline() -> None:
    assert headline(Finding("x", "R", "a.py", "one\ntwo", Span(3, 9))) == "a.py:3 R one"
    assert headline(Finding("x", "R", "a.py", "")) == "a.py R "


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "environ", "wanted"),
    [
        (Tty(), {}, True),
        (io.StringIO(), {}, False),
        (Tty(), {"NO_COLOR": "1"}, False),
        (Tty(), {"NO_COLOR": ""}, True),
        (Tty(), {"TERM": "dumb"}, False),
    ],
)
def test_colour_is_for_terminals_that_want_it(stream: io.StringIO, environ: dict[str, str], wanted: bool) -> None:
    assert terminal.colour(stream, environ) is wanted


def test_the_width_is_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    assert terminal.columns({"COLUMNS": "80"}) == 80
    assert terminal.columns({"COLUMNS": "400"}) == 120
    assert 1 <= terminal.columns({"COLUMNS": "no"}) <= 120


def test_flaky_tests_are_named_and_spoil_the_claim_that_all_checks_pass(outcome: Outcome) -> None:
    proof = replace(outcome.evidence, flaky=("tests/test_cart.py::test_luck",))
    end = replace(outcome, best=outcome.baseline, stop=Stop.CLEAN, remaining=(), evidence=proof)
    text = terminal.outcome(end)
    assert "tests/test_cart.py::test_luck: another outcome or name in another run" in text
    assert text.splitlines()[-1] == "all checks pass, but for 1 flaky test"


def test_a_report_of_fix_contains_the_critics_notes(outcome: Outcome) -> None:
    noted = Check("pytest", notes=("left out of addopts: --cov",))
    best = replace(outcome.best, checks=(*outcome.best.checks, noted))
    assert "note      pytest: left out of addopts: --cov" in terminal.outcome(replace(outcome, best=best)).splitlines()
