"""The gates of the configuration, made green."""

from coderefine.core import FIX

TASK = FIX
