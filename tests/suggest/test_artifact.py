"""The artifact is hostile: everything `dump` would not have written is refused, with a reason."""

from __future__ import annotations

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
from coderefine.publishers.hosts.artifact import LARGEST, dump, load, read
from coderefine.publishers.hosts.bundle import NAME, Bundle, Note, Suggestion
from coderefine.publishers.hosts.words import remark, summary

ONE = Suggestion("src/a.py", 3, 4, ("a = 1", "b = 2"), ("a = 2",), ("pytest/failed",), "mends test_a")
GOOD = Bundle("a" * 40, "b" * 40, "x", "y", "diff", True, (ONE,), (Note("t.py", 1, 2, "ruff/F401", "unused"),))
Json = dict[str, Any]


def test_what_was_written_is_read(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text(dump(GOOD))
    assert read(tmp_path) == GOOD


def in_suggestion(**changes: object) -> Callable[[Json], object]:
    return lambda body: body["suggestions"][0].update(changes)


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
    "newer version": lambda body: body.update(version=2),
    "missing key": lambda body: body.pop("base"),
    "too many suggestions": lambda body: body.update(suggestions=body["suggestions"] * 31),
    "too many notes": lambda body: body.update(notes=body["notes"] * 301),
    "a list for an object": lambda body: body.update(notes=[[]]),
    "behaviour in words": lambda body: body.update(behaviour="yes"),
    "patch of a megabyte": lambda body: body.update(patch="x" * 1_000_001),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_attack(name: str) -> None:
    body = json.loads(dump(GOOD))
    ATTACKS[name](body)
    with pytest.raises(PublishError, match="nothing was posted"):
        load(json.dumps(body).encode())


@pytest.mark.parametrize("data", [b"", b"[]", b"null", b"\xff", b"[" * 100_000, b" " * (LARGEST + 1)], ids=range(6))
def test_no_bundle_at_all(data: bytes) -> None:
    with pytest.raises(PublishError):
        load(data)


@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "nothing"])
def test_no_ordinary_file(kind: str, tmp_path: Path) -> None:
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
def test_noise(data: bytes) -> None:
    with pytest.raises(PublishError):
        load(data)


@pytest.mark.parametrize("text", ["@everyone", "<!-- coderefine:summary -->", "[x](http://e)", "` @a `", "</details>"])
def test_words_from_a_repository_do_not_act(text: str) -> None:
    body = remark(replace(ONE, why=text)) + summary(replace(GOOD, summary=text, evidence=text), number=1)
    outside = "".join(part for index, part in enumerate(body.split("`")) if index % 2 == 0)
    assert text.strip("` ") not in outside.replace("\n</details>\n", "").replace("<!-- coderefine:summary -->", "", 1)


def test_a_fence_is_longer_than_what_it_holds() -> None:
    body = remark(replace(ONE, new=("x = '```suggestion'", "````")))
    assert "`````suggestion\nx" in body


def test_a_moved_suggestion_keeps_its_fingerprint() -> None:
    assert replace(ONE, first=30, last=31).fingerprint == ONE.fingerprint
    assert replace(ONE, new=("a  =  2",)).fingerprint == ONE.fingerprint
    assert replace(ONE, new=("a = 3",)).fingerprint != ONE.fingerprint
    assert replace(ONE, path="b.py").fingerprint != ONE.fingerprint
