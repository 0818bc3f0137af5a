"""Fills the server's pure caches with what the tests will ask of them, so that no child has to.

Only compiled patterns of `re`, which depend on nothing but their text and flags, and standard modules that pytest
imports when an assertion fails.
"""

from __future__ import annotations

import contextlib
import importlib
import re
import warnings
from typing import Any, List, Sequence

LATE = (
    "difflib",
    "pprint",
    "textwrap",
    "linecache",
    "_pytest._io.pprint",
    "_pytest._io.saferepr",
    "_pytest.assertion.util",
)
"""What pytest imports at the first failure."""

Pattern = List[Any]
"""Whether it is bytes, its text (bytes as latin-1), its flags."""


def patterns() -> List[Pattern]:
    """What `re` has cached in this process."""
    found: List[Pattern] = []
    for entry in list(getattr(re, "_cache", ())):
        with contextlib.suppress(TypeError, ValueError, UnicodeError, AttributeError):
            kind, text, flags = entry
            if kind in (str, bytes):
                found.append([kind is bytes, text.decode("latin-1") if kind is bytes else text, int(flags)])
    return found


def warm_up(known: Sequence[Pattern]) -> None:
    """Compile `known` patterns; one that warns is left out, because the warning must come again in every child."""
    for name in LATE:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for is_bytes, text, flags in known:
            with contextlib.suppress(re.error, Warning, ValueError, OverflowError, RecursionError):
                if not flags & re.DEBUG:
                    re.compile(text.encode("latin-1") if is_bytes else text, flags)
