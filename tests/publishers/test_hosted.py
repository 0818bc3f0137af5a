"""The host of `origin`: only the server that a token belongs to receives it."""

from __future__ import annotations

from pathlib import Path

import pytest

from coderefine.errors import UsageError
from coderefine.git import Repository
from coderefine.publishers.hosts.hosted import GITHUB, GITLAB, HostedRepository
from tests.support.repo import git, make_repo

SERVERS = ("GITHUB_SERVER_URL", "CI_SERVER_URL")


def host_of(top: Path, origin: str, monkeypatch: pytest.MonkeyPatch, **servers: str) -> tuple[str, str]:
    """Kind and path of the hosted repository at `origin`, where the environment names `servers`."""
    for name in SERVERS:
        monkeypatch.setenv(name, servers.get(name, ""))
    git(top, "config", "remote.origin.url", origin)
    found = HostedRepository.of(Repository.open(top))
    return found.host, found.path


@pytest.fixture
def top(tmp_path: Path) -> Path:
    return make_repo(tmp_path / "r", {})


@pytest.mark.parametrize("origin", ["https://gitlab.evil.example/a/b.git", "git@notgitlab.example:a/b.git"])
def test_the_token_of_gitlab_is_not_for_any_server_with_gitlab_in_its_name(
    origin: str, top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GITLAB_TOKEN, which belongs to gitlab.com, was sent to gitlab.evil.example."""
    with pytest.raises(UsageError, match="if GITLAB_TOKEN belongs to it, set CI_SERVER_URL"):
        host_of(top, origin, monkeypatch)
    named = f"https://{origin.partition('@')[2].partition(':')[0] or 'gitlab.evil.example'}"
    assert host_of(top, origin, monkeypatch, CI_SERVER_URL=named) == (GITLAB, "a/b")


@pytest.mark.parametrize(
    ("server", "named", "public"),
    [
        ("GITHUB_SERVER_URL", "https://github.acme.example", "https://github.com/a/b.git"),
        ("CI_SERVER_URL", "https://gitlab.acme.example/", "git@gitlab.com:a/b.git"),
    ],
)
def test_a_public_repository_is_not_asked_for_at_another_server(
    server: str, named: str, public: str, top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With GITHUB_SERVER_URL set, the repository a/b of github.com was taken for a/b of that server."""
    kind = GITLAB if server == "CI_SERVER_URL" else GITHUB
    assert host_of(top, public, monkeypatch) == (kind, "a/b")
    assert host_of(top, f"{named}/a/b", monkeypatch, **{server: named}) == (kind, "a/b")
    with pytest.raises(UsageError, match="is not a known host"):
        host_of(top, public, monkeypatch, **{server: named})
