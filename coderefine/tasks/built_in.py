"""The built-in tasks; each function creates a task for a project, and imports the critics that the task needs."""

from __future__ import annotations

import ast
import configparser
from pathlib import Path

from coderefine.config import toml
from coderefine.core import FIX, Task
from coderefine.project import Place
from coderefine.source import decode, syntax, without_docstrings

MYPY = {
    "name": "mypy",
    "run": ["mypy", "--no-error-summary", "--show-error-codes", "--no-color-output", "--no-pretty"],
    "findings-exit": [1, 2],  # 2: also a syntax error
    "regex": r"^(?P<path>[^:\n]+):(?P<line>\d+):(?:\d+:){0,3} error: (?P<message>.*?)(?:  \[(?P<rule>[\w-]+)\])?$",
}
PYRIGHTS = ("basedpyright", "pyright")


def fix(_place: Place) -> Task:
    """Make the configured gates pass."""
    return FIX


def readability(_place: Place) -> Task:
    """Make code easier to read, with unchanged behaviour: complexity, lint, names, comments, size."""
    from coderefine.critics.reading import Reading

    return Task(
        "readability",
        goal="Make the code easier to read without changing what it does.",
        rules=(
            "Names that say what is meant; one idea per function; early returns in place of nesting.",
            "Comments only where they say why. No piece split off that is called once and says nothing new.",
            "Public names and signatures stay.",
        ),
        settings={"criteria": {"readability": True}},
        critics=(Reading,),
        keeps=True,
    )


def performance(_place: Place) -> Task:
    """Make code measurably faster, with unchanged behaviour."""
    from coderefine.critics.speed import Speed

    return Task(
        "performance",
        goal="Make the code faster without changing what it does.",
        rules=(
            "Begin with what takes the time: a better algorithm or data structure before small savings.",
            "Same results, same errors, same order; public names and signatures stay.",
            "No cache between calls unless real use repeats them: repeating a call is how a benchmark works.",
        ),
        critics=(Speed,),
        keeps=True,
    )


def docs(_place: Place) -> Task:
    """Write docstrings that are missing or wrong; the code itself stays unchanged."""
    from coderefine.critics.docs import Docs

    return Task(
        "docs",
        goal="Write the docstrings that are missing, and correct those that name what is not there.",
        rules=(
            "One sentence that says what it does or is, then units, shapes, errors where they matter.",
            "Nothing that the name and the signature say already. Change no code.",
        ),
        critics=(Docs,),
        refuses=_changes_code,
    )


def _changes_code(path: str, before: bytes | None, after: bytes | None) -> str:
    """Return why a change of a Python file is not only documentation; "" if it is, and for other files."""
    if not path.endswith((".py", ".pyi")):
        return ""
    same = before is not None and after is not None and _code(before) == _code(after)
    return "" if same else f"changes code in {path}, and only docstrings and comments were requested"


def _code(data: bytes) -> str:
    source = decode(data)
    tree = syntax(source.text) if source else None
    return ast.dump(without_docstrings(tree)) if tree else ""


def types(place: Place) -> Task:
    """Repair the findings of a type checker.

    The checker is pyright or basedpyright if the project has settings for it, but none for mypy; otherwise it is mypy.
    The project's own settings of the checker are used; without such settings, mypy checks the whole project.
    """
    settings, named = _settings(place)
    other = next((name for name in PYRIGHTS if name in named and "mypy" not in named), None)
    # mypy without arguments checks what its configuration names, if it names anything.
    chosen = any(key in settings for key in ("files", "packages", "modules"))
    checker: dict[str, object] = {**MYPY, "run": [*MYPY["run"], *(() if chosen else (".",))]}
    if other:
        checker = {"name": other, "run": [other, "--outputjson"], "format": "json"}
    rules = (
        "Give the types that the code really has; change behaviour only where the checker found a real bug.",
        "No Any, no cast and no assert only to silence the checker.",
    )
    return Task("types", "Make the type checker's findings go away.", rules=rules, settings={"commands": [checker]})


def _settings(place: Place) -> tuple[dict[str, object], frozenset[str]]:
    """Return mypy's settings, and the names of the type checkers for which the project has settings."""
    named = {"pyright"} if (place.root / "pyrightconfig.json").is_file() else set()
    tables: dict[str, object] = {}
    for name in ("mypy.ini", ".mypy.ini", "setup.cfg"):
        tables |= _ini(place.root / name)
    tools = toml(place.root / "pyproject.toml").get("tool")
    tools = tools if isinstance(tools, dict) else {}
    tables |= mypy if isinstance(mypy := tools.get("mypy"), dict) else {}
    named |= {name for name in ("mypy", *PYRIGHTS) if name in tools}
    return tables, frozenset({*named, "mypy"} if tables else named)


def _ini(path: Path) -> dict[str, object]:
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read(path, "utf-8")
    except (configparser.Error, UnicodeDecodeError):
        return {}
    return dict(parser["mypy"]) if parser.has_section("mypy") else {}
