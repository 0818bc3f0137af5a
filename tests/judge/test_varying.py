"""Which patched code may give other results in another run."""

from __future__ import annotations

import pytest

from coderefine.core import Patch
from coderefine.judge import may_vary

BEFORE = "import random\n\n\ndef words(text):\n    return text.split()\n\n\ndef other(items):\n    return {*items}\n"


@pytest.mark.parametrize(
    ("new", "varies"),
    [
        ("list(set(text.split()))", True),
        ("list({*text.split()})", True),
        ("[one for one in {a for a in text}]", True),
        ("random.choice(text.split())", True),
        ("sorted(text.split(), key=hash)", True),
        ("text.split()[1:]", False),
        ("list(dict.fromkeys(text.split()))", False),
    ],
)
def test_code_with_sets_or_chance_may_vary(new: str, varies: bool) -> None:
    after = BEFORE.replace("text.split()\n", f"{new}\n")
    assert may_vary(Patch({"a.py": after.encode()}), {"a.py": BEFORE.encode()}) is varies


def test_a_changed_line_of_a_function_with_a_set_may_vary() -> None:
    after = BEFORE.replace("    return {*items}", "    found = {*items}\n    return list(found)")
    again = after.replace("list(found)", "list(found)[:1]")
    assert may_vary(Patch({"a.py": again.encode()}), {"a.py": after.encode()})


def test_text_that_is_no_python_varies_never() -> None:
    assert not may_vary(Patch({"a.md": b"set", "b.py": b"def set(:", "c.py": None}), {})
