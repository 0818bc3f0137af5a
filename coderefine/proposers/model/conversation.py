"""One conversation with a model: questions, their answers as patches, and one chance to correct each."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import replace
from itertools import count

from coderefine.core import Patch, Situation
from coderefine.errors import ReplyError, TooLongError
from coderefine.llm.client import Client
from coderefine.llm.context import Context, fenced, mark
from coderefine.llm.edits import Tree, apply
from coderefine.llm.folding import MARKED
from coderefine.llm.normalize import cut
from coderefine.llm.prompts import render
from coderefine.llm.reply import Block, NothingToApplyError, PartlyUsableError, candidates, needs, parse_reply, refused
from coderefine.llm.request import Answer, Message, Request
from coderefine.llm.structured import ask_json, record
from coderefine.llm.task import system
from coderefine.proposers.model.code_lookup import CodeLookup, Need
from coderefine.proposers.model.ledger import ORIGIN, failed, ledger, outcome
from coderefine.proposers.model.plan import History, Move, Policy
from coderefine.proposers.model.prompt_state import PromptState, choose_state, initial_state, state_after
from coderefine.proposers.model.request_builder import PromptHistory, RequestBuilder, section

FAILURES = 2
"""Failed attempts after which the critic is asked."""

PARROT = 3
"""Equal replies in a row after which further requests are waste: the model ignores what it is told."""

BARREN = 12
"""Unusable replies in a row, however different, after which further requests are waste."""

ECHO = 3_000
"""Characters of a faulty reply that go back with the request to correct it."""

NEEDS = 3
"""Times that one question is answered with code that the model asks for."""

NARROWEST = 0.15
"""Share of the usual prompt below which there is nothing left to cut."""

DIAGNOSIS = record("diagnosis", cause={"type": "string"}, mistake={"type": "string"}, plan={"type": "string"})


class Conversation:
    """Asks, reads and counts failures. Lives as long as one run's proposals."""

    def __init__(self, builder: RequestBuilder, client: Client, policy: Policy) -> None:
        self._builder = builder
        self._place = builder.place
        self._config = builder.config
        self._client = client
        self._history = PromptHistory(policy.history)
        self._told = 0
        self._said = ""
        self._same = 0
        self._barren = 0
        self._least = 0
        self.refusal = ""

    @property
    def hopeless(self) -> bool:
        """Whether the model has shown that it has nothing usable to say, or says itself that there is no repair."""
        return bool(self.refusal) or self._same >= PARROT or self._barren >= BARREN

    def escalated(self, move: Move) -> bool:
        """Whether a stronger model than the one `move` asked is asked from now on: what one cannot, the next may."""
        tier = max(move.tier, self._least) + 1
        if tier >= len(self._config.models):
            return False
        self._least, self._said, self._same, self._barren, self.refusal = tier, "", 0, 0, ""
        return True

    def forget(self) -> None:
        """The tree has improved: what was advised about the old one no longer counts."""
        self._history = replace(self._history, advice="")

    def patches(self, move: Move, situation: Situation) -> Generator[Patch, None, None]:
        """The patches that `move` brings, none when no answer was usable. Raises what `Client.ask` raises."""
        move = replace(move, tier=max(move.tier, self._least))
        self._recall(move, situation)
        base = choose_state(move, situation, self._builder.start, self._builder.writable, self._builder.task)
        known = [attempt.patch.files for attempt in situation.attempts]
        faulty: list[tuple[Request, Answer, ReplyError]] = []
        for asked, said, shown in self._answers(move, base, situation):
            request, answer = self._informed(asked, said, base)
            try:
                patch = self._accepted(answer, self._read(answer, base, shown, situation))
            except ReplyError as fault:
                self._unusable(answer, fault)
                faulty.append((request, answer, fault))
            else:
                if patch.files not in known:
                    known.append(patch.files)
                    yield patch
            if self.hopeless:
                return
        if faulty and move.correct and len(known) == len(situation.attempts):
            yield from self._corrected(*faulty[0], base, situation)

    def _recall(self, move: Move, situation: Situation) -> None:
        """What the question needs of the past: the tale of all versions, a critique of the failures."""
        if self._history.history is History.TRANSCRIPT:
            self._retell(situation)
        if move.critique and len(failed(situation)) >= FAILURES:
            self._history = replace(self._history, advice=self._critique(situation))

    def _answers(
        self, move: Move, base: PromptState, situation: Situation
    ) -> Iterator[tuple[Request, Answer, Context]]:
        """Each answer with its question; one that is longer than the model can read is asked again, shorter."""
        while True:
            together = self._together(move)
            request, shown = self._builder.edit(move, base, situation, self._history, together)
            try:
                own = self._config.samples
                number = 1 if together > 1 else own or move.samples
                with closing(self._client.sample(request, number, fill=own > 0)) as answers:
                    self._history = replace(self._history, size=request.chars)
                    yield from ((request, one, shown) for answer in answers for one in _apart(answer, together))
            except TooLongError:
                if self._builder.room / 2 < NARROWEST:
                    raise
                self._builder = replace(self._builder, room=self._builder.room / 2)
            else:
                return

    def _together(self, move: Move) -> int:
        """How many repairs one reply should hold: several, where the server does not give several replies."""
        alone = self._client.gives_one(self._builder.model(move))
        return move.samples if alone and not self._config.samples else 1

    def _corrected(
        self, request: Request, answer: Answer, fault: ReplyError, base: PromptState, situation: Situation
    ) -> Iterator[Patch]:
        """What comes of telling the model once why its reply is unusable; a useless one is not worth it."""
        if isinstance(fault, NothingToApplyError):
            return
        try:
            again = self._client.ask(_again(request, answer, fault))
        except TooLongError:
            return
        kept = fault.fine if isinstance(fault, PartlyUsableError) else ()
        try:
            yield self._accepted(again, self._read(again, base, self._builder.context(base), situation, kept))
        except ReplyError as second:
            self._unusable(again, second)

    def _informed(self, request: Request, answer: Answer, base: PromptState) -> tuple[Request, Answer]:
        """The answer once the model has seen the code that it asks for, and the request that it answers."""
        answers = CodeLookup(self._builder.tree(base.patch), self._place.prefix)
        for _ in range(0 if refused(answer.text) else NEEDS):
            fresh = [need for need in answers.wanted(answer.text) if not _is_shown(answers.code(need), request)]
            if not fresh:
                break
            self._builder = replace(self._builder, needed=(*self._builder.needed, *fresh))
            try:
                longer = _given(request, answer, {need: answers.code(need) for need in fresh})
                request, answer = longer, self._client.ask(longer)
            except TooLongError:
                break
        return request, answer

    def _unusable(self, answer: Answer, fault: ReplyError) -> None:
        self._same = self._same + 1 if answer.text == self._said else 1
        self._said = answer.text
        self._barren += 1
        lesson = f"an earlier reply was unusable: {str(fault).splitlines()[0]}"
        versions = self._history.versions
        if self._history.history is History.TRANSCRIPT:
            versions = (*versions, f"A reply: {cut(answer.text, ECHO)}\nFeedback: {lesson}")
        self._history = replace(self._history, fault=lesson, versions=versions)

    def _accepted(self, answer: Answer, patch: Patch) -> Patch:
        self._said, self._same, self._barren = answer.text, 1, 0
        self._history = replace(self._history, fault="")
        return patch

    def _read(
        self, answer: Answer, base: PromptState, shown: Context, situation: Situation, kept: tuple[Block, ...] = ()
    ) -> Patch:
        """The patch in `answer`, with the blocks `kept` of the one before. Raises ReplyError with what to tell the
        model; a reply that there is no repair is remembered."""
        if answer.finish == "length":
            raise ReplyError(render("cut"))
        self.refusal = self._client.redact(refused(answer.text) or "")
        overlay = self._builder.tree(base.patch)
        if asked := needs(answer.text):
            unknown = CodeLookup(overlay, self._place.prefix).unknown(answer.text)
            raise ReplyError(f"there is no {', '.join(unknown)}" if unknown else f"{_named(asked)} is shown above")
        reply = parse_reply(answer.text)
        files = _applied(reply.blocks, kept, Tree(overlay.read, self._outside, shown.shown))
        summary = self._client.redact(_sentence(reply.prose)) or f"edit {', '.join(sorted(files))}"
        patch = base.patch.then(files, origin=ORIGIN, summary=summary)
        for attempt in situation.attempts:
            if attempt.patch.files == patch.files:
                number, reason = str(attempt.number), outcome(attempt, self._builder.start)
                raise NothingToApplyError(render("same", number=number, reason=reason))
        return patch

    def _outside(self, path: str) -> str | None:
        """Why no file may be created at `path`: it is not below what was asked for."""
        within = any(scope in (".", path) or path.startswith(f"{scope}/") for scope in self._place.scope)
        return None if within else f"only {', '.join(self._place.scope)} may change"

    def _critique(self, situation: Situation) -> str:
        """What the critic model thinks went wrong; empty when it has nothing to say in the form asked for."""
        base = PromptState(situation.best.patch, situation.findings, situation.best.cases, render("critique"))
        tried = section("tried", ledger(situation, self._builder.start))
        user = f"{self._builder.context(base)}\n{tried}{base.ask}"
        messages = (Message("system", render("critic")), Message("user", user))
        model = self._config.critic_model or (self._config.models[-1] if self._config.models else None)
        try:
            said = ask_json(self._client, Request("critique", messages, 0.2, model, DIAGNOSIS, reply_tokens=2048))
        except (ReplyError, TooLongError):
            return ""
        return "\n".join(f"{name}: {cut(str(said[name]), 600)}" for name in ("cause", "mistake", "plan"))

    def _retell(self, situation: Situation) -> None:
        """Add every attempt since the last question in full, with the model's own feedback on it (the plain loop)."""
        for attempt in situation.attempts[self._told :]:
            if attempt.patch.origin == ORIGIN:
                base = state_after(attempt, situation, self._builder.writable)
                shown = self._builder.context(base)
                reason = outcome(attempt, self._builder.start)
                told = {"number": str(attempt.number), "code": f"{shown.code}\n{shown.evidence}", "reason": reason}
                so_far = "\n\n".join((*self._history.versions, render("version", **told, feedback="")))
                feedback = self._feedback(initial_state(situation), so_far)
                versions = (*self._history.versions, render("version", **told, feedback=feedback))
                self._history = replace(self._history, versions=versions)
        self._told = len(situation.attempts)

    def _feedback(self, base: PromptState, versions: str) -> str:
        """The model's own words on its last version; none once all of them are more than it can read."""
        user = f"{self._builder.context(base)}\n{section('versions', versions)}{render('feedback')}"
        try:
            messages = (Message("system", system(self._builder.task)), Message("user", user))
            return self._client.ask(Request("feedback", messages, 0.2)).text
        except TooLongError:
            return ""


