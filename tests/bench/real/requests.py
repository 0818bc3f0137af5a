"""What would the first request to a model hold? Measured on the slips of real projects.

    python -m tests.bench.real.requests [--half held-out] [--only NAME] [--slips N] [--seed S] [--report] [--again]
                                        [--coderefine PATH] [--options="--search-time 0.1" | --searched]

`coderefine fix` runs with a model on a loopback server that keeps the first request and answers that it has no repair;
the command is interrupted then. `--options` are given to it; the default leaves the search out, so that the model comes
first. `--searched` measures the request as it is by default, after a search that found no repair: the classes of the
program that is under `python` run here, and the search ends once it has observed the tests (`runs` is not comparable
then). The requests themselves are kept below the system's temporary folder, in outputs/COMMIT/SLIP.request.

`whole`: all lines of the faulty function (the innermost one around the slip, as it stands in the tree; comments,
docstring and empty lines apart) are in the request, in their order; of a function of more than 200 lines only the
faulty lines are asked for, as its other branches may be folded. `line`: the faulty lines are there. A negation may be
written as ruff, whose fixes come before the request, writes it (`x is not y` for `not (x is y)`). `chars`: characters
of all messages. `runs`: seconds from the start of the command to the request, in runs of the suite.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import shlex
import signal
import statistics
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from coderefine.config import load
from coderefine.llm.client import Client
from coderefine.project import Protection, interpreter, locate
from coderefine.proposers.model import Model
from coderefine.proposers.search import TURN
from coderefine.workspace import open_views
from tests.bench.confidence.gather import searched
from tests.bench.real.__main__ import name, undisturbed
from tests.bench.real.options import arguments
from tests.bench.real.projects import CACHE, Project, chosen, locked, restore
from tests.bench.real.ranks import Tracing
from tests.bench.real.reports import p90
from tests.bench.real.slips import Slip, accepted
from tests.bench.real.suites import Suite, environment
from tests.bench.real.trials import Subject, faulty, subject
from tests.support.llm_server import LlmServer, Seen

PATIENCE = 300.0
LONG = 200
IDENTITY, NEGATED = re.compile(r"\bnot \((.+) is (.+)\)"), re.compile(r"\bnot \((.+) in (.+)\)")
ANSWER = "NO REPAIR: this is a measurement of the request."
SEARCHED = "after a search"
"""Replaces the options of a row."""


@dataclass(frozen=True)
class Row:
    """One slip. `seconds` is None when no request came within PATIENCE, or before the command ended."""

    commit: str
    options: str
    seed: int
    id: str
    project: str
    slip: str
    lines: int
    whole: bool
    line: bool
    chars: int
    seconds: float | None
    suite: float

    @property
    def key(self) -> tuple[str, str, int, str]:
        return self.commit, self.options, self.seed, self.id


def first_request(command: Sequence[str | Path], top: Path) -> tuple[Seen | None, float]:
    """Run the command in `top` until it sends its first request; the request, and the seconds that took."""
    came = threading.Event()

    def answer(_: Seen) -> str:
        came.set()
        return ANSWER

    with LlmServer(answer) as server:
        env = environment({"OPENAI_API_KEY": "sk-scripted"})
        quiet = subprocess.DEVNULL
        argv = [str(word) for word in (*command, "--base-url", server.url)]
        began, clock = time.time(), time.monotonic()
        child = subprocess.Popen(
            argv, cwd=top, env=env, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True
        )
        try:
            while child.poll() is None and not came.wait(0.1) and time.monotonic() - clock < PATIENCE:
                pass
        finally:
            stop(child)
        seen = min(server.requests, key=lambda one: one.at, default=None)
        return seen, (seen.at if seen else time.time()) - began


def request_after_search(top: Path) -> tuple[Seen | None, float]:
    """The first request about the tree at `top` after a search without a result, and the seconds to it."""
    began = time.monotonic()
    search, _, _ = searched(top, TURN, Tracing)
    place = locate([top], top)
    with LlmServer(lambda _: ANSWER) as server:
        config = replace(load(place.root, {}, {}), model="scripted", base_url=server.url)
        python, protection = interpreter(place, config, dict(os.environ)), Protection.of(place, config)
        with Client(config, environ={"OPENAI_API_KEY": "sk-scripted"}) as client, open_views(place) as views:
            model = Model(place, config, client, protection, interpreter=python, observed=lambda _: search.seen)
            if search.situation is not None:
                list(model.propose(search.situation, views))
        seen = min(server.requests, key=lambda one: one.at, default=None)
    return seen, time.monotonic() - began


def stop(child: subprocess.Popen[bytes]) -> None:
    """Interrupt the command, so that it cleans up; kill what is left of its group after that."""
    if child.poll() is None:
        child.send_signal(signal.SIGINT)
        try:
            child.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()


def function_lines(text: str, slip: Slip) -> list[str]:
    """The code lines, stripped, of the innermost function around the slip in the faulty text."""
    first, last = slip.fault.line, slip.fault.line + slip.fault.new.count("\n")
    found: ast.AST | None = None
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inside = node.lineno <= first and last <= (node.end_lineno or 0)
            if inside and (found is None or node.lineno > found.lineno):  # type: ignore[attr-defined]
                found = node
    if not isinstance(found, ast.FunctionDef | ast.AsyncFunctionDef):
        return code(text, first, last, None)
    return code(text, found.lineno, found.end_lineno or last, docstring(found))


def docstring(function: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.stmt | None:
    return function.body[0] if ast.get_docstring(function) is not None else None


def code(text: str, first: int, last: int, left_out: ast.stmt | None) -> list[str]:
    """Lines `first` to `last`, stripped; empty ones, comments and those of `left_out` do not count."""
    skipped = range(left_out.lineno, (left_out.end_lineno or 0) + 1) if left_out else range(0)
    rows = text.splitlines()
    numbered = ((at, rows[at - 1].strip()) for at in range(first, last + 1) if at not in skipped)
    return [row for _, row in numbered if row and not row.startswith("#")]


def undone(row: str, faulty: Sequence[str]) -> str:
    """Return a row of the prompt as the tree has it: a faulty line that ruff has rewritten (E713, E714) as it was."""
    for line in faulty:
        fixed = NEGATED.sub(r"\1 not in \2", IDENTITY.sub(r"\1 is not \2", line))
        if fixed != line and fixed in row:
            return row.replace(fixed, line)
    return row


def holds(prompt: str, lines: Sequence[str]) -> bool:
    """Whether all `lines` are in the prompt in their order, from one of the places where the first one is."""
    shown = prompt.splitlines()
    starts = [at for at, row in enumerate(shown) if lines[0] in row]
    return any(follows(shown[start:], lines) for start in starts)


def follows(shown: Sequence[str], lines: Sequence[str]) -> bool:
    rows = iter(shown)
    return all(any(line in row for row in rows) for line in lines)


def trial(tested: Subject, project: Project, slip: Slip, plain: Suite, options: str) -> Row:
    faulty(project, slip)
    text = (project.top / slip.fault.path).read_text("utf-8")
    command: tuple[str | Path, ...] = (
        tested.command,
        "fix",
        "--quiet",
        "--model",
        "scripted",
        "--max-requests",
        "1",
        *shlex.split(options),
    )
    seen, seconds = request_after_search(project.top) if options == SEARCHED else first_request(command, project.top)
    restore(project)
    prompt = seen.prompt if seen else ""
    kept = CACHE / "outputs" / tested.commit / f"{slip.id}.request"
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(prompt, "utf-8")
    whole = function_lines(text, slip)
    part = code(text, slip.fault.line, slip.fault.line + slip.fault.new.count("\n"), None)
    compared = "\n".join(undone(row, part) for row in prompt.splitlines())
    there = holds(compared, part)
    return Row(
        tested.commit,
        options,
        slip.seed,
        slip.id,
        slip.project,
        slip.shown,
        len(whole),
        there if len(whole) > LONG else holds(compared, whole),
        there,
        len(prompt),
        seconds if seen else None,
        plain.seconds,
    )


def rows(half: str) -> list[Row]:
    path = CACHE / f"requests-{half}.jsonl"
    found = [Row(**json.loads(line)) for line in path.read_text("utf-8").splitlines()] if path.exists() else []
    return list({row.key: row for row in found}.values())


def keep(half: str, row: Row) -> None:
    with (CACHE / f"requests-{half}.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(row)) + "\n")


def table(found: Sequence[Row]) -> str:
    """One line for each commit and its options."""
    head = f"{'commit':18}{'slips':>6}{'sent':>6}{'whole':>7}{'line':>6}{'chars':>8}{'p90':>8}{'largest':>8}"
    lines = [f"{head}{'runs':>6}{'p90':>6}{'s':>7}  options"]
    for key in dict.fromkeys((row.commit, row.options) for row in found):
        group = [row for row in found if (row.commit, row.options) == key]
        lines.append(f"{key[0]:18}{figures(group)}  {key[1]}")
    return "\n".join(lines)


def figures(group: Sequence[Row]) -> str:
    sent = [row for row in group if row.seconds is not None]
    share = f"{len(group):6}{len(sent):6}{sum(row.whole for row in group) / len(group):7.0%}"
    share += f"{sum(row.line for row in group) / len(group):6.0%}"
    if not sent:
        return share
    chars, seconds = [row.chars for row in sent], [row.seconds or 0.0 for row in sent]
    runs = [(row.seconds or 0.0) / row.suite for row in sent]
    sizes = f"{statistics.median(chars):8.0f}{p90(chars):8.0f}{max(chars):8}"
    return f"{share}{sizes}{statistics.median(runs):6.1f}{p90(runs):6.1f}{statistics.median(seconds):7.1f}"


def shown(row: Row) -> str:
    state = "whole" if row.whole else "line" if row.line else "absent" if row.seconds is not None else "unsent"
    when = f"{row.seconds:6.1f} s {row.seconds / row.suite:5.1f} runs" if row.seconds is not None else f"{'-':>19}"
    return f"{state:7}{row.chars:7} chars {when} function of {row.lines:3} lines  {row.slip}"


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--slips", type=int, default=10, metavar="N", help="of each project (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--options", default="--no-search", help="given to `coderefine fix` (default: %(default)s)")
    parser.add_argument("--searched", action="store_const", dest="options", const=SEARCHED, help="after a search")
    given = parser.parse_args()
    tested = subject(given.coderefine.absolute())
    projects = chosen(given.only, given.half)
    for project in [] if given.report else projects:
        measure(tested, project, given)
    names = {project.name for project in projects}
    found = [row for row in rows(given.half) if row.seed == given.seed and row.project in names]
    print(table(found))
    if given.half == "development":
        misses = [row for row in found if row.commit == tested.commit and not row.whole]
        print("\n".join(shown(row) for row in misses if row.options == given.options))


def measure(tested: Subject, project: Project, given: argparse.Namespace) -> None:
    done = {row.key for row in rows(project.half)}
    slips = accepted(project, given.slips, given.seed)
    todo = [one for one in slips if given.again or (tested.commit, given.options, one.seed, one.id) not in done]
    with locked(project):
        plain = undisturbed(project) if todo else Suite()
    for slip in todo:
        with locked(project):
            row = trial(tested, project, slip, plain, given.options)
        keep(project.half, row)
        print(shown(row) if project.half == "development" else f"{name(project)} -", flush=True)


if __name__ == "__main__":
    main()
