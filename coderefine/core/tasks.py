"""Tasks: what "done" means for a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from coderefine.core.checks import Finding
from coderefine.core.outcomes import Attempt
from coderefine.core.plugins import Critic

Read = Callable[[str], "str | None"]
"""The text of a repo-relative path in the tree that is judged; None when there is no such text."""
Look = Callable[[Read], Iterable[Finding]]
"""A gate as a function: returns the findings in the tree."""
Reward = Callable[[Read], "float | tuple[float, str]"]
"""Returns a score of the tree (higher is better), optionally with advice on how to raise it."""


@dataclass(frozen=True, slots=True)
class Task:
    """What "done" means. All but the name may be left out: `Task("fix")` is what `coderefine fix` does.

    For the model: `goal` is what is asked of it, `role` a sentence saying who it is, `rules` are sentences it has to
    keep. `given` are files it is shown and may not change, `files` globs of artefacts that are no Python and are shown
    and reviewed all the same.

    `settings`: configuration keys as in TOML, for what the user has not set; `gates` are those that run, while
    `commands`, `criteria` and `protect` are added to the user's.
    `wanted`: the files the work goes into; they count as unfinished until they hold more than at the start, and
    stubs in them until they are written. `judged`: the tests that judge it: those of other files, where they fail,
    are ignored. `drafts`: let the model draft tests, as advice; `drafted`: a new file, handed over with the patch,
    that holds those that pass, marked as drafts ("": none).
    `checks`: gates as functions. `reward`: a score that decides between attempts the gates like equally. `critics`:
    makers of further critics, called with place, interpreter, config, listen.
    `enough`: the score (of a review: 1 to 5) or the test of an attempt that ends the search; None: when no remark
    is left. `keeps`: the code has to answer as before, also calls that no test makes.
    `refuses(path, before, after)`: why this task does not allow such a change ("" when it does).
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
        """Return whether `attempt`, which passes the gates, is good enough although remarks are left."""
        if self.enough is None:
            return False
        if callable(self.enough):
            return self.enough(attempt)
        totals = [check.total for check in attempt.checks if check.total is not None]
        return bool(totals) and min(totals) >= self.enough


FIX = Task("fix")
