"""The whole way: a pull request in a real repository, the real command, a GitHub on loopback."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from coderefine.git.patch_format import mail
from coderefine.publishers.hosts import bundle
from tests.conftest import seal
from tests.support.cases import every
from tests.support.command import GREEN, LINT, ORDER, TESTS, Ended, coderefine
from tests.support.github_fake import Fake, served
from tests.support.repo import git, make_repo, write

HELLO = 'def hello():\n    return "hi"\n'


@pytest.fixture(scope="module")
def proved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the repository `r` of a pull request that adds a faulty module, an unused import, a renamed, a
    deleted and a binary file, and with `out`, what the first stage wrote of it."""
    folder = tmp_path_factory.mktemp("proved")
    files = {"pyproject.toml": '[project]\nname = "x"\n', "old.py": HELLO, "gone.py": HELLO}
    with pytest.MonkeyPatch.context() as patch:
        seal(tmp_path_factory.mktemp("home"), patch)
        top = make_repo(folder / "r", files)
        git(top, "checkout", "-q", "-b", "topic")
        git(top, "mv", "old.py", "new.py")
        git(top, "rm", "-q", "gone.py")
        write(top, {"order.py": ORDER, "test_order.py": TESTS, "data.bin": b"\0\1\2"})
        git(top, "add", "-A")
        git(top, "commit", "-q", "-m", "topic")
        with served(Fake(top, git(top, "rev-parse", "main"))) as fake:
            assert suggest(fake, "--out", str(folder / "out"), token="").code == 0
            assert fake.log == []
    return folder


@pytest.fixture
def pull(proved: Path, tmp_path: Path) -> Iterator[Fake]:
    """The pull request, in a repository of the test's own."""
    top = Path(shutil.copytree(proved / "r", tmp_path / "r", symlinks=True))
    with served(Fake(top, git(top, "rev-parse", "main"))) as fake:
        yield fake


def suggest(fake: Fake, *args: str, token: str = "t", host: str = "github") -> Ended:
    env = {"GITHUB_TOKEN": token, "GITHUB_API_URL": fake.url, "GITHUB_WRITE_PACE": "0"}
    where = ("--repo", "o/r", "--pull", "1") if token else ()
    return coderefine("suggest", "--base", fake.base, "--no-model", *where, *args, cwd=fake.top, env=env)


def green(top: Path) -> bool:
    return (
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"], cwd=top, check=False
        ).returncode
        == 0
    )


@pytest.mark.thorough
def test_a_suggestion_a_summary_a_check_run_and_nothing_twice(pull: Fake) -> None:
    result = suggest(pull)
    assert result.code == 0, result.err
    (comment,) = pull.comments
    assert "repairs test_order.py::test_" in comment["body"]
    assert comment["path"] == "order.py"
    (note,) = pull.notes
    assert "git apply <<" in note["body"]
    assert len(pull.runs) == 1
    before = len(pull.writes)
    suggest(pull)
    assert len(pull.writes) == before, pull.writes[before:]


@pytest.mark.thorough
def test_accepted_suggestions_are_removed(pull: Fake) -> None:
    suggest(pull)
    (comment,) = pull.comments
    pull.accept(comment)
    assert green(pull.top)
    git(pull.top, "commit", "-qam", "accepted")
    assert suggest(pull).code == 0
    assert pull.comments == []
    assert pull.notes == []
    assert not [one for one in pull.log if one[2] == 422]


def test_suggestions_are_proved_by_all_tests(proved: Path, tmp_path: Path) -> None:
    """`fast-proof` is ignored, because what is posted is not reviewed."""
    top = Path(shutil.copytree(proved / "r", tmp_path / "r", symlinks=True))
    write(top, {"pyproject.toml": "[tool.coderefine]\nfast-proof = true\nsearch = false\n"})
    write(
        top,
        {"order.py": LINT, "test_new.py": "from new import hello\n\n\ndef test_hi():\n    assert hello() == 'hi'\n"},
    )
    git(top, "add", "-A")
    git(top, "commit", "-qm", "untidy")
    result = coderefine("suggest", "--base", git(top, "rev-parse", "main"), "--no-model", "--no-post", cwd=top)
    assert "0 tests flipped, 3 kept" in result.out, result
    assert "proved by" not in result.out


