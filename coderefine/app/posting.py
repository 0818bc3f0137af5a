"""Find a pull request; post results on it, push to its branch, or open a second pull request for its branch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from coderefine.app.run import RunResult
from coderefine.core import Outcome
from coderefine.errors import PublishError, UsageError
from coderefine.publishers import PatchFile, Snapshot, Wording
from coderefine.publishers.branch import Push
from coderefine.publishers.hosts import hosted
from coderefine.publishers.hosts.bundle import NAME, PATCH, Bundle, checked_file, dump, read
from coderefine.publishers.hosts.github_host import GitHub, find_pull
from coderefine.publishers.hosts.gitlab_host import GitLab


@dataclass(frozen=True, slots=True)
class Pull:
    """A pull request.

    `base` and `head`: names of commits that git can resolve. `repo`: the repository, as OWNER/NAME or GitLab's number.
    `number`: 0 if unknown. `label`: OWNER:BRANCH of the head. `branch`: the head's branch. `fork`: whether the head is
    in another repository, to which we cannot push. `run`: id of the CI run of the artifact.
    """

    base: str = ""
    head: str = "HEAD"
    repo: str = ""
    number: int = 0
    label: str = ""
    branch: str = ""
    fork: bool = False
    run: str = ""


@dataclass(frozen=True, slots=True)
class PostingTarget:
    """The destination of the results. `host`: `github` or `gitlab`.

    `style`: also post repairs of style. `post`: post comments. `push`: push to the branch of the pull request. `open`:
    open a second pull request. `out`: the artifact's folder. `distrust`: whether the bundle was made by a run that
    others control.
    """

    pull: Pull
    host: str
    style: bool = False
    post: bool = True
    push: bool = False
    open: bool = False
    out: str | None = None
    distrust: bool = False


def find(
    environ: Mapping[str, str], *, base: str | None, head: str | None, repo: str | None, number: int | None
) -> Pull:
    """Return the pull request given by the flags, else the one that the CI system reports.

    Raises UsageError if the event file GITHUB_EVENT_PATH cannot be read.
    """
    event: object = {}
    if file := environ.get("GITHUB_EVENT_PATH"):
        try:
            event = json.loads(Path(file).read_bytes())
        except (OSError, ValueError) as error:
            raise UsageError(f"GITHUB_EVENT_PATH ({file}) cannot be read: {error}") from error

    def from_event(path: str) -> object:
        """Return the value in the event at `path` (keys joined by dots); None if there is no such value."""
        value = event
        for key in path.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        return value

    home = _first(repo, environ.get("GITHUB_REPOSITORY"), environ.get("CI_PROJECT_ID"))
    source = _first(from_event("pull_request.head.repo.full_name"), home)
    owner = _first(from_event("workflow_run.head_repository.owner.login"))
    return Pull(
        base=_first(base, from_event("pull_request.base.sha"), environ.get("CI_MERGE_REQUEST_DIFF_BASE_SHA")),
        head=_first(head, from_event("pull_request.head.sha"), from_event("workflow_run.head_sha"), "HEAD"),
        repo=home,
        number=int(_first(number, from_event("pull_request.number"), environ.get("CI_MERGE_REQUEST_IID"), "0")),
        label=f"{owner}:{_first(from_event('workflow_run.head_branch'))}" if owner else "",
        branch=_first(from_event("pull_request.head.ref"), environ.get("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME")),
        fork=home not in ("", source),
        run=_first(from_event("workflow_run.id"), environ.get("GITHUB_RUN_ID")),
    )


def _first(*values: object) -> str:
    """Return the first nonempty value as text, else ""."""
    return next((str(value) for value in values if value), "")


def post_artifact(target: PostingTarget, folder: Path) -> str:
    """Post the bundle that another run wrote into `folder`; return a line for the user.

    Nothing is posted if `target.post` is false. No code of the pull request runs. Raises UsageError or PublishError.
    """
    bundle = read(folder)
    if target.pull.head not in ("HEAD", bundle.head):
        raise PublishError(f"the artifact is about {bundle.head[:10]}, not {target.pull.head[:10]}: nothing was posted")
    return _posted(replace(target, distrust=True, out=str(folder)), bundle) if target.post else "nothing to push"


def deliver(target: PostingTarget, bundle: Bundle, result: RunResult | None) -> str:
    """Write the artifact, then push and post as requested; return lines for the user, "" if neither is requested.

    `result`: the result of the run that proved the bundle's patch. Raises PublishError, UsageError.
    """
    proved = _proved(result) if result else None
    if target.out:
        folder = Path(target.out)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / NAME).write_text(dump(bundle), "utf-8")
        if proved:
            outcome, snapshot = proved
            PatchFile(snapshot, (folder / PATCH).absolute()).publish(outcome)
    if not any((target.post, target.push, target.open)):
        return ""
    lines = []
    if proved and (target.push or target.open):
        line, bundle = _pushed(target, bundle, *proved)
        lines.append(line)
    if target.post:
        lines.append(_posted(target, bundle))
    return "\n".join(lines) or "nothing to push"


def _proved(result: RunResult) -> tuple[Outcome, Snapshot] | None:
    return (result.outcome, result.snapshot) if result.snapshot and result.outcome.best.number else None


def _posted(target: PostingTarget, bundle: Bundle) -> str:
    secret, pull = hosted.token(target.host), target.pull
    if not secret or not pull.repo:
        line = "nothing was posted: no token (GITHUB_TOKEN, GITLAB_TOKEN) or no --repo"
        if target.distrust:  # posting is the only purpose of this run
            raise UsageError(line)
        return line
    if target.host == "gitlab":
        project = hosted.gitlab(secret).projects.get(pull.repo, lazy=True)
        return GitLab(project, pull.number, distrust=target.distrust, style=target.style).publish(bundle)
    api = hosted.github(secret)
    number = pull.number or find_pull(api, pull.repo, bundle.head, pull.label) or 0
    if not number:
        return f"nothing was posted: no open pull request has the head {bundle.head[:10]}"
    fetch = _fetch(target, bundle)
    host = GitHub(api, pull.repo, number, fetch=fetch, distrust=target.distrust, style=target.style)
    return host.publish(bundle)


def _fetch(target: PostingTarget, bundle: Bundle) -> str:
    """Return a shell command that downloads the artifact and applies exactly the checked patch; "" without an artifact.

    The artifact is unpacked into a new folder, because the run that wrote it may have put other files into it.
    """
    sha256 = checked_file(Path(target.out), bundle.patch) if target.out and target.pull.run else ""
    if not sha256:
        return ""
    repo = f"{urlsplit(hosted.server(hosted.GITHUB)).netloc}/{target.pull.repo}"
    get = f'd=$(mktemp -d) && gh run download {target.pull.run} -R {repo} -n coderefine -D "$d"'
    return f'{get} && echo "{sha256}  $d/{PATCH}" | sha256sum --check --quiet && git apply "$d/{PATCH}"'


def _pushed(target: PostingTarget, bundle: Bundle, outcome: Outcome, snapshot: Snapshot) -> tuple[str, Bundle]:
    """Push the patch as requested; return a line about the result, and the bundle to post.

    With `--push`, push to the branch of the pull request; then the bundle to post has no patch and no suggestions.
    Otherwise, push to a branch of coderefine, and open a pull request for it. Raises UsageError or PublishError.
    """
    pull = target.pull
    branch = pull.branch or snapshot.head.branch or ""
    if not branch or pull.fork:
        raise UsageError("--push and --pull-request need a branch of this repository, not of a fork")
    if target.push:
        landed = Push(snapshot, branch).push(outcome)
        return landed.line, replace(bundle, head=landed.commit, patch="", behaviour=False, suggestions=())
    line = Push(snapshot, f"coderefine/{branch}", own=True).push(outcome).line
    if not hosted.token(target.host) or not pull.repo:
        raise PublishError("the branch is pushed, but opening a pull request needs a token and --repo")
    home = hosted.HostedRepository(target.host, pull.repo)
    return f"{line}; {home.request_merge(f'coderefine/{branch}', branch, outcome, Wording())}", bundle
