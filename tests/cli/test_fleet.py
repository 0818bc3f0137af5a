"""`coderefine fleet`: one command in many repositories."""

from __future__ import annotations

import json
import signal
import socket
import time
from pathlib import Path

import pytest

from coderefine.app.fleet import Fleet, FleetRecord, FleetRequest
from coderefine.git import Repository
from coderefine.journal import Journal
from coderefine.journal.journal import run_names
from coderefine.reports.fleet import FleetResult
from tests.support import github_fake, gitlab_fake
from tests.support.command import GREEN, LINT, ORDER, RIGHT, TESTS, coderefine, end, start
from tests.support.dask import wait
from tests.support.llm_server import LlmServer
from tests.support.repo import git, make_repo, write

RUFF = ("--gate", "ruff")


def words(out: str) -> dict[str, str]:
    """The last word on each repository, by the last part of its path."""
    return {line.split()[1].rpartition("/")[2]: line.split()[0] for line in out.splitlines() if " s" in line}


@pytest.fixture
def list_(tmp_path: Path) -> Path:
    """Six places: untidy, green, a remote, and three that no run can work on."""
    make_repo(tmp_path / "untidy", {"order.py": LINT})
    make_repo(tmp_path / "green", {"order.py": GREEN})
    make_repo(tmp_path / "far", {"order.py": LINT})
    make_repo(tmp_path / "broken", {"order.py": ORDER, "pyproject.toml": "[tool.coderefine\n"})
    list_ = tmp_path / "repos.txt"
    list_.write_text(f"# ours\nuntidy\n\ngreen  # tidy\nbroken\nmissing\nfile://{tmp_path}/far\nfile://{tmp_path}/no\n")
    return list_


def test_each_repository_has_the_result_of_a_single_run_and_a_broken_one_ends_nothing(list_: Path) -> None:
    here = list_.parent
    single = make_repo(here / "single", {"order.py": LINT})
    coderefine("fix", *RUFF, cwd=single)

    said = coderefine("fleet", "repos.txt", "--jobs", "2", "--", "fix", *RUFF, cwd=here)

    assert said.code == 2
    expected = dict.fromkeys(("broken", "missing", "no"), "failed") | {
        "untidy": "fixed",
        "green": "clean",
        "far": "fixed",
    }
    assert words(said.out) == expected
    assert "6 runs: 3 failed, 2 fixed, 1 clean" in said.out
    assert "missing is not a folder" in said.out
    assert "pyproject.toml cannot be read" in said.out
    repaired = (single / "order.py").read_text()
    folder = here / "repos.txt.fleet"
    (clone,) = (folder / "repositories").iterdir()
    assert repaired == (here / "untidy" / "order.py").read_text() == (clone / "order.py").read_text()
    assert (here / "far" / "order.py").read_text() == LINT
    (patch,) = (folder / "patches").glob("far-*.patch")
    git(here / "far", "apply", str(patch))
    assert (here / "far" / "order.py").read_text() == repaired
    page = (folder / "index.html").read_text()
    assert all(f'href="pages/{path.name}"' in page for path in (folder / "pages").iterdir())
    assert page.count("<tr>") == 7

    write(here / "broken", {"order.py": GREEN, "pyproject.toml": ""})
    again = coderefine("fleet", "repos.txt", "--only-failed", "--", "check", *RUFF, cwd=here)
    assert words(again.out) == expected | {"broken": "clean"}
    lines = again.out.partition("\n\n")[0].splitlines()
    assert {line.split()[1].rpartition("/")[2] for line in lines} == {"broken", "missing", "no"}


@pytest.mark.thorough
def test_a_clone_follows_the_default_branch_and_gives_up_a_repair_of_an_earlier_commit(tmp_path: Path) -> None:
    """After main was renamed, each run failed; after a push, `--branch tidy` was refused for tidy of the last run."""
    far = make_repo(tmp_path / "far", {"order.py": LINT})
    (tmp_path / "repos.txt").write_text(f"file://{far}\n")
    argv = ("fleet", "repos.txt", "--", "fix", *RUFF, "--branch", "tidy")
    assert "branch tidy is" in coderefine(*argv, cwd=tmp_path).out
    (clone,) = (tmp_path / "repos.txt.fleet" / "repositories").iterdir()
    first = git(clone, "rev-parse", "tidy")
    assert "already has this repair" in coderefine(*argv, cwd=tmp_path).out
    git(far, "branch", "-qm", "main", "trunk")
    write(far, {"notes.txt": "new\n"})
    git(far, "add", ".")
    git(far, "commit", "-qm", "new\n\nCoderefine-Run: 1")

    assert "branch tidy is" in coderefine(*argv, cwd=tmp_path).out
    assert git(clone, "rev-parse", "tidy^", "HEAD").split() == [git(far, "rev-parse", "trunk")] * 2
    assert git(clone, "symbolic-ref", "--short", "HEAD") == "trunk"

    git(clone, "branch", "-qf", "tidy", git(clone, "commit-tree", "tidy^{tree}", "-p", first, "-m", "by hand"))
    said = coderefine(*argv, cwd=tmp_path)
    assert "the branch tidy exists with other content" in said.out, "what somebody added there is not deleted"


