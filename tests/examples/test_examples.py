"""The paper's tasks and other systems' ways of refining, each a few lines here, run by the same loop."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from coderefine import Outcome, Stop, Task, refine
from tests.support.cases import every
from tests.support.command import block, coderefine
from tests.support.llm_server import LlmServer, Reply, Script, Seen
from tests.support.repo import make_repo, write

HERE = Path(__file__).parent


def reviewing(writer: list[str], scores: Mapping[str, float], criteria: list[str], path: str) -> Script:
    """A model that writes what is in `writer` in turn; as a reviewer it scores the text by the first word in it that
    `scores` knows, remarking on it below 5."""
    replies = iter(writer)

    def script(seen: Seen) -> Reply:
        if "You review" not in seen.prompt:
            return Reply(next(replies))
        text = seen.prompt.split(f"=== file {path} [")[1].split("\n")[1]
        score = next(score for word, score in scores.items() if word in text)
        remark = {"criterion": criteria[0], "path": path, "symbol": "", "quote": text, "problem": "p", "advice": "a"}
        result = {
            "scores": [{"criterion": one, "score": score} for one in criteria],
            "findings": [remark] * (score < 5),
        }
        return Reply(json.dumps(result))

    return script


def run(top: Path, task: Task | str, script: Script, **settings: Any) -> tuple[Outcome, LlmServer]:
    with LlmServer(script) as server:
        outcome = refine(task=task, cwd=top, model="scripted", base_url=server.url, search=False, **settings)
    return outcome, server


def text(outcome: Outcome, path: str) -> str:
    return (outcome.best.patch.files[path] or b"").decode().strip()


def turns(path: str, *texts: str) -> list[str]:
    """Edits that make each of `texts` out of the one before."""
    return [block(path, old, new) for old, new in zip(("", *texts), texts, strict=False)]


FIVE = ["pronunciation", "spelling", "relation", "connotation", "well-known"]
TEN = ["relevant", "informative", "interesting", "consistent", "helpful",
       "engaging", "specific", "safe", "understanding", "fluent"]  # fmt: skip


@dataclass(frozen=True)
class Text:
    """A task about one text: what it is given, two versions of the text, what the reviewer makes of them."""

    task: str
    given: tuple[str, str]
    path: str
    criteria: list[str]
    versions: tuple[str, str]
    scores: Mapping[str, float]


TALK = "A: I broke my leg skiing.\n"
PANNED = "The soup was cold and the waiter rude.\n"
TEXTS = [
    Text(
        "acronym", ("title.txt", "Sequence to Sequence Learning\n"), "acronym.txt", FIVE,
        ("STSL - as it is", "SEQ2SEQ - sequence to sequence"), {"STSL": 2, "SEQ2SEQ": 5},
    ),
    Text(
        "dialogue", ("talk.txt", TALK), "answer.txt", TEN,
        ("I see.", "Ouch! Where were you skiing?"), {"I see": 2, "Ouch": 4},
    ),
    Text(
        "sentiment", ("review.txt", PANNED), "reversed.txt", ["sentiment", "content"],
        ("The soup was fine.", "The soup was hot and the waiter a joy."), {"fine": 3, "joy": 5},
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", every(3, TEXTS), ids=lambda case: case.task)
def test_a_text_is_refined_until_its_review_is_good_enough(tmp_path: Path, case: Text) -> None:
    top = make_repo(tmp_path / case.task, dict([case.given]))
    script = reviewing(turns(case.path, *case.versions), case.scores, case.criteria, case.path)
    outcome, server = run(top, str(HERE / f"{case.task}.toml"), script)
    assert outcome.stop is Stop.CLEAN
    assert text(outcome, case.path) == case.versions[-1]
    assert len(server.requests) == 4, "two texts, two reviews, and nothing once it is enough"
    assert all(case.given[1].strip() in seen.prompt for seen in server.requests), "both sides read what is given"
    totals = [check.total for attempt in outcome.attempts for check in attempt.checks if not check.gate]
    assert totals == sorted(totals, key=lambda total: total or 0)


def test_a_worse_text_is_refused(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "acronym", {"title.txt": "Sequence to Sequence Learning\n"})
    writer = [*turns("acronym.txt", "STSL - as it is"), *[block("acronym.txt", "STSL - as it is", "X - ?")] * 9]
    script = reviewing(writer, {"STSL": 3, "X": 1}, FIVE, "acronym.txt")
    outcome, _ = run(top, str(HERE / "acronym.toml"), script, max_requests=6)
    assert text(outcome, "acronym.txt") == "STSL - as it is"


def test_in_constrained_generation_no_review_overrides_the_gate(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "common", {"concepts.txt": "dog leash park throw catch\n"})
    few, all_ = "A dog in the park.", "Off its leash in the park, the dog catches what I throw."
    task = importlib.import_module("tests.examples.constrained").TASK
    outcome, server = run(top, task, turns("sentence.txt", few, all_))
    assert (outcome.stop, text(outcome, "sentence.txt")) == (Stop.CLEAN, all_)
    assert "leash is missing" in server.requests[1].prompt
    assert "dog is missing" not in server.requests[1].prompt


@pytest.mark.parametrize(
    ("texts", "printed"),
    [
        (["print(3 +)", "eggs = 16\nprint(eggs - 3 - 4)"], "invalid syntax"),
        (["print('9 eggs')", "print(16 - 7)"], "9 eggs"),
    ],
)
def test_a_program_for_a_problem_has_to_run_and_print_a_number(tmp_path: Path, texts: list[str], printed: str) -> None:
    top = make_repo(tmp_path / "math", {"problem.txt": "Janet's ducks lay 16 eggs; she eats three, bakes four.\n"})
    replies = iter(
        turns("solution.py", *texts) if "+)" not in texts[0] else [block("solution.py", "", t) for t in texts]
    )
    scored = json.dumps({"scores": [{"criterion": "reasoning", "score": 5}], "findings": []})
    outcome, _ = run(
        top, str(HERE / "math.toml"), lambda seen: scored if "You review" in seen.prompt else next(replies)
    )
    assert outcome.stop is Stop.CLEAN, outcome.why
    assert text(outcome, "solution.py") == texts[-1]
    assert [attempt.verdict.ok for attempt in outcome.attempts[1:]].count(True) >= 1


def test_best_of_n_by_a_reward_stops_at_the_threshold(tmp_path: Path) -> None:
    write(tmp_path, {"question.txt": "What is the capital of Belgium?\n"})
    with LlmServer(turns("answer.txt", "It is Brussels", "Brussels", "Bruges")) as server:
        example = importlib.import_module("tests.examples.best_of_n")
        outcome = example.answer(tmp_path, model="scripted", base_url=server.url)
    assert (text(outcome, "answer.txt"), len(server.requests)) == ("Brussels", 2)
    assert "scores 0.333333 (1 is enough)" in server.requests[1].prompt
    assert "Answer in one word." in server.requests[1].prompt


def test_a_task_that_only_a_program_has_is_not_replayed_as_another(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "answer", {"question.txt": "What is the capital of Belgium?\n"})
    with LlmServer(turns("answer.txt", "Brussels")) as server:
        example = importlib.import_module("tests.examples.best_of_n")
        example.answer(top, model="scripted", base_url=server.url)
    result = coderefine("replay", cwd=top)
    assert (result.code, len(result.lines)) == (2, 1), result
    assert "had a task that a program made (answer), and only that program can run it again" in result.lines[0]


def test_a_run_of_the_library_with_a_task_by_name_is_replayed(tmp_path: Path) -> None:
    case = TEXTS[0]
    top = make_repo(tmp_path / case.task, dict([case.given]))
    script = reviewing(turns(case.path, *case.versions), case.scores, case.criteria, case.path)
    run(top, str(HERE / f"{case.task}.toml"), script)
    result = coderefine("replay", cwd=top)
    assert result.code == 0, result
    assert "the same patch as run" in result.out


def test_best_of_n_keeps_the_best_and_not_the_last(tmp_path: Path) -> None:
    write(tmp_path, {"question.txt": "What is the capital of Belgium?\n"})
    texts = ("It is surely Brussels", "It is Brussels", "Well, it is Brussels")
    with LlmServer(turns("answer.txt", *texts)) as server:
        example = importlib.import_module("tests.examples.best_of_n")
        outcome = example.answer(tmp_path, model="scripted", base_url=server.url)
    assert text(outcome, "answer.txt") == "It is Brussels"


def test_the_done_flag_of_a_pydantic_response_ends_the_loop(tmp_path: Path) -> None:
    slow = "def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\n"
    fast = "def fib(n):\n    a, b = 0, 1\n    for _ in range(n):\n        a, b = b, a + b\n    return a\n"
    tests = "from fib import fib\n\n\ndef test_ten():\n    assert fib(10) == 55\n"
    top = make_repo(tmp_path / "fib", {"fib.py": slow, "test_fib.py": tests})

    def script(seen: Seen) -> str:
        if seen.body["model"] == "critic":
            done = "range" in seen.prompt
            return json.dumps({"feedback": [] if done else ["exponential: use a loop"], "done": done})
        return block("fib.py", slow.strip(), fast.strip())

    with LlmServer(script) as server:
        outcome = importlib.import_module("tests.examples.done_flag").refined(str(top), server.url)
    assert outcome.best.patch.files == {"fib.py": fast.encode()}
    assert outcome.stop is Stop.CLEAN
    assert [seen.body["model"] for seen in server.requests] == ["critic", "writer", "critic"]
    assert "exponential: use a loop" in server.requests[1].prompt


@pytest.mark.parametrize(("name", "most"), [("constrained.py", 20), ("best_of_n.py", 25), ("done_flag.py", 25)])
def test_an_example_is_as_short_as_promised(name: str, most: int) -> None:
    lines = [line for line in (HERE / name).read_text().splitlines() if line.strip()]
    assert len(lines) <= most
