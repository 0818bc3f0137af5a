"""How much a forked child may use: what its server uses, and more."""

from __future__ import annotations

import os
import resource
from typing import Optional


def memory_limit(extra: int) -> Optional[int]:
    """Bytes of address space for a child: what this process has mapped, plus `extra`; None where unknown."""
    try:
        with open("/proc/self/statm", "rb") as stream:
            return int(stream.read().split()[0]) * resource.getpagesize() + extra
    except (OSError, ValueError, IndexError):
        return None


def process_limit(extra: int) -> Optional[int]:
    """Processes this user may have: those there are now, plus `extra`. The kernel counts per user and namespace."""
    uid = os.getuid()
    if uid == 0:
        return None
    try:
        names = [name for name in os.listdir("/proc") if name.isdigit()]
        return sum(_owner("/proc/" + name) == uid for name in names) + extra
    except OSError:
        return None


def _owner(path: str) -> int:
    try:
        return os.stat(path).st_uid
    except OSError:
        return -1
