"""Where a proved patch goes: the working tree, a diff, a mail, a commit or a branch."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from coderefine.errors import PublishError, UsageError

if TYPE_CHECKING:
    from coderefine.config import Config
    from coderefine.core import Publisher
    from coderefine.git import Repository
    from coderefine.publishers import Snapshot

OPTIONS = (
    click.option("--diff", is_flag=True, help="Print the patch and write nothing."),
    click.option(
        "--patch",
        type=click.Path(dir_okay=False),
        metavar="FILE",
        help="Write the patch to FILE, as a mail for `git am`.",
    ),
    click.option("--commit", is_flag=True, help="Commit the patch on the current branch; your git hooks run."),
    click.option("--branch", metavar="NAME", help="Commit the patch on a new branch, which is not checked out."),
    click.option("--author", metavar="'NAME <MAIL>'", help="Name the author of the commit (default: you)."),
    click.option(
        "-m",
        "--message",
        metavar="TEXT",
        help="Give the subject of the commit; {summary} in it stands for what the patch does.",
    ),
)


@dataclass(frozen=True, slots=True)
class Delivery:
    """The chosen destination: at most one of the four; without any, the working tree."""

    diff: bool = False
    patch: str | None = None
    commit: bool = False
    branch: str | None = None

    @property
    def apart(self) -> bool:
        """Return whether the patch goes anywhere else than into the working tree."""
        return self.diff or bool(self.patch) or bool(self.branch)

    @classmethod
    def of(cls, given: Mapping[str, object]) -> Delivery:
        """Read the flags of OPTIONS.

        Raises UsageError when they exclude each other.
        """
        patch, branch = given["patch"], given["branch"]
        file = str(Path(patch).absolute()) if isinstance(patch, str) else None
        return cls(bool(given["diff"]), file, bool(given["commit"]), branch if isinstance(branch, str) else None)

    def __post_init__(self) -> None:
        chosen = [name for name in ("diff", "patch", "commit", "branch") if getattr(self, name)]
        if len(chosen) > 1:
            raise UsageError(f"--{chosen[0]} and --{chosen[1]} exclude each other: choose one")

    def check(self, repository: Repository, config: Config) -> None:
        """Raise UsageError now for what would make the publication fail after the run."""
        from coderefine.publishers.message import author_env

        try:
            author_env(config.author)
        except PublishError as error:
            raise UsageError(str(error)) from error
        if self.branch and repository.run("check-ref-format", f"refs/heads/{self.branch}").returncode:
            raise UsageError(f"{self.branch!r} cannot be the name of a branch: choose another for --branch")
        if self.commit and (words := repository.under_way()):
            raise UsageError(f"{words} is under way, and a commit now would end it: finish it first, or use --patch")
        if self.patch and not os.access(Path(self.patch).absolute().parent, os.W_OK):
            raise UsageError(f"--patch {self.patch}: {Path(self.patch).absolute().parent} is no folder to write to")

    def under(self, repository: Repository) -> Mapping[str, bytes | None]:
        """Return where the tree to prove differs from the working tree: for a commit it is HEAD plus the patch."""
        from coderefine.git.changes import EMPTY_TREE, hidden

        exact = self.commit or self.branch
        return hidden(repository.top, repository.resolve("HEAD") or EMPTY_TREE) if exact else {}

    def check_scope(self, repository: Repository, paths: Iterable[str]) -> None:
        """Raise UsageError for one of `paths` that exists and is not in HEAD.

        A commit of its repair would have to contain the whole file.
        """
        if not self.commit and not self.branch:
            return
        head = repository.resolve("HEAD")
        for path in paths:
            known = head and repository.git("ls-tree", head, "--", path, env={"GIT_LITERAL_PATHSPECS": "1"})
            if path != "." and (repository.top / path).exists() and not known:
                way = "--commit" if self.commit else "--branch"
                raise UsageError(f"{path} is not in HEAD, and {way} proves HEAD plus the patch: commit it first")

    def publisher(self, snapshot: Snapshot, config: Config) -> Publisher:
        """Return the publisher; `--diff` needs none."""
        from coderefine import publishers

        wording = publishers.Wording(config.message, config.author)
        if self.patch:
            return publishers.PatchFile(snapshot, Path(self.patch).absolute(), wording)
        if self.commit:
            return publishers.Commit(snapshot, wording)
        if self.branch:
            return publishers.Branch(snapshot, self.branch, wording)
        return publishers.Files(snapshot)