@pytest.mark.thorough
def test_the_one_command_of_the_summary_applies_all(pull: Fake) -> None:
    suggest(pull)
    body = pull.notes[0]["body"]
    command = body.split("```sh\n", 1)[1].split("\n```", 1)[0]
    subprocess.run(["sh", "-c", command], cwd=pull.top, check=True)
    assert green(pull.top)
    assert (pull.top / "order.py").read_text() == GREEN


def test_the_artifact_of_one_run_is_posted_by_another(proved: Path, pull: Fake, tmp_path: Path) -> None:
    out = proved / "out"
    elsewhere = tmp_path / "empty"
    elsewhere.mkdir()
    env = {"GITHUB_TOKEN": "t", "GITHUB_API_URL": pull.url, "GITHUB_WRITE_PACE": "0"}
    result = coderefine("suggest", "--from", str(out), "--repo", "o/r", "--pull", "1", cwd=elsewhere, env=env)
    assert result.code == 0, result.err
    assert len(pull.comments) == 1
    assert "its author controls" in pull.notes[0]["body"]
    git(pull.top, "am", "-q", str(out / "coderefine.patch"))
    assert green(pull.top)


def test_existing_comments_are_not_posted_again(proved: Path, pull: Fake, tmp_path: Path) -> None:
    env = {"GITHUB_TOKEN": "t", "GITHUB_API_URL": pull.url, "GITHUB_WRITE_PACE": "0"}
    post = ("suggest", "--from", str(proved / "out"), "--repo", "o/r", "--pull", "1")
    assert coderefine(*post, cwd=tmp_path, env=env).code == 0
    before = len(pull.writes)
    assert before
    assert coderefine(*post, cwd=tmp_path, env=env).code == 0
    assert len(pull.writes) == before, pull.writes[before:]


GH = """#!/bin/sh
into=$PWD
for word; do [ "$last" = -D ] && into=$word; last=$word; done
cd {archive} && find . -type f | while read -r file; do
    [ -e "$into/$file" ] && echo "error extracting: file exists" >&2 && exit 1
    mkdir -p "$into/${{file%/*}}" && cp "$file" "$into/$file" || exit 1
done
"""
"""`gh run download` as its source code has it: each entry is created below the working folder, or that of -D."""


