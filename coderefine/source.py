"""Text of a source file and the exact way back to its bytes."""

from __future__ import annotations

import ast
import io
import os
import threading
import tokenize
import warnings
from dataclasses import dataclass

BOM = b"\xef\xbb\xbf"

LONGEST = 255
"""Bytes of a file's name on every usual file system."""


@dataclass(frozen=True, slots=True)
class Source:
    """Decoded text with `\\n` line ends, plus what is needed to write it back byte for byte.

    `newline` is the file's line end; a file that mixes them is kept as it is (`newline` is then "").
    """

    text: str
    encoding: str = "utf-8"
    newline: str = "\n"
    bom: bool = False

    def encode(self, text: str) -> bytes:
        """Bytes of `text` in this file's encoding and line ends.

        Raises UnicodeEncodeError when the encoding cannot hold it.
        """
        body = text if self.newline in ("", "\n") else text.replace("\n", self.newline)
        return (BOM if self.bom else b"") + body.encode(self.encoding)


_QUIET = threading.Lock()
"""Gates run side by side, and the warning filters are one per process."""


def syntax(source: str | bytes) -> ast.Module | None:
    """The syntax tree of Python source; None for what does not parse, or is nested beyond reason.

    What Python would warn of ("\\d" in somebody's string) is not said: it is no business of ours.
    """
    try:
        with _QUIET, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def nameable(part: str) -> bool:
    """Return whether `part` is a possible file name: not too long, and without lone surrogates."""
    try:
        return len(os.fsencode(part)) <= LONGEST
    except UnicodeEncodeError:
        return False


def decode(data: bytes) -> Source | None:
    """`data` as Source, or None when it is no text (NUL bytes, undecodable, unknown coding cookie)."""
    bom = data.startswith(BOM)
    body = data[len(BOM) :] if bom else data
    if b"\0" in body:
        return None
    try:
        encoding = "utf-8" if bom else _coding(body)
        text = body.decode(encoding)
    except (SyntaxError, UnicodeDecodeError, LookupError):
        return None
    newline = _newline(text)
    plain = text.replace(newline, "\n") if newline not in ("", "\n") else text
    return Source(plain, encoding, newline, bom)


def _coding(body: bytes) -> str:
    """The PEP 263 encoding of `body`; utf-8 without a cookie."""
    return tokenize.detect_encoding(io.BytesIO(body).readline)[0]


def _newline(text: str) -> str:
    """The only line end in `text`, or "" when several kinds are mixed."""
    crlf = text.count("\r\n")
    kinds = [
        end
        for end, count in (
            ("\r\n", crlf),
            ("\n", text.count("\n") - crlf),
            ("\r", text.count("\r") - crlf),
        )
        if count
    ]
    return kinds[0] if len(kinds) == 1 else "\n" if not kinds else ""
