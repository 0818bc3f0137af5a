"""One run of `fix`, killed at a chosen instant, looked at, mended and resumed.

The instant is a fraction of an undisturbed run's time, or a stage of publishing: there the kill is sent the moment
the marker file `pending` appears, plus a few milliseconds, since that window is too short to be hit by chance.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.command import ORDER, RIGHT, TESTS, WRONG, coderefine, descendants, start
from tests.support.llm_server import LlmServer, Seen
from tests.support.publishing import state
from tests.support.repo import git, make_repo

FILES = {"order.py": f"import os\n\n{ORDER}", "test_order.py": TESTS, "notes.txt": "one\n", "kept.txt": "kept\n"}
"""ruff mends the import, the model the comparison: two files' worth of stages in one run."""

DELIVERIES = ((), ("--commit",), ("--branch", "repair"))
HOOKS = {
    "pre-commit": "sleep 0.2; echo '# formatted' >> order.py; sleep 0.2; git add order.py; sleep 0.2",
    "commit-msg": 'sleep 0.2; grep -v \'^Coderefine\' "$1" > "$1.new"; mv "$1.new" "$1"',
    "post-commit": "sleep 0.2",
}
"""Slow hooks that format the patched file, stage that, and drop our trailers from the message."""
HOOKS_TAKE = 1.2
"""Seconds, with what git does between them."""
GRACE = 10.0
"""Seconds after which no process of a killed run may be alive; git takes longer on a busy machine."""


@dataclass(frozen=True, slots=True)
class Kill:
    """`after`: seconds from the start, or from the marker of publishing when `publishing`. `hooks`: see HOOKS."""

    after: float
    publishing: bool = False
    delivery: tuple[str, ...] = ()
    hooks: bool = False


@dataclass(slots=True)
class Fate:
    """What a kill left. `stage` is where it hit; `faults` what must not be."""

    kill: Kill
    stage: str = ""
    identical: bool = False
    written: bool = False
    resumed: bool = False
    repeated: int = 0
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.kill} {self.stage}: {'; '.join(self.faults) or 'ok'}"


class Model:
    """Wrong, then right, whatever was said before: the reply depends on the request alone. Counts the answers."""

    def __init__(self) -> None:
        self.answered: Counter[str] = Counter()

    def __call__(self, seen: Seen) -> str:
        self.answered[json.dumps(seen.body, sort_keys=True)] += 1
        return RIGHT if "101" in seen.prompt else WRONG


def prepare(folder: Path, *, hooks: bool = False) -> Path:
    """The project with staged, dirty and stashed work of the user's, none of it in the way of the repair."""
    top = make_repo(folder, FILES)
    (top / "notes.txt").write_text("stashed\n")
    git(top, "stash", "-q")
    (top / "notes.txt").write_text("staged\n")
    git(top, "add", "notes.txt")
    (top / "notes.txt").write_text("dirty\n")
    (top / "new.txt").write_text("untracked\n")
    for name, body in HOOKS.items() if hooks else ():
        hook = top / ".git/hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\n{body}\n")
        hook.chmod(0o755)
    return top


def argv(url: str, delivery: tuple[str, ...]) -> tuple[str, ...]:
    return ("fix", "--no-search", "--model", "m", "--base-url", url, "--max-iterations", "4", *delivery)


def undisturbed(folder: Path, delivery: tuple[str, ...] = (), *, hooks: bool = False) -> tuple[float, dict[str, str]]:
    """Seconds of a run nobody kills, and the state it ends in."""
    top = prepare(folder, hooks=hooks)
    with LlmServer(Model()) as server:
        began = time.monotonic()
        said = coderefine(*argv(server.url, delivery), cwd=top)
    assert said.code == 0, said
    return time.monotonic() - began, state(top)


