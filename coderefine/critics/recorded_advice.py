"""Recorded advice: measured times differ from run to run, so a replay reuses the advisers' results of the first run."""

from __future__ import annotations

from collections.abc import Sequence

from coderefine.core import Ask, Attempt, Check, Comparer, Critic, Verdict, View


def with_records(critic: Critic, attempts: Sequence[Attempt]) -> Critic:
    """Return a critic that takes its results from `attempts` and calls `critic` only for other patches."""
    if not attempts:
        return critic
    return RecordedComparer(critic, attempts) if isinstance(critic, Comparer) else RecordedCritic(critic, attempts)


class RecordedCritic:
    """A critic that returns recorded checks; attempts are identified by the content of the changed files."""

    def __init__(self, critic: Critic, attempts: Sequence[Attempt]) -> None:
        self._critic = critic
        self._attempts = tuple(attempts)
        self.name = critic.name
        self.gate = critic.gate

    def check(self, view: View, ask: Ask) -> Check:
        """Return the recorded check; if there is none, run the critic. Raises the errors of the critic."""
        known = self._known(view, ask)
        return (known and known.check(self.name)) or self._critic.check(view, ask)

    def _known(self, view: View, ask: Ask) -> Attempt | None:
        changed = ask.changed or frozenset()
        alike = (one for one in self._attempts if one.patch.files.keys() == changed)
        return next((one for one in alike if all(view.read(path) == one.patch.files[path] for path in changed)), None)


class RecordedComparer(RecordedCritic):
    """A RecordedCritic for a Comparer; if the recorded attempt was refused, `compare` returns the recorded verdict."""

    def compare(self, view: View, ask: Ask, rivals: Sequence[tuple[View, Check]]) -> Check | Verdict:
        """Return the recorded check or verdict; if there is none, run the adviser. Raises the errors of the adviser."""
        assert isinstance(self._critic, Comparer), "made for those only"
        known = self._known(view, ask)
        if known is None or (known.verdict and not known.check(self.name)):
            return self._critic.compare(view, ask, rivals)
        return known.check(self.name) or known.verdict
