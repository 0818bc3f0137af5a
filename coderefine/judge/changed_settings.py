"""Name the settings that a patch changes in files that configure the checks.

Whether a setting makes a check weaker cannot be told from what the check finds today: a limit that is lowered, or a
warning that is no longer an error, may hide nothing yet.
"""

from __future__ import annotations

import configparser
import sys
from collections.abc import Iterator, Mapping

from coderefine.judge.change import name_set
from coderefine.source import text_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PACKAGING = name_set(
    "bumpversion bumpver commitizen coderefine flit hatch maturin meson-python metadata options pdm poetry pixi "
    "setuptools setuptools_scm towncrier uv bdist_wheel build-system project dependency-groups"
)
"""Tables and sections that configure no check of their own. That of coderefine is compared elsewhere (app/prove.py)."""
TABLES = (".toml",)
SECTIONS = (".cfg", ".ini", ".coveragerc", ".flake8", "pylintrc", ".bandit")
WHOLE = "its content"


def changed_settings(path: str, before: bytes | None, after: bytes | None) -> tuple[str, ...]:
    """Return the dotted names of the settings of checks that differ.

    Settings of a file of another format, or one that cannot be parsed, count as one setting with the name WHOLE.
    """
    was, now = (dict(_settings(path, data)) for data in (before, after))
    return tuple(sorted(name for name in was.keys() | now.keys() if was.get(name) != now.get(name)))


def _settings(path: str, data: bytes | None) -> Iterator[tuple[str, object]]:
    """Yield the settings of checks in a file."""
    text = text_of(data)
    if text is None:
        return
    try:
        if path.endswith(TABLES):
            yield from _flat(_checks(tomllib.loads(text)), "")
        elif path.endswith(SECTIONS):
            yield from _sections(text)
        else:
            yield WHOLE, text
    except (tomllib.TOMLDecodeError, configparser.Error, AttributeError):
        # AttributeError: configparser's, for a line that continues a key without a value
        yield WHOLE, text


def _checks(tables: Mapping[str, object]) -> dict[str, object]:
    """Return `tables`, and those of `tool`, without PACKAGING."""
    kept = {name: value for name, value in tables.items() if name not in PACKAGING}
    if isinstance(tool := kept.get("tool"), dict):
        kept["tool"] = {name: value for name, value in tool.items() if name not in PACKAGING}
    return kept


def _flat(value: object, name: str) -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(inner, f"{name}.{key}".lstrip("."))
    else:
        yield name, value


def _sections(text: str) -> Iterator[tuple[str, object]]:
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    parser.read_string(text)
    for section in parser.sections():
        if section.partition(".")[0] not in PACKAGING:
            yield from ((f"{section}.{key}", value) for key, value in parser.items(section))
