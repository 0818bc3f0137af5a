"""`coderefine init`: write a commented [tool.coderefine] into pyproject.toml and keep the rest of the file."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import click
import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import InlineTable

from coderefine.config import GATES
from coderefine.errors import ConfigError
from coderefine.project.protection import is_read_only
from coderefine.publishers.file_io import install, prepare, remove

LINES = (
    f"gates = {json.dumps(GATES)}  # the checks that must pass; [[tool.coderefine.commands]] adds programs",
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
"""A line end of one character, LF without CR."""


@click.command()
@click.argument("folder", default=".", type=click.Path(exists=True, file_okay=False, path_type=Path))
def init(folder: Path) -> None:
    """Write a commented [tool.coderefine] into pyproject.toml."""
    path = folder / "pyproject.toml"
    _check_writable(path)
    try:
        data = path.read_bytes() if path.exists() else None
        before = (data or b"").decode("utf-8")
        document = tomlkit.parse(before)
    except (TOMLKitError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML ({error}): correct it first") from error
    tool = document.setdefault("tool", tomlkit.table(is_super_table=True))
    if not isinstance(tool, dict):
        raise ConfigError(f"{path}: tool is {tool!r}, not a table: correct it first")
    if isinstance(tool, InlineTable):
        raise ConfigError(f"{path}: tool is written between braces, where no comment can be: make it [tool] first")
    if "coderefine" in tool:
        raise ConfigError(f"{path} has a [tool.coderefine] table already; edit it there")
    table = tomlkit.table()
    for line in LINES:
        table.add(tomlkit.comment(line))
    tool["coderefine"] = table
    text = document.as_string()
    if "\r\n" in before and not LONE.search(before):
        text = LONE.sub("\r\n", text)
    _write(path.resolve(), data, text.encode())
    click.echo(f"wrote [tool.coderefine] to {path}")


def _check_writable(path: Path) -> None:
    """Raise ConfigError if `path` is a link to nothing, no regular file, or read-only."""
    if path.is_symlink() and not path.exists():
        raise ConfigError(f"{path} is a link to nothing: repair the link first")
    if not path.exists():
        return
    if not path.is_file():
        raise ConfigError(f"{path} is no regular file: move it away first")
    if is_read_only(path):
        raise ConfigError(f"{path} is read-only: run `chmod u+w {path}` first")


def _write(path: Path, before: bytes | None, data: bytes) -> None:
    """Write `data` as proved patches are written: mode and hard links stay.

    A full disk leaves the file whole, unless the file has several names (hard links): then it is overwritten in place.
    """
    folder, name = path.parent, path.name
    temp = f".{name}-{os.getpid()}"
    try:
        prepare(folder, name, temp, data, None)
        if not install(folder, name, temp, before, data):
            raise ConfigError(f"{path} changed meanwhile, so nothing was written: run again")
    finally:
        for end in ("new", "old"):
            remove(folder / f"{temp}.{end}")
