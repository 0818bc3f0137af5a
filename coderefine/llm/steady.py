"""Takes out of evidence what changes from run to run, so that equal runs ask equal questions."""

from __future__ import annotations

import re
from pathlib import Path

ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,16}\b")
TEMPORARY = re.compile(r"(?:/private)?(?:/var/folders|/var/tmp|/tmp|/dev/shm)/(?:[^\s'\",:;()\[\]]+/)?")
NUMBERED = re.compile(r"\b(pid|tid|ident|port)([=: ]+)\d+")
SECONDS = re.compile(r"\b\d+\.\d+ ?(?:s|sec|secs|seconds|ms)\b")


def steady(text: str, top: Path) -> str:
    """`text` without addresses, process numbers, temporary folders, and with paths below `top` made relative."""
    text = text.replace(f"{top}/", "").replace(str(top), ".")
    text = ADDRESS.sub("0x…", text)
    text = NUMBERED.sub(r"\1\2…", text)
    return TEMPORARY.sub("<tmp>/", text)


def steady_output(text: str, top: Path) -> str:
    """`steady` for what a program printed: durations go too."""
    return SECONDS.sub("… s", steady(text, top))


def cut(text: str, most: int) -> str:
    """At most about `most` characters: a third from the head, the rest from the tail, and how much is missing."""
    if len(text) <= most:
        return text
    head, tail = most // 3, most - most // 3
    return f"{text[:head].rstrip()}\n… {len(text) - most} characters cut …\n{text[-tail:].lstrip()}"
