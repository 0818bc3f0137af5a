"""Restrict this process and its future children: namespaces, Landlock, seccomp, capabilities, resource limits.

This module uses only the standard library, and Linux system calls by ctypes: the launcher (inside.py) imports it by its
path, in an interpreter without access to site-packages. Each import adds some milliseconds to the start of every
process, so there are few imports: `_socket`, but no `socket`, `re`, `contextlib` or `typing`. No function raises an
error if the system refuses something; the functions that set guards return whether these work, so that the caller can
report what is missing.
"""

from __future__ import annotations

import _socket
import ctypes
import os
import resource
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SECRETS = (
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", "_netrc", ".pypirc", ".npmrc", ".yarnrc.yml",
    ".git-credentials", ".config/git/credentials", ".config/gcloud", ".config/gh", ".config/glab-cli", ".config/hub",
    ".config/op", ".config/rclone", ".config/sops", ".config/google-chrome", ".config/chromium", ".mozilla",
    ".password-store", ".local/share/keyrings", ".local/share/kwalletd", ".vault-token", ".terraform.d", ".boto",
    ".s3cfg", ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".m2/settings.xml",
    ".gradle/gradle.properties", ".pgpass", ".my.cnf", ".databrickscfg", ".snowflake", ".cache/huggingface/token",
    ".huggingface", ".config/pypoetry/auth.toml", ".config/uv/credentials", ".anthropic", ".config/openai", ".openai",
    ".bash_history", ".zsh_history", ".python_history", ".config/coderefine", ".config/doctl", ".fly", ".heroku",
    ".config/containers/auth.json", ".config/netlify", ".config/hcloud", ".local/share/uv/credentials",
)  # fmt: skip
"""Files and folders of HOME that contain keys, tokens or a person's history."""

ELSEWHERE = ("/run/secrets", "/var/run/secrets", "/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/ssh")
"""Files and folders of the system that contain secrets."""

DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "fd")
"""The parts of /dev that may be used. All others are denied: through a block device, root could read every file."""

EXECUTE, WRITE_FILE, READ_FILE, TRUNCATE = 1, 1 << 1, 1 << 2, 1 << 14
CHANGES = WRITE_FILE | sum(1 << bit for bit in range(4, 13))
"""The rights in Landlock's first ABI to write, remove and create files and folders."""
REFER = 1 << 13
EVERY = CHANGES | REFER | TRUNCATE | READ_FILE
FILE = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE
"""Rights that a rule about a file (not a folder) may have."""

SCOPE = 3
"""Scopes (ABI 6) that limit abstract Unix sockets and signals to the confined processes."""

CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWNET = 0x20000, 0x10000000, 0x40000000
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
AT_FDCWD, AT_RECURSIVE, MOUNT_ATTR_RDONLY = -100, 0x8000, 1
SYS_MOUNT_SETATTR, SYS_LANDLOCK_CREATE, SYS_LANDLOCK_ADD, SYS_LANDLOCK_RESTRICT = 442, 444, 445, 446
PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 22, 24, 38, 47

linux = sys.platform.startswith("linux")
libc = ctypes.CDLL(None, use_errno=True) if linux else None


def _call(number: int, *arguments: object) -> int:
    """Execute a raw system call; return its result, -1 if it fails or is not available."""
    return int(libc.syscall(ctypes.c_long(number), *arguments)) if libc else -1


def _prctl(option: int, *arguments: int) -> int:
    padded = (*arguments, 0, 0, 0, 0)[:4]
    return int(libc.prctl(option, *map(ctypes.c_ulong, padded))) if libc else -1


# -- namespaces -------------------------------------------------------------------------------------------


def offline() -> bool:
    """Return whether this network namespace has only the loopback interface."""
    try:
        return [name for _, name in _socket.if_nameindex()] == ["lo"]
    except OSError:
        return False


def separate(*, network: bool) -> tuple[bool, bool, bool]:
    """Move this process to a new mount namespace and, unless `network`, to a network namespace without a network.

    Return three bools: whether the mount namespace is new and private, whether the process is offline (False with
    `network`), and whether a new user namespace was needed.
    """
    cut = 0 if network or offline() else CLONE_NEWNET
    tried = dict.fromkeys((CLONE_NEWNS | cut, CLONE_NEWUSER | CLONE_NEWNS | cut, cut, CLONE_NEWUSER | cut))
    flags = next((flags for flags in tried if flags and _unshared(flags)), 0)
    if flags & cut:
        _loopback()
    mounts = bool(flags & CLONE_NEWNS) and _private()
    return mounts, not network and flags & cut == cut, bool(flags & CLONE_NEWUSER)


def _unshared(flags: int) -> bool:
    uid, gid = os.getuid(), os.getgid()
    if libc is None or libc.unshare(flags) != 0:
        return False
    if flags & CLONE_NEWUSER:
        _put("/proc/self/setgroups", "deny")
        _put("/proc/self/uid_map", f"{uid} {uid} 1")
        _put("/proc/self/gid_map", f"{gid} {gid} 1")
    return True