def killed(folder: Path, kill: Kill) -> Fate:
    """Run, kill, look, resume."""
    top, fate, model = prepare(folder, hooks=kill.hooks), Fate(kill), Model()
    before = state(top)
    mark = f"kill-{os.getpid()}-{time.monotonic_ns()}"
    with LlmServer(model) as server:
        process = start(*argv(server.url, kill.delivery), cwd=top, env={"KILL_MARK": mark})
        _strike(process, kill, top)
        fate.stage = _stage(top, process.returncode)
        _processes(fate, mark)
        answers = _journalled(top)
        told = Counter(model.answered)
        coderefine("log", cwd=top)
        _compare(fate, before, top)
        _go_on(fate, top, server.url)
    fate.repeated = _repeats(model, told, answers)
    if fate.repeated:
        fate.faults.append(f"{fate.repeated} requests were paid for twice")
    shutil.rmtree(folder, ignore_errors=True)
    return fate


def _strike(process: subprocess.Popen[str], kill: Kill, top: Path) -> None:
    if kill.publishing:
        marker = top / ".git/coderefine/pending"
        while process.poll() is None and not marker.exists():
            time.sleep(0.0005)
    time.sleep(kill.after)
    process.send_signal(signal.SIGKILL)
    process.communicate()


def _stage(top: Path, code: int) -> str:
    """How far it had come, told from what it left on the disk."""
    if code != -signal.SIGKILL:
        return "ended before"
    if (top / ".git/coderefine/pending").exists():
        return "publishing"
    journals = list((top / ".git/coderefine/runs").glob("*/journal.jsonl"))
    if not journals:
        return "before the baseline"
    text = journals[0].read_text()
    if '"published"' in text:
        return "after publishing"
    if '"outcome"' in text:
        return "between proof and publishing"
    return f"attempt {text.count(chr(34) + 'attempt' + chr(34))}"


def _processes(fate: Fate, mark: str) -> None:
    """The holder's namespaces die with it; git, started outside, may still end what it began."""
    until = time.monotonic() + GRACE
    while (left := descendants(mark)) and time.monotonic() < until:
        time.sleep(0.02)
    if left:
        fate.faults.append(f"still alive: {left}")


def _journalled(top: Path) -> int:
    return len(list((top / ".git/coderefine/runs").glob("*/answers/*.json")))


def _compare(fate: Fate, before: dict[str, str], top: Path) -> None:
    """After the next command has mended: all as before, or all written."""
    after = state(top)
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    fate.identical = not changed
    fate.written = _written(changed, fate.kill.delivery, top)
    if not (fate.identical or fate.written):
        fate.faults.append(f"half written: {sorted(changed)}")


def _written(changed: set[str], delivery: tuple[str, ...], top: Path) -> bool:
    """Whether exactly what this delivery writes is changed, and right."""
    if delivery[:1] == ("--branch",):
        return changed == {"refs"} and _right(git(top, "show", "repair:order.py"))
    whole = {"order.py"} if not delivery else {"order.py", "index", "refs"}
    committed = not delivery or _right(git(top, "show", "HEAD:order.py"))
    return changed == whole and committed and _right((top / "order.py").read_text())


def _right(text: str) -> bool:
    return ">= 100" in text and "import os" not in text


def _go_on(fate: Fate, top: Path, url: str) -> None:
    """`resume`; where nothing was recorded yet, or all was done, there is nothing to resume."""
    said = coderefine("resume", cwd=top)
    nothing = said.code == 2 and ("no run" in said.err or "has ended" in said.err or "HEAD moved" in said.err)
    if nothing and not fate.written and "no run" in said.err:
        said = coderefine(*argv(url, fate.kill.delivery), cwd=top)
    elif nothing and fate.written:
        fate.resumed = True
        return
    fate.resumed = said.code == 0 and _right(_result(top, fate.kill.delivery))
    if not fate.resumed:
        fate.faults.append(f"not resumed: exit {said.code} {said.err[-300:]} {said.out[-300:]}")


def _result(top: Path, delivery: tuple[str, ...]) -> str:
    if delivery[:1] == ("--branch",):
        return git(top, "show", "repair:order.py")
    return (top / "order.py").read_text()


def _repeats(model: Model, told: Counter[str], answers: int) -> int:
    """Requests sent again although their answer was in the journal when the kill came.

    Answers are journalled in the order they are asked for, so the first `answers` of them were known.
    """
    known = list(told)[:answers]
    return sum(1 for request in known if model.answered[request] > told[request])
