"""Progress listeners: a live line on a terminal, plain lines in a log, nothing when quiet."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, TextIO

from coderefine.core import Event, Listen
from coderefine.reports.scene import ProgressState
from coderefine.reports.terminal import colour

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status
    from rich.text import Text


SILENT = 10.0
"""Seconds without news after which a log gets a line."""
STAGES = ("stage", "critic")


@contextlib.contextmanager
def choose(stream: TextIO, environ: Mapping[str, str], *, quiet: bool) -> Iterator[Listen]:
    """Yield a listener that writes to `stream` until the block ends.

    `stream` is stderr, so that stdout holds the report only. In a log, and on a terminal without colour (NO_COLOR,
    TERM=dumb), it writes plain lines.
    """
    if quiet:
        yield lambda _event: None
    elif colour(stream, environ):
        with _live(stream) as listen:
            yield listen
    else:
        plain = Plain(stream)
        with plain.beating():
            yield plain.listen


class Plain:
    """Write one line per event that matters in a log, and one every `SILENT` seconds while nothing happens."""

    def __init__(self, stream: TextIO, silent: float = SILENT) -> None:
        self._stream = stream
        self._silent = silent
        self._lock = threading.Lock()
        self._last = ""
        self._stages: set[str] = set()
        self._scene = ProgressState()
        self._began = self._wrote = time.monotonic()

    @contextlib.contextmanager
    def beating(self) -> Iterator[None]:
        """Until the block ends, write what is going on whenever nothing was written for `SILENT` seconds."""
        over = threading.Event()
        thread = threading.Thread(target=self._beat, args=(over,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _beat(self, over: threading.Event) -> None:
        while not over.wait(max(0.05, self._wrote + self._silent - time.monotonic())):
            with self._lock:
                if time.monotonic() - self._wrote >= self._silent:
                    spent = self._scene.time(time.monotonic() - self._began)
                    self._write(f"  {spent}: {self._scene.line or 'starting'}")

    def listen(self, event: Event) -> None:
        """Take an event; safe from any thread.

        A stream that was closed is ignored.
        """
        line = _line(event)
        with self._lock:
            self._scene = self._scene.after(event)
            if line and line != self._last and not self._again(event):
                self._last = line
                self._write(line)

    def _write(self, line: str) -> None:
        self._wrote = time.monotonic()
        with contextlib.suppress(BrokenPipeError):
            self._stream.write(f"{line}\n")
            self._stream.flush()

    def _again(self, event: Event) -> bool:
        """Return whether this stage was named before: every attempt goes through the same stages."""
        if event.kind not in STAGES:
            return False
        known = event.text in self._stages
        self._stages.add(event.text)
        return known


def _line(event: Event) -> str:
    if event.kind == "attempt":
        return f"attempt {event.done}: {event.text}"
    if event.kind == "verdict":
        return f"  verdict: {event.text or 'accepted'}"
    if event.kind in STAGES:
        return f"stage: {event.text}" if event.text else ""
    if event.kind in ("request", "note"):
        return f"{event.kind}: {event.text}" if event.text else ""
    return ""


@contextlib.contextmanager
def _live(stream: TextIO) -> Iterator[Listen]:
    from rich.console import Console

    console = Console(file=stream, highlight=False, markup=False, emoji=False)
    with console.status("starting") as status:
        yield Live(console, status).listen


class Live:
    """Keep one line up to date: what is done now, how far it is, the time; notes stay above it."""

    def __init__(self, console: Console, status: Status) -> None:
        self._console = console
        self._scene = ProgressState()
        self._lock = threading.Lock()
        self._began = time.monotonic()
        status.update(self)  # drawn anew several times a second, so that the seconds run on

    def __rich__(self) -> Text:
        """Return the line as it is now; the time stays visible where the rest has to be cut."""
        from rich.text import Text

        with self._lock:
            what, spent = self._scene.line or "starting", self._scene.time(time.monotonic() - self._began)
        line = Text(what, no_wrap=True, overflow="ellipsis")
        line.truncate(max(10, self._console.width - len(spent) - 7), overflow="ellipsis")
        return line.append(f" · {spent}")

    def listen(self, event: Event) -> None:
        """Take an event; safe from any thread."""
        from rich.text import Text

        if event.kind == "note" and event.text:
            self._console.print(Text(event.text, "dim"))
        with self._lock:
            self._scene = self._scene.after(event)
