"""Finding the repository, the project in it and the asked scope."""

from __future__ import annotations

from pathlib import Path

import pytest

from coderefine.errors import SurroundingsError, UsageError
from coderefine.project import locate
from tests.support.repo import git, make_repo, write


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repo(tmp_path / "ré po", {"pyproject.toml": "", "src/a b.py": "x = 1\n", "tests/test_a.py": ""})


def test_no_path_means_the_whole_project(repo: Path) -> None:
    place = locate([], repo)
    assert (place.top, place.root, place.scope, place.prefix) == (repo, repo, (".",), ".")
    assert place.git_dir == place.worktree_dir == repo / ".git"


@pytest.mark.parametrize(
    ("asked", "scope"),
    [
        (["src/a b.py"], ("src/a b.py",)),
        (["src"], ("src",)),
        (["src/../src/a b.py"], ("src/a b.py",)),
        (["src", "src/a b.py", "src"], ("src",)),
        (["tests", "src"], ("tests", "src")),
        ([".", "src"], (".",)),
    ],
)
def test_scope_is_relative_to_the_top(repo: Path, asked: list[str], scope: tuple[str, ...]) -> None:
    assert locate([Path(path) for path in asked], repo).scope == scope


def test_relative_paths_start_at_the_given_folder(repo: Path) -> None:
    assert locate([Path("a b.py")], repo / "src").scope == ("src/a b.py",)
    assert locate([], repo / "src").scope == ("src",)


def test_a_monorepo_has_its_project_below_the_top(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "mono", {"libs/one/setup.cfg": "", "libs/one/src/m.py": "", "libs/two/tox.ini": ""})
    one = locate([Path("libs/one/src")], top)
    assert (one.top, one.root, one.prefix, one.scope) == (top, top / "libs/one", "libs/one", ("libs/one/src",))


def test_a_project_above_the_repository_is_not_ours(tmp_path: Path) -> None:
    write(tmp_path, {"pyproject.toml": ""})
    top = make_repo(tmp_path / "inner", {"m.py": ""})
    assert locate([], top).root == top


def test_a_linked_worktree_shares_the_git_directory(repo: Path, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "-q", "-b", "side", str(tmp_path / "linked"))
    place = locate([Path("src")], tmp_path / "linked")
    assert place.top == tmp_path / "linked"
    assert place.git_dir == repo / ".git"
    assert place.worktree_dir == repo / ".git" / "worktrees" / "linked"


def test_a_submodule_is_a_repository_of_its_own(repo: Path, tmp_path: Path) -> None:
    outer = make_repo(tmp_path / "outer", {"m.py": ""})
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(repo), "libs/sub")
    place = locate([Path("libs/sub/src")], outer)
    assert (place.top, place.git_dir) == (outer / "libs/sub", outer / ".git/modules/libs/sub")
    assert place.git_dir == place.worktree_dir


def test_without_git_the_place_has_no_git_directory(tmp_path: Path) -> None:
    write(tmp_path, {"plain/pyproject.toml": "", "plain/src/m.py": ""})
    place = locate([Path("plain/src/m.py")], tmp_path)
    assert (place.top, place.root, place.git_dir) == (tmp_path / "plain", tmp_path / "plain", None)
    assert place.scope == ("src/m.py",)


def test_without_git_and_project_the_folder_itself_is_taken(tmp_path: Path) -> None:
    write(tmp_path, {"x/y/m.py": ""})
    assert locate([Path("x/y/m.py")], tmp_path).top == tmp_path / "x/y"


def test_an_empty_git_folder_is_no_repository(tmp_path: Path) -> None:
    (tmp_path / "x/.git").mkdir(parents=True)
    assert locate([], tmp_path / "x").git_dir is None


def test_links_are_resolved(repo: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(repo)
    place = locate([Path("src")], tmp_path / "link")
    assert (place.top, place.scope) == (repo, ("src",))


def test_impossible_paths_are_refused_in_one_line(repo: Path, tmp_path: Path) -> None:
    make_repo(tmp_path / "other", {"m.py": ""})
    (repo / "away").symlink_to(tmp_path / "other")
    cases = {
        "nowhere.py": "does not exist",
        ".git": "inside a git directory",
        ".git/refs": "inside a git directory",
    }
    for name, says in cases.items():
        with pytest.raises(UsageError, match=says):
            locate([Path(name)], repo)
    with pytest.raises(UsageError, match="give paths of one repository"):
        locate([Path("src"), Path("away")], repo)
    with pytest.raises(UsageError, match="is outside this repository"):
        locate([Path("src"), tmp_path], repo)


def test_a_git_file_with_an_invalid_target_is_reported(tmp_path: Path) -> None:
    write(tmp_path, {"x/.git": "gitdir: /nowhere/at/all\n"})
    with pytest.raises(SurroundingsError, match="does not lead to a git directory"):
        locate([], tmp_path / "x")


def test_paths_of_two_projects_without_one_above_them_are_refused(tmp_path: Path) -> None:
    """Run from the top, neither project's configuration would count and its tests would not import its code."""
    top = make_repo(tmp_path / "mono", {"a/setup.py": "", "b/pyproject.toml": "", "tools/x.py": ""})
    with pytest.raises(UsageError, match=r"in several projects \(a, b\): run coderefine once for each"):
        locate([Path("a"), Path("b")], top)
    assert locate([Path("a"), Path("tools")], top).root == top
    write(top, {"pyproject.toml": ""})
    assert locate([Path("a"), Path("b")], top).root == top
