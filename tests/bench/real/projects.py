"""The real projects: which ones, and how one is laid out ready to be repaired.

Each lies below the system's temporary folder: the sdist's tree (`pristine`), a working copy (`project`) with its own
`.venv` in which the distribution is installed editable, and the outcome of its unmodified suite.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.bench.real.suites import Suite, run_suite

CACHE = Path(tempfile.gettempdir()) / "coderefine-bench-real"
IGNORED = (
    ".venv",
    "__pycache__",
    ".pytest_cache",
    ".ruff_cache",
    ".coverage*",
    "coverage.xml",
    "htmlcov",
    "*.egg-info",
)
HALVES = ("development", "held-out")


@dataclass(frozen=True)
class Project:
    """A distribution at one version, and what its suite needs.

    `source` is the folder of the package in the sdist; `needs` are requirements of the tests; `added` are files put
    beside the sdist's, `without` tests that need the network.
    """

    name: str
    version: str
    half: str
    source: str
    needs: tuple[str, ...]
    added: Mapping[str, str] = field(default_factory=dict)
    without: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        return CACHE / f"{self.name}-{self.version}"

    @property
    def top(self) -> Path:
        return self.folder / "project"

    @property
    def pristine(self) -> Path:
        return self.folder / "pristine"

    @property
    def python(self) -> Path:
        return self.top / ".venv" / "bin" / "python"


UNITTEST = "# The project's own runner is unittest; pytest must not collect the TestSuite that a test module imports.\n"
STARLETTE = (
    "pytest==9.1.1",
    "httpx==0.28.1",
    "httpx2==2.16.2",
    "itsdangerous==2.2.0",
    "jinja2==3.1.6",
    "python-multipart==0.0.34",
    "trio==0.35.0",
    "opentelemetry-sdk",
    "importlib-metadata",
    "blockbuster",
    "pyyaml",
    "pytest-codspeed",
)
DEEPDIFF = (
    "pytest==9.1.0",
    "pytest-benchmark",
    "python-dotenv",
    "numpy",
    "pandas",
    "polars",
    "jsonpickle",
    "pydantic",
    "python-dateutil",
    "tomli-w",
    "pyyaml",
    "click",
    "orjson",
    "uuid6",
    "pytz",
    "toml",
)
PROJECTS = (
    Project("click", "8.5.1", "development", "src/click", ("pytest==9.1.0",)),
    Project(
        "Markdown",
        "3.11.3",
        "development",
        "markdown",
        ("pytest==9.1.0", "PyYAML==6.0.3"),
        added={"pytest.ini": f"{UNITTEST}[pytest]\ntestpaths = tests\npython_classes = NoPlainClasses\n"},
    ),
    Project(
        "arrow",
        "1.4.0",
        "development",
        "arrow",
        (
            "pytest==9.1.0",
            "pytest-cov==7.1.0",
            "pytest-mock==3.17.0",
            "pytz==2025.2",
            "simplejson==3.20.2",
            "dateparser==1.5.0",
            "python-dateutil==4.0.0",
            "tzdata==2026.6",
        ),
    ),
    Project("boltons", "26.2.0", "development", "boltons", ("pytest==8.4.2",)),
    Project("sqlparse", "0.6.1", "development", "sqlparse", ("pytest==9.1.0",)),
    Project("more-itertools", "9.1.0", "development", "more_itertools", ("pytest==9.1.0",)),
    # pytest-benchmark is missing on purpose: 15 tests end in their set-up, as on many machines.
    Project("humanize", "4.17.0", "development", "src/humanize", ("pytest==9.1.0", "freezegun==1.5.5")),
    Project("jinja2", "3.1.6", "development", "src/jinja2", ("pytest==9.1.0", "trio==0.35.0")),
    Project("marshmallow", "4.4.0", "development", "src/marshmallow", ("pytest==9.1.0", "simplejson==3.20.2")),
    Project("attrs", "26.1.0", "development", "src/attr", ("pytest==9.1.0", "hypothesis", "cloudpickle")),
    Project("natsort", "8.4.0", "development", "natsort", ("pytest==9.1.0", "hypothesis", "pytest-mock")),
    Project(
        "graphql-core",
        "3.3.2",
        "development",
        "src/graphql",
        (
            "pytest==9.2.0",
            "anyio",
            "pytest-benchmark",
            "pytest-cov",
            "pytest-describe",
            "pytest-timeout",
            "pytest-codspeed",
            "typing-extensions",
        ),
    ),
    Project("mistune", "3.4.0", "development", "src/mistune", ("pytest==9.1.0",)),
    Project("wtforms", "3.3.2", "development", "src/wtforms", ("pytest==9.1.0", "email-validator", "babel")),
    Project("lark", "1.3.1", "development", "lark", ("pytest==9.1.0", "regex==2026.11.15")),
    # An HTTP library of unittest-free classes, a web framework, an asyncio library, a checker with unittest classes.
    Project("webob", "1.8.11", "development", "src/webob", ("pytest==8.4.2",)),
    Project("flask", "3.1.3", "development", "src/flask", ("pytest==8.4.2", "asgiref", "python-dotenv")),
    Project("pyflakes", "4.1.0", "development", "pyflakes", ("pytest==9.1.0",)),
    Project("mako", "1.4.3", "development", "mako", ("pytest==9.1.0", "Babel", "beautifulsoup4", "dogpile.cache")),
    # Versions and requirements; an HTTP protocol without input and output.
    Project("packaging", "26.3", "development", "src/packaging", ("pytest==9.1.0", "pretend", "tomli_w", "hypothesis")),
    Project("h2", "4.4.1", "development", "src/h2", ("pytest==8.4.2", "hypothesis")),
    # A parser of HTML with its tests inside of the package, and one of selectors.
    Project("beautifulsoup4", "4.15.0", "development", "bs4", ("pytest==9.1.0", "html5lib", "lxml")),
    Project("soupsieve", "4.1.2", "development", "soupsieve", ("pytest==9.1.0", "beautifulsoup4", "html5lib", "lxml")),
    # A TOML editor, a library of WSGI, another Markdown parser, tables as text, a validator.
    Project("tomlkit", "0.15.2", "development", "tomlkit", ("pytest==8.4.2", "pyyaml")),
    Project(
        "werkzeug",
        "3.1.9",
        "development",
        "src/werkzeug",
        ("pytest==8.4.2", "pytest-timeout", "ephemeral-port-reserve", "watchdog", "cryptography", "cffi"),
    ),
    Project(
        "markdown-it-py", "4.3.0", "development", "markdown_it", ("pytest==9.1.0", "pytest-regressions", "requests")
    ),
    Project("tabulate", "0.10.0", "development", "tabulate", ("pytest==9.1.0", "wcwidth")),
    Project("voluptuous", "0.16.0", "development", "voluptuous", ("pytest==9.1.0",)),
    # OAuth, CSS, nested data, functional tools, persistent collections.
    Project("oauthlib", "4.0.1", "development", "oauthlib", ("pytest==8.4.2", "cryptography", "pyjwt", "blinker")),
    Project("cssutils", "2.15.0", "development", "cssutils", ("pytest==8.4.2", "cssselect", "jaraco.test")),
    Project("glom", "25.12.0", "development", "glom", ("pytest==8.4.2", "pyyaml")),
    Project("toolz", "1.0.0", "development", "toolz", ("pytest==8.4.2",)),
    Project("pyrsistent", "0.20.0", "development", "pyrsistent", ("pytest==8.4.2", "hypothesis")),
    # Numbers as words, and logging.
    Project("num2words", "0.5.14", "development", "num2words", ("pytest==9.1.0", "delegator.py")),
    Project(
        "structlog",
        "26.1.0",
        "development",
        "src/structlog",
        ("pytest==9.1.0", "pytest-asyncio", "simplejson", "time-machine"),
    ),
    # Suites of several seconds: differences of objects, lexers with collectors of their own; and ASN.1.
    Project("deepdiff", "9.1.0", "development", "deepdiff", DEEPDIFF),
    Project("pygments", "2.21.0", "development", "pygments", ("pytest==9.1.0", "wcag-contrast-ratio", "lxml")),
    Project("pyasn1", "0.6.5", "development", "pyasn1", ("pytest==9.1.0",)),
    # Put aside: deep recursion, 1,900 tests, unittest classes, asyncio, console scripts run as processes.
    Project("pyparsing", "3.3.3", "held-out", "pyparsing", ("pytest==9.1.0", "railroad-diagrams", "jinja2")),
    Project("parso", "0.8.7", "held-out", "parso", ("pytest==8.4.2",)),
    Project("pyramid", "2.1", "held-out", "src/pyramid", ("pytest==8.4.2", "WebTest==3.0.7", "zope.component==7.1")),
    Project("starlette", "1.10.0", "held-out", "starlette", STARLETTE),
    Project("yapf", "0.43.0", "held-out", "yapf", ("pytest==8.4.2",)),
)


@dataclass(frozen=True)
class Baseline:
    """The unmodified suite: ids that pass in both of two runs, and ids that do not."""

    passed: tuple[str, ...]
    failing: tuple[str, ...]
    seconds: float


def chosen(only: str, half: str) -> list[Project]:
    """The projects of `half` (all when empty) whose name holds one of the words of `only`."""
    words = only.lower().split(",")
    return [one for one in PROJECTS if half in {"", one.half} and any(word in one.name.lower() for word in words)]


def run(argv: Iterable[str | Path], cwd: Path) -> None:
    subprocess.run([str(one) for one in argv], cwd=cwd, check=True, stdout=subprocess.DEVNULL, timeout=900)


@contextmanager
def locked(project: Project) -> Iterator[None]:
    """Keep other runs of the benchmark off the project's working copy; wait for one that has it."""
    CACHE.mkdir(exist_ok=True)
    with (CACHE / f"{project.name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def prepare(project: Project) -> Baseline:
    """Make what is not there yet; the outcome of the unmodified suite."""
    kept = project.folder / "baseline.json"
    if not kept.exists():
        shutil.rmtree(project.folder, ignore_errors=True)
        project.folder.mkdir(parents=True)
        _unpack(project)
        restore(project)
        run((sys.executable, "-m", "venv", ".venv"), project.top)
        run((project.python, "-m", "pip", "install", "-q", "-e", ".", *project.needs), project.top)
        restore(project)
        _measure(project, kept)
        restore(project)
    return Baseline(**json.loads(kept.read_text("utf-8")))


def _unpack(project: Project) -> None:
    pip = (sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", project.name)
    run((*pip, "-d", project.folder, f"{project.name}=={project.version}"), project.folder)
    (archive,) = project.folder.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(project.folder, filter="data")
    (folder,) = (path for path in project.folder.iterdir() if path.is_dir())
    folder.rename(project.pristine)
    for name, text in project.added.items():
        (project.pristine / name).write_text(text, "utf-8")


def _measure(project: Project, kept: Path) -> None:
    """Two runs; what differs between them is neither passing nor failing reliably and counts as failing."""
    one, two = (suite(project) for _ in range(2))
    known = set(one.passed) | set(one.failing) | set(two.passed) | set(two.failing)
    passed = set(one.passed) & set(two.passed)
    if one.broken or not passed:
        raise RuntimeError(f"{project.name}: the unmodified suite cannot be used: {one.broken or 'no test passes'}")
    base = Baseline(tuple(sorted(passed)), tuple(sorted(known - passed)), min(one.seconds, two.seconds))
    kept.write_text(json.dumps(asdict(base)), "utf-8")


def suite(project: Project, *, base: Baseline | None = None, most: int = 0) -> Suite:
    """Run the suite in the working copy as its own configuration says.

    With `base`, it is ended when it takes far more CPU time than the unmodified one; wall time says little on a machine
    that has other work.
    """
    skipped = [f"--deselect={one}" for one in project.without]
    cpu = 3 * base.seconds + 20 if base else 0.0
    return run_suite(project.top, project.python, skipped, timeout=20 * cpu or 1800.0, cpu=cpu, most=most)


def restore(project: Project) -> None:
    """Make the working copy what the sdist holds, in a git repository that has never seen anything else."""
    project.top.mkdir(exist_ok=True)
    for path in project.top.iterdir():
        if path.name != ".venv":
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    shutil.copytree(project.pristine, project.top, symlinks=True, dirs_exist_ok=True)


def commit(project: Project) -> None:
    """Commit the working copy as the only commit of a new repository; environments and caches are ignored."""
    git = ("git", "-c", "user.name=bench", "-c", "user.email=bench@example.invalid", "-c", "gc.auto=0")
    run((*git, "init", "-q", "-b", "main"), project.top)
    (project.top / ".git" / "info").mkdir(exist_ok=True)
    (project.top / ".git" / "info" / "exclude").write_text("\n".join(IGNORED) + "\n", "utf-8")
    run((*git, "add", "-A"), project.top)
    run((*git, "commit", "-q", "--no-verify", "-m", "start"), project.top)


def executed(project: Project) -> dict[str, set[int]]:
    """Lines of the package that the unmodified suite runs, by path from the project's top; measured once."""
    kept = project.folder / "lines.json"
    if not kept.exists():
        restore(project)
        with tempfile.TemporaryDirectory() as folder:
            more = {"REAL_LINES": folder, "REAL_LINES_OF": str((project.top / project.source).resolve())}
            measured = any(need.startswith("pytest-cov") for need in project.needs)
            options = ["--no-cov"] if measured else []
            run_suite(project.top, project.python, options, timeout=1800.0, lines=more)
            found: dict[str, set[int]] = {}
            for path in Path(folder).glob("*.json"):
                for name, lines in json.loads(path.read_text("utf-8")).items():
                    found.setdefault(os.path.relpath(name, project.top.resolve()), set()).update(lines)
        kept.write_text(json.dumps({name: sorted(lines) for name, lines in found.items()}), "utf-8")
        restore(project)
    return {name: set(lines) for name, lines in json.loads(kept.read_text("utf-8")).items()}
