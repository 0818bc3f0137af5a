"""The hook under the real `pre-commit` program: installed, run, tried from its repository, and committed through."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from tests.conftest import seal
from tests.support.cases import every
from tests.support.repo import git, make_repo, write

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
MANIFEST = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())


def local(hook: dict[str, object]) -> dict[str, object]:
    """The hook of the manifest, run by this interpreter."""
    return {**hook, "language": "system", "entry": f"{sys.executable} -m {hook['entry']}"}


FILES = {
    "pkg/__init__.py": "",
    "pkg/a.py": '"""A."""\n\n\ndef add(a, b):\n    return a + b\n',
    "tests/test_a.py": "from pkg.a import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n",
    "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["."]\n',
    ".gitignore": "__pycache__/\n.pytest_cache/\n.ruff_cache/\n",
    ".pre-commit-config.yaml": json.dumps({"repos": [{"repo": "local", "hooks": [*map(local, MANIFEST)]}]}),
}
WRONG = FILES["pkg/a.py"].replace("a + b", "a - b")
EDITED = FILES["pkg/a.py"].replace("A.", "Adding.")


def run(top: Path, *argv: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Both streams as one text."""
    return subprocess.run(
        argv,
        cwd=top,
        env={**os.environ, **(env or {})},
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=600,
    )


