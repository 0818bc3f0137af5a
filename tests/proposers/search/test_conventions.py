"""Which code is odd: it contradicts a check, or is unlike the code around it, or unlike other calls."""

from __future__ import annotations

import ast
import textwrap

import pytest

from coderefine.proposers.search.conventions import improvement, odd_nodes
from coderefine.proposers.search.ingredients import ProjectContext
from coderefine.proposers.search.syntax import Module

PROJECT = """
def send(data, timeout): ...
class Reader:
    def read(self, size, timeout=None): ...
    @property
    def rows(self): ...
    def line(self): ...
    def column(self): ...
    def close(self):
        self.column = 1
        fail(ValueError, "closed")
        fail(OSError, "gone")
        fail(KeyError, "none")
"""


def odd(code: str) -> list[str]:
    """The odd nodes of the first function of `code`, as text."""
    source = textwrap.dedent(code)
    modules = {}
    for path, text in (("mod.py", source), ("project.py", PROJECT)):
        module = Module.of(path, text.encode())
        assert module is not None
        modules[path] = module
    return [ast.unparse(node) for node in odd_nodes(modules["mod.py"].tree.body[0], ProjectContext(modules))]


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        pytest.param("x is None", "x is not None", id="is"),
        pytest.param("not x is not None", "not x is None", id="not"),
        pytest.param("x is None or y", "x is not None or y", id="or"),
    ],
)
@pytest.mark.parametrize(
    "code",
    [
        pytest.param("def f(x, y):\n    if {}:\n        return 0\n    return x.name\n", id="after a jump"),
        pytest.param("def f(x, y):\n    if {}:\n        return 0\n    else:\n        return x[1]\n", id="else"),
        pytest.param("def f(x, y):\n    return 0 if {} else x.name\n", id="conditional expression"),
        pytest.param("def f(x, y):\n    return {} or x.name == y\n", id="operand"),
        pytest.param(
            "def f(rows, x, y):\n    for row in rows:\n        if {}:\n            continue\n        print(*x)\n",
            id="loop",
        ),
    ],
)
def test_a_variable_that_is_none_is_used(code: str, right: str, wrong: str) -> None:
    assert odd(code.format(right)) == []
    assert len(odd(code.format(wrong))) == 1


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("x = {}", id="variable"),
        pytest.param("y = 1\n    if y:\n        x = y", id="inner"),
    ],
)
def test_a_variable_that_is_not_none_is_overwritten(body: str) -> None:
    code = "def f(x, y):\n    if x is {} None:\n    {}\n    return x\n"
    indented = body.replace("\n", "\n    ")
    assert odd(code.format("", f"    {indented}")) == []
    assert odd(code.format("not", f"    {indented}")) == ["x is not None"]
    assert odd("def f(x):\n    if x.y is not None:\n        x.y = []\n") == ["x.y is not None"]


@pytest.mark.parametrize("use", ["x[0]", "x.group(1)", "[y for y in x]", "x()"])
def test_a_variable_that_is_empty_is_used(use: str) -> None:
    assert odd(f"def f(x):\n    if not x:\n        return 0\n    return {use}\n") == []
    assert odd(f"def f(x):\n    if x:\n        return 0\n    return {use}\n") == ["x"]


@pytest.mark.parametrize(
    ("tests", "found"),
    [
        (["is_a(x.a, B)", "is_a(x.b, C)", "is_a(x.a, D)", "is_a(x.a, E)", "y"], ["is_a(x.b, C)"]),
        (["x.a == 1", "x.b == 2", "x.a == 3", "x.a == 4", "y"], ["x.b == 2"]),
        (["is_a(x.a, B)", "is_a(x.b, C)", "is_a(x.a, D)", "y"], []),
        (["is_a(x.a, B)", "is_a(x.b, C)", "is_a(x.b, D)", "is_a(x.a, E)", "is_a(x.a, F)", "y"], []),
        (["is_a(x.a, B)", "has(x.b, C)", "is_a(x.a, D)", "is_a(x.a, E)", "y"], []),
    ],
)
def test_a_condition_that_tests_another_value_than_those_beside_it_is_odd(tests: list[str], found: list[str]) -> None:
    """deepdiff: `isinstance(level.report_type, …)` between five `isinstance(level.t1, …)`; the repair came 1,130th."""
    chain = "".join(f"    {'el' * (at > 0)}if {test}:\n        return {at}\n" for at, test in enumerate(tests))
    assert odd(f"def f(x, y):\n{chain}") == found


