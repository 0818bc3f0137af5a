"""`[tool.coderefine]` + environment + flags, merged into one frozen Config; what is unknown is refused."""

from __future__ import annotations

import difflib
import math
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, get_type_hints

from coderefine.core import Limits
from coderefine.errors import ConfigError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

GATES = ("pytest", "ruff", "radon")
SANDBOXES = ("auto", "strict", "off")
VIEWS = ("auto", "overlay", "copy")
POLICIES = ("coderefine", "retry", "warming", "self-refine")
"""Ways to spend the budget on a model (proposers/model/policies)."""
CRITERIA = ("readability", "performance", "security", "api-design")
"""The built-in sets of criteria (llm/criteria)."""
LOGIN = re.compile(r"(?<=://)[^/?#\s]+@")
MASKED = "[login]@"
DEFAULT_MODEL = "gpt-5-mini"
"""Asked when a key or a server is given and no model is named."""


@dataclass(frozen=True, slots=True)
class Criterion:
    """What a review looks for, in plain language; without `text`, the built-in set of that name.

    `paths`: folders and globs it is about (none: all); `weight`: its share in the total; `source`: who asked for it.
    """

    name: str
    text: str = ""
    paths: tuple[str, ...] = ()
    weight: float = 1.0
    source: str = "built in"


@dataclass(frozen=True, slots=True)
class Command:
    """A gate that is any program: `run` is its argv, `format` one of lines (with `regex`), json, sarif.

    `regex` has named groups path, line, rule, message. `findings_exit` lists the exit codes that mean
    "spoke, with findings"; 0 is clean; any other is a tool error. `timeout` in seconds.
    """

    name: str
    run: tuple[str, ...]
    format: str = "lines"
    regex: str = r"^(?P<path>[^:\n]+):(?P<line>\d+):(?:\d+:)? (?P<message>.*)$"
    findings_exit: tuple[int, ...] = (1,)
    timeout: float = 300.0


@dataclass(frozen=True, slots=True)
class Config:
    """Everything a user can choose. A key `max_complexity` is `max-complexity` in TOML and on the command line.

    `timeout`, `test_timeout` and `search_time` are seconds; `max_cost` is dollars. None means no limit, or "find out";
    a search without a time of its own takes 30 s, or 8 s where a model can take over.
    `network`: the tests may use it; `pass_env`: names or globs of variables they see although they look like secrets.
    `test_timeout` is what one test may take as long as its usual time is not known.
    `models`: from cheap to strong, when one is not enough; `samples`: answers per round, 0 as the policy has it.
    """

    python: str | None = None
    gates: tuple[str, ...] = GATES
    commands: tuple[Command, ...] = ()
    pytest_args: tuple[str, ...] = ()
    test_timeout: float = 30.0
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    max_complexity: int = 10
    min_maintainability: float = 10.0
    protect: tuple[str, ...] = ()
    max_iterations: int = 6
    max_requests: int = 12
    max_tokens: int = 200_000
    max_cost: float = 1.0
    timeout: float = 600.0
    search: bool = True
    search_time: float | None = None
    model: str | None = None
    models: tuple[str, ...] = ()
    critic_model: str | None = None
    policy: str = POLICIES[0]
    samples: int = 0
    criteria: tuple[Criterion, ...] = ()
    base_url: str | None = None
    api_key_env: str = "OPENAI_API_KEY"
    temperature: float = 0.2
    stream: bool = False
    view: str = "auto"
    network: bool = False
    pass_env: tuple[str, ...] = ()
    sandbox: str = "auto"
    author: str | None = None
    message: str = "fix: {summary}"
    extra_headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def limits(self) -> Limits:
        return Limits(self.max_iterations, self.max_requests, self.max_tokens, self.max_cost, self.timeout)


def load(root: Path, environ: Mapping[str, str] | None = None, flags: Mapping[str, object] | None = None) -> Config:
    """Config of the project at `root`: file, then `CODEREFINE_*`, then flags (None means not given).

    Raises ConfigError naming the file, the key and the nearest known one.
    """
    environ = os.environ if environ is None else environ
    written = _from_file(root / "pyproject.toml")
    told = {name: value for name, value in (flags or {}).items() if value is not None}
    given = {**written, **_from_environ(environ)}
    for source in (given, told):
        if "criteria" in source:
            source["criteria"] = _chosen(source["criteria"], written.get("criteria", ()))
    given |= {"models": (), **told} if "model" in told else told
    return _with_model(_checked(replace(Config(), **given)), environ)


