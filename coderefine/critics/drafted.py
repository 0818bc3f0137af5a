"""An adviser that runs tests drafted by the model from the request alone: they guide proposals, but prove nothing.

If the task names a file for these tests, those that pass are delivered in this file with the patch, marked as drafts.
Otherwise the tests stay out of the tree.
"""

from __future__ import annotations

import ast
import hashlib
import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TypeGuard

from coderefine import sandbox
from coderefine.config import Config
from coderefine.core import (
    Ask,
    Attempt,
    Case,
    Check,
    Event,
    Failure,
    Finding,
    Freedom,
    Listen,
    Read,
    Severity,
    Task,
    View,
)
from coderefine.core.plurals import counted
from coderefine.critics.pytest import evidence
from coderefine.critics.source_files import Texts
from coderefine.errors import CriticError, RunnerError
from coderefine.llm.client import Client
from coderefine.llm.context import given_files
from coderefine.llm.failing_tests import excerpt
from coderefine.llm.model_request import Message, ModelRequest
from coderefine.llm.normalize import fenced, mark
from coderefine.llm.prompts import render
from coderefine.llm.reasoning import without_reasoning
from coderefine.project import Interpreter, Place, Protection
from coderefine.project.place import below, module_name
from coderefine.runner.cold import run_tests
from coderefine.sandbox.permissions import TIGHT
from coderefine.source import syntax, text_of

WRITE = (
    "import os, sys; os.makedirs(os.path.dirname(sys.argv[1]) or '.', exist_ok=True); "
    "open(sys.argv[1], 'wb').write(sys.stdin.buffer.read())"
)
REMOVE = "import os, sys; os.remove(sys.argv[1])"
BEST = 5.0
MARK = "# Drafted by "
"""First words of a file of drafted tests, until a person has reviewed the tests."""
INSTRUCTION = "a drafted test may be wrong: change the code only if the test checks what was asked for"


class Drafted:
    """Asks the model once for tests, showing it the files without any patch, and runs these tests in each view."""

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
        """Create the adviser. `original` returns the content that a path had when the run began."""
        self._place = place
        self._interpreter = interpreter
        self._client = client
        self._task = task
        self._listen = listen
        self._original = original
        self._model = config.model or "a model"
        self._name = below(task.drafted, place.prefix) or f"test_drafted_{PurePosixPath(task.wanted[0]).stem}.py"
        self._config = replace(config, pytest_args=(*config.pytest_args, self._name))
        self._text: str | None = None

    def check(self, view: View, ask: Ask) -> Check:
        """Run the drafted tests; `total` is 5 times the share of tests that pass.

        Raises CriticError if pytest gives no result.
        """
        began = time.monotonic()
        if self._text is None:
            # From the user's files: the draft must not be derived from the answer.
            roots = Protection.of(self._place, self._config).import_roots
            self._text = draft(self._client, self._task, roots, lambda path: text_of(self._original(path)))
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

    def file_for(self, attempt: Attempt) -> Mapping[str, bytes]:
        """Return path and content of the file with the drafted tests that pass for `attempt`; {} if there is none."""
        check = attempt.check(self.name)
        if not self._task.drafted or not self._text or check is None:
            return {}
        failing = {finding.symbol.partition("[")[0] for finding in check.findings}
        text = without(self._text, failing)
        if not tests_in(text):
            return {}
        head = f"{MARK}{self._model} for coderefine write, not reviewed. Check that each test expects what you want.\n"
        head += "# Then delete these comment lines: until then, coderefine does not use these tests.\n"
        head += f"# Left out, because they fail: {', '.join(sorted(failing))}.\n" if failing else ""
        return {self._task.drafted: f"{head}\n{text}".encode()}

    def _run(self, view: View, ask: Ask) -> Check:
        """Run only the drafted tests, in the tightest sandbox."""
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
        shown = f"{excerpt(self._text or '', (case.id,))}\n{evidence(failure, texts)}".strip()
        name = case.id.rsplit("::", 1)[-1]
        message = f"drafted test {name}: {failure.message}"
        path = self._task.wanted[0]
        return Finding(self.name, "draft", path, message, None, name, shown, INSTRUCTION, Severity.SOFT)

    def _note(self, ran: int, bad: int) -> str:
        where = f"; they are kept in {kept}" if (kept := self._kept()) else ""
        put = f", those that pass in {self._task.drafted} too" if self._task.drafted and ran > bad else ""
        drafts = counted(ran, "test")
        return f"{ran - bad} of {drafts} drafted by the model pass, which proves nothing{where}{put}"

    def _kept(self) -> str:
        """Write the draft to a file in the git directory, in a folder named by the content; return the file's path.

        The path is relative to the top, or absolute if the git directory is outside the top; "" if there is no draft or
        no git directory.
        """
        if self._place.git_dir is None or not self._text:
            return ""
        digest = hashlib.sha256(self._text.encode()).hexdigest()[:12]
        file = self._place.git_dir / "coderefine" / "drafts" / digest / PurePosixPath(self._name).name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(self._text, "utf-8")
        top = self._place.top
        return file.relative_to(top).as_posix() if file.is_relative_to(top) else str(file)


