"""An adviser's recorded word stands in a replay; what was never recorded is asked anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from coderefine.core import Ask, Attempt, Check, Comparer, Patch, Verdict, View
from coderefine.critics.recorded_advice import with_records
from coderefine.project import locate
from coderefine.workspace import open_views
from tests.support.repo import make_repo


@dataclass
class Clock:
    """Says another time whenever it is asked."""

    name: str = "clock"
    gate: bool = False
    asked: list[str] = field(default_factory=list)

    def check(self, view: View, ask: Ask) -> Check:
        self.asked.append("check")
        return Check(self.name, gate=False, total=float(len(self.asked)))

    def compare(self, view: View, ask: Ask, rivals: Sequence[tuple[View, Check]]) -> Check | Verdict:
        self.asked.append("compare")
        return Check(self.name, gate=False, total=float(len(self.asked)))


def result(total: float) -> tuple[Check, ...]:
    return (Check("clock", gate=False, total=total),)


def patch(text: str) -> Patch:
    return Patch({"a.py": text.encode()})


NO = Verdict(ok=False, reason="clock: not surely faster")
EARLIER = (
    Attempt(0, Patch(), result(70.0)),
    Attempt(1, patch("one = 1\n"), verdict=NO),
    Attempt(2, patch("two = 2\n"), result(90.0)),
)


def test_attempts_are_identified_by_their_changes(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "a", {"a.py": "zero = 0\n"})
    clock = Clock()
    critic = with_records(clock, EARLIER)
    assert isinstance(critic, Comparer)
    with open_views(locate([top], top)) as views:
        with views.open() as view:
            assert critic.check(view, Ask()).total == 70.0

        def compared(text: str) -> Check | Verdict:
            with views.open(patch(text)) as view:
                return critic.compare(view, Ask(changed=frozenset({"a.py"})), ())

        assert compared("one = 1\n") == NO
        assert compared("two = 2\n") == result(90.0)[0]
        assert clock.asked == []
        assert compared("three = 3\n") == result(1.0)[0]
        assert clock.asked == ["compare"]


def test_a_run_without_a_record_calls_the_adviser_itself() -> None:
    clock = Clock()
    assert with_records(clock, ()) is clock
