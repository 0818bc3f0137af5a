"""Events by time."""

import itertools
import heapq
from collections.abc import Awaitable, Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Event:
    time: float
    name: str
    action: Callable[[], Awaitable[object]]


class Queue:
    """The earliest event first; events of the same time in the order they came."""

    def __init__(self):
        self._heap = []

    def push(self, *events):
        for event in itertools.chain(events):
            heapq.heappush(self._heap, (event.time, event.name, event))

    def pop(self):
        return heapq.heappop(self._heap)[-1]

    def __len__(self):
        return len(self._heap)
