"""The quick way and the whole one give one verdict on the same commit, whatever is staged and however it is named."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from coderefine.quick import front, ticket
from tests.conftest import seal
from tests.support.cases import few
from tests.support.command import coderefine
from tests.support.repo import git, make_repo, write

FILES = {
    "pkg/__init__.py": "",
    "pkg/a.py": '"""A."""\n\n\ndef add(a, b):\n    return a + b\n',
    "pkg/b.py": '"""B."""\n\nfrom pkg.a import add\n\n\ndef total(xs):\n    out = 0\n    for x in xs:\n'
    '        out = add(out, x)\n    if out != sum(xs):\n        raise ValueError("no sum")\n    return out\n',
    "lonely.py": '"""Alone."""\n',
    "tests/test_a.py": "from pkg.a import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n",
    "tests/test_b.py": "from pkg.b import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n",
    "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["."]\n[tool.coderefine]\nsearch = false\n',
    ".gitignore": "__pycache__/\n.pytest_cache/\n.ruff_cache/\n",
}
WRONG = FILES["pkg/a.py"].replace("a + b", "a - b")
EDITED = FILES["pkg/a.py"].replace("A.", "Adding.")
KNOTTED = "def f(x):\n" + "".join(f"    if x == {n}:\n        return {n} + x\n" for n in range(12)) + "    return x\n"
ODD = (
    "with space.py",
    "two\nlines.py",
    'quo"te.py',
    "-dash.py",
    "b=c.py",
    "ünï.py",
    "[x]*?.py",
    "back\\slash.py",
    "'.py",
)
Stage = Callable[[Path], None]


def put(**files: str) -> Stage:
    """Write and stage; `__` in a name is a slash."""
    texts = {f"{name.replace('__', '/')}.py": text for name, text in files.items()}

    def stage(top: Path) -> None:
        write(top, texts)
        git(top, "add", "--", *texts)

    return stage


def odd(text: str) -> Stage:
    def stage(top: Path) -> None:
        write(top, dict.fromkeys(ODD, text))
        git(top, "add", "-A")

    return stage


def done(*args: str) -> Stage:
    def stage(top: Path) -> None:
        git(top, *args)

    return stage


def then(*stages: Stage) -> Stage:
    def stage(top: Path) -> None:
        for one in stages:
            one(top)

    return stage


def left(text: str, name: str = "pkg/a.py") -> Stage:
    return lambda top: write(top, {name: text})


def judged(top: Path) -> int:
    argv = (sys.executable, "-m", "coderefine", "hook", "run")
    run = subprocess.run(argv, cwd=top, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert "bug in" not in run.stderr, run.stderr
    return run.returncode


CASES: dict[str, tuple[Stage, int]] = {
    "documented otherwise": (put(pkg__a=EDITED), 0),
    "broken": (put(pkg__a=WRONG), 1),
    "the operands swapped": (put(pkg__a=WRONG.replace("a - b", "b + a")), 0),
    "an unused import": (put(lonely="import os\n"), 1),
    "too complex": (put(lonely='"""Alone."""\n\n\n' + KNOTTED), 1),
    "does not parse": (put(lonely="def f(:\n"), 1),
    "a new constant": (put(lonely='"""Alone."""\n\nX = 1\n'), 0),
    "a new test of what cannot be imported": (
        put(lonely="from pkg import nothing\n\nnothing()\n", tests__test_c="import lonely\n\n\ndef test(): lonely\n"),
        1,
    ),
    "odd names": (odd('"""Fine."""\n'), 0),
    "odd names of what is wrong": (odd("import os\n"), 1),
    "broken, and right in the tree": (then(put(pkg__a=WRONG), left(FILES["pkg/a.py"])), 1),
    "right, and broken in the tree": (then(put(pkg__a=EDITED), left(WRONG)), 0),
    "another file is broken in the tree": (then(put(lonely='"""Fine."""\n'), left(WRONG)), 0),
    "an untracked test fails": (
        then(put(lonely='"""Fine."""\n'), left("def test():\n    assert 0\n", "tests/test_untracked.py")),
        0,
    ),
    "deleted, and nothing needs it": (done("rm", "-q", "lonely.py"), 0),
    "deleted": (done("rm", "-q", "pkg/a.py"), 1),
    "deleted from the index alone": (done("rm", "-q", "--cached", "pkg/a.py"), 1),
    "deleted with its tests": (done("rm", "-q", "pkg/a.py", "pkg/b.py", "tests/test_a.py", "tests/test_b.py"), 0),
    "renamed": (done("mv", "pkg/a.py", "pkg/z.py"), 1),
    "renamed, and nothing needs it": (done("mv", "lonely.py", "alone.py"), 0),
    "a test deleted": (then(done("rm", "-q", "tests/test_b.py"), put(lonely='"""Fine."""\n')), 0),
    "broken for an argument that only another module passes": (
        put(pkg__a=FILES["pkg/a.py"].replace("a + b", "a + b if a else b + 1")),
        1,
    ),
    "nothing": (lambda top: None, 0),
}


@dataclass(frozen=True)
class Passed:
    """A project in which the hook has let one commit pass: with its ticket, the next one may take the quick way.

    `home`: the HOME of that run, on which the ticket depends as it does on the very files of the project.
    """

    top: Path
    home: str

    @property
    def ticket(self) -> Path:
        return self.top / ".git" / ticket.FOLDER / ticket.TICKET

    @property
    def _kept(self) -> Path:
        return self.top.parent / "kept"

    def keep(self) -> None:
        """Keep what the hook knows now, for `again`."""
        assert self.ticket.exists()
        git(self.top, "tag", "kept")
        shutil.copytree(self.top / ".git/coderefine", self._kept)

    def again(self) -> Path:
        """The project as it was when `keep` was called."""
        git(self.top, "reset", "-q", "--hard", "kept")
        git(self.top, "clean", "-fdq")
        shutil.rmtree(self.top / ".git/coderefine")
        shutil.copytree(self._kept, self.top / ".git/coderefine")
        return self.top


@pytest.fixture(scope="module")
def passed(tmp_path_factory: pytest.TempPathFactory) -> Passed:
    with pytest.MonkeyPatch.context() as patch:
        home = seal(tmp_path_factory.mktemp("home"), patch)
        patch.setenv("CODEREFINE_SEARCH", "0")
        project = Passed(make_repo(tmp_path_factory.mktemp("both") / "my project", FILES), str(home))
        put(lonely='"""Very much alone."""\n')(project.top)
        assert judged(project.top) == 0
        git(project.top, "commit", "-qm", "one", "--no-verify")
        project.keep()
        return project


@pytest.mark.parametrize(
    "case",
    few(
        CASES,
        "documented otherwise",
        "broken",
        "deleted from the index alone",
        "nothing",
    ),
)
def test_both_ways_agree(passed: Passed, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stage, code = CASES[case]
    monkeypatch.setenv("HOME", passed.home)
    top = passed.again()
    stage(top)
    before = git(top, "status", "--porcelain")
    assert ticket.read(f"{top}/.git", str(top)), "there is no quick way"
    quick = judged(top)
    assert quick or git(top, "status", "--porcelain") == before
    stage(passed.again())
    passed.ticket.unlink()
    assert (quick, judged(top)) == (code, code)


@pytest.mark.parametrize(
    ("names", "code"), [((), 0), (("notes.txt",), 0), (("pkg/a.py",), 0), (("pkg/a.py", "lonely.py"), None)]
)
def test_the_files_that_pre_commit_gives_are_checked_the_quick_way(
    passed: Passed, names: tuple[str, ...], code: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a name, the untidy file that is staged too is none of them."""
    monkeypatch.setenv("HOME", passed.home)
    top = passed.again()
    put(pkg__a=EDITED, lonely="import os\n")(top)
    monkeypatch.chdir(top)
    assert front.hook(["--given", *names]) == code


