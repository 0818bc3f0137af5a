"""Find the files that a command names: the programs, scripts and modules with which it checks or measures.

A patch that changed one of them would change the check itself. No program is started. What such a file imports is not
named by the command: a gate that runs the project's own code leaves all of it free, except the module that is named.
"""

from __future__ import annotations

import ast
import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from coderefine.project.place import Place
from coderefine.project.pytest_settings import PytestSettings, console_scripts
from coderefine.project.recipes import named_recipes
from coderefine.source import folded, nameable, syntax

_CHECKERS = """
    mypy dmypy pyright basedpyright ty pyrefly pytype pyre zuban stubtest ruff flake8 pylint pycodestyle pydocstyle
    pyflakes black isort yapf autopep8 autoflake docformatter pyupgrade bandit semgrep radon xenon mccabe lizard
    complexipy interrogate pydoclint darglint numpydoc refurb vulture eradicate slotscheck codespell deptry griffe
    prospector pylama compileall py_compile tabnanny doctest xdoctest grep egrep rg wc
"""
CHECKERS = frozenset(_CHECKERS.split())
"""Programs that only read the files which their arguments name, or run the examples in them as tests.

Such files are the code to check, and may be repaired. Any other program may execute the files that it is given.
"""
LAUNCHERS = re.compile(
    r"""(\S*/)?(uv|uvx|poetry|pdm|pipenv|hatch|rye|pixi|pipx|conda|run|tool|env|command|exec|nice|nohup|time|timeout|stdbuf
    |xargs|if|then|elif|else|while|until|do|!|python[\d.]*)|\d+[smhd]?|[A-Za-z_]\w*=.*|-.*""",
    re.VERBOSE | re.DOTALL,
)
"""Words before the program that a command runs, also variables, options and numbers (`timeout 60`)."""
_VALUED = """
    -C -W -X -k -n -p --chdir --directory --env-file --extra --from --group --index --package --project --python
    --signal --kill-after --with --with-editable --with-requirements
"""
VALUED = frozenset(_VALUED.split())
"""Options of LAUNCHERS that are followed by a value."""
SETTING = re.compile(r"-.*(plugin|config|hook|rcfile|baseline)[^=]*")
"""Options of CHECKERS whose value (the next word) changes what is checked."""
MEASURED = re.compile(r"--(cov|include|source|paths-to-mutate|exclude|omit|per-file-ignores)(?=$|=)")
"""Options, of any program, that name code which the program measures, changes or leaves out."""
RUNNERS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("invoke", "inv"), ("tasks.py", "tasks/__init__.py")),
    **dict.fromkeys(("npm", "npx", "pnpm", "yarn", "bun"), ("package.json",)),
    "fab": ("fabfile.py",),
    "duty": ("duties.py",),
}
"""Programs with the files in which they find what to run, unless these are protected by their names anyway."""
VARIABLE, APART = re.compile(r"\$\{?\w+"), re.compile(r"[^\w.@+~/-]+")
PRINTED = re.compile(r"(?<![\w.@+~/-])[\w.@+~/-]+:\d+\b")
"""Matches the position of a finding (`a.py:3`) in the words of a command: it does not name a file to run."""
PROSE = re.compile(
    r"""(?<!\S)\#(?!!).*
    |(?<![\w./-])(echo|printf)\b("([^"`$]|\$(?!\())*"|'[^']*'|[^;&|\n()`<>"'])*(?=[;&\n)>]|\|\||$)""",
    re.VERBOSE,
)
"""Matches comments of shell scripts, and texts that they print, unless these are the input of another command."""
COMMANDS = re.compile(r"[;&|\n(){}<>`]+")
"""Matches the characters that separate commands in a shell."""
MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)+")
AFTER_FLAG = re.compile(r"(?<!\S)(?:-[A-Za-z]*?m|--module)[\s=]*([^\W\d][\w.]*)")
IMPORTED = re.compile(r"\b(?:from\s+([\w.]+)\s+import\s+\(?([\w,\s]+)|import\s+([\w., ]+))")
DATA_FILE = re.compile(r"[\w./-]*\w\.(?!pyi?$)[A-Za-z]\w*")
SHELL = re.compile(r"#!.*\b(ba|da|z|k)?sh\b")
SUFFIXES = frozenset({".sh", ".bash", ".zsh", ".ksh", ".fish"})
"""Suffixes of shell scripts. A file without a suffix is also one, unless its first line names another program."""
LONGEST = 100_000
"""Maximum number of bytes of a script that are read."""
LONGEST_PATH = 1000
"""Maximum number of characters of a path. A longer text is no path, and the system may refuse to look for it."""