def test_the_posted_command_leaves_only_the_patch_of_an_artifact_in_the_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All files of the artifact, also a hook of git, were unpacked into the user's checkout."""
    top = make_repo(tmp_path / "r", {"a.py": "x = 1\n"})
    write(top, {"a.py": "".join(f"a_number_with_a_name_{n} = {n}\n" for n in range(2000))})
    diff = git(top, "diff") + "\n"
    git(top, "checkout", "-q", "a.py")
    head, out = git(top, "rev-parse", "HEAD"), tmp_path / "artifact"
    hostile = {"conftest.py": "raise SystemExit\n", ".git/hooks/post-checkout": "#!/bin/sh\ntouch owned\n"}
    write(out, {**hostile, bundle.NAME: bundle.dump(bundle.Bundle(head, head, "sum", "proof", diff, True))})
    text = mail(author="A <a@b>", subject="s", body="b", stat=" a.py | 2 +-", diff=diff.encode(), when=0.0)
    (out / bundle.PATCH).write_bytes(text)
    write(tmp_path, {"bin/gh": GH.format(archive=out)})
    (tmp_path / "bin/gh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    with served(Fake(top, head)) as fake:
        env = {"GITHUB_TOKEN": "t", "GITHUB_API_URL": fake.url, "GITHUB_WRITE_PACE": "0", "GITHUB_RUN_ID": "5"}
        env["GITHUB_SERVER_URL"] = "https://github.acme.example"
        post = ("suggest", "--from", str(out), "--repo", "o/r", "--pull", "1")
        assert coderefine(*post, cwd=tmp_path, env=env).code == 0
        command = fake.notes[0]["body"].split("```sh\n", 1)[1].split("\n```", 1)[0]
    for _ in range(2):
        subprocess.run(["sh", "-c", command], cwd=top, check=True)
        assert git(top, "status", "--porcelain") == "M a.py"
        assert not (top / ".git/hooks/post-checkout").exists()
        git(top, "checkout", "-q", "a.py")
    assert "gh run download 5 -R github.acme.example/o/r -n coderefine" in command


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository whose branch `good` repairs a failing test, and whose branch `bad` also brings a lint finding."""
    top = make_repo(tmp_path_factory.mktemp("judged") / "r", {"order.py": ORDER, "test_order.py": TESTS})
    for branch, text in (("good", GREEN), ("bad", f"import os\n\n{GREEN}")):
        git(top, "checkout", "-q", "-b", branch, "main")
        write(top, {"order.py": text})
        git(top, "commit", "-q", "-a", "-m", branch)
    return top


@pytest.mark.parametrize(("branch", "conclusion", "code"), every(2, [("bad", "failure", 1), ("good", "success", 0)]))
def test_the_verdict_on_the_pull_request_is_a_check(
    branch: str, conclusion: str, code: int, judged: Path, tmp_path: Path
) -> None:
    top = Path(shutil.copytree(judged, tmp_path / "r", symlinks=True))
    git(top, "checkout", "-q", branch)
    with served(Fake(top, git(top, "rev-parse", "main"))) as fake:
        result = suggest(fake, "--verdict", "--out", str(tmp_path / "out"), "--no-search")
        assert result.code == code, result
        (check,) = (one for one in fake.runs if one["name"] == "coderefine verdict")
        assert check["conclusion"] == conclusion
        assert "1 test flipped" in check["output"]["summary"]
        assert ("F401" in check["output"]["title"]) == (branch == "bad")
        assert check["output"]["title"] in result.out
        fake.runs.clear()
        env = {"GITHUB_TOKEN": "t", "GITHUB_API_URL": fake.url, "GITHUB_WRITE_PACE": "0"}
        post = ("suggest", "--from", str(tmp_path / "out"), "--repo", "o/r", "--pull", "1")
        assert coderefine(*post, cwd=tmp_path, env=env).code == 0
        (check,) = (one for one in fake.runs if one["name"] == "coderefine verdict")
        assert check["conclusion"] == conclusion.replace("success", "neutral")
        assert "its author controls" in check["output"]["summary"]


def test_posting_without_a_token_is_a_failure(proved: Path, tmp_path: Path) -> None:
    """It is all that this run was for; the run that proves may go without."""
    out = proved / "out"
    for host in ("github", "gitlab"):
        words = ("suggest", "--from", str(out), "--host", host, "--repo", "o/r", "--pull", "1")
        result = coderefine(*words, cwd=tmp_path)
        assert (result.code, len(result.lines)) == (2, 1), result
        assert "nothing was posted: no token" in result.lines[0]


def test_nothing_is_posted_after_another_push(proved: Path, pull: Fake, tmp_path: Path) -> None:
    out = proved / "out"
    seen = []

    def push(verb: str, path: str) -> None:
        seen.append(path)
        if path.endswith("/files") and len(seen) < 5:
            git(pull.top, "commit", "-q", "--allow-empty", "-m", "more")

    pull.before = push
    env = {"GITHUB_TOKEN": "t", "GITHUB_API_URL": pull.url, "GITHUB_WRITE_PACE": "0"}
    result = coderefine("suggest", "--from", str(out), "--repo", "o/r", "--pull", "1", cwd=tmp_path, env=env)
    assert "moved" in result.out
    assert pull.writes == []


@pytest.fixture
def remote(pull: Fake, tmp_path: Path) -> Path:
    """Where the pull request's branch was pushed to."""
    git(tmp_path, "init", "-q", "--bare", "remote.git")
    git(pull.top, "remote", "add", "origin", str(tmp_path / "remote.git"))
    git(pull.top, "push", "-q", "origin", "topic")
    return tmp_path / "remote.git"


def test_a_pull_request_is_opened_once(pull: Fake, remote: Path) -> None:
    write(pull.top, {"order.py": LINT})
    git(pull.top, "commit", "-qam", "style")
    git(pull.top, "push", "-q", "origin", "topic")
    result = suggest(pull, "--pull-request", "--no-post", "--style", "--gate", "ruff")
    assert "opened #2 against topic" in result.err
    assert pull.opened[0]["head"] == "coderefine/topic"
    ours = git(remote, "rev-parse", "coderefine/topic")
    again = suggest(pull, "--pull-request", "--no-post", "--style", "--gate", "ruff").err
    assert "already has this repair" in again
    assert "is open already" in again
    assert git(remote, "rev-parse", "coderefine/topic") == ours


@pytest.mark.thorough
def test_a_branch_with_commits_of_others_is_left_alone(pull: Fake, remote: Path) -> None:
    suggest(pull, "--pull-request", "--no-post")
    ours = git(remote, "rev-parse", "coderefine/topic")
    theirs = git(remote, "commit-tree", f"{ours}^{{tree}}", "-p", ours, "-m", "by hand")
    git(remote, "update-ref", "refs/heads/coderefine/topic", theirs)
    assert "a commit of another author" in suggest(pull, "--pull-request", "--no-post").err


@pytest.mark.thorough
def test_push(pull: Fake, remote: Path) -> None:
    head = pull.head
    result = suggest(pull, "--push", "--no-post")
    assert "pushed" in result.err, result.err
    assert git(remote, "rev-parse", "topic^") == head
    assert git(remote, "show", "topic:order.py") == GREEN.strip()
    assert pull.head == head
    assert "moved since" in suggest(pull, "--push", "--no-post").err


@pytest.mark.thorough
@pytest.mark.usefixtures("remote")
def test_a_push_removes_the_suggestions(pull: Fake) -> None:
    suggest(pull)
    assert (len(pull.comments), len(pull.notes)) == (1, 1)

    def arrive(_verb: str, _path: str) -> None:
        git(pull.top, "fetch", "-q", "origin", "topic")
        git(pull.top, "reset", "-q", "--hard", "FETCH_HEAD")

    pull.before = arrive
    result = suggest(pull, "--push")
    assert "1 stale removed; summary removed" in result.err
    assert pull.comments == pull.notes == []
    assert green(pull.top)


@pytest.mark.parametrize("format_", every(4, ["json", "sarif", "gitlab", "rdjson"]))
def test_a_pull_request_without_python_has_a_report_all_the_same(format_: str, pull: Fake) -> None:
    pull.base = pull.head
    write(pull.top, {"README": "words"})
    git(pull.top, "add", "-A")
    git(pull.top, "commit", "-q", "-m", "words")
    result = suggest(pull, "--format", format_, "--no-post")
    assert result.code == 0, result.err
    json.loads(result.out)


@pytest.mark.thorough
def test_only_style_is_nothing_to_post(pull: Fake) -> None:
    write(pull.top, {"order.py": f"import os\n\n{GREEN}"})
    git(pull.top, "commit", "-qam", "style")
    assert suggest(pull).code == 0
    assert pull.comments == pull.notes == []
    suggest(pull, "--style")
    assert len(pull.notes) == 1


def test_impossible_requests_are_reported(pull: Fake) -> None:
    for args in (("--from", ".", "--push"), ("--from", ".", "--out", "x"), ("--push", "--pull-request")):
        assert suggest(pull, *args).code == 2
    assert "check out" in suggest(pull, "--head", pull.base).lines[0]
    (pull.top / "order.py").write_text("x = 1\n")
    assert "uncommitted" in suggest(pull).lines[0]
