"""Every extraction that is found keeps behaviour: programs drawn at random run before and after it."""

from __future__ import annotations

import ast
import random
import sys
from typing import Any

import pytest

from coderefine.proposers.refactorings.blocks import FUNCTIONS, Extraction, extractions, rebound
from coderefine.proposers.refactorings.extraction import extracted
from coderefine.proposers.refactorings.files import Placed, placed, written
from coderefine.proposers.refactorings.measures import COMPLEXITY
from coderefine.proposers.refactorings.sequence import Draft
from coderefine.proposers.refactorings.trees import Unit

NAMES = ("a", "b", "c", "d")


class Program:
    """Writes the body of a function at random: early exits, loops, exceptions, closures, names that may be unbound."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines = ["def f(a, b, log):"]

    def text(self) -> str:
        for name in self.random.sample(("c", "d"), self.random.randrange(3)):
            self.lines.append(f"    {name} = {self.random.randrange(3)}")
        self.suite(1, 3, loop=False)
        self.lines.append(f"    return ({self.value()}, log)")
        return "\n".join(self.lines) + "\n"

    def value(self) -> str:
        one, two = self.random.choices(NAMES, k=2)
        shapes = [one, f"{one} + {two}", f"{one} * 2 - 1", "1", f"[{one} for {two} in (1, 2)][0]"]
        return self.random.choice([*shapes, f"[{one} := q + 1 for q in (1, 2)][0]"])

    def test(self) -> str:
        one, two = self.random.choices(NAMES, k=2)
        shapes = (f"{one} > 1", f"{one} < {two}", f"{one} == 0 or {two}", f"not {one}", f"(d := {one}) > 2")
        return self.random.choice(shapes)

    def suite(self, depth: int, size: int, *, loop: bool) -> None:
        for _ in range(self.random.randint(1, size)):
            self.statement(depth, loop=loop)

    def statement(self, depth: int, *, loop: bool) -> None:
        kinds = ["assign", "assign", "log", "log", "augment"]
        kinds += ["lambda", "call", "return", "raise", "delete"] if self.random.random() < 0.3 else []
        kinds += ["if", "if", "else", "for", "try", "with", "while"] if depth < 4 else []
        kinds += ["break", "continue"] if loop else []
        getattr(self, self.random.choice(kinds) + "_")(depth, loop)

    def add(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def assign_(self, depth: int, _loop: bool) -> None:
        self.add(depth, f"{self.random.choice(NAMES)} = {self.value()}")

    def augment_(self, depth: int, _loop: bool) -> None:
        self.add(depth, f"{self.random.choice(NAMES)} += {self.value()}")

    def log_(self, depth: int, _loop: bool) -> None:
        self.add(depth, f"log.append({self.value()})")

    def lambda_(self, depth: int, _loop: bool) -> None:
        self.add(depth, f"g = lambda: {self.value()}")

    def call_(self, depth: int, _loop: bool) -> None:
        self.add(depth, "log.append(g())")

    def delete_(self, depth: int, _loop: bool) -> None:
        self.add(depth, f"del {self.random.choice(NAMES)}")

    def return_(self, depth: int, _loop: bool) -> None:
        self.add(depth, f"if {self.test()}:")
        self.add(depth + 1, self.random.choice(("return", "return 0", "return [a]", f"return {self.value()}")))

    def raise_(self, depth: int, _loop: bool) -> None:
        self.add(depth, f"if {self.test()}:")
        self.add(depth + 1, "raise ValueError")

    def break_(self, depth: int, _loop: bool) -> None:
        self.add(depth, f"if {self.test()}:")
        self.add(depth + 1, "break")

    def continue_(self, depth: int, _loop: bool) -> None:
        self.add(depth, f"if {self.test()}:")
        self.add(depth + 1, "continue")

    def if_(self, depth: int, loop: bool) -> None:
        self.add(depth, f"if {self.test()}:")
        self.suite(depth + 1, 2, loop=loop)

    def else_(self, depth: int, loop: bool) -> None:
        self.if_(depth, loop)
        if self.random.random() < 0.5:
            self.add(depth, f"elif {self.test()}:")
            self.suite(depth + 1, 2, loop=loop)
        self.add(depth, self.random.choice(("else:", f"elif {self.test()}:")))
        self.suite(depth + 1, 2, loop=loop)

    def for_(self, depth: int, _loop: bool) -> None:
        self.add(depth, f"for {self.random.choice(NAMES)} in range(3):")
        self.suite(depth + 1, 3, loop=True)

    def while_(self, depth: int, _loop: bool) -> None:
        counter = f"n{len(self.lines)}"
        self.add(depth, f"{counter} = 0")
        self.add(depth, f"while {counter} < 3:")
        self.add(depth + 1, f"{counter} += 1")
        self.suite(depth + 1, 3, loop=True)

    def try_(self, depth: int, loop: bool) -> None:
        self.add(depth, "try:")
        self.suite(depth + 1, 3, loop=loop)
        self.add(depth, self.random.choice(("except (ValueError, NameError) as error:", "except Exception:")))
        self.suite(depth + 1, 2, loop=loop)
        if self.random.random() < 0.3:
            self.add(depth, self.random.choice(("else:", "finally:")))
            self.suite(depth + 1, 2, loop=False)

    def with_(self, depth: int, loop: bool) -> None:
        self.add(depth, "with suppress(ValueError, NameError):")
        self.suite(depth + 1, 3, loop=loop)


def behaviour(text: str, name: str = "f") -> list[Any]:
    """Return what a function does with some arguments: its result or exception, and what it has logged."""
    found = []
    code = compile(f"from contextlib import suppress\n{text}", "program", "exec", dont_inherit=True)
    for one in range(-1, 4):
        for two in (0, 2):
            scope: dict[str, Any] = {}
            exec(code, scope)
            log: list[Any] = []
            try:
                answer = scope[name](one, two, log)
                found.append((repr(answer), log))
            except Exception as error:
                found.append((type(error).__name__, log))
    return found


def after(found: Extraction) -> str:
    text, function = extracted(found, "_extracted")
    return f"{function.text}\n{text}"


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_behave_alike_after_each_extraction(seed: int) -> None:
    count = 0
    for number in range(seed * 25, seed * 25 + 25):
        text = Program(number).text()
        before = behaviour(text)
        for found in extractions(Unit(text), {COMPLEXITY: 100}):
            new = after(found)
            assert behaviour(new) == before, f"{text}\n-> {new}"
            count += 1
    assert count > 20


def test_where_all_usual_names_of_results_are_taken_another_one_is_made() -> None:
    """In inflect, the whole run ended with an error."""
    before = "def f(a, b, log):\n    result, found, value, answer = a, b, a, b\n    if a > 1:\n"
    before += "        if b:\n            return 'big'\n        if a > 2:\n            return 'bigger'\n"
    before += "    log.append(a)\n    return result\n"
    texts = [after(found) for found in extractions(Unit(before), {COMPLEXITY: 100}) if found.manner == "value"]
    assert any("result_2 is not None" in text for text in texts)
    assert all(behaviour(text) == behaviour(before) for text in texts)


@pytest.mark.parametrize(
    ("value", "rebound", "certain"),
    [
        ("len(a)", "", True),
        ("', '.join(b)", "", True),
        ("len(a)", "len", False),
        ("join(a, b)", "", False),
        ("format(a, b)", "", False),
        ("b.strip()", "", False),
    ],
)
def test_only_a_value_that_is_certainly_not_none_tells_whether_a_block_returned(
    value: str, rebound: str, certain: bool
) -> None:
    """A function `join` of the project returned None, and the caller went on; the proof took it for that of strings."""
    before = f"def f(a, b, log):\n    if a:\n        if b:\n            return {value}\n        log.append(a)\n"
    before += "    if b:\n        log.append(b)\n    return 'none'\n"
    found = extractions(Unit(before, rebound=frozenset(rebound.split())), {COMPLEXITY: 100})
    assert any(one.manner == "value" for one in found) is certain


@pytest.mark.parametrize(
    ("lines", "outside"),
    [
        pytest.param(["x = [y := q * 2 for q in (a, b)]", "log.append(x)"], [], id="in-a-list"),
        pytest.param(["log.append(any((y := q) for q in (a, b)))"], [], id="in-a-generator"),
        pytest.param(["x = ((y := q) for q in (a, b))"], ["log.extend(x)"], id="in-a-generator-that-runs-later"),
        pytest.param(["def h(q: y): ...", "log.append(str(h.__annotations__))"], [], id="in-an-annotation"),
        pytest.param(["def h() -> y: ...", "log.append(str(h.__annotations__))"], [], id="in-the-type-of-a-result"),
        pytest.param(["class h:\n            q: y", "log.append(str(h.__annotations__))"], [], id="in-a-class"),
    ],
)
def test_names_that_are_bound_or_read_in_an_inner_scope_belong_to_the_function(
    lines: list[str], outside: list[str]
) -> None:
    """`y` was not returned by the new function, and the wrong extraction was proved by putting it back."""
    before = "def f(a, b, log):\n    y = 5\n    x = ()\n    if a:\n        if b:\n            log.append(a)\n"
    before += "".join(f"        {line}\n" for line in lines) + "".join(f"    {line}\n" for line in outside)
    before += "    return y\n"
    found = [after(one) for one in extractions(Unit(before), {COMPLEXITY: 100})]
    assert bool(found) is not bool(outside)
    assert [behaviour(text) for text in found] == [behaviour(before)] * len(found)


@pytest.mark.parametrize(
    "line",
    ["x = len(y := a) + 1", "x, y = len(a)", "y, log[9] = a, b", "x = y, z = a"],
)
def test_a_name_that_is_bound_before_an_exception_stays_in_the_try(line: str) -> None:
    before = "def f(a, b, log):\n    x = y = 5\n    try:\n        if a:\n            log.append(b)\n"
    before += f"        if b:\n            log.append(a)\n        {line}\n"
    before += "    except (TypeError, IndexError):\n        log.append(y)\n    return x\n"
    found = [after(one) for one in extractions(Unit(before), {COMPLEXITY: 100})]
    assert found
    assert [behaviour(text) for text in found] == [behaviour(before)] * len(found)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="`except*` is new in Python 3.11")
def test_nothing_is_extracted_from_a_function_with_except_star() -> None:
    """It counted as a statement that binds its names in any case: what they were before was not passed on."""
    before = "def f(a, b, log):\n    c = 5\n    if a:\n        if b:\n            log.append(b)\n    try:\n"
    before += "        c = 1 // b\n    {} ZeroDivisionError:\n        log.append(a)\n    return c\n"
    assert list(extractions(Unit(before.format("except")), {COMPLEXITY: 100}))
    assert not list(extractions(Unit(before.format("except*")), {COMPLEXITY: 100}))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("def len(a): ...", {"len"}),
        ("from texts import *", FUNCTIONS),
        ("from texts import size as len", {"len"}),
        ("import str.upper", {"str"}),
        ("def f(list): ...", {"list"}),
        ("for any, all in pairs: pass", {"any", "all"}),
        ("class A:\n    def list(self): ...", set()),
        ("class A:\n    def f(self):\n        def list(): ...", {"list"}),
        ("x = len(a)", set()),
    ],
)
def test_builtin_functions_that_a_module_binds_anew_are_known(text: str, names: set[str]) -> None:
    assert rebound(ast.parse(text)) == names


LOOP = """\
def f(a, b, log):
    total = 0
    for one in a:
        if one:
            {}
            log.append(one)
        if b:
            log.append(b)
    return total
