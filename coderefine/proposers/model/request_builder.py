"""Build deterministic requests: context, earlier attempts, and the question."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from coderefine.config import Config
from coderefine.core import EMPTY, FIX, Attempt, Offer, Patch, Situation, Task
from coderefine.lint import settings as lint_settings
from coderefine.llm.context import Context, SourceTree, gather, given_files
from coderefine.llm.model_request import Message, ModelRequest
from coderefine.llm.normalize import cut
from coderefine.llm.prompts import render, system_message
from coderefine.llm.selection import Trace
from coderefine.project import Place, Protection
from coderefine.proposers.model.policies import History, Move
from coderefine.proposers.model.prompt_state import Overlay, PromptState, failed, initial_state, outcome
from coderefine.source import text_of

HOTTEST = 1.2
"""Maximum temperature; above it answers become incoherent."""
REPLY = 8192
"""Maximum number of tokens of an answer."""
SHORTEST = 1024
"""Minimum number of tokens of an answer that contains an edit."""
GROWTH = 1.09
"""Maximum ratio of the lengths of consecutive requests."""
SMALL, STEP = 3_000, 400
"""A request of up to `SMALL` characters may in any case grow by `STEP` characters."""
LEAST = 200
"""Minimum number of characters for the list of earlier attempts: one attempt must fit."""
MARKS = 72
"""Number of characters of the lines that enclose the list of earlier attempts."""
LAST = 8
"""Maximum number of failed attempts in the list: the newest are listed."""
CHANGE = 160
"""Maximum number of characters of the changed lines of a listed attempt."""
LIST = 2_400
"""Maximum number of characters of the list in a request without a length limit."""
OFFERED = 2_400
"""Maximum number of characters of the description of offered patches."""
PLAUSIBLE = """The tests pass with each of these repairs, so the tests do not say which is right; perhaps none is.
Docstrings, names, callers and similar functions may. Take one of them, or write a better one."""

RULES = ("E4", "E7", "E9", "F")
"""ruff's default rules."""
COLUMNS = 88
"""ruff's default line length."""


