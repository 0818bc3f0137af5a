"""What a configuration may not say: refused in one line that names the key, never a traceback later."""

from __future__ import annotations

import sys
from dataclasses import fields
from pathlib import Path

import pytest

from coderefine.config import GATES, Config, load
from coderefine.core import Task
from coderefine.critics import build
from coderefine.errors import ConfigError
from coderefine.llm.availability import model_key
from coderefine.project import Interpreter, locate

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
        (COMMAND + "timeout = inf\n", "timeout of a command must be a number of seconds"),
        (f"[tool.coderefine]\ntimeout = {'9' * 5000}\n", "pyproject.toml cannot be read"),
    ],
)
def test_a_wrong_value_is_refused_by_name(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(ConfigError, match=says):
        load(tmp_path, {})


def test_a_file_whose_tools_are_no_table_has_no_configuration(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("tool = 3\n")
    assert load(tmp_path, {}).gates


NUMBERS = [item.name for item in fields(Config) if item.type in ("int", "float", "float | None")]
NEVER = ("-1", "-0.5", "-inf", "nan", "true", '"many"', "[1]")
SENSELESS = [
    *((name, value) for name in NUMBERS for value in NEVER),
    *((item.name, "1.5") for item in fields(Config) if item.type == "int"),
    *(("max_complexity", "0"), ("min_maintainability", "101"), ("temperature", "2.5"), ("temperature", "inf")),
    *(("test_timeout", "0"), ("test_timeout", "inf"), ("max_cost", "1" + "0" * 400)),
    *((f"performance.{name}", value) for name in ("target", "enough", "seconds") for value in (*NEVER, "inf")),
    *(("performance.target", "0.5"), ("performance.seconds", "1" + "0" * 400)),
]


@pytest.mark.parametrize(("name", "value"), SENSELESS, ids=lambda word: word[:30])
def test_a_senseless_number_is_refused_by_name(tmp_path: Path, name: str, value: str) -> None:
    key = name.replace("_", "-")
    (tmp_path / "pyproject.toml").write_text(f"[tool.coderefine]\n{key} = {value}\n")
    with pytest.raises(ConfigError, match=rf"^pyproject.toml: {key} (must be|is too large)"):
        load(tmp_path, {})


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", ["-1", "nan", "many"])
def test_a_senseless_number_is_refused_in_the_environment(tmp_path: Path, name: str, value: str) -> None:
    variable = f"CODEREFINE_{name.upper()}"
    with pytest.raises(ConfigError, match=f"^{variable}: {name.replace('_', '-')} must be"):
        load(tmp_path, {variable: value})


@pytest.mark.parametrize("name", NUMBERS)
def test_a_senseless_number_is_refused_from_a_task_or_a_flag(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=f"^task odd: {name.replace('_', '-')} must be"):
        load(tmp_path, {}, task=Task("odd", settings={name.replace("_", "-"): -1}))
    with pytest.raises(ConfigError, match=f"{name.replace('_', '-')} must be"):
        load(tmp_path, {}, {name: -1})


def test_no_limit_can_be_configured(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.coderefine]\nmax-cost = inf\ntimeout = 3\n")
    config = load(tmp_path, {})
    assert (config.max_cost, config.timeout) == (float("inf"), 3.0)
    assert isinstance(config.timeout, float)


def test_not_a_number_is_refused_as_a_flag_too(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="max-cost must be a number"):
        load(tmp_path, {}, {"max_cost": float("nan")})


def test_the_time_of_the_search_is_a_number_or_none(tmp_path: Path) -> None:
    assert load(tmp_path, {}).search_time is None
    assert load(tmp_path, {"CODEREFINE_SEARCH_TIME": "5"}).search_time == 5.0
    with pytest.raises(ConfigError, match="must be a number"):
        load(tmp_path, {"CODEREFINE_SEARCH_TIME": "long"})


@pytest.mark.parametrize(
    ("environ", "flags", "used"),
    [
        ({}, {}, ("cheap", ("cheap", "strong"))),
        ({"CODEREFINE_MODEL": "mine"}, {}, ("mine", ())),
        ({}, {"model": "mine"}, ("mine", ())),
        ({"CODEREFINE_MODEL": "mine", "CODEREFINE_MODELS": "a,b"}, {}, ("a", ("a", "b"))),
        ({"CODEREFINE_MODELS": "a,b"}, {"model": "mine"}, ("mine", ())),
        ({"CODEREFINE_MODEL": "mine"}, {"models": ["a"]}, ("a", ("a",))),
    ],
)
def test_a_model_replaces_the_models_of_the_file(
    tmp_path: Path, environ: dict[str, str], flags: dict[str, object], used: tuple[str, tuple[str, ...]]
) -> None:
    """CODEREFINE_MODEL was ignored, and the first of the models was paid."""
    (tmp_path / "pyproject.toml").write_text('[tool.coderefine]\nmodels = ["cheap", "strong"]\n')
    config = load(tmp_path, environ, flags)
    assert (config.model, tuple(config.models)) == used


OWN, OTHER, OPENROUTER = "http://127.0.0.1:9/v1", "https://other.example/v1", "https://openrouter.ai/api/v1"


@pytest.mark.parametrize(
    ("written", "environ", "flags", "sent"),
    [
        ({}, {}, {}, True),
        ({"base-url": OPENROUTER}, {}, {}, True),
        ({"base-url": OPENROUTER, "api-key-env": "OPENROUTER_API_KEY"}, {}, {}, True),
        ({"base-url": "https://mine.openai.azure.com/openai/v1"}, {}, {}, True),
        ({"base-url": OTHER}, {"OPENAI_BASE_URL": OTHER}, {}, True),
        ({"base-url": OTHER}, {"CODEREFINE_BASE_URL": OTHER}, {}, True),
        ({"base-url": OTHER}, {}, {"base_url": OTHER}, True),
        ({"base-url": OTHER, "api-key-env": "KEY"}, {"CODEREFINE_API_KEY_ENV": "KEY"}, {"base_url": OTHER}, True),
        ({}, {"CODEREFINE_API_KEY_ENV": "GITHUB_TOKEN"}, {}, True),
        ({"base-url": OTHER}, {}, {}, False),
        ({"base-url": OWN, "api-key-env": "GITHUB_TOKEN"}, {}, {}, False),
        ({"base-url": OWN}, {"CODEREFINE_API_KEY_ENV": "KEY"}, {}, False),
        ({"base-url": "http://localhost.other.example/v1"}, {}, {}, False),
        ({"base-url": "http://localhost@other.example/v1"}, {}, {}, False),
        ({"base-url": "http://127.0.0.1.other.example/v1"}, {}, {}, False),
        ({"base-url": "http://192.168.1.7:8000/v1"}, {}, {}, False),
        ({"base-url": "https://cognitiveservices.azure.com.other.example/v1"}, {}, {}, False),
        ({"api-key-env": "GITHUB_TOKEN"}, {}, {}, False),
        ({"api-key-env": "GITHUB_TOKEN"}, {}, {"base_url": OTHER}, False),
        ({"base-url": OPENROUTER, "api-key-env": "GITHUB_TOKEN"}, {}, {}, False),
        ({"base-url": OTHER}, {"CODEREFINE_API_KEY_ENV": "KEY"}, {}, False),
        ({"base-url": OPENROUTER.replace("https", "http")}, {}, {}, False),
        ({"base-url": "https://openrouter.ai@other.example/v1"}, {}, {}, False),
        ({"base-url": "https://notopenrouter.ai/v1"}, {}, {}, False),
        ({"base-url": "https://[::1/v1"}, {}, {}, False),
    ],
)
def test_files_of_the_project_do_not_choose_where_a_key_goes(
    tmp_path: Path, written: dict[str, str], environ: dict[str, str], flags: dict[str, str], sent: bool
) -> None:
    """A clone whose pyproject.toml named a server and a variable got the content of this variable."""
    environ |= dict.fromkeys(("OPENAI_API_KEY", "OPENROUTER_API_KEY", "GITHUB_TOKEN", "KEY"), "k")
    table = "".join(f'{name} = "{value}"\n' for name, value in written.items())
    (tmp_path / "pyproject.toml").write_text(f"[tool.coderefine]\n{table}")
    in_task = Task("odd", settings=written)
    empty = tmp_path / "empty"
    empty.mkdir()
    for config in (load(tmp_path, environ, flags), load(empty, environ, flags, in_task)):
        assert model_key(config, environ) == ("k" if sent else "")
        assert sent is not ("CODEREFINE_" in config.key_refusal)


@pytest.mark.parametrize(
    ("base_url", "variable"),
    [
        (OWN, "OPENAI_API_KEY"),
        ("http://localhost:4000/v1", "OPENAI_API_KEY"),
        ("https://LOCALHOST/v1", "OPENAI_API_KEY"),
        ("http://127.9.9.9:8000/v1", "OPENAI_API_KEY"),
        ("http://[::1]:8000/v1", "OPENAI_API_KEY"),
        ("https://mine.cognitiveservices.azure.com/openai/v1", "AZURE_OPENAI_API_KEY"),
        ("https://generativelanguage.googleapis.com/v1beta/openai/", "GEMINI_API_KEY"),
        ("https://generativelanguage.googleapis.com/v1beta/openai/", "GOOGLE_API_KEY"),
        ("https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
        ("https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
        ("https://integrate.api.nvidia.com/v1", "NVIDIA_API_KEY"),
        ("https://router.huggingface.co/v1", "HF_TOKEN"),
        ("https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"),
        ("https://dashscope.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY"),
        ("https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY"),
    ],
)
def test_the_key_of_a_known_provider_or_of_a_server_on_this_machine_is_sent(
    tmp_path: Path, base_url: str, variable: str
) -> None:
    """A server of LiteLLM or vLLM on the same machine answered 401, because the key was held back."""
    written = {"base-url": base_url, "api-key-env": variable}
    config = load(tmp_path, {variable: "k"}, {}, Task("odd", settings=written))
    assert (model_key(config, {variable: "k"}), config.key_refusal) == ("k", "")


def test_a_list_of_built_in_criteria_in_the_file(tmp_path: Path) -> None:
    """It ended with a traceback."""
    (tmp_path / "pyproject.toml").write_text('[tool.coderefine]\ncriteria = ["readability", "Be brief, please."]\n')
    config = load(tmp_path, {}, {"criteria": ("security",)})
    assert [one.name for one in config.criteria] == ["security"]
    assert [(one.name, one.text) for one in load(tmp_path, {}).criteria] == [
        ("readability", ""),
        ("be-brief-please", "Be brief, please."),
    ]
    (tmp_path / "pyproject.toml").write_text('[tool.coderefine]\ncriteria = ["readable"]\n')
    with pytest.raises(ConfigError, match="did you mean 'readability'"):
        load(tmp_path, {})


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("readability, security", ["readability", "security"]),
        ("Short, clear names.", ["short-clear-names"]),
        ("Short names.", ["short-names"]),
    ],
)
def test_criteria_in_the_environment_may_be_a_sentence_with_commas(tmp_path: Path, text: str, names: list[str]) -> None:
    found = load(tmp_path, {"CODEREFINE_CRITERIA": text}).criteria
    assert [one.name for one in found] == names
    assert all(not one.text or one.text == text for one in found)


def test_blanks_between_the_items_of_a_variable_do_not_count(tmp_path: Path) -> None:
    config = load(tmp_path, {"CODEREFINE_GATES": "ruff, radon", "CODEREFINE_IGNORE": " E501 ,"})
    assert (config.gates, config.ignore) == (("ruff", "radon"), ("E501",))


@pytest.mark.parametrize("name", ["GATES", "MAX_COST", "NETWORK", "MODEL", "SELECT", "CRITERIA", "TASK"])
def test_an_empty_variable_counts_as_not_given(tmp_path: Path, name: str) -> None:
    assert load(tmp_path, {f"CODEREFINE_{name}": ""}) == load(tmp_path, {})


def test_an_empty_base_url_does_not_hide_the_one_of_openai(tmp_path: Path) -> None:
    environ = {"CODEREFINE_BASE_URL": "", "OPENAI_BASE_URL": OTHER}
    assert load(tmp_path, environ).base_url == OTHER


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"gates": ("",)}, {}),
        ({"gates": ("ruff, radon", ""), "select": ("E, F",)}, {"gates": ("ruff", "radon"), "select": ("E", "F")}),
        ({"model": "", "author": None, "criteria": ("Short, clear.", "")}, {"criteria": ("Short, clear.",)}),
    ],
)
def test_empty_flags_count_as_not_given(given: dict[str, object], found: dict[str, object]) -> None:
    from coderefine.cli.options import settings

    assert settings(given) == found


@pytest.mark.parametrize(
    ("written", "environ", "flags", "own"),
    [
        ("", {}, {}, True),
        (f"gates = {[*reversed(GATES)]}\n", {}, {}, True),
        ('gates = ["ruff"]\n', {}, {}, False),
        ("", {}, {"gates": GATES}, False),
        ("", {"CODEREFINE_GATES": ",".join(GATES)}, {}, False),
        ("", {"CODEREFINE_GATES": ",".join((*GATES, "mypy"))}, {}, True),
    ],
)
def test_commands_run_unless_the_user_chooses_gates(
    tmp_path: Path, written: str, environ: dict[str, str], flags: dict[str, object], own: bool
) -> None:
    """`--gate pytest --gate ruff --gate radon` ran every command, too."""
    (tmp_path / "pyproject.toml").write_text(f"[tool.coderefine]\n{written}\n{COMMAND}")
    python = Interpreter(Path(sys.executable), "3.11.0", "test", None, Path(sys.prefix))
    gates = build(locate([tmp_path], tmp_path), python, load(tmp_path, environ, flags), lambda _event: None)
    assert ("mypy" in [gate.name for gate in gates]) is own
