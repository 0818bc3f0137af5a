"""Command-line flags with their configuration keys, one table for all commands, and the request they result in."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from coderefine.config import ACCEPTS, CRITERIA, POLICIES, PROOFS, SANDBOXES, VIEWS
from coderefine.reports.formats import NAMES

if TYPE_CHECKING:
    from coderefine.app.request import Request

Function = TypeVar("Function", bound=Callable[..., object])
Decorator = Callable[[Function], Function]

COUNT, ONE_OR_MORE, AMOUNT = click.IntRange(0), click.IntRange(1), click.FloatRange(0)


def option(
    names: str, metavar: str | None, text: str, kind: Any = None, **more: Any
) -> Decorator[Callable[..., object]]:
    """Return an option with a value. `names`: the flag and, if it has another name, the configuration key."""
    return click.option(*names.split(), metavar=metavar, help=text, type=kind, **more)


def _absolute_file(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
    """Make the path of a task or scheduler file absolute, so that a run can be resumed from any folder."""
    return str(Path(value).absolute()) if value and value.endswith((".toml", ".json")) else value


GATES = (
    option("--gate gates", "NAME", "Run only this gate (repeatable).", multiple=True),
    option("--select", "RULES", "Select these ruff rules (comma separated).", multiple=True),
    option("--ignore", "RULES", "Ignore these ruff rules (comma separated).", multiple=True),
    option("--max-complexity", "N", "Allow functions of complexity up to N (default 10).", ONE_OR_MORE),
    option(
        "--python", "PATH", "Use this interpreter of the project (default: the one that `coderefine doctor` names)."
    ),
    option(
        "--view",
        None,
        "Work in an overlay mount or in a copy of the tree; auto (the default) takes the overlay where it works.",
        click.Choice(VIEWS),
    ),
    click.option("--network/--no-network", default=None, help="Let the project's tests use the network (default: no)."),
)
CLUSTER = (
    option(
        "--cluster",
        "ADDRESS",
        "Run the tests on the workers of a Dask cluster: tcp://…, tls://…, a scheduler file (….json), or local[:N].",
        callback=_absolute_file,
    ),
    option("--cluster-python", "PATH", "Use this interpreter on the workers (default: the same path as here)."),
    option(
        "--cluster-install",
        "FILE",
        "Build an environment on the workers from this lock file (requirements that pip can read), once per worker.",
        click.Path(exists=True, dir_okay=False, resolve_path=True),
    ),
)
TASK = (
    option(
        "--task",
        "NAME|FILE.toml",
        "Choose what the task is (default fix): readability, performance, types, docs, a TOML file, or a name that "
        "another package adds.",
        callback=_absolute_file,
    ),
)
BASE_URL = option("--base-url", "URL", "Use the models of this OpenAI-compatible server.")
LOOP = (
    option("--max-iterations", "N", "Ask the model in at most N rounds (default 6; 0: never).", COUNT),
    option("--max-requests", "N", "Send at most N requests (default 12; 0: none).", COUNT),
    option("--max-tokens", "N", "Use at most N tokens, prompts and replies together (default 200000).", COUNT),
    option("--max-cost", "USD", "Spend at most USD dollars (default 1).", AMOUNT),
    option("--timeout", "SECONDS", "End the whole run after SECONDS (default 600).", AMOUNT),
    click.option(
        "--search/--no-search", default=None, help="Search for repairs offline, without a model (default: yes)."
    ),
    option("--search-time", "SECONDS", "Seconds for the offline search (default 30; 8 if a model follows).", AMOUNT),
    option("--model", "NAME", "Use this model when ruff and the offline search find no more repairs."),
    option(
        "--criteria",
        "NAME|TEXT",
        f"Let the model review the code by these criteria (repeatable): {', '.join(CRITERIA)}, a name from the "
        "configuration, or a sentence.",
        multiple=True,
    ),
    option("--samples", "N", "Ask for N answers in each round (default: that of --policy).", ONE_OR_MORE),
    option(
        "--sandbox",
        None,
        "Confine the tests while a patch is tried: auto (the default) allows what your own tests need, strict allows "
        "nothing, off confines nothing.",
        click.Choice(SANDBOXES),
    ),
    option(
        "--accept",
        None,
        "Write only a patch that is clearly right (proved, the default), or the first that may be right (plausible).",
        click.Choice(ACCEPTS),
    ),
    option(
        "--policy",
        None,
        "Choose the strategy of the requests to the model (default coderefine).",
        click.Choice(POLICIES),
    ),
    BASE_URL,
    click.option("--no-model", is_flag=True, help="Use no model, even with a key in the environment."),
    click.option("--stream/--no-stream", default=None, help="Ask the server to stream its replies."),
    click.option(
        "--show-prompts",
        is_flag=True,
        help="Print every request before it is sent; without a model, print the first one.",
    ),
)
PROOF = (
    option(
        "--proof",
        None,
        "Run the final proof here (local, the default), or on the workers of --cluster, too.",
        click.Choice(PROOFS),
    ),
    click.option(
        "--fast-proof/--no-fast-proof",
        default=None,
        help="Prove with the tests that can reach the patch instead of all (default: no). The hook and suggest never "
        "do, because what they publish is not reviewed.",
    ),
    option(
        "--processes",
        "N",
        "Run the tests of a proof in up to N processes, each with its own test files (default: 1; one per core if "
        "pytest-xdist is in the project's addopts). In copies, and with --network or --cluster, it has no effect.",
        ONE_OR_MORE,
    ),
)
DESTINATION = (
    click.option("--diff", is_flag=True, help="Print the patch and write nothing."),
    option(
        "--patch",
        "FILE",
        "Write the patch to FILE, as a mail for `git am`.",
        click.Path(dir_okay=False, resolve_path=True),
    ),
    click.option("--commit", is_flag=True, help="Commit the patch on the current branch; your git hooks run."),
    option("--branch", "NAME", "Commit the patch on a new branch, which is not checked out."),
    option("--pull-request", "NAME", "Push the patch to branch NAME of origin, and open a pull request (or GitLab's)."),
    option("--author", "'NAME <MAIL>'", "Name the author of the commit (default: you)."),
    option("-m --message", "TEXT", "Give the subject of the commit; {summary} in it stands for what the patch does."),
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


SENTENCES = frozenset({"criteria"})
"""Options whose values may contain commas."""


def settings(given: Mapping[str, object]) -> dict[str, object]:
    """Convert command-line values to configuration keys: split `A,B` into a tuple, and leave out values not given.

    An empty text, such as that of an unset variable of a shell, counts as not given.
    """
    found = dict(given)
    for name, value in found.items():
        if isinstance(value, tuple):
            parts = value if name in SENTENCES else (part for item in value for part in str(item).split(","))
            found[name] = tuple(filter(None, (str(part).strip() for part in parts)))
    return {name: value for name, value in found.items() if value not in (None, (), "")}


def request_of(given: Mapping[str, object], **more: object) -> Request:
    """Return the request of a command line with the flags of DESTINATION.

    `more`: configuration keys that the command itself sets. Raises UsageError if flags exclude each other.
    """
    from coderefine.app.request import Destination, Request  # `check` starts without the publishers

    rest = dict(given)
    destination = Destination(**{one.name: rest.pop(one.name) for one in fields(Destination)})  # type: ignore[arg-type]
    model = not rest.pop("no_model", False)
    return Request(tuple(sys.argv[1:]), {**settings(rest), **more}, destination, model)
