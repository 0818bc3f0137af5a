"""The official MCP client beside the server as a process, for tests that are not asynchronous."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, ListRootsResult, Root

SERVER = (sys.executable, "-m", "coderefine", "mcp")


@dataclass(frozen=True)
class Agent:
    """A connected client. `progress` gathers the progress messages of a tool."""

    portal: BlockingPortal
    client: Client
    progress: list[str] = field(default_factory=list)

    def call(self, tool: str, **arguments: object) -> CallToolResult:
        """Call a tool to its end."""
        return self.begin(tool, **arguments).result()

    def begin(self, tool: str, **arguments: object) -> Future[CallToolResult]:
        """Call a tool and go on; cancelling the future cancels the call."""
        return self.portal.start_task_soon(self._call, tool, arguments)

    def ask(self, method: Callable[..., Any], *arguments: object) -> Any:
        """Call another method of the client."""
        return self.portal.call(method, *arguments)

    async def _call(self, tool: str, arguments: dict[str, Any]) -> CallToolResult:
        async def tell(progress: float, total: float | None, message: str | None) -> None:
            self.progress.append(message or "")

        return await self.client.call_tool(tool, arguments, progress_callback=tell)


@contextmanager
def stdio(
    cwd: Path, *options: str, mode: str = "auto", roots: Sequence[Path] | None = None, mark: str = ""
) -> Iterator[Agent]:
    """Connect to a server of its own over stdin and stdout. `mark`: in its environment, to find what it started."""
    env = {**os.environ, "MARK": mark}
    command, *arguments = (*SERVER, *options)
    server = StdioServerParameters(command=command, args=arguments, cwd=cwd, env=env)
    made = Client(server, mode=mode, list_roots_callback=_roots(roots))
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(made) as client:
        yield Agent(portal, client)


@contextmanager
def http(url: str, token: str, *, mode: str = "auto", roots: Sequence[Path] | None = None) -> Iterator[Agent]:
    """Connect to the server at `url`."""

    @asynccontextmanager
    async def connected() -> AsyncIterator[Client]:
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(headers=headers, timeout=300) as session:
            transport = streamable_http_client(url, http_client=session)
            async with Client(transport, mode=mode, list_roots_callback=_roots(roots)) as client:
                yield client

    with start_blocking_portal() as portal, portal.wrap_async_context_manager(connected()) as client:
        yield Agent(portal, client)


@contextmanager
def http_server(cwd: Path, *options: str, env: Mapping[str, str] | None = None) -> Iterator[tuple[str, str]]:
    """Start a server that serves HTTP; yield its address and the token that it printed."""
    argv = (*SERVER, "--http", *options)
    process = subprocess.Popen(
        argv, cwd=cwd, env={**os.environ, **(env or {})}, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stderr
    try:
        address, token = (process.stderr.readline().split()[-1] for _ in range(2))
        yield address, token
    finally:
        process.terminate()
        process.communicate(timeout=120)


def _roots(folders: Sequence[Path] | None) -> Any:
    """Return the callback of a client that shares `folders`; None for one without roots."""
    if folders is None:
        return None

    async def roots(_context: object) -> ListRootsResult:
        return ListRootsResult(roots=[Root.model_validate({"uri": folder.as_uri()}) for folder in folders])

    return roots
