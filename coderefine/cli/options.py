"""Flags, each with its config key: one table serves every command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from coderefine.config import ACCEPTS, CRITERIA, POLICIES, SANDBOXES
from coderefine.reports.formats import NAMES

Function = TypeVar("Function", bound=Callable[..., object])
Decorator = Callable[[Function], Function]

GATES = (
    click.option("--gate", "gates", multiple=True, metavar="NAME", help="Run only this gate (repeatable)."),
    click.option("--select", multiple=True, metavar="RULES", help="ruff rules to select (comma separated)."),
    click.option("--ignore", multiple=True, metavar="RULES", help="ruff rules to ignore (comma separated)."),
    click.option("--max-complexity", type=click.IntRange(1), metavar="N", help="Complexity limit of a function."),
    click.option("--python", metavar="PATH", help="The project's interpreter."),
    click.option("--view", type=click.Choice(["auto", "overlay", "copy"]), help="How the private view is made."),
    click.option("--network/--no-network", default=None, help="Let the project's tests use the network."),
)


def _anywhere(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
    """The path of a task's file is meant from here, wherever the run is resumed from."""
    return str(Path(value).absolute()) if value and value.endswith(".toml") else value


TASK = (
    click.option(
        "--task",
        metavar="NAME|FILE.toml",
        callback=_anywhere,
        help="What done means (default fix): readability, performance, types, docs, another package's, or a file.",
    ),
)
LOOP = (
    click.option("--max-iterations", type=click.IntRange(0), metavar="N", help="Rounds with the model; 0: none."),
    click.option("--max-requests", type=click.IntRange(0), metavar="N", help="Requests to the model; 0: none."),
    click.option("--max-tokens", type=click.IntRange(0), metavar="N", help="Tokens, prompt and reply together."),
    click.option("--max-cost", type=click.FloatRange(0), metavar="USD", help="Dollars."),
    click.option("--timeout", type=click.FloatRange(0), metavar="SECONDS", help="Wall time of the whole run."),
    click.option("--search/--no-search", default=None, help="Use the offline search engine."),
    click.option("--search-time", type=click.FloatRange(0), metavar="SECONDS", help="30, or 8 before a model."),
    click.option("--model", metavar="NAME", help="Model to ask when the offline rungs are spent."),
    click.option(
        "--criteria",
        multiple=True,
        metavar="NAME|TEXT",
        help=f"Let the model review by these too (repeatable): {', '.join(CRITERIA)}, a name from the configuration, "
        "or a sentence.",
    ),
    click.option("--samples", type=click.IntRange(1), metavar="N", help="Answers per round (default: as the policy)."),
    click.option("--sandbox", type=click.Choice(SANDBOXES), help="Of tests on trial: loosened where needed, or never."),
    click.option(
        "--accept",
        type=click.Choice(ACCEPTS),
        help="Write only what is clearly right (proved, the default), or the first that may be (plausible).",
    ),
    click.option("--policy", type=click.Choice(POLICIES), help="How the model is asked (default coderefine)."),
    click.option("--base-url", metavar="URL", help="OpenAI-compatible server."),
    click.option("--no-model", is_flag=True, help="Never ask a model, even with a key in the environment."),
    click.option("--stream/--no-stream", default=None, help="Ask the server to stream its replies."),
    click.option(
        "--show-prompts",
        is_flag=True,
        help="Print every request before it is sent; without a model, what the first would be.",
    ),
)
OUTPUT = (
    click.option("--format", "format_", type=click.Choice(NAMES), default="text", help="Report format."),
    click.option("-q", "--quiet", is_flag=True, help="No progress and no report; the exit code speaks."),
)
PATHS = click.argument("paths", nargs=-1, type=click.Path(), metavar="[PATH]...")


def options(*groups: tuple[Decorator[Callable[..., object]], ...]) -> Decorator[Callable[..., object]]:
    """A decorator that adds every option of `groups`, in order."""

    def decorate(function: Callable[..., object]) -> Callable[..., object]:
        for group in reversed(groups):
            for option in reversed(group):
                function = option(function)
        return function

    return decorate


def flags(given: dict[str, object]) -> dict[str, object]:
    """Command-line values as config keys: what was not given is left out, `A,B` becomes a tuple."""
    return {name: _value(name, value) for name, value in given.items() if value not in (None, ())}


SENTENCES = frozenset({"criteria"})
"""Options whose values may hold commas."""


def _value(name: str, value: object) -> object:
    if isinstance(value, tuple) and name not in SENTENCES:
        return tuple(part for item in value for part in str(item).split(",") if part)
    return value
