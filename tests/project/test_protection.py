"""What a patch may not write: a table of attacks, and what must stay free."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from coderefine.config import Command, Config, load
from coderefine.project import Place, Protection
from tests.support.cases import every
from tests.support.repo import git, make_repo, write


@pytest.fixture
def top(tmp_path: Path) -> Path:
    write(
        tmp_path,
        {
            "src/pkg/core.py": "",
            "src/pkg/fixtures/__init__.py": "",
            "src/pkg/latest.py": "",
            "docs/conf.py": "",
            "setup.py": "",
        },
    )
    return tmp_path


def protection(top: Path, *globs: str, scope: tuple[str, ...] = (".",)) -> Protection:
    return Protection.of(Place(top, top, None, scope), Config(protect=globs))


def test_a_read_only_file_was_written_by_root(top: Path) -> None:
    (top / "src/pkg/core.py").chmod(0o444)
    assert "is read-only" in (protection(top).reason("src/pkg/core.py") or "")


FREE = [
    "src/pkg/core.py",
    "src/pkg/new.py",
    "src/pkg/new.pyi",
    "src/pkg/new/__init__.py",
    "src/pkg/latest.py",
    "src/pkg/contest.py",
    "src/pkg/tested.py",
    "src/pkg/fixtures/__init__.py",
    "src/pkg/fixtures/model.py",
    "src/pkg/expected.py",
    "src/pkg/baseline.py",
    "src/pkg/baseline/model.py",
    "src/pkg/tasks.py",
    "src/pkg/plugin.py",
    "src/pkg/random.py",
    "docs/conf.py",
    "README.md",
    "src/pkg/protest/x.py",
    "attest/core.py",
]
REFUSED = [
    ("tests/test_core.py", "is a test"),
    ("tests/data/golden.json", "is a test"),
    ("src/pkg/tests/test_x.py", "is a test"),
    ("src/pkg/test_x.py", "is a test"),
    ("src/pkg/x_test.py", "is a test"),
    ("unit_tests/helpers.py", "is a test"),
    ("t/mocks.py", "is a test"),
    ("src/testdata/a.txt", "is a test"),
    ("src/pkg/testing.py", "is a test"),
    ("src/pkg/_testing.py", "is a test"),
    ("src/pkg/_testing/asserters.py", "is a test"),
    ("src/pkg/testing/__init__.py", "is a test"),
    ("src/pkg/testutils.py", "is a test"),
    ("src/pkg/test_utils.py", "is a test"),
    ("src/pkg/conftest_shared.py", "is a test"),
    ("testsuite/case.py", "is a test"),
    ("fixtures/order.json", "is a test"),
    ("data/golden/out.txt", "is a test"),
    ("src/pkg/snapshots/a.txt", "is a test"),
    ("cassettes/get.yaml", "is a test"),
    ("doc/expected/report.html", "is a test"),
    ("pkg.egg-info/entry_points.txt", "metadata"),
    ("src/pkg-1.0.dist-info/entry_points.txt", "metadata"),
    ("ty.toml", "configuration"),
    ("pyrefly.toml", "configuration"),
    ("basedpyrightconfig.json", "configuration"),
    ("pyrightconfig.json", "configuration"),
    ("uv.toml", "configuration"),
    ("pixi.toml", "configuration"),
    ("hatch.toml", "configuration"),
    ("pdm.toml", "configuration"),
    (".python-version", "configuration"),
    (".basedpyright/baseline.json", "findings that are accepted"),
    ("mypy-baseline.txt", "findings that are accepted"),
    (".secrets.baseline", "findings that are accepted"),
    (".pydocstyle.ini", "configuration"),
    (".pep8", "configuration"),
    (".codespellrc", "configuration"),
    (".interrogaterc", "configuration"),
    (".yamllint.yaml", "configuration"),
    ("web/eslint.config.mjs", "configuration"),
    (".eslintrc.json", "configuration"),
    ("sgconfig.yml", "configuration"),
    ("__snapshots__/a.ambr", "is a test"),
    ("conftest.py", "is a test"),
    ("src/pkg/conftest.py", "is a test"),
    ("CONFTEST.py", "is a test"),
    ("Conftest.PY", "is a test"),
    ("ｃonftest.py", "is a test"),
    ("conf\u200dtest.py", "is a test"),
    ("conftest.py.", "is a test"),
    ("TESTS/x.py", "is a test"),
    ("pyproject.toml", "configuration"),
    ("setup.cfg", "configuration"),
    ("src/pkg/ruff.toml", "configuration"),
    (".ruff.toml", "configuration"),
    ("tox.ini", "configuration"),
    ("PyTest.ini", "configuration"),
    (".coveragerc", "configuration"),
    ("mypy.ini", "configuration"),
    ("noxfile.py", "configuration"),
    ("Makefile", "configuration"),
    (".pre-commit-config.yaml", "hook"),
    (".githooks/pre-commit", "hook"),
    (".husky/pre-push", "hook"),
    (".github/workflows/ci.yml", "CI"),
    (".gitlab-ci.yml", "CI"),
    (".ci/run", "CI"),
    ("Jenkinsfile", "CI"),
    ("uv.lock", "lock file"),
    ("requirements-dev.txt", "lock file"),
    ("Pipfile.lock", "lock file"),
    ("sitecustomize.py", "every start"),
    ("src/usercustomize.py", "every start"),
    ("sitecustomize/__init__.py", "every start"),
    ("src/evil.pth", "every start"),
    (".git/hooks/pre-commit", "git's own"),
    (".GIT/config", "git's own"),
    (".git /config", "git's own"),
    (".gitattributes", "git's own"),
    ("sub/.gitmodules", "git's own"),
    (".venv/lib/python3.11/site-packages/x.py", "environment"),
    ("src/pkg/__pycache__/core.cpython-311.pyc", "compiled"),
    ("src/pkg/core.so", "compiled"),
    ("../outside.py", "not a plain path"),
    ("src/../../outside.py", "not a plain path"),
    ("src/pkg/../../tests/test_core.py", "not a plain path"),
    ("./conftest.py", "not a plain path"),
    ("src//pkg/core.py", "not a plain path"),
    ("/etc/passwd", "not a plain path"),
    ("~/x.py", "not a plain path"),
    ("C:/x.py", "not a plain path"),
    ("src\\pkg\\..\\conftest.py", "not a plain path"),
    ("a\0b.py", "not a plain path"),
    ("", "not a plain path"),
    ("src/pkg", "is a folder"),
    ("pytest.py", "shadow the test runner"),
    ("src/pytest.py", "shadow the test runner"),
    ("_pytest/__init__.py", "shadow the test runner"),
    ("pluggy.py", "shadow the test runner"),
    ("random.py", "shadow the standard library"),
    ("src/json/__init__.py", "shadow the standard library"),
    ("src/pkg/core/__init__.py", "hide the module core"),
    ("src/pkg/core.pyi", "hide the module core from the type checker"),
    (".ignore", "configuration"),
    ("src/.gitignore", "configuration"),
    ("_typos.toml", "configuration"),
    (".trivyignore.yaml", "configuration"),
    ("vulture_whitelist.py", "configuration"),
    ("src/pkg/sub/pyvenv.cfg", "environment"),
    ("src/.ignore", "configuration"),
    ("src/pkg/dist/core.py", "a place that the linters do not read"),
    ("src/build/core.py", "a place that the linters do not read"),
    ("src/pkg/_build/core.py", "a place that the linters do not read"),
    ("src/pkg/.core/core.py", "a place that the linters do not read"),
    ("src/pkg/env/__init__.py", "a place that the linters do not read"),
]


@pytest.mark.parametrize("path", FREE)
def test_source_is_free(top: Path, path: str) -> None:
    assert protection(top).reason(path) is None


def test_product_code_is_a_file_that_exists_and_is_no_test(top: Path) -> None:
    write(top, {"src/pkg/test_core.py": "def test(): pass\n"})
    rules = protection(top)
    assert rules.is_product("src/pkg/core.py")
    assert not rules.is_product("src/pkg/test_core.py")
    assert not rules.is_product("src/pkg/missing.py")
    assert not rules.is_product("src/pkg")


@pytest.mark.parametrize(("path", "why"), REFUSED)
def test_attacks_are_refused_with_their_reason(top: Path, path: str, why: str) -> None:
    assert why in (protection(top).reason(path) or "nothing")


ROOTS = {
    "pytest.ini": "[pytest]\npythonpath = src . lib\n",
    "shop/__init__.py": "",
    "shop/price.py": "",
    "ns/old.py": "",
}
HIDING = [
    ("src/shop/__init__.py", "would hide the module shop"),
    ("src/shop/price.py", "would hide the module price"),
    ("lib/shop/price.py", "would hide the module price"),
    ("lib/shop.py", "would hide the module shop"),
    ("lib/shop/price/__init__.py", "would hide the module price"),
    ("pkg/core.py", "would hide the module core"),
    ("typings/shop/price.pyi", "would hide the module price from the type checker"),
    ("shop-stubs/price.pyi", "would hide the module price from the type checker"),
    ("shop-stubs/__init__.pyi", "would hide the module shop from the type checker"),
    ("src/shop/price.pyi", "would hide the module price from the type checker"),
    ("shop/__init__.pyi", "would hide the module shop from the type checker"),
]


@pytest.mark.parametrize(("path", "why"), every(5, HIDING))
def test_a_new_module_does_not_hide_one_below_another_import_root(top: Path, path: str, why: str) -> None:
    """A correct copy in src/ was tested, and the wrong module in the root stayed as it was."""
    write(top, ROOTS)
    assert why in (protection(top).reason(path) or "nothing")


@pytest.mark.parametrize(
    "path",
    [
        "src/shop2/price.py",
        "ns/__init__.py",
        "lib/ns/new.py",
        "shop/sub/price.py",
        "typings/yaml/price.pyi",
        "price.py",
    ],
)
def test_a_new_module_with_a_name_of_its_own_hides_nothing(top: Path, path: str) -> None:
    write(top, ROOTS)
    assert protection(top).reason(path) is None


UNREAD = {
    "pyproject.toml": "[tool.ruff]\nextend-exclude = ['legacy', 'src/gen/*.py', './old/']\n",
    "ruff.toml": "lint.exclude = ['legacy', 'src/gen/*.py', 'old']\n",
    ".ruff.toml": "[lint.per-file-ignores]\nlegacy = ['ALL']\n'src/gen/*.py' = ['ALL']\n'old/*' = ['ALL']\n",
}


@pytest.mark.parametrize("name", UNREAD)
def test_no_new_module_is_put_where_the_projects_linter_does_not_look(top: Path, name: str) -> None:
    write(top, {name: UNREAD[name], "src/gen/known.py": ""})
    rules = protection(top)
    for path in ("src/legacy/core.py", "src/gen/deep/core.py", "old/core.py"):
        assert "that the linters do not read" in (rules.reason(path) or "nothing"), path
    for path in ("src/gen/known.py", "src/gen/rates.csv", "src/legacy2/core.py", "src/pkg/legacy.py"):
        assert rules.reason(path) is None, path


@pytest.mark.parametrize("setting", ["extend-exclude = ['*/migrations/*', '*_pb2.py', 'docs']", ""])
@pytest.mark.parametrize(
    "path",
    ["app/migrations/0002_x.py", "docs/extension.py", "src/pkg/new_pb2.py", "src/build/_new.py", "gym/env/new.py"],
)
def test_a_new_module_beside_modules_of_its_kind_is_free(top: Path, setting: str, path: str) -> None:
    """A patch with a migration was refused, because ruff does not read migrations."""
    known = ("app/migrations/0001_x.py", "src/build/env.py", "gym/env/old.py", "src/pkg/old_pb2.py")
    write(top, {"ruff.toml": setting, **dict.fromkeys(known, "")})
    assert protection(top).reason(path) is None


def test_modules_of_another_kind_do_not_open_their_folder(top: Path) -> None:
    write(top, {"ruff.toml": "extend-exclude = ['*_pb2.py']\n", "build/lib/pkg/core.py": "", ".hidden/old.py": ""})
    for path in ("build/lib/pkg/new.py", ".hidden/new.py", "src/pkg/core_pb2.py"):
        assert "that the linters do not read" in (protection(top).reason(path) or "nothing"), path


@pytest.mark.parametrize("name", ["pyproject.toml", "ruff.toml"])
def test_an_own_list_of_excluded_folders_replaces_that_of_ruff(top: Path, name: str) -> None:
    """A new module in src/build was refused, which is a package there, and which ruff reads."""
    write(top, {name: f"{'[tool.ruff]' if name == 'pyproject.toml' else ''}\nexclude = ['vendored']\n"})
    rules = protection(top)
    assert rules.reason("src/build/new.py") is None
    for path in ("src/vendored/new.py", "src/.core/core.py"):
        assert "that the linters do not read" in (rules.reason(path) or "nothing"), path


@pytest.mark.parametrize(
    "text", ["exclude = 1", "exclude = [1]", "lint = 3", "[lint.per-file-ignores]\n'*' = 'ALL'", "["]
)
def test_odd_settings_of_ruff_do_not_crash(top: Path, text: str) -> None:
    write(top, {"ruff.toml": text})
    assert protection(top).reason("src/pkg/new.py") is None


def test_links_cannot_bypass_protection(top: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    away = tmp_path_factory.mktemp("away")
    (top / "src/out").symlink_to(away)
    (top / "src/alias.py").symlink_to(top / "tests")
    rules = protection(top)
    assert "symbolic link (src/out)" in (rules.reason("src/out/x.py") or "")
    assert "symbolic link" in (rules.reason("src/alias.py") or "")


def test_only_the_requested_scope_may_be_written(top: Path) -> None:
    rules = protection(top, scope=("src/pkg/core.py", "docs"))
    assert rules.reason("src/pkg/core.py") is None
    assert rules.reason("docs/new.py") is None
    assert "outside the requested scope" in (rules.reason("src/pkg/core.pyi") or "")
    assert "outside the requested scope" in (rules.reason("docs2/x.py") or "")


@pytest.mark.parametrize(
    ("glob", "path", "held"),
    [
        ("*.gen.py", "src/pkg/a.gen.py", True),
        ("docs/", "docs/deep/x.py", True),
        ("docs", "docs/x.py", True),
        ("src/**/core.py", "src/pkg/core.py", True),
        ("**/core.py", "core.py", True),
        ("src/pkg/core.py", "src/pkg/core.py", True),
        ("src/core.py", "src/pkg/core.py", False),
        ("docs", "src/docs.py", False),
    ],
)
def test_the_users_own_globs(top: Path, glob: str, path: str, held: bool) -> None:
    assert (protection(top, glob).reason(path) is not None) is held


@pytest.mark.parametrize(
    "files",
    [
        {"pytest.ini": "[pytest]\ntestpaths = checks\npython_files = spec_*.py\n"},
        {"pyproject.toml": '[tool.pytest.ini_options]\ntestpaths = ["checks"]\npython_files = "spec_*.py"\n'},
        {"pyproject.toml": '[tool.pytest]\ntestpaths = ["checks"]\npython_files = ["spec_*.py"]\n'},
        {"tox.ini": "[pytest]\ntestpaths = ./checks/\npython_files = spec_*.py\n"},
        {"setup.cfg": "[tool:pytest]\ntestpaths = checks\npython_files = spec_*.py x_*.py\n"},
    ],
)
def test_pytests_own_settings_determine_what_a_test_is(top: Path, files: dict[str, str]) -> None:
    write(top, files)
    rules = protection(top)
    assert rules.is_test("checks/data.txt")
    assert rules.is_test("src/spec_core.py")
    assert not rules.is_test("src/pkg/core.py")
    assert rules.is_test("src/conftest.py")


@pytest.mark.parametrize("text", ["[pytest]\ntestpaths = src .\npython_files = *.py\n", "[pytest\n", "\udcff"])
def test_odd_settings_neither_lock_the_source_nor_crash(top: Path, text: str) -> None:
    (top / "pytest.ini").write_text(text, "utf-8", "surrogateescape")
    assert protection(top).reason("src/pkg/core.py") is None


def test_a_project_kept_in_a_tests_folder_is_no_test(tmp_path: Path) -> None:
    write(tmp_path, {"tests/projects/one/core.py": ""})
    rules = Protection.of(Place(tmp_path, tmp_path / "tests/projects/one"), Config())
    assert rules.reason("tests/projects/one/core.py") is None
    assert rules.is_test("tests/projects/one/tests/x.py")
    assert rules.is_test("tests/other.py")


def test_gits_hooks_folder_is_protected(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "r", {"scripts/go.sh": "", "src/m.py": ""})
    git(top, "config", "core.hooksPath", "scripts")
    rules = Protection.of(Place(top, top, top / ".git"), Config())
    assert rules.reason("scripts/go.sh") == "scripts/go.sh is a hook"
    assert rules.reason("src/m.py") is None


def test_settings_of_pytest_inside_tests_do_not_free_the_tests(tmp_path: Path) -> None:
    write(tmp_path, {"tests/pytest.ini": "[pytest]\n", "tests/helpers.py": "", "tests/src/data.py": ""})
    held = protection_in(tmp_path, "tests")
    assert "is a test" in str(held.reason("tests/helpers.py"))
    assert "is a test" in str(held.reason("tests/src/data.py"))


def test_settings_of_pytest_inside_deeper_tests_do_not_free_them(tmp_path: Path) -> None:
    write(tmp_path, {"pkg/tests/pytest.ini": "[pytest]\n", "pkg/tests/helpers.py": ""})
    assert "is a test" in str(protection_in(tmp_path, "pkg/tests").reason("pkg/tests/helpers.py"))


def test_files_of_a_submodule_are_left_to_its_own_repository(tmp_path: Path) -> None:
    write(
        tmp_path, {"vendor/lib/.git": "gitdir: ../../.git/modules/lib\n", "vendor/lib/core.py": "", "vendor/a.py": ""}
    )
    held = protection(tmp_path)
    assert "another repository (vendor/lib)" in str(held.reason("vendor/lib/core.py"))
    assert held.reason("vendor/a.py") is None


def protection_in(top: Path, prefix: str) -> Protection:
    return Protection.of(Place(top, top / prefix, None, (prefix,)), Config())


PLUGGED = {
    "pyproject.toml": '[project.entry-points.pytest11]\npkg = "pkg.plugin"\n',
    "poetry/pyproject.toml": '[tool.poetry.plugins.pytest11]\npkg = "pkg.plugin:Plugin"\n',
    "setup.cfg": "[options.entry_points]\nconsole_scripts =\n    p = pkg.core:main\npytest11 =\n    p = pkg.plugin\n",
    "setup.py": "setup(entry_points={'pytest11': ['pkg = pkg.plugin'], 'console_scripts': ['x = pkg.core:main']})\n",
    "pytest.ini": "[pytest]\naddopts = -q -p no:pkg.core -p pkg.plugin\n",
    "conftest.py": 'import pytest\n\npytest_plugins = ("pytester", "pkg.plugin")\n',
    "tests/conftest.py": 'pytest_plugins: list = ["pkg.plugin"]\n',
}


@pytest.mark.parametrize("where", PLUGGED)
def test_a_module_that_pytest_loads_as_a_plug_in_is_part_of_the_tests(tmp_path: Path, where: str) -> None:
    top = tmp_path / "poetry" if where.startswith("poetry") else tmp_path
    write(tmp_path, {where: PLUGGED[where]})
    write(top, {"src/pkg/plugin.py": "", "src/pkg/core.py": ""})
    assert "is a plug-in that pytest loads" in (protection(top).reason("src/pkg/plugin.py") or "")
    assert protection(top).reason("src/pkg/core.py") is None


def test_a_script_that_is_a_gate_is_protected_and_its_input_is_not(tmp_path: Path) -> None:
    gate = '[[tool.coderefine.commands]]\nname = "own"\nrun = ["python", "tools/own.py", "src/a.py"]\n'
    write(tmp_path, {"pyproject.toml": gate})
    rules = Protection.of(Place(tmp_path, tmp_path), load(tmp_path, {}))
    assert rules.reason("tools/own.py") is not None
    assert rules.reason("src/a.py") is None


CHECK = "tools/check.py"
GATES = [
    (["python", CHECK], CHECK),
    (["python", "-m", "tools.check"], CHECK),
    (["python", "-Im", "tools.check"], CHECK),
    (["python", "-mtools.check"], CHECK),
    (["python", "-m", "tools.check"], "tools/__init__.py"),
    (["python", "-m", "tools.check"], "tools.py"),
    (["python", "-m", "tools"], "tools/__main__.py"),
    (["python", "tools"], "tools/__main__.py"),
    (["./lint"], "lint"),
    (["./lint"], CHECK),
    (["./alias"], CHECK),
    (["bash", "lint"], "lint"),
    (["uv", "run", CHECK], CHECK),
    (["uv", "run", "--with", "mypy", CHECK], CHECK),
    (["uv", "run", "-m", "tools.check"], CHECK),
    (["poetry", "run", "python", CHECK], CHECK),
    (["python", "-X", "dev", CHECK], CHECK),
    (["python", "-W", "error", f"./{CHECK}"], CHECK),
    (["env", "python", CHECK], CHECK),
    (["env", "-C", "tools", "python", "check.py"], CHECK),
    (["env", "-C", "tools", "python", "-m", "check"], CHECK),
    (["timeout", "60", "python", CHECK], CHECK),
    (["coverage", "run", "-m", "tools.check"], CHECK),
    (["bash", "-c", f"python {CHECK}"], CHECK),
    (["bash", "-c", 'cd "$HERE/tools" && python check.py src'], CHECK),
    (["bash", "-c", f"mypy src $(python {CHECK} --list)"], CHECK),
    (["bash", "-c", f"mypy src/pkg/core.py; python $PWD/{CHECK}|cat"], CHECK),
    (["sh", "-c", f"exec ${{PWD}}/{CHECK}"], CHECK),
    (["python", "-c", "import tools.check; tools.check.main()"], CHECK),
    (["python", "-c", "from tools import other, check\ncheck.main()"], CHECK),
    (["python", "-c", f"import runpy; runpy.run_path('{CHECK}')"], CHECK),
    (["python", "TOP/tools/check.py"], CHECK),
    (["uv", "run", "shop-check"], CHECK),
    (["shop-check", "src"], CHECK),
    (["old-check"], CHECK),
    (["inv", "lint"], "tasks.py"),
    (["python", "tools/run.py", CHECK], CHECK),
    (["my-checker", "src/pkg/core.py"], "src/pkg/core.py"),
    (["mypy", "--config-file", "tools/strict.cfg", "src"], "tools/strict.cfg"),
    (["pylint", "--load-plugins=tools.check", "src"], CHECK),
    (["python", "-m", "mypy", "src"], "mypy.py"),
    (["python", "-m", "pkg.core", "--check"], "src/pkg/core.py"),
    (["pyright", "-p", "tools/strict.json"], "tools/strict.json"),
    (["isort", "--settings-path", "tools/isort.cfg", "-c", "src"], "tools/isort.cfg"),
    (["bandit", "-b", "tools/known.json", "-r", "src"], "tools/known.json"),
    (["mypy", "@tools/mypy.args"], "tools/mypy.args"),
    (["semgrep", "--config", "rules.yml", "src"], "rules.yml"),
    (["pylint", "--rcfile", "pylint_settings", "src"], "pylint_settings"),
    (["uv", "run", "--with", "mypy", "my-checker", CHECK], CHECK),
    (["env", "MODE=x", "my-checker", CHECK], CHECK),
    (["pytest", "checks/order.py"], "checks/order.py"),
    (["my-checker", "--cov", "src", CHECK], CHECK),
]
"""Commands of gates, and a file of which each of them runs or reads what decides."""


def gate(top: Path, run: list[str]) -> Protection:
    words = ", ".join(json.dumps(word.replace("TOP", top.as_posix())) for word in run)
    commands = f'[[tool.coderefine.commands]]\nname = "own"\nrun = [{words}]\n'
    scripts = '[project.scripts]\nshop-check = "tools.check:main"\n'
    setup = "[options.entry_points]\nconsole_scripts =\n    old-check = tools.check:main\n"
    write(top, {"pyproject.toml": scripts + commands, "setup.cfg": setup, "lint": f"#!/bin/sh\nexec python {CHECK}\n"})
    write(top, {CHECK: "", "tools/strict.cfg": "", "tasks.py": "", "src/pkg/__main__.py": ""})
    (top / "alias").symlink_to(CHECK)
    return Protection.of(Place(top, top), load(top, {}))


@pytest.mark.parametrize(("run", "path"), GATES, ids=str)
def test_no_patch_changes_the_program_of_a_gate(top: Path, run: list[str], path: str) -> None:
    who = "lint, which the command of the gate 'own' runs" if "lint" in run[-1] and path == CHECK else None
    who = who or "the command of the gate 'own'"
    assert gate(top, run).reason(path) == f"{path} is named by {who}: no patch may change it"


@pytest.mark.parametrize(
    ("run", "path"),
    [
        (["mypy", "src/pkg/core.py"], "src/pkg/core.py"),
        (["mypy", "--strict", "src"], "src/pkg/core.py"),
        (["mypy", "-p", "pkg"], "src/pkg/__init__.py"),
        (["uv", "run", "ruff", "check", "src/pkg/core.py"], "src/pkg/core.py"),
        (["python3", "-m", "pylint", "src/pkg/core.py"], "src/pkg/core.py"),
        (["python", "-m", "pkg", "--check"], "src/pkg/core.py"),
        (["python", "-c", "import pkg; pkg.check()"], "src/pkg/core.py"),
        (["vulture", "src"], "src/pkg/core.py"),
        (["python", "core.py"], "src/pkg/core.py"),
        (["bash", "-c", "set -e; mypy src/pkg/core.py && ruff check src"], "src/pkg/core.py"),
        (["my-checker", "."], "src/pkg/core.py"),
        (["./lint", "src"], "src/pkg/core.py"),
        (["sh", "-c", "echo src/pkg/core.py:1: no; exit 1"], "src/pkg/core.py"),
        (["./lint"], "src/pkg/splint"),
        (["mypy", "--config-file=mypy.ini", "src/pkg/core.py"], "src/pkg/core.py"),
        (["isort", "-c", "src/pkg/core.py"], "src/pkg/core.py"),
        (["env", "MYPYPATH=stubs", "mypy", "src/pkg/core.py"], "src/pkg/core.py"),
        (["timeout", "60", "nice", "-n", "5", "mypy", "src/pkg/core.py"], "src/pkg/core.py"),
        (["uv", "run", "--with", "mypy", "mypy", "src/pkg/core.py"], "src/pkg/core.py"),
        (["python", "-I", "-W", "ignore", "-m", "mypy", "src/pkg/core.py"], "src/pkg/core.py"),
        (["bash", "-c", "if ! mypy 'src/pkg/core.py'; then exit 1; fi"], "src/pkg/core.py"),
        (["bash", "-c", "time MYPYPATH=lib/stubs mypy src/pkg/core.py"], "src/pkg/core.py"),
        (["vulture", "src/pkg/core.py"], "src/pkg/core.py"),
        (["sh", "-c", "! grep -n TODO src/pkg/core.py"], "src/pkg/core.py"),
        (["mypy", "-m", "pkg.core"], "src/pkg/core.py"),
        (["python", "-m", "doctest", "src/pkg/core.py"], "src/pkg/core.py"),
        (["pytest", "--doctest-modules", "src/pkg/core.py"], "src/pkg/core.py"),
        (["pytest", "--cov=pkg.core"], "src/pkg/core.py"),
        (["coverage", "report", "--include", "src/pkg/core.py"], "src/pkg/core.py"),
        (["ruff", "check", "--per-file-ignores=src/pkg/core.py:E501", "src"], "src/pkg/core.py"),
        (["mutmut", "run", "--paths-to-mutate", "src/pkg/core.py"], "src/pkg/core.py"),
        (["python", "check.py", "order.py"], "order.py"),
        (["python", "-u", "tools/check.py", "src/pkg/core.py"], "src/pkg/core.py"),
    ],
    ids=str,
)
def test_a_gate_leaves_the_code_that_it_checks_free(top: Path, run: list[str], path: str) -> None:
    assert gate(top, run).reason(path) is None


def test_no_patch_changes_the_data_that_the_program_of_a_gate_reads(top: Path) -> None:
    """A forbidden word was removed from the list of words, which cleared the finding."""
    text = 'from pkg import core\n\nWORDS = Path(__file__).with_name("words.json")\nSAYS = "See shop. Or core.py"\n'
    write(top, {CHECK: text, "tools/words.json": "[]", "tools/other.json": "[]"})
    write(top, {"pyproject.toml": f'[[tool.coderefine.commands]]\nname = "own"\nrun = ["python", "{CHECK}"]\n'})
    rules = Protection.of(Place(top, top), load(top, {}))
    assert "named by tools/check.py, which the command of the gate" in (rules.reason("tools/words.json") or "")
    assert [rules.reason(path) for path in ("tools/other.json", "src/pkg/core.py", "words.py")] == [None] * 3


SCRIPTS = [
    ("# src/pkg/core.py has no docstring yet\nmypy src", "src/pkg/core.py"),
    ("mypy src  # we import pkg.core", "src/pkg/core.py"),
    ("echo 'we import pkg.core; and run src/pkg/core.py'\nmypy src", "src/pkg/core.py"),
    ('test -s x || { printf "%s: from pkg import core\\n" "$0"; exit 1; }', "src/pkg/core.py"),
]


@pytest.mark.parametrize(("text", "path"), SCRIPTS)
def test_prose_in_a_shell_script_names_no_file(top: Path, text: str, path: str) -> None:
    write(top, {"own.sh": f"#!/bin/sh\n{text}\n"})
    assert gate(top, ["./own.sh"]).reason(path) is None


@pytest.mark.parametrize(
    "text", [f"echo {CHECK} | xargs python", f'echo "$(python {CHECK})"', f"echo # no\npython {CHECK} # yes"]
)
def test_what_a_shell_script_prints_into_a_command_is_named(top: Path, text: str) -> None:
    write(top, {"own.sh": f"{text}\n"})
    why = "is named by own.sh, which the command of the gate 'own' runs: no patch may change it"
    assert gate(top, ["bash", "own.sh"]).reason(CHECK) == f"{CHECK} {why}"


@pytest.mark.parametrize(
    ("run", "folders"),
    [
        (["bash", "-c", "cd lib && python -m mypy order.py"], ("lib",)),
        (["env", "PYTHONPATH=lib", "python", "-m", "mypy", "src"], ("lib",)),
        (["python", CHECK, "src"], ("tools",)),
        (["mypy", "src"], ()),
    ],
    ids=str,
)
def test_folders_in_which_a_gate_imports_modules_are_known(top: Path, run: list[str], folders: tuple[str, ...]) -> None:
    """A new module there was imported in place of one that the gate's program needs."""
    write(top, {"lib/order.py": ""})
    assert gate(top, run).script_folders == folders


