"""Merge `[tool.coderefine]`, environment variables and flags into one frozen Config; reject unknown keys."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from coderefine.config.key_rules import USUAL, key_refusal
from coderefine.config.tables import (
    CRITERIA,
    GATES,
    Command,
    Criterion,
    Performance,
    check_keys,
    chosen,
    commands,
    converted,
    criterion,
    hint,
    keys_of,
    kinds_of,
    number,
    performance,
)
from coderefine.core import FIX, Limits, Task
from coderefine.errors import ConfigError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = [
    "CRITERIA",
    "GATES",
    "Command",
    "Config",
    "Criterion",
    "Performance",
    "load",
    "masked",
    "task_name",
    "toml",
    "typed",
]

SANDBOXES = ("auto", "strict", "off")
VIEWS = ("auto", "overlay", "copy")
ACCEPTS = ("proved", "plausible")
"""Which patches are written: only a patch that is clearly right, or also the first patch that may be right."""
PROOFS = ("local", "cluster")
"""Where the final proof runs."""
POLICIES = ("coderefine", "retry", "warming", "self-refine")
"""Strategies of the requests to the model (proposers/model/policies.py)."""
CHOICES = {"sandbox": SANDBOXES, "view": VIEWS, "policy": POLICIES, "accept": ACCEPTS, "proof": PROOFS}
ADDED = ("commands", "criteria", "protect")
"""Keys for which the values of the user and of the task are combined; for other keys, one replaces the other."""
NO_KEYS = frozenset({"cost_alone", "asked", "key_refusal", "wanted"})
"""Fields of Config that are computed, not configured."""
SETTINGS_OF_GATES = {"select": "ruff", "ignore": "ruff", "max_complexity": "radon", "min_maintainability": "radon"}
PREFIX = "CODEREFINE_"
"""Prefix of the environment variables."""
LOGIN = re.compile(r"(?<=://)[^/?#\s]+@")
MASKED = "[login]@"
DEFAULT_MODEL = "gpt-5-mini"
"""The model if a key or a server is configured, but no model."""


@dataclass(frozen=True, slots=True)
class Config:
    """Everything that a user can configure. A key `max_complexity` is `max-complexity` in TOML and on the command line.

    None: not set, or found automatically. `gates`: the names of the gates that run; unless the user chooses them, also
    all `commands`. `timeout`, `test_timeout`, `search_time` and `request_timeout` are seconds; `request_timeout`: the
    longest silence of the model's server. `max_cost`: dollars. Without `search_time` the search takes 30 s, or 8 s if a
    model follows. `test_timeout` limits a test whose usual duration is unknown. `network`: whether the tests may use
    the network. `fast_proof`: prove only with the tests that can reach the patch. `pass_env`: names or globs of
    variables that the tests get although they look like secrets. `task`: a name (tasks/) or a TOML file, relative to
    the project's root. `models`: names of models from cheap to strong, in place of `model`. `processes`: maximum number
    of test processes at a time in a proof (None: one, or one per core if pytest-xdist is in the project's `addopts`).
    `samples`: answers per round, 0 for the policy's default. `accept`: which patches are written, see ACCEPTS.

    `cluster`: the address of a cluster whose workers run the tests. `cluster_python`: the interpreter of the workers
    (None: the same path as here). `cluster_install`: a lock file, relative to the project's root, from which the
    workers build an environment with `cluster_python`. `proof`: where the final proof runs, see PROOFS.

    Four fields are not keys. `cost_alone`: whether max-cost is set, but neither max-tokens nor max-requests. `asked`:
    the gates that `gates` names, or for which a key of SETTINGS_OF_GATES is set. `key_refusal`: why the model's key may
    not be sent, see key_rules.py. `wanted`: the files that the task asks for, which its commands may read and run.
    """

    task: str = "fix"
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
    performance: Performance = field(default_factory=Performance)
    base_url: str | None = None
    api_key_env: str = USUAL
    temperature: float = 0.2
    request_timeout: float = 600.0
    stream: bool = False
    view: str = "auto"
    network: bool = False
    pass_env: tuple[str, ...] = ()
    sandbox: str = "auto"
    accept: str = ACCEPTS[0]
    fast_proof: bool = False
    processes: int | None = None
    cluster: str | None = None
    cluster_python: str | None = None
    cluster_install: str | None = None
    proof: str = PROOFS[0]
    author: str | None = None
    message: str = "fix: {summary}"
    extra_headers: Mapping[str, str] = field(default_factory=dict)
    cost_alone: bool = False
    asked: frozenset[str] = frozenset()
    key_refusal: str = ""
    wanted: tuple[str, ...] = ()

    @property
    def limits(self) -> Limits:
        return Limits(self.max_iterations, self.max_requests, self.max_tokens, self.max_cost, self.timeout)


KINDS = kinds_of(Config)
KEYS = frozenset(keys_of(Config)) - {name.replace("_", "-") for name in NO_KEYS}
TABLES: Mapping[str, Callable[[object, str], object]] = {"commands": commands, "performance": performance}
"""Keys whose values are tables, with the functions that read these values."""


def load(
    root: Path,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, object] | None = None,
    task: Task = FIX,
    data: bytes | None = None,
) -> Config:
    """Load the configuration of the project at `root`: task settings, file, `CODEREFINE_*`, flags.

    Later sources have priority; a flag that is None counts as not given. `data`: the content of the file, if it is not
    that in the working tree. Raises ConfigError with the file, the key and the most similar known key.
    """
    environ = os.environ if environ is None else environ
    written = _from_file(root / "pyproject.toml", data)
    base = typed(task.settings, f"task {task.name}")
    base["protect"] = (*base.get("protect", ()), *task.given)
    from_flags = _one_model({name: value for name, value in (flags or {}).items() if value is not None})
    from_environ = _one_model(_from_environ(environ))
    for source in (written, base, from_environ, from_flags):
        _choose_criteria(source, written)
    given = {**written, **from_environ, **from_flags}
    together = _together(base, given, gates_given="gates" in from_flags)
    if "gates" not in {*from_environ, *from_flags}:
        together["gates"] = _with_commands(together.get("gates", GATES), together["commands"])
    alone = "max_cost" in given and not {"max_tokens", "max_requests"} & given.keys()
    asked = {*given.get("gates", ()), *map(SETTINGS_OF_GATES.get, given)} - {None}
    config = replace(Config(), **together, cost_alone=alone, asked=frozenset(asked), wanted=task.wanted)
    refusal = masked(key_refusal(config.base_url, config.api_key_env, {*from_environ, *from_flags}))
    config = replace(config, key_refusal=refusal)
    return _with_model(_checked(config), environ)


def _together(base: Mapping[str, Any], given: Mapping[str, Any], *, gates_given: bool) -> dict[str, Any]:
    """Merge the user's settings `given` with `base`, the settings of the task.

    Commands, criteria and protected files of both are kept. `gates_given`: whether a flag chooses the gates.
    """
    added = {name: _added(given.get(name, ()), base.get(name, ())) for name in ADDED}
    merged = {**base, **given, **added}
    if "gates" in merged and not gates_given:
        own = tuple(command.name for command in base.get("commands", ()))
        merged["gates"] = _added(base.get("gates", merged["gates"]), own)
    return merged


def _choose_criteria(source: dict[str, Any], written: Mapping[str, Any]) -> None:
    """Replace the names and sentences in the criteria of `source`, if it has any, by the criteria that they mean.

    `written`: the settings in the file, in which a name may be defined.
    """
    if "criteria" in source:
        known = [one for one in written.get("criteria", ()) if isinstance(one, Criterion)]
        source["criteria"] = tuple(chosen(one, known) for one in source["criteria"])


def _with_commands(gates: tuple[str, ...], commands: tuple[Command, ...]) -> tuple[str, ...]:
    """Return `gates`; if they are the built-in ones, which is the default, also the names of all `commands`."""
    return (*gates, *(command.name for command in commands)) if set(gates) == set(GATES) else gates


def task_name(root: Path, environ: Mapping[str, str], flags: Mapping[str, object], data: bytes | None = None) -> str:
    """Return the name of the task, which `load` needs first because the task has settings. `data`: see `load`."""
    name = flags.get("task") or environ.get("CODEREFINE_TASK")
    return str(name or _from_file(root / "pyproject.toml", data).get("task") or FIX.name)


def typed(table: Mapping[str, object], where: str, besides: Iterable[str] = ()) -> dict[str, Any]:
    """Convert `table` (keys and values as in TOML) to fields of Config.

    Raises ConfigError for an unknown key; the message names `where`. `besides`: keys that are read elsewhere and may be
    suggested.
    """
    check_keys(table, KEYS.union(besides), where)
    return {name.replace("-", "_"): _typed(name, value, where) for name, value in table.items()}


def _added(first: tuple[Any, ...], more: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return `first`, and the items of `more` whose names do not occur in `first`."""
    names = {getattr(item, "name", item) for item in first}
    return (*first, *(item for item in more if getattr(item, "name", item) not in names))


def masked(text: str) -> str:
    """Return `text` without user names and passwords in URLs, so that it can be recorded and printed."""
    return LOGIN.sub(MASKED, text)


def _one_model(source: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of `source`; its `model` replaces the `models` of a source with lower priority."""
    return {"models": (), **source} if "model" in source else source


def _with_model(config: Config, environ: Mapping[str, str]) -> Config:
    """Return `config` with the model: the first of `models`, or a default if only a key or a server is configured."""
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
                f"unknown gate {gate!r}{hint(gate, known)}; a command gate needs [[tool.coderefine.commands]]"
            )
    for name, allowed in CHOICES.items():
        if (value := getattr(config, name)) not in allowed:
            raise ConfigError(f"{name} must be one of {', '.join(allowed)}, not {value!r}")
    usual = Config()
    for key, kind in KINDS.items():
        if kind in (int, float) and (value := getattr(config, key)) != getattr(usual, key):  # flags come here untyped
            number(key.replace("_", "-"), value, kind, "given")
    return config


def toml(path: Path, data: bytes | None = None) -> dict[str, Any]:
    """Parse the file at `path`, or its content `data`; return an empty table if it is missing.

    Raises ConfigError for an unreadable file or invalid TOML.
    """
    try:
        if data is None:
            data = path.read_bytes() if path.exists() else b""
        table: dict[str, Any] = tomllib.loads(data.decode("utf-8"))
    except (OSError, ValueError, RecursionError) as error:  # ValueError: no UTF-8, no TOML, a number without end
        raise ConfigError(f"{path.name} cannot be read: {error}") from error
    return table


def _from_file(path: Path, data: bytes | None) -> dict[str, Any]:
    tools = toml(path, data).get("tool", {})
    table = tools.get("coderefine", {}) if isinstance(tools, dict) else {}
    if not isinstance(table, dict):
        raise ConfigError(f"{path.name}: [tool.coderefine] must be a table")
    check_keys(table, KEYS, f"{path.name}: [tool.coderefine]")
    return typed(table, path.name)


def _from_environ(environ: Mapping[str, str]) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for name, text in environ.items():
        if not name.startswith(PREFIX):
            continue
        key = name.removeprefix(PREFIX).lower()
        if "-" in key or key.replace("_", "-") not in KEYS:
            known = {f"{PREFIX}{item.replace('-', '_').upper()}" for item in KEYS}
            raise ConfigError(f"{name} is not a setting{hint(name, known, quoted=False)}")
        if text:
            given[key] = _typed(key, _from_text(key, text), name)
    if "base_url" not in given and environ.get("OPENAI_BASE_URL"):
        given["base_url"] = environ["OPENAI_BASE_URL"]
    return given


def _from_text(key: str, text: str) -> object:
    """Convert the text of an environment variable to a value as in TOML; a text that does not fit is left as it is."""
    kind = KINDS[key]
    if kind is bool:
        return {"1": True, "true": True, "0": False, "false": False}.get(text.lower(), text)
    if kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            return text
    if "tuple" not in str(kind):
        return text
    parts = [part.strip() for part in text.split(",") if part.strip()]
    sentence = key == "criteria" and any(len(part.split()) > 1 for part in parts)
    return [text] if sentence else parts


def _typed(name: str, value: object, where: str) -> object:
    """Convert the value of the key `name` to the type of its field. Raises ConfigError if it has another type."""
    key = name.replace("-", "_")
    if key in TABLES:
        return TABLES[key](value, where)
    if key == "criteria":
        if isinstance(value, dict):
            return tuple(criterion(str(item), text, where) for item, text in value.items())
        return converted(name, value, tuple[str, ...], where)  # `load` finds the criteria of these names
    return converted(name.replace("_", "-"), value, KINDS[key], where)
