"""What confined processes can no longer do; each attempt in a child, because confining is for good."""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from coderefine.runner.inside import confine

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Landlock and namespaces are Linux's")

HAS = confine.capabilities() if sys.platform == "linux" else {}
needs_landlock = pytest.mark.skipif(not HAS.get("landlock"), reason="no Landlock here")
needs_network_namespace = pytest.mark.skipif(not HAS.get("network namespace"), reason="no network namespace here")


def inside(bounds: confine.Bounds, attempt: Callable[[], object]) -> str:
    """What a confined child gets for `attempt`: "done", or the error's name."""
    receive, send = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            confine.confine(bounds)
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
    bounds = confine.Bounds((str(home.parent / "view"),), str(home))
    assert inside(bounds, (home / name).read_text) == "PermissionError"
    assert inside(bounds._replace(read_secrets=True), (home / name).read_text) == "done"


@needs_landlock
@pytest.mark.parametrize("name", ["notes", ".config/app/settings"])
def test_the_rest_of_home_can(home: Path, name: str) -> None:
    assert inside(confine.Bounds((), str(home)), (home / name).read_text) == "done"


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
    bounds = confine.Bounds((str(home.parent / "view"),), str(home))
    assert inside(bounds, lambda: attempt(home)) in ("PermissionError", "OSError")
    assert (home / "notes").read_text() == "content"


@needs_landlock
def test_the_view_and_devices_can_be_written(home: Path) -> None:
    view = home.parent / "view"
    bounds = confine.Bounds((str(view),), str(home))
    assert inside(bounds, lambda: (view / "new").write_text("x")) == "done"
    assert inside(bounds, lambda: Path(os.devnull).write_text("x")) == "done"
    assert inside(bounds, lambda: (view / "new").rename(view / "newer")) == "done"


@needs_landlock
def test_processes_outside_cannot_be_killed(home: Path) -> None:
    import ctypes

    if confine.landlock_abi(ctypes.CDLL(None)) < 6:
        pytest.skip("signals are scoped from Landlock's sixth version on")
    assert inside(confine.Bounds((), str(home)), lambda: os.kill(os.getppid(), signal.SIGCONT)) == "PermissionError"


@needs_network_namespace
def test_the_network_is_off_and_loopback_is_not(home: Path) -> None:
    def outside() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
            handle.connect(("192.0.2.1", 9))

    def local() -> None:
        with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname(), 2):
            pass

    assert inside(confine.Bounds((), str(home)), outside) == "OSError"
    assert inside(confine.Bounds((), str(home)), local) == "done"
    assert inside(confine.Bounds((), str(home), network=True), local) == "done"


def test_what_may_be_read_is_all_but_the_secrets(tmp_path: Path) -> None:
    for name in ("a/b", "a/secret", "c"):
        (tmp_path / name).mkdir(parents=True)
    secret = str(tmp_path / "a" / "secret")
    assert sorted(confine.readable(str(tmp_path), (secret,))) == [str(tmp_path / "a" / "b"), str(tmp_path / "c")]
    assert list(confine.readable(str(tmp_path), ())) == [str(tmp_path)]
