"""Name the settings that a patch changes in files that configure the checks.

What a check finds today does not show whether a setting makes it weaker: a limit that is lowered, or a warning that is
no longer an error, may hide nothing yet.
"""

from __future__ import annotations

import configparser
import re
import sys
from collections.abc import Iterator

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
RUNNING = re.compile(
    r"((project|options|hatch|pdm|pixi|poetry|setuptools)\.(.+\.)?(scripts|tasks|envs|entry[-_]points|plugins)"
    r"|uv\.[\w-]+-dependencies|dependency-groups)(\..+)?"
)
"""Settings of packaging that say what runs, or with which tools; without the first part "tool"."""
TABLES = (".toml",)
SECTIONS = (".cfg", ".ini", ".coveragerc", ".flake8", "pylintrc", ".bandit")
WHOLE = "its content"


def changed_settings(path: str, before: bytes | None, after: bytes | None) -> tuple[str, ...]:
    """Return the dotted names of the settings of checks that differ between the texts `before` and `after`.

    A file of another format, or one that cannot be parsed, counts as one setting with the name WHOLE.
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
            yield from ((name, value) for name, value in _flat(tomllib.loads(text), "") if _judges(name))
        elif path.endswith(SECTIONS):
            yield from _sections(text)
        else:
            yield WHOLE, text
    except (tomllib.TOMLDecodeError, configparser.Error, AttributeError):
        # AttributeError: configparser's, for a line that continues a key without a value
        yield WHOLE, text


def _judges(name: str) -> bool:
    """Return whether the dotted setting `name` configures a check, or what runs it."""
    inner = name.removeprefix("tool.")
    return inner.partition(".")[0] not in PACKAGING or bool(RUNNING.fullmatch(inner))


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
        settings = ((f"{section}.{key}", value) for key, value in parser.items(section))
        yield from ((name, value) for name, value in settings if _judges(name))
