"""What a child may try: afterwards the user's tree is byte-identical and nothing of it is left."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from coderefine.project import locate
from coderefine.workspace import Grants, open_views
from coderefine.workspace.environment import scratch, sweep
from tests.support.trees import photograph

ATTACKS = {
    "delete everything": "rm -rf ./* ./.[a-z]*",
    "write into git": "echo x > .git/HEAD; rm -rf .git/refs .git/objects/*; echo evil > .git/hooks/pre-commit",
    "overwrite through links": "echo x > link/__init__.py; echo x > absolute/__init__.py; rm -rf absolute/*",
    "change modes and times": "chmod -R 0 src; touch -d 1999-01-01 untracked.py",
    "truncate in place": "for f in $(git ls-files -z | tr '\\0' '\\n' | grep -v ' '); do : > $f; done",
    "git clean and reset": "git checkout -q .; git clean -qfdx; git reset -q --hard; git gc -q --prune=now",
    "move the tree away": "mv src elsewhere; mv .git git; mkdir src",
}


@pytest.mark.parametrize("name", list(ATTACKS))
def test_the_users_tree_survives(top: Path, kind: str, name: str) -> None:
    before = photograph(top)
    with open_views(locate([], top), kind=kind) as views:
        with views.open() as view:
            view.run(("sh", "-c", ATTACKS[name]))
        with views.open() as view:
            assert view.read("untracked.py") == b"u = 1\n"
            assert view.run(("git", "log", "-1", "--format=%s")).text == "mode\n"
    assert photograph(top) == before


def _alive(word: str) -> list[str]:
    listing = subprocess.run(("ps", "-axo", "pid=,stat=,args="), capture_output=True, text=True, check=True).stdout
    return [line for line in listing.splitlines() if word in line and " Z" not in line]


@pytest.mark.skipif(sys.platform == "darwin", reason="without /proc a daemon that left its session is not found")
def test_a_daemon_dies_with_the_view(top: Path, kind: str) -> None:
    word = f"98765.{os.getpid()}"
    with open_views(locate([], top), kind=kind) as views:
        with views.open() as view:
            began = time.monotonic()
            view.run(("sh", "-c", f"(setsid sh -c 'cd /; sleep {word}' > /dev/null 2>&1 &) ; sleep 0.2"))
            assert time.monotonic() - began < 40
            assert _alive(word)
        # On a busy machine, the processes of a view may end shortly after `with` does (`_end` in namespaces.py).
        until = time.monotonic() + 20
        while _alive(word) and time.monotonic() < until:
            time.sleep(0.05)
        assert not _alive(word)


@pytest.fixture(params=["overlay", "copy"])
def confined(request: pytest.FixtureRequest, overlay_works: bool) -> str:
    if not overlay_works:
        pytest.skip("no namespaces here")
    return str(request.param)


def test_a_copy_knows_the_original_and_cannot_write_it(top: Path, confined: str) -> None:
    before = photograph(top)
    script = f'cd "{top}" && rm -rf src untracked.py .git/objects; echo x > untracked.py; mkdir new; echo alive'
    with open_views(locate([], top), kind=confined) as views, views.open() as view:
        assert view.run(("sh", "-c", script.replace("\\", "\\\\"))).text == "alive\n"
    assert photograph(top) == before


@pytest.mark.parametrize("swap", ["", "/.."])
def test_a_copy_replaced_by_a_link_to_the_original(top: Path, kind: str, swap: str) -> None:
    if kind == "overlay":
        pytest.skip("a mount point cannot be moved, and its parent is the user's own")
    before = photograph(top)
    with open_views(locate([], top), kind=kind) as views:
        for _ in range(2):
            with views.open() as view:
                script = f'p="$(pwd){swap}"; p=$(cd "$p" && pwd); cd / && mv "$p" "$p-moved"; ln -s "$1{swap}" "$p"'
                view.run(("sh", "-c", script, "sh", str(top)))
    assert photograph(top) == before


def test_folders_without_permissions_are_restored(top: Path, kind: str) -> None:
    before = photograph(top)
    with open_views(locate([], top), kind=kind) as views:
        for _ in range(2):
            with views.open() as view:
                assert view.run(("cat", "src/pkg/__init__.py")).text == "VALUE = 'dirty'\n"
                view.run(
                    ("sh", "-c", 'mkdir -p deep/er "$TMPDIR/x/y"; chmod 0 deep/er deep src/pkg src "$TMPDIR/x" .git .')
                )
    assert photograph(top) == before


def test_the_network_is_off_but_loopback_works(top: Path, confined: str) -> None:
    server = socket.create_server(("127.0.0.1", 0))
    call = f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 2)"
    inside = "import socket; s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname(), 2)"
    with server:
        with open_views(locate([], top), kind=confined) as views, views.open() as view:
            assert view.run((sys.executable, "-c", call)).returncode != 0
            assert view.run((sys.executable, "-c", inside)).returncode == 0
            assert view.isolation == f"{confined}, network off"
        with open_views(locate([], top), kind=confined, grants=Grants(network=True)) as views, views.open() as view:
            assert view.run((sys.executable, "-c", call)).returncode == 0
            assert view.isolation == confined


def test_children_can_neither_unmount_nor_see_us(top: Path, overlay_works: bool) -> None:
    if not overlay_works:
        pytest.skip("no namespaces here")
    before = photograph(top)
    tries = (
        'umount "$PWD"; umount -l "$PWD"; mount --bind / /mnt; unshare -m umount "$PWD"; unshare -Urm umount "$PWD"; '
        "cd / && cd - && rm -f untracked.py; nsenter -t 1 -m true && echo entered; ls /proc/1/root/; "
        f"test -d /proc/{os.getpid()} && readlink /proc/{os.getpid()}/exe; kill -9 1; sleep 0.1; echo alive"
    )
    with open_views(locate([], top), kind="overlay") as views, views.open() as view:
        result = view.run(("sh", "-c", tries)).text
        assert "alive" in result
        assert "entered" not in result or view.run(("cat", "untracked.py")).returncode != 0
        assert view.read("untracked.py") is None
    assert photograph(top) == before


def test_a_full_temporary_folder_is_the_childs_own_trouble(top: Path, overlay_works: bool) -> None:
    """Only what is asked for is filled: a small file, to spare this machine; the limit is the mount's."""
    if not overlay_works:
        pytest.skip("no namespaces here")
    with open_views(locate([], top), kind="overlay") as views:
        with views.open() as view:
            kinds = view.run(("sh", "-c", 'stat -f -c %T "$TMPDIR"; df -k "$TMPDIR" | tail -1')).text.split()
            assert kinds[0] == "tmpfs"
            assert int(kinds[2]) < os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1024 / 3
            fill = view.run(("sh", "-c", 'fallocate -l 900G "$TMPDIR/huge"; fallocate -l 900G huge; echo after'))
            assert fill.text == "after\n"
        with views.open() as view:
            assert view.run(("sh", "-c", 'echo x > "$TMPDIR/x"')).returncode == 0


