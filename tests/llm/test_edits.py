from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coderefine.errors import ReplyError
from coderefine.llm.edits import NOTHING_KEPT, EditableFiles, apply
from coderefine.llm.reply import Kept, NothingToApplyError, PartlyUsableError, parse_reply
from coderefine.source import BOM

CART = b"""def total(items):
    amount = 0
    for item in items:
        amount += item
    return amount


def count(items):
    amount = 0
    for item in items:
        amount += 1
    return amount
"""


def block(search: str, new: str, path: str = "cart.py") -> str:
    return f"{path}\n<<<<<<< SEARCH\n{search}=======\n{new}>>>>>>> REPLACE\n\n"


def edit(reply: str, files: Mapping[str, bytes], *, refuse: str | None = None) -> Mapping[str, bytes]:
    tree = EditableFiles(files.get, lambda _: refuse, shown=tuple(files))
    return apply(parse_reply(reply).blocks, tree)


def refusal(reply: str, files: Mapping[str, bytes] | None = None) -> str:
    with pytest.raises(ReplyError) as caught:
        edit(reply, files or {"cart.py": CART})
    return str(caught.value)


def test_one_block() -> None:
    assert edit(block("        amount += 1\n", "        amount += 2\n"), {"cart.py": CART}) == {
        "cart.py": CART.replace(b"+= 1", b"+= 2")
    }


def test_several_blocks_and_files_in_any_order() -> None:
    files = {"cart.py": CART, "b.py": b"y = 1\n"}
    reply = (
        block("        amount += 1\n", "        amount += 2\n")
        + block("y = 1\n", "y = 3\n", "b.py")
        + block("def total(items):\n", "def total(items, start=0):\n")
    )
    edited = edit(reply, files)
    assert edited["b.py"] == b"y = 3\n"
    assert b"+= 2" in edited["cart.py"]
    assert edited["cart.py"].startswith(b"def total(items, start=0):\n")


def test_deleting_lines() -> None:
    assert edit(block("b = 2\n", ""), {"cart.py": b"a = 1\nb = 2\nc = 3\n"}) == {"cart.py": b"a = 1\nc = 3\n"}


def test_an_ambiguous_search_is_refused_with_its_places() -> None:
    result = refusal(block("    amount = 0\n", "    amount = 1\n"))
    assert "matches 2 places (lines 2, 9)" in result
    assert "neighbouring lines" in result


def test_all_or_none_and_the_good_ones_are_named() -> None:
    files = {"cart.py": CART}
    result = refusal(
        block("        amount += 1\n", "        amount += 2\n") + block("    nonsense here\n", "x\n"), files
    )
    assert "Block 2 (cart.py)" in result
    assert "The other block was fine" in result
    assert "send only what is corrected" in result


def test_every_bad_block_is_reported_at_once() -> None:
    bad = block("    nonsense one\n", "x\n") + block("    nonsense two\n", "y\n")
    result = refusal(bad + block("        amount += 1\n", "        amount += 2\n"))
    assert "Block 1 (" in result
    assert "Block 2 (" in result
    assert "The other block was fine" in result


def test_a_near_miss_is_answered_with_the_real_lines() -> None:
    result = refusal(block("    for itm in items:\n        amount += itm\n", "    pass\n"))
    assert "SEARCH was not found" in result
    assert "    for item in items:\n        amount += item" in result


@pytest.mark.parametrize(
    "search",
    ["    amount += 1\n", "        amount += 1   \n", "\tamount += 1\n", "        amount  +=  1\n"],
    ids=["indent", "trailing", "tab", "inner"],
)
def test_a_search_that_differs_in_white_space_only_and_fits_one_place_is_applied(search: str) -> None:
    edited = edit(block(search, "        amount += 2\n"), {"cart.py": CART})
    assert edited == {"cart.py": CART.replace(b"+= 1", b"+= 2")}


def test_white_space_alone_does_not_choose_between_two_places() -> None:
    assert "whitespace" in refusal(block("  amount=0\n", "  amount = 1\n"))


