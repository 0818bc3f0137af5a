"""One client over stdio: what the tools answer, what they write, and what they leave behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp import MCPError

from coderefine.mcp.results import LEAST
from tests.mcp.conftest import FAULTY
from tests.support.cases import every
from tests.support.command import GREEN, LINT, descendants
from tests.support.mcp_clients import SERVER, Agent, stdio
from tests.support.publishing import state
from tests.support.repo import git

MARK = f"mark-mcp-{os.getpid()}"


@pytest.fixture(scope="module")
def agent(folder: Path) -> Iterator[Agent]:
    """A client of the protocol of 2026, which shares the folder with both repositories."""
    with stdio(folder / "order", roots=[folder], mark=MARK) as connected:
        yield connected


@pytest.fixture(scope="module")
def older(folder: Path) -> Iterator[Agent]:
    """A client of the protocol of 2025, which shares no roots: the server gets the folder as an argument."""
    with stdio(folder / "order", "--root", str(folder / "order"), mode="legacy", mark=MARK) as connected:
        yield connected


@pytest.fixture
def order(folder: Path) -> Path:
    top = folder / "order"
    git(top, "reset", "-q", "--hard")
    return top


def text(answer: Any) -> str:
    return str(answer.content[0].text)


def until(done: Callable[[], object], seconds: float = 240.0) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, "never happened"
        time.sleep(0.02)


def test_tools_that_write_are_marked(agent: Agent, older: Agent) -> None:
    tools = {tool.name: tool for tool in agent.ask(agent.client.list_tools).tools}
    assert [tool.name for tool in older.ask(older.client.list_tools).tools] == list(tools)
    hints = {name: tool.annotations for name, tool in tools.items()}
    assert {name for name, one in hints.items() if one.read_only_hint} == {"check", "show", "alternatives"}
    assert {name for name, one in hints.items() if not one.read_only_hint and one.destructive_hint} == {"apply", "undo"}
    assert [name for name, one in hints.items() if one.open_world_hint] == ["fix"]
    assert {name for name, one in hints.items() if one.destructive_hint is False} == {"fix", "prove"}
    for tool in tools.values():
        jsonschema.Draft202012Validator.check_schema(tool.output_schema)
        assert "roots" not in tool.input_schema["properties"]
        assert tool.description
        assert "title" not in tool.input_schema


def test_a_failing_check_is_short_typed_and_changes_nothing(agent: Agent, order: Path) -> None:
    before = state(order)
    agent.progress.clear()
    answer = agent.call("check", paths=["order"])
    assert not answer.is_error
    found = answer.structured_content
    assert found["passed"] is False
    assert [(one["where"], one["rule"]) for one in found["findings"]] == [
        ("test_order.py:5", "pytest/failed"),
        ("order.py:1", "ruff/F401"),
    ]
    assert "assert 0 == 10" in found["findings"][0]["message"]
    assert text(answer).startswith("failed: pytest 1 failed, 1 passed · ruff 1")
    assert "order.py:1 ruff/F401 `os` imported but unused" in text(answer)
    assert len(answer.model_dump_json(by_alias=True, exclude_none=True)) <= 1500
    assert any("pytest" in line for line in agent.progress), agent.progress
    assert state(order) == before


def test_apply_writes_the_patch_that_fix_proved_and_undo_removes_it(older: Agent, order: Path) -> None:
    (order / "order.py").write_text(LINT)  # the repair of a failing test takes four times as long: see test_http.py
    before = state(order)
    proposed = older.call("fix")
    assert proposed.structured_content["verdict"] == "proved", text(proposed)
    assert "wrote" not in proposed.structured_content
    assert "-import os" in text(proposed)
    assert state(order) == before
    run = proposed.structured_content["run"]
    assert any("attempt" in line for line in older.progress)

    shown = older.call("show", diff=True)
    assert shown.structured_content["run"] == run
    assert "-import os" in text(shown)
    diff = older.ask(older.client.read_resource, f"coderefine://run/{run}/diff").contents[0]
    assert diff.text.startswith("diff --git a/order.py b/order.py")
    assert "ended     clean" in older.ask(older.client.read_resource, f"coderefine://run/{run}").contents[0].text

    written = older.call("apply", run=run)
    assert written.structured_content["wrote"].startswith("wrote order.py"), text(written)
    assert written.structured_content["verdict"] == "proved"
    assert (order / "order.py").read_text() == GREEN
    assert text(older.call("undo")) == "undone: order.py +2 −0"
    assert state(order) == before
    assert "no run wrote anything" in text(older.call("undo"))


def test_prove_judges_the_agents_changes(agent: Agent, order: Path) -> None:
    (order / "order.py").write_text(f"import sys\n{FAULTY}")
    before = state(order)
    answer = agent.call("prove", folder="order")
    found = answer.structured_content
    assert (found["proved"], found["worse"]) == (False, True), text(answer)
    assert text(answer).startswith("not proved, and worse: ")
    assert "new ruff finding F401" in text(answer)
    assert "F401" in text(agent.call("show", run=found["run"]))
    assert "judged a given patch" in text(agent.call("apply", run=found["run"])) or not found["proved"]
    assert "outside the allowed folders" in text(agent.call("prove", folder="order", patch="/etc/passwd"))
    assert "neither a file nor a commit" in text(agent.call("prove", folder="order", patch="nowhere"))
    assert state(order) == before


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("check", {"paths": ["/etc"]}, "/etc is outside the allowed folders"),
        ("fix", {"paths": ["../asleep"]}, "../asleep is outside the allowed folders"),
        ("check", {"paths": ["nowhere.py"]}, "nowhere.py does not exist"),
        ("check", {"path": "order.py"}, "path\n  Extra inputs are not permitted"),
        ("check", {"max_chars": 10}, f"greater than or equal to {LEAST}"),
        ("show", {"run": "zzz"}, "no run 'zzz'"),
        ("apply", {}, "run\n  Field required"),
        ("publish", {}, "Unknown tool: publish"),
    ],
)
def test_a_wrong_call_gets_the_reason(
    older: Agent, order: Path, tool: str, arguments: dict[str, object], expected: str
) -> None:
    answer = older.call(tool, **arguments)
    assert answer.is_error
    assert expected in text(answer)
    assert "Traceback" not in text(answer)


@pytest.mark.parametrize("mode", every(2, ["auto", "legacy"]))
def test_roots_limit_the_files_that_are_used(folder: Path, order: Path, mode: str) -> None:
    with stdio(folder, mode=mode, roots=[folder / "asleep"]) as other:
        assert "outside the allowed folders" in text(other.call("check", paths=[str(order)]))
        assert "is recorded" in text(other.call("show"))
        runs = sorted((order / ".git/coderefine/runs").glob("*")) or [order / "none"]
        with pytest.raises(MCPError, match=r"no run|outside"):
            other.ask(other.client.read_resource, f"coderefine://run/{runs[0].name}/diff")


def test_a_cancelled_call_ends_at_once_and_another_continues(agent: Agent, folder: Path, order: Path) -> None:
    asleep = folder / "asleep"
    before = state(asleep)
    slow = agent.begin("fix", paths=["asleep"])
    until(lambda: list((asleep / ".git/coderefine/runs").glob("*/run.json")))
    until(lambda: [line for line in descendants(MARK) if "cold_process" in line])
    asleep_ones = {line.split()[0] for line in descendants(MARK) if "cold_process" in line}
    other = agent.begin("check", paths=["order"])
    time.sleep(0.5)
    began = time.monotonic()
    slow.cancel()
    with pytest.raises(CancelledError):
        slow.result()
    until(lambda: not [line for line in descendants(MARK) if line.split()[0] in asleep_ones], 30)
    assert time.monotonic() - began < 30, "the test sleeps for ten minutes"
    assert other.result(60).structured_content["findings"]
    assert state(asleep) == before
    until(lambda: not [line for line in descendants(MARK) if "worker" in line], 60)
    assert "coderefine resume" in text(agent.call("show"))
    run = agent.call("show").structured_content["run"]
    assert "has not ended: `coderefine resume" in text(agent.call("apply", run=run))


def raw(folder: Path) -> subprocess.Popen[str]:
    """Start a server to which anything can be written."""
    pipe = subprocess.PIPE
    return subprocess.Popen(
        SERVER, cwd=folder, env={**os.environ, "MARK": MARK + "-raw"}, stdin=pipe, stdout=pipe, text=True
    )


def send(server: subprocess.Popen[str], **message: object) -> None:
    assert server.stdin
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    server.stdin.flush()


def initialize(server: subprocess.Popen[str]) -> None:
    client = {"name": "raw", "version": "1"}
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    send(server, id=0, method="initialize", params=params)
    assert server.stdout
    assert json.loads(server.stdout.readline())["result"]["serverInfo"]["name"] == "coderefine"
    send(server, method="notifications/initialized")


def test_a_malformed_request_is_an_error_and_the_server_continues(order: Path) -> None:
    with raw(order) as server:
        initialize(server)
        assert server.stdin
        assert server.stdout
        server.stdin.write("{not json\n[]\n\n")
        send(server, id=1, method="tools/call", params={"name": 7})
        send(server, id=2, method="no/such/method")
        send(server, id=3, method="ping")
        answers = {one["id"]: one for one in (json.loads(server.stdout.readline()) for _ in range(3))}
        server.stdin.close()
        assert server.wait(10) == 0
    assert answers[1]["error"]["code"] == -32602
    assert answers[2]["error"]["code"] == -32601
    assert answers[3]["result"] == {}


@pytest.mark.parametrize("way", every(2, ["closes", "is killed with the server"]))
def test_a_vanished_client_leaves_no_process(folder: Path, way: str) -> None:
    asleep = folder / "asleep"
    before = state(asleep)
    with raw(asleep) as server:
        initialize(server)
        send(server, id=1, method="tools/call", params={"name": "check", "arguments": {}})
        until(lambda: [line for line in descendants(MARK + "-raw") if "pytest" in line or "cold" in line])
        if way == "closes":
            assert server.stdin
            server.stdin.close()
            assert server.wait(10) == 0
        else:
            server.send_signal(signal.SIGKILL)
            server.wait(10)
    until(lambda: not descendants(MARK + "-raw"), 60)
    assert state(asleep) == before


def test_prompts_name_the_tools(agent: Agent) -> None:
    prompts = agent.ask(agent.client.list_prompts).prompts
    assert [prompt.name for prompt in prompts] == ["repair", "choose", "finish"]
    (message,) = agent.ask(agent.client.get_prompt, "repair", {"paths": "src"}).messages
    assert "`fix` with paths src" in message.content.text


def test_without_the_extra_one_line_names_the_command_to_install_it(tmp_path: Path) -> None:
    code = "import sys; sys.modules['mcp'] = None; from coderefine.cli import main; main(['mcp'])"
    done = subprocess.run((sys.executable, "-c", code), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("coderefine: the MCP SDK is not installed")
    assert "pip install 'coderefine[mcp]'" in line
