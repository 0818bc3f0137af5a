"""The results of the tools: typed, with a text of the same content, limited to the length that the caller requests.

An agent pays for every character, so a result contains as many of its pieces as fit, the most important pieces first.
"""

from __future__ import annotations

import bisect
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar

from mcp.types import CallToolResult, TextContent
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import Self

from coderefine.sensitive import shortened

DEFAULT, PATCHES, LEAST = 1_500, 3_000, 600
"""Default maximum of characters of a result (text and structure together), without and with patches.

The third number is the smallest maximum that may be requested.
"""
MESSAGE = 10
"""A message may have 1/MESSAGE of the characters of its result, but at least 120."""
ENVELOPE = 130
"""Characters that the SDK adds: the kind of the result, and the server's name and version."""
MaxChars = Annotated[int, Field(ge=LEAST, description="Longest result, in characters")]


def remove_titles(schema: dict[str, Any]) -> None:
    """Remove the titles that pydantic adds to a schema: they repeat the names of the fields."""
    for part in (schema, *schema.get("properties", {}).values()):
        part.pop("title", None)


class Typed(BaseModel):
    """A value whose JSON schema is short: it has no titles."""

    model_config = ConfigDict(json_schema_extra=remove_titles)


class ToolResult(Typed, ABC):
    """A result with pieces that can be left out: the lines and items of its `PARTS`, the most important part first.

    A finding counts as two pieces: the finding without its evidence, and the evidence.
    """

    PARTS: ClassVar[tuple[str, ...]] = ()

    @property
    def pieces(self) -> int:
        """Return the number of pieces that can be left out."""
        return sum(map(self._size, self.PARTS))

    def first(self, count: int, limit: int) -> Self:
        """Return the result with only its first `count` pieces; messages are shortened to their share of `limit`."""
        changed: dict[str, object] = {}
        for name in self.PARTS:
            part, most = getattr(self, name), max(0, count)
            count -= self._size(name)
            if name == "findings":
                changed |= {name: _kept(part, most, limit), "more": max(0, len(part) - most)}
            elif name == "report":
                changed[name] = [_cut(line, limit) for line in part[:most]]
            else:
                changed[name] = "\n".join(part.splitlines()[:most]) if isinstance(part, str) else part[:most]
        messages = {name: getattr(self, name) for name in ("why", "reason") if name in type(self).model_fields}
        return self.model_copy(update=changed | {name: _cut(text, limit) for name, text in messages.items()})

    def _size(self, name: str) -> int:
        part = getattr(self, name)
        return 2 * len(part) if name == "findings" else len(part.splitlines() if isinstance(part, str) else part)

    @abstractmethod
    def lines(self) -> Iterator[str]:
        """Yield the result as lines of text."""


def short(result: ToolResult, limit: int) -> CallToolResult:
    """Return `result` with as many pieces as fit into `limit` characters."""
    counts = range(1, result.pieces + 1)
    most = bisect.bisect_right(counts, limit, key=lambda count: _size(_answer(result.first(count, limit))))
    return _answer(result.first(most, limit))


def _answer(result: ToolResult) -> CallToolResult:
    text = TextContent(type="text", text="\n".join(result.lines()))
    return CallToolResult(content=[text], structured_content=result.model_dump(exclude_defaults=True))


def _size(answer: CallToolResult) -> int:
    return len(answer.model_dump_json(by_alias=True, exclude_none=True)) + ENVELOPE


