"""Start a worker, pass its progress to the client, and interrupt it if the call is cancelled."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any, TypeAlias

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError

from coderefine import proc

Call: TypeAlias = Context[Any, Any]
"""The context of a tool's call."""


async def work(ctx: Call, do: str, **job: object) -> Mapping[str, Any]:
    """Run a job of worker.JOBS in a worker; pass its progress to the client. Raises ToolError with the worker's reason.

    If the call is cancelled, the worker is interrupted and awaited, so that none of its processes remain.
    """
    send, receive = anyio.create_memory_object_stream[str](float("inf"))
    child = _started({"do": do, **job})
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_interrupt_in_the_end, child)
        tasks.start_soon(_report, ctx, receive)
        last = await anyio.to_thread.run_sync(_follow, child, send)
        tasks.cancel_scope.cancel()
    if "error" in last:
        raise ToolError(str(last["error"]))
    return dict(last["result"])


def _started(job: Mapping[str, object]) -> subprocess.Popen[bytes]:
    # Not in the project's folder: `-m` would put it on the import path, where its modules could hide ours.
    child = proc.start(
        (sys.executable, "-m", "coderefine.mcp.worker"),
        cwd="/",
        env=proc.clean_env(secrets=True),
        stdin=subprocess.PIPE,
        stderr=None,  # type: ignore[arg-type]
    )
    assert child.stdin
    child.stdin.write(json.dumps(job).encode() + b"\n")
    child.stdin.flush()
    return child


async def _interrupt_in_the_end(child: subprocess.Popen[bytes]) -> None:
    """Close the worker's stdin when this task is cancelled, which interrupts a job that is still running."""
    assert child.stdin
    try:
        await anyio.sleep_forever()
    finally:
        with contextlib.suppress(OSError):
            child.stdin.close()


def _follow(child: subprocess.Popen[bytes], send: MemoryObjectSendStream[str]) -> Mapping[str, Any]:
    """Send the worker's progress, and return its last line, or an error if it died; runs in a thread."""
    assert child.stdout
    last: Mapping[str, Any] = {}
    with child.stdout as output:
        for line in output:
            last = json.loads(line)
            if "progress" in last:
                anyio.from_thread.run_sync(send.send_nowait, last["progress"])
    code = child.wait()
    return last if "progress" not in last and last else {"error": f"the worker died (exit {code}); see stderr"}


async def _report(ctx: Call, lines: MemoryObjectReceiveStream[str]) -> None:
    """Pass progress to the client, if the client requested it.

    The number only counts the lines; the text shows the actual progress.
    """
    number = 0
    async for line in lines:
        number += 1
        await ctx.report_progress(number, None, line)
