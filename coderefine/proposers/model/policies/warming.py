"""The same question, a little warmer each time (Kapoor et al. 2024, "AI Agents That Matter": the warming baseline)."""

from __future__ import annotations

from itertools import count

from coderefine.proposers.model.plan import History, Move, Policy

STEP = 0.2
"""Added to the temperature per retry."""

POLICY = Policy("warming", lambda: (Move(warmth=round(STEP * n, 1), correct=False) for n in count()), History.NONE)
