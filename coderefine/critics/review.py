"""The model's review: advice by criteria in plain language. It overrides no gate and does not decide success."""

from __future__ import annotations

import ast
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from coderefine.config import Config, Criterion
from coderefine.core import FIX, Ask, Check, Finding, Read, Severity, Span, Task, View
from coderefine.core.plurals import counted
from coderefine.core.views import inside
from coderefine.critics.source_files import python_files
from coderefine.errors import CriticError, ReplyError, TooLongError
from coderefine.llm.client import Client
from coderefine.llm.context import given_files
from coderefine.llm.model_request import Message, ModelRequest, Schema
from coderefine.llm.modules import ProjectModule
from coderefine.llm.normalize import fenced, mark
from coderefine.llm.prompts import expanded, render, task_text
from coderefine.llm.structured import ask_json, record
from coderefine.project import Place, Protection
from coderefine.source import owners, syntax, text_of

MOST, LEAST = 30_000, 3_000
"""Maximum number of characters of code in one review; further files are left out, with a note. If the model cannot read
so many, the number is halved, but not below `LEAST`."""


class Review:
    """Asks the critic model for a review of the files in scope.

    The files of a run's first review have priority in all later reviews, so that the scores can be compared.
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
            found.remarks,
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

        Files of the first review have priority, then changed files.
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
        asked = "\n".join(
            f"- {one.name}: {one.text}" + (f" (only in {', '.join(one.paths)})" if one.paths else "")
            for one in criteria
        )
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
            yield f"{counted(left_out, 'file')} not read because the request is full: give narrower paths"


def _artefacts(view: View, task: Task) -> list[str]:
    """Return the files that match the globs `task.files`, repo-relative and sorted."""
    found = (path for pattern in task.files for path in view.host_path.glob(pattern) if path.is_file())
    return sorted(path.relative_to(view.host_path).as_posix() for path in found)


LOWEST, HIGHEST = 1.0, 5.0

_TEXT = {"type": "string"}


def _items(**fields: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": dict(record("", **fields).body)}


SCHEMA: Schema = record(
    "review",
    scores=_items(criterion=_TEXT, score={"type": "number"}),
    findings=_items(criterion=_TEXT, path=_TEXT, symbol=_TEXT, quote=_TEXT, problem=_TEXT, advice=_TEXT),
)


@dataclass(frozen=True, slots=True)
class Opinion:
    """A checked review.

    `scores`: by criterion. `remarks`: the valid findings. `missing`: criteria without a score. `dropped`: number of
    invalid findings.
    """

    scores: Mapping[str, float]
    remarks: tuple[Finding, ...]
    missing: tuple[str, ...]
    dropped: int

    def total(self, criteria: Sequence[Criterion]) -> float | None:
        """Return the weighted mean of the scores; None if there are none."""
        weights = {criterion.name: criterion.weight for criterion in criteria if criterion.name in self.scores}
        whole = sum(weights.values())
        return sum(self.scores[name] * weight for name, weight in weights.items()) / whole if whole else None


def applies(criterion: Criterion, path: str) -> bool:
    """Return whether `path` matches one of the criterion's globs or is in one of its folders; True if it has none."""
    globs = criterion.paths
    return not globs or any(fnmatchcase(path, glob) or inside(path, (glob,)) for glob in globs)


def opinion(answer: Mapping[str, Any], criteria: Sequence[Criterion], texts: Mapping[str, str]) -> Opinion:
    """Check `answer` (see SCHEMA); drop findings and scores for criteria or code that are not in the request.

    `texts`: the code in the request, by path.
    """
    known = {criterion.name: criterion for criterion in criteria}
    scores: dict[str, float] = {}
    for item in answer["scores"]:
        name = _name(item["criterion"], known)
        if name and LOWEST <= item["score"] <= HIGHEST:
            scores.setdefault(name, float(item["score"]))
    remarks = tuple(dict.fromkeys(_remarks(answer["findings"], known, texts)))
    missing = tuple(name for name in known if name not in scores)
    return Opinion(scores, remarks, missing, len(answer["findings"]) - len(remarks))


def _remarks(
    found: Sequence[Mapping[str, str]], known: Mapping[str, Criterion], texts: Mapping[str, str]
) -> Iterator[Finding]:
    """Yield the findings whose position exists in the code."""
    for item in found:
        name, path = _name(item["criterion"], known), item["path"].strip().removeprefix("./")
        if name is None or path not in texts or not applies(known[name], path) or not item["problem"].strip():
            continue
        line = _line(texts[path], item["quote"], item["symbol"])
        if line is not None:
            quote, problem, advice = (item[key].strip() for key in ("quote", "problem", "advice"))
            symbol, weight = owners(syntax(texts[path])).get(line, ""), known[name].weight
            at = Span(line, line)
            yield Finding("review", name, path, problem, at, symbol, quote, advice, Severity.SOFT, weight)


def _name(written: str, known: Mapping[str, Criterion]) -> str | None:
    """Return the criterion whose full name, or unique last part of the name, is `written`; None if there is none."""
    written = written.strip()
    if written in known:
        return written
    ends = [name for name in known if name.rsplit("/", 1)[-1] == written]
    return ends[0] if len(ends) == 1 else None


def _line(text: str, quote: str, symbol: str) -> int | None:
    """Return the number of the quoted line, preferably inside `symbol`; without a quote, the first line of `symbol`.

    Return None if there is no such line.
    """
    spans, wanted = _spans(text, symbol), quote.strip().split("\n")[0].strip()
    if not wanted:
        return spans[0][0] if spans else None
    hits = [number for number, line in enumerate(text.split("\n"), 1) if line.strip() == wanted]
    inside = (hit for hit in hits if any(first <= hit <= last for first, last in spans))
    return next(inside, hits[0]) if hits else None


def _spans(text: str, symbol: str) -> list[tuple[int, int]]:
    """Return (first line, last line) of each function whose name ends with `symbol`, then of each class `symbol`.

    Of a class, both numbers are the first line.
    """
    name, definitions = symbol.strip(), ProjectModule("", text).definitions
    functions = [(item.first, item.last) for item in definitions if item.is_function and item.name.endswith(name)]
    classes = [item.node for item in definitions if isinstance(item.node, ast.ClassDef) and item.node.name == name]
    return [*(functions if symbol else ()), *((node.lineno, node.lineno) for node in classes)]