def masked(text: str) -> str:
    """`text` without the name and password of any address in it: what may be recorded and printed."""
    return LOGIN.sub(MASKED, text)


def _with_model(config: Config, environ: Mapping[str, str]) -> Config:
    """The first of several models is the model; a key or a server without a name means the default one."""
    if config.models:
        return replace(config, model=config.models[0])
    if config.model is None and (environ.get(config.api_key_env) or config.base_url):
        return replace(config, model=DEFAULT_MODEL)
    return config


def _checked(config: Config) -> Config:
    known = {*GATES, *(command.name for command in config.commands)}
    for gate in config.gates:
        if gate not in known:
            raise ConfigError(
                f"unknown gate {gate!r}{_hint(gate, known)}; a command gate needs [[tool.coderefine.commands]]"
            )
    for name, value, allowed in (
        ("sandbox", config.sandbox, SANDBOXES),
        ("view", config.view, VIEWS),
        ("policy", config.policy, POLICIES),
    ):
        if value not in allowed:
            raise ConfigError(f"{name} must be one of {', '.join(allowed)}, not {value!r}")
    for item in fields(Config):
        value = getattr(config, item.name)
        if isinstance(value, float) and math.isnan(value):
            raise ConfigError(f"{item.name.replace('_', '-')} must be a number, not nan")
    return config


def _from_file(path: Path) -> dict[str, Any]:
    try:
        tools = tomllib.loads(path.read_text("utf-8")).get("tool", {})
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path.name} cannot be read: {error}") from error
    table = tools.get("coderefine", {}) if isinstance(tools, dict) else {}
    if not isinstance(table, dict):
        raise ConfigError(f"{path.name}: [tool.coderefine] must be a table")
    return {
        _key(name, f"{path.name}: [tool.coderefine]"): _typed(name, value, path.name) for name, value in table.items()
    }


def _from_environ(environ: Mapping[str, str]) -> dict[str, Any]:
    prefix = "CODEREFINE_"
    given: dict[str, Any] = {}
    for name, text in environ.items():
        if name.startswith(prefix):
            key = _key(name.removeprefix(prefix).lower(), "environment")
            given[key] = _typed(key, _from_text(key, text), name)
    if "base_url" not in given and environ.get("OPENAI_BASE_URL"):
        given["base_url"] = environ["OPENAI_BASE_URL"]
    return given


def _from_text(key: str, text: str) -> object:
    """An environment string as TOML would have it."""
    kind = _kinds()[key]
    if kind is bool:
        return {"1": True, "true": True, "0": False, "false": False}.get(text.lower(), text)
    if kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            return text
    if "tuple" in str(kind):
        return [part for part in text.split(",") if part]
    return text


def _key(name: str, where: str) -> str:
    known = {item.name for item in fields(Config)}
    key = name.replace("-", "_")
    if key not in known or (name != key and "_" in name):
        spelled = {item.replace("_", "-") for item in known}
        raise ConfigError(f"{where} has no key {name!r}{_hint(name.replace('_', '-'), spelled)}")
    return key


def _hint(word: str, known: set[str]) -> str:
    near = difflib.get_close_matches(word, sorted(known), 1)
    return f" (did you mean {near[0]!r}?)" if near else f" (known: {', '.join(sorted(known))})"


def _kinds() -> dict[str, Any]:
    """What each field holds when it is set."""
    hints = get_type_hints(Config)
    return {name: float if kind == float | None else kind for name, kind in hints.items()}


