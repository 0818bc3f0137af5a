"""Real bugs: functions that a release of a small package repaired, put back to what they were in the release before.

    python -m tests.bench.confidence.releases [--only NAME] [--slice SECONDS]

A case is the tree of one release, tests included, in which one function is that of the release before; 1 to 40 tests
that pass with the new function fail with the old one. Functions whose parameters differ are left out, since their
callers differ, too; so are releases in which more than MOST_CHANGED functions do. Cases are kept in a JSON-lines file
below the temporary folder, one row for each release that was looked at; `gather releases` runs the search on them.
Source distributions come from the package registry through pip; nothing is committed.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path

from tests.bench.confidence.suites import changed, commit, deselecting, only_commit, reported

CACHE = Path(tempfile.gettempdir()) / "coderefine-bench-releases"
CASES = CACHE / "cases.jsonl"
MOST_FAILING, MOST_CHANGED, MOST_TRIED, LONGEST = 40, 40, 6, 8.0
"""Failing tests of a case; changed functions of a release; functions of it that are tried, the smallest changes first;
seconds of its suite."""
NEEDS = (
    "pytest",
    "hypothesis",
    "freezegun",
    "pyyaml",
    "python-dateutil",
    "pytz",
    "tzlocal",
    "wcwidth",
    "beautifulsoup4",
    "six",
    "lxml",
    "click",
    "html5lib",
    "pytest-lazy-fixtures",
    "mock",
    "contextlib2",
)
"""What the packages and their tests need."""
BACKENDS = ("setuptools<81", "wheel", "setuptools_scm", "hatchling", "hatch-vcs", "flit_core", "poetry-core")
VERSIONS = {
    "sqlparse": "0.4.0 0.4.1 0.4.2 0.4.3 0.4.4 0.5.0 0.5.1 0.5.2 0.5.3 0.5.4 0.5.5 0.6.0 0.6.1",
    "schema": "0.6.8 0.7.0 0.7.1 0.7.2 0.7.4 0.7.5 0.7.7 0.7.8",
    "tabulate": "0.8.5 0.8.6 0.8.7 0.8.8 0.8.9 0.8.10 0.9.0 0.10.0",
    "parse": "1.18.0 1.19.0 1.19.1 1.20.0 1.20.1 1.20.2 1.21.0 1.21.1 1.22.0 1.22.1 1.22.2 1.22.3 1.22.4",
    "cssselect": "1.0.3 1.1.0 1.2.0 1.3.0 1.4.0 1.5.0 1.6.0",
    "voluptuous": "0.11.5 0.11.7 0.12.0 0.12.1 0.12.2 0.13.0 0.13.1 0.14.1 0.14.2 0.15.0 0.15.2 0.16.0",
    "xmltodict": "0.11.0 0.12.0 0.13.0 0.14.1 0.14.2 0.15.0 0.15.1 1.0.0 1.0.1 1.0.2 1.0.3 1.0.4",
    "humanize": "4.7.0 4.8.0 4.9.0 4.10.0 4.11.0 4.12.0 4.12.1 4.12.2 4.12.3 4.13.0 4.14.0 4.15.0 4.16.0 4.17.0",
    "isodate": "0.5.1 0.5.4 0.6.0 0.6.1 0.7.2",
    "jsonpointer": "2.0 2.1 2.2 2.3 2.4 3.0.0 3.1.0 3.1.1 3.2.0 3.2.1 3.3 3.4 3.5 3.6 3.7 3.8 3.9 3.10 3.11 3.12",
    "tomlkit": "0.11.0 0.11.4 0.11.5 0.11.6 0.11.7 0.11.8 0.12.0 0.12.1 0.12.2 0.12.3 0.12.4 0.12.5 0.13.0 0.13.2 "
    "0.13.3 0.14.0 0.15.0 0.15.1 0.15.2",
    "mistune": "3.0.0 3.0.1 3.0.2 3.1.0 3.1.1 3.1.2 3.1.3 3.1.4 3.2.0 3.2.1 3.3.0 3.3.1 3.3.2 3.3.3 3.3.4 3.4.0",
    "titlecase": "0.12.0 1.0.0 1.1.1 2.0.0 2.1.0 2.2.0 2.3 2.4 2.4.1",
    "docstring-parser": "0.7.3 0.8 0.9 0.10 0.11 0.12 0.13 0.14 0.15 0.16 0.17.0 0.18.0",
    "cachetools": "5.0.0 5.2.0 5.3.0 5.3.3 5.4.0 5.5.0 6.0.0 6.2.0 7.0.0 7.1.0 7.2.0 7.3.0 7.3.3 8.0.0 8.0.2",
    "markdownify": "0.9.4 0.10.0 0.10.3 0.11.0 0.11.2 0.11.4 0.11.6 0.12.1 0.13.0 0.13.1 0.14.0 0.14.1 1.0.0 1.1.0 "
    "1.2.0 1.2.2 1.2.3",
    "boltons": "19.3.0 20.0.0 20.1.0 20.2.0 21.0.0 23.0.0 23.1.0 24.0.0 25.0.0 26.0.0 26.1.0 26.2.0",
    "soupsieve": "2.0 2.1 2.2 2.3 2.3.2 2.4 2.5 2.6 2.7 2.8 2.8.2 2.8.4 2.9 2.9.2 2.10 3.0.2 3.0.4 4.0 4.1 4.1.2",
    "prettytable": "3.0.0 3.1.1 3.2.0 3.3.0 3.4.0 3.5.0 3.6.0 3.7.0 3.9.0 3.10.0 3.11.0 3.12.0 3.14.0 3.15.0 3.16.0",
    "wcwidth": "0.2.9 0.2.10 0.2.11 0.2.12 0.2.13 0.2.14 0.3.0 0.3.1 0.3.2 0.3.3 0.3.5 0.4.0 0.5.0 0.5.3 0.6.0 0.7.0",
    "cron-descriptor": "1.2.24 1.2.27 1.2.30 1.2.32 1.2.35 1.3.0 1.4.0 1.4.3 1.4.5 2.0.3 2.0.6 2.0.8 2.1.0 2.2.0",
    "simpleeval": "0.9.10 0.9.11 0.9.12 0.9.13 1.0.0 1.0.1 1.0.3 1.0.5 1.0.6 1.0.7 1.0.8",
    "deepmerge": "0.2.1 0.3.0 1.0.1 1.1.0 2.0 2.1.0 3.0 4.0.0",
    "python-dotenv": "0.15.0 0.17.0 0.18.0 0.19.0 0.19.1 0.20.0 0.21.0 1.0.0 1.0.1 1.1.0 1.1.1 1.2.1 1.2.2",
    "pytimeparse": "1.1.5 1.1.6 1.1.7 1.1.8 1.1.9 1.1.10",
    "html2text": "2018.1.9 2019.8.11 2019.9.26 2020.1.16 2024.2.25 2025.4.15",
    "croniter": "1.3.10 1.3.12 1.3.14 1.4.0 2.0.0 2.0.2 2.0.5 3.0.0 3.0.3 4.0.0 5.0.1 6.0.0 6.2.0 6.2.2 7.0.0",
    "num2words": "0.5.3 0.5.4 0.5.5 0.5.6 0.5.7 0.5.8 0.5.9 0.5.10 0.5.11 0.5.12 0.5.13 0.5.14",
    "validators": "0.26.0 0.27.0 0.28.0 0.28.1 0.28.2 0.28.3 0.29.0 0.30.0 0.31.0 0.32.0 0.33.0 0.34.0 0.35.0 0.36.0",
    "natsort": "7.1.0 7.1.1 8.0.0 8.0.1 8.0.2 8.1.0 8.2.0 8.3.0 8.3.1 8.4.0",
    "w3lib": "2.0.0 2.0.1 2.1.0 2.1.1 2.1.2 2.2.0 2.2.1 2.3.0 2.3.1 2.4.0 2.4.1 2.5.0",
    "furl": "1.0.2 1.1 1.2 1.2.1 2.0.0 2.1.0 2.1.1 2.1.2 2.1.3 2.1.4",
    "python-box": "6.0.1 6.0.2 6.1.0 7.0.0 7.0.1 7.1.0 7.1.1 7.2.0 7.3.0 7.3.1 7.3.2 7.3.3 7.4.1 8.0.0",
    "nameparser": "1.2.0 1.2.1 1.3.0 1.3.1 1.4.0 2.0.0 2.1.0 2.2.0 2.3.0 2.4.0 2.4.1 2.4.2 2.5.0 2.6.0",
    "jmespath": "0.9.2 0.9.3 0.9.4 0.9.5 0.10.0 1.0.0 1.0.1 1.1.0",
    "pyrsistent": "0.15.7 0.16.0 0.16.1 0.17.3 0.18.0 0.18.1 0.19.1 0.19.2 0.19.3 0.20.0",
    "marshmallow": "3.26.1 3.26.2 4.0.0 4.0.1 4.1.0 4.1.1 4.1.2 4.2.0 4.2.1 4.2.2 4.2.3 4.2.4 4.3.0 4.3.1 4.4.0",
    "glom": "20.8.0 20.11.0 22.1.0 23.1.0 23.1.1 23.3.0 23.4.0 23.5.0 24.11.0 25.12.0",
    "python-slugify": "6.1.1 6.1.2 7.0.0 8.0.0 8.0.1 8.0.2 8.0.3 8.0.4 9.0.0 9.1.0 9.1.1 9.1.2 9.1.3 9.2.0",
    "configobj": "5.0.5 5.0.6 5.0.8 5.0.9",
    "parsel": "1.7.0 1.8.1 1.9.0 1.9.1 1.10.0 1.11.0 1.12.0 1.12.1",
    "jsonpatch": "1.35 1.36 1.37 1.38 1.39 1.40 1.41 1.42 1.43 1.44 1.45 1.46 1.47 1.48",
    "tinycss2": "1.1.1 1.2.0 1.2.1 1.3.0 1.4.0 1.5.0 1.5.1",
    "inflect": "6.0.5 6.1.0 6.1.1 6.2.0 7.0.0 7.2.0 7.2.1 7.3.0 7.3.1 7.4.0 7.5.0 7.6.0",
    "dictdiffer": "0.7.1 0.7.2 0.8.0 0.8.1 0.9.0 0.10.0",
    "rfc3986": "1.3.0 1.3.1 1.3.2 1.4.0 1.5.0 2.0.0",
    "webcolors": "1.12 1.13 24.6.0 24.8.0 24.11.1 25.10.0",
    "more-itertools": "10.4.0 10.5.0 10.6.0 10.7.0 10.8.0 11.0.0 11.0.1 11.0.2 11.1.0 11.2.0 11.2.1",
    "packaging": "23.2 24.0 24.1 24.2 25.0 26.0 26.1 26.2 26.3 26.4",
    "pyjwt": "2.10.0 2.10.1 2.11.0 2.12.0 2.12.1 2.13.0 2.14.0 2.15.0 2.15.1",
    "arrow": "1.1.0 1.1.1 1.2.0 1.2.1 1.2.2 1.2.3 1.3.0 1.4.0",
    "bracex": "3.0.1 3.1 3.2 3.2.1 3.2.2 3.2.3",
    "ftfy": "6.1.3 6.2.0 6.2.1 6.2.2 6.2.3 6.3.0 6.3.1",
    "emoji": "2.12.0 2.12.1 2.13.0 2.13.2 2.14.0 2.14.1 2.15.0 2.16.0",
    "deepdiff": "8.4.0 8.4.1 8.4.2 8.5.0 8.6.0 8.6.1 8.6.2 9.0.0 9.1.0",
    "cattrs": "24.1.3 25.1.0 25.1.1 25.2.0 25.3.0 26.1.0 26.2.0 26.2.1",
    "toolz": "0.11.1 0.11.2 0.12.0 0.12.1 1.0.0 1.1.0 1.2.0",
    "semver": "3.0.0 3.0.1 3.0.2 3.0.4 3.1.0 3.1.1 3.1.2",
    "markdown": "3.8.2 3.9 3.10 3.10.1 3.10.2 3.10.3 3.11 3.11.1 3.11.2 3.11.3",
    "uritemplate": "3.0.0 3.0.1 4.0.0 4.1.1 4.2.0",
    "itsdangerous": "2.1.0 2.1.1 2.1.2 2.2.0",
    "pydash": "7.0.0 7.0.1 7.0.2 7.0.3 7.0.4 7.0.5 7.0.6 7.0.7 8.0.0 8.0.1 8.0.2 8.0.3 8.0.4 8.0.5 8.0.6 8.1.0",
    "idna": "3.5 3.6 3.7 3.8 3.9 3.10 3.11 3.12 3.13 3.14 3.15 3.16 3.17 3.18 3.19 3.20",
    "tinydb": "4.1.0 4.1.1 4.2.0 4.3.0 4.4.0 4.5.0 4.5.1 4.5.2 4.6.0 4.6.1 4.7.0 4.7.1 4.8.0 4.8.1 4.8.2 4.9.0",
    "jsonpath-ng": "1.5.3 1.6.0 1.6.1 1.7.0 1.8.0 1.9.1 1.10.0 1.10.1 1.11.0 1.12.0 1.13.0 1.14.0 1.15.0 1.16.0",
    "json5": "0.9.27 0.9.28 0.10.0 0.11.0 0.12.0 0.12.1 0.13.0 0.14.0 0.15.0 0.16.0 0.17.0 0.17.1 0.17.2 0.17.3",
    "texttable": "1.2.1 1.3.0 1.3.1 1.4.0 1.5.0 1.6.0 1.6.1 1.6.2 1.6.3 1.6.4 1.6.5 1.6.6 1.6.7 1.7.0 1.7.1 1.7.2",
    "mdit-py-plugins": "0.2.7 0.2.8 0.3.0 0.3.1 0.3.2 0.3.3 0.3.4 0.3.5 0.4.0 0.4.1 0.4.2 0.5.0 0.6.0 0.6.1 0.7.0",
    "linkify-it-py": "0.0.1 1.0.0 1.0.1 1.0.2 1.0.3 2.0.0 2.0.1 2.0.2 2.0.3 2.1.0 2.1.1 2.2.0",
    "lark": "0.12.0 1.0.0 1.1.0 1.1.1 1.1.2 1.1.3 1.1.4 1.1.5 1.1.6 1.1.7 1.1.8 1.1.9 1.2.1 1.2.2 1.3.0 1.3.1",
    "click": "8.1.4 8.1.5 8.1.6 8.1.7 8.1.8 8.2.0 8.2.1 8.3.0 8.3.1 8.3.2 8.3.3 8.4.0 8.4.1 8.4.2 8.5.0 8.5.1",
    "wtforms": "2.2.1 2.3.0 2.3.1 2.3.2 2.3.3 3.0.0 3.0.1 3.1.0 3.1.1 3.1.2 3.2.0 3.2.1 3.2.2 3.3.0 3.3.1 3.3.2",
    "pyparsing": "3.0.9 3.1.0 3.1.1 3.1.2 3.1.3 3.1.4 3.2.0 3.2.1 3.2.2 3.2.3 3.2.4 3.2.5 3.3.0 3.3.1 3.3.2 3.3.3",
    "feedparser": "5.2.1 6.0.2 6.0.3 6.0.4 6.0.5 6.0.6 6.0.7 6.0.8 6.0.9 6.0.10 6.0.11 6.0.12 6.0.13 6.0.14",
    "hjson": "1.4.1 1.5.0 1.5.2 1.5.3 1.5.4 1.5.5 1.5.6 1.5.7 1.5.8 2.0.0 2.0.2 2.0.7 3.0.0 3.0.1 3.0.2 3.1.0",
    "fastjsonschema": "2.17.0 2.17.1 2.18.0 2.18.1 2.19.0 2.19.1 2.20.0 2.21.0 2.21.1 2.21.2 2.22.1 2.22.2 2.22.3",
    "portion": "2.1.3.post1 2.1.4 2.1.5 2.1.6 2.2.0 2.3.0 2.3.1 2.4.0 2.4.1 2.4.2 2.5.0 2.6.0 2.6.1 2.6.2 2.6.3",
    "bibtexparser": "0.6.0 0.6.1 0.6.2 1.0 1.0.1 1.1.0 1.2.0 1.3.0 1.4.0 1.4.1 1.4.2 1.4.3 1.4.4 2.0.0 2.0.1 2.1.0",
    "hyperlink": "17.1.0 17.1.1 17.2.0 17.2.1 17.3.0 17.3.1 18.0.0 19.0.0 20.0.0 20.0.1 21.0.0",
    "werkzeug": "3.0.1 3.0.2 3.0.3 3.0.4 3.0.5 3.0.6 3.1.0 3.1.1 3.1.2 3.1.3 3.1.4 3.1.5 3.1.6 3.1.7 3.1.8 3.1.9",
    "tldextract": "3.4.2 3.4.3 3.4.4 3.5.0 4.0.0 5.0.0 5.0.1 5.1.0 5.1.1 5.1.2 5.1.3 5.2.0 5.3.0 5.3.1 5.3.2 5.4.0",
}


@dataclass(frozen=True)
class Case:
    """`function` of the file at `path` is as in release `before`; all else is `package` at `version`."""

    package: str
    before: str
    version: str
    path: str
    function: str
    failing: int
    lines: int

    @property
    def name(self) -> str:
        return f"{self.package}-{self.version}/{self.path}:{self.function}"


def python() -> Path:
    """The interpreter of an environment with what the packages and their tests need."""
    folder = CACHE / "environment"
    if not folder.exists():
        CACHE.mkdir(exist_ok=True)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True, timeout=300)
        install = ("-m", "pip", "install", "-q", *NEEDS, *BACKENDS)
        subprocess.run((str(folder / "bin" / "python"), *install), check=True, timeout=900)
    return folder / "bin" / "python"


def unpacked(package: str, version: str) -> Path | None:
    """The tree of a source distribution; None if there is none."""
    folder = CACHE / "sdists" / f"{package}-{version}"
    if not folder.exists():
        folder.mkdir(parents=True)
        for more in (["--no-build-isolation"], []):  # the first is quicker where the environment has the backend
            if not any(folder.iterdir()):
                pip = (str(python()), "-m", "pip", "download", "-q", "--no-deps", "--no-binary", package, *more)
                wanted = ("-d", str(folder), f"{package}=={version}")
                subprocess.run((*pip, *wanted), timeout=300, capture_output=True, check=False)
        for archive in folder.glob("*.tar.gz"):
            with tarfile.open(archive) as opened:
                opened.extractall(folder, filter="data")
    return next((path for path in folder.iterdir() if path.is_dir()), None)


def laid_out(source: Path, top: Path) -> None:
    """Copy the tree to `top`, with a configuration of our own that leaves out the tests in `top/.unfit`."""
    shutil.copytree(source, top, symlinks=True)
    for name in ("tox.ini", "setup.cfg", "pytest.ini", ".pytest.ini", "pyproject.toml", "setup.py"):
        (top / name).unlink(missing_ok=True)
    names = [name for name in ("tests", "test", "testing") if (top / name).is_dir()]
    inner = [path.relative_to(top).as_posix() for path in top.glob("*/tests") if path.is_dir()]
    single = [path.name for path in (*top.glob("test*.py"), *top.glob("*_test.py"))]
    folders = json.dumps([*names, *inner, *single] or ["."])
    roots = json.dumps(["src", "."] if (top / "src").is_dir() else ["."])
    (top / "pyproject.toml").write_text(
        f"[tool.pytest.ini_options]\ntestpaths = {folders}\npythonpath = {roots}\n"
        f'python_files = ["test*.py", "*_test.py"]\naddopts = "-p no:doctest"\n',
        "utf-8",
    )


def sources(top: Path) -> Iterator[str]:
    """Yield the paths of the Python files that are not of the tests."""
    for path in sorted(top.rglob("*.py")):
        parts = path.relative_to(top).parts
        test = (
            parts[-1].startswith("test") or parts[-1].endswith("_test.py") or parts[-1] in ("conftest.py", "setup.py")
        )
        if not test and not {"tests", "test", "testing", "docs", "build", "examples", "benchmark"} & {*parts}:
            yield "/".join(parts)


def functions(text: str) -> dict[str, ast.FunctionDef]:
    """The outermost functions by their dotted names; those that are defined twice are left out."""
    found: dict[str, list[ast.FunctionDef]] = {}

    def visit(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.FunctionDef):
                found.setdefault(prefix + node.name, []).append(node)
            elif isinstance(node, ast.ClassDef):
                visit(node.body, f"{prefix}{node.name}.")

    visit(ast.parse(text).body, "")
    return {name: nodes[0] for name, nodes in found.items() if len(nodes) == 1}


def bare(node: ast.FunctionDef) -> str:
    """The function's body without docstring and annotations of variables."""
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    return "\n".join(ast.dump(stmt) for stmt in body)


