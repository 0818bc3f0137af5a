"""The texts a critic reads that looks at code itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from coderefine.core import View
from coderefine.critics.files import python_files
from coderefine.critics.scope import inside
from coderefine.llm.context import text_of

if TYPE_CHECKING:
    from coderefine.project import Place


def sources(view: View, place: Place, scope: tuple[str, ...], skip: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
    """Path and text of each Python file in `scope` that `skip` does not name; "" for what is no text."""
    for path in python_files(view, place):
        if inside(path, scope) and not skip(path):
            yield path, text_of(view.read(path)) or ""
