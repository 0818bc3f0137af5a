"""The server: its tools, resources and prompts, and the two ways to reach it.

Tools that propose do not write: `fix` and `alternatives` change no file, only `apply` writes their patches. The tools'
annotations declare this, so that a client that runs read-only tools without asking cannot change a file with them.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar

import anyio
import anyio.to_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp.server.mcpserver.resolve import ListRoots, Resolve
from mcp.server.mcpserver.tools import Tool
from mcp.shared.message import ServerMessageMetadata
from mcp.types import CallToolResult, InputRequiredResult, ListRootsRequest, ListRootsResult, ToolAnnotations
from pydantic import AnyHttpUrl

from coderefine import __version__, proc
from coderefine.app.history import best_diff, details
from coderefine.errors import CoderefineError
from coderefine.journal import Journal
from coderefine.mcp.folders import allowed, find_patch, find_run, place
from coderefine.mcp.results import (
    DEFAULT,
    PATCHES,
    Alternatives,
    Checked,
    MaxChars,
    PatchVerdict,
    RunSummary,
    Shown,
    Undone,
    remove_titles,
    short,
)
from coderefine.mcp.worker import offered

INSTRUCTIONS = (
    "coderefine checks Python code (pytest, ruff, radon and the project's own gates), repairs it and proves "
    "patches, yours too, in a private copy. Only `apply` and `undo` change files. Before you end, `prove` your changes."
)
URI = "coderefine://run/{run}"
CHECKING = ToolAnnotations(read_only_hint=True, open_world_hint=False)
RECORDING = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
PROPOSING = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=True)
"""`prove` and `fix` change no file, but they add a record of the run to the git directory; `fix` may ask a model."""
WRITING = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False)
Call: TypeAlias = Context[Any, Any]
"""The context of a tool's call."""


async def client_roots(ctx: Call) -> ListRoots | ListRootsResult | None:
    """Return the request for the client's roots; None if the client does not support roots."""
    capabilities = ctx.client_capabilities
    return ListRoots() if capabilities and capabilities.roots else None


Roots = Annotated[ListRootsResult | None, Resolve(client_roots)]
"""The client's roots; filled in by the SDK, never by the caller."""


