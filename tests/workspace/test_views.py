"""A view shows the tree as it is plus one patch, fresh every time, and lets nothing out."""

from __future__ import annotations

import os
import stat
import sys
import venv
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from coderefine import sandbox
from coderefine.core import Patch, Views
from coderefine.errors import WorkspaceError
from coderefine.project import Place, locate
from coderefine.sandbox.permissions import TIGHT
from coderefine.workspace import open_views
from coderefine.workspace.private_views import copy_views
from tests.support.repo import git, make_repo, write
from tests.support.trees import photograph

INIT = "src/pkg/__init__.py"


def patch(**files: str | None) -> Patch:
    return files_patch({INIT if name == "init" else name: text for name, text in files.items()})


def files_patch(files: Mapping[str, str | None]) -> Patch:
    return Patch({name: None if text is None else text.encode() for name, text in files.items()})


@pytest.fixture
def place(top: Path) -> Place:
    return locate([], top)


@pytest.fixture
def views(place: Place, kind: str) -> Iterator[Views]:
    before = photograph(place.top)
    with open_views(place, kind=kind) as views:
        yield views
    assert photograph(place.top) == before


def test_the_whole_working_tree_is_there(views: Views) -> None:
    with views.open() as view:
        assert view.read(INIT) == b"VALUE = 'dirty'\n"
        assert view.read("untracked.py") == b"u = 1\n"
        assert view.read("src/pkg/_version.py") == b"v = 1\n"
        assert view.read("big.dat") == b"\0" * 5000
        assert view.read("src/pkg/a b é.py") == b"x = 1\n"
        assert view.read("gone.txt") is None
        assert view.read("src") is None
        assert view.run(("./run.sh",)).text == "ran\n"


def test_programs_in_a_view_run_at_its_path(views: Views, place: Place, kind: str) -> None:
    with views.open() as view:
        ended = view.run((sys.executable, "-c", "import os; print(os.getcwd())"), cwd="src/pkg").text.strip()
        assert Path(ended) == view.top / "src/pkg"
        assert (view.top == place.top) is (kind == "overlay")
        assert view.top.name.replace("_", ":") == place.top.name
        assert (view.host_path / INIT).read_bytes() == b"VALUE = 'dirty'\n"


def test_the_launcher_enters_the_same_tree(views: Views) -> None:
    with views.open(patch(init="VALUE = 'new'\n")) as view:
        result, _ = sandbox.run(view, ("cat", INIT), TIGHT)
        assert result.stdout == b"VALUE = 'new'\n", result.stderr


def test_patches_are_seen_by_children_and_by_us(views: Views) -> None:
    given = files_patch({INIT: "VALUE = 'new'\n", "deep/er/new é.py": "n\n", "untracked.py": None})
    with views.open(given) as view:
        assert view.read(INIT) == b"VALUE = 'new'\n"
        assert view.run(("cat", INIT, "deep/er/new é.py")).text == "VALUE = 'new'\nn\n"
        assert view.run(("ls", "untracked.py")).returncode != 0
        assert view.read("untracked.py") is None


def test_every_view_is_fresh(views: Views) -> None:
    mess = (
        "rm -rf src; echo x > left; echo y >> untracked.py; mkdir -p a/b; chmod 0 a; rm link; ln -s / link; rm -rf .git"
    )
    with views.open(files_patch({INIT: "broken", "new.py": "n"})) as view:
        view.run(("sh", "-c", mess))
    with views.open() as view:
        assert view.read(INIT) == b"VALUE = 'dirty'\n"
        assert view.read("untracked.py") == b"u = 1\n"
        for name in ("left", "new.py", "a"):
            assert not os.path.lexists(view.host_path / name)
        assert view.run(("readlink", "link")).text == "src/pkg\n"
        assert view.run(("git", "status", "--short", "gone.txt")).text == " D gone.txt\n"