def test_a_test_that_was_red_before_and_fails_elsewhere_is_not_held_against_the_commit(tmp_path: Path) -> None:
    red = FILES["pkg/b.py"].replace("!= sum", "== sum")
    top = make_repo(tmp_path / "red", {**FILES, "pkg/b.py": red})
    put(pkg__a=EDITED)(top)
    assert judged(top) == 0
    assert judged(top) == 0


@pytest.mark.thorough
def test_two_commits_at_once_in_one_tree(tmp_path: Path) -> None:
    """git itself lets only one through; the other says so, and what it would have committed stays."""
    top = make_repo(tmp_path / "one", FILES)
    assert coderefine("hook", "install", cwd=top).code == 0
    put(pkg__a=EDITED)(top)
    both = [
        subprocess.Popen(("git", "commit", "-m", str(n)), cwd=top, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for n in range(2)
    ]
    result = [child.communicate(timeout=120)[0].decode() for child in both]
    codes = sorted(child.returncode for child in both)
    assert codes[0] == 0, result
    assert git(top, "show", "HEAD:pkg/a.py") == EDITED.strip()
    assert git(top, "status", "--porcelain") == ""
    assert len(git(top, "log", "--oneline").splitlines()) == 2, result


@pytest.mark.thorough
def test_two_clean_commits_at_once_in_two_worktrees(tmp_path: Path) -> None:
    """Each has a ticket and a map of its own; both have been there before, so both are quick."""
    top, other = make_repo(tmp_path / "one", FILES), tmp_path / "two"
    assert coderefine("hook", "install", cwd=top).code == 0
    git(top, "worktree", "add", "-q", str(other), "-b", "side")
    for text in (EDITED, EDITED.replace("Adding", "Sums")):
        for tree in (top, other):
            put(pkg__a=text)(tree)
        both = [
            subprocess.Popen(("git", "commit", "-m", "x"), cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            for tree in (top, other)
        ]
        result = [child.communicate(timeout=120)[0].decode() for child in both]
        assert [child.returncode for child in both] == [0, 0], result
    assert (top / ".git/worktrees/two/coderefine/hook/ticket").exists()
    assert {git(tree, "status", "--porcelain") for tree in (top, other)} == {""}


@pytest.mark.thorough
def test_a_merge_with_a_conflict(tmp_path: Path) -> None:
    top = make_repo(tmp_path / "merge", FILES)
    assert coderefine("hook", "install", cwd=top).code == 0
    git(top, "checkout", "-q", "-b", "side")
    put(pkg__a=WRONG)(top)
    git(top, "commit", "-qm", "side", "--no-verify")
    git(top, "checkout", "-q", "main")
    put(pkg__a=EDITED.replace("a + b", "b + a"))(top)
    git(top, "commit", "-qm", "main", "--no-verify")
    merged = subprocess.run(("git", "merge", "side"), cwd=top, capture_output=True, check=False)
    assert merged.returncode == 1
    for text, code in ((WRONG, 1), (EDITED, 0)):
        put(pkg__a=text)(top)
        commit = subprocess.run(("git", "commit", "-m", "merged"), cwd=top, capture_output=True, check=False)
        assert commit.returncode == code, commit.stderr
    assert len(git(top, "log", "-1", "--format=%P").split()) == 2