CRASHER = """
import sys, time
from pathlib import Path
from coderefine.core import Patch
from coderefine.project import locate
from coderefine.workspace import Grants, open_views
with open_views(locate([], Path(sys.argv[1])), kind=sys.argv[2]) as views, views.open(Patch({"new.py": b"n"})) as view:
    daemon = "(setsid sleep %s > /dev/null 2>&1 &)" % sys.argv[3]
    view.run(("sh", "-c", daemon + "; echo x > untracked.py; echo t > $TMPDIR/t"))
    print(view.temp, flush=True)
    view.run(("sleep", sys.argv[3]))
"""


def test_sigkill_leaves_nothing_mounted_running_or_changed(
    top: Path, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, word = photograph(top), f"97654.{os.getpid()}"
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    argv = (sys.executable, "-c", CRASHER, str(top), kind, word)
    child = subprocess.Popen(argv, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2])
    assert child.stdout is not None
    with child, child.stdout:
        temp = Path(child.stdout.readline().decode().strip())
        child.kill()
    folder = next(place for place in temp.parents if place.name.startswith("coderefine-view-"))
    assert photograph(top) == before
    if kind == "overlay":
        _soon(lambda: not _alive(word))
        assert not [path for path in folder.rglob("*") if path.is_file()]
    assert str(folder) not in Path("/proc/self/mountinfo").read_text("utf-8")
    _age(folder)
    _soon(lambda: sweep() == 1)  # a dying child may hold the lock for a moment
    assert not list((tmp_path / "tmp").iterdir())
    assert not _alive(word)


def _soon(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _age(folder: Path) -> None:
    os.utime(folder, (1, 1))


def test_the_sweeper_spares_the_living(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    other = tmp_path / "coderefine-view-dead"
    (other / "deep").mkdir(parents=True)
    (other / "deep" / "file").write_text("x", "utf-8")
    (other / "deep").chmod(0)
    fresh = tmp_path / "coderefine-view-fresh"
    fresh.mkdir()
    with scratch() as mine:
        _age(mine)
        _age(other)
        assert sweep() == 1
        assert mine.exists()
        assert fresh.exists()
        assert not other.exists()
    with contextlib.suppress(FileNotFoundError):
        assert not mine.exists()
