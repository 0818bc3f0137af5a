"""The names that protection goes by: reason -> patterns, all in lower case."""

from __future__ import annotations

import re

TEST_FOLDER = re.compile(
    r"tests?|__tests__|__snapshots__|testdata|.+[-_]tests?|test[-_](data|files|cases|suites?|resources|assets|fixtures)"
    r"|testsuites?|_?testing|test_?(utils?|helpers?|lib|support)"
)
TEST_FILE = (
    *("conftest.py", "test_*.py", "*_test.py", "tests.py"),
    *("testing.py", "_testing.py", "*_testing.py", "testutil.py", "testutils.py", "testhelper.py", "testhelpers.py"),
    *("testlib.py", "testsupport.py", "testcase.py", "testcases.py", "*_conftest.py", "conftest_*.py"),
)
DATA_FOLDER = re.compile(
    r"fixtures?|goldens?|snapshots?|cassettes?|expected([-_].+)?|(.+[-_])?(fixtures|snapshots|golden)"
)
"""Folders of what tests compare with; one that is a package (`__init__.py`) may be anything."""

NAMES = {
    "is lint or test configuration": (
        *("pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "tox.toml", "noxfile.py"),
        *("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", ".coveragerc", "codecov.yml", ".codecov.yml"),
        *("ruff.toml", ".ruff.toml", "mypy.ini", ".mypy.ini", "pyrightconfig.json", ".flake8", "pylintrc", ".pylintrc"),
        *(".bandit", ".isort.cfg", "radon.cfg", ".editorconfig", "makefile", "gnumakefile", "justfile", ".justfile"),
        *(
            "ty.toml",
            "pyrefly.toml",
            "basedpyright*.json",
            "zuban.toml",
            ".pyre_configuration*",
            "pytype.*",
            ".pytype.*",
        ),
        *("uv.toml", "pixi.toml", "hatch.toml", "hatch_build.py", "pdm.toml", ".pdm.toml", "poetry.toml", "dodo.py"),
        *(
            "taskfile*.y*ml",
            "mise.toml",
            ".mise.toml",
            ".tool-versions",
            ".python-version",
            ".importlinter",
            "tach.toml",
        ),
        *(
            ".pylintrc.toml",
            "pylintrc.toml",
            ".flake8.toml",
            ".coveragerc.toml",
            ".vulture*",
            "sonar-project.properties",
        ),
    ),
    "is a hook": (".pre-commit-*", "lefthook*.yml"),
    "is CI configuration": (
        *(".gitlab-ci.yml", ".travis.yml", ".drone.yml", ".cirrus.yml", "appveyor.yml", ".appveyor.yml"),
        *("jenkinsfile*", "azure-pipelines*", "bitbucket-pipelines.yml", "cloudbuild.y*ml"),
    ),
    "is a lock file": (
        *("*.lock", "pylock*.toml", "package-lock.json", "pnpm-lock.yaml", "conda-lock.yml"),
        *("pipfile", "requirements*.txt", "requirements*.in", "constraints*.txt", "environment.y*ml"),
    ),
    "runs at every start of Python": ("sitecustomize.py", "usercustomize.py", "*.pth"),
    "is git's own": (".git*",),
    "holds settings of this machine": (".env", ".env.*"),
    "is compiled": ("*.pyc", "*.pyo", "*.so", "*.pyd", "*.dll", "*.dylib"),
}

_FOLDERS = {
    "is git's own": (".git",),
    "is CI configuration": (".github", ".gitlab", ".circleci", ".ci", ".buildkite", ".azure-pipelines", ".woodpecker"),
    "is a hook": (".githooks", ".git-hooks", ".husky", ".hooks"),
    "runs at every start of Python": ("sitecustomize", "usercustomize"),
    "belongs to an environment": (
        *(".venv", "venv", "site-packages", "node_modules", ".tox", ".nox", "__pypackages__"),
    ),
    "is compiled": ("__pycache__",),
}
FOLDERS = {why: frozenset(names) for why, names in _FOLDERS.items()}
METADATA = ("*.egg-info", "*.dist-info")
"""Folders that say which plug-ins an installed package brings along."""

RUNNERS = frozenset({"pytest", "_pytest", "pluggy", "iniconfig", "coverage", "xdist", "hypothesis"})
"""Packages the verdict depends on."""
