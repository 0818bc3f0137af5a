"""Takes powers away from the servers before they load the project: Landlock, a network namespace, limits.

All by ctypes and once per server; forked children inherit it and pay nothing. What the system refuses is left
out and can be asked for with `capabilities`.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import socket
import struct
import sys
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

SECRETS = (
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", "_netrc", ".pypirc", ".npmrc", ".yarnrc.yml",
    ".git-credentials", ".config/git/credentials", ".config/gcloud", ".config/gh", ".config/glab-cli", ".config/hub",
    ".config/op", ".config/rclone", ".config/sops", ".config/google-chrome", ".config/chromium", ".mozilla",
    ".password-store", ".local/share/keyrings", ".local/share/kwalletd", ".vault-token", ".terraform.d", ".boto",
    ".s3cfg", ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".m2/settings.xml",
    ".gradle/gradle.properties", ".pgpass", ".my.cnf", ".databrickscfg", ".snowflake", ".cache/huggingface/token",
    ".huggingface", ".config/pypoetry/auth.toml", ".config/uv/credentials", ".anthropic", ".config/openai", ".openai",
    ".bash_history", ".zsh_history", ".python_history", ".config/coderefine",
)  # fmt: skip
"""Files and folders of HOME that hold keys, tokens or a person's history."""

DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm", "fd")

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, TRUNCATE = 1, 1 << 1, 1 << 2, 1 << 3, 1 << 14
CHANGES = WRITE_FILE | sum(1 << bit for bit in range(4, 13))
"""Write, remove, make: what Landlock's first ABI knows of changing files."""
REFER = 1 << 13
FILE = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE
"""Rights that a rule about a file (not a folder) may have."""

SCOPE = 3
"""Abstract unix sockets and signals (ABI 6): only within the confined processes."""

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000


class Bounds(NamedTuple):
    """What the confined processes may do. `write`: paths below which all may be changed."""

    write: Tuple[str, ...]
    home: str
    read_secrets: bool = False
    network: bool = False


def confine(bounds: Bounds) -> List[str]:
    """Apply `bounds` to this process and its future children; what was applied, in words. Never undone.

    Must run while there is one thread. Raises nothing: what the system refuses is missing from the answer.
    """
    done: List[str] = []
    if not sys.platform.startswith("linux"):
        return done
    libc = ctypes.CDLL(None, use_errno=True)
    if not bounds.network and (offline() or _without_network(libc)):
        done.append("network off")
    if _landlock(libc, bounds):
        done.append("landlock %d" % landlock_abi(libc))
    return done


def applied(bounds: Dict[str, Any], below: Tuple[str, ...]) -> List[str]:
    """Confine this process to `below` and what `bounds` (see runner/sandbox.py) adds; what was applied, in words."""
    home = os.path.expanduser("~")
    write = (*below, *bounds["write"], *((home,) if bounds["home"] else ()))
    return confine(Bounds(write, home, bounds["home"], bounds["network"]))


def capabilities() -> Dict[str, bool]:
    """What this system has for confining. Tried for real, in children."""
    found = {"rlimits": True, "fork": hasattr(os, "fork"), "landlock": False, "network namespace": False}
    if sys.platform.startswith("linux"):
        libc = ctypes.CDLL(None, use_errno=True)
        found["landlock"] = landlock_abi(libc) > 0
        found["network namespace"] = _works(lambda: _without_network(libc))
    return found


def _works(attempt: Any) -> bool:
    pid = os.fork()
    if pid == 0:
        os._exit(0 if attempt() else 1)
    return os.waitpid(pid, 0)[1] == 0


# -- network ----------------------------------------------------------------------------------------------


def offline() -> bool:
    """Whether this network namespace has nothing but the loopback interface."""
    try:
        return [name for _, name in socket.if_nameindex()] == ["lo"]
    except OSError:
        return False


def _without_network(libc: Any) -> bool:
    """A user and network namespace of our own, with `lo` up; False when refused (AppArmor, seccomp, old kernels)."""
    uid, gid = os.getuid(), os.getgid()
    if uid == 0 and libc.unshare(CLONE_NEWNET) == 0:
        _loopback()
        return True
    if libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0:
        return False
    for name, text in (("setgroups", "deny"), ("uid_map", "%d %d 1" % (uid, uid)), ("gid_map", "%d %d 1" % (gid, gid))):
        _put("/proc/self/" + name, text)
    _loopback()
    if uid != 0:
        _drop_capabilities(libc)
    return True