def _private() -> bool:
    """Make all mounts private, so that our changes do not propagate to other namespaces."""
    return libc is not None and libc.mount(b"none", b"/", None, ctypes.c_ulong(MS_REC | MS_PRIVATE), None) == 0


def _put(path: str, text: str) -> None:
    try:
        fd = os.open(path, os.O_WRONLY)
    except OSError:
        return
    try:
        os.write(fd, text.encode("ascii"))
    except OSError:
        pass
    finally:
        os.close(fd)


def _loopback() -> None:
    """Enable the interface `lo` (netdevice(7): SIOCSIFFLAGS), so that tests can connect to servers that they start."""
    import fcntl

    request = struct.pack("16sh22x", b"lo", 0x41)
    try:
        handle = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
        fcntl.ioctl(handle.fileno(), 0x8914, request)
        handle.close()
    except OSError:
        pass


# -- mounts -----------------------------------------------------------------------------------------------


def freeze(write: Sequence[str]) -> bool:
    """Make all mounts read-only except those at and below `write`; return whether this worked.

    Needs a mount namespace of our own. Landlock does not restrict changes of modes, times and extended attributes; a
    read-only mount does.
    """
    kept = [os.fsencode(path) for path in write]
    if not _mounted(kept):
        return False
    again = [point for point, writable in mounts() if writable and any(_is_at(point, path) for path in kept)]
    if not _read_only(b"/", AT_RECURSIVE, on=True):
        return False
    refused = [path for path in again if not _read_only(path, 0, on=False)]
    return not set(refused) & set(kept)


def _mounted(paths: Sequence[bytes]) -> bool:
    """Make each of `paths` a mount point; return whether this worked."""
    mounted = {point for point, _ in mounts()}
    return all(path in mounted or _bound(path, path, MS_REC) for path in paths)


def hide(paths: Sequence[str]) -> None:
    """Mount an empty device over each of the sockets `paths`, so that nothing can connect to it.

    Needs a mount namespace of our own.
    """
    for path in paths:
        if os.path.lexists(path):
            _bound(b"/dev/null", os.fsencode(os.path.realpath(path)), 0)


def _bound(source: bytes, target: bytes, more: int) -> bool:
    return libc is not None and libc.mount(source, target, None, ctypes.c_ulong(MS_BIND | more), None) == 0


def _read_only(path: bytes, flags: int, *, on: bool) -> bool:
    change = struct.pack("QQQQ", MOUNT_ATTR_RDONLY if on else 0, 0 if on else MOUNT_ATTR_RDONLY, 0, 0)
    where = (ctypes.c_int(AT_FDCWD), path, ctypes.c_uint(flags))
    return _call(SYS_MOUNT_SETATTR, *where, change, ctypes.c_size_t(32)) == 0


def _is_at(point: bytes, path: bytes) -> bool:
    return point == path or point.startswith(path.rstrip(b"/") + b"/")


def mounts() -> list[tuple[bytes, bool]]:
    """Return each mount point, and whether it is writable. proc(5): mountinfo escapes blanks in octal."""
    with open("/proc/self/mountinfo", "rb") as stream:
        fields = [line.split(b" ") for line in stream]
    return [(_unescaped(field[4]), b"rw" in field[5].split(b",")) for field in fields]


def _unescaped(name: bytes) -> bytes:
    head, *rest = name.split(b"\\")
    return head + b"".join(bytes([int(part[:3], 8)]) + part[3:] for part in rest)


# -- files ------------------------------------------------------------------------------------------------


def landlock_abi() -> int:
    """Return the kernel's Landlock ABI version; 0 without Landlock."""
    return max(0, _call(SYS_LANDLOCK_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1)))


def landlock(rules: Sequence[tuple[str, int]]) -> int:
    """Restrict file access to `rules`, pairs (path, rights); return the ABI version that is used, 0 on failure.

    Paths that cannot be opened are skipped. Sets no-new-privileges.
    """
    abi = landlock_abi()
    if abi < 1:
        return 0
    handled = CHANGES | READ_FILE | (REFER if abi >= 2 else 0) | (TRUNCATE if abi >= 3 else 0)
    attributes = struct.pack("QQQ", handled, 0, SCOPE if abi >= 6 else 0)[: 8 if abi < 4 else 16 if abi < 6 else 24]
    ruleset = _call(SYS_LANDLOCK_CREATE, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0))
    if ruleset < 0:
        return 0
    try:
        for path, rights in rules:
            _allow(ruleset, path, rights & handled)
        _prctl(PR_SET_NO_NEW_PRIVS, 1)
        return abi if _call(SYS_LANDLOCK_RESTRICT, ctypes.c_int(ruleset), ctypes.c_uint32(0)) == 0 else 0
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rights &= -1 if os.path.isdir(path) else FILE
        rule = struct.pack("=Qi", rights, fd)
        _call(SYS_LANDLOCK_ADD, ctypes.c_int(ruleset), ctypes.c_int(1), rule, ctypes.c_uint32(0))
    finally:
        os.close(fd)