@dataclass(frozen=True, slots=True)
class NamedFiles:
    """The files that a command names: `names` (folded), each below any folder of `bases`.

    A file in `names` need not exist. `there`: existing files with these names, and the files to which symbolic links
    among them lead, relative to the top of the repository. `folders`: the folders that the command names, as in
    `cd backend` or `PYTHONPATH=lib`.
    """

    names: frozenset[str]
    bases: frozenset[str]
    there: frozenset[str]
    folders: frozenset[str]

    def __contains__(self, path: str) -> bool:
        """Return whether `path` (folded) is one of the files, or has the same name below another folder.

        For instance, `other/tools/check.py` counts if the command names `tools/check.py`.
        """
        parts = path.split("/")
        starts = range(len(parts) - 1)
        if parts[-1] in self.names and not self.bases.isdisjoint(["/".join(parts[at:-1]) for at in starts] or ["."]):
            return True
        return any("/".join(parts[at:]) in self.names for at in starts)


def named_files(run: Sequence[str], place: Place, settings: PytestSettings, who: str) -> dict[str, NamedFiles]:
    """Return the files that the command `run` names; the keys describe what names them (`who`: the command itself).

    A file is named by a word of the command, also inside a shell command or a Python program after `-c`: by its path,
    as a module, or as a script that the project installs. If a named file is a shell script, or a word names a recipe
    of a task runner, the files that the script or the recipe names are returned, too; likewise the data files whose
    names are strings in a Python script.
    """
    installed = console_scripts(place.root)
    waiting, found, read = [(who, tuple(run), frozenset[str]())], dict[str, NamedFiles](), set[str]()
    while waiting:
        key, words, bases = waiting.pop()
        text = _Text(words, place, settings, installed, bases)
        found[key] = text.named_files()
        for name, recipe in named_recipes(place.root, text.words):
            if name not in read:
                waiting.append((f"{name}, which {who} runs", (recipe,), text.bases))
                read.add(name)
        waiting += [
            (f"{path}, which {who} runs", script, text.bases | {posixpath.dirname(path)})
            for path in sorted(found[key].there - read)
            if (script := _script(place, path))
        ]
        read |= found[key].there
    return found


def _program(words: Sequence[str]) -> int:
    """Return the index of the started program in `words`: the first word after LAUNCHERS and their options."""
    after = ""
    for at, word in enumerate(words):
        if after not in VALUED and not LAUNCHERS.fullmatch(word):
            return at
        after = word if after not in VALUED else ""
    return len(words)


def _script(place: Place, path: str) -> tuple[str, ...]:
    """Return the text of a shell script, or the strings in a Python script that may name data files; else ().

    The names become relative paths.
    """
    try:
        with (place.top / path).open("rb") as file:
            text = file.read(LONGEST).decode("utf-8", "replace")
    except OSError:
        return ()
    suffix = posixpath.splitext(path)[1]
    is_shell = suffix in SUFFIXES or SHELL.match(text) or not (suffix or text.startswith("#!"))
    if is_shell and "\0" not in text:
        return (text,)
    return _data_names(text) if suffix == ".py" else ()


def _data_names(program: str) -> tuple[str, ...]:
    tree = syntax(program)
    texts = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)) if tree else ()
    return tuple(f"./{one}" for one in texts if isinstance(one, str) and DATA_FILE.fullmatch(one))