def pre_commit(top: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return run(top, sys.executable, "-m", "pre_commit", *args)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with pre-commit's hooks."""
    with pytest.MonkeyPatch.context() as patch:
        seal(tmp_path_factory.mktemp("home"), patch)
        top = make_repo(tmp_path_factory.mktemp("installed") / "my project", FILES)
        done = pre_commit(top, "install", "-t", "pre-commit", "-t", "pre-push", "-t", "pre-merge-commit")
    assert done.returncode == 0, done.stdout
    return top


@pytest.fixture
def repo(installed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(installed, tmp_path / "my project", symlinks=True))


def staged(top: Path, files: Mapping[str, str]) -> None:
    write(top, files)
    git(top, "add", "-A")


def test_the_manifest_is_one() -> None:
    done = pre_commit(ROOT, "validate-manifest", ".pre-commit-hooks.yaml")
    assert done.returncode == 0, done.stdout


def test_a_clean_commit_passes_and_an_untidy_one_is_refused_and_repaired(repo: Path) -> None:
    untidy = f"import os\n{EDITED}"
    staged(repo, {"pkg/a.py": EDITED})
    done = run(repo, "git", "commit", "-m", "clean")
    assert done.returncode == 0, done.stdout
    assert "Passed" in done.stdout
    staged(repo, {"pkg/a.py": untidy})
    done = run(repo, "git", "commit", "-m", "untidy")
    assert done.returncode == 1
    assert "F401" in done.stdout
    assert git(repo, "show", ":pkg/a.py") == untidy.strip()
    assert (repo / "pkg/a.py").read_text() == EDITED
    git(repo, "add", "-A")
    assert run(repo, "git", "commit", "--allow-empty", "-m", "repaired").returncode == 0


@pytest.mark.thorough
def test_the_second_clean_commit_takes_the_quick_way_and_judges_all_the_same(repo: Path) -> None:
    staged(repo, {"pkg/a.py": EDITED})
    assert run(repo, "git", "commit", "-m", "one").returncode == 0
    assert (repo / ".git/coderefine/hook/ticket").exists()
    for text, code in ((WRONG, 1), ("import os\n" + EDITED, 1), (EDITED + "\n\nX = 1\n", 0)):
        staged(repo, {"pkg/a.py": text})
        done = run(repo, "git", "commit", "-m", "next")
        assert done.returncode == code, done.stdout


@pytest.mark.thorough
@pytest.mark.usefixtures("searching")
def test_unstaged_edits_are_put_aside_and_come_back(repo: Path) -> None:
    """Where the repair overlaps them, pre-commit rolls it back: nothing is lost, the refusal stays."""
    mine = WRONG + "\n\n# thinking\n"
    staged(repo, {"pkg/a.py": WRONG})
    write(repo, {"pkg/a.py": mine})
    assert run(repo, "git", "commit", "-m", "broken").returncode == 1
    assert git(repo, "show", ":pkg/a.py") == WRONG.strip()
    assert (repo / "pkg/a.py").read_text() == mine
    staged(repo, {"pkg/a.py": EDITED})
    write(repo, {"pkg/a.py": WRONG})
    done = run(repo, "git", "commit", "-m", "fine as staged")
    assert done.returncode == 0, done.stdout
    assert (repo / "pkg/a.py").read_text() == WRONG


def test_a_repair_that_pre_commit_rolls_back_is_kept_as_a_patch(repo: Path) -> None:
    """The report said that the repair lies in the file, and it was nowhere."""
    untidy = f"import os\n{FILES['pkg/a.py']}"
    staged(repo, {"pkg/a.py": untidy})
    write(repo, {"pkg/a.py": f"import os, sys\n{FILES['pkg/a.py']}"})
    done = run(repo, "git", "commit", "-m", "untidy")
    assert done.returncode == 1
    assert "Rolling back fixes" in done.stdout
    assert git(repo, "show", ":pkg/a.py") == untidy.strip()
    advice = next(line for line in done.stdout.splitlines() if "if pre-commit rolls it back: " in line)
    subprocess.run(advice.partition("rolls it back: ")[2], cwd=repo, shell=True, check=True)
    assert git(repo, "show", ":pkg/a.py") == FILES["pkg/a.py"].strip()
    assert "import os, sys" in (repo / "pkg/a.py").read_text()


@pytest.mark.thorough
@pytest.mark.usefixtures("searching")
@pytest.mark.parametrize("how", every(3, ["-a", "-- pkg/a.py", "--amend -a"]))
def test_the_index_of_this_very_commit_is_judged(repo: Path, how: str) -> None:
    """git gives the hook another GIT_INDEX_FILE here; a scratch index of ours must not replace it."""
    write(repo, {"pkg/a.py": WRONG})
    assert run(repo, "git", "commit", "-m", "broken", *how.split()).returncode == 1
    write(repo, {"pkg/a.py": EDITED})
    done = run(repo, "git", "commit", "-m", "fine", *how.split())
    assert done.returncode == 0, done.stdout
    assert git(repo, "show", "HEAD:pkg/a.py") == EDITED.strip()
    assert git(repo, "status", "--porcelain") == ""


def test_a_merge(repo: Path) -> None:
    git(repo, "checkout", "-q", "-b", "side")
    staged(repo, {"pkg/b.py": '"""B."""\n'})
    git(repo, "commit", "-qm", "side", "--no-verify")
    git(repo, "checkout", "-q", "main")
    staged(repo, {"pkg/a.py": EDITED})
    git(repo, "commit", "-qm", "main", "--no-verify")
    done = run(repo, "git", "merge", "--no-ff", "-m", "merged", "side")
    assert done.returncode == 0, done.stdout
    assert len(git(repo, "log", "-1", "--format=%P").split()) == 2


def test_a_part_of_a_file_is_staged(repo: Path) -> None:
    """`git add -p`, by its patch: the first hunk is right, the second (not staged) breaks a test."""
    long = FILES["pkg/a.py"] + "".join(f"\n\ndef f{n}():\n    return {n}\n" for n in range(6))
    staged(repo, {"pkg/a.py": long})
    git(repo, "commit", "-qm", "long", "--no-verify")
    write(repo, {"pkg/a.py": long.replace("return 5", "return 55").replace("a + b", "a - b")})
    done = subprocess.run(("git", "add", "-p"), cwd=repo, input="n\ny\n", text=True, capture_output=True, check=False)
    assert done.returncode == 0
    done = run(repo, "git", "commit", "-m", "half")
    assert done.returncode == 0, done.stdout
    assert git(repo, "show", "HEAD:pkg/a.py") == long.replace("return 5", "return 55").strip()
    assert "a - b" in (repo / "pkg/a.py").read_text()


@pytest.mark.thorough
def test_a_submodule_is_not_looked_into(repo: Path, tmp_path: Path) -> None:
    other = make_repo(tmp_path / "other", {"bad.py": "import os\n"})
    git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "vendor")
    staged(repo, {"pkg/a.py": EDITED})
    done = run(repo, "git", "commit", "-m", "with a submodule")
    assert done.returncode == 0, done.stdout
    write(repo / "vendor", {"bad.py": "import sys\n"})
    staged(repo, {"pkg/a.py": FILES["pkg/a.py"]})
    assert run(repo, "git", "commit", "-m", "a dirty submodule").returncode == 0