@dataclass(frozen=True, slots=True)
class PromptHistory:
    """The history in a request.

    `history`: how earlier attempts are described. `fault`: why the last reply was unusable; "" if it was usable.
    `advice`: the critic model's explanation. `versions`: earlier attempts in full. `size`: number of characters of the
    previous request.
    """

    history: History
    size: int = 0
    fault: str = ""
    advice: str = ""
    versions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RequestBuilder:
    """Builds the requests about one project.

    `under`: files whose content at the run's start differs from the user's tree now. `room`: the share of the
    usual context that the model can read. `trace` returns what the failing tests execute. `needed`:
    (path, name) of code that the model has requested.
    """

    place: Place
    config: Config
    protection: Protection
    under: Mapping[str, bytes | None] = field(default_factory=lambda: EMPTY)
    room: float = 1.0
    task: Task = FIX
    trace: Callable[[PromptState], Trace | None] = lambda _: None
    needed: tuple[tuple[str, str], ...] = ()

    @property
    def start(self) -> Overlay:
        return self.tree(Patch())

    def tree(self, patch: Patch) -> Overlay:
        """Return the user's files at the run's start with `patch` applied."""
        return Overlay(self.place.top, Patch({**self.under, **patch.files}))

    @property
    def writable(self) -> Callable[[str], bool]:
        return lambda path: self.protection.reason(path) is None

    def is_code(self, path: str) -> bool:
        """Return whether `path` is not a test and may be written."""
        return not self.protection.is_test(path) and self.writable(path)

    def edit(
        self, move: Move, state: PromptState, situation: Situation, past: PromptHistory, together: int = 1
    ) -> tuple[ModelRequest, Context]:
        """Return the request for `move`, and its context. `together`: number of repairs to request in one reply."""
        context = self.context(initial_state(situation) if past.history is History.TRANSCRIPT else state)
        system = system_message(self.task)
        ask = state.ask
        if any(finding.critic == "ruff" for finding in state.findings):
            ask += f"\n{lint_rules(self.place.root, self.config)}"
        several = f"\n{render('several', number=str(together))}" if together > 1 else ""
        longest = max(int(past.size * GROWTH), min(past.size, SMALL) + STEP)
        room = longest - len(system) - len(str(context)) - len(ask) - len(several) - MARKS
        tried = section("plausible", plausible(situation.offers)) + self._tried(situation, past, max(LEAST, room))
        parts = {"system": system, "code": context.code, "tests": context.tests, "evidence": context.evidence}
        sizes = tuple((name, len(text)) for name, text in (parts | {"tried": tried, "ask": ask}).items() if text)
        messages = (Message("system", system), Message("user", f"{context}\n{tried}{ask}{several}"))
        temperature = min(HOTTEST, round(self.config.temperature + move.warmth, 2))
        model, reply = self.model(move), max(SHORTEST, int(REPLY * self.room))
        return ModelRequest("edit", messages, temperature, model, reply_tokens=reply, parts=sizes), context

    def context(self, state: PromptState) -> Context:
        overlay = self.tree(state.patch)
        top = self.place.top
        found = (path for pattern in self.task.files for path in sorted(top.glob(pattern)) if path.is_file())
        always = (path.relative_to(top).as_posix() for path in found)
        answers = (overlay.text, self.protection.is_test, self.writable, (*self.task.wanted, *always))
        repository = SourceTree(
            top,
            self.protection.import_roots,
            *answers,
            overlay.listing,
            self.needed,
            lambda path: self.protection.helpers(path, overlay.read(path)),
        )
        context = gather(
            state.findings, state.cases, repository, self.room, lambda: self.trace(state), wide=bool(state.patch)
        )
        code = "\n".join(part for part in (given_files(self.task, overlay.text), context.code) if part)
        return replace(context, code=code)

    def model(self, move: Move) -> str | None:
        """Return the model for `move`; None for the configured one."""
        models = self.config.models
        return models[min(move.tier, len(models) - 1)] if models else None

    def _tried(self, situation: Situation, past: PromptHistory, room: int) -> str:
        """Return the history for the request: the last versions in full, or a list with the newest attempts last.

        `room`: maximum number of characters of the list; but the newest attempt is always listed.
        """
        if past.history is History.TRANSCRIPT:
            kept = past.versions[-max(1, round(len(past.versions) * self.room)) :]
            return section("versions", "\n\n".join(kept))
        if past.history is History.NONE:
            return ""
        advice = cut(past.advice, room // 2)
        lines = ledger(situation, self.start, room - len(advice) - len(past.fault))
        history = "\n".join(part for part in (lines, past.fault) if part)
        return section("tried", history) + section("advice", advice)


def section(name: str, text: str) -> str:
    return f"=== {name}\n{text}\n=== end\n" if text else ""


def ledger(situation: Situation, start: Overlay, room: int = LIST) -> str:
    """Return a line for each of the LAST newest failed attempts, up to `room` characters; "" if no attempt has failed.

    The newest attempt always has a line, with its whole reason. `start`: the tree without a patch.
    """
    known = frozenset(_changes(situation.best.patch, start))
    lines: list[str] = []
    for attempt in failed(situation)[: -LAST - 1 : -1]:
        lines.insert(0, _line(attempt, start, known))
        if sum(map(len, lines)) + len(lines) > room:
            return "\n".join(lines[1:] or lines)
    return "\n".join(lines)


def _line(attempt: Attempt, start: Overlay, known: frozenset[str]) -> str:
    changes = [change for change in _changes(attempt.patch, start) if change not in known]
    changed = cut(" ".join(changes), CHANGE).replace("\n", " ")
    return f"#{attempt.number} {', '.join(sorted(attempt.patch.files))}: {changed} → {outcome(attempt, start)}"


def _changes(patch: Patch, start: Overlay) -> Iterator[str]:
    """Yield the lines that a patch removes and adds, marked - and +, without blank lines."""
    for path, data in sorted(patch.files.items()):
        old, new = start.text(path) or "", text_of(data) or ""
        for line in islice(difflib.unified_diff(old.splitlines(), new.splitlines(), n=0, lineterm=""), 2, None):
            if line[0] in "+-" and line[1:].strip():
                yield f"{line[0]}{line[1:].strip()}"


def plausible(offers: Sequence[Offer]) -> str:
    """Describe the plausible patches in `offers`, and the inputs for which their results differ, see OFFERED.

    From names and docstrings, the model may see which of these patches is right. Offers that repair no test, such as
    rewritings for a lint rule, are left out; return "" if there are no others.
    """
    lines = [PLAUSIBLE]
    offers = [offer for offer in offers if offer.tests]
    for offer in offers:
        for number, alternative in enumerate(offer.alternatives, 1):
            lines += [f"{number}. {alternative.patch.summary}", *offer.diff(alternative)]
        lines += [question.text() for question in offer.questions]
    return cut("\n".join(lines), OFFERED) if offers else ""


def lint_rules(root: Path, config: Config) -> str:
    """Describe the lint rules and the line length of the project at `root`, which a model cannot know.

    Return "" if ruff is no gate.
    """
    if "ruff" not in config.gates:
        return ""
    table = lint_settings(root)
    lint = {**table, **table.get("lint", {})}
    chosen = [*(config.select or lint.get("select") or RULES), *lint.get("extend-select", ())]
    ignored = [*config.ignore, *lint.get("ignore", ()), *lint.get("extend-ignore", ())]
    without = f" without {', '.join(map(str, ignored))}" if ignored else ""
    columns = table.get("line-length", COLUMNS)
    return f"Lint: ruff with {', '.join(map(str, chosen))}{without}; lines of at most {columns} characters."
