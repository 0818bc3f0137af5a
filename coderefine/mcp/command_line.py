"""`coderefine mcp`: serve coding agents."""

from __future__ import annotations

import os
import secrets
import signal
from pathlib import Path

import click

from coderefine.errors import SurroundingsError, UsageError


@click.command()
@click.option("--http", is_flag=True, help="Serve HTTP on 127.0.0.1 instead of stdin and stdout.")
@click.option("--port", default=0, type=click.IntRange(0, 65535), help="Listen on this port (default: a free one).")
@click.option(
    "--token-env", metavar="NAME", help="Take the token from this environment variable (default: a new one, printed)."
)
@click.option(
    "--root",
    "roots",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, resolve_path=True, path_type=Path),
    metavar="FOLDER",
    help="Touch nothing outside this folder (repeatable; default: the folders that the client shares, else this one).",
)
def mcp(roots: tuple[Path, ...], token_env: str | None, port: int, *, http: bool) -> int:
    """Serve coding agents by the Model Context Protocol: see README, For coding agents."""
    if not http and (port or token_env):
        raise UsageError("--port and --token-env are for --http")
    try:
        from coderefine.mcp.server import serve_http, serve_stdio
    except ImportError as error:
        raise SurroundingsError(f"the MCP SDK is not installed ({error.name}): pip install 'coderefine[mcp]'") from None
    # There is nothing to clean up here, and stdin may be read for ever: the workers notice that the server is gone.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    if not http:
        serve_stdio(roots)
        return 0
    token = os.environ.get(token_env, "") if token_env else secrets.token_urlsafe(32)
    if not token:
        raise UsageError(f"--token-env {token_env}: this environment variable is not set")
    serve_http(roots or (Path.cwd().resolve(),), port, token, shown=not token_env)
    return 0