@pytest.mark.thorough
def test_an_interrupted_fleet_is_continued(tmp_path: Path) -> None:
    slow = "import time\n\n\ndef test_slow():\n    time.sleep(2)\n"
    names = ("one", "two", "three")
    for name in names:
        make_repo(tmp_path / name, {"order.py": LINT, "test_order.py": slow})
    (tmp_path / "repos.txt").write_text("\n".join(names))
    command = ("fleet", "repos.txt", "--jobs", "1")
    process = start(*command, "--", "fix", "--no-search", cwd=tmp_path)
    assert process.stdout
    first = process.stdout.readline()
    two = Repository.open(tmp_path / "two")
    wait(lambda: any(Journal.load(two, name).attempts() for name in run_names(two)))
    process.send_signal(signal.SIGINT)
    said = end(process)
    assert said.code == 130
    assert "the same command and --resume" in said.err

    other = coderefine(*command, "--resume", "--", "check", cwd=tmp_path)
    assert other.code == 2
    assert "`fix --no-search`" in other.err
    rest = coderefine(*command, "--resume", "--", "fix", "--no-search", cwd=tmp_path)
    assert rest.code == 0
    assert [line.split()[0] for line in (first, *rest.out.partition("\n\n")[0].splitlines())] == ["fixed"] * 3
    assert words(rest.out) == dict.fromkeys(names, "fixed")
    record = (tmp_path / "repos.txt.fleet" / "record.jsonl").read_text().splitlines()
    second = [one for one in map(json.loads, record) if one.get("location", "").endswith("two")]
    assert [one["status"] for one in second] == ["interrupted", "fixed"]
    assert second[0]["run"] == second[1]["run"] != "", second
    for name in names:
        assert "import os" not in (tmp_path / name / "order.py").read_text()


def damage(clone: Path, users: Path, how: str) -> None:
    """Make of `clone` what a killed git, or somebody else, may leave of it."""
    git_dir = clone / ".git"
    if how == "link to a folder":
        clone.symlink_to(users)
        return
    if how in ("no HEAD", "core.worktree", "commondir"):
        git(clone.parent, "init", "-q", clone.name)
    clone.mkdir(exist_ok=True)
    if how == "empty":
        git_dir.mkdir()
    elif how == "no HEAD":
        (git_dir / "HEAD").unlink()
    elif how == "file":
        git_dir.write_text(f"gitdir: {users / '.git'}\n")
    elif how == "link":
        git_dir.symlink_to(users / ".git")
    elif how == "core.worktree":
        git(clone, "config", "core.worktree", str(users))
    elif how == "commondir":
        (git_dir / "commondir").write_text(f"{users / '.git'}\n")


def contents(top: Path) -> dict[str, str]:
    """What must stay as it is of a repository: its files, its refs and its index."""
    files = {path.name: path.read_text() for path in top.glob("*.py")}
    return {**files, "refs": git(top, "for-each-ref"), "head": (top / ".git" / "HEAD").read_text()} | {
        "index": git(top, "ls-files", "--stage"),
        "stash": git(top, "status", "--porcelain", "--untracked-files=no"),
    }


@pytest.fixture
def users(tmp_path: Path) -> Path:
    """The user's repository, with a fleet in it: a commit that is not pushed, an edit, and an untracked file."""
    origin = make_repo(tmp_path / "origin", {"mine.py": GREEN, ".gitignore": "/repos.txt\n"})
    git(tmp_path, "clone", "-q", str(origin), "users")
    top = tmp_path / "users"
    write(top, {"mine.py": f"{GREEN}# committed\n"})
    git(top, "commit", "-qam", "not pushed")
    write(top, {"mine.py": f"{GREEN}# edited\n", "untracked.py": "x = 1\n"})
    return top


@pytest.mark.parametrize(
    "how", ["empty", "no HEAD", "file", "link", "link to a folder", "core.worktree", "commondir", "no folder"]
)
def test_what_an_interrupted_clone_left_never_leads_to_the_repository_around_it(
    users: Path, tmp_path: Path, how: str
) -> None:
    """git went up from such a folder: the user's branch was reset, the edit and the untracked file were gone."""
    location = f"file://{make_repo(tmp_path / 'far', {'order.py': LINT})}"
    (users / "repos.txt").write_text(f"{location}\n")
    clone = users / "repos.txt.fleet" / "repositories" / FleetResult(location).name
    if how != "no folder":
        clone.parent.mkdir(parents=True)
        damage(clone, users, how)
    before = contents(users)
    said = coderefine("fleet", "repos.txt", "--", "check", *RUFF, cwd=users)
    assert contents(users) == before
    assert words(said.out) == {"far": "findings"}, said
    assert (clone / "order.py").read_text() == LINT
    assert git(clone, "rev-parse", "--show-toplevel") == str(clone)
    assert list(clone.parent.iterdir()) == [clone]


