from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coderefine.errors import ReplyError
from coderefine.llm.reasoning import without_reasoning
from coderefine.llm.reply import NothingToApplyError, candidates, needs, parse_reply, refused

PLAIN = """The bound is wrong.

src/a.py
<<<<<<< SEARCH
x = 1
=======
x = 2
>>>>>>> REPLACE
"""


def test_prose_path_and_texts() -> None:
    reply = parse_reply(PLAIN)
    assert reply.prose == "The bound is wrong."
    (block,) = reply.blocks
    assert (block.number, block.path, block.splits) == (1, "src/a.py", (("x = 1\n", "x = 2\n"),))
    assert not block.creates


BODY = "<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE\n"


@pytest.mark.parametrize(
    "head",
    [
        "src/a.py\n",
        "./src/a.py\n",
        "src\\a.py\n",
        ".\\src\\a.py\n",
        "`src/a.py`\n",
        "**src/a.py**\n",
        "**`src/a.py`**:\n",
        "# src/a.py\n",
        "### `src/a.py`\n",
        "File: src/a.py\n",
        "file path: nonsense\n\nsrc/a.py:\n",
        "src/a.py\n\n",
        "src/a.py\n```python\n",
        "```python\nsrc/a.py\n",
        "```python src/a.py\n",
        "```src/a.py\n",
        "1. src/a.py\n",
        "- src/a.py\n",
        "// src/a.py\n",
        "<src/a.py>\n",
    ],
)
def test_ways_to_write_the_path(head: str) -> None:
    assert parse_reply(f"Because.\n\n{head}{BODY}```\n").blocks[0].path == "src/a.py"


def test_a_path_with_a_blank_in_it() -> None:
    assert parse_reply(f"my dir/a b.py\n{BODY}").blocks[0].path == "my dir/a b.py"


@pytest.mark.parametrize("prose", ["This is the fix.", "Here is it:", "so (see above)", "i.e. this"])
def test_a_sentence_is_no_path(prose: str) -> None:
    assert parse_reply(f"{prose}\n{BODY}").blocks[0].path == ""


def test_windows_line_ends_and_marker_variants() -> None:
    text = PLAIN.replace("<<<<<<< SEARCH", "<<<<<< SEARCH >").replace(">>>>>>> REPLACE", ">>>>>>>> REPLACE ")
    assert parse_reply(text.replace("\n", "\r\n")).blocks[0].splits == (("x = 1\n", "x = 2\n"),)


def test_an_indented_block_is_dedented_as_a_whole() -> None:
    text = "".join(f"   {line}\n" if line else "\n" for line in PLAIN.split("\n"))
    assert parse_reply(text).blocks[0].splits == (("x = 1\n", "x = 2\n"),)


def test_reasoning_is_not_part_of_the_reply() -> None:
    assert len(parse_reply(f"<think>maybe\n{BODY}no</think>\n{PLAIN}").blocks) == 1


DRAFT = f"Maybe this?\nb.py\n{BODY}No, wait: NO REPAIR: x\nNEED a.py:f\n"


@pytest.mark.parametrize(
    "thought",
    [
        f"{DRAFT}</think>",
        f"{DRAFT}</think>\n<think>{DRAFT}</think>",
        f"{DRAFT}<<<<<<< SEARCH\nunfinished\n</thinking>",
        f"{DRAFT}<think>{DRAFT}</think>{DRAFT}</think>",
        f"[THINK]{DRAFT}[/THINK]",
        f"<thought>{DRAFT}</thought>",
        f"<reasoning>{DRAFT}</reasoning>",
    ],
)
def test_a_draft_in_the_reasoning_is_not_applied(thought: str) -> None:
    """Reasoning without its opening tag, which is in the prompt, was read as part of the answer."""
    assert [block.path for block in parse_reply(f"{thought}\n{PLAIN}").blocks] == ["src/a.py"]
    assert parse_reply(f"{thought}\n{PLAIN}").prose == "The bound is wrong."
    assert refused(f"{thought}\nI see.") is None
    assert needs(f"{thought}\nI see.") == ()


@pytest.mark.parametrize("tag", ["<think>", "</think>", "[THINK]", "[/THINK]"])
def test_a_tag_in_code_is_no_reasoning(tag: str) -> None:
    """The text after `<think>` was removed even in an edit."""
    text = f"The parser skips `{tag}`.\n\n{PLAIN}".replace("x = 2", f"x = {tag} + 2")
    reply = parse_reply(text + PLAIN)
    assert len(reply.blocks) == 2
    assert reply.prose.startswith("The parser skips")
    assert reply.blocks[0].splits == (("x = 1\n", f"x = {tag} + 2\n"),)


