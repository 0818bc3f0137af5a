"""Constrained generation (CommonGen-Hard): one sentence with every concept, and coverage is a gate, not an opinion."""

import re
from collections.abc import Iterator

from coderefine import Finding, Task
from coderefine.core import Read


def coverage(read: Read) -> Iterator[Finding]:
    """A finding for each concept of which no form is in the sentence."""
    words = re.findall(r"\w+", (read("sentence.txt") or "").lower())
    for concept in (read("concepts.txt") or "").split():
        if not any(word.startswith(concept.lower().rstrip("e")) for word in words):
            yield Finding("", concept, "sentence.txt", f"{concept} is missing", instruction=f"work in {concept}")


TASK = Task(
    "constrained",
    "One plausible sentence with all words of concepts.txt, in sentence.txt.",
    given=("concepts.txt",), wanted=("sentence.txt",), checks=(coverage,), settings={"gates": []},
)  # fmt: skip
