"""Command-line flags with their configuration keys: one table for all commands."""

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
    click.option("--select", multiple=True, metavar="RULES", help="Select these ruff rules (comma separated)."),
    click.option("--ignore", multiple=True, metavar="RULES", help="Ignore these ruff rules (comma separated)."),
    click.option(
        "--max-complexity", type=click.IntRange(1), metavar="N", help="Allow a function this complexity (default 10)."
    ),
    click.option(
        "--python",
        metavar="PATH",
        help="Use this interpreter of the project (default: the one that `coderefine doctor` names).",
    ),
    click.option(
        "--view",
        type=click.Choice(["auto", "overlay", "copy"]),
        help="Work in an overlay mount or in a copy of the tree; auto (the default) takes the overlay where it works.",
    ),
    click.option("--network/--no-network", default=None, help="Let the project's tests use the network (default: no)."),
)


def _anywhere(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
    """Make the path of a task file absolute, so that a run can be resumed from any folder."""
    return str(Path(value).absolute()) if value and value.endswith(".toml") else value


TASK = (
    click.option(
        "--task",
        metavar="NAME|FILE.toml",
        callback=_anywhere,
        help="Choose what the task is (default fix): readability, performance, types, docs, a TOML file, or a name "
        "that another package adds.",
    ),
)
LOOP = (
    click.option(
        "--max-iterations",
        type=click.IntRange(0),
        metavar="N",
        help="Ask the model in at most N rounds (default 6; 0: never).",
    ),
    click.option(
        "--max-requests", type=click.IntRange(0), metavar="N", help="Send at most N requests (default 12; 0: none)."
    ),
    click.option(
        "--max-tokens",
        type=click.IntRange(0),
        metavar="N",
        help="Use at most N tokens, prompts and replies together (default 200000).",
    ),
    click.option(
        "--max-cost", type=click.FloatRange(0), metavar="USD", help="Spend at most so many dollars (default 1)."
    ),
    click.option(
        "--timeout", type=click.FloatRange(0), metavar="SECONDS", help="End the whole run after so long (default 600)."
    ),
    click.option(
        "--search/--no-search", default=None, help="Search for repairs offline, without a model (default: yes)."
    ),
    click.option(
        "--search-time",
        type=click.FloatRange(0),
        metavar="SECONDS",
        help="Seconds for the offline search (default 30; 8 if a model follows).",
    ),
    click.option("--model", metavar="NAME", help="Ask this model when ruff and the offline search can do no more."),
    click.option(
        "--criteria",
        multiple=True,
        metavar="NAME|TEXT",
        help=f"Let the model review the code by these criteria (repeatable): {', '.join(CRITERIA)}, a name from the "
        "configuration, or a sentence.",
    ),
    click.option(
        "--samples",
        type=click.IntRange(1),
        metavar="N",
        help="Ask for N answers in each round (default: as --policy has it).",
    ),
    click.option(
        "--sandbox",
        type=click.Choice(SANDBOXES),
        help="Confine the tests while a patch is tried: auto (the default) allows what your own tests need, strict "
        "allows nothing, off confines nothing.",
    ),
    click.option(
        "--accept",
        type=click.Choice(ACCEPTS),
        help="Write only what is clearly right (proved, the default), or the first patch that may be (plausible).",
    ),
    click.option(
        "--policy",
        type=click.Choice(POLICIES),
        help="Choose the strategy by which the model is asked (default coderefine).",
    ),
    click.option("--base-url", metavar="URL", help="Ask this OpenAI-compatible server."),
    click.option("--no-model", is_flag=True, help="Never ask a model, even with a key in the environment."),
    click.option("--stream/--no-stream", default=None, help="Ask the server to stream its replies."),
    click.option(
        "--show-prompts",
        is_flag=True,
        help="Print every request before it is sent; without a model, what the first would be.",
    ),
)
PROOF = (
    click.option(
        "--fast-proof/--no-fast-proof",
        default=None,
        help="Prove with the tests that can reach the patch instead of all (default: no). The hook and suggest never "
        "do: nobody looks before they publish.",
    ),
)
OUTPUT = (
    click.option(
        "--format",
        "format_",
        type=click.Choice(NAMES),
        default="text",
        help="Print the report in this format (default text).",
    ),
    click.option("-q", "--quiet", is_flag=True, help="Print neither progress nor report; the exit code is the result."),
)
PATHS = click.argument("paths", nargs=-1, type=click.Path(), metavar="[PATH]...")


def options(*groups: tuple[Decorator[Callable[..., object]], ...]) -> Decorator[Callable[..., object]]:
    """Return a decorator that adds every option of `groups`, in order."""

    def decorate(function: Callable[..., object]) -> Callable[..., object]:
        for group in reversed(groups):
            for option in reversed(group):
                function = option(function)
        return function

    return decorate


def flags(given: dict[str, object]) -> dict[str, object]:
    """Turn command-line values into configuration keys: leave out what was not given, make `A,B` a tuple."""
    return {name: _value(name, value) for name, value in given.items() if value not in (None, ())}


SENTENCES = frozenset({"criteria"})
"""Options whose values may hold commas."""


def _value(name: str, value: object) -> object:
    if isinstance(value, tuple) and name not in SENTENCES:
        return tuple(part for item in value for part in str(item).split(",") if part)
    return value
