"""Post the result on the pull request, push it to its branch, or open a pull request against it."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from coderefine.cli.pull import Pull, token
from coderefine.errors import PublishError, UsageError

if TYPE_CHECKING:
    from coderefine.core import Outcome
    from coderefine.publishers import Snapshot
    from coderefine.publishers.hosts.bundle import Bundle
    from coderefine.publishers.hosts.github_api import Api


@dataclass(frozen=True, slots=True)
class Target:
    """What to post and where.

    `out`: the artifact's folder. `distrust`: the bundle was made by a run that others control.
    """

    pull: Pull
    host: str
    style: bool = False
    post: bool = True
    push: bool = False
    open: bool = False
    out: str | None = None
    distrust: bool = False


def post(target: Target, bundle: Bundle, proved: tuple[Snapshot, Outcome] | None = None) -> str:
    """Post, and return lines that say what was done.

    Raises PublishError, UsageError.
    """
    said = []
    if proved and (target.push or target.open) and proved[1].best.number:
        line, bundle = _pushed(target, bundle, *proved)
        said.append(line)
    if target.post:
        said.append(_posted(target, bundle))
    return "\n".join(said) or "nothing to push"


def _posted(target: Target, bundle: Bundle) -> str:
    secret = token(os.environ, target.host)
    if not secret or not target.pull.repo:
        said = "nothing was posted: no token (GITHUB_TOKEN, GITLAB_TOKEN) or no --repo"
        if target.distrust:  # posting is all that this run is for
            raise UsageError(said)
        return said
    if target.host == "gitlab":
        from coderefine.publishers.hosts.gitlab_host import GitLab, connect

        project = connect(secret, os.environ.get("CI_SERVER_URL", "https://gitlab.com"), target.pull.repo)
        return GitLab(project, target.pull.number, distrust=target.distrust, style=target.style).publish(bundle)
    return _github(target, bundle, secret)


def _github(target: Target, bundle: Bundle, secret: str) -> str:
    from coderefine.publishers.hosts.github_host import GitHub, find_pull

    api = _api(secret)
    meant = target.pull
    if not meant.number:
        meant = replace(meant, number=find_pull(api, meant.repo, bundle.head, meant.label) or 0)
    if not meant.number:
        return f"nothing was posted: no open pull request has the head {bundle.head[:10]}"
    fetch = _fetch(target, bundle)
    return GitHub(api, meant.repo, meant.number, fetch=fetch, distrust=target.distrust, style=target.style).publish(
        bundle
    )


def _fetch(target: Target, bundle: Bundle) -> str:
    """Return a shell command that downloads exactly the checked patch and applies it; "" where there is no artifact."""
    from coderefine.publishers.hosts.bundle import PATCH, checked_file

    sha256 = checked_file(Path(target.out), bundle.patch) if target.out and target.pull.run else ""
    if not sha256:
        return ""
    get = f"gh run download {target.pull.run} -R {target.pull.repo} -n coderefine"
    return f"{get} && echo '{sha256}  {PATCH}' | sha256sum --check --quiet && git apply {PATCH}"


def _api(secret: str) -> Api:
    from coderefine.publishers.hosts.github_api import Api

    pace = os.environ.get("GITHUB_WRITE_PACE", "1")
    if not pace.replace(".", "", 1).isdecimal():
        raise UsageError(f"GITHUB_WRITE_PACE is {pace!r}: give seconds between two writes, like 1")
    return Api.connect(secret, os.environ.get("GITHUB_API_URL", "https://api.github.com"), pace=float(pace))


def _pushed(target: Target, bundle: Bundle, snapshot: Snapshot, outcome: Outcome) -> tuple[str, Bundle]:
    """Push, and return a line about it and what is left to post: after a push only the annotations."""
    from coderefine.publishers.branch import Push

    meant = target.pull
    branch = meant.branch or snapshot.head.branch or ""
    if not branch or meant.fork:
        raise UsageError("--push and --pull-request need a branch of this repository, not of a fork")
    if target.push:
        landed = Push(snapshot, branch).land(outcome)
        return landed.line, replace(bundle, head=landed.commit, patch="", behaviour=False, suggestions=())
    line = Push(snapshot, f"coderefine/{branch}", own=True).publish(outcome)
    return f"{line}; {_opened(target, branch, outcome)}", bundle


def _opened(target: Target, branch: str, outcome: Outcome) -> str:
    from coderefine.publishers import Wording, trailers

    secret = token(os.environ, "github")
    if target.host != "github" or not secret or not target.pull.repo:
        raise PublishError("the branch is pushed, but opening a pull request needs GITHUB_TOKEN and --repo")
    api, repo = _api(secret), target.pull.repo
    ours = f"coderefine/{branch}"
    owner = repo.partition("/")[0]
    if any(api.pages(f"/repos/{repo}/pulls?state=open&head={owner}:{ours}")):
        return "its pull request is open already"
    body = "\n".join(f"- `{line.replace('`', chr(39))}`" for line in trailers(outcome))
    made = api.ask(
        "POST",
        f"/repos/{repo}/pulls",
        {"title": Wording().subject(outcome)[:200], "head": ours, "base": branch, "body": body},
    )
    return f"opened #{made['number']} against {branch}"
