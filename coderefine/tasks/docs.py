"""Docstrings where they are missing or wrong; the code itself stays as it is."""

from __future__ import annotations

import ast

from coderefine.core import Task
from coderefine.critics.docs import Docs
from coderefine.critics.symbols import parse, without_docstrings
from coderefine.source import decode


def refuses(path: str, before: bytes | None, after: bytes | None) -> str:
    """A change of code is no documentation."""
    if not path.endswith(".py"):
        return ""
    same = before is not None and after is not None and _code(before) == _code(after)
    return "" if same else f"changes code in {path}, and only docstrings and comments were asked for"


def _code(data: bytes) -> str:
    source = decode(data)
    tree = parse(source.text) if source else None
    return ast.dump(without_docstrings(tree)) if tree else ""


TASK = Task(
    "docs",
    goal="Write the docstrings that are missing, and correct those that name what is not there.",
    rules=(
        "One sentence that says what it does or is, then units, shapes, errors where they matter.",
        "Nothing that the name and the signature say already. Change no code.",
    ),
    critics=(Docs,),
    refuses=refuses,
)
