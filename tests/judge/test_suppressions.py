"""Comments that silence a tool are refused."""

from __future__ import annotations

import re

import pytest

from tests.support.cases import every
from tests.support.judging import GOOD, SUM, Deed, finding, passed, refused

SUPPRESSIONS = [
    Deed("noqa", SUM, GOOD.replace("(xs)\n", "(xs)  # noqa\n"), "noqa"),
    Deed("noqa-code", SUM, GOOD + "import os  # noqa: F401\n", "noqa: F401"),
    Deed("noqa-shouting", SUM, GOOD + "import os  #NOQA\n", "noqa"),
    Deed("noqa-widened", "import os  # noqa: F401\n", "import os, sys  # noqa\n", "noqa"),
    Deed("noqa-one-more-code", "import os  # noqa: F401\n", "import os  # noqa: F401, E402\nx = 1\n", "E402"),
    Deed(
        "noqa-copied-with-its-line",
        "def f():\n    x = 1  # noqa: F841\n\n\ndef g():\n    return 2\n",
        "def f():\n    x = 1  # noqa: F841\n\n\ndef g():\n    x = 1  # noqa: F841\n    return 2\n",
        "F841",
    ),
    Deed(
        "noqa-kept-and-moved",
        "def f():\n    x = 1  # noqa: F841\n\n\ndef g():\n    return 2\n",
        "def f():\n    z = 3  # noqa: F841\n\n\ndef g():\n    x = 1  # noqa: F841\n    return 2\n",
        "F841",
    ),
    Deed(
        "noqa-traded",
        "def f():\n    x = 1  # noqa: F841\n\n\ndef g():\n    return 2\n",
        "def f():\n    return 1\n\n\ndef g():\n    y = 2  # noqa: F841\n    return 2\n",
        "noqa",
    ),
    Deed("ruff-file", SUM, "# ruff: noqa\n" + GOOD, "ruff: noqa"),
    Deed("ruff-range", SUM, "# ruff: disable[F401]\n" + GOOD, "ruff: disable"),
    Deed("flake8-file", SUM, "# flake8: noqa\n" + GOOD, "flake8: noqa"),
    Deed("isort-file", SUM, "# isort: skip_file\n" + GOOD, "isort: skip_file"),
    Deed("fmt-off", SUM, "# fmt: off\n" + GOOD, "fmt: off"),
    Deed("type-ignore", SUM, GOOD.replace("(xs)\n", "(xs)  # type: ignore\n"), "type: ignore"),
    Deed("type-ignore-code", SUM, GOOD + "x: int = ''  # type: ignore[assignment]\n", "type: ignore: assignment"),
    Deed("pyright-file", SUM, "# pyright: basic\n" + GOOD, "pyright"),
    Deed("mypy-file", SUM, "# mypy: ignore-errors\n" + GOOD, "mypy"),
    Deed("pylint-in-a-sentence", SUM, "# the unit, see docs; pylint: disable=all\n" + GOOD, "pylint: disable: all"),
    Deed("pylint", SUM, "# pylint: disable=all\n" + GOOD, "pylint"),
    Deed("no-cover", SUM, "def total(xs):  # pragma: no cover\n    return sum(xs)\n", "pragma"),
    Deed(
        "no-cover-moved-into-the-next-function",
        "def f():\n    return 1  # pragma: no cover\n\n\ndef g():\n    return 2\n",
        "def f():\n    return 1\n\n\ndef g():\n    return 3\n    # pragma: no cover\n",
        "pragma",
    ),
    *(
        Deed(f"directive: {line}", SUM, GOOD.replace("(xs)\n", f"(xs)  # {line}\n"), re.split(r"[\[=]", line)[0])
        for line in (
            "fmt: skip",
            "fmt:skip",
            "isort: split",
            "isort: dont-add-imports",
            "isort: skip",
            "ruff: isort: skip_file",
            "ruff: ignore[F401]",
            "ruff: file-ignore[F401]",
            "yapf: disable",
            "autopep8: off",
            "pyright: reportMissingImports=false",
            "pytype: skip-file",
            "pytype: disable=attribute-error",
            "pyrefly: ignore",
            "ty: ignore[invalid-assignment]",
            "mypy: disable-error-code=attr-defined",
            "mypy: allow_untyped_defs",
            "cspell:disable-line",
            "codespell:ignore",
            "pragma: no branch",
            "pragma: nocover",
            "PRAGMA NO COVER",
            "pragma: no mutate",
            "pyright: strict, reportMissingImports=false",
            "pyright: enableTypeIgnoreComments=true",
            "mypy: strict=False",
            "pyre-unsafe",
            "pragma: allowlist",
            "gitleaks:allow",
            "codeql[py-foo]",
            "skipcq",
            "sourcery skip",
            "nosem",
            "trunk-ignore(ruff-E501)",
            "lint-ignore",
            "checkov:skip=CKV_1: text",
            "snyk:ignore",
            "typos:disable-line",
            "spell-checker: disable",
            "nocov",
        )
    ),
    Deed("nosec", SUM, GOOD + "import pickle  # nosec\n", "nosec"),
    Deed("noqa-in-new-file", {}, {"app/new.py": "import os  # noqa: F401\n"}, "noqa"),
    Deed("noqa-in-file-that-was-broken", "def f(:\n", "def f():\n    return 1  # noqa\n", "noqa"),
]


