"""A task's own functions as critics: a gate that says what is wrong, a reward that says how good it is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TypeVar

from coderefine.core import Ask, Check, Finding, Look, Read, Severity, Task, View
from coderefine.critics.scope import weighed
from coderefine.errors import CriticError
from coderefine.llm.context import text_of

Said = TypeVar("Said")


class FunctionGate:
    """`look` called with a way to read the tree; what it yields are the findings."""

    gate = True

    def __init__(self, look: Look) -> None:
        self._look = look
        self.name = _name(look)

    def check(self, view: View, ask: Ask) -> Check:
        """Raises CriticError when the function raises or gives something else than findings in the tree."""
        began = time.monotonic()
        found = _findings(self.name, _called(self.name, lambda: _whole(self._look(reader(view)))))
        findings = weighed((replace(one, critic=self.name) for one in found), ask.scope)
        return Check(self.name, findings, seconds=time.monotonic() - began)


class Rewarded:
    """`task.reward` as an adviser: a score under which a remark is left until it is enough."""

    gate = False

    def __init__(self, task: Task) -> None:
        self._task = task
        self.name = _name(task.reward)

    def check(self, view: View, ask: Ask) -> Check:
        """Raises CriticError when the function raises or gives no number."""
        reward = self._task.reward
        assert reward is not None, "only made for tasks that have one"
        said = _called(self.name, lambda: reward(reader(view)))
        score, advice = said if isinstance(said, tuple) else (said, "")
        if not isinstance(score, int | float):
            raise CriticError(f"{self.name} gave {score!r} instead of a number")
        check = Check(self.name, gate=False, total=float(score), notes=(f"scored {score:g}",))
        if self._enough(check):
            return check
        wanted = f" ({self._task.enough:g} is enough)" if isinstance(self._task.enough, float | int) else ""
        path = next(iter((*self._task.wanted, *self._task.files, *ask.scope)))
        remark = Finding(
            self.name, "score", path, f"scores {score:g}{wanted}", instruction=advice, severity=Severity.SOFT
        )
        return replace(check, findings=(remark,))

    def _enough(self, check: Check) -> bool:
        enough = self._task.enough
        return isinstance(enough, float | int) and check.total is not None and check.total >= enough


def _whole(found: object) -> tuple[object, ...]:
    """All that a gate's function gave; text is one thing, not many letters."""
    return tuple(found) if isinstance(found, Iterable) and not isinstance(found, str | bytes) else (found,)


def _findings(name: str, found: Iterable[object]) -> Iterator[Finding]:
    """`found`, if all of it are findings about files in the tree. Raises CriticError."""
    for one in found:
        if not isinstance(one, Finding):
            raise CriticError(f"{name} gave {one!r} instead of findings: yield coderefine.core.Finding objects")
        if one.path.startswith(("/", "~")) or ".." in PurePosixPath(one.path).parts:
            raise CriticError(f"{name} gave a finding in {one.path!r}, which is outside this repository")
        yield one


def reader(view: View) -> Read:
    """How a task's functions look at a tree: as text, by repo-relative path."""
    return lambda path: text_of(view.read(path))


def _name(function: object) -> str:
    return getattr(function, "__name__", type(function).__name__).strip("_<>").replace("_", "-") or "check"


def _called(name: str, function: Callable[[], Said]) -> Said:
    try:
        return function()
    except Exception as error:  # somebody else's code: whatever it raises is its failure to speak, not ours
        raise CriticError(f"{name} failed: {type(error).__name__}: {error}") from error