def is_draft(file: Path) -> bool:
    """Return whether `file` contains drafted tests that no person has reviewed, according to its first line."""
    try:
        with file.open("rb") as opened:
            return opened.readline().startswith(MARK.encode())
    except OSError:
        return False


BLOCK = re.compile(r"^```[\w-]*[ \t]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


def draft(client: Client, task: Task, roots: Sequence[str], read: Read) -> str:
    """Return a test module for `task.wanted[0]`; "" if the model's answer contains no tests.

    `roots`: the folders from which modules are imported. `read`: reads a file by its path. Raises the errors of
    `Client.ask`.
    """
    path = task.wanted[0]
    before = read(path)
    shown = fenced("file", path, before, mark((before,))) if before else ""
    code = "\n".join(part for part in (given_files(task, read), shown) if part)
    system = render("drafter", module=module_name(path, roots))
    user = render("drafts", code=code, path=path, goal=task.goal)
    messages = (Message("system", system), Message("user", user))
    reply = client.ask(ModelRequest("draft", messages, 0.2, reply_tokens=2048)).text
    return next((block for block in BLOCK.findall(without_reasoning(reply)) if tests_in(block)), "")


def tests_in(text: str) -> frozenset[str]:
    """Return the names of the test functions in `text`; none if it does not parse."""
    tree = syntax(text)
    return frozenset(node.name for node in ast.walk(tree) if _is_test(node)) if tree else frozenset()


def without(text: str, names: Collection[str]) -> str:
    """Remove the test functions `names` from `text`, and imports that are then unused."""
    tree = syntax(text)
    gone = [node for node in ast.walk(tree) if _is_test(node) and node.name in names] if tree else []
    left = _cut(text, gone)
    return _cut(left, _unused_imports(left))


def _unused_imports(text: str) -> list[ast.stmt]:
    tree = syntax(text)
    if tree is None:
        return []
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    imports = (node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom))
    return [one for one in imports if used.isdisjoint(a.asname or a.name.partition(".")[0] for a in one.names)]


def _cut(text: str, gone: Collection[ast.stmt]) -> str:
    """Remove the statements `gone`, their decorators, and the blank lines above them from `text`."""
    lines = text.split("\n")
    for node in sorted(gone, key=lambda node: node.lineno, reverse=True):
        first = min((node.lineno, *(item.lineno for item in getattr(node, "decorator_list", ())))) - 1
        while first and not lines[first - 1].strip():
            first -= 1
        del lines[first : node.end_lineno]
    return "\n".join(lines).lstrip("\n")


def _is_test(node: ast.AST) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef]:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test")