def test_same_size_same_second_changes_are_undone(views: Views) -> None:
    """Restoring by size and time alone would leave this one behind."""
    script = "import os; s = os.stat('untracked.py'); open('untracked.py', 'w').write('u = 2\\n')"
    with views.open() as view:
        view.run((sys.executable, "-c", f"{script}; os.utime('untracked.py', ns=(s.st_atime_ns, s.st_mtime_ns))"))
        assert view.read("untracked.py") == b"u = 2\n"
    with views.open() as view:
        assert view.read("untracked.py") == b"u = 1\n"


def test_the_users_later_changes_are_in_the_next_view(place: Place, kind: str) -> None:
    with open_views(place, kind=kind) as views:
        with views.open() as view:
            assert view.read("untracked.py") == b"u = 1\n"
        write(place.top, {"untracked.py": "u = 3\n", "later.py": "l\n"})
        (place.top / "big.dat").unlink()
        with views.open() as view:
            assert view.run(("cat", "untracked.py", "later.py")).text == "u = 3\nl\n"
            assert view.read("big.dat") is None


def test_views_may_overlap(views: Views) -> None:
    with views.open(patch(init="one")) as first, views.open(patch(init="two")) as second:
        first.run(("sh", "-c", "echo first > mine"))
        assert (first.read(INIT), second.read(INIT)) == (b"one", b"two")
        assert second.read("mine") is None
        assert first.temp != second.temp


def test_modes_are_kept_and_read_only_files_written(top: Path, place: Place, kind: str) -> None:
    (top / "untracked.py").chmod(0o444)
    with (
        open_views(place, kind=kind) as views,
        views.open(files_patch({"run.sh": "#!/bin/sh\n", "untracked.py": "z"})) as view,
    ):
        assert stat.S_IMODE((view.host_path / "run.sh").stat().st_mode) == 0o755
        assert stat.S_IMODE((view.host_path / "untracked.py").stat().st_mode) == 0o444
        assert view.read("untracked.py") == b"z"


@pytest.mark.parametrize("checked", ["--invalidation-mode=timestamp", "--invalidation-mode=unchecked-hash"])
def test_stale_bytecode_never_hides_a_patch(top: Path, place: Place, kind: str, checked: str) -> None:
    """Same size, same second: CPython would take the old .pyc (PEP 552)."""
    import subprocess

    write(top, {"m.py": "print(1)\n"})
    subprocess.run((sys.executable, "-m", "compileall", "-q", checked, "m.py"), cwd=top, check=True)
    with open_views(place, kind=kind) as views:
        for number in (2, 3):
            with views.open(files_patch({"m.py": f"print({number})\n"})) as view:
                for _ in range(2):
                    assert view.run((sys.executable, "-c", "import m")).text == f"{number}\n"