"""


@pytest.mark.parametrize(
    "line",
    [
        "global total2",
        "del one",
        "log.append(locals())",
        "log.append(__class__)",
        "warn('x', stacklevel=2)",
        "warn('x', Warning, 2)",
    ],
)
def test_code_that_must_stay_in_its_function_is_not_extracted(line: str) -> None:
    moved = [
        extracted(found, "_extracted")[1].text for found in extractions(Unit(LOOP.format(line)), {COMPLEXITY: 100})
    ]
    assert not any(line in text for text in moved)
    control = [
        extracted(found, "_extracted")[1].text for found in extractions(Unit(LOOP.format("pass")), {COMPLEXITY: 100})
    ]
    assert any("pass" in text for text in control)


@pytest.mark.parametrize(
    ("value", "moved"),
    [
        pytest.param("'{total}'.format(**locals())", False, id="locals"),
        pytest.param("eval('total + 1')", False, id="eval"),
        pytest.param("[*map(eval, ('total',))]", False, id="eval-called-by-a-function"),
        pytest.param("'{total}'.format_map(vars())", False, id="vars"),
        pytest.param("sys._getframe().f_locals['total']", False, id="frame"),
        pytest.param("vars(total)", True, id="of-an-object"),
        pytest.param("total.eval('total')", True, id="a-method"),
    ],
)
def test_nothing_is_moved_out_of_a_function_that_may_see_its_variables_without_their_names(
    value: str, moved: bool
) -> None:
    """The loop that counts was moved, without a result, and the message raised a KeyError."""
    text = LOOP.format("pass").replace("return total", f"return {value}")
    assert any(extractions(Unit(text), {COMPLEXITY: 100})) is moved


@pytest.mark.parametrize("line", ["def g(item: kind): pass", "def g() -> kind: pass", "class A: item: kind"])
def test_annotations_that_are_evaluated_are_read(line: str) -> None:
    """A function that makes the endpoints of a server raised a NameError."""
    text = LOOP.format(line).replace("def f(a,", "def f(kind, a,")
    every = [
        found for found in extractions(Unit(text), {COMPLEXITY: 100}) if line in extracted(found, "_extracted")[1].text
    ]
    assert every
    assert all("kind" in found.inputs for found in every)


@pytest.mark.parametrize(
    ("above", "moved"),
    [
        pytest.param("if b:  # pragma: no cover", 0, id="no-cover"),
        pytest.param("if (\n        b\n    ):  # pragma:no cover", 0, id="on-the-last-line-of-the-header"),
        pytest.param("if b:\n        log.append(b)\n    else:  # pragma: no cover", 0, id="else"),
        pytest.param("if b:\n        log.append(b)  # pragma: no cover\n    if a:", 1, id="another-statement"),
    ],
)
def test_what_coverage_does_not_measure_stays_below_its_comment(above: str, moved: int) -> None:
    text = (
        f"def f(a, b, log):\n    {above}\n        for one in a:\n            if one:\n                log.append(one)\n"
    )
    every = [extracted(found, "_extracted")[1].text for found in extractions(Unit(text), {COMPLEXITY: 100})]
    assert sum(one.startswith("def _extracted(a, log):\n    for") for one in every) == moved


HOOK = """import builtins


