"""git as we use it: read and written without touching what is the user's, errors as one clear line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from coderefine.errors import GitError, UsageError
from coderefine.git import Repository, diff, merge, read_blobs, read_files, scratch, snapshot
from coderefine.git.given_patch import read_diff
from coderefine.git.process import run
from tests.support.repo import git, make_repo, write


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repo(tmp_path / "répo dir", {"src/a.py": "x = 1\n", "run.sh": "#!/bin/sh\n", "b.txt": "b\n"})


def test_head_in_every_state(repo: Path, tmp_path: Path) -> None:
    sha = git(repo, "rev-parse", "HEAD")
    assert (Repository.open(repo / "src").head().sha, Repository.open(repo).head().branch) == (sha, "main")
    git(repo, "checkout", "-q", "--detach")
    assert (Repository.open(repo).head().sha, Repository.open(repo).head().ref) == (sha, None)
    unborn = tmp_path / "unborn"
    unborn.mkdir()
    git(unborn, "init", "-q", "-b", "trunk")
    head = Repository.open(unborn).head()
    assert (head.sha, head.branch) == (None, "trunk")


def test_locations_in_worktrees_submodules_and_shallow_clones(repo: Path) -> None:
    linked = repo.parent / "linked"
    git(repo, "worktree", "add", "-q", "-b", "side", str(linked))
    there = Repository.open(linked)
    assert (there.top, there.common_dir) == (linked, repo / ".git")
    assert there.git_dir == repo / ".git/worktrees/linked"
    library = make_repo(repo.parent / "library", {"lib.py": "x = 1\n"})
    git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "vendored")
    inner = Repository.open(repo / "vendored")
    assert (inner.top, inner.git_dir) == (repo / "vendored", repo / ".git/modules/vendored")
    shallow = repo.parent / "shallow"
    git(repo, "clone", "-q", "--depth", "1", f"file://{repo}", str(shallow))
    assert Repository.open(shallow).head().sha == git(repo, "rev-parse", "HEAD")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        ("plain", "is not inside a git repository: run `git init`"),
        ("bare", "is a bare repository"),
        ("missing", "is not a folder"),
        ("stranger", "another user owns it: run `git config --global --add safe.directory"),
    ],
)
def test_a_missing_repository_is_reported_in_one_line(tmp_path: Path, sealed: Path, make: str, message: str) -> None:
    place = tmp_path / make
    if make != "missing":
        place.mkdir()
    if make == "bare":
        git(place, "init", "-q", "--bare")
    if make == "stranger":
        git(place, "init", "-q")
        (sealed / ".gitconfig").write_text("")
        if subprocess.run(("chown", "-R", "12345", str(place)), check=False).returncode:
            pytest.skip("cannot give a file away")
    with pytest.raises(GitError, match=message) as caught:
        Repository.open(place)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "name", ["GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR"]
)
def test_a_hooks_environment_is_not_believed(repo: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    sha, index = git(repo, "rev-parse", "HEAD"), (repo / ".git/index").read_bytes()
    with monkeypatch.context() as hooked:
        hooked.setenv(name, str(repo.parent / "nowhere"))
        repository = Repository.open(repo)
        assert repository.head().sha == sha
        assert read_files(repository, sha, ["src/a.py"])["src/a.py"]
        with scratch(repository, repository.tree(sha)) as made:
            made.lay({"src/a.py": b"x = 2\n"})
            assert made.write() != repository.tree(sha)
    assert (repo / ".git/index").read_bytes() == index


@pytest.mark.parametrize("name", ["GIT_SSH_COMMAND", "GIT_SSH", "GIT_ASKPASS"])
def test_a_key_or_password_given_by_a_variable_was_not_used(
    repo: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A push of `--pull-request` was refused where `git push` works."""
    program, used = repo.parent / "transport", repo.parent / "used"
    program.write_text(f"#!/bin/sh\n: > '{used}'\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv(name, f"'{program}'" if name == "GIT_SSH_COMMAND" else str(program))
    repository = Repository.open(repo)
    if name == "GIT_ASKPASS":
        repository.run("credential", "fill", stdin=b"protocol=https\nhost=localhost\n\n")
    else:
        repository.run("ls-remote", "ssh://localhost/nowhere")
    assert used.exists()


def test_trees_are_written_beside_the_users_index(repo: Path) -> None:
    (repo / "run.sh").chmod(0o755)
    (repo / "link").symlink_to("b.txt")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "modes")
    write(repo, {"b.txt": "staged\n"})
    git(repo, "add", "b.txt")
    index = (repo / ".git/index").read_bytes()
    repository = Repository.open(repo)
    with scratch(repository, repository.tree("HEAD")) as made:
        made.lay({"run.sh": b"#!/bin/sh\nexit\n", "src/a.py": None, "src": b"now a file\n", "ä\n\t*.py": b"n"})
        tree = made.write()
    listing = git(repo, "ls-tree", "-r", "-z", tree).split("\0")
    assert [line.split()[0] + " " + line.split("\t", 1)[1] for line in listing if line] == [
        "100644 b.txt",
        "120000 link",
        "100755 run.sh",
        "100644 src",
        "100644 ä\n\t*.py",
    ]
    assert (repo / ".git/index").read_bytes() == index
    assert git(repo, "show", f"{tree}:b.txt") == "b"


