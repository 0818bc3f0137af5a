"""The first process inside new namespaces: protect folders, enable the loopback interface, wait until stdin is closed.

Started by `unshare … python -I -S namespaces_inside.py SHIELD NET SCRATCH SIZE TARGET…`. It uses only the standard
library, and imports little, because its start takes most of the time of opening a view. It prints one line: `ready PID`
(as seen from outside) or `error TEXT`. It is process 1 of the PID namespace: when it ends, the kernel kills all others.
"""

# ruff: noqa: PTH101, PTH102, PTH115, PTH118, SIM105, UP031

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import ctypes
import os
import sys

MS_NOSUID_NODEV = 2 | 4
MS_NOSUID_NODEV_NOEXEC = 2 | 4 | 8
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_RELATIME = 1, 32, 4096, 16384, 1 << 21
ST_RELATIME, ST_KEPT = 4096, 2 | 4 | 8 | 1024 | 2048  # statvfs(3): nosuid nodev noexec noatime nodiratime
SIOCSIFFLAGS = 0x8914
PROCESSES = b"4096"
IFF_UP_RUNNING = b"\x41\x00"

libc = ctypes.CDLL(None, use_errno=True)


def mount(source: bytes, target: bytes, kind: bytes, flags: int, options: bytes | None) -> None:
    """Call mount(2) with raw bytes, so that no mount program parses the options."""
    if libc.mount(source, target, kind, ctypes.c_ulong(flags), options) != 0:
        code = ctypes.get_errno()
        raise OSError(code, "%s on %s: %s" % (kind.decode(), os.fsdecode(target), os.strerror(code)))


def cover(number: int, target: bytes, handle: int) -> None:
    """Mount an overlay of the folder `target` at the same place, so that writing to it does not change the original.

    `handle`: an open descriptor of `target`, which is closed. `/proc/self/fd/N` with this descriptor is the lower
    layer, because in mount options the path would need escapes for `,`, `:` and backslash. `number`: for the names of
    the other layers.
    """
    upper, work = b"u%d" % number, b"w%d" % number
    os.mkdir(upper)
    os.mkdir(work)
    facts = os.stat(handle)
    try:
        os.chown(upper, facts.st_uid, facts.st_gid)
    except OSError:
        pass  # this user namespace does not know the owner; importing contextlib would cost a millisecond
    os.chmod(upper, facts.st_mode & 0o7777)
    layers = b"lowerdir=/proc/self/fd/%d,upperdir=%s,workdir=%s" % (handle, upper, work)
    mount(b"overlay", target, b"overlay", 0, b"userxattr," + layers)
    os.close(handle)


def freeze(target: bytes) -> None:
    """Make `target` read-only, keeping the other flags of the mount, which a user namespace may not drop."""
    mount(target, target, b"", MS_BIND | MS_REC, None)
    flags = os.statvfs(target).f_flag
    kept = flags & ST_KEPT | (MS_RELATIME if flags & ST_RELATIME else 0)
    mount(b"", target, b"", MS_REMOUNT | MS_BIND | MS_RDONLY | kept, None)


def stage(scratch: bytes, size: bytes) -> None:
    """Mount one tmpfs for temporary files and one for written files; make the latter the current folder.

    Before Linux 6.6, tmpfs lacks user xattrs: then a folder on disk is used for written files.
    """
    store, temp = os.path.join(scratch, b"store"), os.path.join(scratch, b"children")
    mount(b"tmpfs", temp, b"tmpfs", MS_NOSUID_NODEV, b"mode=700,size=" + size)
    mount(b"tmpfs", store, b"tmpfs", MS_NOSUID_NODEV, b"mode=700,size=" + size)
    os.chdir(store)
    try:
        os.setxattr(b".", b"user.coderefine", b"1")
    except OSError:
        os.chdir(scratch)
        os.mkdir(b"disk")
        os.chdir(b"disk")


def seclude(size: bytes, used: list[bytes]) -> None:
    """Mount a separate /dev/shm and /dev/pts in the view, to hide those of the user's session.

    `size`: maximum size of /dev/shm. `used`: paths that must stay visible, such as that of the repository; if one of
    them is in /dev/shm, nothing is mounted there. If the system refuses a mount, the folder of the session stays
    visible, and the sandbox denies access to it.
    """
    try:
        if not any(path.startswith(b"/dev/shm/") for path in used):
            mount(b"tmpfs", b"/dev/shm", b"tmpfs", MS_NOSUID_NODEV, b"mode=1777,size=" + size)
    except OSError:
        pass
    try:
        mount(b"devpts", b"/dev/pts", b"devpts", 2 | 8, b"newinstance,ptmxmode=0666,mode=620")
        mount(b"/dev/pts/ptmx", b"/dev/ptmx", b"", MS_BIND, None)
    except OSError:
        pass


def count_processes() -> None:
    """Limit the number of processes and threads of the view.

    Do nothing before Linux 6.14, because the limit would apply to the whole machine, or if the limit cannot be set.
    """
    release = os.uname().release.split(".")
    if (int(release[0]), int(release[1].split("-")[0])) < (6, 14):
        return
    try:
        handle = os.open(b"/proc/sys/kernel/pid_max", os.O_WRONLY)
        os.write(handle, PROCESSES)
        os.close(handle)
    except OSError:
        pass


def loopback() -> None:
    """Enable the interface `lo`, so that tests can connect to servers that they start."""
    request = ctypes.create_string_buffer(b"lo".ljust(16, b"\0") + IFF_UP_RUNNING, 40)
    handle = libc.socket(2, 2, 0)
    libc.ioctl(handle, ctypes.c_ulong(SIOCSIFFLAGS), request)
    os.close(handle)


def prepare(shield: bytes, network: bytes, scratch: bytes, size: bytes, targets: list[bytes]) -> bytes:
    outside = os.readlink(b"/proc/self")  # this /proc is still the outer one
    handles = [os.open(target, os.O_PATH | os.O_DIRECTORY) for target in targets]
    stage(scratch, size)
    for number, target in enumerate(targets):
        if shield == b"overlay":
            cover(number, target, handles[number])
        else:
            freeze(target)
    seclude(size, [scratch, *targets])
    mount(b"proc", b"/proc", b"proc", MS_NOSUID_NODEV_NOEXEC, None)
    count_processes()
    if network == b"off":
        loopback()
    os.chdir(b"/")
    return outside


def main() -> None:
    _signal.signal(_signal.SIGCHLD, _signal.SIG_IGN)  # orphans are reaped by the kernel
    shield, network, scratch, size, *targets = map(os.fsencode, sys.argv[1:])
    try:
        answer = b"ready " + prepare(shield, network, scratch, size, targets)
    except OSError as error:
        answer = b"error " + os.fsencode(str(error).replace("\n", " "))
    os.write(1, answer + b"\n")
    os.close(1)
    os.read(0, 1)
    os._exit(0)


main()
