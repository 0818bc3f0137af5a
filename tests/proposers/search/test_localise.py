"""The faulty statement comes out on top."""

from __future__ import annotations

import pytest

from coderefine.core import Case, Failure, Frame, Status, Step
from coderefine.proposers.search.localise import suspects
from coderefine.proposers.search.localise import test_sources as sources_of
from coderefine.proposers.search.observation import Observation
from coderefine.proposers.search.observation import ranked as of_observation
from coderefine.proposers.search.spectrum import makers
from coderefine.proposers.search.suspiciousness_features import differing
from coderefine.proposers.search.syntax import Module

TEXT = """\
LIMITS = {"a": 1}

def small(x):
    if x > 1:
        return x
    return LIMITS["a"]

def other(y):
    \"\"\"Text.\"\"\"
    return y
"""


@pytest.fixture
def module() -> Module:
    found = Module.of("m.py", TEXT.encode())
    assert found is not None
    return found


def case(name: str, *frames: Frame, message: str = "", exception: str = "") -> Case:
    return Case(name, Status.FAILED, failure=Failure(message, exception, "", frames))


def lines(*numbers: int) -> dict[str, frozenset[int]]:
    return {"m.py": frozenset(numbers)}


def test_only_failing_tests_run_it(module: Module) -> None:
    coverage = {"bad": lines(4, 6), "good": lines(4, 5), "third": lines(10)}
    found = suspects({"m.py": module}, coverage, [case("bad")], {})
    ranked = sorted(found.weights, key=lambda stmt: -found.weights[stmt])
    assert ranked[0].lineno == 6
    assert all(stmt.lineno not in (8, 9, 10) for stmt in ranked)


GUARDED = """\
def short(text, most):
    if len(text) < most:
        return text
    if most < 3:
        return "..."
    return text[:most]
"""


def test_a_guard_that_did_not_leave_is_as_suspicious_as_the_code_that_ran_instead() -> None:
    module = Module.of("m.py", GUARDED.encode())
    assert module is not None
    coverage = {"bad": lines(2, 4, 5), "good": lines(2, 3), "also": lines(2, 4, 6), "third": lines(2, 3)}
    found = suspects({"m.py": module}, coverage, [case("bad")], {})
    shares = {stmt.lineno: share for stmt, share in found.weights.items()}
    assert shares[2] > 0.5
    assert shares[4] >= shares[2]


def test_traceback_outweighs_a_tie(module: Module) -> None:
    frame = Frame("m.py", 4, "small", {"x": "'text'"})
    found = suspects({"m.py": module}, {"bad": lines(4, 6)}, [case("bad", frame, exception="TypeError")], {})
    assert max(found.weights, key=lambda stmt: found.weights[stmt]).lineno == 4
    assert found.raised == {"TypeError"}
    assert list(found.seen.values()) == [{"x": "'text'"}]


STORED = """\
class Client:
    def __init__(self, make, options):
        self.name = "x"
        self.make = options
        self.size = 1

    def new(self):
        return self.make()
"""


def test_a_statement_that_stores_the_attribute_which_raised_elsewhere() -> None:
    """oauthlib: the failure was 120 lines below, in another method."""
    module = module_of(STORED)
    raised = Frame("m.py", 8, "new", {})
    covered = {"bad": lines(3, 4, 5, 8), **{f"good{number}": lines(3, 4, 5) for number in range(9)}}
    found = suspects({"m.py": module}, covered, [case("bad", raised, exception="TypeError")], {})
    shares = {stmt.lineno: share for stmt, share in found.weights.items()}
    assert shares[4] > shares[3] == shares[5]


RAISING = """\
class SyntaxFault(ValueError):
    def __init__(self, line):
        self.line = line

class ParseError(ValueError):
    def __init__(self, line):
        self.line = line
"""


def test_the_code_of_an_exception_that_ends_a_test_is_less_suspicious() -> None:
    """tomlkit: the request for a model held the classes of exceptions in place of the parser."""
    module = module_of(RAISING)
    coverage = {"bad": lines(3, 7), "good": lines()}
    found = suspects({"m.py": module}, coverage, [case("bad")], {})
    shares = {stmt.lineno: share for stmt, share in found.weights.items()}
    assert shares[7] < shares[3]
    tested = suspects({"m.py": module}, coverage, [case("bad")], {"bad": "assert ParseError(1).line == 2"})
    shares = {stmt.lineno: share for stmt, share in tested.weights.items()}
    assert shares[7] >= shares[3]