def test_the_snapshot_contains_the_users_current_files(repo: Path) -> None:
    library = make_repo(repo.parent / "library", {"lib.py": "x = 1\n"})
    git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "vendored")
    git(repo, "commit", "-q", "-m", "vendor")
    make_repo(repo / "nested", {"inner.py": "i = 1\n"})
    write(repo, {"src/a.py": "dirty\n", "new ü.py": "n\n", "vendored/lib.py": "dirty\n", "intended.py": "i\n"})
    (repo / "b.txt").unlink()
    (repo / "link").symlink_to("nowhere")
    git(repo, "add", "-N", "intended.py")
    repository = Repository.open(repo)
    index = (repo / ".git/index").read_bytes()
    tree = snapshot(repository, repo.parent / "index")
    assert git(repo, "-c", "core.quotePath=false", "ls-tree", "-r", "--name-only", tree).split("\n") == [
        ".gitmodules",
        "intended.py",
        "run.sh",
        "src/a.py",
        "vendored",
    ]
    assert git(repo, "show", f"{tree}:src/a.py") == "dirty"
    assert (repo / ".git/index").read_bytes() == index


def test_the_snapshot_of_a_sparse_checkout_keeps_absent_files(repo: Path) -> None:
    git(repo, "sparse-checkout", "set", "--no-cone", "/src/")
    assert not (repo / "b.txt").exists()
    write(repo, {"src/a.py": "dirty\n"})
    repository = Repository.open(repo)
    tree = snapshot(repository, repo.parent / "index")
    assert git(repo, "ls-tree", "-r", "--name-only", tree).split() == ["b.txt", "run.sh", "src/a.py"]
    assert git(repo, "show", f"{tree}:src/a.py") == "dirty"


def test_a_command_that_does_not_end_is_named(repo: Path) -> None:
    """The message named an option of git: `git -c did not end`."""
    hook = repo / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\nsleep 60\n")
    hook.chmod(0o755)
    with pytest.raises(GitError, match=r"^git commit did not end within 1 s"):
        run(("-c", "gc.auto=0", "commit", "--allow-empty", "-m", "x"), cwd=repo, timeout=1.0)


def test_a_ref_moves_only_from_where_it_was(repo: Path) -> None:
    repository = Repository.open(repo)
    first = repository.head().sha
    assert first
    second = repository.commit_tree(repository.tree(first), first, "second é\n")
    repository.move_ref("refs/coderefine/x/1", first, None, "t")
    for old in (None, second):
        with pytest.raises(GitError):
            repository.move_ref("refs/coderefine/x/1", second, old, "t")
    repository.move_ref("refs/coderefine/x/1", second, first, "t")
    assert repository.refs("refs/coderefine/") == {"refs/coderefine/x/1": second}
    repository.delete_refs(["refs/coderefine/x/1", "refs/coderefine/gone"])
    assert repository.refs("refs/coderefine/") == {}


def stored(repository: Repository, data: bytes) -> str:
    """Store `data` without any filter; return its id."""
    return repository.git("hash-object", "-w", "--stdin", "--no-filters", stdin=data).decode().strip()


