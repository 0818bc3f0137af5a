"""`coderefine init`: write a commented [tool.coderefine] into pyproject.toml and keep the rest of the file."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

import click
import tomlkit
from tomlkit.exceptions import TOMLKitError

from coderefine.errors import ConfigError

LINES = (
    'gates = ["pytest", "ruff", "radon"]  # the checks that must pass; [[tool.coderefine.commands]] adds programs',
    "max-complexity = 10  # radon's cyclomatic complexity of a function",
    "max-requests = 12  # requests to the model in one run",
    "max-cost = 1.0  # dollars in one run",
    'task = "readability"  # what done means: fix, readability, performance, types, docs, or a TOML file',
    "request-timeout = 600.0  # seconds of silence of the model's server that end a request",
    "search-time = 30.0  # seconds of the offline search (8 when a model comes after it)",
    'accept = "plausible"  # write the first patch that may be right; by default such are only offered',
    "fast-proof = true  # prove with the tests that can reach the patch, where all take minutes",
    'python = ".venv/bin/python"  # the project\'s interpreter, when it is not found',
    'model = "gpt-5-mini"  # asked only when a key or a base-url is there',
    'base-url = "http://localhost:11434/v1"  # any OpenAI-compatible server',
    'models = ["gpt-5-mini", "gpt-5"]  # from cheap to strong, in place of model',
    'criteria = { readability = true }  # let the model review too: a built-in set, or name = "a sentence"',
    'protect = ["schema/**"]  # more files that no patch may touch',
)
"""Comments, because a key that is there counts as requested (`Config.asked`), even with its default value."""

LONE = re.compile(r"(?<!\r)\n")
"""The end of a line, except in a file of Windows."""


@click.command()
@click.argument("folder", default=".", type=click.Path(exists=True, file_okay=False, path_type=Path))
def init(folder: Path) -> None:
    """Write a commented [tool.coderefine] into pyproject.toml."""
    path = folder / "pyproject.toml"
    try:
        before = path.read_bytes().decode("utf-8") if path.exists() else ""
        document = tomlkit.parse(before)
    except (TOMLKitError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML ({error}): correct it first") from error
    tool = document.setdefault("tool", tomlkit.table(is_super_table=True))
    if not isinstance(tool, dict):
        raise ConfigError(f"{path}: tool is {tool!r}, not a table: correct it first")
    if "coderefine" in tool:
        raise ConfigError(f"{path} has a [tool.coderefine] table already; edit it there")
    table = tomlkit.table()
    for line in LINES:
        table.add(tomlkit.comment(line))
    tool["coderefine"] = table
    text = document.as_string()
    if "\r\n" in before and not LONE.search(before):
        text = LONE.sub("\r\n", text)
    _replace(path.resolve(), text)
    click.echo(f"wrote [tool.coderefine] to {path}")


def _replace(path: Path, text: str) -> None:
    """Replace the file atomically, so that a full disk does not leave half a pyproject.toml."""
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".pyproject-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode())
        Path(name).chmod(mode)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
