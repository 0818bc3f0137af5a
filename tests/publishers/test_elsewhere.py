"""A branch, a mail, a text: ways out that leave the working tree and the index alone."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from coderefine.errors import PublishError
from coderefine.publishers import Branch, Diff, PatchFile, Wording, undo
from tests.support.cases import every
from tests.support.publishing import stage, state
from tests.support.repo import git, make_repo, write


def test_branch_holds_head_plus_the_patch(repo: Path) -> None:
    write(repo, {"notes.txt": "dirty\n", "stranger.py": "s\n"})
    git(repo, "add", "notes.txt")
    prepared = stage(repo, {"src/a.py": "one = 10\ntwo = 2\n", "src/new.py": "n = 1\n"}, head=True)
    before = state(repo)
    line = Branch(prepared.snapshot, "repair/one").publish(prepared.outcome)
    assert line.startswith(f"branch repair/one is {git(repo, 'rev-parse', 'repair/one')[:10]}: src/a.py +1 −1")
    assert git(repo, "diff", "--name-only", "main", "repair/one").split() == ["src/a.py", "src/new.py"]
    assert git(repo, "rev-parse", "repair/one^") == git(repo, "rev-parse", "main")
    assert {**state(repo), "refs": ""} == {**before, "refs": ""}
    assert "already has this repair" in Branch(prepared.snapshot, "repair/one").publish(prepared.outcome)
    assert undo(prepared.journal) == "undone: the branch repair/one is gone"
    assert state(repo) == before


@pytest.mark.parametrize(
    ("name", "message"), [("main", "exists with other content"), ("a..b", "cannot be the name of a branch")]
)
def test_branch_names_that_will_not_do(repo: Path, name: str, message: str) -> None:
    prepared = stage(repo, {"src/a.py": "one = 10\n"})
    before = state(repo)
    with pytest.raises(PublishError, match=message):
        Branch(prepared.snapshot, name).publish(prepared.outcome)
    assert state(repo) == before


def test_a_branch_that_went_on_or_is_checked_out_is_not_undone(repo: Path) -> None:
    prepared = stage(repo, {"src/a.py": "one = 10\n"})
    Branch(prepared.snapshot, "side").publish(prepared.outcome)
    git(repo, "checkout", "-q", "side")
    with pytest.raises(PublishError, match="is checked out"):
        undo(prepared.journal)
    git(repo, "commit", "-q", "--allow-empty", "-m", "more")
    with pytest.raises(PublishError, match="is not what run"):
        undo(prepared.journal)


def test_diff_is_text_and_touches_nothing(repo: Path, sealed: Path) -> None:
    hostile = (
        "[diff]\n\tnoprefix = true\n\tcontext = 0\n\texternal = no\n\tmnemonicPrefix = true\n"
        "[color]\n\tui = always\n[core]\n\tpager = cat -A\n"
    )
    (sealed / ".gitconfig").write_text((sealed / ".gitconfig").read_text() + hostile)
    write(repo, {"src/a.py": "one = 1\ntwo = 'dirty'\n"})
    prepared = stage(repo, {"src/a.py": "one = 10\ntwo = 'dirty'\n", "naïve file.py": "x = 1", "src/b.py": None})
    objects = sorted((repo / ".git/objects").rglob("*"))
    before = state(repo)
    text = Diff(prepared.snapshot).publish(prepared.outcome)
    assert state(repo) == before
    assert sorted((repo / ".git/objects").rglob("*")) == objects
    assert "--- a/src/a.py\n+++ b/src/a.py\n@@ -1,2 +1,2 @@\n-one = 1\n+one = 10\n two = 'dirty'\n" in text
    assert "\\ No newline at end of file" in text
    subprocess.run(("git", "apply", "-"), cwd=repo, input=text.encode(), check=True)
    assert (repo / "src/a.py").read_text() == "one = 10\ntwo = 'dirty'\n"
    assert (repo / "naïve file.py").read_text() == "x = 1"
    assert not (repo / "src/b.py").exists()


FILES: dict[str, bytes] = {
    "plain.py": b"a = 1\nb = 2\n",
    "crlf.py": b"a = 1\r\nb = 2\r\n",
    "mixed.py": b"a = 1\r\nb = 2\nc = 3\r\n",
    "latin.py": "# -*- coding: latin-1 -*-\nname = 'é'\n".encode("latin-1"),
    "bom.py": b"\xef\xbb\xbfx = 1\n",
    "open_end.py": b"x = 1\ny = 2",
    "na\u00efve \u540d.py": b"x = 1\n",
    "data.bin": bytes(range(256)) * 4,
    "long.py": b"x = '" + b"y" * 3000 + b"'\n",
    "empty.py": b"",
    "from.txt": b"From me\n--- \nFrom 0000 Mon Sep 17 00:00:00 2001\n-- \n",
    "bare_cr.py": b"a = 1\rb = 2\r",
    "form\x0cfeed.py": b"x = 1\n\x0c\ny = 2\n",
}


@pytest.mark.parametrize("path", every(4, FILES))
@pytest.mark.parametrize("how", ["edit", "add", "delete"])
def test_git_am_takes_the_mail(tmp_path: Path, path: str, how: str) -> None:
    data = FILES[path]
    files: dict[str, str | bytes] = {"other.txt": "o\n", **({path: data} if how != "add" else {})}
    top = make_repo(tmp_path / "repo", files)
    after = None if how == "delete" else data if how == "add" else b"# new\r\n" * (b"\r\n" in data) + data + b"z = 1"
    prepared = stage(top, {path: after}, summary="Ünïcode, and a very long summary that goes on " + "and on " * 12)
    before = state(top)
    mail = tmp_path / "out.patch"
    line = PatchFile(prepared.snapshot, mail, Wording("{summary}\n\n--- body\nFrom the start\ndiff -r x")).publish(
        prepared.outcome
    )
    assert line.endswith(f"git am {mail}")
    assert state(top) == before
    git(top, "am", "-q", str(mail))
    assert ((top / path).read_bytes() if (top / path).exists() else None) == after
    assert git(top, "log", "-1", "--format=%s").startswith("Ünïcode, and a very long summary")
    body = git(top, "log", "-1", "--format=%B")
    assert f"Coderefine-Run: {prepared.run}" in body
    assert "From the start\n diff -r x" in body
    assert git(top, "log", "-1", "--format=%an") == "A U Thor"
    assert git(top, "status", "--porcelain") == ""


def test_the_mail_keeps_modes_and_the_users_work_out(repo: Path) -> None:
    (repo / "run.sh").chmod(0o755)
    git(repo, "commit", "-q", "-am", "executable")
    body = "".join(f"line{n}\n" for n in range(9))
    write(repo, {"src/b.py": body})
    git(repo, "commit", "-q", "-am", "nine")
    write(repo, {"src/b.py": body + "mine\n"})
    prepared = stage(repo, {"run.sh": "#!/bin/sh\nexit 0\n", "src/b.py": "first\n" + body + "mine\n"})
    mail = repo.parent / "out.patch"
    PatchFile(prepared.snapshot, mail).publish(prepared.outcome)
    git(repo, "apply", str(mail))
    assert "mine" not in git(repo, "apply", "--numstat", "-R", str(mail))
    assert (repo / "src/b.py").read_text() == "first\n" + body + "mine\n"
    assert (repo / "run.sh").stat().st_mode & 0o111


def test_a_mail_for_the_dirty_tree_is_marked(repo: Path) -> None:
    write(repo, {"src/a.py": "one = 'dirty'\ntwo = 2\n"})
    prepared = stage(repo, {"src/a.py": "one = 'fixed'\ntwo = 2\n"})
    mail = repo.parent / "out.patch"
    line = PatchFile(prepared.snapshot, mail).publish(prepared.outcome)
    assert line.endswith(f"git apply {mail}")
    git(repo, "apply", str(mail))
    assert (repo / "src/a.py").read_text() == "one = 'fixed'\ntwo = 2\n"


def test_a_file_of_the_user_is_not_overwritten_by_a_mail(repo: Path) -> None:
    """It was replaced without a word; of a link, the link was replaced and not the file."""
    prepared = stage(repo, {"src/a.py": "one = 10\n"})
    mine, link, mail = (repo.parent / name for name in ("mine.txt", "link.patch", "out.patch"))
    for text in ("precious\n", "", "From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001\nmine\n"):
        mine.write_text(text)
        with pytest.raises(PublishError, match=r"mine.txt exists and is no patch of coderefine"):
            PatchFile(prepared.snapshot, mine).publish(prepared.outcome)
        assert mine.read_text() == text
    link.symlink_to(mail)
    for _ in range(2):
        PatchFile(prepared.snapshot, link).publish(prepared.outcome)
        assert link.is_symlink()
        git(repo, "apply", "--check", str(mail))


def test_a_mail_that_cannot_be_written(repo: Path) -> None:
    prepared = stage(repo, {"src/a.py": "one = 10\n"})
    with pytest.raises(PublishError, match="cannot be written"):
        PatchFile(prepared.snapshot, repo / "nowhere/out.patch").publish(prepared.outcome)
