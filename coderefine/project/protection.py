"""Decide which paths a patch may not write, each with a reason."""

from __future__ import annotations

import ast
import os
import posixpath
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import chain, product
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from coderefine.project.assertion_helpers import AssertionHelpers
from coderefine.project.checker_settings import checker_plugins
from coderefine.project.named_files import NamedFiles, named_files
from coderefine.project.place import Place, below
from coderefine.project.pytest_settings import USUAL, PytestSettings, plugin_modules, read_settings
from coderefine.project.unread import EXCLUDED, excluded_patterns, is_hidden, is_unread
from coderefine.source import folded, last_name, nameable, syntax

if TYPE_CHECKING:
    from coderefine.config import Config

TEST_FOLDER = re.compile(
    r"tests?|t|__tests__|__snapshots__|testdata|.+[-_]tests?|test[-_](data|files|cases|suites?|resources|assets|fixtures)"
    r"|testsuites?|_?testing|test_?(utils?|helpers?|lib|support)"
)
TEST_FILE = (
    *("conftest.py", "test_*.py", "*_test.py", "tests.py"),
    *("testing.py", "_testing.py", "*_testing.py", "testutil.py", "testutils.py", "testhelper.py", "testhelpers.py"),
    *("testlib.py", "testsupport.py", "testcase.py", "testcases.py", "*_conftest.py", "conftest_*.py"),
)
MODULES = ("test_*.py", "*_test.py")
"""Names that test modules have, but other modules may have, too."""
DATA = (".json", ".jsonl", ".yaml", ".yml", ".toml", ".csv", ".tsv", ".xml")
TOOLS = frozenset(("pytest", "unittest", "hypothesis", "doctest", "mock", "nose"))
DATA_FOLDER = re.compile(
    r"fixtures?|goldens?|snapshots?|cassettes?|expected([-_].+)?|(.+[-_])?(fixtures|snapshots|golden)"
)
"""Names of folders with expected results of tests; a package (`__init__.py`) is never such a folder."""

_NAMES = {
    "is lint or test configuration": """
        pyproject.toml setup.cfg setup.py tox.ini tox.toml noxfile.py pytest.ini .pytest.ini pytest.toml .pytest.toml
        .coveragerc .coveragerc.toml codecov.yml .codecov.yml ruff.toml .ruff.toml mypy.ini .mypy.ini pyrightconfig.json
        basedpyright*.json ty.toml pyrefly.toml zuban.toml .pyre_configuration* pytype.* .pytype.* .flake8 .flake8.toml
        pylintrc .pylintrc pylintrc.toml .pylintrc.toml .bandit .isort.cfg radon.cfg .vulture* .importlinter tach.toml
        sonar-project.properties .editorconfig makefile gnumakefile justfile .justfile taskfile*.y*ml dodo.py mise.toml
        .mise.toml .tool-versions .python-version uv.toml pixi.toml hatch.toml hatch_build.py pdm.toml .pdm.toml
        poetry.toml .pydocstyle* .pep8 .codespellrc .interrogaterc .yamllint* .semgrep.y*ml sgconfig.y*ml .eslintrc*
        eslint.config.* .ignore .gitignore .prospector.y*ml .sqlfluff .markdownlint* bandit.y*ml vulture_whitelist.py
        .snyk .trivyignore* typos.toml [._]typos.toml cspell.json .cspell.json .codespell* spelling_wordlist.txt
        """,
    "lists findings that are accepted": "*baseline*.json *baseline*.txt *.baseline",
    "is a hook": ".pre-commit-* lefthook*.yml",
    "is CI configuration": """
        .gitlab-ci.yml .travis.yml .drone.yml .cirrus.yml appveyor.yml .appveyor.yml jenkinsfile* azure-pipelines*
        bitbucket-pipelines.yml cloudbuild.y*ml
        """,
    "is a lock file": """
        *.lock pylock*.toml package-lock.json pnpm-lock.yaml conda-lock.yml pipfile requirements*.txt requirements*.in
        constraints*.txt environment.y*ml
        """,
    "runs at every start of Python": "sitecustomize.py usercustomize.py *.pth",
    "is git's own": ".git*",
    "holds settings of this machine": ".env .env.*",
    "belongs to an environment": "pyvenv.cfg",
    "is compiled": "*.pyc *.pyo *.so *.pyd *.dll *.dylib",
}
NAMES = {why: tuple(names.split()) for why, names in _NAMES.items()}
FOLDERS = {
    "lists findings that are accepted": {".basedpyright", ".mypy-baseline"},
    "is git's own": {".git"},
    "is CI configuration": {".github", ".gitlab", ".circleci", ".ci", ".buildkite", ".azure-pipelines", ".woodpecker"},
    "is a hook": {".githooks", ".git-hooks", ".husky", ".hooks"},
    "runs at every start of Python": {"sitecustomize", "usercustomize"},
    "belongs to an environment": {
        ".venv", "venv", "site-packages", "node_modules", ".tox", ".nox", "__pypackages__",
    },
    "is compiled": {"__pycache__"},
}  # fmt: skip
GLOB = frozenset("*?[")
STUB_FOLDERS = ("typings", "stubs")
"""Folders in which type checkers look for stubs."""
METADATA = ("*.egg-info", "*.dist-info")
"""Folders with the metadata of an installed package, which declares plug-ins."""

