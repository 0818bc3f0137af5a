"""Read what the recipes of task runners run: make, just, tox, nox, invoke, pre-commit, npm, poe, pdm, hatch, taskipy.

The files are read; no program is started. Only recipes that a command names, and recipes which these need, count.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from coderefine.project.pytest_settings import inner_table, toml_table

RULE = re.compile(r"^(?P<name>[\w.-]+)[^:=\n]*:(?!=)(?P<needs>[^\n#]*)(?P<text>.*(?:\n(?:[ \t].*)?)*)", re.MULTILINE)
SECTION = re.compile(r"^\[(?:testenv:?|env\.|env_run_base)(?P<name>[\w.-]*)\](?P<text>(?:\n(?!\[).*)*)", re.MULTILINE)
HOOK = re.compile(r"^\s*- id: *(?P<name>\S+)(?P<text>(?:\n(?!\s*- (?:id|repo):).*)*)", re.MULTILINE)
FUNCTION = re.compile(r"^def (?P<name>\w+)(?P<text>.*(?:\n(?:[ \t].*)?)*)", re.MULTILINE)
TABLES = (
    ("poe", "tasks"),
    ("pdm", "scripts"),
    ("taskipy", "tasks"),
    ("hatch", "envs"),
)
"""Tables of pyproject.toml below `tool`, with scripts at any depth."""


def _rules(text: str) -> Mapping[str, str]:
    found = {rule["name"]: rule for rule in RULE.finditer(text)}
    return {
        name: " ".join(need for need in rule["needs"].split() if need in found)
        + re.sub(r"\n[ \t]+[@+-]*", "\n", rule["text"])
        for name, rule in found.items()
    }


def _environments(text: str) -> Mapping[str, str]:
    return {one["name"]: re.sub(r"\n\w+\s*=\s*", "\n", one["text"]) for one in SECTION.finditer(text)}


def _functions(text: str) -> Mapping[str, str]:
    calls = {one["name"]: re.findall(r"\.run\(([^)]*)\)", one["text"]) for one in FUNCTION.finditer(text)}
    quoted = re.compile(r"[\"']([^\"']*)[\"']")
    return {name: "".join("\n" + " ".join(quoted.findall(call)) for call in found) for name, found in calls.items()}


def _hooks(text: str) -> Mapping[str, str]:
    words = {one["name"]: re.findall(r"\n\s*(?:entry|args): *(.*)", one["text"]) for one in HOOK.finditer(text)}
    return {name: "\n" + re.sub(r"[\[\],]", " ", " ".join(found)) for name, found in words.items()}


def _scripts(text: str) -> Mapping[str, str]:
    content = json.loads(text)
    return dict(_named_strings(content.get("scripts"))) if isinstance(content, dict) else {}


def _named_strings(table: object) -> Iterator[tuple[str, str]]:
    """Yield the name and text of each script in a table and in its nested tables.

    The first line of the text contains the names in this table which the script refers to; commands follow.
    """
    if not isinstance(table, dict):
        return
    for name, value in table.items():
        strings = list(_strings(value))
        yield str(name), " ".join(one for one in strings if one in table) + "\n" + "\n".join(strings)
        yield from _named_strings(value)


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _strings(one)


Reader = Callable[[str], Mapping[str, str]]
FORMATS: Mapping[str, tuple[tuple[str, ...], Reader]] = {
    **dict.fromkeys(("make", "gmake"), (("GNUmakefile", "makefile", "Makefile"), _rules)),
    "just": (("justfile", ".justfile", "Justfile"), _rules),
    "tox": (("tox.ini",), _environments),
    "nox": (("noxfile.py",), _functions),
    **dict.fromkeys(("invoke", "inv"), (("tasks.py",), _functions)),
    "pre-commit": ((".pre-commit-config.yaml",), _hooks),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), (("package.json",), _scripts)),
}
"""For each task runner, the names of its files, and a function that returns the recipes in the text of such a file.

Recipes are given by name. The first line of a recipe contains the names of the recipes that it needs.
"""
IN_TABLES = frozenset({"poe", "pdm", "task", "hatch"})
"""Task runners whose recipes are in pyproject.toml."""


def named_recipes(root: Path, words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield `FILE (NAME)` and the text of each recipe that a command with `words` names, or of all if it names none.

    If a recipe needs other recipes, its text begins with the task runner and their names. So a call with this text as
    `words` yields the needed recipes.
    """
    for runner, asked in _calls(words):
        for file, recipes in _recipes(root, runner):
            chosen = recipes.keys() & asked if asked else recipes.keys()
            yield from ((f"{file} ({name})", _with_needed(recipes[name], runner)) for name in sorted(chosen))


def _calls(words: Sequence[str]) -> Iterator[tuple[str, set[str]]]:
    """Yield each task runner that a command starts, with the words after it, which may be names of recipes."""
    single = " ".join(word for word in words if len(word.split()) == 1)
    for line in re.split(r"[;&|\n]", "\n".join((single, *(word for word in words if " " in word)))):
        called = line.split()
        for runner in sorted({*FORMATS, *IN_TABLES}.intersection(called)):
            after = " ".join(word for word in called[called.index(runner) + 1 :] if not word.startswith("-"))
            yield runner, set(re.split(r"[\s,:]+", after)) - {"run", ""}


def _with_needed(recipe: str, runner: str) -> str:
    needed, _, text = recipe.partition("\n")
    return f"{runner} {needed}\n{text}" if needed.strip() else text


def _recipes(root: Path, runner: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    if runner in IN_TABLES:
        tools = toml_table(root / "pyproject.toml")
        tables = (inner_table(tools, "tool", *keys) for keys in TABLES)
        yield "pyproject.toml", {name: text for table in tables for name, text in _named_strings(table)}
    else:
        files, read = FORMATS[runner]
        yield from ((file, _content(root / file, read)) for file in files)


def _content(path: Path, read: Reader) -> Mapping[str, str]:
    try:
        return read(path.read_text("utf-8", "replace"))
    except (OSError, ValueError):
        return {}
