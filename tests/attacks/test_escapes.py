"""Escapes from the sandbox: none comes through, and each does once its guards are edited away.

All play in one overlay view, confined as an attempt is. `-m slow` plays each once more on a copy of the package without
its guards, and there it must succeed: an escape that cannot succeed proves nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import pty
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from coderefine import sandbox
from coderefine.sandbox.permissions import machine_memory
from tests.attacks import escapes
from tests.attacks.escapes import ENVIRONMENT, ESCAPES, Escape
from tests.support.repo import make_repo

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or bool(sandbox.tried().missing),
    reason="this system lacks a guard (see `coderefine doctor`)",
)
KEYS = (".ssh/id_ed25519", ".aws/credentials", ".config/gh/hosts.yml", ".netrc")


@dataclass(frozen=True)
class Canary:
    """Everything outside that one escape may reach for; `state` is what it must leave as it is."""

    env: Mapping[str, str]
    state: Callable[[], object]


@contextlib.contextmanager
def canary(folder: Path) -> Iterator[Canary]:
    """A folder with a file, sockets that listen, shared memory, a terminal, a process."""
    folder.mkdir(parents=True)
    file = folder / "canary"
    file.write_text("sings")
    shared = Path("/dev/shm") / f"coderefine-canary-{os.getpid()}-{abs(hash(folder))}"
    shared.write_text("sings")
    main, terminal = pty.openpty()
    os.set_blocking(main, False)
    abstract = f"coderefine-canary-{abs(hash(folder))}"
    with contextlib.ExitStack() as stack:
        for path, kind in ((str(folder / "agent"), socket.SOCK_STREAM), (str(folder / "daemon"), socket.SOCK_DGRAM)):
            _listening(stack, path, kind)
        _listening(stack, f"\0{abstract}", socket.SOCK_STREAM)
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        victim = stack.enter_context(subprocess.Popen(("sleep", "600")))
        stack.callback(victim.kill)
        stack.callback(shared.unlink)
        stack.callback(os.close, main)
        stack.callback(os.close, terminal)

        def state() -> object:
            facts = file.stat() if file.exists() else None
            of_file = facts and (
                facts.st_mode,
                facts.st_mtime_ns,
                facts.st_nlink,
                file.read_text(),
                os.listxattr(file),
            )
            return of_file, sorted(map(str, folder.iterdir())), shared.read_text(), victim.poll(), _written(main)

        env = {
            "OUT": str(folder),
            "ABSTRACT": abstract,
            "PORT": str(server.getsockname()[1]),
            "SHARED": shared.name,
            "TERMINAL": os.ttyname(terminal),
            "VICTIM": str(victim.pid),
            "MEMORY": str(machine_memory() // 3),
        }
        yield Canary(env, state)


def _listening(stack: contextlib.ExitStack, path: str, kind: int) -> None:
    server = stack.enter_context(socket.socket(socket.AF_UNIX, kind))
    here = Path.cwd()
    if not path.startswith("\0"):  # the name of a socket has room for 107 bytes
        os.chdir(Path(path).parent)
        path = Path(path).name
    server.bind(path)
    os.chdir(here)
    if kind == socket.SOCK_STREAM:
        server.listen()


def _written(main: int) -> bytes:
    try:
        return os.read(main, 100)
    except BlockingIOError:
        return b""


def played(top: Path, package: Path, asked: Mapping[str, Mapping[str, str]]) -> Mapping[str, str]:
    """What the escapes of these names printed in a view of `top`, under the package in the folder `package`."""
    env = {**os.environ, **ENVIRONMENT, "PYTHONPATH": str(package), "VIEW": "overlay"}
    argv = (sys.executable, escapes.__file__)
    done = subprocess.run(argv, cwd=top, env=env, input=json.dumps(asked), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: Mapping[str, str] = json.loads(done.stdout)
    return found


def project(home: Path) -> Path:
    for name in KEYS:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("KEY")
    return make_repo(home / "project", {"a.py": "A = 1\n"})


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, tuple[str, bool]]]:
    """By escape: what it printed, and whether its canary is as it was."""
    from tests.conftest import seal

    with pytest.MonkeyPatch.context() as patch, contextlib.ExitStack() as stack:
        home = tmp_path_factory.mktemp("home")
        seal(home, patch)
        folder = tmp_path_factory.mktemp("out")
        canaries = {one.name: stack.enter_context(canary(folder / str(n))) for n, one in enumerate(ESCAPES)}
        before = {name: one.state() for name, one in canaries.items()}
        result = played(project(home), ROOT, {name: dict(one.env) for name, one in canaries.items()})
        yield {name: (result[name], one.state() == before[name]) for name, one in canaries.items()}


@pytest.mark.parametrize("one", ESCAPES, ids=str)
def test_nothing_comes_through(one: Escape, results: Mapping[str, tuple[str, bool]]) -> None:
    result, intact = results[one.name]
    assert "ESCAPED" not in result
    assert "Error" in result  # it was refused, and did not fail for another reason than being confined
    assert intact


@pytest.mark.slow
@pytest.mark.parametrize("one", ESCAPES, ids=str)
def test_without_its_guards_it_comes_through(one: Escape, sealed: Path, tmp_path: Path) -> None:
    package = tmp_path / "off" / "coderefine"
    shutil.copytree(ROOT / "coderefine", package, ignore=shutil.ignore_patterns("__pycache__"))
    for name, text, other in one.guards:
        source = (package / name).read_text("utf-8")
        assert source.count(text) == 1, (name, text)
        (package / name).write_text(source.replace(text, other), "utf-8")
    with canary(tmp_path / "out") as outside:
        result = played(project(sealed), package.parent, {one.name: dict(outside.env)})
    assert "ESCAPED" in result[one.name], result
