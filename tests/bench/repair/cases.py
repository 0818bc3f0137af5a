"""The hand-written faults: one text file each with the right program, the change that breaks it, and tests."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent / "handwritten"


@dataclass(frozen=True)
class Written:
    name: str
    about: str
    right: str
    faulty: str
    tests: str

    @property
    def files(self) -> dict[str, str]:
        return {f"{self.name}.py": self.faulty, f"test_{self.name}.py": self.tests}


def load(half: str) -> list[Written]:
    """`held_out` or `development`."""
    return [_read(path) for path in sorted((HERE / half).glob("*.txt"))]


def _read(path: Path) -> Written:
    about, right, old, new, tests = _parts(path.read_text("utf-8"))
    if right.count(old) != 1:
        raise ValueError(f"{path.name}: the text to change occurs {right.count(old)} times")
    return Written(path.stem, about.strip(), right, right.replace(old, new), tests)


def _parts(text: str) -> list[str]:
    rest = text
    found = []
    for mark in ("### code\n", "### change\n", "### into\n", "### tests\n"):
        part, rest = rest.split(mark)
        found.append(part)
    found.append(rest)
    return [found[0], found[1], found[2].rstrip("\n"), found[3].rstrip("\n"), found[4]]
