"""Delay interrupts during a short piece of work."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))

Handler = Callable[[int, "FrameType | None"], object]


@contextlib.contextmanager
def deferred() -> Iterator[None]:
    """Delay interrupts to the end of the block. Use it only for work of milliseconds.

    Handlers are exchanged instead of blocking signals, because Python runs a handler in the main thread, whichever
    thread got the signal. For the same reason nothing needs to be done in another thread.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    usual: dict[int, Handler] = {}

    def later(number: int, _frame: FrameType | None) -> None:
        came.append(number)

    try:
        for number in SIGNALS:
            if callable(handler := signal.getsignal(number)):
                usual[number] = handler
                signal.signal(number, later)
        yield
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)
        for number in dict.fromkeys(came):
            signal.raise_signal(number)
