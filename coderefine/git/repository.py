"""A repository: where it is, what HEAD says, refs moved only by compare-and-swap."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from coderefine.errors import GitError
from coderefine.git import process
from coderefine.proc import Result

ABSENT = "0" * 40
OURS = {
    "GIT_AUTHOR_NAME": "coderefine",
    "GIT_AUTHOR_EMAIL": "coderefine@localhost",
    "GIT_COMMITTER_NAME": "coderefine",
    "GIT_COMMITTER_EMAIL": "coderefine@localhost",
}
"""Who writes the commits under refs/coderefine: never the user."""

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
    """`sha` is None on an unborn branch; `ref` is None when HEAD is detached."""

    sha: str | None
    ref: str | None

    @property
    def branch(self) -> str | None:
        return self.ref.removeprefix("refs/heads/") if self.ref else None


@dataclass(frozen=True, slots=True)
class Repository:
    """`top` holds the files; `git_dir` is this working tree's own, `common_dir` the one all worktrees share."""

    top: Path
    git_dir: Path
    common_dir: Path

    @classmethod
    def open(cls, folder: Path) -> Repository:
        """The repository that `folder` is in. Raises GitError: none, bare, owned by somebody else, no git."""
        result = process.run(
            ("rev-parse", "--show-toplevel", "--absolute-git-dir", "--git-common-dir"),
            cwd=folder,
        )
        if result.returncode:
            raise process.complaint(result, folder)
        lines = os.fsdecode(result.stdout).split("\n")
        if len(lines) != 4:
            raise GitError(f"git: the path of {folder} contains a line end, which git cannot report")
        top, git_dir, common = lines[:3]
        return cls(Path(top), Path(git_dir), (folder / common).resolve())

    def git(
        self,
        *args: str,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        fine: Iterable[int] = (0,),
    ) -> bytes:
        """stdout of `git args` run at the top. Raises GitError for an exit code not in `fine`."""
        result = self.run(*args, stdin=stdin, env=env, cwd=cwd)
        if result.returncode not in fine:
            raise process.complaint(result, self.top)
        return result.stdout

    def run(
        self, *args: str, stdin: bytes = b"", env: Mapping[str, str] | None = None, cwd: Path | None = None
    ) -> Result:
        """`git args`, whatever its exit code says."""
        return process.run(args, cwd=cwd or self.top, env=env, stdin=stdin)

    def head(self) -> Head:
        ref = self.git("symbolic-ref", "-q", "HEAD", fine=(0, 1)).decode().strip()
        return Head(self.resolve("HEAD"), ref or None)

    def resolve(self, name: str) -> str | None:
        """The commit that `name` means, or None."""
        said = self.git("rev-parse", "-q", "--verify", f"{name}^{{commit}}", fine=(0, 1, 128))
        return said.decode().strip() or None

    def tree(self, name: str | None) -> str:
        """The tree of a commit; the empty tree for None."""
        if name is None:
            return self.git("hash-object", "-w", "-t", "tree", "--stdin").decode().strip()
        return self.git("rev-parse", "--verify", f"{name}^{{tree}}").decode().strip()

    def commit_tree(
        self, tree: str, parent: str | None, message: str, env: Mapping[str, str] | None = OURS, *, sign: bool = False
    ) -> str:
        """A commit object and nothing else: no ref, no index, no hook. Its id."""
        parents = ("-p", parent) if parent else ()
        said = self.git(
            "-c",
            "i18n.commitEncoding=UTF-8",
            "commit-tree",
            *(("-S",) if sign else ()),
            *parents,
            "-F",
            "-",
            tree,
            stdin=message.encode("utf-8", "replace"),
            env=env,
        )
        return said.decode().strip()

    def move_ref(self, ref: str, new: str | None, old: str | None, why: str, hold: tuple[int, ...] = ()) -> None:
        """Set `ref` to `new` (None deletes) only if it is still `old` (None: absent). Raises GitError."""
        what = ("-d", ref) if new is None else (ref, new)
        result = process.run(("update-ref", "-m", why, *what, old or ABSENT), cwd=self.top, hold=hold)
        if result.returncode:
            raise process.complaint(result, self.top)

    def refs(self, prefix: str) -> dict[str, str]:
        """Ref name -> object id below `prefix`, in git's order."""
        said = self.git("for-each-ref", "--format=%(objectname) %(refname)", prefix).decode()
        return {name: sha for sha, name in (line.split(" ", 1) for line in said.splitlines())}

    def delete_refs(self, names: Iterable[str]) -> None:
        """Delete `names` in one go; those that are gone already do not matter."""
        self.git("update-ref", "--stdin", "-z", stdin=b"".join(f"delete {name}\0\0".encode() for name in names))

    def under_way(self) -> str | None:
        """The operation the user is in the middle of (a merge, a rebase …), in words; or None."""
        return next((words for name, words in UNDER_WAY.items() if (self.git_dir / name).exists()), None)

    def setting(self, name: str) -> str | None:
        """A configuration value as text, or None."""
        said = self.git("config", "--get", name, fine=(0, 1))
        return said.decode("utf-8", "replace").strip() or None
