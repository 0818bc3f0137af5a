"""Constants are found however they are brought in: only patches without any are not compared on other inputs."""

from __future__ import annotations

from textwrap import indent

import pytest

from coderefine.core import Patch
from coderefine.judge import changes, new_constants
from tests.support.judging import FACTORIAL

BRINGING = {
    "a literal": "return n + 7",
    "a sum of boundary values": "return 2 * 2 * 2 * (2 * 2 * 2 * 2 - 1)",
    "differences of boundary values": "return 1 if not n - 2 - 2 - 1 else n",
    "a shifted bit": "return 1 if not n - (1 << 2) else n",
    "a length": "return n if n - len([0, 0, 0, 0, 0]) else 1",
    "an f-string that is read": "return int(f'120') if str(n) in f'5' else n",
    "an f-string that is split": "return f'5 120 {n}'.split()[1]",
    "an exception that is caught": "try:\n    raise LookupError('5 120')\nexcept LookupError as e:\n    return e.args",
    "an assertion that stores": "assert (known := {5: 120})\nreturn known.get(n, n)",
    "an annotation": "return fact.__annotations__.popitem()[1].get(n, n)",
    "a docstring": "'''5 120'''\nreturn fact.__doc__.split()",
    "a name": "return _5_120.__name__.split()",
    "its own file": "return open(__file__).read()",
    "a file": "return int(here().read_text())",
    "a file by another name": "opened = open\nwith opened(here()) as lines:\n    return list(lines)",
    "a tree of folders": "from os import walk as below\nreturn list(below(here()))",
    "a constant of Python": "import errno\nreturn errno.EISNAM",
    "an imported constant of Python": "from errno import EISNAM as many\nreturn many",
    "a folder": "return max(here().parent.iterdir())",
}
FREE = {
    "boundary values": "return 1 if n == 0 else 2 * n - 1",
    "one difference": "return fact(n - 1) + (n - 1) * (n - 1)",
    "a message": "raise ValueError('at most 7')",
    "a message with a value": "raise ValueError(f'{n} is above 7')",
    "an assertion": "assert n, 'give at least 7'\nreturn n",
    "a text that is shown": "print(f'7 or {n}')\nreturn n",
    "the name of a type": "return type(n).__name__",
    "a docstring": "'''At most 7.'''\nreturn n",
    "a class of Python": "from decimal import Decimal\nreturn Decimal(n)",
    "a class of Python named like a constant": "import ast, uuid\nreturn isinstance(n, ast.AST) or uuid.UUID(n)",
    "a function of Python named like a constant": "import stat\nreturn stat.S_ISREG(n)",
    "a syntax tree": "import ast\nreturn list(ast.walk(n))",
    "its own constant": "return LIMIT",
    "a file that is written": "here().write_text(str(n))\nreturn n",
}


def found(body: str) -> tuple[int, ...]:
    patch = Patch({"app/core.py": f"def fact(n):\n{indent(body, '    ')}\n".encode()})
    return new_constants(changes(patch, {"app/core.py": FACTORIAL.encode()}))


@pytest.mark.parametrize("how", BRINGING)
def test_new_constant_is_found(how: str) -> None:
    assert found(BRINGING[how])


@pytest.mark.parametrize("how", FREE)
def test_patch_without_new_constants_is_free(how: str) -> None:
    assert not found(FREE[how])


@pytest.mark.parametrize(
    ("before", "after", "new"),
    [
        ('kind != "text"', 'kind == "text"', False),
        ('kind not in ("a", "b")', 'kind in ("a", "b")', False),
        ('kind != "text"', 'kind == "other"', True),
        ('kind != "text"', 'other == "text"', True),
    ],
)
def test_an_inverted_comparison_adds_no_constant(before: str, after: str, *, new: bool) -> None:
    """markdown-it-py: the right repair, `!=` for `==`, was refused: it changed the results of a single call."""
    texts = [f"def f(kind, other):\n    return {code}\n".encode() for code in (before, after)]
    assert bool(new_constants(changes(Patch({"m.py": texts[1]}), {"m.py": texts[0]}))) is new