@pytest.mark.parametrize(
    "text",
    [
        f"{PLAIN}This strips the </think> tag.",
        f"{PLAIN}This strips the </think> tag.\n{PLAIN}",
        f"{PLAIN}This strips the tag </think>",
        f"{PLAIN}It drops the <reasoning> part now.",
        f"The <reasoning> part is fine.\n{PLAIN}",
        f"The closing </think> tag is lost.\n{PLAIN}",
        f"<think>so</think>\n{PLAIN}It drops the <reasoning> part now.",
        PLAIN.replace(">>>>>>> REPLACE", ">>>>>>>").replace("x = 1", "x = 1 # <think>"),
        PLAIN.replace(">>>>>>> REPLACE", ">>>>>>>").replace("x = 1", "x = 1 # </think>").replace("\n", "\r\n") + PLAIN,
    ],
)
def test_a_tag_in_a_sentence_does_not_remove_the_answer(text: str) -> None:
    """The whole answer was removed, or all of it after the tag."""
    assert len(parse_reply(text).blocks) == text.count("=======")


def test_a_tag_in_a_refusal_does_not_remove_it() -> None:
    """The refusal was removed, and the model asked again."""
    assert refused("NO REPAIR: the tests want the </think> tag back.") == "the tests want the </think> tag back."
    assert refused(f"{DRAFT}</think>\nNO REPAIR: it is right.") == "it is right."


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("NEED pkg/a.py:UNITS, pkg/a.py:f", [("pkg/a.py", "UNITS"), ("pkg/a.py", "f")]),
        ("NEED a.py:f and `b.py`", [("a.py", "f"), ("b.py", "")]),
        ("NEED def f", [("", "f")]),
        ("NEED a.py:class Cart", [("a.py", "Cart")]),
        ("NEED a.py:1-9", [("a.py", "")]),
        ("NEED a.py:UNITS (the table)", [("a.py", "UNITS")]),
        ("**NEED** a.py:f", [("a.py", "f")]),
        ("**NEED:** a.py:f", [("a.py", "f")]),
        ("Need a.py:f", [("a.py", "f")]),
        ("need to see the table first", []),
        ("NEED a.py:expand", [("a.py", "expand")]),
        ("NEED a.py:f (lines 3, 9)", [("a.py", "f")]),
        ("NEED a.py:f, and a.py:g", [("a.py", "f"), ("a.py", "g")]),
        ("Need e.g. the definition of total", []),
    ],
)
def test_a_request_for_code_is_understood_however_it_is_written(line: str, parts: list[tuple[str, str]]) -> None:
    """Such a request was answered with "That reply cannot be used", or gave another part of the file."""
    assert list(needs(f"I have to see more.\n{line}\n")) == parts


@pytest.mark.parametrize(
    "word", ["No repair: {}", "**No repair**: {}", "no repair – {}", "NO_REPAIR: {}", "NO REPAIR {}"]
)
def test_a_refusal_is_understood_however_it_is_written(word: str) -> None:
    """ "No repair: …" was answered with the format of edits, and with "give 3 different repairs"."""
    assert refused(word.format("they disagree.")) == "they disagree."


@pytest.mark.parametrize(
    "text", ["No repair is needed in b.py.", "No repair-shop can help.", "There is no repair: x", "NO_REPAIR = 3"]
)
def test_a_sentence_about_repairs_is_no_refusal(text: str) -> None:
    assert refused(text) is None


@pytest.mark.parametrize("start", ["<think>", " \n<thought>", "<think>x</think>\n[THINK]"])
def test_a_draft_in_reasoning_without_an_end_is_no_answer(start: str) -> None:
    assert not without_reasoning(f"{start}{DRAFT}").strip()


WAYS = [
    "CANDIDATE {}",
    "### Candidate {}",
    "**Candidate {}:** divide",
    "**Candidate {}**: divide",
    "Candidate {} - divide",
    "## Candidate {} — divide",
    "=== CANDIDATE {} ===",
    "Candidate {} (divide)",
]


@pytest.mark.parametrize("word", WAYS)
def test_candidates_are_separated_however_their_line_is_written(word: str) -> None:
    """ "### Candidate 1" did not separate the repairs, so all of them were thrown away."""
    text = "".join(f"{word.format(number)}\n{PLAIN}\n" for number in (1, 2, 3))
    replies = [parse_reply(part) for part in candidates(text)]
    assert [(reply.prose, len(reply.blocks)) for reply in replies] == [("The bound is wrong.", 1)] * 3


def test_the_word_candidate_in_code_or_repeated_separates_nothing() -> None:
    code = PLAIN.replace("x = 2", "# candidate 1\nx = 2")
    assert len(candidates(code + PLAIN)) == 1
    assert len(candidates(f"CANDIDATE 1\n{code}Candidate 1 changes two files.\n{PLAIN}CANDIDATE 2\n{code}")) == 2


