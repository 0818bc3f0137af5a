"""A patch as one mail that `git am` accepts, whatever bytes are in it."""

from __future__ import annotations

import binascii
import re
from datetime import datetime, timezone
from email.header import Header
from email.utils import format_datetime

MAGIC = "From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001"


def mail(*, author: str, subject: str, body: str, stat: str, diff: bytes, when: float) -> bytes:
    """`author` is `Name <address>`; `when` is Unix time; `diff` keeps its bytes through `git am`.

    Lines ending in CR, or longer than mail allows, travel as quoted-printable: `git am` strips bare CRs
    from the raw mail but not from decoded text (git-mailsplit, git-mailinfo `--quoted-cr`).
    """
    text = f"{_tame(body)}\n---\n{stat}\n".encode() + diff + b"-- \ncoderefine\n"
    delicate = b"\r" in text or any(len(line) > 990 for line in text.split(b"\n"))
    headers = (
        MAGIC,
        f"From: {_address(author)}",
        f"Date: {format_datetime(datetime.fromtimestamp(when, timezone.utc))}",
        f"Subject: {_encoded('[PATCH] ' + _one_line(subject), 'Subject')}",
        "MIME-Version: 1.0",
        "Content-Type: text/plain; charset=UTF-8",
        f"Content-Transfer-Encoding: {'quoted-printable' if delicate else '8bit'}",
    )
    return "\n".join(headers).encode() + b"\n\n" + (_quoted(text) if delicate else text)


def _one_line(text: str) -> str:
    return " ".join(text.split()) or "repair"


def _tame(body: str) -> str:
    """`body` with the lines that would end the message, or start another mail, moved in by a space."""
    return re.sub(r"(?m)^(?=---|diff -|Index: |From |>From |From: |Date: |Subject: )", " ", body.strip())


def _encoded(text: str, header: str) -> str:
    if text.isascii():
        return text
    return Header(text, "utf-8", header_name=header, maxlinelen=72).encode(linesep="\n")


def _address(author: str) -> str:
    name, _, rest = author.partition("<")
    return f"{_encoded(name.strip(), 'From')} <{rest}" if rest else _encoded(author, "From")


def _quoted(text: bytes) -> bytes:
    """Quoted-printable line by line; `b2a_qp` on a whole text would let CR LF through as a line end."""
    lines = (binascii.b2a_qp(line, quotetabs=False, istext=False) for line in text.split(b"\n"))
    return b"\n".join(lines)
