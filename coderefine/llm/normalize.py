"""Prepare texts for a request: remove what changes from run to run, limit the length, add delimiters."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from coderefine.sensitive import broken

ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,16}\b")
TEMPORARY = re.compile(r"(?:/private)?(?:/var/folders|/var/tmp|/tmp|/dev/shm)/(?:[^\s'\",:;()\[\]]+/)?")
NUMBERED = re.compile(r"\b(pid|tid|ident|port)([=: ]+)\d+")
SECONDS = re.compile(r"\b\d+\.\d+ ?(?:s|sec|secs|seconds|ms)\b")


def normalize(text: str, top: Path) -> str:
    """Replace memory addresses, process ids, ports and temporary folders; make paths below `top` relative."""
    text = text.replace(f"{top}/", "").replace(str(top), ".")
    text = ADDRESS.sub("0x…", text)
    text = NUMBERED.sub(r"\1\2…", text)
    return TEMPORARY.sub("<tmp>/", text)


def normalize_output(text: str, top: Path) -> str:
    """Normalise the output of a program like `normalize`, and remove durations."""
    return SECONDS.sub("… s", normalize(text, top))


def cut(text: str, most: int) -> str:
    """Shorten `text` to about `most` characters: keep its head (a third of them) and its tail, with a note between.

    A line is split only if it is too long; a word that may be a secret is never split.
    """
    if len(text) <= most:
        return text
    most = max(most, 0)
    head, tail = _head(text, most // 3), _head(text[::-1], most - most // 3)[::-1]
    return f"{head.rstrip()}\n… {len(text) - len(head) - len(tail)} characters cut …\n{tail.lstrip()}"


def _head(text: str, most: int) -> str:
    """Return about the first `most` characters, up to the end of a line or else of a word."""
    ends = [text.rfind(end, 0, most + 1) for end in ("\n", " ")]
    at = next((end for end in ends if end > most // 2), most)
    return text[: at - len(broken(text[:at], text[at:]))]


def mark(texts: Iterable[str]) -> str:
    """Return a delimiter: a digest of `texts`, so that the author of a text could not write it into the text."""
    return hashlib.sha256("\0".join(texts).encode("utf-8", "replace")).hexdigest()[:6]


def fenced(kind: str, path: str, text: str, mark: str) -> str:
    """Enclose `text` in lines with its kind, path and `mark`."""
    head = f"=== {kind} {path}".rstrip()
    return f"{head} [{mark}]\n{text.rstrip()}\n=== end [{mark}]"


def fenced_files(kind: str, texts: Mapping[str, str], mark: str) -> str:
    """Join the files `texts` (by path), each enclosed as by `fenced`."""
    return "\n".join(fenced(kind, path, text, mark) for path, text in texts.items())
