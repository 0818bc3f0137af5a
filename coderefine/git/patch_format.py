"""Unified diffs that do not depend on git's configuration, and mails for `git am`."""

from __future__ import annotations

import binascii
import re
from collections.abc import Collection, Mapping
from datetime import datetime, timezone
from email.header import Header
from email.utils import format_datetime

from coderefine.git.repository import Repository
from coderefine.git.scratch import EXECUTABLE, scratch

OPTIONS = (
    "-r", "-p", "--binary", "-M", "-U3", "--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/",
    "--dst-prefix=b/", "--no-relative", "--submodule=short", "--diff-algorithm=histogram", "--inter-hunk-context=0",
    "-O/dev/null",
)  # fmt: skip


def diff(repository: Repository, before: str, after: str, env: Mapping[str, str] | None = None) -> bytes:
    """Return the diff from tree `before` to tree `after`, for `git apply`; the bytes of contents are unchanged."""
    return _diff_tree(repository, before, after, *OPTIONS, env=env)


def stat(repository: Repository, before: str, after: str, env: Mapping[str, str] | None = None) -> str:
    """Return the diffstat: lines `path | 3 ++-` and a total."""
    output = _diff_tree(repository, before, after, "-r", "-M", "--stat=72", "--summary", "--no-color", env=env)
    return output.decode("utf-8", "replace")


def _diff_tree(repository: Repository, before: str, after: str, *options: str, env: Mapping[str, str] | None) -> bytes:
    settings = ("-c", "core.quotePath=true", "-c", "diff.suppressBlankEmpty=false")
    return repository.git(*settings, "diff-tree", *options, before, after, env=env)


def diff_files(
    repository: Repository,
    head: str | None,
    before: Mapping[str, bytes | None],
    after: Mapping[str, bytes | None],
    programs: Collection[str],
) -> bytes:
    """Return the diff between working-tree contents `before` and `after`, in a repository whose HEAD is `head`.

    `programs`: new files that are executable. Nothing is written below the git directory.
    """
    with scratch(repository, keep=False) as made:
        if head:
            made.read_tree(head)
        made.lay(before)
        old = made.write()
        made.lay(after, dict.fromkeys(programs, EXECUTABLE))
        return diff(repository, old, made.write(), env=made.borrowed)


MAGIC = "From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001"

END = b"\ncoderefine\n"


def is_own_mail(data: bytes) -> bool:
    """Return whether `data` is a mail that the function `mail` made."""
    return data.startswith(MAGIC.encode()) and data.endswith(END)


def mail(*, author: str, subject: str, body: str, stat: str, diff: bytes, when: float) -> bytes:
    """Return a mail from which `git am` restores exactly the bytes of `diff`.

    `author` is `Name <address>`; `when` is Unix time.

    If lines end in CR, or are longer than mail allows, the text is encoded as quoted-printable: `git am` strips bare
    CRs from the raw mail but not from decoded text (git-mailsplit, git-mailinfo `--quoted-cr`).
    """
    # indent the lines that would end the message or begin another mail
    words = re.sub(r"(?m)^(?=---|diff -|Index: |From |>From |From: |Date: |Subject: )", " ", body.strip())
    text = f"{words}\n---\n{stat}\n".encode() + diff + b"-- " + END
    delicate = b"\r" in text or any(len(line) > 990 for line in text.split(b"\n"))
    headers = (
        MAGIC,
        f"From: {_address(author)}",
        f"Date: {format_datetime(datetime.fromtimestamp(when, timezone.utc))}",
        f"Subject: {_encoded('[PATCH] ' + (' '.join(subject.split()) or 'repair'), 'Subject')}",
        "MIME-Version: 1.0",
        "Content-Type: text/plain; charset=UTF-8",
        f"Content-Transfer-Encoding: {'quoted-printable' if delicate else '8bit'}",
    )
    return "\n".join(headers).encode() + b"\n\n" + (_quoted(text) if delicate else text)


def _encoded(text: str, header: str) -> str:
    if text.isascii():
        return text
    return Header(text, "utf-8", header_name=header, maxlinelen=72).encode(linesep="\n")


def _address(author: str) -> str:
    name, _, rest = author.partition("<")
    return f"{_encoded(name.strip(), 'From')} <{rest}" if rest else _encoded(author, "From")


def _quoted(text: bytes) -> bytes:
    """Encode as quoted-printable line by line, because `b2a_qp` on a whole text keeps CR LF as a line end."""
    lines = (binascii.b2a_qp(line, quotetabs=False, istext=False) for line in text.split(b"\n"))
    return b"\n".join(lines)