def _cut(text: str, limit: int) -> str:
    return shortened(text, max(120, limit // MESSAGE))


class Found(Typed):
    """One finding."""

    where: str = Field(description="path:line")
    rule: str
    message: str
    evidence: str = ""


def _kept(findings: Sequence[Found], count: int, limit: int) -> list[Found]:
    """Return the first `count` findings, with messages shortened to their share of `limit`.

    Evidence counts as a separate piece: it is left out, unless `count` is greater than the number of findings. If it is
    greater by n, the first n findings keep their evidence.
    """
    shown = max(0, count - len(findings))
    return [
        one.model_copy(update={"message": _cut(one.message, limit), "evidence": one.evidence if place < shown else ""})
        for place, one in enumerate(findings[:count])
    ]


def _finding_lines(findings: Sequence[Found], more: int) -> Iterator[str]:
    for one in findings:
        yield f"{one.where} {one.rule} {one.message}"
        yield from (f"    {line}" for line in one.evidence.splitlines())
    if more:
        yield f"… and {more} more (a larger max_chars has them)"


class Checked(ToolResult):
    """The findings of the gates on the unchanged tree."""

    PARTS = ("findings", "notes")
    passed: bool
    summary: str
    findings: list[Found] = []
    more: int = Field(default=0, description="Findings left out")
    notes: list[str] = []

    def lines(self) -> Iterator[str]:
        yield ("passed: " if self.passed else "failed: ") + self.summary
        yield from _finding_lines(self.findings, self.more)
        yield from (f"note: {note}" for note in self.notes)


class Offered(Typed):
    """A plausible patch, which `apply` writes by its number."""

    number: int
    what: str
    lines: str = Field(default="", description="the lines that it changes")


def _offer_lines(offers: Sequence[Offered], questions: Sequence[str]) -> Iterator[str]:
    for one in offers:
        yield f"{one.number}  {one.what}"
        yield from (f"   {line}" for line in one.lines.splitlines())
    yield from (f"ask: {question}" for question in questions)


class RunSummary(ToolResult):
    """The end of a run."""

    PARTS = ("offers", "questions", "diff", "findings")
    run: str
    verdict: str = Field(description="proved, plausible (may be wrong), offered (choose one), or none")
    summary: str
    wrote: str = Field(default="", description="What was written; empty: nothing")
    evidence: str = ""
    why: str = Field(default="", description="Why it may be wrong")
    diff: str = ""
    diff_cut: bool = Field(default=False, description="The diff is cut: coderefine://run/RUN/diff has all of it")
    offers: list[Offered] = []
    questions: list[str] = Field(default=[], description="Inputs on which the offers differ")
    findings: list[Found] = Field(default=[], description="Findings that remain")
    more: int = Field(default=0, description="Findings left out")

    def first(self, count: int, limit: int) -> Self:
        found = super().first(count, limit)
        return found.model_copy(update={"diff_cut": self._size("diff") > found._size("diff")})

    def lines(self) -> Iterator[str]:
        yield f"run {self.run}: {self.verdict}; {self.summary}"
        yield from (f"{label}: {text}" for label in ("wrote", "evidence", "why") if (text := getattr(self, label)))
        yield from _offer_lines(self.offers, self.questions)
        yield from self.diff.splitlines()
        if self.diff_cut:
            yield f"… the diff is cut: coderefine://run/{self.run}/diff"
        yield from _finding_lines(self.findings, self.more)
        if not self.wrote and self.verdict != "none":
            yield f"to write it: apply run={self.run}" + (" number=N" if self.offers and not self.diff else "")


class PatchVerdict(ToolResult):
    """The verdict on a given patch."""

    PARTS = ("report", "findings")
    run: str
    proved: bool
    worse: bool = Field(description="Whether anything gets worse; false if there is just no proof that it helps")
    reason: str
    report: list[str] = Field(default=[], description="The evidence, problems first")
    findings: list[Found] = Field(default=[], description="New findings")
    more: int = Field(default=0, description="Findings left out")

    def lines(self) -> Iterator[str]:
        verdict = "proved" if self.proved else "not proved, and worse" if self.worse else "not proved, and not worse"
        yield f"{verdict}: {self.reason}"
        yield from self.report
        yield from _finding_lines(self.findings, self.more)


class Alternatives(ToolResult):
    """The plausible patches of a run."""

    PARTS = ("offers", "questions")
    run: str
    why: str = Field(default="", description="Why none of them was chosen")
    offers: list[Offered] = []
    questions: list[str] = Field(default=[], description="Inputs on which they differ")
    agreeing: list[int] | None = Field(default=None, description="Numbers of those with which `that` is true")

    def lines(self) -> Iterator[str]:
        yield f"run {self.run}: {self.why or 'offered no patch'}"
        yield from _offer_lines(self.offers, self.questions)
        if self.agreeing is not None:
            yield f"agree: {', '.join(map(str, self.agreeing)) or 'none of them'}"


class Shown(ToolResult):
    """A recorded run."""

    PARTS = ("report", "diff")
    run: str
    report: list[str] = Field(description="Attempts, verdicts, evidence")
    diff: str = ""
    cut: bool = Field(default=False, description="Something was left out")

    def first(self, count: int, limit: int) -> Self:
        return super().first(count, limit).model_copy(update={"cut": count < self.pieces})

    def lines(self) -> Iterator[str]:
        yield from self.report
        yield from self.diff.splitlines()
        if self.cut:
            yield "… (a larger max_chars has more)"


class Undone(ToolResult):
    """A publication that was undone."""

    run: str
    summary: str

    def lines(self) -> Iterator[str]:
        yield self.summary
