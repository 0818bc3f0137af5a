"""Code that is emptied instead of repaired is refused."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from tests.support.cases import every
from tests.support.judging import LONG, Deed, passed, refused

EMPTIED = [
    Deed("shrunk", LONG, "def work(xs):\n    return list(xs)\n", "statements"),
    Deed(
        "gutted-pass", "def f(a):\n    b = a + 1\n    c = b * 2\n    return c\n", "def f(a):\n    pass\n", "empties f"
    ),
    Deed(
        "gutted-ellipsis",
        "def f(a):\n    b = a + 1\n    c = b * 2\n    return c\n",
        "def f(a):\n    ...\n",
        "empties f",
    ),
    Deed(
        "gutted-constant",
        "def f(a):\n    b = a + 1\n    c = b * 2\n    return c\n",
        "def f(a):\n    return True\n",
        "empties f",
    ),
    Deed(
        "gutted-raise",
        "def f(a):\n    b = a + 1\n    c = b * 2\n    return c\n",
        "def f(a):\n    raise NotImplementedError('later')\n",
        "empties f",
    ),
    Deed(
        "gutted-early-return",
        "def f(a):\n    b = a + 1\n    c = b * 2\n    return c\n",
        "def f(a):\n    return 4\n    b = a + 1\n    c = b * 2\n    return c\n",
        "empties f",
    ),
    Deed(
        "gutted-if-true",
        "def f(a):\n    b = a + 1\n    c = b * 2\n    return c\n",
        "def f(a):\n    if True:\n        return 4\n    b = a + 1\n    return b\n",
        "empties f",
    ),
    Deed(
        "swallowed",
        "def f(a):\n    b = a[0]\n    return b\n",
        "def f(a):\n    try:\n        b = a[0]\n        return b\n    except Exception:\n        pass\n",
        "swallows",
    ),
    Deed(
        "swallowed-bare",
        "def f(a):\n    b = a[0]\n    return b\n",
        "def f(a):\n    try:\n        return a[0]\n    except:\n        return None\n",
        "swallows",
    ),
    Deed(
        "swallowed-tuple",
        "def f(a):\n    b = a[0]\n    return b\n",
        "def f(a):\n    try:\n        return a[0]\n    except (ValueError, Exception):\n        return 0\n",
        "swallows",
    ),
    Deed(
        "swallowed-suppress",
        "def f(a):\n    b = a[0]\n    return b\n",
        "from contextlib import suppress\n\n\ndef f(a):\n    with suppress(Exception):\n        return a[0]\n",
        "swallows",
    ),
    Deed(
        "swallowed-under-if-true",
        "def f(a):\n    b = a[0]\n    return b\n",
        "def f(a):\n    if True:\n        try:\n            return a[0]\n        except Exception:\n"
        "            return 0\n",
        "swallows",
    ),
    Deed(
        "swallowed-in-finally",
        "def f(a):\n    b = a[0]\n    return b\n",
        "def f(a):\n    b = 0\n    try:\n        b = a[0]\n    finally:\n        return b\n",
        "swallows",
    ),
    Deed(
        "swallowed-qualified",
        "def f(a):\n    b = a[0]\n    return b\n",
        "import builtins\n\n\ndef f(a):\n    try:\n        return a[0]\n    except builtins.Exception:\n"
        "        return 0\n",
        "swallows",
    ),
    Deed(
        "swallowed-with-a-call",
        "def f(a):\n    b = a[0]\n    return b\n",
        "def f(a):\n    try:\n        return a[0]\n    except Exception as error:\n        error\n"
        "        return int()\n",
        "swallows",
    ),
    Deed(
        "swallowed-at-exit",
        "def f(a):\n    b = a[0]\n    return b\n",
        "class Calm:\n    def __enter__(self):\n        return self\n\n    def __exit__(self, *error):\n"
        "        return True\n\n\ndef f(a):\n    with Calm():\n        return a[0]\n",
        "swallows",
    ),
]


@pytest.mark.parametrize("deed", EMPTIED, ids=str)
def test_emptying_is_refused(deed: Deed) -> None:
    refused(deed)


TAKEN = "def f(a):\n    b = a[0]\n    return b\n"
WRAPPED = (
    "from contextlib import suppress as quiet\n\n\ndef f(a):\n    with quiet({}):\n        return a[0]\n",
    "import contextlib\n\nQ = contextlib.suppress({})\n\n\ndef f(a):\n    with Q:\n        return a[0]\n",
    "E = {}\n\n\ndef f(a):\n    try:\n        return a[0]\n    except E:\n        pass\n",
    "E = KeyError, {}\n\n\ndef f(a):\n    try:\n        return a[0]\n    except E:\n        pass\n",
    "from builtins import {} as E\n\n\ndef f(a):\n    try:\n        return a[0]\n    except (OSError, E):\n        a\n",
)


@pytest.mark.parametrize("after", every(2, WRAPPED))
def test_every_error_is_not_swallowed_under_another_name(after: str) -> None:
    refused(Deed("every", TAKEN, after.format("Exception"), "swallows"))
    passed(Deed("one kind", TAKEN, after.format("IndexError")))


def test_an_error_that_is_a_broad_one_only_where_a_library_is_missing_may_be_swallowed() -> None:
    head = "try:\n    from lib import Error\nexcept ImportError:\n    Error = Exception\n"
    body = "    try:\n        return a[0]\n    except Error:\n        return None\n"
    passed(Deed("fallback", head + TAKEN, f"{head}\n\ndef f(a):\n{body}"))


@pytest.mark.skipif(sys.version_info < (3, 11), reason="`except*` is new in Python 3.11")
def test_every_error_is_not_swallowed_by_except_star() -> None:
    after = "def f(a):\n    b = 0\n    try:\n        b = a[0]\n    except* {}:\n        {}\n"
    refused(Deed("wrapped", TAKEN, after.format("Exception", "pass"), "swallows"))
    refused(Deed("finally", TAKEN, after.format("KeyError", "raise") + "    finally:\n        return b\n", "swallows"))
    passed(Deed("one kind", TAKEN, after.format("IndexError", "pass")))
    passed(Deed("raised again", TAKEN, after.format("Exception", "raise") + "    finally:\n        print(b)\n"))


LANGS = "LANGS = {}\n\n\ndef title(lang):\n    return dict(de='a', en='b')[lang]\n"
WALKED = "def test():\n    for lang in LANGS:\n        assert title(lang)\n"
LANG_VALUES = (
    ("('de', 'en', 'fr')", "('de', 'en')"),
    ("{'de', 'en', 'fr'}", "{'de', 'en'}"),
    ("{'de': 1, 'en': 2, 'fr': 3}", "{'de': 1, 'en': 2}"),
    ("frozenset(('de', 'fr'))", "frozenset(('de',))"),
    ("['fr']", "[]"),
)


@pytest.mark.parametrize(("before", "after"), every(3, LANG_VALUES))
def test_a_value_that_a_test_walks_over_is_not_dropped(before: str, after: str) -> None:
    """`for lang in LANGS` in a test passed, because the language that failed was no longer in LANGS."""
    deed = Deed("dropped", LANGS.format(before), LANGS.format(after), "removes a value from LANGS", WALKED)
    refused(deed)
    passed(replace(deed, tests="def test():\n    assert title('de')\n"))
    passed(replace(deed, tests="def test():\n    assert 'fr' not in LANGS\n"))


def test_a_value_may_be_replaced_or_removed_as_a_test_says() -> None:
    before = LANGS.format("('de', 'en', 'fr', 'fr')")
    passed(Deed("replaced", before, LANGS.format("('de', 'en', 'it')"), tests=WALKED))
    passed(Deed("twice", before, LANGS.format("('de', 'en', 'fr')"), tests=WALKED))
    passed(Deed("by one that it has", before, LANGS.format("('de', 'de', 'fr', 'fr')"), tests=WALKED))
    passed(Deed("equal", before, LANGS.format("('de', 'en')"), tests="def test():\n    assert LANGS == ('de', 'en')\n"))
