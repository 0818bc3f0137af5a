"""States and what follows them."""

from enum import Enum


class Light(Enum):
    RED = "red"
    GREEN = "green"
    YELLOW = "yellow"
    OFF = "off"


FOLLOWING = {
    Light.RED: Light.GREEN,
    Light.GREEN: Light.YELLOW,
    Light.YELLOW: Light.GREEN,
}


class StuckError(Exception):
    """A state without a following one."""


def advance(light, steps=1):
    """The light after `steps` changes; raises StuckError when it is off."""
    for _ in range(steps):
        if light not in FOLLOWING:
            raise StuckError(light.value)
        light = FOLLOWING[light]
    return light
