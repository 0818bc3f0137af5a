"""A project of many files, its tests, and the configuration of pre-commit for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

BIN = Path(sys.executable).parent
PART = 100
"""Files of one part: a package of 89 modules in a chain of imports, its `__init__`, 10 test files."""
SETTINGS = '[tool.pytest.ini_options]\npythonpath = ["src"]\n'
CONFIG = """repos:
- repo: local
  hooks:
  - {{id: ruff, name: ruff, entry: {bin}/ruff check --force-exclude, language: system, types_or: [python, pyi],
     require_serial: true}}
  - {{id: coderefine, name: coderefine, entry: {bin}/coderefine hook run, language: system, types_or: [python, pyi],
     require_serial: true}}
"""


def environ(home: Path) -> dict[str, str]:
    """As installed by pip: bytecode may be cached (here in `home`); nothing of the outer project."""
    dull = ("PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV", "PYTHONPATH", "PYTEST_ADDOPTS")
    kept = {name: value for name, value in os.environ.items() if name not in dull and not name.startswith("GIT_")}
    names = {"NAME": "A", "EMAIL": "a@example.com"}
    people = {f"GIT_{who}_{key}": value for who in ("AUTHOR", "COMMITTER") for key, value in names.items()}
    return {**kept, **people, "PYTHONPYCACHEPREFIX": str(home / "bytecode"), "HOME": str(home)}


def made(top: Path, files: int, env: dict[str, str]) -> Path:
    """A git repository with about `files` Python files in one commit."""
    for part in range(max(1, files // PART)):
        _part(top, part)
    texts = {
        "src/pkg/__init__.py": "",
        "pyproject.toml": SETTINGS,
        ".pre-commit-config.yaml": CONFIG.format(bin=BIN),
        ".gitignore": "__pycache__/\n.pytest_cache/\n.ruff_cache/\n",
    }
    for name, text in texts.items():
        (top / name).write_text(text, encoding="utf-8")
    for args in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-qm", "start")):
        git(top, env, *args)
    return top


def git(top: Path, env: dict[str, str], *args: str) -> str:
    return subprocess.run(("git", *args), cwd=top, env=env, check=True, capture_output=True, text=True).stdout


def _part(top: Path, part: int) -> None:
    package = top / f"src/pkg/part{part}"
    package.mkdir(parents=True)
    (top / "tests").mkdir(exist_ok=True)
    (package / "__init__.py").write_text("", encoding="utf-8")
    for number in range(89):
        (package / f"m{number}.py").write_text(module(part, number), encoding="utf-8")
    for number in range(10):
        text = f"from pkg.part{part}.m{number} import f\n\n\ndef test_low():\n    assert f(0) == 0\n"
        (top / f"tests/test_{part}_{number}.py").write_text(text, encoding="utf-8")


def module(part: int, number: int) -> str:
    """Adds its number to what is above it, by way of the module before it."""
    head = f"from pkg.part{part}.m{number - 1} import f as before\n\n\n" if number else "\n"
    more = "before(x)" if number else "x"
    body = f"    if x > {number}:\n        return {more} + {number}\n    return x\n"
    return f'"""Module {number}."""\n\n{head}def f(x):\n    """Add."""\n{body}'
