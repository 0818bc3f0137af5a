"""The request of the user: settings, and the destination of a proved patch."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from coderefine import publishers
from coderefine.config import Config, masked
from coderefine.core import Publisher
from coderefine.errors import PublishError, UsageError
from coderefine.git import Repository
from coderefine.git.changes import EMPTY_TREE, hidden
from coderefine.git.process import complaint
from coderefine.publishers.hosts.hosted import HostedRepository
from coderefine.publishers.message import author_env


@dataclass(frozen=True, slots=True)
class Destination:
    """The destination of a proved patch: by default the working tree, else the only field that is set.

    `diff`: return the patch as text. `patch`: the file to which the patch is written as a mail. `commit`: commit on the
    current branch. `branch`: the new branch for a commit. `pull_request`: the branch for a pull request.
    """

    diff: bool = False
    patch: str | None = None
    commit: bool = False
    branch: str | None = None
    pull_request: str | None = None

    def __post_init__(self) -> None:
        if len(given := self._options()) > 1:
            raise UsageError(f"{given[0]} and {given[1]} exclude each other: choose one")

    def _options(self) -> list[str]:
        """Return the options of the fields that are set."""
        return [f"--{one.name.replace('_', '-')}" for one in fields(self) if getattr(self, one.name)]

    @property
    def elsewhere(self) -> bool:
        """Return whether the working tree stays unchanged, because the patch is written to another place."""
        return bool(self._options()) and not self.commit

    @property
    def on_head(self) -> str:
        """Return the option by which HEAD plus the patch is proved and committed; "" if the working tree is proved."""
        return self._options()[0] if self.commit or self.branch or self.pull_request else ""

    def check(self, repository: Repository, config: Config, paths: Iterable[str]) -> None:
        """Raise UsageError now for a problem that would make the publication fail after the run.

        `paths`: the files that a patch may change.
        """
        try:
            author_env(config.author)
            if self.patch:
                _check_file(self.patch)
        except PublishError as error:
            raise UsageError(str(error)) from error
        if self.commit and (words := repository.under_way()):
            raise UsageError(f"{words} is under way, and a commit now would end it: finish it first, or use --patch")
        if self.on_head:
            self._check_identity(repository, config)
            self._check_branch(repository)
            self._check_in_head(repository, paths)

    def _check_identity(self, repository: Repository, config: Config) -> None:
        """Raise UsageError if git knows no committer, or if neither git nor the configuration knows an author."""
        for name in ("GIT_COMMITTER_IDENT", *(() if config.author else ("GIT_AUTHOR_IDENT",))):
            if (result := repository.run("var", name)).returncode:
                raise UsageError(str(complaint(result, repository.top)))

    def _check_in_head(self, repository: Repository, paths: Iterable[str]) -> None:
        """Raise UsageError if there is no commit yet, or if one of `paths` is not in HEAD.

        To commit a repair of a file that is not in HEAD would add the whole file.
        """
        head = repository.resolve("HEAD")
        if head is None:
            raise UsageError(f"there is no commit yet, and {self.on_head} proves HEAD plus the patch: commit first")
        for path in paths:
            known = repository.git("ls-tree", head, "--", path, env={"GIT_LITERAL_PATHSPECS": "1"})
            if path != "." and (repository.top / path).exists() and not known:
                raise UsageError(
                    f"{path} is not in HEAD, and {self.on_head} proves HEAD plus the patch: commit it first"
                )

    def _check_branch(self, repository: Repository) -> None:
        """Raise UsageError if no branch can have the given name, or if a pull request could not be opened."""
        branch = self.branch or self.pull_request
        if branch and repository.run("check-ref-format", f"refs/heads/{branch}").returncode:
            raise UsageError(f"{branch!r} cannot be the name of a branch: choose another for {self.on_head}")
        if self.branch:
            first, ref = self.branch.partition("/")[0], f"refs/heads/{self.branch}"
            for other in repository.refs(f"refs/heads/{first}"):
                if other.startswith(f"{ref}/") or ref.startswith(f"{other}/"):
                    there = other.removeprefix("refs/heads/")
                    raise UsageError(f"--branch {self.branch}: the branch {there} exists, so git cannot make this one")
        if self.pull_request:
            self._check_origin(repository)

    def _check_origin(self, repository: Repository) -> None:
        """Raise UsageError if the pull request could not be opened, or would contain more than the patch."""
        HostedRepository.of(repository).token()
        head = repository.head()
        if head.branch in (None, self.pull_request):
            raise UsageError("--pull-request NAME needs a branch to merge into: check one out, and choose another NAME")
        listing = repository.run("ls-remote", "origin", f"refs/heads/{head.branch}")
        if listing.text.partition("\t")[0] != head.sha:
            why = listing.complaint if listing.returncode else f"origin/{head.branch} is at another commit than HEAD"
            raise UsageError(f"{why}: a pull request is made of HEAD plus the patch; pull or push first")

    def under(self, repository: Repository) -> Mapping[str, bytes | None]:
        """Return the files whose content in the tree to prove differs from the working tree, with that content.

        A commit is proved on HEAD, so these are the uncommitted changes; otherwise there are none.
        """
        return hidden(repository.top, repository.resolve("HEAD") or EMPTY_TREE) if self.on_head else {}

    def publisher(self, snapshot: publishers.Snapshot, config: Config) -> Publisher:
        """Return the publisher; `--diff` needs none."""
        wording = publishers.Wording(config.message, config.author)
        if self.patch:
            return publishers.PatchFile(snapshot, Path(self.patch).absolute(), wording)
        if self.commit:
            return publishers.Commit(snapshot, wording)
        if self.branch:
            return publishers.Branch(snapshot, self.branch, wording)
        if self.pull_request:
            return publishers.PullRequest(snapshot, self.pull_request, wording)
        return publishers.Files(snapshot)


def _check_file(patch: str) -> None:
    """Raise an error if the file `patch` cannot be written, or if it exists and is no patch of coderefine."""
    publishers.check_target(Path(patch).absolute())
    folder = Path(patch).resolve().parent
    if not os.access(folder, os.W_OK):
        raise UsageError(f"--patch {patch}: {folder} is not a folder to write to")


@dataclass(frozen=True, slots=True)
class Request:
    """The request of the user, in a form that can be recorded and resumed.

    `settings`: configuration keys from the command line. `model`: whether a model may be used. `again`: the command to
    enter again, for a run that cannot be resumed.
    """

    argv: tuple[str, ...] = ()
    settings: Mapping[str, object] = field(default_factory=dict)
    destination: Destination = field(default_factory=Destination)
    model: bool = True
    again: str = ""

    @property
    def record(self) -> Mapping[str, object]:
        flags = {key: masked(value) if isinstance(value, str) else value for key, value in self.settings.items()}
        again = {"again": self.again} if self.again else {}
        return {"flags": flags, "delivery": asdict(self.destination), "model": self.model, **again}