def test_a_replacement_written_in_another_indentation_is_moved_with_its_search() -> None:
    search = "for item in items:\n    amount += 1\nreturn amount\n"
    new = "for item in items:\n    if item:\n        amount += 1\n\nreturn amount\n"
    wanted = CART.replace(
        b"        amount += 1\n    return", b"        if item:\n            amount += 1\n\n    return"
    )
    assert edit(block(search, new), {"cart.py": CART}) == {"cart.py": wanted}


def test_a_function_written_with_two_blanks_is_indented_as_the_file_is() -> None:
    text = b"def f(a):\n    b = a\n    return b\n"
    search, new = "def f( a ):\n  b=a\n  return b\n", "def f(a):\n  b = a\n  if not b:\n    b = 1\n  return b\n"
    edited = edit(block(search, new, "f.py"), {"f.py": text})["f.py"]
    assert edited.decode().splitlines()[:3] == ["def f(a):", "    b = a", "    if not b:"]
    compile(edited, "f.py", "exec")


def test_a_replacement_in_the_indentation_of_the_file_stays_where_only_its_search_has_another() -> None:
    text = b"def f(a):\n    b = a\n    return b\n"
    edited = edit(block("def f(a):\n  b = a\n", "def f(a):\n    b = a + 1\n", "f.py"), {"f.py": text})
    assert edited == {"f.py": text.replace(b"b = a", b"b = a + 1")}


def test_blank_lines_left_out_of_a_search_do_no_harm() -> None:
    text = b"def f():\n    a = 1\n\n    b = 2\n    return a\n"
    edited = edit(block("    a = 1\n    b = 2\n", "    a = 1\n    b = 3\n", "f.py"), {"f.py": text})
    assert edited == {"f.py": b"def f():\n    a = 1\n    b = 3\n    return a\n"}


def test_the_mark_of_executed_lines_is_no_part_of_an_edit() -> None:
    edited = edit(block("        amount += 1  #>\n", "        amount += 2  #>\n"), {"cart.py": CART})
    assert edited == {"cart.py": CART.replace(b"+= 1", b"+= 2")}


def test_the_function_that_is_named_wins_over_a_similar_one() -> None:
    text = b"def count_all(a):\n    n = 0\n    return n\n\n\ndef count(a):\n    total = len(a)\n    return total\n"
    result = refusal(block("def count(a):\n    n = 0\n    return n\n", "x\n", "c.py"), {"c.py": text})
    assert "def count(a):\n    total = len(a)" in result
    assert "n = 0" not in result


def test_part_of_a_line_does_not_match() -> None:
    assert "SEARCH was not found" in refusal(block("x = 1\n", "x = 2\n"), {"cart.py": b"xx = 1\nx = 12\n"})


def test_an_edit_already_applied_is_reported() -> None:
    result = refusal(block("        amount += 7\n", "        amount += 1\n"))
    assert "already applied" in result


def test_a_block_that_is_already_applied_is_left_out_if_another_one_changes_something() -> None:
    """The reply cost a correction, "Leave this block out", and was lost when the model obeyed."""
    done = block("        amount += 7\n", "        amount += 1\n")
    assert edit(done + block("def count(items):\n", "def size(items):\n"), {"cart.py": CART}) == {
        "cart.py": CART.replace(b"count", b"size")
    }
    assert "already applied" in refusal(done + block("def count(items):\n", "def count(items):\n"))


@pytest.mark.parametrize(
    ("search", "new"),
    [
        ("    for itm in items:\n", "    return amount\n"),
        ("    for one in items:\n        amount += item\n", "        amount += 1\n"),
    ],
    ids=["twice in the file", "elsewhere"],
)
def test_a_block_whose_new_lines_are_elsewhere_in_the_file_is_not_left_out(search: str, new: str) -> None:
    with pytest.raises(PartlyUsableError, match="Block 1"):
        edit(block(search, new) + block("def count(items):\n", "def size(items):\n"), {"cart.py": CART})


def test_nothing_alike() -> None:
    assert "nor anything like it" in refusal(block("@@@@ §§§§\n", "x\n"))