@pytest.mark.parametrize(
    ("code", "found"),
    [
        pytest.param(
            "if a == 1:\n    b()\nelif a != 2:\n    b()\nelif a == 3:\n    b()\nelif b:\n    b()", ["a != 2"], id="elif"
        ),
        pytest.param("if a == 1:\n    b()\nelif a == 2:\n    b()\nelif a != 3:\n    b()", [], id="the last elif"),
        pytest.param("return a == 1 or a != 2 or a == 3", ["a != 2"], id="or"),
        pytest.param(
            "if a in [1]:\n    b()\nif not (a in [2]):\n    b()\nif a in [3, 4]:\n    b()", ["not a in [2]"], id="row"
        ),
        pytest.param("return a == 1 or a != 2", [], id="only one other"),
        pytest.param("return a != 1 or a != 2 or a == 3 or a == 4", [], id="two and two"),
        pytest.param("return a == 1 or a == 2 or a is not None", [], id="another comparison"),
    ],
)
def test_a_condition_alone_among_opposite_ones_is_odd(code: str, found: list[str]) -> None:
    assert odd(f"def f(a, b):\n{textwrap.indent(code, '    ')}\n") == found


@pytest.mark.parametrize(
    ("call", "count"),
    [
        pytest.param("send(data, timeout)", 0, id="in order"),
        pytest.param("send(timeout, data)", 2, id="exchanged"),
        pytest.param("reader.read(limit, timeout)", 0, id="passed on"),
        pytest.param("reader.read(1, limit)", 1, id="another parameter is passed on"),
        pytest.param("reader.read(1, local)", 0, id="a local variable"),
        pytest.param("reader.read(timeout, limit)", 1, id="passed elsewhere"),
        pytest.param("reader.read(limit, limit)", 2, id="twice"),
        pytest.param("send(*data, timeout)", 0, id="unpacked"),
        pytest.param("unknown(timeout, data)", 0, id="unknown function"),
        pytest.param('fail(TypeError, "wrong")', 0, id="usual kinds"),
        pytest.param('fail("wrong", TypeError)', 2, id="unusual kinds"),
        pytest.param("fail(data, timeout)", 1, id="a variable in place of a class"),
        pytest.param("fail(make(data), 1 + 1)", 0, id="unknown kinds"),
    ],
)
def test_arguments_unlike_their_parameters_or_other_calls_are_odd(call: str, count: int) -> None:
    assert len(odd(f"def f(reader, data, timeout, limit):\n    local = 1\n    return {call}\n")) == count


def test_a_recursive_call_may_pass_another_parameter() -> None:
    assert odd("def lend(data, timeout, other):\n    return lend(timeout, other, data)\n") == []


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("if x is None:\n    x = make()\nreturn x.name", id="bound after the check"),
        pytest.param("if x is None:\n    x = make()\n    x.add(1)", id="bound before the use"),
        pytest.param("if x is None and (x is None or x.name):\n    pass", id="checked again"),
        pytest.param("if x is None:\n    try:\n        x.name\n    except AttributeError:\n        pass", id="caught"),
        pytest.param("if x.y is None:\n    load(x)\n    return x.y.name", id="a call may store the attribute"),
        pytest.param("if x is not None:\n    x = x.name", id="read as it is replaced"),
        pytest.param("if x is not None:\n    y = x\n    x = 1", id="read before it is replaced"),
        pytest.param("if x is not None:\n    x = None", id="set back"),
        pytest.param("if not x:\n    x.append(1)", id="an empty list is filled"),
        pytest.param("if not x:\n    return x[:1]", id="a slice of what is empty"),
        pytest.param("if x is not None and x < 0:\n    x = 0", id="a lower limit"),
        pytest.param("if self.x is not None:\n    self.x = self.make()", id="a method may read it"),
        pytest.param(
            "if x is not None:\n    if y:\n        if y:\n            use(x)\n    x = 1", id="used in a block"
        ),
        pytest.param("if x is None:\n    import x\n    x.run()", id="imported"),
        pytest.param("if x is None and (x := make()):\n    x.run()", id="bound in the test"),
        pytest.param("if not x:\n    x.extend(y)\n    return x.pop()", id="filled by its method"),
        pytest.param("if not x:\n    fill(x)\n    return x.pop()", id="filled by a function"),
        pytest.param("while not x and fill(x):\n    x.pop()", id="filled in the test"),
        pytest.param("if x is None:\n    return [x.y for x in y if x is not None]", id="checked in a comprehension"),
        pytest.param("if x is None:\n    with suppress(AttributeError):\n        x.run()", id="suppressed"),
        pytest.param("if x is None:\n    return x.__class__", id="an attribute of None"),
        pytest.param("return y.get(x, x), zip(x, x)", id="often passed twice"),
        pytest.param("return y.send(timeout, data)", id="a method, not the function"),
        pytest.param("return Reader.read(self, size, timeout)", id="through the class"),
        pytest.param("return y == 'a' and x[0] == 'a' and x[1] == 'b' and x[2] != 'c'", id="different items"),
    ],
)
def test_what_honest_code_does_is_not_odd(code: str) -> None:
    """The rows from the lower limit on were called odd once."""
    assert odd(f"def f(self, x, y, size, timeout, data):\n{textwrap.indent(code, '    ')}\n") == []