@pytest.mark.parametrize(
    "files",
    [
        {"scripts/own": f"python {CHECK}\n"},
        {"scripts/own": f"#!/bin/sh\n{'# as long as a licence' * 2000}\npython {CHECK}\n"},
        {"scripts/own": "zsh scripts/own.zsh\n", "scripts/own.zsh": f"python {CHECK}\n"},
        {"scripts/own": '#!/usr/bin/env bash\n. "$HERE/rules"\n', "scripts/rules": f"python {CHECK}\n"},
        {"scripts/own": "#!/bin/sh\ncd tools && ./more.sh\n", "tools/more.sh": "python check.py\n"},
    ],
)
def test_scripts_without_a_first_line_and_beside_a_script_are_read(top: Path, files: dict[str, str]) -> None:
    write(top, files)
    assert "the command of the gate 'own' runs" in (gate(top, ["sh", "scripts/own"]).reason(CHECK) or "nothing")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", '[tool.poetry.scripts]\nown = { reference = "tools.check:main", type = "console" }\n'),
        ("setup.py", 'setup(entry_points={"console_scripts": ["a[x]=b:c", "own = tools.check:main [x]"]})\n'),
        ("setup.cfg", "[options.entry_points]\nconsole_scripts =\n    a = b:c [x]\n    own = tools.check:main\n"),
    ],
)
def test_an_installed_script_is_known_from_its_table_and_after_extras(top: Path, name: str, text: str) -> None:
    write(top, {name: text})
    config = Config(commands=(Command("own", ("own",)),))
    assert Protection.of(Place(top, top), config).reason(CHECK) is not None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", '[tool.mypy]\nstrict = true\nplugins = ["pydantic.mypy", "tools/check.py"]\n'),
        ("mypy.ini", "[mypy]\nplugins =\n    other,\n    tools/check.py\n"),
        ("pyproject.toml", '[tool.pylint.main]\nload-plugins = [\n  "tools.check",\n]\n'),
        (".pylintrc", "[MAIN]\ninit-hook=import sys; sys.path.append('tools'); import check\n"),
        (".flake8", "[flake8]\nmax = 1\n[flake8:local-plugins]\nextension =\n  X1 = check:Rule\npaths = ./tools\n"),
        ("ruff.toml", 'line-length = 120\nextend = "tools/check.py"\n'),
        ("pyrightconfig.json", '{\n  "extends": "./tools/check.py"\n}\n'),
    ],
)
def test_no_patch_changes_a_plug_in_of_a_checker(top: Path, name: str, text: str) -> None:
    write(top, {CHECK: "", name: text})
    assert protection(top).reason(CHECK) == f"{CHECK} is named by {name}: no patch may change it"
    assert protection(top).reason("src/pkg/core.py") is None


