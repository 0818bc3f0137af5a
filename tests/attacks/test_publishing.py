"""Attacks on "what is written is what was proved": commits, pushes, hooks, refs, remarks. All of them must fail.

Each row has the guard that stops it, as an edit of our own source. `-m slow` runs every attack once more on a copy of
the package in which its guard is edited away, and there it must succeed: an attack that cannot succeed proves nothing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from coderefine.publishers.hosts.bundle import Bundle, dump
from tests.hooks.test_commits import EDITED, FILES, WRONG
from tests.support.cases import few
from tests.support.command import LINT, ORDER, RIGHT, TESTS, Ended, coderefine, kill_all
from tests.support.llm_server import LlmServer
from tests.support.repo import git, make_repo, write

ROOT = Path(__file__).parents[2]
SECRET = "the-token-of-the-production-server"
PY = sys.executable
LINT_ONLY = ("--no-model", "--gate", "ruff")
"""Where the tests are not the point: a run of them is three starts of Python."""


@dataclass(frozen=True)
class Scene:
    """An empty folder, and the environment in which `python -m coderefine` is the package under attack."""

    home: Path
    env: Mapping[str, str]

    def run(self, top: Path, *argv: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        env = {**os.environ, **self.env}
        return subprocess.run(argv, cwd=top, env=env, input=stdin, capture_output=True, text=True, check=False)

    def ours(self, top: Path, *args: str) -> Ended:
        return coderefine(*args, cwd=top, env=self.env)

    def hooked(self) -> Path:
        """A project with our hooks, and one run of them behind it."""
        top = make_repo(self.home / "project", FILES)
        self.ours(top, "hook", "install", "--push")
        write(top, {"pkg/a.py": EDITED})
        self.run(top, "git", "commit", "-qam", "first")
        assert (top / ".git/coderefine/hook/ticket").exists()
        return top

    def remote(self, top: Path) -> Path:
        bare = self.home / "bare.git"
        git(self.home, "init", "-q", "--bare", str(bare))
        git(top, "remote", "add", "origin", str(bare))
        git(top, "push", "-q", "--no-verify", "origin", "main")
        return bare


def committed(scene: Scene, top: Path, files: Mapping[str, str]) -> bool:
    """Whether the hook lets a commit of `files` pass."""
    write(top, files)
    git(top, "add", *files)
    return scene.run(top, "git", "commit", "-qm", "attack").returncode == 0


# -- commits ----------------------------------------------------------------------------------------------


def credit_for_an_uncommitted_fix(scene: Scene) -> bool:
    rate = "from shop import rate\n\n\ndef test_rate():\n    assert rate() == 1\n"
    tests = {"test_order.py": TESTS, "test_shop.py": rate}
    shop = "def rate():\n    return 2\n"
    top = make_repo(scene.home / "two", {"order.py": ORDER, "shop.py": shop, **tests, ".gitignore": "__pycache__/\n"})
    write(top, {"shop.py": shop.replace("2", "1")})
    scene.ours(top, "fix", "order.py", "--no-model", "--commit")
    return "pytest 1 -> 0" in git(top, "log", "-1", "--format=%B")


def a_commit_that_needs_an_untracked_module(scene: Scene) -> bool:
    top = scene.hooked()
    write(top, {"helper.py": "def plus(a, b):\n    return a + b\n"})
    return committed(scene, top, {"pkg/a.py": "from helper import plus\n\n\ndef add(a, b):\n    return plus(a, b)\n"})


def a_commit_that_needs_untracked_data_the_quick_way(scene: Scene) -> bool:
    top = scene.hooked()
    write(top, {"zero.txt": "0"})
    body = "from pathlib import Path\n\n\ndef add(a, b):\n    return a + b + int(Path('zero.txt').read_text())\n"
    return committed(scene, top, {"pkg/a.py": body})


def a_commit_that_needs_an_empty_folder(scene: Scene) -> bool:
    top = scene.hooked()
    write(top, {"extra/__init__.py": ""})
    body = '"""Adding."""\n\nimport extra\n\nNAME = extra.__name__\n\n\ndef add(a, b):\n    return a + b\n'
    return committed(scene, top, {"pkg/a.py": body})


def a_commit_that_its_own_hooks_hide(scene: Scene) -> bool:
    """Formatted and reworded by hooks, it was called refused, and its files were taken back under it."""
    top = make_repo(scene.home / "order", {"order.py": LINT, "test_order.py": TESTS, ".gitignore": "__pycache__/\n"})
    formats, rewords = "echo '# formatted' >> order.py; git add order.py", 'echo x > "$1"'
    for name, body in (("pre-commit", formats), ("commit-msg", rewords)):
        (top / ".git/hooks" / name).write_text(f"#!/bin/sh\n{body}\n")
        (top / ".git/hooks" / name).chmod(0o755)
    scene.ours(top, "fix", "order.py", *LINT_ONLY, "--commit")
    return git(top, "rev-list", "--count", "HEAD") == "2" and git(top, "status", "--porcelain") != ""


def a_formatter_that_is_killed_with_us(scene: Scene) -> bool:
    """The patch, which was not committed, stayed in the file below its work."""
    top = make_repo(scene.home / "order", {"order.py": LINT, "test_order.py": TESTS, ".gitignore": "__pycache__/\n"})
    reached = scene.home / "reached"
    hook = top / ".git/hooks/pre-commit"
    hook.write_text(f"#!/bin/sh\necho '# formatted' >> order.py; touch '{reached}'; sleep 300\n")
    hook.chmod(0o755)
    mark = f"TEST_MARK={reached}"
    env = {**os.environ, **scene.env, "TEST_MARK": str(reached)}
    argv = (PY, "-m", "coderefine", "fix", "order.py", *LINT_ONLY, "--commit")
    child = subprocess.Popen(argv, cwd=top, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 240
    while not reached.exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert reached.exists()
    child.kill()
    child.wait()
    kill_all(mark)
    scene.ours(top, "log")
    return (top / "order.py").read_text() != LINT + "# formatted\n" or (top / ".git/index.lock").exists()


# -- pushes -----------------------------------------------------------------------------------------------


def wrong_branch(top: Path, *more: str) -> None:
    """A branch `feature` that is wrong; main is checked out again."""
    git(top, "checkout", "-q", "-b", "feature")
    write(top, {"pkg/a.py": WRONG})
    git(top, "commit", "-qam", "wrong", "--no-verify")
    for name in more:
        write(top, {name: "harmless\n"})
        git(top, "add", name)
        git(top, "commit", "-qm", "harmless", "--no-verify")
    git(top, "checkout", "-q", "main")


def pushed(scene: Scene, top: Path, *refs: str) -> bool:
    bare = scene.home / "bare.git"
    scene.run(top, "git", "push", "-q", "origin", *refs)
    return "feature" in git(bare, "branch", "--list", "feature")


def a_branch_that_is_not_checked_out(scene: Scene) -> bool:
    top = scene.hooked()
    scene.remote(top)
    wrong_branch(top)
    return pushed(scene, top, "feature")


def a_second_ref_behind_a_right_one(scene: Scene) -> bool:
    top = scene.hooked()
    scene.remote(top)
    wrong_branch(top)
    write(top, {"pkg/a.py": EDITED + "\n\nX = 1\n"})
    git(top, "commit", "-qam", "fine", "--no-verify")
    return pushed(scene, top, "main", "feature")


def a_wrong_commit_below_a_harmless_one(scene: Scene) -> bool:
    top = scene.hooked()
    scene.remote(top)
    wrong_branch(top, "notes.md")
    return pushed(scene, top, "feature")


# -- what leaves the machine, and what is overwritten ------------------------------------------------------


def mirrored(scene: Scene, top: Path) -> str:
    bare = scene.home / "mirror.git"
    git(scene.home, "init", "-q", "--bare", str(bare))
    git(top, "push", "-q", "--mirror", str(bare))
    names = git(bare, "cat-file", "--batch-all-objects", "--batch-check=%(objecttype) %(objectname)").splitlines()
    blobs = "\n".join(name.split()[1] for name in names if name.startswith("blob"))
    return scene.run(bare, "git", "cat-file", "--batch", stdin=blobs).stdout


def an_untracked_file_in_a_mirror(scene: Scene) -> bool:
    top = make_repo(scene.home / "order", {"order.py": LINT, "test_order.py": TESTS, ".gitignore": "__pycache__/\n"})
    write(top, {"settings.py": f"TOKEN = {SECRET!r}\n"})
    scene.ours(top, "fix", "order.py", *LINT_ONLY)
    return SECRET in mirrored(scene, top)


def a_patched_untracked_file_in_a_mirror(scene: Scene) -> bool:
    top = make_repo(scene.home / "order", {"test_order.py": TESTS, ".gitignore": "__pycache__/\n"})
    write(top, {"order.py": f"TOKEN = {SECRET!r}\n{ORDER}"})
    scene.ours(top, "fix", "order.py", "--no-model", "--gate", "pytest")
    return SECRET in mirrored(scene, top)


def another_name_of_a_file_left_behind(scene: Scene) -> bool:
    top = make_repo(scene.home / "order", {"order.py": LINT, "test_order.py": TESTS, ".gitignore": "__pycache__/\n"})
    (scene.home / "other.py").hardlink_to(top / "order.py")
    scene.ours(top, "fix", "order.py", *LINT_ONLY)
    return (scene.home / "other.py").read_text() != (top / "order.py").read_text()


def an_attribute_dropped(scene: Scene) -> bool:
    top = make_repo(scene.home / "order", {"order.py": LINT, "test_order.py": TESTS, ".gitignore": "__pycache__/\n"})
    try:
        os.setxattr(top / "order.py", "user.reviewed", b"yes")
    except (OSError, AttributeError):
        pytest.skip("no extended attributes here")
    assert scene.ours(top, "fix", "order.py", *LINT_ONLY).code == 0
    return "user.reviewed" not in os.listxattr(top / "order.py")


def hooks_for_every_repository(scene: Scene) -> bool:
    top = make_repo(scene.home / "order", {"order.py": ORDER})
    shared = scene.home / "shared"
    shared.mkdir()
    git(top, "config", "--global", "core.hooksPath", str(shared))
    scene.ours(top, "hook", "install")
    return any(shared.iterdir())


def dollars_nobody_counts(scene: Scene) -> bool:
    top = make_repo(scene.home / "order", {"order.py": ORDER, "test_order.py": TESTS, ".gitignore": "__pycache__/\n"})
    with LlmServer([RIGHT]) as server:
        where = ("--model", "scripted", "--base-url", server.url, "--max-cost", "0.01")
        scene.ours(top, "fix", "--no-search", *where)
        return bool(server.requests)


# -- remarks ----------------------------------------------------------------------------------------------

DIFF = """\
diff --git a/{0} b/{0}
index 1234567..89abcde 100644
--- a/{0}
+++ b/{0}
@@ -1 +1 @@
-a = 1
+a = 2
"""
READ = "import sys; from pathlib import Path; from coderefine.publishers.hosts.bundle import checked_file, read;"


def a_patch_of_a_workflow_shown_as_proved(scene: Scene) -> bool:
    """The author of the pull request controls the artifact."""
    patch = DIFF.format(".github/workflows/ci.yml")
    (scene.home / "suggest.json").write_text(dump(Bundle("a" * 40, "b" * 40, "s", "e", patch, behaviour=True)))
    return scene.run(scene.home, PY, "-c", f"{READ} read(Path('.'))").returncode == 0


def a_patch_file_that_holds_more_than_is_shown(scene: Scene) -> bool:
    mail = f"Subject: x\n\nHello\n\n{DIFF.format('Jenkinsfile')}{DIFF.format('a.py')}-- \ncoderefine\n"
    (scene.home / "coderefine.patch").write_text(mail)
    code = f"{READ} sys.exit(not checked_file(Path('.'), sys.argv[1]))"
    return scene.run(scene.home, PY, "-c", code, DIFF.format("a.py")).returncode == 0


@dataclass(frozen=True)
class Attack:
    """`guards`: (file, text, other text) in our source; with these edits the attack succeeds."""

    run: Callable[[Scene], bool]
    guards: tuple[tuple[str, str, str], ...] = field(default=())

    def __str__(self) -> str:
        return self.run.__name__.replace("_", " ")


def attack(run: Callable[[Scene], bool], *guards: tuple[str, str, str]) -> Attack:
    return Attack(run, guards)


ATTACKS = (
    attack(
        credit_for_an_uncommitted_fix,
        ("app/request.py", "or EMPTY_TREE) if self.on_head else {}", "or EMPTY_TREE) if False else {}"),
        ("publishers/snapshot.py", "if edited := self.uncommitted():", "if edited := ():"),
    ),
    attack(
        a_commit_that_needs_an_untracked_module,
        ("git/changes.py", "for path in untracked(top, hooked=not tree) if", "for path in () if"),
        ("quick/front.py", 'if line.endswith((b".py"', 'if not line.endswith((b".py"'),
        ("quick/front.py", "if untracked:", "if False:"),
    ),
    attack(
        a_commit_that_needs_untracked_data_the_quick_way,
        ("quick/front.py", "if untracked:", "if False:"),
    ),
    attack(a_commit_that_needs_an_empty_folder, ("workspace/private_views.py", "if content is None])", "if False])")),
    attack(
        a_commit_that_its_own_hooks_hide,
        (
            "publishers/commit.py",
            "made or first[0] == plan.commit or repository.tree(first[0]) in",
            "repository.tree(first[0]) in",
        ),
        ("publishers/commit.py", "(plan.tree, UserIndex(repository).own_tree())", "(plan.tree,)"),
    ),
    attack(
        a_formatter_that_is_killed_with_us,
        (
            "publishers/restoration.py",
            "None if in_use else _without_patch(journal.repository, change, found)",
            "None",
        ),
    ),
    attack(
        a_branch_that_is_not_checked_out,
        ("git/changes.py", "[(fields[1], fields[3]) for fields in refs]", '[("HEAD", "HEAD~1")]'),
    ),
    attack(a_second_ref_behind_a_right_one, ("git/changes.py", "for fields in refs]", "for fields in refs[:1]]")),
    attack(a_wrong_commit_below_a_harmless_one, ("git/changes.py", 'f"{new[0]}^"', 'f"{new[-1]}^"')),
    attack(an_untracked_file_in_a_mirror, ("git/scratch.py", '"--untracked-files=no"', '"--untracked-files=all"')),
    attack(
        a_patched_untracked_file_in_a_mirror,
        ("journal/journal.py", "return path not in self.under and", "return False and"),
    ),
    attack(
        another_name_of_a_file_left_behind,
        ("publishers/file_io.py", "if in_place and is_shared(place)", "if False and is_shared(place)"),
    ),
    attack(an_attribute_dropped, ("publishers/file_io.py", "            _attribute(top / path, ready)\n", "")),
    attack(hooks_for_every_repository, ("app/hook.py", "if folder and scope", "if False and scope")),
    attack(dollars_nobody_counts, ("app/engine.py", "                check_price(config)", "                pass")),
    attack(
        a_patch_of_a_workflow_shown_as_proved,
        ("publishers/hosts/bundle.py", "if why := protected_name(path):", "if why := None:"),
        ("publishers/hosts/bundle.py", " and not protected_name(path)", ""),
    ),
    attack(
        a_patch_file_that_holds_more_than_is_shown,
        ("publishers/hosts/bundle.py", "any(map(DIFFLIKE.match, rows))", "False"),
    ),
)


@pytest.mark.parametrize(
    "one",
    few(
        ATTACKS,
        "hooks for every repository",
        "a patch of a workflow shown as proved",
        "a patch file that holds more than is shown",
    ),
)
def test_attack(one: Attack, tmp_path: Path) -> None:
    assert not one.run(Scene(tmp_path, {"PYTHONPATH": str(ROOT)}))


def test_every_guard_is_in_the_source() -> None:
    texts = [(name, text) for one in ATTACKS for name, text, _ in one.guards]
    assert [pair for pair in texts if (ROOT / "coderefine" / pair[0]).read_text("utf-8").count(pair[1]) != 1] == []


@pytest.mark.slow
@pytest.mark.parametrize("one", ATTACKS, ids=str)
def test_with_its_guard_off_it_succeeds(one: Attack, tmp_path: Path) -> None:
    package = tmp_path / "off" / "coderefine"
    shutil.copytree(ROOT / "coderefine", package, ignore=shutil.ignore_patterns("__pycache__"))
    for name, text, other in one.guards:
        source = (package / name).read_text("utf-8")
        assert source.count(text) == 1, (name, text)
        (package / name).write_text(source.replace(text, other), "utf-8")
    home = tmp_path / "home"
    home.mkdir()
    assert one.run(Scene(home, {"PYTHONPATH": str(package.parent)}))
