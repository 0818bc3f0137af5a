"""Repositories on GitHub and GitLab: find them by a query, and open a pull or merge request for a branch.

The modules that send requests to hosts are imported where they are used; otherwise every run would start 30 ms later.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, urlsplit

from coderefine.core import Outcome
from coderefine.errors import UsageError
from coderefine.git import Repository
from coderefine.publishers.message import Wording, trailers

if TYPE_CHECKING:
    from coderefine.publishers.hosts.github_api import Api

GITHUB, GITLAB = "github", "gitlab"
TOKENS = {GITHUB: ("GITHUB_TOKEN", "GH_TOKEN"), GITLAB: ("GITLAB_TOKEN",)}
PUBLIC = {GITHUB: "https://github.com", GITLAB: "https://gitlab.com"}
FOUND = 1000
"""Maximum number of results that GitHub returns for one search."""


def token(host: str) -> str:
    """Return the token for `host` from the environment; "" if there is none."""
    return next((value for name in TOKENS[host] if (value := os.environ.get(name))), "")


def server(host: str) -> str:
    """Return the address of the server to which the token for `host` belongs."""
    named = os.environ.get("CI_SERVER_URL" if host == GITLAB else "GITHUB_SERVER_URL", "")
    return (named or PUBLIC[host]).rstrip("/")


def github(secret: str) -> Api:
    """Open a connection to GitHub at the address that GITHUB_API_URL or GITHUB_SERVER_URL gives. Raises UsageError."""
    from coderefine.publishers.hosts.github_api import Api

    pace, address = os.environ.get("GITHUB_WRITE_PACE", "1"), server(GITHUB)
    if not pace.replace(".", "", 1).isdecimal():
        raise UsageError(f"GITHUB_WRITE_PACE is {pace!r}: give seconds between two writes, like 1")
    usual = "https://api.github.com" if address == PUBLIC[GITHUB] else f"{address}/api/v3"
    return Api.connect(secret, os.environ.get("GITHUB_API_URL", usual), pace=float(pace))


def gitlab(secret: str) -> Any:
    """Return a client of python-gitlab for the server in CI_SERVER_URL."""
    from coderefine.publishers.hosts import gitlab_host

    return gitlab_host.client(secret, server(GITLAB))


@dataclass(frozen=True, slots=True)
class HostedRepository:
    """The repository `path` (OWNER/NAME, or at GitLab a number) on the server of `host` (`github` or `gitlab`)."""

    host: str
    path: str

    @classmethod
    def of(cls, repository: Repository) -> HostedRepository:
        """Return the hosted repository to which `origin` refers.

        Raises UsageError if `origin` is not on the server to which the host's token belongs.
        """
        url = repository.setting("remote.origin.url") or ""
        if "://" in url:
            name, path = urlsplit(url).hostname or "", urlsplit(url).path
        else:
            name, _, path = url.rpartition("@")[2].partition(":")
        for host in (GITHUB, GITLAB):
            if name == urlsplit(server(host)).hostname:
                return cls(host, path.strip("/").removesuffix(".git"))
        raise UsageError(
            f"origin ({name or 'no host'}) is not a known host of pull requests: if GITHUB_TOKEN belongs to it, set "
            "GITHUB_SERVER_URL to its address; if GITLAB_TOKEN belongs to it, set CI_SERVER_URL"
        )

    def token(self) -> str:
        """Return the token for the host. Raises UsageError without one."""
        if not (found := token(self.host)):
            raise UsageError(f"a pull request needs a token: set {TOKENS[self.host][0]}")
        return found

    def request_merge(self, branch: str, base: str, outcome: Outcome, wording: Wording) -> str:
        """Open a pull or merge request of `branch` into `base`, unless one is open already; return a line about it.

        Raises PublishError.
        """
        from coderefine.publishers.hosts.host import patiently

        title = wording.subject(outcome)[:200]
        body = "\n".join(f"- `{text.replace('`', chr(39))}`" for text in trailers(outcome))
        ask = self._ask_gitlab if self.host == GITLAB else self._ask_github
        return patiently(lambda: ask(branch, base, title, body))

    def _ask_github(self, branch: str, base: str, title: str, body: str) -> str:
        api, pulls = github(self.token()), f"/repos/{self.path}/pulls"
        head = f"{self.path.partition('/')[0]}:{branch}"
        if any(api.pages(f"{pulls}?state=open&head={quote(head, safe=':')}&base={quote(base)}")):
            return "its pull request is open already"
        made = api.ask("POST", pulls, {"title": title, "head": branch, "base": base, "body": body})
        return f"opened #{made['number']} against {base}"

    def _ask_gitlab(self, branch: str, base: str, title: str, body: str) -> str:
        from coderefine.publishers.hosts import gitlab_host

        wanted = {"source_branch": branch, "target_branch": base}
        with gitlab_host.translated():
            requests = gitlab(self.token()).projects.get(self.path, lazy=True).mergerequests
            if requests.list(state="opened", per_page=1, get_all=False, **wanted):
                return "its merge request is open already"
            made = requests.create({**wanted, "title": title, "description": body, "remove_source_branch": True})
        return f"opened !{made.iid} against {base}"


def repositories(query: str) -> tuple[str, ...]:
    """Return the clone URLs of the repositories that `query` finds, sorted; archived ones only if `query` says so.

    `github:` is followed by a search in GitHub's syntax (`github:org:acme language:python`), `gitlab:` by a group and
    filters of GitLab's list of projects (`gitlab:acme/tools?topic=python`). Raises UsageError, PublishError.
    """
    from coderefine.publishers.hosts.host import patiently

    host, _, words = query.partition(":")
    if not (secret := token(host)):
        raise UsageError(f"{query!r} needs a token: set {TOKENS[host][0]}")
    search = _in_gitlab if host == GITLAB else _in_github
    found = patiently(lambda: tuple(sorted(search(secret, words.strip()))))
    if not found:
        raise UsageError(f"{query!r} finds no repository that this token can see")
    return found


def _in_github(secret: str, words: str) -> Iterator[str]:
    from coderefine.publishers.hosts.host import BusyError

    api = github(secret)
    words = words if "archived:" in words else f"{words} archived:false"
    path = f"/search/repositories?q={quote(words)}"
    first = api.ask("GET", f"{path}&per_page=1")
    if first["total_count"] > FOUND:
        raise UsageError(f"{words!r} finds {first['total_count']} repositories, GitHub lists {FOUND}: narrow it")
    if first["incomplete_results"]:
        raise BusyError("GitHub's search did not end in time")
    return (one["clone_url"] for one in api.pages(path, "items"))


def _in_gitlab(secret: str, words: str) -> Iterator[str]:
    from coderefine.publishers.hosts import gitlab_host

    group, _, filters = words.partition("?")
    given = {"archived": "false", **dict(parse_qsl(filters))}
    usual = {"include_subgroups": True, "with_shared": False, "simple": True, "iterator": True}
    with gitlab_host.translated():
        projects = gitlab(secret).groups.get(group, lazy=True).projects.list(**usual, query_parameters=given)
        for one in projects:
            yield one.http_url_to_repo