def test_a_fleet_that_is_interrupted_during_a_clone_is_continued(users: Path, hosted: tuple[Path, Path]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        (users / "repos.txt").write_text(f"{url}/o/r.git\n")
        argv = ("fleet", "repos.txt", "--resume", "--", "check", *RUFF)
        before = contents(users)
        process = start("fleet", "repos.txt", "--", "check", *RUFF, cwd=users)
        silent.settimeout(240)
        connection, _ = silent.accept()
        process.send_signal(signal.SIGINT)
        assert end(process).code == 130
        connection.close()
    folder = users / "repos.txt.fleet"
    (recorded,) = map(json.loads, (folder / "record.jsonl").read_text().splitlines()[1:])
    assert (recorded["status"], recorded["detail"]) == ("interrupted", "interrupted before the run began")
    assert list((folder / "repositories").iterdir()) == []
    at_host(url, hosted[0])
    said = coderefine(*argv, cwd=users)
    assert words(said.out) == {"r.git": "findings"}, said
    assert contents(users) == before


def test_a_fleet_that_is_interrupted_during_a_checkout_is_continued(tmp_path: Path) -> None:
    """The index of the clone stayed locked: each later fleet failed there until the user removed the lock file."""
    far = make_repo(tmp_path / "far", {"order.py": GREEN, ".gitattributes": "*.py filter=slow\n"})
    (tmp_path / "repos.txt").write_text(f"file://{far}\n")
    argv = ("fleet", "repos.txt", "--", "check", *RUFF)
    assert words(coderefine(*argv, cwd=tmp_path).out) == {"far": "clean"}
    write(far, {"order.py": LINT})
    git(far, "commit", "-qam", "lint")
    git(far, "config", "--global", "filter.slow.smudge", "sleep 60; cat")
    process = start(*argv, cwd=tmp_path)
    (clone,) = (tmp_path / "repos.txt.fleet" / "repositories").iterdir()
    lock = clone / ".git" / "index.lock"
    wait(lock.exists)
    process.send_signal(signal.SIGINT)
    assert end(process).code == 130
    git(far, "config", "--global", "--unset", "filter.slow.smudge")
    said = coderefine("fleet", "repos.txt", "--resume", "--", "check", *RUFF, cwd=tmp_path)
    assert words(said.out) == {"far": "findings"}, said


def test_results_that_end_during_an_interrupt_are_recorded(tmp_path: Path) -> None:
    """A failed run was run again by --resume, and no table or page showed it."""
    record = FleetRecord(tmp_path / "fleet")
    record.open(("check",), resume=False, only_failed=False)
    locations = [str(tmp_path / name) for name in ("one", "two")]

    def interrupt(_: FleetResult) -> None:
        time.sleep(1)  # the other run ends
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Fleet(record, FleetRequest(("check",), jobs=2)).run(map(FleetResult, locations), interrupt)
    assert sorted(result.location for result in record.results()) == locations
    assert {result.status for result in record.results()} == {"failed"}


@pytest.mark.thorough
def test_a_budget_is_for_all_runs_together(tmp_path: Path) -> None:
    """The price of this model is unknown, so the first run may have spent all that there is."""
    for name in ("one", "two"):
        make_repo(tmp_path / name, {"order.py": ORDER, "test_order.py": TESTS})
    (tmp_path / "repos.txt").write_text("missing\none\ntwo\n")
    with LlmServer([RIGHT]) as server:
        flags = ("--no-search", "--model", "m", "--base-url", server.url, "--max-tokens", "90000")
        said = coderefine("fleet", "repos.txt", "--jobs", "1", "--max-cost", "1", "--", "fix", *flags, cwd=tmp_path)
    assert words(said.out) == {"missing": "failed", "one": "fixed", "two": "refused"}
    assert len(server.requests) == 1
    record = (tmp_path / "repos.txt.fleet" / "record.jsonl").read_text().splitlines()
    assert [json.loads(line)["usd"] for line in record[1:]] == [0, 1, 0]


@pytest.mark.parametrize(
    ("argv", "why"),
    [
        (("--", "undo"), "a fleet runs check, fix, write, prove; not 'undo'"),
        (("--", "fix", "--format=sarif"), "leave out --format"),
        (("--max-cost", "1", "--", "fix", "--max-cost", "1"), "give it once"),
        (("--only-failed", "--", "fix"), "has no record of a fleet"),
    ],
)
def test_impossible_fleets_are_refused(tmp_path: Path, argv: tuple[str, ...], why: str) -> None:
    (tmp_path / "repos.txt").write_text("shop\n")
    said = coderefine("fleet", "repos.txt", *argv, cwd=tmp_path)
    assert said.code == 2
    assert why in said.err


@pytest.fixture
def hosted(tmp_path: Path) -> tuple[Path, Path]:
    """A bare repository at a host, and the working folder of a fleet."""
    top = make_repo(tmp_path / "source", {"order.py": LINT})
    git(tmp_path, "clone", "-q", "--bare", str(top), "remote.git")
    (tmp_path / "work").mkdir()
    return tmp_path / "remote.git", tmp_path / "work"


def at_host(url: str, remote: Path) -> None:
    """Let git find `remote` below the `url` of a host that serves no git."""
    git(remote, "config", "--global", f"url.file://{remote}.insteadOf", f"{url}/o/r.git")


def test_each_repository_of_a_query_gets_one_pull_request(hosted: tuple[Path, Path]) -> None:
    remote, work = hosted
    with github_fake.served(github_fake.Fake(remote, "")) as fake:
        fake.repositories = {"org:o language:python archived:false": ["o/r"]}
        fake.faults = [github_fake.Fault("POST", "/pulls$", 429, {"retry-after": "1"}, "slow down")]
        at_host(fake.url, remote)
        env = {"GITHUB_TOKEN": "t", "GITHUB_SERVER_URL": fake.url, "GITHUB_API_URL": fake.url, "GITHUB_WRITE_PACE": "0"}
        (work / "repos.txt").write_text("github:org:o language:python\n")
        argv = ("fleet", "repos.txt", "--", "fix", *RUFF, "--pull-request", "tidy")
        said = coderefine(*argv, cwd=work, env=env)
        assert said.code == 0, said
        assert words(said.out) == {"r.git": "fixed"}
        assert "to tidy: order.py +0 −2; opened #2 against main" in said.out
        again = coderefine(*argv, cwd=work, env=env)
        assert again.code == 0, again
        (pull,) = fake.opened
    assert (pull["head"], pull["base"]) == ("tidy", "main")
    assert "import os" not in git(remote, "show", "tidy:order.py")
    assert git(remote, "show", "main:order.py") == LINT.strip()
    assert [one[1:] for one in fake.log if one[0] == "POST"] == [("/repos/o/r/pulls", 429), ("/repos/o/r/pulls", 201)]


@pytest.mark.thorough
def test_each_project_of_a_group_gets_one_merge_request(hosted: tuple[Path, Path]) -> None:
    remote, work = hosted
    with gitlab_fake.served(gitlab_fake.Fake([])) as fake:
        fake.projects = [f"{fake.url}/o/r.git"]
        at_host(fake.url, remote)
        env = {"GITLAB_TOKEN": "t", "CI_SERVER_URL": fake.url}
        (work / "repos.txt").write_text("gitlab:acme/tools?topic=python\n")
        argv = ("fleet", "repos.txt", "--", "fix", *RUFF, "--pull-request", "tidy")
        assert coderefine(*argv, cwd=work, env=env).code == 0
        assert coderefine(*argv, cwd=work, env=env).code == 0
    (merge,) = fake.merges
    assert (merge["source_branch"], merge["target_branch"]) == ("tidy", "main")
    assert "import os" not in git(remote, "show", "tidy:order.py")


def test_impossible_pull_requests_are_refused_before_the_run(hosted: tuple[Path, Path]) -> None:
    remote, work = hosted
    git(work, "clone", "-q", str(remote), "r")
    top, argv = work / "r", ("fix", *RUFF, "--pull-request", "tidy")
    assert "is not a known host" in coderefine(*argv, cwd=top).err
    with github_fake.served(github_fake.Fake(remote, "")) as fake:
        at_host(fake.url, remote)
        git(top, "remote", "set-url", "origin", f"{fake.url}/o/r.git")
        env = {"GITHUB_SERVER_URL": fake.url, "GITHUB_API_URL": fake.url}
        assert "set GITHUB_TOKEN" in coderefine(*argv, cwd=top, env=env).err
        env["GITHUB_TOKEN"] = "t"
        same = coderefine(*argv[:-1], "main", cwd=top, env=env)
        assert "choose another NAME" in same.err
        write(top, {"more.py": GREEN})
        git(top, "add", ".")
        git(top, "commit", "-qm", "not pushed")
        ahead = coderefine(*argv, cwd=top, env=env)
        assert "origin/main is at another commit than HEAD" in ahead.err
        assert ahead.code == 2
    assert fake.opened == []
