"""Handle termination signals like Ctrl-C, so that everything is cleaned up."""

from __future__ import annotations


def interrupt_on_signals() -> None:
    """Let SIGTERM and SIGHUP raise KeyboardInterrupt from now on, unless they are ignored (nohup)."""
    import signal  # 4 ms; needed only if there is something to clean up

    for number in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupted)


def _interrupted(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt
