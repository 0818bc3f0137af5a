"""State of a pool: the project's tests as the servers reported them, their durations and their outcomes in a fork."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from coderefine.core import Status
from coderefine.runner.candidates import Candidate
from coderefine.runner.client_channel import Message
from coderefine.runner.pool_worker import encoded

STATUSES = (None, *(Status(word) for word in ("passed", "failed", "error", "skipped", "xfailed", "xpassed")))
"""Statuses by their byte in a hot server's answer; see agent/server_plugin.py."""
LEAST, BRIEF = 0.06, 0.02
"""CPU seconds that every child may use at first (Scheduler may raise them); BRIEF if tests hang in the unchanged tree,
because most candidates then hang, too."""
ROOM = 6.0
"""Factor of the tests' duration at the baseline; the product is added to LEAST or BRIEF."""

QUICK, TRIED = 0.05, 2.0
"""Maximum seconds of a test that is tried as a direct call, and CPU seconds for trying all these tests."""


@dataclass(slots=True)
class PoolState:
    """State of a pool.

    The fields up to `setup` are set when the servers are ready. The others are set by the baseline run, and some of
    them are updated by later runs.
    """

    tests: tuple[str, ...] = ()
    """Ids of all collected tests, in collection order."""
    broken: Mapping[str, str] = field(default_factory=dict)
    """Nodes that pytest could not collect, such as modules, each with pytest's message."""
    places: Mapping[str, int] = field(default_factory=dict)
    preload: Mapping[str, object] = field(default_factory=dict)
    setup: float = 0.0
    """CPU seconds of importing and collecting the project."""

    seconds: Mapping[str, float] = field(default_factory=dict)
    observed: set[str] = field(default_factory=set)
    """Tests that were run on the unchanged tree by this pool; only these are run on candidates."""
    unfit: frozenset[str] = frozenset()
    """Tests that end differently in a fork than in the cold run: they are never run on candidates."""
    habits: frozenset[str] = frozenset()
    """Files that the project's own tests change."""
    least: float = LEAST
    """CPU seconds every child may use."""
    judging: float = 0.0
    """Seconds of all runs of candidates, over all plans, because a search has many short plans."""
    retried: float = 0.0
    """CPU seconds that were allowed for longer runs of candidates that hung, over all plans, too."""
    never_hot: str = ""
    """Why the hot server cannot judge any candidate; "" if it can."""

    def add(self, ready: Message) -> None:
        """Store the "ready" message that a hot server sends after collection."""
        self.tests, self.broken = tuple(ready["tests"]), ready["broken"]
        self.places = {name: place for place, name in enumerate(self.tests)}
        self.preload, self.setup = ready["preload"], float(ready["cpu"])

    def quick(self) -> list[int]:
        """Return the indices of the fast tests (up to QUICK), where pytest's overhead may exceed the test itself."""
        known = (name for name in self.observed if name in self.places)
        return sorted(self.places[name] for name in known if self.seconds.get(name, 0.0) <= QUICK)

    def fit(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the tests among `names` that can be run on a candidate."""
        known = (name for name in names if name in self.observed or name in self.broken)
        return tuple(name for name in known if name not in self.unfit)

    def limit(self, names: Iterable[str], *, hot: bool) -> float:
        """Return the CPU limit, in seconds, of a child that runs `names`."""
        spent = sum(self.seconds.get(name, 0.0) for name in names)
        return self.least + ROOM * spent + (0.0 if hot else 0.5 + 3.0 * self.setup)

    def statuses(self, answer: Message) -> dict[str, Status]:
        """Decode the statuses in `answer`, by test id: bytes from a hot server, names from a warm one."""
        if "statuses" in answer:
            return {name: Status(status) for name, status in answer["statuses"].items()}
        results = bytes.fromhex(answer["results"])
        found = zip(self.tests, map(STATUSES.__getitem__, results), strict=True)
        return {name: status for name, status in found if status is not None}


def message(
    candidate: Candidate, tests: Sequence[int | str], known: Sequence[int | str], limit: float, *, keep_going: bool
) -> Mapping[str, object]:
    """Build the message "judge `candidate`", for one run of `tests`.

    `known`: tests that may fail (see `Plan`). `limit`: CPU seconds allowed. `keep_going`: whether to go on after a
    failure. Tests are indices for agent/hot_server.py, and ids for agent/warm_server.py.
    """
    return {
        "kind": "judge",
        "files": encoded(candidate.files),
        "tests": list(tests),
        "known": list(known),
        "limit": limit,
        "keep_going": keep_going,
        "rough": candidate.rough,
    }
