"""A conversation with a model: requests, the patches in its answers, and one correction of each unusable answer."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import replace

from coderefine.core import PLAUSIBLE, Attempt, Patch, Situation
from coderefine.errors import BudgetError, ModelError, ReplyError, TooLongError
from coderefine.llm.client import Client
from coderefine.llm.context import Context
from coderefine.llm.edits import NOTHING_KEPT, EditableFiles, apply
from coderefine.llm.folding import MARKED
from coderefine.llm.model_request import CUT, Answer, Message, ModelRequest
from coderefine.llm.normalize import cut, fenced, mark
from coderefine.llm.prompts import render, system_message
from coderefine.llm.reply import (
    Block,
    Kept,
    NothingToApplyError,
    PartlyUsableError,
    Reply,
    candidates,
    first_sentence,
    is_prose,
    needs,
    parse_reply,
    refused,
)
from coderefine.llm.structured import ask_json, record
from coderefine.proposers.model.code_lookup import CodeLookup, PrivateFiles
from coderefine.proposers.model.policies import History, Move
from coderefine.proposers.model.prompt_state import (
    ORIGIN,
    PromptState,
    best_state,
    choose_state,
    failed,
    initial_state,
    outcome,
    state_after,
)
from coderefine.proposers.model.request_builder import PromptHistory, RequestBuilder, ledger, section

FAILURES = 2
"""Number of failed attempts after which the critic model is asked."""
EQUAL = 3
"""Number of equal consecutive replies after which no more requests are sent: the model ignores its feedback.

