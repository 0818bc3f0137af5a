"""Fixtures shared with the runner's tests."""

from tests.runner.conftest import this_python

__all__ = ["this_python"]
