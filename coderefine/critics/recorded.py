"""Recorded advice: measured times differ from run to run, so a replay reuses what an adviser said in the first run."""

from __future__ import annotations

from collections.abc import Sequence

from coderefine.core import Ask, Attempt, Check, Comparer, Critic, Verdict, View


def with_records(critic: Critic, attempts: Sequence[Attempt]) -> Critic:
    """Reuse recorded results; call the critic only for patches that `attempts` hold no result for."""
    if not attempts:
        return critic
    return RecordedComparer(critic, attempts) if isinstance(critic, Comparer) else Recorded(critic, attempts)


class Recorded:
    """Recognises an attempt by the content of the files it changes."""

    def __init__(self, critic: Critic, attempts: Sequence[Attempt]) -> None:
        self._critic = critic
        self._attempts = tuple(attempts)
        self.name = critic.name
        self.gate = critic.gate

    def check(self, view: View, ask: Ask) -> Check:
        """Raises what the critic raises."""
        known = self._known(view, ask)
        return (known and known.check(self.name)) or self._critic.check(view, ask)

    def _known(self, view: View, ask: Ask) -> Attempt | None:
        changed = ask.changed or frozenset()
        alike = (one for one in self._attempts if one.patch.files.keys() == changed)
        return next((one for one in alike if all(view.read(path) == one.patch.files[path] for path in changed)), None)


class RecordedComparer(Recorded):
    """The same for an adviser that compares; where it refused, the attempt ended with its verdict."""

    def compare(self, view: View, ask: Ask, rivals: Sequence[tuple[View, Check]]) -> Check | Verdict:
        """Raises what the critic raises."""
        assert isinstance(self._critic, Comparer), "made for those only"
        known = self._known(view, ask)
        if known is None or (known.verdict and not known.check(self.name)):
            return self._critic.compare(view, ask, rivals)
        return known.check(self.name) or known.verdict