BENCHMARK = "the benchmark command ([tool.coderefine.performance] run)"
RUNNERS = frozenset({"pytest", "_pytest", "pluggy", "iniconfig", "coverage", "xdist", "hypothesis"})
"""Packages on which the verdict depends."""


@dataclass(frozen=True, slots=True)
class Protection:
    """The rules for files that may not be written; paths are repo-relative. Created once per run by `Protection.of`.

    `top`, `prefix`, `scope`: see Place. `globs`: the paths that the configuration protects. `settings`: those of
    pytest. `hooks`: git's `core.hooksPath`; None if it is not set, or outside the repository. `plugins`: files of the
    project that pytest loads as plug-ins. `programs`: the files that each command of the configuration names, see
    named_files.py; the key says what names them. `wanted`: files that the task asks for; its commands may name them.
    `unread`: patterns of files that the linter does not read.
    """

    top: Path
    prefix: str
    scope: tuple[str, ...]
    globs: tuple[str, ...] = ()
    settings: PytestSettings = USUAL
    hooks: str | None = None
    plugins: frozenset[str] = frozenset()
    programs: Mapping[str, NamedFiles] = field(default_factory=dict)
    wanted: frozenset[str] = frozenset()
    unread: tuple[str, ...] = ()
    _helpers: AssertionHelpers = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_helpers", AssertionHelpers(self.top, self.is_test))

    @classmethod
    def of(cls, place: Place, config: Config) -> Protection:
        """Read what to protect: pytest's settings, git's `core.hooksPath`, plugins, and files that commands name.

        This starts no process.
        """
        settings = read_settings(place.root)
        plugins = _plugin_files(place, settings)
        programs = [named_files(run, place, settings, who).items() for who, run in _commands(config, place)]
        return cls(
            *(place.top, place.prefix, place.scope, config.protect, settings, _hooks(place), plugins),
            dict(chain.from_iterable(programs)),
            frozenset(config.wanted),
            excluded_patterns(place.root),
        )

    def reason(self, path: str) -> str | None:
        """Return why `path` may not be written, as "PATH is …"; None when it may."""
        rules = (
            *(self._form, self._scope, self._name, self._test, self._shadow, self._hides, self._read_only),
            *(self._globs, self._named, self._unread),
        )
        why = next(filter(None, (rule(path) for rule in rules)), None)
        return f"{path} {why}" if why else None

    @property
    def import_roots(self) -> tuple[str, ...]:
        """Return the folders from which the project's modules are imported: `src`, its root, pytest's `pythonpath`."""
        return self._folders("src", "", *self.settings.pythonpath)

    def _folders(self, *names: str) -> tuple[str, ...]:
        """Return the paths of folders that are given relative to the project's root."""
        return tuple(dict.fromkeys(posixpath.normpath(posixpath.join(self.prefix, name)) for name in names))

    @property
    def script_folders(self) -> tuple[str, ...]:
        """Return folders in which Python may look first for what the programs of commands import.

        These are the folders that commands name, and the folders of the files that commands name.
        """
        programs = self.programs.values()
        beside = {posixpath.dirname(path) for named in programs for path in named.there}
        return tuple(sorted(beside.union(*(named.folders for named in programs)) - {"", "."}))

    def helpers(self, path: str, data: bytes | None) -> frozenset[str]:
        """Return the names of the functions in the file at `path` (content: `data`) that assert on behalf of tests.

        The constants that these functions read are included. All other code of the file may be changed; see
        assertion_helpers.py.
        """
        return self._helpers.names(path, data)

    def is_test(self, path: str) -> bool:
        """Return whether `path` is a test, supports only tests (conftest.py, testing.py, plug-ins), or is test data."""
        parts = folded(self._inside(path)).split("/")
        if self._only_named_so(path, parts):
            return False
        return self._is_placed_as_test(path, parts) or self._has_doctests(path, parts) or self._is_case(path)

    def _is_placed_as_test(self, path: str, parts: list[str]) -> bool:
        """Return whether the name or the folder of a file says that it is a test, or serves tests.

        `parts`: the parts of the folded path below the project's root.
        """
        inside = self._inside(path)
        if any(TEST_FOLDER.fullmatch(part) for part in parts[:-1]) or path in self.plugins:
            return True
        if self._in_data(path.removesuffix(inside), inside.split("/")[:-1]):
            return True
        patterns = (*TEST_FILE, *(item for item in map(folded, self.settings.python_files) if item != "*.py"))
        return _like(parts[-1], patterns) or self._in_testpaths("/".join(parts))

    def _has_doctests(self, path: str, parts: list[str]) -> bool:
        """Return whether pytest runs examples in a text file, which is not a Python module."""
        inside, folders = "/".join(parts), [folded(folder) for folder in self.settings.testpaths]
        if inside not in folders and _outside(inside, folders):
            return False
        patterns = tuple(map(folded, self.settings.doctest_files))
        return _like(parts[-1], patterns) and b">>>" in self._helpers.read(path)

    def _is_case(self, path: str) -> bool:
        """Return whether tests name a data file outside packages, and other code names neither it nor its folder.

        At the top of the project, where a file has no folder, no other code may name its suffix (`.json`).
        """
        name, folder = posixpath.basename(path), posixpath.dirname(path)
        if not name.endswith(DATA) or (self.top / folder / "__init__.py").is_file():
            return False
        readers = [*map(self._serves_tests, self._helpers.mentioning(name))]
        near = posixpath.basename(folder) or posixpath.splitext(name)[1]
        around = self._helpers.mentioning(near) if readers else ()
        return bool(readers) and all(readers) and all(map(self._serves_tests, around))

    def is_named(self, name: str) -> bool:
        """Return whether a Python file of the project contains `name`."""
        return any(True for _ in self._helpers.mentioning(name))

    def is_product(self, path: str) -> bool:
        """Return whether `path` is an existing file that is no test, whatever its name."""
        return (self.top / path).is_file() and not self.is_test(path)

    def _only_named_so(self, path: str, parts: list[str]) -> bool:
        """Return whether a file is named like a test module, but is not one: `stats/t_test.py`, about Student's test.

        Such a file is outside `testpaths` and in no folder of tests. It contains no test and no assertion, and imports
        no test tool. At least one file that is no test by its name or folder imports it; this shows that it does not
        only serve tests. `parts`: the parts of the folded path below the project's root.
        """
        if path in self.plugins or not _like(parts[-1], MODULES) or any(map(TEST_FOLDER.fullmatch, parts[:-1])):
            return False
        if not _outside("/".join(parts), [folded(folder) for folder in self.settings.testpaths]):
            return False
        try:
            tree = syntax((self.top / path).read_bytes())
        except OSError:
            return False
        return tree is not None and not any(map(_tests, ast.walk(tree))) and self._is_imported(path)

    def _is_imported(self, path: str) -> bool:
        """Return whether a file that is no test by its name or folder imports the module at `path`."""
        name = PurePosixPath(path).stem
        imported = re.compile(rf"^\s*(from|import)\b.*\b{re.escape(name)}\b".encode(), re.MULTILINE)
        others = (other for other in self._helpers.mentioning(name) if other.endswith(".py") and other != path)
        return any(imported.search(self._helpers.read(other)) for other in others if not self._serves_tests(other))

    def _serves_tests(self, path: str) -> bool:
        return self._is_placed_as_test(path, folded(self._inside(path)).split("/"))

    def _inside(self, path: str) -> str:
        """Return `path` relative to the project's root, so that folders above the project do not make its files tests.

        If the root itself has the name of a test folder (a project in `tests/`), this name stays part of the path.
        """
        above, _, name = self.prefix.rpartition("/")
        return below(path, above if TEST_FOLDER.fullmatch(folded(name)) else self.prefix)

    def _in_data(self, above: str, folders: list[str]) -> bool:
        """Return whether one of `folders` (parts of a path below `above`) is named like test data and is no package."""
        here = self.top / above
        for folder in folders:
            here = here / folder
            if DATA_FOLDER.fullmatch(folded(folder)) and not (here / "__init__.py").is_file():
                return True
        return False

    def _in_testpaths(self, path: str) -> bool:
        """Return whether `path` is in a folder of `testpaths` that is named like tests.

        Other folders do not count: `testpaths = src` means doctests.
        """
        for folder in map(folded, self.settings.testpaths):
            looks = any(word in folder for word in ("test", "spec", "check"))
            if looks and (path.startswith(folder + "/") or fnmatchcase(path, folder + "/*")):
                return True
        return False

    def _form(self, path: str) -> str | None:
        if not _plain(path):
            return "is not a plain path inside the repository"
        if not all(nameable(part) for part in path.split("/")):
            return "has a name that no file can have"
        here = self.top
        for part in path.split("/"):
            if here.is_file():
                return f"goes through a file ({here.relative_to(self.top)})"
            here = here / part
            if here.is_symlink():
                return f"goes through a symbolic link ({here.relative_to(self.top)})"
            if (here / ".git").exists():
                return f"belongs to another repository ({here.relative_to(self.top)}): run coderefine in there"
        return "is a folder" if here.is_dir() else None

    def _scope(self, path: str) -> str | None:
        if any(item in (".", path) or path.startswith(item + "/") for item in self.scope):
            return None
        return f"is outside the requested scope ({', '.join(self.scope)})"

    def _name(self, path: str) -> str | None:
        is_hook = self.hooks and f"{path}/".startswith(f"{self.hooks}/")
        return protected_name(path) or ("is a hook" if is_hook else None)

    def _test(self, path: str) -> str | None:
        if path in self.plugins:
            return "is a plug-in that pytest loads for the tests"
        return "is a test or test data" if self.is_test(path) else None

    def _globs(self, path: str) -> str | None:
        return next((f"is protected by {glob!r}" for glob in self.globs if _matches(path, glob)), None)

    def _named(self, path: str) -> str | None:
        """Return a reason if a command names `path`, or a file with this name in a folder of another project."""
        who = next((who for who, named in self.programs.items() if folded(path) in named), None)
        return f"is named by {who}: no patch may change it" if who and path not in self.wanted else None

    def _unread(self, path: str) -> str | None:
        """Return a reason if the linters would not read a *new* module: code that moves there would be unchecked.

        A new module is allowed beside existing modules that the linters do not read either (migrations, generated
        code), but not in a hidden folder, nor in a folder of the root that may be a build or an environment.
        """
        inside = below(path, self.prefix)
        if not path.endswith((".py", ".pyi")) or path in self.wanted or (self.top / path).exists():
            return None
        if not is_unread(inside, self.unread) or self._beside_unread(inside):
            return None
        return "would be in a place that the linters do not read"

    def _beside_unread(self, inside: str) -> bool:
        first, folder = inside.partition("/")[0], posixpath.dirname(inside)
        if first in EXCLUDED or is_hidden(inside):
            return False
        beside = (self.top / self.prefix / folder).glob("*.py")
        return any(is_unread(posixpath.join(folder, file.name), self.unread) for file in beside)

    def _read_only(self, path: str) -> str | None:
        """Return why the permissions of the file, or of its folder, do not allow replacing it; None if they do."""
        file = self.top / path
        if not file.is_file():
            return None
        if is_read_only(file):
            return "is read-only (`chmod u+w` allows a repair)"
        if is_read_only(file.parent):
            return "is in a read-only folder (`chmod u+w` on it allows a repair)"
        return None

    def _shadow(self, path: str) -> str | None:
        """Return a reason if a *new* file would be imported in place of the test runner or the standard library."""
        parts = PurePosixPath(below(path, self.prefix).removeprefix("src/")).parts
        first = parts[0].removesuffix(".py")
        file = self.top / path
        if not path.endswith(".py") or len(parts) > 2 or (file if len(parts) == 1 else file.parent).exists():
            return None
        if first in RUNNERS:
            return "would shadow the test runner"
        return "would shadow the standard library" if first in sys.stdlib_module_names else None

    def _hides(self, path: str) -> str | None:
        """Return a reason if a *new* file would be read in place of a module with the same dotted name.

        That module may be beside it or below another import root. A stub hides it from the type checker only.
        """
        if (self.top / path).exists() or not path.endswith((".py", ".pyi")):
            return None
        stub = " from the type checker" * path.endswith(".pyi")
        roots = (*self.import_roots, *self._folders(*STUB_FOLDERS))
        modules = {_module_path(below(path, root)) for root in roots if root == "." or path.startswith(f"{root}/")}
        for root, module in product(roots, modules - {""}):
            place = self.top / root / module
            if any(file.is_file() for file in (place.with_name(f"{place.name}.py"), place / "__init__.py")):
                return f"would hide the module {place.name}{stub}"
        return None


