"""Tests that the model drafted, as advice: they guide what is written and prove nothing.

They stay out of the tree unless the task names a file for them; then those that pass are handed over beside the patch,
marked as what they are.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath

from coderefine import sandbox
from coderefine.config import Config
from coderefine.core import Ask, Attempt, Case, Check, Event, Failure, Finding, Freedom, Listen, Severity, Task, View
from coderefine.core.plurals import counted
from coderefine.critics.pytest import evidence
from coderefine.critics.texts import Texts
from coderefine.errors import CriticError, RunnerError
from coderefine.llm.client import Client
from coderefine.llm.context import text_of
from coderefine.llm.drafts import draft, tests_in, without
from coderefine.llm.excerpt import excerpt
from coderefine.project import Interpreter, Place
from coderefine.runner.cold import run_tests
from coderefine.sandbox.bounds import TIGHT

WRITE = (
    "import os, sys; os.makedirs(os.path.dirname(sys.argv[1]) or '.', exist_ok=True); "
    "open(sys.argv[1], 'wb').write(sys.stdin.buffer.read())"
)
REMOVE = "import os, sys; os.remove(sys.argv[1])"
BEST = 5.0
MARK = "# Drafted by "
"""How a file of drafted tests begins, until somebody has looked at them."""
INSTRUCTION = "a drafted test may be wrong: change the code only if the test holds it to what is asked for"


class Drafted:
    """Drafts once, from the first tree it sees without the patch, and runs the tests in the view they are laid into."""

    name = "drafted"
    gate = False

    def __init__(  # noqa: PLR0917
        self,
        place: Place,
        interpreter: Interpreter,
        config: Config,
        client: Client,
        task: Task,
        listen: Listen,
        original: Callable[[str], bytes | None],
    ) -> None:
        """`original`: what a path held when the run began."""
        self._place = place
        self._interpreter = interpreter
        self._client = client
        self._task = task
        self._listen = listen
        self._original = original
        self._model = config.model or "a model"
        self._name = inner(task.drafted, place) or f"test_drafted_{PurePosixPath(task.wanted[0]).stem}.py"
        self._config = replace(config, pytest_args=(*config.pytest_args, self._name))
        self._text: str | None = None

    def check(self, view: View, ask: Ask) -> Check:
        """`total` is the share that passes, of 5. Raises CriticError when pytest gave no verdict."""
        began = time.monotonic()
        if self._text is None:
            self._text = draft(self._client, self._task, self._place.prefix, self._before)
        if not self._text:
            return Check(self.name, gate=False, notes=("the model drafted no tests",))
        ran = self._run(view, ask)
        bad = [case for case in ran.cases.values() if case.status.bad]
        texts = Texts(view)
        total = BEST * (len(ran.cases) - len(bad)) / max(1, len(ran.cases))
        return Check(
            self.name,
            tuple(self._finding(case, texts) for case in bad),
            seconds=time.monotonic() - began,
            gate=False,
            notes=(self._note(len(ran.cases), len(bad)),),
            total=round(total, 3),
        )

    def beside(self, attempt: Attempt) -> Mapping[str, bytes]:
        """The file that goes with `attempt`, when the task names one and any drafted test passes."""
        said = attempt.check(self.name)
        if not self._task.drafted or not self._text or said is None:
            return {}
        failing = {finding.symbol.partition("[")[0] for finding in said.findings}
        text = without(self._text, failing)
        return {self._task.drafted: f"{_head(self._model, failing)}{text}".encode()} if tests_in(text) else {}

    def _before(self, path: str) -> str | None:
        """The user's file: the draft must not be made after the answer."""
        return text_of(self._original(path))

    def _run(self, view: View, ask: Ask) -> Check:
        """The drafted tests alone, confined as tightly as an attempt's tests can be."""
        python, text = str(self._interpreter.path), self._text or ""
        self._listen(Event("critic", self.name))
        sandbox.run(view, (python, "-c", WRITE, self._name), TIGHT, cwd=self._place.prefix, stdin=text.encode())
        try:
            quiet = replace(ask, freedom=Freedom(), tests=None, first=())
            return run_tests(view, self._place, self._interpreter, self._config, quiet)
        except RunnerError as error:
            raise CriticError(f"no verdict from the drafted tests: {error}") from error
        finally:
            sandbox.run(view, (python, "-c", REMOVE, self._name), TIGHT, cwd=self._place.prefix)

    def _finding(self, case: Case, texts: Texts) -> Finding:
        failure = case.failure or Failure("failed without a reason")
        told = f"{excerpt(self._text or '', (case.id,))}\n{evidence(failure, texts)}".strip()
        name = case.id.rsplit("::", 1)[-1]
        message = f"drafted test {name}: {failure.message}"
        path = self._task.wanted[0]
        return Finding(self.name, "draft", path, message, None, name, told, INSTRUCTION, Severity.SOFT)

    def _note(self, ran: int, bad: int) -> str:
        where = f"; they are kept in {kept}" if (kept := self._kept()) else ""
        put = f", those that pass in {self._task.drafted} too" if self._task.drafted and ran > bad else ""
        drafts = counted(ran, "test")
        return f"{ran - bad} of {drafts} drafted by the model pass, which proves nothing{where}{put}"

    def _kept(self) -> str:
        """The draft in a file of its own in the git directory, by its content; where that is, from the top."""
        if self._place.git_dir is None or not self._text:
            return ""
        digest = hashlib.sha256(self._text.encode()).hexdigest()[:12]
        file = self._place.git_dir / "coderefine" / "drafts" / digest / PurePosixPath(self._name).name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(self._text, "utf-8")
        return _short(file, self._place.top)


def inner(path: str, place: Place) -> str:
    """`path` as it is called in the project's root."""
    return path.removeprefix(f"{place.prefix}/")


def _head(model: str, failing: Iterable[str]) -> str:
    left_out = f"# Left out, because they fail: {', '.join(sorted(failing))}.\n" if failing else ""
    told = f"{MARK}{model} for coderefine write, checked by nobody. Does each test say what you mean?\n"
    return (
        f"{told}# Then delete this head: until that is gone, these tests judge nothing that is written.\n{left_out}\n"
    )


def is_draft(file: Path) -> bool:
    """Whether `file` holds drafted tests that nobody has looked at."""
    try:
        with file.open("rb") as opened:
            return opened.readline().startswith(MARK.encode())
    except OSError:
        return False


def _short(file: Path, top: Path) -> str:
    return file.relative_to(top).as_posix() if file.is_relative_to(top) else str(file)
