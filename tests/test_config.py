"""What a configuration may not say: refused in one line that names the key, never a traceback later."""

from __future__ import annotations

from pathlib import Path

import pytest

from coderefine.config import load
from coderefine.errors import ConfigError

COMMAND = '[[tool.coderefine.commands]]\nname = "mypy"\nrun = ["mypy"]\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[tool]\ncoderefine = 3\n", "must be a table"),
        (COMMAND + 'timeout = "long"\n', "timeout of a command must be a number of seconds"),
        (COMMAND + "timeout = 0\n", "timeout of a command must be a number of seconds"),
        (COMMAND + "regex = 3\n", "regex of a command must be a string"),
        (COMMAND + "findings-exit = 1\n", "findings-exit of a command must be a list of whole numbers"),
        (COMMAND.replace('["mypy"]', '["mypy", 3]'), "run of a command must be a list of strings"),
        (COMMAND.replace('"mypy"\n', '"pytest"\n'), "there is a gate 'pytest' already"),
        (COMMAND + COMMAND, "there is a gate 'mypy' already"),
        ("[tool.coderefine]\ntimeout = nan\n", "timeout must be a number, not nan"),
    ],
)
def test_a_wrong_value_is_refused_by_name(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(ConfigError, match=says):
        load(tmp_path, {})


def test_a_file_whose_tools_are_no_table_has_no_configuration(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("tool = 3\n")
    assert load(tmp_path, {}).gates


def test_not_a_number_is_refused_as_a_flag_too(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="max-cost must be a number"):
        load(tmp_path, {}, {"max_cost": float("nan")})


def test_the_time_of_the_search_is_a_number_or_left_open(tmp_path: Path) -> None:
    assert load(tmp_path, {}).search_time is None
    assert load(tmp_path, {"CODEREFINE_SEARCH_TIME": "5"}).search_time == 5.0
    with pytest.raises(ConfigError, match="must be float"):
        load(tmp_path, {"CODEREFINE_SEARCH_TIME": "long"})
