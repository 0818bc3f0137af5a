"""Random commits through the hook beside a twin repository in which git alone commits; now and then the hook is killed.

    python -m tests.bench.hook.soak [--commits 500] [--seed 0]

After every commit the two must hold the same index and tree. Where the hook refused, the twin does not commit; what
the hook may have changed then is a file it repaired, unstaged: `coderefine undo` must give back exactly what was there.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench.hook.projects import BIN, environ, git

FILES = 6
SETTINGS = '[tool.pytest.ini_options]\npythonpath = ["."]\n[tool.coderefine]\nsearch-time = 0.5\n'


@dataclass(slots=True)
class Soak:
    """`ours` has the hook, `twin` has none; both get the same edits."""

    ours: Path
    twin: Path
    env: dict[str, str]
    dice: random.Random
    count: Counter[str] = field(default_factory=Counter)
    number: int = 0

    def round(self) -> None:
        """Some edits, one commit, one comparison."""
        self.number += 1
        for _ in range(self.dice.randint(1, 4)):
            self._edit()
        how = self.dice.choice(("", "", "", "-a", "-a", "--amend", "--only"))
        self._commit(how)
        self._compare(how)

    def _edit(self) -> None:
        """One random edit in both trees; staged, partly staged or not at all."""
        kind = self.dice.choice(
            ("edit", "edit", "edit", "wrong", "lint", "new", "untracked", "rename", "delete", "half")
        )
        names = sorted(path.name for path in (self.ours / "pkg").glob("m*.py"))
        name = self.dice.choice(names) if names else ""
        self.count[kind] += 1
        if kind in ("new", "untracked") or not name:
            name = f"m{self.number}_{self.dice.randint(0, 9)}.py"
        number = self.dice.randint(0, 99)
        for top in (self.ours, self.twin):
            self._apply(top, kind, name, number)

    def _apply(self, top: Path, kind: str, name: str, number: int) -> None:
        path = top / "pkg" / name
        if kind == "rename":
            self._quietly(top, "mv", f"pkg/{name}", f"pkg/{name[:-3]}r.py")
        elif kind == "delete":
            self._quietly(top, "rm", "-qf", f"pkg/{name}")
        else:
            path.write_text(_text(number, kind), encoding="utf-8")
            if kind not in ("untracked",) and number % 3:
                self._quietly(top, "add", f"pkg/{name}")
            if kind == "half":
                path.write_text(_text(number + 1, "edit"), encoding="utf-8")

    def _quietly(self, top: Path, *args: str) -> None:
        subprocess.run(("git", *args), cwd=top, env=self.env, capture_output=True, check=False)

    def _commit(self, how: str) -> None:
        """In ours; then in the twin, without hooks, when ours went through."""
        argv = ["git", "commit", "-qm", f"c{self.number}"]
        argv += {"": [], "-a": ["-a"], "--amend": ["--amend"], "--only": ["--", "pkg"]}[how]
        head = git(self.ours, self.env, "rev-parse", "HEAD")
        code = self._killed(argv) if self.dice.random() < 0.2 else self._through(argv)
        made = git(self.ours, self.env, "rev-parse", "HEAD") != head
        self.count["committed" if made else "refused or killed" if code else "nothing"] += 1
        if made:
            self._quietly(self.twin, *argv[1:], "--no-verify") if how != "--only" else self._quietly(
                self.twin, "commit", "-nqm", f"c{self.number}", "--", "pkg"
            )

    def _through(self, argv: list[str]) -> int:
        done = subprocess.run(argv, cwd=self.ours, env=self.env, capture_output=True, text=True, check=False)
        if "bug in coderefine" in done.stderr + done.stdout:
            raise SystemExit(f"commit {self.number}: {done.stderr}")
        return done.returncode

    def _killed(self, argv: list[str]) -> int:
        """The hook (not git) gets a signal after a random while: it is found by its parent, our git."""
        child = subprocess.Popen(
            argv, cwd=self.ours, env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(self.dice.uniform(0.005, 0.4))
        how = self.dice.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGINT))
        for pid in _children(child.pid):
            self.count["killed"] += 1
            try:
                os.kill(pid, how)
            except ProcessLookupError:
                self.count["killed"] -= 1
        return child.wait(120)

    def _compare(self, how: str) -> None:
        """Index and tree; a repair left in the tree is the hook's documented change."""
        _same(self, "index", *(git(top, self.env, "ls-files", "-s") for top in (self.ours, self.twin)))
        _same(self, "head", *(git(top, self.env, "rev-parse", "HEAD^{tree}") for top in (self.ours, self.twin)))
        if _tree(self.ours) == _tree(self.twin):
            return
        self.count["repaired"] += 1
        done = subprocess.run(
            (BIN / "coderefine", "undo"), cwd=self.ours, env=self.env, capture_output=True, check=False
        )
        ours, twin = _tree(self.ours), _tree(self.twin)
        for name in sorted(ours.keys() | twin.keys()):
            if ours.get(name) != twin.get(name):
                said = f"{done.stdout.decode()}{done.stderr.decode()}"
                raise SystemExit(f"commit {self.number} ({how}): {name} is not what it was after undo: {said}")


