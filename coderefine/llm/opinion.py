"""A model's review of code by criteria: parsed from JSON, checked against the code, with a total computed here."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from coderefine.config import Criterion
from coderefine.llm.model_request import Schema
from coderefine.llm.modules import ProjectModule
from coderefine.llm.structured import record

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
class Remark:
    """A finding whose position exists in the code; `line` is 1-based."""

    criterion: Criterion
    path: str
    line: int
    quote: str
    problem: str
    advice: str


@dataclass(frozen=True, slots=True)
class Opinion:
    """A checked review. `scores`: by criterion; `missing`: criteria without score; `dropped`: invalid findings."""

    scores: Mapping[str, float]
    remarks: tuple[Remark, ...]
    missing: tuple[str, ...]
    dropped: int

    def total(self, criteria: Sequence[Criterion]) -> float | None:
        """Return the weighted mean of the scores; None if there are none."""
        weights = {criterion.name: criterion.weight for criterion in criteria if criterion.name in self.scores}
        whole = sum(weights.values())
        return sum(self.scores[name] * weight for name, weight in weights.items()) / whole if whole else None


def applies(criterion: Criterion, path: str) -> bool:
    """Return whether `criterion` applies to `path`."""
    return not criterion.paths or any(_under(path, glob) for glob in criterion.paths)


def _under(path: str, glob: str) -> bool:
    plain = glob.rstrip("/")
    return fnmatchcase(path, glob) or path == plain or path.startswith(f"{plain}/")


def opinion(answer: Mapping[str, Any], criteria: Sequence[Criterion], texts: Mapping[str, str]) -> Opinion:
    """Check `answer` (see SCHEMA) against `texts` (by path); drop what refers to other code or other criteria."""
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
) -> Iterator[Remark]:
    for item in found:
        name, path = _name(item["criterion"], known), item["path"].strip().removeprefix("./")
        if name is None or path not in texts or not applies(known[name], path) or not item["problem"].strip():
            continue
        line = _line(texts[path], item["quote"], item["symbol"])
        if line is not None:
            quote, problem, advice = (item[key].strip() for key in ("quote", "problem", "advice"))
            yield Remark(known[name], path, line, quote, problem, advice)


def _name(written: str, known: Mapping[str, Criterion]) -> str | None:
    """Return the name of the intended criterion, by its full name or a unique last part; None if there is none."""
    written = written.strip()
    if written in known:
        return written
    ends = [name for name in known if name.rsplit("/", 1)[-1] == written]
    return ends[0] if len(ends) == 1 else None


def _line(text: str, quote: str, symbol: str) -> int | None:
    """Return the quoted line, preferably inside `symbol`; None if there is none."""
    spans, wanted = _spans(text, symbol), _first(quote)
    if not wanted:
        return spans[0][0] if spans else None
    hits = [number for number, line in enumerate(text.split("\n"), 1) if line.strip() == wanted]
    inside = (hit for hit in hits if any(first <= hit <= last for first, last in spans))
    return next(inside, hits[0]) if hits else None


def _first(quote: str) -> str:
    """Return the first line of `quote` that is not blank."""
    return next((line.strip() for line in quote.split("\n") if line.strip()), "")


def _spans(text: str, symbol: str) -> list[tuple[int, int]]:
    """Return the first and last line of each function called `symbol`, then the first line of each class."""
    name, definitions = symbol.strip(), ProjectModule("", text).definitions
    functions = [(item.first, item.last) for item in definitions if item.is_function and item.name.endswith(name)]
    classes = [item.node for item in definitions if isinstance(item.node, ast.ClassDef) and item.node.name == name]
    return [*(functions if symbol else ()), *((node.lineno, node.lineno) for node in classes)]
