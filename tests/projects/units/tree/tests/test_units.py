import pytest

from units.convert import celsius, fahrenheit
from units.table import metres


@pytest.mark.parametrize(("given", "wanted"), [(0, 32), (100, 212)])
def test_fahrenheit(given, wanted):
    assert fahrenheit(given) == wanted


def test_celsius():
    assert celsius(212) == 100


def test_metres():
    assert metres(2, "km") == 2000


def test_unknown_units():
    with pytest.raises(KeyError, match="ell"):
        metres(1, "ell")
