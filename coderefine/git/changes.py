"""The content of a commit or a push, and where its tree differs from the files in the working tree.

Inside a git hook, we read the index that git passes to the hook, because a commit may use a temporary index.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from coderefine import temporary
from coderefine.errors import GitError
from coderefine.git import process
from coderefine.git.scratch import copy_index, flagged

INDEX = ("GIT_INDEX_FILE", "GIT_DIR", "GIT_WORK_TREE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES")
"""Variables that git sets for its hooks; of our commands, only those that change nothing get them."""
LINK, MODULE = "120000", "160000"
ABSENT = "000000"
NOTHING = frozenset("0")
"""The character of the null object id (all zeros), which means "no commit"."""
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""The id of the empty tree in SHA-1 repositories; git accepts it even if the object does not exist."""
ENVIRONMENTS = frozenset(
    {".venv", "venv", "node_modules", ".tox", ".nox", "__pypackages__", ".direnv", ".conda", ".eggs"}
)
"""Folders that are untracked and part of no commit, but the tests need them."""
CACHES = frozenset({"__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache"})
CHANGED, DELETED = ("--diff-filter=ACMRT",), ("--diff-filter=D", "--no-renames")
METADATA = ".egg-info"
"""Metadata that an editable install writes next to the source; interpreters find entry points there."""


@dataclass(frozen=True, slots=True)
class Staged:
    """The changes in a commit, or the staged changes.

    `paths`: files added or changed (repo-relative). `gone`: files deleted or renamed away. `hidden`: files whose
    content in the commit differs from the working tree, with the commit's content (None: no file). `since`: the commit
    with which `commit` is compared. `commit`: the commit that is judged, "" for the index.
    """

    paths: tuple[str, ...]
    hidden: Mapping[str, bytes | None]
    gone: tuple[str, ...] = ()
    since: str = "HEAD"
    commit: str = ""


def staged(top: Path) -> Staged:
    """Compare the index with HEAD.

    In a hook, this is the index of the commit in progress, also for `-a`, `-- file` and `--amend`.
    """
    return Staged(_differing(top, *CHANGED, "--cached"), hidden(top), _differing(top, *DELETED, "--cached"))


def committed(top: Path, since: str, commit: str = "HEAD") -> Staged:
    """Compare `commit` with `since`, a name of a commit; if there is no such commit, with the empty tree."""
    since = known(top, since)
    changed, deleted = (_differing(top, *kind, since, commit) for kind in (CHANGED, DELETED))
    return Staged(changed, hidden(top, commit), deleted, since, commit)


def hidden(top: Path, tree: str = "") -> dict[str, bytes | None]:
    """Return the content in `tree` ("": the index) of the files that differ in the working tree; None: no file.

    Untracked files are in no tree, so their value is None. Links and submodules are left out, and also ignored files:
    the tests always run with build products (`_version.py`, compiled extensions) and local settings.
    """
    what = ("--raw", "-z", "--no-renames", "--abbrev=64", "--ignore-submodules", *filter(None, (tree,)), "--")
    with _without_flags(top, hooked=not tree) as env:
        fields = iter(process.names(_git(top, "diff", *what, env=env, hooked=not tree)))
        modes = {next(fields): head[1:].split(" ")[0] for head in fields}
        regular = [path for path, mode in modes.items() if mode not in (ABSENT, LINK, MODULE)]
        data = contents(top, tree, regular, env)
    found: dict[str, bytes | None] = {path: None for path, mode in modes.items() if mode == ABSENT}
    found.update(data)
    if not tree:
        found.update(dict.fromkeys(_gone(top)))
    there = (path for path in untracked(top, hooked=not tree) if path not in modes and not (top / path).is_symlink())
    return {**dict.fromkeys(there), **found}


@contextlib.contextmanager
def _without_flags(top: Path, *, hooked: bool) -> Iterator[Mapping[str, str]]:
    """Yield variables for an index in which no existing file is marked as assume-unchanged or skip-worktree.

    git does not report the edits of such files, but the tests run with them.
    """
    marked = flagged(_git(top, "ls-files", "-v", "-z", hooked=hooked))
    here = {flag: [path for path in paths if os.path.lexists(top / path)] for flag, paths in marked.items()}
    if not any(here.values()):
        yield {}
        return
    with temporary.folder("git") as folder:
        own = {"GIT_INDEX_FILE": str(folder / "index")}
        index = os.fsdecode(_git(top, "rev-parse", "--git-path", "index", hooked=hooked)).removesuffix("\n")
        copy_index(top / index, folder / "index")
        for flag, paths in here.items():
            listing = b"".join(os.fsencode(path) + b"\0" for path in paths)
            clear = ("update-index", f"--no-{flag}", "-z", "--stdin")
            _git(top, "-c", "core.splitIndex=false", *clear, env=own, stdin=listing, hooked=hooked)
        yield own


def untracked(top: Path, *, hooked: bool = False) -> Iterator[str]:
    """Yield files that git neither tracks nor ignores; environments, caches and nested repositories are left out."""
    names = process.names(_git(top, "ls-files", "--others", "--exclude-standard", "-z", hooked=hooked))
    environments = {name.removesuffix("pyvenv.cfg") for name in names if name.endswith("/pyvenv.cfg")}
    for name in names:
        parts = PurePosixPath(name).parts
        kept = (
            ENVIRONMENTS.isdisjoint(parts) and CACHES.isdisjoint(parts) and not any(p.endswith(METADATA) for p in parts)
        )
        if kept and not name.endswith("/") and not any(map(name.startswith, environments)):
            yield name