Equal replies to one request count as one.
"""
UNUSABLE = 12
"""Number of consecutive unusable replies after which no more requests are sent."""
ECHO = 3_000
"""Maximum number of characters of a faulty reply that are included in the request to correct it."""
NEEDS = 3
"""Maximum number of times that code requested by the model is added to one request."""
NARROWEST = 0.15
"""Minimum share of the usual prompt length; shorter prompts are not tried."""
DIAGNOSIS = record("diagnosis", cause={"type": "string"}, mistake={"type": "string"}, plan={"type": "string"})


class Conversation:
    """Sends requests, parses answers and counts unusable replies, during one run."""

    def __init__(self, builder: RequestBuilder, client: Client, history: History) -> None:
        self._builder = builder
        self._place = builder.place
        self._config = builder.config
        self._private = PrivateFiles(builder.place)
        self._client = client
        self._history = PromptHistory(history)
        self._retold = 0
        self._last_reply = ""
        self._equal = 0
        self._unusable = 0
        self._tier = 0
        self.refusal = ""
        self.coming: tuple[Patch, ...] = ()
        """The patches in the answers of this round, if the conversation has waited for all answers."""

    @property
    def hopeless(self) -> bool:
        """Return whether further requests are useless.

        This is the case if too many replies were unusable, if the model repeats its reply, or if it sees no repair.
        """
        return bool(self.refusal) or self._equal >= EQUAL or self._unusable >= UNUSABLE

    def escalate(self, move: Move) -> bool:
        """Use a stronger model than that of `move` from now on; return whether there is a stronger one."""
        tier = max(move.tier, self._tier) + 1
        if tier >= len(self._config.models):
            return False
        self._tier, self._last_reply, self._equal, self._unusable, self.refusal = tier, "", 0, 0, ""
        return True

    def forget(self) -> None:
        """Discard the advice about the old tree, which has been improved."""
        self._history = replace(self._history, advice="")

    def patches(self, move: Move, situation: Situation, *, together: bool = False) -> Generator[Patch, None, None]:
        """Request and yield the patches for `move`; none if no answer is usable. Raises the errors of `Client.ask`.

        `together`: wait for all answers first, and set `coming`. A BudgetError says why the last answer was unusable.
        """
        try:
            yield from self._patches(move, situation, together=together)
        except BudgetError as error:
            fault = self._client.redact(re.split(r"(?<=\.)\s", self._history.fault)[0])  # the rest is for the model
            raise BudgetError(error.which, "; ".join(filter(None, (str(error), fault)))) from error

    def _patches(self, move: Move, situation: Situation, *, together: bool) -> Iterator[Patch]:
        move = replace(move, tier=max(move.tier, self._tier))
        self._recall(move, situation)
        state = choose_state(move, situation, self._builder.start, self._builder.writable, self._builder.task)
        known = [attempt.patch.files for attempt in _used_up(situation.attempts)]
        before = len(known)
        faulty: list[tuple[ModelRequest, Answer, ReplyError]] = []
        refusals: list[str] = []
        answers = self._answers(move, state, situation)
        for first, reply, shown in _different(self._collected(answers, state, situation) if together else answers):
            request, answer = self._with_needed_code(first, reply, state)
            refusals.append(self._refusal(answer))
            patch = self._read(answer, state, shown, situation)
            if isinstance(patch, ReplyError):
                faulty.append((request, answer, patch))
            elif patch.files not in known:
                known.append(patch.files)
                yield patch
        self.refusal = next(iter(refusals), "") if all(refusals) else ""
        if not self.hopeless and move.correct and len(known) == before:
            yield from self._corrected(faulty, state, situation)

    def _recall(self, move: Move, situation: Situation) -> None:
        """Add to the history what the next prompt needs.

        In transcript mode, add all new attempts of the model, in full. If `move` asks for a critique, and at least
        FAILURES attempts of the model failed, add the critic model's explanation.
        """
        if self._history.history is History.TRANSCRIPT:
            self._add_attempts(situation)
        if move.critique and len(failed(situation)) >= FAILURES:
            self._history = replace(self._history, advice=self._critique(situation))

    def _answers(
        self, move: Move, state: PromptState, situation: Situation
    ) -> Iterator[tuple[ModelRequest, Answer, Context]]:
        """Yield (request, answer, context of the request); a request that is too long for the model is shortened."""
        own = self._config.samples
        while True:
            together = self._together(move)
            request, shown = self._builder.edit(move, state, situation, self._history, together)
            number = 1 if together > 1 else own or move.samples
            try:
                with closing(self._client.sample(request, number, fill=own > 0)) as answers:
                    self._history = replace(self._history, size=request.chars)
                    yield from ((request, one, shown) for answer in answers for one in _split(answer, together))
            except TooLongError:
                if self._builder.room / 2 < NARROWEST:
                    raise
                self._builder = replace(self._builder, room=self._builder.room / 2)
            else:
                return

    def _collected(
        self, answers: Iterable[tuple[ModelRequest, Answer, Context]], state: PromptState, situation: Situation
    ) -> Iterator[tuple[ModelRequest, Answer, Context]]:
        """Wait for all `answers`, set `coming`, and yield the answers; an error is raised only at the end."""
        found, error, patches = [], None, list[Patch]()
        try:
            for one in answers:
                found.append(one)  # noqa: PERF402 - the answers before an error count
        except (BudgetError, ModelError) as raised:
            error = raised
        for _, answer, shown in found:
            with suppress(ReplyError):
                patches.append(self._parsed(answer, state, shown, situation.attempts, NOTHING_KEPT))
        self.coming = tuple(patches)
        yield from found
        if error:
            raise error

    def _together(self, move: Move) -> int:
        """Return how many repairs to request in one answer.

        This is more than one only if the server gives fewer answers than requested, and `samples` is not configured.
        """
        single = self._client.gives_one(self._builder.model(move))
        return move.samples if single and not self._config.samples else 1

    def _with_needed_code(
        self, request: ModelRequest, answer: Answer, state: PromptState
    ) -> tuple[ModelRequest, Answer]:
        """Send the code that the model requests; return the last request and its answer."""
        lookup = self._lookup(state)
        for _ in range(0 if refused(answer.text) else NEEDS):
            codes = {need: lookup.code(need) for need in lookup.wanted(answer.text)}
            codes = {need: code for need, code in codes.items() if not _is_shown(code, request)}
            if not codes:
                break
            self._builder = replace(self._builder, needed=(*self._builder.needed, *codes))
            sign = mark(codes.values())
            code = "\n".join(fenced("file", path, code, sign) for (path, _), code in codes.items())
            longer = _continued(replace(request, samples=1), "need", answer.text, render("given", code=code))
            try:
                request, answer = longer, self._client.ask(longer)
            except TooLongError:
                break
        return request, answer

    def _corrected(
        self, faulty: Iterable[tuple[ModelRequest, Answer, ReplyError]], state: PromptState, situation: Situation
    ) -> Iterator[Patch]:
        """Tell the model why the first unusable reply with edits is unusable, and yield the patch in its next reply."""
        first = next((one for one in faulty if not isinstance(one[2], NothingToApplyError)), None)
        if first is None:
            return
        request, answer, fault = first
        correction = _continued(request, "again", answer.text, render("again", problem=str(fault)))
        with suppress(TooLongError):
            second = self._client.ask(correction)
            self.refusal = self._refusal(second)
            kept = fault.kept if isinstance(fault, PartlyUsableError) else NOTHING_KEPT
            patch = self._read(second, state, self._builder.context(state), situation, kept)
            if isinstance(patch, Patch):
                yield patch

    def _read(
        self, answer: Answer, state: PromptState, shown: Context, situation: Situation, kept: Kept = NOTHING_KEPT
    ) -> Patch | ReplyError:
        """Return the patch in `answer`, or the error in it; count unusable answers.

        `kept`: what is left of the previous answer, if `answer` is a correction of it.
        """
        self._equal = self._equal + 1 if answer.text == self._last_reply else 1
        self._last_reply = answer.text
        try:
            patch = self._parsed(answer, state, shown, situation.attempts, kept)
        except ReplyError as fault:
            self._unusable += 1
            lesson = f"an earlier reply was unusable: {str(fault).splitlines()[0]}"
            self._history = replace(self._history, fault=lesson)
            if self._history.history is History.TRANSCRIPT:
                self._add_version(f"A reply: {cut(answer.text, ECHO)}\nFeedback: {lesson}")
            return fault
        self._equal, self._unusable = 1, 0
        self._history = replace(self._history, fault="")
        return patch

    def _refusal(self, answer: Answer) -> str:
        """Return the reason in an answer that says that there is no repair; "" for any other answer."""
        return self._client.redact(refused(answer.text) or "") if answer.finish != CUT else ""

    def _parsed(
        self,
        answer: Answer,
        state: PromptState,
        shown: Context,
        attempts: tuple[Attempt, ...],
        kept: Kept,
    ) -> Patch:
        """Return the patch in `answer`. Raises ReplyError, with a text for the model."""
        if answer.finish == CUT:
            raise ReplyError(render("cut"))
        if asked := needs(answer.text):
            if unknown := self._lookup(state).unknown(answer.text):
                raise ReplyError(f"there is no {', '.join(unknown)}")
            raise ReplyError(f"{', '.join(':'.join(filter(None, need)) for need in asked)} is shown above")
        reply = _edits(answer.text, kept)
        files = _applied(reply.blocks, kept, self._editable(state, shown))
        summary = self._client.redact(first_sentence(reply.prose)) or f"edit {', '.join(sorted(files))}"
        patch = state.patch.then(files, origin=ORIGIN, summary=summary)
        for same in (attempt for attempt in _used_up(attempts) if attempt.patch.files == patch.files):
            reason = outcome(same, self._builder.start)
            raise NothingToApplyError(render("same", number=str(same.number), reason=reason))
        return patch

    def _lookup(self, state: PromptState) -> CodeLookup:
        roots = self._builder.protection.import_roots
        return CodeLookup(self._builder.tree(state.patch), roots, self._private.reason)

    def _editable(self, state: PromptState, shown: Context) -> EditableFiles:
        """Return the files to which edits apply, with the reasons why a file may not be changed or created.

        No edit applies to files that the model may not write, or may not see. No file may be created outside the
        requested scope.
        """
        scopes = self._place.scope

        def closed(path: str) -> str | None:
            private = self._private.reason(path) if path not in shown.shown else None
            return self._builder.protection.reason(path) or private

        def outside(path: str) -> str | None:
            within = any(scope in (".", path) or path.startswith(f"{scope}/") for scope in scopes)
            return None if within else f"only {', '.join(scopes)} may change"

        return EditableFiles(self._builder.tree(state.patch).read, outside, closed, shown.shown)

    def _critique(self, situation: Situation) -> str:
        """Return the critic model's explanation of the failures; "" if its answer does not have the requested form."""
        state = best_state(situation, "critique")
        tried = section("tried", ledger(situation, self._builder.start))
        user = f"{self._builder.context(state)}\n{tried}{state.ask}"
        messages = (Message("system", render("critic")), Message("user", user))
        model = self._config.critic_model or (self._config.models[-1] if self._config.models else None)
        try:
            found = ask_json(self._client, ModelRequest("critique", messages, 0.2, model, DIAGNOSIS, reply_tokens=2048))
        except (ReplyError, TooLongError):
            return ""
        return "\n".join(f"{name}: {cut(str(found[name]), 600)}" for name in ("cause", "mistake", "plan"))

    def _add_attempts(self, situation: Situation) -> None:
        """Add to the history each new attempt of the model, in full, and with the model's feedback on it."""
        new = [attempt for attempt in situation.attempts[self._retold :] if attempt.patch.origin == ORIGIN]
        self._retold = len(situation.attempts)
        for attempt in new:
            shown = self._builder.context(state_after(attempt, situation, self._builder.writable, "refine"))
            reason = outcome(attempt, self._builder.start)
            fields = {"number": str(attempt.number), "code": f"{shown.code}\n{shown.evidence}", "reason": reason}
            so_far = "\n\n".join((*self._history.versions, render("version", **fields, feedback="")))
            user = (
                f"{self._builder.context(initial_state(situation))}\n{section('versions', so_far)}{render('feedback')}"
            )
            messages = (Message("system", system_message(self._builder.task)), Message("user", user))
            try:
                feedback = self._client.ask(ModelRequest("feedback", messages, 0.2)).text
            except TooLongError:
                feedback = ""  # all versions together are too long for the model
            self._add_version(render("version", **fields, feedback=feedback))

    def _add_version(self, text: str) -> None:
        self._history = replace(self._history, versions=(*self._history.versions, text))


