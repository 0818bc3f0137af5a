"""Progress while a run goes on."""

from __future__ import annotations

import io
import subprocess
import sys
import time
from threading import Thread

import pytest
from rich.console import Console

from coderefine.core import Cost, Event
from coderefine.reports.progress import Live, Plain, ProgressState, choose

STORY = (
    Event("stage", "checks"),
    Event("critic", "pytest"),
    Event("tests", done=3, total=44),
    Event("tests", done=44, total=44),
    Event("verdict", "baseline"),
    Event("attempt", "search: `>` → `>=`", 1, 6),
    Event("request", "gpt, 812 tokens"),
    Event("spent", cost=Cost(1, 3000, 411, 0.0021)),
    Event("note", "[bold] price"),
    Event("verdict", "", 1),
)


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_log_gets_plain_lines() -> None:
    stream = io.StringIO()
    with choose(stream, {}, quiet=False) as listen:
        for event in STORY:
            listen(event)
    assert stream.getvalue().splitlines() == [
        "stage: checks",
        "stage: pytest",
        "  verdict: baseline",
        "attempt 1: search: `>` → `>=`",
        "request: gpt, 812 tokens",
        "note: [bold] price",
        "  verdict: accepted",
    ]


def test_a_name_could_command_the_terminal_that_shows_the_progress() -> None:
    stream = io.StringIO()
    with choose(stream, {}, quiet=False) as listen:
        listen(Event("note", "a\x1b]0;pwn\x07.py is skipped"))
    assert stream.getvalue() == "note: a\\x1b]0;pwn\\x07.py is skipped\n"


def test_a_log_names_each_stage_once() -> None:
    stream = io.StringIO()
    with choose(stream, {}, quiet=False) as listen:
        for text in ("pytest", "ruff", "pytest", "ruff", "proof"):
            listen(Event("stage", text))
    assert stream.getvalue().split() == ["stage:", "pytest", "stage:", "ruff", "stage:", "proof"]


@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_a_terminal_without_colour_gets_plain_lines(environ: dict[str, str]) -> None:
    stream = Tty()
    with choose(stream, environ, quiet=False) as listen:
        listen(STORY[0])
    assert stream.getvalue() == "stage: checks\n"


def test_quiet_prints_nothing() -> None:
    stream = Tty()
    with choose(stream, {}, quiet=True) as listen:
        for event in STORY:
            listen(event)
    assert stream.getvalue() == ""


def test_a_terminal_gets_one_line_that_goes_away_and_notes_that_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    monkeypatch.setenv("TERM", "xterm")
    stream = Tty()
    with choose(stream, {}, quiet=False) as listen:
        threads = [Thread(target=listen, args=(event,)) for event in STORY]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert "[bold] price" in stream.getvalue()
    assert stream.getvalue().endswith("\x1b[?25h\r\x1b[1A\x1b[2K") or "\x1b[?25h" in stream.getvalue()


def test_the_scene_after_each_event() -> None:
    scene = ProgressState()
    lines = []
    for event in STORY:
        scene = scene.after(event)
        lines.append(scene.line)
    assert lines == [
        "checks",
        "checks · pytest",
        "checks · tests 3/44",
        "checks · tests 44/44",
        "choosing the next step",
        "attempt 1: search: `>` → `>=`",
        "waiting for the model · attempt 1: search: `>` → `>=` · gpt, 812 tokens",
        "waiting for the model · attempt 1: search: `>` → `>=` · gpt, 812 tokens · 3,411 tokens · $0.0021",
        "waiting for the model · attempt 1: search: `>` → `>=` · gpt, 812 tokens · 3,411 tokens · $0.0021",
        "choosing the next step · 3,411 tokens · $0.0021",
    ]


def test_a_log_names_the_stage_while_no_event_comes() -> None:
    stream = io.StringIO()
    plain = Plain(stream, silent=0.2)
    with plain.beating():
        plain.listen(Event("stage", "search"))
        plain.listen(Event("search", "12 candidates, 1 plausible", 12))
        time.sleep(1.0)
    lines = stream.getvalue().splitlines()
    assert lines[0] == "stage: search"
    assert 2 <= len(lines) <= 6
    assert all(line.endswith(" s: search · 12 candidates, 1 plausible") for line in lines[1:])


def test_a_stage_does_not_show_the_attempt_before_it() -> None:
    scene = ProgressState()
    for event in (Event("attempt", "a", 1), Event("verdict", "no", 1), Event("stage", "search")):
        scene = scene.after(event)
    assert scene.line == "search"


def test_a_slow_model_was_waited_for_under_the_name_of_the_stage_before() -> None:
    scene = ProgressState()
    for event in (Event("stage", "running the failing tests again (2)"), Event("tests", done=2, total=2)):
        scene = scene.after(event)
    asked = scene.after(Event("request", "edit · gpt"))
    assert asked.line == "waiting for the model · edit · gpt"
    assert asked.after(Event("critic", "radon")).line == "running the failing tests again (2) · radon"
    assert asked.after(Event("stage", "proof")).line == "proof"


def test_the_number_of_tests_is_not_that_of_the_last_attempt() -> None:
    scene = ProgressState()
    story = (Event("attempt", "a", 1), Event("stage", "proof"), Event("tests", done=44, total=44), Event("verdict"))
    for event in story:
        scene = scene.after(event)
    assert scene.line == "choosing the next step"
    assert scene.after(Event("attempt", "b", 2)).line == "attempt 2: b"


@pytest.mark.parametrize(("most", "words"), [(None, "12 s"), (600.0, "12 s of at most 600 s")])
def test_a_line_contains_the_time_limit(most: float | None, words: str) -> None:
    assert (
        ProgressState().after(Event("stage", "checks", most=most)).after(Event("tests", done=1, total=2)).time(12.3)
        == words
    )


def test_a_terminal_sees_the_seconds_however_long_the_line_is() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=50)
    with console.status("starting") as status:
        live = Live(console, status)
        live.listen(Event("stage", "a stage with a name that is longer than the line " * 2, most=30.0))
        line = live.__rich__().plain
    assert "…" in line
    assert line.endswith(" · 0 s of at most 30 s")
    assert len(line) <= 50


def test_a_closed_stream_ends_nothing() -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    with choose(Gone(), {}, quiet=False) as listen:
        listen(STORY[0])


def test_a_log_and_a_json_report_never_load_rich() -> None:
    code = (
        "import io, sys\n"
        "from coderefine.core import Check, Event\n"
        "from coderefine.reports import json, progress, terminal\n"
        "with progress.choose(io.StringIO(), {}, quiet=False) as listen: listen(Event('stage', 'x'))\n"
        "terminal.checks([Check('ruff')]); json.checks([Check('ruff')])\n"
        "sys.exit('rich' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