class Base:
    {0}
        for name in names:
            if name == "b":
                cls.seen.append(name)
            elif name:
                cls.seen.append({1})
        return super().{2}

    seen = []
    held = property(lambda self: self.seen)
"""


@pytest.mark.parametrize(
    ("method", "header", "item", "call", "use"),
    [
        ("__init_subclass__", "def __init_subclass__(cls, names=()):", "cls", "__init_subclass__()", "Base.seen"),
        ("__class_getitem__", "def __class_getitem__(cls, names):", "1", "__repr__", "Base['abc'], Base.seen"),
        ("__new__", "def __new__(cls, names='abc'):", "super().__repr__", "__new__(cls)", "Base().held"),
        ("f", "@builtins.classmethod\n    def f(cls, names):", "1", "__repr__", "Base.f('abc'), Base.seen"),
    ],
)
def test_methods_that_get_their_class_keep_behaviour(method: str, header: str, item: str, call: str, use: str) -> None:
    """Each subclass raised a TypeError, and each object a RuntimeError, because `super()` needs a method."""
    text = HOOK.format(header, item, call)
    place = placed(text, f"Base.{method}", frozenset())
    assert isinstance(place, Placed)
    found = list(extractions(place.unit, {COMPLEXITY: 100}))

    def shown(text: str) -> str:
        scope: dict[str, Any] = {}
        exec(f"{text}\nclass Child(Base, names='abc'): pass\n" if "sub" in method else text, scope)
        return repr(eval(use, scope))

    assert bool(found) is (method != "__new__")
    for one in found:
        new, added = extracted(one, "_extracted")
        assert shown(written(text, place, Draft(place.unit.with_text(new), (added,)))) == shown(text)