@pytest.mark.parametrize(
    ("test", "settled"),
    [
        ("x % 3 != -1", True),
        ("x % 3 != 0", False),
        ("x % 3 < 3", True),
        ("x % 3 < 2", False),
        ("x % -3 == -1", False),
        ("len(x) < 0", True),
        ("len(x) >= 0", True),
        ("len(x) > 0", False),
        ("0 > len(x)", True),
        ("0 < len(x)", False),
        ("x.find(y) < -1", True),
        ("x.find(y) == -1", False),
        ("x.size() == -1", False),
    ],
)
def test_a_comparison_with_one_possible_result_is_odd(test: str, settled: bool) -> None:
    """In 12,572 functions of real projects there is none."""
    assert odd(f"def f(x, y):\n    return 1 if {test} else 2\n") == [test] * settled


@pytest.mark.parametrize(
    ("after", "better"),
    [
        ("fail('wrong', 3)\n    return n - 1", 0),
        ("fail(ValueError, 'wrong')\n    return n + 1", 1),
        ("fail('wrong', 3)\n    return n + 1", 0),
        ("return n + 1", 0),
    ],
    ids=["something else", "the call", "nothing", "the call is gone"],
)
def test_an_edit_elsewhere_does_not_make_a_call_usual(after: str, better: int) -> None:
    """The call of the old version was taken for another call like it."""
    before = Module.of("mod.py", b"def f(n):\n    fail('wrong', 3)\n    return n + 1\n")
    project = Module.of("project.py", PROJECT.encode())
    assert before is not None
    assert project is not None
    world = ProjectContext({"mod.py": before, "project.py": project})
    assert improvement(before.tree.body[0], ast.parse(f"def f(n):\n    {after}\n").body[0], world) == better


@pytest.mark.parametrize(
    ("after", "better"),
    [
        pytest.param("x is None", 1, id="the check is right"),
        pytest.param("y", 0, id="the check is gone"),
        pytest.param("x is not None and y", 0, id="the check tells less"),
    ],
)
def test_only_a_function_that_keeps_its_checks_becomes_more_ordinary(after: str, better: int) -> None:
    code = "def f(x, y):\n    if {}:\n        return 0\n    return x.name\n"
    before, changed = (ast.parse(code.format(text)).body[0] for text in ("x is not None", after))
    world = ProjectContext({})
    assert improvement(before, changed, world) == better
    assert improvement(changed, before, world) == -better or better == 0


@pytest.mark.parametrize(
    ("use", "found"),
    [
        ("self.line in x", ["self.line"]),
        ("x + self.line", ["self.line"]),
        ("self.line[0]", ["self.line"]),
        ("self.line() in x", []),
        ("self.line is x", []),
        ("map(self.line, x)", []),
        ("self.rows[0]", []),
        ("self.column > 1", []),
        ("x.line > 1", []),
        ("self.unknown > 1", []),
    ],
)
def test_a_method_that_is_used_as_a_value_is_odd(use: str, found: list[str]) -> None:
    """tomlkit: the repair of `self.end in _escaped` was the 611th candidate."""
    assert odd(f"def f(self, x):\n    return {use}\n") == found


def test_a_value_in_place_of_a_method_is_more_ordinary() -> None:
    module = Module.of(
        "mod.py", b"class A:\n    def end(self): ...\n    def f(self, x):\n        return self.end in x\n"
    )
    assert module is not None
    before = next(node for node in module.statements if isinstance(node, ast.FunctionDef) and node.name == "f")
    for after, better in (("self.now in x", 1), ("self.end() in x", 1), ("self.end", 0), ("self.end not in x", 0)):
        (new,) = ast.parse(f"def f(self, x):\n    return {after}\n").body
        assert improvement(before, new, ProjectContext({"mod.py": module})) == better
