"""A repair in one line."""

from __future__ import annotations

from coderefine.proposers.search.enumeration import Proposed
from coderefine.proposers.search.validate import Repair


def summary(repair: Repair) -> str:
    """`src/cart.py:41 `>` → `>=``: where, what was, what is; long pieces cut."""
    scored = repair.proposed.scored
    module = scored.site.module
    part = scored.edit.parts[0]
    line = module.text.count("\n", 0, part.start) + 1
    old, new = (_short(text) for text in (module.text[part.start : part.end], part.text))
    shown = f"`{old}` → `{new}`" if old and new else f"+ `{new}`" if new else f"− `{old}`"
    return f"{module.path}:{line} {shown}" + (f"; {_second(repair.second)}" if repair.second else "")


def _second(proposed: Proposed) -> str:
    return summary(Repair(proposed, frozenset(), whole=False, at=0.0))


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 60 else flat[:57] + "..."