def test_a_merge_of_one_file_or_none(repo: Path) -> None:
    repository = Repository.open(repo)
    lines = [f"line{n}\n" for n in range(9)]
    base = stored(repository, "".join(lines).encode())
    ours = stored(repository, "".join([*lines, "mine\r\n"]).encode())
    theirs = stored(repository, "".join(["fixed\n", *lines[1:]]).encode())
    clash = stored(repository, "".join(["other\n", *lines[1:]]).encode())
    binary = stored(repository, b"\0\1\2")
    merged = merge(repository, ours, base, theirs)
    assert merged
    assert read_blobs(repository, [merged]) == ("".join(["fixed\n", *lines[1:], "mine\r\n"]).encode(),)
    assert merge(repository, clash, base, theirs) is None
    assert merge(repository, binary, base, theirs) is None


@pytest.mark.parametrize("ends", ["\r\n" * 5, "\n" * 5, "\r\n\n\n\n\r\n"], ids=["CRLF", "LF", "mixed"])
def test_a_diff_is_read_for_the_line_ends_of_the_file(repo: Path, ends: str) -> None:
    """The whole file got the line ends that git stores, which are those of the diff."""
    text = "one\ntwo\nthree\nfour\nfive\n"
    write(repo, {".gitattributes": "* text=auto\n", "t.txt": text, "gone.txt": text})
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "text")
    write(repo, {"t.txt": text.replace("three", "3")})
    (repo / "gone.txt").unlink()
    change = git(repo, "diff").encode() + b"\n"
    here = "".join(map("".join, zip(text.split(), ends.splitlines(keepends=True), strict=True)))
    write(repo, {"t.txt": here, "gone.txt": here})
    given = read_diff(Repository.open(repo), change, "a diff", on_head=False)
    assert given.files == {"t.txt": here.replace("three", "3").encode(), "gone.txt": None}
    assert given.base == {"t.txt": here.encode(), "gone.txt": here.encode()}


def test_a_diff_that_overlaps_mixed_line_ends_is_refused_for_the_file_and_not_for_head(repo: Path) -> None:
    """All lines got the line end that git stores."""
    write(repo, {".gitattributes": "* text=auto\n", "t.txt": "one\ntwo\nthree\n"})
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "text")
    write(repo, {"t.txt": "one\n2\nthree\n"})
    change = git(repo, "diff").encode() + b"\n"
    write(repo, {"t.txt": "one\ntwo\r\nthree\n"})
    with pytest.raises(UsageError, match=r"a diff does not apply to t.txt: its line ends"):
        read_diff(Repository.open(repo), change, "a diff", on_head=False)
    given = read_diff(Repository.open(repo), change, "a diff", on_head=True)
    assert given.base == given.under == {"t.txt": b"one\ntwo\nthree\n"}
    assert given.files == {"t.txt": b"one\n2\nthree\n"}


def test_large_and_odd_contents_come_back_whole(repo: Path) -> None:
    big = bytes(range(256)) * 20_000
    write(repo, {"big.bin": big, "empty": ""})
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "big")
    git(repo, "gc", "-q")
    repository = Repository.open(repo)
    found = read_files(repository, "HEAD", ["big.bin", "empty", "src", "none", "src/a.py"])
    assert [entry.data if entry else None for entry in found.values()] == [big, b"", None, None, b"x = 1\n"]
    with scratch(repository, repository.tree("HEAD")) as made:
        made.lay({"big.bin": None})
        assert len(diff(repository, repository.tree("HEAD"), made.write())) > 10_000
    with pytest.raises(GitError, match="cannot be read"):
        read_blobs(repository, ["0" * 39 + "1"])
    with pytest.raises(GitError):
        read_files(repository, "0" * 40, ["x"])


def test_a_lock_held_by_another_git(repo: Path) -> None:
    repository = Repository.open(repo)
    (repo / ".git/HEAD.lock").write_text("")
    with pytest.raises(GitError, match=r"another git process is running in .*HEAD\.lock if none is running"):
        repository.move_ref("HEAD", None, repository.head().sha, "t")


def test_gitpython_is_not_imported_until_something_is_read(repo: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from coderefine.git import Repository\n"
        "Repository.open(Path(sys.argv[1])).head(); assert 'git' not in sys.modules, 'imported'"
    )
    subprocess.run((sys.executable, "-c", script, str(repo)), check=True, timeout=60)
