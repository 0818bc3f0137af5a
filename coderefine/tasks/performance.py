"""Code that runs faster, by measurement; behaviour held by the tests."""

from coderefine.core import Task
from coderefine.critics.speed import Speed

TASK = Task(
    "performance",
    goal="Make the code faster without changing what it does.",
    rules=(
        "Begin with what takes the time: a better algorithm or data structure before small savings.",
        "Same results, same errors, same order; public names and signatures stay.",
        "No cache between calls unless real use repeats them: repeating a call is how a benchmark works.",
    ),
    critics=(Speed,),
    keeps=True,
)
