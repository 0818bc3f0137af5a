"""Tasks of one's own: a TOML file, a configuration key, another package's entry point."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from coderefine.config import load
from coderefine.core import Attempt, Check, Patch, Task
from coderefine.errors import ConfigError
from coderefine.project import locate
from coderefine.tasks import BUILT_IN, find, read
from tests.support.command import GREEN, ORDER, RIGHT, TESTS, Ended, block, coderefine
from tests.support.llm_server import LlmServer, Script
from tests.support.repo import git, make_repo, write

HEADLINE = """\
name = "headline"
role = "You write headlines."
goal = "One headline for story.txt, in headline.txt."
rules = ["At most 20 characters."]
given = ["story.txt"]
wanted = ["headline.txt"]
gates = []
commands = [{ name = "length", run = ["sh", "length.sh"] }]
"""
LENGTH = """\
text=$(cat headline.txt 2>/dev/null)
if [ "${#text}" -gt 20 ]; then echo "headline.txt:1: ${#text} characters, at most 20"; exit 1; fi
"""
STORY = "A fox ran over a dog that was too lazy to care.\n"


def with_model(top: Path, script: Script, *args: str) -> tuple[Ended, LlmServer]:
    with LlmServer(script) as server:
        result = coderefine(*args, "--no-search", "--model", "scripted", "--base-url", server.url, cwd=top)
    return result, server


@pytest.fixture
def story(tmp_path: Path) -> Path:
    return make_repo(tmp_path / "story", {"story.txt": STORY, "headline.toml": HEADLINE, "length.sh": LENGTH})


def test_a_toml_task_writes_a_text_that_its_gate_holds_to(story: Path) -> None:
    long = "Fox runs over lazy dog in daylight"
    replies = [block("headline.txt", "", long), block("headline.txt", long, "Fox, dog")]
    result, server = with_model(story, replies, "fix", "--task", "headline.toml")
    assert result.code == 0, result
    assert (story / "headline.txt").read_text().strip() == "Fox, dog"
    first, second = (seen.prompt for seen in server.requests)
    assert "You write headlines." in first
    assert "The task: One headline for story.txt, in headline.txt.\n- At most 20 characters." in first
    assert f"=== given story.txt [{first.split('=== given story.txt [')[1][:6]}]\n{STORY}" in first
    assert "headline.txt does not contain the requested code" in first
    assert "34 characters, at most 20" in second


def test_a_wanted_file_may_be_written_as_a_path_from_here(story: Path) -> None:
    """`wanted = ["./headline.txt"]`: each patch was refused as outside the requested path, after the model was paid."""
    write(story, {"headline.toml": HEADLINE.replace('["headline.txt"]', '["./headline.txt"]')})
    result, _ = with_model(story, [block("headline.txt", "", "Fox, dog")], "fix", "--task", "headline.toml")
    assert result.code == 0, result


def test_files_given_to_a_task_are_protected(story: Path) -> None:
    both = block("headline.txt", "", "Fox, dog") + block("story.txt", STORY.strip(), "Fox, dog")
    result, _ = with_model(story, [both], "fix", "--task", "headline.toml", "--max-requests", "1")
    assert result.code == 1
    assert (story / "story.txt").read_text() == STORY
    assert not (story / "headline.txt").exists()


@pytest.mark.thorough
def test_such_a_run_is_replayed_from_its_record(story: Path) -> None:
    with_model(story, [block("headline.txt", "", "Fox, dog")], "fix", "--task", "headline.toml")
    result = coderefine("replay", cwd=story)
    assert result.code == 0, result
    assert "the same patch as run" in result.out


@pytest.mark.thorough
def test_the_task_can_be_a_key_of_the_configuration(tmp_path: Path) -> None:
    files = {
        "order.py": ORDER,
        "test_order.py": TESTS,
        "task.toml": 'rules = ["Keep it short."]\n',
        "pyproject.toml": '[tool.coderefine]\ntask = "task.toml"\n',
    }
    top = make_repo(tmp_path / "order", files)
    result, server = with_model(top, [RIGHT], "fix")
    assert result.code == 0, result
    assert (top / "order.py").read_text() == GREEN
    assert "\n- Keep it short." in server.requests[0].prompt


def test_the_environment_names_a_task_and_a_flag_goes_before_it(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "order", {"order.py": GREEN, "test_order.py": TESTS})
    result = coderefine("check", cwd=top, env={"CODEREFINE_TASK": "docs"})
    assert (result.code, "docs 0" in result.out) == (0, True), result
    result = coderefine("check", "--task", "fix", cwd=top, env={"CODEREFINE_TASK": "docs"})
    assert (result.code, "docs" in result.out) == (0, False), result


@pytest.mark.thorough
def test_requests_of_fix_are_unchanged(tmp_path: Path) -> None:
    prompts = []
    for name, more in (("plain", ()), ("named", ("--task", "fix"))):
        top = make_repo(tmp_path / name, {"order.py": ORDER, "test_order.py": TESTS})
        result, server = with_model(top, [RIGHT], "fix", *more)
        assert result.code == 0, result
        prompts.append(server.requests[0].prompt)
    assert prompts[0] == prompts[1]
    assert prompts[0].startswith("You repair Python code. Tools judge every patch: tests, lint, complexity.\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("goal = 3\n", "goal must be a string"),
        ('rules = "short"\n', "rules must be a list of strings"),
        ("enough = true\n", "enough must be a number"),
        ("max-complexty = 3\n", "did you mean 'max-complexity'?"),
        ("= 3\n", "cannot be read"),
    ],
)
def test_a_broken_task_is_reported_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "task.toml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        read(tmp_path / "task.toml")
    assert message in str(caught.value)
    assert "task.toml" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "message"), [("readabilty", "did you mean 'readability'?"), ("no.toml", "there is no")]
)
def test_an_unknown_task_is_refused(tmp_path: Path, name: str, message: str) -> None:
    top = make_repo(tmp_path / "order", {"order.py": ORDER})
    ended = coderefine("fix", "--task", name, cwd=top)
    assert ended.code == 2
    assert message in ended.lines[0]


def test_another_package_brings_a_task_by_its_entry_point(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "order", {"order.py": GREEN, "test_order.py": TESTS})
    site = tmp_path / "site"
    (site / "shouting-1.dist-info").mkdir(parents=True)
    (site / "shouting-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: shouting\nVersion: 1\n")
    points = "[coderefine.tasks]\nshout = shouting:TASK\n"
    (site / "shouting-1.dist-info" / "entry_points.txt").write_text(points)
    (site / "shouting.py").write_text(
        "from coderefine.core import Finding, Task\n\n\n"
        "def loud(read):\n"
        "    if 'Prices' in (read('order.py') or ''):\n"
        "        yield Finding('', 'quiet', 'order.py', 'says Prices and not PRICES')\n\n\n"
        "TASK = Task('shout', rules=('Shout.',), checks=(loud,))\n"
    )
    loud = block("order.py", '"""Prices of an order."""', '"""PRICES of an order."""')
    with LlmServer([loud]) as server:
        result = coderefine(
            *("fix", "--task", "shout", "--model", "scripted", "--base-url", server.url),
            cwd=top,
            env={"PYTHONPATH": f"{Path(__file__).parents[2]}:{site}"},
        )
    assert result.code == 0, result
    assert "loud 1" in result.out
    assert (top / "order.py").read_text().startswith('"""PRICES')


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_built_in_task_is_a_task_of_its_name(tmp_path: Path, name: str) -> None:
    place = locate([make_repo(tmp_path / "order", {"order.py": ORDER})], tmp_path)
    assert find(name, place).name == name
    load(place.root, {}, {}, find(name, place))


