"""Several clients over HTTP on loopback: the token, two at once, one that vanishes; and the inspector from npm."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.cli.test_pick import SHOP
from tests.cli.test_pick import TESTS as SHOP_TESTS
from tests.mcp.test_stdio import text, until
from tests.support.cases import every
from tests.support.command import descendants
from tests.support.mcp_clients import SERVER, http, http_server
from tests.support.publishing import state
from tests.support.repo import make_repo

NODE = Path(os.environ.get("TEST_NODE_MODULES", "/nowhere"))
INSPECTOR = NODE / ".bin/mcp-inspector"
MARK = f"mark-http-{os.getpid()}"
CONFIGURED = '[tool.coderefine]\ngates = ["pytest"]\nsearch-time = 90\n'


@pytest.fixture(scope="module")
def folder(folder: Path) -> Path:
    """Return the folder with a third repository, where several patches are plausible."""
    make_repo(folder / "shop", {"shop.py": SHOP, "test_shop.py": SHOP_TESTS, "pyproject.toml": CONFIGURED})
    return folder


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[tuple[str, str]]:
    with http_server(folder, env={"MARK": MARK}) as found:
        yield found


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": "Basic TOKEN"}, 401),
        ({"Authorization": "Bearer TOKEN", "Host": "example.com"}, 421),
        ({"Authorization": "Bearer TOKEN", "Origin": "https://example.com"}, 403),
        ({"Authorization": "Bearer TOKEN"}, 400),
    ],
    ids=["no token", "wrong token", "no bearer", "rebound name", "foreign page", "no JSON"],
)
def test_a_request_without_the_token_is_refused(served: tuple[str, str], headers: dict[str, str], status: int) -> None:
    address, token = served
    assert address.startswith("http://127.0.0.1:")
    sent = {name: value.replace("TOKEN", token) for name, value in headers.items()}
    sent |= {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    assert httpx2.post(address, headers=sent, content="{not json").status_code == status


@pytest.mark.parametrize("mode", every(2, ["auto", "legacy"]))
def test_two_clients_work_at_once_and_one_may_be_cancelled(served: tuple[str, str], folder: Path, mode: str) -> None:
    asleep = folder / "asleep"
    before = state(asleep)
    known = set((asleep / ".git/coderefine/runs").glob("*/run.json"))
    with http(*served, mode=mode) as one, http(*served, mode=mode, roots=[folder / "order"]) as two:
        slow = one.begin("fix", paths=["asleep"])
        until(lambda: set((asleep / ".git/coderefine/runs").glob("*/run.json")) - known)
        assert "another coderefine is running" in text(one.call("fix", paths=["asleep"]))
        answer = two.call("check")
        assert answer.structured_content["passed"] is False
        assert len(answer.model_dump_json(by_alias=True, exclude_none=True)) <= 1500
        assert any("pytest" in line for line in two.progress), two.progress
        assert "outside" in text(two.call("check", paths=[str(asleep)]))
        assert not slow.done()
        slow.cancel()
        with pytest.raises(CancelledError):
            slow.result()
        until(lambda: not [line for line in descendants(MARK) if "worker" in line], 60)
    assert state(asleep) == before


def test_a_client_that_hangs_up_ends_its_run(served: tuple[str, str]) -> None:
    address, token = served
    version = "2026-07-28"
    meta = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
        "progressToken": 1,
    }
    params = {"name": "check", "arguments": {"paths": ["asleep"]}, "_meta": meta}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {
        "Authorization": f"Bearer {token}",
        "Accept": "application/json, text/event-stream",
        "Mcp-Protocol-Version": version,
        "Mcp-Method": "tools/call",
        "Mcp-Name": "check",
    }
    with httpx2.stream("POST", address, headers=headers, json=call, timeout=60) as answer:
        first = next(line for line in answer.iter_lines() if line.startswith("data: "))
        assert json.loads(first.removeprefix("data: "))["method"] == "notifications/progress"
        assert descendants(MARK)
    until(lambda: not [line for line in descendants(MARK) if "worker" in line], 60)


@pytest.mark.thorough
def test_offers_are_distinguished_and_applied(served: tuple[str, str], folder: Path) -> None:
    with http(*served, roots=[folder / "shop"]) as agent:
        fixed = agent.call("fix")
        assert fixed.structured_content["verdict"] == "offered", text(fixed)
        run = fixed.structured_content["run"]
        listed = agent.call("alternatives", that="price(10, 100) == 900")
        offers = listed.structured_content["offers"]
        assert [one["number"] for one in offers] == list(range(1, len(offers) + 1))
        assert any("price(10, 100)" in question for question in listed.structured_content["questions"])
        agreeing = listed.structured_content["agreeing"]
        assert 0 < len(agreeing) < len(offers)
        assert (folder / "shop/shop.py").read_text() == SHOP
        assert "pick 1 to" in text(agent.call("apply", run=run, number=99))
        assert "proved no patch" in text(agent.call("apply", run=run))
        written = agent.call("apply", run=run, number=agreeing[0])
        assert written.structured_content["verdict"] == "plausible", text(written)
        assert (folder / "shop/shop.py").read_text() != SHOP


@pytest.mark.skipif(not INSPECTOR.exists(), reason="no @modelcontextprotocol/inspector in TEST_NODE_MODULES")
def test_the_inspector_of_npm_lists_and_calls(folder: Path) -> None:
    tools = inspect(folder, "tools/list")["tools"]
    assert [tool["name"] for tool in tools][:2] == ["check", "fix"]
    templates = [one["uriTemplate"] for one in inspect(folder, "resources/templates/list")["resourceTemplates"]]
    assert templates == ["coderefine://run/{run}", "coderefine://run/{run}/diff"]
    called = inspect(folder, "tools/call", "--tool-name", "check", "--tool-arg", 'paths=["order"]')
    assert called["structuredContent"]["passed"] is False


def inspect(folder: Path, method: str, *options: str) -> dict[str, Any]:
    argv = (str(INSPECTOR), "--cli", *SERVER, "--method", method, *options)
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))
