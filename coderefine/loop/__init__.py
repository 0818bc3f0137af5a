"""The loop: critique, propose, judge, refine, prove."""

from coderefine.loop.critique import critique
from coderefine.loop.refine import refine
from coderefine.loop.state import Parts
from coderefine.loop.strength import Strength

__all__ = ["Parts", "Strength", "critique", "refine"]
