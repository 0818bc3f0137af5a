"""Find the folders that a call may use, the project in them, and its recorded runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from coderefine.errors import JournalError, UsageError
from coderefine.git import Repository
from coderefine.journal import Journal, Meta, runs
from coderefine.journal.journal import run_names
from coderefine.project import locate


def allowed(limit: Sequence[Path], shared: Sequence[str] | None) -> tuple[Path, ...]:
    """Return the folders that are allowed by both `limit` (empty: any folder) and `shared` (the client's root URIs).

    If `shared` is None, return `limit`, or the current folder if `limit` is empty. Raises UsageError if no folder is
    allowed.
    """
    if shared is None:
        return tuple(limit) or (Path.cwd().resolve(),)
    folders = _both(limit, [folder for uri in shared if (folder := _folder(uri))])
    if not folders:
        where = f" in {_listed(limit)}" if limit else ""
        raise UsageError(f"the client shares no folder{where} (its roots), so no folder may be used")
    return folders


def _both(limit: Sequence[Path], shared: Sequence[Path]) -> tuple[Path, ...]:
    """Return the folders that both `limit` and `shared` allow; an empty `limit` allows every folder."""
    if not limit:
        return tuple(dict.fromkeys(shared))
    inner = (one for one in (*shared, *limit) if _inside(one, limit) and _inside(one, shared))
    return tuple(dict.fromkeys(inner))


def _folder(uri: str) -> Path | None:
    parts = urlsplit(uri)
    path = Path(url2pathname(parts.path)).resolve()
    return path if parts.scheme == "file" and path.is_dir() else None


def _inside(path: Path, folders: Sequence[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def _listed(folders: Sequence[Path]) -> str:
    return ", ".join(map(str, folders))


def place(folders: Sequence[Path], paths: Sequence[str], name: str = "paths") -> tuple[str, list[str]]:
    """Return the folder to work in, and the absolute form of `paths` (of the folder if there are no paths).

    Raises UsageError for a path that is missing or outside `folders`, or for several folders without a path: then the
    message asks for the argument `name`.
    """
    if not paths:
        if len(folders) > 1:
            raise UsageError(f"several folders are open, give `{name}` in one of them: {_listed(folders)}")
        return str(folders[0]), [str(folders[0])]
    full = [_existing(folders, path) for path in paths]
    home = next(folder for folder in folders if full[0].is_relative_to(folder))
    return str(home), [str(path) for path in full]


def _existing(folders: Sequence[Path], path: str) -> Path:
    try:
        candidates = [(folder / path).resolve() for folder in folders]
        inside = [one for one in candidates if _inside(one, folders)]
        if not inside:
            raise UsageError(f"{path} is outside the allowed folders: {_listed(folders)}")
        if found := next((one for one in inside if one.exists()), None):
            return found
    except (OSError, RuntimeError, ValueError) as error:
        raise UsageError(f"{path!r} cannot be read: {error}") from error
    raise UsageError(f"{path} does not exist in {_listed(folders)}")


def find_patch(folders: Sequence[Path], repository: str, patch: str) -> tuple[str, str]:
    """Return the folder in which to judge `patch`, and `patch` itself; the path of a file is made absolute.

    Raises the errors of `place`.
    """
    home, full = place(folders, (repository,) if repository else (), "folder")
    home = full[0] if repository else home
    try:
        is_file = bool(patch) and "\n" not in patch and (Path(home) / patch).is_file()
    except (OSError, ValueError):
        is_file = False
    return home, place(folders, (str(Path(home) / patch),))[1][0] if is_file else patch


def find_run(folders: Sequence[Path], name: str, *, written: bool = False) -> Journal:
    """Return the run `name`, or for "" the newest run; only runs whose paths are in `folders` count.

    `written`: for "", return the newest run that wrote something. Raises JournalError if there is no such run.
    """
    repositories = list(_repositories(folders))
    if name and repositories:  # the run is in the first repository that has one of that name
        having = (one for one in repositories if any(f.startswith(name) or f.endswith(name) for f in run_names(one)))
        found: Journal | None = Journal.load(next(having, repositories[0]), name)
    else:
        found = _newest(repositories, folders, written=written)
    if found is None:
        raise JournalError(f"no run {'wrote anything' if written else 'is recorded'} in {_listed(folders)}")
    if not _about(found.repository, found.meta, folders):
        raise JournalError(f"run {found.run} is about files outside the allowed folders: {_listed(folders)}")
    return found


def _newest(repositories: Sequence[Repository], folders: Sequence[Path], *, written: bool) -> Journal | None:
    """Return the newest run that can be read and whose paths are all in `folders`; None if there is none.

    `written`: only runs that wrote something count.
    """
    newest = []
    for repository in repositories:
        fitting = (run for run in runs(repository) if not run.trouble and _about(repository, run.meta, folders))
        if found := next((run for run in fitting if run.publication or not written), None):
            newest.append(Journal.load(repository, found.run))
    return max(newest, key=lambda journal: journal.run, default=None)  # their names begin with the time


def _repositories(folders: Sequence[Path]) -> Iterator[Repository]:
    """Yield the repositories that contain `folders`, and the repositories directly inside `folders`."""
    inside = (child for folder in folders for child in sorted(folder.iterdir()) if (child / ".git").exists())
    for top in dict.fromkeys(found.top for place in (*folders, *inside) if (found := locate([], place)).git_dir):
        yield Repository.open(top)


def _about(repository: Repository, meta: Meta, folders: Sequence[Path]) -> bool:
    """Return whether all paths of the run are in `folders`.

    If the run's working tree was moved or removed, its paths are looked up in `repository`.
    """
    top = Path(meta.top) if repository.is_elsewhere(meta.top) else repository.top
    return all(_inside((top / path).resolve(), folders) for path in meta.scope)