def _different(
    answers: Iterable[tuple[ModelRequest, Answer, Context]],
) -> Iterator[tuple[ModelRequest, Answer, Context]]:
    """Yield the answers of a round without those that equal an earlier one, because some servers copy one answer."""
    texts: set[str] = set()
    for request, answer, shown in answers:
        if answer.text not in texts:
            texts.add(answer.text)
            yield request, answer, shown


def _split(answer: Answer, number: int) -> Iterator[Answer]:
    """Yield each of the repairs in `answer` as a separate answer; only the last of them can be truncated."""
    parts = candidates(answer.text) if number > 1 else (answer.text,)
    for place, part in enumerate(parts, 1):
        yield replace(answer, text=part, finish=answer.finish if place == len(parts) else "stop")


def _edits(text: str, kept: Kept) -> Reply:
    """Parse a reply; it may be prose without edits only if it corrects a reply whose good blocks are `kept`."""
    return Reply("", ()) if kept.blocks and is_prose(text) else parse_reply(text)


def _applied(blocks: tuple[Block, ...], kept: Kept, tree: EditableFiles) -> Mapping[str, bytes]:
    """Apply `blocks` together with `kept`; if this fails, apply `blocks` alone.

    Raises the errors of `apply` if this fails, too.
    """
    if kept.blocks:
        with suppress(ReplyError):
            return apply(blocks, tree, kept)
    return apply(blocks, tree, replace(kept, blocks=()))


def _used_up(attempts: Iterable[Attempt]) -> list[Attempt]:
    """Return the attempts that a model may not repeat.

    It may repeat a patch of another proposer that was only offered, because the tests do not show which patch is right.
    """
    return [one for one in attempts if one.patch.origin == ORIGIN or not one.verdict.reason.startswith(PLAUSIBLE)]


def _is_shown(code: str, request: ModelRequest) -> bool:
    """Return whether each line of `code` is somewhere in the request, ignoring indentation and order."""
    text = "\n".join(MARKED.sub("", message.text) for message in request.messages)
    return {line.strip() for line in code.splitlines()} <= {line.strip() for line in text.splitlines()}


def _continued(request: ModelRequest, purpose: str, reply: str, text: str) -> ModelRequest:
    """Extend the conversation by the reply of the model and `text`."""
    added = (Message("assistant", cut(reply, ECHO) or "(nothing)"), Message("user", text))
    return replace(request, purpose=purpose, messages=(*request.messages, *added))