def test_the_function_that_the_test_names(module: Module) -> None:
    coverage = {"test_other": lines(4, 6, 10)}
    found = suspects({"m.py": module}, coverage, [case("test_other")], {})
    assert max(found.weights, key=lambda stmt: found.weights[stmt]).lineno == 10


def test_data_read_by_suspicious_code_is_suspicious(module: Module) -> None:
    found = suspects({"m.py": module}, {"bad": lines(4, 6)}, [case("bad")], {})
    assert 0 < found.weights[module.by_line[1]] < found.weights[module.by_line[6]]


def test_an_annotation_alone_is_not_suspicious() -> None:
    """Each of jinja2's `node: Expr` stood before the faulty statement."""
    module = module_of("class A:\n    size: int\n    other: int = 1\n\n    def f(self):\n        return self.size\n")
    found = suspects({"m.py": module}, {"t": {"m.py": frozenset({6})}}, [case("t")], {})
    assert 2 not in {stmt.lineno for stmt in found.weights}


def test_waited_for_in_vain(module: Module) -> None:
    found = suspects({"m.py": module}, {"bad": lines(4)}, [case("bad", message="DID NOT RAISE <class 'KeyError'>")], {})
    assert "KeyError" in found.raised


def test_a_signature_that_refuses_a_call_although_no_line_of_it_ran(module: Module) -> None:
    message = "TypeError: other() takes 1 positional argument but 2 were given"
    found = suspects({"m.py": module}, {"bad": lines(4)}, [case("bad", message=message, exception="TypeError")], {})
    assert 8 in [stmt.lineno for stmt in found.weights]


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("AssertionError: assert <bound method other of <m.A object at 0x1>> == 2", ""),
        ("AttributeError: 'function' object has no attribute 'real'", "assert a.other.real == 2"),
        ("TypeError: argument of type 'method' is not iterable", "assert 2 in a.other"),
    ],
)
def test_a_method_met_where_its_value_was_wanted(module: Module, text: str, source: str) -> None:
    found = suspects({"m.py": module}, {"bad": lines(4)}, [case("bad", message=text)], {"bad": source})
    assert 8 in [stmt.lineno for stmt in found.weights]


METHODS = """class Field:
    def __init__(self):
        pass


class Row:
    def __init__(self):
        pass
"""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Row.__init__() got an unexpected keyword argument 'x'", {7}),
        ("m.Row.__init__() got an unexpected keyword argument 'x'", {7}),
        ("assert <bound method Row.__init__ of <m.Row object at 0x1>> == 2", {7}),
        ("test_it.<locals>.Case.__init__() got an unexpected keyword argument 'x'", set()),
    ],
)
def test_a_refused_call_of_one_class_says_nothing_about_the_methods_of_others(text: str, found: set[int]) -> None:
    """attrs, marshmallow: each `__init__` of the project was as suspicious as the most suspicious statement."""
    suspected = suspects({"m.py": module_of(METHODS)}, {}, [case("bad", message=text, exception="TypeError")], {})
    assert {stmt.lineno for stmt in suspected.weights} == found


def test_a_method_that_is_called_is_not_meant(module: Module) -> None:
    message = "AttributeError: 'function' object has no attribute 'real'"
    found = suspects({"m.py": module}, {"bad": lines(4)}, [case("bad", message=message)], {"bad": "a.other() == 2"})
    assert 8 not in [stmt.lineno for stmt in found.weights]


def ranked(modules: dict[str, Module], coverage: dict, failing: list[Case], **more: object) -> list[int]:  # type: ignore[type-arg]
    """Lines of the suspects, the most suspicious first."""
    found = suspects(modules, coverage, failing, {}, **more)  # type: ignore[arg-type]
    return [stmt.lineno for stmt in sorted(found.weights, key=lambda stmt: -found.weights[stmt])]


def module_of(text: str, path: str = "m.py") -> Module:
    found = Module.of(path, text.encode())
    assert found is not None
    return found


def hits(*numbers: int) -> frozenset[tuple[str, int]]:
    return frozenset(("m.py", number) for number in numbers)


def test_a_check_that_passed_before_the_test_failed_clears_what_it_ran(module: Module) -> None:
    test = module_of("def test_both():\n    assert small(2) == 2\n    assert other(1) == 2\n", "test_m.py")
    failed = Case(
        "bad", Status.FAILED, path="test_m.py", failure=Failure("", "", "", (Frame("test_m.py", 3, "test_both"),))
    )
    steps = {"bad": (Step("test_m.py", 2, hits(4, 5), hits()), Step("test_m.py", 3, hits(10), hits()))}
    more = {"tests": {"test_m.py": test}, "steps": steps}
    assert ranked({"m.py": module}, {"bad": lines(4, 5, 10)}, [failed], **more)[0] == 10


