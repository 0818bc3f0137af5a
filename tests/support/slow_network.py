"""A network namespace (Linux, root) whose connection to this one delays packets and loses some."""

from __future__ import annotations

import fcntl
import heapq
import os
import random
import select
import shutil
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
"""From linux/if_tun.h."""
DEVICE = "/dev/net/tun"


def is_possible() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0 and os.path.exists(DEVICE) and bool(shutil.which("ip"))  # noqa: PTH110


@dataclass
class SlowNetwork:
    """A thread that carries packets between two devices. `delay`: seconds each way; `loss`: share of the packets."""

    name: str
    here: str
    there: str
    delay: float
    loss: float
    ends: tuple[int, int]
    carried: int = 0
    ended: threading.Event = field(default_factory=threading.Event)

    @property
    def inside(self) -> tuple[str, ...]:
        """Return the beginning of a command that runs in the namespace."""
        return ("ip", "netns", "exec", self.name)

    def carry(self) -> None:
        chance, late = random.Random(1), list[tuple[float, int, int, bytes]]()
        other = dict(zip(self.ends, reversed(self.ends), strict=True))
        while not self.ended.is_set():
            wait = max(0.0, late[0][0] - time.monotonic()) if late else 0.1
            for end in select.select(self.ends, (), (), min(wait, 0.1))[0]:
                packet = os.read(end, 1 << 16)
                self.carried += len(packet)
                if chance.random() >= self.loss:
                    heapq.heappush(late, (time.monotonic() + self.delay, self.carried, other[end], packet))
            while late and late[0][0] <= time.monotonic():
                _, _, end, packet = heapq.heappop(late)
                os.write(end, packet)


@contextmanager
def slow_network(delay: float, loss: float) -> Iterator[SlowNetwork]:
    """Yield a network of a new namespace; its two addresses are `here` and `there`."""
    number = os.getpid() % 60_000
    name, net = f"slow{number}", f"10.{200 + number // 250 % 50}.{number % 250}"
    ends = (_device(f"{name}a"), _device(f"{name}b"))
    made = SlowNetwork(name, f"{net}.1", f"{net}.2", delay, loss, ends)
    thread = threading.Thread(target=made.carry, daemon=True)
    _ip("netns", "add", name)
    try:
        _ip("link", "set", f"{name}b", "netns", name)
        for own, address, device in (((), made.here, "a"), (("-n", name), made.there, "b")):
            _ip(*own, "addr", "add", f"{address}/24", "dev", f"{name}{device}")
            _ip(*own, "link", "set", f"{name}{device}", "up")
        _ip("-n", name, "link", "set", "lo", "up")
        thread.start()
        yield made
    finally:
        made.ended.set()
        if thread.is_alive():
            thread.join()
        for end in ends:
            os.close(end)
        _ip("netns", "del", name)


def _device(name: str) -> int:
    handle = os.open(DEVICE, os.O_RDWR)
    fcntl.ioctl(handle, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    return handle


def _ip(*argv: str) -> None:
    subprocess.run(("ip", *argv), check=True, capture_output=True)