def test_overlapping_blocks() -> None:
    reply = block("        amount += 1\n    return amount\n", "x\n") + block("        amount += 1\n", "y\n")
    assert "overlap" in refusal(reply)


@pytest.mark.parametrize(
    "reply",
    [
        block("        amount += 1\n", "        amount += 1\n"),
        block("        amount += 1\n", "        amount += 1\n") * 1,
    ],
)
def test_an_edit_that_changes_nothing(reply: str) -> None:
    with pytest.raises(NothingToApplyError, match="change nothing"):
        edit(reply, {"cart.py": CART})


def test_the_divider_inside_code_is_read_the_way_that_fits() -> None:
    data = b'DOC = """\nTitle\n=======\n"""\nx = 1\n'
    reply = block('Title\n=======\n"""\n', 'Titles\n=======\n"""\n')
    assert edit(reply, {"cart.py": data}) == {"cart.py": data.replace(b"Title\n", b"Titles\n")}


@pytest.mark.parametrize("path", ["cart.py", "pkg/cart.py", "src/pkg/cart.py", "/work/project/src/pkg/cart.py"])
def test_a_shortened_or_absolute_path_finds_the_shown_file(path: str) -> None:
    assert edit(block("x = 1\n", "x = 2\n", path), {"src/pkg/cart.py": b"x = 1\n"}) == {"src/pkg/cart.py": b"x = 2\n"}


def test_no_path_means_the_only_file() -> None:
    reply = "<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE\n"
    assert edit(reply, {"cart.py": b"x = 1\n"}) == {"cart.py": b"x = 2\n"}
    assert "names no file" in refusal(reply, {"a.py": b"x = 1\n", "b.py": b"x = 1\n"})


@pytest.mark.parametrize("path", ["../evil.py", "/etc/evil.py", "a/../../evil.py", "C:\\evil.py"])
def test_no_way_out_of_the_repository(path: str) -> None:
    assert "outside the repository" in refusal(block("", "x = 1\n", path))


A, B = b"import os\n\n\ndef f(x):\n    return x + 1\n", b"import os\n\n\ndef g(x):\n    return x - 1\n"
TWO = {"pkg/a.py": A, "pkg/b.py": B}
"""Two files with an equal line."""
OTHERS = {"rates.py": B, "tests/test_a.py": A, "tests/test_f.py": b"", "app/config.py": b"A = 1\n", "README.md": b""}
"""Files that the model was not shown; tests are closed."""
BARE = "<<<<<<< SEARCH\nimport os\n=======\nimport sys\n>>>>>>> REPLACE\n"


def edit_two(reply: str, kept: Kept = NOTHING_KEPT) -> Mapping[str, bytes]:
    files = {**TWO, **OTHERS}
    closed = lambda path: f"{path} is a test or test data" if "test" in path else None  # noqa: E731
    return apply(
        parse_reply(reply).blocks, EditableFiles(files.get, closed=closed, shown=(*TWO, "app/config.py")), kept
    )


@pytest.mark.parametrize(
    "line",
    [
        "```python:pkg/a.py",
        '```python title="pkg/a.py"',
        "```python filename=pkg/a.py",
        '```python title="pkg/a.py" linenums="1"',
        "### 1. `pkg/a.py`\n```python",
        "In `pkg/a.py`:",
        "In pkg/a.py:\n```python",
        "Edit pkg/a.py",
        "a/pkg/a.py",
        "--- a/pkg/a.py",
        "pkg/a.py (line 5)",
        "`pkg/a.py` (lines 4-5), as its test tests/test_a.py says:",
        "[pkg/a.py](pkg/a.py)",
        "<file>pkg/a.py</file>",
        "=== file pkg/a.py",
        "=== file pkg/a.py [abc123]",
        "**File:** `pkg/a.py`",
        "**File**: pkg/a.py",
        "> pkg/a.py",
        "pkg/a.py:5",
        "pkg/a.py:4-5",
        "pkg/a.py::f",
        "## pkg/a.py — off by one",
        "C:\\work\\pkg\\a.py",
        "The function `a.f` of a.py calls `os.path`:",
    ],
)
def test_other_ways_to_write_the_path_cost_no_correction(line: str) -> None:
    """Each of these lines was no path, so the reply cost one more request."""
    assert edit_two(f"Because.\n\n{line}\n{BARE}") == {"pkg/a.py": A.replace(b"os", b"sys")}