def ignored(folder: Path) -> frozenset[str]:
    """Return the files and folders (without trailing slash) that git ignores below `folder`, relative to the top.

    Raises GitError if git cannot list them.
    """
    what = ("--others", "--ignored", "--exclude-standard", "--directory", "--full-name", "-z")
    return frozenset(name.rstrip("/") for name in process.names(_git(folder, "ls-files", *what, hooked=False)))


def contents(top: Path, tree: str, paths: Iterable[str], env: Mapping[str, str] | None = None) -> dict[str, bytes]:
    """Return `paths` of `tree` ("": the index) as a checkout would write them, line ends and filters included.

    `env`: variables that make git use another index (see `_without_flags`). Raises GitError when an object is
    missing or damaged.
    """
    names = list(paths)
    if not names:
        return {}
    with temporary.folder("git") as folder:
        own = {"GIT_INDEX_FILE": str(folder / "index")} if tree else env
        if tree:
            _git(top, "read-tree", tree, env=own, hooked=False)
        listing = b"".join(os.fsencode(name) + b"\0" for name in names)
        argv = ("checkout-index", "-z", "--stdin", f"--prefix={folder}/files/")
        _git(top, *argv, env=own, stdin=listing, hooked=not tree)
        return {name: (folder / "files" / name).read_bytes() for name in names}


def known(top: Path, name: str) -> str:
    """Return `name` if it names a commit; otherwise the empty tree, so that a first commit can be compared with it."""
    return name if _commit(top, name) else EMPTY_TREE


def _gone(top: Path) -> list[str]:
    """Return files that are staged for deletion, but still exist in the working tree."""
    return [name for name in _differing(top, "--diff-filter=D", "--cached") if (top / name).is_file()]


def _differing(top: Path, *what: str) -> tuple[str, ...]:
    return tuple(process.names(_git(top, "diff", "--name-only", "-z", "--ignore-submodules", *what, "--")))


def _git(top: Path, *args: str, env: Mapping[str, str] | None = None, stdin: bytes = b"", hooked: bool = True) -> bytes:
    """Return the output of a git command that changes nothing, with the hook's index if `hooked`. Raises GitError."""
    given = {name: os.environ[name] for name in INDEX if hooked and name in os.environ}
    result = process.run(args, cwd=top, env={**given, **(env or {})}, stdin=stdin)
    if result.returncode:
        raise process.complaint(result, top)
    return result.stdout


def pushed(top: Path, environ: Mapping[str, str], lines: str) -> tuple[tuple[str, str], ...]:
    """Return (since, commit) for each pushed ref with commits to check.

    `since` is the remote ref's own commit if it is known here. Otherwise, it is the parent of the first commit that no
    remote has; a ref without such commits is left out, and so is a deleted ref. The refs are those given by pre-commit,
    else those in git's `lines`, else the newest commit. A line is `LOCAL-REF LOCAL-ID REMOTE-REF REMOTE-ID`
    (githooks(5)). For the first push of a repository, pre-commit gives only the name of the local ref.
    """
    since, commit = environ.get("PRE_COMMIT_FROM_REF", ""), environ.get("PRE_COMMIT_TO_REF", "")
    if since or commit:
        return _ranges(top, [(commit or "HEAD", since)])
    if first := environ.get("PRE_COMMIT_LOCAL_BRANCH"):
        return _ranges(top, [(first, "0")])
    refs = [fields for line in lines.splitlines() if len(fields := line.split()) == 4]
    if not refs:
        return (("HEAD~1", "HEAD"),)
    return _ranges(top, [(fields[1], fields[3]) for fields in refs])


def _ranges(top: Path, pairs: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return (since, commit), as `pushed` does, for `pairs` of a pushed commit and the commit of the remote ref.

    Pairs without commits to check are left out.
    """
    found: dict[tuple[str, str], None] = {}
    for local, remote in pairs:
        commit = "" if NOTHING.issuperset(local) else _commit(top, local)
        since = _since(top, remote, commit) if commit else ""
        if since:
            found[since, commit] = None
    return tuple(found)


def _since(top: Path, remote: str, commit: str) -> str:
    """Return the commit with which `commit` is compared: `remote`, the remote ref's own commit, if it is known here.

    Otherwise (for example, the branch is new), this is the parent of the first commit that no remote has, the empty
    tree if there is no parent, or "" if the remotes have all commits.
    """
    if not NOTHING.issuperset(remote) and (known := _commit(top, remote)):
        return known
    new = _output(top, "rev-list", "--topo-order", "--reverse", commit, "--not", "--remotes").split()
    if not new:
        return ""
    return _commit(top, f"{new[0]}^") or EMPTY_TREE


def _output(top: Path, *args: str) -> str:
    return os.fsdecode(_git(top, *args, hooked=False)).strip()


def _commit(top: Path, name: str) -> str:
    """Return the commit to which `name` (of a commit or a tag) refers; "" if there is none."""
    try:
        return _output(top, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    except GitError:
        return ""
