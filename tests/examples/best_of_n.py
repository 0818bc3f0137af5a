"""A reward and a threshold, as in DSPy's Refine and BestOfN: here the score also says how to raise it."""

from pathlib import Path
from typing import Any

from coderefine import Outcome, Task, refine
from coderefine.core import Read


def brevity(read: Read) -> tuple[float, str]:
    """1.0 for an answer of one word, less for each more."""
    words = len((read("answer.txt") or "").split())
    return (1 / words if words else 0.0), "Answer in one word."


def answer(folder: Path, **settings: Any) -> Outcome:
    """The best of at most three answers to question.txt; the first that is good enough ends the search."""
    task = Task(
        "answer",
        "The answer to the question in question.txt, in answer.txt.",
        given=("question.txt",), wanted=("answer.txt",), reward=brevity, enough=1.0, settings={"gates": []},
    )  # fmt: skip
    return refine(task=task, cwd=folder, max_iterations=3, **settings)