def _module_path(path: str) -> str:
    """Return the path of a module without its suffix, and without `-stubs`; that of a package for `__init__.py`."""
    first, *others = PurePosixPath(path).with_suffix("").parts
    parts = [first.removesuffix("-stubs"), *others]
    return "/".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_read_only(path: Path) -> bool:
    """Return whether the permissions of `path` forbid writing; they count for root, too, although root could write."""
    return not os.access(path, os.W_OK) or not path.stat().st_mode & 0o222


def _outside(path: str, folders: list[str]) -> bool:
    """Return whether `path` is outside all `folders`; False if there are none, or if one is the root or a glob."""
    vague = not folders or any(one in (".", "") or GLOB.intersection(one) for one in folders)
    return not vague and not path.startswith(tuple(f"{one}/" for one in folders))


def _tests(node: ast.AST) -> bool:
    """Return whether `node` is a test, an assertion, or the import of a test tool."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return name.startswith("test")
        case ast.ClassDef(name=name, bases=bases):
            return name.startswith("Test") or any("Test" in last_name(base) for base in bases)
        case ast.Import(names=names):
            return any(one.name.partition(".")[0] in TOOLS for one in names)
        case ast.ImportFrom(module=str(module)):
            return module.partition(".")[0] in TOOLS
    return isinstance(node, ast.Assert)


def protected_name(path: str) -> str | None:
    """Return why `path` is protected by its name alone, in any project; None if it is not."""
    parts = folded(path).split("/")
    if any(_like(part, METADATA) for part in parts):
        return "is metadata of an installed package"
    folders = (why for why, names in FOLDERS.items() if not names.isdisjoint(parts[:-1]))
    files = (why for why, names in NAMES.items() if _like(parts[-1], names))
    return next(folders, None) or next(files, None)


def _commands(config: Config, place: Place) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the commands that check or measure patches, and the plug-ins of checkers, each after its description.

    Plug-ins are given as the words of a command that runs them as modules.
    """
    for name, words in checker_plugins(place.root):
        yield name, ("plug-in", *chain.from_iterable(("-m", word) for word in words))
    yield from ((f"the command of the gate {one.name!r}", one.run) for one in config.commands)
    if config.performance.run:
        yield BENCHMARK, config.performance.run


