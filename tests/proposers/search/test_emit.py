"""Edits change the text they mean to change and nothing else."""

from __future__ import annotations

import ast

import pytest

from coderefine.proposers.search import emit
from coderefine.proposers.search.enumeration import compiled
from coderefine.proposers.search.syntax import Edit, Module, Replacement


def parsed(text: str) -> Module:
    module = Module.of("m.py", text.encode())
    assert module is not None
    return module


def name(module: Module, word: str) -> ast.AST:
    return next(node for node in ast.walk(module.tree) if isinstance(node, ast.Name) and node.id == word)


@pytest.mark.parametrize(
    ("text", "new", "wanted"),
    [
        ("z = a * x\n", "b + c", "z = a * (b + c)\n"),
        ("z = x * a\n", "b * c", "z = b * c * a\n"),
        ("z = a - x\n", "b - c", "z = a - (b - c)\n"),
        ("z = x.y\n", "b + c", "z = (b + c).y\n"),
        ("z = f(x)\n", "b or c", "z = f(b or c)\n"),
        ("z = not x\n", "b or c", "z = not (b or c)\n"),
        ("z = x and a\n", "b or c", "z = (b or c) and a\n"),
        ("z = [x]\n", "b if c else d", "z = [b if c else d]\n"),
        ("z = -x\n", "b ** c", "z = -b ** c\n"),
        ("if x:  # why\n    pass\n", "b == c", "if b == c:  # why\n    pass\n"),
        ("é = 'ü' + x  # ö\n", "b", "é = 'ü' + b  # ö\n"),
    ],
)
def test_parentheses_only_where_needed(text: str, new: str, wanted: str) -> None:
    module = parsed(text)
    assert emit.apply(text, emit.expression(module, name(module, "x"), new)) == wanted


def test_operator_between_operands_skips_comments() -> None:
    text = "z = (a  # a < b\n     < b)\n"
    module = parsed(text)
    (edit,) = emit.between(module, name(module, "a"), name(module, "b"), "<", "<=", 1.0)
    assert emit.apply(text, edit) == "z = (a  # a < b\n     <= b)\n"


def test_file_form_survives() -> None:
    data = b"\xef\xbb\xbfdef f(x):\r\n\treturn x  # k\xc3\xa4se\r\n"
    module = Module.of("m.py", data)
    assert module is not None
    edit = emit.expression(module, name(module, "x"), "x + 1")
    assert module.source.encode(emit.apply(module.text, edit)) == data.replace(b"return x", b"return x + 1")


def test_last_statement_goes_leaving_pass() -> None:
    text = "def f():\n    g()\n"
    module = parsed(text)
    (edit,) = emit.removal(module, module.by_line[2])
    assert emit.apply(text, edit) == "def f():\n    pass\n"


def test_insertion_at_the_end_of_a_file_without_line_end() -> None:
    text = "def f(x):\n    x()"
    module = parsed(text)
    (edit,) = emit.insertion(module, module.by_line[2], "return x", after=True)
    assert emit.apply(text, edit) == "def f(x):\n    x()\n    return x"


def test_same_behaviour_compiles_to_the_same() -> None:
    module = parsed("def f(x):\n    return x\n")
    top = module.tree.body[0]
    at = module.text.index("return")
    spaced = Edit((Replacement(at, at, "\n    "),))
    other = Edit((Replacement(at, at + 8, "return -x"),))
    assert compiled(module, top, spaced) == compiled(module, top, None)
    assert compiled(module, top, other) != compiled(module, top, None)
    assert compiled(module, top, Edit((Replacement(at, at, "return return "),))) is None