def reverted(old: str, new: str) -> Iterator[tuple[str, str, int]]:
    """Yield (function, the text `new` with the function of the text `old`, number of lines that differ)."""
    before = functions(old)
    for name, node in functions(new).items():
        past = before.get(name)
        if past is None or bare(past) == bare(node) or _parameters(past) != _parameters(node):
            continue
        lines = new.splitlines(keepends=True)
        here, there = (_span(one) for one in (node, past))
        part = old.splitlines(keepends=True)[there[0] : there[1]]
        differ = difflib.unified_diff(lines[here[0] : here[1]], part, n=0)
        count = sum(line[0] in "+-" for line in differ) - 2
        yield name, "".join([*lines[: here[0]], *part, *lines[here[1] :]]), count


def _parameters(node: ast.FunctionDef) -> object:
    every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
    defaults = [*node.args.defaults, *node.args.kw_defaults]
    return [one and one.arg for one in every], [one and ast.dump(one) for one in defaults]


def _span(node: ast.FunctionDef) -> tuple[int, int]:
    """First line of the body (from 0) and its end: what stands before it is the new one's."""
    return node.body[0].lineno - 1, node.end_lineno or node.lineno


def looked_at() -> dict[tuple[str, str], list[Case]]:
    """The cases of all releases that were looked at."""
    if not CASES.exists():
        return {}
    rows = [json.loads(line) for line in CASES.read_text("utf-8").splitlines()]
    return {(row["package"], row["version"]): [Case(**case) for case in row["cases"]] for row in rows}