def _plugin_files(place: Place, settings: PytestSettings) -> frozenset[str]:
    """Return files of the project that pytest loads by name: entry points, `-p`, `pytest_plugins`."""
    roots = [place.root / name for name in ("", "src", *settings.pythonpath)]
    found: set[str] = set()
    for module in plugin_modules(place.root, settings):
        inner = module.replace(".", "/")
        files = (root / name for root in roots for name in (f"{inner}.py", f"{inner}/__init__.py"))
        found.update(file.relative_to(place.top).as_posix() for file in files if file.is_file())
    return frozenset(found)


def _plain(path: str) -> bool:
    odd = any(letter in path for letter in "\0\\") or ":" in path.partition("/")[0] or path.startswith("~")
    return not odd and all(part not in ("", ".", "..") for part in path.split("/"))


def _like(name: str, patterns: tuple[str, ...]) -> bool:
    # Most patterns are plain names: to compile them as globs would take 15 ms in each process.
    return name in patterns or any(fnmatchcase(name, one) for one in patterns if not GLOB.isdisjoint(one))


def _matches(path: str, glob: str) -> bool:
    """Return whether `glob` matches `path`, almost as in a .gitignore file.

    A name without slash matches at any depth, also with a leading slash, and a folder matches all its content. Unlike
    in .gitignore, not only `**` but also `*` matches any text with `/`: `a/*.py` matches `a/b/c.py`.
    """
    anchored = glob.strip("/").replace("**/", "*").replace("/**", "/*")
    names = (path, *(parent.as_posix() for parent in PurePosixPath(path).parents if parent.name))
    if "/" not in anchored:
        return any(fnmatchcase(PurePosixPath(name).name, anchored) or fnmatchcase(name, anchored) for name in names)
    return any(fnmatchcase(name, anchored) for name in names)


def _hooks(place: Place) -> str | None:
    """Return `core.hooksPath` when it is in the tree (git-config(1)); the file is read, git is not started."""
    if place.git_dir is None:
        return None
    try:
        text = (place.git_dir / "config").read_text("utf-8", "replace")
    except OSError:
        return None
    found = re.search(r"^\s*hookspath\s*=\s*\"?([^\"\n#;]+)", text, re.IGNORECASE | re.MULTILINE)
    if not found:
        return None
    folder = (place.top / Path(found[1].strip()).expanduser()).resolve()
    return folder.relative_to(place.top).as_posix() if folder.is_relative_to(place.top) else None
