"""Settings of checks that a patch changes are named, also if they hide nothing today."""

from __future__ import annotations

import pytest

from coderefine.judge import changed_settings

PYPROJECT = """\
[project]
version = "1"
[tool.ruff.lint]
select = ["E", "F", "B"]
[tool.coverage.report]
fail_under = 90
[tool.pytest.ini_options]
filterwarnings = ["error"]
[tool.poetry]
name = "a"
"""


@pytest.mark.parametrize(
    ("path", "before", "old", "new", "names"),
    [
        ("pyproject.toml", PYPROJECT, '"E", "F", "B"', '"E9"', ("tool.ruff.lint.select",)),
        ("pyproject.toml", PYPROJECT, "= 90", "= 1", ("tool.coverage.report.fail_under",)),
        ("pyproject.toml", PYPROJECT, '"error"', "", ("tool.pytest.ini_options.filterwarnings",)),
        ("pyproject.toml", PYPROJECT, '[tool.poetry]\nname = "a"', '[tool.poetry]\nname = "b"', ()),
        ("pyproject.toml", PYPROJECT, 'version = "1"', 'version = "2"', ()),
        (
            "pyproject.toml",
            "[tool.hatch.envs.test.scripts]\ntest = 'pytest'\n",
            "pytest'",
            "true'",
            ("tool.hatch.envs.test.scripts.test",),
        ),
        ("pyproject.toml", "[dependency-groups]\ndev = ['ruff']\n", "ruff", "ruff<0.1", ("dependency-groups.dev",)),
        (
            "pyproject.toml",
            "[project.entry-points.pytest11]\na = 'a'\n",
            "'a'",
            "'b'",
            ("project.entry-points.pytest11.a",),
        ),
        ("pyproject.toml", "[tool.pdm.scripts]\ntest = 'pytest'\n", "pytest'", "true'", ("tool.pdm.scripts.test",)),
        (
            "pyproject.toml",
            "[tool.uv]\nconstraint-dependencies = ['ruff']\n",
            "ruff",
            "ruff<0.1",
            ("tool.uv.constraint-dependencies",),
        ),
        ("pyproject.toml", "[tool.uv.sources]\na = 'a'\n", "'a'", "'b'", ()),
        ("setup.cfg", "[options.entry_points]\npytest11 = a\n", "= a", "= b", ("options.entry_points.pytest11",)),
        (
            "setup.cfg",
            "[metadata]\nname = a\n[flake8]\nmax-line-length = 80\n",
            "80",
            "800",
            ("flake8.max-line-length",),
        ),
        ("setup.cfg", "[metadata]\nname = a\n", "= a", "= b", ()),
        ("setup.cfg", "[flake8]\nignore\n    E501\n", "E501", "E502", ("its content",)),
        (".coveragerc", "[report]\nfail_under = 90\n", "fail_under = 90\n", "", ("report.fail_under",)),
        ("ruff.toml", "line-length = 80\n", "80", "800", ("line-length",)),
        ("Makefile", "test:\n\tpytest\n", "pytest", "true", ("its content",)),
        ("ruff.toml", "line-length = 80\n", "= 80", "", ("its content", "line-length")),
    ],
)
def test_a_changed_setting_is_named(path: str, before: str, old: str, new: str, names: tuple[str, ...]) -> None:
    """A shorter list of rules and a lower limit of coverage were proved without a note."""
    assert before.count(old) == 1
    assert changed_settings(path, before.encode(), before.replace(old, new).encode()) == names
