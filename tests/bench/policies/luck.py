"""A scripted model: each sample is right with probability p, else one of the ways in which models waste a round.

What sample number i of case c is depends on nothing but (seed, p, c, i): every policy meets the same luck, and the
model neither learns nor tires. It reads its prompt only to copy the line that it edits.
"""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.support.llm_server import Reply, Seen

WASTE: Mapping[str, int] = {"wrong": 30, "repeat": 20, "no-op": 15, "A-B-A": 10, "syntax": 15, "test edit": 10}
"""What a sample is when it is not right, in per cent."""

RIGHT = "    return amount * (100 - percent) / 100"
START = "    return amount - percent"
PROSE = (
    "The discount is subtracted as if it were an amount of money, but `percent` is a share of the price: the "
    "tests expect 200 with 10 per cent off to be 180 and 80 with 25 per cent off to be 60, which only holds when the "
    "share is taken of the amount itself. The other functions of the module are not involved and stay as they are."
)
LINE = re.compile(r"^def reduced\(.*\n(?: +\"\"\".*\n)?( +return .*)$", re.MULTILINE)


@dataclass
class Case:
    """One conversation: how many samples were drawn, and what was said before."""

    drawn: int = 0
    said: list[str] = field(default_factory=list)
    right_at: int | None = None
    requests: int = 0

    @property
    def after(self) -> int:
        """Requests that came after the right answer."""
        return 0 if self.right_at is None else self.requests - self.right_at


@dataclass
class Luck:
    """The model behind the server. Its name in a request says who asks: `policy/probability/case`.

    `single`: the server gives one answer per request, whatever it is asked for.
    """

    seed: int = 1
    single: bool = False
    cases: dict[str, Case] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, seen: Seen) -> Reply:
        with self.lock:
            case = self.cases.setdefault(seen.body["model"], Case())
            case.requests += 1
            if "response_format" in seen.body:
                return Reply('{"cause": "the percentage", "mistake": "it is subtracted", "plan": "take a share of it"}')
            if "Do not write the code" in seen.prompt:
                return Reply(PROSE)
            _, chance, name = seen.body["model"].split("/")
            said = [self._sample(case, float(chance), name, seen) for _ in range(wanted(seen, single=self.single))]
            if self.single:
                return Reply("\n".join(f"CANDIDATE {place}\n{text}" for place, text in enumerate(said, 1)))
            first, *more = said
            return Reply(first, more=tuple(more))

    def _sample(self, case: Case, chance: float, name: str, seen: Seen) -> str:
        dice = random.Random(f"{self.seed}:{chance}:{name}:{case.drawn}")
        case.drawn += 1
        if dice.random() < chance:
            case.right_at = case.right_at or case.requests
            return edit(current(seen), RIGHT)
        kind = dice.choices(list(WASTE), list(WASTE.values()))[0]
        return _wasted(kind, case, current(seen), dice)


def _wasted(kind: str, case: Case, line: str, dice: random.Random) -> str:
    if kind == "no-op":
        return edit(line, line)
    if kind == "test edit":
        return edit("    assert reduced(200, 10) == 180", "    assert reduced(200, 10)", "test_tariff.py")
    if kind == "syntax":
        return edit(line, f"    return (amount - percent * {dice.randrange(9)}")
    if kind == "repeat" and case.said:
        return edit(line, case.said[-1])
    if kind == "A-B-A":
        return edit(line, case.said[-2] if len(case.said) > 1 else START)
    case.said.append(f"    return amount - percent - {dice.randrange(1000, 10**6)}")
    return edit(line, case.said[-1])


def wanted(seen: Seen, *, single: bool) -> int:
    """How many samples a request asks for: by its `n`, or in words."""
    told = re.search(r"Give (\d+) different repairs", seen.prompt)
    number = int(told[1]) if told else 1
    return number if single else number * int(seen.body.get("n", 1))


def current(seen: Seen) -> str:
    """The faulty line as the prompt shows it last."""
    return str(LINE.findall(seen.prompt)[-1])


def edit(old: str, new: str, path: str = "tariff.py") -> str:
    return f"{PROSE}\n\n{path}\n<<<<<<< SEARCH\n{old}\n=======\n{new}\n>>>>>>> REPLACE\n"
