import pytest

from machine import Light, advance
from machine.states import StuckError


def test_a_full_circle():
    assert advance(Light.RED, 3) is Light.RED


def test_green_turns_yellow():
    assert advance(Light.GREEN) is Light.YELLOW


def test_a_light_that_is_off_stays_off():
    with pytest.raises(StuckError, match="off"):
        advance(Light.OFF)
