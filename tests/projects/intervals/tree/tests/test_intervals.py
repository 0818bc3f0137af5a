import pytest

from intervals import covers, gaps, merge


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        pytest.param([], [], id="none"),
        pytest.param([(5, 7), (1, 2)], [(1, 2), (5, 7)], id="apart"),
        pytest.param([(1, 4), (3, 6)], [(1, 6)], id="overlapping"),
        pytest.param([(1, 3), (3, 5)], [(1, 5)], id="touching"),
        pytest.param([(1, 9), (2, 3)], [(1, 9)], id="inside"),
    ],
)
def test_merge(given, wanted):
    assert merge(given) == wanted


@pytest.mark.parametrize(("number", "inside"), [(4, True), (8, False)])
def test_covers(number, inside):
    assert covers([(1, 4), (9, 9)], number) is inside


def test_gaps():
    assert gaps([(1, 2), (5, 7), (8, 9)]) == [(3, 4)]