def find(package: str, before: str, version: str) -> tuple[list[Case], str]:
    """The cases of one release, and why there are none."""
    old, new = unpacked(package, before), unpacked(package, version)
    if old is None or new is None:
        return [], "no source distribution"
    edits = []
    for path in sources(new):
        if (old / path).exists():
            try:
                pair = [(tree / path).read_bytes().decode("utf-8") for tree in (old, new)]
                edits += [(count, path, name, text) for name, text, count in reverted(*pair)]
            except (SyntaxError, UnicodeDecodeError):
                continue
    if not 0 < len(edits) <= MOST_CHANGED:
        return [], f"{len(edits)} functions changed"
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder) / "tree"
        laid_out(new, top)
        return cases_in(top, sorted(edits)[:MOST_TRIED], package, before, version)


def cases_in(
    top: Path, edits: list[tuple[int, str, str, str]], package: str, before: str, version: str
) -> tuple[list[Case], str]:
    began = time.monotonic()
    base = reported(top, python())
    seconds = time.monotonic() - began
    passed = {name for name, word in base.items() if word == "PASSED"}
    if not passed or seconds > LONGEST:
        return [], f"{len(passed)} tests pass, {seconds:.1f} s"
    found = []
    for count, path, function, text in edits:
        with changed(top / path, text):
            seen = reported(top, python())
        failing = {name for name, word in seen.items() if word in ("FAILED", "ERROR")} & passed
        if seen.keys() >= passed and 0 < len(failing) <= MOST_FAILING:
            found.append(Case(package, before, version, path, function, len(failing), count))
    return found, f"{len(passed)} tests pass, {seconds:.1f} s, {len(edits)} functions tried"


