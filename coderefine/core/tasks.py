"""Tasks: the goal of a run, and when it is reached."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from coderefine.core.checks import Finding
from coderefine.core.outcomes import Attempt
from coderefine.core.plugins import Critic

Read = Callable[[str], "str | None"]
"""Returns the text of the file at a repo-relative path in the tree that is judged; None if there is no such text."""
Look = Callable[[Read], Iterable[Finding]]
"""A gate as a function: returns the findings in the tree."""
Reward = Callable[[Read], "float | tuple[float, str]"]
"""Returns a score of the tree (higher is better), optionally with advice on how to raise it."""


@dataclass(frozen=True, slots=True)
class Task:
    """The goal of a run. All but the name may be left out: `Task("fix")` is the task of `coderefine fix`.

    For the model: `goal`: its task as a text. `role`: a sentence that describes its role. `rules`: sentences that it
    must obey. `given`: files that it is shown and may not change. `files`: globs of files other than Python that are
    shown and reviewed too.

    `settings`: configuration keys as in TOML, used where the user has set none; `gates` replaces the default gates,
    while `commands`, `criteria` and `protect` are added to the user's values. `wanted`: the files to write; a file is
    unfinished while it contains stubs or, if it had none at the start, until its code changes. `judged`: the acceptance
    tests; failures of tests in other files are ignored. `drafts`: let the model draft tests, as advice; `drafted`: a
    new file of the patch for drafted tests that pass, marked as drafts ("": no such file).

    `checks`: gates as functions. `reward`: a function that scores attempts; it decides between attempts that are equal
    for the gates. `critics`: functions that create further critics, called with place, interpreter, config, listen.
    `enough`: the score (of a review: 1 to 5) at which the run ends, or a function that returns True for an attempt that
    ends it; None: it ends when the advisers have no findings. `keeps`: results of calls must not change, including
    calls that no test makes. `refuses(path, before, after)`: returns why this task does not allow such a change ("" if
    it does).
    """

    name: str
    goal: str = ""
    role: str = ""
    rules: tuple[str, ...] = ()
    settings: Mapping[str, object] = field(default_factory=dict)
    given: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    wanted: tuple[str, ...] = ()
    judged: tuple[str, ...] = ()
    drafts: bool = False
    drafted: str = ""
    checks: tuple[Look, ...] = ()
    reward: Reward | None = None
    critics: tuple[Callable[..., Critic], ...] = ()
    enough: float | Callable[[Attempt], bool] | None = None
    keeps: bool = False
    refuses: Callable[[str, bytes | None, bytes | None], str] | None = None

    def is_refinement_sufficient(self, attempt: Attempt) -> bool:
        """Return whether `attempt`, which passes the gates, is good enough although advisers have findings left."""
        if self.enough is None:
            return False
        if callable(self.enough):
            return self.enough(attempt)
        totals = [check.total for check in attempt.checks if check.total is not None]
        return bool(totals) and min(totals) >= self.enough


FIX = Task("fix")
