"""How far the tests of an attempt are let loose."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Needs:
    """What tests did on the untouched tree beyond its view: files changed, secrets read, Unix sockets.

    `write`: files and folders. `unix`: they create Unix sockets; `sockets`: those outside that they connect to.
    `memory`: bytes that their largest process took.
    """

    write: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    sockets: tuple[str, ...] = ()
    unix: bool = False
    memory: int = 0

    def __or__(self, other: Needs) -> Needs:
        return Needs(
            tuple(dict.fromkeys((*self.write, *other.write))),
            tuple(dict.fromkeys((*self.read, *other.read))),
            tuple(dict.fromkeys((*self.sockets, *other.sockets))),
            self.unix or other.unix,
            max(self.memory, other.memory),
        )

    def __bool__(self) -> bool:
        """Whether the tightest bounds are not enough."""
        return bool(self.write or self.read or self.sockets or self.unix)


@dataclass(frozen=True, slots=True)
class Freedom:
    """A step of the ladder from tight to loose (sandbox.steps), and the needs that were seen."""

    step: int = 0
    needs: Needs = Needs()

    def at(self, step: int) -> Freedom:
        return replace(self, step=step)
