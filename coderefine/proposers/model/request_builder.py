"""A question in words: context, what was tried, and what is asked; nothing in it depends on time, place or chance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from coderefine.config import Config
from coderefine.core import EMPTY, FIX, Patch, Situation, Task
from coderefine.llm.context import Context, Repository, gather
from coderefine.llm.normalize import cut
from coderefine.llm.prompts import render
from coderefine.llm.request import Message, Request
from coderefine.llm.selection import Trace
from coderefine.llm.task import given, system
from coderefine.project import Place, Protection
from coderefine.proposers.model.ledger import ledger
from coderefine.proposers.model.lint_rules import lint_rules
from coderefine.proposers.model.plan import History, Move
from coderefine.proposers.model.plausible import plausible
from coderefine.proposers.model.prompt_state import PromptState, initial_state
from coderefine.proposers.model.tree import Overlay

HOTTEST = 1.2
"""Temperature beyond which models lose the thread."""

REPLY = 8192
"""Tokens an answer may have."""

SHORTEST = 1024
"""Tokens an answer needs to hold an edit, however little room there is."""


GROWTH = 1.09
"""A question may be this many times as long as the one before."""

SMALL, STEP = 3_000, 400
"""One up to `SMALL` characters may grow by `STEP` all the same: it has the room."""

LEAST = 200
"""Characters that the account of what was tried may have in any case: one attempt has to fit."""

MARKS = 72
"""Characters of the lines that set the account off."""


@dataclass(frozen=True, slots=True)
class PromptHistory:
    """What a question repeats: `fault` of the last unusable reply, `advice` of the critic, `versions` in full.

    `size`: characters of the question before.
    """

    history: History
    size: int = 0
    fault: str = ""
    advice: str = ""
    versions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RequestBuilder:
    """How questions about one project are put. `under`: files that the user's tree has otherwise by now.
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
        """The question that `move` asks, and what it shows. `together`: repairs wanted in one reply."""
        context = self.context(initial_state(situation) if past.history is History.TRANSCRIPT else state)
        told = system(self.task)
        if any(finding.critic == "ruff" for finding in state.findings):
            state = replace(state, ask=f"{state.ask}\n{lint_rules(self.place.root, self.config)}")
        several = f"\n{render('several', number=str(together))}" if together > 1 else ""
        longest = max(int(past.size * GROWTH), min(past.size, SMALL) + STEP)
        room = longest - len(told) - len(str(context)) - len(state.ask) - len(several) - MARKS
        tried = section("plausible", plausible(situation.offers)) + self._tried(situation, past, max(LEAST, room))
        named = {"system": told, "code": context.code, "tests": context.tests, "evidence": context.evidence}
        sizes = tuple((name, len(text)) for name, text in {**named, "tried": tried, "ask": state.ask}.items() if text)
        messages = (Message("system", told), Message("user", f"{context}\n{tried}{state.ask}{several}"))
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
        code = "\n".join(part for part in (given(self.task, overlay.text), found.code) if part)
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