def ready(case: Case, top: Path) -> str:
    """Lay the case out at `top`, in a repository of two commits; the original text of its file.

    The first commit is the release before, the second, a month later, is the case.
    """
    old, new = unpacked(case.package, case.before), unpacked(case.package, case.version)
    assert old is not None
    assert new is not None
    laid_out(old, top)
    only_commit(top)
    history = top.with_name(f"{top.name}.git")
    shutil.move(top / ".git", history)
    shutil.rmtree(top)
    laid_out(new, top)
    unfit = [name for name, word in reported(top, python()).items() if word not in ("PASSED", "SKIPPED", "XFAIL")]
    settings = top / "pyproject.toml"
    settings.write_text(deselecting(settings.read_text("utf-8"), unfit), "utf-8")
    original = (top / case.path).read_bytes().decode("utf-8")
    texts = reverted((old / case.path).read_bytes().decode("utf-8"), original)
    faulty = next(text for name, text, _ in texts if name == case.function)
    (top / case.path).write_bytes(faulty.encode())
    shutil.move(history, top / ".git")
    commit(top, (datetime.now(tz=timezone.utc) + timedelta(days=30)).isoformat())
    return original


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--slice", type=float, default=1e9, help="look at no release after so many seconds")
    args = parser.parse_args()
    until = time.monotonic() + args.slice
    words = args.only.split(",")
    for package, versions in VERSIONS.items():
        for before, version in pairwise(versions.split()):
            if time.monotonic() > until or not any(word in package for word in words):
                break
            if (package, version) not in looked_at():
                cases, note = find(package, before, version)
                with CASES.open("a", encoding="utf-8") as file:
                    row = {"package": package, "version": version, "cases": [asdict(case) for case in cases]}
                    file.write(json.dumps(row) + "\n")
                print(f"{package:18} {version:10} {len(cases):3} cases ({note})", flush=True)


if __name__ == "__main__":
    main()
