"""The settings of checkers (mypy, flake8, pylint, ruff, pyright) that name plug-ins or further files; no code runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from coderefine.project.pytest_settings import file_text

CHECKED = (
    *("pyproject.toml", "setup.cfg", "tox.ini", "mypy.ini", ".mypy.ini", ".flake8", ".pylintrc", "pylintrc"),
    *("ruff.toml", ".ruff.toml", "pyrightconfig.json"),
)
"""The files with settings of checkers."""
EXTENDED = re.compile(
    r"""^[ \t]*"?(?:plugins|load[-_]plugins|init[-_]hook|extends?)"?\s*[=:]\s*(\[[^]]*\]|.*(?:\n[ \t]+\S.*)*)
    |^\[flake8:local-plugins\]((?:\n(?!\[).*)*)""",
    re.VERBOSE | re.MULTILINE,
)
"""Matches settings that name code which a checker executes, or files with further settings."""


def checker_plugins(root: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each settings file in `root` that names plug-ins of a checker or further files, with these names."""
    for name in CHECKED:
        values = " ".join("".join(groups) for groups in EXTENDED.findall(file_text(root / name)))
        if words := re.findall(r"[^\s,\"'\[\]]+", re.sub(r"\w+\s*=", " ", values)):
            yield name, tuple(words)