def test_values_of_the_failed_check_were_made_before(module: Module) -> None:
    test = module_of("def test_both():\n    a = small(2)\n    b = other(1)\n    assert a == 2\n", "test_m.py")
    failed = Case(
        "bad", Status.FAILED, path="test_m.py", failure=Failure("", "", "", (Frame("test_m.py", 4, "test_both"),))
    )
    steps = {"bad": (Step("test_m.py", 2, hits(4, 5), hits()), Step("test_m.py", 3, hits(10), hits()))}
    more = {"tests": {"test_m.py": test}, "steps": steps}
    assert ranked({"m.py": module}, {"bad": lines(4, 5, 10)}, [failed], **more)[-1] in {8, 10}


def test_a_decorator_makes_a_value_of_the_failed_check() -> None:
    lines = ("def test_a():", " @group", " def cli(): pass", " @cli.back()", " def done(): pass", " assert run(cli)")
    test = module_of("\n".join(lines), "test_m.py")
    one, two, check = test.by_line[2], test.by_line[4], test.by_line[6]
    assert makers({one, two, check}, {check}) == {one, two}


def test_the_condition_of_a_raise_rather_than_the_raise() -> None:
    module = module_of("def check(x):\n    y = x\n    z = 1\n    if x:\n        raise ValueError\n    return z\n")
    frame = Frame("m.py", 5, "check")
    order = ranked({"m.py": module}, {"bad": lines(2, 3, 4, 5)}, [case("bad", frame, exception="ValueError")])
    assert order[0] == 4


@pytest.mark.parametrize(
    ("message", "awaited", "found"),
    [
        ("DID NOT RAISE <class 'm.Wrong'>", "raise Wrong(x)", True),
        ("DID NOT WARN. No warnings of type (<class 'UserWarning'>,) were emitted.", "warnings.warn('twice')", True),
        ("DID NOT RAISE <class 'KeyError'>", "raise Wrong(x)", False),
        ("assert 1 == 2", "raise Wrong(x)", False),
    ],
    ids=["exception", "warning", "another exception", "another failure"],
)
def test_the_condition_of_an_awaited_exception_is_suspicious_although_all_tests_run_it(
    message: str, awaited: str, found: bool
) -> None:
    text = f"def check(x):\n    many = count(x)\n    for one in many:\n        {awaited}\n    return log(x)\n\n\n"
    module = module_of(f"{text}def log(x):\n    return 1\n")
    passing = {f"good{number}": lines(2, 3, 5) for number in range(9)}
    order = ranked({"m.py": module}, {"bad": lines(2, 3, 5, 9), **passing}, [case("bad", message=message)])
    assert ({2, 3} <= set(order[:3])) is found


@pytest.mark.parametrize(
    ("message", "exception", "first"),
    [
        ("'Box' object has no attribute 'lenght'", "AttributeError", True),
        ("name 'y' is not defined", "NameError", True),
        ("'NoneType' object has no attribute 'lenght'", "AttributeError", False),
        ("'Box' object has no attribute 'size'", "AttributeError", False),
    ],
)
def test_the_statement_that_looked_up_a_missing_name_is_first(message: str, exception: str, first: bool) -> None:
    module = module_of("def size(x):\n    only_here(x)\n    return x.lenght + y\n\n\ndef only_here(x):\n    return 1\n")
    coverage = {"bad": lines(2, 3, 7), "good": lines(3), "fine": lines(3)}
    failing = case("bad", Frame("m.py", 3, "size"), message=message, exception=exception)
    assert (ranked({"m.py": module}, coverage, [failing])[0] == 3) is first


def test_the_statement_that_fills_a_table_at_import_for_the_input_of_the_test() -> None:
    text = "TABLE = []\ndef fill(a):\n    TABLE.append(a)\ndef read(a):\n    b = a\n    return TABLE[0]\nfill('kine')\n"
    order = ranked({"m.py": module_of(text)}, {"bad": lines(5, 6)}, [case("bad", message="assert 'x' == 'kine'")])
    assert order.index(3) < order.index(1)
    assert 3 in order[:3]


