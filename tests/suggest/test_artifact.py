"""The artifact is hostile: everything `dump` would not have written is refused, with a reason."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderefine.errors import PublishError
from coderefine.git import Repository, diff, mail
from coderefine.publishers.hosts.bundle import (
    LARGEST,
    NAME,
    PATCH,
    UNPROVED,
    Bundle,
    Judgement,
    Note,
    Suggestion,
    checked_file,
    dump,
    load,
    paths_of,
    read,
)
from coderefine.publishers.hosts.comments import remark, summary
from tests.support.repo import git, make_repo, write

ONE = Suggestion("src/a.py", 3, 4, ("a = 1", "b = 2"), ("a = 2",), ("pytest/failed",), "mends test_a")
DIFF = """\
diff --git a/src/a.py b/src/a.py
index 1234567..89abcde 100644
--- a/src/a.py
+++ b/src/a.py
@@ -3,2 +3 @@ def f():
-a = 1
-b = 2
+a = 2
"""
LEFT = Note("t.py", 1, 2, "ruff/F401", "unused")
VERDICT = Judgement(UNPROVED, "not proved: nothing shows that it helps", ("patch src/a.py",))
GOOD = Bundle("a" * 40, "b" * 40, "x", "y", DIFF, True, (ONE,), (LEFT,), VERDICT)
Json = dict[str, Any]


def test_a_written_bundle_can_be_read(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text(dump(GOOD))
    assert read(tmp_path) == GOOD


def in_suggestion(**changes: object) -> Callable[[Json], object]:
    return lambda body: body["suggestions"][0].update(changes)


def in_judgement(**changes: object) -> Callable[[Json], object]:
    return lambda body: body["judgement"].update(changes)


EMPTY_FILE = "diff --git a/Jenkinsfile b/Jenkinsfile\nnew file mode 100644\n"
RENAME = "rename from .github/x.yml\nrename to src/a.py"


def in_patch(old: str, new: str) -> Callable[[Json], object]:
    def change(body: Json) -> None:
        assert old in body["patch"]
        body["patch"] = body["patch"].replace(old, new)

    return change


ATTACKS: dict[str, Callable[[Json], object]] = {
    "absolute path": in_suggestion(path="/etc/passwd"),
    "climbing path": in_suggestion(path="a/../../b"),
    "git directory": in_suggestion(path=".git/hooks/pre-commit"),
    "git directory, other case": in_suggestion(path="src/.GIT/config"),
    "backslashes": in_suggestion(path="..\\b"),
    "doubled slash": in_suggestion(path="a//b"),
    "dot": in_suggestion(path="./a"),
    "empty path": in_suggestion(path=""),
    "line end in path": in_suggestion(path="a\nb"),
    "path is a number": in_suggestion(path=3),
    "lines backwards": in_suggestion(first=5),
    "line zero": in_suggestion(first=0),
    "line is a boolean": in_suggestion(first=True),
    "line is a float": in_suggestion(first=3.0),
    "line beyond all": in_suggestion(first=10**9, last=10**9 + 1),
    "range without its lines": in_suggestion(last=9),
    "line end in a line": in_suggestion(new=["a\nb"]),
    "text turned round": in_suggestion(new=["a \u202e b"]),
    "escape sequence": in_suggestion(why="\x1b[2J"),
    "half a character": in_suggestion(why="\ud800"),
    "too many lines": in_suggestion(new=["x"] * 1000),
    "too long a line": in_suggestion(new=["x" * 5000]),
    "unknown key": in_suggestion(run="rm -rf /"),
    "no commit": lambda body: body.update(head="main; rm -rf /"),
    "newer version": lambda body: body.update(version=3),
    "a judgement that it does not know": in_judgement(found="fine"),
    "a judgement of many lines": in_judgement(rows=["x"] * 61),
    "a judgement with HTML's line ends": in_judgement(decision="proved\r\nx"),
    "a judgement in words": lambda body: body.update(judgement="proved"),
    "missing key": lambda body: body.pop("base"),
    "too many suggestions": lambda body: body.update(suggestions=body["suggestions"] * 31),
    "too many notes": lambda body: body.update(notes=body["notes"] * 301),
    "a list for an object": lambda body: body.update(notes=[[]]),
    "behaviour in words": lambda body: body.update(behaviour="yes"),
    "path of a workflow": in_suggestion(path=".github/workflows/ci.yml"),
    "path of GitLab's pipeline": in_suggestion(path="sub/.gitlab-ci.yml"),
    "patch of a workflow": in_patch("src/a.py", ".github/workflows/ci.yml"),
    "patch of GitLab's pipeline": in_patch("src/a.py", ".gitlab-ci.yml"),
    "patch of a lock file": in_patch("src/a.py", "uv.lock"),
    "patch of a workflow, quoted": in_patch("b/src/a.py", '"b/.git\\150ub/ci.yml"'),
    "patch that climbs": in_patch("b/src/a.py", "b/../../a.py"),
    "patch of the git directory": in_patch("b/src/a.py", "b/.git/config"),
    "patch with a second file": in_patch(
        "+a = 2\n", "+a = 2\ndiff --git a/Jenkinsfile b/Jenkinsfile\nnew file mode 100644\n"
    ),
    "patch with a mode": in_patch("index 1234567..89abcde 100644", "old mode 100644\nnew mode 100755"),
    "patch with a link": in_patch("index 1234567..89abcde 100644", "new file mode 120000"),
    "patch that renames a workflow": in_patch(
        "index 1234567..89abcde 100644", "rename from .github/x.yml\nrename to src/a.py"
    ),
    "patch with a binary": in_patch("@@ -3,2", "GIT binary patch\nliteral 3\n@@ -3,2"),
    "patch with words before it": in_patch("diff --git", "Hello\ndiff --git"),
    "patch with words behind it": in_patch("+a = 2\n", "+a = 2\nHello\n"),
    "patch with a longer hunk than it says": in_patch("+a = 2\n", "+a = 2\n+import os\n"),
    "patch with a shorter hunk than it says": in_patch("-b = 2\n", ""),
    "patch that is none": lambda body: body.update(patch="rm -rf ~"),
    "patch of a megabyte": lambda body: body.update(patch="x" * 1_000_001),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_attack(name: str) -> None:
    body = json.loads(dump(GOOD))
    ATTACKS[name](body)
    with pytest.raises(PublishError, match="nothing was posted"):
        load(json.dumps(body).encode())


def test_every_kind_of_diff_that_git_writes_is_read(tmp_path: Path) -> None:
    """Names with blanks, quotes and umlauts; new, empty, deleted, renamed files; no final line end; CRLF."""
    old = {
        "a b.py": "x = 1\n" * 30,
        'q"uo.py': "x = 1",
        "gone.py": "x\n",
        "moved.py": "y = 1\n" * 20,
        "w.py": "a\r\nb\r\n",
    }
    new = {"a b.py": "x = 1\n" * 9 + "y\n" + "x = 1\n" * 12, 'q"uo.py': "x = 2\n", "na\u00efve.py": "n\n", "e.py": ""}
    top = make_repo(tmp_path / "r", old)
    write(top, {**new, "to/moved.py": old["moved.py"] + "z\n", "w.py": "a\r\nc\r\n"})
    for name in ("gone.py", "moved.py"):
        (top / name).unlink()
    git(top, "add", "-A")
    git(top, "commit", "-qm", "next")
    text = diff(Repository.open(top), "HEAD~1", "HEAD").decode()
    assert set(paths_of(text)) == {*new, "gone.py", "moved.py", "to/moved.py", "w.py"}


def mailed(folder: Path, message: str = "What it does.", patch: str = DIFF, after: str = "") -> str:
    text = mail(author="A <a@b>", subject="s", body=message, stat=" a.py | 3 +--", diff=patch.encode(), when=0.0)
    (folder / PATCH).write_bytes(text + after.encode())
    return checked_file(folder, DIFF)


def test_a_patch_file_is_recommended_only_if_it_contains_exactly_the_patch(tmp_path: Path) -> None:
    assert mailed(tmp_path) == hashlib.sha256((tmp_path / PATCH).read_bytes()).hexdigest()
    other = DIFF.replace("src/a.py", ".github/workflows/ci.yml")
    assert mailed(tmp_path, patch=other) == ""
    assert mailed(tmp_path, patch=other + DIFF) == ""
    assert mailed(tmp_path, patch=DIFF + other) == ""
    assert mailed(tmp_path, after=other) == ""
    assert mailed(tmp_path, patch=DIFF.replace("a = 2", "a = 2\r")) == ""
    raw = (tmp_path / PATCH).read_bytes()
    (tmp_path / PATCH).unlink()
    assert checked_file(tmp_path, DIFF) == ""
    (tmp_path / "real").write_bytes(raw)
    (tmp_path / PATCH).symlink_to(tmp_path / "real")
    assert checked_file(tmp_path, DIFF) == ""


@pytest.mark.parametrize("data", [b"", b"[]", b"null", b"\xff", b"[" * 100_000, b" " * (LARGEST + 1)], ids=range(6))
def test_no_bundle_at_all(data: bytes) -> None:
    with pytest.raises(PublishError):
        load(data)


@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "nothing"])
def test_something_other_than_a_regular_file_is_refused(kind: str, tmp_path: Path) -> None:
    if kind == "link":
        (tmp_path / "real").write_text(dump(GOOD))
        (tmp_path / NAME).symlink_to(tmp_path / "real")
    elif kind == "pipe":
        os.mkfifo(tmp_path / NAME)
    elif kind == "folder":
        (tmp_path / NAME).mkdir()
    with pytest.raises(PublishError):
        read(tmp_path)


@given(st.binary(max_size=200))
def test_random_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(PublishError):
        load(data)


@pytest.mark.parametrize("text", ["@everyone", "<!-- coderefine:summary -->", "[x](http://e)", "` @a `", "</details>"])
def test_words_from_a_repository_do_not_act(text: str) -> None:
    body = remark(replace(ONE, why=text)) + summary(replace(GOOD, summary=text, evidence=text), "gh pr checkout 1")
    outside = "".join(part for index, part in enumerate(body.split("`")) if index % 2 == 0)
    assert text.strip("` ") not in outside.replace("\n</details>\n", "").replace("<!-- coderefine:summary -->", "", 1)


def test_a_fence_is_longer_than_any_fence_inside() -> None:
    body = remark(replace(ONE, new=("x = '```suggestion'", "````")))
    assert "`````suggestion\nx" in body


def test_a_moved_suggestion_keeps_its_fingerprint() -> None:
    assert replace(ONE, first=30, last=31).fingerprint == ONE.fingerprint
    assert replace(ONE, new=("a = 3",)).fingerprint != ONE.fingerprint
    assert replace(ONE, path="b.py").fingerprint != ONE.fingerprint
