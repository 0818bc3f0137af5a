"""The Instructor recipe: feedback as a pydantic model with a `done` flag, best attempt kept, three rounds at most."""

from openai import OpenAI
from pydantic import BaseModel

from coderefine import Outcome, Task, refine
from coderefine.core import Read


class Feedback(BaseModel):
    feedback: list[str]
    done: bool


def refined(folder: str, url: str) -> Outcome:
    client = OpenAI(base_url=url, api_key="none")

    def judged(read: Read) -> tuple[float, str]:
        ask = f"Feedback on this code, and whether it is done:\n{read('fib.py')}"
        result = (
            client.chat.completions.parse(
                model="critic", messages=[{"role": "user", "content": ask}], response_format=Feedback
            )
            .choices[0]
            .message.parsed
        )
        return (float(result.done), "\n".join(result.feedback)) if result else (0.0, "")

    task = Task("recipe", "Apply the feedback to fib.py.", files=("fib.py",), reward=judged, enough=1.0)
    return refine(task=task, cwd=folder, base_url=url, model="writer", max_iterations=3, search=False)