def test_the_path_may_be_on_the_line_with_search() -> None:
    reply = BARE.replace("SEARCH", "SEARCH pkg/a.py")
    assert edit_two(f"Unlike in pkg/b.py.\n\n{reply}") == {"pkg/a.py": A.replace(b"os", b"sys")}


def test_a_second_block_may_leave_the_path_out() -> None:
    second = "\nIn the same file `f.x` is wrong:\n" + BARE.replace("import os", "    return x + 1")
    assert edit_two(f"pkg/a.py\n{BARE}{second}") == {"pkg/a.py": b"import sys\n\n\ndef f(x):\nimport sys\n"}


@pytest.mark.parametrize(
    "sentence",
    ["And in `pkg/b.py`, the import is unused:", "`pkg/b.py` (same import):", "Also b.py:", "In `rates.py` it is too:"],
)
def test_a_block_belongs_to_the_file_that_the_sentence_above_names(sentence: str) -> None:
    """The second block was applied to the file of the first one, although the sentence above names another file."""
    first = BARE.replace("import os", "    return x + 1").replace("import sys", "    return x + 2")
    path = "rates.py" if "rates" in sentence else "pkg/b.py"
    wanted = {"pkg/a.py": A.replace(b"+ 1", b"+ 2"), path: B.replace(b"os", b"sys")}
    assert edit_two(f"pkg/a.py\n{first}\n{sentence}\n\n```python\n{BARE}```\n") == wanted


@pytest.mark.parametrize(
    "between",
    [
        "Now `pkg/b.py`.\n\nThere it is unused, too:",
        "The same in pkg/a.py and pkg/b.py:",
        "In `tests/test_a.py` the import is unused:",
        "Unlike `pkg/a.py`, `rates.py` needs it:",
    ],
)
def test_a_block_whose_file_is_unclear_is_asked_for_alone(between: str) -> None:
    """Such a block was applied to the file of the block before it."""
    first = BARE.replace("import os", "    return x + 1").replace("import sys", "    return x + 2")
    with pytest.raises(PartlyUsableError, match="Block 2 names no file") as caught:
        edit_two(f"pkg/a.py\n{first}\n{between}\n\n{BARE}")
    kept = caught.value.kept
    wanted = {"pkg/a.py": A.replace(b"+ 1", b"+ 2"), "pkg/b.py": B.replace(b"os", b"sys")}
    assert edit_two(f"pkg/b.py\n{BARE}", kept) == wanted
    with pytest.raises(PartlyUsableError, match="names no file"):
        edit_two(BARE, kept)


@pytest.mark.parametrize(
    "sentence",
    [
        "This makes `tests/test_f.py` pass:",
        "As README.md says:",
        "As in Lib/json.py this is needed:",
        "For v1/x.y values:",
        "Now use `g` from `pkg/b.py` in f:",
        "In `pkg/a.py`, use `g` of `pkg/b.py`:",
        "Since pkg/b.py has g already, we can use it.\n\nThen:",
    ],
)
@pytest.mark.parametrize("search", ["    return x + 1", "    return x+1"])
def test_a_file_that_is_only_mentioned_above_a_block_does_not_make_it_unusable(sentence: str, search: str) -> None:
    """Block 2 was refused: "names no file", "there is no file Lib/json.py", or not found in the mentioned file."""
    second = BARE.replace("import os", search).replace("import sys", "    return g(x)")
    wanted = {"pkg/a.py": b"import sys\n\n\ndef f(x):\n    return g(x)\n"}
    assert edit_two(f"pkg/a.py\n{BARE}\n{sentence}\n{second}") == wanted
    assert edit_two(f"pkg/a.py\n{BARE}\n{sentence}\n```python\n{second}```\n") == wanted