def _typed(name: str, value: object, where: str) -> object:
    """`value` as the field wants it; raises ConfigError when it is of another type."""
    key = name.replace("-", "_")
    kind = _kinds()[key]
    if key == "commands":
        return _commands(value, where)
    if key == "criteria" and isinstance(value, dict):
        return tuple(_criterion(str(item), told, where) for item, told in value.items())
    if "tuple" in str(kind):
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        raise ConfigError(f"{where}: {name} must be a list of strings, not {value!r}")
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    allowed = {bool: bool, int: int, float: float}.get(kind, dict if key == "extra_headers" else str)
    if not isinstance(value, allowed) or (kind is int and isinstance(value, bool)):
        raise ConfigError(f"{where}: {name} must be {allowed.__name__}, not {value!r}")
    if isinstance(value, int | float) and not isinstance(value, bool) and value < 0:
        raise ConfigError(f"{where}: {name} must not be negative, but is {value}")
    return value


def _commands(value: object, where: str) -> tuple[Command, ...]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ConfigError(f"{where}: commands must be written as [[tool.coderefine.commands]] tables")
    commands = tuple(_command(item, where) for item in value)
    for number, command in enumerate(commands):
        if command.name in (*GATES, *(other.name for other in commands[:number])):
            raise ConfigError(f"{where}: there is a gate {command.name!r} already: give the command another name")
    return commands


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def _all(kind: type) -> Callable[[object], bool]:
    return lambda value: isinstance(value, list) and all(type(item) is kind for item in value)


KEYS: Mapping[str, tuple[str, Callable[[object], bool]]] = {
    "name": ("a string", _is_text),
    "run": ("a list of strings", _all(str)),
    "format": ("a string", _is_text),
    "regex": ("a string", _is_text),
    "findings-exit": ("a list of whole numbers", _all(int)),
    "timeout": ("a number of seconds", _is_number),
}
"""What a command's keys hold: in words, and as a test."""


def _command(table: Mapping[str, Any], where: str) -> Command:
    known = {item.name.replace("_", "-") for item in fields(Command)}
    for name in table:
        if name not in known:
            raise ConfigError(f"{where}: commands has no key {name!r}{_hint(name, known)}")
    if "name" not in table or "run" not in table:
        raise ConfigError(f"{where}: a command needs name (a string) and run (a list of strings)")
    for name, value in table.items():
        what, fits = KEYS[name]
        if not fits(value):
            raise ConfigError(f"{where}: {name} of a command must be {what}, not {value!r}")
    given: dict[str, Any] = {
        key.replace("-", "_"): tuple(item) if isinstance(item, list) else item for key, item in table.items()
    }
    return Command(**given)


def _chosen(asked: Any, written: tuple[Criterion, ...]) -> tuple[Criterion, ...]:
    """What `--criteria` names: criteria of the file, built-in sets, or sentences of its own."""
    return tuple(one if isinstance(one, Criterion) else _named(str(one), written) for one in asked)


def _named(told: str, written: tuple[Criterion, ...]) -> Criterion:
    known = {criterion.name: criterion for criterion in written}
    if told in known:
        return known[told]
    if told in CRITERIA:
        return Criterion(told)
    if len(told.split()) > 1:
        return Criterion("-".join(re.findall(r"[a-z]+", told.lower())[:4]) or "asked", told, source="asked for")
    raise ConfigError(f"criteria: there is no set {told!r}{_hint(told, {*CRITERIA, *known})}; or write a sentence")


def _criterion(name: str, told: object, where: str) -> Criterion:
    """One entry of [tool.coderefine.criteria]: `true` for a built-in set, a sentence, or a table."""
    table: dict[str, Any] = told if isinstance(told, dict) else {"text": "" if told is True else told}
    for key in table:
        if key not in ("text", "paths", "weight"):
            raise ConfigError(f"{where}: criteria.{name} has no key {key!r}{_hint(key, {'text', 'paths', 'weight'})}")
    text, paths, weight = table.get("text", ""), table.get("paths", []), table.get("weight", 1.0)
    if not (_is_text(text) and _all(str)(paths) and _is_number(weight)):
        raise ConfigError(
            f"{where}: criteria.{name} must be true (a built-in set), a sentence, or a table of text (a sentence), "
            "paths (a list of globs) and weight (a number above 0)"
        )
    if not text and name not in CRITERIA:
        raise ConfigError(f"{where}: criteria.{name} needs a text: it is no built-in set{_hint(name, set(CRITERIA))}")
    return Criterion(name, text, tuple(paths), float(weight), f"built in, chosen in {where}" if not text else where)