@pytest.mark.parametrize("mark", ["", ":"])
def test_sentences_about_candidates_do_not_join_the_candidates_below(mark: str) -> None:
    """The headings were skipped, since sentences above had their numbers: one candidate with the edits of both."""
    plan = f"Candidate 1{mark} fixes the sign.\nCandidate 2{mark} fixes the caller.\n\n"
    parts = candidates(f"{plan}CANDIDATE 1\n{PLAIN}CANDIDATE 2\n{PLAIN}")
    assert [len(parse_reply(part).blocks) for part in parts] == [1, 1]


def test_a_divider_inside_the_code_leaves_both_readings() -> None:
    text = 'a.py\n<<<<<<< SEARCH\nt = """\nTitle\n=======\n"""\n=======\nt = ""\n>>>>>>> REPLACE\n'
    assert len(parse_reply(text).blocks[0].splits) == 2


def test_a_block_may_end_with_arrows_alone() -> None:
    """Such a reply was called malformed, although it is clear where each block ends."""
    bare = PLAIN.replace(">>>>>>> REPLACE", ">>>>>>>")
    assert [block.splits for block in parse_reply(bare + bare).blocks] == [(("x = 1\n", "x = 2\n"),)] * 2
    conflict = PLAIN.replace("x = 2", "x = 2\n>>>>>>>")
    assert parse_reply(conflict + PLAIN).blocks[0].splits == (("x = 1\n", "x = 2\n>>>>>>>\n"),)


def test_an_empty_search_creates() -> None:
    text = "b.py\n<<<<<<< SEARCH\n=======\nx = 1\n>>>>>>> REPLACE\n"
    block = parse_reply(text).blocks[0]
    assert block.creates
    assert block.splits == (("", "x = 1\n"),)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("  \n\n ", "empty"),
        ("<think>so much to think", "empty"),
        ("I would look at the loop.", "no SEARCH/REPLACE block"),
        ("```python\nx = 2\n```", "whole file"),
        ("a.py\n```python\nimport os\nx = 2\n```\n", "whole file"),
        ("--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n", "no SEARCH/REPLACE block"),
        ("\x00\ufffd\x1b[31m", "no SEARCH/REPLACE block"),
    ],
)
def test_nothing_to_apply(text: str, words: str) -> None:
    with pytest.raises(NothingToApplyError, match=words) as caught:
        parse_reply(text)
    assert "<<<<<<< SEARCH" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a.py\n<<<<<<< SEARCH\nx = 1\n=======\nx =", "no >>>>>>> REPLACE"),
        ("a.py\n<<<<<<< SEARCH\nx = 1\n>>>>>>> REPLACE\n", "no ======= line"),
        (PLAIN + "b.py\n<<<<<<< SEARCH\ny = 1\n", "Block 2 has no >>>>>>> REPLACE"),
        ("b.py\n<<<<<<< SEARCH\ny = 1\n=======\ny = 2\n\n" + PLAIN, "Block 1 has no >>>>>>> REPLACE"),
        ("a.py\n<<<<<<< SEARCH\n=======\n>>>>>>>\n=======\n>>>>>>>\n" + PLAIN, "Block 1 has no >>>>>>> REPLACE"),
    ],
)
def test_broken_blocks(text: str, words: str) -> None:
    """A block without its REPLACE line contained the next block, with its markers, which went into the file."""
    with pytest.raises(ReplyError, match=words) as caught:
        parse_reply(text)
    assert not isinstance(caught.value, NothingToApplyError)


LINES = st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), max_size=30), max_size=6)


def _harmless(lines: list[str]) -> bool:
    text = "\n".join(lines)
    return not any(mark in text for mark in ("SEARCH", "REPLACE", "=====", "<think", "</think"))


@settings(deadline=None, database=None)
@given(LINES.filter(_harmless), LINES.filter(_harmless))
def test_a_written_reply_is_parsed_unchanged(search: list[str], new: list[str]) -> None:
    old, fresh = ("".join(f"{line}\n" for line in lines) for lines in (search, new))
    text = f"because\n\nsrc/a.py\n<<<<<<< SEARCH\n{old}=======\n{fresh}>>>>>>> REPLACE\n"
    (block,) = parse_reply(text).blocks
    assert (block.path, block.splits) == ("src/a.py", ((old, fresh),))


@settings(deadline=None, database=None)
@given(st.text(max_size=200))
def test_rubbish_is_a_named_error_or_a_reply(text: str) -> None:
    for candidate in (
        text,
        PLAIN + text,
        text + PLAIN,
        f"a.py\n<<<<<<< SEARCH\n{text}\n=======\n{text}\n>>>>>>> REPLACE",
    ):
        assert _blocks_or_reason(candidate)


def _blocks_or_reason(text: str) -> object:
    try:
        return parse_reply(text).blocks
    except ReplyError as error:
        return str(error)
