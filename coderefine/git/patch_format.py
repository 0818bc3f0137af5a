"""Unified diffs between two trees, whatever the user's configuration says."""

from __future__ import annotations

from collections.abc import Mapping

from coderefine.git.repository import Repository
from coderefine.git.scratch import scratch

OPTIONS = (
    "-r",
    "-p",
    "--binary",
    "-M",
    "-U3",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--no-relative",
    "--submodule=short",
    "--diff-algorithm=histogram",
    "--inter-hunk-context=0",
    "-O/dev/null",
)


def diff(repository: Repository, before: str, after: str, env: Mapping[str, str] | None = None) -> bytes:
    """What turns tree `before` into tree `after`; `git apply` takes it. Content bytes are the files' own."""
    return _diff_tree(repository, before, after, *OPTIONS, env=env)


def stat(repository: Repository, before: str, after: str, env: Mapping[str, str] | None = None) -> str:
    """The diffstat, `path | 3 ++-` lines and a sum."""
    said = _diff_tree(repository, before, after, "-r", "-M", "--stat=72", "--summary", "--no-color", env=env)
    return said.decode("utf-8", "replace")


def _diff_tree(repository: Repository, before: str, after: str, *options: str, env: Mapping[str, str] | None) -> bytes:
    return repository.git(
        "-c",
        "core.quotePath=true",
        "-c",
        "diff.suppressBlankEmpty=false",
        "diff-tree",
        *options,
        before,
        after,
        env=env,
    )


def diff_files(
    repository: Repository, head: str | None, before: Mapping[str, bytes | None], after: Mapping[str, bytes | None]
) -> bytes:
    """The diff between working-tree contents `before` and `after`, in a repository whose HEAD is `head`.

    Nothing is written below the git directory.
    """
    with scratch(repository, keep=False) as made:
        if head:
            made.read_tree(head)
        made.lay(before)
        old = made.write()
        made.lay(after)
        return diff(repository, old, made.write(), env=made.borrowed)
