"""The lint rules that a patch has to keep, in a line: a model cannot know what the project has enabled."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from coderefine.config import Config, toml
from coderefine.errors import ConfigError

DEFAULT = ("E4", "E7", "E9", "F")
"""What ruff selects when nobody says otherwise."""

COLUMNS = 88


def lint_rules(root: Path, config: Config) -> str:
    """Enabled and ignored rules and the line length, as the project at `root` has them; empty without ruff."""
    if "ruff" not in config.gates:
        return ""
    table = _settings(root)
    lint = {**table, **_table(table.get("lint"))}
    chosen = [*(config.select or lint.get("select") or DEFAULT), *lint.get("extend-select", ())]
    ignored = [*config.ignore, *lint.get("ignore", ()), *lint.get("extend-ignore", ())]
    without = f" without {', '.join(map(str, ignored))}" if ignored else ""
    columns = table.get("line-length", COLUMNS)
    return f"Lint: ruff with {', '.join(map(str, chosen))}{without}; lines of at most {columns} characters."


def _settings(root: Path) -> Mapping[str, Any]:
    """ruff's settings for the project: its own file before pyproject.toml."""
    try:
        for name in (".ruff.toml", "ruff.toml"):
            if (root / name).exists():
                return toml(root / name)
        return _table(_table(toml(root / "pyproject.toml").get("tool")).get("ruff"))
    except ConfigError:
        return {}


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
