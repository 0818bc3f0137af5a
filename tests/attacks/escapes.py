"""What patched code may try in order to get out of its sandbox; each prints ESCAPED when it has come through.

`OUT` is a folder outside, with a canary in it that a test looks at afterwards. Started as a program, this file plays
escapes in a private view with the package that is on PYTHONPATH, and says what they printed.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

Guard = tuple[str, str, str]
"""An edit of our own source that takes a guard away: file, text, replacement."""

LANDLOCK: Guard = ("sandbox/inside.py", "kernel.landlock(list(", "(lambda _: 7)(list(")
FREEZE: Guard = ("sandbox/inside.py", "frozen = mounts and kernel.freeze(write)", "frozen = True")
SECCOMP: Guard = (
    "sandbox/inside.py",
    'filtered = kernel.filter_calls(sockets=bounds["sockets"])',
    "filtered = True",
)
LIMITS: Guard = ("sandbox/inside.py", "    limits(job)\n    filtered", "    filtered")
VIEW_OFFLINE: Guard = ("workspace/private_views.py", "network=self.grants.network)", "network=True)")
OFFLINE: Guard = ("sandbox/kernel.py", "cut = 0 if network or offline() else CLONE_NEWNET", "cut = 0")
PROCESSES: Guard = ("workspace/namespaces.py", '"-m", *net, "-p", *(', '"-m", *net, *(')
SHARED_MEMORY: Guard = (
    "workspace/namespaces_inside.py",
    'mount(b"tmpfs", b"/dev/shm", b"tmpfs", MS_NOSUID_NODEV, b"mode=1777,size=" + size)',
    "raise OSError",
)
TERMINALS: Guard = (
    "workspace/namespaces_inside.py",
    'mount(b"devpts", b"/dev/pts", b"devpts", 2 | 8, b"newinstance,ptmxmode=0666,mode=620")',
    "raise OSError",
)
AGENTS: Guard = ("sensitive.py", "if name in AGENTS or is_secret(name, value)", "if is_secret(name, value)")
DATABASE: Guard = ("sensitive.py", "return upper == DATABASE or", "return")
ENDINGS: Guard = ("sensitive.py", " or upper.endswith(ENDS)", "")
LOGINS: Guard = ("sensitive.py", '"@" in value and _has(value, (LOGIN,))', "False")
FILES = (LANDLOCK, FREEZE)

HEAD = """\
import ctypes, os, socket, struct, subprocess, sys
OUT, HOME = os.environ["OUT"], os.path.expanduser("~")
CANARY = OUT + "/canary"
"""


@dataclass(frozen=True)
class Escape:
    """`code` runs in the view, confined as tightly as can be. `guards`: what stops it, all of them."""

    name: str
    code: str
    guards: tuple[Guard, ...]

    def __str__(self) -> str:
        return self.name


def escape(name: str, code: str, *guards: Guard) -> Escape:
    return Escape(name, f"{HEAD}{code}\nprint('ESCAPED')\n", guards)


ESCAPES = (
    escape("makes a file", "open(OUT + '/new', 'w').close()", *FILES),
    escape("overwrites a file", "open(CANARY, 'w').write('x')", *FILES),
    escape("appends to a file", "open(CANARY, 'a').write('x')", *FILES),
    escape("empties a file by truncate", "os.truncate(CANARY, 0)", *FILES),
    escape("removes a file", "os.remove(CANARY)", *FILES),
    escape("renames a file", "os.rename(CANARY, OUT + '/moved')", *FILES),
    escape("makes a folder", "os.mkdir(OUT + '/new')", *FILES),
    escape("makes a link", "os.symlink('/etc/passwd', OUT + '/link')", *FILES),
    escape("gives a file a second name", "os.link(CANARY, OUT + '/second')", *FILES),
    escape("makes a named pipe", "os.mkfifo(OUT + '/pipe')", *FILES),
    escape("writes through /proc/self/root", "open('/proc/self/root' + CANARY, 'w').write('x')", *FILES),
    escape("writes through a link in the tree", "os.symlink(OUT, 'out'); open('out/new', 'w').close()", *FILES),
    escape("has another program write", "subprocess.run(['touch', OUT + '/new'], check=True)", *FILES),
    escape(
        "makes itself root of new namespaces and writes",
        "libc = ctypes.CDLL(None)\nlibc.unshare(0x10020000)\nlibc.mount(b'none', b'/', None, 32 | 4096, None)\n"
        "open(CANARY, 'w').write('x')",
        *FILES,
    ),
    escape("changes a mode", "os.chmod(CANARY, 0o777)", FREEZE),
    escape("changes a mode by a descriptor", "os.fchmod(os.open(CANARY, os.O_RDONLY), 0o777)", FREEZE),
    escape("changes times", "os.utime(CANARY, (1, 1))", FREEZE),
    escape("sets an extended attribute", "os.setxattr(CANARY, 'user.mark', b'x')", FREEZE),
    escape("reads a private key", "assert open(HOME + '/.ssh/id_ed25519').read() == 'KEY'", LANDLOCK),
    escape("reads cloud credentials", "assert open(HOME + '/.aws/credentials').read() == 'KEY'", LANDLOCK),
    escape("reads a token", "assert open(HOME + '/.config/gh/hosts.yml').read() == 'KEY'", LANDLOCK),
    escape(
        "reads a key through a link in the tree",
        "os.symlink(HOME + '/.ssh', 'keys'); assert open('keys/id_ed25519').read() == 'KEY'",
        LANDLOCK,
    ),
    escape("has another program read a key", "subprocess.run(['cat', HOME + '/.netrc'], check=True)", LANDLOCK),
    escape("talks to an agent", "socket.socket(socket.AF_UNIX).connect(OUT + '/agent')", SECCOMP),
    escape(
        "sends a datagram to a daemon",
        "socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', OUT + '/daemon')",
        SECCOMP,
    ),
    escape("opens a socket file", "socket.socket(socket.AF_UNIX).bind(OUT + '/new')", SECCOMP, *FILES),
    escape(
        "talks to an abstract socket",
        "socket.socket(socket.AF_UNIX).connect('\\0' + os.environ['ABSTRACT'])",
        SECCOMP,
        LANDLOCK,
        VIEW_OFFLINE,
        OFFLINE,
    ),
    escape(
        "talks to a server",
        "socket.create_connection(('127.0.0.1', int(os.environ['PORT'])), 5)",
        VIEW_OFFLINE,
        OFFLINE,
    ),
    escape(
        "makes an io_uring, which no filter sees into",
        "assert ctypes.CDLL(None).syscall(425, 8, bytes(120)) >= 0",
        SECCOMP,
    ),
    escape(
        "writes into shared memory",
        "open('/dev/shm/' + os.environ['SHARED'], 'r+').write('x')",
        SHARED_MEMORY,
        *FILES,
    ),
    escape("writes to a terminal of the user", "open(os.environ['TERMINAL'], 'w').write('boo')", TERMINALS),
    escape("kills a process outside", "os.kill(int(os.environ['VICTIM']), 9)", PROCESSES, *FILES),
    escape("learns where the agent is", "assert 'SSH_AUTH_SOCK' in os.environ", AGENTS),
    escape("learns the database's address", "assert 'DATABASE_URL' in os.environ", DATABASE),
    escape("learns a personal access token", "assert 'GH_PAT' in os.environ", ENDINGS),
    escape("learns a password in an address", "assert 'BROKER' in os.environ", LOGINS),
    escape("takes the machine's memory", "import mmap; mmap.mmap(-1, int(os.environ['MEMORY']), 0x22)", LIMITS),
    escape("fills the disk with one file", "open('big', 'w').truncate(5 << 30)", LIMITS),
)
ENVIRONMENT = {
    "SSH_AUTH_SOCK": "/run/agent",
    "DATABASE_URL": "the production server",
    "GH_PAT": "x",
    "BROKER": "amqp://ada:lovelace@broker/",
}


def main() -> None:
    """Play the escapes named in the JSON on stdin, each with its own variables; what they printed, as JSON."""
    from coderefine import sandbox
    from coderefine.config import Config
    from coderefine.core import Freedom
    from coderefine.project import locate
    from coderefine.sandbox.permissions import bounds
    from coderefine.workspace import open_views

    asked = json.load(sys.stdin)
    tight = bounds(Config(), Freedom())
    assert tight is not None
    codes = {one.name: one.code for one in ESCAPES}
    ended = {}
    with open_views(locate([], Path.cwd()), kind=os.environ["VIEW"]) as views, views.open() as view:
        for name, env in asked.items():
            result, _ = sandbox.run(view, (sys.executable, "-c", codes[name]), tight, env=env, timeout=60.0)
            ended[name] = (result.stdout + result.stderr).decode("utf-8", "replace")
    print(json.dumps(ended))


if __name__ == "__main__":
    main()
