"""Test-first work: the request shows the tests that use what is missing, and the place where it belongs."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest

from coderefine.core import Case as Result
from coderefine.core import Failure, Finding, Status
from coderefine.llm.context import Context, SourceTree, gather
from tests.bench.testfirst.cases import CASES, Case
from tests.bench.testfirst.run import uses


def shown(
    case: Case, message: str, test: str = "", protected: str = "", roots: tuple[str, ...] = ("src", ".")
) -> Context:
    """The context for a failure with that message: of the whole test module, or of one test."""

    def listing(folder: str) -> list[str]:
        return [path for path in case.files if PurePosixPath(path).parent == PurePosixPath(folder)]

    symbol = f"tests/test_it.py{'::' * bool(test)}{test}"
    failed = Result(symbol, Status.ERROR, 0.1, "tests/test_it.py", 1, Failure(message, message.partition(":")[0]))
    finding = Finding("pytest", "failed", "tests/test_it.py", message, symbol=symbol)
    tree = SourceTree(
        Path("/x"),
        roots,
        case.files.get,
        lambda path: path.startswith("tests/"),
        lambda path: path != protected,
        (),
        listing,
    )
    return gather((finding,), {symbol: failed}, tree)


def named(kind: str) -> Case:
    return next(case for case in CASES if case.kind == kind)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("function", "ImportError: cannot import name 'parse_duration' from 'text' (text.py)"),
        ("several names", "ImportError: cannot import name 'capitals' from 'text' (text.py)"),
        ("class of exceptions", "ImportError: cannot import name 'EmptyCartError' from 'cart' (cart.py)"),
        ("module", "ModuleNotFoundError: No module named 'units'"),
        ("module of a package", "ModuleNotFoundError: No module named 'pkg.units'"),
        ("module imported from its package", "ImportError: cannot import name 'units' from 'pkg'"),
        ("package", "ModuleNotFoundError: No module named 'bank'"),
        ("class behind a fixture", "ImportError: cannot import name 'Basket' from 'cart' (cart.py)"),
        ("class behind setUp", "ImportError: cannot import name 'Basket' from 'cart' (cart.py)"),
        ("function behind a helper", "ImportError: cannot import name 'parse_pair' from 'text' (text.py)"),
        ("functions in a table", "ImportError: cannot import name 'swap' from 'text' (text.py)"),
        ("function of the tests' own module", "ImportError: cannot import name 'parse_pair' from 'text' (text.py)"),
    ],
)
def test_for_a_module_that_cannot_be_collected_tests_that_use_missing_names_are_shown(kind: str, message: str) -> None:
    case = named(kind)
    context = shown(case, message)
    assert all(line in context.tests for line in uses(case))
    assert case.place in str(context)


@pytest.mark.parametrize(
    ("kind", "message", "test"),
    [
        ("parameter", "TypeError: shorten() got an unexpected keyword argument 'marker'", "test_marker"),
        ("positional argument", "TypeError: Cart.add() takes 3 positional arguments but 4 were given", "test_count"),
        ("method", "AttributeError: 'Cart' object has no attribute 'remove'", "test_remove"),
        ("class method", "AttributeError: type object 'Cart' has no attribute 'of'", "test_of"),
        ("function of a module object", "AttributeError: module 'text' has no attribute 'squeeze'", "test_squeeze"),
        ("fixture", "fixture 'full_cart' not found", "test_full"),
        ("option", "SystemExit: 2\ntool: error: unrecognized arguments: --json", "test_json"),
        ("command", "SystemExit: No such command 'mul'", "test_mul"),
    ],
)
def test_a_test_that_lacks_something_shows_all_that_use_it_and_its_place(kind: str, message: str, test: str) -> None:
    case = named(kind)
    context = shown(case, message, test)
    assert all(line in context.tests for line in uses(case))
    assert f"=== file {case.place} " in context.code


@pytest.mark.parametrize(
    ("roots", "message"),
    [
        (("src", ".", "lib"), "ImportError: cannot import name 'slug' from 'pkg.text'"),
        (("src", "."), "ImportError: cannot import name 'slug' from 'pkg.text' (lib/pkg/text.py)"),
    ],
)
def test_code_in_another_folder_than_src_is_shown(roots: tuple[str, ...], message: str) -> None:
    """With pytest's `pythonpath`, or where only the message names the file (editable installs)."""
    case = named("function in another folder than src")
    context = shown(case, message, roots=roots)
    assert all(line in context.tests for line in uses(case))
    assert f"=== file {case.place} " in context.code


def test_a_dependency_that_is_not_installed_is_not_taken_for_work_to_be_done() -> None:
    case = named("function")
    files = {
        **case.files,
        "tests/test_it.py": f"import os.path\nfrom json import loads\n{case.files['tests/test_it.py']}",
    }
    context = shown(Case(case.kind, case.name, case.place, files), "ImportError: cannot import name 'parse_duration'")
    assert "json" not in context.evidence
    assert "os.path" not in context.evidence


def test_an_error_that_the_test_expects_is_not_taken_for_something_missing() -> None:
    case = named("command")
    test = "from commands import run\n\n\ndef test_no():\n    assert \"No such command 'mul'\" in run('mul')\n"
    files = {**case.files, "tests/test_it.py": test}
    message = "AssertionError: assert \"No such command 'mul'\" in 'mul'"
    context = shown(Case(case.kind, case.name, case.place, files), message, "test_no")
    assert "knows no" not in context.evidence


def test_a_missing_fixture_is_named_with_the_file_of_the_others() -> None:
    evidence = shown(named("fixture"), "fixture 'full_cart' not found", "test_full").evidence
    assert "no fixture is called full_cart; others are in shop_plugin.py" in evidence


def test_a_name_that_the_test_itself_does_not_define_is_not_taken_for_work_to_be_done() -> None:
    """`reveal_type` of tests that only mypy can run: no patch defines it, and all that use it would be shown."""
    context = shown(named("method"), "NameError: name 'remove' is not defined", "test_remove")
    assert "is not defined" not in context.evidence.replace("NameError: name 'remove' is not defined", "")
    assert "test_unknown" not in context.tests


def test_the_request_marks_places_that_no_patch_may_change() -> None:
    """Else a model would edit it, and be refused, where only its user can add the fixture."""
    plugin = "shop_plugin.py"
    evidence = shown(named("fixture"), "fixture 'full_cart' not found", "test_full", plugin).evidence
    assert "others are in shop_plugin.py; shop_plugin.py may not be edited" in evidence
    assert (
        "may not be edited"
        not in shown(named("method"), "'Cart' object has no attribute 'remove'", "test_remove").evidence
    )