@dataclass(frozen=True)
class Tools:
    """The tools. `limit`: the only folders that may be used (empty: the folders that the client shares)."""

    limit: tuple[Path, ...]

    def folders(self, roots: ListRootsResult | None) -> tuple[Path, ...]:
        return allowed(self.limit, None if roots is None else [str(root.uri) for root in roots.roots])

    async def check(
        self, *, ctx: Context, roots: Roots, paths: tuple[str, ...] = (), max_chars: MaxChars = DEFAULT
    ) -> Annotated[CallToolResult, Checked]:
        """Run the tests and the other gates on paths (default: the open folder) and list what they find."""
        folder, full = await _in_thread(lambda: place(self.folders(roots), paths))
        return short(Checked(**await work(ctx, "check", folder=folder, paths=full)), max_chars)

    async def fix(
        self,
        *,
        ctx: Context,
        roots: Roots,
        paths: tuple[str, ...] = (),
        ask_model: bool = False,
        seconds: float = 0,
        max_chars: MaxChars = PATCHES,
    ) -> Annotated[CallToolResult, RunSummary]:
        """Look for a repair of what check finds, prove it, and return it without writing it; `apply` writes it.

        ask_model: also ask the configured language model, which costs money. seconds: for the whole run, if not as
        configured.
        """
        folder, full = await _in_thread(lambda: place(self.folders(roots), paths))
        found = await work(ctx, "fix", folder=folder, paths=full, model=ask_model, seconds=seconds)
        return short(RunSummary(**found), max_chars)

    async def prove(
        self,
        *,
        ctx: Context,
        roots: Roots,
        patch: str = "",
        staged: bool = False,
        folder: str = "",
        max_chars: MaxChars = DEFAULT,
    ) -> Annotated[CallToolResult, PatchVerdict]:
        """Judge a given patch, yours for example: does it help, and does nothing get worse.

        patch: a diff, the path of one, a commit, a range A..B or a branch; default: all uncommitted changes, or what is
        staged. folder: which repository, where several are open. Nothing is written.
        """
        home, named = await _in_thread(lambda: find_patch(self.folders(roots), folder, patch))
        return short(PatchVerdict(**await work(ctx, "prove", folder=home, patch=named, staged=staged)), max_chars)

    async def apply(
        self, *, ctx: Context, roots: Roots, run: str, number: int = 0, max_chars: MaxChars = DEFAULT
    ) -> Annotated[CallToolResult, RunSummary]:
        """Prove again and write the patch that a run of fix proved, or number N of those that it offered."""
        journal = await self._find(roots, run)
        top = str(journal.repository.top)
        return short(RunSummary(**await work(ctx, "apply", folder=top, run=journal.run, number=number)), max_chars)

    async def alternatives(
        self, *, ctx: Context, roots: Roots, run: str = "", that: str = "", max_chars: MaxChars = PATCHES
    ) -> Annotated[CallToolResult, Alternatives]:
        """List the plausible patches that a run offered (default: the newest), and the inputs that tell them apart.

        that: a Python expression, such as `price(10, 100) == 900`; the answer then names the patches that make it true.
        """
        journal = await self._find(roots, run)
        found = await _in_thread(lambda: _alternatives(journal))
        if that and found.offers:
            agreed = await work(ctx, "agree", folder=str(journal.repository.top), run=journal.run, that=that)
            found.agreeing = list(agreed["numbers"])
        return short(found, max_chars)

    async def show(
        self, *, roots: Roots, run: str = "", diff: bool = False, max_chars: MaxChars = PATCHES
    ) -> Annotated[CallToolResult, Shown]:
        """Show a run (default: the newest): attempts, verdicts, what it wrote; with diff the patch, too."""
        journal = await self._find(roots, run)

        def shown() -> Shown:
            return Shown(run=journal.run, report=details(journal), diff=best_diff(journal) if diff else "")

        return short(await _in_thread(shown), max_chars)

    async def undo(self, *, ctx: Context, roots: Roots, run: str = "") -> Annotated[CallToolResult, Undone]:
        """Take back what a run wrote (default: the newest that wrote something), if it is unchanged since."""
        journal = await self._find(roots, run, written=True)
        found = await work(ctx, "undo", folder=str(journal.repository.top), run=journal.run)
        return short(Undone(**found), DEFAULT)

    async def _find(self, roots: ListRootsResult | None, run: str, *, written: bool = False) -> Journal:
        return await _in_thread(lambda: find_run(self.folders(roots), run, written=written))

    async def run_report(self, run: str, ctx: Context) -> str | InputRequiredResult:
        """Attempts, verdicts and evidence of a run."""
        return await self._read(ctx, run, lambda journal: "\n".join(details(journal)))

    async def run_diff(self, run: str, ctx: Context) -> str | InputRequiredResult:
        """The patch of a run: the proved one, else the best try."""
        return await self._read(ctx, run, best_diff)

    async def _read(self, ctx: Call, run: str, read: Callable[[Journal], str]) -> str | InputRequiredResult:
        """Read a resource; if the client has roots, ask for them first (the SDK does so only for tools)."""
        roots = None
        if await client_roots(ctx):
            if ctx.session.can_send_request:
                metadata = ServerMessageMetadata(related_request_id=ctx.request_id)
                roots = await ctx.session.send_request(ListRootsRequest(), ListRootsResult, metadata=metadata)
            elif isinstance(answer := (ctx.input_responses or {}).get("roots"), ListRootsResult):
                roots = answer
            else:
                return InputRequiredResult(input_requests={"roots": ListRootsRequest()})
        try:
            return await _in_thread(lambda: read(find_run(self.folders(roots), run)))
        except CoderefineError as error:
            raise ResourceNotFoundError(str(error)) from error


def make_server(limit: tuple[Path, ...], token: str = "") -> MCPServer:
    """Return the server. `limit`: see Tools. `token`: the token that HTTP clients must send."""
    auth = AuthSettings(issuer_url=AnyHttpUrl("http://127.0.0.1"), resource_server_url=None) if token else None
    tools = Tools(limit)
    server = MCPServer(
        "coderefine",
        tools=[
            _strict(tools.check, CHECKING),
            _strict(tools.fix, PROPOSING),
            _strict(tools.prove, RECORDING),
            _strict(tools.apply, WRITING),
            _strict(tools.alternatives, CHECKING),
            _strict(tools.show, CHECKING),
            _strict(tools.undo, WRITING),
        ],
        version=__version__,
        instructions=INSTRUCTIONS,
        log_level="WARNING",
        auth=auth,
        token_verifier=Verifier(token) if token else None,
        subscriptions=False,
    )
    server.resource(URI, mime_type="text/plain")(tools.run_report)
    server.resource(f"{URI}/diff", mime_type="text/x-diff")(tools.run_diff)
    for prompt in (repair, choose, finish):
        server.prompt()(prompt)
    return server


