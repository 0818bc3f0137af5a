"""Second names of loop variables, handlers of all exceptions, and formatting: what is equal without a test."""

from __future__ import annotations

import pytest

from coderefine.runner.file_edits import FileEdit

LOOP = "def f(rows, out):\n    for row in rows:\n{}"


def loop(*lines: str) -> str:
    return LOOP.format("".join(f"        {line}\n" for line in lines))


STRIP = ("row = row.strip()", "new_row = row.strip()")


def returned(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"def f(a, b):\n    return {value}\n" for value in values)


FORMATTED = (
    ("'%s %r' % (a, b.c)", "f'{a!s} {b.c!r}'"),
    ("'%5s %-7.2s 5%%' % (a, b)", "f'{a!s:>5} {b!s:7.2} 5%'"),
    ("'%s %s' % (repr(a), str(b))", "f'{a!r} {b!s}'"),
    ("'{%d} %s' % (len(a), ', '.join(b))", "f'{{{len(a)}}} {\", \".join(b)}'"),
    ("'%s' % ascii(a)", "f'{a!a}'"),
)
OTHERWISE = (
    ("'%s' % a", "f'{a!s}'"),
    ("'%s' % (a,)", "f'{a}'"),
    ("'%d' % (a,)", "f'{a!s}'"),
    ("'%5d' % len(a)", "f'{len(a)!s:>5}'"),
    ("'%5s' % (a,)", "f'{a!s:5}'"),
    ("'%s' % repr(a)", "f'{a!s}'"),
    ("f'{len(a):>5}'", "f'{len(a)!s:5}'"),
)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(loop(STRIP[0], "out(row)"), loop(STRIP[1], "out(new_row)"), id="a-second-name"),
        pytest.param(
            loop("out(row)", STRIP[0], "while row:", "    out(row)"),
            loop("out(row)", STRIP[1], "while new_row:", "    out(new_row)"),
            id="the-first-is-used-before",
        ),
        pytest.param(
            loop("if row:", "    row = g(row)", "    out(row)", "else:", "    out(row)"),
            loop("if row:", "    new = g(row)", "    out(new)", "else:", "    out(row)"),
            id="in-one-of-two-branches",
        ),
        pytest.param(
            loop(STRIP[0], "out([row for _ in row])"),
            loop(STRIP[1], "out([new_row for _ in new_row])"),
            id="comprehension",
        ),
        pytest.param(
            loop(STRIP[0], "out(row)") + "    for row in out:\n        out(row)\n",
            loop(STRIP[1], "out(new_row)") + "    for row in out:\n        out(row)\n",
            id="another-loop-over-the-same-name",
        ),
        pytest.param(
            "def f(rows):\n    for a, row in rows:\n        row = row + a\n        yield row\n",
            "def f(rows):\n    for a, old in rows:\n        row = old\n        row = row + a\n        yield row\n",
            id="a-copy-of-the-first",
        ),
        pytest.param(
            "try:\n    f()\nexcept:\n    g()\n", "try:\n    f()\nexcept BaseException:\n    g()\n", id="all-exceptions"
        ),
        *(
            pytest.param(f"def f(a, b):\n    return {one}\n", f"def f(a, b):\n    return {two}\n")
            for one, two in FORMATTED
        ),
    ],
)
def test_equal_forms_need_no_test(before: str, after: str) -> None:
    assert not FileEdit.of_texts(before, after).changed
    assert not FileEdit.of_texts(after, before).changed


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(loop(STRIP[0], "out(row)"), loop(STRIP[1], "out(row)"), id="the-old-value-is-used-after"),
        pytest.param(
            loop(STRIP[0], "out(row)", "out(row)"), loop(STRIP[1], "out(new_row)", "out(row)"), id="and-both-are-used"
        ),
        pytest.param(
            loop("if out:", "    row = g(row)", "    out(row)", "out(row)"),
            loop("if out:", "    new = g(row)", "    out(new)", "out(row)"),
            id="the-old-value-is-used-after-the-branch",
        ),
        pytest.param(
            loop("if out:", "    row = g(row)", "out(row)"),
            loop("if out:", "    new = g(row)", "out(new)"),
            id="the-new-value-may-be-missing",
        ),
        pytest.param(
            loop("while out():", "    row = g(row)", "    out(row)"),
            loop("while out():", "    new = g(row)", "    out(new)"),
            id="several-times-in-one-row",
        ),
        pytest.param(
            loop("try:", "    row = g(row)", "    out(row)", "except E:", "    out(row)"),
            loop("try:", "    new = g(row)", "    out(new)", "except E:", "    out(row)"),
            id="a-handler-uses-the-old-value",
        ),
        pytest.param(
            loop(STRIP[0], "out(row)") + "    return row\n",
            loop(STRIP[1], "out(new_row)") + "    return row\n",
            id="the-last-value-is-returned",
        ),
        pytest.param(
            loop(STRIP[0], "out(row)") + "    else:\n        out(row)\n",
            loop(STRIP[1], "out(new_row)") + "    else:\n        out(row)\n",
            id="the-last-value-is-used-after-the-loop",
        ),
        pytest.param(
            loop("late(lambda: row)", STRIP[0], "out(row)"),
            loop("late(lambda: row)", STRIP[1], "out(new_row)"),
            id="a-function-that-runs-later-uses-it",
        ),
        pytest.param(
            loop("late(row for _ in out)", STRIP[0], "out(row)"),
            loop("late(row for _ in out)", STRIP[1], "out(new_row)"),
            id="a-generator-that-runs-later-uses-it",
        ),
        pytest.param(
            loop(STRIP[0], "out(locals(), row)"), loop(STRIP[1], "out(locals(), new_row)"), id="names-are-looked-up"
        ),
        pytest.param(
            loop(STRIP[0], "out(stack(), row)"), loop(STRIP[1], "out(stack(), new_row)"), id="frames-are-looked-up"
        ),
        pytest.param(
            "def f(rows):\n    global row\n    for row in rows:\n        row = g(row)\n        h(row)\n",
            "def f(rows):\n    global row\n    for row in rows:\n        new = g(row)\n        h(new)\n",
            id="a-global-variable",
        ),
        pytest.param(
            "def f(rows):\n    for row in rows:\n        row = row + 1\n        g(row)\n",
            "def f(rows):\n    for one in rows:\n        row = one\n        row = row + 1\n        g(one)\n",
            id="a-copy-whose-original-is-used",
        ),
        pytest.param(
            "try:\n    f()\nexcept:\n    g()\n", "try:\n    f()\nexcept Exception:\n    g()\n", id="fewer-exceptions"
        ),
        pytest.param(
            "BaseException = E\ntry:\n    f()\nexcept:\n    g()\n",
            "BaseException = E\ntry:\n    f()\nexcept BaseException:\n    g()\n",
            id="another-class-of-this-name",
        ),
        *(
            pytest.param(f"def f(a, b):\n    return {one}\n", f"def f(a, b):\n    return {two}\n")
            for one, two in OTHERWISE
        ),
        pytest.param(
            "def f(a):\n    str = g(a)\n    return f'{str(a)}'\n",
            "def f(a):\n    str = g(a)\n    return f'{a!s}'\n",
            id="another-str",
        ),
    ],
)
def test_other_forms_are_not_equal(before: str, after: str) -> None:
    assert FileEdit.of_texts(before, after).changed


def test_a_handler_of_all_exceptions_before_another_one_spoils_no_comparison() -> None:
    text = "try:\n    g()\nexcept BaseException:\n    h()\nexcept E:\n    h()\nA = 1\n\n\ndef f():\n    return 3\n"
    assert FileEdit.of_texts(text, text.replace("3", "4")).changed == {"f"}
