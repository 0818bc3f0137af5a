"""The model's review: advice by criteria in plain language. It never overrules a gate, nor declares success."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

from coderefine.config import Config, Criterion
from coderefine.core import FIX, Ask, Check, Finding, Read, Severity, Span, Task, View
from coderefine.core.plurals import counted
from coderefine.critics.source_files import inside, python_files
from coderefine.critics.symbols import Symbols
from coderefine.errors import CriticError, ReplyError, TooLongError
from coderefine.llm.client import Client
from coderefine.llm.context import given_files, text_of
from coderefine.llm.criteria import expanded
from coderefine.llm.model_request import Message, ModelRequest
from coderefine.llm.normalize import fenced, mark
from coderefine.llm.opinion import HIGHEST, SCHEMA, Opinion, applies, opinion
from coderefine.llm.prompts import render, task_text
from coderefine.llm.structured import ask_json
from coderefine.project import Place, Protection

MOST, LEAST = 30_000, 3_000
"""Characters of code that one review reads; files beyond them are left out, and a note says so. Fewer when the model
cannot read so many, down to `LEAST`."""


class Review:
    """Asks the critic model for a review of the files in scope.

    All reviews of a run are about the same files first, so that their scores can be compared.
    """

    name = "review"
    gate = False

    def __init__(self, place: Place, config: Config, client: Client, protection: Protection, task: Task = FIX) -> None:
        self._task = task
        self._place = place
        self._config = config
        self._client = client
        self._protection = protection
        self._criteria = expanded(config.criteria)
        self._read: tuple[str, ...] = ()
        self._most = MOST

    def check(self, view: View, ask: Ask) -> Check:
        """Return soft findings, a score for each criterion, and their weighted mean as `total`.

        Raises CriticError if the answer is not a review, and the errors of `Client.ask`.
        """
        try:
            return self._checked(view, ask)
        except TooLongError as error:
            if self._most / 2 < LEAST:
                raise CriticError(f"nothing is reviewed: {error}") from error
        self._most //= 2
        self._read = ()
        return self.check(view, ask)

    def _checked(self, view: View, ask: Ask) -> Check:
        began = time.monotonic()
        texts, left_out = self._texts(view, ask)
        criteria = tuple(one for one in self._criteria if any(applies(one, path) for path in texts))
        if not criteria:
            return Check(self.name, gate=False, notes=("no criterion is about any of the files",))
        try:
            reply = ask_json(self._client, self._request(criteria, texts, lambda path: text_of(view.read(path))))
        except ReplyError as error:
            raise CriticError(f"the review cannot be read: {error}") from error
        found = opinion(reply, criteria, texts)
        return Check(
            self.name,
            tuple(_findings(found, texts)),
            seconds=time.monotonic() - began,
            gate=False,
            tool=self._model,
            notes=tuple(self._notes(found, criteria, left_out)),
            scores=found.scores,
            total=found.total(criteria),
        )

    @property
    def _model(self) -> str:
        config = self._config
        return config.critic_model or (config.models[-1] if config.models else config.model) or ""

    def _texts(self, view: View, ask: Ask) -> tuple[Mapping[str, str], int]:
        """Return the texts to review by path, and the number of files that do not fit into the request.

        The files of the first review come first, then changed ones.
        """
        known = dict.fromkeys((*python_files(view, self._place), *_artefacts(view, self._task)))
        paths = [path for path in known if self._wanted(path, ask)]
        first = {path: place for place, path in enumerate((*self._read, *sorted(ask.changed or ())))}
        paths.sort(key=lambda path: (first.get(path, len(first)), path))
        texts: dict[str, str] = {}
        for path in paths:
            text = text_of(view.read(path))
            if text and (not texts or sum(map(len, texts.values())) + len(text) <= self._most):
                texts[path] = text
        self._read = self._read or tuple(texts)
        return dict(sorted(texts.items())), len(paths) - len(texts)

    def _wanted(self, path: str, ask: Ask) -> bool:
        ours = inside(path, ask.scope) and not self._protection.is_test(path) and not self._protection.reason(path)
        return ours and any(applies(criterion, path) for criterion in self._criteria)

    def _request(self, criteria: Sequence[Criterion], texts: Mapping[str, str], read: Read) -> ModelRequest:
        sign = mark(texts.values())
        code = "\n".join(fenced("file", path, text, sign) for path, text in texts.items())
        asked = "\n".join(_described(criterion) for criterion in criteria)
        shown = "\n".join(part for part in (given_files(self._task, read), code) if part)
        subject = "text" if self._task.files else "Python code"
        system = render("reviewer", subject=subject, task=task_text(self._task))
        user = render("review", code=shown, criteria=asked)
        sizes = (("system", len(system)), ("code", len(code)), ("criteria", len(asked)))
        messages = (Message("system", system), Message("user", user))
        return ModelRequest("review", messages, 0.0, self._model, SCHEMA, reply_tokens=4096, parts=sizes)

    def _notes(self, found: Opinion, criteria: Sequence[Criterion], left_out: int) -> Iterator[str]:
        """Yield notes for the record of the run: the criteria, the score, and what was left out."""
        whose = dict.fromkeys(f"{one.name.split('/')[0]} ({one.source})" for one in criteria)
        total = found.total(criteria)
        score = f"{total:.1f} of {HIGHEST:g}" if total is not None else "no score"
        yield f"decided by the criteria {', '.join(whose)}: {score}, given by {self._model}"
        if found.missing:
            yield f"not scored, and not counted: {', '.join(found.missing)}"
        if found.dropped:
            yield f"{counted(found.dropped, 'finding')} dropped: no such code, path or criterion"
        if left_out:
            yield f"{counted(left_out, 'file')} not read for want of room: give narrower paths"


def _artefacts(view: View, task: Task) -> list[str]:
    """Return the files that the task is about and that are not Python."""
    found = (path for pattern in task.files for path in view.host_path.glob(pattern) if path.is_file())
    return sorted(path.relative_to(view.host_path).as_posix() for path in found)


def _described(criterion: Criterion) -> str:
    only = f" (only in {', '.join(criterion.paths)})" if criterion.paths else ""
    return f"- {criterion.name}: {criterion.text}{only}"


def _findings(found: Opinion, texts: Mapping[str, str]) -> Iterator[Finding]:
    for remark in found.remarks:
        symbol = Symbols.of(texts[remark.path]).at(remark.line)
        yield Finding(
            "review",
            remark.criterion.name,
            remark.path,
            remark.problem,
            Span(remark.line, remark.line),
            symbol,
            remark.quote,
            remark.advice,
            Severity.SOFT,
            remark.criterion.weight,
        )
