"""One conversation with a model: a question, its answer as a patch, and one chance to correct it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from coderefine.config import Config
from coderefine.core import Attempt, Case, Finding, Patch, Severity, Situation, Status
from coderefine.errors import ReplyError
from coderefine.llm.client import Client
from coderefine.llm.context import Context, Repository, gather
from coderefine.llm.edits import Tree, apply
from coderefine.llm.prompts import render
from coderefine.llm.reply import NothingToApplyError, parse_reply
from coderefine.llm.request import Answer, Message, Request
from coderefine.llm.steady import cut
from coderefine.llm.structured import ask_json, record
from coderefine.project import Place, Protection
from coderefine.proposers.model.ledger import ORIGIN, failed, ledger, outcome
from coderefine.proposers.model.plan import Base, Move
from coderefine.proposers.model.tree import Overlay

STRIKES = 2
"""Empty replies in a row, or calls in a row without a usable edit, after which asking on is waste."""

ECHO = 3_000
"""Characters of a faulty reply that go back with the request to correct it."""

LESSON = 300
"""Characters of what was wrong with an unusable reply that the next question repeats."""

HOTTEST = 1.2
"""Temperature beyond which models lose the thread."""

DIAGNOSIS = record("diagnosis", cause={"type": "string"}, mistake={"type": "string"}, plan={"type": "string"})


@dataclass(frozen=True, slots=True)
class Ground:
    """What a question stands on: the patch its edits come on top of, and what the tools say about that tree."""

    patch: Patch
    findings: tuple[Finding, ...]
    cases: Mapping[str, Case]
    ask: str


class Talk:
    """Asks, reads and counts failures. Nothing in a question depends on time, place or chance."""

    def __init__(self, place: Place, config: Config, client: Client, protection: Protection) -> None:
        self._place = place
        self._config = config
        self._client = client
        self._protection = protection
        self._start = Overlay(place.top, Patch())
        self._advice = ""
        self._fault = ""
        self._empty = 0
        self._barren = 0

    @property
    def hopeless(self) -> bool:
        """Whether the model has shown that it has nothing usable to say."""
        return self._empty >= STRIKES or self._barren >= STRIKES

    def forget(self) -> None:
        """The tree has improved: what was advised about the old one no longer counts."""
        self._advice = ""

    def patch(self, move: Move, situation: Situation) -> Patch | None:
        """The patch that `move` brings, None when the model gave none. Raises what `Client.ask` raises."""
        if move.critique:
            self._advice = self._critique(situation)
        ground = self._ground(move, situation)
        request, shown = self._request(move, ground, situation)
        for _ in range(2):
            answer = self._client.ask(request)
            try:
                return self._accepted(self._read(answer, ground, shown, situation))
            except ReplyError as fault:
                self._empty = self._empty + 1 if isinstance(fault, NothingToApplyError) else 0
                self._fault = f"an earlier reply was unusable: {cut(str(fault), LESSON)}"
                request = _again(request, answer, fault)
            if self.hopeless:
                return None
        self._barren += 1
        return None

    def _accepted(self, patch: Patch) -> Patch:
        self._empty = self._barren = 0
        self._fault = ""
        return patch

    def _ground(self, move: Move, situation: Situation) -> Ground:
        best = situation.best
        if move.base is Base.START:
            findings = situation.findings if best.number == 0 else _hard(situation.baseline, situation)
            return Ground(Patch(), findings, situation.baseline.cases, render("fresh"))
        lineage = _promising(situation) if move.base is Base.FAILED else None
        if lineage:
            ask = render("repair", number=str(lineage.number), reason=outcome(lineage, self._start))
            return Ground(lineage.patch, _hard(lineage, situation), lineage.cases, ask)
        name = "first" if move.prompt == "first" or not failed(situation) else "other"
        if name == "first" and not any(finding.critic == "pytest" for finding in situation.findings):
            name = "quality"
        return Ground(best.patch, situation.findings, best.cases, render(name))

    def _request(self, move: Move, ground: Ground, situation: Situation) -> tuple[Request, Context]:
        context = self._context(ground)
        history = "\n".join(part for part in (ledger(situation, self._start), self._fault) if part)
        tried = _section("tried", history) + _section("advice", self._advice)
        user = f"{context}\n{tried}{ground.ask}"
        system = render("system")
        parts = {"system": system, "code": context.code, "tests": context.tests, "evidence": context.evidence}
        sizes = tuple((name, len(text)) for name, text in {**parts, "tried": tried, "ask": ground.ask}.items() if text)
        temperature = min(HOTTEST, round(self._config.temperature + move.warmth, 2))
        messages = (Message("system", system), Message("user", user))
        return Request("edit", messages, temperature, parts=sizes), context

    def _context(self, ground: Ground) -> Context:
        overlay = Overlay(self._place.top, ground.patch)
        repository = Repository(
            self._place.top,
            self._place.prefix,
            overlay.text,
            self._protection.is_test,
            lambda path: self._protection.reason(path) is None,
        )
        return gather(ground.findings, ground.cases, repository)

    def _read(self, answer: Answer, ground: Ground, shown: Context, situation: Situation) -> Patch:
        """The patch in `answer`. Raises ReplyError with what to tell the model."""
        if answer.finish == "length":
            raise ReplyError(render("cut"))
        reply = parse_reply(answer.text)
        overlay = Overlay(self._place.top, ground.patch)
        files = apply(reply.blocks, Tree(overlay.read, self._outside, shown.shown))
        summary = self._client.redact(_sentence(reply.prose)) or f"edit {', '.join(sorted(files))}"
        patch = ground.patch.then(files, origin=ORIGIN, summary=summary)
        for attempt in situation.attempts:
            if attempt.patch.files == patch.files:
                number, reason = str(attempt.number), outcome(attempt, self._start)
                raise NothingToApplyError(render("same", number=number, reason=reason))
        return patch

    def _outside(self, path: str) -> str | None:
        """Why no file may be created at `path`: it is not below what was asked for."""
        within = any(scope in (".", path) or path.startswith(f"{scope}/") for scope in self._place.scope)
        return None if within else f"only {', '.join(self._place.scope)} may change"

    def _critique(self, situation: Situation) -> str:
        """What the critic model thinks went wrong; empty when it has nothing to say in the form asked for."""
        ground = Ground(situation.best.patch, situation.findings, situation.best.cases, render("critique"))
        tried = _section("tried", ledger(situation, self._start))
        user = f"{self._context(ground)}\n{tried}{ground.ask}"
        messages = (Message("system", render("critic")), Message("user", user))
        request = Request("critique", messages, 0.2, self._config.critic_model, DIAGNOSIS, reply_tokens=2048)
        try:
            said = ask_json(self._client, request)
        except ReplyError:
            return ""
        return "\n".join(f"{name}: {cut(str(said[name]), 600)}" for name in ("cause", "mistake", "plan"))


def _again(request: Request, answer: Answer, fault: ReplyError) -> Request:
    said = cut(answer.text, ECHO) or "(nothing)"
    told = (Message("assistant", said), Message("user", render("again", problem=str(fault))))
    return replace(request, purpose="again", messages=(*request.messages, *told))


def _section(name: str, text: str) -> str:
    return f"=== {name}\n{text}\n=== end\n" if text else ""


def _hard(attempt: Attempt, situation: Situation) -> tuple[Finding, ...]:
    """The hard findings of `attempt`, flaky tests left out."""
    return tuple(
        finding
        for finding in attempt.findings
        if finding.severity is Severity.HARD and finding.symbol not in situation.flaky
    )


def _promising(situation: Situation) -> Attempt | None:
    """The failed attempt that repairs the most tests of the best tree, the newest among equals; None without any.

    Older ones than the best lack what it gained.
    """
    wanted = [test for test, case in situation.best.cases.items() if case.status.bad]
    rated = [(_repaired(attempt, wanted), attempt.number, attempt) for attempt in failed(situation)]
    rated = [item for item in rated if item[1] > situation.best.number]
    best = max(rated, key=lambda item: item[:2], default=None)
    return best[2] if best and best[0] > 0 else None


def _repaired(attempt: Attempt, wanted: Sequence[str]) -> int:
    cases = attempt.cases
    return sum(1 for test in wanted if test in cases and cases[test].status is Status.PASSED)


def _sentence(prose: str, most: int = 100) -> str:
    """The first sentence of a diagnosis, without Markdown, short enough for a subject line."""
    line = next((line for line in prose.splitlines() if line.strip(" #*`->")), "")
    plain = re.sub(r"[`*_#]{1,3}(?=\S)|(?<=\S)[`*]{1,3}", "", line).strip(" #*->")
    first = re.split(r"(?<=[.!?:])\s", plain, maxsplit=1)[0].rstrip(".:")
    return first if len(first) <= most else f"{first[: most - 1].rsplit(' ', 1)[0]}…"