OWN_HOOK = (
    "repos:\n- repo: local\n  hooks:\n  - id: own\n    entry: python tools/check.py\n  - id: b\n    entry: python\n"
)
RECIPES = [
    (["make", "own"], "Makefile", "own: more\n\nmore:\n\t@python tools/check.py\n\nrun:\n\tpython -m pkg.core\n"),
    (["just", "own"], "justfile", "own *args:\n  python tools/check.py\n\nrun:\n  python -m pkg.core\n"),
    (["tox", "-e", "own"], "tox.ini", "[testenv:own]\ncommands = python tools/check.py\n[testenv:b]\ndeps = x\n"),
    (
        ["nox", "-s", "own"],
        "noxfile.py",
        "def own(s):\n    s.run('python', '-m', 'tools.check')\n\n\ndef b(s):\n    pass\n",
    ),
    (["pre-commit", "run", "own", "--all-files"], ".pre-commit-config.yaml", OWN_HOOK),
    (["npm", "run", "own"], "package.json", '{"scripts": {"own": "python tools/check.py", "b": "python -m pkg.core"}}'),
    (
        ["uv", "run", "poe", "own"],
        "pyproject.toml",
        '[tool.poe.tasks]\nown = ["more"]\nmore.cmd = "python tools/check.py"\n',
    ),
    (
        ["pdm", "run", "own"],
        "pyproject.toml",
        '[tool.pdm.scripts]\nown = "python tools/check.py"\nb = "python -m pkg.core"\n',
    ),
    (["hatch", "run", "own"], "pyproject.toml", '[tool.hatch.envs.default.scripts]\nown = "python tools/check.py"\n'),
    (["task", "own"], "pyproject.toml", '[tool.taskipy.tasks]\nown = "python tools/check.py"\n'),
]


