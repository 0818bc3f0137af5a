"""Run one job of the server in a separate process.

A cancelled job thus ends at once, like the command line on an interrupt, and two clients do not disturb each other:
interrupts, the working directory and the list of running processes belong to a whole process. The job is one line of
JSON on stdin; when stdin closes, because the call was cancelled or the server has ended, the job is interrupted. Lines
of JSON are written to stdout: progress, and last the result or an error.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from coderefine import __version__
from coderefine.app import engine, history, pick
from coderefine.app.project import find_project
from coderefine.app.prove import PatchSource, prove
from coderefine.app.request import Destination, Request
from coderefine.app.run import RunResult, run
from coderefine.core import Event, Finding, Listen, Outcome, passed
from coderefine.errors import CoderefineError, SurroundingsError, refused
from coderefine.quick.ending import interrupt_on_signals
from coderefine.reports.formats import blocking, rule, words
from coderefine.reports.progress import ProgressState
from coderefine.reports.rows import checks_row, ending, evidence, notes, numbered_offers, offer_headline
from coderefine.reports.terminal import plain
from coderefine.reports.verdict import proof_rows

Job = Mapping[str, Any]
Result = dict[str, object]

PACE = 0.5
"""Minimum seconds between lines of progress, unless a new stage, check or attempt begins."""
PATIENCE = 20.0
"""Seconds that an interrupted job has to clean up."""


def main() -> None:
    """Run the job on stdin; see the module's docstring."""
    interrupt_on_signals()
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # the output of other code must not be read as our lines
    job = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_interrupt_at_the_end_of_input, daemon=True).start()
    _write(output, _end(job, Progress(output).listen))
    os._exit(0)


def _interrupt_at_the_end_of_input() -> None:
    sys.stdin.buffer.read()
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)
    time.sleep(PATIENCE)
    os._exit(130)


def _end(job: Job, listen: Listen) -> Result:
    """Run the job; return the last line to write: the job's result, or why there is none."""
    try:
        os.chdir(job["folder"])
        return {"result": JOBS[job["do"]](job, listen)}
    except KeyboardInterrupt as interrupt:
        return {"error": str(interrupt) or "interrupted; nothing was written"}
    except CoderefineError as error:
        return {"error": str(error)}
    except OSError as error:
        return {"error": refused(error)}
    except Exception as error:  # any other exception is our bug
        import traceback

        traceback.print_exc()
        return {"error": f"this is a bug in coderefine {__version__}; nothing was written: {error!r}"}


@dataclass(slots=True)
class Progress:
    """Writes the current stage, at most every `PACE` seconds unless a new stage begins."""

    output: BinaryIO
    state: ProgressState = field(default_factory=ProgressState)
    written: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def listen(self, event: Event) -> None:
        """Write the progress after an event, unless the last line is too recent; may be called from any thread."""
        with self.lock:
            self.state = self.state.after(event)
            text = event.text if event.kind == "note" else self.state.line
            begins = event.kind in ("stage", "critic", "attempt", "request", "note")
            if text and (begins or time.monotonic() - self.written > PACE):
                self.written = time.monotonic()
                _write(self.output, {"progress": text})


def _write(output: BinaryIO, line: Mapping[str, object]) -> None:
    with contextlib.suppress(OSError):  # the server has ended, and closed stdin, too
        output.write(json.dumps(line).encode() + b"\n")
        output.flush()


def _check(job: Job, listen: Listen) -> Result:
    checks = engine.check(find_project(job["paths"], {}, listen))
    return {
        "passed": passed(checks),
        "summary": checks_row(checks).text,
        "notes": [row.text for row in notes(checks)],
        "findings": _findings(finding for check in checks for finding in check.findings),
    }


def _findings(findings: Iterable[Finding]) -> list[Result]:
    return [
        {"where": one.where, "rule": rule(one), "message": words(one), "evidence": one.evidence.strip()}
        for one in blocking(findings)
    ]


def _fix(job: Job, listen: Listen) -> Result:
    settings = {"timeout": job["seconds"]} if job["seconds"] else {}
    project = find_project(job["paths"], settings, listen)
    request = Request(("mcp", "fix"), settings, Destination(diff=True), model=job["model"])
    return _outcome(run(project, request, _report_later))


def _apply(job: Job, listen: Listen) -> Result:
    number, destination = job["number"], Destination()
    journal, paths, then = history.recorded(job["run"], listen)
    if number:
        proposer, base = pick.offered(journal, pick.choices(journal, destination), number)
    else:
        proposer, base = pick.kept(journal, destination)
    settings = {**then.settings, "accept": "plausible"}
    again = f"coderefine pick {journal.run} {number}" if number else f"apply run={journal.run}"
    request = Request(("mcp", "apply", journal.run), settings, destination, model=False, again=again)
    project = find_project(paths, settings, listen)
    return _outcome(run(project, request, _report_later, proposers=(proposer,), base=base))


def _report_later(_result: object) -> None:
    """Report nothing: the caller gets the result as a return value."""


def _outcome(result: RunResult) -> Result:
    """Return the end of a run as JSON values."""
    outcome = result.outcome
    best = bool(outcome.best.number)
    return {
        "run": result.run,
        "verdict": outcome.evidence.word if best else "offered" if outcome.offers else "none",
        "summary": ("with the patch: " if best and not result.written else "") + ending(outcome),
        "why": "; ".join(outcome.evidence.doubts),
        "evidence": evidence(outcome.evidence) if best else "",
        "wrote": result.published.line if result.written else "",
        "diff": result.diff.decode("utf-8", "replace"),
        "findings": _findings(outcome.remaining),
        **offered(outcome),
    }


def offered(outcome: Outcome) -> Result:
    """Return the plausible patches by their numbers, the inputs on which they differ, and why none was written."""
    every = tuple(numbered_offers(outcome))
    return {
        "offers": [
            {"number": number, "what": offer_headline(one), "lines": "\n".join(offer.diff(one))}
            for offer, alternatives in every
            for number, one in alternatives
        ],
        "questions": [one.text(alternatives[0][0]) for offer, alternatives in every for one in offer.questions],
        **({"why": "; ".join(offer.why for offer in outcome.offers)} if outcome.offers else {}),
    }


def _prove(job: Job, listen: Listen) -> Result:
    request = Request(("mcp", "prove"), {}, Destination(diff=True), model=False, again="prove")
    result = prove(PatchSource(job["patch"] or None, job["staged"]), request, listen, _report_later)
    outcome, proof = result.outcome, result.outcome.proof
    if proof is None:
        raise SurroundingsError(f"the patch could not be judged ({outcome.stop.value}): {outcome.why}")
    return {
        "run": result.run,
        "proved": proof.verdict.ok,
        "worse": proof.worse,
        "reason": proof.verdict.reason,
        "report": [plain(row, 0) for row in proof_rows(outcome, proof)][:-1],
        "findings": _findings(proof.findings),
    }


def _undo(job: Job, listen: Listen) -> Result:
    return {"run": job["run"], "summary": history.undo(job["run"], listen)}


def _agree(job: Job, listen: Listen) -> Result:
    journal, paths, then = history.recorded(job["run"], listen)
    project = find_project(paths, then.settings, listen)
    agreed = pick.agreeing(project, pick.choices(journal, Destination()), job["that"])
    return {"numbers": [one.number for one in agreed]}


JOBS: Mapping[str, Callable[[Job, Listen], Result]] = {
    "check": _check,
    "fix": _fix,
    "apply": _apply,
    "prove": _prove,
    "undo": _undo,
    "agree": _agree,
}

if __name__ == "__main__":
    main()