TOGETHER = """import importlib
import pkgutil

import pkg


def test_same():
    for one in pkgutil.iter_modules(pkg.__path__):
        assert importlib.import_module(f"pkg.{one.name}").same(3) == 3
"""


def _text(number: int, kind: str) -> str:
    value = "x + 1" if kind == "wrong" else "x"
    head = "import os\n" if kind == "lint" else ""
    return f'"""Number {number}."""\n{head}\n\ndef same(x):\n    """Give it back."""\n    return {value}\n'


def _children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _same(soak: Soak, what: str, ours: str, twin: str) -> None:
    if ours != twin:
        raise SystemExit(f"commit {soak.number}: the {what} differs\n{ours}\n{twin}")


def _tree(top: Path) -> dict[str, bytes]:
    skipped = (".git", "__pycache__", ".pytest_cache", ".ruff_cache")
    files = (path for path in top.rglob("*") if path.is_file() and not set(skipped) & set(path.relative_to(top).parts))
    return {path.relative_to(top).as_posix(): path.read_bytes() for path in files}


def _made(folder: Path, env: dict[str, str]) -> tuple[Path, Path]:
    ours, twin = folder / "ours", folder / "twin"
    (ours / "pkg").mkdir(parents=True)
    (ours / "tests").mkdir()
    (ours / "pkg/__init__.py").write_text("", encoding="utf-8")
    for number in range(FILES):
        (ours / f"pkg/m{number}.py").write_text(_text(number, "edit"), encoding="utf-8")
    for number in range(FILES):
        alone = f"from pkg.m{number} import same\n\n\ndef test_it():\n    assert same(2) == 2\n"
        (ours / f"tests/test_{number}.py").write_text(alone, encoding="utf-8")
    (ours / "tests/test_all.py").write_text(TOGETHER, encoding="utf-8")
    (ours / "pyproject.toml").write_text(SETTINGS, encoding="utf-8")
    (ours / ".gitignore").write_text("__pycache__/\n.pytest_cache/\n.ruff_cache/\n", encoding="utf-8")
    for args in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-qm", "start")):
        git(ours, env, *args)
    shutil.copytree(ours, twin)
    hook = ours / ".git/hooks/pre-commit"
    hook.write_text(f"#!/bin/sh\nexec {BIN}/coderefine hook run\n", encoding="utf-8")
    hook.chmod(0o755)
    return ours, twin


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--commits", type=int, default=500)
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument("--seconds", type=float, default=600.0, help="Stop earlier, and say so.")
    told = asked.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        env = environ(Path(folder))
        soak = Soak(*_made(Path(folder), env), env, random.Random(told.seed))
        while soak.number < told.commits and time.monotonic() - began < told.seconds:
            soak.round()
    said = ", ".join(f"{name} {count}" for name, count in sorted(soak.count.items()))
    print(f"{soak.number} commits tried in {time.monotonic() - began:.0f} s, index and tree the same: {said}")


if __name__ == "__main__":
    main()