@pytest.mark.parametrize(("run", "name", "text"), RECIPES, ids=str)
def test_what_the_recipe_of_a_task_runner_runs_is_named(top: Path, run: list[str], name: str, text: str) -> None:
    for code in (CHECK, "src/pkg/core.py"):
        write(top, {name: text.replace("python tools", "mypy src/pkg/core.py && python tools")})
        rules = Protection.of(Place(top, top), Config(commands=(Command("own", tuple(run)),)))
        assert (f"is named by {name}" in (rules.reason(code) or "")) is (code == CHECK)


@pytest.mark.parametrize("text", ["", "{", "[]", "own:", "[tool]\npoe = 1\nown: own", "\0"])
@pytest.mark.parametrize("name", sorted({name for _, name, _ in RECIPES}))
def test_odd_files_of_task_runners_do_not_crash(top: Path, name: str, text: str) -> None:
    write(top, {name: text})
    gates = tuple(Command(run[0], tuple(run)) for run, _, _ in RECIPES)
    assert Protection.of(Place(top, top), Config(commands=gates)).reason("src/pkg/core.py") is None


RULES = "# Rule: every module must have a docstring and be short.\n"


@pytest.mark.parametrize("text", [RULES * 8, RULES * 300, "a" * 10_000], ids=["text", "script", "word"])
@pytest.mark.parametrize("is_script", [True, False])
def test_a_long_text_in_a_command_or_script_is_no_file(top: Path, text: str, is_script: bool) -> None:
    """The run ended with "File name too long"."""
    text += f"\npython {CHECK}"
    write(top, {"long.sh": f"#!/bin/sh\n{text}\n"})
    rules = gate(top, ["./long.sh"] if is_script else ["bash", "-c", text])
    assert "tools" in rules.script_folders
    assert rules.reason(CHECK) is not None


