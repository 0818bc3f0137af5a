"""The location of the code under repair: top of the repository, project root, git directory, requested scope."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from coderefine.errors import SurroundingsError, UsageError
from coderefine.markers import is_project


@dataclass(frozen=True, slots=True)
class Place:
    """The folders of one run, absolute and without symbolic links.

    `top`: the top of the repository's working tree. `root`: the project in it (the same folder or below). `git_dir`:
    the git directory shared by all worktrees; `worktree_dir`: the git directory with this worktree's HEAD and index;
    both are None without git. `scope`: the requested paths, relative to `top`, with POSIX separators ("." is all).
    """

    top: Path
    root: Path
    git_dir: Path | None = None
    scope: tuple[str, ...] = (".",)
    worktree_dir: Path | None = None

    @property
    def prefix(self) -> str:
        """Return `root` relative to `top`: "." or a POSIX path."""
        return self.root.relative_to(self.top).as_posix()


def locate(paths: Sequence[Path], cwd: Path) -> Place:
    """Return the place that contains all of `paths` (none: `cwd`). Starts no process.

    Raises UsageError for a path that does not exist or is inside a git directory, for a path outside the repository of
    the first path, and for paths of several projects; SurroundingsError for a `.git` file with an invalid target.
    """
    asked = [_existing(path, cwd) for path in paths] or [cwd.resolve()]
    folder = Path(os.path.commonpath([_folder(path) for path in asked]))
    top = _top(_folder(asked[0]))
    if top is None:
        return Place(root := _root(folder, None), root, scope=_scope(asked, root))
    for path, name in zip(asked, paths, strict=False):
        other = _top(_folder(path))
        if other != top:
            where = f" but in {other}" if other else ""
            raise UsageError(f"{name} is outside this repository ({top}){where}: give paths of one repository")
    _check_one_project(asked, folder, top)
    worktree_dir = _worktree_dir(top)
    return Place(top, _root(folder, top), _common(worktree_dir), _scope(asked, top), worktree_dir)


def _existing(path: Path, cwd: Path) -> Path:
    try:
        return (cwd / path.expanduser()).resolve(strict=True)
    except FileNotFoundError:
        raise UsageError(f"{path} does not exist") from None
    except (OSError, RuntimeError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error


def _folder(path: Path) -> Path:
    return path if path.is_dir() else path.parent


def _top(folder: Path) -> Path | None:
    """Return the nearest folder at or above `folder` whose `.git` is a repository or points to one; else None.

    Raises UsageError if `folder` is inside a git directory.
    """
    for place in (folder, *folder.parents):
        if (place / "HEAD").is_file() and (place / "objects").is_dir() and (place / "refs").is_dir():
            raise UsageError(f"{folder} is inside a git directory; name a path in the working tree")
        pointer = place / ".git"
        if pointer.is_file() or (pointer / "HEAD").is_file():
            return place
    return None


def _check_one_project(paths: Sequence[Path], folder: Path, top: Path) -> None:
    """Raise UsageError if `paths` are in several projects, unless `folder`, which contains them, is in a project."""
    roots = [root for root in dict.fromkeys(_root(_folder(path), top) for path in paths) if _is_project(root)]
    if len(roots) > 1 and not _is_project(_root(folder, top)):
        names = ", ".join(root.relative_to(top).as_posix() for root in roots)
        raise UsageError(f"the paths are in several projects ({names}): run coderefine once for each")


def _is_project(folder: Path) -> bool:
    return is_project(str(folder), os.path.isfile)


def _worktree_dir(top: Path) -> Path:
    """Return the git directory of this worktree (gitrepository-layout(5): a `.git` file contains `gitdir: PATH`)."""
    pointer = top / ".git"
    if pointer.is_dir():
        return pointer.resolve()
    try:
        word, _, target = pointer.read_bytes().decode("utf-8", "surrogateescape").partition(":")
        if word == "gitdir":
            return (top / target.strip("\r\n").lstrip()).resolve(strict=True)
    except OSError:
        pass
    raise SurroundingsError(f"{pointer} does not lead to a git directory; try `git worktree repair`")


def _common(worktree_dir: Path) -> Path:
    """Return the git directory shared by all worktrees; a linked worktree's git directory names it in a file."""
    try:
        shared = (worktree_dir / "commondir").read_bytes().decode("utf-8", "surrogateescape").strip("\r\n")
    except OSError:
        return worktree_dir
    return (worktree_dir / shared).resolve()


def _root(folder: Path, top: Path | None) -> Path:
    """Return the nearest project folder at or above `folder`, up to `top`; if there is none, `top` or else `folder`."""
    for place in (folder, *folder.parents):
        if _is_project(place) or place == top:
            return place
    return folder


def _scope(paths: Iterable[Path], top: Path) -> tuple[str, ...]:
    """Return `paths` relative to `top`, without repetitions and without paths inside other paths."""
    names = dict.fromkeys(path.relative_to(top).as_posix() for path in paths)
    return (".",) if "." in names else outermost(names)


def outermost(paths: Collection[str]) -> tuple[str, ...]:
    """Return `paths` without those that are below another of `paths`."""
    return tuple(path for path in paths if not any(path.startswith(f"{other}/") for other in paths))


def below(path: str, folder: str) -> str:
    """Return `path` relative to `folder` (".": the top); `path` itself if it is not inside."""
    return path.removeprefix(f"{folder}/") if folder not in ("", ".") else path


def module_name(path: str, roots: Iterable[str]) -> str:
    """Return the dotted name of the module at `path`; it is imported from the innermost of `roots` that contains it."""
    parts = PurePosixPath(min((below(path, root) for root in roots), key=len)).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