@pytest.mark.thorough
def test_a_commit_inside_a_submodule(repo: Path, tmp_path: Path) -> None:
    top = make_repo(tmp_path / "outer", {"x.txt": "x\n"})
    git(top, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(repo), "inner")
    inner = top / "inner"
    assert pre_commit(inner, "install").returncode == 0
    staged(inner, {"pkg/a.py": WRONG})
    assert run(inner, "git", "commit", "-m", "broken").returncode == 1
    staged(inner, {"pkg/a.py": EDITED})
    for _ in range(2):
        done = run(inner, "git", "commit", "--allow-empty", "-m", "fine")
        assert done.returncode == 0, done.stdout


def test_no_pytest_and_no_environment(repo: Path, tmp_path: Path) -> None:
    """The tests are skipped by name; ruff and radon still judge."""
    bare = tmp_path / "bare"
    subprocess.run((sys.executable, "-m", "venv", "--without-pip", str(bare)), check=True)
    settings = FILES["pyproject.toml"] + f'[tool.coderefine]\npython = "{bare}/bin/python"\n'
    write(repo, {"pyproject.toml": settings})
    for _ in range(2):
        staged(repo, {"pkg/a.py": WRONG})
        done = run(repo, sys.executable, "-m", "coderefine", "hook", "run")
        assert (done.returncode, "has no pytest" in done.stdout) == (0, True), done.stdout
    write(repo, {"pyproject.toml": settings.replace("bare/bin", "gone/bin")})
    git(repo, "add", "-A")
    done = run(repo, "git", "commit", "-m", "nowhere")
    assert done.returncode == 1
    assert "gone/bin/python" in done.stdout


def test_a_project_without_tests(tmp_path: Path) -> None:
    files = {name: text for name, text in FILES.items() if not name.startswith("tests/")}
    top = make_repo(tmp_path / "untested", files)
    for _ in range(2):
        staged(top, {"pkg/a.py": WRONG})
        done = run(top, sys.executable, "-m", "coderefine", "hook", "run")
        assert done.returncode == 0
        assert "tests skipped: no test imports what is staged" in done.stdout


@pytest.mark.thorough
def test_without_network(repo: Path) -> None:
    alone = ("unshare", "-rn")
    if run(repo, *alone, "true").returncode:
        pytest.skip("unshare is not allowed here")
    for text, code in ((EDITED, 0), (WRONG, 1)):
        staged(repo, {"pkg/a.py": text})
        done = run(repo, *alone, "git", "commit", "-m", "offline")
        assert done.returncode == code, done.stdout


