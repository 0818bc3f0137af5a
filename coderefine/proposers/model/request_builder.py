"""What one request says: context, what was tried, and what is asked; nothing in it depends on time, place or chance."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from coderefine.config import Config, toml
from coderefine.core import EMPTY, FIX, Attempt, Offer, Patch, Situation, Task
from coderefine.errors import ConfigError
from coderefine.llm.context import Context, Repository, gather, given_files, text_of
from coderefine.llm.normalize import cut
from coderefine.llm.prompts import render, system_message
from coderefine.llm.request import Message, Request
from coderefine.llm.selection import Trace
from coderefine.project import Place, Protection
from coderefine.proposers.model.policies import History, Move
from coderefine.proposers.model.prompt_state import Overlay, PromptState, failed, initial_state, outcome

HOTTEST = 1.2
"""Temperature beyond which models lose the thread."""

REPLY = 8192
"""Tokens an answer may have."""

SHORTEST = 1024
"""Tokens an answer needs to hold an edit, however little room there is."""

GROWTH = 1.09
"""A request may be this many times as long as the one before."""

SMALL, STEP = 3_000, 400
"""One up to `SMALL` characters may grow by `STEP` all the same: it has the room."""

LEAST = 200
"""Characters that the account of what was tried may have in any case: one attempt has to fit."""

MARKS = 72
"""Characters of the lines that set the account off."""

LAST = 8
"""Failed attempts that are listed, the newest ones."""

CHANGE = 160
"""Characters of the changed lines of a listed attempt."""

LIST = 2_400
"""Characters of a list of failed attempts in a request that may have any length."""

PLAUSIBLE = """The tests pass with each of these repairs, so the tests do not say which is right; perhaps none is.
Docstrings, names, callers and similar functions may. Take one of them, or write a better one."""

RULES = ("E4", "E7", "E9", "F")
"""What ruff selects where the project does not say otherwise."""

COLUMNS = 88
"""Its line length then."""


@dataclass(frozen=True, slots=True)
class PromptHistory:
    """What a request repeats: `fault` of the last unusable reply, `advice` of the critic, `versions` in full.

    `size`: characters of the request before.
    """

    history: History
    size: int = 0
    fault: str = ""
    advice: str = ""
    versions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RequestBuilder:
    """Builds the requests about one project. `under`: files that the user's tree has otherwise by now.
    `room`: the share of the usual size that the model can read. `trace`: what the failing tests execute on a tree.
    `needed`: (path, name) of what the model has asked for."""

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
        """The user's files at the run's start, with `patch` over them."""
        return Overlay(self.place.top, Patch({**self.under, **patch.files}))

    @property
    def writable(self) -> Callable[[str], bool]:
        return lambda path: self.protection.reason(path) is None

    def is_code(self, path: str) -> bool:
        """Whether `path` is no test and may be written."""
        return not self.protection.is_test(path) and self.writable(path)

    def edit(
        self, move: Move, state: PromptState, situation: Situation, past: PromptHistory, together: int = 1
    ) -> tuple[Request, Context]:
        """The request that `move` makes, and what it shows. `together`: repairs wanted in one reply."""
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
        model = self.model(move)
        return Request("edit", messages, temperature, model, reply_tokens=self.reply, parts=sizes), context

    def context(self, state: PromptState) -> Context:
        overlay = self.tree(state.patch)
        always = tuple(path for pattern in self.task.files for path in self._matching(pattern))
        answers = (overlay.text, self.protection.is_test, self.writable, (*self.task.wanted, *always))
        repository = Repository(self.place.top, self.place.prefix, *answers, overlay.listing, self.needed)
        found = gather(
            state.findings, state.cases, repository, self.room, lambda: self.trace(state), wide=bool(state.patch)
        )
        code = "\n".join(part for part in (given_files(self.task, overlay.text), found.code) if part)
        return replace(found, code=code)

    def _matching(self, pattern: str) -> list[str]:
        """The artefacts of the user's tree that `pattern` names."""
        top = self.place.top
        return sorted(path.relative_to(top).as_posix() for path in top.glob(pattern) if path.is_file())

    @property
    def reply(self) -> int:
        return max(SHORTEST, int(REPLY * self.room))

    def model(self, move: Move) -> str | None:
        """Who is asked; None for the configured one."""
        models = self.config.models
        return models[min(move.tier, len(models) - 1)] if models else None

    def _tried(self, situation: Situation, past: PromptHistory, room: int) -> str:
        """What is repeated of the past; a ledger in at most `room` characters, the newest attempts first."""
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
    """A line for each of the last failed attempts that fit into `room` characters; empty without any.

    `start` is the tree without a patch.
    """
    known = frozenset(_changes(situation.best.patch, start))
    lines: list[str] = []
    for attempt in failed(situation)[: -LAST - 1 : -1]:
        lines.insert(0, _line(attempt, start, known))
        if sum(map(len, lines)) + len(lines) > room:
            return "\n".join(lines[1:] or [cut(lines[0], room).replace("\n", " ")])
    return "\n".join(lines)


def _line(attempt: Attempt, start: Overlay, known: frozenset[str]) -> str:
    changes = [change for change in _changes(attempt.patch, start) if change not in known]
    changed = cut(" ".join(changes), CHANGE).replace("\n", " ")
    return f"#{attempt.number} {', '.join(sorted(attempt.patch.files))}: {changed} → {outcome(attempt, start)}"


def _changes(patch: Patch, start: Overlay) -> Iterator[str]:
    """Removed and added lines, marked - and +, blank ones left out."""
    for path, data in sorted(patch.files.items()):
        old, new = start.text(path) or "", text_of(data) or ""
        for line in islice(difflib.unified_diff(old.splitlines(), new.splitlines(), n=0, lineterm=""), 2, None):
            if line[0] in "+-" and line[1:].strip():
                yield f"{line[0]}{line[1:].strip()}"


def plausible(offers: Sequence[Offer]) -> str:
    """What a search found plausible, with the inputs on which the alternatives differ; "" without any.

    The model may know from names and docstrings which is meant.
    """
    lines = [PLAUSIBLE]
    for offer in offers:
        for number, alternative in enumerate(offer.alternatives, 1):
            lines += [f"{number}. {alternative.patch.summary}", *offer.diff(alternative)]
        lines += [question.text() for question in offer.questions]
    return "\n".join(lines) if offers else ""


def lint_rules(root: Path, config: Config) -> str:
    """The lint rules that a patch has to keep and the line length, as the project at `root` has them.

    A model cannot know what the project has enabled. Empty without ruff.
    """
    if "ruff" not in config.gates:
        return ""
    table = _ruff_settings(root)
    lint = {**table, **_table(table.get("lint"))}
    chosen = [*(config.select or lint.get("select") or RULES), *lint.get("extend-select", ())]
    ignored = [*config.ignore, *lint.get("ignore", ()), *lint.get("extend-ignore", ())]
    without = f" without {', '.join(map(str, ignored))}" if ignored else ""
    columns = table.get("line-length", COLUMNS)
    return f"Lint: ruff with {', '.join(map(str, chosen))}{without}; lines of at most {columns} characters."


def _ruff_settings(root: Path) -> Mapping[str, Any]:
    """ruff's settings for the project: its own file before pyproject.toml."""
    try:
        for name in (".ruff.toml", "ruff.toml"):
            if (root / name).exists():
                return toml(root / name)
        return _table(_table(toml(root / "pyproject.toml").get("tool")).get("ruff"))
    except ConfigError:
        return {}


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