def repair(paths: str = "") -> str:
    """Repair what the checks find."""
    return (
        f"Call coderefine's `fix`{f' with paths {paths}' if paths else ''}. If its verdict is proved, `apply` "
        "its run. If it offers patches, ask me the questions that tell them apart, then `apply` the one that fits. If "
        "it finds none, repair the code yourself, and call `check` until it passes. Change no test."
    )


def choose(run: str = "") -> str:
    """Choose among the plausible patches of a run."""
    return (
        f"Call coderefine's `alternatives`{f' with run {run}' if run else ''}. Say what each patch does and on which "
        "input they differ, read the code and its documentation for what is right, and ask me where they do not say "
        "it. Then `apply` the one that is right."
    )


def finish() -> str:
    """Prove, before the work ends, that the uncommitted changes make nothing worse."""
    return (
        "Call coderefine's `prove`, which judges all uncommitted changes. While it says that anything is worse, repair "
        "that, and call it again. Then report its verdict."
    )


class Verifier:
    """Accepts only one token."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()

    async def verify_token(self, token: str) -> AccessToken | None:
        same = hmac.compare_digest(token.encode("utf-8", "replace"), self._token)
        return AccessToken(token=token, client_id="local", scopes=[]) if same else None


def serve_stdio(limit: tuple[Path, ...]) -> None:
    """Serve one client over stdin and stdout, until it closes stdin."""
    make_server(limit).run("stdio")


def serve_http(limit: tuple[Path, ...], port: int, token: str, *, shown: bool) -> None:
    """Serve any number of clients on 127.0.0.1; print the address and, if it is to be `shown`, the token."""
    import uvicorn

    app = make_server(limit, token).streamable_http_app()
    with socket.create_server(("127.0.0.1", port)) as listener:
        print(f"coderefine mcp: http://127.0.0.1:{listener.getsockname()[1]}/mcp", file=sys.stderr)
        if shown:
            print(f"coderefine mcp: Authorization: Bearer {token}", file=sys.stderr, flush=True)
        uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=2)).run([listener])


def _alternatives(journal: Journal) -> Alternatives:
    outcome = journal.outcome()
    return Alternatives.model_validate({"run": journal.run, **(offered(outcome) if outcome else {"why": "not ended"})})


Value = TypeVar("Value")


def _strict(tool: Callable[..., Awaitable[CallToolResult]], annotations: ToolAnnotations) -> Tool:
    """Return the tool for the SDK, changed to reject unknown arguments, which the SDK would ignore."""

    @wraps(tool)
    async def call(*args: Any, **kwargs: Any) -> CallToolResult:
        try:
            return await tool(*args, **kwargs)
        except CoderefineError as error:
            raise ToolError(str(error)) from error  # the SDK hides the text of other errors

    made = Tool.from_function(call, annotations=annotations)
    arguments = made.fn_metadata.arg_model
    arguments.model_config["extra"] = "forbid"
    arguments.model_rebuild(force=True)
    made.parameters = arguments.model_json_schema(by_alias=True)
    remove_titles(made.parameters)
    return made


async def _in_thread(work: Callable[[], Value]) -> Value:
    """Run `work`, which reads files, in a thread, so that the event loop is not blocked."""
    return await anyio.to_thread.run_sync(work)


async def work(ctx: Call, do: str, **job: object) -> Mapping[str, Any]:
    """Run a job of worker.JOBS in a worker; pass its progress to the client. Raises ToolError with the worker's reason.

    If the call is cancelled, the worker is interrupted and awaited, so that none of its processes remain.
    """
    send, receive = anyio.create_memory_object_stream[str](float("inf"))
    # Not in the project's folder: `-m` would put it on the import path, where its modules could hide ours.
    child = proc.start(
        (sys.executable, "-m", "coderefine.mcp.worker"),
        cwd="/",
        env=proc.clean_env(secrets=True),
        stdin=subprocess.PIPE,
        stderr=None,  # type: ignore[arg-type]
    )
    assert child.stdin
    child.stdin.write(json.dumps({"do": do, **job}).encode() + b"\n")
    child.stdin.flush()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_interrupt_in_the_end, child)
        tasks.start_soon(_report, ctx, receive)
        last = await anyio.to_thread.run_sync(_follow, child, send)
        tasks.cancel_scope.cancel()
    if "error" in last:
        raise ToolError(str(last["error"]))
    return dict(last["result"])


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