@pytest.mark.thorough
@pytest.mark.usefixtures("searching")
def test_pushed_commits(repo: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.git"
    git(tmp_path, "init", "-q", "--bare", str(bare))
    git(repo, "remote", "add", "origin", str(bare))
    assert run(repo, "git", "push", "-q", "origin", "main").returncode == 0
    staged(repo, {"pkg/a.py": WRONG})
    git(repo, "commit", "-qm", "wrong", "--no-verify")
    refused = run(repo, "git", "push", "-q", "origin", "main")
    assert refused.returncode != 0
    git(repo, "commit", "-qam", "right", "--no-verify")
    done = run(repo, "git", "push", "-q", "origin", "main")
    assert done.returncode == 0, done.stdout
    assert git(bare, "rev-parse", "main") == git(repo, "rev-parse", "HEAD")


def test_a_commit_that_only_deletes_is_judged(repo: Path) -> None:
    """pre-commit passes no deleted files, and skipped the hook."""
    git(repo, "rm", "-q", "pkg/a.py")
    done = run(repo, "git", "commit", "-m", "gone")
    assert done.returncode == 1, done.stdout
    git(repo, "rm", "-q", "tests/test_a.py")
    done = run(repo, "git", "commit", "-m", "gone with its test")
    assert done.returncode == 0, done.stdout


def test_files_that_the_user_excludes_are_neither_judged_nor_rewritten(repo: Path) -> None:
    """Without a name from pre-commit, the hook took all that was staged, and repaired the excluded file."""
    untidy, hook = "import os\n", {**local(MANIFEST[0]), "exclude": "^legacy/"}
    staged(repo, {".pre-commit-config.yaml": json.dumps({"repos": [{"repo": "local", "hooks": [hook]}]})})
    git(repo, "commit", "-qm", "excluded", "--no-verify")
    staged(repo, {"legacy/x.py": untidy})
    done = run(repo, "git", "commit", "-m", "legacy")
    assert done.returncode == 0, done.stdout
    assert (repo / "legacy/x.py").read_text() == untidy
    staged(repo, {"legacy/x.py": untidy * 2})
    git(repo, "rm", "-q", "pkg/a.py")
    assert run(repo, "git", "commit", "-m", "what is deleted counts").returncode == 1
    assert (repo / "legacy/x.py").read_text() == untidy * 2


@pytest.mark.thorough
def test_the_first_push_is_judged_as_a_whole(repo: Path, tmp_path: Path) -> None:
    """pre-commit names no commits for it, and only the last one was judged."""
    bare = tmp_path / "bare.git"
    git(tmp_path, "init", "-q", "--bare", str(bare))
    git(repo, "remote", "add", "origin", str(bare))
    staged(repo, {"pkg/a.py": WRONG})
    git(repo, "commit", "-qm", "wrong", "--no-verify")
    staged(repo, {"pkg/c.py": '"""C."""\n'})
    git(repo, "commit", "-qm", "harmless", "--no-verify")
    assert run(repo, "git", "push", "-q", "origin", "main").returncode != 0
    staged(repo, {"pkg/a.py": EDITED})
    git(repo, "commit", "-qm", "right", "--no-verify")
    done = run(repo, "git", "push", "-q", "origin", "main")
    assert done.returncode == 0, done.stdout


@pytest.mark.thorough
def test_two_commits_at_once(repo: Path, tmp_path: Path) -> None:
    """In two worktrees of one repository, so that git itself allows it."""
    other = tmp_path / "other"
    git(repo, "worktree", "add", "-q", str(other), "-b", "side")
    for top in (repo, other):
        staged(top, {"pkg/a.py": WRONG})
    both = [
        subprocess.Popen(("git", "commit", "-m", "x"), cwd=top, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for top in (repo, other)
    ]
    result = [child.communicate(timeout=600)[0].decode() for child in both]
    assert [child.returncode for child in both] == [1, 1], result
    for top in (repo, other):
        assert git(top, "show", ":pkg/a.py") == WRONG.strip()
        assert (top / "pkg/a.py").read_text() in (WRONG, FILES["pkg/a.py"])


@pytest.mark.thorough
def test_all_files_in_serial_though_argv_is_split(repo: Path) -> None:
    """pre-commit splits at 128 KiB of argv: each part is judged; nothing runs side by side."""
    many = {f"pkg/{'long_' * 30}{n}.py": f'"""{n}."""\n' for n in range(900)}
    staged(repo, many)
    done = pre_commit(repo, "run", "--all-files")
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_five_thousand_staged_files(repo: Path) -> None:
    staged(repo, {f"pkg/part{n % 50}/m{n}.py": f'"""{n}."""\n\nX = {n}\n' for n in range(5000)})
    began = time.monotonic()
    done = run(repo, "git", "commit", "-qm", "many")
    assert done.returncode == 0, done.stdout
    assert time.monotonic() - began < 60


@pytest.mark.parametrize("how", every(2, [signal.SIGINT, signal.SIGTERM, signal.SIGKILL]))
def test_a_hook_that_is_ended_leaves_index_and_tree_alone(repo: Path, how: signal.Signals) -> None:
    staged(repo, {"tests/test_a.py": FILES["tests/test_a.py"] + "    import time\n\n    time.sleep(5)\n"})
    for _ in range(2):
        child = subprocess.Popen((sys.executable, "-m", "coderefine", "hook", "run"), cwd=repo)
        time.sleep(0.7)
        child.send_signal(how)
        assert child.wait(20) != 0
        assert git(repo, "status", "--porcelain") == "M  tests/test_a.py"


@pytest.mark.thorough
def test_it_is_tried_from_its_own_repository(repo: Path, tmp_path: Path) -> None:
    """`pre-commit try-repo`: a virtualenv of its own, made from the registry, without the project's packages."""
    source = tmp_path / "coderefine"
    git(tmp_path, "clone", "-q", str(ROOT), str(source))
    staged(repo, {"pkg/a.py": WRONG})
    done = pre_commit(repo, "try-repo", str(source), "coderefine", "--all-files", "--verbose")
    if "Failed to establish" in done.stdout or "No matching distribution" in done.stdout:
        pytest.skip("no registry")
    assert "bug in coderefine" not in done.stdout, done.stdout[-2000:]
    assert "- exit code: 1" in done.stdout, done.stdout[-2000:]
    assert "coderefine" in done.stdout