class _Text:
    """The words of a command, or the text of a shell script.

    `installed`: the project's scripts with their modules. `bases`: folders in which a named file may be, besides those
    that the text itself suggests.
    """

    def __init__(
        self,
        words: Sequence[str],
        place: Place,
        settings: PytestSettings,
        installed: Mapping[str, str],
        bases: frozenset[str],
    ) -> None:
        self._place = place
        self._settings = settings
        self._installed = installed
        plain = [PRINTED.sub(" ", VARIABLE.sub(" ", PROSE.sub(" ", word))).replace("\\", "/") for word in words]
        self.words = tuple(self._all_words(plain))
        apart = (part for word in self.words if len(word.split()) == 1 for part in APART.split(word))
        self._parts = frozenset(filter(None, (*self.words, *apart)))

        found = map(posixpath.normpath, (*self._paths(), *_files_of(self._modules())))
        self._names = frozenset(filter(_possible, found))
        below = (posixpath.normpath(posixpath.join(place.prefix, part)) for part in map(self._relative, self._parts))
        self._folders = frozenset(folder for folder in below if _is_folder(place, folder))
        self.bases = bases.union(map(posixpath.normpath, self._bases()))

    def named_files(self) -> NamedFiles:
        """Return the files that the text names, and the files to which symbolic links among them lead."""
        first: dict[str, list[str]] = {}  # the names by their first part: each folder is read once
        for name in self._names:
            first.setdefault(name.partition("/")[0], []).append(name)
        starts = [(base, start) for base in self.bases for start in _entries(self._place, base) & first.keys()]
        paths = {posixpath.normpath(f"{base}/{name}") for base, start in starts for name in first[start]}
        files = frozenset(path for path in paths if _is_file(self._place, path))
        there = files.union(filter(None, map(self._target, files)))
        names, bases = (frozenset(map(folded, paths)) for paths in (self._names | there, self.bases))
        return NamedFiles(names, bases, there, self._folders)

    def _all_words(self, run: Sequence[str]) -> Iterator[str]:
        """Yield the words of `run`; if a word contains several commands, also the words of each command."""
        for word in self._own_words(run):
            yield word
            for command in COMMANDS.split(word) if len(word.split()) > 1 else ():
                yield from self._own_words([part.strip("\"'") for part in command.split()])

    def _own_words(self, run: Sequence[str]) -> Iterator[str]:
        """Yield the words of one command, without the code that its program only reads."""
        start = _program(run)
        yield from run[: start + 1]
        program = "doctest" if "--doctest-modules" in run else "".join(run[start : start + 1])
        yield from (word for before, word in pairwise(run[start:]) if self._counts(program, before, word))

    def _counts(self, program: str, before: str, word: str) -> bool:
        """Return whether `word`, an argument of `program` that follows `before`, may name a file that is run."""
        if MEASURED.match(word):
            return False
        if word.startswith("-"):
            return True
        if MEASURED.fullmatch(before):
            return False
        if posixpath.basename(program) in CHECKERS:
            return bool(SETTING.fullmatch(before)) or not self._is_code(word)
        folder = posixpath.dirname(program)
        return not program.endswith(".py") or (folder != "" and posixpath.dirname(word) == folder)

    def _is_code(self, word: str) -> bool:
        """Return whether an argument of one of CHECKERS is code (a file, folder or module), or names no file."""
        path = self._relative(word)
        module = path.replace(".", "/")
        places = [f"{base}{name}" for base in ("", "src/") for name in (path, module)]
        if re.fullmatch(r".*\.pyi?|[\w-]*", word) or any(_is_folder(self._place, place) for place in places):
            return True
        return any(_is_file(self._place, f"{base}{module}.py") for base in ("", "src/"))

    def _paths(self) -> Iterator[str]:
        for part in self._parts:
            path = self._relative(part)
            yield from (path, f"{path}/__main__.py", *RUNNERS.get(posixpath.basename(path), ()))

    def _relative(self, part: str) -> str:
        """Return `part` as a path below one of the bases.

        Remove a leading "@", the path of the repository's top, leading slashes (which `$DIR/a.py` leaves when
        the variable is removed), and each leading "../".
        """
        top = self._place.top.as_posix()
        inner = posixpath.normpath(part.removeprefix("@").removeprefix(f"{top}/")).lstrip("/")
        while inner.startswith("../"):
            inner = inner[3:]
        return inner

    def _modules(self) -> Iterator[str]:
        yield from AFTER_FLAG.findall(" ".join(word for word in self.words if len(word.split()) == 1))
        yield from (part for part in self._parts if MODULE.fullmatch(part) and not part.endswith(".py"))
        names = map(posixpath.basename, self._parts)
        yield from (self._installed[name] for name in names if name in self._installed)
        yield from _imported(" ".join(self.words))

    def _bases(self) -> Iterator[str]:
        """Yield the folders below which a word may name a file: folders of imports, and folders that words name."""
        prefix = self._place.prefix
        yield from (".", prefix)
        for folder in (prefix, *(f"{prefix}/{part}" for part in self._settings.pythonpath), *self._folders):
            yield from (folder, f"{folder}/src")

    def _target(self, path: str) -> str | None:
        """Return the file in the repository to which `path` leads by symbolic links.

        Return None if there is no link on the way, or if it leads out of the repository.
        """
        full = self._place.top / path
        try:
            real = Path(os.path.realpath(full))
            inside = real != full and real.is_file() and real.is_relative_to(self._place.top)
            return real.relative_to(self._place.top).as_posix() if inside else None
        except (OSError, ValueError):
            return None


def _imported(text: str) -> Iterator[str]:
    """Yield the modules that a Python program imports; also names that may be modules."""
    for package, names, plain in IMPORTED.findall(text):
        start = f"{package}." if package else ""
        yield from (start + word.split()[0] for word in (names or plain).split(",") if word.strip())


def _possible(path: str) -> bool:
    """Return whether a file can have the path `path`; some words of a command are whole texts, and too long."""
    return len(path) <= LONGEST_PATH and all(map(nameable, path.split("/")))


def _entries(place: Place, folder: str) -> frozenset[str]:
    try:
        return frozenset(file.name for file in (place.top / folder).iterdir())
    except OSError:
        return frozenset()


def _is_file(place: Place, path: str) -> bool:
    try:
        return (place.top / path).is_file()
    except OSError:
        return False


def _is_folder(place: Place, path: str) -> bool:
    try:
        return (place.top / path).is_dir()
    except (OSError, ValueError):  # a name that is too long, or that no file can have
        return False


def _files_of(modules: Iterable[str]) -> Iterator[str]:
    """Yield the files that Python executes when it imports or runs `modules`, including those of the packages."""
    for module in modules:
        parts = [part for part in module[:LONGEST_PATH].split(".") if part]
        for end in range(1, len(parts) + 1):
            path = "/".join(parts[:end])
            yield from (f"{path}.py", f"{path}/__init__.py", f"{path}/__main__.py")
