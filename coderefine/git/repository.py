"""A repository: its location, HEAD, commits; refs are changed by compare-and-swap only."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from coderefine.core.views import Finished
from coderefine.errors import GitError, PublishError
from coderefine.git import process

ABSENT = "0" * 40
OURS = {
    "GIT_AUTHOR_NAME": "coderefine",
    "GIT_AUTHOR_EMAIL": "coderefine@localhost",
    "GIT_COMMITTER_NAME": "coderefine",
    "GIT_COMMITTER_EMAIL": "coderefine@localhost",
}
"""Author and committer of the commits under refs/coderefine: never the user."""

IN_UTF_8 = ("-c", "i18n.commitEncoding=UTF-8")
"""Options for commands that read a message: git must not label it with the encoding of the user's own messages."""

UNDER_WAY = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisection",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "sequencer": "a sequence of picks",
}


@dataclass(frozen=True, slots=True)
class Head:
    """The commit and branch of HEAD. `sha` is None on an unborn branch; `ref` is None if HEAD is detached."""

    sha: str | None
    ref: str | None

    @property
    def branch(self) -> str | None:
        return self.ref.removeprefix("refs/heads/") if self.ref else None


@dataclass(frozen=True, slots=True)
class Repository:
    """A git repository. `top` contains the files.

    `git_dir`: the git directory of this worktree alone; `common_dir`: the git directory that all worktrees share.
    """

    top: Path
    git_dir: Path
    common_dir: Path

    @classmethod
    def open(cls, folder: Path) -> Repository:
        """Return the repository that contains `folder`.

        Raises GitError if there is none, if git is missing, or if the repository cannot be used: it is bare, owned by
        another user, has a line end in its path, or has SHA-256 ids (GitPython cannot read its objects).
        """
        result = process.run(
            ("rev-parse", "--show-toplevel", "--absolute-git-dir", "--git-common-dir", "--show-object-format"),
            cwd=folder,
        )
        if result.returncode:
            raise process.complaint(result, folder)
        lines = os.fsdecode(result.stdout).split("\n")
        if len(lines) != 5:
            raise GitError(f"git: the path of {folder} contains a line end, which git cannot report")
        top, git_dir, common, ids = lines[:4]
        if ids == "sha256":
            raise GitError(f"git: {top} has SHA-256 ids, so nothing can be repaired there: `coderefine check` works")
        return cls(Path(top), Path(git_dir), (folder / common).resolve())

    def git(
        self,
        *args: str,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        fine: Iterable[int] = (0,),
    ) -> bytes:
        """Return the stdout of `git args`, run in `cwd` (None: the top).

        Raises GitError for an exit code not in `fine`.
        """
        result = self.run(*args, stdin=stdin, env=env, cwd=cwd)
        if result.returncode not in fine:
            raise process.complaint(result, self.top)
        return result.stdout

    def run(
        self, *args: str, stdin: bytes = b"", env: Mapping[str, str] | None = None, cwd: Path | None = None
    ) -> Finished:
        """Run `git args`, whatever its exit code."""
        return process.run(args, cwd=cwd or self.top, env={**self._fence, **(env or {})}, stdin=stdin)

    @property
    def _fence(self) -> Mapping[str, str]:
        """Return a variable for git: if this repository is gone, git must fail and not use a repository above `top`."""
        return {"GIT_CEILING_DIRECTORIES": str(self.top.parent)}

    def head(self) -> Head:
        ref = self.git("symbolic-ref", "-q", "HEAD", fine=(0, 1)).decode().strip()
        return Head(self.resolve("HEAD"), ref or None)

    def resolve(self, name: str) -> str | None:
        """Return the commit that `name` refers to, or None."""
        output = self.git("rev-parse", "-q", "--verify", f"{name}^{{commit}}", fine=(0, 1, 128))
        return output.decode().strip() or None

    def tree(self, name: str | None) -> str:
        """Return the tree of a commit; the empty tree for None."""
        if name is None:
            return self.git("hash-object", "-w", "-t", "tree", "--stdin").decode().strip()
        return self.git("rev-parse", "--verify", f"{name}^{{tree}}").decode().strip()

    def differences(self, before: str, after: str) -> Iterator[tuple[str, tuple[str, str, str, str]]]:
        """Yield the paths in which two trees differ, each with its old mode, new mode, old blob and new blob."""
        fields = iter(process.names(self.git("diff-tree", "-r", "-z", "--no-renames", "--raw", before, after)))
        for head in fields:
            old_mode, new_mode, old, new, _ = head.removeprefix(":").split(" ")
            yield next(fields), (old_mode, new_mode, old, new)

    def commit_tree(
        self, tree: str, parent: str | None, message: str, env: Mapping[str, str] | None = OURS, *, sign: bool = False
    ) -> str:
        """Create only a commit object (no ref, no index, no hook); return its id."""
        options = (*(("-S",) if sign else ()), *(("-p", parent) if parent else ()), "-F", "-", tree)
        output = self.git(*IN_UTF_8, "commit-tree", *options, stdin=message.encode("utf-8", "replace"), env=env)
        return output.decode().strip()

    def move_ref(self, ref: str, new: str | None, old: str | None, why: str, hold: tuple[int, ...] = ()) -> None:
        """Set `ref` to `new` (None deletes) only if it is still `old` (None: absent). Raises GitError.

        `why`: the reason for the reflog. `hold`: see `process.run`.
        """
        what = ("-d", ref) if new is None else (ref, new)
        argv = ("update-ref", "-m", why, *what, old or ABSENT)
        result = process.run(argv, cwd=self.top, env=self._fence, hold=hold)
        if result.returncode:
            raise process.complaint(result, self.top)

    def refs(self, prefix: str) -> dict[str, str]:
        """Return the object ids of the refs below `prefix`, by ref name, in git's order."""
        output = self.git("for-each-ref", "--format=%(objectname) %(refname)", prefix).decode()
        return {name: sha for sha, name in (line.split(" ", 1) for line in output.splitlines())}

    def delete_refs(self, names: Iterable[str]) -> None:
        """Delete the refs `names` in one step; names that do not exist are ignored."""
        self.git("update-ref", "--stdin", "-z", stdin=b"".join(f"delete {name}\0\0".encode() for name in names))

    def is_elsewhere(self, top: str) -> bool:
        """Return whether `top` is another working tree of this repository; False if it was moved or removed."""
        if top == str(self.top) or not os.path.isdir(top):  # noqa: PTH112 - Path.is_dir raises before 3.12
            return False
        try:
            found = Repository.open(Path(top))
        except GitError:
            return False
        return (found.top, found.common_dir) == (Path(top), self.common_dir)

    def under_way(self) -> str | None:
        """Return the operation that the user has begun and not finished, such as "a merge" or "a rebase"; or None."""
        return next((words for name, words in UNDER_WAY.items() if (self.git_dir / name).exists()), None)

    def setting(self, name: str) -> str | None:
        """Return a configuration value as text, or None."""
        output = self.git("config", "--get", name, fine=(0, 1))
        return output.decode("utf-8", "replace").strip() or None


