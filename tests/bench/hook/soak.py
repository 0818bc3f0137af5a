"""Random commits through the hook beside a twin repository in which git alone commits; now and then the hook is killed.

    python -m tests.bench.hook.soak [--commits 500] [--seed 0]

After every commit the two must hold the same HEAD, index, branches, stashes, worktrees and tree, and nothing may be
left over: no lock, no mount, no process. Where the hook refused, the twin does not commit; what the hook may have
changed then are staged files that it says it wrote: `coderefine undo` must give back exactly what was there, and
nothing else may change with it.
"""

from __future__ import annotations

import argparse
import contextlib
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
KILLED = "killed"
AFRESH = 0.4
KNOWN = {
    "HEAD": ("rev-parse", "HEAD^{tree}"),
    "index": ("ls-files", "-s", "-t"),
    "branches": ("for-each-ref", "--format=%(refname) %(tree)", "refs/heads", "refs/tags", "refs/stash"),
    "stashes": ("stash", "list"),
}
"""What git tells of a repository, and how it is asked."""
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
        self._compare(how, self._commit(how))
        if self.dice.random() < AFRESH:  # what was refused is refused again until somebody mends it
            for top in (self.ours, self.twin):
                self._quietly(top, "reset", "-q", "--hard")
                self._quietly(top, "clean", "-qfd")

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

    def _commit(self, how: str) -> str:
        """In ours; then in the twin, without hooks, when ours went through. What was said; "killed" when it was."""
        more = {"": (), "-a": ("-a",), "--amend": ("--amend",), "--only": ("--", "pkg")}[how]
        argv = ["git", "commit", "-qm", f"c{self.number}", *more]
        head = git(self.ours, self.env, "rev-parse", "HEAD")
        said = self._killed(argv) if self.dice.random() < 0.2 else self._through(argv)
        made = git(self.ours, self.env, "rev-parse", "HEAD") != head
        self.count["committed" if made else "killed" if said == KILLED else "refused"] += 1
        if made:
            self._quietly(self.twin, "commit", "-nqm", f"c{self.number}", *more)
        return said

    def _through(self, argv: list[str]) -> str:
        done = subprocess.run(argv, cwd=self.ours, env=self.env, capture_output=True, text=True, check=False)
        said = done.stdout + done.stderr
        if "bug in coderefine" in said:
            raise SystemExit(f"commit {self.number}: {said}")
        return said

    def _killed(self, argv: list[str]) -> str:
        """The hook (not git) gets a signal after a random while: it is found by its parent, our git."""
        child = subprocess.Popen(
            argv, cwd=self.ours, env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(10 ** self.dice.uniform(-2.3, 0.5))
        how = self.dice.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGINT))
        for pid in _children(child.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, how)
                self.count[f"hooks that got {how.name}"] += 1
        child.wait(120)
        return KILLED

    def _compare(self, how: str, said: str) -> None:
        """All that git knows, and the tree; a repair left in the tree is the hook's documented change."""
        self._same_for_git()
        if changed := self._differing():
            self.count["repaired"] += 1
            staged = git(self.ours, self.env, "diff", "--cached", "--name-only", "HEAD").split()
            only = git(self.ours, self.env, "diff", "--name-only", "HEAD").split() if how else []
            if not changed <= {*staged, *only} or (said != KILLED and "wrote" not in said):
                raise SystemExit(f"commit {self.number} ({how}): {changed} changed, and it was not said: {said}")
            done = subprocess.run(
                (BIN / "coderefine", "undo"), cwd=self.ours, env=self.env, capture_output=True, text=True, check=False
            )
            self._same_for_git()
            if changed := self._differing():
                raise SystemExit(
                    f"commit {self.number} ({how}): {changed} not as before after undo: {done.stdout}{done.stderr}"
                )

    def _differing(self) -> set[str]:
        ours, twin = _tree(self.ours), _tree(self.twin)
        return {name for name in ours.keys() | twin.keys() if ours.get(name) != twin.get(name)}

    def _same_for_git(self) -> None:
        for what, args in KNOWN.items():
            ours, twin = (git(top, self.env, *args) for top in (self.ours, self.twin))
            if ours.replace(str(self.ours), str(self.twin)) != twin:
                raise SystemExit(f"commit {self.number}: the {what} differs\n{ours}\n{twin}")
        left = [str(path) for name in ("*.lock", "worktrees/*") for path in (self.ours / ".git").rglob(name)]
        left += [line for line in Path("/proc/mounts").read_text().splitlines() if str(self.ours) in line]
        left += _inside(self.ours)
        if left:
            raise SystemExit(f"commit {self.number}: left over: {left}")


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


def _inside(top: Path) -> list[str]:
    """Processes that work in `top`, after a second in which they may end."""
    for _ in range(20):
        found = [name.name for name in Path("/proc").glob("[0-9]*") if _folder(name).is_relative_to(top)]
        if not found:
            break
        time.sleep(0.05)
    return found


def _folder(process: Path) -> Path:
    try:
        return (process / "cwd").readlink()
    except OSError:
        return Path("/")


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
