"""GitHub's REST and GraphQL interfaces through PyGithub; errors are classified by the reaction that they need."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from coderefine.errors import PublishError
from coderefine.publishers.hosts.host import BusyError, ForbiddenError, InvalidError, MissingError

if TYPE_CHECKING:
    from github.Requester import Requester

NEXT = re.compile(r'<([^>]+)>; rel="next"')
PAGES = 40
"""Maximum number of pages read of one list, 100 entries each."""


@dataclass(slots=True)
class Api:
    """A connection to GitHub; `requests` counts its requests."""

    requester: Requester
    requests: int = 0

    @classmethod
    def connect(cls, token: str, url: str, *, pace: float = 1.0) -> Api:
        """Open a connection; `pace`: seconds between two writes, as GitHub requires.

        Raises PublishError if PyGithub is not installed.
        """
        try:
            import github
        except ImportError:
            raise PublishError("PyGithub is not installed: pip install 'coderefine[github]'") from None
        client = github.Github(
            auth=github.Auth.Token(token),
            base_url=url,
            retry=None,
            timeout=30,
            seconds_between_requests=min(pace, 0.05),
            seconds_between_writes=pace,
        )
        return cls(client.requester)

    def ask(self, verb: str, path: str, body: object = None) -> Any:
        """Send a request and return the answer's JSON.

        Raises the errors of hosts/host.py, or PublishError.
        """
        return self._ask(verb, path, body)[1]

    def pages(self, path: str, key: str = "") -> Iterator[Any]:
        """Yield the entries of a list, at most PAGES pages. `key`: the key of the list if the answer is an object."""
        link: str | None = f"{path}{'&' if '?' in path else '?'}per_page=100"
        for _ in range(PAGES):
            headers, found = self._ask("GET", link, None)
            yield from found[key] if key else found
            more = NEXT.search(headers.get("link") or "")
            link = more[1] if more else None
            if link is None:
                return

    def graphql(self, query: str, **variables: object) -> Any:
        """Send a GraphQL query and return the `data` of the answer. Raises the errors of `ask`.

        The address comes from PyGithub, since GitHub Enterprise has another address for GraphQL.
        """
        found = self.ask("POST", self.requester.graphql_url, {"query": query, "variables": variables})
        if found.get("errors"):
            raise ForbiddenError(f"GitHub refused: {found['errors'][0].get('message', '')}")
        return found["data"]

    def _ask(self, verb: str, path: str | None, body: object) -> tuple[dict[str, Any], Any]:
        import requests
        from github import GithubException

        self.requests += 1
        try:
            return self.requester.requestJsonAndCheck(verb, path or "", input=body)
        except GithubException as error:
            answer = error.data.get("message", "") if isinstance(error.data, dict) else error.data
            reason = " ".join(str(answer).split())[:200]
            raise _sorted(error.status, error.headers or {}, reason, f"{verb} {path}") from error
        except requests.RequestException as error:
            raise BusyError(f"GitHub cannot be reached: {type(error).__name__}") from error


def _sorted(status: int, headers: dict[str, Any], reason: str, what: str) -> PublishError:
    message = f"GitHub answered {status} to {what}: {reason}"
    limited = headers.get("x-ratelimit-remaining") == "0" or "rate limit" in reason.lower()
    if status >= 500 or status == 429 or (status == 403 and (limited or "retry-after" in headers)):
        return BusyError(message, _wait(headers))
    kinds = {403: ForbiddenError, 404: MissingError, 410: MissingError, 422: InvalidError}
    return kinds.get(status, PublishError)(message)


def _wait(headers: dict[str, Any]) -> float:
    """Return the seconds that GitHub asks to wait (retry-after, or the end of the rate limit's window); else 0."""
    after, reset = headers.get("retry-after", ""), headers.get("x-ratelimit-reset", "")
    if str(after).isdecimal():
        return float(after)
    if headers.get("x-ratelimit-remaining") == "0" and str(reset).isdecimal():
        return max(0.0, float(reset) - time.time()) + 1.0
    return 0.0