def test_a_script_with_many_words_and_folders_is_read_fast(top: Path) -> None:
    """It took 45 s: each word was looked for in each folder."""
    folders = [f"d{number}" for number in range(40)]
    write(top, dict.fromkeys((f"{folder}/x" for folder in folders), ""))
    words = " ".join(f"w{number}" for number in range(1900))
    write(top, {"many.sh": f"#!/bin/sh\npython {CHECK} {' '.join(folders)}\n{words}\n"})
    start = time.process_time()
    assert gate(top, ["./many.sh", "a" * 30_000]).reason(f"d3/{CHECK}") is not None
    assert time.process_time() - start < 5


def test_a_pipe_in_a_command_is_not_read(top: Path) -> None:
    """It was opened as if it were a script, and the run waited for ever."""
    os.mkfifo(top / "out.pipe")
    assert gate(top, ["sh", "-c", f"python {CHECK} > out.pipe"]).reason(CHECK) is not None


def test_a_file_that_the_task_asks_for_may_be_written_although_its_command_names_it(top: Path) -> None:
    own = Command("own", ("python", "tools/new.py", "tools/old.py"))
    config = Config(commands=(own,), wanted=("tools/new.py",))
    rules = Protection.of(Place(top, top), config)
    assert rules.reason("tools/new.py") is None
    assert rules.reason("tools/old.py") is not None


