"""`coderefine init`: write a commented [tool.coderefine] into pyproject.toml and keep the rest of the file."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import click
import tomlkit
from tomlkit.exceptions import TOMLKitError

from coderefine.errors import ConfigError

KEYS: tuple[tuple[str, object, str], ...] = (
    ("gates", ["pytest", "ruff", "radon"], "the checks that must pass; [[tool.coderefine.commands]] adds programs"),
    ("max-complexity", 10, "radon's cyclomatic complexity of a function"),
    ("max-requests", 12, "requests to the model in one run"),
    ("max-cost", 1.0, "dollars in one run"),
)
LATER = (
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


@click.command()
@click.argument("folder", default=".", type=click.Path(exists=True, file_okay=False, path_type=Path))
def init(folder: Path) -> None:
    """Write a commented [tool.coderefine] into pyproject.toml."""
    path = folder / "pyproject.toml"
    try:
        document = tomlkit.parse(path.read_bytes().decode("utf-8") if path.exists() else "")
    except (TOMLKitError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML ({error}): correct it first") from error
    tool = document.setdefault("tool", tomlkit.table(is_super_table=True))
    if "coderefine" in tool:
        raise ConfigError(f"{path} has a [tool.coderefine] table already; edit it there")
    table = tomlkit.table()
    for key, value, comment in KEYS:
        table.add(key, value)
        table[key].comment(comment)
    for line in LATER:
        table.add(tomlkit.comment(line))
    tool["coderefine"] = table
    _replace(path, document.as_string())
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
