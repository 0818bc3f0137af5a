"""The loop: critique, propose, judge, refine, prove."""

from coderefine.loop.critique import critique
from coderefine.loop.refine import Parts, refine

__all__ = ["Parts", "critique", "refine"]
