"""A repair in one line."""

from __future__ import annotations

from coderefine.proposers.search.enumeration import Proposed
from coderefine.proposers.search.validate import Repair


def summary(repair: Repair) -> str:
    """`src/cart.py:41 `>` → `>=``: where, what was, what is; long pieces are cut, what is exchanged has a `↔`."""
    both = filter(None, (repair.proposed, repair.second))
    return "; ".join(map(_edit, both))


def _edit(proposed: Proposed) -> str:
    scored = proposed.scored
    module, parts = scored.site.module, scored.edit.parts
    line = module.text.count("\n", 0, parts[0].start) + 1
    pairs = [(_short(module.text[part.start : part.end]), _short(part.text)) for part in parts]
    if len(pairs) == 2 and pairs[0] == pairs[1][::-1]:
        return f"{module.path}:{line} `{pairs[0][0]}` ↔ `{pairs[0][1]}`"
    shown = (f"`{old}` → `{new}`" if old and new else f"+ `{new}`" if new else f"− `{old}`" for old, new in pairs)
    return f"{module.path}:{line} {', '.join(shown)}"


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 60 else flat[:57] + "..."
