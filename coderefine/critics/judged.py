"""The test gate for a task that some tests judge: what fails elsewhere is not its business, and may not get worse."""

from __future__ import annotations

from dataclasses import replace

from coderefine.core import Ask, Check, Critic, Finding, Severity, Task, TestRunner, View
from coderefine.critics.scope import inside


class Judged:
    """`critic` with the findings of other tests than `task.judged` made soft."""

    gate = True

    def __init__(self, critic: Critic, task: Task) -> None:
        self._critic = critic
        self._judged = task.judged
        self.name = critic.name

    @property
    def spent(self) -> float:
        return self._critic.spent if isinstance(self._critic, TestRunner) else 0.0

    def check(self, view: View, ask: Ask) -> Check:
        """Raises what the critic raises."""
        check = self._critic.check(view, ask)
        return replace(check, findings=tuple(map(self._weighed, check.findings)))

    def _weighed(self, finding: Finding) -> Finding:
        ours = bool(self._judged) and inside(finding.path, self._judged)
        return finding if ours else replace(finding, severity=Severity.SOFT)