@pytest.mark.parametrize("deed", SUPPRESSIONS, ids=str)
def test_suppression_is_refused(deed: Deed) -> None:
    refused(deed)


@pytest.mark.parametrize(
    "line",
    every(
        3, ("mypy: disallow-untyped-defs", "mypy: strict", "mypy: check-untyped-defs", "pyright: strict", "pyre-strict")
    ),
)
def test_a_directive_for_strictness_is_not_removed(line: str) -> None:
    refused(Deed(line, f"# {line}\n{SUM}", GOOD, f"removes `# {line}"))
    refused(Deed(line, f"# {line}\n{SUM}", f"# see {line}\n{GOOD}", f"removes `# {line}"))
    passed(Deed(line, f"# {line}\n{SUM}", f"# New.\n#{line}\n{GOOD}"))


@pytest.mark.parametrize(
    ("old", "new", "removed"),
    [
        ("disallow-any-generics, warn-return-any", "disallow-any-generics", "warn-return-any"),
        ("disallow-untyped-defs=True", "disallow-untyped-defs = 0", "disallow-untyped-defs=True"),
    ],
)
def test_an_option_of_a_directive_for_strictness_is_not_removed(old: str, new: str, removed: str) -> None:
    refused(Deed(old, f"# mypy: {old}\n{SUM}", f"# mypy: {new}\n{GOOD}", f"removes `# mypy: {removed}`"))


@pytest.mark.parametrize("line", every(2, ("mypy: ignore-errors", "mypy: allow-untyped-defs", "pyright: basic")))
def test_a_directive_that_silences_may_be_removed(line: str) -> None:
    passed(Deed(line, f"# {line}\n{SUM}", GOOD))


WARNED = "import warnings\n\n\ndef total(xs):\n    warnings.warn('old', DeprecationWarning)\n    return sum(xs)\n"
SILENCED = (
    "warnings.simplefilter('ignore')\n    ",
    "warnings.filterwarnings(action='default')\n    ",
    "quiet = warnings.filterwarnings\n    quiet('ignore')\n    ",
    "warnings.filters.clear()\n    ",
    "with warnings.catch_warnings(action='ignore'):\n        ",
    "with warnings.catch_warnings():\n        warnings.simplefilter('once')\n        ",
    "with suppress(DeprecationWarning):\n        ",
    "try:\n        pass\n    except (KeyError, DeprecationWarning):\n        pass\n    ",
)


@pytest.mark.parametrize("how", every(3, SILENCED))
def test_a_warning_that_is_an_error_is_not_silenced(how: str) -> None:
    after = WARNED.replace("    warnings", f"    {how}warnings", 1)
    failed = finding("failed", "tests/t.py", critic="pytest", message="DeprecationWarning: old")
    refused(Deed(how, WARNED, after, "silences warnings", findings=[failed]))
    missing = finding("failed", "tests/t.py", critic="pytest", message="Failed: DID NOT WARN. No UserWarning")
    passed(Deed(how, WARNED, after, findings=[missing]))


@pytest.mark.parametrize(
    "line",
    every(
        4,
        (
            "log.setLevel(level=50)",
            "log.propagate = False",
            "log.setLevel(logging.ERROR)",
            "log.disabled = True",
            "log.setLevel('ERROR')",
            "log.level = logging.CRITICAL + 1",
            "log.disabled |= True",
            "log.disabled: bool = True",
            "log.disabled, x = True, 1",
            "log.x = log.disabled = True",
            "setattr(log, 'disabled', True)",
        ),
    ),
)
def test_a_log_that_a_failing_test_reads_is_not_silenced(line: str) -> None:
    before = "import logging\n\nlog = logging.getLogger(__name__)\n\n\n" + SUM
    after = before.replace("(__name__)\n", f"(__name__)\n{line}\n")
    test = "def test(caplog):\n    total([])\n    assert not caplog.records\n"
    refused(Deed(line, before, after, "silences the log", tests=test))
    passed(Deed(line, before, after, tests="def test():\n    assert total([]) == 0\n"))
    for shows in (
        "log.propagate = True",
        "log.setLevel(logging.DEBUG)",
        "log.disabled = False",
        "log.setLevel('info')",
        "log.setLevel(10)",
        "log.setLevel(level)",
        "log.setLevel(getattr(logging, level.upper()))",
        "log.disabled = button.locked",
    ):
        passed(Deed(shows, before, before.replace("(__name__)\n", f"(__name__)\n{shows}\n"), tests=test))


def test_the_cause_of_a_warning_may_be_repaired_where_filters_are_set() -> None:
    before = WARNED.replace("    warnings", "    warnings.simplefilter('ignore')\n    warnings", 1)
    failed = finding("failed", "tests/t.py", critic="pytest", message="DeprecationWarning: old")
    after = before.replace("    warnings.warn('old', DeprecationWarning)\n", "")
    passed(Deed("repaired", before, after, findings=[failed]))
