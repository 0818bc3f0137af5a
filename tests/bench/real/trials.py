"""One trial: put a slip into a fresh copy, run `coderefine fix` as a user would, judge what it left in the tree."""

from __future__ import annotations

import ast
import hashlib
import json
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.bench.real.projects import CACHE, Baseline, Project, commit, prepare, restore, suite
from tests.bench.real.slips import Slip, put_in
from tests.bench.real.suites import Ended, Suite, environment, run
from tests.bench.repair.differential import Likeness, same_in_package

PATIENCE = 900.0
VERDICTS = ("identical", "behaves", "plausible", "none", "error")
RIGHT, REPAIRED = VERDICTS[:2], VERDICTS[:3]


@dataclass(frozen=True)
class Row:
    """One trial. Seconds and CPU seconds of the whole command, and of one run of the unmodified suite.

    `verdict`: see VERDICTS; "behaves" is a green suite and at least ten calls through the changed function that are
    answered as by the original, none otherwise. `compared`, `differ` and `why` are of that comparison.
    `others`: files changed besides the faulty one. Absent figures of the command are None. `offered`: the place of the
    original among what was offered instead of being written (0: it is not there).
    """

    commit: str
    seed: int
    id: str
    project: str
    half: str
    family: str
    slip: str
    verdict: str
    code: int | None
    seconds: float
    cpu: float
    suite: float
    suite_cpu: float
    suite_runs: float | None
    first_candidate: float | None
    said: str
    diff: str
    others: tuple[str, ...] = ()
    compared: int = 0
    differ: int = 0
    why: str = ""
    offered: int = 0

    @property
    def key(self) -> tuple[str, int, str]:
        return self.commit, self.seed, self.id

    @property
    def runs(self) -> float:
        """The whole time in runs of the suite."""
        return self.seconds / self.suite


@dataclass(frozen=True)
class Subject:
    """The command under test, and the last commit that changed its source."""

    command: Path
    commit: str


def subject(command: Path) -> Subject:
    """Find the source that the console script `command` runs, by its interpreter."""
    python = command.read_text("utf-8").splitlines()[0].removeprefix("#!").strip()
    CACHE.mkdir(exist_ok=True)
    where = _output([python, "-c", "import coderefine; print(coderefine.__file__)"], CACHE)
    top = Path(where).parent.parent
    head = _output(["git", "log", "-1", "--abbrev=10", "--format=%h", "--", "coderefine"], top)
    changes = _output(["git", "diff", "HEAD", "--", "coderefine"], top)
    return Subject(command, f"{head}+{hashlib.sha256(changes.encode()).hexdigest()[:6]}" if changes else head)


def _output(argv: list[str], cwd: Path) -> str:
    env = environment({})
    return subprocess.run(argv, cwd=cwd, env=env, check=True, capture_output=True, text=True, timeout=60).stdout.strip()


def rows(half: str) -> list[Row]:
    path = _rows(half)
    found = path.read_text("utf-8").splitlines() if path.exists() else []
    return [Row(**{**row, "others": tuple(row["others"])}) for row in map(json.loads, found)]


def keep(row: Row) -> None:
    with _rows(row.half).open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(row)) + "\n")


def _rows(half: str) -> Path:
    return CACHE / f"rows-{half}.jsonl"


def faulty(project: Project, slip: Slip) -> None:
    """Make the working copy a repository whose only commit has the slip in it."""
    restore(project)
    put_in(project, slip.fault)
    commit(project)


def trial(tested: Subject, project: Project, slip: Slip, plain: Suite) -> Row:
    """Run the command on the slip. `plain` is a run of the unmodified suite on this machine, now."""
    faulty(project, slip)
    kept = CACHE / "outputs" / tested.commit
    kept.mkdir(parents=True, exist_ok=True)
    out, err = kept / f"{slip.id}.json", kept / f"{slip.id}.err"
    argv = (tested.command, "fix", "--format", "json")
    ended = run(argv, project.top, env=environment({}), timeout=PATIENCE, out=out, err=err)
    report = report_of(out)
    diff, others = changes(project, slip)
    verdict, like = judged(project, slip, prepare(project))
    if verdict == "none" and (ended.code not in {0, 1} or not report):
        verdict = "error"
    restore(project)
    return Row(
        tested.commit,
        slip.seed,
        slip.id,
        slip.project,
        project.half,
        slip.family,
        slip.shown,
        verdict,
        ended.code,
        ended.seconds,
        ended.cpu,
        plain.seconds,
        plain.cpu,
        report.get("suite_runs"),
        report.get("first_candidate"),
        said(ended, report, err),
        diff,
        others,
        like.compared,
        like.differ,
        like.why or like.example,
        offered(project, slip, report),
    )


