"""Which tests can be affected by changed files: the import graph of the project's own modules, read as text."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePosixPath

STATEMENT = re.compile(
    rb"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]*(\([^)]*\)|[^#\n;]+)|import[ \t]+([^#\n;]+))", re.MULTILINE
)
WORD = re.compile(r"[\w.]+")
DYNAMIC = re.compile(rb"(?:import_module|__import__)\(\s*['\"]([.\w]+)")


def affected(top: Path, files: Iterable[str], changed: Iterable[str], is_test: Callable[[str], bool]) -> list[str]:
    """Test files among `files` (Python, repo-relative) that import a file of `changed`, directly or not, or are one.

    A changed conftest.py affects all tests beside and below it. Errs on the side of too many: a name may stand for
    several files. What is only reached through data, plug-ins or other programs is not seen.
    """
    known = sorted(files)
    users = _users(top, known)
    reached, edge = set(changed), list(changed)
    while edge:
        for user in users.get(edge.pop(), ()):
            if user not in reached:
                reached.add(user)
                edge.append(user)
    homes = {PurePosixPath(path).parent for path in reached if PurePosixPath(path).name == "conftest.py"}
    return [path for path in known if _is_test_file(path, is_test) and (path in reached or _below(path, homes))]


def _is_test_file(path: str, is_test: Callable[[str], bool]) -> bool:
    name = PurePosixPath(path).name
    return is_test(path) and name not in ("conftest.py", "__init__.py")


def _below(path: str, homes: set[PurePosixPath]) -> bool:
    return any(home in homes for home in PurePosixPath(path).parents)


def _users(top: Path, files: list[str]) -> Mapping[str, set[str]]:
    """File -> files that import it."""
    names: dict[str, list[str]] = defaultdict(list)
    for path in files:
        for name in _names_of(path):
            names[name].append(path)
    users: dict[str, set[str]] = defaultdict(set)
    for path in files:
        for module in _imports(top / path, path):
            for found in names.get(module, ()):
                if found != path:
                    users[found].add(path)
    return users


def _names_of(path: str) -> list[str]:
    """Every dotted name under which a file may be imported: which folders are on sys.path is not known here."""
    parts = list(PurePosixPath(path).with_suffix("").parts)
    if parts[-1] == "__init__":
        parts.pop()
    return [".".join(parts[at:]) for at in range(len(parts))]


def _imports(file: Path, path: str) -> set[str]:
    try:
        data = file.read_bytes()
    except OSError:
        return set()
    found: set[str] = {match.decode() for match in DYNAMIC.findall(data)}
    for source, names, plain in STATEMENT.findall(data):
        if plain:
            found.update(_dotted(plain.decode("utf-8", "replace")))
        else:
            base = _absolute(source.decode("utf-8", "replace"), path)
            found.add(base)
            found.update(f"{base}.{name}".lstrip(".") for name in _dotted(names.decode("utf-8", "replace")))
    return found | {name.rpartition(".")[0] for name in found if "." in name}


def _dotted(text: str) -> list[str]:
    """`a.b as c, d` -> a.b, d."""
    parts = (WORD.search(part) for part in text.strip("() \t\r\n").split(","))
    return [part.group() for part in parts if part]


def _absolute(source: str, path: str) -> str:
    """`..x` in pkg/sub/mod.py -> pkg.x."""
    dots = len(source) - len(source.lstrip("."))
    if not dots:
        return source
    folder = PurePosixPath(path).parent.parts
    kept = folder[: len(folder) - (dots - 1)]
    return ".".join((*kept, source[dots:])).strip(".")


def python_files(top: Path) -> list[str]:
    """Repo-relative Python files below `top`, environments and hidden folders left out; no process is started."""
    found: list[str] = []
    for folder, folders, names in os.walk(top):
        inner = os.path.relpath(folder, top)
        folders[:] = [name for name in folders if _ours(Path(folder) / name)]
        prefix = "" if inner == "." else inner.replace(os.sep, "/") + "/"
        found += [prefix + name for name in names if name.endswith(".py")]
    return found


def _ours(folder: Path) -> bool:
    dull = folder.name.startswith(".") or folder.name in ("__pycache__", "node_modules", "site-packages")
    return not dull and not (folder / "pyvenv.cfg").exists() and not (folder / ".git").exists()
