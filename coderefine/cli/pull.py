"""Which pull request is meant: flags first, then what the CI system says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coderefine.errors import UsageError


@dataclass(frozen=True, slots=True)
class Pull:
    """`base` and `head` are anything git can resolve, `number` 0 when unknown. `label` is OWNER:BRANCH of the head.

    `fork`: the head lives in another repository, which we cannot push to.
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
    """Raises UsageError when the event of GITHUB_EVENT_PATH cannot be read."""
    event = _event(environ)
    request = event.get("pull_request") or {}
    outer = event.get("workflow_run") or {}
    inside = request.get("head") or {}
    owner = ((outer.get("head_repository") or {}).get("owner") or {}).get("login", "")
    home = repo or environ.get("GITHUB_REPOSITORY", "") or environ.get("CI_PROJECT_ID", "")
    from_ = (inside.get("repo") or {}).get("full_name", home)
    gitlab = environ.get("CI_MERGE_REQUEST_IID", "")
    return Pull(
        base=base or (request.get("base") or {}).get("sha", "") or environ.get("CI_MERGE_REQUEST_DIFF_BASE_SHA", ""),
        head=head or inside.get("sha", "") or outer.get("head_sha", "") or "HEAD",
        repo=home,
        number=number or int(request.get("number") or gitlab or 0),
        label=f"{owner}:{outer.get('head_branch', '')}" if owner else "",
        branch=inside.get("ref", "") or environ.get("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", ""),
        fork=bool(from_ and home and from_ != home),
        run=str(outer.get("id") or environ.get("GITHUB_RUN_ID", "")),
    )


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
    """The token of `host`, "" for none."""
    names = ("GITLAB_TOKEN",) if host == "gitlab" else ("GITHUB_TOKEN", "GH_TOKEN")
    return next((environ[name] for name in names if environ.get(name)), "")
