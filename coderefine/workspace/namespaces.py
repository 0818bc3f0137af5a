"""Linux namespaces for one view: its own mounts, processes and network, which end with their first process."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from coderefine import proc
from coderefine.errors import ProcessError, WorkspaceError
from coderefine.project import Place
from coderefine.workspace.mirror import SKIPPED

INSIDE = Path(__file__).with_name("namespaces_inside.py")
SIZE = "25%"
"""Maximum memory for the files written in one view, and the same for the temporary files of its processes."""
READY = 20.0
"""Maximum number of seconds until the first process in the namespaces reports."""

SOON = 0.03
"""Seconds to wait for the end of the first process; after that, a thread waits in the background."""
KEPT = "chown,dac_override,fowner,fsetid,kill,setgid,setuid,net_bind_service,sys_chroot,setfcap,net_raw"
"""Capabilities that root keeps inside: tests run as root work as usual, but cannot change anything outside the view."""

ENTER = 'cd -- "$1" && shift && exec "$@"'


@dataclass(frozen=True, slots=True)
class Namespaces:
    """Existing namespaces.

    `pid`: their first process, as seen from outside. `privileged`: whether root made them, without a user namespace.
    `network`: whether the network can be used inside.
    """

    pid: int
    privileged: bool
    network: bool

    @property
    def host_path(self) -> Path:
        """Return the root folder of the namespaces, seen from outside."""
        return Path(f"/proc/{self.pid}/root")

    @property
    def entered(self) -> tuple[str, ...]:
        """Return the command prefix that enters the namespaces.

        The command that follows must itself drop all capabilities except `capabilities`.
        """
        net, same_user = () if self.network else ("-n",), ("-U", "--preserve-credentials")
        return ("nsenter", "-t", str(self.pid), "-m", *net, "-p", *(() if self.privileged else same_user), "--")

    @property
    def capabilities(self) -> tuple[str, ...]:
        """Return the capabilities that a process inside may keep."""
        return tuple(KEPT.split(",")) if self.privileged else ()

    @property
    def shared_memory(self) -> tuple[Path, ...]:
        """Return the folder of POSIX shared memory if the namespaces have one of their own, else an empty tuple."""
        outside, inside = Path("/dev/shm"), self.host_path / "dev/shm"
        with contextlib.suppress(OSError):
            return (outside,) if inside.stat().st_dev != outside.stat().st_dev else ()
        return ()

    def argv(self, argv: Sequence[str], cwd: Path) -> tuple[str, ...]:
        """Return the command that runs `argv` inside, in `cwd`, without the capability to change mounts."""
        return (*self.entered, *_dropped(privileged=self.privileged), "sh", "-c", ENTER, "sh", str(cwd), *argv)

    def check_entry(self) -> None:
        """Check that a command can run inside the namespaces. Raises WorkspaceError if not.

        Some systems allow creating namespaces, but not running commands in them.
        """
        result = proc.run(self.argv(("true",), Path("/")), cwd="/", timeout=20.0)
        if result.returncode != 0:
            raise WorkspaceError(f"commands cannot enter the namespaces: {result.complaint}")


def _dropped(*, privileged: bool) -> tuple[str, ...]:
    """Return the command prefix that drops capabilities.

    At exec, users other than root lose all capabilities anyway; root loses only those outside the bounding set.
    """
    if privileged:
        kept = ",".join(f"+{name}" for name in KEPT.split(","))
        return ("setpriv", "--bounding-set", f"-all,{kept}", "--inh-caps", "-all", "--")
    every = ("--bounding-set", "-all", "--inh-caps", "-all", "--ambient-caps", "-all") if os.getuid() == 0 else ()
    return ("setpriv", "--no-new-privs", *every, "--")


@dataclass(frozen=True, slots=True)
class NamespaceSpec:
    """The namespaces to create. `shield`: how every folder of `targets` is protected, "overlay" or "readonly".

    `scratch` contains the folders `store` (for files that are written in overlays) and `children` (the temporary folder
    of the processes inside). `network`: whether the network can be used inside.
    """

    scratch: Path
    targets: Sequence[Path]
    shield: str = "overlay"
    network: bool = False

    @property
    def argv(self) -> tuple[str, ...]:
        """Return the command of the first process inside."""
        network = "on" if self.network else "off"
        python = (sys.executable, "-I", "-S", str(INSIDE))
        return (*python, self.shield, network, str(self.scratch), SIZE, *map(str, self.targets))


@contextlib.contextmanager
def namespaces(order: NamespaceSpec) -> Iterator[Namespaces]:
    """Create namespaces that exist until the end of the block. Raises WorkspaceError.

    For root, this is tried without a user namespace first, so that files of other owners stay accessible.
    """
    missing = [name for name in ("unshare", "nsenter", "setpriv") if shutil.which(name) is None]
    if not sys.platform.startswith("linux") or missing:
        raise WorkspaceError(f"no namespaces here: {', '.join(missing) or sys.platform}; install util-linux")
    holder, pid, privileged = _started(order)
    try:
        yield Namespaces(pid, privileged, order.network)
    finally:
        _end(holder)


def _started(order: NamespaceSpec) -> tuple[subprocess.Popen[bytes], int, bool]:
    faults = []
    for privileged in (True, False) if os.getuid() == 0 else (False,):
        try:
            holder, pid = _hold(order, privileged=privileged)
        except (WorkspaceError, ProcessError) as error:  # noqa: PERF203
            faults.append(str(error))
        else:
            return holder, pid, privileged
    raise WorkspaceError(f"namespaces refused: {faults[-1]}")


def _hold(order: NamespaceSpec, *, privileged: bool) -> tuple[subprocess.Popen[bytes], int]:
    if not privileged and order.shield == "overlay":
        _mapped(order.targets)
    user = () if privileged else ("-U", "--map-current-user", "--keep-caps")
    net = () if order.network else ("-n",)
    holder = proc.start(
        ("unshare", *user, "-m", *net, "-p", "-f", "--kill-child", *order.argv),
        cwd="/",
        env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8"},
        stdin=subprocess.PIPE,
    )
    try:
        return holder, _ready(holder)
    except BaseException:
        _end(holder)
        raise


def _mapped(targets: Sequence[Path]) -> None:
    """Raise WorkspaceError if one of `targets`, or a folder directly in it, has another owner or group than we have.

    A process in a user namespace with one uid and gid could not write to such a folder (EOVERFLOW).
    """
    for folder in (inner for target in targets for inner in (target, *filter(Path.is_dir, target.iterdir()))):
        facts = folder.lstat()
        if (facts.st_uid, facts.st_gid) != (os.getuid(), os.getgid()) and folder.name not in SKIPPED:
            raise WorkspaceError(f"{folder} belongs to uid {facts.st_uid}, gid {facts.st_gid}, not to you alone")


def _ready(holder: subprocess.Popen[bytes]) -> int:
    assert holder.stdout is not None
    output, deadline = b"", time.monotonic() + READY
    while not output.endswith(b"\n"):
        ready, _, _ = select.select([holder.stdout], [], [], max(0.0, deadline - time.monotonic()))
        chunk = os.read(holder.stdout.fileno(), 4096) if ready else b""
        if not chunk:
            break
        output += chunk
    word, _, rest = output.decode("utf-8", "replace").strip().partition(" ")
    if word == "ready":
        return int(rest)
    raise WorkspaceError(rest or _complaint(holder))


def _complaint(holder: subprocess.Popen[bytes]) -> str:
    proc.kill(holder)
    output = holder.stderr.read().decode("utf-8", "replace").strip() if holder.stderr else ""
    return output.splitlines()[-1] if output else "no answer from unshare"


def _end(holder: subprocess.Popen[bytes]) -> None:
    """Close stdin of the first process, which then ends, and with it every process inside; then unshare ends.

    The system's init process may reap the dead processes up to a second later.
    """
    for stream in (holder.stdin, holder.stdout, holder.stderr):
        if stream is not None:
            stream.close()
    if not proc.ends(holder, SOON):
        threading.Thread(target=_reap, args=(holder,), daemon=True).start()


def _reap(holder: subprocess.Popen[bytes]) -> None:
    if not proc.ends(holder, 5.0):
        proc.kill(holder)


def covered(place: Place) -> tuple[Path, ...]:
    """Return the user's folders that a process in a view must not change, outermost first.

    These are the tree, its git directories if they are outside of it, the folders of files to which links in these git
    directories lead, and the mounts below all of them.
    """
    roots = [place.top]
    own = [folder for folder in (place.git_dir, place.worktree_dir) if folder is not None]
    for folder in (*own, *_linked(own)):
        if not any(folder.is_relative_to(root) for root in roots):
            roots.append(folder)
    below = [mount for mount in _mounts() if any(mount != root and mount.is_relative_to(root) for root in roots)]
    return (*roots, *sorted(set(below), key=lambda path: len(path.parts)))


def _linked(folders: Iterable[Path]) -> Iterator[Path]:
    """Yield the folders of the files to which links in git directories refer; git-new-workdir makes such links."""
    links = (item for folder in folders for item in folder.iterdir() if item.is_symlink() and item.name != "hooks")
    return (link.resolve().parent for link in links if link.exists())


def _mounts() -> Iterator[Path]:
    """Yield mount points of this process that are folders."""
    if sys.platform.startswith("linux"):
        from coderefine.sandbox.kernel import mounts  # only POSIX has its modules

        yield from filter(Path.is_dir, (Path(os.fsdecode(point)) for point, _ in mounts()))