@pytest.mark.parametrize(
    ("written", "flags", "gates", "commands"),
    [
        ("", {}, (), ("c",)),
        ('gates = ["ruff"]\n', {}, (), ("c",)),
        ("", {"gates": ("ruff",)}, ("ruff",), ("c",)),
    ],
)
def test_a_task_without_gates_runs_none_but_its_own(
    tmp_path: Path, written: str, flags: dict[str, object], gates: Sequence[str], commands: Sequence[str]
) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.coderefine]\n{written}")
    task = Task("t", settings={"gates": [], "commands": [{"name": "c", "run": ["true"]}]}, given=("a.txt",))
    config = load(tmp_path, {}, flags, task)
    assert config.gates == (*gates, *(() if flags else ("c",)))
    assert tuple(command.name for command in config.commands) == tuple(commands)
    assert config.protect == ("a.txt",)


def test_settings_of_the_user_override_those_of_a_task(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.coderefine]\nmax-complexity = 4\ncriteria = { mine = "Short." }\n')
    task = Task("t", settings={"max-complexity": 6, "max-requests": 3, "criteria": {"readability": True}})
    config = load(tmp_path, {}, {}, task)
    assert (config.max_complexity, config.max_requests) == (4, 3)
    assert [criterion.name for criterion in config.criteria] == ["mine", "readability"]


@pytest.mark.parametrize(
    ("enough", "total", "sufficient"),
    [
        (None, 5.0, False),
        (4.5, 4.4, False),
        (4.5, 4.5, True),
        (4.5, None, False),
        (lambda one: one.number == 3, 1.0, True),
    ],
)
def test_when_it_is_enough(enough: float | None, total: float | None, sufficient: bool) -> None:
    attempt = Attempt(3, Patch(), (Check("pytest"), Check("review", gate=False, total=total)))
    assert Task("t", enough=enough).is_refinement_sufficient(attempt) is sufficient


def test_the_head_of_the_repository_stays(story: Path) -> None:
    head = git(story, "rev-parse", "HEAD")
    with_model(story, [block("headline.txt", "", "Fox, dog")], "fix", "--task", "headline.toml")
    assert git(story, "rev-parse", "HEAD") == head
