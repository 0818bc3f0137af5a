"""Real commits through the installed hook: what git would have done alone, or a documented refusal; nothing lost."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from coderefine.git import Repository
from coderefine.journal import prune
from tests.support.cases import every
from tests.support.command import Ended, coderefine
from tests.support.repo import git, make_repo, write

ROOT = Path(__file__).parents[2]
FILES = {
    "pkg/__init__.py": "",
    "pkg/a.py": '"""A."""\n\n\ndef add(a, b):\n    return a + b\n',
    "pkg/b.py": '"""B."""\n\n\ndef sub(a, b):\n    return a - b\n',
    "tests/test_a.py": "from pkg.a import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n",
    "tests/test_b.py": "from pkg.b import sub\n\n\ndef test_sub():\n    assert sub(3, 2) == 1\n",
    "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["."]\n',
    ".gitignore": "__pycache__/\n.pytest_cache/\n.ruff_cache/\n",
}
WRONG = FILES["pkg/a.py"].replace("a + b", "a - b")
EDITED = FILES["pkg/a.py"].replace("A.", "Adding.")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    top = make_repo(tmp_path / "my project", FILES)
    assert coderefine("hook", "install", cwd=top).code == 0
    installed = top / ".git/hooks/pre-commit"
    installed.write_text(installed.read_text().replace("hook run", "hook run --hook-timeout 90"))  # a busy machine
    return top


def hook(top: Path, *args: str) -> Ended:
    return coderefine("hook", *args, cwd=top)


def commit(top: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """`git commit` as a user; its output is all on stderr or stdout."""
    argv = ("git", "commit", "-m", "change", *args)
    return subprocess.run(argv, cwd=top, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)


def shown(top: Path, name: str) -> str:
    return subprocess.run(("git", "show", name), cwd=top, capture_output=True, text=True, check=True).stdout


def test_a_clean_change_is_committed_as_it_is(repo: Path) -> None:
    write(repo, {"pkg/a.py": EDITED, "notes.txt": "untracked\n"})
    git(repo, "add", "pkg/a.py")
    done = commit(repo)
    assert done.returncode == 0, done.stderr
    assert shown(repo, "HEAD:pkg/a.py") == EDITED
    assert git(repo, "status", "--porcelain") == "?? notes.txt"
    assert not git(repo, "for-each-ref", "refs/coderefine")


@pytest.mark.usefixtures("searching")
def test_a_broken_change_is_refused_and_its_repair_lies_unstaged_in_the_tree(repo: Path) -> None:
    head = git(repo, "rev-parse", "HEAD")
    write(repo, {"pkg/a.py": WRONG})
    git(repo, "add", "pkg/a.py")
    done = commit(repo)
    assert done.returncode == 1
    assert "`-` → `+`" in done.stdout + done.stderr
    assert git(repo, "rev-parse", "HEAD") == head
    assert shown(repo, ":pkg/a.py") == WRONG
    assert (repo / "pkg/a.py").read_text() == FILES["pkg/a.py"]


@pytest.mark.thorough
@pytest.mark.usefixtures("searching")
def test_after_commit_a_a_repair_does_not_leave_nothing_of_the_change(repo: Path) -> None:
    """Git forgets the index of a refused `commit -a`: only the tree holds the change then."""
    write(repo, {"pkg/a.py": WRONG})
    done = commit(repo, "-a")
    result = done.stdout + done.stderr
    assert done.returncode == 1
    assert "it undoes your change of pkg/a.py, which is not staged; the patch is kept: git apply" in result
    assert (repo / "pkg/a.py").read_text() == WRONG
    git(repo, "apply", *map(str, (repo / ".git/coderefine/runs").glob("*/hook.patch")))
    assert (repo / "pkg/a.py").read_text() == FILES["pkg/a.py"]


@pytest.mark.thorough
def test_staged_content_counts_and_not_that_of_the_tree(repo: Path) -> None:
    write(repo, {"pkg/a.py": WRONG})
    git(repo, "add", "pkg/a.py")
    write(repo, {"pkg/a.py": FILES["pkg/a.py"]})
    assert commit(repo).returncode == 1
    write(repo, {"pkg/a.py": EDITED})
    git(repo, "add", "pkg/a.py")
    write(repo, {"pkg/a.py": WRONG})
    assert commit(repo).returncode == 0
    assert (repo / "pkg/a.py").read_text() == WRONG
    assert shown(repo, "HEAD:pkg/a.py") == EDITED


def test_a_repair_that_overlaps_unstaged_edits_is_kept_as_a_patch_and_named(repo: Path) -> None:
    untidy = FILES["pkg/a.py"].replace("\n\n", "\n\nimport os\n\n", 1)
    mine = untidy + "\n\n# thinking about it\n"
    write(repo, {"pkg/a.py": untidy})
    git(repo, "add", "pkg/a.py")
    write(repo, {"pkg/a.py": mine})
    done = commit(repo)
    assert done.returncode == 1
    assert (repo / "pkg/a.py").read_text() == mine
    assert shown(repo, ":pkg/a.py") == untidy
    result = next(line for line in (done.stdout + done.stderr).splitlines() if "git apply --cached" in line)
    git(repo, "apply", "--cached", result.rsplit(" ", 1)[1])
    assert shown(repo, ":pkg/a.py") == FILES["pkg/a.py"]
    assert (repo / "pkg/a.py").read_text() == mine
    assert commit(repo, "--allow-empty").returncode == 0


def test_the_kept_patch_can_be_applied_from_the_users_folder_and_is_removed_with_its_run(repo: Path) -> None:
    """The path was relative to another folder, and the file stayed for ever."""
    untidy = FILES["pkg/a.py"].replace("\n\n", "\n\nimport os\n\n", 1)
    write(repo, {"pkg/a.py": untidy})
    git(repo, "add", "pkg/a.py")
    write(repo, {"pkg/a.py": untidy + "\n\n# thinking about it\n"})
    done = commit(repo / "tests")
    advice = next(line for line in (done.stdout + done.stderr).splitlines() if "apply --cached" in line)
    subprocess.run(advice[advice.index("git -C") :], cwd=repo / "tests", shell=True, check=True)
    assert shown(repo, ":pkg/a.py") == FILES["pkg/a.py"]
    prune(Repository.open(repo), keep=0)
    assert not [*(repo / ".git/coderefine").rglob("*.patch")]


@pytest.mark.parametrize("born", [True, False], ids=["new file", "first commit"])
def test_commit_a_with_a_file_that_head_does_not_have(repo: Path, born: bool) -> None:
    """The hook asked HEAD for the file, and ended with an error of git in place of a report."""
    if not born:
        git(repo, "checkout", "-q", "--orphan", "new")
    untidy = "import os\n" + FILES["pkg/a.py"]
    write(repo, {"pkg/new.py": untidy})
    git(repo, "add", "pkg/new.py")
    done = commit(repo, "-a")
    assert done.returncode == 1
    assert "wrote     pkg/new.py" in done.stdout + done.stderr
    assert "import os" not in (repo / "pkg/new.py").read_text()
    assert shown(repo, ":pkg/new.py") == untidy


@pytest.mark.parametrize("how", every(2, ["-a", "--", "--amend"]))
def test_however_the_commit_is_made_its_content_is_the_users(repo: Path, how: str) -> None:
    write(repo, {"pkg/a.py": EDITED, "pkg/b.py": FILES["pkg/b.py"] + "\n\nX = 1\n"})
    if how == "--amend":
        git(repo, "add", "pkg/a.py")
    args = {"-a": ("-a",), "--": ("--", "pkg/a.py"), "--amend": ("--amend",)}[how]
    done = commit(repo, *args)
    assert done.returncode == 0, done.stderr
    assert shown(repo, "HEAD:pkg/a.py") == EDITED
    assert ("X = 1" in shown(repo, "HEAD:pkg/b.py")) == (how == "-a")
    assert git(repo, "status", "--porcelain") == ("" if how == "-a" else "M pkg/b.py")


@pytest.mark.thorough
@pytest.mark.usefixtures("searching")
@pytest.mark.parametrize("how", every(2, ["-a", "--"]))
def test_however_the_commit_is_made_a_broken_change_is_refused(repo: Path, how: str) -> None:
    write(repo, {"pkg/a.py": WRONG})
    before = git(repo, "ls-files", "-s")
    assert commit(repo, *({"-a": ("-a",), "--": ("--", "pkg/a.py")}[how])).returncode == 1
    assert git(repo, "ls-files", "-s") == before


def test_the_first_commit(tmp_path: Path) -> None:
    top = tmp_path / "new"
    top.mkdir()
    git(top, "init", "-q", "-b", "main")
    hook(top, "install")
    write(top, FILES)
    git(top, "add", "-A")
    done = commit(top)
    assert done.returncode == 0, done.stderr
    assert "tests skipped" not in done.stderr


def test_a_merge_without_conflicts_is_judged(repo: Path) -> None:
    """git starts no pre-commit hook for it: a rename here and a new import there were merged."""
    git(repo, "checkout", "-q", "-b", "side")
    write(repo, {"tests/test_c.py": FILES["tests/test_a.py"]})
    git(repo, "add", "tests/test_c.py")
    git(repo, "commit", "-qm", "a test", "--no-verify")
    git(repo, "checkout", "-q", "main")
    git(repo, "mv", "pkg/a.py", "pkg/z.py")
    write(repo, {"tests/test_a.py": FILES["tests/test_a.py"].replace("pkg.a", "pkg.z")})
    git(repo, "commit", "-qam", "a rename", "--no-verify")
    merge = ("git", "merge", "-q", "--no-edit", "side")
    done = subprocess.run(merge, cwd=repo, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "commit refused: 1 test fails" in done.stdout + done.stderr
    git(repo, "merge", "--abort")
    git(repo, "mv", "pkg/z.py", "pkg/a.py")
    write(repo, {"tests/test_a.py": FILES["tests/test_a.py"]})
    git(repo, "commit", "-qam", "back", "--no-verify")
    subprocess.run(merge, cwd=repo, check=True)


def test_a_rename_and_a_deletion(repo: Path) -> None:
    git(repo, "mv", "pkg/b.py", "pkg/c.py")
    git(repo, "rm", "-q", "tests/test_b.py")
    done = commit(repo)
    assert done.returncode == 0, done.stderr
    assert git(repo, "status", "--porcelain") == ""


@pytest.mark.thorough
def test_a_module_deleted_from_the_index_alone_is_not_there(repo: Path) -> None:
    git(repo, "rm", "-q", "--cached", "pkg/a.py")
    write(repo, {"tests/test_a.py": FILES["tests/test_a.py"] + "\n"})
    git(repo, "add", "tests/test_a.py")
    done = commit(repo)
    assert done.returncode == 1
    assert (repo / "pkg/a.py").read_text() == FILES["pkg/a.py"]


def test_a_linked_worktree(repo: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    git(repo, "worktree", "add", "-q", str(other), "-b", "side")
    write(other, {"pkg/a.py": WRONG})
    assert commit(other, "-a").returncode == 1
    write(other, {"pkg/a.py": EDITED})
    assert commit(other, "-a").returncode == 0
    assert git(repo, "status", "--porcelain") == ""


def test_only_affected_tests_run(repo: Path) -> None:
    write(repo, {"tests/test_b.py": FILES["tests/test_b.py"].replace("== 1", "== 2")})
    git(repo, "commit", "-qam", "a red test elsewhere", "--no-verify")
    write(repo, {"pkg/a.py": EDITED})
    assert commit(repo, "-a").returncode == 0
    write(repo, {"pkg/b.py": FILES["pkg/b.py"] + "\n"})
    assert commit(repo, "-a").returncode == 1


def test_without_python_files_there_is_no_delay_and_no_output(repo: Path) -> None:
    write(repo, {"README.md": "x\n"})
    git(repo, "add", "README.md")
    done = hook(repo, "run")
    assert (done.code, done.out, done.err) == (0, "", "")


def test_tests_that_nothing_staged_can_reach_are_named_as_skipped(repo: Path) -> None:
    write(repo, {"lonely.py": '"""Nobody imports me."""\n'})
    git(repo, "add", "lonely.py")
    done = commit(repo)
    assert done.returncode == 0
    assert "tests skipped: no test imports what is staged" in done.stderr


def unhook(top: Path) -> None:
    for path in (top / ".git/hooks").iterdir():
        path.unlink()


INSTALLED = "#!/bin/sh\nexec /usr/bin/python3 -m coderefine hook run\n"


@pytest.mark.parametrize(
    "text",
    [
        f"{INSTALLED}make check\n",
        INSTALLED.replace("exec", "make check || exit 1\nexec"),
        INSTALLED.replace("\n", "; make check\n"),
        "#!/bin/sh\n# we do not use coderefine hook run any more\nmake check\n",
        "#!/bin/sh\npython -m coderefine hook run || exit 1\nmake check\n",
    ],
)
def test_a_hook_that_also_runs_coderefine_was_overwritten_and_deleted(repo: Path, text: str) -> None:
    path = repo / ".git/hooks/pre-commit"
    path.write_text(text)
    done = hook(repo, "install")
    assert done.code == 2
    assert "-m coderefine hook run || exit 1` to it yourself" in done.lines[0], "after `exec`, nothing else would run"
    assert "exec" not in done.lines[0]
    assert path.read_text() == text
    hook(repo, "uninstall")
    assert path.read_text() == text


@pytest.mark.parametrize("there", [True, False])
def test_the_file_to_which_a_hook_is_a_link_was_overwritten(repo: Path, *, there: bool) -> None:
    path, own = repo / ".git/hooks/pre-commit", repo / "own-hook"
    unhook(repo)
    if there:
        own.write_text(INSTALLED)
    path.symlink_to(own)
    assert hook(repo, "install").code == 2
    hook(repo, "uninstall")
    assert path.is_symlink()
    assert own.exists() is there
    assert not there or own.read_text() == INSTALLED


@pytest.mark.parametrize("python", ["/usr/bin/python3", "'/my tools/python'", "'C:\\Python\\python.exe'"])
def test_what_install_wrote_is_replaced_and_removed(repo: Path, python: str) -> None:
    path = repo / ".git/hooks/pre-commit"
    for act in ("install", "uninstall"):
        path.write_text(INSTALLED.replace("/usr/bin/python3", python))
        assert hook(repo, act).code == 0
    assert not path.exists()


def test_uninstall_without_a_hook_said_nothing(repo: Path) -> None:
    unhook(repo)
    done = hook(repo, "uninstall")
    assert (done.code, done.out.splitlines()) == (0, [done.out.strip()]), done
    assert "nothing to remove" in done.out


def test_a_hook_of_another_program_is_left_alone(repo: Path) -> None:
    path = repo / ".git/hooks/pre-commit"
    unhook(repo)
    assert not [file for file in path.parent.iterdir() if file.suffix != ".sample"]
    path.write_text("#!/bin/sh\nexit 0\n")
    done = hook(repo, "install")
    assert done.code == 2
    assert "exists already" in done.err
    hook(repo, "uninstall")
    assert path.read_text() == "#!/bin/sh\nexit 0\n"


def test_a_hook_of_another_program_does_not_keep_the_other_hooks_from_being_installed(repo: Path) -> None:
    """`install --push` stopped at the first such hook, and the push was not checked."""
    unhook(repo)
    folder = repo / ".git/hooks"
    foreign = ("pre-commit", "pre-merge-commit")
    for name in foreign:
        (folder / name).write_text("#!/bin/sh\nexit 0\n")
    done = hook(repo, "install", "--push")
    assert done.code == 2
    assert all(f"{name} exists already" in line for name, line in zip(foreign, done.lines, strict=True))
    assert "hook run --push" in (folder / "pre-push").read_text()
    assert f"wrote {folder / 'pre-push'}" in done.out


def test_a_folder_of_hooks_that_all_repositories_share_is_not_written_to(repo: Path, sealed: Path) -> None:
    unhook(repo)
    shared = sealed / "hooks"
    shared.mkdir()
    git(repo, "config", "--global", "core.hooksPath", str(shared))
    done = hook(repo, "install")
    assert done.code == 2, done.out
    assert "core.hooksPath" in done.err
    assert len([line for line in done.err.splitlines() if line]) == 1
    assert list(shared.iterdir()) == []
    (shared / "pre-commit").write_text("exec python -m coderefine hook run\n")
    assert hook(repo, "uninstall").code == 2
    assert (shared / "pre-commit").exists()
    git(repo, "config", "core.hooksPath", ".git/hooks")
    assert hook(repo, "install").code == 0
    assert (repo / ".git/hooks/pre-commit").exists()


@pytest.mark.parametrize("name", ["pre-commit", "pre-push"])
def test_without_coderefine_the_shell_hook_checks_nothing_and_fails(name: str, tmp_path: Path) -> None:
    argv = ("/bin/sh", str(ROOT / "hooks" / name))
    done = subprocess.run(argv, cwd=tmp_path, env={"PATH": "/nowhere"}, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert "coderefine is not installed, so nothing was checked" in done.stderr


def test_pushed_commits_are_judged_as_committed(repo: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.git"
    git(tmp_path, "init", "-q", "--bare", str(bare))
    git(repo, "remote", "add", "origin", str(bare))
    git(repo, "push", "-q", "origin", "main")
    hook(repo, "install", "--push")
    write(repo, {"pkg/a.py": WRONG})
    git(repo, "commit", "-qam", "wrong", "--no-verify")
    write(repo, {"pkg/a.py": EDITED})
    pushed = subprocess.run(("git", "push", "-q", "origin", "main"), cwd=repo, capture_output=True, check=False)
    assert pushed.returncode != 0
    git(repo, "commit", "-qam", "right again", "--no-verify")
    git(repo, "push", "-q", "origin", "main")
    assert git(bare, "rev-parse", "main") == git(repo, "rev-parse", "HEAD")


def test_the_model_client_is_not_imported(repo: Path) -> None:
    write(repo, {"pkg/a.py": EDITED})
    git(repo, "add", "pkg/a.py")
    code = (
        "import sys; from coderefine.cli.group import coderefine;"
        "coderefine.main(['hook', 'run'], standalone_mode=False); print(*sorted(sys.modules))"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    result = subprocess.run((sys.executable, "-c", code), cwd=repo, env=env, capture_output=True, text=True, check=True)
    assert not {"openai", "httpx", "git", "pytest"} & set(result.stdout.split())


def test_the_manifest_and_the_shell_hooks() -> None:
    import yaml

    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert [one["id"] for one in hooks] == ["coderefine", "coderefine-fix"]
    assert all(one["require_serial"] and one["language"] == "python" for one in hooks)
    for name in ("pre-commit", "pre-push"):
        path = ROOT / "hooks" / name
        assert len(path.read_text().splitlines()) <= 10
        assert os.access(path, os.X_OK)


def test_a_repository_given_only_by_variables_is_checked_without_a_repair(repo: Path) -> None:
    """The commit was refused with the advice to run `git init`, and without what was found."""
    write(repo, {"pkg/a.py": WRONG})
    git(repo, "add", "pkg/a.py")
    (repo / ".git").rename(repo.parent / "store.git")
    env = {"GIT_DIR": str(repo.parent / "store.git"), "GIT_WORK_TREE": str(repo)}
    done = coderefine("hook", "run", "--hook-timeout", "90", cwd=repo, env=env)
    assert done.code == 1, done
    assert "git init" not in done.err
    assert "test_add failed" in done.out
    assert "commit refused: 1 test fails" in done.out


def test_outside_of_a_repository_one_line_says_so(tmp_path: Path) -> None:
    """The line was a part of git's usage text."""
    done = hook(tmp_path, "run")
    assert done.code == 2
    assert [line for line in done.err.splitlines() if line] == done.lines
    assert f"{tmp_path} is not inside a git repository" in done.lines[0]