def test_a_test_that_is_mentioned_above_the_block_for_the_only_shown_file_does_no_harm() -> None:
    """The block was refused: "Block 1 names no file"."""
    files = {"cart.py": CART, "tests/test_cart.py": b"import cart\n"}
    tree = EditableFiles(files.get, closed=lambda path: "a test" if "test" in path else None, shown=("cart.py",))
    reply = "The test in tests/test_cart.py fails.\n" + BARE.replace("import os", "        amount += 1")
    assert apply(parse_reply(reply).blocks, tree) == {"cart.py": CART.replace(b"        amount += 1", b"import sys")}


def test_a_corrected_block_without_a_path_belongs_to_the_file_of_the_faulty_one() -> None:
    """It was applied to the file of the last block that was fine."""
    with pytest.raises(PartlyUsableError) as caught:
        edit_two(block("import oss\n", "import sys\n", "a.py") + block("    return x - 1\n", "    pass\n", "b.py"))
    wanted = {"pkg/a.py": A.replace(b"os", b"sys"), "pkg/b.py": B.replace(b"return x - 1", b"pass")}
    assert edit_two(BARE, caught.value.kept) == wanted


@pytest.mark.parametrize("line", ["config.py", "new/pkg/a.py", "Create `config.py`:", "Create this new file config.py"])
def test_a_new_file_is_not_taken_for_a_shown_one_with_a_similar_path(line: str) -> None:
    """Such a file could not be created: "app/config.py exists, so SEARCH must hold the lines"."""
    path = "new/pkg/a.py" if "new/" in line else "config.py"
    assert edit_two(f"{line}\n<<<<<<< SEARCH\n=======\nA = 2\n>>>>>>> REPLACE\n") == {path: b"A = 2\n"}


def test_a_new_file_whose_path_is_unclear_is_not_created() -> None:
    with pytest.raises(ReplyError, match="names no file"):
        edit_two("my dir/new b.py\n<<<<<<< SEARCH\n=======\nA = 2\n>>>>>>> REPLACE\n")


def test_a_new_file() -> None:
    assert edit(block("", "x = 1\n", "src/new.py"), {"cart.py": CART}) == {"src/new.py": b"x = 1\n"}


FENCED = "```python\n{}```\n"


def test_fences_around_search_and_replace_are_no_part_of_them() -> None:
    """SEARCH was not found with the fences, and in a new file they were written."""
    reply = block(FENCED.format("        amount += 1\n"), FENCED.format("        amount += 2\n"))
    assert edit(reply, {"cart.py": CART}) == {"cart.py": CART.replace(b"+= 1", b"+= 2")}
    gone = block(FENCED.format("        amount += 1\n"), "")
    assert edit(gone, {"cart.py": CART}) == {"cart.py": CART.replace(b"        amount += 1\n", b"")}
    assert edit(block("", FENCED.format("x = 1\n"), "new.py"), {}) == {"new.py": b"x = 1\n"}
    assert edit(block("", FENCED.format("x = 1\n"), "empty.py"), {"empty.py": b""}) == {"empty.py": b"x = 1\n"}


def test_fences_of_the_file_are_kept() -> None:
    data = f"Use it so:\n\n{FENCED.format('x = 1')}".replace("x = 1", "x = 1\n").encode()
    reply = block(FENCED.format("x = 1\n"), FENCED.format("x = 2\n"), "read.md")
    assert edit(reply, {"read.md": data}) == {"read.md": data.replace(b"x = 1", b"x = 2")}
    assert edit(block("", FENCED.format("x = 1\n"), "new.md"), {}) == {"new.md": b"```python\nx = 1\n```\n"}
    two = block("", "```\na\n```\nand\n~~~\nb\n~~~\n", "new.py")
    assert edit(two, {})["new.py"].startswith(b"```")


def test_a_new_file_with_half_a_character_is_refused() -> None:
    """A new file with one half of a surrogate pair ended the run: "this is a bug in coderefine"."""
    assert "new.py is UTF-8, which cannot hold" in refusal(block("", "x = '\ud83d'\n", "new.py"), {})


