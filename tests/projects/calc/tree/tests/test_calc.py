import pytest

from calc.evaluate import evaluate
from calc.tokens import tokens


@pytest.mark.parametrize(
    ("text", "value"), [("1 + 2", 3), ("8-3-2", 3), ("2*3+4", 10), ("2*(3+4)", 14), ("-4/2", -2), ("8/4/2", 1)]
)
def test_values(text, value):
    assert evaluate(text) == value


def test_tokens():
    assert tokens("1.5 *(2)") == [1.5, "*", "(", 2.0, ")"]


@pytest.mark.parametrize("text", ["1 +", "(1"])
def test_no_expression(text):
    with pytest.raises(ValueError, match="missing"):
        evaluate(text)
