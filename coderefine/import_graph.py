"""The import graph of a project's own modules, which is found in their text and stored between runs."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

STATEMENT = (
    rb"(?m)(?:^|[;:])[ \t\f]*(?:from\b[ \t]*([.\w \t]*?)[ \t]*\bimport\b[ \t]*"
    rb"(\([^)#]*(?:#[^\n]*\n[^)#]*)*\)|[^#\n;]+)|import[ \t]+([^#\n;]+))"
)
COMMENT, CONTINUED = rb"#[^\n]*", rb"\\\r?\n"
WORD = r"[\w.]+"
DYNAMIC = rb"(?:import_module|__import__)\(\s*['\"]([.\w]+)"
NAMED = rb"['\"]([\w\x80-\xff]+(?:\.[\w\x80-\xff]+)+)\.?['\":{%]"
"""Patterns that are compiled at first use, because importing `re` takes 7 ms, and the hook rarely needs it."""
DULL = frozenset({"__pycache__", "node_modules", "site-packages"})
BORDERS = frozenset({"pyvenv.cfg", ".git"})
"""Files in the top folder of a virtual environment, or of another repository."""
RULES = 3
"""The version of the rules above; imports that were found by other rules are read again."""
Mark = tuple[int, int]
"""Time of a file's last change (ns), and its size."""
Files = dict[str, tuple[tuple[int, ...], tuple[str, ...]]]
"""Repo-relative path -> its mark with RULES, and the modules it imports."""
if TYPE_CHECKING:
    Users = Mapping[str, Iterable[str]]
    """File -> files that import it."""


def walk(top: str) -> dict[str, Mark]:
    """Return the Python files below `top`, each with its mark, which changes with the file.

    Environments, hidden folders and other repositories are left out.
    """
    found: dict[str, Mark] = {}
    pending = [""]
    while pending:
        prefix = pending.pop()
        entries = _entries(top, prefix)
        for entry in entries:
            if entry.name.endswith(".py") and (mark := _mark(entry)):
                found[prefix + entry.name] = mark
        pending += [f"{prefix}{entry.name}/" for entry in entries if _folder(entry)]
    return found


def _entries(top: str, prefix: str) -> list[os.DirEntry[str]]:
    try:
        entries = list(os.scandir(f"{top}/{prefix}"))
    except OSError:
        return []
    return [] if prefix and any(entry.name in BORDERS for entry in entries) else entries


def _folder(entry: os.DirEntry[str]) -> bool:
    dull = entry.name[0] == "." or entry.name in DULL or entry.name.endswith(".py")
    return not dull and entry.is_dir(follow_symlinks=False)


def _mark(entry: os.DirEntry[str]) -> Mark | None:
    try:
        stat = entry.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size


def refreshed(top: str, old: Files, marks: Mapping[str, Mark]) -> Files:
    """Return the current imports of every file; read only files whose mark has changed."""
    stamps = {path: (*mark, RULES) for path, mark in marks.items()}
    return {
        path: known if (known := old.get(path)) and known[0] == stamp else (stamp, imported(f"{top}/{path}", path))
        for path, stamp in stamps.items()
    }


def reached(users: Users, changed: Iterable[str]) -> set[str]:
    """Return `changed` and all files that import a changed file, directly or indirectly."""
    found, edge = set(changed), list(changed)
    while edge:
        for user in users.get(edge.pop(), ()):
            if user not in found:
                found.add(user)
                edge.append(user)
    return found


def users_of(files: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """Return, for each file, the files that import it. `files`: path -> imported modules.

    A module name may belong to several files; then an import of it counts for all of these files.
    """
    names: dict[str, list[str]] = {}
    for path in files:
        for name in _names_of(path):
            names.setdefault(name, []).append(path)
    users: dict[str, set[str]] = {}
    for path, modules in files.items():
        for module in modules:
            for found in names.get(module, ()):
                if found != path:
                    users.setdefault(found, set()).add(path)
    return {path: sorted(of) for path, of in users.items()}


def _names_of(path: str) -> list[str]:
    """Return every dotted name under which a file may be imported, because the folders on sys.path are not known."""
    parts = path[:-3].split("/") if path.endswith(".py") else path.rpartition(".")[0].split("/")
    if parts[-1] == "__init__":
        parts.pop()
    return [".".join(parts[at:]) for at in range(len(parts))]


def imported(file: str, path: str, *, strings: bool = True) -> tuple[str, ...]:
    """Return the modules that the file imports, as far as they are found in its text, sorted; see `imports_of`."""
    try:
        with open(file, "rb") as opened:  # noqa: PTH123 - pathlib costs the hook 5 ms
            return imports_of(opened.read(), path, strings=strings)
    except OSError:
        return ()


def imports_of(data: bytes, path: str, *, strings: bool = True) -> tuple[str, ...]:
    """Return the modules that a file at `path` with content `data` imports, sorted.

    For `from a import b`, these are `a` and `a.b`, because `b` may be a module. With `strings`, a string that is a
    dotted name, such as the target of `mock.patch`, counts as an import of every module that it may name.
    """
    import re

    found: set[str] = {match.decode() for match in re.findall(DYNAMIC, data)}
    joined = re.sub(CONTINUED, b" ", data)
    statements = re.findall(STATEMENT, data)
    if joined != data:  # not in place of `data`: a comment that ends with a backslash does not continue
        statements += re.findall(STATEMENT, joined)
    for source, names, plain in statements:
        if plain:
            found.update(_dotted(plain.decode("utf-8", "replace")))
        else:
            base = _absolute("".join(source.decode("utf-8", "replace").split()), path)
            found.add(base)
            listed = re.sub(COMMENT, b"", names).decode("utf-8", "replace")
            found.update(f"{base}.{name}".lstrip(".") for name in _dotted(listed))
    found |= {name.rpartition(".")[0] for name in found if "." in name}
    named = re.findall(NAMED, data) if strings else []
    return tuple(sorted(found.union(*(_prefixes(name.decode("utf-8", "replace")) for name in named))))


def _prefixes(name: str) -> list[str]:
    """Return `a`, `a.b` and `a.b.c` for `a.b.c`: each of them may be the name of the module."""
    parts = name.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts) + 1)]


def _dotted(text: str) -> list[str]:
    """Return the names in the text after `import`: `a.b` and `d` for `a.b as c, d`."""
    import re

    parts = (re.search(WORD, part) for part in text.strip("() \t\r\n").split(","))
    return [part.group() for part in parts if part]


def _absolute(source: str, path: str) -> str:
    """Return the absolute name of a relative import: `pkg.x` for `..x` in pkg/sub/mod.py."""
    dots = len(source) - len(source.lstrip("."))
    if not dots:
        return source
    folder = path.split("/")[:-1]
    kept = folder[: max(0, len(folder) - (dots - 1))]
    return ".".join((*kept, source[dots:])).strip(".")