def test_a_new_file_outside_the_scope() -> None:
    with pytest.raises(ReplyError, match=r"other/new.py may not be created: only src may change"):
        edit(block("", "x = 1\n", "other/new.py"), {"cart.py": CART}, refuse="only src may change")


def test_an_unknown_file_names_the_known_ones() -> None:
    result = refusal(block("x = 1\n", "x = 2\n", "src/carts.py"))
    assert "there is no file src/carts.py" in result
    assert "cart.py" in result


def test_an_empty_search_does_not_overwrite() -> None:
    assert "exists" in refusal(block("", "x = 1\n"))


def test_an_empty_search_fills_an_empty_file() -> None:
    assert edit(block("", "x = 1\n"), {"cart.py": b"\n"}) == {"cart.py": b"x = 1\n"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a = 1\r\nx = 1\r\nb = 2\r\n", b"a = 1\r\nx = 2\r\ny = 3\r\nb = 2\r\n"),
        (b"a = 1\rx = 1\r", b"a = 1\rx = 2\ry = 3\r"),
        (BOM + b"x = 1\n", BOM + b"x = 2\ny = 3\n"),
        (BOM + b"a\r\nx = 1\r\n", BOM + b"a\r\nx = 2\r\ny = 3\r\n"),
        (b"a = 1\nx = 1", b"a = 1\nx = 2\ny = 3"),
        (b"x = 1\r\nb\nc\r\n", b"x = 2\r\ny = 3\r\nb\nc\r\n"),
        (b"b\r\nx = 1\nc\r\n", b"b\r\nx = 2\ny = 3\nc\r\n"),
        (
            "# -*- coding: latin-1 -*-\ns = 'é'\nx = 1\n".encode("latin-1"),
            "# -*- coding: latin-1 -*-\ns = 'é'\nx = 2\ny = 3\n".encode("latin-1"),
        ),
        ("s = '\u2028\x0c'\nx = 1\n".encode(), "s = '\u2028\x0c'\nx = 2\ny = 3\n".encode()),
    ],
    ids=[
        "crlf",
        "cr",
        "bom",
        "bom crlf",
        "no final newline",
        "mixed",
        "mixed the other way",
        "latin-1",
        "odd separators",
    ],
)
def test_only_the_intended_lines_change(before: bytes, after: bytes) -> None:
    assert edit(block("x = 1\n", "x = 2\ny = 3\n"), {"cart.py": before}) == {"cart.py": after}


def test_a_character_the_encoding_lacks() -> None:
    data = "# -*- coding: latin-1 -*-\nx = 1\n".encode("latin-1")
    assert "cannot hold '→'" in refusal(block("x = 1\n", "x = '→'\n"), {"cart.py": data})


def test_a_binary_file() -> None:
    assert "no text file" in refusal(block("x\n", "y\n"), {"cart.py": b"\0\1\2"})


TEXT = st.lists(st.sampled_from(["a", "b", "  c", "", "=======", "d = 'é'", "\tx"]), min_size=1, max_size=12)


@settings(deadline=None, database=None)
@given(TEXT, st.data(), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_a_unique_search_is_replaced_and_the_rest_is_kept(
    lines: list[str], data: st.DataObject, end: str, final: bool
) -> None:
    lines = [*lines, "unique = 1", *data.draw(TEXT)]
    at = lines.index("unique = 1")
    first = data.draw(st.integers(max(0, at - 2), at))
    last = data.draw(st.integers(at + 1, min(len(lines), at + 3)))
    new = data.draw(TEXT.filter(lambda found: "=======" not in found))
    content = end.join(lines) + (end if final else "")
    wanted = end.join([*lines[:first], *new, *lines[last:]]) + (end if final else "")
    search = "".join(f"{line}\n" for line in lines[first:last])
    if final or last < len(lines):
        reply = block(search, "".join(f"{line}\n" for line in new))
        assert edit(reply, {"cart.py": content.encode()}) == {"cart.py": wanted.encode()}
