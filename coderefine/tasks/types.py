"""What a type checker finds: pyright or basedpyright where the project is set up for it, else mypy."""

from __future__ import annotations

import configparser
from pathlib import Path

from coderefine.config import toml
from coderefine.core import Task
from coderefine.project import Place

MYPY = {
    "name": "mypy",
    "run": ["mypy", "--no-error-summary", "--show-error-codes", "--no-color-output", "--no-pretty"],
    "regex": r"^(?P<path>[^:\n]+):(?P<line>\d+):(?:\d+:)? error: (?P<message>.*?)(?:  \[(?P<rule>[\w-]+)\])?$",
}
OTHERS = ("basedpyright", "pyright")
RULES = (
    "Give the types that the code really has; change behaviour only where the checker found a real bug.",
    "No Any, no cast and no assert only to silence the checker.",
)


def TASK(place: Place) -> Task:  # noqa: N802 - what the registry calls it
    """Uses the project's own settings of the checker; without any, mypy looks at the whole project."""
    tables, named = _settings(place)
    other = next((name for name in OTHERS if name in named and "mypy" not in named), None)
    checker = _pyright(other) if other else _mypy(tables)
    return Task("types", "Make the type checker's findings go away.", rules=RULES, settings={"commands": [checker]})


def _pyright(name: str) -> dict[str, object]:
    return {"name": name, "run": [name, "--outputjson"], "format": "json"}


def _mypy(settings: dict[str, object]) -> dict[str, object]:
    """mypy without arguments takes what its configuration names, if it names anything."""
    chosen = any(key in settings for key in ("files", "packages", "modules"))
    return {**MYPY, "run": [*MYPY["run"], *(() if chosen else (".",))]}


def _settings(place: Place) -> tuple[dict[str, object], frozenset[str]]:
    """mypy's settings as far as they are known, and the checkers that the project has settings for."""
    named = {"pyright"} if (place.root / "pyrightconfig.json").is_file() else set()
    tables: dict[str, object] = {}
    for name in ("mypy.ini", ".mypy.ini", "setup.cfg"):
        tables |= _ini(place.root / name)
    tools = toml(place.root / "pyproject.toml").get("tool", {})
    tables |= tools.get("mypy", {})
    named |= {name for name in ("mypy", *OTHERS) if name in tools}
    return tables, frozenset({*named, "mypy"} if tables else named)


def _ini(path: Path) -> dict[str, object]:
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read(path, "utf-8")
    except (configparser.Error, UnicodeDecodeError):
        return {}
    return dict(parser["mypy"]) if parser.has_section("mypy") else {}
