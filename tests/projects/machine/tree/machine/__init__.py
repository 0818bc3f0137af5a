"""A traffic light."""

from machine.states import Light, advanced

__all__ = ["Light", "advanced"]