def _drop_capabilities(libc: Any) -> None:
    """Give back the powers a new user namespace brings: with them a test of file permissions would change sides."""
    header = struct.pack("Ii", 0x20080522, 0)  # _LINUX_CAPABILITY_VERSION_3
    libc.capset(header, struct.pack("6I", 0, 0, 0, 0, 0, 0))


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
    """Bring `lo` up (netdevice(7): SIOCSIFFLAGS), so that tests may talk to servers of their own."""
    import fcntl

    request = struct.pack("16sh22x", b"lo", 0x41)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle, contextlib.suppress(OSError):
        fcntl.ioctl(handle, 0x8914, request)


# -- files ------------------------------------------------------------------------------------------------


def landlock_abi(libc: Any) -> int:
    """The kernel's Landlock version; 0 without it."""
    return max(0, int(libc.syscall(444, None, ctypes.c_size_t(0), ctypes.c_uint32(1))))


def _landlock(libc: Any, bounds: Bounds) -> bool:
    abi = landlock_abi(libc)
    if abi < 1:
        return False
    handled = CHANGES | READ_FILE | (REFER if abi >= 2 else 0) | (TRUNCATE if abi >= 3 else 0)
    attributes = struct.pack("QQQ", handled, 0, SCOPE if abi >= 6 else 0)[: 8 if abi < 4 else 16 if abi < 6 else 24]
    ruleset = libc.syscall(444, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0))
    if ruleset < 0:
        return False
    try:
        for path, rights in _rules(bounds):
            _allow(libc, ruleset, path, rights & handled)
        libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
        return bool(libc.syscall(446, ruleset, ctypes.c_uint32(0)) == 0)
    finally:
        os.close(ruleset)


def _rules(bounds: Bounds) -> Iterator[Tuple[str, int]]:
    every = CHANGES | REFER | TRUNCATE | READ_FILE
    for path in bounds.write:
        yield path, every
    for name in DEVICES:
        yield "/dev/" + name, every
    secrets = () if bounds.read_secrets else tuple(secret_paths(bounds.home))
    for path in readable("/", secrets):
        yield path, READ_FILE


def secret_paths(home: str) -> Iterator[str]:
    """Existing places of `home` that hold secrets, and where systems put a process's secrets."""
    for name in SECRETS:
        path = os.path.join(home, name)
        if os.path.lexists(path):
            yield os.path.realpath(path)
    for path in ("/run/secrets", "/var/run/secrets", "/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/ssh"):
        if os.path.exists(path):
            yield os.path.realpath(path)


def readable(root: str, secrets: Sequence[str]) -> Iterator[str]:
    """The fewest paths that cover all below `root` but `secrets`: Landlock can only allow, never except."""
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
            for found in readable(path, within):
                yield found


def _allow(libc: Any, ruleset: int, path: str, rights: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rights &= -1 if os.path.isdir(path) else FILE
        rule = struct.pack("=Qi", rights, fd)
        libc.syscall(445, ruleset, ctypes.c_int(1), rule, ctypes.c_uint32(0))
    finally:
        os.close(fd)


# -- limits -----------------------------------------------------------------------------------------------


def memory_limit(extra: int) -> Optional[int]:
    """Bytes of address space for a child: what this process has mapped, plus `extra`; None where unknown."""
    try:
        with open("/proc/self/statm", "rb") as stream:
            return int(stream.read().split()[0]) * resource.getpagesize() + extra
    except (OSError, ValueError, IndexError):
        return None


def process_limit(extra: int) -> Optional[int]:
    """Processes this user may have: those there are now, plus `extra`. The kernel counts per user and namespace."""
    uid = os.getuid()
    if uid == 0:
        return None
    try:
        names = [name for name in os.listdir("/proc") if name.isdigit()]
        return sum(_owner("/proc/" + name) == uid for name in names) + extra
    except OSError:
        return None


def _owner(path: str) -> int:
    try:
        return os.stat(path).st_uid
    except OSError:
        return -1
