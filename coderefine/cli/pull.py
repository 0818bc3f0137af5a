"""Find out which pull request is meant, from the flags and then from the CI system."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from coderefine.errors import UsageError


@dataclass(frozen=True, slots=True)
class Pull:
    """A pull request.

    `base` and `head` are anything git can resolve, `number` is 0 when unknown, `label` is OWNER:BRANCH of the head.
    `fork`: the head is in another repository, to which we cannot push.
    """

    base: str = ""
    head: str = "HEAD"
    repo: str = ""
    number: int = 0
    label: str = ""
    branch: str = ""
    fork: bool = False
    run: str = ""


def pull(
    environ: Mapping[str, str], *, base: str | None, head: str | None, repo: str | None, number: int | None
) -> Pull:
    """Return the pull request.

    Raises UsageError when the event of GITHUB_EVENT_PATH cannot be read.
    """
    told = partial(_told, _event(environ))
    home = _first(repo, environ.get("GITHUB_REPOSITORY"), environ.get("CI_PROJECT_ID"))
    source = _first(told("pull_request.head.repo.full_name"), home)
    owner = _first(told("workflow_run.head_repository.owner.login"))
    return Pull(
        base=_first(base, told("pull_request.base.sha"), environ.get("CI_MERGE_REQUEST_DIFF_BASE_SHA")),
        head=_first(head, told("pull_request.head.sha"), told("workflow_run.head_sha"), "HEAD"),
        repo=home,
        number=int(_first(number, told("pull_request.number"), environ.get("CI_MERGE_REQUEST_IID"), "0")),
        label=f"{owner}:{_first(told('workflow_run.head_branch'))}" if owner else "",
        branch=_first(told("pull_request.head.ref"), environ.get("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME")),
        fork=home not in ("", source),
        run=_first(told("workflow_run.id"), environ.get("GITHUB_RUN_ID")),
    )


def _first(*told: object) -> str:
    """Return the first nonempty value as text, else ""."""
    return next((str(one) for one in told if one), "")


def _told(event: object, path: str) -> object:
    """Return the value in `event` at `path` (keys joined by dots), None where there is none."""
    for key in path.split("."):
        event = event.get(key) if isinstance(event, dict) else None
    return event


def _event(environ: Mapping[str, str]) -> dict[str, Any]:
    path = environ.get("GITHUB_EVENT_PATH")
    if not path:
        return {}
    try:
        found = json.loads(Path(path).read_bytes())
    except (OSError, ValueError) as error:
        raise UsageError(f"GITHUB_EVENT_PATH ({path}) cannot be read: {error}") from error
    return found if isinstance(found, dict) else {}


def token(environ: Mapping[str, str], host: str) -> str:
    """Return the token of `host`, "" for none."""
    names = ("GITLAB_TOKEN",) if host == "gitlab" else ("GITHUB_TOKEN", "GH_TOKEN")
    return next((environ[name] for name in names if environ.get(name)), "")
