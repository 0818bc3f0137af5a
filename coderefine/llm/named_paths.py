"""Find paths in a line of a reply: a line that is only a path, and paths that a sentence names."""

from __future__ import annotations

import re

PREFIX = re.compile(r"^(?:#+ |// |[-*] |\d+[.)] )?(?:(?:file|path)(?:name)?: ?)?", re.IGNORECASE)
LABEL = re.compile(r"^[A-Za-z]\w+[:=](?=[^:/])")
"""Matches a word before the path, for example a language: `python:a.py`, `path=a.py`."""
PLACE = re.compile(r":(?:\d+(?:-\d+)?|:[\w.]+)$")
"""Matches a place in the file after its path: `a.py:5`, `a.py::name`."""
NO_PATH = re.compile(r"[][()<>{}|=\"',;]")
URL = re.compile(r"\w+://\S*")
NAMED = re.compile(r"(?<![\w./\\~-])(?:[A-Za-z]:[\\/])?[\w./\\@+~-]*\w\.[A-Za-z]\w{0,7}(?![\w/\\-])")
LONGEST = 300


def whole_path(line: str) -> str:
    """Return `line` as a repo-relative POSIX path, "" if it does not look like one.

    If it contains a blank, it may be a path with blanks, or a sentence that ends with a path.
    """
    word = PREFIX.sub("", line.strip().strip("*")).strip().strip("`'\"*<>").rstrip(":").strip("`'\"*")
    word = _plain(PLACE.sub("", LABEL.sub("", word)))
    looks = ("." in word or "/" in word) and not word.endswith((".", "/")) and len(word) < LONGEST
    blank = " " in word and not re.search(r"\.\w{1,8}$", word)
    return word if looks and not blank and not NO_PATH.search(word) else ""


def named_paths(text: str) -> tuple[str, ...]:
    """Return the words of `text` that may be paths of files, each once; other dotted names are among them."""
    found = (_plain(word) for word in NAMED.findall(URL.sub(" ", text)))
    return tuple(dict.fromkeys(word for word in found if len(word) < LONGEST))


def is_certain(word: str) -> bool:
    """Return whether `word`, which `named_paths` found, is certainly a path, not another dotted name."""
    return "/" in word or word.lower().endswith((".py", ".pyi"))


def _plain(word: str) -> str:
    word = word.replace("\\", "/")
    while word.startswith("./"):
        word = word[2:]
    return word