def test_the_program_of_a_gate_in_a_project_below_the_top(tmp_path: Path) -> None:
    text = '[[tool.coderefine.commands]]\nname = "own"\nrun = ["uv", "run", "tools/check.py"]\n'
    write(tmp_path, {"lib/pyproject.toml": text, "lib/tools/check.py": "", "lib/a.py": ""})
    rules = Protection.of(Place(tmp_path, tmp_path / "lib"), load(tmp_path / "lib", {}))
    assert "the gate 'own'" in str(rules.reason("lib/tools/check.py"))
    assert rules.reason("lib/a.py") is None
    assert rules.script_folders == ("lib/tools",)


STUDENT = "def statistic(a, b):\n    return a - b\n"


@pytest.mark.parametrize(
    ("path", "text", "testpaths", "is_test"),
    [
        ("stats/t_test.py", STUDENT, '["tests"]', False),
        ("clinic/test_results.py", STUDENT, '["tests"]', False),
        ("stats/t_test.py", STUDENT, "[]", True),
        ("stats/t_test.py", STUDENT, '["stats"]', True),
        ("stats/t_test.py", STUDENT, '["."]', True),
        ("stats/t_test.py", STUDENT + "\n\ndef test_a():\n    pass\n", '["tests"]', True),
        ("stats/t_test.py", "from unittest import TestCase\n\n\nclass A(TestCase):\n    x = 1\n", '["tests"]', True),
        ("stats/t_test.py", "def check(one):\n    assert one\n", '["tests"]', True),
        ("stats/tests/t_test.py", STUDENT, '["tests"]', True),
        ("stats/conftest.py", STUDENT, '["tests"]', True),
        ("stats/new_test.py", "", '["tests"]', False),
    ],
)
def test_a_module_that_is_only_named_like_tests_is_none(
    tmp_path: Path, path: str, text: str, testpaths: str, is_test: bool
) -> None:
    """A repair of Student's t-test was refused as a patch that weakens tests."""
    settings = f"[tool.pytest.ini_options]\ntestpaths = {testpaths}\n"
    module = Path(path).stem
    write(tmp_path, {path: text, "pyproject.toml": settings, "app.py": f"from stats.tests import other, {module}\n"})
    assert protection(tmp_path).is_test(path) is is_test
    assert protection(tmp_path).is_test("stats/absent_test.py")


