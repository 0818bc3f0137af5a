"""GitHub's REST and GraphQL over PyGithub's transport, with errors sorted by what can be done about them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from coderefine.errors import PublishError

if TYPE_CHECKING:
    from github.Requester import Requester

NEXT = re.compile(r'<([^>]+)>; rel="next"')
PAGES = 40
"""Maximum number of pages read of one list, 100 entries each."""


class ForbiddenError(PublishError):
    """403: the token may not do this; a smaller step may be allowed."""


class MissingError(PublishError):
    """404 or 410: it does not exist (any more)."""


class InvalidError(PublishError):
    """422: GitHub understood the request and refused it."""


class BusyError(PublishError):
    """5xx, a rate limit or a broken connection: it may work later. `wait` is in seconds."""

    def __init__(self, message: str, wait: float) -> None:
        super().__init__(message)
        self.wait = wait


@dataclass(slots=True)
class Api:
    """A connection to GitHub; `requests` counts its requests."""

    requester: Requester
    requests: int = 0

    @classmethod
    def connect(cls, token: str, url: str, *, pace: float = 1.0) -> Api:
        """Open a connection; `pace` is the seconds between two writes that GitHub asks for.

        Raises PublishError without PyGithub.
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

        Raises one of the errors above, or PublishError.
        """
        return self._ask(verb, path, body)[1]

    def pages(self, path: str, key: str = "") -> Iterator[Any]:
        """Yield every entry of a list, page by page; `key` names the list where the answer wraps it."""
        link: str | None = f"{path}{'&' if '?' in path else '?'}per_page=100"
        for _ in range(PAGES):
            headers, found = self._ask("GET", link, None)
            yield from found[key] if key else found
            more = NEXT.search(headers.get("link") or "")
            link = more[1] if more else None
            if link is None:
                return

    def graphql(self, query: str, **variables: object) -> Any:
        """Return the `data` of the answer.

        The address comes from PyGithub, since GitHub Enterprise has another one for GraphQL.
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
            raise _sorted(error.status, error.headers or {}, _said(error.data), f"{verb} {path}") from error
        except requests.RequestException as error:
            raise BusyError(f"GitHub cannot be reached: {type(error).__name__}", 2.0) from error


def _said(data: Any) -> str:
    return " ".join(str(data.get("message", "") if isinstance(data, dict) else data).split())[:200]


def _sorted(status: int, headers: dict[str, Any], said: str, what: str) -> PublishError:
    message = f"GitHub answered {status} to {what}: {said}"
    limited = headers.get("x-ratelimit-remaining") == "0" or "rate limit" in said.lower()
    if status >= 500 or status == 429 or (status == 403 and (limited or "retry-after" in headers)):
        return BusyError(message, _wait(headers))
    kinds = {403: ForbiddenError, 404: MissingError, 410: MissingError, 422: InvalidError}
    return kinds.get(status, PublishError)(message)


def _wait(headers: dict[str, Any]) -> float:
    """Return the seconds to wait before the next try (retry-after, or the end of the rate limit's window)."""
    import time

    after, reset = headers.get("retry-after", ""), headers.get("x-ratelimit-reset", "")
    if str(after).isdecimal():
        return float(after)
    if headers.get("x-ratelimit-remaining") == "0" and str(reset).isdecimal():
        return max(0.0, float(reset) - time.time()) + 1.0
    return 2.0
