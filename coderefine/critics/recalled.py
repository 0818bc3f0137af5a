"""What an adviser said in a recorded run, said again: a time that was measured does not come out the same twice."""

from __future__ import annotations

from collections.abc import Sequence

from coderefine.core import Ask, Attempt, Check, Comparer, Critic, Verdict, View


def recalled(critic: Critic, attempts: Sequence[Attempt]) -> Critic:
    """`critic`, which itself speaks of nothing that `attempts` hold its word on."""
    if not attempts:
        return critic
    return RecalledComparer(critic, attempts) if isinstance(critic, Comparer) else Recalled(critic, attempts)


class Recalled:
    """Knows an attempt by what it changes."""

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


class RecalledComparer(Recalled):
    """The same for an adviser that compares; a no of his ended the attempt."""

    def compare(self, view: View, ask: Ask, rivals: Sequence[tuple[View, Check]]) -> Check | Verdict:
        """Raises what the critic raises."""
        assert isinstance(self._critic, Comparer), "made for those only"
        known = self._known(view, ask)
        if known is None or (known.verdict and not known.check(self.name)):
            return self._critic.compare(view, ask, rivals)
        return known.check(self.name) or known.verdict