def rules(write: Sequence[str], read: Sequence[str], secrets: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Yield the rules (path, rights) for Landlock.

    They allow writing `write` and DEVICES, and reading everything except other devices and `secrets`. Secrets that are
    also in `read` may be read.
    """
    hidden = [path for path in secrets if path not in read]
    for path in write:
        for found in readable(path, hidden):
            yield found, EVERY
    for name in DEVICES:
        yield "/dev/" + name, EVERY
    for path in (*readable("/", [*hidden, "/dev"]), *read):
        yield path, READ_FILE


def secret_paths(home: str) -> Iterator[str]:
    """Yield the existing paths of `home` and of the system that contain secrets."""
    for path in (*(os.path.join(home, name) for name in SECRETS), *ELSEWHERE):
        if os.path.lexists(path):
            yield os.path.realpath(path)


def readable(root: str, secrets: Sequence[str]) -> Iterator[str]:
    """Yield as few paths as possible that cover `root` except `secrets`, because Landlock rules cannot exclude paths.

    In folders that contain secrets, symbolic links are left out: a rule would apply to their targets.
    """
    if root in secrets:
        return
    prefix = root.rstrip("/") + "/"
    within = [path for path in secrets if path.startswith(prefix)]
    if not within:
        yield root
        return
    try:
        names = os.listdir(root)
    except OSError:
        return
    for name in names:
        path = prefix + name
        if not os.path.islink(path):
            yield from readable(path, within)


# -- sockets and other system calls -----------------------------------------------------------------------

ARCHITECTURES = {
    "x86_64": (0xC000003E, 41, (248, 249, 250)),
    "aarch64": (0xC00000B7, 198, (217, 218, 219)),
    "riscv64": (0xC00000F3, 198, (217, 218, 219)),
}
"""Machine -> AUDIT_ARCH, number of socket(2), numbers of add_key, request_key and keyctl."""
IO_URING_SETUP = 425
X32 = 0x40000000
"""The bit that is set in the numbers of x86-64's second system call table (x32)."""
LOAD, EQUAL, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
AF_UNIX = 1
NUMBER, ARCHITECTURE, FIRST = 0, 4, 16
"""Offsets in struct seccomp_data; FIRST: the low half of the first argument."""
ALLOW, FAIL = 0x7FFF0000, 0x00050000
EPERM, EACCES, ENOSYS = 1, 13, 38


def filter_calls(*, sockets: bool) -> bool:
    """Forbid io_uring (which filters cannot inspect), kernel key rings and, unless `sockets`, new Unix sockets.

    Socket pairs remain allowed, since they reach no other process. Landlock restricts sockets by path only from ABI 9
    on. Sets no-new-privileges. Return False on failure, or on a machine whose system call numbers are unknown.
    """
    known = ARCHITECTURES.get(os.uname().machine)
    if libc is None or known is None or sys.maxsize < 2**32:
        return False
    _prctl(PR_SET_NO_NEW_PRIVS, 1)
    program = b"".join(_program(*known, sockets=sockets))
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(buffer))
    return int(libc.prctl(PR_SET_SECCOMP, ctypes.c_ulong(2), header, 0, 0)) == 0


def _program(architecture: int, socket_call: int, keys: tuple[int, ...], *, sockets: bool) -> Iterator[bytes]:
    """Yield the instructions of the seccomp filter: pairs of a comparison and a return, so that jumps are short."""

    def op(code: int, yes: int, no: int, value: int) -> bytes:
        return struct.pack("HBBI", code, yes, no, value)

    yield op(LOAD, 0, 0, ARCHITECTURE)
    yield op(EQUAL, 1, 0, architecture)
    yield op(RETURN, 0, 0, FAIL | ENOSYS)  # a program of another architecture, with other numbers
    yield op(LOAD, 0, 0, NUMBER)
    yield op(AT_LEAST, 0, 1, X32)
    yield op(RETURN, 0, 0, FAIL | ENOSYS)
    for number in (IO_URING_SETUP, *keys):
        yield op(EQUAL, 0, 1, number)
        yield op(RETURN, 0, 0, FAIL | EPERM)
    if not sockets:
        yield op(EQUAL, 0, 3, socket_call)
        yield op(LOAD, 0, 0, FIRST)
        yield op(EQUAL, 0, 1, AF_UNIX)
        yield op(RETURN, 0, 0, FAIL | EACCES)
    yield op(RETURN, 0, 0, ALLOW)


# -- powers and limits ------------------------------------------------------------------------------------


def drop_capabilities(kept: Sequence[int]) -> None:
    """Drop all capabilities except `kept` for programs started from now on."""
    _prctl(PR_CAP_AMBIENT, 4)
    for number in range(64):
        if number not in kept:
            _prctl(PR_CAPBSET_DROP, number)


def limit(kind: int, value: int) -> None:
    """Lower the resource limit `kind` (RLIMIT_…) to `value`, for this process and its children; never raise it."""
    soft, hard = resource.getrlimit(kind)
    most = value if hard == resource.RLIM_INFINITY else min(value, hard)
    try:
        resource.setrlimit(kind, (most if soft == resource.RLIM_INFINITY else min(most, soft), most))
    except (ValueError, OSError):
        pass
