"""The dependency order of the house is a contract (see [tool.importlinter])."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import tomlkit

from coderefine import __version__

TOP = Path(__file__).parents[1]


def test_data_flows_one_way() -> None:
    program = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    argv = (sys.executable, "-c", program, "--no-cache")
    done = subprocess.run(argv, cwd=TOP, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 kept, 0 broken" in done.stdout


def test_the_picture_in_the_readme_is_the_contract() -> None:
    contract = tomlkit.parse((TOP / "pyproject.toml").read_text("utf-8")).unwrap()["tool"]["importlinter"]["contracts"][
        0
    ]
    layers = [set(layer.split(" | ")) for layer in contract["layers"][1:]]
    picture = re.search(r"`(api \| cli \| mcp → [^`]*)`", (TOP / "README.md").read_text("utf-8"))
    assert picture
    shown = [set(layer.split(" | ")) for layer in " ".join(picture[1].split()).split(" → ")]
    assert shown[-1] <= layers[-1]
    assert [*shown[:-1], layers[-1]] == [layer - {"lint"} for layer in layers]


def test_each_file_that_the_guide_names_exists() -> None:
    guide = (TOP / "CONTRIBUTING.md").read_text("utf-8")
    named = set(re.findall(r"`((?:[a-z_]+/)+(?:[a-z_]+\.py)?|(?:[a-z_]+/)+[a-z_]+)`", guide))
    assert len(named) > 30
    assert [path for path in sorted(named) if not any((top / path).exists() for top in (TOP, TOP / "coderefine"))] == []


def test_the_newest_release_in_the_changelog_is_this_version() -> None:
    first, newest = re.findall(r"^## (.*)$", (TOP / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)[:2]
    assert first == "Unreleased"
    assert re.fullmatch(rf"{re.escape(__version__)} - \d{{4}}-\d\d-\d\d", newest)


def test_no_two_classes_have_one_name() -> None:
    texts = (path.read_text("utf-8") for path in (TOP / "coderefine").rglob("*.py"))
    names = Counter(name for text in texts for name in re.findall(r"^ *class (\w+)[(:]", text, re.MULTILINE))
    assert [name for name, count in names.items() if count > 1] == []
