"""Code that reads well, behaviour held by the tests: complexity, lint, names, comments, size of the pieces."""

from coderefine.core import Task
from coderefine.critics.reading import Reading

TASK = Task(
    "readability",
    goal="Make the code easier to read without changing what it does.",
    rules=(
        "Names that say what is meant; one idea per function; early returns in place of nesting.",
        "Comments only where they say why. No piece split off that is called once and says nothing new.",
        "Public names and signatures stay.",
    ),
    settings={"criteria": {"readability": True}},
    critics=(Reading,),
    keeps=True,
)
