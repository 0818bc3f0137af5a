"""A short stretch of work that an interrupt must not cut in two."""

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
    """Interrupts that come meanwhile are heard at the end. Only for work of milliseconds.

    Handlers are exchanged rather than signals blocked: Python runs a handler in the main thread, whichever thread
    the signal reached. In another thread nothing needs to be done for the same reason.
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
