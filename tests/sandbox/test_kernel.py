"""What confined processes can no longer do; each attempt in a child, because confining is for good."""

from __future__ import annotations

import importlib
import os
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest

from coderefine import sandbox
from coderefine.sandbox import Bounds, kernel
from coderefine.sandbox.launch import FOLDER

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Landlock and namespaces are Linux's")

LACKING = " ".join(sandbox.tried().missing) if sys.platform == "linux" else "Linux"
needs_landlock = pytest.mark.skipif("Landlock" in LACKING, reason="no Landlock here")
needs_network_namespace = pytest.mark.skipif("network" in LACKING, reason="no network namespace here")
needs_mounts = pytest.mark.skipif("mounts" in LACKING, reason="no mount namespace here")
needs_seccomp = pytest.mark.skipif("seccomp" in LACKING, reason="no seccomp here")


def outcome(prepare: Callable[[], object], attempt: Callable[[], object]) -> str:
    """What a child gets for `attempt` after `prepare`: "done", or the error's name."""
    receive, send = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            prepare()
            attempt()
            os.write(send, b"done")
        except OSError as error:
            os.write(send, type(error).__name__.encode())
        finally:
            os._exit(0)
    os.close(send)
    os.waitpid(pid, 0)
    with os.fdopen(receive, "rb") as stream:
        return stream.read().decode()


def inside(bounds: Bounds, home: Path, attempt: Callable[[], object], own: tuple[str, ...] = ()) -> str:
    """... under all guards."""

    def prepare() -> None:
        os.environ["HOME"] = str(home)
        sys.path.append(FOLDER)
        launcher = importlib.import_module("inside")
        job = {"bounds": asdict(bounds), "own": own, "capabilities": None, "hidden": (), "limits": {}}
        launcher.confined(job)

    return outcome(prepare, attempt)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name in (
        ".ssh/id_ed25519",
        ".aws/credentials",
        ".netrc",
        ".config/gcloud/token",
        ".config/app/settings",
        "notes",
    ):
        path = tmp_path / "home" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("content")
    (tmp_path / "view").mkdir()
    return tmp_path / "home"


@needs_landlock
@pytest.mark.parametrize("name", [".ssh/id_ed25519", ".aws/credentials", ".netrc", ".config/gcloud/token"])
def test_secrets_cannot_be_read(home: Path, name: str) -> None:
    assert inside(Bounds(), home, (home / name).read_text) == "PermissionError"
    assert inside(Bounds(secrets=True), home, (home / name).read_text) == "done"
    assert inside(Bounds(read=(str(home / name),)), home, (home / name).read_text) == "done"


@needs_landlock
@pytest.mark.parametrize("name", ["notes", ".config/app/settings"])
def test_the_rest_of_home_can(home: Path, name: str) -> None:
    assert inside(Bounds(), home, (home / name).read_text) == "done"


@needs_landlock
@pytest.mark.parametrize(
    "attempt",
    [
        lambda home: (home / "notes").write_text("x"),
        lambda home: (home / "notes").unlink(),
        lambda home: (home / "new").mkdir(),
        lambda home: (home / "notes").rename(home / "moved"),
        lambda home: (home / "notes").rename(home.parent / "view" / "moved"),
        lambda home: os.truncate(home / "notes", 0),
        lambda home: (home / "link").symlink_to("/etc"),
        lambda home: os.link(home / "notes", home.parent / "view" / "link"),
    ],
    ids=["write", "unlink", "mkdir", "rename", "move out", "truncate", "symlink", "link"],
)
def test_nothing_outside_is_changed(home: Path, attempt: Callable[[Path], object]) -> None:
    view = str(home.parent / "view")
    assert inside(Bounds(), home, lambda: attempt(home), (view,)) in ("PermissionError", "OSError")
    assert (home / "notes").read_text() == "content"
    rules = list(kernel.rules([view], [], []))
    assert outcome(lambda: kernel.landlock(rules), lambda: attempt(home)) in ("PermissionError", "OSError")


@needs_landlock
def test_the_view_and_devices_can_be_written(home: Path) -> None:
    view = home.parent / "view"
    own = (str(view),)
    assert inside(Bounds(), home, lambda: (view / "new").write_text("x"), own) == "done"
    assert inside(Bounds(), home, lambda: Path(os.devnull).write_text("x"), own) == "done"
    assert inside(Bounds(), home, lambda: (view / "new").rename(view / "newer"), own) == "done"


@needs_landlock
def test_processes_outside_cannot_be_killed(home: Path) -> None:
    if kernel.landlock_abi() < 6:
        pytest.skip("signals are scoped from Landlock's sixth version on")
    assert inside(Bounds(), home, lambda: os.kill(os.getppid(), signal.SIGCONT)) == "PermissionError"


@needs_network_namespace
def test_the_network_is_off_and_loopback_is_not(home: Path) -> None:
    def outside() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
            handle.connect(("192.0.2.1", 9))

    def local() -> None:
        with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname(), 2):
            pass

    assert inside(Bounds(), home, outside) == "OSError"
    assert inside(Bounds(), home, local) == "done"
    assert inside(Bounds(network=True), home, local) == "done"


def test_everything_but_secrets_may_be_read(tmp_path: Path) -> None:
    for name in ("a/b", "a/secret", "c"):
        (tmp_path / name).mkdir(parents=True)
    secret = str(tmp_path / "a" / "secret")
    assert sorted(kernel.readable(str(tmp_path), (secret,))) == [str(tmp_path / "a" / "b"), str(tmp_path / "c")]
    assert list(kernel.readable(str(tmp_path), ())) == [str(tmp_path)]


METADATA: dict[str, Callable[[Path], object]] = {
    "mode": lambda path: path.chmod(0o777),
    "times": lambda path: os.utime(path, (0, 0)),
    "attributes": lambda path: os.setxattr(path, "user.mark", b"x"),
    "mode through a descriptor": lambda path: os.fchmod(os.open(path, os.O_RDONLY), 0o777),
}


@needs_mounts
@pytest.mark.parametrize("change", METADATA)
def test_read_only_mounts_prevent_changes_that_landlock_does_not_know(home: Path, change: str) -> None:
    before = (home / "notes").stat()
    attempt = lambda: METADATA[change](home / "notes")  # noqa: E731
    assert inside(Bounds(), home, attempt) in ("PermissionError", "OSError")
    after = (home / "notes").stat()
    assert (after.st_mode, after.st_mtime_ns, after.st_ctime_ns) == (
        before.st_mode,
        before.st_mtime_ns,
        before.st_ctime_ns,
    )
    assert outcome(lambda: kernel.landlock(list(kernel.rules([], [], []))), attempt) == "done"


@needs_seccomp
def test_unix_sockets_outside_are_out_of_reach(home: Path) -> None:
    path = home / "agent"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()

        def connect() -> None:
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(str(path))

        def pair() -> None:
            for one in socket.socketpair():
                one.close()

        assert inside(Bounds(), home, connect) == "PermissionError"
        assert outcome(lambda: kernel.landlock(list(kernel.rules([], [], []))), connect) == "done"
        assert inside(Bounds(), home, pair) == "done"


@needs_seccomp
def test_io_uring_cannot_bypass_the_filter(home: Path) -> None:
    def ring() -> None:
        if kernel._call(kernel.IO_URING_SETUP, 8, bytes(120)) < 0:
            raise PermissionError

    assert inside(Bounds(), home, ring) == "PermissionError"