def _apart(answer: Answer, number: int) -> Iterator[Answer]:
    """Each of the repairs in `answer` as an answer of its own; only the last of them can have been cut."""
    parts = candidates(answer.text) if number > 1 else (answer.text,)
    for place, part in enumerate(parts, 1):
        yield replace(answer, text=part, finish=answer.finish if place == len(parts) else "stop")


def _applied(blocks: tuple[Block, ...], kept: tuple[Block, ...], tree: Tree) -> Mapping[str, bytes]:
    """The files with `blocks`, and with those of `kept` that they do not replace. Raises what `apply` raises."""
    searched = {(block.path, block.splits[0][0]) for block in blocks}
    others = [block for block in kept if (block.path, block.splits[0][0]) not in searched]
    if others:
        together = (*others, *(replace(block, path=block.path or others[-1].path) for block in blocks))
        numbered = tuple(replace(block, number=number) for number, block in enumerate(together, 1))
        with suppress(ReplyError):
            return apply(numbered, tree)
    return apply(blocks, tree)


def _is_shown(code: str, request: Request) -> bool:
    """Whether all of `code` is in the request already."""
    said = {line.strip() for message in request.messages for line in MARKED.sub("", message.text).splitlines()}
    return all(line.strip() in said for line in code.splitlines())


