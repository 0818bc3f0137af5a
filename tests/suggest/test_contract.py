"""Every request of ours against GitHub's own API description: @octokit/openapi, enforced by a prism proxy from npm.

Only our requests are held to it. The fake's answers leave out most properties that GitHub sends and we do not read.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from coderefine.publishers.hosts.bundle import Bundle, Note, Suggestion
from coderefine.publishers.hosts.github_api import Api
from coderefine.publishers.hosts.github_host import GitHub, find_pull
from tests.support.github_fake import Fake, Fault, served
from tests.support.repo import git, make_repo, write

NODE = Path(os.environ.get("TEST_NODE_MODULES", "/nowhere"))
PRISM = NODE / ".bin/prism"
WHOLE = NODE / "@octokit/openapi/generated/api.github.com.json"
REPO = "/repos/{owner}/{repo}"
PATHS = (
    "/user",
    f"{REPO}/pulls",
    f"{REPO}/pulls/{{pull_number}}",
    f"{REPO}/pulls/{{pull_number}}/files",
    f"{REPO}/pulls/{{pull_number}}/comments",
    f"{REPO}/pulls/{{pull_number}}/reviews",
    f"{REPO}/pulls/comments/{{comment_id}}",
    f"{REPO}/issues/{{issue_number}}/comments",
    f"{REPO}/issues/comments/{{comment_id}}",
    f"{REPO}/commits/{{ref}}/check-runs",
    f"{REPO}/commits/{{commit_sha}}/pulls",
    f"{REPO}/check-runs",
    f"{REPO}/check-runs/{{check_run_id}}",
)
pytestmark = pytest.mark.skipif(not (PRISM.exists() and WHOLE.exists()), reason="npm's prism and octokit are not here")


def subset() -> dict[str, Any]:
    """The description of our paths and what they refer to; the whole of it takes prism 15 s and 300 MB."""
    whole = json.loads(WHOLE.read_text("utf-8"))
    parts = {key: whole[key] for key in ("openapi", "info", "servers")}
    components: dict[str, dict[str, Any]] = {}

    def keep(node: Any) -> None:
        if isinstance(node, list):
            for item in node:
                keep(item)
        if isinstance(node, dict):
            reference = node.get("$ref")
            if isinstance(reference, str) and reference.startswith("#/components/"):
                _, _, kind, name = reference.split("/", 3)
                if name not in components.setdefault(kind, {}):
                    components[kind][name] = whole["components"][kind][name]
                    keep(components[kind][name])
            for item in node.values():
                keep(item)

    paths = {path: whole["paths"][path] for path in PATHS}
    keep(paths)
    return {**parts, "paths": paths, "components": components}


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[Fake]:
    top = make_repo(tmp_path / "r", {"a.py": "one\ntwo\n"})
    base = git(top, "rev-parse", "HEAD")
    write(top, {"a.py": "ONE\nTWO\n"})
    git(top, "commit", "-qam", "topic")
    with served(Fake(top, base)) as one:
        yield one


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
def proxy(fake: Fake, tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """(address, log) of a prism that refuses requests the description does not allow."""
    description, log, port = tmp_path / "github.json", tmp_path / "log", free_port()
    description.write_text(json.dumps(subset()))
    argv = (PRISM, "proxy", "--validate-request", "-h", "127.0.0.1", "-p", str(port), description, fake.url)
    with log.open("wb") as stream:
        process = subprocess.Popen(argv, stdout=stream, stderr=stream)
    try:
        for _ in range(120):
            if b"listening" in log.read_bytes():
                break
            time.sleep(0.25)
        yield f"http://127.0.0.1:{port}", log
    finally:
        process.terminate()
        process.wait()


def test_every_request_is_one_that_github_describes(fake: Fake, proxy: tuple[str, Path]) -> None:
    url, log = proxy
    one = Suggestion("a.py", 1, 2, ("ONE", "TWO"), ("three",), ("pytest/failed",), "mends it")
    other = Suggestion("a.py", 2, 2, ("TWO",), ("four",), ("pytest/failed",), "mends it too")
    notes = tuple(Note("a.py", 1, 1, "ruff/F401", f"note {n}") for n in range(60))
    full = Bundle(fake.head, fake.base, "sum", "proof", "diff\n", True, (one, other), notes)
    api = Api.connect("t", url, pace=0)
    bot = GitHub(api, "o/r", find_pull(api, "o/r", fake.head, "o:topic") or 0)
    assert "2 suggested; summary posted; check run written" in bot.publish(full)
    assert "1 stale removed" in bot.publish(Bundle(fake.head, fake.base, "sum", "proof", "diff\n", True, (one,)))
    assert "summary removed" in bot.publish(Bundle(fake.head, fake.base))
    assert find_pull(api, "o/r", fake.head) == 1
    fake.faults = [Fault("POST", r"/reviews$", 422)]
    assert "2 suggested one by one" in bot.publish(full)
    result = re.sub(r"\x1b\[[0-9;]*m", "", log.read_text())
    assert "Request received" in result
    # GraphQL is no part of the description; the proxy says 404, and the bot asks who it is in another way.
    assert re.findall(r"Violation: request.*", result) == ["Violation: request Selected route not found"]
    assert len(re.findall(r"post /graphql.*Request received", result)) == 1
    assert [entry[1] for entry in fake.log if entry[2] == 422] == ["/repos/o/r/pulls/1/reviews"]
