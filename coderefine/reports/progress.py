"""Progress listeners: one updated line on a terminal, plain lines in a log, nothing with `quiet`."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TextIO

from coderefine.core import Cost, Event, Listen
from coderefine.core.plurals import printable
from coderefine.reports.terminal import colour

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status
    from rich.text import Text

SILENT = 10.0
"""Seconds without a new line after which the current stage is written to a log."""
STAGES = ("stage", "critic")
CHOOSING, WAITING = "choosing the next step", "waiting for the model"


@dataclass(frozen=True, slots=True)
class ProgressState:
    """The state that a progress line shows; `after` returns the next state.

    `request`: the last request to a model; while it is set, the run waits for the answer.
    """

    stage: str = ""
    unit: str = ""
    done: int = 0
    total: int | None = None
    attempt: str = ""
    number: int = 0
    request: str = ""
    cost: Cost | None = None
    most: float | None = None

    def after(self, event: Event) -> ProgressState:
        """Return the state after `event`."""
        now = replace(self, cost=event.cost or self.cost, most=event.most or self.most)
        if event.kind == "stage":
            return replace(now, stage=event.text, unit="", done=0, total=None, request="")
        if event.kind == "tests":
            return replace(now, unit="tests", done=event.done, total=event.total, request="")
        if event.kind in ("search", "critic"):
            return replace(now, unit=event.text, done=event.done, total=event.total, request="")
        if event.kind == "attempt":
            return replace(_idle(now), attempt=event.text, number=event.done)
        if event.kind == "verdict":
            return replace(_idle(now), stage=CHOOSING)
        if event.kind == "request":
            return replace(now, request=event.text)
        return now

    def time(self, seconds: float) -> str:
        """Return `12 s of at most 600 s`: the time spent, and the limit if it is known."""
        return f"{seconds:.0f} s" + (f" of at most {self.most:g} s" if self.most else "")

    @property
    def line(self) -> str:
        """Return the text `proof · tests 12/44 · attempt 2: search … · 2 requests · 3,411 tokens · $0.0021`."""
        progress = f"{self.unit} {self.done}/{self.total}" if self.total is not None else self.unit
        attempt = f"attempt {self.number}: {self.attempt}" if self.number else ""
        current = (WAITING, "") if self.request else (self.stage, progress)
        parts = (*current, attempt, self.request, self._spent)
        return " · ".join(part for part in parts if part)

    @property
    def _spent(self) -> str:
        if self.cost is None or not self.cost.requests:
            return ""
        price = "" if self.cost.usd is None else f" · ${self.cost.usd:.4f}"
        return f"{self.cost.tokens:,} tokens{price}"


def _idle(scene: ProgressState) -> ProgressState:
    """Return `scene` without stage, attempt, request and counts: the progress line must not show what is over."""
    return replace(scene, stage="", unit="", done=0, total=None, attempt="", number=0, request="")


@contextlib.contextmanager
def choose(stream: TextIO, environ: Mapping[str, str], *, quiet: bool) -> Iterator[Listen]:
    """Yield a listener that writes to `stream` until the block ends.

    `stream` is stderr, so that stdout contains only the report. In a log, and on a terminal without colour (NO_COLOR,
    TERM=dumb), the listener writes plain lines.
    """
    if quiet:
        yield lambda _event: None
    elif colour(stream, environ):
        from rich.console import Console

        console = Console(file=stream, highlight=False, markup=False, emoji=False)
        with console.status("starting") as status:
            yield Live(console, status).listen
    else:
        plain = Plain(stream)
        with plain.beating():
            yield plain.listen


class Plain:
    """Writes one line for each important event to a log, and the stage if nothing was written for `silent` seconds."""

    def __init__(self, stream: TextIO, silent: float = SILENT) -> None:
        self._stream = stream
        self._silent = silent
        self._lock = threading.Lock()
        self._last = ""
        self._stages: set[str] = set()
        self._state = ProgressState()
        self._began = self._wrote = time.monotonic()

    @contextlib.contextmanager
    def beating(self) -> Iterator[None]:
        """Write the current stage whenever nothing was written for `silent` seconds, until the block ends."""
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
                    spent = self._state.time(time.monotonic() - self._began)
                    self._write(f"  {spent}: {self._state.line or 'starting'}")

    def listen(self, event: Event) -> None:
        """Write a line about an event if it is important and not a repetition; may be called from any thread.

        A closed stream is ignored.
        """
        line = _line(event)
        with self._lock:
            self._state = self._state.after(event)
            if line and line != self._last and not self._again(event):
                self._last = line
                self._write(line)

    def _write(self, line: str) -> None:
        self._wrote = time.monotonic()
        with contextlib.suppress(BrokenPipeError):
            self._stream.write(printable(f"{line}\n", "\n\t"))
            self._stream.flush()

    def _again(self, event: Event) -> bool:
        """Return whether the event is a stage that was reported before: every attempt has the same stages."""
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


class Live:
    """Updates one line with the current step, its progress and the time; notes stay above it."""

    def __init__(self, console: Console, status: Status) -> None:
        self._console = console
        self._state = ProgressState()
        self._lock = threading.Lock()
        self._began = time.monotonic()
        status.update(self)  # drawn several times a second, so that the time is current

    def __rich__(self) -> Text:
        """Return the progress line; if it is too long, the time stays visible and the rest is shortened."""
        from rich.text import Text

        with self._lock:
            what, spent = self._state.line or "starting", self._state.time(time.monotonic() - self._began)
        line = Text(printable(what), no_wrap=True, overflow="ellipsis")
        line.truncate(max(10, self._console.width - len(spent) - 7), overflow="ellipsis")
        return line.append(f" · {spent}")

    def listen(self, event: Event) -> None:
        """Update the progress line for an event; may be called from any thread."""
        from rich.text import Text

        if event.kind == "note" and event.text:
            self._console.print(Text(printable(event.text), "dim"))
        with self._lock:
            self._state = self._state.after(event)