def _named(asked: tuple[Need, ...]) -> str:
    return ", ".join(":".join(filter(None, need)) for need in asked)


def _given(request: Request, answer: Answer, codes: Mapping[Need, str]) -> Request:
    """The conversation with the code that the model asked for."""
    sign = mark(codes.values())
    code = "\n".join(fenced("file", path, code, sign) for (path, _), code in codes.items())
    told = (Message("assistant", cut(answer.text, ECHO)), Message("user", render("given", code=code)))
    return replace(request, purpose="need", samples=1, messages=(*request.messages, *told))


def _again(request: Request, answer: Answer, fault: ReplyError) -> Request:
    said = cut(answer.text, ECHO) or "(nothing)"
    told = (Message("assistant", said), Message("user", render("again", problem=str(fault))))
    return replace(request, purpose="again", messages=(*request.messages, *told))


CODE = re.compile(r"(`+)(.+?)\1")
EMPHASIS = re.compile(r"(?<![\w*])(\*{1,3})(?=[^\s*])(.+?)(?<=[^\s*])\1(?![\w*])")
BULLET = re.compile(r"^\s*(?:#+|[-*>]|\d+\.)\s+")


def _plain(line: str) -> str:
    """`line` without Markdown; asterisks and underscores that are no emphasis stay, in code all of them."""
    text = BULLET.sub("", line)
    codes, numbers = [match[2] for match in CODE.finditer(text)], count()
    hidden = CODE.sub(lambda _: f"\0{next(numbers)}\0", text)
    while (bare := EMPHASIS.sub(r"\2", hidden)) != hidden:
        hidden = bare
    return re.sub("\0(\\d+)\0", lambda match: codes[int(match[1])], hidden).strip()


def _sentence(prose: str, most: int = 100) -> str:
    """The first sentence of a diagnosis, without Markdown, short enough for a subject line."""
    line = next((line for line in prose.splitlines() if line.strip(" #*`->")), "")
    first = re.split(r"(?<=[.!?:])\s", _plain(line), maxsplit=1)[0].rstrip(".:")
    return first if len(first) <= most else f"{first[: most - 1].rsplit(' ', 1)[0]}…"
