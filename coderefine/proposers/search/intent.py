"""What docstrings and comments say of a limit: whether it belongs to what is above or to what is below."""

from __future__ import annotations

import ast
import re

from coderefine.proposers.search.emit import apply
from coderefine.proposers.search.validate import Repair

UPPER = re.compile(
    r"\bat least\b|\bor (more|above|later|older|higher|greater|longer)\b|\bfrom \S+( \S+)? on\b|"
    r"\b(below|under|minimum)\b|\b(less|fewer|smaller|shorter|younger|lower) than\b|\bstarting (at|from|with)\b",
    re.IGNORECASE,
)
"""The limit itself belongs to what is above: `>=` and `<`."""
LOWER = re.compile(
    r"\bat most\b|\bor (less|fewer|below|earlier|younger|lower|smaller|shorter)\b|"
    r"\b(up to|above|over|beyond|maximum|exceeds?)\b|\b(more|greater|larger|longer|older|higher) than\b",
    re.IGNORECASE,
)
"""The limit itself belongs to what is below: `<=` and `>`."""
NEGATED = re.compile(r"\bnot? (less|fewer|more|greater) than\b", re.IGNORECASE)
SIDES: dict[type[ast.cmpop], int] = {ast.GtE: 1, ast.Lt: 1, ast.Gt: -1, ast.LtE: -1}


def intent(repair: Repair) -> int:
    """1 where what is written in the function agrees with the limit that `repair` draws, -1 where it contradicts.

    0 where nothing is said, or both, or where the repair draws no limit.
    """
    side = _side(repair)
    return side * _said(repair) if side else 0


def _said(repair: Repair) -> int:
    """1 for an upper limit, -1 for a lower one, 0 for none or both."""
    site = repair.proposed.scored.site
    function = site.local.function
    if function is None:
        return 0
    lines = site.module.text.splitlines()[function.lineno - 1 : function.end_lineno]
    comments = [line.partition("#")[2] for line in lines if "#" in line]
    text = " ".join([ast.get_docstring(function) or "", *comments])
    plain = NEGATED.sub(" ", text)
    upper = bool(UPPER.search(plain)) or "less than" in " ".join(_negations(text))
    lower = bool(LOWER.search(plain)) or "more than" in " ".join(_negations(text))
    return upper - lower


def _negations(text: str) -> list[str]:
    """`no less than` is a limit of what is above, `no more than` of what is below."""
    words = {"less": "less than", "fewer": "less than", "more": "more than", "greater": "more than"}
    return [words[found.group(1).lower()] for found in NEGATED.finditer(text)]


def _side(repair: Repair) -> int:
    """To which side the limit belongs that the repair draws anew; 0 where it draws none, or the statement several."""
    scored = repair.proposed.scored
    module, stmt = scored.site.module, scored.site.stmt
    first = module.start(stmt)
    end = module.end(stmt)
    parts = [part for part in scored.edit.parts if first <= part.start and part.end <= end]
    if len(parts) != len(scored.edit.parts):
        return 0
    moved = type(scored.edit)(tuple(type(part)(part.start - first, part.end - first, part.text) for part in parts))
    text = module.text[first:end]
    before, after = _sides(text), _sides(apply(text, moved))
    sides = set(after) - {0} if after != before else set()
    return sides.pop() if len(sides) == 1 else 0


def _sides(text: str) -> list[int]:
    """Of the comparisons in the head of a statement."""
    head = text.split("\n", 1)[0].rstrip()
    for tried in (head, f"{head} pass", f"if 1: pass\n{head} pass"):
        try:
            tree = ast.parse(tried)
        except SyntaxError:
            continue
        return [SIDES.get(type(op), 0) for node in ast.walk(tree) if isinstance(node, ast.Compare) for op in node.ops]
    return []