@pytest.mark.parametrize("importing", ["tests/test_a.py", "clinic/other_test.py", "notes.txt", ""])
def test_a_module_named_like_tests_that_no_program_imports_serves_tests(tmp_path: Path, importing: str) -> None:
    """A patch changed the expected values in `app/test_data.py`, and Django's settings for tests, and was proved."""
    settings = '[tool.pytest.ini_options]\ntestpaths = ["tests"]\n'
    files = {"clinic/test_data.py": "EXPECTED = {'one': 2}\n", "pyproject.toml": settings}
    write(tmp_path, {**files, **({importing: "from clinic import test_data\n"} if importing else {})})
    assert protection(tmp_path).is_test("clinic/test_data.py")


DATA = "cases/price.json"
READING = f"OPENED = open({DATA!r})\n"


@pytest.mark.parametrize(
    ("files", "path", "held"),
    [
        ({"tests/test_price.py": READING}, DATA, True),
        ({"tests/test_price.py": READING, "price.py": READING}, DATA, False),
        ({"tests/test_price.py": READING, "price.py": "FOLDER = 'cases'\n"}, DATA, False),
        ({"tests/test_price.py": READING, "cases/__init__.py": ""}, DATA, False),
        ({}, DATA, False),
        ({"README.md": ">>> 1\n1\n", "pytest.ini": "[pytest]\naddopts = --doctest-glob=*.md\n"}, "README.md", True),
        ({"README.md": "One.\n", "pytest.ini": "[pytest]\naddopts = --doctest-glob=*.md\n"}, "README.md", False),
        ({"README.md": ">>> 1\n1\n"}, "README.md", False),
        (
            {"README.md": ">>> 1\n1\n", "pytest.ini": "[pytest]\naddopts = --doctest-glob=README.md\n"},
            "README.md",
            True,
        ),
        ({"tests/test_price.py": "open('a.json')\n", "a.json": "[]"}, "a.json", True),
        ({"tests/test_price.py": "open('a.json')\n", "a.json": "[]", "b.py": "open(f'{n}.json')\n"}, "a.json", False),
    ],
)
def test_what_only_tests_read_is_test_data_wherever_it_is(
    tmp_path: Path, files: dict[str, str], path: str, held: bool
) -> None:
    """The expected result in a data file, or in an example of the README, was changed to that of the faulty code."""
    write(tmp_path, {DATA: "[]", "README.md": "", **files})
    assert protection(tmp_path).is_test(path) == held
