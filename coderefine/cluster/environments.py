"""Environments of tests (interpreter, platform, installed packages); a worker can build one from a lock file."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from coderefine import __version__, proc, sandbox
from coderefine.cluster.trees import cache
from coderefine.errors import ProcessError, UsageError
from coderefine.journal import flock
from coderefine.temporary import remove

PROBE = """
import sys
if sys.path and sys.path[0] == "": del sys.path[0]
import json, sysconfig
from importlib.metadata import distributions
found, linked = {}, {}
for one in distributions():
    name = str(one.metadata["Name"]).lower().replace("_", "-")
    found[name] = one.version
    if json.loads(one.read_text("direct_url.json") or "{}").get("dir_info", {}).get("editable"):
        folder = name.replace("-", "_") + "-" + one.version + ".dist-info/"
        texts = {file: one.read_text(file) for file in ("METADATA", "entry_points.txt", "top_level.txt")}
        linked.update({folder + file: text for file, text in texts.items() if text})
python = sys.implementation.name + " %d.%d.%d" % sys.version_info[:3]
print(json.dumps([python, sysconfig.get_platform(), found, linked]))
"""
INSTALLERS = frozenset({"pip", "uv"})
"""Packages that a lock file does not name, and that tests do not use."""
COMPLAINT = 300
"""Maximum number of characters of an installer's error that are shown."""
BUILDING = 900.0
"""Maximum seconds of each command that builds an environment."""


@dataclass(frozen=True, slots=True)
class LockFile:
    """The packages to install in a new environment on a worker: `name` and `content` of a file that pip can read.

    `home`: the Python version and platform for which the packages are. `linked`: metadata of packages with an editable
    install at home, by file below site-packages: a lock file cannot name these packages; their code is in the tree.
    `setuptools`: whether setuptools is installed at home; if not, it is removed from the new environment.
    """

    name: str
    content: bytes
    home: str
    linked: Mapping[str, str]
    setuptools: bool

    @classmethod
    def read(cls, file: Path, home: Environment) -> LockFile:
        """Read the lock `file` for an environment like `home`. Raises UsageError."""
        try:
            setuptools = "setuptools" in (home.packages or {})
            return cls(file.name, file.read_bytes(), f"{home.python} {home.platform}", home.linked, setuptools)
        except OSError as error:
            raise UsageError(f"--cluster-install {file} cannot be read: {error.strerror}") from error

    @property
    def python(self) -> str:
        """Return the path of the environment's interpreter, relative to the worker's cache."""
        parts = json.dumps([self.name, self.home, sorted(self.linked.items()), self.setuptools]).encode() + self.content
        program = "Scripts/python.exe" if os.name == "nt" else "bin/python"
        return f"environments/{hashlib.sha256(parts).hexdigest()[:16]}/{program}"

    def install(self, base: str) -> None:
        """Build the environment with uv or pip, unless it exists. Raises ProcessError.

        `base`: the path of the interpreter; if there is no such file, our own interpreter is used.
        """
        python = cache() / self.python
        folder = python.parent.parent
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _locked(folder.with_suffix(".lock")):
            if (folder / "complete").exists():
                return
            remove(folder)
            lock = folder / self.name
            base = base if Path(base).is_file() else sys.executable
            _run(base, "-m", "venv", str(folder))
            lock.write_bytes(self.content)
            uv = shutil.which("uv")
            pip, of = ((uv, "pip"), ("--python", str(python))) if uv else ((str(python), "-m", "pip"), ())
            if not self.setuptools:
                _run(*pip, "uninstall", "-q", *of, *(() if uv else ("-y",)), "setuptools")
            _run(*pip, "install", "-q", *of, "-r", str(lock))
            (packages,) = folder.glob("[Ll]ib/**/site-packages")
            for name, text in self.linked.items():
                (packages / name).parent.mkdir(exist_ok=True)
                (packages / name).write_text(text, "utf-8")
            (folder / "complete").touch()


@dataclass(frozen=True, slots=True)
class Environment:
    """An environment of tests. `fault`: why tests cannot run in it; `lacking`: guards that its sandbox cannot have.

    `linked`: see LockFile. `store`: the host and folder of the trees, which several workers may share.
    """

    python: str = ""
    platform: str = ""
    packages: Mapping[str, str] | None = None
    coderefine: str = __version__
    lacking: tuple[str, ...] = ()
    linked: Mapping[str, str] = field(default_factory=dict)
    store: tuple[str, str] = ("", "")
    fault: str = ""

    def differences(self, other: Environment) -> list[str]:
        """Return how `other`, a worker's environment, differs from this environment; packages in alphabetical order."""
        if other.fault:
            return [other.fault]
        found = [
            f"{name} {theirs} instead of {ours}"
            for name, ours, theirs in (
                ("coderefine", self.coderefine, other.coderefine),
                ("Python", self.python, other.python),
                ("platform", self.platform, other.platform),
            )
            if ours != theirs
        ]
        here, there = self.packages or {}, other.packages or {}
        return found + [
            f"{name} {there.get(name, 'missing')} instead of {here.get(name, 'none')}"
            for name in sorted({*here, *there} - INSTALLERS)
            if here.get(name) != there.get(name)
        ]


def describe(python: str, lock: LockFile | None = None) -> Environment:
    """Return the environment of the interpreter `python`.

    With `lock`, build a new environment with `python` and `lock` unless it exists, and return the new environment. If
    tests cannot run in it, its `fault` says why.
    """
    where = (socket.gethostname(), str(cache()))
    if lock is None and not Path(python).is_file():
        more = "--cluster-python names another, --cluster-install a lock file to build one"
        return Environment(store=where, fault=f"{python} does not exist there: {more}")
    try:
        if lock:
            lock.install(python)
        path = str(cache() / (lock.python if lock else python))
        version, platform, packages, linked = json.loads(_run(path, "-c", PROBE))
    except (ProcessError, OSError, ValueError) as error:
        return Environment(store=where, fault=f"{lock.name if lock else python} does not work there: {error}")
    return Environment(version, platform, packages, __version__, sandbox.tried().missing, linked, where)


def _run(*argv: str) -> bytes:
    """Return the output of a command. Raises ProcessError with the end of its error message."""
    done = proc.run(argv, cwd=cache().anchor, timeout=BUILDING)
    if done.returncode:
        complaint = " ".join(done.stderr.decode("utf-8", "replace").split())[-COMPLAINT:]
        raise ProcessError(f"{Path(argv[0]).name}: {complaint or done.complaint}")
    return done.stdout


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    """Wait for the lock `file` and keep it during the block; several workers of a machine may use it."""
    handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        while not flock(handle):
            time.sleep(0.2)
        yield
    finally:
        os.close(handle)