def test_links_are_followed_inside_only(top: Path, place: Place, kind: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s", "utf-8")
    (top / "out").symlink_to(tmp_path)
    (top / "circle").symlink_to("circle")
    with open_views(place, kind=kind) as views, views.open(patch(init="VALUE = 'new'\n")) as view:
        assert view.read("link/__init__.py") == view.read("absolute/__init__.py") == b"VALUE = 'new'\n"
        assert view.run(("cat", "absolute/__init__.py")).text == "VALUE = 'new'\n"
        assert view.read("out/secret") is view.read("circle") is None


@pytest.mark.parametrize("name", ["out/x.py", "../x.py", "/tmp/x.py", "link/new.py", "link", "a/../../x", "", "src"])
def test_no_patch_leaves_the_tree(top: Path, place: Place, kind: str, name: str, tmp_path: Path) -> None:
    (tmp_path / "away").mkdir()
    (top / "out").symlink_to(tmp_path / "away")
    before = photograph(tmp_path)
    with open_views(place, kind=kind) as views:
        with pytest.raises(WorkspaceError, match=r"cannot write|not a path inside|not a regular file"):  # noqa: SIM117
            with views.open(files_patch({name: "x"})):
                pass
        with views.open() as view:
            assert view.read("untracked.py") == b"u = 1\n"
    assert photograph(tmp_path) == before


def test_an_editable_install_imports_the_view(top: Path, place: Place, kind: str, tmp_path: Path) -> None:
    venv.create(tmp_path / "env", with_pip=False)
    (site,) = (tmp_path / "env").glob("lib/python3*/site-packages")
    (site / "__editable__.pkg.pth").write_text(f"{top / 'src'}\n", "utf-8")
    python = str(tmp_path / "env/bin/python")
    with open_views(place, kind=kind) as views, views.open(patch(init="VALUE = 'patched'\n")) as view:
        ended = view.run((python, "-c", "import pkg; print(pkg.VALUE, pkg.__file__)")).text
        assert ended.startswith("patched ")
        assert str(view.top) in ended


def test_children_get_a_clean_environment(views: Views, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GIT_INDEX_FILE", "MY_API_KEY", "PYTHONPYCACHEPREFIX", "PYTEST_DEBUG_TEMPROOT"):
        monkeypatch.setenv(name, "leak")
    monkeypatch.setenv("KEPT", "kept")
    with views.open() as view:
        ended = view.run(("env",), env={"EXTRA": "e"}).text
        assert "leak" not in ended
        assert "KEPT=kept" in ended
        assert "EXTRA=e" in ended


def test_temporary_files_go_to_the_view(views: Views) -> None:
    with views.open() as view:
        view.run(("sh", "-c", 'echo t > "$TMPDIR/mine"; test "$TMP" = "$TMPDIR" && test "$TEMP" = "$TMPDIR"'))
        ended = view.run(("sh", "-c", 'echo "$TMPDIR"; ls "$TMPDIR"')).text.splitlines()
        assert ended[1:] == ["mine"]
        folder = Path(ended[0])
        assert list(view.temp.iterdir()) == []
        (view.temp / "ours").write_text("both sides see it", "utf-8")
        assert view.run(("cat", str(view.temp / "ours"))).text == "both sides see it"
    assert not folder.exists()
    assert not view.temp.exists()


def test_git_works_inside_and_stays_inside(views: Views, place: Place) -> None:
    head = git(place.top, "rev-parse", "HEAD")
    with views.open(patch(init="VALUE = 'patched'\n")) as view:
        assert view.run(("git", "rev-parse", "HEAD")).text.strip() == head
        assert view.run(("git", "show", "HEAD:gone.txt")).text == "deleted in the working tree\n"
        assert f" M {INIT}" in view.run(("git", "status", "--short")).text
        result = view.run(("git", "commit", "-qam", "inside"))
        assert result.returncode == 0, result.stderr
        assert view.run(("git", "rev-parse", "HEAD")).text.strip() != head
    assert git(place.top, "rev-parse", "HEAD") == head


def test_a_view_reports_the_end_of_a_command(views: Views) -> None:
    with views.open() as view:
        assert view.run(("sh", "-c", "cat; exit 7"), stdin=b"in").returncode == 7
        assert view.run(("sh", "-c", "kill -9 $$")).returncode in (-9, 137)
        result = view.run(("sleep", "30"), timeout=0.3)
        assert result.timed_out
        assert result.seconds < 5


def test_file_descriptors_reach_the_child(views: Views) -> None:
    reading, writing = os.pipe()
    try:
        with views.open() as view:
            result = view.run((sys.executable, "-c", f"import os; os.write({writing}, b'hello')"), pass_fds=(writing,))
        assert result.returncode == 0
        assert os.read(reading, 100) == b"hello"
    finally:
        os.close(reading)
        os.close(writing)


def test_a_linked_worktree_has_its_git_directory_covered(top: Path, kind: str, tmp_path: Path) -> None:
    linked = tmp_path / "linked tree"
    git(top, "worktree", "add", "-q", "-b", "side", str(linked))
    before = photograph(tmp_path)
    with open_views(locate([], linked), kind=kind) as views:
        for _ in range(2):
            with views.open(files_patch({"n.py": "n"})) as view:
                assert view.run(("git", "symbolic-ref", "HEAD")).text == "refs/heads/side\n"
                assert view.run(("sh", "-c", "git add n.py && git commit -qm inside && git tag t")).returncode == 0
                assert view.run(("git", "log", "-1", "--format=%s")).text == "inside\n"
    assert photograph(tmp_path) == before


def test_the_links_of_git_new_workdir_are_not_written_through(top: Path, kind: str, tmp_path: Path) -> None:
    """contrib/workdir/git-new-workdir of git makes such links to share a repository."""
    origin, links = tmp_path / "origin", ("config", "refs", "packed-refs", "info", "objects")
    (top / ".git").rename(origin)
    git(top, "-C", str(origin), "config", "core.hooksPath", "elsewhere")
    (top / ".git").mkdir()
    for name in ("HEAD", "index"):
        (top / ".git" / name).write_bytes((origin / name).read_bytes())
    for name in links:
        (top / ".git" / name).symlink_to(origin / name)
    before = photograph(tmp_path)
    with open_views(locate([], top), kind=kind) as views, views.open(files_patch({"n.py": "n"})) as view:
        view.run(("sh", "-c", "git add n.py && git commit -qm inside && git tag t"))
    assert photograph(tmp_path) == before


def test_a_submodule_and_its_outer_repository(top: Path, kind: str, tmp_path: Path) -> None:
    outer = make_repo(tmp_path / "outer", {"m.py": "m\n"})
    git(top, "checkout", "-q", ".")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(top), "libs/sub")
    git(outer, "commit", "-qm", "sub")
    before = photograph(tmp_path)
    with open_views(locate([], outer / "libs/sub"), kind=kind) as views, views.open(patch(init="p")) as view:
        assert view.run(("git", "status", "--short")).text == f" M {INIT}\n"
        assert view.run(("git", "commit", "-qam", "inside")).returncode == 0
    with open_views(locate([], outer), kind=kind) as views:  # noqa: SIM117
        with views.open(files_patch({f"libs/sub/{INIT}": "p"})) as view:
            assert view.run(("git", "-C", "libs/sub", "status", "--short")).text == f" M {INIT}\n"
            assert view.run(("git", "-C", "libs/sub", "commit", "-qam", "inside")).returncode == 0
            assert view.run(("git", "status", "--short")).text == " M libs/sub\n"
    assert photograph(tmp_path) == before


def test_a_project_below_the_top_of_a_monorepo(tmp_path: Path, kind: str) -> None:
    top = make_repo(
        tmp_path / "mono", {"libs/one/pyproject.toml": "", "libs/one/src/one.py": "V = 1\n", "shared.txt": "s"}
    )
    with open_views(locate([Path("libs/one")], top), kind=kind) as views:  # noqa: SIM117
        with views.open(files_patch({"libs/one/src/one.py": "V = 2\n"})) as view:
            assert view.run(("cat", "../../shared.txt"), cwd="libs/one").text == "s"
            script = "import sys; sys.path.append('src'); import one; print(one.V)"
            assert view.run((sys.executable, "-c", script), cwd="libs/one").text == "2\n"


def test_without_git(tmp_path: Path, kind: str) -> None:
    write(tmp_path, {"p/pyproject.toml": "", "p/m.py": "m"})
    with open_views(locate([], tmp_path / "p"), kind=kind) as views, views.open(files_patch({"m.py": "n"})) as view:
        assert view.run(("cat", "m.py")).text == "n"


def test_a_top_reached_through_a_link(top: Path, kind: str, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(top)
    with open_views(locate([], tmp_path / "alias"), kind=kind) as views, views.open(patch(init="via")) as view:
        assert view.read(INIT) == b"via"
        if kind == "overlay":
            assert view.run(("cat", str(tmp_path / "alias" / INIT))).text == "via"


def test_copies_that_are_opened_at_once_are_never_the_same(tmp_path: Path) -> None:
    place = locate([], make_repo(tmp_path / "shop", {"a.py": "A = 1\n"}))
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with copy_views(place) as views, ThreadPoolExecutor(8) as pool:
            made = [mirror.copy for mirror in pool.map(lambda _: views._restored(), range(8))]
    finally:
        sys.setswitchinterval(usual)
    assert len(set(made)) == 8