HOOKS_MAY_TAKE = 900.0
"""Maximum seconds of a commit: pre-commit hooks may run whole test suites."""
LAST_LINES = 6
"""Maximum number of lines that are shown of the output of a hook that refuses a commit."""


def commit_with_hooks(
    repository: Repository, index: Path, message: str, author: Mapping[str, str], hold: tuple[int, ...]
) -> bool:
    """Commit `index` on HEAD like the user: with their hooks, signature and identity.

    Return False if git made the commit, but ended with an error. Raises PublishError with the last lines of a hook that
    refuses. `hold`: locks that git and its hooks keep until the last of these processes has ended, even if we are
    killed.
    """
    before = repository.resolve("HEAD")
    result = process.run(
        (*process.NO_DAEMONS, *IN_UTF_8, "commit", "--quiet", "--cleanup=whitespace", "--allow-empty", "-F", "-"),
        cwd=repository.top,
        env={"GIT_INDEX_FILE": str(index), "GIT_EDITOR": ":", **author},
        stdin=message.encode("utf-8", "replace"),
        timeout=HOOKS_MAY_TAKE,
        plain=True,
        hold=hold,
    )
    if result.returncode and repository.resolve("HEAD") == before:
        raise _refusal(result.stdout + result.stderr, process.complaint(result, repository.top))
    return result.returncode == 0


def _refusal(output: bytes, complaint: GitError) -> PublishError:
    lines = [line for line in output.decode("utf-8", "replace").splitlines() if line.strip()][-LAST_LINES:]
    if str(complaint).startswith("git: "):
        return PublishError(f"{complaint}; nothing was committed")
    last = "\n  ".join(lines)
    return PublishError(f"git refused the commit (did a hook refuse it?); nothing was committed:\n  {last}")
