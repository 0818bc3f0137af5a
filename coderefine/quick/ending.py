"""Handle termination signals like Ctrl-C, so that everything is cleaned up."""

from __future__ import annotations

import sys

AGAIN = 0.05
"""Seconds until an interrupt that Python ignored is raised once more."""


def interrupt_on_signals() -> None:
    """Let SIGTERM and SIGHUP raise KeyboardInterrupt from now on, unless they are ignored (nohup).

    Python ignores exceptions inside a destructor or a weakref's callback, and an import runs such a callback for each
    module. An interrupt at this moment would be lost, even that of SIGINT; so it is raised again until it has effect.
    """
    import signal  # 4 ms; needed only if there is something to clean up

    before = sys.unraisablehook

    def unraisable(ignored: sys.UnraisableHookArgs) -> None:
        if issubclass(ignored.exc_type, KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, AGAIN)
        else:
            before(ignored)

    for number in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupted)
    if hasattr(signal, "SIGALRM"):
        signal.signal(signal.SIGALRM, _interrupted)
        sys.unraisablehook = unraisable


def _interrupted(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt
