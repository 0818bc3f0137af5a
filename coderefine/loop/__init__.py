"""The loop: critique, propose, judge, refine, prove."""

from coderefine.loop.critique import critique
from coderefine.loop.refine import refine
from coderefine.loop.state import Parts

__all__ = ["Parts", "critique", "refine"]
