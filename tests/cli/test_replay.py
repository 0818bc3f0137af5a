"""`coderefine replay`: the same patch from the record alone, wherever the tree has gone meanwhile."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import seal
from tests.support.cases import every
from tests.support.command import GREEN, ORDER, RIGHT, TESTS, WRONG, block, coderefine
from tests.support.llm_server import LlmServer, Reply, Script
from tests.support.publishing import state
from tests.support.repo import git, make_repo

UNREADABLE = "Something else."


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return make_repo(tmp_path / "shop", {"order.py": ORDER, "test_order.py": TESTS})


def fixed(top: Path, script: Script, *more: str) -> int:
    """Run `fix` against a server that is gone afterwards; how many requests it had."""
    with LlmServer(script) as server:
        result = coderefine("fix", "--no-search", "--model", "scripted", "--base-url", server.url, *more, cwd=top)
        assert result.code == 0, result
        return len(server.requests)


@pytest.mark.parametrize(
    "script",
    every(3, [[RIGHT], [WRONG, UNREADABLE, RIGHT], [WRONG, Reply(UNREADABLE, more=(WRONG, RIGHT))]]),
    ids=["at once", "one by one", "together"],
)
def test_the_same_patch_comes_out_with_no_server_and_the_patch_already_in_the_tree(shop: Path, script: Script) -> None:
    fixed(shop, script)
    assert (shop / "order.py").read_text() == GREEN
    before = state(shop)
    result = coderefine("replay", cwd=shop)
    assert result.code == 0, result
    assert "the same patch as run" in result.out
    assert "0 requests sent; nothing was written" in result.out
    assert "1 test flipped" in result.out
    assert state(shop) == before


RULES = "".join(f"def rule_{n}(text):\n    return text * {n} + '{n}'\n\n\n" for n in range(80))
CODE = {
    "codes.py": f"{RULES}def code(text):\n    return text\n",
    "test_codes.py": "from codes import code, rule_1\n\n\ndef test_rule():\n    assert rule_1('a') == 'a1'\n\n\n"
    "def test_code():\n    assert code('abc') == 'c-b-a!3'\n\n\n"
    "def test_other():\n    assert code('xy') == 'y-x!2'\n",
}
JOINED = block(
    "codes.py", "def code(text):\n    return text", "def code(text):\n    return '-'.join(text[::-1]) + f'!{len(text)}'"
)


def test_a_request_is_made_of_what_the_search_observed(tmp_path: Path) -> None:
    """The failing tests were run once more to trace them; a replay ran them, too, and might make another request."""
    top = make_repo(tmp_path / "p", CODE)
    with LlmServer([JOINED]) as server:
        result = coderefine("fix", "--search-time", "2", "--model", "scripted", "--base-url", server.url, cwd=top)
        assert (result.code, len(server.requests)) == (0, 1), result
        assert "def code(text):" in server.requests[0].prompt
        assert "rule_7" not in server.requests[0].prompt
    assert "stage: trace" not in result.err
    assert len(list((top / ".git/coderefine/runs").glob("*/traces/*.json"))) == 1
    result = coderefine("replay", cwd=top)
    assert result.code == 0, result
    assert "stage: trace" not in result.err


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with one run that two answers of a model led to; it is in the last commit."""
    with pytest.MonkeyPatch.context() as patch:
        seal(tmp_path_factory.mktemp("home"), patch)
        top = make_repo(tmp_path_factory.mktemp("replay") / "shop", {"order.py": ORDER, "test_order.py": TESTS})
        assert fixed(top, [WRONG, RIGHT], "--commit") >= 2
    return top


@pytest.fixture
def recorded(recording: Path) -> Path:
    """`recording` with a clean tree."""
    git(recording, "reset", "-q", "--hard")
    git(recording, "clean", "-qfd")
    return recording


@pytest.fixture
def right(recorded: Path) -> Iterator[Path]:
    """The recorded answer that was right: a test may spoil it."""
    answers = sorted((recorded / ".git/coderefine/runs").glob("*/answers/*.json"))
    path = next(path for path in answers if ">= 100" in json.loads(path.read_bytes())["value"])
    content = path.read_bytes()
    yield path
    path.write_bytes(content)


@pytest.mark.thorough
def test_later_changes_of_tree_and_settings_do_not_matter(recorded: Path) -> None:
    (recorded / "order.py").write_text("nothing = 'like it was'\n")
    (recorded / "new.py").write_text("import nothing_that_exists\n")
    (recorded / "pyproject.toml").write_text('[tool.coderefine]\npolicy = "retry"\nmodel = "another"\n')
    git(recorded, "rm", "-q", "--cached", "test_order.py")
    (recorded / "test_order.py").unlink()
    result = coderefine("replay", cwd=recorded)
    assert result.code == 0, result
    assert (recorded / "order.py").read_text() == "nothing = 'like it was'\n"


@pytest.mark.thorough
def test_a_missing_answer_is_an_error_in_one_line(recorded: Path, right: Path) -> None:
    right.unlink()
    result = coderefine("replay", cwd=recorded)
    assert result.code == 2, result
    assert result.out == ""
    assert len(result.lines) == 1
    assert "the replay needs an answer that was never recorded (edit, key " in result.lines[0]


@pytest.mark.thorough
def test_an_answer_that_was_changed_is_an_error(recorded: Path, right: Path) -> None:
    right.write_text(right.read_text().replace(">= 100", ">= 101"))
    result = coderefine("replay", cwd=recorded)
    assert (result.code, len(result.lines)) == (2, 1)
    assert "damaged" in result.lines[0]


@pytest.mark.thorough
def test_a_run_without_a_model_is_replayed_from_its_patches(shop: Path) -> None:
    assert coderefine("fix", "--no-model", cwd=shop).code == 0
    result = coderefine("replay", cwd=shop)
    assert result.code == 0, result
    assert "the same patch as run" in result.out


def test_the_replay_of_a_given_patch_is_refused(shop: Path) -> None:
    """It was never the same patch, because a replay left out the tests of the patch."""
    (shop / "order.py").write_text(GREEN)
    (shop / "test_order.py").write_text(f"{TESTS}\n\ndef test_zero():\n    assert price(0) == 0\n")
    assert coderefine("prove", cwd=shop).code == 0
    result = coderefine("replay", cwd=shop)
    assert result.code == 2, result
    assert "was about a given patch, and cannot be replayed: run `coderefine prove` again" in result.lines[0]


def test_there_is_nothing_to_replay(shop: Path) -> None:
    result = coderefine("replay", cwd=shop)
    assert (result.code, result.lines) == (2, ["coderefine: no run is recorded here yet: `coderefine fix` makes one"])