def offered(project: Project, slip: Slip, report: dict[str, Any]) -> int:
    """The place of the original text among the alternatives of an offer, from 1; 0 where it is not there."""
    original = (project.pristine / slip.fault.path).read_text("utf-8")
    for offer in report.get("offers") or ():
        for place, alternative in enumerate(offer["alternatives"], 1):
            texts = [file["text"] for file in alternative["patch"] if file["path"] == slip.fault.path]
            if any(same(original, transplanted(original, text, slip.fault.function)) for text in texts):
                return place
    return 0


def report_of(out: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(out.read_text("utf-8"))
    except ValueError:
        return {}
    return found


def said(ended: Ended, report: dict[str, Any], err: Path) -> str:
    """What the command said of its end: stop reason, attempts, and its last lines where there is no report."""
    if ended.code is None:
        return f"still running after {PATIENCE:.0f} s"
    if not report:
        return f"exit {ended.code}: " + " | ".join(err.read_text("utf-8", "replace").splitlines()[-3:])
    attempts = [f"{one['origin']} ({one['reason']})" for one in report["attempts"][1:] if not one["ok"]]
    notes = (report.get("evidence") or {}).get("notes") or []
    parts = [f"{report['stop']}: {report['why']}", *attempts[:4], *notes[:4]]
    return " | ".join(" ".join(str(part).split()) for part in parts)


def changes(project: Project, slip: Slip) -> tuple[str, tuple[str, ...]]:
    """The diff that the command left, and the changed files besides the faulty one."""
    names = _output(["git", "ls-files", "--modified", "--others", "--deleted", "--exclude-standard"], project.top)
    others = tuple(sorted(set(names.splitlines()) - {slip.fault.path}))
    return _output(["git", "diff", "HEAD"], project.top), others


NOTHING = Likeness(0, 0)


def judged(project: Project, slip: Slip, base: Baseline) -> tuple[str, Likeness]:
    """The verdict on the working copy, and the comparison with the original where one was made."""
    diff, others = changes(project, slip)
    if not diff and not others:
        return "none", NOTHING
    original = (project.pristine / slip.fault.path).read_text("utf-8")
    path = project.top / slip.fault.path
    patched = path.read_text("utf-8") if path.exists() else ""
    if not others and same(original, patched):
        return "identical", NOTHING
    if not green(project, base):
        return "none", Likeness(0, 0, "a patch that leaves tests failing")
    mistaken = slip.fault.apply(original)
    if same(patched, mistaken):
        return "plausible", Likeness(0, 0, "repaired in another file")
    mixed = transplanted(original, patched, slip.fault.function)
    if same(original, mixed):
        return "identical", NOTHING
    if same(mixed, mistaken):
        mixed = patched  # the slip is still there, and made up for elsewhere in the file
    restore(project)
    commit(project)
    limit = 10 * base.seconds + 120
    like = same_in_package(project.top, slip.fault.path, original, mixed, timeout=limit, python=project.python)
    return ("behaves" if like.equal else "plausible"), like


def green(project: Project, base: Baseline) -> bool:
    """Whether all that passes in the unmodified suite passes, and nothing new fails."""
    seen = suite(project, base=base)
    fails = set(seen.failing) - set(base.failing)
    return seen.ended and not seen.broken and not fails and set(base.passed) <= set(seen.passed)


def same(one: str, two: str) -> bool:
    try:
        return ast.dump(ast.parse(one)) == ast.dump(ast.parse(two))
    except SyntaxError:
        return False


def transplanted(original: str, patched: str, function: str) -> str:
    """The original with the function that held the slip taken from the patched text.

    What other proposers changed elsewhere in the file, such as an unused import, does not count.
    """
    old, new = outermost(original, function), outermost(patched, function)
    if old is None or new is None:
        return patched
    before, after = original.splitlines(keepends=True), patched.splitlines(keepends=True)
    return "".join([*before[: old[0]], *after[new[0] : new[1]], *before[old[1] :]])


def outermost(text: str, name: str) -> tuple[int, int] | None:
    """First line (from 0) and end of the outermost function on the dotted path `name`, decorators included."""
    body: list[ast.stmt] = ast.parse(text).body
    for part in name.split("."):
        named = [node for node in body if getattr(node, "name", None) == part]
        if not named:
            return None
        node = named[-1]
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            return first - 1, node.end_lineno or node.lineno
        body = node.body if isinstance(node, ast.ClassDef) else []
    return None