def test_a_table_that_is_read_only_at_import_is_suspicious_if_it_has_a_row_for_the_input() -> None:
    """six: the table of moved names is read when the module is imported, and was never searched."""
    text = "ROWS = [\n    Row('kine', 'cow'),\n    Row('oxen', 'ox'),\n]\n"
    text += "def read(a):\n    return seek(a)\nPAIRS = ['a', 'b']\n"
    order = ranked({"m.py": module_of(text)}, {"bad": lines(6)}, [case("bad", message="no attribute 'kine'")])
    assert 1 in order
    assert 7 not in order
    assert 1 not in ranked({"m.py": module_of(text)}, {"bad": lines(6)}, [case("bad", message="no attribute 'cows'")])


def test_showing_a_value_is_pytests_doing() -> None:
    module = module_of("class A:\n    def __repr__(self):\n        return 'A'\n    def go(self):\n        return 1\n")
    assert ranked({"m.py": module}, {"bad": lines(3, 5), "good": lines(5)}, [case("bad")])[0] == 5


@pytest.mark.parametrize(
    ("text", "does"),
    [
        ("assert 'A-b' == 'a-b'", "lower"),
        ("AssertionError: 'a ' != 'a'", "strip"),
        ("assert [2, 1] == [1, 2]", "sorted"),
        ("assert 'ba' == 'ab'", "reverse"),
    ],
)
def test_differences_of_two_values(text: str, does: str) -> None:
    assert does in differing([text])


@pytest.mark.parametrize("text", ["assert 1 == 2", "assert x == y", "", "assert 'a' == 'b'", "KeyError: 'x'"])
def test_a_text_without_two_values_has_no_difference(text: str) -> None:
    assert not differing([text])


def test_a_loop_that_hangs() -> None:
    module = module_of(
        "def wait(n):\n    a = 1\n    b = 2\n    while n:\n        b = a\n        n = n + 1\n    return a\n"
    )
    order = ranked({"m.py": module}, {}, [case("bad", Frame("m.py", 5, "wait"), exception="Hang")])
    assert 4 in order[:3]


def test_a_condition_that_never_lets_anything_through() -> None:
    module = module_of("def f(a):\n    x = a\n    if x > 9:\n        return 1\n    y = 2\n    return y\n")
    every = dict.fromkeys(("bad", "good", "third", "fourth"), lines(2, 3, 5, 6))
    assert ranked({"m.py": module}, every, [case("bad")])[0] == 3


def test_a_condition_that_only_guards_is_no_evidence() -> None:
    module = module_of("def f(a):\n    x = a\n    if x > 9:\n        raise ValueError\n    y = [2, x]\n    return y\n")
    both = {"bad": lines(2, 3, 5, 6), "good": lines(2, 3, 6)}
    assert ranked({"m.py": module}, both, [case("bad")])[0] == 5


def test_a_loop_that_no_test_enters() -> None:
    loop = "    while number > most:\n        found.append(number)\n"
    module = module_of(
        f"def upto(most):\n    found = []\n    number = len(found) * 2 + len(found)\n{loop}    return found\n"
    )
    every = dict.fromkeys("abcd", lines(2, 3, 4, 6))
    assert ranked({"m.py": module}, every, [case(name) for name in "abcd"])[0] == 4


@pytest.mark.parametrize(("name", "text"), [("A::test_x", "1"), ("B::test_x", "2"), ("C::test_x", "2")])
def test_the_text_of_a_test_is_that_of_its_class_or_of_a_base_class(name: str, text: str) -> None:
    """Of two tests with one name, the first was shown with the text of the second."""
    tests = "class A:\n    def test_x(self):\n        assert 1\n\n\nclass B:\n    def test_x(self):\n        assert 2\n"
    read = {"t.py": module_of(f"{tests}\n\nclass C(B):\n    pass\n", "t.py")}
    found = sources_of([Case(f"t.py::{name}", Status.FAILED, path="t.py")], read)
    assert found[f"t.py::{name}"].strip() == f"assert {text}"


def test_equally_suspicious_statements_have_the_same_order_in_every_process() -> None:
    """Sets of statements are ordered by address: the same search tried other edits first from run to run."""
    text = "def f(x):\n" + "".join(f"    x = x + {n}\n" for n in range(40)) + "    return x\n"
    failing = [case("t", message="assert 1 == 2")]
    ran = {"t": {"m.py": frozenset(range(2, 43))}}
    sites, _ = of_observation(Observation(failing, ran, {"m.py": text.encode()}, frozenset({"m.py"}), {}))
    found = [site.stmt.lineno for site in sites if site.suspicion == sites[1].suspicion]
    assert found == sorted(found)
    assert len(found) > 30
