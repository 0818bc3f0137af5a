from wrap.fold import fold, quote


def test_short_text_is_one_line():
    assert fold("a b", 10) == ["a b"]


def test_nothing_is_no_line():
    assert fold("", 10) == []


def test_a_line_may_be_full():
    assert fold("four five six", 9) == ["four five", "six"]


def test_long_words_stand_alone():
    assert fold("a incomprehensibilities b", 5) == ["a", "incomprehensibilities", "b"]


def test_quotes_are_indented():
    assert quote("one two three", 12) == "  one two\n  three"
