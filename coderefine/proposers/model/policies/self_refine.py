"""The plain loop of Self-Refine (Madaan et al. 2023): feedback on the last output, refine it, with all outputs and
all feedback appended to the prompt."""

from __future__ import annotations

from itertools import repeat

from coderefine.proposers.model.plan import Base, History, Move, Policy

POLICY = Policy("self-refine", lambda: repeat(Move("refine", Base.LAST, correct=False)), History.TRANSCRIPT)
